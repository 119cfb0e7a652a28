/* SPDX-License-Identifier: MIT */
/* cuda_segments.cu: CUB's sums of f32 by segments: rows and offsets by DeviceSegmentedReduce, runs
 * of keys by DeviceReduce::ReduceByKey. CUB has no columns. */
#include <cmath>
#include <cstring>

#include <cub/device/device_reduce.cuh>
#include <cub/device/device_segmented_reduce.cuh>
#include <cuda/std/functional>
#include <thrust/iterator/counting_iterator.h>
#include <thrust/iterator/transform_iterator.h>

#include "bench/segments.h"
#include "nvidia.h"

struct times {
    int64_t length;
    __host__ __device__ int64_t operator()(int64_t row) const {
        return row * length;
    }
};

static const float *items_of(const peer *p) {
    return static_cast<const float *>(p->x) + p->input->segments->first;
}

static int enqueue_rows(peer *p) {
    const bench_segments *s = p->input->segments;
    const auto begins =
        thrust::make_transform_iterator(thrust::counting_iterator<int64_t>(0), times{static_cast<int64_t>(s->length)});
    TRY(cub::DeviceSegmentedReduce::Sum(p->storage, p->storage_bytes, items_of(p), static_cast<float *>(p->values),
                                        static_cast<int64_t>(s->count), begins, begins + 1, p->stream));
    return 0;
}

static int enqueue_offsets(peer *p) {
    const bench_segments *s = p->input->segments;
    const int64_t *begins = reinterpret_cast<const int64_t *>(p->map);
    TRY(cub::DeviceSegmentedReduce::Sum(p->storage, p->storage_bytes, items_of(p), static_cast<float *>(p->values),
                                        static_cast<int64_t>(s->count), begins, begins + 1, p->stream));
    return 0;
}

/* The runs' keys go to p->index, their number to p->out. */
static int enqueue_keys(peer *p) {
    const bench_segments *s = p->input->segments;
    TRY(cub::DeviceReduce::ReduceByKey(p->storage, p->storage_bytes, p->map, static_cast<uint32_t *>(p->index), items_of(p),
                                       static_cast<float *>(p->values), static_cast<int64_t *>(p->out),
                                       cuda::std::plus<float>(), static_cast<int64_t>(s->n), p->stream));
    return 0;
}

static double value(void *pointer) {
    const peer *p = static_cast<peer *>(pointer);
    int64_t runs = static_cast<int64_t>(p->input->segments->count);
    if (p->input->segments->by != TALLY_BY_KEYS) return static_cast<double>(runs);
    const cudaError_t error = cudaMemcpy(&runs, p->out, sizeof(runs), cudaMemcpyDefault);
    return error == cudaSuccess ? static_cast<double>(runs) : (peer_complain("cudaMemcpy", error), NAN);
}

static enqueue_peer *call_of(const bench_segments *s) {
    if (s->by == TALLY_BY_OFFSETS) return enqueue_offsets;
    if (s->by == TALLY_BY_KEYS) return enqueue_keys;
    return s->inner == 1 && s->cut != CUT_CHANNELS ? enqueue_rows : nullptr;
}

static int open_keys(peer *p) {
    if (p->input->segments->by == TALLY_BY_KEYS) TRY(cudaMalloc(&p->index, p->input->segments->count * sizeof(uint32_t)));
    return peer_open_storage(p);
}

int cub_segments_open(const bench_input *input, bench_engine *out) {
    const bench_segments *s = input->segments;
    enqueue_peer *const call = call_of(s);
    if (std::strcmp(input->device->backend, "cuda") || !call || s->op != TALLY_SUM || s->also || s->in != TALLY_F32)
        return BENCH_ABSENT;
    peer *p = peer_open(input);
    if (!p) return 1;
    p->enqueue = call;
    if (open_keys(p)) return peer_close(p), 1;
    *out = peer_engine(p);
    out->value = value;
    return 0;
}
