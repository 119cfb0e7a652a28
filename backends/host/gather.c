/* SPDX-License-Identifier: MIT */
#include "gather.h"

#include <string.h>

/* ---- shapes ---------------------------------------------------------------------------------- */

void tally_host_read_shape(const unsigned char *from, uint32_t inputs, tally_array_shape *shape) {
    memcpy(&shape->n, from, 8);
    memcpy(&shape->reduced, from + 8, 4);
    memcpy(&shape->kept, from + 12, 4);
    from += 16;
    for (uint32_t a = 0; a < shape->reduced + shape->kept; a++) {
        tally_shape_axis *axis = &shape->axis[a];
        memcpy(&axis->extent, from, 8);
        memcpy(axis->in, from + 8, 8 * inputs);
        memcpy(&axis->where, from + 8 + 8 * inputs, 8);
        memcpy(&axis->out, from + 16 + 8 * inputs, 8);
        from += 8 * (inputs + 3);
    }
}

/* ---- rectangles ------------------------------------------------------------------------------ */

/* A rectangle of items: `items` of each of `segments` segments. Steps are in bytes. */
typedef struct rectangle {
    const unsigned char *from;
    unsigned char *to;
    int64_t item, segment;        /* steps of `from` */
    uint64_t to_item, to_segment; /* of `to` */
    uint64_t items, segments;
} rectangle;

/* Items of a segment that are copied before those of the next segment. So their lines stay in the
 * cache of the first level, however far apart they are. */
#define TILE 8

#define COPY(name, size)                                                                                                       \
    static inline void copy_items_##name(const rectangle *r, uint64_t s, uint64_t begin, uint64_t count) {                     \
        const unsigned char *from = r->from + (int64_t)s * r->segment + (int64_t)begin * r->item;                              \
        unsigned char *to = r->to + s * r->to_segment + begin * r->to_item;                                                    \
        for (uint64_t j = 0; j < count; j++) memcpy(to + j * r->to_item, from + (int64_t)j * r->item, size);                   \
    }                                                                                                                          \
    static void copy_##name(const rectangle *r) {                                                                              \
        uint64_t begin = 0;                                                                                                    \
        for (; begin + TILE <= r->items; begin += TILE)                                                                        \
            for (uint64_t s = 0; s < r->segments; s++) copy_items_##name(r, s, begin, TILE);                                   \
        for (uint64_t s = 0; s < r->segments; s++) copy_items_##name(r, s, begin, r->items - begin);                           \
    }
COPY(1, 1)
COPY(2, 2)
COPY(4, 4)
COPY(8, 8)
COPY(16, 16)

static void copy_rectangle(const rectangle *r, uint32_t bytes) {
    static void (*const copies[])(const rectangle *) = {copy_1, copy_2, copy_4, copy_8, copy_16};
    const tally_host_shared *shared = &tally_host_code_here()->shared;
    const uint32_t log = host_log(bytes);
    if (r->item == bytes && r->to_item == bytes)
        for (uint64_t s = 0; s < r->segments; s++)
            memcpy(r->to + s * r->to_segment, r->from + (int64_t)s * r->segment, r->items * bytes);
    else if (bytes <= 8 && r->item == bytes && r->to_segment == bytes)
        shared->transpose[log](r->from, r->segment, r->to, r->to_item, r->segments, r->items);
    else if (bytes <= 8 && r->segment == bytes && r->to_item == bytes)
        shared->transpose[log](r->from, r->item, r->to, r->to_segment, r->items, r->segments);
    else
        copies[log](r);
}

/* ---- segments -------------------------------------------------------------------------------- */

/* Returns where item `index` lies. *left becomes the number of items from it to the end of the
 * fastest axis. */
static const unsigned char *place_of(const host_walk *walk, const unsigned char *from, uint64_t index, uint64_t *left) {
    *left = 0;
    for (uint32_t k = walk->reduced; k-- > 0;) {
        const uint64_t rest = k ? index / walk->extent[k] : 0, i = index - rest * walk->extent[k];
        if (k + 1 == walk->reduced) *left = walk->extent[k] - i;
        from += (int64_t)i * walk->step[k];
        index = rest;
    }
    return from;
}

const unsigned char *tally_host_neighbours(const host_walk *walk, const unsigned char *from, uint64_t first, uint64_t count) {
    uint64_t left;
    if (!count) return from;
    if (walk->step[walk->reduced - 1] != walk->bytes) return NULL;
    const unsigned char *at = place_of(walk, from, first, &left);
    return count <= left ? at : NULL;
}

void tally_host_gather(const host_walk *walk, const unsigned char *from, uint64_t first, uint64_t count, uint64_t segments,
                       unsigned char *to, uint64_t to_segment, uint64_t to_item) {
    rectangle r = {.item = walk->step[walk->reduced - 1],
                   .segment = walk->across,
                   .to_item = to_item * walk->bytes,
                   .to_segment = to_segment * walk->bytes,
                   .segments = segments};
    for (uint64_t j = 0; j < count; j += r.items) {
        uint64_t left;
        r.from = place_of(walk, from, first + j, &left);
        r.to = to + j * r.to_item;
        r.items = count - j < left ? count - j : left;
        copy_rectangle(&r, walk->bytes);
    }
}
