/* SPDX-License-Identifier: MIT */
/*
 * ladder: what the steps of the ladder share.
 *
 * Computes: nothing by itself. The steps call what stands here: a guarded load, combination by an
 * atomic, the tree that later steps keep, and how a group hands its accumulator in.
 * How: a variant's row says if its groups combine theirs with one accumulator by an atomic
 * (ATOMIC_STAGE; tally_init has set that one to the identity), or leave a partial each, which
 * finish or the host combines. An accumulator of 4 or 8 bytes is combined by compare-and-swap.
 * Where the device has the op itself as an atomic (NATIVE_INTEGER_ADD, or NATIVE_FLOAT_ADD by
 * inline PTX), that is used instead. Threads exchange registers (group_value) within a warp by PTX,
 * or within a sub-group of any size (SUBGROUPS), or else through local memory.
 * Needs: 64-bit atomics for accumulators of 8 bytes (cl_khr_int64_base_atomics).
 * Why: the lecture notes' kernels end in atomicAdd on a float, which OpenCL 1.2 does not have.
 */
INLINE ACC item_or_identity(SOURCE in, u64 i, u64 n, u64 base) {
    return i < n ? op_load(items_at(in, i), base + i, in.p) : IDENTITY;
}

/* An atomic works on a word of 4 or 8 bytes. The variants that need one do not apply to wider
 * accumulators. */
#if ATOMIC_STAGE
#if ACC_BYTES == 8
#pragma OPENCL EXTENSION cl_khr_int64_base_atomics : enable
typedef u64 WORD;
#define COMPARE_AND_SWAP(at, old, new) atom_cmpxchg(at, old, new)
#define NATIVE_ADD(at, a) atom_add(at, a)
#else
typedef u32 WORD;
#define COMPARE_AND_SWAP(at, old, new) atomic_cmpxchg(at, old, new)
#define NATIVE_ADD(at, a) atomic_add(at, a)
#endif

typedef union {
    ACC acc;
    WORD word;
} acc_word;

/* A plain read beside atomics is a data race, which oclgrind reports. With PTX the read is whole,
 * and cheaper. */
#ifdef PTX
#define ATOMIC_READ(at) (*(at))
#else
#define ATOMIC_READ(at) COMPARE_AND_SWAP(at, 0, 0)
#endif

/* Defines a function for each address space: OpenCL 1.2 has no generic pointers. */
#define DEFINE_COMBINE_AT(name, SPACE)                                                                                         \
    INLINE void name(volatile SPACE ACC *target, ACC a) {                                                                      \
        volatile SPACE WORD *at = (volatile SPACE WORD *)target;                                                               \
        acc_word now, next;                                                                                                    \
        WORD seen = ATOMIC_READ(at);                                                                                           \
        do {                                                                                                                   \
            now.word = seen;                                                                                                   \
            next.acc = op_combine(now.acc, a);                                                                                 \
            if (next.word == now.word) break; /* nothing changes: the usual case of a minimum */                               \
            seen = COMPARE_AND_SWAP(at, now.word, next.word);                                                                  \
        } while (seen != now.word);                                                                                            \
    }

#if defined(NATIVE_INTEGER_ADD)
INLINE void combine_at(volatile GLOBAL ACC *target, ACC a) {
    NATIVE_ADD((volatile GLOBAL WORD *)target, (WORD)a);
}
INLINE void combine_at_local(volatile __local ACC *target, ACC a) {
    NATIVE_ADD((volatile __local WORD *)target, (WORD)a);
}
#else
#if defined(NATIVE_FLOAT_ADD) && defined(PTX)
/* The instructions that CUDA's atomicAdd becomes on NVIDIA's devices. */
#if ACC_BYTES == 8
INLINE void combine_at(volatile GLOBAL ACC *target, ACC a) {
    asm volatile("red.global.add.f64 [%0], %1;" ::"l"(target), "d"(a) : "memory");
}
#else
INLINE void combine_at(volatile GLOBAL ACC *target, ACC a) {
    asm volatile("red.global.add.f32 [%0], %1;" ::"l"(target), "f"(a) : "memory");
}
#endif
#else
DEFINE_COMBINE_AT(combine_at, GLOBAL)
#endif
DEFINE_COMBINE_AT(combine_at_local, __local)
#endif
#endif

/* Sets the accumulator that atomics combine with. */
KERNEL void tally_init(GLOBAL ACC *target) {
    *target = IDENTITY;
}

#if ATOMIC_STAGE
#define HAND_IN(a) combine_at(partials + first, a)
#else
#define HAND_IN(a) store(a, n, params, partials + first + get_group_id(0), out, out_offset, outcome, last)
#endif

/* Combines accumulators far apart first, as the step `sequential` does: no two threads of a warp
 * use one bank, and only the last warp diverges. */
INLINE ACC tree(__local ACC *data, u32 thread, ACC a) {
    data[thread] = a;
    barrier(CLK_LOCAL_MEM_FENCE);
    for (u32 s = GROUP / 2; s > 0; s /= 2) {
        if (thread < s) data[thread] = op_combine(data[thread], data[thread + s]);
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    return data[0];
}

/* Orders the threads of a warp. Where inline PTX was not accepted, only a barrier of the group
 * does. */
#ifdef PTX
#define WARP_BARRIER() asm volatile("bar.warp.sync 0xffffffff;" ::: "memory")
#else
#define WARP_BARRIER() barrier(CLK_LOCAL_MEM_FENCE)
#endif

/* Combines the last 64 accumulators, which are the first warp's alone. Every thread passes the
 * barriers. */
#define LAST_STEP(data, thread, s)                                                                                             \
    if ((thread) < (s)) (data)[thread] = op_combine((data)[thread], (data)[(thread) + (s)]);                                   \
    WARP_BARRIER();
#if GROUP >= 64
#define LAST_STEPS(data, thread) LAST_STEP(data, thread, 32) LAST_STEPS_32(data, thread)
#else
#define LAST_STEPS(data, thread) LAST_STEPS_32(data, thread)
#endif
#define LAST_STEPS_32(data, thread)                                                                                            \
    LAST_STEP(data, thread, 16)                                                                                                \
    LAST_STEP(data, thread, 8)                                                                                                 \
    LAST_STEP(data, thread, 4)                                                                                                 \
    LAST_STEP(data, thread, 2)                                                                                                 \
    LAST_STEP(data, thread, 1)

/* ---- registers exchanged within a warp ------------------------------------------------------- */

#define WARP 32

#if defined(PTX)
#define WARP_STEP(data, thread, a, s) a = op_combine(a, acc_down(a, s));
#elif defined(SUBGROUPS)
/* Returns the accumulator of the thread at `place` in the sub-group. It is exchanged in words, so
 * that it may have any type. */
INLINE ACC sub_group_value_of(ACC a, u32 place) {
    union {
        ACC acc;
        u32 word[ACC_BYTES / 4];
    } from, to;
    from.acc = a;
#pragma unroll
    for (int w = 0; w < ACC_BYTES / 4; w++) to.word[w] = sub_group_shuffle(from.word[w], place);
    return to.acc;
}

/*
 * The size of a sub-group is known at run time only. A step that is too wide for it changes
 * nothing. There is no branch around it: POCL's shuffles have a barrier in them, which every thread
 * must pass.
 */
#define SUB_GROUP_STEP(a, place, size, s)                                                                                      \
    if (s < GROUP) {                                                                                                           \
        const u32 other = place + s < size ? place + s : place;                                                                \
        const ACC b = sub_group_value_of(a, other);                                                                            \
        a = other == place ? a : op_combine(a, b);                                                                             \
    }

/*
 * Combines the group's accumulators; thread 0 has the result. First every sub-group combines its
 * own. Then thread 0 alone combines those of the sub-groups, of which there may be one or hundreds:
 * that takes one barrier for any number. Both are trees, so a sum is as deep as with warps.
 */
INLINE ACC group_value(__local ACC *data, u32 thread, ACC a) {
    const u32 place = get_sub_group_local_id(), size = get_sub_group_size(), count = get_num_sub_groups();
    SUB_GROUP_STEP(a, place, size, 512)
    SUB_GROUP_STEP(a, place, size, 256)
    SUB_GROUP_STEP(a, place, size, 128)
    SUB_GROUP_STEP(a, place, size, 64)
    SUB_GROUP_STEP(a, place, size, 32)
    SUB_GROUP_STEP(a, place, size, 16)
    SUB_GROUP_STEP(a, place, size, 8)
    SUB_GROUP_STEP(a, place, size, 4)
    SUB_GROUP_STEP(a, place, size, 2)
    SUB_GROUP_STEP(a, place, size, 1)
    if (place == 0) data[get_sub_group_id()] = a;
    barrier(CLK_LOCAL_MEM_FENCE);
    if (thread == 0) {
        for (u32 s = 1; s < count; s *= 2)
            for (u32 i = 0; i + s < count; i += 2 * s) data[i] = op_combine(data[i], data[i + s]);
        a = data[0];
    }
    return a;
}
#else
/* Does the same exchange through local memory. */
#define WARP_STEP(data, thread, a, s)                                                                                          \
    (data)[thread] = a;                                                                                                        \
    barrier(CLK_LOCAL_MEM_FENCE);                                                                                              \
    a = op_combine(a, (data)[(thread) / WARP * WARP + ((thread) + (s)) % WARP]);                                               \
    barrier(CLK_LOCAL_MEM_FENCE);
#endif

#if defined(PTX) || !defined(SUBGROUPS)
#define WARP_STEPS(data, thread, a)                                                                                            \
    WARP_STEP(data, thread, a, 16)                                                                                             \
    WARP_STEP(data, thread, a, 8)                                                                                              \
    WARP_STEP(data, thread, a, 4)                                                                                              \
    WARP_STEP(data, thread, a, 2)                                                                                              \
    WARP_STEP(data, thread, a, 1)

/* Combines the group's accumulators; thread 0 has the result. Every warp combines its own, and then
 * the first warp combines those of the warps. */
INLINE ACC group_value(__local ACC *data, u32 thread, ACC a) {
    WARP_STEPS(data, thread, a)
#if GROUP > WARP
    if (thread % WARP == 0) data[thread / WARP] = a;
    barrier(CLK_LOCAL_MEM_FENCE);
    a = thread < GROUP / WARP ? data[thread] : IDENTITY;
    barrier(CLK_LOCAL_MEM_FENCE);
    WARP_STEPS(data, thread, a)
#endif
    return a;
}
#endif

/* The signature of every step. It is that of all kernels of reductions, though no step uses all of
 * its arguments. */
#define PARTIALS                                                                                                               \
    KERNEL BOUNDS void tally_partials(SOURCE_ARGS, u64 base, u64 n, u64 run, GLOBAL ACC *partials, u64 first,                  \
                                      GLOBAL RESULT *out, u64 out_offset, u32 last, const OUTCOME outcome)
