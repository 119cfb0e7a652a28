/* SPDX-License-Identifier: MIT */
/*
 * A layer for OpenCL's loader (OPENCL_LAYERS): devices do not say that they round quotients and
 * roots of f32. tally must make its own then, and say so to their compiler: a text that is built
 * without OWN_QUOTIENTS fails. With TALLY_TEST_WRONG set, tally's quotients and roots are wrong.
 * Results that are right even so are not made of them.
 */
#define CL_TARGET_OPENCL_VERSION 300
#include <CL/cl_layer.h>
#include <stdio.h>
#include <stdlib.h>
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

/* Doubles what the words of kernels_cl/prelude.cl give. */
static cl_program CL_API_CALL create(cl_context context, cl_uint count, const char **texts, const size_t *bytes,
                                     cl_int *error) {
    static const char *const words[][2] = {{"f32_QUOTIENT(a, b) ", "f32_QUOTIENT(a, b) 2 * "},
                                           {"f32_ROOT(a) ", "f32_ROOT(a) 2 * "}};
    if (!getenv("TALLY_TEST_WRONG") || count != 1) return below->clCreateProgramWithSource(context, count, texts, bytes, error);
    const size_t length = bytes && bytes[0] ? bytes[0] : strlen(texts[0]);
    char *text = calloc(1, length + 1024);
    if (!text) return NULL;
    memcpy(text, texts[0], length);
    for (int w = 0; w < 2; w++) {
        const size_t old = strlen(words[w][0]), new = strlen(words[w][1]);
        char *at = strstr(text, words[w][0]);
        if (!at) continue;
        memmove(at + new, at + old, strlen(at + old) + 1);
        memcpy(at, words[w][1], new);
    }
    const char *const changed = text;
    cl_program program = below->clCreateProgramWithSource(context, 1, (const char **)&changed, NULL, error);
    free(text);
    return program;
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
    table.clCreateProgramWithSource = create;
    *entries_here = sizeof table / sizeof table.clGetPlatformIDs;
    *here = &table;
    fputs("layer: no quotient or root of f32 is rounded\n", stderr); /* run.sh looks for it */
    return CL_SUCCESS;
}
