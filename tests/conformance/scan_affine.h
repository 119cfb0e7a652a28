/* SPDX-License-Identifier: MIT */
/* scan_affine.h: a custom op for scans, and what the oracle computes for it. */
#ifndef TALLY_TESTS_SCAN_AFFINE_H
#define TALLY_TESTS_SCAN_AFFINE_H

#include "scan_run.h"

/* The maps x -> scale * x + shift, modulo 2^32. Their composition is not commutative, so an
 * exchange of operands shows. It also uses n and the item's index. */
typedef struct scan_affine {
    uint32_t scale, shift, last;
} scan_affine;

#define SCAN_AFFINE_FIELDS 3
extern const tally_op_field scan_affine_fields[SCAN_AFFINE_FIELDS];
extern const scan_op scan_affine_maps;
/* Makes the operator. The caller destroys it. */
tally_custom_op *scan_affine_op(void);

#endif
