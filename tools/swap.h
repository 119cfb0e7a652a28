/* SPDX-License-Identifier: MIT */
/* swap.h: items in the other byte order. */
#ifndef TALLY_SWAP_H
#define TALLY_SWAP_H

#include <stddef.h>
#include <stdint.h>

/* Copies `parts` parts of 1, 2, 4 or 8 bytes, each with its bytes reversed; `to` may be `from`. A
 * complex item is two parts: each is in the other order, and the real one still comes first. */
void swap_parts(void *to, const void *from, uint64_t parts, size_t part_bytes);

#endif
