/* SPDX-License-Identifier: MIT */
/* swap.c: see swap.h. */
#include "swap.h"

#include <string.h>

#define SWAP(type, swap)                                                                                                       \
    for (uint64_t i = 0; i < parts; i++) {                                                                                     \
        type v;                                                                                                                \
        memcpy(&v, in + i * sizeof(v), sizeof(v));                                                                             \
        v = swap(v);                                                                                                           \
        memcpy(out + i * sizeof(v), &v, sizeof(v));                                                                            \
    }

void swap_parts(void *to, const void *from, uint64_t parts, size_t part_bytes) {
    unsigned char *out = to;
    const unsigned char *in = from;
    switch (part_bytes) {
    case 2:
        SWAP(uint16_t, __builtin_bswap16)
        break;
    case 4:
        SWAP(uint32_t, __builtin_bswap32)
        break;
    case 8:
        SWAP(uint64_t, __builtin_bswap64)
        break;
    default:
        memmove(out, in, parts);
        break;
    }
}
