/* SPDX-License-Identifier: MIT */
/* The driver: libcuda opened at run time, its errors, and the thread's current context. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "driver.h"

#define LIBRARY "libcuda.so.1"

tally_cuda_driver tally_cuda;

/* The place of each entry point in tally_cuda_driver. */
static const struct {
    const char *symbol;
    size_t offset;
} calls[] = {
#define ROW(name, symbol) {symbol, offsetof(tally_cuda_driver, name)},
    TALLY_CUDA_CALLS(ROW)
#undef ROW
};

static bool find_calls(void *library, char *reason, size_t bytes) {
    for (size_t i = 0; i < sizeof(calls) / sizeof(calls[0]); i++) {
        void *address = dlsym(library, calls[i].symbol);
        if (!address) return snprintf(reason, bytes, LIBRARY " has no %s: its driver is too old", calls[i].symbol), false;
        memcpy((char *)&tally_cuda + calls[i].offset, &address, sizeof(address));
    }
    tally_cuda.has_newer = true;
#define FIND(name, parameters)                                                                                                 \
    {                                                                                                                          \
        void *address = dlsym(library, #name);                                                                                 \
        memcpy(&tally_cuda.name, &address, sizeof(address));                                                                   \
        tally_cuda.has_newer = tally_cuda.has_newer && address;                                                                \
    }
    TALLY_CUDA_NEWER_CALLS(FIND)
    return true;
}

/* Writes "CUDA 13.0, libcuda 580.95.05". libcuda.so.1 links to a file whose name carries the
 * driver's own version. */
static void describe_version(char *text, size_t bytes) {
    const int length = snprintf(text, bytes, "CUDA %d.%d", tally_cuda.version / 1000, tally_cuda.version % 1000 / 10);
    Dl_info where;
    void *address;
    memcpy(&address, &tally_cuda.cuInit, sizeof(address));
    if (!dladdr(address, &where) || !where.dli_fname) return;
    char *path = realpath(where.dli_fname, NULL);
    const char *name = path ? strrchr(path, '/') : NULL;
    if (name && !strncmp(name, "/libcuda.so.", 12) && length > 0 && (size_t)length < bytes)
        snprintf(text + length, bytes - (size_t)length, ", libcuda %.60s", name + 12);
    free(path);
}

/* In a child of fork the driver does not work: the child has no device. */
static void note_fork(void) {
    tally_cuda.devices = 0;
    snprintf(tally_cuda.reason, sizeof(tally_cuda.reason),
             "the process was forked after CUDA had been used: fork before that, spawn, or choose the backend host");
}

static void open_driver(void) {
    char *reason = tally_cuda.reason;
    const size_t bytes = sizeof(tally_cuda.reason);
    void *library = dlopen(LIBRARY, RTLD_NOW | RTLD_LOCAL);
    if (!library) {
        const char *error = dlerror();
        snprintf(reason, bytes, "%s", error ? error : LIBRARY " cannot be opened");
        return;
    }
    /* The library stays open: a driver cannot be unloaded. */
    if (!find_calls(library, reason, bytes)) return;
    const CUresult error = tally_cuda.cuInit(0);
    if (error) {
        /* A driver that is there but does not start (another kernel module, no device node) is as
         * good as none. */
        if (error == CUDA_ERROR_STUB_LIBRARY)
            snprintf(reason, bytes, LIBRARY " is the toolkit's stub, not a driver");
        else
            snprintf(reason, bytes, "cuInit: %s (%d)", tally_cuda_error_name(error), (int)error);
        return;
    }
    pthread_atfork(NULL, NULL, note_fork);
    tally_cuda.cuDriverGetVersion(&tally_cuda.version);
    describe_version(tally_cuda.version_text, sizeof(tally_cuda.version_text));
    const CUresult counted = tally_cuda.cuDeviceGetCount(&tally_cuda.devices);
    if (counted) {
        tally_cuda.devices = 0;
        snprintf(reason, bytes, "cuDeviceGetCount: %s (%d)", tally_cuda_error_name(counted), (int)counted);
    } else if (!tally_cuda.devices) {
        snprintf(reason, bytes, "the driver (%s) has no device", tally_cuda.version_text);
    }
}

const tally_cuda_driver *tally_cuda_open(void) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, open_driver);
    return &tally_cuda;
}

/* ---- errors ---------------------------------------------------------------------------------- */

const char *tally_cuda_error_name(CUresult error) {
    const char *name = NULL;
    return tally_cuda.cuGetErrorName(error, &name) || !name ? "unknown CUDA error" : name;
}

tally_status tally_cuda_fail(CUresult error, const char *format, ...) {
    char what[256];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(what, sizeof(what), format, arguments);
    va_end(arguments);
    return tally_fail(error == CUDA_ERROR_OUT_OF_MEMORY ? TALLY_E_MEMORY : TALLY_E_DEVICE, "%s: %s (%d)", what,
                      tally_cuda_error_name(error), (int)error);
}

/* ---- the current context --------------------------------------------------------------------- */

tally_status tally_cuda_enter(const tally_cuda_device *device, bool *pushed) {
    CUcontext current = NULL;
    *pushed = false;
    CUresult error = tally_cuda.cuCtxGetCurrent(&current);
    if (!error && current == device->context) return TALLY_OK;
    if (!error) error = tally_cuda.cuCtxPushCurrent(device->context);
    if (error) return tally_cuda_fail(error, "cuCtxPushCurrent");
    *pushed = true;
    return TALLY_OK;
}

void tally_cuda_leave(bool pushed) {
    CUcontext popped;
    if (pushed) tally_cuda.cuCtxPopCurrent(&popped);
}
