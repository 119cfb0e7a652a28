/* SPDX-License-Identifier: MIT */
/*
 * vectorized: grid_stride with loads of 16 bytes.
 *
 * How: each item takes a 16-byte vector of each input at a time and combines its parts in sequence; items before the first aligned one and
 * after the last whole vector are taken one by one; so are all, where two inputs are not alike in their alignment. Why: document 001,
 * "vectorize": a quarter of the load instructions of f32.
 */
PARTIALS {
    SOURCE_OPEN(in)
    __local ACC data[GROUP];
    const u32 item = get_local_id(0);
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
    a = group_value(data, item, a);
    if (item == 0) HAND_IN(a);
}
