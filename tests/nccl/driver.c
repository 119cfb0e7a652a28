/* SPDX-License-Identifier: MIT */
/* The stand-in for libcuda.so.1: driver.h says what it is. */
#include "driver.h"

#include <stddef.h>
#include <stdint.h>

struct CUctx_st;
struct CUgraph_st;
struct CUgraphNode_st;
struct CUstream_st;

#define EXPORT __attribute__((visibility("default")))
enum { SUCCESS = 0, INVALID_VALUE = 1, INVALID_CONTEXT = 201, UNSUPPORTED_IN_CAPTURE = 900 };
enum { CAPTURE_NONE = 0, CAPTURE_ACTIVE = 1, SET_DEPENDENCIES = 1 };

EXPORT int standin_pushed(void);
EXPORT int standin_separated(void);
EXPORT standin_capture_call standin_capture;
EXPORT int cuStreamGetCtx(struct CUstream_st *stream, struct CUctx_st **context);
EXPORT int cuCtxPushCurrent_v2(struct CUctx_st *context);
EXPORT int cuCtxPopCurrent_v2(struct CUctx_st **context);
EXPORT int cuMemsetD8Async(unsigned long long to, unsigned char value, size_t bytes, struct CUstream_st *stream);
EXPORT int cuStreamGetCaptureInfo_v2(struct CUstream_st *stream, int *status, uint64_t *id, struct CUgraph_st **graph,
                                     struct CUgraphNode_st *const **nodes, size_t *count);
EXPORT int cuGraphAddEmptyNode(struct CUgraphNode_st **node, struct CUgraph_st *graph, struct CUgraphNode_st *const *before,
                               size_t count);
EXPORT int cuStreamUpdateCaptureDependencies(struct CUstream_st *stream, struct CUgraphNode_st **nodes, size_t count,
                                             unsigned flags);

static char a_context, a_graph, a_kernel, an_empty_node;
static _Thread_local int pushed, separated, capturing;

int standin_pushed(void) {
    return pushed;
}

int standin_separated(void) {
    const int was = separated;
    separated = 0;
    return was;
}

void standin_capture(int capture) {
    capturing = capture;
}

int cuStreamGetCtx(struct CUstream_st *stream, struct CUctx_st **context) {
    (void)stream;
    *context = (struct CUctx_st *)(void *)&a_context;
    return SUCCESS;
}

int cuCtxPushCurrent_v2(struct CUctx_st *context) {
    if ((void *)context != &a_context) return INVALID_CONTEXT;
    pushed++;
    return SUCCESS;
}

int cuCtxPopCurrent_v2(struct CUctx_st **context) {
    if (!pushed) return INVALID_CONTEXT;
    *context = (struct CUctx_st *)(void *)&a_context;
    pushed--;
    return SUCCESS;
}

int cuMemsetD8Async(unsigned long long to, unsigned char value, size_t bytes, struct CUstream_st *stream) {
    (void)stream;
    if (!pushed) return INVALID_CONTEXT;
    if (capturing) return UNSUPPORTED_IN_CAPTURE;
    for (size_t i = 0; i < bytes; i++) ((unsigned char *)(uintptr_t)to)[i] = value;
    separated = 1;
    return SUCCESS;
}

int cuStreamGetCaptureInfo_v2(struct CUstream_st *stream, int *status, uint64_t *id, struct CUgraph_st **graph,
                              struct CUgraphNode_st *const **nodes, size_t *count) {
    static struct CUgraphNode_st *const last[] = {(struct CUgraphNode_st *)(void *)&a_kernel};
    (void)stream;
    *status = capturing ? CAPTURE_ACTIVE : CAPTURE_NONE;
    if (!capturing) return SUCCESS;
    *id = 1;
    *graph = (struct CUgraph_st *)(void *)&a_graph;
    *nodes = last;
    *count = 1;
    return SUCCESS;
}

int cuGraphAddEmptyNode(struct CUgraphNode_st **node, struct CUgraph_st *graph, struct CUgraphNode_st *const *before,
                        size_t count) {
    if ((void *)graph != &a_graph || count != 1 || (void *)before[0] != &a_kernel) return INVALID_VALUE;
    *node = (struct CUgraphNode_st *)(void *)&an_empty_node;
    return SUCCESS;
}

int cuStreamUpdateCaptureDependencies(struct CUstream_st *stream, struct CUgraphNode_st **nodes, size_t count, unsigned flags) {
    (void)stream;
    if (!capturing || count != 1 || (void *)nodes[0] != &an_empty_node || flags != SET_DEPENDENCIES) return INVALID_VALUE;
    separated = 1;
    return SUCCESS;
}
