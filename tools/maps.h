/* SPDX-License-Identifier: MIT */
/* maps.h: maps that `tally check` and `tally study` gather and scatter by. */
#ifndef TALLY_MAPS_H
#define TALLY_MAPS_H

#include <tally/tally.h>

#define MAPS_STRIDE 32 /* of strided maps, in items: of 4 bytes, each in a cache line of its own */

/* Each is a permutation: it names every place from 0 to n - 1 once. */
typedef enum maps_kind {
    MAPS_IDENTITY,
    MAPS_REVERSED,
    MAPS_STRIDED, /* 0, 32, 64, ...; then 1, 33, 65, ...; and so on */
    MAPS_RANDOM,
    MAPS_KINDS
} maps_kind;
extern const char *const maps_names[MAPS_KINDS];

uint64_t maps_entry(maps_kind kind, uint64_t n, uint64_t i);
/* Entry i of a map of this type, which has 4 or 8 bytes. */
void maps_store(tally_dtype type, void *map, uint64_t i, uint64_t entry);

#endif
