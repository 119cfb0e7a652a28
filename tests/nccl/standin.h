/* SPDX-License-Identifier: MIT */
/*
 * standin.h: a library with the calls of NCCL that libtally_nccl uses, for tests without GPUs. Its
 * ranks are threads of one process, and its memory is the host's. ncclAllGather copies at once.
 */
#ifndef TALLY_TESTS_NCCL_STANDIN_H
#define TALLY_TESTS_NCCL_STANDIN_H

#include <pthread.h>
#include <stddef.h>

#define STANDIN_RANKS 16

/* The ranks that meet. */
typedef struct standin_world {
    pthread_barrier_t barrier;
    const void *send[STANDIN_RANKS];
    size_t bytes[STANDIN_RANKS];
    int mismatches; /* calls in which the ranks sent different numbers of bytes */
    int size;
} standin_world;

struct ncclComm {
    standin_world *world;
    int rank, device;
    int fail;  /* the next calls of ncclAllGather that fail with ncclInvalidUsage */
    int lag;   /* the next calls that are still in progress when they return */
    int calls; /* of ncclAllGather that did not fail */
};

#endif
