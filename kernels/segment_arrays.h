/* SPDX-License-Identifier: MIT */
/*
 * segment_arrays: reductions of an array along axes on GPUs.
 *
 * Computes: tally_segments_teams and tally_segments_threads a result of each segment (`last`), or a
 * partial of each of its chunks. Of these tally_segments_fold makes the results, or partials of
 * longer runs of chunks; tally_segments_fold_each only results.
 * How: a unit is a chunk of a segment; a team has it, or a thread. Units are numbered so that
 * neighbours are of neighbouring segments.
 * Needs: kernels/segment_teams.h before it.
 * Why: one body for any strides: rows, columns and what lies between.
 */

/* Stores the part of chunk k of segment i: the result, or a partial. */
#define STORE_PART(p, i, k)                                                                                                    \
    if (last)                                                                                                                  \
        put_part(p, segment.n, out, segment.out, initial, params);                                                             \
    else                                                                                                                       \
        part_store(p, partials, counts, (i)*leaves + (k));

/* Unit u is chunk u / count of segment u % count, so that neighbours are neighbouring segments. */
KERNEL BOUNDS void tally_segments_teams(CALL_ARGS) {
    OPEN;
    OPEN_EXCHANGE;
    const u64 units = count * leaves;
    for (u64 begin = GROUP_ID * (GROUP / team); begin < units; begin += GROUP_COUNT * (GROUP / team)) {
        const u64 u = begin + thread / team, own = u < units ? u : 0, k = quotient(own, count), i = own - k * count;
        const SEGMENT segment = SEGMENT_OF(first + i);
        const PART p = team_part(&segment, &shape, leaf + k, t, team, meet);
        if (u < units && t == 0) STORE_PART(p, i, k)
    }
}

KERNEL BOUNDS void tally_segments_threads(CALL_ARGS) {
    OPEN;
    const u64 units = count * leaves;
    KEEP_ROLLED
    for (u64 u = GROUP_ID * GROUP + thread; u < units; u += GROUP_COUNT * GROUP) {
        const u64 k = quotient(u, count), i = u - k * count;
        const SEGMENT segment = SEGMENT_OF(first + i);
        const PART p = thread_part(&segment, &shape, leaf + k, team);
        STORE_PART(p, i, k)
    }
}

/* A group for each segment. */
KERNEL BOUNDS void tally_segments_fold(CALL_ARGS) {
    OPEN;
    OPEN_FOLD;
    for (u64 i = GROUP_ID; i < count; i += GROUP_COUNT) {
        const SEGMENT segment = SEGMENT_OF(first + i);
        FOLD(p, partials + i * leaves, counts + i * leaves, leaves)
        if (thread) continue;
        if (last)
            put_part(p, segment.n, out, segment.out, initial, params);
        else
            part_store(p, slices, slice_counts, slice + i);
    }
}

/* A thread for each segment, of at most 2^LEAF_LEVELS partials. */
KERNEL BOUNDS void tally_segments_fold_each(CALL_ARGS) {
    OPEN;
    for (u64 i = GROUP_ID * GROUP + thread; i < count; i += GROUP_COUNT * GROUP) {
        const SEGMENT segment = SEGMENT_OF(first + i);
        PART level[LEAF_LEVELS + 1];
        for (u32 k = 0; k < leaves; k++) {
            PART p = part_at(partials, counts, i * leaves + k);
            COUNTER_PUSH(LEAF_LEVELS, level, k, p, part_combine)
        }
        PART all = part_identity();
        for (int b = 0; b <= LEAF_LEVELS; b++)
            if (leaves >> b & 1) all = part_combine(level[b], all);
        put_part(all, segment.n, out, segment.out, initial, params);
    }
}
