/* SPDX-License-Identifier: MIT */
/* Memory: the device's, the caller's cl_mem, host memory used in place, and staging. */
#include <stdatomic.h>
#include <stdlib.h>

#include "opencl.h"

static cl_mem create(const ocl_device *device, cl_mem_flags flags, uint64_t bytes, void *host, cl_int *error) {
    /* OpenCL has no empty buffers: one of 0 bytes gets one byte. */
    if (!bytes) return tally_opencl.clCreateBuffer(device->context, CL_MEM_READ_WRITE, 1, NULL, error);
    return tally_opencl.clCreateBuffer(device->context, flags, bytes, host, error);
}

/* Wraps the caller's cl_mem, which must belong to this context, and sets *bytes to its size. */
static tally_status wrap(const ocl_device *device, ocl_mem *mem, cl_mem native, uint64_t *bytes) {
    cl_context context = NULL;
    size_t size = 0;
    cl_int error = tally_opencl.clGetMemObjectInfo(native, CL_MEM_CONTEXT, sizeof(context), &context, NULL);
    if (!error) error = tally_opencl.clGetMemObjectInfo(native, CL_MEM_SIZE, sizeof(size), &size, NULL);
    if (error) return tally_opencl_fail(error, "clGetMemObjectInfo"), tally_fail(TALLY_E_ARGUMENT, "%s", tally_last_error());
    if (context != device->context) return tally_fail(TALLY_E_ARGUMENT, "the cl_mem is of another cl_context");
    if (*bytes > size) return tally_fail(TALLY_E_ARGUMENT, "the cl_mem has %zu bytes", size);
    error = tally_opencl.clRetainMemObject(native);
    if (error) return tally_opencl_fail(error, "clRetainMemObject");
    mem->handle = native;
    *bytes = size;
    return TALLY_OK;
}

/* Opens memory that copies fast to the device: pinned by the driver. On a CPU any memory copies
 * fast, and needs only the alignment of a vector. */
static tally_status stage(const ocl_device *device, ocl_mem *mem, uint64_t bytes) {
    cl_device_type type = 0;
    tally_opencl.clGetDeviceInfo(device->id, CL_DEVICE_TYPE, sizeof(type), &type, NULL);
    if (type & CL_DEVICE_TYPE_CPU) {
        const size_t rounded = (bytes + 4096) / 4096 * 4096;
        mem->host = mem->owned = aligned_alloc(4096, rounded);
        if (!mem->host) return tally_fail(TALLY_E_MEMORY, "aligned_alloc(%zu bytes) failed", rounded);
        return TALLY_OK;
    }
    cl_int error;
    mem->handle = create(device, CL_MEM_READ_WRITE | CL_MEM_ALLOC_HOST_PTR, bytes, NULL, &error);
    if (error) return tally_opencl_fail(error, "clCreateBuffer(%llu bytes of staging)", (unsigned long long)bytes);
    mem->host = tally_opencl.clEnqueueMapBuffer(device->maps, mem->handle, CL_TRUE, CL_MAP_READ | CL_MAP_WRITE, 0,
                                                bytes ? bytes : 1, 0, NULL, NULL, &error);
    return error ? tally_opencl_fail(error, "clEnqueueMapBuffer(%llu bytes)", (unsigned long long)bytes) : TALLY_OK;
}

tally_status tally_opencl_mem_open(void *opaque, tally_mem_kind kind, void *handle, uint64_t *bytes, void **out) {
    const ocl_device *device = opaque;
    static atomic_uint_fast64_t last_number;
    tally_status status = tally_opencl_check_process();
    if (status) return status;
    ocl_mem *mem = calloc(1, sizeof(*mem));
    if (!mem) return tally_fail(TALLY_E_MEMORY, "out of memory");
    mem->kind = kind;
    mem->number = atomic_fetch_add(&last_number, 1) + 1;
    cl_int error = CL_SUCCESS;
    switch (kind) {
    case TALLY_MEM_DEVICE:
        mem->handle = create(device, CL_MEM_READ_WRITE, *bytes, NULL, &error);
        break;
    case TALLY_MEM_HOST:
        mem->host = handle;
        mem->handle = create(device, CL_MEM_READ_WRITE | CL_MEM_USE_HOST_PTR, *bytes, handle, &error);
        break;
    case TALLY_MEM_NATIVE:
        status = wrap(device, mem, handle, bytes);
        break;
    case TALLY_MEM_STAGING:
        status = stage(device, mem, *bytes);
        break;
    default:
        status = tally_fail(TALLY_E_INTERNAL, "opencl: memory of kind %d", (int)kind);
    }
    if (error) status = tally_opencl_fail(error, "clCreateBuffer(%llu bytes)", (unsigned long long)*bytes);
    if (status)
        tally_opencl_mem_close(opaque, mem);
    else
        *out = mem;
    return status;
}

void tally_opencl_mem_close(void *opaque, void *closed) {
    const ocl_device *device = opaque;
    ocl_mem *mem = closed;
    if (mem->kind == TALLY_MEM_STAGING && mem->handle && mem->host && !tally_opencl.is_forked) {
        tally_opencl.clEnqueueUnmapMemObject(device->maps, mem->handle, mem->host, 0, NULL, NULL);
        tally_opencl.clFinish(device->maps);
    }
    if (mem->handle) tally_opencl.clReleaseMemObject(mem->handle);
    free(mem->owned);
    free(mem);
}

void *tally_opencl_mem_pointer(void *opaque) {
    const ocl_mem *mem = opaque;
    return mem->kind == TALLY_MEM_STAGING ? mem->host : (void *)mem->handle;
}

/* A sub-buffer lies in another cl_mem, and that may lie in host memory. */
tally_mem_place tally_opencl_mem_place(void *opaque) {
    const ocl_mem *mem = opaque;
    cl_mem parent = NULL, whole = mem->handle;
    cl_mem_flags flags = 0;
    size_t offset = 0;
    char *host = mem->host;
    if (mem->kind == TALLY_MEM_NATIVE) {
        tally_opencl.clGetMemObjectInfo(mem->handle, CL_MEM_ASSOCIATED_MEMOBJECT, sizeof(parent), &parent, NULL);
        tally_opencl.clGetMemObjectInfo(mem->handle, CL_MEM_OFFSET, sizeof(offset), &offset, NULL);
        whole = parent ? parent : mem->handle;
        tally_opencl.clGetMemObjectInfo(whole, CL_MEM_FLAGS, sizeof(flags), &flags, NULL);
        if (flags & CL_MEM_USE_HOST_PTR) tally_opencl.clGetMemObjectInfo(whole, CL_MEM_HOST_PTR, sizeof(host), &host, NULL);
    }
    return host ? (tally_mem_place){NULL, (uintptr_t)host + offset} : (tally_mem_place){whole, offset};
}
