/* SPDX-License-Identifier: MIT */
/*
 * scan_steps: the steps of a scan, as programs.h describes them. entry.h includes it.
 * kernels/scanning.h has the order. Each step is one loop with one item, combination or result in
 * it, so that it becomes vectors and a program stays small.
 */
#define CELL 4

static void scan_load(const void *given, u64 index, i64 step, u32 count, const void *params, void *to) {
    const PARAMS p = params_at(params);
    const ITEM *items = given;
    ACC *restrict parts = to;
    for (u32 c = 0; c < count; c++) {
        ITEMS v;
        v.x = LOAD_ITEM(items[c * CELL]);
        parts[c] = op_load(v, index + (u64)step * c, p);
    }
    LEAVE_VECTORS
}

static void scan_pairs(const void *lefts, const void *rights, void *to, u32 count) {
    const ACC *restrict a = lefts, *restrict b = rights;
    ACC *restrict both = to;
    for (u32 i = 0; i < count; i++) both[i] = op_combine(a[i], b[i]);
    LEAVE_VECTORS
}

static void scan_join(const void *left, void *parts, u32 count) {
    const ACC before = *(const ACC *)left;
    ACC *restrict to = parts;
    for (u32 i = 0; i < count; i++) to[i] = op_combine(before, to[i]);
    LEAVE_VECTORS
}

static void scan_finish(const void *given, u32 step, u64 first, u32 count, u64 before, const void *params, void *to) {
    const PARAMS p = params_at(params);
    const ACC *restrict scans = given;
    RESULT *restrict results = to;
    for (u32 i = 0; i < count; i++) results[i * step] = op_result(scans[i], first + i * step + before, p);
    LEAVE_VECTORS
}
#undef CELL
