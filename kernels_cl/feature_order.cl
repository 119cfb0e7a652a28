/* SPDX-License-Identifier: MIT */
/*
 * feature_order: the trial of the feature ORDER: atomics that order memory between the groups of a
 * launch.
 *
 * Computes: verdicts[i] = 1.0 for every thread i that found its atomic right.
 * How: NVIDIA's devices have such atomics in inline assembly. On a CPU, whose groups run in
 * threads, clang's atomics for C order memory. OpenCL 1.2 has none that do.
 * Needs: one group; the words are 0 before.
 * Why: the last group of a launch finishes a reduction, and scans take one launch, where there are
 * such atomics. Not every compiler that defines them has them, so the trial uses one.
 */
#define ORDER 1

KERNEL void tally_feature(GLOBAL f32 *verdicts) {
    const u32 thread = get_local_id(0);
#if defined(__NV_CL_C_VERSION)
    u32 before;
    asm volatile("atom.acq_rel.gpu.global.inc.u32 %0, [%1], %2;"
                 : "=r"(before)
                 : "l"((GLOBAL u32 *)verdicts + thread), "r"(0xffffffffU)
                 : "memory");
    verdicts[thread] = before == 0 ? 1.0f : 0.0f;
#elif defined(__x86_64__) || defined(__aarch64__)
    verdicts[thread] = __atomic_fetch_add((GLOBAL u32 *)verdicts + thread, 1U, __ATOMIC_ACQ_REL) == 0 ? 1.0f : 0.0f;
#else
    verdicts[thread] = 0.0f;
#endif
}
