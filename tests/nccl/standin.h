/* SPDX-License-Identifier: MIT */
/*
 * standin.h: a library with the calls of NCCL that libtally_nccl uses, for tests without GPUs. Its
 * ranks are threads of one process, and its memory is the host's. ncclAllGather copies at once. A
 * communicator has one window at most.
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
    int windows[STANDIN_RANKS]; /* whether the call's bytes lie in the rank's window */
    int mismatches;             /* calls in which the ranks differed in bytes or in windows, or that
                                   took bytes of a window right behind a kernel */
    int size;
} standin_world;

struct ncclComm {
    standin_world *world;
    int rank, device;
    int fail;     /* the next calls of ncclAllGather that fail with ncclInvalidUsage */
    int lag;      /* the next calls that are still in progress when they return */
    int calls;    /* of ncclAllGather that did not fail */
    char *window; /* its first byte */
    size_t window_bytes;
    int no_window;  /* ncclCommWindowRegister: 1: fails, 2: gives none */
    int registered; /* the calls that gave a window */
    int in_window;  /* the calls of ncclAllGather in it */
};

/* Makes ncclMemAlloc fail in this thread from now on, or not. The name of a symbol: the test opens
 * the library at run time. */
#define STANDIN_REFUSE_MEMORY "standin_refuse_memory"
typedef void standin_refuse_memory_call(int refuse);

/* Returns the number of pieces of memory that are not freed. */
#define STANDIN_MEMORY_LEFT "standin_memory_left"
typedef int standin_memory_left_call(void);

#endif
