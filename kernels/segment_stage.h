/* SPDX-License-Identifier: MIT */
/*
 * segment_stage: tally_segments_teams by offsets where items can be staged in local memory.
 *
 * Computes: the same as tally_segments_teams of kernels/segment_work.h, to the bit.
 * How: a group takes a batch of neighbouring segments. It copies the items of the first ones, as
 * many as fit its tile of local memory, in 16 bytes a thread and without registers. It sorts the
 * segments by class. A segment of up to LEAVES items is then reduced by a thread, one of up to a
 * chunk row by a team with as many for each thread, and one of up to a chunk by a warp
 * (segment_tile). The batch goes on behind the segments that fitted. Segments that do not fit, and
 * those that lie far apart or in no order, are reduced from global memory.
 * Needs: kernels/segment_work.h, which defines STAGES for devices and ops that it fits,
 * kernels/segment_tile.h and kernels/segment_batch.h before it.
 * Why: memory speed needs 32 KB in flight on a multiprocessor of an H200, and at most 25
 * instructions of a thread for an item of 4 bytes. A tile of wide items has few segments, so that
 * one thread for each would leave most of the others idle.
 */
#ifdef STAGES

/* ---- segments in the tile -------------------------------------------------------------------- */

/* Reduces segment i of the batch by a team; thread t of it has `most` lanes. `is` tells whether
 * there is such a segment. All threads of the warp take part, unless `team` is 1. */
INLINE void reduce_staged(const CALLED *call, const LOCAL STAGE *stage, const BATCH *b, u32 i, u32 is, u32 most, u32 t,
                          u32 team, int how) {
    const u32 note = stage->notes[i], n = is ? ITEMS_OF_NOTE(note) : 0;
    TILED from;
    from.at = call->tile + (PLACE_OF_NOTE(note) + t) * ITEM_BYTES;
    const PART p = tiled_part(from, n, most, t, team, how, call->in.p);
    if (is && t == 0) put_part(p, n, call->out, (i64)(b->at + i), call->initial, call->in.p);
}

/* Reduces the segments in the tile of up to `most` items, OWN or OWN_ITEMS: each thread its own. */
INLINE void reduce_own(const CALLED *call, const LOCAL STAGE *stage, const BATCH *b, u32 most) {
    KEEP_ROLLED
    for (u32 i = call->thread; i < b->here; i += GROUP)
        reduce_staged(call, stage, b, i, ITEMS_OF_NOTE(stage->notes[i]) <= most, most, 0, 1, TILED_SHORT);
}

/* Reduces the listed segments in the tile, the longest ones first: those of class LONG by warps,
 * and the others by teams whose threads have up to LEAVES lanes each. If `has_own`, those of
 * OWN_CLASS and shorter ones are reduced already. */
INLINE void reduce_listed(const CALLED *call, const LOCAL STAGE *stage, const BATCH *b, u32 has_own) {
    const u32 last_of = LONG - b->leaves, ends = call->lane <= last_of ? stage->turns[call->lane] : ~0U;
    const u32 turns = word_of(ends, last_of);
#pragma unroll 1
    for (u32 turn = call->thread / WIDTH; turn < turns; turn += WARPS) {
        const u32 c = COUNT_OF(ballot_of(turn >= ends)), own = turn - (c ? word_of(ends, c - 1) : 0), of = LONG - c;
        const u32 from = of > b->leaves ? of : has_own ? OWN_CLASS + 1 : 0;
        const u32 first = stage->firsts[from], last = stage->firsts[of + 1] - 1;
        if (c == 0) {
            reduce_staged(call, stage, b, stage->members[first + own], 1, OWN, call->lane, WIDTH, TILED_CHUNK);
        } else {
            const u32 log = of - b->leaves, team = 1U << log, m = first + ((own * WIDTH + call->lane) >> log);
            reduce_staged(call, stage, b, stage->members[min(m, last)], m <= last, LEAVES, call->lane & (team - 1), team,
                          TILED_SHORT);
        }
    }
}

/* ---- segments elsewhere ---------------------------------------------------------------------- */

#ifdef PLAIN
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
#else
INLINE void reduce_apart(const CALLED *call, const LOCAL STAGE *stage, const BATCH *b, u32 of) {
    const u32 size = 1U << of, teams = GROUP >> of, count = b->found[of];
#pragma unroll 1
    for (u32 turn = 0; turn < count; turn += teams) {
        const u32 m = turn + (call->thread >> of), own = call->lane & (size - 1);
        SEGMENT segment = called_segment(call, b->at + stage->members[stage->firsts[of] + min(m, count - 1)]);
        if (m >= count) segment.n = 0;
        const PART p = team_part(&segment, 0, 0, own, size, BY_STEPS, 0);
        if (m < count && own == 0) put_part(p, segment.n, call->out, segment.out, call->initial, call->in.p);
    }
}
#endif

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
    b.leaves = is_staged ? leaves_of(&b) : 0;
    const u32 is_listed = !is_staged || b.found[LONGEST] > OWN_ITEMS;
    if (is_listed) list_segments(call, stage, &b);
    if (!is_staged) {
        BARRIER
        reduce_elsewhere(call, stage, &b);
        return b.here;
    }
    await_items(call, parity);
    /* Where most are so short that a thread takes them alone, these are reduced in their order. */
    const u32 has_own = !is_listed || HAS_OWN(stage->firsts[OWN_CLASS + 1], b.here);
#ifndef TAKES_PIVOT
    if (b.found[LONGEST] <= OWN)
        reduce_own(call, stage, &b, OWN);
    else
#endif
        if (has_own)
        reduce_own(call, stage, &b, OWN_ITEMS);
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
