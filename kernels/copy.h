/* SPDX-License-Identifier: MIT */
/*
 * copy: copies memory and does nothing else.
 *
 * Computes: out[i] = in[i], in vectors of 16 bytes.
 * How: a group owns `run` vectors. Each thread has 8 independent loads in flight, and then stores
 * them.
 * Needs: `run` is a multiple of 8 * GROUP.
 * Why: it is the ceiling that scans, gathers and scatters are measured against. Writing costs more
 * than reading, so `read` is no ceiling for kernels that write.
 */
#define FLIGHT 8

KERNEL BOUNDS void tally_copy(GLOBAL const u32_VECTOR *in, u64 run, GLOBAL u32_VECTOR *out) {
    const u64 begin = GROUP_ID * run;
    KEEP_ROLLED
    for (u64 i = begin + THREAD_ID; i < begin + run; i += FLIGHT * GROUP) {
        u32_VECTOR v[FLIGHT];
#pragma unroll
        for (int f = 0; f < FLIGHT; f++) v[f] = in[i + f * GROUP];
#pragma unroll
        for (int f = 0; f < FLIGHT; f++) out[i + f * GROUP] = v[f];
    }
}
