/* SPDX-License-Identifier: MIT */
/*
 * segment_work: reductions of segments by offsets on GPUs.
 *
 * Computes: tally_segments_teams the results of segments of up to a chunk, and a work list of the
 * chunks of longer ones; tally_segments_chunks their partials, tally_segments_fold their results.
 * How: places on the work list are taken by atomics, in any order. The order of combination is that
 * of a segment's own chunks, so it does not matter. tally_segments_clear empties the list before.
 * Needs: kernels/segment_teams.h before it.
 * Why: lengths are known on the device alone, and one segment may have half of all items.
 */

/* Adds 1 to a word of local memory, and returns the word before. */
#ifdef __CUDA_ARCH__
#define COUNT_LOCAL(at) atomicAdd(at, 1U)
#else
#define COUNT_LOCAL(at) atomic_inc((volatile LOCAL u32 *)(at))
#endif

KERNEL BOUNDS void tally_segments_clear(CALL_ARGS) {
    if (THREAD_ID == 0) work[0] = 0;
}

/* A long segment by one thread, where segments overlap so much that the list is full. */
INLINE PART lone_part(const SEGMENT *s, const SHAPE *shape) {
    PART level[49], all = part_identity();
    const u64 chunks = (s->n + CHUNK_ITEMS - 1) / CHUNK_ITEMS;
    for (u64 k = 0; k < chunks; k++) {
        PART p = thread_part(s, shape, k, WIDTH);
        int b = 0;
        for (; k >> b & 1; b++) p = part_combine(level[b], p);
        level[b] = p;
    }
    for (int b = 0; chunks >> b; b++)
        if (chunks >> b & 1) all = part_combine(level[b], all);
    return all;
}

/* A group takes GROUP neighbouring segments. First each team takes one, in turns; those that are
 * too long for it wait, and get a team of 32, or a place on the work list. */
KERNEL BOUNDS void tally_segments_teams(CALL_ARGS) {
    OPEN;
    OPEN_EXCHANGE;
    SHARED u32 waiting;
    SHARED u32 waits[GROUP];
    const u64 segments = SEGMENTS;
    const u32 short_items = team < WIDTH ? team * OWN : CHUNK_ITEMS;
    for (u64 begin = GROUP_ID * GROUP; begin < segments; begin += GROUP_COUNT * GROUP) {
        if (thread == 0) waiting = 0;
        BARRIER
        for (u32 turn = 0; turn < team; turn++) {
            const u32 i = turn * (GROUP / team) + thread / team;
            const u32 is = begin + i < segments;
            SEGMENT segment = SEGMENT_OF(is ? begin + i : begin);
            const u32 is_short = segment.n <= short_items;
            if (!is_short) segment.n = 0;
            const PART p = team_part(&segment, &shape, 0, t, team, meet);
            if (!is || t) continue;
            if (is_short)
                put_part(p, segment.n, out, segment.out, initial, params);
            else
                waits[COUNT_LOCAL(&waiting)] = i;
        }
        BARRIER
        for (u32 turn = 0; turn < waiting; turn += GROUP / WIDTH) {
            const u32 i = turn + thread / WIDTH, is = i < waiting;
            const u64 s = begin + (is ? waits[i] : 0);
            SEGMENT segment = SEGMENT_OF(s);
            const u64 n = segment.n;
            if (n > CHUNK_ITEMS) segment.n = 0;
            PART p = team_part(&segment, &shape, 0, thread % WIDTH, WIDTH, meet);
            if (!is || thread % WIDTH) continue;
            if (n > CHUNK_ITEMS) {
                if (enlist(s, n, work, capacity)) continue;
                segment.n = n;
                p = lone_part(&segment, &shape);
            }
            put_part(p, n, out, segment.out, initial, params);
        }
        BARRIER
    }
}

KERNEL BOUNDS void tally_segments_chunks(CALL_ARGS) {
    OPEN;
    OPEN_EXCHANGE;
    const u64 chunks = ((GLOBAL u32 *)work)[0];
    for (u64 begin = GROUP_ID * (GROUP / WIDTH); begin < chunks; begin += GROUP_COUNT * (GROUP / WIDTH)) {
        const u64 k = begin + thread / WIDTH, is = k < chunks;
        SEGMENT segment = SEGMENT_OF(is ? work[CHUNKS + 2 * k] : 0);
        if (!is) segment.n = 0;
        const PART p = team_part(&segment, &shape, is ? work[CHUNKS + 2 * k + 1] : 0, t, WIDTH, meet);
        if (is && t == 0) part_store(p, partials, counts, k);
    }
}

/* A group for each long segment. */
KERNEL BOUNDS void tally_segments_fold(CALL_ARGS) {
    OPEN;
    OPEN_FOLD;
    const u64 longs = ((GLOBAL u32 *)work)[1];
    for (u64 i = GROUP_ID; i < longs; i += GROUP_COUNT) {
        GLOBAL const u64 *own = work + LONGS(capacity) + 3 * i;
        const SEGMENT segment = SEGMENT_OF(own[0]);
        FOLD(p, partials + own[1], counts + own[1], own[2])
        if (thread == 0) put_part(p, segment.n, out, segment.out, initial, params);
    }
}
