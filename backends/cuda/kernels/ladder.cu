/* SPDX-License-Identifier: MIT */
/*
 * ladder: what the steps of the ladder share.
 *
 * Computes: nothing by itself. The steps call what stands here: a guarded load, combination by an
 * atomic, the trees that later steps keep, and how a group hands its accumulator in.
 * How: a variant's row says if its groups combine theirs with one accumulator by an atomic
 * (ATOMIC_STAGE; tally_init has set that one to the identity), or leave a partial each, which
 * finish or the host combines. An accumulator of 4 or 8 bytes is combined by compare-and-swap.
 * Where CUDA has the op itself as an atomic (NATIVE_INTEGER_ADD, NATIVE_FLOAT_ADD), that is used
 * instead.
 * Needs: nothing that a CUDA device lacks.
 * Why: the lecture notes' kernels end in atomicAdd. A minimum for which NaN wins is no atomic of
 * CUDA.
 */
INLINE ACC item_or_identity(SOURCE in, u64 i, u64 n, u64 base) {
    return i < n ? op_load(items_at(in, i), base + i, in.p) : IDENTITY;
}

/* An atomic works on a word of 4 or 8 bytes. The variants that need one do not apply to wider
 * accumulators. */
#if ATOMIC_STAGE
#if ACC_BYTES == 8
typedef u64 WORD;
#else
typedef u32 WORD;
#endif

typedef union {
    ACC acc;
    WORD word;
} acc_word;

INLINE void combine_at(ACC *target, ACC a) {
#if defined(NATIVE_INTEGER_ADD)
    atomicAdd((WORD *)target, (WORD)a);
#elif defined(NATIVE_FLOAT_ADD)
    atomicAdd(target, a);
#else
    WORD *at = (WORD *)target;
    acc_word now, next;
    WORD seen = *(volatile WORD *)at;
    do {
        now.word = seen;
        next.acc = op_combine(now.acc, a);
        if (next.word == now.word) break; /* nothing changes: the usual case of a minimum */
        seen = atomicCAS(at, now.word, next.word);
    } while (seen != now.word);
#endif
}
#endif

/* Sets the accumulator that atomics combine with. */
KERNEL void tally_init(ACC *target) {
    *target = IDENTITY;
}

#if ATOMIC_STAGE
#define HAND_IN(a) combine_at(partials + first, a)
#else
#define HAND_IN(a) store(a, n, params, partials + first + blockIdx.x, out, out_offset, outcome, last)
#endif

/* Combines accumulators far apart first, as the step `sequential` does: no two threads of a warp
 * use one bank, and only the last warp diverges. */
INLINE ACC tree(ACC *data, u32 thread, ACC a) {
    data[thread] = a;
    __syncthreads();
    for (u32 s = GROUP / 2; s > 0; s /= 2) {
        if (thread < s) data[thread] = op_combine(data[thread], data[thread + s]);
        __syncthreads();
    }
    return data[0];
}

/* Combines the last 64 accumulators, which are the first warp's alone. __syncwarp orders the steps;
 * since Volta `volatile` alone does not. */
#define LAST_STEP(data, thread, s)                                                                                             \
    if ((thread) < (s)) (data)[thread] = op_combine((data)[thread], (data)[(thread) + (s)]);                                   \
    __syncwarp();
#define LAST_STEPS_32(data, thread)                                                                                            \
    LAST_STEP(data, thread, 16)                                                                                                \
    LAST_STEP(data, thread, 8)                                                                                                 \
    LAST_STEP(data, thread, 4)                                                                                                 \
    LAST_STEP(data, thread, 2)                                                                                                 \
    LAST_STEP(data, thread, 1)
#if GROUP >= 64
#define LAST_STEPS(data, thread) LAST_STEP(data, thread, 32) LAST_STEPS_32(data, thread)
#else
#define LAST_STEPS(data, thread) LAST_STEPS_32(data, thread)
#endif

/* Combines the group's accumulators; thread 0 has the result. Every warp combines its own by
 * shuffles, and then the first warp combines those of the warps. */
INLINE ACC group_value(ACC *data, u32 thread, ACC a) {
#pragma unroll
    for (u32 s = WARP / 2; s > 0; s /= 2) a = op_combine(a, shuffle_down(a, s));
#if GROUP > WARP
    if (thread % WARP == 0) data[thread / WARP] = a;
    __syncthreads();
    if (thread < WARP) {
        a = thread < GROUP / WARP ? data[thread] : IDENTITY;
#pragma unroll
        for (u32 s = WARP / 2; s > 0; s /= 2) a = op_combine(a, shuffle_down(a, s));
    }
#endif
    return a;
}

/* The signature of every step. It is that of all kernels of reductions, though no step uses all of
 * its arguments. */
#define PARTIALS                                                                                                               \
    KERNEL BOUNDS void tally_partials(SOURCE_ARGS, u64 base, u64 n, u64 run, ACC *partials, u64 first, RESULT *out,            \
                                      u64 out_offset, u32 last, const OUTCOME outcome)
