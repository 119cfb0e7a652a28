/* SPDX-License-Identifier: MIT */
/*
 * read: reads memory and does nothing else: the ceiling that reductions are measured against.
 *
 * How: a group owns `run` vectors of 16 bytes; each item has 8 independent loads in flight. The words are combined by exclusive or,
 * and stored only if they make one certain word, so that no compiler can leave the loads out.
 * Needs: `run` a multiple of 8 * GROUP. Why: a datasheet's bandwidth is no bar that a kernel can meet.
 */
#define FLIGHT 8

KERNEL void tally_read(GLOBAL const u32_VECTOR *in, u64 run, GLOBAL u32 *out) {
    const u64 begin = get_group_id(0) * run;
    u32_VECTOR sum = (u32_VECTOR)(0);
    for (u64 i = begin + get_local_id(0); i < begin + run; i += FLIGHT * GROUP) {
        u32_VECTOR v[FLIGHT];
#pragma unroll
        for (int f = 0; f < FLIGHT; f++) v[f] = in[i + f * GROUP];
#pragma unroll
        for (int f = 0; f < FLIGHT; f++) sum ^= v[f];
    }
    const u32 word = sum.x ^ sum.y ^ sum.z ^ sum.w;
    if (word == 0x9e3779b9U) *out = word;
}
