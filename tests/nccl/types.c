/* SPDX-License-Identifier: MIT */
/* The types of ranks/nccl/library.h are those of NCCL's own header. This file is compiled where
 * that is here; it has nothing to run. */
#include <nccl.h>

#include "ranks/nccl/library.h"

_Static_assert((int)NCCL_SUCCESS == (int)ncclSuccess, "ncclSuccess");
_Static_assert((int)NCCL_IN_PROGRESS == (int)ncclInProgress, "ncclInProgress");
_Static_assert((int)NCCL_UINT8 == (int)ncclUint8, "ncclUint8");
_Static_assert(sizeof(ncclResult_t) == sizeof(int) && sizeof(ncclDataType_t) == sizeof(int), "enumerations are int");
_Static_assert(__builtin_types_compatible_p(ncclComm_t, struct ncclComm *), "ncclComm_t");
_Static_assert(__builtin_types_compatible_p(cudaStream_t, struct CUstream_st *), "cudaStream_t");

/* Same parameters, but for enumerations and const. */
typedef ncclResult_t all_gather(const void *, void *, size_t, ncclDataType_t, ncclComm_t, cudaStream_t);
typedef ncclResult_t of_comm(const ncclComm_t, int *);
typedef ncclResult_t async_error(ncclComm_t, ncclResult_t *);
typedef const char *error_string(ncclResult_t);
_Static_assert(__builtin_types_compatible_p(__typeof__(ncclAllGather), all_gather), "ncclAllGather");
_Static_assert(__builtin_types_compatible_p(__typeof__(ncclCommCount), of_comm), "ncclCommCount");
_Static_assert(__builtin_types_compatible_p(__typeof__(ncclCommUserRank), of_comm), "ncclCommUserRank");
_Static_assert(__builtin_types_compatible_p(__typeof__(ncclCommCuDevice), of_comm), "ncclCommCuDevice");
_Static_assert(__builtin_types_compatible_p(__typeof__(ncclCommGetAsyncError), async_error), "ncclCommGetAsyncError");
_Static_assert(__builtin_types_compatible_p(__typeof__(ncclGetErrorString), error_string), "ncclGetErrorString");

#if NCCL_VERSION_CODE >= NCCL_VERSION(2, 27, 0)
typedef ncclResult_t mem_alloc(void **, size_t);
typedef ncclResult_t mem_free(void *);
typedef ncclResult_t window_register(ncclComm_t, void *, size_t, struct ncclWindow_vidmem **, int);
typedef ncclResult_t window_deregister(ncclComm_t, struct ncclWindow_vidmem *);
_Static_assert(NCCL_WINDOW_SYMMETRIC == NCCL_WIN_COLL_SYMMETRIC, "NCCL_WIN_COLL_SYMMETRIC");
_Static_assert(__builtin_types_compatible_p(__typeof__(ncclMemAlloc), mem_alloc), "ncclMemAlloc");
_Static_assert(__builtin_types_compatible_p(__typeof__(ncclMemFree), mem_free), "ncclMemFree");
_Static_assert(__builtin_types_compatible_p(__typeof__(ncclCommWindowRegister), window_register), "ncclCommWindowRegister");
_Static_assert(__builtin_types_compatible_p(__typeof__(ncclCommWindowDeregister), window_deregister),
               "ncclCommWindowDeregister");
#endif
