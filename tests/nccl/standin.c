/* SPDX-License-Identifier: MIT */
/* The stand-in for libnccl.so.2: standin.h says what it is. */
#define _XOPEN_SOURCE 700
#include "standin.h"

#include <string.h>

struct CUstream_st;

#define EXPORT __attribute__((visibility("default")))
enum { SUCCESS = 0, INVALID_ARGUMENT = 4, INVALID_USAGE = 5, IN_PROGRESS = 7, UINT8 = 1 };

EXPORT int ncclCommCount(const struct ncclComm *comm, int *count);
EXPORT int ncclCommUserRank(const struct ncclComm *comm, int *rank);
EXPORT int ncclCommCuDevice(const struct ncclComm *comm, int *device);
EXPORT int ncclCommGetAsyncError(struct ncclComm *comm, int *result);
EXPORT const char *ncclGetErrorString(int result);
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
    world->send[comm->rank] = send;
    world->bytes[comm->rank] = count;
    pthread_barrier_wait(&world->barrier);
    for (int i = 0; i < world->size; i++) {
        if (world->bytes[i] != count) __atomic_fetch_add(&world->mismatches, 1, __ATOMIC_RELAXED);
        char *to = (char *)receive + (size_t)i * count;
        if (world->bytes[i] == count && to != world->send[i]) memcpy(to, world->send[i], count);
    }
    pthread_barrier_wait(&world->barrier);
    comm->calls++;
    return comm->lag > 0 ? IN_PROGRESS : SUCCESS;
}
