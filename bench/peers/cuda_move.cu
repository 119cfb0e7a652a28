/* SPDX-License-Identifier: MIT */
/* cuda_move.cu: Thrust's gather and scatter, and the driver's copy. Thrust checks no bounds.
 * On a stream that does not wait, it only enqueues. */
#include <cstring>
#include <exception>

#include <thrust/execution_policy.h>
#include <thrust/gather.h>
#include <thrust/scatter.h>

#include "nvidia.h"

template <bool is_gather> static int enqueue_move(peer *p) {
    const float *x = static_cast<const float *>(p->x);
    float *out = static_cast<float *>(p->values);
    const auto policy = thrust::cuda::par_nosync.on(p->stream);
    try {
        if constexpr (is_gather)
            thrust::gather(policy, p->map, p->map + p->n, x, out);
        else
            thrust::scatter(policy, x, x + p->n, p->map, out);
    } catch (const std::exception &error) {
        std::fprintf(stderr, "tally_bench: Thrust: %s\n", error.what());
        return 1;
    }
    return 0;
}

static int enqueue_copy(peer *p) {
    TRY(cudaMemcpyAsync(p->values, p->x, array_bytes(ARRAY_X, p->in, p->n), cudaMemcpyDeviceToDevice, p->stream));
    return 0;
}

static int open_call(const bench_input *input, enqueue_peer *call, bench_engine *out) {
    if (std::strcmp(input->device->backend, "cuda")) return BENCH_ABSENT;
    peer *p = peer_open(input);
    if (!p) return 1;
    p->enqueue = call;
    *out = peer_engine(p);
    return 0;
}

int thrust_move_open(const bench_input *input, bench_engine *out) {
    return open_call(input, input->task->primitive == BENCH_GATHER ? enqueue_move<true> : enqueue_move<false>, out);
}

int cuda_copy_open(const bench_input *input, bench_engine *out) {
    return open_call(input, enqueue_copy, out);
}
