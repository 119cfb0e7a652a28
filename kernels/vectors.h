/* SPDX-License-Identifier: MIT */
/*
 * Loads of 16 bytes of each input, the same in CUDA C and OpenCL C: part of every program's text, for the stems that load so. ITEM,
 * ITEM_VECTOR, ITEM_BYTES, ITEMS, SOURCE and EACH_INPUT stand before it (src/program/source.c).
 */

#define VECTOR (16 / ITEM_BYTES) /* items of one */

#define VECTOR_OF(name)                                                                                                        \
    union {                                                                                                                    \
        ITEM_VECTOR vector;                                                                                                    \
        u32 word[4];                                                                                                           \
        ITEM item[VECTOR];                                                                                                     \
    } name;
typedef struct {
    EACH_INPUT(VECTOR_OF)
} VECTORS;

/* `at` is the first item's place. */
INLINE VECTORS vectors_at(SOURCE in, u64 at) {
    VECTORS v;
#define READ_VECTOR(name) v.name.vector = *(GLOBAL const ITEM_VECTOR *)(in.name + at);
    EACH_INPUT(READ_VECTOR)
    return v;
}

INLINE ITEMS items_of(const VECTORS *v, int j) {
    ITEMS items;
#define ITEM_OF(name) items.name = v->name.item[j];
    EACH_INPUT(ITEM_OF)
    return items;
}
