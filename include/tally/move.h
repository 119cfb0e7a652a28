/* SPDX-License-Identifier: MIT */
/* tally/move.h: moves: gather and scatter. */
#ifndef TALLY_API_MOVE_H
#define TALLY_API_MOVE_H

#include <tally/reduce.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- gather and scatter ---------------------------------------------------------------------- */

/* Bits of tally_move_desc.flags. */
enum {
    TALLY_UNCHECKED = 1,    /* entries are not checked: one out of bounds is undefined behaviour */
    TALLY_SCATTER_LAST = 2, /* of entries that name one item of `out` the last wins */
    TALLY_STENCIL = 4       /* calls bring u8s: entry i counts if stencil[i] is not 0 */
};

/* A move to plan. size, item_bytes and map must be given; the others may be 0. An *entry* is an
 * element of the map. */
typedef struct tally_move_desc {
    size_t size;         /* sizeof(tally_move_desc) */
    uint32_t item_bytes; /* size of an item: any whole number from 1 to 16 */
    tally_dtype map;     /* type of an entry: i32, u32, i64 or u64; one below 0 is out of bounds */
    uint32_t flags;
    uint64_t max_n;   /* most entries of a call; 0: as many as the device's memory holds */
    uint64_t max_out; /* TALLY_SCATTER_LAST: most items of `out` of a call, not 0; else ignored */
} tally_move_desc;

/*
 * Compile a gather or a scatter, or find it in the cache, and allocate all the memory that it
 * needs. A checked plan takes one word. TALLY_SCATTER_LAST takes 4 bytes for each of max_out items,
 * or 8 if max_n is above 2^32 - 1. Block. The caller destroys the plan with tally_plan_destroy. A
 * plan serves one queue and one thread at a time. Errors: E_ARGUMENT for NULL and for a descriptor
 * that makes no sense; E_UNSUPPORTED if the device fails its self-test, or if positions take 8
 * bytes and the device has no 64-bit atomics (TALLY_UNCHECKED without TALLY_SCATTER_LAST needs
 * none); E_BUILD; E_MEMORY; E_DEVICE.
 */
TALLY_API tally_status tally_gather_plan_create(tally_context *context, const tally_move_desc *desc, tally_plan **out);
TALLY_API tally_status tally_scatter_plan_create(tally_context *context, const tally_move_desc *desc, tally_plan **out);
/* Returns the position of the first entry out of bounds in the plan's last call, counted from
 * map_offset; TALLY_NO_INDEX if there was none. */
TALLY_API uint64_t tally_move_bad(const tally_plan *plan);

/* The items to move. Offsets are in items, map_offset in entries. An entry's alignment suffices. */
typedef struct tally_move_args {
    size_t size; /* sizeof(tally_move_args) */
    const tally_buffer *map;
    uint64_t map_offset, n; /* the number of entries */
    const tally_buffer *in;
    uint64_t in_offset;
    const tally_buffer *stencil; /* n u8s; NULL exactly if the plan has no TALLY_STENCIL */
    uint64_t stencil_offset;
    tally_buffer *out;
    uint64_t out_offset;
    /* The number of items of `in` (gather) or `out` (scatter) that the map may name. Entries from
     * it on are out of bounds. */
    uint64_t items;
} tally_move_args;

/*
 * Gather writes out[i] = in[map[i]], scatter writes out[map[i]] = in[i], for i from 0 to n - 1.
 * Items of `out` that no entry names stay as they are. The buffers stay the caller's.
 *
 * A scatter's entries may name an item twice. It gets one of the values; with TALLY_SCATTER_LAST it
 * gets that of the highest i. Without it, an item that is not one word (1, 2, 4 or 8 bytes at a
 * multiple of its size) may get some words of each value (docs/primitives.md).
 *
 * With TALLY_UNCHECKED the call enqueues: it allocates nothing and does not wait. Otherwise it
 * blocks until the move is done. Entries out of bounds then move nothing and all others are moved.
 * Nothing outside the ranges is read or written. If any entry is out of bounds, the call fails with
 * E_ARGUMENT, and the text has the first such position and the entry there.
 *
 * Errors: E_ARGUMENT for NULL, handles of another context, the other kind of plan, n or items above
 * the plan's limits, a range outside a buffer, and `out` that overlaps what is read; E_DEVICE.
 */
TALLY_API tally_status tally_gather(tally_plan *plan, tally_queue *queue, const tally_move_args *args);
TALLY_API tally_status tally_scatter(tally_plan *plan, tally_queue *queue, const tally_move_args *args);

#ifdef __cplusplus
}
#endif

#endif
