/* SPDX-License-Identifier: MIT */
/*
 * feature_order: the trial of the feature ORDER: atomics that order memory between the groups of a
 * launch, which devices have from sm_70 on.
 *
 * Computes: verdicts[i] = 1.0 for every thread i that found its atomic right.
 * How: each thread does an atomic with acquire and release on a word of its own.
 * Needs: one group; the words are 0 before.
 * Why: the last group of a launch finishes a reduction, and scans take one launch, where there are
 * such atomics.
 */
KERNEL void tally_feature(GLOBAL f32 *verdicts) {
    u32 before;
    asm volatile("atom.acq_rel.gpu.global.inc.u32 %0, [%1], %2;"
                 : "=r"(before)
                 : "l"(__cvta_generic_to_global(verdicts + threadIdx.x)), "r"(0xffffffffU)
                 : "memory");
    verdicts[threadIdx.x] = before == 0 ? 1.0f : 0.0f;
}
