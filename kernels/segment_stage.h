/* SPDX-License-Identifier: MIT */
/*
 * segment_stage: tally_segments_teams by offsets where items can be staged in local memory.
 *
 * Computes: the same as tally_segments_teams of kernels/segment_work.h, to the bit.
 * How: a group takes a batch of neighbouring segments. It copies the items of the first ones, as
 * many as fit its tile of local memory, in 16 bytes a thread and without registers. It sorts the
 * segments by class. A thread then reduces a segment of up to a chunk row alone, by residue classes
 * of its lanes, and a warp one of up to a chunk. The batch goes on behind the segments that fitted.
 * Segments that do not fit, and those that lie far apart or in no order, are reduced from global
 * memory.
 * Needs: kernels/segment_work.h, which defines STAGES for devices and ops that it fits, and
 * kernels/segment_batch.h before it.
 * Why: memory speed needs 32 KB in flight on a multiprocessor of an H200, and at most 25
 * instructions of a thread for an item of 4 bytes. A thread that reduces a segment alone takes 5.
 */
#ifdef STAGES

/* ---- segments in the tile -------------------------------------------------------------------- */

/* An item, as the words that it is loaded in. Bytes are in little-endian order. */
typedef union {
    ITEM item;
    u32 word;
    u64 eight[ITEM_BYTES / 8 + 1];
} STAGED;

/* The address of the item at a place of the tile. */
INLINE u32 staged_at(const CALLED *call, u32 place) {
    return call->tile + place * ITEM_BYTES;
}

/* Returns the item at an address. */
INLINE ITEMS staged_items(u32 at) {
    STAGED v;
    ITEMS items;
    if (ITEM_BYTES == 1) GET("u8", "=r", v.word, at)
    if (ITEM_BYTES == 2) GET("u16", "=r", v.word, at)
    if (ITEM_BYTES == 4) GET("u32", "=r", v.word, at)
#pragma unroll
    for (u32 w = 0; w < ITEM_BYTES / 8; w++) GET("u64", "=l", v.eight[w], at + 8 * w)
    items.x = v.item;
    return items;
}

/* Returns the item at an address, or 0 if `is` is 0. */
INLINE ITEMS staged_items_if(u32 at, u32 is) {
    STAGED v;
    ITEMS items;
    v.word = 0;
    if (ITEM_BYTES == 1) GET_IF("u8", "+r", v.word, at, is)
    if (ITEM_BYTES == 2) GET_IF("u16", "+r", v.word, at, is)
    if (ITEM_BYTES == 4) GET_IF("u32", "+r", v.word, at, is)
#pragma unroll
    for (u32 w = 0; w < ITEM_BYTES / 8; w++) {
        v.eight[w] = 0;
        GET_IF("u64", "+l", v.eight[w], at + 8 * w, is)
    }
    items.x = v.item;
    return items;
}

#define CLASS_LEVELS 4 /* of a counter of the most residue classes */

/* Combines two neighbours, of which b comes first if `swapped`. */
INLINE LANE combine_swapped(LANE a, LANE b, u32 swapped) {
    if (sizeof(LANE) <= 8) return swapped ? lane_combine(b, a) : lane_combine(a, b);
    const LANE first = swapped ? b : a, second = swapped ? a : b;
    return lane_combine(first, second);
}

/* Adds a residue class to the counter, level by level. */
#define PUSH_LEVEL(b, AND_NEXT)                                                                                                \
    if (k >> (b)&1) {                                                                                                          \
        own[0] = combine_swapped(level[b], own[0], x >> (b)&1);                                                                \
        AND_NEXT                                                                                                               \
    } else {                                                                                                                   \
        level[b] = own[0];                                                                                                     \
    }

/*
 * Reduces n items of class `of` by one thread. It takes the residue classes of LEAVES lanes, or of
 * OWN lanes for class 0, in bit-reversed order. Above OWN_CLASS half of the lanes have items in any
 * case.
 *
 * Threads take the residue classes in different orders, by the bits of x, and swap neighbours of
 * the tree when they combine them: where segments have the same length, fewer threads load from the
 * same bank at once.
 */
INLINE LANE residues_lane(const CALLED *call, u32 place, u32 n, u32 of) {
    const u32 classes = of > OWN_CLASS ? 1U << (of - OWN_CLASS) : 1, leaves = of ? LEAVES : OWN;
    const u32 x = call->lane & (classes - 1);
    LANE level[CLASS_LEVELS], own[LEAVES];
    CHUNK c;
    c.index = 0;
    c.count = n;
#pragma unroll 2
    for (u32 k = 0; k < classes; k++) {
        const u32 r = of > OWN_CLASS ? reversed_bits(k ^ x) >> (WIDTH - (of - OWN_CLASS)) : 0, at = staged_at(call, place + r);
#pragma unroll
        for (u32 j = 0; j < leaves; j++) {
            const u32 i = r + j * classes, item = at + j * classes * ITEM_BYTES, has = of > OWN_CLASS && j < LEAVES / 2;
            const ITEMS v = has ? staged_items(item) : staged_items_if(item, i < n);
            own[j] = lane_identity();
            if (has || i < n) own[j] = lane_step(own[j], v, c, 0, i, call->in.p);
        }
#pragma unroll
        for (u32 by = leaves / 2; by; by /= 2) {
#pragma unroll
            for (u32 j = 0; j < by; j++) own[j] = lane_combine(own[j], own[j + by]);
        }
        if (of > OWN_CLASS) {
            PUSH_LEVEL(0, PUSH_LEVEL(1, PUSH_LEVEL(2, PUSH_LEVEL(3, ))))
        }
    }
    return own[0];
}

/* Reduces n items, up to a chunk, by a warp. */
INLINE LANE staged_rows(const CALLED *call, u32 place, u32 n) {
    const u32 t = call->lane;
    u32 row = 0, at = staged_at(call, place + t);
    LANE own[OWN];
    CHUNK c;
    c.index = 0;
    c.count = n;
#pragma unroll
    for (u32 j = 0; j < OWN; j++) own[j] = lane_identity();
#pragma unroll 2
    for (; (row + 1) * LANES <= n; row++, at += LANES * ITEM_BYTES) {
#pragma unroll
        for (u32 j = 0; j < OWN; j++)
            own[j] = lane_step(own[j], staged_items(at + j * WIDTH * ITEM_BYTES), c, row, t + j * WIDTH, call->in.p);
    }
#pragma unroll
    for (u32 j = 0; j < OWN; j++) {
        const u32 is = row * LANES + t + j * WIDTH < n;
        const ITEMS v = staged_items_if(at + j * WIDTH * ITEM_BYTES, is);
        if (is) own[j] = lane_step(own[j], v, c, row, t + j * WIDTH, call->in.p);
    }
    own[0] = four_lanes(own);
    rows_across(own, 1, WIDTH, 0);
    return own[0];
}

/* Reduces the segments in the tile of up to class `of`, OWN_CLASS or 0: each thread its own. */
INLINE void reduce_own(const CALLED *call, const LOCAL STAGE *stage, const BATCH *b, u32 of) {
    EACH_ROW(k, i) {
        const u32 note = stage->notes[i], n = ITEMS_OF_NOTE(note);
        if (i < b->here && n <= OWN << of) put_lane(call, residues_lane(call, PLACE_OF_NOTE(note), n, of), n, b->at + i);
    }
}

/* Reduces up to 32 of the members from number `m` on, which are of class `of`: each thread one. */
INLINE void reduce_members(const CALLED *call, const LOCAL STAGE *stage, const BATCH *b, u32 m, u32 of) {
    const u32 end = stage->firsts[of + 1], i = stage->members[min(m + call->lane, end - 1)];
    const u32 note = stage->notes[i], n = ITEMS_OF_NOTE(note);
    const LANE all = residues_lane(call, PLACE_OF_NOTE(note), n, of);
    if (m + call->lane < end) put_lane(call, all, n, b->at + i);
}

/* Reduces a member of class LONG by a warp. */
INLINE void reduce_member(const CALLED *call, const LOCAL STAGE *stage, const BATCH *b, u32 m) {
    const u32 i = stage->members[m], note = stage->notes[i], n = ITEMS_OF_NOTE(note);
    const LANE all = staged_rows(call, PLACE_OF_NOTE(note), n);
    if (call->lane == 0) put_lane(call, all, n, b->at + i);
}

/* Reduces the listed segments in the tile; if `has_own`, those of OWN_CLASS are reduced already. */
INLINE void reduce_listed(const CALLED *call, const LOCAL STAGE *stage, const BATCH *b, u32 has_own) {
    const u32 ends = call->lane < TURN_CLASSES ? stage->turns[call->lane] : ~0U;
    const u32 turns = word_of(ends, TURN_CLASSES - 1 - has_own);
#pragma unroll 1
    for (u32 turn = call->thread / WIDTH; turn < turns; turn += WARPS) {
        const u32 c = COUNT_OF(ballot_of(turn >= ends)), own = turn - (c ? word_of(ends, c - 1) : 0), of = LONG - c;
        const u32 m = stage->firsts[of > OWN_CLASS ? of : 0] + (c ? own * WIDTH : own);
        if (c == 0)
            reduce_member(call, stage, b, m);
        else if (of == 5)
            reduce_members(call, stage, b, m, 5);
        else if (of == 4)
            reduce_members(call, stage, b, m, 4);
        else if (of == 3)
            reduce_members(call, stage, b, m, 3);
        else if (of == 2)
            reduce_members(call, stage, b, m, 2);
        else
            reduce_members(call, stage, b, m, OWN_CLASS);
    }
}

/* ---- segments elsewhere ---------------------------------------------------------------------- */

/* Reduces the listed segments of class `of`, up to a chunk row, by teams. */
INLINE void reduce_apart(const CALLED *call, const LOCAL STAGE *stage, const BATCH *b, u32 of) {
    const u32 size = 1U << of, own = call->lane & (size - 1), teams = GROUP >> of, count = b->found[of];
    const u32 first = stage->firsts[of];
    const STEPS step = item_step(0);
#pragma unroll 1
    for (u32 turn = 0; turn < count; turn += teams * FLIGHT_ROWS) {
        ITEMS v[FLIGHT_ROWS][OWN] = {0};
        LANE lanes[FLIGHT_ROWS];
        u32 n[FLIGHT_ROWS], member[FLIGHT_ROWS];
#pragma unroll
        for (int f = 0; f < FLIGHT_ROWS; f++) {
            const u32 i = turn + f * teams + (call->thread >> of);
            n[f] = 0;
            member[f] = b->here;
            if (i >= count) continue;
            member[f] = stage->members[first + i];
            const SEGMENT segment = called_segment(call, b->at + member[f]);
            n[f] = (u32)segment.n;
            row_items(v[f], source_on(segment.in, own, step), step, n[f], own, size);
        }
#pragma unroll
        for (int f = 0; f < FLIGHT_ROWS; f++) lanes[f] = row_lane(v[f], n[f], own, size, call->in.p);
        rows_across(lanes, FLIGHT_ROWS, size, 0);
#pragma unroll
        for (int f = 0; f < FLIGHT_ROWS; f++)
            if (own == 0 && member[f] < b->here) put_lane(call, lanes[f], n[f], b->at + member[f]);
    }
}

/* Reduces a segment by a warp, chunk by chunk. */
INLINE void reduce_chunks(const CALLED *call, u64 s) {
    const SEGMENT segment = called_segment(call, s);
    const u64 chunks = CHUNKS_OF(segment.n);
    PART level[MOST_LEVELS], all = part_identity();
#pragma unroll 1
    for (u64 k = 0; k < chunks; k++) {
        all = team_part(&segment, 0, k, call->lane, WIDTH, BY_STEPS, 0);
        if (chunks > 1) push_part(level, k, all);
    }
    if (chunks > 1) all = counted_part(level, chunks);
    if (call->lane == 0) put_part(all, segment.n, call->out, segment.out, call->initial, call->in.p);
}

/* Puts the listed segments of more than a chunk on the work list. Each thread takes the places of
 * some. Then each warp, or the group if they are few, fills some; a warp reduces one that had no
 * room. */
INLINE void enlist_all(const CALLED *call, LOCAL STAGE *stage, const BATCH *b) {
    LOCAL u32 *places = stage->notes; /* which were read */
    const u32 first = stage->firsts[TO_LIST], count = call->lists ? b->found[TO_LIST] : 0;
    for (u32 m = call->thread; m < count; m += GROUP) {
        const u64 s = b->at + stage->members[first + m], chunks = CHUNKS_OF(called_segment(call, s).n);
        const u64 place = take_places(chunks, call->work, call->capacity);
        places[m] = (u32)place;
        if (place != call->capacity) list_long(s, place, chunks, call->work, call->capacity);
    }
    BARRIER
    const u32 by = count < WARPS ? GROUP : WIDTH; /* threads that fill a segment's places */
    for (u32 m = call->thread / by; m < count; m += GROUP / by) {
        const u64 s = b->at + stage->members[first + m], place = places[m];
        const u64 chunks = CHUNKS_OF(called_segment(call, s).n);
        if (place != call->capacity)
#pragma unroll 1
            for (u64 k = call->thread % by; k < chunks; k += by) list_chunk(s, k, place, call->work);
        else if (call->thread % by < WIDTH)
            reduce_chunks(call, s);
    }
}

/* Reduces segments that are not in the tile. */
INLINE void reduce_elsewhere(const CALLED *call, LOCAL STAGE *stage, const BATCH *b) {
    const u32 longs = stage->firsts[TO_LIST];
#pragma unroll 1
    for (u32 of = 0; of < LONG; of++) reduce_apart(call, stage, b, of);
#pragma unroll 1
    for (u32 m = stage->firsts[LONG] + call->thread / WIDTH; m < longs; m += WARPS)
        reduce_chunks(call, b->at + stage->members[m]);
    enlist_all(call, stage, b);
}

/* ---- the kernel ------------------------------------------------------------------------------ */

/* Reduces segments from number `at` on, up to `here` of them. Returns how many. */
INLINE u32 reduce_some(const CALLED *call, LOCAL STAGE *stage, u64 at, u32 here, u32 turn, u32 *parity) {
    const u64 last = call->ends[at + here - 1], end = call->ends[at];
    OFFSET_TYPE begin_own[STAGE_ROWS], end_own[STAGE_ROWS];
    BATCH b;
    b.at = at;
    b.first = call->begins[at];
    b.here = here;
    b.found = stage->found[turn];
    load_offsets(call, &b, begin_own, end_own);
    GLOBAL const ITEM *from = call->in.x + b.first;
    const u32 one_array = call->ends == call->begins + 1, below = BYTES_BELOW(from);
    const u32 has_first = below % ITEM_BYTES == 0 && end - b.first <= MOST_STAGED;
    u32 is_staged = has_first;
    b.skip = below / ITEM_BYTES;
    BARRIER /* the segments before were reduced */
        if (one_array && has_first) copy_items(call, from, min(low_word(last - b.first), TILE_ITEMS - b.skip));
    note_segments(call, stage, &b, begin_own, end_own, has_first);
    BARRIER
    EMPTY_FOUND(stage->found[turn ^ 1])
    if (!one_array && has_first) {
        survey_segments(call, stage, &b);
        BARRIER
        is_staged = 2 * b.found[USED] >= b.found[REACH] && 4 * b.found[CUT] >= here;
        if (is_staged) copy_items(call, from, b.found[REACH]);
    }
    /* Offsets of one array are in order. What is staged may come behind segments that are not. */
    if (is_staged || one_array) b.here = max(min(here, b.found[CUT]), 1U);
    const u32 is_listed = !is_staged || b.found[LONGEST] > LEAVES;
    if (is_listed) list_segments(call, stage, &b);
    if (!is_staged) {
        BARRIER
        reduce_elsewhere(call, stage, &b);
        return b.here;
    }
    await_items(call, parity);
    /* Where most have one residue class, these are reduced in their order. */
    const u32 has_own = !is_listed || 2 * stage->firsts[OWN_CLASS + 1] >= b.here;
    if (b.found[LONGEST] <= OWN)
        reduce_own(call, stage, &b, 0);
    else if (has_own)
        reduce_own(call, stage, &b, OWN_CLASS);
    if (is_listed) reduce_listed(call, stage, &b, has_own);
    return b.here;
}

#ifdef NUMBER
/* Returns the segments of a batch, as batch_of of src/segments/launch.c has them: by keys the host
 * does not know how many segments there are. */
INLINE u32 known_batch(const CALLED *call, u64 segments, u32 batch) {
    if (!segments) return batch;
    const u64 items = (u64)call->ends[segments - 1] - call->begins[0];
    while (batch > LEAST_BATCH && batch * items * ITEM_BYTES > BATCH_BYTES * segments) batch /= 2;
    return batch;
}
#define BATCH_SEGMENTS known_batch(&call, segments, team)
#else
#define BATCH_SEGMENTS team
#endif

/* A group takes up to `team` neighbouring segments at a time, at most STAGE_ROWS * GROUP. */
KERNEL BOUNDS_OF(STAGED_GROUPS) void tally_segments_teams(CALL_ARGS) {
    OPEN;
    SHARED STAGE stage;
    u32 tile, arrived, parity = 0, turn = 0;
    ADDRESS_OF(tile, stage.tile)
    ADDRESS_OF(arrived, &stage.arrived)
    const CALLED call = {in,   out,     initial, begins + begins_offset, ends + ends_offset, work, capacity, lists,
                         tile, arrived, thread,  thread % WIDTH};
    const u64 segments = SEGMENTS;
    const u32 size = BATCH_SEGMENTS;
    (void)t;
#ifdef SPANS
    if (thread == 0) OPEN_ARRIVALS(arrived)
#endif
    EMPTY_FOUND(stage.found[0])
#pragma unroll 1
    for (u64 begin = GROUP_ID * size; begin < segments; begin += GROUP_COUNT * size) {
        const u64 end = min(segments, begin + size);
        ask_for_offsets(&call, begin + GROUP_COUNT * size, segments, size);
#pragma unroll 1
        for (u64 at = begin; at < end; turn ^= 1) at += reduce_some(&call, &stage, at, (u32)(end - at), turn, &parity);
    }
}
#endif
