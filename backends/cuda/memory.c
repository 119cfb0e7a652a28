/* SPDX-License-Identifier: MIT */
/* Memory: the device's, the caller's, and pinned host memory for staging. */
#include <stdlib.h>

#include "driver.h"

/* The driver's answers about an address. All are 0 for an address that it does not know. */
typedef struct pointer_facts {
    unsigned type;
    int ordinal;
    CUcontext context;
    CUdeviceptr start;
    size_t bytes;
} pointer_facts;

static CUresult ask(CUdeviceptr address, pointer_facts *facts) {
    CUpointer_attribute which[] = {CU_POINTER_ATTRIBUTE_MEMORY_TYPE, CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL,
                                   CU_POINTER_ATTRIBUTE_CONTEXT, CU_POINTER_ATTRIBUTE_RANGE_START_ADDR,
                                   CU_POINTER_ATTRIBUTE_RANGE_SIZE};
    void *answers[] = {&facts->type, &facts->ordinal, &facts->context, &facts->start, &facts->bytes};
    return tally_cuda.cuPointerGetAttributes(sizeof(which) / sizeof(which[0]), which, answers, address);
}

/* Checks that the address is memory of this device, and sets *bytes, if 0, to what the allocation
 * has left. */
static tally_status wrap(const tally_cuda_device *device, CUdeviceptr address, uint64_t *bytes) {
    pointer_facts facts = {.ordinal = -1};
    const CUresult error = ask(address, &facts);
    if (error)
        return tally_fail(TALLY_E_ARGUMENT, "cuPointerGetAttributes(0x%llx): %s (%d)", (unsigned long long)address,
                          tally_cuda_error_name(error), (int)error);
    if (facts.type != CU_MEMORYTYPE_DEVICE)
        return tally_fail(TALLY_E_ARGUMENT, "0x%llx is no device memory", (unsigned long long)address);
    if (facts.ordinal != (int)device->id)
        return tally_fail(TALLY_E_ARGUMENT, "0x%llx is memory of device %d, not of the context's", (unsigned long long)address,
                          facts.ordinal);
    /* Memory of a pool or of a mapped range belongs to no context. */
    if (facts.context && facts.context != device->context)
        return tally_fail(TALLY_E_ARGUMENT, "0x%llx is memory of another CUcontext", (unsigned long long)address);
    const uint64_t rest = facts.bytes - (uint64_t)(address - facts.start);
    if (!facts.bytes && !*bytes)
        return tally_fail(TALLY_E_ARGUMENT, "the driver does not know how long the memory at 0x%llx is",
                          (unsigned long long)address);
    if (facts.bytes && *bytes > rest)
        return tally_fail(TALLY_E_ARGUMENT, "%llu bytes from 0x%llx: the allocation ends after %llu",
                          (unsigned long long)*bytes, (unsigned long long)address, (unsigned long long)rest);
    if (!*bytes) *bytes = rest;
    return TALLY_OK;
}

static tally_status take(const tally_cuda_device *device, tally_cuda_mem *mem, void *handle, uint64_t *bytes) {
    /* CUDA has no empty allocations: one of 0 bytes gets one byte. */
    const size_t wanted = *bytes ? *bytes : 1;
    CUresult error;
    switch (mem->kind) {
    case TALLY_MEM_DEVICE:
        error = tally_cuda.cuMemAlloc(&mem->address, wanted);
        return error ? tally_cuda_fail(error, "cuMemAlloc(%llu bytes)", (unsigned long long)wanted) : TALLY_OK;
    case TALLY_MEM_NATIVE:
        mem->address = (CUdeviceptr)(uintptr_t)handle;
        return wrap(device, mem->address, bytes);
    case TALLY_MEM_HOST:
        return tally_fail(TALLY_E_UNSUPPORTED, "cuda: host memory is not used in place");
    case TALLY_MEM_STAGING:
        error = tally_cuda.cuMemHostAlloc(&mem->host, wanted, CU_MEMHOSTALLOC_PORTABLE);
        mem->address = (CUdeviceptr)(uintptr_t)mem->host; /* one address for all, as on every 64-bit system */
        return error ? tally_cuda_fail(error, "cuMemHostAlloc(%llu bytes)", (unsigned long long)wanted) : TALLY_OK;
    default:
        return tally_fail(TALLY_E_INTERNAL, "cuda: memory of kind %d", (int)mem->kind);
    }
}

tally_status tally_cuda_mem_open(void *opaque, tally_mem_kind kind, void *handle, uint64_t *bytes, void **out) {
    const tally_cuda_device *device = opaque;
    bool pushed;
    tally_status status = tally_cuda_enter(device, &pushed);
    if (status) return status;
    tally_cuda_mem *mem = calloc(1, sizeof(*mem));
    if (mem) {
        mem->kind = kind;
        status = take(device, mem, handle, bytes);
    } else {
        status = tally_fail(TALLY_E_MEMORY, "out of memory");
    }
    tally_cuda_leave(pushed);
    if (status)
        free(mem);
    else
        *out = mem;
    return status;
}

void tally_cuda_mem_close(void *device, void *opaque) {
    tally_cuda_mem *mem = opaque;
    bool pushed;
    /* Wrapped memory is the caller's. At the end of a process the driver may be gone already, and
     * its memory with it. */
    if (mem->kind != TALLY_MEM_NATIVE && !tally_cuda_enter(device, &pushed)) {
        if (mem->kind == TALLY_MEM_DEVICE) tally_cuda.cuMemFree(mem->address);
        if (mem->kind == TALLY_MEM_STAGING) tally_cuda.cuMemFreeHost(mem->host);
        tally_cuda_leave(pushed);
    }
    free(mem);
}

void *tally_cuda_mem_pointer(void *opaque) {
    const tally_cuda_mem *mem = opaque;
    return mem->kind == TALLY_MEM_STAGING ? mem->host : (void *)(uintptr_t)mem->address;
}

tally_mem_place tally_cuda_mem_place(void *opaque) {
    return (tally_mem_place){NULL, (uintptr_t)tally_cuda_mem_pointer(opaque)};
}
