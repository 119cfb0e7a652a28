/* SPDX-License-Identifier: MIT */
/*
 * vectors: loads of 16 bytes of each input, in CUDA C and OpenCL C.
 *
 * Computes: nothing by itself. The stems that load 16 bytes at a time call what stands here.
 * How: a vector is read whole and taken apart into items.
 * Needs: ITEM, ITEM_VECTOR, ITEM_BYTES, ITEMS, SOURCE and EACH_INPUT (src/program/source.c); where
 * an instruction takes items out of words, ITEM_OF_WORD and ITEM_OF_VECTOR.
 * Why: it is the same for both languages, and every program has it.
 */

#define VECTOR (16 / ITEM_BYTES) /* items of a vector */

#define VECTOR_OF(name)                                                                                                        \
    union {                                                                                                                    \
        ITEM_VECTOR vector;                                                                                                    \
        u32 word[4];                                                                                                           \
        ITEM item[VECTOR];                                                                                                     \
    } name;
typedef struct {
    EACH_INPUT(VECTOR_OF)
} VECTORS;

/* Loads a vector of each input; `at` is the index of its first item. */
INLINE VECTORS vectors_at(SOURCE in, i64 at) {
    VECTORS v;
#define READ_VECTOR(name) v.name.vector = *(GLOBAL const ITEM_VECTOR *)(in.name + at);
    EACH_INPUT(READ_VECTOR)
    return v;
}

/* Word w of a vector of each input, as lane_bytes takes them. */
#if INPUTS == 1
#define WORDS_OF(v, w) (v).x.word[w]
#else
#define WORDS_OF(v, w) (v).x.word[w], (v).y.word[w]
#endif

INLINE ITEMS items_of(const VECTORS *v, int j) {
    ITEMS items;
#ifdef ITEM_OF_WORD
#define ITEM_OF(name) items.name = ITEM_OF_VECTOR(v->name.word[j * ITEM_BYTES / 4], j * ITEM_BYTES % 4);
#else
#define ITEM_OF(name) items.name = v->name.item[j];
#endif
    EACH_INPUT(ITEM_OF)
    return items;
}

#ifdef lane_plain
/* Returns 1 where lane_plain may take the items of all `count` vectors. Of items of 8 bytes the
 * upper halves tell. */
INLINE u32 are_plain(const VECTORS *v, int count) {
    u32 are_not = 0;
#pragma unroll
    for (int f = 0; f < count; f++)
#pragma unroll
        for (int w = ITEM_BYTES == 8; w < 4; w += ITEM_BYTES == 8 ? 2 : 1) are_not |= NOT_PLAIN(v[f].x.word[w]);
    return !are_not;
}

/* Takes a vector's items into their lanes. */
INLINE void take_plain(LANE *lane, const VECTORS *v, CHUNK c) {
#pragma unroll
    for (int j = 0; j < VECTOR; j++) lane[j] = lane_plain(lane[j], items_of(v, j), c);
}
#endif
