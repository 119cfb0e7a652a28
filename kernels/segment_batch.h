/* SPDX-License-Identifier: MIT */
/*
 * segment_batch: the segments that a group stages at once, by offsets.
 *
 * Computes: nothing by itself. kernels/segment_stage.h reduces a batch.
 * How: a group's threads note where the items of neighbouring segments are in its tile of shared
 * memory, and how many segments fit. They list the segments by class with a counter of each class.
 * Needs: kernels/segment_work.h, which defines STAGES, and kernels/staging.h before it.
 * Why: segments of a class take as many steps, so that the threads of a warp wait for none.
 */
#ifdef STAGES

/* ---- a batch --------------------------------------------------------------------------------- */

#define STAGE_ROWS 4 /* segments of a thread, GROUP apart */
/* Bytes of a group's tile: 160 a thread, up to 40 KB. A batch may have more (BATCH_BYTES,
 * src/segments/segments.h): it then takes several tiles. */
#define TILE_BYTES (160 * (GROUP < 256 ? GROUP : 256))
#define TILE_ITEMS (TILE_BYTES / ITEM_BYTES)
#define ALIGNED_BYTES 16
/* Most items of a segment that is staged. */
#define MOST_STAGED (min(CHUNK_ITEMS, TILE_ITEMS - ALIGNED_BYTES / ITEM_BYTES))

/* Words of local memory in which the threads of a group note what they find out about a batch: the
 * sizes of the classes; the segments up to the first that does not fit, or up to the first that
 * may; the items of the longest one that fits; the bits that any place in the tile has; the items
 * of all that fit, and the end of the last.
 */
enum { CUT = CLASSES, LONGEST, PLACES, USED, REACH, FOUND };
#define EMPTY_FOUND(found)                                                                                                     \
    if (THREAD_ID < FOUND) (found)[THREAD_ID] = THREAD_ID == CUT ? ~0U : 0;

/* A group's local memory. `members` are the numbers of segments in the batch, sorted by class;
 * class c begins at firsts[c]. `found` is of this batch and of the next. */
typedef struct ALIGN(16) {
    u8 tile[TILE_BYTES];
    u32 notes[STAGE_ROWS * GROUP];
    u16 members[STAGE_ROWS * GROUP];
    u32 firsts[WIDTH], turns[WIDTH];
    u32 found[2][FOUND];
    u64 arrived;
} STAGE;

/* Arguments of the kernel that its steps need, and the thread's state. */
typedef struct {
    SOURCE in;
    OUTS out;
    RESULT initial;
    GLOBAL const OFFSET_TYPE *begins, *ends;
    GLOBAL u64 *work;
    u64 capacity;
    u32 lists, tile, arrived, thread, lane;
} CALLED;

/* `here` segments from number `at` on. Each thread has some, GROUP apart. The input's item `first`
 * is the first of them, and has place `skip` in the tile. Segments of up to class `leaves` have a
 * team of one thread. */
typedef struct {
    u64 at, first;
    u32 here, skip, leaves;
    LOCAL u32 *found;
} BATCH;
/* Threads of a warp take part together, if one of them has a segment. */
#define EACH_ROW(k, i)                                                                                                         \
    _Pragma("unroll") for (u32 k = 0, i = call->thread; k < STAGE_ROWS; k++, i += GROUP) if (i - call->lane < b->here)

/* A note of a segment: its items, up to 65,535, and its first item's place in the tile. */
#define NOTE(n, place) (min(n, 0xffffU) | (place) << 16)
#define ITEMS_OF_NOTE(note) ((note)&0xffffU)
#define PLACE_OF_NOTE(note) ((note) >> 16)

INLINE u32 low_word(u64 n) {
    return n >> 32 ? ~0U : (u32)n;
}

/* The class of a segment of n items, as class_of has it, without a branch. */
INLINE u32 kind_of(u32 n) {
    const u32 items = min(max(n, 1U), LANES + 1U);
    return WIDTH - LEADING_ZEROS((items - 1) / OWN) + (n > CHUNK_ITEMS ? 1U : 0U);
}

/* Prefetches the offsets of the batch from `from` on, by a warp: registers for them would cost
 * groups. */
INLINE void ask_for_offsets(const CALLED *call, u64 from, u64 segments, u32 batch) {
    const u32 line = LINE_BYTES / sizeof(OFFSET_TYPE);
    if (call->thread < GROUP - WIDTH || from >= segments) return;
    const u32 here = (u32)min((u64)batch, segments - from);
    KEEP_ROLLED
    for (u32 i = call->lane * line; i < here; i += WIDTH * line) {
        ASK_FOR(call->begins + from + i)
        if (call->ends != call->begins + 1) ASK_FOR(call->ends + from + i)
    }
}

/* Bytes from the aligned address below an item to the item. Reading them is safe, because memory
 * is allocated in units of 16 bytes and more. */
#define BYTES_BELOW(at) ((u32)((u64)(at) & (ALIGNED_BYTES - 1)))

/* Begins to copy `items` items to the tile, whose first one is the item at the aligned address
 * below. */
INLINE void copy_items(const CALLED *call, GLOBAL const ITEM *from, u32 items) {
    const u32 below = BYTES_BELOW(from), bytes = below + items * ITEM_BYTES, whole = bytes / ALIGNED_BYTES * ALIGNED_BYTES;
    GLOBAL const u8 *aligned = (GLOBAL const u8 *)from - below;
#ifdef SPANS
    if (call->thread == 0) {
        EXPECT_SPAN(whole, call->arrived)
        if (whole) COPY_SPAN(call->tile, aligned, whole, call->arrived)
    }
#else
    for (u32 at = call->thread * ALIGNED_BYTES; at < whole; at += GROUP * ALIGNED_BYTES)
        COPY_VECTOR(call->tile + at, aligned + at)
#endif
    copy_rest(call->tile + whole, aligned + whole, bytes - whole, call->thread);
}

/* Waits for the items of the tile, and for all threads of the group. */
INLINE void await_items(const CALLED *call, u32 *parity) {
#ifdef SPANS
    u32 is = 0;
    while (!is) SPAN_ARRIVED(is, call->arrived, *parity)
    *parity ^= 1;
#endif
    AWAIT_COPIES
    BARRIER
}

/* Loads the offsets of a thread's segments, and 0 for those behind the batch. */
INLINE void load_offsets(const CALLED *call, const BATCH *b, OFFSET_TYPE *begin, OFFSET_TYPE *end) {
    GLOBAL const OFFSET_TYPE *begins = call->begins + b->at + call->thread, *ends = call->ends + b->at + call->thread;
#pragma unroll
    for (u32 k = 0; k < STAGE_ROWS; k++) begin[k] = end[k] = 0;
    EACH_ROW(k, i) {
        if (i < b->here) begin[k] = begins[k * GROUP], end[k] = ends[k * GROUP];
    }
}

/* OWN_CLASS is the longest class that threads reduce alone, as they come, where most segments are
 * that short: up to OWN_ITEMS items. Teams reduce the others. A thread of a team has LEAVES lanes,
 * so that a segment of LEAVES_CLASS has a team of one thread. Words of bytes allow 32 items a
 * thread. */
#ifdef ADDS_WORDS
#define OWN_CLASS 3
#define LEAVES_CLASS 3
#else
#define OWN_CLASS 1
#ifdef TAKES_PIVOT
#define LEAVES_CLASS 1
#else
#define LEAVES_CLASS (ACC_BYTES <= 4 ? 2 : 1)
#endif
#endif
#define OWN_ITEMS (OWN << OWN_CLASS)
#define LEAVES (OWN << LEAVES_CLASS)

/* Notes where the segments' items are in the tile. If `has_first`, the first segment fits, and the
 * batch is cut at the first that does not. Else it is cut at the first that is short enough. */
INLINE void note_segments(const CALLED *call, LOCAL STAGE *stage, const BATCH *b, const OFFSET_TYPE *begin,
                          const OFFSET_TYPE *end, u32 has_first) {
    u32 longest = 0, places = 0;
    EACH_ROW(k, i) {
        const u32 n = low_word((u64)end[k] - (u64)begin[k]), place = low_word((u64)begin[k] - b->first);
        const u32 fits = n <= MOST_STAGED && (!has_first || place <= TILE_ITEMS - b->skip - n);
        const u32 cuts = ballot_of(fits != has_first);
        if (call->lane == 0 && cuts) MIN_LOCAL(&b->found[CUT], i + LOWEST_OF(cuts));
        stage->notes[i] = NOTE(n, b->skip + place);
        if (fits) longest = max(longest, n);
        if (fits && i < b->here) places |= place;
    }
    longest = most_of(longest);
    places = bits_of(places);
    if (call->lane == 0) MAX_LOCAL(&b->found[LONGEST], longest), OR_LOCAL(&b->found[PLACES], places);
}

/* Adds up what the tile has of segments between which there may be other items. */
INLINE void survey_segments(const CALLED *call, LOCAL STAGE *stage, const BATCH *b) {
    u32 used = 0, reach = 0;
    EACH_ROW(k, i) {
        const u32 note = stage->notes[i];
        if (i >= min(b->here, b->found[CUT])) continue;
        used += ITEMS_OF_NOTE(note);
        reach = max(reach, PLACE_OF_NOTE(note) - b->skip + ITEMS_OF_NOTE(note));
    }
    used = sum_of(used);
    reach = most_of(reach);
    if (call->lane == 0) ADD_LOCAL(&b->found[USED], used), MAX_LOCAL(&b->found[REACH], reach);
}

/* Segments at multiples of so many bytes share two banks of local memory. A thread then has up to
 * OWN items of each, so that a warp loads from fewer segments at once. */
#define ALIKE_BYTES 64
INLINE u32 leaves_of(const BATCH *b) {
    return b->found[PLACES] * ITEM_BYTES % ALIKE_BYTES ? LEAVES_CLASS : 0;
}

/* Tells whether threads take segments of up to OWN_CLASS alone, as they come. */
#define HAS_OWN(own, here) (2 * (own) >= (here))

/* Lists the segments by class. All threads of the group take part. */
INLINE void list_segments(const CALLED *call, LOCAL STAGE *stage, const BATCH *b) {
    u32 number[STAGE_ROWS];
    EACH_ROW(k, i) {
        const u32 kind = i < b->here ? kind_of(ITEMS_OF_NOTE(stage->notes[i])) : CLASSES;
        const u32 alike = equals_of(kind), first = LOWEST_OF(alike);
        u32 before = 0;
        if (call->lane == first && kind < CLASSES) before = ADD_LOCAL(&b->found[kind], COUNT_OF(alike));
        number[k] = word_of(before, first) + COUNT_OF(alike & THREADS_BELOW(call->lane));
    }
    BARRIER
    /* Thread t of a warp finds where class t begins, and which turn the t-th class in turn begins.
     * Warps take turns from class LONG, a segment a turn, down to `leaves`, with the shorter ones
     * that are listed. */
    const u32 is_turn = call->lane <= LONG - b->leaves, of = is_turn ? LONG - call->lane : 0;
    u32 own = call->lane < CLASSES ? b->found[call->lane] : 0, begin = own, turns = 0, shorter = 0;
#pragma unroll
    for (u32 k = 0; k <= OWN_CLASS; k++) shorter += b->found[k];
    const u32 least = HAS_OWN(shorter, b->here) ? OWN_CLASS + 1 : 0;
#pragma unroll
    for (u32 k = 0; k <= LEAVES_CLASS; k++)
        if (is_turn && of == b->leaves && k < of && k >= least) turns += b->found[k];
    if (is_turn && of >= least) turns += b->found[of];
    /* Of a class below LONG, 32 threads take 32 >> (of - leaves) segments. */
    if (is_turn && of < LONG) turns = (turns + (WIDTH >> (of - b->leaves)) - 1) >> (LONG - 1 - of + b->leaves);
#pragma unroll
    for (u32 by = 1; by < CLASSES; by *= 2) {
        const u32 other = word_of(begin, (call->lane - by) % WIDTH), others = word_of(turns, (call->lane - by) % WIDTH);
        begin += call->lane >= by ? other : 0;
        turns += call->lane >= by ? others : 0;
    }
    begin -= own;
    if (call->thread < WIDTH) stage->firsts[call->thread] = begin, stage->turns[call->thread] = turns;
    EACH_ROW(k, i) {
        const u32 place = number[k] + word_of(begin, kind_of(ITEMS_OF_NOTE(stage->notes[i])));
        if (i < b->here) stage->members[place] = (u16)i;
    }
}

INLINE SEGMENT called_segment(const CALLED *call, u64 s) {
    const u64 begin = call->begins[s];
    return segment_at(call->in, 0, begin, (u64)call->ends[s] - begin, s);
}

/* Stores the result of segment s, whose n items are combined in `lane`. */
INLINE void put_lane(const CALLED *call, LANE lane, u32 n, u64 s) {
    CHUNK c;
    c.index = 0;
    c.count = n;
    put_part(part_of_lane(lane, c, n), n, call->out, (i64)s, call->initial, call->in.p);
}
#endif
