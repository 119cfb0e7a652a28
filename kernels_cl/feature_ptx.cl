/* SPDX-License-Identifier: MIT */
/*
 * feature_ptx: the trial of the feature PTX: NVIDIA's inline assembly.
 *
 * Computes: verdicts[i] = 1.0 for every thread i that found it right.
 * How: it uses those instructions that the kernels use under `PTX`: a shuffle and a barrier of a
 * warp, and an atomic on a float.
 * Needs: one group; the words are 0 before.
 * Why: OpenCL does not report it; a compiler either takes the assembly or fails to build this
 * kernel.
 */
KERNEL void tally_feature(GLOBAL f32 *verdicts) {
    const u32 thread = get_local_id(0), last = thread % 32 == 31;
    u32 next;
    asm volatile("shfl.sync.down.b32 %0, %1, %2, 0x1f, 0xffffffff;" : "=r"(next) : "r"(thread), "r"(1));
    asm volatile("bar.warp.sync 0xffffffff;" ::: "memory");
    const f32 right = last || next == thread + 1 ? 1.0f : 0.0f;
    asm volatile("red.global.add.f32 [%0], %1;" ::"l"(verdicts + thread), "f"(right) : "memory");
}
