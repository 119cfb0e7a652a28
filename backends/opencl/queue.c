/* SPDX-License-Identifier: MIT */
/* Queues: waiting, copies, launches and time. */
#include <stdlib.h>
#include <string.h>

#include "opencl.h"

/* Checks that the caller's queue is of this context and device, and in order. */
static tally_status check_native(const ocl_device *device, cl_command_queue native) {
    cl_context context = NULL;
    cl_device_id id = NULL;
    cl_command_queue_properties properties = 0;
    cl_int error = tally_opencl.clGetCommandQueueInfo(native, CL_QUEUE_CONTEXT, sizeof(context), &context, NULL);
    if (!error) error = tally_opencl.clGetCommandQueueInfo(native, CL_QUEUE_DEVICE, sizeof(id), &id, NULL);
    if (!error) error = tally_opencl.clGetCommandQueueInfo(native, CL_QUEUE_PROPERTIES, sizeof(properties), &properties, NULL);
    if (error) return tally_opencl_fail(error, "clGetCommandQueueInfo"), tally_fail(TALLY_E_ARGUMENT, "%s", tally_last_error());
    if (context != device->context || id != device->id)
        return tally_fail(TALLY_E_ARGUMENT, "the queue is of another cl_context or device");
    if (properties & CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE)
        return tally_fail(TALLY_E_ARGUMENT, "the queue is out of order; tally needs one in order");
    return TALLY_OK;
}

tally_status tally_opencl_queue_open(void *opaque, int wrap, void *native, void **out) {
    const ocl_device *device = opaque;
    tally_status status = tally_opencl_check_process();
    if (status) return status;
    ocl_queue *queue = calloc(1, sizeof(*queue));
    if (!queue) return tally_fail(TALLY_E_MEMORY, "out of memory");
    queue->context = device->context;
    cl_int error = CL_SUCCESS;
    if (wrap) {
        status = check_native(device, native);
        if (!status) error = tally_opencl.clRetainCommandQueue(native);
        queue->handle = native;
    } else {
        queue->handle = tally_opencl.clCreateCommandQueue(device->context, device->id, CL_QUEUE_PROFILING_ENABLE, &error);
    }
    if (error) status = tally_opencl_fail(error, wrap ? "clRetainCommandQueue" : "clCreateCommandQueue");
    if (status)
        free(queue);
    else
        *out = queue;
    return status;
}

void tally_opencl_queue_close(void *device, void *opaque) {
    (void)device;
    ocl_queue *queue = opaque;
    tally_opencl.clReleaseCommandQueue(queue->handle);
    free(queue);
}

tally_status tally_opencl_queue_wait(void *opaque) {
    const ocl_queue *queue = opaque;
    const tally_status status = tally_opencl_check_process();
    if (status) return status;
    const cl_int error = tally_opencl.clFinish(queue->handle);
    return error ? tally_opencl_fail(error, "clFinish") : TALLY_OK;
}

void *tally_opencl_queue_native(void *opaque) {
    return ((const ocl_queue *)opaque)->handle;
}

/* ---- copies ---------------------------------------------------------------------------------- */

tally_status tally_opencl_copy_in(void *opaque, void *mem, uint64_t offset, const void *host, uint64_t bytes) {
    const ocl_queue *queue = opaque;
    const tally_status status = tally_opencl_check_process();
    if (status) return status;
    const cl_int error = tally_opencl.clEnqueueWriteBuffer(queue->handle, ((ocl_mem *)mem)->handle, CL_FALSE, offset, bytes,
                                                           host, 0, NULL, NULL);
    return error ? tally_opencl_fail(error, "clEnqueueWriteBuffer(%llu bytes)", (unsigned long long)bytes) : TALLY_OK;
}

tally_status tally_opencl_copy_out(void *opaque, void *mem, uint64_t offset, void *host, uint64_t bytes) {
    const ocl_queue *queue = opaque;
    const tally_status status = tally_opencl_check_process();
    if (status) return status;
    const cl_int error =
        tally_opencl.clEnqueueReadBuffer(queue->handle, ((ocl_mem *)mem)->handle, CL_FALSE, offset, bytes, host, 0, NULL, NULL);
    return error ? tally_opencl_fail(error, "clEnqueueReadBuffer(%llu bytes)", (unsigned long long)bytes) : TALLY_OK;
}

/* ---- launches -------------------------------------------------------------------------------- */

/* Sets an argument, unless the kernel has the same already. Memory is compared by its number:
 * another object may have got the handle of a released one. */
static cl_int set_arg(ocl_kernel *kernel, uint32_t i, const tally_arg *arg) {
    const ocl_mem *mem = arg->mem;
    const void *identity = mem ? &mem->number : arg->value;
    const size_t bytes = mem ? sizeof(mem->number) : arg->bytes;
    ocl_kept *kept = i < OCL_KEPT_ARGS && bytes <= sizeof(kept->value) ? &kernel->kept[i] : NULL;
    if (kept && kept->bytes == bytes && !memcmp(kept->value, identity, bytes)) return CL_SUCCESS;
    const cl_int error = mem ? tally_opencl.clSetKernelArg(kernel->handle, i, sizeof(cl_mem), &mem->handle)
                             : tally_opencl.clSetKernelArg(kernel->handle, i, arg->bytes, arg->value);
    if (kept) {
        kept->bytes = error ? 0 : bytes;
        memcpy(kept->value, identity, bytes);
    }
    return error;
}

tally_status tally_opencl_launch(void *opaque, void *opaque_kernel, uint64_t groups, uint32_t threads, uint32_t count,
                                 const tally_arg *args) {
    const ocl_queue *queue = opaque;
    ocl_kernel *kernel = opaque_kernel;
    const tally_status status = tally_opencl_check_process();
    if (status) return status;
    for (uint32_t i = 0; i < count; i++) {
        const cl_int error = set_arg(kernel, i, &args[i]);
        if (error) return tally_opencl_fail(error, "clSetKernelArg(%u)", i);
    }
    const size_t global = groups * threads, local = threads;
    const cl_int error =
        tally_opencl.clEnqueueNDRangeKernel(queue->handle, kernel->handle, 1, NULL, &global, &local, 0, NULL, NULL);
    if (error)
        return tally_opencl_fail(error, "clEnqueueNDRangeKernel(%llu groups of %u)", (unsigned long long)groups, threads);
    return TALLY_OK;
}

/* ---- time ------------------------------------------------------------------------------------ */

tally_status tally_opencl_event_create(void *device, void **event) {
    (void)device;
    cl_event *slot = calloc(1, sizeof(*slot));
    if (!slot) return tally_fail(TALLY_E_MEMORY, "event: out of memory");
    *event = slot;
    return TALLY_OK;
}

void tally_opencl_event_close(void *device, void *opaque) {
    (void)device;
    cl_event *slot = opaque;
    if (*slot) tally_opencl.clReleaseEvent(*slot);
    free(slot);
}

tally_status tally_opencl_event_record(void *opaque, void *event) {
    const ocl_queue *queue = opaque;
    cl_event *slot = event;
    const tally_status status = tally_opencl_check_process();
    if (status) return status;
    if (*slot) tally_opencl.clReleaseEvent(*slot);
    *slot = NULL;
    const cl_int error = tally_opencl.clEnqueueMarkerWithWaitList(queue->handle, 0, NULL, slot);
    return error ? tally_opencl_fail(error, "clEnqueueMarkerWithWaitList") : TALLY_OK;
}

tally_status tally_opencl_event_seconds(void *from, void *to, double *seconds) {
    cl_event events[] = {*(cl_event *)from, *(cl_event *)to};
    const tally_status status = tally_opencl_check_process();
    if (status) return status;
    if (!events[0] || !events[1]) return tally_fail(TALLY_E_ARGUMENT, "event: not recorded");
    cl_ulong begin = 0, end = 0;
    cl_int error = tally_opencl.clWaitForEvents(2, events);
    if (!error) error = tally_opencl.clGetEventProfilingInfo(events[0], CL_PROFILING_COMMAND_END, sizeof(begin), &begin, NULL);
    if (!error) error = tally_opencl.clGetEventProfilingInfo(events[1], CL_PROFILING_COMMAND_END, sizeof(end), &end, NULL);
    if (error) return tally_opencl_fail(error, "clGetEventProfilingInfo");
    *seconds = (double)(int64_t)(end - begin) * 1e-9;
    return TALLY_OK;
}
