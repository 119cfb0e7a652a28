/* SPDX-License-Identifier: MIT */
/* The stand-in for libnccl.so.2: standin.h says what it is. */
#define _XOPEN_SOURCE 700
#include "standin.h"

#include <stdlib.h>
#include <string.h>

#include "driver.h"

struct CUstream_st;
struct ncclWindow_vidmem;

#define EXPORT __attribute__((visibility("default")))
enum { SUCCESS = 0, UNHANDLED_CUDA_ERROR = 1, INVALID_ARGUMENT = 4, INVALID_USAGE = 5, IN_PROGRESS = 7 };
enum { UINT8 = 1, SYMMETRIC = 1 };

EXPORT int ncclCommCount(const struct ncclComm *comm, int *count);
EXPORT int ncclCommUserRank(const struct ncclComm *comm, int *rank);
EXPORT int ncclCommCuDevice(const struct ncclComm *comm, int *device);
EXPORT int ncclCommGetAsyncError(struct ncclComm *comm, int *result);
EXPORT const char *ncclGetErrorString(int result);
EXPORT int ncclMemAlloc(void **pointer, size_t bytes);
EXPORT int ncclMemFree(void *pointer);
EXPORT int ncclCommWindowRegister(struct ncclComm *comm, void *pointer, size_t bytes, struct ncclWindow_vidmem **window,
                                  int flags);
EXPORT int ncclCommWindowDeregister(struct ncclComm *comm, struct ncclWindow_vidmem *window);
EXPORT standin_refuse_memory_call standin_refuse_memory;
EXPORT standin_memory_left_call standin_memory_left;
EXPORT int ncclAllGather(const void *send, void *receive, size_t count, int type, struct ncclComm *comm,
                         struct CUstream_st *stream);

int ncclCommCount(const struct ncclComm *comm, int *count) {
    *count = comm->world->size;
    return SUCCESS;
}

int ncclCommUserRank(const struct ncclComm *comm, int *rank) {
    *rank = comm->rank;
    return SUCCESS;
}

int ncclCommCuDevice(const struct ncclComm *comm, int *device) {
    *device = comm->device;
    return SUCCESS;
}

int ncclCommGetAsyncError(struct ncclComm *comm, int *result) {
    *result = comm->lag-- > 1 ? IN_PROGRESS : SUCCESS;
    return SUCCESS;
}

const char *ncclGetErrorString(int result) {
    return result == INVALID_USAGE ? "invalid usage (stand-in)" : "an error (stand-in)";
}

/* ---- windows --------------------------------------------------------------------------------- */

static _Thread_local int refuse_memory;
static int memory_left;

void standin_refuse_memory(int refuse) {
    refuse_memory = refuse;
}

int standin_memory_left(void) {
    return __atomic_load_n(&memory_left, __ATOMIC_RELAXED);
}

/* NCCL's takes the thread's current device, so one must be there. */
int ncclMemAlloc(void **pointer, size_t bytes) {
    if (standin_pushed() != 1) return INVALID_USAGE;
    if (refuse_memory || !(*pointer = aligned_alloc(4096, (bytes + 4095) / 4096 * 4096))) return UNHANDLED_CUDA_ERROR;
    __atomic_fetch_add(&memory_left, 1, __ATOMIC_RELAXED);
    return SUCCESS;
}

int ncclMemFree(void *pointer) {
    free(pointer);
    __atomic_fetch_sub(&memory_left, 1, __ATOMIC_RELAXED);
    return SUCCESS;
}

/* Waits for the other ranks, as NCCL's does. */
int ncclCommWindowRegister(struct ncclComm *comm, void *pointer, size_t bytes, struct ncclWindow_vidmem **window, int flags) {
    *window = NULL;
    pthread_barrier_wait(&comm->world->barrier);
    if (comm->no_window == 1 || comm->window || !pointer || flags != SYMMETRIC) return INVALID_USAGE;
    if (comm->no_window == 2) return SUCCESS;
    comm->window = pointer;
    comm->window_bytes = bytes;
    comm->registered++;
    *window = (struct ncclWindow_vidmem *)(void *)comm->window;
    return SUCCESS;
}

int ncclCommWindowDeregister(struct ncclComm *comm, struct ncclWindow_vidmem *window) {
    if (!window || (char *)window != comm->window) return INVALID_ARGUMENT;
    comm->window = NULL;
    return SUCCESS;
}

static int is_in_window(const struct ncclComm *comm, const char *bytes, size_t count) {
    return comm->window && bytes >= comm->window && bytes + count <= comm->window + comm->window_bytes;
}

/* ---- gathering ------------------------------------------------------------------------------- */

int ncclAllGather(const void *send, void *receive, size_t count, int type, struct ncclComm *comm, struct CUstream_st *stream) {
    standin_world *world = comm->world;
    (void)stream;
    if (type != UINT8 || !send || !receive || !count) return INVALID_ARGUMENT;
    /* A rank's own bytes may lie in their place among the gathered ones, and nowhere else there. */
    char *own = (char *)receive + (size_t)comm->rank * count;
    if (send != own && (const char *)send + count > (char *)receive &&
        (const char *)send < (char *)receive + (size_t)world->size * count)
        return INVALID_ARGUMENT;
    if (comm->fail > 0) return comm->fail--, INVALID_USAGE;
    /* NCCL's kernel for windows may begin before the kernel before it has ended. */
    if (is_in_window(comm, receive, (size_t)world->size * count) && !standin_separated())
        __atomic_fetch_add(&world->mismatches, 1, __ATOMIC_RELAXED);
    world->send[comm->rank] = send;
    world->bytes[comm->rank] = count;
    world->windows[comm->rank] = is_in_window(comm, receive, (size_t)world->size * count);
    pthread_barrier_wait(&world->barrier);
    for (int i = 0; i < world->size; i++) {
        if (world->bytes[i] != count || world->windows[i] != world->windows[comm->rank])
            __atomic_fetch_add(&world->mismatches, 1, __ATOMIC_RELAXED);
        char *to = (char *)receive + (size_t)i * count;
        if (world->bytes[i] == count && to != world->send[i]) memcpy(to, world->send[i], count);
    }
    comm->in_window += world->windows[comm->rank];
    pthread_barrier_wait(&world->barrier);
    comm->calls++;
    return comm->lag > 0 ? IN_PROGRESS : SUCCESS;
}
