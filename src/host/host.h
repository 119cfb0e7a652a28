/* SPDX-License-Identifier: MIT */
/* host.h: reductions of host arrays by the programs that were compiled with the library. */
#ifndef TALLY_SRC_HOST_H
#define TALLY_SRC_HOST_H

#include "host/programs.h"
#include "reduce/reduce.h"

/* Combines accumulators, of which there is at least one, as the aligned tree over their order. One
 * follows another after `step` bytes. */
void tally_host_combine_tree(const tally_host_program *program, const unsigned char *accs, uint64_t step, uint64_t count,
                             unsigned char *to);

#endif
