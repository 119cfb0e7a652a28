/* SPDX-License-Identifier: MIT */
/*
 * A layer for OpenCL's loader (OPENCL_LAYERS): devices do not say that they round quotients and
 * roots of f32. tally must make its own then, and say so to their compiler: a text that is built
 * without OWN_QUOTIENTS fails.
 */
#define CL_TARGET_OPENCL_VERSION 300
#include <CL/cl_layer.h>
#include <stdio.h>
#include <string.h>

static const cl_icd_dispatch *below; /* the functions of the loader or of the next layer */
static cl_icd_dispatch table;        /* those of this layer */

static cl_int CL_API_CALL device_info(cl_device_id device, cl_device_info name, size_t bytes, void *value, size_t *needed) {
    const cl_int status = below->clGetDeviceInfo(device, name, bytes, value, needed);
    if (!status && value && name == CL_DEVICE_SINGLE_FP_CONFIG)
        *(cl_device_fp_config *)value &= ~(cl_device_fp_config)CL_FP_CORRECTLY_ROUNDED_DIVIDE_SQRT;
    return status;
}

static cl_int CL_API_CALL build(cl_program program, cl_uint count, const cl_device_id *devices, const char *options,
                                void(CL_CALLBACK *notify)(cl_program, void *), void *user) {
    if (options && !strstr(options, "-D OWN_QUOTIENTS")) return CL_INVALID_BUILD_OPTIONS;
    return below->clBuildProgram(program, count, devices, options, notify, user);
}

CL_API_ENTRY cl_int CL_API_CALL clGetLayerInfo(cl_layer_info name, size_t bytes, void *value, size_t *needed) {
    static const cl_layer_api_version version = CL_LAYER_API_VERSION_100;
    if (name != CL_LAYER_API_VERSION || (value && bytes < sizeof version)) return CL_INVALID_VALUE;
    if (value) memcpy(value, &version, sizeof version);
    if (needed) *needed = sizeof version;
    return CL_SUCCESS;
}

CL_API_ENTRY cl_int CL_API_CALL clInitLayer(cl_uint entries, const cl_icd_dispatch *target, cl_uint *entries_here,
                                            const cl_icd_dispatch **here) {
    if (entries < sizeof table / sizeof table.clGetPlatformIDs) return CL_INVALID_VALUE;
    below = target;
    table = *target;
    table.clGetDeviceInfo = device_info;
    table.clBuildProgram = build;
    *entries_here = sizeof table / sizeof table.clGetPlatformIDs;
    *here = &table;
    fputs("layer: no quotient or root of f32 is rounded\n", stderr); /* run.sh looks for it */
    return CL_SUCCESS;
}
