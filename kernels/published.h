/* SPDX-License-Identifier: MIT */
/*
 * What a scan's groups tell each other while they run: the totals of tiles, and what is before and with blocks. Part of the programs of scans in
 * one launch, in CUDA C and OpenCL C, before the variant's stem.
 *
 * A value is published in parts, words of 8 bytes: 4 of it, and 4 that say what it is and in which call. Each word is written and read at once, so that no
 * order among memory's words is needed, nor is anything cleared between calls. The tag counts the calls in memory, where captured launches find it too.
 *
 * Words that many groups look at or count by have 128 bytes each. 2^28 f32, H200, CUDA, November 2026: 748 us without, 700 with; and where all groups
 * counted by one word, whose atomics the device does one after another, about 10 ns each, 785 us.
 */
#define TOTAL 1U  /* what is published */
#define PREFIX 2U /* of a block: what is before and with it */

#if GROUP > 1
#define PUT_WORD(at, word) asm volatile("st.relaxed.gpu.u64 [%0], %1;" ::"l"(at), "l"(word) : "memory");
#define SEE_WORD(word, at) asm volatile("ld.relaxed.gpu.u64 %0, [%1];" : "=l"(word) : "l"(at) : "memory");
#else /* on a CPU, where clang's atomics for C are (src/program/probe.c, ORDER) */
#define PUT_WORD(at, word) __atomic_store_n(at, word, __ATOMIC_RELAXED);
#define SEE_WORD(word, at) word = __atomic_load_n(at, __ATOMIC_RELAXED);
#endif

#define PARTS ((u32)(sizeof(SCAN) + 3) / 4)
typedef union {
    SCAN value;
    u32 part[PARTS];
} IN_PARTS;

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

/* What is published there, and the value; 0: nothing of this call, or not all of it. */
INLINE u32 look(SEEN s, u32 tag, SCAN *value) {
    IN_PARTS v;
    const u32 is = (u32)s.word[0];
    u32 whole = is >> 2 == tag && (is & 3); /* a word never written is 0, as a tag may be */
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
 * `words`, in lines of 128 bytes: the calls so far; how many blocks are done, on a CPU how many groups have begun; for each block what is published of it,
 * and how many of its groups are done. Then what is published of the tiles.
 */
#define LINE 16
#define BLOCK_LINES ((PARTS + LINE - 1) / LINE * LINE + LINE)

typedef struct {
    GLOBAL u64 *words, *tiles;
    const SCAN *carry;
    u32 continues, tag;
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
