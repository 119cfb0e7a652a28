/* SPDX-License-Identifier: MIT */
/*
 * tally/cuda.h: CUDA's native handles in and out. It needs no CUDA header: the types are those of <cuda.h>, spelt out
 * (CUcontext is struct CUctx_st *, CUstream and cudaStream_t are struct CUstream_st *, CUdeviceptr is unsigned long long).
 */
#ifndef TALLY_CUDA_H
#define TALLY_CUDA_H

#include <tally/tally.h>

#ifdef __cplusplus
extern "C" {
#endif

struct CUctx_st;
struct CUstream_st;

/* A context over the caller's CUcontext, which must outlive it. Without one, tally_context_create("cuda") uses the device's
 * primary context, the one the CUDA runtime uses. Errors: E_ARGUMENT; E_NO_DEVICE without a driver; E_UNSUPPORTED when this
 * library was built without CUDA. */
TALLY_API tally_status tally_context_create_cuda(struct CUctx_st *native, tally_context **out);

/* Device memory of the caller's, which must outlive the buffer. Errors: E_ARGUMENT for a context of another backend. */
TALLY_API tally_status tally_buffer_wrap_cuda(tally_context *context, unsigned long long pointer, uint64_t bytes,
                                              tally_buffer **out);

/* A stream of the caller's, which must outlive the queue; NULL is the default stream. */
TALLY_API tally_status tally_queue_wrap_cuda(tally_context *context, struct CUstream_st *stream, tally_queue **out);

/* The handles inside. They stay tally's. Errors: E_ARGUMENT for an object of another backend. */
TALLY_API tally_status tally_buffer_get_cuda(const tally_buffer *buffer, unsigned long long *pointer);
TALLY_API tally_status tally_queue_get_cuda(const tally_queue *queue, struct CUstream_st **stream);

#ifdef __cplusplus
}
#endif

#endif
