/* SPDX-License-Identifier: MIT */
/*
 * cpu_chunks: a reduction in the canonical order, for CPUs.
 *
 * Computes: one partial per group: the accumulator of its run of `run` chunks. That is a power of
 * two, so that a run is an aligned subtree.
 * How: one thread per group, which walks its run chunk by chunk. The 128 lanes of a chunk are a
 * structure of arrays, and the compiler turns the loop over them into vectors of 64 bytes. It takes
 * BLOCK chunk rows at a time, in registers. The chunks of a run are combined as a binary counter:
 * after chunk c, as many levels close as c has trailing ones. A chunk's pivot (kernels/pivots.h)
 * comes before its lanes, and the chunk is taken again where it turns out to be no good. So it is
 * with a guess (src/ops/ops.h).
 * Needs: nothing; no local memory and no barrier.
 * Why: a CPU runs a group of many threads as loops between barriers. On 2 cores with POCL 3.1 a
 * tree in local memory is 15 to 60 times slower.
 * HOST: the text is compiled as C into the library, for the backend `host` (src/host/entry.h).
 */

/*
 * Chunk rows at a time: as many as make a page of 4 KiB, but at most 8 of items below 4 bytes. GB/s
 * of a core's own time with blocks of 2, 4 and 8 KiB, on an Intel Xeon (AVX-512), POCL 3.1,
 * November 2026: sum of f32 17.0, 18.2, 16.9; of f64 (4, 8 KiB) 18.1, 15.4; its argmax 13.2, 7.9.
 */
#define BLOCK (ITEM_BYTES < 4 ? 8 : 32 / ITEM_BYTES)
/* Lanes of a vector of 64 bytes, counted by their widest field. Without this LLVM 15 takes 32 bytes
 * at a time: an argmax of f32 then has 0.49 of a sum's speed, with it 0.87. */
#define LANES_AT_ONCE (64 / __alignof__(LANE_ARRAYS))
#if defined(__clang__) && !defined(HOST)
#define PRAGMA(words) _Pragma(#words)
#define IN_VECTORS_OF(lanes) PRAGMA(clang loop vectorize_width(lanes))
#else
#define IN_VECTORS_OF(lanes)
#endif
#define IN_VECTORS IN_VECTORS_OF(LANES_AT_ONCE)

/*
 * Prefetches 8 KiB ahead, line by line, in pieces of 64 lanes. The more there is to compute for an
 * item, the fewer loads a core has in flight by itself. A sum has enough of them, and would lose a
 * sixth to the additional instructions.
 * GB/s of 2 cores without and with it, f32, 256 MiB, POCL 3.1, a Xeon: max 11.7, 17.9; argmax 15.9,
 * 23.4; nrm2 15.8, 24.1; var 16.3, 24.3.
 * An address past the end is harmless. On these processors all of OpenCL's address spaces are one.
 */
#define PIECE 64
#if defined(TAKES_LONG) && (defined(__x86_64__) || defined(__aarch64__))
#define PREFETCH(name)                                                                                                         \
    for (int l = 0; l < PIECE; l += 64 / ITEM_BYTES) __builtin_prefetch((const void *)((size_t)&in.name[row + l] + 8192));
#else
#define PREFETCH(name)
#endif

/* Lane l after the next two of the block's rows. The rows are written out: with a loop over them
 * gcc makes no vectors of the loop over lanes. */
#define STEP_ROW(b) a = lane_step(a, items_at(in, (r + (b)) * LANES + l), c, r + (b), l, in.p);
#define STEP_PAIR(b) {STEP_ROW(b) STEP_ROW((b) + 1)}

/* Combines lane l with lane l + s, for s = 64, 32, ... 1. Each loop has a constant length, so that
 * no branch is mispredicted. */
#define HALVE(STEP) STEP(64) STEP(32) STEP(16) STEP(8) STEP(4) STEP(2) STEP(1)
#define LANE_STEP(s)                                                                                                           \
    for (int l = 0; l < (s); l++) lanes_set(&lanes, l, lane_combine(lanes_get(&lanes, l), lanes_get(&lanes, l + (s))));

/* Walks a whole chunk by pieces of a block. Statements for lane l of a piece: BEGIN stands before
 * the block's rows, PAIR(b) for two of them, and END behind them. */
#define WALK_CHUNK(BEGIN, PAIR, END)                                                                                           \
    for (int r = 0; r < ROWS; r += BLOCK)                                                                                      \
        for (int piece = 0; piece < LANES; piece += PIECE) {                                                                   \
            for (int b = 0; b < BLOCK; b++) {                                                                                  \
                const int row = (r + b) * LANES + piece;                                                                       \
                EACH_INPUT(PREFETCH)                                                                                           \
            }                                                                                                                  \
            IN_VECTORS for (int l = piece; l < piece + PIECE; l++) {                                                           \
                BEGIN PAIR(0) if (BLOCK > 2) PAIR(2) if (BLOCK > 4) PAIR(4) if (BLOCK > 6) PAIR(6) END                         \
            }                                                                                                                  \
        }

INLINE LANE chunk_lane(SOURCE in, CHUNK c) {
    LANE_ARRAYS lanes ALIGN(64);
    for (int l = 0; l < LANES; l++) lanes_set(&lanes, l, lane_identity());
    if (c.count == CHUNK_ITEMS) {
        WALK_CHUNK(LANE a = lanes_get(&lanes, l);, STEP_PAIR, lanes_set(&lanes, l, a);)
    } else {
        const u32 whole = c.count / LANES, rest = c.count % LANES;
        for (u32 r = 0; r < whole; r++)
            for (u32 l = 0; l < LANES; l++)
                lanes_set(&lanes, l, lane_step(lanes_get(&lanes, l), items_at(in, r * LANES + l), c, r, l, in.p));
        for (u32 l = 0; l < rest; l++)
            lanes_set(&lanes, l, lane_step(lanes_get(&lanes, l), items_at(in, whole * LANES + l), c, whole, l, in.p));
    }
    HALVE(LANE_STEP)
    return lanes_get(&lanes, 0);
}

#ifdef GUESSES
#ifdef HOST
#define HAVE_NAN(x, y) isunordered(x, y)
#else /* POCL links isunordered in after the first run of the optimiser. */
#define HAVE_NAN(x, y) (((x) != (x)) | ((y) != (y)))
#endif

/*
 * The lane of a whole chunk by a guess; true if the guess holds. A vector of floats takes 2
 * instructions on AVX2, where an exact minimum or maximum takes 6.
 */
INLINE u32 guess_lane(SOURCE in, CHUNK c, LANE *lane) {
    LANE_ARRAYS lanes ALIGN(64);
    NAN_WORD nans[LANES] ALIGN(64), any = 0;
    for (int l = 0; l < LANES; l++) lanes_set(&lanes, l, lane_identity()), nans[l] = 0;
#define GUESS_PAIR(b)                                                                                                          \
    {                                                                                                                          \
        const ITEMS v = items_at(in, (r + (b)) * LANES + l), w = items_at(in, (r + (b) + 1) * LANES + l);                      \
        a = guess_combine(guess_combine(a, op_load(v, 0, in.p)), op_load(w, 0, in.p));                                         \
        is_nan |= HAVE_NAN(guess_value(v), guess_value(w)) ? ~(NAN_WORD)0 : 0;                                                 \
    }
    WALK_CHUNK(LANE a = lanes_get(&lanes, l); NAN_WORD is_nan = nans[l];, GUESS_PAIR, lanes_set(&lanes, l, a); nans[l] = is_nan;)
    for (int l = 0; l < LANES; l++) any |= nans[l];
#define GUESS_STEP(s)                                                                                                          \
    for (int l = 0; l < (s); l++) lanes_set(&lanes, l, guess_combine(lanes_get(&lanes, l), lanes_get(&lanes, l + (s))));
    HALVE(GUESS_STEP)
    *lane = lanes_get(&lanes, 0);
    return any == 0 && guess_holds(*lane);
}
#endif

INLINE ACC chunk_partial(SOURCE in, u64 index, u32 count) {
    CHUNK c;
    c.index = index;
    c.count = count;
#ifdef TAKES_PIVOT
    c.pivot = row_pivot(in, count);
#endif
#ifdef PIVOT_MAY_MISS
    LANE lane;
    do {
        lane = chunk_lane(in, c);
    } while (pivot_changes(&c.pivot, pivot_value(pivot_of_lane(lane), 0)));
    return lane_value(lane, c);
#else
#ifdef GUESSES
    LANE guess;
    if (count == CHUNK_ITEMS && guess_lane(in, c, &guess)) return lane_value(guess, c);
#endif
    return lane_value(chunk_lane(in, c), c);
#endif
}

KERNEL void tally_partials(SOURCE_ARGS, u64 base, u64 n, u64 run, GLOBAL ACC *partials, u64 first, GLOBAL RESULT *out,
                           u64 out_offset, u32 last) {
    SOURCE in = SOURCE_OF_ARGS;
    const u64 group = get_group_id(0);
    const u64 begin = group * run * CHUNK_ITEMS;
    const u64 end = min(n, begin + run * CHUNK_ITEMS);
    ACC level[COUNTER_LEVELS];
    u64 chunks = 0;
#define TO_RUN(name) in.name += begin;
#define TO_NEXT(name) in.name += CHUNK_ITEMS;
    EACH_INPUT(TO_RUN)
    for (u64 i = begin; i < end; i += CHUNK_ITEMS) {
        counter_push(level, chunks++, chunk_partial(in, base + i, min((u64)CHUNK_ITEMS, end - i)));
        EACH_INPUT(TO_NEXT)
    }
    store(counter_value(level, chunks), n, params, partials + first + group, out + out_offset, last == ALONE);
#ifdef ORDER
    if (last == TOGETHER && arrives_last(partials))
        store(run_value(partials, first, first + get_num_groups(0)), n, params, partials, out + out_offset, ALONE);
#endif
}
