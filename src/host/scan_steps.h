/* SPDX-License-Identifier: MIT */
/*
 * scan_steps: the steps of a scan, as programs.h describes them. entry.h includes it.
 * kernels/scanning.h has the order. Each step is one loop with one item, combination or result in
 * it, so that it becomes vectors and a program stays small. The inner loops have a constant length,
 * so they have no rest.
 */
#define ROW_CELLS TALLY_HOST_ROW
#define EACH_OF_ROW(i, c) _Pragma("GCC ivdep") for (int i = c; i < c + ROW_CELLS; i++)

static WHOLE_STEP void scan_load(const void *given, u64 index, const i64 *places, u32 count, const void *params,
                                 const void *before, void *to, int at) {
    const PARAMS p = params_at(params);
    const ITEM *items = given;
    const ACC_ARRAYS *lefts = before;
    ACC_ARRAYS *parts = to;
#define LOADED_PART                                                                                                            \
    ITEMS v;                                                                                                                   \
    v.x = LOAD_ITEM(items[i]);                                                                                                 \
    const ACC part = op_load(v, index + (u64)places[i], p)
    for (int c = 0; c < (int)count; c += ROW_CELLS) {
        if (before) {
            EACH_OF_ROW(i, c) {
                LOADED_PART;
                accs_set(parts, at + i, op_combine(accs_get(lefts, at + i), part));
            }
        } else {
            EACH_OF_ROW(i, c) {
                LOADED_PART;
                accs_set(parts, at + i, part);
            }
        }
    }
#undef LOADED_PART
    LEAVE_VECTORS
}

static WHOLE_STEP void scan_steps(const void *given, void *to, void *room, int at, int s, int end, int width, u32 count) {
    const ACC_ARRAYS *parts = given;
    ACC_ARRAYS *scanned = to, *other = room;
    const int whole = width == ROW_CELLS ? ROW_CELLS / 2 : 0;
    for (; s < end; s *= 2) {
        for (int c = at; c < at + (int)count; c += ROW_CELLS / 2) {
            if ((c - at) & whole) {
                _Pragma("GCC ivdep") for (int i = c; i < c + ROW_CELLS / 2; i++)
                    accs_set(scanned, i, op_combine(accs_get(parts, i - s), accs_get(parts, i)));
            } else {
                _Pragma("GCC ivdep") for (int i = 0; i < ROW_CELLS / 2; i++) {
                    const ACC part = accs_get(parts, c + i), both = op_combine(accs_get(parts, c + i - s), part);
                    accs_set(scanned, c + i, accs_choose((i & (width - 1)) < s, part, both));
                }
            }
        }
        parts = scanned;
        scanned = other;
        other = (ACC_ARRAYS *)parts;
    }
    LEAVE_VECTORS
}

static WHOLE_STEP void scan_pairs(const void *lefts, int left, const void *rights, void *to, int at, u32 count) {
    const ACC_ARRAYS *a = lefts, *b = rights;
    ACC_ARRAYS *both = to;
    for (int c = 0; c < (int)count; c += ROW_CELLS) {
        EACH_OF_ROW(i, c) accs_set(both, at + i, op_combine(accs_get(a, left + i), accs_get(b, at + i)));
    }
    LEAVE_VECTORS
}

#define RESULTS_BY(result)                                                                                                     \
    const PARAMS p = params_at(params);                                                                                        \
    const ACC_ARRAYS *parts = given;                                                                                           \
    RESULT *results = to;                                                                                                      \
    for (int c = 0; c < (int)count; c += ROW_CELLS) {                                                                          \
        EACH_OF_ROW(i, c) {                                                                                                    \
            const ACC a = accs_get(parts, at + i);                                                                             \
            const u64 n = first + counts[i];                                                                                   \
            result;                                                                                                            \
        }                                                                                                                      \
    }

#ifdef USUAL
/* Writes the results if all are usual. Returns 0 if they are not. */
static WHOLE_STEP bool scan_usual(const void *given, int at, u64 first, const u64 *counts, u32 count, const void *params,
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

static FINISH_STEP void scan_finish(const void *given, int at, u64 first, const u64 *counts, u32 count, const void *params,
                                    void *to) {
#ifdef USUAL
    if (scan_usual(given, at, first, counts, count, params, to)) return;
#endif
    RESULTS_BY(results[i] = op_result(a, n, p))
    LEAVE_VECTORS
}
#undef FINISH_STEP
#undef ROW_CELLS
