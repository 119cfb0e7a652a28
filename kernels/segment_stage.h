/* SPDX-License-Identifier: MIT */
/*
 * segment_stage: tally_segments_teams by offsets where a warp can stage items in shared memory.
 *
 * Computes: the same as tally_segments_teams of kernels/segment_work.h, to the bit.
 * How: a warp takes up to 128 neighbouring segments, and waits for no other warp. It copies the
 * items of short segments (up to a chunk row) to its tile of shared memory, in 16 bytes a thread
 * and without registers. If the segments lie in one span that fits, the span is copied whole; else
 * its runs of short neighbours are. Longer segments are reduced from global memory meanwhile, and
 * so are short ones that are not in the tile. A thread then reduces the shortest ones alone, and
 * teams reduce the others, class by class.
 * Needs: kernels/segment_work.h before it, which defines STAGES for devices and ops that it fits.
 * Items that are not loaded are set to 0, because ptxas would keep the registers of a variable that
 * is set under a condition through the whole loop.
 * Why: memory speed needs 32 KB in flight on a multiprocessor of an H200. Items that teams load
 * are fewer, and each class has a round trip of its own.
 */
#ifdef STAGES

/* ---- words of a warp ------------------------------------------------------------------------- */

#ifdef __CUDA_ARCH__
#define SHARED_ADDRESS(pointer) ((u32)__cvta_generic_to_shared(pointer))
#define LEADING_ZEROS(word) ((u32)__clz((int)(word)))
#define COUNT_OF(mask) ((u32)__popc(mask))
#else
#define SHARED_ADDRESS(pointer) ((u32)(size_t)(pointer))
#define LEADING_ZEROS(word) clz((u32)(word))
#define COUNT_OF(mask) popcount((u32)(mask))
#endif

#define WARPS (GROUP / WIDTH)
#define ALL_THREADS 0xffffffffU
#define LOWEST_OF(mask) (31 - LEADING_ZEROS((mask) & (0U - (mask))))
#define HIGHEST_OF(mask) (31 - LEADING_ZEROS(mask))
#define BELOW(t) ((1U << (t)) - 1)
#define WARP_BARRIER asm volatile("bar.warp.sync 0xffffffff;" ::: "memory");

/* Returns a mask of the threads whose word is not 0. */
INLINE u32 ballot_of(u32 is) {
    u32 mask;
    asm volatile("{.reg .pred p; setp.ne.u32 p, %1, 0; vote.sync.ballot.b32 %0, p, 0xffffffff;}" : "=r"(mask) : "r"(is));
    return mask;
}

/* Returns the bits that any thread's word has. */
INLINE u32 either_of(u32 word) {
    u32 bits;
    asm volatile("redux.sync.or.b32 %0, %1, 0xffffffff;" : "=r"(bits) : "r"(word));
    return bits;
}

/* NAME(value, t) returns the value of another thread of the warp: from_thread that of thread t,
 * from_below that of the thread t below, or its own if there is none. */
#define SHUFFLE_BY(NAME, MODE)                                                                                                 \
    INLINE u64 NAME(u64 value, u32 t) {                                                                                        \
        u32 low, high;                                                                                                         \
        asm volatile("shfl.sync." MODE ", 0xffffffff;" : "=r"(low) : "r"((u32)value), "r"(t));                                 \
        asm volatile("shfl.sync." MODE ", 0xffffffff;" : "=r"(high) : "r"((u32)(value >> 32)), "r"(t));                        \
        return (u64)high << 32 | low;                                                                                          \
    }
SHUFFLE_BY(from_thread, "idx.b32 %0, %1, %2, 0x1f")
SHUFFLE_BY(from_below, "up.b32 %0, %1, %2, 0")

/*
 * Shared memory by its address of 32 bits. ADDRESS_OF hides where the address comes from: ptxas
 * would compute it anew for each load, with a read of a special register.
 */
#define ADDRESS_OF(address, pointer) asm volatile("mov.u32 %0, %1;" : "=r"(address) : "r"(SHARED_ADDRESS(pointer)));
#define PUT_WORD(address, word) asm volatile("st.shared.u32 [%0], %1;" ::"r"(address), "r"(word) : "memory");
#define GET_BYTE(word, address) asm volatile("ld.shared.u8 %0, [%1];" : "=r"(word) : "r"(address));
#define GET_SHORT(word, address) asm volatile("ld.shared.u16 %0, [%1];" : "=r"(word) : "r"(address));
#define GET_WORD(word, address) asm volatile("ld.shared.u32 %0, [%1];" : "=r"(word) : "r"(address));
#define GET_LONG(words, address) asm volatile("ld.shared.u64 %0, [%1];" : "=l"(words) : "r"(address));

/* Copies up to 16 bytes to shared memory, and sets the rest of 16 bytes there to 0. Both addresses
 * are aligned. */
#define COPY_VECTOR(to, from, bytes)                                                                                           \
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(to), "l"(from), "r"(bytes) : "memory");
#define AWAIT_COPIES asm volatile("cp.async.wait_all;" ::: "memory");

/* ---- notes ----------------------------------------------------------------------------------- */

#define STAGE_ROWS 4 /* segments of a thread, 32 apart */
/* Bytes of a warp's tile. 32 warps and their lists take 176 KB of a multiprocessor. */
#define TILE_BYTES 5120
#define TILE_ITEMS (TILE_BYTES / ITEM_BYTES)
#define MOST_RUNS 16 /* of 32 segments; more runs are not worth a copy each */

/* The kind of a segment: below LONG the class of one in the tile, from NOT_STAGED on that of a
 * short one that is not in the tile. */
#define NOT_STAGED 8
#define NO_KIND 15

/* A thread's note of a segment: its items (8 bits), its first item's place in the tile (13), its
 * kind (4) and, in lists, its number in the batch (7). */
#define NOTE(n, place, kind) ((n) | (place) << 8 | (kind) << 21)
#define ITEMS_OF_NOTE(note) ((note)&255)
#define PLACE_OF_NOTE(note) ((note) >> 8 & 8191)
#define KIND_OF_NOTE(note) ((note) >> 21 & 15)
#define NUMBER_OF_NOTE(note) ((note) >> 25)

/* A warp's shared memory. A team reads up to 128 items behind the place of a segment, so that it
 * may read into the list. */
typedef struct ALIGN(16) {
    u8 tile[TILE_BYTES];
    u32 list[STAGE_ROWS * WIDTH * (ITEM_BYTES > 4 ? ITEM_BYTES / 4 : 1)];
} STAGE;
#define NOTE_AT(stage, i) ((stage) + TILE_BYTES + 4 * (i))

/* Returns an item of the tile. */
INLINE ITEMS staged_items(u32 stage, u32 place) {
    const u32 at = stage + place * ITEM_BYTES;
    union {
        ITEM item;
        u8 byte;
        u16 two;
        u32 word;
        u64 eight[ITEM_BYTES / 8 + 1];
    } v;
    ITEMS items;
    u32 word;
    if (ITEM_BYTES == 1) {
        GET_BYTE(word, at)
        v.byte = (u8)word;
    } else if (ITEM_BYTES == 2) {
        GET_SHORT(word, at)
        v.two = (u16)word;
    } else if (ITEM_BYTES == 4) {
        GET_WORD(v.word, at)
    } else {
#pragma unroll
        for (u32 w = 0; w < ITEM_BYTES / 8; w++) GET_LONG(v.eight[w], at + 8 * w)
    }
    items.x = v.item;
    return items;
}

/* The class of a segment of n items, as class_of has it, without a branch: of 129 items it is
 * LONG. */
INLINE u32 kind_of(u32 n) {
    const u32 items = min(max(n, 1U), LANES + 1U);
    return WIDTH - LEADING_ZEROS((items - 1) / OWN) + (n > CHUNK_ITEMS ? 1U : 0U);
}

INLINE u32 low_word(u64 n) {
    return n >> 32 ? ~0U : (u32)n;
}

/* Arguments of the kernel that its steps need. */
typedef struct {
    SOURCE in;
    OUTS out;
    RESULT initial;
    GLOBAL const OFFSET_TYPE *begins, *ends;
} CALLED;

/* The segments of a warp: thread t has segments t, t + 32, ... of `here`, and all threads have the
 * begin of the first one and the end of the last. */
typedef struct {
    OFFSET_TYPE begin[STAGE_ROWS], end[STAGE_ROWS], first, last;
    u32 here;
} BATCH;

/* Loads the offsets of up to `batch` segments from `from` on. Threads without a segment have an
 * empty one. */
INLINE BATCH batch_at(const CALLED *call, u64 from, u64 segments, u32 batch, u32 lane) {
    GLOBAL const OFFSET_TYPE *begins = call->begins + from, *ends = call->ends + from;
    BATCH b;
    b.here = (u32)min((u64)batch, segments - from);
    b.first = begins[0];
    b.last = ends[b.here - 1];
#pragma unroll
    for (u32 k = 0; k < STAGE_ROWS; k++) {
        const u32 i = k * WIDTH + lane;
        b.begin[k] = b.end[k] = 0;
        if (i < b.here) b.begin[k] = begins[i], b.end[k] = ends[i];
    }
    return b;
}

/* Prefetches the offsets of the batch from `from` on: registers for them would cost groups. */
INLINE void ask_for_offsets(const CALLED *call, u64 from, u64 segments, u32 batch, u32 lane) {
    const u32 i = lane * (LINE_BYTES / sizeof(OFFSET_TYPE));
    if (i >= batch || from + i >= segments) return;
    ASK_FOR(call->begins + from + i)
    if (call->ends != call->begins + 1) ASK_FOR(call->ends + from + i)
}

/* Prefetches the items of segments that are not all in the tile. */
#define MOST_STAGED_AHEAD 16384
INLINE void ask_for_batch(GLOBAL const ITEM *x, const BATCH *b, u32 lane) {
    const u64 all = ((u64)b->last - b->first) * ITEM_BYTES, bytes = min(all, (u64)MOST_STAGED_AHEAD);
    if (b->last < b->first) return;
    for (u32 at = lane * LINE_BYTES; at < (u32)bytes; at += WIDTH * LINE_BYTES) ASK_FOR((GLOBAL const u8 *)(x + b->first) + at)
}

/* ---- copies to the tile ---------------------------------------------------------------------- */

/* Copies bytes to the tile. Both addresses are aligned to 16 bytes. */
INLINE void copy_bytes(u32 to, GLOBAL const u8 *from, u32 bytes, u32 lane) {
    for (u32 at = lane * 16; at < bytes; at += WIDTH * 16) COPY_VECTOR(to + at, from + at, min(16U, bytes - at))
}

/* Bytes from the aligned address below an item to the item. Reading them is safe, because memory
 * is allocated in units of 16 bytes and more. */
#define BYTES_BELOW(at) ((u32)((u64)(at)&15))

/* Copies the span of all segments. Returns 0, and copies nothing, if it does not fit, or if a
 * segment is not inside. */
INLINE u32 stage_span(u32 stage, GLOBAL const ITEM *x, const BATCH *b, u32 *note, u32 lane) {
    const u64 span = (u64)b->last - b->first;
    const u32 below = BYTES_BELOW(x + b->first), skip = below / ITEM_BYTES;
    u32 outside = 0;
    if (b->last < b->first || span > TILE_ITEMS - skip || below % ITEM_BYTES) return 0;
#pragma unroll
    for (u32 k = 0; k < STAGE_ROWS; k++) {
        const u64 at = (u64)b->begin[k] - b->first, to = (u64)b->end[k] - b->first;
        note[k] = NOTE(0, 0, NO_KIND);
        if (k * WIDTH >= b->here) continue;
        const u32 is_there = k * WIDTH + lane < b->here, n = (u32)to - (u32)at, kind = kind_of(n);
        if (is_there) {
            outside |= (u32)(at >> 32) | (u32)(to >> 32) | ((u32)at > (u32)to) | ((u32)to > (u32)span);
            note[k] = (kind < LONG ? NOTE(n, skip + (u32)at, 0) : 0) | NOTE(0, 0, kind);
        }
    }
    if (ballot_of(outside)) return 0;
    if (span) copy_bytes(stage, (GLOBAL const u8 *)(x + b->first) - below, below + (u32)span * ITEM_BYTES, lane);
    return 1;
}

/* Copies the runs of short neighbours among 32 segments to the tile, from byte `used` on, as far as
 * they fit. Returns where the next ones may be. */
INLINE u32 stage_runs(u32 stage, GLOBAL const ITEM *x, u64 begin, u64 end, u32 is_there, u32 *note, u32 used, u32 lane) {
    const u64 n = end - begin, before = from_below(end, 1);
    const u32 kind = kind_of(low_word(n)), is_short = is_there && kind < LONG, shorts = ballot_of(is_short);
    u32 heads = ballot_of(is_short && (before != begin || !(shorts << 1 >> lane & 1)));
    *note = !is_there ? NOTE(0, 0, NO_KIND) : kind < LONG ? NOTE((u32)n, 0, NOT_STAGED + kind) : NOTE(0, 0, kind);
    if (COUNT_OF(heads) > MOST_RUNS) return used;
#pragma unroll 1
    while (heads) {
        const u32 head = LOWEST_OF(heads);
        heads &= heads - 1;
        const u32 members = shorts & ~BELOW(head) & (heads ? BELOW(LOWEST_OF(heads)) : ALL_THREADS);
        const u64 from = from_thread(begin, head);
        const u32 below = BYTES_BELOW(x + from), place = (used + below) / ITEM_BYTES + (u32)(begin - from);
        const u32 fits = ballot_of((members >> lane & 1) && place + (u32)n <= TILE_ITEMS);
        if (!fits || below % ITEM_BYTES) return used;
        const u32 items = (u32)(from_thread(end, HIGHEST_OF(fits)) - from);
        if (fits >> lane & 1) *note = NOTE((u32)n, place, kind);
        if (!items) continue;
        copy_bytes(stage + used, (GLOBAL const u8 *)(x + from) - below, below + items * ITEM_BYTES, lane);
        used += (below + items * ITEM_BYTES + 15) / 16 * 16;
    }
    return used;
}

/* Copies what fits of a batch, and notes where each segment is. */
INLINE void stage_batch(u32 stage, GLOBAL const ITEM *x, const BATCH *b, u32 *note, u32 lane) {
    u32 used = 0;
    if (stage_span(stage, x, b, note, lane)) return;
#pragma unroll
    for (u32 k = 0; k < STAGE_ROWS; k++) {
        note[k] = NOTE(0, 0, NO_KIND);
        if (k * WIDTH < b->here)
            used = stage_runs(stage, x, b->begin[k], b->end[k], k * WIDTH + lane < b->here, &note[k], used, lane);
    }
    ask_for_batch(x, b, lane);
}

INLINE u32 listed_note(u32 stage, u32 i) {
    u32 note;
    GET_WORD(note, NOTE_AT(stage, i))
    return note;
}

/* Lists the notes of one kind, with the segments' numbers, behind `count` others. Returns how many
 * are listed. */
INLINE u32 list_kind(u32 stage, const u32 *note, u32 here, u32 kind, u32 count, u32 lane) {
    const u32 below = BELOW(lane);
    WARP_BARRIER /* the list before this one was read */
#pragma unroll
        for (u32 k = 0; k < STAGE_ROWS; k++) {
        if (k * WIDTH >= here) continue;
        const u32 is = KIND_OF_NOTE(note[k]) == kind, all = ballot_of(is);
        if (is) PUT_WORD(NOTE_AT(stage, count + COUNT_OF(all & below)), note[k] | (k * WIDTH + lane) << 25)
        count += COUNT_OF(all);
    }
    WARP_BARRIER
    return count;
}

/* ---- reductions ------------------------------------------------------------------------------ */

/* Most items of a segment that a thread reduces alone, and their highest class. */
#define ALONE_CLASS (sizeof(LANE) <= 8 ? 1 : 0)
#define ALONE_ITEMS (OWN << ALONE_CLASS)

/* Reduces a segment of up to `most` items by one thread. It loads as many in any case. */
INLINE LANE alone_lane(u32 stage, u32 place, u32 n, u32 most, PARAMS p) {
    LANE own[ALONE_ITEMS];
    CHUNK c;
    c.index = 0;
    c.count = n;
#pragma unroll
    for (u32 j = 0; j < ALONE_ITEMS; j++) {
        if (j >= most) continue;
        const ITEMS v = staged_items(stage, place + j);
        own[j] = lane_identity();
        if (j < n) own[j] = lane_step(own[j], v, c, 0, j, p);
    }
    if (most > OWN) {
#pragma unroll
        for (u32 j = 0; j < ALONE_ITEMS - OWN; j++) own[j] = lane_combine(own[j], own[OWN + j]);
    }
    return four_lanes(own);
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

/* Reduces the segments in the tile that a thread takes alone, of classes up to `of`. */
INLINE void reduce_alone(const CALLED *call, u32 stage, const u32 *note, u32 here, u32 of, u64 begin, u32 lane) {
#pragma unroll
    for (u32 k = 0; k < STAGE_ROWS; k++) {
        const u32 n = ITEMS_OF_NOTE(note[k]), place = PLACE_OF_NOTE(note[k]);
        if (k * WIDTH >= here) continue;
        if (KIND_OF_NOTE(note[k]) <= of)
            put_lane(call, alone_lane(stage, place, n, OWN << of, call->in.p), n, begin + k * WIDTH + lane);
    }
}

/* Reduces `count` listed segments in the tile, of class `of`, by teams. */
INLINE void reduce_staged(const CALLED *call, u32 stage, u32 count, u32 of, u64 begin, u32 lane) {
    const u32 size = 1U << of, own = lane & (size - 1);
#pragma unroll 1
    for (u32 turn = 0; turn < count; turn += WIDTH >> of) {
        const u32 i = turn + (lane >> of), note = listed_note(stage, min(i, count - 1)), n = ITEMS_OF_NOTE(note);
        ITEMS v[OWN];
#pragma unroll
        for (u32 j = 0; j < OWN; j++) v[j] = staged_items(stage, PLACE_OF_NOTE(note) + own + j * size);
        LANE all = row_lane(v, n, own, size, call->in.p);
        rows_across(&all, 1, size, 0);
        if (own == 0 && i < count) put_lane(call, all, n, begin + NUMBER_OF_NOTE(note));
    }
}

/* Reduces `count` listed segments of class `of` that are not in the tile, by teams. */
INLINE void reduce_apart(const CALLED *call, u32 stage, u32 count, u32 of, u64 begin, u32 lane) {
    const u32 size = 1U << of, own = lane & (size - 1), teams = WIDTH >> of;
    const STEPS step = item_step(0);
#pragma unroll 1
    for (u32 turn = 0; turn < count; turn += teams * FLIGHT_ROWS) {
        ITEMS v[FLIGHT_ROWS][OWN] = {0};
        LANE lanes[FLIGHT_ROWS];
        u32 note[FLIGHT_ROWS];
#pragma unroll
        for (int f = 0; f < FLIGHT_ROWS; f++) {
            const u32 i = turn + f * teams + (lane >> of);
            note[f] = NOTE(0, 0, NO_KIND);
            if (i >= count) continue;
            note[f] = listed_note(stage, i);
            const SEGMENT segment = called_segment(call, begin + NUMBER_OF_NOTE(note[f]));
            row_items(v[f], source_on(segment.in, own, step), step, ITEMS_OF_NOTE(note[f]), own, size);
        }
#pragma unroll
        for (int f = 0; f < FLIGHT_ROWS; f++) lanes[f] = row_lane(v[f], ITEMS_OF_NOTE(note[f]), own, size, call->in.p);
        rows_across(lanes, FLIGHT_ROWS, size, 0);
#pragma unroll
        for (int f = 0; f < FLIGHT_ROWS; f++)
            if (own == 0 && KIND_OF_NOTE(note[f]) != NO_KIND)
                put_lane(call, lanes[f], ITEMS_OF_NOTE(note[f]), begin + NUMBER_OF_NOTE(note[f]));
    }
}

/* Reduces `count` listed segments, one after another: those of up to a chunk, and longer ones that
 * the work list has no room for. The offsets of the next one are loaded before. */
INLINE void reduce_long(const CALLED *call, u32 stage, u32 count, u64 begin, u32 lane) {
    SEGMENT next = called_segment(call, begin + NUMBER_OF_NOTE(listed_note(stage, 0)));
    PART level[MOST_LEVELS];
#pragma unroll 1
    for (u32 i = 0; i < count; i++) {
        const SEGMENT segment = next;
        const u64 chunks = CHUNKS_OF(segment.n);
        if (i + 1 < count) next = called_segment(call, begin + NUMBER_OF_NOTE(listed_note(stage, i + 1)));
        PART all = part_identity();
#pragma unroll 1
        for (u64 k = 0; k < chunks; k++) {
            all = team_part(&segment, 0, k, lane, WIDTH, 0, 0);
            if (chunks > 1) push_part(level, k, all);
        }
        if (chunks > 1) all = counted_part(level, chunks);
        if (lane == 0) put_part(all, segment.n, call->out, segment.out, call->initial, call->in.p);
    }
}

/* Puts `count` listed segments on the work list. Each thread takes the places of some, and the warp
 * then fills them. Returns how many had no room: the list of the warp then has these. */
INLINE u32 enlist_all(const CALLED *call, u32 stage, u32 count, u64 begin, GLOBAL u64 *work, u64 capacity, u32 lane) {
    u32 left = 0;
#pragma unroll 1
    for (u32 turn = 0; turn < count; turn += WIDTH) {
        const u32 is = turn + lane < count, note = listed_note(stage, is ? turn + lane : 0);
        const u64 s = begin + NUMBER_OF_NOTE(note), chunks = CHUNKS_OF(called_segment(call, s).n);
        const u64 place = is ? take_places(chunks, work, capacity) : capacity;
        if (place != capacity) list_long(s, place, chunks, work, capacity);
        const u32 lone = ballot_of(is && place == capacity);
        u32 listed = ballot_of(place != capacity);
        if (lone >> lane & 1) PUT_WORD(NOTE_AT(stage, left + COUNT_OF(lone & BELOW(lane))), note)
        left += COUNT_OF(lone);
#pragma unroll 1
        while (listed) {
            const u32 t = LOWEST_OF(listed);
            const u64 own = from_thread(s, t), first = from_thread(place, t), all = from_thread(chunks, t);
            listed &= listed - 1;
            for (u64 k = lane; k < all; k += WIDTH) list_chunk(own, k, first, work);
        }
    }
    return left;
}

#ifdef NUMBER
/* Returns the segments of a batch, as batch_of of src/segments/launch.c has them: by keys the host
 * does not know how many segments there are. */
INLINE u32 known_batch(const CALLED *call, u64 segments, u32 batch) {
    if (!segments) return batch;
    const u64 items = (u64)call->ends[segments - 1] - call->begins[0];
    while (batch > WIDTH && batch * items * ITEM_BYTES > BATCH_BYTES * segments) batch /= 2;
    while (batch > 1 && batch * items > BATCH_ITEMS * segments) batch /= 2;
    return batch;
}
#define BATCH_SEGMENTS known_batch(&call, segments, team)
#else
#define BATCH_SEGMENTS team
#endif

/* ---- the kernel ------------------------------------------------------------------------------ */

/* A warp takes up to `team` neighbouring segments at a time, at most STAGE_ROWS * WIDTH. */
KERNEL BOUNDS_OF(STAGED_GROUPS) void tally_segments_teams(CALL_ARGS) {
    OPEN;
    SHARED STAGE stages[WARPS];
    const CALLED call = {in, out, initial, begins + begins_offset, ends + ends_offset};
    const u32 lane = thread % WIDTH;
    const u64 segments = SEGMENTS, warps = GROUP_COUNT * WARPS;
    const u32 size = BATCH_SEGMENTS;
    u32 stage;
    ADDRESS_OF(stage, &stages[thread / WIDTH])
    (void)t;
#pragma unroll 1
    for (u64 begin = (GROUP_ID * WARPS + thread / WIDTH) * size; begin < segments; begin += warps * size) {
        u32 note[STAGE_ROWS], kinds = 0;
        const BATCH batch = batch_at(&call, begin, segments, size, lane);
        const u32 here = batch.here;
        ask_for_offsets(&call, begin + warps * size, segments, size, lane);
        stage_batch(stage, in.x, &batch, note, lane);
#pragma unroll
        for (u32 k = 0; k < STAGE_ROWS; k++) kinds |= 1U << KIND_OF_NOTE(note[k]);
        kinds = either_of(kinds);
        u32 longs = 0;
        if (kinds >> TO_LIST & 1 && lists) {
            longs = list_kind(stage, note, here, TO_LIST, 0, lane);
            longs = enlist_all(&call, stage, longs, begin, work, capacity, lane);
        }
        if (kinds >> LONG & 1) longs = list_kind(stage, note, here, LONG, longs, lane);
        if (longs) reduce_long(&call, stage, longs, begin, lane);
#pragma unroll 1
        for (u32 of = 0; of < LONG && kinds >> NOT_STAGED & BELOW(LONG); of++)
            if (kinds >> (NOT_STAGED + of) & 1)
                reduce_apart(&call, stage, list_kind(stage, note, here, NOT_STAGED + of, 0, lane), of, begin, lane);
        AWAIT_COPIES
        WARP_BARRIER
        if (ALONE_CLASS && kinds >> ALONE_CLASS & 1)
            reduce_alone(&call, stage, note, here, ALONE_CLASS, begin, lane);
        else if (kinds & 1)
            reduce_alone(&call, stage, note, here, 0, begin, lane);
#pragma unroll
        for (u32 of = ALONE_CLASS + 1; of < LONG; of++)
            if (kinds >> of & 1) reduce_staged(&call, stage, list_kind(stage, note, here, of, 0, lane), of, begin, lane);
        WARP_BARRIER /* the tile was read */
    }
}
#endif
