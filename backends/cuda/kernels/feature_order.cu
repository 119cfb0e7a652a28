/* SPDX-License-Identifier: MIT */
/* feature_order: whether atomics order memory between the groups of a launch, as they do from sm_70 on: 1.0 for every item. */
KERNEL void tally_feature(GLOBAL f32 *verdicts) {
    u32 before;
    asm volatile("atom.acq_rel.gpu.global.inc.u32 %0, [%1], %2;"
                 : "=r"(before)
                 : "l"(__cvta_generic_to_global(verdicts + threadIdx.x)), "r"(0xffffffffU)
                 : "memory");
    verdicts[threadIdx.x] = before == 0 ? 1.0f : 0.0f;
}
