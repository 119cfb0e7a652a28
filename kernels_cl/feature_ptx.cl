/* SPDX-License-Identifier: MIT */
/*
 * feature_ptx: whether the compiler takes NVIDIA's inline assembly: 1.0 for every item that found it right. Its instructions are
 * those that the kernels use under `PTX`: shuffles and a barrier of a warp, and atomics on floats.
 */
KERNEL void tally_feature(GLOBAL f32 *verdicts) {
    const u32 item = get_local_id(0), last = item % 32 == 31;
    u32 next;
    asm volatile("shfl.sync.down.b32 %0, %1, %2, 0x1f, 0xffffffff;" : "=r"(next) : "r"(item), "r"(1));
    asm volatile("bar.warp.sync 0xffffffff;" ::: "memory");
    asm volatile("red.global.add.f32 [%0], %1;" ::"l"(verdicts + item), "f"(last || next == item + 1 ? 1.0f : 0.0f) : "memory");
}
