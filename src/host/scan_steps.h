/* SPDX-License-Identifier: MIT */
/*
 * scan_steps: the steps of a scan, as programs.h describes them. entry.h includes it.
 * kernels/scanning.h has the order. Each step is one loop with one item, combination or result in
 * it, so that it becomes vectors and a program stays small. The inner loops have a constant length,
 * so they have no rest.
 */
#define ROW_CELLS TALLY_HOST_ROW
#define EACH_OF_ROW(i, c) _Pragma("GCC ivdep") for (int i = c; i < c + ROW_CELLS; i++)

/*
 * GET and SET read and write a part. LOAD makes the part of an item, and IS_PLAIN tells whether it
 * is right. The item has j items before it in its cell.
 */
#define LOAD_ARGS                                                                                                              \
    const void *given, u64 index, const i64 *places, u32 count, const void *params, const void *before, u32 j, void *to, int at
#define LOAD_BY(GET, SET, LOAD, IS_PLAIN)                                                                                      \
    const PARAMS p = params_at(params);                                                                                        \
    const ITEM *items = given;                                                                                                 \
    const ACC_ARRAYS *lefts = before;                                                                                          \
    ACC_ARRAYS *parts = to;                                                                                                    \
    const SHARE share = SHARE_OF(1, j + 1);                                                                                    \
    u32 others = 0;                                                                                                            \
    for (int c = 0; c < (int)count; c += ROW_CELLS) {                                                                          \
        if (before) {                                                                                                          \
            EACH_OF_ROW(i, c) {                                                                                                \
                LOADED_PART(LOAD);                                                                                             \
                others |= !IS_PLAIN(part);                                                                                     \
                SET(parts, at + i, op_join_by(share, GET(lefts, at + i), part));                                               \
            }                                                                                                                  \
        } else {                                                                                                               \
            EACH_OF_ROW(i, c) {                                                                                                \
                LOADED_PART(LOAD);                                                                                             \
                others |= !IS_PLAIN(part);                                                                                     \
                SET(parts, at + i, part);                                                                                      \
            }                                                                                                                  \
        }                                                                                                                      \
    }                                                                                                                          \
    (void)p;                                                                                                                   \
    LEAVE_VECTORS                                                                                                              \
    return !others;
#define LOADED_PART(LOAD)                                                                                                      \
    ITEMS v;                                                                                                                   \
    v.x = LOAD_ITEM(items[i]);                                                                                                 \
    const ACC part = LOAD(v, index + (u64)places[i], p)
#define ALWAYS(part) 1

/* Half a row of a step. JOIN combines two parts. In a row's first half some stay as they are. */
#define HALF_ROW (ROW_CELLS / 2)
#define STEP_OF_HALF(GET, SET, JOIN)                                                                                           \
    if (half) {                                                                                                                \
        _Pragma("GCC ivdep") for (int i = 0; i < HALF_ROW; i++)                                                                \
            SET(scanned, c + i, JOIN(GET(parts, c + i - s), GET(parts, c + i), i));                                            \
    } else {                                                                                                                   \
        _Pragma("GCC ivdep") for (int i = 0; i < HALF_ROW; i++) {                                                              \
            const ACC part = GET(parts, c + i), both = JOIN(GET(parts, c + i - s), part, i);                                   \
            SET(scanned, c + i, accs_choose((i & (width - 1)) < s, part, both));                                               \
        }                                                                                                                      \
    }
#ifdef HAS_SHARE
#define SHARES_OF_STEP                                                                                                         \
    SHARE shares[ROW_CELLS]; /* kernels/scanning.h */                                                                          \
    for (int l = 0; l < ROW_CELLS; l++) shares[l] = SHARE_OF(s, min((l & (width - 1)) + 1, 2 * s));
#define IS_SHARED equal
#else
#define SHARES_OF_STEP
#define IS_SHARED 0
#endif
#define JOIN_SHARED(a, b, i) op_join_by(shares[half + (i)], a, b)
#define JOIN_ANY(a, b, i) op_join(a, b)
#define STEPS_ARGS const void *given, void *to, void *room, int at, int s, int end, int width, u32 count, bool equal
#define STEPS_BY(GET, SET)                                                                                                     \
    const ACC_ARRAYS *parts = given;                                                                                           \
    ACC_ARRAYS *scanned = to, *other = room;                                                                                   \
    const int whole = width == ROW_CELLS ? HALF_ROW : 0;                                                                       \
    for (; s < end; s *= 2) {                                                                                                  \
        SHARES_OF_STEP                                                                                                         \
        for (int c = at; c < at + (int)count; c += HALF_ROW) {                                                                 \
            const int half = (c - at) & whole;                                                                                 \
            if (IS_SHARED) {                                                                                                   \
                STEP_OF_HALF(GET, SET, JOIN_SHARED)                                                                            \
            } else {                                                                                                           \
                STEP_OF_HALF(GET, SET, JOIN_ANY)                                                                               \
            }                                                                                                                  \
        }                                                                                                                      \
        parts = scanned;                                                                                                       \
        scanned = other;                                                                                                       \
        other = (ACC_ARRAYS *)parts;                                                                                           \
    }                                                                                                                          \
    (void)equal;                                                                                                               \
    LEAVE_VECTORS

#define PAIRS_ARGS const void *lefts, int left, const void *rights, void *to, int at, u32 count
#define PAIRS_BY(GET, SET)                                                                                                     \
    const ACC_ARRAYS *a = lefts, *b = rights;                                                                                  \
    ACC_ARRAYS *both = to;                                                                                                     \
    for (int c = 0; c < (int)count; c += ROW_CELLS) {                                                                          \
        EACH_OF_ROW(i, c) SET(both, at + i, op_join(GET(a, left + i), GET(b, at + i)));                                        \
    }                                                                                                                          \
    LEAVE_VECTORS

#define FINISH_ARGS const void *given, int at, u64 first, const u64 *counts, u32 count, const void *params, void *to
#define FINISH_BY(GET, result)                                                                                                 \
    const PARAMS p = params_at(params);                                                                                        \
    const ACC_ARRAYS *parts = given;                                                                                           \
    RESULT *results = to;                                                                                                      \
    for (int c = 0; c < (int)count; c += ROW_CELLS) {                                                                          \
        EACH_OF_ROW(i, c) {                                                                                                    \
            const ACC a = GET(parts, at + i);                                                                                  \
            const u64 n = first + counts[i];                                                                                   \
            result;                                                                                                            \
        }                                                                                                                      \
    }                                                                                                                          \
    LEAVE_VECTORS

static WHOLE_STEP bool scan_load(LOAD_ARGS) {
    LOAD_BY(accs_get, accs_set, op_load, ALWAYS)
}

static WHOLE_STEP void scan_steps(STEPS_ARGS) {
    STEPS_BY(accs_get, accs_set)
}

static WHOLE_STEP void scan_pairs(PAIRS_ARGS) {
    PAIRS_BY(accs_get, accs_set)
}

#ifdef USUAL
/* Writes the results if all are usual. Returns 0 if they are not. */
static WHOLE_STEP bool scan_usual(FINISH_ARGS) {
    const ACC f = accs_get(given, at);
    u32 is_unusual = 0;
    FINISH_BY(accs_get, (results[i] = op_usual(a, f, n, p), is_unusual |= !op_is_usual(a, f, n, p)))
    return !is_unusual;
}
#endif

static WHOLE_STEP void scan_finish(FINISH_ARGS) {
#ifdef USUAL
    if (scan_usual(given, at, first, counts, count, params, to)) return;
#endif
    FINISH_BY(accs_get, results[i] = op_result(a, n, p))
}

/* ---- plain items ----------------------------------------------------------------------------- */

/* Where a guess at items holds, each accumulator is one value, the field PLAIN_FIELD, and the other
 * fields are zeros. Their arrays are neither read nor written. */
#ifdef PLAIN_FIELD
INLINE ACC plain_get(const ACC_ARRAYS *parts, int i) {
    ACC a = IDENTITY;
    a.PLAIN_FIELD = parts->PLAIN_ARRAY[i];
    return a;
}

INLINE void plain_set(ACC_ARRAYS *parts, int i, ACC a) {
    parts->PLAIN_ARRAY[i] = a.PLAIN_FIELD;
}

static WHOLE_STEP bool plain_load(LOAD_ARGS) {
#define LOAD_PLAIN(v, i, p) guess_load(v)
    LOAD_BY(plain_get, plain_set, LOAD_PLAIN, guess_holds)
#undef LOAD_PLAIN
}

static WHOLE_STEP void plain_steps(STEPS_ARGS) {
    STEPS_BY(plain_get, plain_set)
}

static WHOLE_STEP void plain_pairs(PAIRS_ARGS) {
    PAIRS_BY(plain_get, plain_set)
}

static WHOLE_STEP void plain_finish(FINISH_ARGS) {
    const ACC f = plain_get(given, at);
    FINISH_BY(plain_get, results[i] = op_usual(a, f, n, p))
}
#define PLAIN_STEPS                                                                                                            \
    &(const tally_host_scan) {                                                                                                 \
        .load = OF_FIRST(plain_load), .steps = OF_FIRST(plain_steps), .pairs = OF_FIRST(plain_pairs), .finish = plain_finish   \
    }
#define PLAIN_OFFSET offsetof(ACC, PLAIN_FIELD)
#endif
#undef ROW_CELLS
