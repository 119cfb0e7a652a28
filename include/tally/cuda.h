/* SPDX-License-Identifier: MIT */
/* tally/cuda.h: wraps the caller's CUDA handles, and gives tally's out. It needs no CUDA header:
 * the types of <cuda.h> are spelt out (CUcontext is struct CUctx_st *, CUstream and cudaStream_t
 * are struct CUstream_st *, CUdeviceptr is unsigned long long). */
#ifndef TALLY_CUDA_H
#define TALLY_CUDA_H

#include <tally/tally.h>

#ifdef __cplusplus
extern "C" {
#endif

struct CUctx_st;
struct CUstream_st;

/* Makes a context over the caller's CUcontext, which must outlive it. The caller destroys the
 * tally_context. Compare tally_context_create("cuda"): it uses the device's primary context, as the
 * CUDA runtime does. Errors: E_ARGUMENT for NULL; E_NO_DEVICE without a driver; E_UNSUPPORTED if
 * this library was built without CUDA; E_DEVICE. */
TALLY_API tally_status tally_context_create_cuda(struct CUctx_st *native, tally_context **out);

/* Makes `bytes` bytes of the caller's device memory a buffer. The memory must outlive the buffer.
 * Errors: E_ARGUMENT for NULL and for a context of another backend. */
TALLY_API tally_status tally_buffer_wrap_cuda(tally_context *context, unsigned long long pointer, uint64_t bytes,
                                              tally_buffer **out);

/* Makes the caller's stream a queue; NULL is the default stream. The stream must outlive the queue.
 * Errors: E_ARGUMENT for NULL contexts and outputs and for a context of another backend. */
TALLY_API tally_status tally_queue_wrap_cuda(tally_context *context, struct CUstream_st *stream, tally_queue **out);

/* Give the CUDA handle of an object. The handle stays tally's. Errors: E_ARGUMENT for NULL and for
 * an object of another backend. */
TALLY_API tally_status tally_buffer_get_cuda(const tally_buffer *buffer, unsigned long long *pointer);
TALLY_API tally_status tally_queue_get_cuda(const tally_queue *queue, struct CUstream_st **stream);

#ifdef __cplusplus
}
#endif

#endif
