/* SPDX-License-Identifier: MIT */
/* maps.h: maps for the gathers and scatters of `tally check` and `tally study`. */
#ifndef TALLY_MAPS_H
#define TALLY_MAPS_H

#include <tally/tally.h>

#define MAPS_STRIDE 32 /* items between entries: with 4-byte items, a cache line each */

/* Kinds of maps. Each is a permutation: it has every place from 0 to n - 1 once. */
typedef enum maps_kind {
    MAPS_IDENTITY,
    MAPS_REVERSED,
    MAPS_STRIDED, /* 0, 32, 64, ...; then 1, 33, 65, ... */
    MAPS_RANDOM,
    MAPS_KINDS
} maps_kind;
extern const char *const maps_names[MAPS_KINDS];

uint64_t maps_entry(maps_kind kind, uint64_t n, uint64_t i);
/* Stores entry i of a map. The type has 4 or 8 bytes. */
void maps_store(tally_dtype type, void *map, uint64_t i, uint64_t entry);

#endif
