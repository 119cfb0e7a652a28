/* SPDX-License-Identifier: MIT */
/*
 * staging: words of warps that stage items in local memory, on NVIDIA's devices.
 *
 * Computes: nothing by itself. The kernels whose warps or groups stage items call what stands here.
 * How: local memory has addresses of 32 bits. ADDRESS_OF hides where an address comes from: ptxas
 * would compute it anew for each load, with a read of a special register.
 * Needs: kernels/segment_teams.h before it, inline PTX, and cp.async.
 * Why: such a copy takes no registers while it is on its way.
 */
#ifdef SHUFFLES
#ifdef __CUDA_ARCH__
#define LEADING_ZEROS(word) ((u32)__clz((int)(word)))
#define COUNT_OF(mask) ((u32)__popc(mask))
#define ADD_LOCAL(at, some) atomicAdd(at, some)
#define MIN_LOCAL(at, some) atomicMin(at, some)
#define MAX_LOCAL(at, some) atomicMax(at, some)
#define OR_LOCAL(at, some) atomicOr(at, some)
#else
#define LEADING_ZEROS(word) clz((u32)(word))
#define COUNT_OF(mask) popcount((u32)(mask))
#define ADD_LOCAL(at, some) atomic_add((volatile LOCAL u32 *)(at), some)
#define MIN_LOCAL(at, some) atomic_min((volatile LOCAL u32 *)(at), some)
#define MAX_LOCAL(at, some) atomic_max((volatile LOCAL u32 *)(at), some)
#define OR_LOCAL(at, some) atomic_or((volatile LOCAL u32 *)(at), some)
#endif

#define WARPS (GROUP / WIDTH)
#define WARP_BARRIER asm volatile("bar.warp.sync 0xffffffff;" ::: "memory");
#define LOWEST_OF(mask) (31 - LEADING_ZEROS((mask) & (0U - (mask))))
#define HIGH_WORD(a, b) ((u32)((u64)(a) * (b) >> 32))
#define THREADS_BELOW(t) ((1U << (t)) - 1)

/* Returns a mask of the threads whose word is not 0. */
INLINE u32 ballot_of(u32 is) {
    u32 mask;
    asm volatile("{.reg .pred p; setp.ne.u32 p, %1, 0; vote.sync.ballot.b32 %0, p, 0xffffffff;}" : "=r"(mask) : "r"(is));
    return mask;
}

/* Returns a mask of the threads whose word equals that of this one. */
INLINE u32 equals_of(u32 word) {
    u32 mask;
    asm volatile("match.any.sync.b32 %0, %1, 0xffffffff;" : "=r"(mask) : "r"(word));
    return mask;
}

/* most_of returns the largest word of all threads, sum_of their sum, bits_of the bits of any. */
#define REDUCE_BY(NAME, MODE)                                                                                                  \
    INLINE u32 NAME(u32 word) {                                                                                                \
        u32 all;                                                                                                               \
        asm volatile("redux.sync." MODE " %0, %1, 0xffffffff;" : "=r"(all) : "r"(word));                                       \
        return all;                                                                                                            \
    }
REDUCE_BY(most_of, "max.u32")
REDUCE_BY(sum_of, "add.u32")
REDUCE_BY(bits_of, "or.b32")

/* Returns the word of thread t. */
INLINE u32 word_of(u32 word, u32 t) {
    u32 other;
    asm volatile("shfl.sync.idx.b32 %0, %1, %2, 0x1f, 0xffffffff;" : "=r"(other) : "r"(word), "r"(t));
    return other;
}

#define ADDRESS_OF(address, pointer) asm volatile("mov.u32 %0, %1;" : "=r"(address) : "r"(SHARED_ADDRESS(pointer)));

/* GET loads a word from local memory. GET_IF loads it if `is` is not 0, without a branch. The word
 * must be set before, or ptxas would keep its register through the whole kernel. */
#define GET(TYPE, CONSTRAINT, word, address) asm volatile("ld.shared." TYPE " %0, [%1];" : CONSTRAINT(word) : "r"(address));
#define GET_IF(TYPE, CONSTRAINT, word, address, is)                                                                            \
    asm volatile("{.reg .pred p; setp.ne.u32 p, %2, 0; @p ld.shared." TYPE " %0, [%1];}"                                       \
                 : CONSTRAINT(word)                                                                                            \
                 : "r"(address), "r"(is));
/* The same for four words at an aligned address. */
#define GET_VECTOR_IF(word, address, is)                                                                                       \
    asm volatile("{.reg .pred p; setp.ne.u32 p, %5, 0; @p ld.shared.v4.u32 {%0, %1, %2, %3}, [%4];}"                           \
                 : "+r"((word)[0]), "+r"((word)[1]), "+r"((word)[2]), "+r"((word)[3])                                          \
                 : "r"(address), "r"(is));

/*
 * Copies to local memory. COPY_SPAN is for one thread: an engine copies, and the word at `arrived`
 * tells when all is there. Elsewhere threads copy 16 bytes each. Both addresses are
 * aligned, and a span is of whole vectors.
 */
#if defined(BULK) || __CUDA_ARCH__ >= 900
#define SPANS 1
#define OPEN_ARRIVALS(arrived)                                                                                                 \
    asm volatile("mbarrier.init.shared.b64 [%0], 1;\n\tfence.mbarrier_init.release.cluster;" ::"r"(arrived) : "memory");
#define EXPECT_SPAN(bytes, arrived)                                                                                            \
    asm volatile("fence.proxy.async.shared::cta;\n\tmbarrier.arrive.expect_tx.shared.b64 _, [%0], %1;" ::"r"(arrived),         \
                 "r"(bytes)                                                                                                    \
                 : "memory");
#define COPY_SPAN(to, from, bytes, arrived)                                                                                    \
    asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"(to),          \
                 "l"(from), "r"(bytes), "r"(arrived)                                                                           \
                 : "memory");
#define SPAN_ARRIVED(is, arrived, parity)                                                                                      \
    asm volatile("{.reg .pred p; mbarrier.try_wait.parity.shared.b64 p, [%1], %2; selp.u32 %0, 1, 0, p;}"                      \
                 : "=r"(is)                                                                                                    \
                 : "r"(arrived), "r"(parity)                                                                                   \
                 : "memory");
#endif
/* Copies 16 bytes, or 4. */
#define COPY_VECTOR(to, from) asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(to), "l"(from) : "memory");
#define COPY_WORD(to, from) asm volatile("cp.async.ca.shared.global [%0], [%1], 4;" ::"r"(to), "l"(from) : "memory");
#define AWAIT_COPIES asm volatile("cp.async.wait_all;" ::: "memory");

/* Copies the bytes behind the last whole vector, fewer than 16. Each of the first threads copies a
 * word or a byte. No byte behind them is read. */
INLINE void copy_rest(u32 to, GLOBAL const u8 *from, u32 bytes, u32 thread) {
    const u32 words = bytes / 4, at = 3 * words + thread; /* of thread's byte */
    if (thread < words) COPY_WORD(to + 4 * thread, from + 4 * thread)
    if (thread >= words && at < bytes) asm volatile("st.shared.u8 [%0], %1;" ::"r"(to + at), "r"((u32)from[at]) : "memory");
}
#endif
