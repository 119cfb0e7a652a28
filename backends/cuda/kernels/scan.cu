/* SPDX-License-Identifier: MIT */
/*
 * scan: what the groups of CUDA's scans exchange by: shuffles within a warp, shared memory across warps. Between kernels/scan_groups.h, which uses it, and
 * the variant's stem.
 */
#define SHUFFLES
#define FENCE __threadfence();
#define LEADING_ZEROS(x) ((u32)__clz((int)(x)))

/* The value `distance` items down the warp; an item's own where that is beyond the warp. All 32 items take part. */
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
