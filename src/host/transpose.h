/* SPDX-License-Identifier: MIT */
/*
 * transpose: rows of items become columns, as tally_host_shared says (programs.h). shared_steps.h
 * includes it, so it is compiled for each instruction set.
 *
 * A tile has SIDE columns, as many items as 16 bytes have, and twice as many rows. Vector r has the
 * items of row r, and behind them those of row r + SIDE. Vectors i and i + SIDE / 2 are
 * interleaved, which gives the vectors 2i and 2i + 1. After log2(SIDE) rounds vector c has column
 * c.
 */
#if defined(__has_builtin)
#if __has_builtin(__builtin_shufflevector)
#define HAS_TILES
#endif
#endif

#define COPY_ITEMS(bytes)                                                                                                      \
    INLINE void copy_items_##bytes(const u8 *from, i64 from_step, u8 *to, u64 to_step, u64 begin, u64 rows, u64 columns) {     \
        for (u64 r = begin; r < rows; r++)                                                                                     \
            for (u64 c = 0; c < columns; c++)                                                                                  \
                memcpy(to + c * to_step + r * (bytes), from + (i64)r * from_step + c * (bytes), bytes);                        \
    }

#ifdef HAS_TILES
#define TILE_BYTES 16
typedef u64 half_row __attribute__((vector_size(TILE_BYTES)));

/* The first and the last items of both halves of two vectors, interleaved. */
#define LOW_1(a, b)                                                                                                            \
    __builtin_shufflevector(a, b, 0, 32, 1, 33, 2, 34, 3, 35, 4, 36, 5, 37, 6, 38, 7, 39, 16, 48, 17, 49, 18, 50, 19, 51, 20,  \
                            52, 21, 53, 22, 54, 23, 55)
#define HIGH_1(a, b)                                                                                                           \
    __builtin_shufflevector(a, b, 8, 40, 9, 41, 10, 42, 11, 43, 12, 44, 13, 45, 14, 46, 15, 47, 24, 56, 25, 57, 26, 58, 27,    \
                            59, 28, 60, 29, 61, 30, 62, 31, 63)
#define LOW_2(a, b) __builtin_shufflevector(a, b, 0, 16, 1, 17, 2, 18, 3, 19, 8, 24, 9, 25, 10, 26, 11, 27)
#define HIGH_2(a, b) __builtin_shufflevector(a, b, 4, 20, 5, 21, 6, 22, 7, 23, 12, 28, 13, 29, 14, 30, 15, 31)
#define LOW_4(a, b) __builtin_shufflevector(a, b, 0, 8, 1, 9, 4, 12, 5, 13)
#define HIGH_4(a, b) __builtin_shufflevector(a, b, 2, 10, 3, 11, 6, 14, 7, 15)
#define LOW_8(a, b) __builtin_shufflevector(a, b, 0, 4, 2, 6)
#define HIGH_8(a, b) __builtin_shufflevector(a, b, 1, 5, 3, 7)

/* Transposes a tile, and stores its first `columns` columns. */
#define TURN_TILE(type, bytes)                                                                                                 \
    typedef type tile_row_##bytes __attribute__((vector_size(2 * TILE_BYTES)));                                                \
    INLINE void turn_tile_##bytes(const u8 *from, i64 from_step, u8 *to, u64 to_step, u64 columns) {                           \
        enum { SIDE = TILE_BYTES / (bytes) };                                                                                  \
        tile_row_##bytes row[SIDE], next[SIDE];                                                                                \
        _Pragma("GCC unroll 16") for (int r = 0; r < SIDE; r++) {                                                              \
            half_row first, second;                                                                                            \
            memcpy(&first, from + r * from_step, TILE_BYTES);                                                                  \
            memcpy(&second, from + (r + SIDE) * from_step, TILE_BYTES);                                                        \
            row[r] = (tile_row_##bytes)__builtin_shufflevector(first, second, 0, 1, 2, 3);                                     \
        }                                                                                                                      \
        _Pragma("GCC unroll 4") for (int round = 1; round < SIDE; round *= 2) {                                                \
            _Pragma("GCC unroll 8") for (int i = 0; i < SIDE / 2; i++) {                                                       \
                next[2 * i] = LOW_##bytes(row[i], row[i + SIDE / 2]);                                                          \
                next[2 * i + 1] = HIGH_##bytes(row[i], row[i + SIDE / 2]);                                                     \
            }                                                                                                                  \
            _Pragma("GCC unroll 16") for (int r = 0; r < SIDE; r++) row[r] = next[r];                                          \
        }                                                                                                                      \
        _Pragma("GCC unroll 16") for (int c = 0; c < SIDE; c++) if ((u64)c < columns)                                          \
            memcpy(to + c * to_step, &row[c], sizeof(row[c]));                                                                 \
    }

/* Returns how many rows tiles may read. A row that has fewer items than a tile must be followed by
 * the next one without a gap, since its vector reaches into that. */
INLINE u64 rows_of_tiles(i64 from_step, u64 rows, u64 row_bytes) {
    if (row_bytes >= TILE_BYTES) return rows;
    if (from_step != (i64)row_bytes || rows * row_bytes < TILE_BYTES) return 0;
    return (rows * row_bytes - TILE_BYTES) / row_bytes + 1;
}

/* Prefetches what `rows` rows have AHEAD_BYTES on, or, where there are gaps, the rows that follow
 * them. Memory would wait while the columns are folded. GB/s of the sum of rows of 32 f32, two
 * cores of an EPYC (Zen 5), November 2026: without 12, 1 KiB ahead 26, 4 KiB 33, 16 KiB 29. */
#define AHEAD_BYTES 4096
INLINE void prefetch_rows(const u8 *from, i64 from_step, u64 rows, u64 row_bytes) {
    const bool has_gaps = from_step != (i64)row_bytes;
    const i64 ahead = has_gaps ? (i64)rows * from_step : AHEAD_BYTES, bytes = (i64)(has_gaps ? row_bytes : rows * row_bytes);
    for (u64 r = 0; r < (has_gaps ? rows : 1); r++)
        for (i64 at = 0; at < bytes; at += 64)
            __builtin_prefetch((const void *)((size_t)from + (size_t)((i64)r * from_step + ahead + at)));
}

/* The last tile of the rows and that of the columns begin earlier, so that they are whole. */
#define TURN_ROWS(type, bytes)                                                                                                 \
    static void transpose_##bytes(const void *from, i64 from_step, void *to, u64 to_step, u64 rows, u64 columns) {             \
        enum { SIDE = TILE_BYTES / (bytes), TILE_ROWS = 2 * SIDE };                                                            \
        const u64 tiled = rows_of_tiles(from_step, rows, columns * (bytes)), end = tiled < TILE_ROWS ? 0 : tiled;              \
        for (u64 begin = 0; begin < end; begin += TILE_ROWS) {                                                                 \
            const u64 r = begin + TILE_ROWS <= end ? begin : end - TILE_ROWS;                                                  \
            const u8 *row = (const u8 *)from + (i64)r * from_step;                                                             \
            u8 *column = (u8 *)to + r * (bytes);                                                                               \
            prefetch_rows(row, from_step, TILE_ROWS, columns *(bytes));                                                        \
            if (columns < SIDE) {                                                                                              \
                turn_tile_##bytes(row, from_step, column, to_step, columns);                                                   \
                continue;                                                                                                      \
            }                                                                                                                  \
            for (u64 c = 0; c < columns; c += SIDE) {                                                                          \
                const u64 x = c + SIDE <= columns ? c : columns - SIDE;                                                        \
                turn_tile_##bytes(row + x * (bytes), from_step, column + x * to_step, to_step, SIDE);                          \
            }                                                                                                                  \
        }                                                                                                                      \
        copy_items_##bytes(from, from_step, to, to_step, end, rows, columns);                                                  \
        LEAVE_VECTORS                                                                                                          \
    }
#else
#define TURN_TILE(type, bytes)
#define TURN_ROWS(type, bytes)                                                                                                 \
    static void transpose_##bytes(const void *from, i64 from_step, void *to, u64 to_step, u64 rows, u64 columns) {             \
        copy_items_##bytes(from, from_step, to, to_step, 0, rows, columns);                                                    \
    }
#endif

#define TRANSPOSE(type, bytes)                                                                                                 \
    COPY_ITEMS(bytes)                                                                                                          \
    TURN_TILE(type, bytes)                                                                                                     \
    TURN_ROWS(type, bytes)
TRANSPOSE(u8, 1)
TRANSPOSE(u16, 2)
TRANSPOSE(u32, 4)
TRANSPOSE(u64, 8)
