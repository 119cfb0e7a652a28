/* SPDX-License-Identifier: MIT */
/* module.h: the stub's compiler. A program's text is C (prelude.h, entries.h). It is compiled once
 * and opened as a library. */
#ifndef TALLY_TESTS_STUB_MODULE_H
#define TALLY_TESTS_STUB_MODULE_H

#include <stddef.h>
#include <stdint.h>

typedef enum stub_size {
    STUB_ITEM_BYTES, /* the bytes that the text defines, then the size in C */
    STUB_ITEM_SIZE,
    STUB_VECTOR_SIZE,
    STUB_INPUTS,
    STUB_ACC_BYTES, /* the same */
    STUB_ACC_SIZE,
    STUB_ACC_ALIGN,
    STUB_RESULT_SIZE,
    STUB_PARAMS_SIZE,
    STUB_LANES,
    STUB_ROWS,
    STUB_CHUNK_ITEMS,
    STUB_SIZES
} stub_size;

/* Room for any accumulator, parameters or result of a test's plan. */
#define STUB_ACC_MOST 4096

typedef struct stub_module {
    const uint32_t *sizes;
    void (*identity)(void *to);
    void (*combine)(void *left, const void *right);
    /* Stores the result of n items with this accumulator; for n = 0 the op's value of no items. */
    void (*result)(const void *acc, uint64_t n, const void *params, void *to);
    /* Combines `count` items from `at` on (beyond the offsets) in one chunk's order. Item 0 has the
     * index `base`. */
    void (*chunk)(const void *const *in, const uint64_t *offset, const void *params, uint64_t at, uint64_t count, uint64_t base,
                  void *to);
    /* Combines items in sequence into the accumulator. */
    void (*sequence)(const void *const *in, const uint64_t *offset, const void *params, uint64_t at, uint64_t count, void *to);
} stub_module;

/* Returns NULL with the compiler's first error on failure. Texts that differ only in the group, the
 * factor, the stage or the stems share a module. */
const stub_module *stub_module_get(const char *source, char *error, size_t error_bytes);

/* The text of the stub's stem "prelude". */
extern const char stub_prelude[];

#endif
