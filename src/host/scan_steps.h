/* SPDX-License-Identifier: MIT */
/*
 * scan_steps: the steps of a scan for one type SCAN, as programs.h describes them. entry.h includes
 * it for accumulators and again, with SEGMENTED, for segments. kernels/scanning.h has the order.
 *
 * Each step is one loop with one combination or one result in it, so that a program stays small.
 * With segments these are functions of their own: such scans are rare, and the loops become no
 * vectors anyway.
 */
#define CELL 4
#define WIDTH 32
#ifdef SEGMENTED
#define STEP_OF(type) static __attribute__((noinline)) type
#else
#define STEP_OF(type) INLINE type
#endif

STEP_OF(SCAN) SCAN_AS(combine)(SCAN a, SCAN b) {
#ifdef SEGMENTED
    if (b.count & BEGINS) return b;
    b.value = op_combine(a.value, b.value);
    b.count += a.count;
    return b;
#else
    return op_combine(a, b);
#endif
}

STEP_OF(SCAN) SCAN_AS(item)(const ITEM *items, const u8 *begins, u64 k, u64 index, PARAMS p) {
    ITEMS v;
    v.x = items[k];
    const ACC a = op_load(v, index, p);
#ifdef SEGMENTED
    return (SCAN){a, 1 | (begins[k] ? BEGINS : 0)};
#else
    return a;
#endif
}

static void SCAN_AS(fold)(const void *given, const u8 *begins, u64 index, i64 step, u32 rows, const void *params, void *to) {
    const PARAMS p = params_at(params);
    const ITEM *items = given;
    SCAN *restrict cells = to;
    for (u32 j = 0; j < CELL; j++)
        for (u32 l = 0; l < rows * WIDTH; l++)
            cells[j * TALLY_HOST_CELLS + l] = SCAN_AS(item)(items, begins, l * CELL + j, index + (u64)step * (l * CELL + j), p);
    for (u32 j = 1; j < CELL; j++) {
        SCAN *restrict own = cells + j * TALLY_HOST_CELLS;
        const SCAN *restrict left = own - TALLY_HOST_CELLS;
        for (u32 l = 0; l < rows * WIDTH; l++) own[l] = SCAN_AS(combine)(left[l], own[l]);
    }
}

static void SCAN_AS(load)(const void *item, const void *params, void *to) {
    *(SCAN *)to = SCAN_AS(item)(item, (const u8 *)"", 0, 0, params_at(params));
}

static void SCAN_AS(pairs)(const void *lefts, const void *rights, void *to, u32 count) {
    const SCAN *restrict a = lefts, *restrict b = rights;
    SCAN *restrict both = to;
    for (u32 i = 0; i < count; i++) both[i] = SCAN_AS(combine)(a[i], b[i]);
}

static void SCAN_AS(join)(const void *left, void *parts, u32 count) {
    const SCAN before = *(const SCAN *)left;
    SCAN *restrict to = parts;
    for (u32 i = 0; i < count; i++) to[i] = SCAN_AS(combine)(before, to[i]);
}

static void SCAN_AS(finish)(const void *given, u32 step, u64 first, u32 count, u64 before, const void *params, void *to) {
    const PARAMS p = params_at(params);
    const SCAN *restrict scans = given;
    RESULT *restrict results = to;
    for (u32 i = 0; i < count; i++) {
#ifdef SEGMENTED
        results[i * step] = op_result(scans[i].value, (scans[i].count & ~BEGINS) + before, p);
#else
        results[i * step] = op_result(scans[i], first + i * step + before, p);
#endif
    }
}
#undef STEP_OF
#undef CELL
#undef WIDTH
