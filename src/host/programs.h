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
 * accumulator, field after field. Steps take whole rows of 32 parts: what is beyond the last part
 * has any value. The first part has place TALLY_HOST_FIRST, so that it is aligned for vectors. The
 * places before it have room for what comes before.
 */
#define TALLY_HOST_ROW 32    /* cells of a row */
#define TALLY_HOST_CELLS 256 /* of a batch */
#define TALLY_HOST_FIRST 16
#define TALLY_HOST_PARTS (TALLY_HOST_FIRST + TALLY_HOST_CELLS + 16)
#define TALLY_HOST_FIELDS 4

/* The steps of a scan in scan order v1 (kernels/scanning.h), on `count` parts from place `at` on.
 * Arrays may be the same, unless a part were written before it is read. */
typedef struct tally_host_scan {
    uint8_t fields[TALLY_HOST_FIELDS]; /* bytes of each field; 0 after the last */
    /* Loads items[c], whose index is index + places[c], into place at + c. Unless `before` is NULL
     * it combines the part of that place there, of j items, with it. Returns false if the steps are
     * for plain items and one is not: then the parts have no meaning. NULL: the op is not for
     * scans. */
    bool (*load)(const void *items, uint64_t index, const int64_t *places, uint32_t count, const void *params,
                 const void *before, uint32_t j, void *to, int32_t at);
    /* Does steps s, 2 * s and so on, below `end`, of scans by Kogge and Stone of `width` parts
     * each. Step s combines a part with that s places before, or copies it if its scan has none
     * there. The first step writes `to`, the next one `room`, and so on in turn. `equal`: before
     * step 1 the parts have the same number of items. */
    void (*steps)(const void *parts, void *to, void *room, int32_t at, int32_t s, int32_t end, int32_t width, uint32_t count,
                  bool equal);
    /* Combines the parts from `left` on with those in `rights`. */
    void (*pairs)(const void *lefts, int32_t left, const void *rights, void *to, int32_t at, uint32_t count);
    /* Writes results[c], that of place at + c, which holds first + counts[c] items. */
    void (*finish)(const void *parts, int32_t at, uint64_t first, const uint64_t *counts, uint32_t count, const void *params,
                   void *results);
} tally_host_scan;

/* Steps that are the same for all programs: of a scan, and of segments (transpose). Those of items
 * and results are by the logarithm of their bytes: 1, 2, 4, 8 and 16. */
typedef struct tally_host_shared {
    /* From the items of cells, side by side, to four arrays of TALLY_HOST_CELLS: item j of each
     * cell. In reverse the last item in memory is the first one of cell 0. */
    void (*split[5])(const void *items, uint32_t cells, bool reverse, void *arrays);
    void (*join[5])(const void *arrays, uint32_t cells, bool reverse, void *items); /* and back */
    /* Transposes rows of items: item c of row r becomes item r of row c. Rows begin some bytes
     * apart. Items have 8 bytes at most. */
    void (*transpose[4])(const void *from, int64_t from_step, void *to, uint64_t to_step, uint64_t rows, uint64_t columns);
    /* Copies past the caches. _mm_sfence() must come before others may read it. */
    void (*pass)(void *to, const void *from, uint64_t bytes);
    /* Writes 1 for each byte that is not 0, and else 0. In reverse `heads` goes down. */
    void (*find_flags)(const uint8_t *heads, bool reverse, uint8_t *flags, uint32_t count);
    /* Writes the mask (tally_host_masked) of n items. Those whose byte is 0 are masked. Returns the
     * number of the others. */
    uint32_t (*widen_mask)(const uint8_t *bytes, uint32_t n, uint32_t *mask);
    /* With segments each part has a counter: the number of its items since a segment began, and the
     * highest bit if one begins in it. Writes the counters of items with these flags. */
    void (*count_flags)(const uint8_t *flags, uint64_t *counters, uint32_t count);
    /* Write the counters of what pairs and a step combine. */
    void (*count_pairs)(const uint64_t *lefts, const uint64_t *rights, uint64_t *to, uint32_t count);
    void (*count_step)(const uint64_t *parts, uint64_t *to, uint32_t s, uint32_t width, uint32_t count);
    /* Both are for a field's values, of 4 and of 8 bytes. Writes a value for a whole row, and for
     * the next row that `step` values on. */
    void (*spread[2])(const void *values, uint32_t step, void *to, uint32_t count);
    /* Writes those of `parts` where a segment begins in a part, else those that were combined. */
    void (*choose[2])(const uint64_t *counters, const void *combined, const void *parts, void *to, uint32_t count);
} tally_host_shared;

/* A chunk of each of some segments, with masks. Item i of segment s is items[k][s * pitch + i] of
 * input k. Memory can be read up to a multiple of TALLY_HOST_GROUP items of each segment. */
#define TALLY_HOST_GROUP 16
#define TALLY_HOST_MASKED 7 /* most segments: lanes behind the last one's are read */
typedef struct tally_host_masked {
    const void *items[TALLY_MAX_INPUTS];
    uint64_t index; /* of item 0 */
    uint32_t segments, pitch;
    /* Several segments have room side by side: the largest n, rounded up to a power of two that is
     * TALLY_HOST_GROUP or more, is at most TALLY_LANES / segments. */
    uint32_t n[TALLY_HOST_MASKED];
    uint32_t has[TALLY_HOST_MASKED]; /* items that are not masked */
    /* mask[s][i] is 0 if item i of segment s is masked, else all ones. It is 0 from n on, up to a
     * multiple of TALLY_HOST_GROUP. */
    const uint32_t *mask[TALLY_HOST_MASKED];
} tally_host_masked;

typedef struct tally_host_program {
    uint32_t inputs, item_bytes, acc_bytes, result_bytes;
    uint32_t far_items;   /* as many items of each input and more do not fit the caches of two cores */
    const void *defaults; /* the op's default parameters */
    /* Combines n items of each input, item 0 of which has the index `base`, in the canonical order.
     * The accumulator is aligned for any type. is_far: they are a part of items that do not fit the
     * caches, so they are prefetched where that pays. */
    void (*fold)(const void *const *items, const void *params, uint64_t base, uint64_t n, bool is_far, void *acc);
    void (*combine)(void *left, const void *right);
    /* Combines `count` > 0 accumulators as the aligned tree over their order. One follows another
     * after `step` bytes. */
    void (*combine_all)(const void *accs, uint64_t step, uint64_t count, void *to);
    /* Writes the result of n items, whose accumulator is acc; it may be unaligned. n = 0: the op's
     * result of no items. */
    void (*finish)(const void *acc, uint64_t n, const void *params, void *result);
    /* As fold, for a chunk of each of some segments. accs[s] is that of segment s, which may be the
     * accumulator of no items. */
    void (*fold_masked)(const tally_host_masked *of, const void *params, void *accs);
    /* As fold, for a chunk, not empty, of each of `width` segments, TALLY_LANES or more: item j of
     * segment s is items[k][j * steps[k] + s] of input k. `group` is a power of two, the number of
     * lanes that are folded together. `scratch` is aligned to 64 and has block_bytes for each
     * lane of a group, for each TALLY_LANES segments or fewer, 1 + log2(TALLY_LANES / group) times,
     * and once more for pivots. NULL: these programs have no vectors. */
    void (*fold_block)(const void *const *items, const int64_t *steps, const void *params, uint64_t base, uint64_t n,
                       uint64_t width, uint32_t group, bool is_far, void *scratch, void *accs);
    uint64_t block_bytes; /* of a lane of TALLY_LANES segments */
    bool idempotent;      /* what an accumulator has already does not change it */
    /* As finish, for the accumulators of fold_block. */
    void (*finish_block)(const void *accs, uint64_t n, uint64_t width, const void *params, void *results);
    /* Turns a result into an accumulator. NULL: the op takes no initial result. */
    void (*initial)(const void *result, void *acc);
    tally_host_scan scan;
    /* The steps for plain items. The accumulator of such an item is zero but for the field at
     * plain_offset, and so is the combination of two. The steps read and write the array of that
     * field alone; `fields` is not used. NULL: the op has no plain items. */
    const tally_host_scan *plain;
    uint32_t plain_offset;
} tally_host_program;

/* The programs as they were compiled for an instruction set. */
typedef struct tally_host_code {
    const tally_host_program *const *programs;
    size_t count;
    /* The self-test (kernels/probe.h). */
    void (*probe)(const float *in, uint32_t *state, float *out);
    tally_host_shared shared;
} tally_host_code;

/* The program of each op and dtype, as an index above 0; 0 if there is none. Made by the build. */
extern const uint16_t tally_host_numbers[TALLY_OP_END][TALLY_DTYPE_END];
/* Returns the program of a built-in op for this processor; NULL if there is none. */
const tally_host_program *tally_host_program_for(unsigned op, unsigned in);

/* Returns the code for this processor. Its programs are NULL if the build has none (a cross
 * build). */
const tally_host_code *tally_host_code_here(void);
/* True on processors that are faster without prefetches where items are read in the order of
 * memory: AMD's, measured on Zen 4. Set with the code. */
extern bool tally_host_fetches_ahead;
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
