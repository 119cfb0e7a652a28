/* SPDX-License-Identifier: MIT */
/*
 * vectorized: grid_stride with loads of 16 bytes.
 *
 * Computes: one accumulator per group.
 * How: each thread loads a vector of 16 bytes of each input at a time and combines its items in
 * sequence. Items before the first aligned one and after the last whole vector are loaded one by
 * one. So are all items where the inputs differ in their alignment.
 * Needs: local memory for GROUP accumulators.
 * Why: document 001, "vectorize". For f32 a quarter of the load instructions are left.
 */
PARTIALS {
    SOURCE in = SOURCE_OF_ARGS;
    __local ACC data[GROUP];
    const u32 thread = get_local_id(0);
    const u64 id = get_global_id(0), grid = get_global_size(0);
    const u64 beyond = (size_t)in.x % 16;
    bool alike = beyond % ITEM_BYTES == 0;
#define IS_ALIKE(name) alike = alike && (size_t)in.name % 16 == beyond;
    EACH_INPUT(IS_ALIKE)
    const u64 head = min(n, (16 - beyond) % 16 / ITEM_BYTES);
    const u64 vectors = alike ? (n - head) / VECTOR : 0;
    ACC a = IDENTITY;
    for (u64 i = id; i < head; i += grid) a = op_combine(a, op_load(items_at(in, i), base + i, in.p));
    for (u64 v = id; v < vectors; v += grid) {
        const u64 i = head + v * VECTOR;
        const VECTORS items = vectors_at(in, i);
#pragma unroll
        for (int j = 0; j < VECTOR; j++) a = op_combine(a, op_load(items_of(&items, j), base + i + j, in.p));
    }
    for (u64 i = head + vectors * VECTOR + id; i < n; i += grid) a = op_combine(a, op_load(items_at(in, i), base + i, in.p));
    a = group_value(data, thread, a);
    if (thread == 0) HAND_IN(a);
}
