/* SPDX-License-Identifier: MIT */
/* cuda_scan.cu: CUB's inclusive scans. Halves are combined in f32 and rounded once, as in
 * tally. DeviceScan::InclusiveSum would add them as halves. */
#include <cstring>

#include <cub/device/device_scan.cuh>
#include <cuda/functional>
#include <cuda/std/functional>
#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include "nvidia.h"

/* T is the type of items and values; S is the type of the accumulator. */
template <typename T, typename S> static int enqueue_scan(peer *p) {
    const T *x = static_cast<const T *>(p->x);
    T *out = static_cast<T *>(p->values);
    const uint32_t n = static_cast<uint32_t>(p->n); /* CUB is slower with 64 bits */
    void *storage = p->storage;
    size_t &bytes = p->storage_bytes;
    switch (static_cast<int>(p->op)) {
    case TALLY_SUM:
        TRY(cub::DeviceScan::InclusiveScan(storage, bytes, x, out, cuda::std::plus<S>(), n, p->stream));
        return 0;
    case TALLY_MIN:
        TRY(cub::DeviceScan::InclusiveScan(storage, bytes, x, out, cuda::minimum<S>(), n, p->stream));
        return 0;
    default:
        TRY(cub::DeviceScan::InclusiveScan(storage, bytes, x, out, cuda::maximum<S>(), n, p->stream));
        return 0;
    }
}

static enqueue_peer *scan_call(tally_dtype in) {
    switch (static_cast<int>(in)) {
    case TALLY_F16:
        return enqueue_scan<__half, float>;
    case TALLY_BF16:
        return enqueue_scan<__nv_bfloat16, float>;
    case TALLY_F32:
        return enqueue_scan<float, float>;
    case TALLY_F64:
        return enqueue_scan<double, double>;
    case TALLY_I8:
        return enqueue_scan<signed char, signed char>;
    case TALLY_I32:
        return enqueue_scan<int, int>;
    case TALLY_I64:
        return enqueue_scan<long long, long long>;
    }
    return nullptr;
}

int cub_scan_open(const bench_input *input, bench_engine *out) {
    enqueue_peer *const call = scan_call(input->in);
    if (std::strcmp(input->device->backend, "cuda") || !call || input->n > UINT32_MAX) return BENCH_ABSENT;
    peer *p = peer_open(input);
    if (!p) return 1;
    p->enqueue = call;
    if (peer_open_storage(p)) return peer_close(p), 1;
    *out = peer_engine(p);
    return 0;
}
