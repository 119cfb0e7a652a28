/* SPDX-License-Identifier: MIT */
/*
 * programs.h: the programs of the backend `host`. The build makes one of each built-in op and type
 * (generate/): the op's row in C, in the canonical orders of reductions and scans. A program is
 * compiled once for each instruction set, and found by the text that the specialiser writes.
 */
#ifndef TALLY_SRC_HOST_PROGRAMS_H
#define TALLY_SRC_HOST_PROGRAMS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <tally/tally.h>

#define TALLY_HOST_ACC_BYTES 64 /* room for any program's accumulator, plus a segment's counter */
/*
 * Parts of scans stand in structures of arrays: TALLY_HOST_PARTS values of each field of an
 * accumulator, field after field. Steps take 8 rows of 32 cells side by side, a batch: place
 * 8 + 8 * l + r has cell l of row r, and places 0 to 7 have the prefixes before the rows. A column
 * is the 8 places of a cell.
 */
#define TALLY_HOST_ROWS 8
#define TALLY_HOST_CELLS 256 /* of a batch */
#define TALLY_HOST_PARTS (TALLY_HOST_ROWS + TALLY_HOST_CELLS)
#define TALLY_HOST_FIELDS 4

/* The steps of a scan in scan order v1 (kernels/scanning.h), on columns. `load` and `finish` take
 * four columns at a time: what is beyond the last one has any value. */
typedef struct tally_host_scan {
    uint8_t fields[TALLY_HOST_FIELDS]; /* bytes of each field; 0 after the last */
    /* Loads items[c], whose index is index + places[c], into place at + c. NULL: the op is not for
     * scans. */
    void (*load)(const void *items, uint64_t index, const int64_t *places, uint32_t columns, const void *params, void *to,
                 int32_t at);
    /* Combines the column at `left` with that of `parts` at `at`, into the place of the latter in
     * `to`. Goes on by left_step and by `step` places. The arrays may be the same if no column is
     * written before it is read. */
    void (*pairs)(const void *lefts, int32_t left, int32_t left_step, const void *parts, void *to, int32_t at, int32_t step,
                  uint32_t columns);
    /* Writes results[c], that of place at + c, which holds first + counts[c] items. */
    void (*finish)(const void *parts, int32_t at, uint64_t first, const uint64_t *counts, uint32_t columns, const void *params,
                   void *results);
} tally_host_scan;

typedef struct tally_host_program {
    uint32_t inputs, item_bytes, acc_bytes, result_bytes;
    uint32_t far_items;   /* as many items of each input and more do not fit the caches of two cores */
    const void *defaults; /* the op's default parameters */
    /* Combines n items of each input, item 0 of which has the index `base`, in the canonical order.
     * The accumulator is aligned for any type. is_far: they are a part of items that do not fit the
     * caches, so they are prefetched. */
    void (*fold)(const void *const *items, const void *params, uint64_t base, uint64_t n, bool is_far, void *acc);
    void (*combine)(void *left, const void *right);
    /* Combines `count` > 0 accumulators as the aligned tree over their order. One follows another
     * after `step` bytes. */
    void (*combine_all)(const void *accs, uint64_t step, uint64_t count, void *to);
    /* Writes the result of n items, whose accumulator is acc; it may be unaligned. n = 0: the op's
     * result of no items. */
    void (*finish)(const void *acc, uint64_t n, const void *params, void *result);
    /* As fold, for one chunk. With a mask it leaves out the items whose byte is 0, but for their
     * places. Returns how many items it took. */
    uint64_t (*fold_some)(const void *const *items, const uint8_t *mask, const void *params, uint64_t base, uint64_t n,
                          void *acc);
    /* As fold, for a chunk, not empty, of each of `width` segments, TALLY_LANES or more: item j of
     * segment s is items[k][j * steps[k] + s] of input k. `group` is a power of two, the number of
     * lanes that are folded together. `scratch` is aligned to 64 and has block_bytes for each
     * lane of a group, for each TALLY_LANES segments or fewer, 1 + log2(TALLY_LANES / group) times,
     * and once more for pivots. NULL: these programs have no vectors. */
    void (*fold_block)(const void *const *items, const int64_t *steps, const void *params, uint64_t base, uint64_t n,
                       uint64_t width, uint32_t group, bool is_far, void *scratch, void *accs);
    uint64_t block_bytes; /* of a lane of TALLY_LANES segments */
    /* As finish, for the accumulators of fold_block. */
    void (*finish_block)(const void *accs, uint64_t n, uint64_t width, const void *params, void *results);
    /* Turns a result into an accumulator. NULL: the op takes no initial result. */
    void (*initial)(const void *result, void *acc);
    tally_host_scan scan;
} tally_host_program;

/* The programs as they were compiled for an instruction set. */
typedef struct tally_host_code {
    const tally_host_program *const *programs;
    size_t count;
    /* The self-test (kernels/probe.h). */
    void (*probe)(const float *in, uint32_t *state, float *out);
} tally_host_code;

/* The program of each op and dtype, as an index above 0; 0 if there is none. Made by the build. */
extern const uint16_t tally_host_numbers[TALLY_OP_END][TALLY_DTYPE_END];
/* Returns the program of a built-in op for this processor; NULL if there is none. */
const tally_host_program *tally_host_program_for(unsigned op, unsigned in);

/* Returns the code for this processor. Its programs are NULL if the build has none (a cross
 * build). */
const tally_host_code *tally_host_code_here(void);
/* Returns the name of its instruction set: "base", "AVX2, FMA" or "AVX-512". */
const char *tally_host_code_name(void);

/* ---- keys ------------------------------------------------------------------------------------ */

/* The features of the backend: it has ORDER alone. */
#define TALLY_HOST_FEATURES (1u << TALLY_FEATURE_ORDER)

/* A text of the specialiser, and what it is for: the program of that index, or one of the values
 * below. */
typedef struct tally_host_key {
    uint64_t hash; /* of the text */
    uint16_t program, form;
} tally_host_key;
enum { TALLY_HOST_MOVE = 0xfff0, TALLY_HOST_PROBE, TALLY_HOST_TRIAL, TALLY_HOST_STEM, TALLY_HOST_OFFSETS, TALLY_HOST_KEYS };

/* The form of a scan: its TALLY_SCAN_ flags, and the tiles of a group. */
#define TALLY_HOST_SCAN_FORM(flags, tiles) ((flags) | 0x100u | (tiles) << 9)
#define TALLY_HOST_IS_SCAN(form) ((form)&0x100u)
#define TALLY_HOST_SCAN_FLAGS(form) ((form)&0xffu)
#define TALLY_HOST_SCAN_TILES(form) ((uint32_t)(form) >> 9)

/* The form of a move: the bytes of an item less 1, and these bits. */
enum {
    TALLY_HOST_MAP_IS_WIDE = 16,
    TALLY_HOST_SCATTERS = 32,
    TALLY_HOST_HAS_STENCIL = 64,
    TALLY_HOST_CHECKS = 128,
    TALLY_HOST_LAST_WINS = 256,
    TALLY_HOST_POSITION_IS_WIDE = 512
};

/* The form of OFFSETS: the bytes of an offset; of KEYS: the bytes of a key. */

extern const tally_host_key tally_host_keys[]; /* made by the build, sorted by hash */
extern const size_t tally_host_key_count;

uint64_t tally_host_hash(const char *text, size_t bytes);
/* Finds what a text is for; NULL if the backend has nothing for it. */
const tally_host_key *tally_host_find(const char *text, size_t bytes);
/* Returns what stands for a stem in a program's text: its name alone. The code is compiled with the
 * library. NULL if the backend has none. */
const char *tally_host_stem(const char *stem);

#endif
