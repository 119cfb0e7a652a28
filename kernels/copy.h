/* SPDX-License-Identifier: MIT */
/*
 * copy: copies memory and does nothing else: the ceiling that scans, gathers and scatters are measured against.
 *
 * How: a group owns `run` vectors of 16 bytes; each item has 8 independent loads in flight, and then stores them.
 * Needs: `run` a multiple of 8 * GROUP. Why: writing costs more than reading, so that what `read` gets is no bar for what writes.
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
