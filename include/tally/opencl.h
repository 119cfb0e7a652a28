/* SPDX-License-Identifier: MIT */
/*
 * tally/opencl.h: OpenCL's native handles in and out. It needs no OpenCL header: the types are those of <CL/cl.h>, spelt out
 * (cl_mem is struct _cl_mem *, and so on).
 */
#ifndef TALLY_OPENCL_H
#define TALLY_OPENCL_H

#include <tally/tally.h>

#ifdef __cplusplus
extern "C" {
#endif

struct _cl_context;
struct _cl_device_id;
struct _cl_mem;
struct _cl_command_queue;

/* A context over the caller's cl_context and one of its devices; tally retains both. Errors: E_ARGUMENT for NULL or a device that
 * is not the context's; E_UNSUPPORTED when this library was built without OpenCL. */
TALLY_API tally_status tally_context_create_opencl(struct _cl_context *native, struct _cl_device_id *device,
                                                   tally_context **out);

/* The caller's cl_mem; tally retains it. Errors: E_ARGUMENT for a cl_mem of another cl_context. */
TALLY_API tally_status tally_buffer_wrap_opencl(tally_context *context, struct _cl_mem *memory, tally_buffer **out);

/* The caller's in-order queue; tally retains it. Errors: E_ARGUMENT for a queue of another cl_context or device, or out of order. */
TALLY_API tally_status tally_queue_wrap_opencl(tally_context *context, struct _cl_command_queue *native, tally_queue **out);

/* The handles inside; not retained for the caller. Of tally's own context, clGetCommandQueueInfo on a queue gives the cl_context and the
 * cl_device_id. Errors: E_ARGUMENT for an object of another backend. */
TALLY_API tally_status tally_buffer_get_opencl(const tally_buffer *buffer, struct _cl_mem **memory);
TALLY_API tally_status tally_queue_get_opencl(const tally_queue *queue, struct _cl_command_queue **native);

#ifdef __cplusplus
}
#endif

#endif
