/* SPDX-License-Identifier: MIT */
/* host.h: reductions of host arrays by the programs that were compiled with the library. */
#ifndef TALLY_SRC_HOST_H
#define TALLY_SRC_HOST_H

#include "host/programs.h"
#include "reduce/reduce.h"

/* The programs of the level `compensated`, as tally_host_numbers has the others. Made by the build
 * for f32 and f64. */
extern const uint16_t tally_host_compensated[TALLY_OP_END][TALLY_DTYPE_END];
/* Returns the program of a built-in op and a level for this processor; NULL if there is none. */
const tally_host_program *tally_host_program_at(tally_accuracy accuracy, unsigned op, unsigned in);
/*
 * Returns the program of a term, and the type of the items that it takes; NULL if there is none. A
 * float that is computed in another type than its own is converted to that, which is exact. So f64
 * accumulators of f32 items are those of the same items as f64.
 */
const tally_host_program *tally_host_program_of(const tally_terms *terms, const tally_term *term, tally_dtype *in);

/* Tells whether n items of each input do not fit the caches of the cores that have them. */
bool tally_host_are_far(const tally_host_program *program, uint64_t n, uint32_t threads);

/* A binary counter of accumulators. Where bit k of `count` is set, level[k] is that of 2^k
 * leaves. */
typedef struct tally_host_counter {
    _Alignas(64) unsigned char level[64][TALLY_HOST_ACC_BYTES];
    uint64_t count; /* of leaves */
} tally_host_counter;

/* Takes the next leaf. Its memory, which is aligned, is overwritten. */
void tally_host_push(const tally_host_program *program, tally_host_counter *counter, unsigned char *acc);
/* Writes the combination of all leaves, of which there is at least one. */
void tally_host_total(const tally_host_program *program, tally_host_counter *counter, unsigned char *to);

/* Combines n > 0 items of each input in at most `threads` threads, in the canonical order. Item 0
 * has the index `base`, a multiple of the items of the subtree that they are. The caller sees to
 * the floating-point environment. */
void tally_host_fold(const tally_host_program *program, const void *const *items, const void *params, uint64_t base, uint64_t n,
                     uint32_t threads, unsigned char *acc);

#endif
