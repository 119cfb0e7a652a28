/* SPDX-License-Identifier: MIT */
/*
 * team_rows: the lanes of a chunk in the threads of a team, in CUDA C and in OpenCL C.
 *
 * Computes: which lanes a thread has, and these lanes after a chunk that is not whole, or whose
 * vectors are not aligned (take_rest).
 * How: a team has as many threads as load a chunk row with 16 bytes each: 32 for items of 4 bytes,
 * 8 for bytes. Each thread has OWN lanes, VECTOR neighbours of each load. Items come in rounds of
 * some rows, so that a round waits for memory once. They are loaded by vectors: of narrow items
 * also where these are not aligned. What no vector has is loaded item by item.
 * Needs: GROUP, FLIGHT_LOADS, and what kernels/vectors.h defines and needs.
 * Why: most arrays end with such a chunk. A warp takes it alone when all others have ended, so each
 * instruction counts. GPU's clock of 4,095 items, item by item and so (H200, November 2026): sum of
 * i8 10.3, 3.0 us; nrm2 of f32 6.7, 3.9; dot of f32 6.4, 2.4.
 */
#define ROW_BYTES (LANES * ITEM_BYTES)
#define TEAM (ROW_BYTES < 512 ? ROW_BYTES / 16 : 32) /* threads that share a chunk */
#define OWN (LANES / TEAM)                           /* lanes of a thread */
#define ROW_LOADS (OWN / VECTOR)                     /* loads of a chunk row, of each input */

/* Lanes are light where many items are in flight one by one, and vectors of a chunk that is not
 * whole gain nothing. Sum of f32, 4,095 items: 1.7 us, 2.1 by vectors. OpenCL has fewer loads in
 * flight, so vectors gain for all lanes. */
#if defined(PIVOT_MAY_MISS) || defined(__OPENCL_VERSION__)
#define ARE_LIGHT 0
#else
#define ARE_LIGHT (INPUTS == 1 && OWN * sizeof(LANE) <= 32)
#endif
/* Loads of a round, by vectors and item by item: as many as fit the registers that ptxas gives. */
#ifdef lane_plain
#define MOST_BLOCK 4
#else
#define MOST_BLOCK 8
#endif
#define FLIGHT_BLOCK (FLIGHT_LOADS / (ACC_BYTES > 8 && ITEM_BYTES < 4 ? 8 : 4))
#define BLOCK_LOADS ((FLIGHT_BLOCK < MOST_BLOCK ? FLIGHT_BLOCK : MOST_BLOCK) / INPUTS)
#define BLOCK_ROWS (BLOCK_LOADS > ROW_LOADS ? BLOCK_LOADS / ROW_LOADS : 1)
#define ITEM_LOADS (GROUP > 512 ? 2 : ARE_LIGHT && FLIGHT_LOADS >= 32 ? 16 : ARE_LIGHT || ITEM_BYTES >= 4 ? 4 : 1)
#define ITEM_ROWS ((int)ITEM_LOADS / INPUTS > ROW_LOADS ? (int)ITEM_LOADS / INPUTS / ROW_LOADS : 1)

/* The lane of the chunk that lane k * VECTOR + j of thread t of the team is. */
INLINE u32 lane_at(u32 t, int k, int j) {
    return k * TEAM * VECTOR + t * VECTOR + j;
}

/* Loads vector f of those that begin at row r. */
INLINE VECTORS load_vector(SOURCE in, int f, int r, u32 t) {
    return vectors_at(in, (r + f / ROW_LOADS) * LANES + lane_at(t, f % ROW_LOADS, 0));
}

/* Takes the items of vector f, counted from row r on, into their lanes. */
INLINE void take_vector(LANE *lane, const VECTORS *v, int f, CHUNK c, TABLE table, int r, u32 t, PARAMS p) {
#ifdef lane_bytes /* four items at once, which go to any lane of the thread */
    if (BYTES_HOLD(p)) {
#pragma unroll
        for (int w = 0; w < 4; w++) lane[w] = lane_bytes(lane[w], WORDS_OF(*v, w));
        return;
    }
#endif
    if (take_by_table(lane + f % ROW_LOADS * VECTOR, v, table)) return;
#pragma unroll
    for (int j = 0; j < VECTOR; j++) {
        const int own = f % ROW_LOADS * VECTOR + j;
        const u32 l = lane_at(t, f % ROW_LOADS, j);
        lane[own] = lane_step(lane[own], items_of(v, j), c, r + f / ROW_LOADS, l, p);
    }
}

/* Takes vectors that lane_plain may not take, row by row: two ways for all of them at once would
 * take too many registers. Their items are in the cache. */
INLINE void take_rows(LANE *lane, SOURCE in, CHUNK c, TABLE table, int begin, int rows, u32 t) {
    _Pragma("unroll 1") for (int r = begin; r < begin + rows; r++) {
        VECTORS v[ROW_LOADS];
#pragma unroll
        for (int f = 0; f < ROW_LOADS; f++) v[f] = load_vector(in, f, r, t);
#pragma unroll
        for (int f = 0; f < ROW_LOADS; f++) take_vector(lane, &v[f], f, c, table, r, t, in.p);
    }
}

#if ITEM_BYTES < 4
/* Loads item `at` and the next ones as vectors that need not be aligned. One or two that are
 * aligned have their bytes; the first one may have bytes before the input, of the same 16 as its
 * first item. */
INLINE VECTORS shifted_at(SOURCE in, u32 at) {
    VECTORS v;
#define SHIFT_VECTOR(name)                                                                                                     \
    {                                                                                                                          \
        const u32 shift = (u32)((size_t)in.name % 16);                                                                         \
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
            (u32)(((u64)two.word[k + 1] << 32 | two.word[k]) >> shift % 4 * 8);                                                \
    }
    EACH_INPUT(SHIFT_VECTOR)
    return v;
}
#else
#define shifted_at(in, at) vectors_at(in, at) /* they are aligned */
#endif

/* Takes a chunk's items from item `begin` on, one by one. */
INLINE void take_items(LANE *lane, SOURCE in, CHUNK c, u32 begin, u32 t) {
    _Pragma("unroll 1") for (u32 r = begin / LANES; r * LANES < c.count; r += ITEM_ROWS) {
        VECTORS v[ITEM_ROWS * ROW_LOADS];
#pragma unroll
        for (int f = 0; f < ITEM_ROWS * ROW_LOADS; f++)
#pragma unroll
            for (int j = 0; j < VECTOR; j++) {
                const u32 at = (r + f / ROW_LOADS) * LANES + lane_at(t, f % ROW_LOADS, j);
#define READ_ITEM(name)                                                                                                        \
    if (at - begin < c.count - begin) v[f].name.item[j] = in.name[at];
                EACH_INPUT(READ_ITEM) /* a condition each: two loads within one would be a branch */
            }
#pragma unroll
        for (int f = 0; f < ITEM_ROWS * ROW_LOADS; f++)
#pragma unroll
            for (int j = 0; j < VECTOR; j++) {
                const int own = f % ROW_LOADS * VECTOR + j;
                const u32 l = lane_at(t, f % ROW_LOADS, j), row = r + f / ROW_LOADS;
                if (row * LANES + l - begin < c.count - begin)
                    lane[own] = lane_step(lane[own], items_of(&v[f], j), c, row, l, in.p);
            }
    }
}

#define VECTOR_AT(f, r) ((r + (f) / ROW_LOADS) * LANES + lane_at(t, (f) % ROW_LOADS, 0))
/* Loads vector f if it begins before item `count`. A shift within a condition would wait for its
 * own loads alone, so what is shifted is loaded always: then the last vector. */
#if ITEM_BYTES < 4 && BLOCK_ROWS > 1
#define LOAD_ONE_OF(count, at) v[f] = shifted_at(in, min(at, (count)-VECTOR));
#else
#define LOAD_ONE_OF(count, at)                                                                                                 \
    if (at < (count)) v[f] = shifted_at(in, at);
#endif

/* Takes a chunk that is not whole, or whose vectors are not aligned. From its first item on the
 * input has `left`. What vectors do not take is taken item by item. */
INLINE void take_rest(LANE *lane, SOURCE in, CHUNK c, TABLE table, u64 left, u32 t) {
    u32 by_vectors = 0;
    if (!ARE_LIGHT) {
        size_t addresses = 0;
#define ADD_ADDRESS(name) addresses |= (size_t)in.name;
        EACH_INPUT(ADD_ADDRESS)
        if (addresses % 16 == 0)
            by_vectors = c.count;
        else if (ITEM_BYTES < 4)
            by_vectors = min((u64)c.count, left - min(left, (u64)VECTOR));
        by_vectors -= by_vectors % VECTOR;
    }
    _Pragma("unroll 1") for (u32 r = 0; r * LANES < by_vectors; r += BLOCK_ROWS) {
        VECTORS v[BLOCK_ROWS * ROW_LOADS];
#pragma unroll
        for (int f = 0; f < BLOCK_ROWS * ROW_LOADS; f++) LOAD_ONE_OF(by_vectors, VECTOR_AT(f, r))
#pragma unroll
        for (int f = 0; f < BLOCK_ROWS * ROW_LOADS; f++)
            if (VECTOR_AT(f, r) < by_vectors) take_vector(lane, &v[f], f, c, table, r, t, in.p);
    }
    take_items(lane, in, c, by_vectors, t);
}
