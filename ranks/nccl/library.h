/* SPDX-License-Identifier: MIT */
/* library.h: NCCL's calls, opened at run time. The types are those of nccl.h, which is not needed
 * (tests/ranks/nccl_types.c compares them). */
#ifndef TALLY_RANKS_NCCL_LIBRARY_H
#define TALLY_RANKS_NCCL_LIBRARY_H

#include <stdbool.h>
#include <stddef.h>

#include <tally/nccl.h>

struct CUctx_st;
struct CUgraph_st;
struct CUgraphNode_st;
struct CUstream_st;
struct ncclWindow_vidmem;

/* Values of ncclResult_t and ncclDataType_t, and a flag of ncclCommWindowRegister. */
enum { NCCL_SUCCESS = 0, NCCL_IN_PROGRESS = 7 };
enum { NCCL_UINT8 = 1 };
enum { NCCL_WINDOW_SYMMETRIC = 1 };

/* Values of CUstreamCaptureStatus and CUstreamUpdateCaptureDependencies_flags. */
enum { CU_CAPTURE_ACTIVE = 1 };
enum { CU_SET_DEPENDENCIES = 1 };

/* X(result, name, parameters): the calls that every version has. Enumerations are int. */
#define NCCL_CALLS(X)                                                                                                          \
    X(int, CommCount, (struct ncclComm * comm, int *count))                                                                    \
    X(int, CommUserRank, (struct ncclComm * comm, int *rank))                                                                  \
    X(int, CommCuDevice, (struct ncclComm * comm, int *device))                                                                \
    X(int, CommGetAsyncError, (struct ncclComm * comm, int *result))                                                           \
    X(int, AllGather,                                                                                                          \
      (const void *send, void *receive, size_t count, int type, struct ncclComm *comm, struct CUstream_st *stream))            \
    X(const char *, GetErrorString, (int result))

/* The calls for windows, from NCCL 2.27 on. */
#define NCCL_WINDOW_CALLS(X)                                                                                                   \
    X(int, MemAlloc, (void **pointer, size_t bytes))                                                                           \
    X(int, MemFree, (void *pointer))                                                                                           \
    X(int, CommWindowRegister,                                                                                                 \
      (struct ncclComm * comm, void *pointer, size_t bytes, struct ncclWindow_vidmem **window, int flags))                     \
    X(int, CommWindowDeregister, (struct ncclComm * comm, struct ncclWindow_vidmem * window))

/* The driver's calls for a stream's context, its capture, and work on it. */
#define NCCL_DRIVER_CALLS(X)                                                                                                   \
    X(int, StreamGetCtx, (struct CUstream_st * stream, struct CUctx_st * *context))                                            \
    X(int, CtxPushCurrent_v2, (struct CUctx_st * context))                                                                     \
    X(int, CtxPopCurrent_v2, (struct CUctx_st * *context))                                                                     \
    X(int, MemsetD8Async, (unsigned long long to, unsigned char value, size_t bytes, struct CUstream_st *stream))              \
    X(int, StreamGetCaptureInfo_v2,                                                                                            \
      (struct CUstream_st * stream, int *status, uint64_t *id, struct CUgraph_st **graph,                                      \
       struct CUgraphNode_st *const **nodes, size_t *count))                                                                   \
    X(int, GraphAddEmptyNode,                                                                                                  \
      (struct CUgraphNode_st * *node, struct CUgraph_st * graph, struct CUgraphNode_st *const *before, size_t count))          \
    X(int, StreamUpdateCaptureDependencies,                                                                                    \
      (struct CUstream_st * stream, struct CUgraphNode_st * *nodes, size_t count, unsigned flags))

typedef struct nccl_library {
#define FIELD(result, name, parameters) result(*name) parameters;
    NCCL_CALLS(FIELD)
    NCCL_WINDOW_CALLS(FIELD)
    NCCL_DRIVER_CALLS(FIELD)
#undef FIELD
    bool has_windows; /* the calls for windows and the driver's are there */
} nccl_library;

/* Opens the library, once. Returns NULL if that fails; tally_last_error() says why. Errors:
 * E_NO_DEVICE. */
const nccl_library *nccl_open(void);

/* Returns the result of an NCCL call. Waits for a communicator that does not block and is still at
 * work. */
int nccl_result(const nccl_library *library, struct ncclComm *comm, int result);

/* Returns the status for the result of an NCCL call, as nccl_result has it; the text is NCCL's. */
tally_status nccl_status(const nccl_library *library, struct ncclComm *comm, int result, const char *call);

#endif
