/* SPDX-License-Identifier: MIT */
/* Programs and their kernels. */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "opencl.h"

#define LOG_HEAD 600 /* characters of a build log that go into the error text */

/* Tells whether a word is in the line that ends before `next`. */
static bool says(const char *line, const char *next, const char *word) {
    const char *at = strstr(line, word);
    return at && at < next;
}

/* Keeps a log's errors, with the lines that belong to them, and drops its warnings and notes, which
 * quote text that is not the user's. */
static void keep_errors(char *log) {
    char *to = log;
    bool keep = false;
    for (char *line = log, *next; *line; line = next) {
        const size_t length = strcspn(line, "\n");
        next = line + length + (line[length] == '\n');
        if (says(line, next, "warning:") || says(line, next, "note:")) keep = false;
        if (says(line, next, "error:")) keep = true;
        if (!keep) continue;
        memmove(to, line, (size_t)(next - line));
        to += next - line;
    }
    if (to > log) *to = 0; /* a log without a line that says "error:" stays whole */
}

/*
 * NVIDIA's compiler does not heed #line: its messages say <kernel>:LINE, for a line of the whole
 * text. If the line before that one is a #line, `name` becomes the name in it, as other compilers
 * would begin their message. Else `name` becomes "".
 */
static void find_line_name(const char *log, const char *text, size_t bytes, char *name, size_t name_bytes) {
    static const char place[] = "<kernel>:", directive[] = "#line 1 \"";
    const char *at = strstr(log, place);
    name[0] = 0;
    if (!at) return;
    long line = strtol(at + strlen(place), NULL, 10);
    const char *before = NULL, *start = text, *end = text + bytes;
    for (; line > 1 && start; line--) {
        before = start;
        start = memchr(start, '\n', (size_t)(end - start));
        if (start) start++;
    }
    if (!before || !start || strncmp(before, directive, strlen(directive))) return;
    before += strlen(directive);
    snprintf(name, name_bytes, "%.*s: ", (int)strcspn(before, "\"\n"), before);
}

/* All that POCL says where its compiler had no complaint: it could not write its files, say. That
 * tells nothing of the program, so no verdict on a feature is kept (probe.c). */
#define POCL_FAILED "failed to build the program"

static tally_status build_failed(cl_program program, cl_device_id device, cl_int error, const char *text, size_t text_bytes) {
    char name[192] = "";
    char *log = NULL;
    size_t bytes = 0;
    tally_opencl.clGetProgramBuildInfo(program, device, CL_PROGRAM_BUILD_LOG, 0, NULL, &bytes);
    if (bytes) log = calloc(1, bytes + 1);
    if (log) tally_opencl.clGetProgramBuildInfo(program, device, CL_PROGRAM_BUILD_LOG, bytes, log, NULL);
    if (log) keep_errors(log);
    if (log) find_line_name(log, text, text_bytes, name, sizeof(name));
    const bool is_bare = log && strstr(log, POCL_FAILED) && !strstr(log, "error:");
    for (size_t end = log ? strlen(log) : 0; end && log[end - 1] == '\n'; end--) log[end - 1] = 0;
    const tally_status status = is_bare ? TALLY_E_DEVICE : TALLY_E_BUILD;
    tally_fail(status, "clBuildProgram: error %d: %s%.*s%s", (int)error, name, LOG_HEAD, log && log[0] ? log : "no log",
               is_bare ? " (POCL gives no reason; it needs a directory that it can write: POCL_CACHE_DIR)" : "");
    free(log);
    return status;
}

const char *tally_opencl_kernel_source(const char *stem) {
    /* POCL's method cbs has no sub-groups, and the trial cannot find that out: POCL 6.0 ends the
     * process because a symbol is missing. */
    const char *method = getenv("POCL_WORK_GROUP_METHOD");
    if (method && !strcmp(method, "cbs") && !strcmp(stem, "feature_subgroups")) return NULL;
    return tally_kernel_source_opencl(stem);
}

static void write_options(const ocl_device *device, const tally_program_desc *desc, char *text, size_t text_bytes) {
    snprintf(text, text_bytes, "%s%s", device->has_c3 && desc->sub_groups ? OCL_SUBGROUPS_STANDARD : OCL_STANDARD,
             device->options);
}

/* One thread at a time makes a program or reads its binary. NVIDIA's driver takes one after the
 * other by itself, and Oclgrind 21.10 ends the process where threads compile two in one context. */
static pthread_mutex_t one_program = PTHREAD_MUTEX_INITIALIZER;

static tally_status make_program(const ocl_device *device, const tally_program_desc *desc, void **out) {
    cl_int error = CL_SUCCESS, loaded = CL_SUCCESS;
    cl_program program;
    char options[160];
    if (desc->form == TALLY_PROGRAM_SOURCE) {
        const char *text = desc->data;
        write_options(device, desc, options, sizeof(options));
        program = tally_opencl.clCreateProgramWithSource(device->context, 1, &text, &desc->bytes, &error);
        if (error) return tally_opencl_fail(error, "clCreateProgramWithSource");
    } else {
        const unsigned char *binary = desc->data;
        program =
            tally_opencl.clCreateProgramWithBinary(device->context, 1, &device->id, &desc->bytes, &binary, &loaded, &error);
        if (error || loaded) {
            if (program) tally_opencl.clReleaseProgram(program);
            return tally_opencl_fail(error ? error : loaded, "clCreateProgramWithBinary");
        }
    }
    /* A binary is as it was built. */
    error =
        tally_opencl.clBuildProgram(program, 1, &device->id, desc->form == TALLY_PROGRAM_SOURCE ? options : NULL, NULL, NULL);
    if (error) {
        const tally_status status =
            build_failed(program, device->id, error, desc->data, desc->form == TALLY_PROGRAM_SOURCE ? desc->bytes : 0);
        tally_opencl.clReleaseProgram(program);
        return status;
    }
    *out = program;
    return TALLY_OK;
}

tally_status tally_opencl_program_create(void *device, const tally_program_desc *desc, void **program) {
    if (desc->form == TALLY_PROGRAM_PREBUILT) return TALLY_E_UNSUPPORTED;
    tally_status status = tally_opencl_check_process();
    if (status) return status;
    pthread_mutex_lock(&one_program);
    status = make_program(device, desc, program);
    pthread_mutex_unlock(&one_program);
    return status;
}

static tally_status read_binary(void *program, void **data, size_t *bytes) {
    cl_uint devices = 0;
    size_t size = 0;
    cl_int error = tally_opencl.clGetProgramInfo(program, CL_PROGRAM_NUM_DEVICES, sizeof(devices), &devices, NULL);
    /* An adopted context may have several devices. Its programs then have a binary for each. */
    if (!error && devices != 1)
        return tally_fail(TALLY_E_UNSUPPORTED, "opencl: a program of %u devices is not cached", devices);
    if (!error) error = tally_opencl.clGetProgramInfo(program, CL_PROGRAM_BINARY_SIZES, sizeof(size), &size, NULL);
    if (error) return tally_opencl_fail(error, "clGetProgramInfo");
    if (!size) return tally_fail(TALLY_E_UNSUPPORTED, "opencl: the driver gives no binary");
    unsigned char *binary = malloc(size);
    if (!binary) return tally_fail(TALLY_E_MEMORY, "opencl: out of memory");
    error = tally_opencl.clGetProgramInfo(program, CL_PROGRAM_BINARIES, sizeof(binary), &binary, NULL);
    if (error) {
        free(binary);
        return tally_opencl_fail(error, "clGetProgramInfo");
    }
    *data = binary;
    *bytes = size;
    return TALLY_OK;
}

tally_status tally_opencl_program_binary(void *device, void *program, void **data, size_t *bytes) {
    (void)device;
    pthread_mutex_lock(&one_program);
    const tally_status status = read_binary(program, data, bytes);
    pthread_mutex_unlock(&one_program);
    return status;
}

void tally_opencl_program_close(void *device, void *program) {
    (void)device;
    tally_opencl.clReleaseProgram(program);
}

tally_status tally_opencl_kernel_create(void *device, void *program, const char *entry, void **out) {
    (void)device;
    cl_int error;
    ocl_kernel *kernel = calloc(1, sizeof(*kernel));
    if (!kernel) return tally_fail(TALLY_E_MEMORY, "kernel: out of memory");
    kernel->handle = tally_opencl.clCreateKernel(program, entry, &error);
    if (error) return free(kernel), tally_opencl_fail(error, "clCreateKernel(%s)", entry);
    *out = kernel;
    return TALLY_OK;
}

void tally_opencl_kernel_close(void *device, void *opaque) {
    (void)device;
    ocl_kernel *kernel = opaque;
    tally_opencl.clReleaseKernel(kernel->handle);
    free(kernel);
}
