/* SPDX-License-Identifier: MIT */
/*
 * products: sums of products of 32-bit integers, for the lanes of kernels_cl/cpu_chunks.cl. A
 * processor multiplies every other item of a vector, to 64 bits. The order is free, so the sum of
 * these products and the sum of the others are lanes of their own. gcc 12 widens the items first,
 * and multiplies 64 bits by 64.
 */
#if defined(WIDE_BYTES) && (defined(ADDS_PRODUCTS) || defined(ADDS_SQUARES))
#define ADDS_BY_VECTORS 1
#define WIDE_ITEMS (WIDE_BYTES / 4)
#define WIDE_WORDS (WIDE_BYTES / 8)
#define IS_SIGNED ((ITEM)-1 < 0)

/* The items are loaded once, into a register. gcc would load them again for each use: dot of 2^18
 * i32 by two threads of an EPYC (Zen 4, December 2026) took 16.4 us, and takes 12.6. */
INLINE u32_WIDE wide_at(const ITEM *from) {
    u32_WIDE items;
    memcpy(&items, from, sizeof(items));
    __asm__("" : "+v"(items));
    return items;
}

INLINE u64_WIDE even_products(u32_WIDE x, u32_WIDE y) {
    return IS_SIGNED ? i32_even_products(x, y) : u32_even_products(x, y);
}

/* Adds `count` items, a multiple of WIDE_ITEMS, to the first lanes, which are 0. The byte `ahead`
 * of each is prefetched; 0: none is. */
INLINE void add_by_vectors(LANE_ARRAYS *lanes, SOURCE in, int count, int ahead) {
    u64_WIDE even = {0}, odd = {0};
    u32_WIDE low = {0}, high = {0};
    for (int i = 0; i < count; i += WIDE_ITEMS) {
        const u32_WIDE x = wide_at(in.x + i);
        __builtin_prefetch((const char *)(in.x + i) + ahead);
#ifdef ADDS_PRODUCTS
#if INPUTS == 2
        const u32_WIDE y = wide_at(in.y + i);
        __builtin_prefetch((const char *)(in.y + i) + ahead);
#else
        const u32_WIDE y = x;
#endif
        even += even_products(x, y);
        odd += even_products(odd_items(x), odd_items(y));
#else
        const u64_WIDE first = even_products(x, x), second = even_products(odd_items(x), odd_items(x));
        even += first + second;
        /* 64 bits hold two squares of signed items. */
        odd += IS_SIGNED ? (first + second) >> 32 : (first >> 32) + (second >> 32);
        low += x;
        high += IS_SIGNED ? (u32_WIDE)((i32_WIDE)x >> 16) : x >> 16;
#endif
    }
#ifdef ADDS_PRODUCTS
    memcpy(lanes->t0, &even, sizeof(even));
    memcpy(lanes->t0 + WIDE_WORDS, &odd, sizeof(odd));
#else
    memcpy(lanes->t0_squares, &even, sizeof(even));
    memcpy(lanes->t0_top, &odd, sizeof(odd));
#endif
#ifdef ADDS_HALVES
    memcpy(lanes->t0_low, &low, sizeof(low));
    memcpy(lanes->t0_high, &high, sizeof(high));
#endif
}
#endif
