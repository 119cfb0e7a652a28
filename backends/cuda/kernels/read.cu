/* SPDX-License-Identifier: MIT */
/*
 * read: reads memory and does nothing else: the ceiling that reductions are measured against.
 *
 * How: a group owns `run` vectors of 16 bytes; each item has 8 independent loads in flight. The words are combined by exclusive or,
 * and stored only if they make one certain word, so that no compiler can leave the loads out.
 * Needs: `run` a multiple of 8 * GROUP. Why: a datasheet's bandwidth is no bar that a kernel can meet.
 */
#define FLIGHT 8

KERNEL BOUNDS void tally_read(const u32_VECTOR *in, u64 run, u32 *out) {
    const u64 begin = blockIdx.x * run;
    u32 word = 0;
#pragma unroll 1
    for (u64 i = begin + threadIdx.x; i < begin + run; i += FLIGHT * GROUP) {
        u32_VECTOR v[FLIGHT];
#pragma unroll
        for (int f = 0; f < FLIGHT; f++) v[f] = in[i + f * GROUP];
#pragma unroll
        for (int f = 0; f < FLIGHT; f++) word ^= v[f].x ^ v[f].y ^ v[f].z ^ v[f].w;
    }
    if (word == 0x9e3779b9U) *out = word;
}
