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

/* Items that are loaded as another type are first put into an array of it, some at a time. `room`
 * is for ROOM_ITEMS(count) of them. */
#ifdef LOADED_DIFFERS
#define LOADED_INPUT(name) const LOADED *name;
typedef struct {
    EACH_INPUT(LOADED_INPUT)
    PARAMS p;
} LOADED_ARRAYS;
#define LOADED_SOURCE LOADED_ARRAYS
INLINE ITEMS item_of_arrays(LOADED_ARRAYS s, u64 at) {
    ITEMS v;
#define LOADED_ITEM(name) v.name = s.name[at];
    EACH_INPUT(LOADED_ITEM)
    return v;
}
#define loaded_at item_of_arrays
#define LOADED_BYTES ((int)sizeof(LOADED))
#define ROOM_ITEMS(count) (INPUTS * (count))
#define ARE_FAR(is_far) 0 /* they were prefetched as they were loaded */
INLINE LOADED_ARRAYS load_arrays(SOURCE in, int count, int ahead, LOADED *room) {
    LOADED_ARRAYS s;
    s.p = in.p;
#define LOAD_SOME(name)                                                                                                        \
    f16_values(in.name, count, ahead, room);                                                                                   \
    s.name = room;                                                                                                             \
    room += count;
    EACH_INPUT(LOAD_SOME)
    return s;
}
#define load_some load_arrays
#else
#define LOADED_SOURCE SOURCE
#define loaded_at items_at
#define LOADED_BYTES ITEM_BYTES
#define ROOM_ITEMS(count) 1
#define ARE_FAR(is_far) (is_far)
#define load_some(in, count, ahead, room) (in)
#endif

/*
 * Chunk rows at a time, whose lanes stay in registers. GB/s of a core of an EPYC (Zen 4) by the
 * backend host, AVX2, November 2026, with 8, 4 and 2 rows of 16 KiB of f32: argmax 26, 29, 34, var
 * 53, 54, 66; of 256 MiB, prefetched, dot 14, 17, 21. Narrow items want more: the max of i8 has 150
 * with 8 rows, 86 with 2.
 */
#define BLOCK (LOADED_BYTES < 4 ? 8 : 2)
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

/* A loop over lanes that stay in registers. gcc keeps them there if the loop is written out. */
#if defined(HOST) && defined(__GNUC__) && !defined(__clang__)
#define UNROLLS 1
#define IN_REGISTERS _Pragma("GCC unroll 128")
#else
#define IN_REGISTERS IN_VECTORS
#endif

/*
 * HELD lanes stay in registers while the rows are walked, where the op HOLDS. Of the 16 registers
 * of AVX2 a lane of 4 bytes may have all, as its step reads the item from memory; others leave room
 * for what a step computes. Of the 32 of AVX-512, which are twice as wide, lanes have a half. Where
 * the order is free a row is as wide as the lanes held. GB/s of a core of an EPYC (Zen 5) by the
 * backend host, November 2026, of 512 KiB, with lanes in memory, with these, and by AVX-512: sum of
 * f32 111, 203, 252, of i64 118, 222, 244; min of i32 113, 205, 250; dot of f32 121, 148, 251.
 * Items that the caches do not hold are better read once, so lanes of half a row are not held there
 * (sum of f64 of 128 MiB: 40, 25).
 * Two rows at a time let gcc combine narrow integers before it widens them: prod of i8 5, 9.6. With
 * them bytes, which fill two registers of AVX-512, have as many steps at once: bor of i8 200, 245.
 * Other items that are not widened are better read in the order of memory: min of i32 137, 205; by
 * AVX-512 sum of i64 135, 244.
 */
#if defined(HOLDS) && defined(UNROLLS) && defined(__AVX2__) && !defined(SHORT_SUMS)
#define LANE_BYTES ((int)sizeof(LANE_ARRAYS) / LANES)
#ifdef __AVX512F__
#define HELD_BYTES (LANE_BYTES > LOADED_BYTES ? 512 : 1024)
#else
#define HELD_BYTES (LANE_BYTES == 4 && (INPUTS == 1 || IN_MEMORY_ORDER) ? 512 : 256)
#endif
#define HELD_UP_TO(lanes) HELD_BYTES / LANE_BYTES >= (lanes) ? (lanes)
#define HELD (HELD_UP_TO(128) : HELD_UP_TO(64) : HELD_UP_TO(32) : HELD_UP_TO(16) : 8)
#define HELD_ROWS (LANE_BYTES == LOADED_BYTES && LOADED_BYTES > 1 ? 1 : 2)
#endif
#if defined(HELD) && defined(ANY_ORDER)
#define ROW_LANES HELD
#else
#define ROW_LANES LANES
#endif

/*
 * AVX2 reads wide items in the order of memory, and prefetches none, where there are two inputs,
 * where lanes are HELD and the caches do not hold the items, and where they hold the items of a sum
 * of deviations. The processor then fetches ahead by itself. Lanes that registers do not hold are
 * in memory, and the loop over those of a row is written out. Speed over that of a plain loop, of a
 * core of an EPYC (Zen 3), November 2026:
 * - dot of f64 of 1 and 64 MiB: with lanes held some at a time 0.76, 0.76; two rows at a time 0.88,
 *   0.58; a row that is not written out 0.74, 1.06; with these 0.95, 1.05
 * - var of f32 of 1 and 4 MiB: two rows at a time 1.45, 1.02; with these 1.65, 1.30
 * - sum of f32, sum of f64, max of i32 of 64 MiB: prefetched 0.91, 0.91, 0.93; with these 1.03,
 *   1.06, 1.09
 */
#if defined(UNROLLS) && defined(__AVX2__) && !defined(__AVX512F__)
#define IN_MEMORY_ORDER (LOADED_BYTES >= 4)
#define PREFETCHES(is_far) ((is_far) && !IN_MEMORY_ORDER)
#else
#define IN_MEMORY_ORDER 0
#define PREFETCHES(is_far) (is_far)
#endif
#if defined(UNROLLS) && defined(TAKES_PIVOT) && !defined(PIVOT_MAY_MISS)
#define SUMS_DEVIATIONS 1
#endif
#ifdef HELD
#define TAKES_ROWS(is_far) (IN_MEMORY_ORDER && HELD < ROW_LANES && (INPUTS > 1 || (is_far)))
#elif defined(SUMS_DEVIATIONS) && defined(__AVX512F__)
#define TAKES_ROWS(is_far) (LOADED_BYTES >= 4)
#elif defined(SUMS_DEVIATIONS)
#define TAKES_ROWS(is_far) (IN_MEMORY_ORDER && !(is_far))
#endif

/*
 * AVX-512 reads items in the order of memory where their lanes are HELD, and those of sums of
 * deviations. AMD's processors then fetch ahead by themselves, so nothing is prefetched there
 * (tally_host_fetches_ahead); Intel's gain by it. Speed over that of a plain loop by two threads,
 * of 64 to 256 MiB, prefetched, and not:
 * - EPYC (Zen 4), December 2026: sum of f32 0.89, 0.97, of i32 0.82, 1.00; max of f32 0.88, 1.03;
 *   var of f32 0.74, 1.00, of f64 0.75, 0.99 (by blocks of rows, prefetched, 0.59, 0.63)
 * - Xeon (H200's host), December 2026: var of f32 1.04, 0.95, of f64 1.08, 0.88 (by blocks 0.98,
 *   0.98; of 4 MiB 0.79, in the order of memory 1.13); sum of i32 1.24, 1.19
 */
#if !defined(__AVX512F__) || defined(LOADED_DIFFERS)
#define READS_IN_ORDER 0
#elif defined(HELD)
#define READS_IN_ORDER (HELD == ROW_LANES)
#elif defined(SUMS_DEVIATIONS)
#define READS_IN_ORDER (LOADED_BYTES >= 4)
#elif defined(GUESSES_COMBINE)
#define READS_IN_ORDER 1
#else
#define READS_IN_ORDER 0
#endif

/*
 * Where the caches do not hold the input, the lines of a later block are prefetched before each
 * block, in the order of memory. GB/s of a core as above, 256 MiB, without and with it: sum of f32
 * 11, 22; of i32 7, 25; max 10, 22; argmax 8, 23; dot 13, 21; var 9, 21. Line by line between the
 * vectors it gained nothing. Of 256 KiB the sum of f32 falls from 107 to 70. Narrow items on an
 * EPYC (Zen 5): sum of i16 34, 47 by the backend host; var of bf16 by POCL on two cores 24, 67.
 * An address past the end is harmless. On these processors all of OpenCL's address spaces are one.
 * GB/s of rows of 65,536 f32 (cpu_segment_rows), POCL 3.1, 2 cores of an EPYC (Zen 5), with AHEAD
 * of 1, 4, 8 and 16 KiB: 47, 62, 62, 62. Speed over that of a plain loop by two threads of an EPYC
 * (Zen 3) by the backend host, of 64 MiB a thread, with 1, 2 and 4 KiB: var of f64 0.82, 0.93,
 * 0.91; of f32 1.12, 1.06, 1.04; of i32 1.17, 1.23, 1.20.
 */
#define AHEAD (IN_MEMORY_ORDER ? 2048 : 8192)
/* Where it pays depends on what a core has to do. GB/s of 2 to 8 MiB a core as above, in the third
 * cache, without and with it: sum of f32 with lanes in memory 70, 84; max 93, 72; dot 81, 52. Of 8
 * MiB on an EPYC (Zen 5) with lanes held: sum of i32 74, 64. Of 4 and 16 MiB on an EPYC (Zen 3):
 * var of f32 43, 39; 21, 33. */
#if defined(GUESSES_COMBINE) || INPUTS > 1 || defined(HELD) || defined(SUMS_DEVIATIONS)
#define FAR_BYTES (16 << 20)
#else
#define FAR_BYTES (4 << 20)
#endif
#define FAR_ITEMS (FAR_BYTES / (ITEM_BYTES * INPUTS))
#if defined(__x86_64__) || defined(__aarch64__)
#define PREFETCH_LINE(pointer, ahead) __builtin_prefetch((const void *)((size_t)(pointer) + (ahead)))
#else
#define PREFETCH_LINE(pointer, ahead)
#endif
#define PREFETCH_BLOCK(name)                                                                                                   \
    for (int i = r * LANES; i < (r + BLOCK) * LANES; i += 64 / ITEM_BYTES) PREFETCH_LINE(&in.name[i], AHEAD);
#define PREFETCH_HELD(name)                                                                                                    \
    for (int i = r * ROW_LANES; i < (r + HELD_ROWS) * ROW_LANES; i += 64 / ITEM_BYTES) PREFETCH_LINE(&in.name[i], AHEAD);
#define PREFETCH_ROW(name)                                                                                                     \
    for (int i = r * LANES; i < (r + 1) * LANES; i += 64 / ITEM_BYTES) PREFETCH_LINE(&in.name[i], AHEAD);
#define PREFETCH_PLACES(name)                                                                                                  \
    for (int k = i; k < i + 2 * PLACES; k += 64 / ITEM_BYTES) PREFETCH_LINE(&in.name[k], AHEAD);
#define PREFETCH_REST(name)                                                                                                    \
    for (int i = r * ROW_LANES; i < (int)c.count; i += 64 / ITEM_BYTES) PREFETCH_LINE(&in.name[i], AHEAD);

/* Lane l after item v, of row `row`. */
#ifdef GUESSES_LOAD
#define STEP(v, row) (guesses ? lane_combine(a, guess_load(v)) : lane_step(a, v, c, row, l, in.p))
#else
#define STEP(v, row) lane_step(a, v, c, row, l, in.p)
#endif
/* Lane l after the next two of the block's rows. The rows are written out: with a loop over them
 * gcc makes no vectors of the loop over lanes. */
#define STEP_ROW(b) a = STEP(loaded_at(in, (r + (b)) * ROW_LANES + l), r + (b));
#define STEP_PAIR(b) {STEP_ROW(b) STEP_ROW((b) + 1)}

/* BEGIN_BLOCK stands before the rows of a block, and END_BLOCK behind them. Bytes are added up in
 * 16 bits, and the sum of a block is widened: one instruction for 16 items of a row, not two. */
#ifdef SHORT_SUMS
#define SHORT_ROW(b) a += short_load(loaded_at(in, (r + (b)) * LANES + l));
#define BLOCK_PAIR(b) {SHORT_ROW(b) SHORT_ROW((b) + 1)}
#define BEGIN_BLOCK SHORT_SUM a = 0;
#define END_BLOCK lanes_set(&lanes, l, lane_combine(lanes_get(&lanes, l), (LANE)a));
#else
#define BLOCK_PAIR STEP_PAIR
#define BEGIN_BLOCK LANE a = lanes_get(&lanes, l);
#define END_BLOCK lanes_set(&lanes, l, a);
#endif

/* Combines lane l with lane l + s, for s = 64, 32, ... 1. Each loop has a constant length, so that
 * no branch is mispredicted. Written out for lanes that were held, they gain a twentieth. */
#ifdef HELD
#define WRITTEN_OUT IN_REGISTERS
#else
#define WRITTEN_OUT
#endif
#define HALVE(BY) BY(64) BY(32) BY(16) BY(8) BY(4) BY(2) BY(1)
#define LANE_STEP(s)                                                                                                           \
    WRITTEN_OUT for (int l = 0; (s) < ROW_LANES && l < (s); l++)                                                               \
        lanes_set(&lanes, l, lane_combine(lanes_get(&lanes, l), lanes_get(&lanes, l + (s))));

/* Leaves out the other items of a chunk where a lane is what no item changes. */
#ifdef DECIDES
INLINE u32 lanes_decide(const LANE_ARRAYS *lanes) {
    u32 any = 0;
    for (int l = 0; l < LANES; l++) any |= lane_decides(lanes_get(lanes, l));
    return any;
}
#define LEAVE_IF_DECIDED                                                                                                       \
    if (lanes_decide(&lanes)) {                                                                                                \
        HALVE(LANE_STEP)                                                                                                       \
        return lanes_get(&lanes, 0);                                                                                           \
    }
#else
#define LEAVE_IF_DECIDED
#endif

/* Walks `rows` chunk rows from row r on by blocks, as far as there are whole blocks. Statements for
 * lane l: BEGIN stands before the block's rows, PAIR(b) for two of them, and END behind them. */
#define WALK_ROWS(rows, BEGIN, PAIR, END)                                                                                      \
    for (; r + BLOCK <= (rows); r += BLOCK) {                                                                                  \
        LEAVE_IF_DECIDED                                                                                                       \
        if (is_far) {                                                                                                          \
            EACH_INPUT(PREFETCH_BLOCK)                                                                                         \
        }                                                                                                                      \
        IN_VECTORS for (int l = 0; l < LANES; l++) {                                                                           \
            BEGIN PAIR(0) if (BLOCK > 2) {PAIR(2) PAIR(4) PAIR(6)} END                                                         \
        }                                                                                                                      \
    }

/* Takes item r * ROW_LANES + l for the lanes l below `end`. The indices are signed: gcc makes no
 * vectors of loops over unsigned ones, which may wrap. The sum of 1,000 f32 by the backend host
 * then takes 409 ns instead of 85, the maximum of 1,000 i8 637 instead of 41. */
#define TAKE_ROW(LOOP, end)                                                                                                    \
    LOOP for (int l = 0; l < (end); l++) {                                                                                     \
        LANE a = lanes_get(&lanes, l);                                                                                         \
        STEP_ROW(0)                                                                                                            \
        lanes_set(&lanes, l, a);                                                                                               \
    }

#if defined(HELD) && !defined(ADDS_BY_VECTORS)
/* Takes the rows below `rows`, a multiple of HELD_ROWS, for HELD lanes from `first` on. The lanes
 * of a whole row stay in `lanes`, and the loop over the first values is written out. Microseconds
 * of a core of an EPYC (Zen 3), November 2026, with a copy and a loop, and so: sum of 4,096 f32
 * 0.12, 0.10; of 16,384 f16 sumsq 1.94, 1.33, min 5.5, 4.0; dot of 2^19 f32 62.1, 60.5. */
INLINE COPIED void hold_lanes(LANE_ARRAYS *lanes, LOADED_SOURCE in, CHUNK c, int rows, int first, u32 is_far, u32 guesses) {
    LANE_ARRAYS some ALIGN(64), *const held = HELD < ROW_LANES ? &some : lanes;
    IN_REGISTERS for (int l = 0; l < HELD; l++) lanes_set(held, l, lane_identity());
    for (int r = 0; r < rows; r += HELD_ROWS) {
        if (PREFETCHES(is_far)) {
            EACH_INPUT(PREFETCH_HELD)
        }
        IN_REGISTERS for (int h = 0; h < HELD; h++) {
            const int l = first + h;
            LANE a = lanes_get(held, h);
            STEP_ROW(0)
            if (HELD_ROWS == 2) STEP_ROW(1)
            lanes_set(held, h, a);
        }
    }
    for (int l = 0; HELD < ROW_LANES && l < HELD; l++) lanes_set(lanes, first + l, lanes_get(held, l));
}
#endif

INLINE COPIED LANE chunk_lane(LOADED_SOURCE in, CHUNK c, u32 is_far, u32 guesses) {
    LANE_ARRAYS lanes ALIGN(64);
    const int rows = (int)(c.count / ROW_LANES), rest = (int)(c.count % ROW_LANES);
    int r = 0;
#ifdef TAKES_ROWS
    if (TAKES_ROWS(is_far)) {
        IN_REGISTERS for (int l = 0; l < LANES; l++) lanes_set(&lanes, l, lane_identity());
        if (rows) { /* the first row by itself: its lanes need not be read */
            TAKE_ROW(IN_REGISTERS, LANES)
            for (r++; r < rows; r++) {
                if (PREFETCHES(is_far)) {
                    EACH_INPUT(PREFETCH_ROW)
                }
                TAKE_ROW(IN_REGISTERS, LANES)
            }
        }
    } else
#endif
#ifdef HELD
    if (ROW_LANES == HELD || !is_far) {
        r = rows - rows % HELD_ROWS;
#ifdef ADDS_BY_VECTORS
        for (int l = 0; l < ROW_LANES; l++) lanes_set(&lanes, l, lane_identity());
        add_by_vectors(&lanes, in, r * ROW_LANES, is_far ? AHEAD : 0);
#else
        for (int first = 0; first < ROW_LANES; first += HELD) hold_lanes(&lanes, in, c, r, first, is_far, guesses);
#endif
    } else
#endif
    {
        for (int l = 0; l < LANES; l++) lanes_set(&lanes, l, lane_identity());
        WALK_ROWS(rows, BEGIN_BLOCK, BLOCK_PAIR, END_BLOCK)
        if (is_far) {
            EACH_INPUT(PREFETCH_REST)
        }
    }
    for (; r < rows; r++) TAKE_ROW(IN_VECTORS, ROW_LANES)
    TAKE_ROW(IN_VECTORS, rest)
    HALVE(LANE_STEP)
    return lanes_get(&lanes, 0);
}

#ifdef GUESSES_COMBINE
#ifdef HOST
#define HAVE_NAN(x, y) isunordered(x, y)
#else /* POCL links isunordered in after the first run of the optimiser. */
#define HAVE_NAN(x, y) (((x) != (x)) | ((y) != (y)))
#endif

/* A guess may combine in any order, so it has as many places as registers hold. gcc keeps them
 * there if the loop over them is written out. GB/s as above, of 256 KiB with LANES places and with
 * these: max of f32 48, 101, of f64 50, 99. */
#ifdef UNROLLS
#define PLACES ((int)(128 / sizeof(NAN_WORD)))
#else
#define PLACES LANES
#endif

#ifdef GUESSES_INDEX
#define GUESS_OF(v) guess_at(v, 0, in.p)
#else
#define GUESS_OF(v) op_load(v, 0, in.p)
#endif

/*
 * The lane of a chunk of at least 2 * PLACES items by a guess; true if the guess holds. A vector of
 * floats takes 2 instructions on AVX2, where an exact minimum or maximum takes 6. The last items
 * may be taken twice, which changes no minimum.
 */
INLINE u32 guess_lane(LOADED_SOURCE in, CHUNK c, u32 is_far, LANE *lane) {
    LANE_ARRAYS lanes ALIGN(64);
    NAN_WORD nans[PLACES] ALIGN(64), any = 0;
    for (int l = 0; l < PLACES; l++) lanes_set(&lanes, l, lane_identity()), nans[l] = 0;
    for (int i = 0; i < (int)c.count; i += 2 * PLACES) {
        const int at = min(i, (int)c.count - 2 * PLACES);
        if (PREFETCHES(is_far)) {
            EACH_INPUT(PREFETCH_PLACES)
        }
        IN_REGISTERS for (int l = 0; l < PLACES; l++) {
            const ITEMS v = loaded_at(in, at + l), w = loaded_at(in, at + PLACES + l);
            lanes_set(&lanes, l,
                      guess_combine(lanes_get(&lanes, l), guess_combine(GUESS_OF(v), GUESS_OF(w))));
            nans[l] |= HAVE_NAN(guess_value(v), guess_value(w)) ? ~(NAN_WORD)0 : 0;
        }
    }
    for (int l = 0; l < PLACES; l++) any |= nans[l];
#define GUESS_STEP(s)                                                                                                          \
    for (int l = 0; (s) < PLACES && l < (s); l++)                                                                              \
        lanes_set(&lanes, l, guess_combine(lanes_get(&lanes, l), lanes_get(&lanes, l + (s))));
    HALVE(GUESS_STEP)
    *lane = lanes_get(&lanes, 0);
    return any == 0 && guess_holds(*lane);
}

#ifdef GUESSES_INDEX
/* The first of the chunk's items whose value is the lane's. It is there. gcc makes no vectors here
 * of min(), which the backend host has for 64 bits alone. */
INLINE LANE first_alike(LOADED_SOURCE in, CHUNK c, LANE lane) {
    int i = 0;
    for (u32 place = LANES; i + LANES <= (int)c.count; i += LANES) {
        IN_VECTORS for (int l = 0; l < LANES; l++) {
            const u32 other = GUESS_OF(loaded_at(in, i + l)).value == lane.value ? (u32)l : LANES;
            place = other < place ? other : place;
        }
        if (place < LANES) return guess_at(loaded_at(in, i + (int)place), (u32)i + place, in.p);
    }
    while (GUESS_OF(loaded_at(in, i)).value != lane.value) i++;
    return guess_at(loaded_at(in, i), (u32)i, in.p);
}

/* Combines `all`, of the chunks before, with a chunk. The item that has the guessed value is looked
 * for only where it takes the place of `all`, which few chunks' items do. */
INLINE ACC chunk_after(ACC all, LOADED_SOURCE in, CHUNK c, u32 is_far) {
    LANE lane;
    if (c.count >= 2 * PLACES && guess_lane(in, c, is_far, &lane)) {
        if (op_combine(all, lane_value(lane, c)).index == all.index) return all;
        lane = first_alike(in, c, lane);
    } else {
        lane = chunk_lane(in, c, is_far, 0);
    }
    return op_combine(all, lane_value(lane, c));
}
#endif
#endif

INLINE ACC chunk_value(LOADED_SOURCE in, CHUNK c, u32 is_far) {
#ifdef PIVOT_MAY_MISS
    LANE lane;
    do {
        lane = chunk_lane(in, c, is_far, 0);
    } while (pivot_changes(&c.pivot, pivot_value(pivot_of_lane(lane), 0)));
    return lane_value(lane, c);
#else
#ifdef GUESSES_COMBINE
    LANE guess;
    if (c.count >= 2 * PLACES && guess_lane(in, c, is_far, &guess)) return lane_value(guess, c);
#endif
#ifdef GUESSES_LOAD
    const LANE guess = chunk_lane(in, c, is_far, 1);
    if (guess_holds(guess)) return lane_value(guess, c);
#endif
    return lane_value(chunk_lane(in, c, is_far, 0), c);
#endif
}

/* Returns the accumulator of a chunk; of an index that of `all` and of the chunk. */
OUT_OF_LINE ACC next_partial(ACC all, SOURCE in, u64 index, u32 count, u32 is_far) {
    CHUNK c;
    c.index = index;
    c.count = count;
#ifdef TAKES_PIVOT
    c.pivot = row_pivot(in, count);
#endif
    LOADED room[ROOM_ITEMS(CHUNK_ITEMS)] ALIGN(64);
    const LOADED_SOURCE items = load_some(in, (int)count, is_far ? AHEAD : 0, room);
#ifdef GUESSES_INDEX
    return chunk_after(all, items, c, ARE_FAR(is_far));
#else
    return chunk_value(items, c, ARE_FAR(is_far));
#endif
}

/* Combines the n items of a run, the first of which has the index `base`. Indices are exact, so
 * their chunks are combined one after the other. */
OUT_OF_LINE ACC run_partial(SOURCE in, u64 base, u64 n, u32 is_far) {
    ACC level[COUNTER_LEVELS], all = IDENTITY;
    u64 chunks = 0;
    for (u64 i = 0; i < n; i += CHUNK_ITEMS) {
        all = next_partial(all, in, base + i, min((u64)CHUNK_ITEMS, n - i), is_far);
#ifndef GUESSES_INDEX
        counter_push(level, chunks++, all);
#endif
#define TO_NEXT(name) in.name += CHUNK_ITEMS;
        EACH_INPUT(TO_NEXT)
    }
    return chunks ? counter_value(level, chunks) : all;
}

KERNEL void tally_partials(SOURCE_ARGS, u64 base, u64 n, u64 run, GLOBAL ACC *partials, u64 first, GLOBAL RESULT *out,
                           u64 out_offset, u32 last, const OUTCOME outcome) {
    SOURCE in = SOURCE_OF_ARGS;
    const u64 group = get_group_id(0);
    const u64 begin = min(n, group * run * CHUNK_ITEMS);
#define TO_RUN(name) in.name += begin;
    EACH_INPUT(TO_RUN)
    ACC a = run_partial(in, base + begin, min(n - begin, run * CHUNK_ITEMS), n >= FAR_ITEMS);
    if (last != ALONE) partials[first + group] = a;
#ifdef ORDER
    if (last == TOGETHER) {
        if (!arrives_last(partials)) return;
        a = run_value(partials, first, first + get_num_groups(0));
    }
#endif
    if (last) store_outcome(a, n, params, out, out_offset, outcome);
}
