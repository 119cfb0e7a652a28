/* SPDX-License-Identifier: MIT */
/* library.c: libnccl.so.2, opened at run time. */
#define _GNU_SOURCE
#include "library.h"

#include <dlfcn.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>

#include <tally/backend.h>

#define LIBRARY "libnccl.so.2"
#define DRIVER "libcuda.so.1"

static nccl_library library;
static char reason[256]; /* why there is none */
static pthread_once_t once = PTHREAD_ONCE_INIT;

typedef struct row {
    const char *symbol;
    size_t offset; /* in nccl_library */
} row;

#define NCCL_ROW(result, name, parameters) {"nccl" #name, offsetof(nccl_library, name)},
#define DRIVER_ROW(result, name, parameters) {"cu" #name, offsetof(nccl_library, name)},
static const row calls[] = {NCCL_CALLS(NCCL_ROW){NULL, 0}};
static const row window_calls[] = {NCCL_WINDOW_CALLS(NCCL_ROW){NULL, 0}};
static const row driver_calls[] = {NCCL_DRIVER_CALLS(DRIVER_ROW){NULL, 0}};

/* Finds the calls of a list that ends with NULL. Returns the symbol that is missing, or NULL. */
static const char *find(void *handle, const row *rows) {
    for (; rows->symbol; rows++) {
        void *address = dlsym(handle, rows->symbol);
        if (!address) return rows->symbol;
        memcpy((char *)&library + rows->offset, &address, sizeof(address));
    }
    return NULL;
}

/* Opens the libraries and finds their calls. They stay open, because the caller's communicator
 * belongs to them. */
static void open_library(void) {
    void *handle = dlopen(LIBRARY, RTLD_NOW | RTLD_LOCAL);
    if (!handle) {
        const char *error = dlerror();
        snprintf(reason, sizeof(reason), "%.200s", error ? error : LIBRARY " cannot be opened");
        return;
    }
    const char *missing = find(handle, calls);
    if (missing) snprintf(reason, sizeof(reason), LIBRARY " has no %s", missing);
    void *driver = missing ? NULL : dlopen(DRIVER, RTLD_NOW | RTLD_LOCAL);
    library.has_windows = driver && !find(handle, window_calls) && !find(driver, driver_calls);
}

const nccl_library *nccl_open(void) {
    pthread_once(&once, open_library);
    if (!reason[0]) return &library;
    tally_fail(TALLY_E_NO_DEVICE, "%s", reason);
    return NULL;
}

int nccl_result(const nccl_library *nccl, struct ncclComm *comm, int result) {
    while (result == NCCL_IN_PROGRESS) {
        const int asked = nccl->CommGetAsyncError(comm, &result);
        if (asked != NCCL_SUCCESS) result = asked;
        if (result == NCCL_IN_PROGRESS) sched_yield();
    }
    return result;
}

tally_status nccl_status(const nccl_library *nccl, struct ncclComm *comm, int result, const char *call) {
    result = nccl_result(nccl, comm, result);
    if (result == NCCL_SUCCESS) return TALLY_OK;
    return tally_fail(TALLY_E_DEVICE, "%s: %s (%d)", call, nccl->GetErrorString(result), result);
}
