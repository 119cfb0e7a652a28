/* SPDX-License-Identifier: MIT */
/*
 * ladder: what the steps of the ladder share: a guarded load, combination by an atomic, the tree that later steps keep, and how a
 * group hands its value in.
 *
 * How: a variant's row says whether its groups combine on one accumulator by an atomic (ATOMIC_STAGE; tally_init has set it to the
 * identity) or leave a partial each, which finish or the host combines. An accumulator of 4 or 8 bytes is combined by
 * compare-and-swap; where the device has the op itself as an atomic (NATIVE_INTEGER_ADD, or NATIVE_FLOAT_ADD by inline PTX), that is used instead.
 * Registers are exchanged within a warp (group_value) by PTX, or within a sub-group of any size (SUBGROUPS), or in local memory.
 * Needs: 64-bit atomics for accumulators of 8 bytes (cl_khr_int64_base_atomics).
 * Why: the lecture notes' kernels end in atomicAdd on a float, which OpenCL 1.2 does not have.
 */
INLINE ACC item_or_identity(SOURCE in, u64 i, u64 n, u64 base) {
    return i < n ? op_load(items_at(in, i), base + i, in.p) : IDENTITY;
}

/* An atomic needs a word; wider accumulators have none (their variants do not apply). */
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

/* A plain read beside atomics is a data race, which oclgrind reports. In PTX it is whole, and cheaper. */
#ifdef PTX
#define ATOMIC_READ(at) (*(at))
#else
#define ATOMIC_READ(at) COMPARE_AND_SWAP(at, 0, 0)
#endif

/* One function for each address space: OpenCL 1.2 has no generic pointers. */
#define DEFINE_COMBINE_AT(name, SPACE)                                                                                         \
    INLINE void name(volatile SPACE ACC *target, ACC a) {                                                                      \
        volatile SPACE WORD *at = (volatile SPACE WORD *)target;                                                               \
        acc_word now, next;                                                                                                    \
        WORD seen = ATOMIC_READ(at);                                                                                           \
        do {                                                                                                                   \
            now.word = seen;                                                                                                   \
            next.acc = op_combine(now.acc, a);                                                                                 \
            if (next.word == now.word) break; /* nothing to change: a minimum is mostly this */                                \
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
/* NVIDIA: the same instructions that CUDA's atomicAdd becomes. */
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

/* The one accumulator that atomics combine on. */
KERNEL void tally_init(GLOBAL ACC *target) {
    *target = IDENTITY;
}

#if ATOMIC_STAGE
#define HAND_IN(a) combine_at(partials + first, a)
#else
#define HAND_IN(a) store(a, n, params, partials + first + get_group_id(0), out + out_offset, last)
#endif

/* Neighbours far apart first (the `sequential` step): no two items of a warp in one bank, no divergence but in the last warp. */
INLINE ACC tree(__local ACC *data, u32 item, ACC a) {
    data[item] = a;
    barrier(CLK_LOCAL_MEM_FENCE);
    for (u32 s = GROUP / 2; s > 0; s /= 2) {
        if (item < s) data[item] = op_combine(data[item], data[item + s]);
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    return data[0];
}

/* Orders the items of a warp. Only where inline PTX was accepted can that be told from ordering the group. */
#ifdef PTX
#define WARP_BARRIER() asm volatile("bar.warp.sync 0xffffffff;" ::: "memory")
#else
#define WARP_BARRIER() barrier(CLK_LOCAL_MEM_FENCE)
#endif

/* The last 64 values: the first warp's own affair. Every item passes the barriers. */
#define LAST_STEP(data, item, s)                                                                                               \
    if ((item) < (s)) (data)[item] = op_combine((data)[item], (data)[(item) + (s)]);                                           \
    WARP_BARRIER();
#if GROUP >= 64
#define LAST_STEPS(data, item) LAST_STEP(data, item, 32) LAST_STEPS_32(data, item)
#else
#define LAST_STEPS(data, item) LAST_STEPS_32(data, item)
#endif
#define LAST_STEPS_32(data, item)                                                                                              \
    LAST_STEP(data, item, 16)                                                                                                  \
    LAST_STEP(data, item, 8)                                                                                                   \
    LAST_STEP(data, item, 4)                                                                                                   \
    LAST_STEP(data, item, 2)                                                                                                   \
    LAST_STEP(data, item, 1)

/* ---- registers exchanged within a warp ------------------------------------------------------------------------------ */

#define WARP 32

#if defined(PTX)
/* The value of the item s places up; undefined above the warp. */
INLINE ACC shuffle_down(ACC a, u32 s) {
    union {
        ACC acc;
        u32 word[ACC_BYTES / 4];
    } from, to;
    from.acc = a;
#pragma unroll
    for (int w = 0; w < ACC_BYTES / 4; w++)
        asm volatile("shfl.sync.down.b32 %0, %1, %2, 0x1f, 0xffffffff;" : "=r"(to.word[w]) : "r"(from.word[w]), "r"(s));
    return to.acc;
}
#define WARP_STEP(data, item, a, s) a = op_combine(a, shuffle_down(a, s));
#elif defined(SUBGROUPS)
/* The value of an item of the sub-group. In words, so that any type of accumulator will do. */
INLINE ACC sub_group_value_of(ACC a, u32 lane) {
    union {
        ACC acc;
        u32 word[ACC_BYTES / 4];
    } from, to;
    from.acc = a;
#pragma unroll
    for (int w = 0; w < ACC_BYTES / 4; w++) to.word[w] = sub_group_shuffle(from.word[w], lane);
    return to.acc;
}

/* The size of a sub-group is known at run time only. A step that is too wide for it changes nothing; it is not branched around,
 * since POCL's shuffles have a barrier in them, which every item must pass. */
#define SUB_GROUP_STEP(a, lane, size, s)                                                                                       \
    if (s < GROUP) {                                                                                                           \
        const u32 other = lane + s < size ? lane + s : lane;                                                                   \
        const ACC b = sub_group_value_of(a, other);                                                                            \
        a = other == lane ? a : op_combine(a, b);                                                                              \
    }

/* The group's value, in item 0: every sub-group's, then those of the sub-groups by item 0 alone: there may be one sub-group or
 * hundreds, and this takes one barrier for any number. Both are trees, so that a sum is as deep as with warps. */
INLINE ACC group_value(__local ACC *data, u32 item, ACC a) {
    const u32 lane = get_sub_group_local_id(), size = get_sub_group_size(), count = get_num_sub_groups();
    SUB_GROUP_STEP(a, lane, size, 512)
    SUB_GROUP_STEP(a, lane, size, 256)
    SUB_GROUP_STEP(a, lane, size, 128)
    SUB_GROUP_STEP(a, lane, size, 64)
    SUB_GROUP_STEP(a, lane, size, 32)
    SUB_GROUP_STEP(a, lane, size, 16)
    SUB_GROUP_STEP(a, lane, size, 8)
    SUB_GROUP_STEP(a, lane, size, 4)
    SUB_GROUP_STEP(a, lane, size, 2)
    SUB_GROUP_STEP(a, lane, size, 1)
    if (lane == 0) data[get_sub_group_id()] = a;
    barrier(CLK_LOCAL_MEM_FENCE);
    if (item == 0) {
        for (u32 s = 1; s < count; s *= 2)
            for (u32 i = 0; i + s < count; i += 2 * s) data[i] = op_combine(data[i], data[i + s]);
        a = data[0];
    }
    return a;
}
#else
/* The same exchange through local memory. */
#define WARP_STEP(data, item, a, s)                                                                                            \
    (data)[item] = a;                                                                                                          \
    barrier(CLK_LOCAL_MEM_FENCE);                                                                                              \
    a = op_combine(a, (data)[(item) / WARP * WARP + ((item) + (s)) % WARP]);                                                   \
    barrier(CLK_LOCAL_MEM_FENCE);
#endif

#if defined(PTX) || !defined(SUBGROUPS)
#define WARP_STEPS(data, item, a)                                                                                              \
    WARP_STEP(data, item, a, 16)                                                                                               \
    WARP_STEP(data, item, a, 8)                                                                                                \
    WARP_STEP(data, item, a, 4)                                                                                                \
    WARP_STEP(data, item, a, 2)                                                                                                \
    WARP_STEP(data, item, a, 1)

/* The group's value, in item 0: every warp's, then those of the warps by the first one. */
INLINE ACC group_value(__local ACC *data, u32 item, ACC a) {
    WARP_STEPS(data, item, a)
#if GROUP > WARP
    if (item % WARP == 0) data[item / WARP] = a;
    barrier(CLK_LOCAL_MEM_FENCE);
    a = item < GROUP / WARP ? data[item] : IDENTITY;
    barrier(CLK_LOCAL_MEM_FENCE);
    WARP_STEPS(data, item, a)
#endif
    return a;
}
#endif

/* Every step is called as every other kernel is; what it does not use is there for the rest. */
#define PARTIALS                                                                                                               \
    KERNEL BOUNDS void tally_partials(SOURCE_ARGS, u64 base, u64 n, u64 run, GLOBAL ACC *partials, u64 first, GLOBAL RESULT *out,     \
                               u64 out_offset, u32 last)
