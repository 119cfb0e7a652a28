/* SPDX-License-Identifier: MIT */
/* library.h: NCCL's calls, opened at run time. The types are those of nccl.h, which is not needed
 * (tests/ranks/nccl_types.c compares them). */
#ifndef TALLY_RANKS_NCCL_LIBRARY_H
#define TALLY_RANKS_NCCL_LIBRARY_H

#include <stddef.h>

#include <tally/nccl.h>

struct CUstream_st;

/* Values of ncclResult_t and ncclDataType_t. */
enum { NCCL_SUCCESS = 0, NCCL_IN_PROGRESS = 7 };
enum { NCCL_UINT8 = 1 };

/* X(result, name, parameters): the calls that are used. Enumerations are int. */
#define NCCL_CALLS(X)                                                                                                          \
    X(int, CommCount, (struct ncclComm * comm, int *count))                                                                    \
    X(int, CommUserRank, (struct ncclComm * comm, int *rank))                                                                  \
    X(int, CommCuDevice, (struct ncclComm * comm, int *device))                                                                \
    X(int, CommGetAsyncError, (struct ncclComm * comm, int *result))                                                           \
    X(int, AllGather,                                                                                                          \
      (const void *send, void *receive, size_t count, int type, struct ncclComm *comm, struct CUstream_st *stream))            \
    X(const char *, GetErrorString, (int result))

typedef struct nccl_library {
#define FIELD(result, name, parameters) result(*name) parameters;
    NCCL_CALLS(FIELD)
#undef FIELD
} nccl_library;

/* Opens the library, once. Returns NULL if that fails; tally_last_error() says why. Errors:
 * E_NO_DEVICE. */
const nccl_library *nccl_open(void);

/* Returns the status for the result of an NCCL call; the text is NCCL's. Waits for a communicator
 * that does not block and is still at work. */
tally_status nccl_status(const nccl_library *library, struct ncclComm *comm, int result, const char *call);

#endif
