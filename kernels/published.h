/* SPDX-License-Identifier: MIT */
/*
 * published: the words by which the groups of a scan tell each other what they know while they run.
 *
 * Computes: nothing by itself. The kernels of scans in one launch call what stands here.
 * How: a group publishes the aggregates of its tiles, and of blocks the aggregate or the inclusive
 * prefix. A value is published in parts of 4 bytes. Each part stands in a word of 8 bytes, beside a
 * tag of 30 bits and a state of 2 bits. The tag is the number of the call and the state is what is
 * published. A word is written and read whole, so no order among words is needed, and nothing is
 * cleared between calls. The calls are counted in memory, where captured launches find the count
 * too. A word of exactly 2^30 calls before would pass for one of this call, if no call between them
 * had that tile.
 * Needs: loads and stores of 8 bytes that other groups see whole; kernels/scanning.h before it.
 * Why: it is the same for GPUs and CPUs, in CUDA C and OpenCL C.
 *
 * Words that many groups poll or count by have 128 bytes each. 2^28 f32, H200, CUDA, November 2026:
 * 700 us; without such room 748 us; with one counter for all groups 785 us, because the device does
 * atomics on one word one after another, about 10 ns each.
 */

/* The states. 0: nothing is published. */
#define AGGREGATE 1U
#define PREFIX 2U /* of a block: its inclusive prefix */

#if GROUP > 1
#define PUT_WORD(at, word) asm volatile("st.relaxed.gpu.u64 [%0], %1;" ::"l"(at), "l"(word) : "memory");
#define SEE_WORD(word, at) asm volatile("ld.relaxed.gpu.u64 %0, [%1];" : "=l"(word) : "l"(at) : "memory");
#else /* on a CPU: clang's atomics for C, which the trial of the feature ORDER has found there */
#define PUT_WORD(at, word) __atomic_store_n(at, word, __ATOMIC_RELAXED);
#define SEE_WORD(word, at) word = __atomic_load_n(at, __ATOMIC_RELAXED);
#endif

#define PARTS ((u32)(sizeof(SCAN) + 3) / 4)
typedef union {
    SCAN value;
    u32 part[PARTS];
} IN_PARTS;

/* The words of one published value, as they were read. */
typedef struct {
    u64 word[PARTS];
} SEEN;

INLINE void publish(GLOBAL u64 *words, SCAN value, u32 tag, u32 state) {
    IN_PARTS v;
    v.value = value;
#pragma unroll
    for (u32 i = 0; i < PARTS; i++) {
        PUT_WORD(words + i, (u64)v.part[i] << 32 | tag << 2 | state)
    }
}

INLINE SEEN see(GLOBAL const u64 *words) {
    SEEN s;
#pragma unroll
    for (u32 i = 0; i < PARTS; i++) {
        SEE_WORD(s.word[i], words + i)
    }
    return s;
}

/* Returns the state of the words, and sets *value if that is not 0. It is 0 if the words are not of
 * this call, or not all written yet. */
INLINE u32 look(SEEN s, u32 tag, SCAN *value) {
    IN_PARTS v;
    const u32 is = (u32)s.word[0];
    u32 whole = is >> 2 == tag && (is & 3); /* a word that was never written is 0, and a tag may be 0 too */
#pragma unroll
    for (u32 i = 0; i < PARTS; i++) {
        whole = whole && (u32)s.word[i] == is;
        v.part[i] = (u32)(s.word[i] >> 32);
    }
    if (!whole) return 0;
    *value = v.value;
    return is & 3;
}

/*
 * `words` is an array of lines of 128 bytes:
 * - the number of calls so far;
 * - a counter: on a GPU the blocks that are done, on a CPU the groups that have begun;
 * - for each block what it has published, and then a counter of its groups that are done.
 * Behind the last block stands what each tile has published, PARTS words per tile.
 */
#define LINE 16
#define BLOCK_LINES ((PARTS + LINE - 1) / LINE * LINE + LINE)

typedef struct {
    GLOBAL u64 *words, *tiles; /* tiles: the first word of tile 0 */
    const SCAN *carry;         /* the inclusive prefix of the call that this one continues from */
    u32 continues, tag;        /* continues: 1 if there is such a call */
} STATE;

INLINE STATE state_of(GLOBAL u64 *words, u64 capacity, const SCAN *carry, u32 continues, u32 calls) {
    STATE s;
    s.words = words;
    s.tiles = words + 2 * LINE + (capacity + WIDTH - 1) / WIDTH * BLOCK_LINES;
    s.carry = carry;
    s.continues = continues;
    s.tag = (calls + 1) & 0x3fffffffU;
    return s;
}

INLINE GLOBAL u64 *words_of_block(const STATE *state, u64 block) {
    return state->words + 2 * LINE + block * BLOCK_LINES;
}

INLINE GLOBAL u64 *words_of_tile(const STATE *state, u64 tile) {
    return state->tiles + tile * PARTS;
}
