/* SPDX-License-Identifier: MIT */
/* program.h: declarations shared by the files of the program tally-mpi. */
#ifndef TALLY_RANKS_PROGRAM_H
#define TALLY_RANKS_PROGRAM_H

#include <tally/mpi.h>

#include "tools/reduce/reduce.h"

/* What all processes have in common. */
typedef struct world {
    int rank, size;
    const char *parts; /* the argument of --parts, or NULL */
} world;

/* The text of a failure on this rank; "" for none. */
typedef struct problem {
    char text[1024];
} problem;

/* Collective. Tells whether no rank has a problem; otherwise rank 0 reports that of the lowest. */
bool world_is_well(const world *w, const problem *mine);

/* This rank's share of a file, or of as many files as the operator has inputs. */
typedef struct share {
    void *items[TALLY_MAX_INPUTS]; /* freed by share_close */
    uint64_t n, total;             /* items of this rank; of the file, 0 if it is this rank's alone */
    tally_dtype dtype;
} share;

/* share.c: reads this rank's items of the files, or with --parts those of its own file. Progress is
 * rank 0's. Not collective. `raw` is the type that --dtype gives, or 0. */
void share_open(share *s, const world *w, char *const *files, uint32_t inputs, tally_dtype raw, bool quiet, problem *failed);
void share_close(share *s);

/* device.c: opens this rank's device. Processes of one machine share its CUDA devices in turn,
 * unless the selection names one. */
tally_status device_open(const char *select, tally_context **out);

#endif
