/* SPDX-License-Identifier: MIT */
/*
 * scan_steps: the steps of a scan, as programs.h describes them. entry.h includes it.
 * kernels/scanning.h has the order. Each step is one loop with one item, combination or result in
 * it, so that it becomes vectors and a program stays small. The inner loops have constant lengths,
 * so they have no rest: 8 places, or 32 where items or results of a byte make a vector.
 */
#define COLUMN TALLY_HOST_ROWS
#define COLUMNS (4 * COLUMN)
/* A call would leave a loop without vectors. */
#define WHOLE_STEP __attribute__((flatten))

static WHOLE_STEP void scan_load(const void *given, u64 index, const i64 *places, u32 columns, const void *params, void *to,
                                 int at) {
    const PARAMS p = params_at(params);
    const ITEM *items = given;
    ACC_ARRAYS *parts = to;
    for (int c = 0; c < (int)columns * COLUMN; c += COLUMNS) {
#pragma GCC ivdep
        for (int i = c; i < c + COLUMNS; i++) {
            ITEMS v;
            v.x = LOAD_ITEM(items[i]);
            accs_set(parts, at + i, op_load(v, index + (u64)places[i], p));
        }
    }
    LEAVE_VECTORS
}

static WHOLE_STEP void scan_pairs(const void *lefts, int left, int left_step, const void *rights, void *to, int at, int step,
                                  u32 columns) {
    const ACC_ARRAYS *a = lefts, *b = rights;
    ACC_ARRAYS *both = to;
    for (; columns; columns--, left += left_step, at += step) {
#pragma GCC ivdep
        for (int r = 0; r < COLUMN; r++) accs_set(both, at + r, op_combine(accs_get(a, left + r), accs_get(b, at + r)));
    }
    LEAVE_VECTORS
}

#define RESULTS_BY(result)                                                                                                     \
    const PARAMS p = params_at(params);                                                                                        \
    const ACC_ARRAYS *parts = given;                                                                                           \
    RESULT *results = to;                                                                                                      \
    for (int c = 0; c < (int)columns * COLUMN; c += COLUMNS) {                                                                 \
        _Pragma("GCC ivdep") for (int i = c; i < c + COLUMNS; i++) {                                                           \
            const ACC a = accs_get(parts, at + i);                                                                             \
            const u64 n = first + counts[i];                                                                                   \
            result;                                                                                                            \
        }                                                                                                                      \
    }

#ifdef USUAL
/* Writes the results if all are usual. Returns 0 if they are not. */
static WHOLE_STEP bool scan_usual(const void *given, int at, u64 first, const u64 *counts, u32 columns, const void *params,
                                  void *to) {
    u32 is_unusual = 0;
    RESULTS_BY((results[i] = op_usual(a, n, p), is_unusual |= !op_is_usual(a, n, p)))
    LEAVE_VECTORS
    return !is_unusual;
}
#define FINISH_STEP
#else
#define FINISH_STEP WHOLE_STEP
#endif

static FINISH_STEP void scan_finish(const void *given, int at, u64 first, const u64 *counts, u32 columns, const void *params,
                                    void *to) {
#ifdef USUAL
    if (scan_usual(given, at, first, counts, columns, params, to)) return;
#endif
    RESULTS_BY(results[i] = op_result(a, n, p))
    LEAVE_VECTORS
}
#undef FINISH_STEP
#undef WHOLE_STEP
#undef COLUMNS
#undef COLUMN
