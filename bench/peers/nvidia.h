/* SPDX-License-Identifier: MIT */
/* nvidia.h: declarations shared by the peers on CUDA. Each has a stream and device memory of its
 * own and enqueues calls on the stream. */
#ifndef TALLY_BENCH_PEER_CUDA_H
#define TALLY_BENCH_PEER_CUDA_H

#include <cstdint>
#include <cstdio>
#include <cstdlib>

#include <cublas_v2.h>
#include <cuda_runtime.h>

#include "bench/bench.h"

#define TRY(call)                                                                                                              \
    do {                                                                                                                       \
        const cudaError_t error = (call);                                                                                      \
        if (error != cudaSuccess) return peer_complain(#call, error);                                                          \
    } while (0)

struct peer {
    const bench_input *input;
    uint64_t calls;
    const void *x, *y; /* of the next call */
    const char *first_x, *first_y;
    const uint32_t *map;
    void *values; /* ARRAY_OUT */
    uint64_t n;
    tally_op op;
    tally_dtype in, result;
    bool is_from_1;          /* a place, which counts from 1 */
    int (*enqueue)(peer *p); /* one call; asynchronous except for Thrust's reductions */
    void *out, *index;       /* on the device */
    double host;             /* Thrust returns values */
    bool on_host;
    void *storage;
    size_t storage_bytes;
    cublasHandle_t blas;
    cudaStream_t stream;
};

typedef int enqueue_peer(peer *p);

int peer_complain(const char *call, cudaError_t error); /* returns 1 */
/* Opens the parts that all peers have for this case. Returns NULL on failure. */
peer *peer_open(const bench_input *input);
/* Allocates the storage that CUB's call asks for. Returns 0 when done. */
int peer_open_storage(peer *p);
/* Returns the engine of a peer that writes ARRAY_OUT. */
bench_engine peer_engine(peer *p);
void peer_close(void *pointer);

#endif
