/* SPDX-License-Identifier: MIT */
/*
 * cpu_chunks: a reduction in the canonical order, for CPUs.
 *
 * Computes one partial per group: the accumulator of its run of `run` chunks (a power of two, so that a run is an aligned subtree).
 * How: one item per group, which walks its run chunk by chunk. The 128 lanes of a chunk are an array of accumulators whose row loop
 * is unrolled, so that the compiler keeps it in vector registers (8 of 64 bytes for 4-byte accumulators). The chunks of a run are
 * combined as a binary counter: after chunk c, as many levels close as c has trailing ones.
 * Needs: nothing; no local memory, no barrier.
 * Why: a work-group of many items becomes a loop between barriers on a CPU. On 2 cores, POCL 3.1, a local-memory tree is 15 to 60
 * times slower. Scalar lanes were timed against explicit float16 arithmetic (2^24 to 2^28 f32, November 2026): equal within the
 * noise, and they take any operator.
 */
INLINE ACC chunk_partial(GLOBAL const ITEM *x, u64 index, u64 count) {
    ACC lane[LANES];
    for (int l = 0; l < LANES; l++) lane[l] = IDENTITY;
    if (count == CHUNK_ITEMS) {
        for (int r = 0; r < ROWS; r++) {
#pragma unroll
            for (int l = 0; l < LANES; l++)
                lane[l] = op_combine(lane[l], op_load(x[r * LANES + l], index + r * LANES + l));
        }
    } else {
        for (u64 i = 0; i < count; i++) lane[i % LANES] = op_combine(lane[i % LANES], op_load(x[i], index + i));
    }
    for (int s = LANES / 2; s > 0; s >>= 1)
        for (int l = 0; l < s; l++) lane[l] = op_combine(lane[l], lane[l + s]);
    return lane[0];
}

KERNEL void tally_partials(GLOBAL const ITEM *in, u64 in_offset, u64 n, u64 run, GLOBAL ACC *partials, u64 first,
                           GLOBAL RESULT *out, u64 out_offset, u32 last) {
    const u64 group = get_group_id(0);
    const u64 begin = group * run * CHUNK_ITEMS;
    const u64 end = min(n, begin + run * CHUNK_ITEMS);
    ACC level[COUNTER_LEVELS];
    u64 chunks = 0;
    for (u64 i = begin; i < end; i += CHUNK_ITEMS)
        counter_push(level, chunks++, chunk_partial(in + in_offset + i, i, min((u64)CHUNK_ITEMS, end - i)));
    store(counter_value(level, chunks), n, partials + first + group, out + out_offset, last);
}
