/* SPDX-License-Identifier: MIT */
/*
 * segment_exchange: how the threads of a team exchange lanes and words, on GPUs.
 *
 * Computes: nothing by itself. The kernels of segments call what stands here.
 * How: threads of a warp exchange by shuffles; devices without them do it in local memory.
 * Needs: kernels/segments.h and the stem "finish" before it; GROUP a power of two from 32 on.
 * Why: a team is 1 to 32 threads of a warp, and its last halvings are among them.
 */
#define WIDTH 32
#define OWN 4         /* lanes of a thread */
#define TURN_LEVELS 5 /* of WIDTH turns */

#if !defined(WHERE) && !defined(TAKES_PIVOT)
#define PLAIN 1 /* each item counts as it comes */
#endif

#define IN_BYTES (ITEM_BYTES * INPUTS)
/* Chunk rows whose items are loaded at once. */
#define FLIGHT_ROWS (IN_BYTES <= 4 ? 4 : IN_BYTES <= 8 ? 2 : 1)

#if defined(__CUDA_ARCH__) || defined(PTX)
#define SHUFFLES 1 /* threads of a warp exchange words; elsewhere in local memory */
#endif

/* ---- exchange -------------------------------------------------------------------------------- */

typedef union {
    LANE lane[GROUP];
#ifdef TAKES_PIVOT
    PIVOT pivot[GROUP];
#endif
    u32 word[GROUP];
} EXCHANGE;

/*
 * NAME(a, s, meet) returns the `a` of another thread of the warp: of thread t + s (down) or t ^ s
 * (bfly). All threads of the group take part.
 */
#ifdef SHUFFLES
#define EXCHANGE_BY(NAME, TYPE, MEMBER, MODE, OTHER)                                                                           \
    INLINE TYPE NAME(TYPE a, u32 s, LOCAL EXCHANGE *meet) {                                                                    \
        union {                                                                                                                \
            TYPE value;                                                                                                        \
            u32 word[(sizeof(TYPE) + 3) / 4];                                                                                  \
        } from, to;                                                                                                            \
        from.value = a;                                                                                                        \
        _Pragma("unroll") for (int w = 0; w < (int)((sizeof(TYPE) + 3) / 4); w++) asm volatile(                                \
            "shfl.sync." MODE ".b32 %0, %1, %2, 0x1f, 0xffffffff;" : "=r"(to.word[w]) : "r"(from.word[w]), "r"(s));            \
        return to.value;                                                                                                       \
    }
#else
#define EXCHANGE_BY(NAME, TYPE, MEMBER, MODE, OTHER)                                                                           \
    INLINE TYPE NAME(TYPE a, u32 s, LOCAL EXCHANGE *meet) {                                                                    \
        meet->MEMBER[THREAD_ID] = a;                                                                                           \
        BARRIER                                                                                                                \
        a = meet->MEMBER[(OTHER) % GROUP];                                                                                     \
        BARRIER                                                                                                                \
        return a;                                                                                                              \
    }
#endif
EXCHANGE_BY(lane_down, LANE, lane, "down", THREAD_ID + s)
EXCHANGE_BY(word_xor, u32, word, "bfly", THREAD_ID ^ s)
#ifdef TAKES_PIVOT
EXCHANGE_BY(pivot_xor, PIVOT, pivot, "bfly", THREAD_ID ^ s)
#endif

/* The steps of a team are written out, because POCL has miscompiled barriers in loops. A step that
 * is too wide for the team is left out; a step with barriers is done, and changes nothing. */
#ifdef SHUFFLES
#define IF_ACROSS(s) if (team > (s))
#else
#define IF_ACROSS(s)
#endif
#define ACROSS_TEAM(TYPE, a, exchange, combine)                                                                                \
    STEP_ACROSS(TYPE, a, 16, exchange, combine)                                                                                \
    STEP_ACROSS(TYPE, a, 8, exchange, combine)                                                                                 \
    STEP_ACROSS(TYPE, a, 4, exchange, combine)                                                                                 \
    STEP_ACROSS(TYPE, a, 2, exchange, combine)                                                                                 \
    STEP_ACROSS(TYPE, a, 1, exchange, combine)
#define STEP_ACROSS(TYPE, a, s, exchange, combine)                                                                             \
    IF_ACROSS(s) {                                                                                                             \
        const TYPE other = exchange(a, s, meet);                                                                               \
        if (team > (s)) a = combine(a, other);                                                                                 \
    }

INLINE u32 word_add(u32 a, u32 b) {
    return a + b;
}

/* Returns the sum of a team's words. */
INLINE u32 team_sum(u32 a, u32 team, LOCAL EXCHANGE *meet) {
    ACROSS_TEAM(u32, a, word_xor, word_add)
    return a;
}

/* Returns the thread of a team whose turn is the k-th: k with its bits in reverse. */
INLINE u32 turn_of(u32 k, u32 team) {
    const u32 reversed = (k & 1) << 4 | (k & 2) << 2 | (k & 4) | (k & 8) >> 2 | (k & 16) >> 4;
    return reversed * team / WIDTH;
}
