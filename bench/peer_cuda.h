/* SPDX-License-Identifier: MIT */
/* peer_cuda.h: what the peers on CUDA share: a stream and device memory of their own, and calls enqueued on it. */
#ifndef TALLY_BENCH_PEER_CUDA_H
#define TALLY_BENCH_PEER_CUDA_H

#include <cstdint>
#include <cstdio>
#include <cstdlib>

#include <cublas_v2.h>
#include <cuda_runtime.h>

#include "bench.h"

#define TRY(call)                                                                                                              \
    do {                                                                                                                       \
        const cudaError_t error = (call);                                                                                      \
        if (error != cudaSuccess) return peer_complain(#call, error);                                                          \
    } while (0)

struct peer {
    const bench_input *input;
    uint64_t calls;
    const void *x, *y; /* of the call to come */
    const char *first_x, *first_y;
    const uint32_t *map;
    void *values; /* ARRAY_OUT */
    uint64_t n;
    tally_op op;
    tally_dtype in, result;
    bool is_from_1;          /* a place, counted from 1 */
    int (*enqueue)(peer *p); /* one call, asynchronous but for Thrust's reductions */
    void *out, *index;       /* on the device */
    double host;             /* Thrust gives values */
    bool on_host;
    void *storage;
    size_t storage_bytes;
    cublasHandle_t blas;
    cudaStream_t stream;
};

typedef int enqueue_peer(peer *p);

int peer_complain(const char *call, cudaError_t error); /* 1 */
/* The peer of this case, without what is its own; NULL if it cannot be. */
peer *peer_open(const bench_input *input);
/* Of CUB: the storage that its call asks for. 0 when done. */
int peer_open_storage(peer *p);
/* The engine of what writes ARRAY_OUT. */
bench_engine peer_engine(peer *p);
void peer_close(void *pointer);

#endif
