/* SPDX-License-Identifier: MIT */
/* The division of a part into raw items and nodes of the canonical tree, and of an input into
 * shares. */
#include "parts/parts.h"

_Static_assert(TALLY_CHUNK == TALLY_CHUNK_ITEMS, "a chunk is a chunk");

tally_status tally_part_check_range(const char *name, uint64_t first, uint64_t n, uint64_t total) {
    const char *gap = *name ? ": " : "";
    if (first > TALLY_FEED_ITEMS || n > TALLY_FEED_ITEMS - first || total > TALLY_FEED_ITEMS)
        return tally_fail(TALLY_E_ARGUMENT, "%s%sitems are beyond any memory: first is %llu, n %llu, total %llu", name, gap,
                          (unsigned long long)first, (unsigned long long)n, (unsigned long long)total);
    if (!total || first + n <= total) return TALLY_OK;
    return tally_fail(TALLY_E_ARGUMENT, "%s%sit ends at item %llu: total is %llu", name, gap, (unsigned long long)(first + n),
                      (unsigned long long)total);
}

/* Returns the largest k with 2^k <= n, which is not 0. */
static uint32_t log2_floor(uint64_t n) {
    return 63u - (uint32_t)__builtin_clzll(n);
}

static uint32_t log2_ceil(uint64_t n) {
    return n > 1 ? log2_floor(n - 1) + 1 : 0;
}

/* Returns the level of the largest subtree that begins at chunk i and has no chunk from `end` on.
 * At a known end absent chunks belong to a subtree too. */
static uint32_t level_at(uint64_t i, uint64_t end, bool closed) {
    const uint32_t aligned = i ? (uint32_t)__builtin_ctzll(i) : 63, most = closed ? log2_ceil(end - i) : log2_floor(end - i);
    return aligned < most ? aligned : most;
}

void tally_part_shape_of(uint64_t first, uint64_t n, uint64_t total, tally_part_shape *shape) {
    const uint64_t end = first + n, within = first % TALLY_CHUNK_ITEMS;
    *shape = (tally_part_shape){.first = first, .n = n, .total = total, .closed = total && end == total};
    if (within && n) shape->head_items = (uint32_t)(n < TALLY_CHUNK_ITEMS - within ? n : TALLY_CHUNK_ITEMS - within);
    if (first + shape->head_items == end) return;
    if (!shape->closed) shape->tail_items = (uint32_t)(end % TALLY_CHUNK_ITEMS);
    const uint64_t last = tally_ceil_div(end - shape->tail_items, TALLY_CHUNK_ITEMS);
    for (uint64_t i = (first + shape->head_items) / TALLY_CHUNK_ITEMS; i < last;) {
        const uint32_t level = level_at(i, last, shape->closed);
        shape->nodes[shape->node_count++] = (tally_part_node){.index = i >> level, .level = level};
        i += UINT64_C(1) << level;
    }
}

uint64_t tally_part_node_items(const tally_part_node *node, uint64_t end, uint64_t *count) {
    const uint64_t begin = (node->index << node->level) * TALLY_CHUNK_ITEMS;
    const uint64_t most = (UINT64_C(1) << node->level) * TALLY_CHUNK_ITEMS;
    *count = end - begin < most ? end - begin : most;
    return begin;
}

tally_status tally_share(uint64_t n, uint64_t ranks, uint64_t rank, uint64_t *first, uint64_t *count) {
    tally_status status = tally_check_pointer(first, "first");
    if (!status) status = tally_check_pointer(count, "count");
    if (!status && rank >= ranks)
        status = tally_fail(TALLY_E_ARGUMENT, "rank is %llu: there are %llu ranks", (unsigned long long)rank,
                            (unsigned long long)ranks);
    if (status) return TALLY_NAMED(status);
    /* Cuts are at multiples of a unit: one chunk, or a power of two of chunks of which a share has
     * 128 to 255. Larger units leave a share fewer nodes, and a node takes a launch. The first
     * `longer` shares have one unit more than the others; the last one has what is no whole
     * unit. */
    const uint64_t chunks = tally_ceil_div(n, TALLY_CHUNK_ITEMS);
    uint64_t unit = 1;
    while (chunks / ranks / unit >= 256) unit *= 2;
    const uint64_t each = chunks / unit / ranks, longer = chunks / unit % ranks;
    const uint64_t begin = (each * rank + (rank < longer ? rank : longer)) * unit;
    const uint64_t end = rank + 1 == ranks ? chunks : begin + (each + (rank < longer)) * unit;
    *first = begin == chunks ? n : begin * TALLY_CHUNK_ITEMS;
    *count = (end == chunks ? n : end * TALLY_CHUNK_ITEMS) - *first;
    return TALLY_OK;
}
