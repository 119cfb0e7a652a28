/* SPDX-License-Identifier: MIT */
/*
 * feature_bulk: the trial of the feature BULK: an engine that copies to local memory, which devices
 * have from sm_90 on.
 *
 * Computes: verdicts[i] = 1.0 for every thread i that found its word copied.
 * How: the engine copies `verdicts` itself, whose words are 0 before, over words that are not.
 * Needs: one group.
 * Why: the scan look_back lets its items wait in local memory where a device has the engine.
 */
KERNEL void tally_feature(GLOBAL f32 *verdicts) {
#if __CUDA_ARCH__ >= 900
    __shared__ __align__(16) u32 words[GROUP];
    __shared__ u64 arrived;
    const u32 to = (u32)__cvta_generic_to_shared(words), arrivals = (u32)__cvta_generic_to_shared(&arrived), bytes = GROUP * 4;
    u32 done;
    words[threadIdx.x] = threadIdx.x + 1;
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
    __syncthreads();
    if (threadIdx.x == 0) {
        asm volatile("mbarrier.init.shared.b64 [%0], 1;\n\tfence.mbarrier_init.release.cluster;" ::"r"(arrivals) : "memory");
        asm volatile("mbarrier.arrive.expect_tx.shared.b64 _, [%0], %1;" ::"r"(arrivals), "r"(bytes) : "memory");
        asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"(to),
                     "l"(__cvta_generic_to_global(verdicts)), "r"(bytes), "r"(arrivals)
                     : "memory");
    }
    __syncthreads();
    do asm volatile("{.reg .pred p; mbarrier.try_wait.parity.shared.b64 p, [%1], 0; selp.u32 %0, 1, 0, p;}"
                    : "=r"(done)
                    : "r"(arrivals)
                    : "memory");
    while (!done);
    __syncthreads();
    verdicts[threadIdx.x] = words[threadIdx.x] == 0 ? 1.0f : 0.0f;
#else
    verdicts[threadIdx.x] = 0.0f;
#endif
}
