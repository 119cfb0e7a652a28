/* SPDX-License-Identifier: MIT */
/* tally/opencl.h: wraps the caller's OpenCL handles, and gives tally's out. It needs no OpenCL
 * header: the types of <CL/cl.h> are spelt out (cl_mem is struct _cl_mem *, and so on). */
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

/* Makes a context over the caller's cl_context and one of its devices. tally retains both. The
 * caller destroys the tally_context. Errors: E_ARGUMENT for NULL and for a device that is not
 * the context's; E_NO_DEVICE without a driver; E_UNSUPPORTED if this library was built without
 * OpenCL. */
TALLY_API tally_status tally_context_create_opencl(struct _cl_context *native, struct _cl_device_id *device,
                                                   tally_context **out);

/* Makes the caller's cl_mem a buffer; tally retains it. Errors: E_ARGUMENT for NULL and for a
 * cl_mem of another cl_context. */
TALLY_API tally_status tally_buffer_wrap_opencl(tally_context *context, struct _cl_mem *memory, tally_buffer **out);

/* Makes the caller's in-order queue a tally_queue; tally retains it. Errors: E_ARGUMENT for NULL,
 * for a queue of another cl_context or device, and for an out-of-order queue. */
TALLY_API tally_status tally_queue_wrap_opencl(tally_context *context, struct _cl_command_queue *native, tally_queue **out);

/* Give the OpenCL handle of an object. It is not retained for the caller. clGetCommandQueueInfo on
 * the queue gives the cl_context and cl_device_id, also those of tally's own context. Errors:
 * E_ARGUMENT for NULL and for an object of another backend. */
TALLY_API tally_status tally_buffer_get_opencl(const tally_buffer *buffer, struct _cl_mem **memory);
TALLY_API tally_status tally_queue_get_opencl(const tally_queue *queue, struct _cl_command_queue **native);

#ifdef __cplusplus
}
#endif

#endif
