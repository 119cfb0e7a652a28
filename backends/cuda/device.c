/* SPDX-License-Identifier: MIT */
/* Devices: counted, described, and opened in their primary context or in the caller's own. */
#include <stdio.h>
#include <stdlib.h>

#include "compiler.h"
#include "driver.h"

tally_status tally_cuda_device_count(int *count, char *reason, size_t reason_bytes) {
    const tally_cuda_driver *driver = tally_cuda_open();
    *count = driver->devices;
    snprintf(reason, reason_bytes, "%s", driver->reason);
    return TALLY_OK;
}

/* Asks for one attribute. `error` keeps the first failure. */
static int attribute(CUdevice id, CUdevice_attribute which, CUresult *error) {
    int value = 0;
    const CUresult result = tally_cuda.cuDeviceGetAttribute(&value, which, id);
    if (!*error) *error = result;
    return value;
}

static int arch_of(CUdevice id, CUresult *error) {
    return 10 * attribute(id, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, error) +
           attribute(id, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, error);
}

static tally_status describe(CUdevice id, int index, tally_device_info *out) {
    tally_device_info info = {.backend = "cuda",
                              .index = index,
                              .device_class = TALLY_CLASS_GPU,
                              .platform = "NVIDIA CUDA",
                              .has_atomic64 = 1,
                              .has_f64 = 1,
                              .staging_in_place = 1};
    size_t memory = 0;
    CUresult error = tally_cuda.cuDeviceGetName(info.name, (int)sizeof(info.name), id);
    if (error) return tally_cuda_fail(error, "cuDeviceGetName(device %d)", (int)id);
    error = tally_cuda.cuDeviceTotalMem(&memory, id);
    if (error) return tally_cuda_fail(error, "cuDeviceTotalMem(device %d)", (int)id);
    info.compute_units = (uint32_t)attribute(id, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, &error);
    info.max_group_threads = (uint32_t)attribute(id, CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK, &error);
    info.local_bytes = (uint64_t)attribute(id, CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK, &error);
    info.memory_bytes = info.max_buffer_bytes = memory;
    tally_cuda_build_options(arch_of(id, &error), info.build_options, sizeof(info.build_options));
    if (error) return tally_cuda_fail(error, "cuDeviceGetAttribute(device %d)", (int)id);
    snprintf(info.driver, sizeof(info.driver), "%s", tally_cuda.version_text);
    *out = info;
    return TALLY_OK;
}

tally_status tally_cuda_device_info(int index, tally_device_info *info) {
    CUdevice id;
    const CUresult error = tally_cuda.cuDeviceGet(&id, index);
    return error ? tally_cuda_fail(error, "cuDeviceGet(%d)", index) : describe(id, index, info);
}

/* Adopts the caller's context, with its device. */
static tally_status adopt(tally_cuda_device *device, CUcontext context) {
    CUresult error = tally_cuda.cuCtxPushCurrent(context);
    if (error) return tally_fail(TALLY_E_ARGUMENT, "cuCtxPushCurrent: %s (%d)", tally_cuda_error_name(error), (int)error);
    error = tally_cuda.cuCtxGetDevice(&device->id);
    tally_cuda_leave(true);
    device->context = context;
    return error ? tally_cuda_fail(error, "cuCtxGetDevice") : TALLY_OK;
}

/* Asks for the cache, and for windows on it. They are no more than a help. */
static void ask_cache(tally_cuda_device *device) {
    CUresult error = CUDA_SUCCESS;
    const int cache = attribute(device->id, CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE, &error);
    const int window = attribute(device->id, CU_DEVICE_ATTRIBUTE_MAX_ACCESS_POLICY_WINDOW_SIZE, &error);
    if (error) return;
    device->cache_bytes = (uint64_t)cache;
    device->window_bytes = (uint64_t)window;
}

/* Retains the primary context, which the CUDA runtime uses too. */
static tally_status retain(tally_cuda_device *device, int index) {
    CUresult error = tally_cuda.cuDeviceGet(&device->id, index);
    if (error) return tally_cuda_fail(error, "cuDeviceGet(%d)", index);
    error = tally_cuda.cuDevicePrimaryCtxRetain(&device->context, device->id);
    if (error) return tally_cuda_fail(error, "cuDevicePrimaryCtxRetain(device %d)", index);
    device->primary = true;
    return TALLY_OK;
}

tally_status tally_cuda_device_open(int index, void *native_context, void *native_device, tally_device_info *info, void **out) {
    (void)native_device;
    tally_cuda_device *device = calloc(1, sizeof(*device));
    if (!device) return tally_fail(TALLY_E_MEMORY, "out of memory");
    CUresult error = CUDA_SUCCESS;
    tally_status status = native_context ? adopt(device, native_context) : retain(device, index);
    if (!status) {
        device->arch = arch_of(device->id, &error);
        ask_cache(device);
        status = error ? tally_cuda_fail(error, "cuDeviceGetAttribute(device %d)", (int)device->id)
                       : describe(device->id, native_context ? -1 : index, info);
    }
    if (status)
        tally_cuda_device_close(device);
    else
        *out = device;
    return status;
}

void tally_cuda_device_close(void *opaque) {
    tally_cuda_device *device = opaque;
    if (device->primary) tally_cuda.cuDevicePrimaryCtxRelease(device->id);
    free(device);
}
