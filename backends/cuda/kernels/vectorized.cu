/* SPDX-License-Identifier: MIT */
/*
 * vectorized: grid_stride with loads of 16 bytes.
 *
 * How: each item takes a 16-byte vector at a time and combines its parts in sequence; items before the first aligned one and after the last
 * whole vector are taken one by one. Why: document 001, "vectorize": a quarter of the load instructions of f32.
 */
#define VECTOR (16 / ITEM_BYTES) /* items of a 16-byte load */

typedef union {
    ITEM_VECTOR vector;
    ITEM item[VECTOR];
} items16;

PARTIALS {
    __shared__ ACC data[GROUP];
    const u32 item = threadIdx.x;
    const u64 id = (u64)blockIdx.x * GROUP + threadIdx.x, grid = (u64)gridDim.x * GROUP;
    const ITEM *x = in + in_offset;
    const u64 misaligned = (u64)x % 16 / ITEM_BYTES;
    const u64 head = min(n, misaligned ? VECTOR - misaligned : (u64)0);
    const u64 vectors = (n - head) / VECTOR;
    ACC a = IDENTITY;
    for (u64 i = id; i < head; i += grid) a = op_combine(a, op_load(x[i], i));
    for (u64 v = id; v < vectors; v += grid) {
        items16 items;
        items.vector = ((const ITEM_VECTOR *)(x + head))[v];
#pragma unroll
        for (int j = 0; j < VECTOR; j++) a = op_combine(a, op_load(items.item[j], head + v * VECTOR + j));
    }
    for (u64 i = head + vectors * VECTOR + id; i < n; i += grid) a = op_combine(a, op_load(x[i], i));
    a = group_value(data, item, a);
    if (item == 0) HAND_IN(a);
}
