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

static nccl_library library;
static char reason[256]; /* why there is none */
static pthread_once_t once = PTHREAD_ONCE_INIT;

static const struct {
    const char *symbol;
    size_t offset;
} calls[] = {
#define ROW(result, name, parameters) {"nccl" #name, offsetof(nccl_library, name)},
    NCCL_CALLS(ROW)
#undef ROW
};

/* Opens the library and finds its calls. It stays open, because the caller's communicator belongs
 * to it. */
static void open_library(void) {
    void *handle = dlopen(LIBRARY, RTLD_NOW | RTLD_LOCAL);
    if (!handle) {
        const char *error = dlerror();
        snprintf(reason, sizeof(reason), "%.200s", error ? error : LIBRARY " cannot be opened");
        return;
    }
    for (size_t i = 0; i < sizeof(calls) / sizeof(calls[0]); i++) {
        void *address = dlsym(handle, calls[i].symbol);
        if (!address) {
            snprintf(reason, sizeof(reason), LIBRARY " has no %s", calls[i].symbol);
            return;
        }
        memcpy((char *)&library + calls[i].offset, &address, sizeof(address));
    }
}

const nccl_library *nccl_open(void) {
    pthread_once(&once, open_library);
    if (!reason[0]) return &library;
    tally_fail(TALLY_E_NO_DEVICE, "%s", reason);
    return NULL;
}

tally_status nccl_status(const nccl_library *nccl, struct ncclComm *comm, int result, const char *call) {
    while (result == NCCL_IN_PROGRESS) {
        const int asked = nccl->CommGetAsyncError(comm, &result);
        if (asked != NCCL_SUCCESS) result = asked;
        if (result == NCCL_IN_PROGRESS) sched_yield();
    }
    if (result == NCCL_SUCCESS) return TALLY_OK;
    return tally_fail(TALLY_E_DEVICE, "%s: %s (%d)", call, nccl->GetErrorString(result), result);
}
