/* SPDX-License-Identifier: MIT */
/*
 * cuda_stream.c: an application with its own CUDA context, stream and device memory. tally enqueues
 * its kernels on the application's stream and reduces the items in place. The runtime API's
 * cudaStream_t and pointers are the same objects.
 */
#include <cuda.h>
#include <stdint.h>
#include <stdio.h>

#include <tally/cuda.h>

enum { N = 1000000, SKIPPED = 77 };

typedef struct work {
    tally_context *context;
    tally_queue *queue;
    tally_buffer *in, *out;
    tally_plan *plan;
} work;

/* The context, the stream and the memory still belong to the application. They must outlive tally's
 * objects. */
static tally_status enqueue(work *w, CUcontext context, CUstream stream, CUdeviceptr in, CUdeviceptr out) {
    const tally_reduce_desc desc = {.size = sizeof(desc), .op = TALLY_SUM, .in = TALLY_U32, .max_n = N};
    tally_status status = tally_context_create_cuda(context, &w->context);
    if (!status) status = tally_queue_wrap_cuda(w->context, stream, &w->queue);
    if (!status) status = tally_buffer_wrap_cuda(w->context, in, N * sizeof(uint32_t), &w->in);
    if (!status) status = tally_buffer_wrap_cuda(w->context, out, sizeof(uint64_t), &w->out);
    if (!status) status = tally_plan_create(w->context, &desc, &w->plan);
    return status ? status : tally_reduce(w->plan, w->queue, w->in, N, w->out);
}

int main(void) {
    static uint32_t x[N];
    for (uint32_t i = 0; i < N; i++) x[i] = i * 4000;

    CUdevice device;
    CUcontext context = NULL;
    CUstream stream = NULL;
    CUdeviceptr in = 0, out = 0;
    uint64_t sum = 0;
    if (cuInit(0) || cuDeviceGet(&device, 0)) {
        puts("skipped: there is no CUDA device");
        return SKIPPED;
    }
    CUresult error = cuDevicePrimaryCtxRetain(&context, device);
    if (!error) error = cuCtxSetCurrent(context);
    if (!error) error = cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING);
    if (!error) error = cuMemAlloc(&in, sizeof(x));
    if (!error) error = cuMemAlloc(&out, sizeof(sum));
    if (!error) error = cuMemcpyHtoDAsync(in, x, sizeof(x), stream);

    work w = {0};
    const tally_status status = error ? TALLY_OK : enqueue(&w, context, stream, in, out);
    if (!error && !status) error = cuMemcpyDtoHAsync(&sum, out, sizeof(sum), stream);
    if (!error) error = cuStreamSynchronize(stream);
    if (status) fprintf(stderr, "cuda_stream: %s\n", tally_last_error());
    if (error) fprintf(stderr, "cuda_stream: CUDA error %d\n", (int)error);

    tally_plan_destroy(w.plan);
    tally_buffer_destroy(w.in);
    tally_buffer_destroy(w.out);
    tally_queue_destroy(w.queue);
    tally_context_destroy(w.context);
    if (out) cuMemFree(out);
    if (in) cuMemFree(in);
    if (stream) cuStreamDestroy(stream);
    if (context) cuDevicePrimaryCtxRelease(device);
    printf("sum %llu\n", (unsigned long long)sum);
    return !error && !status && sum == UINT64_C(4000) * N * (N - 1) / 2 ? 0 : 1;
}
