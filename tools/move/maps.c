/* SPDX-License-Identifier: MIT */
/* maps.c: see maps.h. Entries are computed one by one, so a map needs no memory but its own. */
#include "maps.h"

#include <string.h>

const char *const maps_names[MAPS_KINDS] = {"identity", "reversed", "strided", "random"};

/* Returns an entry of a strided map. A table of MAPS_STRIDE columns is filled row by row with 0 to
 * n - 1. The map lists the columns. If the last row is not full, the first columns are longer by
 * one item. */
static uint64_t strided(uint64_t n, uint64_t i) {
    const uint64_t rows = n / MAPS_STRIDE, longer = n % MAPS_STRIDE;
    if (i < longer * (rows + 1)) return i % (rows + 1) * MAPS_STRIDE + i / (rows + 1);
    const uint64_t rest = i - longer * (rows + 1);
    return rest % rows * MAPS_STRIDE + longer + rest / rows;
}

/* Returns an entry of a random permutation. Words just wide enough for n are permuted by steps that
 * can be undone: multiplications by odd numbers, and shifts that are xored in. A word that is not
 * below n is permuted again until it is. */
static uint64_t shuffled(uint64_t n, uint64_t i) {
    unsigned bits = 1;
    while (bits < 64 && (n - 1) >> bits) bits++;
    const uint64_t mask = ~UINT64_C(0) >> (64 - bits);
    const unsigned half = (bits + 1) / 2;
    do {
        i = (i * UINT64_C(0x9e3779b97f4a7c15) + UINT64_C(0xd1b54a32d192ed03)) & mask;
        i ^= i >> half;
        i = i * UINT64_C(0xbf58476d1ce4e5b9) & mask;
        i ^= i >> half;
        i = i * UINT64_C(0x94d049bb133111eb) & mask;
        i ^= i >> half;
    } while (i >= n);
    return i;
}

uint64_t maps_entry(maps_kind kind, uint64_t n, uint64_t i) {
    switch (kind) {
    case MAPS_REVERSED:
        return n - 1 - i;
    case MAPS_STRIDED:
        return strided(n, i);
    case MAPS_RANDOM:
        return shuffled(n, i);
    default:
        return i;
    }
}

void maps_store(tally_dtype type, void *map, uint64_t i, uint64_t entry) {
    const size_t bytes = tally_dtype_bytes(type);
    /* Lower bytes come first. Like the library, this is only for little-endian machines. */
    memcpy((char *)map + i * bytes, &entry, bytes);
}
