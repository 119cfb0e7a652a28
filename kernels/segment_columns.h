/* SPDX-License-Identifier: MIT */
/*
 * segment_columns: reductions of segments that lie side by side, along one axis, on GPUs.
 *
 * Computes: the result of each segment (`last`), or a partial of each of its chunks.
 * How: a thread takes COLUMNS segments, which are neighbours if one load may take them. In
 * tally_segments_columns the threads of a group share chunks, in tally_segments_low a thread has
 * columns of up to a chunk row alone. There are neither masks nor pivots.
 * Needs: kernels/segment_arrays.h before it; HAS_COLUMNS and HAS_LOW where the program has these
 * kernels.
 * Why: memory speed needs many loads at once, and few instructions for each.
 */
#ifdef PLAIN
/* Segments that a thread takes at once: neighbours if one load may take them, else `wide` segments
 * apart. */
#define TAKES_FOUR (INPUTS == 1 && IN_BYTES <= (sizeof(ACC) <= 4 ? 4 : 2))
#define COLUMNS ((int)(sizeof(ACC) > 8 || IN_BYTES > 8 ? 1 : TAKES_FOUR ? 4 : 2))

/* An item of each column, loaded at once if the columns are neighbours. */
#define ABREAST_BYTES (COLUMNS * ITEM_BYTES) /* 16 at most */
typedef struct ALIGN(ABREAST_BYTES) {
    ITEM item[COLUMNS];
} COLUMN_ITEMS;
#define COLUMNS_OF(name) COLUMN_ITEMS name;
typedef struct {
    EACH_INPUT(COLUMNS_OF)
} ABREAST;
/* Chunk rows that a thread loads at once of neighbouring columns: 64 bytes. With fewer bytes on
 * their way columns of narrow items were slower by as much on an H200. Items of a byte with wide
 * accumulators are the exception, 32 at once: with 64 argmax of i8 had 406 GB/s on an H100, and
 * 1,399 with 32. */
#if ACC_BYTES > 4 && IN_BYTES == 1 && !defined(PADS_BYTES)
#define ROWS_ABREAST ((int)(8 / COLUMNS))
#else
#define ROWS_ABREAST ((int)(COLUMNS * IN_BYTES < 16 ? 16 / (COLUMNS * IN_BYTES) : 1))
#endif

/* Tells whether COLUMNS segments from any multiple of COLUMNS on are neighbours in memory, and each
 * of their rows is aligned, in all inputs. */
INLINE u32 are_abreast(SOURCE in, const SHAPE *shape, u64 first) {
    const u32 across = shape->reduced + shape->kept - 1;
    u32 is = first % COLUMNS == 0 && (shape->kept == 1 || shape->axis[across].extent % COLUMNS == 0);
#define IS_ABREAST(name) is = is && shape->axis[across].in[name##_NUMBER] == 1 && (u64)in.name % ABREAST_BYTES == 0;
    EACH_INPUT(IS_ABREAST)
    for (u32 k = 0; k < across; k++) {
#define IS_STEP_ABREAST(name) is = is && shape->axis[k].in[name##_NUMBER] % COLUMNS == 0;
        EACH_INPUT(IS_STEP_ABREAST)
    }
    return is;
}

/* Loads an item of each column; `at` is the first column's. */
INLINE void load_abreast(ABREAST *v, SOURCE at) {
#define LOAD_ABREAST(name) v->name = *(GLOBAL const COLUMN_ITEMS *)at.name;
    EACH_INPUT(LOAD_ABREAST)
}

/* Loads column k's item. */
INLINE void load_column(ABREAST *v, int k, SOURCE at) {
#define LOAD_COLUMN(name) v->name.item[k] = at.name[0];
    EACH_INPUT(LOAD_COLUMN)
}

INLINE ITEMS column_items(const ABREAST *v, int k) {
    ITEMS items;
#define ITEM_OF_COLUMN(name) items.name = v->name.item[k];
    EACH_INPUT(ITEM_OF_COLUMN)
    return items;
}

#if defined(PADS_BYTES) && ACC_BYTES <= 8 /* COLUMNS is 4 */
#define ADDS_BYTES 1
/* Adds the bytes of four words to four columns: byte k of each word is of column k. The bytes of a
 * column may go to any lane, and a word of 0 changes none. */
INLINE void add_bytes(LANE own[][OWN], const ABREAST *v) {
    u32 word[4], pair[4];
#pragma unroll
    for (int f = 0; f < 4; f++) {
        union {
            COLUMN_ITEMS items;
            u32 word;
        } of;
        of.items = v[f].x;
        word[f] = of.word;
    }
    pair[0] = BYTES_OF(word[0], word[1], 0x5140);
    pair[1] = BYTES_OF(word[0], word[1], 0x7362);
    pair[2] = BYTES_OF(word[2], word[3], 0x5140);
    pair[3] = BYTES_OF(word[2], word[3], 0x7362);
#pragma unroll
    for (int k = 0; k < 4; k++)
        own[k][0] = lane_bytes(own[k][0], BYTES_OF(pair[k / 2], pair[2 + k / 2], k % 2 ? 0x7632 : 0x5410));
}
#endif

/* Loads lanes turn + j * team, j below OWN, of `rows` rows of all columns, and adds them to `own`.
 * `at` has item `turn` of the first row in each column, or in the first of columns `abreast`.
 * `left` is the number of items from that row on, or 0 if these lanes are all there. */
INLINE void add_columns(LANE own[][OWN], const SOURCE *at, const u32 *is, int abreast, int rows, STEPS step, CHUNK c, u32 row,
                        u32 turn, u32 team, u32 left) {
    ABREAST v[ROWS_ABREAST * OWN];
#ifdef ADDS_BYTES
    const ABREAST none = {0};
#endif
#define ROW_PLACE(f) ((f) / OWN * LANES + (f) % OWN * team)
#define IS_IN_ROW(f) (!left || turn + ROW_PLACE(f) < left)
#pragma unroll
    for (int f = 0; f < rows * OWN; f++) {
#ifdef ADDS_BYTES
        v[f] = none;
#endif
        if (abreast && IS_IN_ROW(f)) load_abreast(&v[f], source_on(at[0], ROW_PLACE(f), step));
#pragma unroll
        for (int k = 0; k < COLUMNS; k++)
            if (!abreast && is[k] && IS_IN_ROW(f)) load_column(&v[f], k, source_on(at[k], ROW_PLACE(f), step));
    }
#ifdef ADDS_BYTES
    if (abreast) {
#pragma unroll
        for (int f = 0; f < rows * OWN; f += OWN) add_bytes(own, &v[f]);
        return;
    }
#endif
#pragma unroll
    for (int f = 0; f < rows * OWN; f++)
#pragma unroll
        for (int k = 0; k < COLUMNS; k++)
            if ((abreast || IS_THERE(is[k])) && IS_IN_ROW(f))
                own[k][f % OWN] =
                    lane_step(own[k][f % OWN], column_items(&v[f], k), c, row + f / OWN, turn + f % OWN * team, at[0].p);
}

/* Rows that a thread loads at once where fewer than ROWS_ABREAST are left. Absent lanes take as
 * many instructions as others. Share of a kernel that only reads, columns of 256 items by CUDA on
 * an H200, with ROWS_ABREAST and with these: sum of i8 0.17, 0.54; max of i8 0.14, 0.39; nrm2 of
 * f16 0.08, 0.26; argmax of f32 0.33, 0.52. */
#define LAST_ROWS ((int)(ROWS_ABREAST < 2 ? 1 : 2))
/* Adds `rows` rows at once, as long as there are as many. */
#define WALK_COLUMNS(rows)                                                                                                     \
    {                                                                                                                          \
        KEEP_ROLLED                                                                                                            \
        for (; (row + (rows)-1) * LANES + OWN * team <= c.count; row += (rows)) {                                              \
            add_columns(own, at, is, abreast, rows, step, c, row, turn, team, 0);                                              \
            _Pragma("unroll") for (int f = 0; f < (abreast ? 1 : COLUMNS); f++) at[f] = source_on(at[f], (rows)*LANES, step);  \
        }                                                                                                                      \
    }

/* Combines the lanes of a chunk that are `share` modulo `split`, for each column, whose `all` is an
 * identity before. `from` has the chunk's first item in each column, or in the first of columns
 * `abreast`. */
INLINE void share_of_columns(LANE *all, const SOURCE *from, const u32 *is, int abreast, STEPS step, CHUNK c, u32 share,
                             u32 split, u32 team) {
#ifndef ADDS_BYTES
    LANE level[COLUMNS][TURN_LEVELS];
#endif
    const u32 turns = team / split;
    const int few = abreast ? LAST_ROWS : 1;
    KEEP_ROLLED
    for (u32 q = 0; q < turns; q++) {
        const u32 turn = share + split * turn_of(q, turns);
        LANE own[COLUMNS][OWN];
        SOURCE at[COLUMNS];
        u32 row = 0;
#pragma unroll
        for (int f = 0; f < (abreast ? 1 : COLUMNS); f++) at[f] = source_on(from[f], turn, step);
#pragma unroll
        for (int f = 0; f < COLUMNS * OWN; f++) own[f / OWN][f % OWN] = lane_identity();
        if (few < (abreast ? ROWS_ABREAST : 1)) WALK_COLUMNS(ROWS_ABREAST)
        WALK_COLUMNS(few)
        if (row * LANES < c.count) add_columns(own, at, is, abreast, few, step, c, row, turn, team, c.count - row * LANES);
#pragma unroll
        for (int f = 0; f < COLUMNS; f++) {
#ifdef ADDS_BYTES
            all[f] = lane_combine(all[f], four_lanes(own[f]));
#else
            all[f] = four_lanes(own[f]);
            COUNTER_PUSH(TURN_LEVELS, level[f], q, all[f], lane_combine)
#endif
        }
    }
}

#ifdef QUADS
/* The same of columns of up to a chunk row, by one thread. It takes the lanes that are `turn`
 * modulo `turns` at once: up to LOW_LANES of each column, 256 bytes. */
#define LOW_LANES 16
#define LOW_LEVELS 3 /* of LANES / LOW_LANES turns */
INLINE void low_columns(LANE *all, const SOURCE *from, const u32 *is, int abreast, STEPS step, CHUNK c, u32 share, u32 split,
                        u32 turns) {
    LANE level[COLUMNS][LOW_LEVELS];
    KEEP_ROLLED
    for (u32 q = 0; q < turns; q++) {
        const u32 turn = turn_of(q, turns);
        SOURCE at = source_on(from[0], turn, step);
        ABREAST v[LOW_LANES];
#pragma unroll
        for (u32 j = 0; j < LOW_LANES && abreast; j++) {
            if (turn + j * turns < c.count) load_abreast(&v[j], at);
            at = source_on(at, turns, step);
        }
#pragma unroll
        for (int f = 0; f < COLUMNS; f++) {
            LANE own[LOW_LANES];
            if (!abreast) at = source_on(from[f], turn, step);
#pragma unroll
            for (u32 j = 0; j < LOW_LANES && !abreast; j++) {
                if (is[f] && turn + j * turns < c.count) load_column(&v[j], f, at);
                at = source_on(at, turns, step);
            }
#pragma unroll
            for (u32 j = 0; j < LOW_LANES; j++) {
                own[j] = lane_identity();
                if (turn + j * turns < c.count)
                    own[j] = lane_step(own[j], column_items(&v[j], f), c, 0, turn + j * turns, from[0].p);
            }
#pragma unroll
            for (u32 j = 0; j < 8; j++) own[j] = lane_combine(own[j], own[j + 8]);
#pragma unroll
            for (u32 j = 0; j < 4; j++) own[j] = lane_combine(own[j], own[j + 4]);
            all[f] = four_lanes(own);
            COUNTER_PUSH(LOW_LEVELS, level[f], q, all[f], lane_combine)
        }
    }
}
#endif

/* Devices without shuffles do the halvings even if there is nothing to halve, because POCL has
 * miscompiled barriers under a condition. */
#ifdef SHUFFLES
#define IF_SPLIT(split) if ((split) > 1)
#else
#define IF_SPLIT(split)
#endif
/* A step of halving among the `split` threads that share a chunk of columns. */
#define HALVE(s, split)                                                                                                        \
    BARRIER                                                                                                                    \
    if ((split) > (s) && share < (s))                                                                                          \
        _Pragma("unroll") for (int k = 0; k < COLUMNS; k++) halves[thread + k * GROUP] =                                       \
            lane_combine(halves[thread + k * GROUP], halves[thread + (s)*wide + k * GROUP]);

/*
 * Reduces segments that lie side by side, along one axis. `wide` threads have neighbouring columns.
 * `split` threads share a chunk of a column: share s has the lanes that are s modulo `split`, and
 * the last halvings combine the shares. A thread whose columns are not all there loads them one by
 * one.
 */
#define NEXT_COLUMN(name) next.in[name##_NUMBER] = (i64)apart * across->in[name##_NUMBER];
#define COLUMNS_KERNEL(NAME, SHARE_OF_COLUMNS, SPLIT)                                                                          \
    KERNEL BOUNDS_OF(2) void NAME(CALL_ARGS) {                                                                                 \
        OPEN;                                                                                                                  \
        SHARED LANE halves[GROUP * COLUMNS];                                                                                   \
        const u32 abreast = are_abreast(in, &shape, first), apart = abreast ? 1 : wide;                                        \
        const u32 column = thread % wide, share = thread / wide % (SPLIT), own_unit = thread / (wide * (SPLIT));               \
        const u32 each = GROUP / (wide * (SPLIT));                                                                             \
        const u64 tiles = (count + wide * COLUMNS - 1) / (wide * COLUMNS), units = tiles * leaves;                             \
        const AXIS *across = &shape.axis[shape.reduced + shape.kept - 1];                                                      \
        const u32 in_line = abreast || shape.kept == 1; /* one step leads from column to column */                             \
        const STEPS step = item_step(&shape);                                                                                  \
        STEPS next;                                                                                                            \
        (void)t;                                                                                                               \
        EACH_INPUT(NEXT_COLUMN)                                                                                                \
        KEEP_ROLLED                                                                                                            \
        for (u64 begin = GROUP_ID * each; begin < units; begin += GROUP_COUNT * each) {                                        \
            const u64 u = begin + own_unit < units ? begin + own_unit : begin, k = PART_OF(u, tiles);                          \
            const u64 i = (u - k * tiles) * (wide * COLUMNS) + (abreast ? column * COLUMNS : column);                          \
            SOURCE from[COLUMNS];                                                                                              \
            LANE all[COLUMNS];                                                                                                 \
            u32 is[COLUMNS];                                                                                                   \
            CHUNK c;                                                                                                           \
            c.index = (leaf + k) * CHUNK_ITEMS;                                                                                \
            c.count = (u32)min((u64)CHUNK_ITEMS, shape.n - c.index);                                                           \
            _Pragma("unroll") for (int f = 0; f < COLUMNS; f++) {                                                              \
                is[f] = i + f * apart < count && begin + own_unit < units;                                                     \
                all[f] = lane_identity();                                                                                      \
            }                                                                                                                  \
            if (is[0]) from[0] = source_on(SEGMENT_OF(first + i).in, (i64)c.index, step);                                      \
            if (abreast && is[COLUMNS - 1]) {                                                                                  \
                SHARE_OF_COLUMNS(all, from, is, 1, step, c, share, SPLIT, team);                                               \
            } else if (is[0]) {                                                                                                \
                _Pragma("unroll") for (int f = 1; f < COLUMNS; f++) {                                                          \
                    from[f] = source_on(from[0], f, next);                                                                     \
                    if (!in_line) from[f] = source_on(SEGMENT_OF(first + (is[f] ? i + f * apart : 0)).in, (i64)c.index, step); \
                }                                                                                                              \
                SHARE_OF_COLUMNS(all, from, is, 0, step, c, share, SPLIT, team);                                               \
            }                                                                                                                  \
            IF_SPLIT(SPLIT) {                                                                                                  \
                BARRIER                                                                                                        \
                _Pragma("unroll") for (int f = 0; f < COLUMNS; f++) halves[thread + f * GROUP] = all[f];                       \
                HALVE(16, SPLIT)                                                                                               \
                HALVE(8, SPLIT)                                                                                                \
                HALVE(4, SPLIT)                                                                                                \
                HALVE(2, SPLIT)                                                                                                \
                HALVE(1, SPLIT)                                                                                                \
                _Pragma("unroll") for (int f = 0; f < COLUMNS; f++) all[f] = halves[thread + f * GROUP];                       \
            }                                                                                                                  \
            SEGMENT segment = SEGMENT_OF(first + (is[0] ? i : 0));                                                             \
            _Pragma("unroll") for (int f = 0; f < COLUMNS; f++) {                                                              \
                if (f && in_line) segment.out += apart * across->out;                                                          \
                if (f && !in_line && is[f]) segment = SEGMENT_OF(first + i + f * apart);                                       \
                if (is[f] && share == 0) {                                                                                     \
                    const PART p = part_of_lane(all[f], c, c.count);                                                           \
                    STORE_PART(p, i + f * apart, k)                                                                            \
                }                                                                                                              \
            }                                                                                                                  \
        }                                                                                                                      \
    }
#ifdef HAS_COLUMNS
COLUMNS_KERNEL(tally_segments_columns, share_of_columns, split)
#endif
#if defined(HAS_LOW) && defined(QUADS)
COLUMNS_KERNEL(tally_segments_low, low_columns, 1)
#endif
#endif
