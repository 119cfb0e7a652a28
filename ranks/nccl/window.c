/* SPDX-License-Identifier: MIT */
/* window.c: memory that NCCL's kernels reach on the other devices of a communicator. */
#include "window.h"

#include <tally/backend.h>

bool nccl_window_allocate(nccl_window *window, struct CUstream_st *stream) {
    const nccl_library *library = window->library;
    struct CUctx_st *popped;
    if (!library->has_windows || library->StreamGetCtx(stream, &window->context)) return false;
    /* ncclMemAlloc takes the thread's current device. */
    if (library->CtxPushCurrent_v2(window->context)) return false;
    const int result = library->MemAlloc(&window->memory, window->bytes + 1); /* with the byte of `separate` */
    library->CtxPopCurrent_v2(&popped);
    if (result != NCCL_SUCCESS) window->memory = NULL;
    return window->memory != NULL;
}

/* A failure sets no error text: the packets lie in plain memory then. */
bool nccl_window_open(nccl_window *w) {
    const int result = w->library->CommWindowRegister(w->comm, w->memory, w->bytes, &w->handle, NCCL_WINDOW_SYMMETRIC);
    if (nccl_result(w->library, w->comm, result) != NCCL_SUCCESS) w->handle = NULL;
    return w->handle != NULL;
}

void nccl_window_close(nccl_window *window) {
    if (window->handle) window->library->CommWindowDeregister(window->comm, window->handle);
    window->handle = NULL;
}

void nccl_window_free(nccl_window *window) {
    nccl_window_close(window);
    if (window->memory) window->library->MemFree(window->memory);
    window->memory = NULL;
}

/* Enqueues work that is no kernel: an empty node of a graph that captures the stream, which takes
 * no time, otherwise a byte that is set. Returns CUDA's error. */
static int separate(const nccl_window *window, struct CUstream_st *stream) {
    const nccl_library *library = window->library;
    struct CUgraph_st *graph;
    struct CUgraphNode_st *node, *const *before;
    uint64_t id;
    size_t count;
    int status, error = library->StreamGetCaptureInfo_v2(stream, &status, &id, &graph, &before, &count);
    if (error) return error;
    if (status != CU_CAPTURE_ACTIVE) return library->MemsetD8Async((uintptr_t)window->memory + window->bytes, 0, 1, stream);
    error = library->GraphAddEmptyNode(&node, graph, before, count);
    return error ? error : library->StreamUpdateCaptureDependencies(stream, &node, 1, CU_SET_DEPENDENCIES);
}

tally_status nccl_window_separate(const nccl_window *window, struct CUstream_st *stream) {
    struct CUctx_st *popped;
    if (!window->handle) return TALLY_OK;
    int error = window->library->CtxPushCurrent_v2(window->context);
    if (!error) {
        error = separate(window, stream);
        window->library->CtxPopCurrent_v2(&popped);
    }
    return error ? tally_fail(TALLY_E_DEVICE, "tally_nccl_allreduce: CUDA's error %d between two kernels", error) : TALLY_OK;
}
