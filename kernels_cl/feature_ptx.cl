/* SPDX-License-Identifier: MIT */
/*
 * feature_ptx: whether the compiler takes NVIDIA's inline assembly: a trial build, never run. Its instructions are those that the
 * kernels use under `PTX`: shuffles and a barrier of a warp, and atomics on floats.
 */
KERNEL void tally_feature(GLOBAL u32 *words, GLOBAL f32 *sum) {
    u32 r;
    asm volatile("shfl.sync.down.b32 %0, %1, %2, 0x1f, 0xffffffff;" : "=r"(r) : "r"(words[0]), "r"(1));
    asm volatile("bar.warp.sync 0xffffffff;" ::: "memory");
    asm volatile("red.global.add.f32 [%0], %1;" ::"l"(sum), "f"(1.0f) : "memory");
    words[0] = r;
}
