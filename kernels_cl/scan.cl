/* SPDX-License-Identifier: MIT */
/*
 * scan: how the threads of OpenCL's scans exchange values.
 *
 * Computes: nothing by itself. The scans call what stands here.
 * How: by NVIDIA's shuffles where the device has them (PTX), else through local memory with
 * barriers, which all threads of the group reach (kernels/scan_groups.h).
 * Needs: kernels/scanning.h before it. kernels/scan_groups.h follows, and uses it.
 * Why: it is all that the languages differ in.
 */
#ifdef PTX
#define SHUFFLES
#define FENCE asm volatile("fence.acq_rel.gpu;" ::: "memory");
#define LEADING_ZEROS(x) clz((u32)(x))

typedef union {
    SCAN value;
    u32 word[(sizeof(SCAN) + 3) / 4];
} SCAN_WORDS;

/* Returns in thread t the value of thread t - distance of the warp, or t's own where there is none.
 * All 32 threads take part. */
INLINE SCAN shuffle_up(SCAN value, u32 distance) {
    SCAN_WORDS from, to;
    from.value = value;
#pragma unroll
    for (int i = 0; i < (int)((sizeof(SCAN) + 3) / 4); i++)
        asm volatile("shfl.sync.up.b32 %0, %1, %2, 0, 0xffffffff;" : "=r"(to.word[i]) : "r"(from.word[i]), "r"(distance));
    return to.value;
}

INLINE u32 shuffle_word(u32 word, u32 from) {
    u32 to;
    asm volatile("shfl.sync.idx.b32 %0, %1, %2, 0x1f, 0xffffffff;" : "=r"(to) : "r"(word), "r"(from));
    return to;
}

INLINE SCAN shuffle_from(SCAN value, u32 from) {
    SCAN_WORDS w;
    w.value = value;
#pragma unroll
    for (int i = 0; i < (int)((sizeof(SCAN) + 3) / 4); i++) w.word[i] = shuffle_word(w.word[i], from);
    return w.value;
}

INLINE u32 vote_of(u32 yes) {
    u32 all;
    asm volatile("{.reg .pred p; setp.ne.u32 p, %1, 0; vote.sync.ballot.b32 %0, p, 0xffffffff;}" : "=r"(all) : "r"(yes));
    return all;
}
#endif
