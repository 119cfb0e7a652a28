/* SPDX-License-Identifier: MIT */
/*
 * shared_steps: the steps that are the same for all programs, as tally_host_shared says
 * (programs.h). table.h includes it, so it is compiled for each instruction set. The loops are
 * written so that a compiler makes vectors of them.
 */
#ifdef __SSE2__
#include <immintrin.h>
#endif

#include "host/transpose.h"

typedef struct {
    u64 words[2];
} two_longs;

#define CELL 4

/* Items side by side and in the arrays a to d: items 0 to 3 of the cells. In reverse the first
 * cell is the last one in memory, and so is its first item. */
#define TO_ARRAYS(items, a, b, c, d, i) (a[i] = items[0], b[i] = items[1], c[i] = items[2], d[i] = items[3])
#define FROM_ARRAYS(items, a, b, c, d, i) (items[0] = a[i], items[1] = b[i], items[2] = c[i], items[3] = d[i])
#define TURN_ITEMS(name, type, turn, items, arrays)                                                                            \
    static void name(const void *given, u32 cells, bool reverse, void *taken) {                                                \
        type *restrict x = (type *)items, *restrict a = (type *)arrays, *restrict b = a + TALLY_HOST_CELLS;                    \
        type *restrict c = b + TALLY_HOST_CELLS, *restrict d = c + TALLY_HOST_CELLS;                                           \
        if (reverse)                                                                                                           \
            for (size_t i = 0; i < cells; i++) turn((x + CELL * i), d, c, b, a, (cells - 1 - i));                              \
        else                                                                                                                   \
            for (size_t i = 0; i < cells; i++) turn((x + CELL * i), a, b, c, d, i);                                            \
        LEAVE_VECTORS                                                                                                          \
    }
#define TURNS_OF_ITEMS(type, bytes)                                                                                            \
    TURN_ITEMS(split_##bytes, type, TO_ARRAYS, given, taken)                                                                   \
    TURN_ITEMS(join_##bytes, type, FROM_ARRAYS, taken, given)
TURNS_OF_ITEMS(u8, 1)
TURNS_OF_ITEMS(u16, 2)
TURNS_OF_ITEMS(u32, 4)
TURNS_OF_ITEMS(u64, 8)
TURNS_OF_ITEMS(two_longs, 16)

/* A processor without such stores makes ordinary ones. */
static void pass(void *to, const void *from, u64 bytes) {
    unsigned char *at = to;
    const unsigned char *given = from;
#define PASS(width, vector, load, store)                                                                                       \
    if ((uintptr_t)at % width == 0)                                                                                            \
        for (; bytes >= width; bytes -= width, at += width, given += width) store((vector *)at, load((const vector *)given));
#ifdef __AVX512F__
    PASS(64, __m512i, _mm512_loadu_si512, _mm512_stream_si512)
#endif
#ifdef __AVX__
    PASS(32, __m256i, _mm256_loadu_si256, _mm256_stream_si256)
#endif
#ifdef __SSE2__
    PASS(16, __m128i, _mm_loadu_si128, _mm_stream_si128)
#endif
    memcpy(at, given, bytes);
    LEAVE_VECTORS
}

/* ---- segments -------------------------------------------------------------------------------- */

static void find_flags(const u8 *heads, bool reverse, u8 *flags, u32 count) {
    if (reverse)
        for (size_t i = 0; i < count; i++) flags[i] = *(heads - i) != 0;
    else
        for (size_t i = 0; i < count; i++) flags[i] = heads[i] != 0;
    LEAVE_VECTORS
}

/* Returns how many of eight bytes are not 0. */
INLINE u32 bytes_set(const u8 *bytes) {
    const u64 low = UINT64_C(0x7f7f7f7f7f7f7f7f);
    u64 word;
    memcpy(&word, bytes, 8);
    return (u32)__builtin_popcountll((((word & low) + low) | word) & ~low);
}

static u32 widen_mask(const u8 *bytes, u32 n, u32 *mask) {
    u8 last[TALLY_HOST_GROUP] = {0};
    u32 has = 0;
    for (int i = 0; i < (int)n; i += TALLY_HOST_GROUP) {
        const int left = (int)n - i;
        const u8 *from = left < TALLY_HOST_GROUP ? memcpy(last, bytes + i, (size_t)left) : bytes + i;
        for (int k = 0; k < TALLY_HOST_GROUP; k++) mask[i + k] = from[k] ? ~0U : 0;
        for (int k = 0; k < TALLY_HOST_GROUP; k += 8) has += bytes_set(from + k);
    }
    LEAVE_VECTORS
    return has;
}

static void count_flags(const u8 *flags, u64 *counters, u32 count) {
    for (size_t i = 0; i < count; i++) counters[i] = 1 | (u64)flags[i] << 63;
    LEAVE_VECTORS
}

/* Returns the counter of two parts together. */
INLINE u64 count_both(u64 left, u64 right) {
    return right + (left & ((right >> 63) - 1));
}

static void count_pairs(const u64 *lefts, const u64 *rights, u64 *to, u32 count) {
#pragma GCC ivdep
    for (size_t i = 0; i < count; i++) to[i] = count_both(lefts[i], rights[i]);
    LEAVE_VECTORS
}

static void count_step(const u64 *parts, u64 *to, u32 s, u32 width, u32 count) {
    const u64 *lefts = parts - s;
#pragma GCC ivdep
    for (size_t i = 0; i < count; i++) to[i] = (i & (width - 1)) < s ? parts[i] : count_both(lefts[i], parts[i]);
    LEAVE_VECTORS
}

/* ---- fields ---------------------------------------------------------------------------------- */

#define STEPS_OF_FIELDS(type, bytes)                                                                                           \
    static void spread_##bytes(const void *values, u32 step, void *given, u32 count) {                                         \
        const type *value = values;                                                                                            \
        type *to = given;                                                                                                      \
        for (size_t c = 0; c < count; c += TALLY_HOST_ROW, value += step) {                                                    \
            const type v = *value;                                                                                             \
            for (size_t i = c; i < c + TALLY_HOST_ROW; i++) to[i] = v;                                                         \
        }                                                                                                                      \
        LEAVE_VECTORS                                                                                                          \
    }                                                                                                                          \
    static void choose_##bytes(const u64 *counters, const void *combined, const void *parts, void *to, u32 count) {            \
        const type *from = combined, *kept = parts;                                                                            \
        type *both = to;                                                                                                       \
        _Pragma("GCC ivdep") for (size_t i = 0; i < count; i++) both[i] = counters[i] >> 63 ? kept[i] : from[i];               \
        LEAVE_VECTORS                                                                                                          \
    }
STEPS_OF_FIELDS(u32, 4)
STEPS_OF_FIELDS(u64, 8)

#define SHARED                                                                                                                 \
    {                                                                                                                          \
        {split_1, split_2, split_4, split_8, split_16}, {join_1, join_2, join_4, join_8, join_16},                             \
            {transpose_1, transpose_2, transpose_4, transpose_8}, pass, find_flags, widen_mask, count_flags, count_pairs,      \
            count_step, {spread_4, spread_8}, {choose_4, choose_8},                                                            \
    }
