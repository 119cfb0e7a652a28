/* SPDX-License-Identifier: MIT */
/*
 * scan: how the threads of CUDA's scans exchange values.
 *
 * Computes: nothing by itself. The scans call what stands here.
 * How: by shuffles within a warp, and through local memory across warps (kernels/scan_groups.h).
 * Needs: kernels/scanning.h before it. kernels/scan_groups.h follows, and uses it.
 * Why: it is all that the languages differ in.
 */
#define SHUFFLES
#define FENCE __threadfence();
#define LEADING_ZEROS(x) ((u32)__clz((int)(x)))

/* Returns in thread t the value of thread t - distance of the warp, or t's own where there is none.
 * All 32 threads take part. */
template <typename T> INLINE T shuffle_up(T value, u32 distance) {
    words<T> w;
    w.value = value;
#pragma unroll
    for (int i = 0; i < (int)((sizeof(T) + 3) / 4); i++) w.word[i] = __shfl_up_sync(FULL_MASK, w.word[i], distance);
    return w.value;
}

INLINE u32 shuffle_word(u32 word, u32 from) {
    return __shfl_sync(FULL_MASK, word, from);
}

template <typename T> INLINE T shuffle_from(T value, u32 from) {
    words<T> w;
    w.value = value;
#pragma unroll
    for (int i = 0; i < (int)((sizeof(T) + 3) / 4); i++) w.word[i] = shuffle_word(w.word[i], from);
    return w.value;
}

INLINE u32 vote_of(u32 yes) {
    return __ballot_sync(FULL_MASK, yes);
}
