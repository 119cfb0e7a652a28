/* SPDX-License-Identifier: MIT */
/* The specialisation of a move: its descriptor is checked and resolved, and becomes lines of its
 * program's text. */
#include <stdio.h>
#include <string.h>

#include "move/move.h"

#define GPU_GROUP_THREADS 256
#define MOST_ITEM_BYTES 16
#define MOST_FLIGHT 8

/* Returns the size of the word that items are copied by: the widest of which an item is a whole
 * number. */
static uint32_t word_bytes(uint32_t item_bytes) {
    return item_bytes & (~item_bytes + 1);
}

/* Returns the 32-bit registers of an item. The items in flight may take 16, and their indices as
 * many. */
static uint32_t registers(uint32_t item_bytes) {
    const uint32_t word = word_bytes(item_bytes), words = item_bytes / word;
    return word > 4 ? words * word / 4 : words;
}

static uint32_t flight(uint32_t item_bytes) {
    const uint32_t fit = 16 / registers(item_bytes);
    return fit > MOST_FLIGHT ? MOST_FLIGHT : fit ? fit : 1;
}

static tally_status check(const tally_move_desc *desc, bool scatter) {
    const uint32_t known = TALLY_UNCHECKED | TALLY_STENCIL | (scatter ? TALLY_SCATTER_LAST : 0u);
    if (!desc->item_bytes || desc->item_bytes > MOST_ITEM_BYTES)
        return tally_fail(TALLY_E_ARGUMENT, "desc.item_bytes is %u: there are 1 to %d", desc->item_bytes, MOST_ITEM_BYTES);
    if (desc->map != TALLY_I32 && desc->map != TALLY_U32 && desc->map != TALLY_I64 && desc->map != TALLY_U64)
        return tally_fail(TALLY_E_ARGUMENT, "desc.map is %s: it must be i32, u32, i64 or u64",
                          tally_dtype_find(desc->map) ? tally_dtype_name(desc->map) : "no dtype");
    if (desc->flags & ~known)
        return tally_fail(TALLY_E_ARGUMENT, "desc.flags is %#x: there are TALLY_UNCHECKED, TALLY_STENCIL%s", desc->flags,
                          scatter ? " and TALLY_SCATTER_LAST" : "");
    if (desc->flags & TALLY_SCATTER_LAST && !desc->max_out)
        return tally_fail(TALLY_E_ARGUMENT, "desc.max_out is 0: TALLY_SCATTER_LAST keeps a word for each item");
    if (desc->max_n > UINT64_MAX / 16) return tally_fail(TALLY_E_ARGUMENT, "desc.max_n is beyond any memory");
    if (desc->flags & TALLY_SCATTER_LAST && desc->max_out > UINT64_MAX / 16)
        return tally_fail(TALLY_E_ARGUMENT, "desc.max_out is beyond any memory");
    return TALLY_OK;
}

tally_status tally_move_resolve(const tally_device_info *device, bool scatter, const tally_move_desc *given,
                                tally_move_desc *desc, tally_move_spec *spec) {
    if (!given) return tally_fail(TALLY_E_ARGUMENT, "desc is NULL");
    if (given->size != sizeof(*given))
        return tally_fail(TALLY_E_ARGUMENT, "desc.size is %zu: sizeof(tally_move_desc) is %zu", given->size, sizeof(*given));
    *desc = *given;
    tally_status status = check(desc, scatter);
    if (status) return status;
    const bool numbers = !(desc->flags & TALLY_UNCHECKED) || desc->flags & TALLY_SCATTER_LAST;
    if (!desc->max_n) {
        desc->max_n = device->memory_bytes / tally_dtype_bytes(desc->map);
        if (numbers && !device->has_atomic64 && desc->max_n > UINT32_MAX) desc->max_n = UINT32_MAX;
    }
    const bool cpu = device->device_class == TALLY_CLASS_CPU;
    const uint32_t most = device->max_group_threads;
    *spec = (tally_move_spec){.scatter = scatter,
                              .item_bytes = desc->item_bytes,
                              .flags = desc->flags,
                              .map = desc->map,
                              .wide = numbers && desc->max_n > UINT32_MAX,
                              .group_threads = cpu                        ? 1
                                               : most < GPU_GROUP_THREADS ? most
                                                                          : GPU_GROUP_THREADS,
                              .flight = flight(desc->item_bytes)};
    if (spec->wide && !device->has_atomic64)
        return tally_fail(TALLY_E_UNSUPPORTED,
                          "desc.max_n is %llu: positions of 8 bytes, and %s has no atomics on 64-bit words",
                          (unsigned long long)desc->max_n, device->name);
    return TALLY_OK;
}

tally_move_text tally_move_defines(const tally_move_spec *spec) {
    const bool checked = !(spec->flags & TALLY_UNCHECKED);
    tally_move_text t;
    snprintf(t.text, sizeof(t.text),
             "#define SCATTER %d\n#define ITEM_BYTES %u\n#define WORD_BYTES %u\n#define MAP %s\n#define MAP_BYTES %zu\n"
             "#define STENCIL %d\n#define CHECKED %d\n#define LAST %d\n#define POSITION_BYTES %d\n#define FLIGHT %u\n",
             spec->scatter, spec->item_bytes, word_bytes(spec->item_bytes), tally_dtype_name(spec->map),
             tally_dtype_bytes(spec->map), (spec->flags & TALLY_STENCIL) != 0, checked, (spec->flags & TALLY_SCATTER_LAST) != 0,
             spec->wide ? 8 : 4, spec->flight);
    return t;
}
