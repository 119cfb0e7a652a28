/* SPDX-License-Identifier: MIT */
/*
 * team_rows: the lanes of a chunk in the threads of a team, in CUDA C and in OpenCL C.
 *
 * Computes: which lanes a thread has, and these lanes after a chunk that is not whole, or whose
 * vectors are not aligned (take_rest).
 * How: a team has as many threads as load a chunk row with 16 bytes each: 32 for items of 4 bytes,
 * 8 for bytes. Each thread has OWN lanes, VECTOR neighbours of each load. take_rest takes rounds of
 * some rows, so that a round waits for memory once; what is no whole row it takes item by item.
 * If the chunk's first item lies within an aligned vector, behind `lead` other items, all threads'
 * lanes begin `lead` lanes earlier: then their vectors are aligned. Thread 0 has the chunk's last
 * lanes then, the early ones. Its vector of a row has their items of the row before. So what its
 * first vector has for them is forgotten, and their last items are taken one by one. In the end the
 * lanes move to the threads that they belong to (move_lanes).
 * Needs: GROUP, FLIGHT_LOADS, and what kernels/vectors.h and kernels/warp_tree.h define and need.
 * Why: most arrays end with a chunk that is not whole. A warp takes it alone when all others have
 * ended, so each instruction counts. GPU's clock of 4,095 items, item by item and so (H200,
 * November 2026): sum of i8 10.3, 2.3 us; nrm2 of f32 6.7, 3.9. A part of an array begins anywhere:
 * 2^27 items from the second on, sum of f16 140, 72 us; minmax of f32 193, 131.
 */
#define ROW_BYTES (LANES * ITEM_BYTES)
#define TEAM (ROW_BYTES < 512 ? ROW_BYTES / 16 : 32) /* threads that share a chunk */
#define OWN (LANES / TEAM)                           /* lanes of a thread */
#define ROW_LOADS (OWN / VECTOR)                     /* loads of a chunk row, of each input */

/* Lanes are light where many items are in flight one by one, and vectors of a chunk that is not
 * whole, or not aligned, gain little. Sum of f32, 4,095 items: 1.7 us, 2.1 by vectors; but max 2.5
 * and 2.1. OpenCL has fewer loads in flight, so vectors gain for all lanes. */
#if defined(PIVOT_MAY_MISS) || defined(__OPENCL_VERSION__) || ITEM_BYTES < 4 || (defined(ANY_ORDER) && ACC_BYTES <= 8)
#define ARE_LIGHT 0
#else
#define ARE_LIGHT (INPUTS == 1 && OWN * sizeof(LANE) <= 32)
#endif
/* Exponentials leave few registers where accumulators are wide, and by OpenCL where items are
 * narrow. Whole chunks have as many registers as this file takes: logsumexp of bf16 has 0.55 of the
 * speed of memory with 72, and 0.66 with 56 (H200, OpenCL, November 2026). */
#if defined(PIVOT_MAY_MISS) && (ACC_BYTES > 8 || (ITEM_BYTES < 4 && defined(__OPENCL_VERSION__)))
#define FEW_REGISTERS 1
#else
#define FEW_REGISTERS 0
#endif
/* Loads of a round, by vectors and item by item: as many as fit the registers that ptxas gives. A
 * vector that is shifted takes two, which CUDA has room for with two wide inputs. */
#if FEW_REGISTERS
#define MOST_BLOCK 1
#elif defined(lane_plain) || defined(PIVOT_MAY_MISS) || (ITEM_BYTES < 4 && INPUTS > 1)
#define MOST_BLOCK 4
#else
#define MOST_BLOCK 8
#endif
#define ROWS_OF_LOADS(loads) ((loads) / INPUTS > ROW_LOADS ? (loads) / INPUTS / ROW_LOADS : 1)
#define BLOCK_LOADS (FLIGHT_LOADS / (ACC_BYTES > 8 && ITEM_BYTES < 4 ? 4 : 2))
#define BLOCK_ROWS ROWS_OF_LOADS(BLOCK_LOADS < MOST_BLOCK ? BLOCK_LOADS : MOST_BLOCK)
#if INPUTS > 1 && ITEM_BYTES >= 4 && GROUP <= 512 && !defined(__OPENCL_VERSION__)
#define SHIFTED_LOADS BLOCK_LOADS
#else
#define SHIFTED_LOADS (BLOCK_LOADS / 2)
#endif
#define SHIFTED_ROWS ROWS_OF_LOADS(SHIFTED_LOADS < MOST_BLOCK ? SHIFTED_LOADS : MOST_BLOCK)
#define ITEM_LOADS (!ARE_LIGHT ? 1 : GROUP > 512 ? 2 : FLIGHT_LOADS >= 32 ? 16 : 4)
#define ITEM_ROWS ((int)ITEM_LOADS > ROW_LOADS ? (int)ITEM_LOADS / ROW_LOADS : 1)

/* Chunks have a lead where lanes can move by shuffles. Otherwise vectors that are not aligned are
 * shifted out of two: also where two inputs may begin differently, and where lanes leave no
 * registers for a lead. */
#if (defined(__CUDA_ARCH__) || defined(PTX)) && INPUTS == 1 && !defined(TAKES_TABLE) && !FEW_REGISTERS &&                      \
    !(ACC_BYTES > 8 && ITEM_BYTES == 1 && defined(__OPENCL_VERSION__))
#define LEADS
SHUFFLE(lane_from, LANE, "idx")
#endif
#if !defined(LEADS) && ITEM_BYTES < 4
#define ONLY_SHIFTS 1 /* there is no room for two ways */
#else
#define ONLY_SHIFTS 0
#endif

/* Where a thread's lanes are: `first` is its first one, below 0 for thread 0 if there is a lead. */
typedef struct {
    int first;
    u32 lead;
} PLACE;
#define IS_EARLY(own) ((own).first < 0)

/* The place of thread t without a lead. */
INLINE PLACE plain_place(u32 t) {
    PLACE own;
    own.first = (int)(t * VECTOR);
    own.lead = 0;
    return own;
}

/* The lane of the chunk that lane k * VECTOR + j of thread t is, without a lead. */
INLINE u32 lane_at(u32 t, int k, int j) {
    return k * TEAM * VECTOR + t * VECTOR + j;
}

/* Finds the place of thread t. `is_aligned` becomes 1 if its vectors are aligned there. */
INLINE PLACE find_place(SOURCE in, u32 t, u32 *is_aligned) {
    PLACE own = plain_place(t);
#ifdef LEADS
    const u32 begin = (u32)(size_t)in.x % 16;
    *is_aligned = begin % ITEM_BYTES == 0;
    own.lead = ARE_LIGHT ? 0 : *is_aligned ? begin / ITEM_BYTES : 0;
    own.first -= (int)own.lead;
#else
    u32 addresses = 0;
#define ADD_ADDRESS(name) addresses |= (u32)(size_t)in.name;
    EACH_INPUT(ADD_ADDRESS)
    *is_aligned = addresses % 16 == 0;
#endif
    return own;
}

/* The item with which vector f begins, of those from row r on; below 0: before the chunk. All
 * vectors of a thread have one address, and offsets that the compiler knows. */
INLINE i64 vector_begin(int f, int r, PLACE own) {
    return (i64)own.first + (u32)((r + f / ROW_LOADS) * LANES + f % ROW_LOADS * TEAM * VECTOR);
}

/* Loads it, where vectors are aligned. */
INLINE VECTORS load_vector(SOURCE in, int f, int r, PLACE own) {
    return vectors_at(in, vector_begin(f, r, own));
}

/* Takes the items of vector f, counted from row r on, into their lanes. */
INLINE void take_vector(LANE *lane, const VECTORS *v, int f, CHUNK c, TABLE table, int r, PLACE own, PARAMS p) {
    const int k = f % ROW_LOADS;
#ifdef lane_bytes /* four items at once, which go to any lane of the thread */
    if (BYTES_HOLD(p)) {
#pragma unroll
        for (int w = 0; w < 4; w++) lane[w] = lane_bytes(lane[w], WORDS_OF(*v, w));
        return;
    }
#endif
    if (take_by_table(lane + k * VECTOR, v, table)) return;
#pragma unroll
    for (int j = 0; j < VECTOR; j++) {
        const int i = k * VECTOR + j;
        lane[i] = lane_step(lane[i], items_of(v, j), c, r + f / ROW_LOADS, k * TEAM * VECTOR + own.first + j, p);
    }
}

/* Takes back what the chunk's first vector, whose row is r = 0, had for early lanes. Where items go
 * to any lane, that is all items of the vector: take_first takes the others. */
INLINE void forget_early(LANE *lane, int r, PLACE own) {
#ifdef LEADS
    if (r > 0 || !IS_EARLY(own)) return;
    const int lead = (int)own.lead;
#pragma unroll
    for (int j = 0; j < VECTOR; j++)
#ifdef lane_bytes
        lane[j] = lane_identity();
#else
        if (j < lead) lane[j] = lane_identity();
#endif
#endif
}

/* Takes vectors that lane_plain may not take, row by row: two ways for all of them at once would
 * take too many registers. Their items are in the cache. */
INLINE void take_rows(LANE *lane, SOURCE in, CHUNK c, TABLE table, int begin, int rows, PLACE own) {
    _Pragma("unroll 1") for (int r = begin; r < begin + rows; r++) {
        VECTORS v[ROW_LOADS];
#pragma unroll
        for (int f = 0; f < ROW_LOADS; f++) v[f] = load_vector(in, f, r, own);
#pragma unroll
        for (int f = 0; f < ROW_LOADS; f++) take_vector(lane, &v[f], f, c, table, r, own, in.p);
        forget_early(lane, r, own);
    }
}

/* ---- chunks that are not whole, or not aligned ----------------------------------------------- */

/* Moves the lanes to the threads that have them where there is no lead, bit by bit of the lead. */
INLINE void move_lanes(LANE *lane, PLACE own, u32 t) {
#ifdef LEADS
    const u32 next = THREAD_ID % 32 - t + (t + 1) % TEAM;
#pragma unroll
    for (int b = 1; b < VECTOR; b *= 2)
        if (own.lead & b) {
            LANE old[OWN];
#pragma unroll
            for (int i = 0; i < OWN; i++) old[i] = lane[i];
#pragma unroll
            for (int i = 0; i < OWN; i++) {
                const int at = i % VECTOR + b, k = i / VECTOR;
                if (at < VECTOR)
                    lane[i] = old[i + b];
                else /* thread 0 gives what the row's next load has */
                    lane[i] = lane_from(ROW_LOADS > 1 && t == 0 ? old[(k + 1) % ROW_LOADS * VECTOR + at - VECTOR]
                                                                : old[k * VECTOR + at - VECTOR],
                                        next);
            }
        }
#endif
}

/* Takes what forget_early took back of other lanes. */
INLINE void take_first(LANE *lane, SOURCE in, CHUNK c, PLACE own) {
#if defined(LEADS) && defined(lane_bytes)
    if (!IS_EARLY(own)) return;
    const VECTORS v = load_vector(in, 0, 0, own);
#pragma unroll
    for (int j = 0; j < VECTOR; j++)
        if (own.first + j >= 0) lane[j] = lane_step(lane[j], items_of(&v, j), c, 0, own.first + j, in.p);
#endif
}

#ifndef LEADS
/* Loads item `at` and the next ones as vectors that need not be aligned. One or two that are
 * aligned have their bytes, and none without. */
INLINE VECTORS shifted_at(SOURCE in, i64 at) {
    VECTORS v;
#define SHIFT_VECTOR(name)                                                                                                     \
    {                                                                                                                          \
        const u32 shift = (u32)((size_t)(in.name + at) % 16);                                                                  \
        GLOBAL const ITEM_VECTOR *from = (GLOBAL const ITEM_VECTOR *)((size_t)(in.name + at) - shift);                         \
        union {                                                                                                                \
            ITEM_VECTOR vector[2];                                                                                             \
            u32 word[8];                                                                                                       \
        } two;                                                                                                                 \
        two.vector[0] = from[0];                                                                                               \
        two.vector[1] = from[shift > 0];                                                                                       \
        _Pragma("unroll") for (int k = 0; k < 6; k++) two.word[k] = shift & 8 ? two.word[k + 2] : two.word[k];                 \
        _Pragma("unroll") for (int k = 0; k < 5; k++) two.word[k] = shift & 4 ? two.word[k + 1] : two.word[k];                 \
        _Pragma("unroll") for (int k = 0; k < 4; k++) v.name.word[k] =                                                         \
            ITEM_BYTES < 4 ? (u32)(((u64)two.word[k + 1] << 32 | two.word[k]) >> shift % 4 * 8) : two.word[k];                 \
    }
    EACH_INPUT(SHIFT_VECTOR)
    return v;
}
#endif

/* Takes a chunk's items from row `begin` on, one by one: of a chunk with a lead also the last ones
 * of early lanes. What is before the chunk is beyond its end as a number without a sign. */
INLINE void take_items(LANE *lane, SOURCE in, CHUNK c, TABLE table, u32 begin, PLACE own) {
    const u32 end = c.count + own.lead;
    _Pragma("unroll 1") for (u32 r = begin; r * LANES < end; r += ITEM_ROWS) {
        VECTORS v[ITEM_ROWS * ROW_LOADS];
#pragma unroll
        for (int i = 0; i < ITEM_ROWS * OWN; i++) {
            const i64 at = vector_begin(i / VECTOR, r, own) + i % VECTOR;
#define READ_ITEM(name)                                                                                                        \
    if ((u32)at < c.count) v[i / VECTOR].name.item[i % VECTOR] = in.name[at];
            EACH_INPUT(READ_ITEM) /* a condition each: two loads within one would be a branch */
        }
#pragma unroll
        for (int i = 0; i < ITEM_ROWS * OWN; i++) {
            const u32 at = (u32)vector_begin(i / VECTOR, r, own) + i % VECTOR;
            if (at >= c.count) continue;
            if (take_item_by_table(lane, i % OWN, &v[i / VECTOR], i % VECTOR, table)) continue;
            lane[i % OWN] = lane_step(lane[i % OWN], items_of(&v[i / VECTOR], i % VECTOR), c, 0, at, in.p);
        }
    }
}

/* Takes the first `rows` rows of a chunk by vectors, `block` rows at a time. A shift within a
 * condition would wait for its own loads alone, so what is shifted is loaded always: then from the
 * last row. */
INLINE void take_blocks(LANE *lane, SOURCE in, CHUNK c, TABLE table, PLACE own, int rows, int block, bool shifted) {
    _Pragma("unroll 1") for (int r = 0; r < rows; r += block) {
        VECTORS v[BLOCK_ROWS * ROW_LOADS];
#pragma unroll
        for (int f = 0; f < block * ROW_LOADS; f++) {
            const int row = r + f / ROW_LOADS;
#ifndef LEADS
            if (shifted)
                v[f] = shifted_at(in, vector_begin(f % ROW_LOADS, min(row, rows - 1), own));
            else
#endif
                if (row < rows)
                v[f] = load_vector(in, f, r, own);
        }
#if defined(lane_plain) && defined(LEADS)
        const int left = min(block, rows - r);
        if (left < block || !are_plain(v, block * ROW_LOADS)) {
            take_rows(lane, in, c, table, r, left, own);
            continue;
        }
#pragma unroll
        for (int f = 0; f < block * ROW_LOADS; f++) {
            take_plain(lane + f % ROW_LOADS * VECTOR, &v[f], c);
            if (f == 0) forget_early(lane, r, own);
        }
#else
#pragma unroll
        for (int f = 0; f < block * ROW_LOADS; f++)
            if (r + f / ROW_LOADS < rows) {
                take_vector(lane, &v[f], f, c, table, r, own, in.p);
                if (f == 0) forget_early(lane, r, own);
            }
#endif
    }
}

/* Takes a chunk that is not whole, or whose vectors are not aligned: whole rows by vectors, unless
 * items are as fast, and the rest item by item. The second of two vectors reaches up to VECTOR
 * items behind those that are shifted out of them. */
INLINE void take_rest(LANE *lane, SOURCE in, CHUNK c, TABLE table, u32 t) {
    u32 is_aligned;
    const PLACE own = find_place(in, t, &is_aligned);
#ifdef LEADS
    const int rows = ARE_LIGHT ? 0 : is_aligned ? (int)(c.count / LANES) : 0;
#else
    const u32 is_shifted = ONLY_SHIFTS || !is_aligned;
    const int rows = (int)((c.count - (is_shifted ? min(c.count, (u32)VECTOR) : 0)) / LANES);
    if (is_shifted) take_blocks(lane, in, c, table, own, rows, SHIFTED_ROWS, true);
#endif
#if !ONLY_SHIFTS
    if (is_aligned) take_blocks(lane, in, c, table, own, rows, BLOCK_ROWS, false);
#endif
    if (rows > 0) take_first(lane, in, c, own);
    take_items(lane, in, c, table, (u32)rows, own);
#ifndef ANY_ORDER
    move_lanes(lane, own, t);
#endif
}
