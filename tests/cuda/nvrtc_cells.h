/* SPDX-License-Identifier: MIT */
/*
 * nvrtc_cells.h: the programs of reductions that test_nvrtc compiles. A cell is one (architecture,
 * variant, group, ops, dtype, level). FULL_ARCH compiles every cell of the canonical variant. The
 * other architectures and the ladder compile a part, which has every type of accumulator. With
 * TALLY_TEST_FULL=1 every architecture compiles every cell, which takes hours.
 */
#ifndef TALLY_TESTS_NVRTC_CELLS_H
#define TALLY_TESTS_NVRTC_CELLS_H

#include "reduce/reduce.h"
#include "report.h"
#include "tests/support/test_main.h"

#define ARCHS TALLY_ARRAY_LENGTH(nvrtc_archs)
#define FULL_ARCH 90

extern const tally_backend tally_backend_cuda;

typedef struct cell {
    int arch;
    tally_reduce_desc desc;
    uint32_t group_threads, acc_bytes;
    char name[96];
} cell;

/* Returns a device of this architecture. */
tally_device_info cell_device(int arch);

/* Returns the chosen cells, or NULL if there is no memory. cells_destroy frees them and their
 * ops. */
cell *cells_create(const test_choice *choice, size_t *count);
void cells_destroy(cell *cells);

/* Returns the fewest programs that an architecture must have compiled. In a sampled run that is a
 * quarter of its share. */
size_t cells_floor(int arch);

#endif
