/* SPDX-License-Identifier: MIT */
/*
 * read: reads memory and does nothing else.
 *
 * Computes: the exclusive or of all words. It is stored only if it is one certain word, so that no
 * compiler can leave the loads out.
 * How: a group owns `run` vectors of 16 bytes. Each thread has 8 independent loads in flight.
 * Needs: `run` is a multiple of 8 * GROUP.
 * Why: it is the ceiling that reductions are measured against. No kernel reaches the bandwidth of a
 * datasheet.
 */
#define FLIGHT 8

KERNEL BOUNDS void tally_read(GLOBAL const u32_VECTOR *in, u64 run, GLOBAL u32 *out) {
    const u64 begin = GROUP_ID * run;
    u32 x = 0, y = 0, z = 0, w = 0;
    KEEP_ROLLED
    for (u64 i = begin + THREAD_ID; i < begin + run; i += FLIGHT * GROUP) {
        u32_VECTOR v[FLIGHT];
#pragma unroll
        for (int f = 0; f < FLIGHT; f++) v[f] = in[i + f * GROUP];
#pragma unroll
        for (int f = 0; f < FLIGHT; f++) {
            x ^= v[f].x;
            y ^= v[f].y;
            z ^= v[f].z;
            w ^= v[f].w;
        }
    }
    const u32 word = x ^ y ^ z ^ w;
    if (word == 0x9e3779b9U) *out = word;
}
