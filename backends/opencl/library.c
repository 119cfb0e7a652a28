/* SPDX-License-Identifier: MIT */
/* The OpenCL library, opened at run time, so that tally loads where there is none. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "opencl.h"

#define LIBRARY "libOpenCL.so.1"

tally_opencl_library tally_opencl;

/* The place of each entry point in tally_opencl_library. */
static const struct {
    const char *name;
    size_t offset;
} calls[] = {
#define ROW(name) {#name, offsetof(tally_opencl_library, name)},
    TALLY_OPENCL_CALLS(ROW)
#undef ROW
};

/* A child process releases no objects. A thread of the parent may have held the driver's lock at
 * the fork, and the child would wait for it for ever. */
#define RELEASES(X)                                                                                                            \
    X(clReleaseCommandQueue, cl_command_queue)                                                                                 \
    X(clReleaseContext, cl_context)                                                                                            \
    X(clReleaseEvent, cl_event)                                                                                                \
    X(clReleaseKernel, cl_kernel)                                                                                              \
    X(clReleaseMemObject, cl_mem)                                                                                              \
    X(clReleaseProgram, cl_program)

#define KEEP(name, type)                                                                                                       \
    static cl_int CL_API_CALL keep_##name(type object) {                                                                       \
        (void)object;                                                                                                          \
        return CL_SUCCESS;                                                                                                     \
    }
RELEASES(KEEP)
#undef KEEP

static void note_fork(void) {
    tally_opencl.is_forked = 1;
#define KEEP(name, type) tally_opencl.name = keep_##name;
    RELEASES(KEEP)
#undef KEEP
}

static void open_library(void) {
    char *reason = tally_opencl.reason;
    /* A program that links an OpenCL library, or has one preloaded (oclgrind), keeps that one. */
    const int is_here = dlsym(RTLD_DEFAULT, "clGetPlatformIDs") != NULL;
    void *library = is_here ? RTLD_DEFAULT : dlopen(LIBRARY, RTLD_NOW | RTLD_LOCAL);
    if (!is_here && !library) {
        const char *error = dlerror();
        snprintf(reason, sizeof(tally_opencl.reason), "%s", error ? error : LIBRARY " cannot be opened");
        return;
    }
    /* The library stays open: drivers cannot be unloaded. */
    for (size_t i = 0; i < sizeof(calls) / sizeof(calls[0]); i++) {
        void *address = dlsym(library, calls[i].name);
        if (!address) {
            snprintf(reason, sizeof(tally_opencl.reason), LIBRARY " has no %s: OpenCL 1.2 is needed", calls[i].name);
            return;
        }
        memcpy((char *)&tally_opencl + calls[i].offset, &address, sizeof(address));
    }
    pthread_atfork(NULL, NULL, note_fork);
    tally_opencl.is_open = 1;
}

int tally_opencl_open(void) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, open_library);
    return tally_opencl.is_open;
}

tally_status tally_opencl_check_process(void) {
    return tally_opencl.is_forked ? tally_fail(TALLY_E_DEVICE, OCL_FORKED) : TALLY_OK;
}
