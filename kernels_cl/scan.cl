/* SPDX-License-Identifier: MIT */
/*
 * scan: what the groups of OpenCL's scans exchange by: NVIDIA's shuffles where the device has them (PTX), else local memory and barriers, which all
 * items of the group reach. Between kernels/scan_groups.h, which uses it, and the variant's stem.
 */
#ifdef PTX
#define SHUFFLES
#define FENCE asm volatile("fence.acq_rel.gpu;" ::: "memory");
#define LEADING_ZEROS(x) clz((u32)(x))

typedef union {
    SCAN value;
    u32 word[(sizeof(SCAN) + 3) / 4];
} SCAN_WORDS;

/* The value `distance` items down the warp; an item's own where that is beyond the warp. All 32 items take part. */
INLINE SCAN shuffle_up(SCAN value, u32 distance) {
    SCAN_WORDS from, to;
    from.value = value;
#pragma unroll
    for (int i = 0; i < (int)((sizeof(SCAN) + 3) / 4); i++)
        asm volatile("shfl.sync.up.b32 %0, %1, %2, 0, 0xffffffff;" : "=r"(to.word[i]) : "r"(from.word[i]), "r"(distance));
    return to.value;
}

INLINE u32 shuffle_word(u32 word, u32 item) {
    u32 to;
    asm volatile("shfl.sync.idx.b32 %0, %1, %2, 0x1f, 0xffffffff;" : "=r"(to) : "r"(word), "r"(item));
    return to;
}

INLINE SCAN shuffle_from(SCAN value, u32 item) {
    SCAN_WORDS w;
    w.value = value;
#pragma unroll
    for (int i = 0; i < (int)((sizeof(SCAN) + 3) / 4); i++) w.word[i] = shuffle_word(w.word[i], item);
    return w.value;
}

INLINE u32 vote_of(u32 yes) {
    u32 all;
    asm volatile("{.reg .pred p; setp.ne.u32 p, %1, 0; vote.sync.ballot.b32 %0, p, 0xffffffff;}" : "=r"(all) : "r"(yes));
    return all;
}
#endif
