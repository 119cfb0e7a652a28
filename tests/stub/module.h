/* SPDX-License-Identifier: MIT */
/* module.h: the stub's compiler. A program's text is C (prelude.h, entries.h): it is
 * compiled once and opened as a library. */
#ifndef TALLY_TESTS_STUB_MODULE_H
#define TALLY_TESTS_STUB_MODULE_H

#include <stddef.h>
#include <stdint.h>

typedef enum stub_size {
    STUB_ITEM_BYTES, /* as the text says, and then as it is */
    STUB_ITEM_SIZE,
    STUB_VECTOR_SIZE,
    STUB_INPUTS,
    STUB_ACC_BYTES, /* likewise */
    STUB_ACC_SIZE,
    STUB_ACC_ALIGN,
    STUB_RESULT_SIZE,
    STUB_PARAMS_SIZE,
    STUB_LANES,
    STUB_ROWS,
    STUB_CHUNK_ITEMS,
    STUB_SIZES
} stub_size;

/* The room that any accumulator, parameters or result of a test's plan fits in. */
#define STUB_ACC_MOST 4096

typedef struct stub_module {
    const uint32_t *sizes;
    void (*identity)(void *to);
    void (*combine)(void *left, const void *right);
    /* The result of n items, whose accumulator it is; of none, the op's value for them. */
    void (*result)(const void *acc, uint64_t n, const void *params, void *to);
    /* `count` items from the place `at` on (beyond the offsets) in one chunk's order; the first
     * item of all has the index `base`. */
    void (*chunk)(const void *const *in, const uint64_t *offset, const void *params, uint64_t at, uint64_t count, uint64_t base,
                  void *to);
    /* In sequence, on top of the accumulator that is there. */
    void (*sequence)(const void *const *in, const uint64_t *offset, const void *params, uint64_t at, uint64_t count, void *to);
} stub_module;

/* NULL with the compiler's first error. Texts that differ in the group, the factor, the stage or
 * the stems share a module. */
const stub_module *stub_module_get(const char *source, char *error, size_t error_bytes);

/* What the stub's stem "prelude" is. */
extern const char stub_prelude[];

#endif
