/* SPDX-License-Identifier: MIT */
/*
 * masked_steps: chunks with masks, as programs.h describes them. entry.h includes it.
 *
 * A lane takes every item, and keeps its old value where the item is masked. So the loop over lanes
 * has no branch, and becomes vectors. Short segments lie side by side in the lanes: one loop
 * combines the lanes of all of them. ns of the sum of 4, 8 and 12 f32 by offsets, a core of a Xeon
 * (AVX-512), December 2026, one by one 25, 30, 33, seven at once 20, 20, 21; their argmax 55, 103,
 * 144 and 39, 39, 39. Masked rows of 1,000 took 1.26 ns an item by sum and 6.2 by argmax when each
 * item had a branch, and take 0.45 and 0.76.
 */
/* Programs for x86-64 processors without AVX2 have no vectors (cmake/host.cmake). */
#if !defined(__x86_64__) || defined(__AVX2__)
#define HAS_VECTORS 1
#endif

/* Before a loop over lanes or segments, none of which changes what another one reads. */
#if defined(__GNUC__) && !defined(__clang__)
#define SIDE_BY_SIDE _Pragma("GCC ivdep")
#else
#define SIDE_BY_SIDE
#endif

/* Each segment has a pivot of its own. The macros are empty where the op has none. */
#ifdef TAKES_PIVOT
#define WITH_PIVOTS , const PIVOT *restrict pivots
#define AND_PIVOTS , pivots
#define TAKE_PIVOT(s) c.pivot = pivots[s];
#else
#define WITH_PIVOTS
#define AND_PIVOTS
#define TAKE_PIVOT(s)
#endif

/* The places of later segments. */
#define BY_SEGMENTS(name) .name = in.name + segments,
INLINE SOURCE segments_on(SOURCE in, u64 segments) {
    return (SOURCE){EACH_INPUT(BY_SEGMENTS).p = in.p};
}

/* Lanes that are taken at once. A loop over them has a constant length. */
#ifdef HAS_VECTORS
#define GROUP (__alignof__(LANE_ARRAYS) == 8 ? 8 : TALLY_HOST_GROUP)
#else
#define GROUP 1
#endif
#define EACH_OF_GROUP(i, l) SIDE_BY_SIDE for (int i = l; i < l + GROUP; i++)

#ifdef TAKES_PIVOT
/* Returns the pivot of a chunk that has items. If one of those that it is made of is masked, it is
 * that of the first item which is not. */
INLINE PIVOT masked_pivot(SOURCE in, const u32 *mask, u32 count) {
    const u32 halvings = pivot_halvings(count);
    PIVOT row[LANES];
    u32 first = 0, l = 0;
    for (; l < LANES >> halvings && mask[l]; l++) row[l] = pivot_load(items_at(in, l));
    if (l < LANES >> halvings) {
        while (!mask[first]) first++;
        return pivot_value(pivot_load(items_at(in, first)), 7);
    }
    for (u32 s = LANES >> halvings >> 1; s; s /= 2)
        for (l = 0; l < s; l++) row[l] = pivot_combine(row[l], row[l + s]);
    return pivot_value(row[0], halvings);
}
#endif

/* Folds segment s into lane s * width. */
INLINE WHOLE_STEP void masked_lanes(const tally_host_masked *of, SOURCE in, CHUNK c, int width,
                                    LANE_ARRAYS *lanes WITH_PIVOTS) {
    const int used = width * (int)of->segments;
    /* The last segment's halvings read lanes behind it. */
    for (int l = 0; l < used + GROUP && l < LANES; l += GROUP) EACH_OF_GROUP(i, l) lanes_set(lanes, i, lane_identity());
    for (int s = 0; s < (int)of->segments; s++) {
        c.count = of->has[s] ? of->n[s] : 0;
        TAKE_PIVOT(s)
        for (int begin = 0; begin < (int)c.count; begin += GROUP) {
            const int row = begin / LANES, l = begin % LANES, first = s * width + l;
            const u32 *mask = of->mask[s] + begin;
            LOADED room[ROOM_ITEMS(GROUP)];
            const LOADED_SOURCE items = load_some(segments_on(in, s * of->pitch + begin), GROUP, 0, room);
            EACH_OF_GROUP(k, 0) {
                const LANE a = lane_step(lanes_get(lanes, first + k), loaded_at(items, k), c, row, l + k, in.p);
                lanes_set_if(lanes, first + k, mask[k], a);
            }
        }
    }
    for (int s = width / 2; s; s /= 2)
        for (int l = 0; l < used; l += GROUP)
            if ((l & (width - 1)) < s)
                EACH_OF_GROUP(i, l) lanes_set(lanes, i, lane_combine(lanes_get(lanes, i), lanes_get(lanes, i + s)));
}

#ifdef PIVOT_MAY_MISS
INLINE u32 masked_pivots_change(const tally_host_masked *of, const LANE_ARRAYS *lanes, int width, PIVOT *pivots) {
    u32 changes = 0;
    for (int s = 0; s < (int)of->segments; s++)
        if (of->has[s]) changes |= pivot_changes(&pivots[s], pivot_value(pivot_of_lane(lanes_get(lanes, s * width)), 0));
    return changes;
}
#define MASKED_PIVOTS_CHANGE masked_pivots_change(of, &lanes, width, pivots)
#else
#define MASKED_PIVOTS_CHANGE 0
#endif

static WHOLE_STEP void masked_accs(const tally_host_masked *of, const void *params, void *accs) {
    const SOURCE in = source_at(of->items, params);
    CHUNK c = {.index = of->index};
    LANE_ARRAYS lanes ALIGN(64);
    int width = GROUP;
    for (u32 s = 0; s < of->segments; s++)
        while (width < LANES && width < (int)of->n[s]) width *= 2;
#ifdef TAKES_PIVOT
    PIVOT pivots[TALLY_HOST_MASKED] = {0};
    for (u32 s = 0; s < of->segments; s++)
        if (of->has[s]) pivots[s] = masked_pivot(segments_on(in, s * of->pitch), of->mask[s], of->n[s]);
#endif
    do {
        masked_lanes(of, in, c, width, &lanes AND_PIVOTS);
    } while (MASKED_PIVOTS_CHANGE);
    for (u32 s = 0; s < of->segments; s++) {
        TAKE_PIVOT(s)
        c.count = of->has[s];
        ((ACC *)accs)[s] = c.count ? lane_value(lanes_get(&lanes, s * width), c) : IDENTITY;
    }
    LEAVE_VECTORS
}
