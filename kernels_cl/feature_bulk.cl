/* SPDX-License-Identifier: MIT */
/*
 * feature_bulk: the trial of the feature BULK: an engine that copies to local memory, which
 * NVIDIA's devices have from sm_90 on.
 *
 * Computes: verdicts[i] = 1.0 for every thread i that found its word copied.
 * How: the engine copies `verdicts` itself, whose words are 0 before, over words that are not.
 * Needs: one group, and NVIDIA's inline assembly.
 * Why: the scan look_back lets its items wait in local memory where a device has the engine.
 */

KERNEL void tally_feature(GLOBAL f32 *verdicts) {
    __local u32 words[GROUP] __attribute__((aligned(16)));
    __local u64 arrived;
    const u32 thread = get_local_id(0), barrier_at = SHARED_ADDRESS(&arrived), bytes = GROUP * 4;
    u32 done;
    words[thread] = thread + 1;
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
    barrier(CLK_LOCAL_MEM_FENCE);
    if (thread == 0) {
        asm volatile("mbarrier.init.shared.b64 [%0], 1;\n\tfence.mbarrier_init.release.cluster;" ::"r"(barrier_at) : "memory");
        asm volatile("mbarrier.arrive.expect_tx.shared.b64 _, [%0], %1;" ::"r"(barrier_at), "r"(bytes) : "memory");
        asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"(
                         SHARED_ADDRESS(words)),
                     "l"(verdicts), "r"(bytes), "r"(barrier_at)
                     : "memory");
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    do asm volatile("{.reg .pred p; mbarrier.try_wait.parity.shared.b64 p, [%1], 0; selp.u32 %0, 1, 0, p;}"
                    : "=r"(done)
                    : "r"(barrier_at)
                    : "memory");
    while (!done);
    barrier(CLK_LOCAL_MEM_FENCE);
    verdicts[thread] = words[thread] == 0 ? 1.0f : 0.0f;
}
