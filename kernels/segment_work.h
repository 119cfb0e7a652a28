/* SPDX-License-Identifier: MIT */
/*
 * segment_work: reductions of segments by offsets on GPUs.
 *
 * Computes: tally_segments_teams the results of segments of up to a chunk, and a work list of the
 * chunks of longer ones; tally_segments_chunks the partials of these chunks; tally_segments_fold
 * the results of the longer segments.
 * How: a group sorts its segments by length into classes. Each class is reduced by teams of a size
 * that fits it. Atomics give out the places on the work list, in any order. That order does not
 * matter, because partials are combined in the order of a segment's own chunks.
 * tally_segments_clear empties the list before. If `lists` is 0, the list was made before, and
 * tally_segments_teams leaves long segments alone.
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

/* Reduces a long segment by one thread. Only segments that overlap much need it: the work list has
 * no room for them. CUDA calls it, so that no other code waits for its registers. */
#ifdef __CUDA_ARCH__
static __device__ __noinline__
#else
INLINE
#endif
    void
    lone_segment(const SEGMENT s, const OUTS out, const RESULT initial, PARAMS params) {
    PART level[49], all = part_identity();
    const u64 chunks = CHUNKS_OF(s.n);
    for (u64 k = 0; k < chunks; k++) {
        PART p = thread_part(&s, 0, k, WIDTH);
        int b = 0;
        for (; k >> b & 1; b++) p = part_combine(level[b], p);
        level[b] = p;
    }
    for (int b = 0; chunks >> b; b++)
        if (chunks >> b & 1) all = part_combine(level[b], all);
    put_part(all, s.n, out, s.out, initial, params);
}

/* ---- classes of lengths ---------------------------------------------------------------------- */

/* Classes of segments by their length. Class c <= SHORTEST has up to OWN * (WIDTH >> c) items, and a
 * team of WIDTH >> c threads. Class LONG has up to a chunk, and a warp. Class TO_LIST is longer, and
 * goes to the work list. */
#define SHORTEST 5
#define LONG 6
#define TO_LIST 7
#define CLASSES 8
#define MOST_EACH 4 /* segments of a thread that a group takes at once */

INLINE u32 class_of(u64 n) {
    u32 of = SHORTEST;
    if (n > LANES) return n > CHUNK_ITEMS ? TO_LIST : LONG;
    while ((u32)(OWN * WIDTH) >> of < (u32)n) of--;
    return of;
}

/* A group's segments, sorted by class. Of each: its number in the group, its first item, and its
 * length. Of a segment for the work list: its place there, and its number of chunks. */
typedef struct {
    u32 sizes[CLASSES];
    u64 begins[GROUP * MOST_EACH];
    u32 lengths[GROUP * MOST_EACH], members[GROUP * MOST_EACH];
} SORTED;

/* Most chunks that `lengths` counts: no work list has as many. */
#define MOST_CHUNKS 0xffffffffu

/* Returns where the members of a class begin. */
INLINE u32 first_of(const LOCAL SORTED *group, u32 of) {
    u32 first = 0;
    for (u32 k = 0; k < of; k++) first += group->sizes[k];
    return first;
}

#ifdef PLAIN
/* Finds the team that has slot `slot`. Each thread of a team is a slot, and teams stand in the order
 * of their members. Sets *member, and returns the team's threads, or 0 if there are no more teams. */
INLINE u32 team_at(const LOCAL SORTED *group, u32 slot, u32 *member) {
    u32 first = 0, size = WIDTH, team = 0;
#pragma unroll
    for (u32 k = 0; k < SHORTEST; k++, size /= 2) {
        const u32 slots = group->sizes[k] * size;
        if (!team && slot < slots) {
            team = size;
            *member = first + slot / size;
        }
        slot -= slots; /* wraps when the team is found */
        first += group->sizes[k];
    }
    return team;
}

/* Reduces the segments of class SHORTEST, each by a thread, which loads the items of all first. */
#define REDUCE_SHORTEST                                                                                                        \
    ITEMS found[MOST_EACH][OWN];                                                                                               \
    _Pragma("unroll") for (u32 k = 0; k < MOST_EACH; k++) if (classes[k] == SHORTEST)                                          \
        row_items(found[k], source_on(in, (i64)from[k], step), step, lengths[k], 0, 1);                                        \
    _Pragma("unroll") for (u32 k = 0; k < MOST_EACH; k++) if (classes[k] == SHORTEST) {                                        \
        CHUNK c;                                                                                                               \
        c.index = 0;                                                                                                           \
        c.count = lengths[k];                                                                                                  \
        put_part(part_of_lane(row_lane(found[k], c.count, 0, 1, params), c, c.count), c.count, out,                            \
                 (i64)(begin + k * GROUP + thread), initial, params);                                                          \
    }

/* Reduces the members of all classes above SHORTEST, FLIGHT_ROWS slots of a thread at once. */
#define REDUCE_SORTED                                                                                                          \
    u32 slots = 0;                                                                                                             \
    _Pragma("unroll") for (u32 k = 0; k < SHORTEST; k++) slots += group.sizes[k] * (WIDTH >> k);                               \
    KEEP_ROLLED                                                                                                                \
    for (u32 turn = 0; turn < slots; turn += GROUP * FLIGHT_ROWS) {                                                            \
        ITEMS v[FLIGHT_ROWS][OWN];                                                                                             \
        LANE lanes[FLIGHT_ROWS];                                                                                               \
        u32 n[FLIGHT_ROWS], member[FLIGHT_ROWS], teams[FLIGHT_ROWS], first_member = 0;                                         \
        _Pragma("unroll") for (int f = 0; f < FLIGHT_ROWS; f++) {                                                              \
            teams[f] = team_at(&group, turn + f * GROUP + thread, &member[f]);                                                 \
            n[f] = teams[f] ? group.lengths[member[f]] : 0;                                                                    \
            if (teams[f]) {                                                                                                    \
                const u32 own = thread % teams[f];                                                                             \
                row_items(v[f], source_on(in, (i64)(group.begins[member[f]] + own), step), step, n[f], own, teams[f]);         \
            }                                                                                                                  \
        }                                                                                                                      \
        _Pragma("unroll") for (int f = 0; f < FLIGHT_ROWS; f++) lanes[f] =                                                     \
            row_lane(v[f], n[f], teams[f] ? thread % teams[f] : 0, teams[f], params);                                          \
        rows_across(lanes, teams, FLIGHT_ROWS, team_at(&group, turn + thread / WIDTH * WIDTH, &first_member), meet);           \
        _Pragma("unroll") for (int f = 0; f < FLIGHT_ROWS; f++) {                                                              \
            CHUNK c;                                                                                                           \
            c.index = 0;                                                                                                       \
            c.count = n[f];                                                                                                    \
            if (teams[f] && thread % teams[f] == 0)                                                                            \
                put_part(part_of_lane(lanes[f], c, n[f]), n[f], out, (i64)(begin + group.members[member[f]]), initial,         \
                         params);                                                                                              \
        }                                                                                                                      \
    }
#define FIRST_WALKED LONG
#define IS_SORTED(of) ((of) != SHORTEST && (of) < CLASSES)
#else
#define REDUCE_SHORTEST
#define REDUCE_SORTED
#define FIRST_WALKED 0
#define IS_SORTED(of) ((of) < CLASSES)
#endif

/* Prefetches the items of a segment of a class that waits for others. */
#ifdef SHUFFLES
#define ASK_FOR(at) asm volatile("prefetch.global.L2 [%0];" ::"l"((u64)(at)));
#else
#define ASK_FOR(at) prefetch(at, 1);
#endif
#define LINE_BYTES 128 /* of a cache */
INLINE void ask_for_items(SOURCE in, u64 from, u32 n) {
    KEEP_ROLLED
    for (u32 at = 0; at < n * ITEM_BYTES; at += LINE_BYTES) {
#define ASK_FOR_LINE(name) ASK_FOR((GLOBAL const u8 *)(in.name + from) + at)
        EACH_INPUT(ASK_FOR_LINE)
    }
}

/* ---- kernels --------------------------------------------------------------------------------- */

/* A group takes `wide` neighbouring segments for each of its threads. It sorts them by class, and
 * then reduces them. If PLAIN, the shortest segments are reduced at once, and not sorted. */
KERNEL BOUNDS_OF(3) void tally_segments_teams(CALL_ARGS) {
    OPEN;
    OPEN_EXCHANGE;
    SHARED SORTED group;
    const STEPS step = item_step(&shape);
    const u64 segments = SEGMENTS, batch = GROUP * wide;
    (void)t;
    for (u64 begin = GROUP_ID * batch; begin < segments; begin += GROUP_COUNT * batch) {
        const u32 here = (u32)min(batch, segments - begin);
        u32 places[MOST_EACH], classes[MOST_EACH], lengths[MOST_EACH];
        u64 from[MOST_EACH];
        BARRIER
        if (thread < CLASSES) group.sizes[thread] = 0;
        BARRIER
#pragma unroll
        for (u32 k = 0; k < MOST_EACH; k++) {
            const u32 i = k * GROUP + thread;
            classes[k] = CLASSES;
            if (i >= here) continue;
            from[k] = BEGIN_OF(begin + i);
            const u64 n = END_OF(begin + i) - from[k], chunks = CHUNKS_OF(n);
            classes[k] = class_of(n);
            lengths[k] = classes[k] < TO_LIST ? (u32)n : (u32)min(chunks, (u64)MOST_CHUNKS);
            if (IS_SORTED(classes[k])) places[k] = COUNT_LOCAL(&group.sizes[classes[k]]);
            if (IS_SORTED(classes[k]) && classes[k] < LONG) ask_for_items(in, from[k], lengths[k]);
        }
        REDUCE_SHORTEST
        BARRIER
#pragma unroll
        for (u32 k = 0; k < MOST_EACH; k++)
            if (IS_SORTED(classes[k])) {
                const u32 place = first_of(&group, classes[k]) + places[k];
                group.members[place] = k * GROUP + thread;
                group.begins[place] = from[k];
                group.lengths[place] = lengths[k];
            }
        BARRIER
        REDUCE_SORTED
        u32 first_member = first_of(&group, FIRST_WALKED);
        for (u32 of = FIRST_WALKED; of <= LONG; first_member += group.sizes[of], of++) {
            const u32 size = of < LONG ? WIDTH >> of : WIDTH, own = thread % size, teams = GROUP / size;
            for (u32 turn = 0; turn < group.sizes[of]; turn += teams) {
                const u32 i = turn + thread / size, is = i < group.sizes[of], at = first_member + (is ? i : 0);
                const u64 s = begin + group.members[at];
                const SEGMENT segment = segment_at(in, where + where_offset, group.begins[at], is ? group.lengths[at] : 0, s);
                const PART p = team_part(&segment, &shape, 0, own, size, 0, meet);
                if (is && own == 0) put_part(p, segment.n, out, segment.out, initial, params);
            }
        }
        /* Each thread takes the places of some long segments; then each warp fills those of some. */
        const u32 longs = lists ? group.sizes[TO_LIST] : 0;
        for (u32 i = first_member + thread; i < first_member + longs; i += GROUP) {
            const u64 s = begin + group.members[i], place = take_places(group.lengths[i], work, capacity);
            if (place == capacity) {
                lone_segment(SEGMENT_OF(s), out, initial, params);
                group.lengths[i] = 0;
            } else {
                list_long(s, place, group.lengths[i], work, capacity);
                group.begins[i] = place;
            }
        }
        BARRIER
        for (u32 i = first_member + thread / WIDTH; i < first_member + longs; i += GROUP / WIDTH)
            for (u32 k = thread % WIDTH; k < group.lengths[i]; k += WIDTH)
                list_chunk(begin + group.members[i], k, group.begins[i], work);
    }
}

KERNEL BOUNDS void tally_segments_chunks(CALL_ARGS) {
    OPEN;
    OPEN_EXCHANGE;
    const u64 chunks = LISTED(work, capacity);
    for (u64 begin = GROUP_ID * (GROUP / WIDTH); begin < chunks; begin += GROUP_COUNT * (GROUP / WIDTH)) {
        const u64 k = begin + thread / WIDTH, s = k < chunks ? work[CHUNKS + 2 * k] : NO_SEGMENT;
        const u32 is = s != NO_SEGMENT;
        SEGMENT segment = SEGMENT_OF(is ? s : 0);
        if (!is) segment.n = 0;
        const PART p = team_part(&segment, &shape, is ? work[CHUNKS + 2 * k + 1] : 0, t, WIDTH, 0, meet);
        if (is && t == 0) part_store(p, partials, counts, k);
    }
}

/* Combines the partials of each long segment, by a group. */
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
