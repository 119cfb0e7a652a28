/* SPDX-License-Identifier: MIT */
/*
 * ladder: what the steps of the ladder share: a guarded load, combination by an atomic, the trees that later steps keep, and how a
 * group hands its value in.
 *
 * How: a variant's row says whether its groups combine on one accumulator by an atomic (ATOMIC_STAGE; tally_init has set it to the
 * identity) or leave a partial each, which finish or the host combines. An accumulator of 4 or 8 bytes is combined by
 * compare-and-swap; where CUDA has the op itself as an atomic (NATIVE_INTEGER_ADD, NATIVE_FLOAT_ADD), that is used instead.
 * Needs: nothing beyond what every CUDA device has.
 * Why: atomicAdd is the lecture notes' last step; a minimum for which NaN wins is no atomic of CUDA.
 */
INLINE ACC item_or_identity(SOURCE in, u64 i, u64 n, u64 base) {
    return i < n ? op_load(items_at(in, i), base + i, in.p) : IDENTITY;
}

/* An atomic needs a word; wider accumulators have none (their variants do not apply). */
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
        if (next.word == now.word) break; /* nothing to change: a minimum is mostly this */
        seen = atomicCAS(at, now.word, next.word);
    } while (seen != now.word);
#endif
}
#endif

/* The one accumulator that atomics combine on. */
KERNEL void tally_init(ACC *target) {
    *target = IDENTITY;
}

#if ATOMIC_STAGE
#define HAND_IN(a) combine_at(partials + first, a)
#else
#define HAND_IN(a) store(a, n, params, partials + first + blockIdx.x, out + out_offset, last)
#endif

/* Neighbours far apart first (the `sequential` step): no two items of a warp in one bank, no divergence but in the last warp. */
INLINE ACC tree(ACC *data, u32 item, ACC a) {
    data[item] = a;
    __syncthreads();
    for (u32 s = GROUP / 2; s > 0; s /= 2) {
        if (item < s) data[item] = op_combine(data[item], data[item + s]);
        __syncthreads();
    }
    return data[0];
}

/* The last 64 values: the first warp's own affair. __syncwarp orders the steps; `volatile` alone does not since Volta. */
#define LAST_STEP(data, item, s)                                                                                               \
    if ((item) < (s)) (data)[item] = op_combine((data)[item], (data)[(item) + (s)]);                                           \
    __syncwarp();
#define LAST_STEPS_32(data, item)                                                                                              \
    LAST_STEP(data, item, 16)                                                                                                  \
    LAST_STEP(data, item, 8)                                                                                                   \
    LAST_STEP(data, item, 4)                                                                                                   \
    LAST_STEP(data, item, 2)                                                                                                   \
    LAST_STEP(data, item, 1)
#if GROUP >= 64
#define LAST_STEPS(data, item) LAST_STEP(data, item, 32) LAST_STEPS_32(data, item)
#else
#define LAST_STEPS(data, item) LAST_STEPS_32(data, item)
#endif

/* The group's value, in item 0: every warp's by shuffles, then those of the warps by the first one. */
INLINE ACC group_value(ACC *data, u32 item, ACC a) {
#pragma unroll
    for (u32 s = WARP / 2; s > 0; s /= 2) a = op_combine(a, shuffle_down(a, s));
#if GROUP > WARP
    if (item % WARP == 0) data[item / WARP] = a;
    __syncthreads();
    if (item < WARP) {
        a = item < GROUP / WARP ? data[item] : IDENTITY;
#pragma unroll
        for (u32 s = WARP / 2; s > 0; s /= 2) a = op_combine(a, shuffle_down(a, s));
    }
#endif
    return a;
}

/* Every step is called as every other kernel is; what it does not use is there for the rest. */
#define PARTIALS                                                                                                               \
    KERNEL BOUNDS void tally_partials(SOURCE_ARGS, u64 base, u64 n, u64 run, ACC *partials, u64 first, RESULT *out,            \
                                      u64 out_offset, u32 last)
