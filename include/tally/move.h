/* SPDX-License-Identifier: MIT */
/*
 * tally/move.h: moves: gather and scatter.
 */
#ifndef TALLY_API_MOVE_H
#define TALLY_API_MOVE_H

#include <tally/reduce.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- gather and scatter ------------------------------------------------------------------------------------------------- */

/* tally_move_desc.flags */
enum {
    TALLY_UNCHECKED = 1,    /* entries are not compared with what there is: one out of bounds is undefined behaviour */
    TALLY_SCATTER_LAST = 2, /* of entries that name the same item of `out` the last one's is written; takes max_out */
    TALLY_STENCIL = 4       /* the calls bring a stencil: entry i is heeded only where stencil[i], a u8, is not zero */
};

/* How items are to be moved. Zeroed members mean their defaults. */
typedef struct tally_move_desc {
    size_t size;         /* sizeof(tally_move_desc) */
    uint32_t item_bytes; /* of an item: 1 to 16, any whole number */
    tally_dtype map;     /* i32, u32, i64 or u64; an entry below 0 is out of bounds */
    uint32_t flags;
    uint64_t max_n;   /* the most entries of a call; 0: as many as the device's memory holds */
    uint64_t max_out; /* TALLY_SCATTER_LAST: the most items of `out` of a call; else ignored */
} tally_move_desc;

/*
 * Compile a gather or a scatter, or find it in the cache, and take all the memory that it will need: a word unless UNCHECKED; for SCATTER_LAST
 * 4 bytes for each of max_out items, or 8 if max_n is above 2^32 - 1. Block. A plan serves one queue and one thread at a time.
 * Errors: E_ARGUMENT for a descriptor that makes no sense; E_UNSUPPORTED where positions need 8 bytes and the device has no atomics on
 * such words (UNCHECKED without SCATTER_LAST needs none), or fails its self-test; E_BUILD; E_MEMORY.
 */
TALLY_API tally_status tally_gather_plan_create(tally_context *context, const tally_move_desc *desc, tally_plan **out);
TALLY_API tally_status tally_scatter_plan_create(tally_context *context, const tally_move_desc *desc, tally_plan **out);
/* The position in the map, from map_offset on, of the lowest entry out of bounds of the plan's last call; TALLY_NO_INDEX: there was none. */
TALLY_API uint64_t tally_move_bad(const tally_plan *plan);

/* What to move. Offsets are in items, of the map in entries; no alignment is needed beyond that of an entry. */
typedef struct tally_move_args {
    size_t size; /* sizeof(tally_move_args) */
    const tally_buffer *map;
    uint64_t map_offset, n; /* n entries */
    const tally_buffer *in;
    uint64_t in_offset;
    const tally_buffer *stencil; /* n u8s; NULL for a plan without TALLY_STENCIL, and only then */
    uint64_t stencil_offset;
    tally_buffer *out;
    uint64_t out_offset;
    uint64_t items; /* of `in` (gather) or `out` (scatter) that the map may name: entries from it on are out of bounds */
} tally_move_args;

/*
 * Gather: out[i] = in[map[i]]; scatter: out[map[i]] = in[i]; for i from 0 to n - 1. What no entry names stays as it was. A scatter's entries may name an
 * item twice: it gets one of the values written, and with TALLY_SCATTER_LAST that of the highest i; without, an item that is not one word (of
 * 1, 2, 4 or 8 bytes, at an address that is a multiple of its size) may get some words of each (docs/primitives.md).
 *
 * With TALLY_UNCHECKED: enqueued; no allocation, no synchronisation. Else the call blocks until it is done: entries out of bounds move
 * nothing, nothing outside is read or written, the others are moved all the same, and the call fails with E_ARGUMENT, whose text has the
 * first position that is out of bounds, and the entry there.
 * Errors: E_ARGUMENT for NULL, handles of another context, the other kind of plan, n or items above the plan's, a range outside a buffer,
 * `out` that overlaps what is read.
 */
TALLY_API tally_status tally_gather(tally_plan *plan, tally_queue *queue, const tally_move_args *args);
TALLY_API tally_status tally_scatter(tally_plan *plan, tally_queue *queue, const tally_move_args *args);

#ifdef __cplusplus
}
#endif

#endif
