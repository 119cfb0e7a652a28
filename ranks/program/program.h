/* SPDX-License-Identifier: MIT */
/* program.h: declarations shared by the files of the program tally-mpi. */
#ifndef TALLY_RANKS_PROGRAM_H
#define TALLY_RANKS_PROGRAM_H

#include <tally/mpi.h>

#include "tools/reduce/segments.h"

/* The text that stands for the rank in a pattern of --parts. */
#define PART_RANK "%d"

/* The state that all ranks share. */
typedef struct world {
    int rank, size;
    bool parts;    /* --parts is given: a file is a pattern, and each rank has its own */
    bool progress; /* --progress is given: it is shown also where stderr is no terminal */
} world;

/* The text of a failure on this rank; "" for none. */
typedef struct problem {
    char text[1024];
} problem;

/* Returns true if no rank has a problem. Otherwise rank 0 reports the problem of the lowest rank
 * that has one. Collective. */
bool world_is_well(const world *w, const problem *mine);
/* Ends a call of libtally_mpi: returns true if it succeeded, else rank 0 reports the failure. With
 * `alone` the call was of each rank alone. Collective. */
bool world_has(const world *w, tally_status status, bool alone);

/* This rank's share of a file, or of as many files as the operator has inputs. */
typedef struct share {
    void *items[TALLY_MAX_INPUTS]; /* freed by share_close */
    tally_dtype dtype;
    npy_shape shape;  /* of the first file that is not of shape (); raw items have one dimension */
    uint64_t n;       /* rows of this rank */
    uint64_t rows;    /* of the file; a row is an item, or with --axis the items of all kept axes */
    uint64_t columns; /* items of a row */
    bool by_columns;  /* the ranks share the columns: each has all rows */
    uint64_t first;   /* row of this rank, or with by_columns the column */
    uint64_t own;     /* columns of this rank */
    uint64_t read;    /* bytes that have been read */
} share;

/* share.c: reads this rank's items of the files, or with --parts those of its own file. Progress is
 * rank 0's. Not collective. */
void share_open(share *s, const world *w, char *const *files, const reduce_request *r, problem *failed);
void share_close(share *s);

/* axes.c: finds rows and columns of a shape; the reduced axes must come first. */
bool axes_divide(const reduce_request *r, const char *path, const npy_shape *shape, share *s, problem *failed);
/* Reduces the columns. Rank 0 gets the results in o->result, which the caller frees. With
 * by_columns `mpi` is of this rank alone. All ranks return the same; a failure has been reported.
 * Collective. */
bool axes_reduce(const world *w, const reduce_request *r, const share *s, tally_mpi *mpi, reduce_outcome *o);
/* Divides the columns among the ranks, each of which reads a part of each row. */
void axes_share_columns(const world *w, share *s);
/* Prints the results. */
void axes_print(const reduce_request *r, char *const *files, const share *s, const reduce_outcome *o, size_t result_bytes);

/* device.c: opens this rank's device. Processes of one machine share its CUDA devices in turn,
 * unless the selection names one. Collective; the failure is this rank's. */
cli_exit device_open(const cli_options *options, tally_context **out, problem *failed);

#endif
