/* SPDX-License-Identifier: MIT */
/*
 * entries.h: the end of a program of the stub, behind the specialised text: the text's types and
 * functions for the stub's own process, which opens the compiled program as a library. module.h
 * describes each.
 */
#define EXPORT __attribute__((visibility("default")))

/* In the order of stub_size. */
EXPORT const u32 stub_sizes[] = {ITEM_BYTES,    sizeof(ITEM),   sizeof(ITEM_VECTOR), INPUTS, ACC_BYTES, sizeof(ACC),
                                 _Alignof(ACC), sizeof(RESULT), sizeof(PARAMS),      LANES,  ROWS,      CHUNK_ITEMS};

/* The stub's memory may be aligned for an item's parts only. */
static ACC acc_at(const void *from) {
    ACC a;
    memcpy(&a, from, sizeof a);
    return a;
}

static PARAMS params_at(const void *from) {
    PARAMS p;
    memcpy(&p, from, sizeof p);
    return p;
}

EXPORT void stub_identity(void *to) {
    const ACC a = IDENTITY;
    memcpy(to, &a, sizeof a);
}

EXPORT void stub_combine(void *left, const void *right) {
    const ACC a = op_combine(acc_at(left), acc_at(right));
    memcpy(left, &a, sizeof a);
}

EXPORT void stub_result(const void *acc, u64 n, const void *params, void *to) {
    const RESULT r = n ? op_result(acc_at(acc), n, params_at(params)) : op_empty(params_at(params));
    memcpy(to, &r, sizeof r);
}

enum { x_INDEX, y_INDEX, z_INDEX, w_INDEX };
#define ARGUMENT(name) in[name##_INDEX], offset[name##_INDEX],

static SOURCE source_of(SOURCE_ARGS) {
    const SOURCE s = SOURCE_OF_ARGS;
    return s;
}

/* Combines a chunk in the canonical order. */
EXPORT void stub_chunk(const void *const *in, const u64 *offset, const void *params, u64 at, u64 count, u64 base, void *to) {
    SOURCE s = source_of(EACH_INPUT(ARGUMENT) params_at(params));
#define TO_CHUNK(name) s.name += at;
    EACH_INPUT(TO_CHUNK)
    CHUNK c;
    c.index = base + at;
    c.count = (u32)count;
#ifdef TAKES_PIVOT
    c.pivot = row_pivot(s, c.count);
#endif
    static LANE_ARRAYS lanes;
    u32 again = 0;
    do {
        for (int l = 0; l < LANES; l++) lanes_set(&lanes, l, lane_identity());
        for (u32 i = 0; i < count; i++) {
            const u32 l = i % LANES;
            lanes_set(&lanes, (int)l, lane_step(lanes_get(&lanes, (int)l), items_at(s, i), c, i / LANES, l, s.p));
        }
        for (int step = LANES / 2; step > 0; step /= 2)
            for (int l = 0; l < step; l++)
                lanes_set(&lanes, l, lane_combine(lanes_get(&lanes, l), lanes_get(&lanes, l + step)));
#ifdef PIVOT_MAY_MISS
        again = pivot_changes(&c.pivot, pivot_value(pivot_of_lane(lanes_get(&lanes, 0)), 0));
#endif
    } while (again);
    const ACC a = lane_value(lanes_get(&lanes, 0), c);
    memcpy(to, &a, sizeof a);
}

/* Combines items in sequence, as the steps of the ladder load them, into the accumulator. */
EXPORT void stub_sequence(const void *const *in, const u64 *offset, const void *params, u64 at, u64 count, void *to) {
    const SOURCE s = source_of(EACH_INPUT(ARGUMENT) params_at(params));
    ACC a = acc_at(to);
    for (u64 i = at; i < at + count; i++) a = op_combine(a, op_load(items_at(s, i), i, s.p));
    memcpy(to, &a, sizeof a);
}
