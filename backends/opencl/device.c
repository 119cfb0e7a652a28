/* SPDX-License-Identifier: MIT */
/* Platforms and devices: found, described and opened. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "opencl.h"

#define MAX_DEVICES 64
#define MAX_PLATFORMS 32

/* Devices are looked for once per process. A loader reads its list of platforms once, too. */
static struct {
    pthread_once_t once;
    cl_device_id devices[MAX_DEVICES];
    int count;
    char reason[256];
} found = {.once = PTHREAD_ONCE_INIT};

static tally_device_class class_of(cl_device_id device) {
    cl_device_type type = 0;
    tally_opencl.clGetDeviceInfo(device, CL_DEVICE_TYPE, sizeof(type), &type, NULL);
    if (type & CL_DEVICE_TYPE_GPU) return TALLY_CLASS_GPU;
    return type & CL_DEVICE_TYPE_CPU ? TALLY_CLASS_CPU : TALLY_CLASS_OTHER;
}

/* Returns 1 if kernels can be built and run on the device. */
static int usable(cl_device_id device) {
    cl_bool available = CL_FALSE, compiler = CL_FALSE;
    tally_opencl.clGetDeviceInfo(device, CL_DEVICE_AVAILABLE, sizeof(available), &available, NULL);
    tally_opencl.clGetDeviceInfo(device, CL_DEVICE_COMPILER_AVAILABLE, sizeof(compiler), &compiler, NULL);
    return available && compiler;
}

static void find_devices(void) {
    static const tally_device_class order[] = {TALLY_CLASS_GPU, TALLY_CLASS_OTHER, TALLY_CLASS_CPU};
    cl_platform_id platforms[MAX_PLATFORMS];
    cl_uint platform_count = 0;
    if (!tally_opencl_open()) {
        snprintf(found.reason, sizeof(found.reason), "%s", tally_opencl.reason);
        return;
    }
    const cl_int error = tally_opencl.clGetPlatformIDs(MAX_PLATFORMS, platforms, &platform_count);
    if (error || !platform_count) {
        snprintf(found.reason, sizeof(found.reason),
                 "no OpenCL platform is registered (is an ICD such as pocl-opencl-icd installed?)");
        return;
    }
    if (platform_count > MAX_PLATFORMS) platform_count = MAX_PLATFORMS;
    for (size_t o = 0; o < sizeof(order) / sizeof(order[0]); o++) {
        for (cl_uint p = 0; p < platform_count; p++) {
            cl_device_id devices[MAX_DEVICES];
            cl_uint count = 0;
            if (tally_opencl.clGetDeviceIDs(platforms[p], CL_DEVICE_TYPE_ALL, MAX_DEVICES, devices, &count)) continue;
            for (cl_uint d = 0; d < count && d < MAX_DEVICES && found.count < MAX_DEVICES; d++)
                if (class_of(devices[d]) == order[o] && usable(devices[d])) found.devices[found.count++] = devices[d];
        }
    }
    if (!found.count)
        snprintf(found.reason, sizeof(found.reason),
                 "%u OpenCL platform%s, but no usable device (POCL needs a directory that it can write: POCL_CACHE_DIR)",
                 platform_count, platform_count == 1 ? "" : "s");
}

tally_status tally_opencl_device_count(int *count, char *reason, size_t reason_bytes) {
    pthread_once(&found.once, find_devices);
    *count = tally_opencl.is_forked ? 0 : found.count;
    snprintf(reason, reason_bytes, "%s", tally_opencl.is_forked ? OCL_FORKED : found.reason);
    return TALLY_OK;
}

static void text_info(cl_device_id device, cl_device_info what, char *text, size_t bytes) {
    char value[1024] = "";
    tally_opencl.clGetDeviceInfo(device, what, sizeof(value) - 1, value, NULL);
    /* Some drivers pad their names. */
    const char *start = value + strspn(value, " ");
    size_t length = strlen(start);
    while (length && start[length - 1] == ' ') length--;
    snprintf(text, bytes, "%.*s", (int)length, start);
}

static int has_extension(cl_device_id device, const char *name) {
    size_t bytes = 0;
    tally_opencl.clGetDeviceInfo(device, CL_DEVICE_EXTENSIONS, 0, NULL, &bytes);
    char *extensions = calloc(1, bytes + 1);
    if (!extensions) return 0;
    tally_opencl.clGetDeviceInfo(device, CL_DEVICE_EXTENSIONS, bytes, extensions, NULL);
    const int found_it = strstr(extensions, name) != NULL;
    free(extensions);
    return found_it;
}

static int is_rounded(cl_device_id device) {
    cl_device_fp_config f32 = 0;
    tally_opencl.clGetDeviceInfo(device, CL_DEVICE_SINGLE_FP_CONFIG, sizeof(f32), &f32, NULL);
    return (f32 & CL_FP_CORRECTLY_ROUNDED_DIVIDE_SQRT) != 0;
}

static tally_status describe(cl_device_id device, int index, tally_device_info *info) {
    *info = (tally_device_info){.backend = "opencl", .index = index, .device_class = class_of(device)};
    text_info(device, CL_DEVICE_NAME, info->name, sizeof(info->name));
    text_info(device, CL_DRIVER_VERSION, info->driver, sizeof(info->driver));

    cl_platform_id platform = NULL;
    char name[64] = "", version[128] = "";
    tally_opencl.clGetDeviceInfo(device, CL_DEVICE_PLATFORM, sizeof(platform), &platform, NULL);
    tally_opencl.clGetPlatformInfo(platform, CL_PLATFORM_NAME, sizeof(name) - 1, name, NULL);
    tally_opencl.clGetPlatformInfo(platform, CL_PLATFORM_VERSION, sizeof(version) - 1, version, NULL);
    /* The version tells platforms apart, too: POCL's has the number of its LLVM. The name comes
     * first, because selections look for a part of it. */
    snprintf(info->platform, sizeof(info->platform), "%s, %.*s", name, 60, version);
    snprintf(info->build_options, sizeof(info->build_options), "%s%s%s", OCL_STANDARD,
             is_rounded(device) ? OCL_ROUNDED : OCL_OWN_QUOTIENTS, strstr(name, "Oclgrind") ? OCL_AS_WRITTEN : "");

    cl_uint units = 0;
    cl_ulong memory = 0, buffer = 0, local = 0;
    size_t group = 0;
    cl_device_fp_config f64 = 0;
    tally_opencl.clGetDeviceInfo(device, CL_DEVICE_MAX_COMPUTE_UNITS, sizeof(units), &units, NULL);
    tally_opencl.clGetDeviceInfo(device, CL_DEVICE_GLOBAL_MEM_SIZE, sizeof(memory), &memory, NULL);
    tally_opencl.clGetDeviceInfo(device, CL_DEVICE_MAX_MEM_ALLOC_SIZE, sizeof(buffer), &buffer, NULL);
    tally_opencl.clGetDeviceInfo(device, CL_DEVICE_LOCAL_MEM_SIZE, sizeof(local), &local, NULL);
    tally_opencl.clGetDeviceInfo(device, CL_DEVICE_MAX_WORK_GROUP_SIZE, sizeof(group), &group, NULL);
    tally_opencl.clGetDeviceInfo(device, CL_DEVICE_DOUBLE_FP_CONFIG, sizeof(f64), &f64, NULL);
    info->compute_units = units ? units : 1;
    info->memory_bytes = memory;
    info->max_buffer_bytes = buffer;
    info->local_bytes = local;
    info->max_group_threads = (uint32_t)group;
    info->has_f64 = f64 != 0;
    info->has_atomic64 = has_extension(device, "cl_khr_int64_base_atomics");
    /* An integrated GPU shares the memory too, but its driver may copy what is not aligned to
     * pages. */
    info->host_memory = info->device_class == TALLY_CLASS_CPU;
    return TALLY_OK;
}

tally_status tally_opencl_device_info(int index, tally_device_info *info) {
    return describe(found.devices[index], index, info);
}

/* Adopts the caller's context and device. The device must be one of the context's. */
static tally_status adopt(ocl_device *device, cl_context context, cl_device_id id, int *index) {
    cl_device_id ids[MAX_DEVICES];
    size_t bytes = 0;
    if (!tally_opencl_open()) return tally_fail(TALLY_E_NO_DEVICE, "%s", tally_opencl.reason);
    const cl_int error = tally_opencl.clGetContextInfo(context, CL_CONTEXT_DEVICES, sizeof(ids), ids, &bytes);
    if (error) return tally_opencl_fail(error, "clGetContextInfo");
    *index = -1;
    for (int i = 0; i < found.count; i++)
        if (found.devices[i] == id) *index = i;
    for (size_t i = 0; i < bytes / sizeof(ids[0]); i++) {
        if (ids[i] != id) continue;
        device->id = id;
        device->context = context;
        tally_opencl.clRetainContext(context);
        return TALLY_OK;
    }
    return tally_fail(TALLY_E_ARGUMENT, "the device is not one of the context's");
}

tally_status tally_opencl_device_open(int index, void *native_context, void *native_device, tally_device_info *info,
                                      void **out) {
    tally_status status = tally_opencl_check_process();
    if (status) return status;
    ocl_device *device = calloc(1, sizeof(*device));
    if (!device) return tally_fail(TALLY_E_MEMORY, "out of memory");
    cl_int error = CL_SUCCESS;
    if (native_context) {
        status = adopt(device, native_context, native_device, &index);
    } else {
        device->id = found.devices[index];
        device->context = tally_opencl.clCreateContext(NULL, 1, &device->id, NULL, NULL, &error);
        if (error) status = tally_opencl_fail(error, "clCreateContext");
    }
    if (!status) {
        device->maps = tally_opencl.clCreateCommandQueue(device->context, device->id, 0, &error);
        if (error) status = tally_opencl_fail(error, "clCreateCommandQueue");
    }
    if (!status) {
        char version[128];
        text_info(device->id, CL_DEVICE_VERSION, version, sizeof(version));
        /* "OpenCL MAJOR.MINOR ..."; every device of version 3 compiles OpenCL C 3.0. */
        device->has_c3 = atoi(version + strcspn(version, "0123456789")) >= 3;
        status = describe(device->id, index, info);
        snprintf(device->options, sizeof(device->options), "%s", info->build_options + strlen(OCL_STANDARD));
    }
    if (status)
        tally_opencl_device_close(device);
    else
        *out = device;
    return status;
}

void tally_opencl_device_close(void *opaque) {
    ocl_device *device = opaque;
    if (device->maps) tally_opencl.clReleaseCommandQueue(device->maps);
    if (device->context) tally_opencl.clReleaseContext(device->context);
    free(device);
}
