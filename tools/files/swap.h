/* SPDX-License-Identifier: MIT */
/* swap.h: swaps the byte order of items. */
#ifndef TALLY_SWAP_H
#define TALLY_SWAP_H

#include <stddef.h>
#include <stdint.h>

/* Copies `parts` parts of 1, 2, 4 or 8 bytes, each with its bytes reversed. `to` may be `from`. A
 * complex item has two parts: each is reversed, and the real part stays first. */
void swap_parts(void *to, const void *from, uint64_t parts, size_t part_bytes);

#endif
