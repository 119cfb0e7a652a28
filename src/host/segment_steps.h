/* SPDX-License-Identifier: MIT */
/*
 * segment_steps: chunks of segments, as programs.h describes them. entry.h includes it.
 *
 * fold_some takes a chunk that has a mask or few items. Lanes that have no item are left out, so a
 * short segment costs no more than its items. fold_block takes the same chunk of 128 neighbouring
 * segments: its vectors are neighbours of one lane, and memory is read in its own order.
 */
#define MASKED(mask, i) ((mask) && !(mask)[i])

/* ---- a chunk with a mask, or of few items ---------------------------------------------------- */

#ifdef TAKES_PIVOT
/* The pivot of a chunk that has items. If one of those that it is made of is masked, it is that of
 * the first item which is not. */
INLINE PIVOT some_pivot(SOURCE in, const u8 *mask, u32 count) {
    const u32 halvings = pivot_halvings(count);
    PIVOT row[LANES];
    u32 first = 0, l = 0;
    for (; l < LANES >> halvings && !MASKED(mask, l); l++) row[l] = pivot_load(items_at(in, l));
    if (l < LANES >> halvings) {
        while (MASKED(mask, first)) first++;
        return pivot_value(pivot_load(items_at(in, first)), 7);
    }
    for (u32 s = LANES >> halvings >> 1; s; s /= 2)
        for (l = 0; l < s; l++) row[l] = pivot_combine(row[l], row[l + s]);
    return pivot_value(row[0], halvings);
}
#endif

INLINE LANE some_lane(SOURCE in, const u8 *mask, CHUNK c) {
    const u32 used = c.count < LANES ? c.count : LANES;
    LANE lanes[LANES];
    for (u32 l = 0; l < used; l++) lanes[l] = lane_identity();
    for (u32 i = 0; i < c.count; i++)
        if (!MASKED(mask, i)) lanes[i % LANES] = lane_step(lanes[i % LANES], items_at(in, i), c, i / LANES, i % LANES, in.p);
    for (u32 s = LANES / 2; s; s /= 2)
        for (u32 l = 0; l < s && l + s < used; l++) lanes[l] = lane_combine(lanes[l], lanes[l + s]);
    return lanes[0];
}

static u64 fold_some(const void *const *items, const u8 *mask, const void *params, u64 base, u64 n, void *acc) {
    const SOURCE in = source_at(items, params);
    CHUNK c = {.index = base, .count = (u32)n};
    LANE lane;
    u32 has = mask ? 0 : (u32)n;
    for (u32 i = 0; mask && i < n; i++) has += mask[i] != 0;
    if (!has) {
        *(ACC *)acc = IDENTITY;
        return 0;
    }
#ifdef TAKES_PIVOT
    c.pivot = some_pivot(in, mask, c.count);
#endif
#ifdef PIVOT_MAY_MISS
    do {
        lane = some_lane(in, mask, c);
    } while (pivot_changes(&c.pivot, pivot_value(pivot_of_lane(lane), 0)));
#else
    lane = some_lane(in, mask, c);
#endif
    c.count = has;
    *(ACC *)acc = lane_value(lane, c);
    return has;
}

/* ---- a chunk of neighbouring segments -------------------------------------------------------- */

#ifdef TAKES_PIVOT
#define BLOCK_STEPS .block_bytes = 0
#else
#define BLOCK_STEPS .block_bytes = sizeof(LANE_ARRAYS) * LANES, .fold_block = fold_block, .finish_block = finish_block

/* Takes a row: the next item of one lane of each segment. */
INLINE void step_block(LANE_ARRAYS *restrict lanes, SOURCE in, CHUNK c, u32 row, u32 l) {
    for (int s = 0; s < LANES; s++) lanes_set(lanes, s, lane_step(lanes_get(lanes, s), items_at(in, s), c, row, l, in.p));
}

INLINE void combine_blocks(LANE_ARRAYS *restrict lanes, const LANE_ARRAYS *restrict right) {
    for (int s = 0; s < LANES; s++) lanes_set(lanes, s, lane_combine(lanes_get(lanes, s), lanes_get(right, s)));
}

/* Rows ahead that are prefetched: the next row is in another page, of which the processor does not
 * know. GB/s of a core, columns of 4,096 f32 in rows of 8,192, without and with it, by an EPYC (Zen
 * 4), November 2026: sum 9.3, 12.9; max 6.2, 11.5; argmax 2.8, 8.6. 8 to 32 rows were no better. */
#define ROWS_AHEAD 4
#define PREFETCH_ROW(name)                                                                                                     \
    for (int s = 0; s < LANES; s += 64 / ITEM_BYTES)                                                                           \
        PREFETCH_LINE(&in.name[s], steps[name##_INDEX] * (ROWS_AHEAD * ITEM_BYTES));

static void fold_block(const void *const *items, const i64 *steps, const void *params, u64 base, u64 n, bool is_far,
                       void *scratch, void *accs) {
    enum { x_INDEX, y_INDEX, z_INDEX, w_INDEX };
    SOURCE in = source_at(items, params);
    LANE_ARRAYS *lanes = scratch; /* lanes[l] is lane l of each segment */
    const CHUNK c = {.index = base, .count = (u32)n};
    const u32 used = n < LANES ? (u32)n : LANES;
    for (u32 l = 0; l < used; l++)
        for (int s = 0; s < LANES; s++) lanes_set(&lanes[l], s, lane_identity());
    for (u32 i = 0; i < n; i++) {
        if (is_far) {
            EACH_INPUT(PREFETCH_ROW)
        }
        step_block(&lanes[i % LANES], in, c, i / LANES, i % LANES);
#define TO_NEXT_ROW(name) in.name += steps[name##_INDEX];
        EACH_INPUT(TO_NEXT_ROW)
    }
    for (u32 s = LANES / 2; s; s /= 2)
        for (u32 l = 0; l < s && l + s < used; l++) combine_blocks(&lanes[l], &lanes[l + s]);
    for (int s = 0; s < LANES; s++) ((ACC *)accs)[s] = lane_value(lanes_get(&lanes[0], s), c);
}

static void finish_block(const void *given, u64 n, const void *params, void *to) {
    const PARAMS p = params_at(params);
    const ACC *restrict accs = given;
    RESULT *restrict results = to;
    for (int s = 0; s < LANES; s++) results[s] = op_result(accs[s], n, p);
}
#endif

/* ---- an initial result ----------------------------------------------------------------------- */

#ifdef HAS_INITIAL
static void begin_with(const void *result, void *acc) {
    RESULT given;
    memcpy(&given, result, sizeof(given));
    *(ACC *)acc = op_initial(given);
}
#define INITIAL_STEP begin_with
#else
#define INITIAL_STEP 0
#endif
