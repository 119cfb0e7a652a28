/* SPDX-License-Identifier: MIT */
/*
 * segment_work: reductions of segments by offsets on GPUs.
 *
 * Computes: tally_segments_teams, or tally_segments_alone, the results of segments of up to a
 * chunk, and a work list of the chunks of longer ones; tally_segments_chunks the partials of these
 * chunks; tally_segments_fold the results of the longer segments.
 * How: a group sorts its segments by length into classes. Each class is reduced by teams of a size
 * that fits it. Atomics give out the places on the work list, in any order. That order does not
 * matter, because partials are combined in the order of a segment's own chunks.
 * tally_segments_clear empties the list before. If `lists` is 0, the list was made before, and both
 * kernels of shorter segments skip the long ones.
 * kernels/segment_stage.h has another tally_segments_teams where warps can stage items (STAGES).
 * tally_segments_alone is for warps that shuffle, and segments so long that a tile has few of them.
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

/* Items are staged if they have no mask, from one input, on GPUs that copy to local memory without
 * registers, if the tiles fit 48 KB a group. NVIDIA's OpenCL takes these copies if it has
 * the feature BULK. STAGED_GROUPS groups share a multiprocessor. */
#if !defined(WHERE) && INPUTS == 1 && defined(SHUFFLES)
#if defined(BULK) || __CUDA_ARCH__ >= 800
#define STAGES 1
#ifdef TAKES_PIVOT
#define STAGED_GROUPS (768 / GROUP)
#else
#define STAGED_GROUPS ((ACC_BYTES <= 8 ? 1024 : 768) / GROUP)
#endif
#endif
#endif

/* A counter of the chunks of a segment: level b has a tree of 2^b chunks. */
#define MOST_LEVELS 49

/* Adds chunk k to the counter. */
INLINE void push_part(PART *level, u64 k, PART p) {
    int b = 0;
    for (; k >> b & 1; b++) p = part_combine(level[b], p);
    level[b] = p;
}

/* Combines what the counter has of a segment's chunks. */
INLINE PART counted_part(const PART *level, u64 chunks) {
    PART all = part_identity();
    for (int b = 0; chunks >> b; b++)
        if (chunks >> b & 1) all = part_combine(level[b], all);
    return all;
}

/* tally_segments_teams finds masked items row by row, because most segments are short. */
#ifdef WHERE
#define OF_TEAMS BY_ROWS
#else
#define OF_TEAMS BY_STEPS
#endif

#ifndef STAGES
/* Reduces a long segment by one thread. Only segments that overlap much need it: the work list has
 * no room for them. */
INLINE PART lone_part(const SEGMENT *s, const SHAPE *shape) {
    PART level[MOST_LEVELS];
    const u64 chunks = CHUNKS_OF(s->n);
    for (u64 k = 0; k < chunks; k++) push_part(level, k, shared_part(s, shape, k, WIDTH, shares_of(0, 1), OF_TEAMS, 0));
    return counted_part(level, chunks);
}
#endif

/* ---- classes of lengths ---------------------------------------------------------------------- */

/* Classes of segments by their length. Class c < LONG has up to a chunk row, and a team of 2^c
 * threads. Class LONG has up to a chunk, and a warp. Class TO_LIST is longer, and goes to the work
 * list. */
#define LONG 6
#define TO_LIST 7
#define CLASSES 8
#define MOST_EACH 4 /* segments of a thread that a group takes at once */

INLINE u32 class_of(u64 n) {
    u32 of = 0;
    if (n > LANES) return n > CHUNK_ITEMS ? TO_LIST : LONG;
    while ((u32)(OWN << of) < (u32)n) of++;
    return of;
}

/* A group's segments, sorted by class: the classes' sizes, and the segments' numbers in the group.
 * places[i] is the place of long segment members[i] on the work list. */
typedef struct {
    u32 sizes[CLASSES], members[GROUP * MOST_EACH], places[GROUP * MOST_EACH];
} SORTED;

/* Returns where the members of a class begin. */
INLINE u32 first_of(const LOCAL SORTED *group, u32 of) {
    u32 first = 0;
    for (u32 k = 0; k < of; k++) first += group->sizes[k];
    return first;
}

#ifdef PLAIN
#define FIRST_SORTED 1 /* those of class 0 are reduced as they are found */
#else
#define FIRST_SORTED 0
#endif

/* Prefetches an address. */
#ifdef SHUFFLES
#define ASK_FOR(at) asm volatile("prefetch.global.L2 [%0];" ::"l"((u64)(at)));
#else
#define ASK_FOR(at) prefetch(at, 1);
#endif
#define LINE_BYTES 128 /* of a cache */

#ifndef STAGES
/* Prefetches the items of neighbouring segments, if they are few and in order. */
#define MOST_AHEAD 65536
INLINE void ask_for_items(SOURCE in, u64 from, u64 to) {
    const u64 bytes = (to - from) * ITEM_BYTES;
    if (to < from || bytes > MOST_AHEAD) return;
    for (u64 at = THREAD_ID * LINE_BYTES; at < bytes; at += GROUP * LINE_BYTES) {
#define ASK_FOR_LINE(name) ASK_FOR((GLOBAL const u8 *)(in.name + from) + at)
        EACH_INPUT(ASK_FOR_LINE)
    }
}

/* ---- kernels --------------------------------------------------------------------------------- */

/* A group takes `wide` neighbouring segments for each of its threads. It sorts them by class, and
 * then reduces class by class. If PLAIN, class 0 is reduced at once, and not sorted. */
KERNEL BOUNDS_OF(3) void tally_segments_teams(CALL_ARGS) {
    OPEN;
    OPEN_EXCHANGE;
    SHARED SORTED group;
    const STEPS step = item_step(&shape);
    const u64 segments = SEGMENTS, batch = GROUP * wide;
    (void)t;
    for (u64 begin = GROUP_ID * batch; begin < segments; begin += GROUP_COUNT * batch) {
        const u32 here = (u32)min(batch, segments - begin);
        u32 places[MOST_EACH], classes[MOST_EACH];
        ask_for_items(in, (u64)begins[begins_offset + begin], (u64)ends[ends_offset + begin + here - 1]);
        BARRIER
        if (thread < CLASSES) group.sizes[thread] = 0;
        BARRIER
#ifdef PLAIN
        ITEMS found[MOST_EACH][OWN];
        u32 few[MOST_EACH];
#endif
#pragma unroll
        for (u32 k = 0; k < MOST_EACH; k++) {
            const u32 i = k * GROUP + thread;
            classes[k] = CLASSES;
            if (i >= here) continue;
            const SEGMENT segment = SEGMENT_OF(begin + i);
            classes[k] = class_of(segment.n);
#ifdef PLAIN
            few[k] = (u32)segment.n;
            if (classes[k] == 0) row_items(found[k], segment.in, step, few[k], 0, 1);
#endif
            if (classes[k] >= FIRST_SORTED) places[k] = COUNT_LOCAL(&group.sizes[classes[k]]);
        }
        BARRIER
#pragma unroll
        for (u32 k = 0; k < MOST_EACH; k++) {
            const u32 i = k * GROUP + thread;
            if (classes[k] >= FIRST_SORTED && classes[k] < CLASSES) group.members[first_of(&group, classes[k]) + places[k]] = i;
#ifdef PLAIN
            CHUNK c;
            c.index = 0;
            c.count = few[k];
            if (classes[k] == 0)
                put_part(part_of_lane(row_lane(found[k], few[k], 0, 1, params), c, few[k]), few[k], out, (i64)(begin + i),
                         initial, params);
#endif
        }
        BARRIER
        u32 first_member = 0;
        for (u32 of = FIRST_SORTED; of <= LONG; first_member += group.sizes[of], of++) {
            const u32 size = of < LONG ? 1u << of : WIDTH, own = thread % size, teams = GROUP / size;
#ifdef PLAIN
            for (u32 turn = 0; of < LONG && turn < group.sizes[of]; turn += teams * FLIGHT_ROWS) {
                ITEMS v[FLIGHT_ROWS][OWN];
                LANE lanes[FLIGHT_ROWS];
                u32 n[FLIGHT_ROWS], member[FLIGHT_ROWS];
#pragma unroll
                for (int f = 0; f < FLIGHT_ROWS; f++) {
                    const u32 i = turn + f * teams + thread / size;
                    n[f] = 0;
                    member[f] = here;
                    if (i >= group.sizes[of]) continue;
                    member[f] = group.members[first_member + i];
                    const SEGMENT segment = SEGMENT_OF(begin + member[f]);
                    n[f] = (u32)segment.n;
                    row_items(v[f], source_on(segment.in, own, step), step, n[f], own, size);
                }
#pragma unroll
                for (int f = 0; f < FLIGHT_ROWS; f++) lanes[f] = row_lane(v[f], n[f], own, size, params);
                rows_across(lanes, FLIGHT_ROWS, size, meet);
#pragma unroll
                for (int f = 0; f < FLIGHT_ROWS; f++) {
                    CHUNK c;
                    c.index = 0;
                    c.count = n[f];
                    if (member[f] < here && own == 0)
                        put_part(part_of_lane(lanes[f], c, n[f]), n[f], out, (i64)(begin + member[f]), initial, params);
                }
            }
            if (of < LONG) continue;
#endif
            for (u32 turn = 0; turn < group.sizes[of]; turn += teams) {
                const u32 i = turn + thread / size, is = i < group.sizes[of];
                const u64 s = begin + (is ? group.members[first_member + i] : 0);
                SEGMENT segment = SEGMENT_OF(s);
                if (!is) segment.n = 0;
                const PART p = team_part(&segment, &shape, 0, own, size, OF_TEAMS, meet);
                if (is && own == 0) put_part(p, segment.n, out, segment.out, initial, params);
            }
        }
        /* Each thread takes the places of some long segments, and each warp then fills some. */
        const u32 longs = lists ? group.sizes[TO_LIST] : 0, first_long = first_member;
        for (u32 i = thread; i < longs; i += GROUP) {
            const u64 s = begin + group.members[first_long + i];
            const SEGMENT segment = SEGMENT_OF(s);
            const u64 place = take_places(CHUNKS_OF(segment.n), work, capacity);
            group.places[first_long + i] = (u32)place;
            if (place == capacity)
                put_part(lone_part(&segment, &shape), segment.n, out, segment.out, initial, params);
            else
                list_long(s, place, CHUNKS_OF(segment.n), work, capacity);
        }
        BARRIER
        for (u32 i = thread / WIDTH; i < longs; i += GROUP / WIDTH) {
            const u64 s = begin + group.members[first_long + i], place = group.places[first_long + i];
            const u64 chunks = place == capacity ? 0 : CHUNKS_OF(SEGMENT_OF(s).n);
            for (u64 k = thread % WIDTH; k < chunks; k += WIDTH) list_chunk(s, k, place, work);
        }
    }
}

#endif

#if defined(SHUFFLES) && !defined(NUMBER)
/* Puts segment s on the work list, by a warp. Returns 0 if the list has no room. */
INLINE u32 enlist_by_warp(u64 s, u64 chunks, u32 lane, GLOBAL u64 *work, u64 capacity) {
    u32 place = 0;
    if (lane == 0) {
        place = (u32)take_places(chunks, work, capacity);
        if (place != capacity) list_long(s, place, chunks, work, capacity);
    }
    asm volatile("shfl.sync.idx.b32 %0, %0, 0, 0x1f, 0xffffffff;" : "+r"(place));
    if (place == capacity) return 0;
#pragma unroll 1
    for (u64 k = lane; k < chunks; k += WIDTH) list_chunk(s, k, place, work);
    return 1;
}

/* Does what tally_segments_teams does: each warp takes a segment at a time, from global memory. */
KERNEL BOUNDS_OF(768 / GROUP) void tally_segments_alone(CALL_ARGS) {
    OPEN;
    const u64 segments = SEGMENTS;
#pragma unroll 1
    for (u64 s = GROUP_ID * (GROUP / WIDTH) + thread / WIDTH; s < segments; s += GROUP_COUNT * (GROUP / WIDTH)) {
        const SEGMENT segment = SEGMENT_OF(s);
        const u64 chunks = CHUNKS_OF(segment.n);
        if (chunks > 1 && (!lists || enlist_by_warp(s, chunks, t, work, capacity))) continue;
        PART level[MOST_LEVELS], all = part_identity();
#pragma unroll 1
        for (u64 k = 0; k < chunks; k++) {
            all = team_part(&segment, 0, k, t, WIDTH, BY_STEPS, 0);
            if (chunks > 1) push_part(level, k, all);
        }
        if (chunks > 1) all = counted_part(level, chunks);
        if (t == 0) put_part(all, segment.n, out, segment.out, initial, params);
    }
}
#endif

KERNEL BOUNDS void tally_segments_chunks(CALL_ARGS) {
    OPEN;
    OPEN_EXCHANGE;
    const u64 chunks = LISTED(work, capacity);
    for (u64 begin = GROUP_ID * (GROUP / WIDTH); begin < chunks; begin += GROUP_COUNT * (GROUP / WIDTH)) {
        const u64 k = begin + thread / WIDTH, s = k < chunks ? work[CHUNKS + 2 * k] : NO_SEGMENT;
        const u32 is = s != NO_SEGMENT;
        SEGMENT segment = SEGMENT_OF(is ? s : 0);
        if (!is) segment.n = 0;
        const PART p = team_part(&segment, &shape, is ? work[CHUNKS + 2 * k + 1] : 0, t, WIDTH, BY_STEPS, meet);
        if (is && t == 0) part_store(p, partials, counts, k);
    }
}

#ifdef SHUFFLES
EXCHANGE_BY(part_down, PART, part, "down", THREAD_ID + s)

/* Combines up to WIDTH partials by the threads of a warp, neighbours first. Thread 0 has the
 * result. */
INLINE PART warp_parts(GLOBAL const ACC *partials, GLOBAL const u64 *counts, u64 at, u32 count, u32 lane) {
    PART p = part_identity();
    if (lane < count) p = part_at(partials, counts, at + lane);
    KEEP_ROLLED
    for (u32 s = 1; s < count; s *= 2) p = part_combine(p, part_down(p, s, 0));
    return p;
}
#endif

/* Combines the partials of each long segment, by a group, or by a warp if they are few. */
KERNEL BOUNDS void tally_segments_fold(CALL_ARGS) {
    OPEN;
    OPEN_FOLD;
    const u64 longs = ((GLOBAL u32 *)work)[1];
    GLOBAL const u64 *const list = work + LONGS(capacity);
#ifdef SHUFFLES
    const u32 lane = thread % WIDTH;
    for (u64 i = GROUP_ID * (GROUP / WIDTH) + thread / WIDTH; i < longs; i += GROUP_COUNT * (GROUP / WIDTH)) {
        GLOBAL const u64 *own = list + 3 * i;
        if (own[2] > WIDTH) continue;
        const SEGMENT segment = SEGMENT_OF(own[0]);
        const PART p = warp_parts(partials, counts, own[1], (u32)own[2], lane);
        if (lane == 0) put_part(p, segment.n, out, segment.out, initial, params);
    }
#endif
    for (u64 i = GROUP_ID; i < longs; i += GROUP_COUNT) {
        GLOBAL const u64 *own = list + 3 * i;
#ifdef SHUFFLES
        if (own[2] <= WIDTH) continue;
#endif
        const SEGMENT segment = SEGMENT_OF(own[0]);
        FOLD(p, partials + own[1], counts + own[1], own[2])
        if (thread == 0) put_part(p, segment.n, out, segment.out, initial, params);
    }
}
