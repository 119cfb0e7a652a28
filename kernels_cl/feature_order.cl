/* SPDX-License-Identifier: MIT */
/*
 * feature_order: whether atomics order memory between the groups of a launch: 1.0 for every item that found its own right. OpenCL 1.2 has
 * none that do. On a CPU, whose groups run in threads, those that clang has for C do; but not every compiler that defines them has them.
 */
#define ORDER 1

KERNEL void tally_feature(GLOBAL f32 *verdicts) {
    const u32 item = get_local_id(0);
#if defined(__NV_CL_C_VERSION)
    u32 before;
    asm volatile("atom.acq_rel.gpu.global.inc.u32 %0, [%1], %2;"
                 : "=r"(before)
                 : "l"((GLOBAL u32 *)verdicts + item), "r"(0xffffffffU)
                 : "memory");
    verdicts[item] = before == 0 ? 1.0f : 0.0f;
#elif defined(__x86_64__) || defined(__aarch64__)
    verdicts[item] = __atomic_fetch_add((GLOBAL u32 *)verdicts + item, 1U, __ATOMIC_ACQ_REL) == 0 ? 1.0f : 0.0f;
#else
    verdicts[item] = 0.0f;
#endif
}
