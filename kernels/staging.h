/* SPDX-License-Identifier: MIT */
/*
 * staging: words of warps that copy items to shared memory, on NVIDIA's devices.
 *
 * Computes: nothing by itself. The kernels whose warps stage items call what stands here.
 * How: shared memory has addresses of 32 bits. ADDRESS_OF hides where an address comes from: ptxas
 * would compute it anew for each load, with a read of a special register.
 * Needs: inline PTX, and cp.async.
 * Why: such a copy takes no registers while it is on its way.
 */
#ifdef __CUDA_ARCH__
#define SHARED_ADDRESS(pointer) ((u32)__cvta_generic_to_shared(pointer))
#else
#define SHARED_ADDRESS(pointer) ((u32)(size_t)(pointer))
#endif

#define WARPS (GROUP / WIDTH)
#define WARP_BARRIER asm volatile("bar.warp.sync 0xffffffff;" ::: "memory");

#define ADDRESS_OF(address, pointer) asm volatile("mov.u32 %0, %1;" : "=r"(address) : "r"(SHARED_ADDRESS(pointer)));
#define GET_BYTE(word, address) asm volatile("ld.shared.u8 %0, [%1];" : "=r"(word) : "r"(address));
#define GET_SHORT(word, address) asm volatile("ld.shared.u16 %0, [%1];" : "=r"(word) : "r"(address));
#define GET_WORD(word, address) asm volatile("ld.shared.u32 %0, [%1];" : "=r"(word) : "r"(address));

/* Copies up to 16 bytes to shared memory, and sets the rest of 16 bytes there to 0. Both addresses
 * are aligned. */
#define COPY_VECTOR(to, from, bytes)                                                                                           \
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(to), "l"(from), "r"(bytes) : "memory");
#define AWAIT_COPIES asm volatile("cp.async.wait_all;" ::: "memory");
