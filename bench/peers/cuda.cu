/* SPDX-License-Identifier: MIT */
/*
 * cuda.cu: the reductions' peers on CUDA: CUB, Thrust and cuBLAS. Each has its own stream, and
 * storage that is allocated beforehand. The file is C++ because they are. It also times any engine
 * on a CUDA stream by the GPU's own clock: the calls become a graph, with events before and after
 * its replay.
 */
#include <climits>
#include <cstring>

#include <cub/device/device_reduce.cuh>
#include <cuda/std/functional>
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <thrust/execution_policy.h>
#include <thrust/extrema.h>
#include <thrust/functional.h>
#include <thrust/reduce.h>

#include <tally/cuda.h>

#include "nvidia.h"

int peer_complain(const char *call, cudaError_t error) {
    std::fprintf(stderr, "tally_bench: %s: %s\n", call, cudaGetErrorString(error));
    return 1;
}

/* ---- parts of all peers ---------------------------------------------------------------------- */

static int enqueue(void *pointer) {
    peer *p = static_cast<peer *>(pointer);
    const size_t at = input_next(p->input, &p->calls) * tally_dtype_bytes(p->in);
    p->x = p->first_x + at;
    p->y = p->first_y + at;
    return p->enqueue(p);
}

static int run(void *pointer, int count) {
    for (int call = 0; call < count; call++)
        if (enqueue(pointer)) return 1;
    TRY(cudaStreamSynchronize(static_cast<peer *>(pointer)->stream));
    return 0;
}

static double value(void *pointer) {
    const peer *p = static_cast<peer *>(pointer);
    unsigned char result[sizeof(double)];
    if (p->on_host) return p->host;
    const cudaError_t error = cudaMemcpy(result, p->index ? p->index : p->out, sizeof(result), cudaMemcpyDefault);
    if (error != cudaSuccess) peer_complain("cudaMemcpy", error);
    return input_value(p->result, result) - p->is_from_1;
}

static double gpu_seconds(void *pointer, int count) {
    return peer_graph_seconds(static_cast<peer *>(pointer)->stream, enqueue, pointer, count);
}

void peer_close(void *pointer) {
    peer *p = static_cast<peer *>(pointer);
    if (p->blas) cublasDestroy(p->blas);
    cudaFree(p->storage);
    cudaFree(p->out);
    cudaFree(p->index);
    if (p->stream) cudaStreamDestroy(p->stream);
    std::free(p);
}

static int open_stream(peer *p, int device) {
    TRY(cudaSetDevice(device));
    TRY(cudaStreamCreateWithFlags(&p->stream, cudaStreamNonBlocking));
    TRY(cudaMalloc(&p->out, sizeof(double)));
    return 0;
}

static int open_pointer(const tally_buffer *buffer, unsigned long long *out) {
    *out = 0;
    return buffer && tally_buffer_get_cuda(buffer, out);
}

peer *peer_open(const bench_input *input) {
    unsigned long long at[ARRAYS];
    for (int a = 0; a < ARRAYS; a++)
        if (open_pointer(input->buffer[a], &at[a])) {
            std::fprintf(stderr, "tally_bench: %s\n", tally_last_error());
            return nullptr;
        }
    peer *p = static_cast<peer *>(std::calloc(1, sizeof(peer)));
    if (!p) return nullptr;
    p->input = input;
    p->x = p->first_x = reinterpret_cast<const char *>(at[ARRAY_X]);
    p->y = p->first_y = reinterpret_cast<const char *>(at[ARRAY_Y]);
    p->map = reinterpret_cast<const uint32_t *>(at[ARRAY_MAP]);
    p->values = reinterpret_cast<void *>(at[ARRAY_OUT]);
    p->n = input->n;
    p->op = input->task->op;
    p->in = p->result = input->in;
    if (!open_stream(p, input->device->index)) return p;
    peer_close(p);
    return nullptr;
}

int peer_open_storage(peer *p) {
    /* Without storage the call only returns the size that it needs. */
    if (p->enqueue(p)) return 1;
    TRY(cudaMalloc(&p->storage, p->storage_bytes));
    return 0;
}

bench_engine peer_engine(peer *p) {
    return bench_engine{nullptr, p, run, nullptr, gpu_seconds, peer_close};
}

/* Opens the peer of a sum or extreme. Returns 0, 1 or BENCH_ABSENT as in bench.h. */
static int open_reduction(const bench_input *input, enqueue_peer *enqueue, peer **out) {
    const tally_op op = input->task->op;
    if (std::strcmp(input->device->backend, "cuda") || !enqueue) return BENCH_ABSENT;
    if (op != TALLY_SUM && op != TALLY_MIN && op != TALLY_MAX && op != TALLY_ARGMIN && op != TALLY_ARGMAX) return BENCH_ABSENT;
    *out = peer_open(input);
    if (!*out) return 1;
    (*out)->enqueue = enqueue;
    return 0;
}

/* ---- CUB ------------------------------------------------------------------------------------- */

/* T is the items' type. S is the accumulator's type and the sum's. N is the type of the count. */
template <typename T, typename S, typename N> static int enqueue_cub(peer *p) {
    const T *x = static_cast<const T *>(p->x);
    T *out = static_cast<T *>(p->out);
    S *sum = static_cast<S *>(p->out);
    const N n = static_cast<N>(p->n);
    long long *index = static_cast<long long *>(p->index);
    switch (static_cast<int>(p->op)) {
    case TALLY_SUM:
        if constexpr (sizeof(T) == 2) /* Sum would add halves as halves */
            TRY(cub::DeviceReduce::Reduce(p->storage, p->storage_bytes, x, sum, n, cuda::std::plus<S>(), S(0), p->stream));
        else
            TRY(cub::DeviceReduce::Sum(p->storage, p->storage_bytes, x, sum, n, p->stream));
        return 0;
    case TALLY_MIN:
        TRY(cub::DeviceReduce::Min(p->storage, p->storage_bytes, x, out, n, p->stream));
        return 0;
    case TALLY_MAX:
        TRY(cub::DeviceReduce::Max(p->storage, p->storage_bytes, x, out, n, p->stream));
        return 0;
    case TALLY_ARGMIN:
        TRY(cub::DeviceReduce::ArgMin(p->storage, p->storage_bytes, x, out, index, static_cast<int64_t>(n), p->stream));
        return 0;
    default:
        TRY(cub::DeviceReduce::ArgMax(p->storage, p->storage_bytes, x, out, index, static_cast<int64_t>(n), p->stream));
        return 0;
    }
}

/* Returns CUB's call for the input. CUB is faster with a count of 32 bits. */
template <typename T, typename S> static enqueue_peer *cub_of(const bench_input *input) {
    return input->n > UINT32_MAX ? enqueue_cub<T, S, uint64_t> : enqueue_cub<T, S, uint32_t>;
}

static enqueue_peer *cub_call(const bench_input *input) {
    switch (static_cast<int>(input->in)) {
    case TALLY_F16:
        return cub_of<__half, float>(input);
    case TALLY_BF16:
        return cub_of<__nv_bfloat16, float>(input);
    case TALLY_F32:
        return cub_of<float, float>(input);
    case TALLY_F64:
        return cub_of<double, double>(input);
    case TALLY_I8:
        return cub_of<signed char, int>(input);
    case TALLY_I32:
        return cub_of<int, long long>(input);
    case TALLY_I64:
        return cub_of<long long, long long>(input);
    }
    return nullptr;
}

/* Returns the type of a sum by cub_call. */
static tally_dtype cub_sum(tally_dtype in) {
    return in == TALLY_F16 || in == TALLY_BF16 ? TALLY_F32 : in == TALLY_I8 ? TALLY_I32 : in == TALLY_I32 ? TALLY_I64 : in;
}

static int prepare_cub(peer *p) {
    if (p->op == TALLY_SUM) p->result = cub_sum(p->in);
    if (p->op == TALLY_ARGMIN || p->op == TALLY_ARGMAX) {
        p->result = TALLY_I64;
        TRY(cudaMalloc(&p->index, sizeof(long long)));
    }
    return peer_open_storage(p);
}

int cub_open(const bench_input *input, bench_engine *out) {
    peer *p = nullptr;
    const int status = open_reduction(input, cub_call(input), &p);
    if (status) return status;
    if (prepare_cub(p)) return peer_close(p), 1;
    *out = bench_engine{nullptr, p, run, value, gpu_seconds, peer_close};
    return 0;
}

/* ---- an empty kernel: what the driver takes for a launch ------------------------------------- */

#define MOST_LAUNCHED 65536 /* items: more take longer than a launch */

static __global__ void nothing(const void *, void *, uint64_t) {}

static int enqueue_nothing(peer *p) {
    nothing<<<1, 256, 0, p->stream>>>(p->x, p->out, p->n);
    TRY(cudaGetLastError());
    return 0;
}

int launch_open(const bench_input *input, bench_engine *out) {
    if (std::strcmp(input->device->backend, "cuda") || input->n > MOST_LAUNCHED) return BENCH_ABSENT;
    peer *p = peer_open(input);
    if (!p) return 1;
    p->enqueue = enqueue_nothing;
    *out = peer_engine(p);
    return 0;
}

/* ---- Thrust, which waits for the value on the host: no GPU time ------------------------------ */

template <typename T, typename S> static int enqueue_thrust(peer *p) {
    const T *x = static_cast<const T *>(p->x), *end = x + p->n;
    const auto policy = thrust::cuda::par_nosync.on(p->stream);
    p->on_host = true;
    try {
        switch (static_cast<int>(p->op)) {
        case TALLY_SUM:
            p->host = static_cast<double>(thrust::reduce(policy, x, end, S(0)));
            break;
        case TALLY_MIN:
            p->host = thrust::reduce(policy, x, end, T(100), thrust::minimum<T>());
            break;
        case TALLY_MAX:
            p->host = thrust::reduce(policy, x, end, T(-100), thrust::maximum<T>());
            break;
        case TALLY_ARGMIN:
            p->host = static_cast<double>(thrust::min_element(policy, x, end) - x);
            break;
        default:
            p->host = static_cast<double>(thrust::max_element(policy, x, end) - x);
        }
    } catch (const std::exception &error) {
        std::fprintf(stderr, "tally_bench: Thrust: %s\n", error.what());
        return 1;
    }
    return 0;
}

int thrust_open(const bench_input *input, bench_engine *out) {
    peer *p = nullptr;
    enqueue_peer *const call = input->in == TALLY_F32   ? enqueue_thrust<float, float>
                               : input->in == TALLY_F64 ? enqueue_thrust<double, double>
                               : input->in == TALLY_I32 ? enqueue_thrust<int, long long>
                                                        : nullptr;
    const int status = open_reduction(input, call, &p);
    if (status) return status;
    *out = bench_engine{nullptr, p, run, value, nullptr, peer_close};
    return 0;
}

/* ---- cuBLAS ---------------------------------------------------------------------------------- */

static int enqueue_cublas(peer *p) {
    const bool single = p->in == TALLY_F32;
    const int n = static_cast<int>(p->n);
    const float *sx = static_cast<const float *>(p->x), *sy = static_cast<const float *>(p->y);
    const double *dx = static_cast<const double *>(p->x), *dy = static_cast<const double *>(p->y);
    float *s = static_cast<float *>(p->out);
    double *d = static_cast<double *>(p->out);
    int *place = static_cast<int *>(p->out);
    cublasStatus_t status;
    switch (static_cast<int>(p->op)) {
    case TALLY_ASUM:
        status = single ? cublasSasum(p->blas, n, sx, 1, s) : cublasDasum(p->blas, n, dx, 1, d);
        break;
    case TALLY_NRM2:
        status = single ? cublasSnrm2(p->blas, n, sx, 1, s) : cublasDnrm2(p->blas, n, dx, 1, d);
        break;
    case TALLY_DOT:
        status = single ? cublasSdot(p->blas, n, sx, 1, sy, 1, s) : cublasDdot(p->blas, n, dx, 1, dy, 1, d);
        break;
    default:
        status = single ? cublasIsamax(p->blas, n, sx, 1, place) : cublasIdamax(p->blas, n, dx, 1, place);
    }
    if (status == CUBLAS_STATUS_SUCCESS) return 0;
    std::fprintf(stderr, "tally_bench: cuBLAS: %s\n", cublasGetStatusString(status));
    return 1;
}

int cublas_open(const bench_input *input, bench_engine *out) {
    const tally_op op = input->task->op;
    if (std::strcmp(input->device->backend, "cuda") || !is_f32_or_f64(input->in) || input->n > INT_MAX) return BENCH_ABSENT;
    if (op != TALLY_ASUM && op != TALLY_NRM2 && op != TALLY_DOT && op != TALLY_IAMAX) return BENCH_ABSENT;
    peer *p = peer_open(input);
    if (!p) return 1;
    p->enqueue = enqueue_cublas;
    if (op == TALLY_IAMAX) {
        p->result = TALLY_I32;
        p->is_from_1 = true;
    }
    if (cublasCreate(&p->blas) || cublasSetStream(p->blas, p->stream) ||
        cublasSetPointerMode(p->blas, CUBLAS_POINTER_MODE_DEVICE)) {
        std::fprintf(stderr, "tally_bench: cuBLAS cannot start\n");
        return peer_close(p), 1;
    }
    *out = bench_engine{nullptr, p, run, value, gpu_seconds, peer_close};
    return 0;
}

/* ---- streams and graphs ---------------------------------------------------------------------- */

int peer_stream_create(int device, struct CUstream_st **out) {
    TRY(cudaSetDevice(device));
    TRY(cudaStreamCreateWithFlags(out, cudaStreamNonBlocking));
    return 0;
}

void peer_stream_destroy(struct CUstream_st *stream) {
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

double peer_graph_seconds(struct CUstream_st *stream, int (*enqueue)(void *state), void *state, int count) {
    graph_timer timer = {};
    float ms = 0;
    const int failed = time_graph(&timer, stream, enqueue, state, count, &ms);
    if (timer.exec) cudaGraphExecDestroy(timer.exec);
    if (timer.graph) cudaGraphDestroy(timer.graph);
    if (timer.begin) cudaEventDestroy(timer.begin);
    if (timer.end) cudaEventDestroy(timer.end);
    return failed ? -1 : 1e-3 * ms / count;
}
