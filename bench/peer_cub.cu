/* SPDX-License-Identifier: MIT */
/*
 * The peer on CUDA: CUB's DeviceReduce::Sum on a stream, its temporary storage taken beforehand. C++ because CUB is. It also times
 * any engine on a CUDA stream by the GPU's own clock: the calls become a graph, and events stand before and after its replay.
 */
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include <cub/device/device_reduce.cuh>
#include <cuda_runtime.h>

#include <tally/cuda.h>

#include "bench.h"

static int complain(const char *call, cudaError_t error) {
    std::fprintf(stderr, "tally_bench: %s: %s\n", call, cudaGetErrorString(error));
    return 1;
}

#define TRY(call)                                                                                                              \
    do {                                                                                                                       \
        const cudaError_t error = (call);                                                                                      \
        if (error != cudaSuccess) return complain(#call, error);                                                               \
    } while (0)

struct cub_state {
    const float *items;
    uint64_t n;
    float *out;
    void *storage;
    size_t storage_bytes;
    cudaStream_t stream;
};

static int enqueue(void *pointer) {
    cub_state *state = static_cast<cub_state *>(pointer);
    TRY(cub::DeviceReduce::Sum(state->storage, state->storage_bytes, state->items, state->out, static_cast<int>(state->n),
                               state->stream)); /* MAX_EXPONENT keeps n an int: CUB is faster with one */
    return 0;
}

static int run(void *pointer, int count) {
    for (int call = 0; call < count; call++)
        if (enqueue(pointer)) return 1;
    TRY(cudaStreamSynchronize(static_cast<cub_state *>(pointer)->stream));
    return 0;
}

static double value(void *pointer) {
    float result = 0;
    const cudaError_t error = cudaMemcpy(&result, static_cast<cub_state *>(pointer)->out, sizeof(result), cudaMemcpyDefault);
    if (error != cudaSuccess) complain("cudaMemcpy", error);
    return result;
}

static double gpu_seconds(void *pointer, int count) {
    return cub_graph_seconds(static_cast<cub_state *>(pointer)->stream, enqueue, pointer, count);
}

static void close_state(void *pointer) {
    cub_state *state = static_cast<cub_state *>(pointer);
    cudaFree(state->storage);
    cudaFree(state->out);
    if (state->stream) cudaStreamDestroy(state->stream);
    std::free(state);
}

static int open_state(cub_state *state, int device) {
    TRY(cudaSetDevice(device));
    TRY(cudaStreamCreateWithFlags(&state->stream, cudaStreamNonBlocking));
    TRY(cudaMalloc(&state->out, sizeof(float)));
    /* Without storage the call only tells how much it wants. */
    if (enqueue(state)) return 1;
    TRY(cudaMalloc(&state->storage, state->storage_bytes));
    return 0;
}

int cub_open(const bench_input *input, bench_engine *out) {
    unsigned long long address = 0;
    if (input->op != TALLY_SUM || input->in != TALLY_F32 || std::strcmp(input->device->backend, "cuda")) return BENCH_ABSENT;
    if (tally_buffer_get_cuda(input->buffer[0], &address)) {
        std::fprintf(stderr, "tally_bench: %s\n", tally_last_error());
        return 1;
    }
    cub_state *state = static_cast<cub_state *>(std::calloc(1, sizeof(cub_state)));
    if (!state) return 1;
    state->items = reinterpret_cast<const float *>(address);
    state->n = input->n;
    if (open_state(state, input->device->index)) {
        close_state(state);
        return 1;
    }
    *out = bench_engine{"CUB", state, run, value, gpu_seconds, close_state};
    return 0;
}

int cub_stream_create(int device, struct CUstream_st **out) {
    TRY(cudaSetDevice(device));
    TRY(cudaStreamCreateWithFlags(out, cudaStreamNonBlocking));
    return 0;
}

void cub_stream_destroy(struct CUstream_st *stream) {
    cudaStreamDestroy(stream);
}

struct graph_timer {
    cudaGraph_t graph;
    cudaGraphExec_t exec;
    cudaEvent_t begin, end;
};

static int time_graph(graph_timer *timer, cudaStream_t stream, int (*enqueue)(void *), void *state, int count, float *ms) {
    TRY(cudaEventCreate(&timer->begin));
    TRY(cudaEventCreate(&timer->end));
    TRY(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
    int failed = 0;
    for (int call = 0; call < count && !failed; call++) failed = enqueue(state);
    TRY(cudaStreamEndCapture(stream, &timer->graph));
    if (failed) return 1;
    TRY(cudaGraphInstantiate(&timer->exec, timer->graph, 0));
    TRY(cudaGraphLaunch(timer->exec, stream)); /* a warm-up, and work that the event waits behind */
    TRY(cudaEventRecord(timer->begin, stream));
    TRY(cudaGraphLaunch(timer->exec, stream));
    TRY(cudaEventRecord(timer->end, stream));
    TRY(cudaEventSynchronize(timer->end));
    TRY(cudaEventElapsedTime(ms, timer->begin, timer->end));
    return 0;
}

double cub_graph_seconds(struct CUstream_st *stream, int (*enqueue)(void *state), void *state, int count) {
    graph_timer timer = {};
    float ms = 0;
    const int failed = time_graph(&timer, stream, enqueue, state, count, &ms);
    if (timer.exec) cudaGraphExecDestroy(timer.exec);
    if (timer.graph) cudaGraphDestroy(timer.graph);
    if (timer.begin) cudaEventDestroy(timer.begin);
    if (timer.end) cudaEventDestroy(timer.end);
    return failed ? -1 : 1e-3 * ms / count;
}
