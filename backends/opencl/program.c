/* SPDX-License-Identifier: MIT */
/* Programs and kernels. */
#include <stdlib.h>
#include <string.h>

#include "opencl.h"

#define LOG_HEAD 600 /* characters of a build log that go into the error text */

static tally_status build_failed(cl_program program, cl_device_id device, cl_int error) {
    char *log = NULL;
    size_t bytes = 0;
    clGetProgramBuildInfo(program, device, CL_PROGRAM_BUILD_LOG, 0, NULL, &bytes);
    if (bytes) log = calloc(1, bytes + 1);
    if (log) clGetProgramBuildInfo(program, device, CL_PROGRAM_BUILD_LOG, bytes, log, NULL);
    const char *start = log ? strstr(log, "error") : NULL;
    tally_fail(TALLY_E_BUILD, "clBuildProgram: error %d: %.*s", (int)error, LOG_HEAD, start ? start : log ? log : "no log");
    free(log);
    return TALLY_E_BUILD;
}

tally_status ocl_program_create(void *opaque, tally_program_form form, const void *data, size_t bytes, void **out) {
    const ocl_device *device = opaque;
    cl_int error = CL_SUCCESS, loaded = CL_SUCCESS;
    cl_program program;
    if (form == TALLY_PROGRAM_SOURCE) {
        const char *text = data;
        program = clCreateProgramWithSource(device->context, 1, &text, &bytes, &error);
        if (error) return ocl_fail(error, "clCreateProgramWithSource");
    } else {
        const unsigned char *binary = data;
        program = clCreateProgramWithBinary(device->context, 1, &device->id, &bytes, &binary, &loaded, &error);
        if (error || loaded) {
            if (program) clReleaseProgram(program);
            return ocl_fail(error ? error : loaded, "clCreateProgramWithBinary");
        }
    }
    error = clBuildProgram(program, 1, &device->id, OCL_BUILD_OPTIONS, NULL, NULL);
    if (error) {
        const tally_status status = build_failed(program, device->id, error);
        clReleaseProgram(program);
        return status;
    }
    *out = program;
    return TALLY_OK;
}

tally_status ocl_program_binary(void *device, void *program, void **data, size_t *bytes) {
    (void)device;
    cl_uint devices = 0;
    size_t size = 0;
    cl_int error = clGetProgramInfo(program, CL_PROGRAM_NUM_DEVICES, sizeof(devices), &devices, NULL);
    /* An adopted context may have several devices; its programs then have as many binaries. */
    if (!error && devices != 1)
        return tally_fail(TALLY_E_UNSUPPORTED, "opencl: a program of %u devices is not cached", devices);
    if (!error) error = clGetProgramInfo(program, CL_PROGRAM_BINARY_SIZES, sizeof(size), &size, NULL);
    if (error) return ocl_fail(error, "clGetProgramInfo");
    if (!size) return tally_fail(TALLY_E_UNSUPPORTED, "opencl: the driver gives no binary");
    unsigned char *binary = malloc(size);
    if (!binary) return tally_fail(TALLY_E_MEMORY, "opencl: out of memory");
    error = clGetProgramInfo(program, CL_PROGRAM_BINARIES, sizeof(binary), &binary, NULL);
    if (error) {
        free(binary);
        return ocl_fail(error, "clGetProgramInfo");
    }
    *data = binary;
    *bytes = size;
    return TALLY_OK;
}

void ocl_program_close(void *device, void *program) {
    (void)device;
    clReleaseProgram(program);
}

tally_status ocl_kernel_create(void *device, void *program, const char *entry, void **out) {
    (void)device;
    cl_int error;
    const cl_kernel kernel = clCreateKernel(program, entry, &error);
    if (error) return ocl_fail(error, "clCreateKernel(%s)", entry);
    *out = kernel;
    return TALLY_OK;
}

void ocl_kernel_close(void *device, void *kernel) {
    (void)device;
    clReleaseKernel(kernel);
}
