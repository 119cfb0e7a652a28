/* SPDX-License-Identifier: MIT */
/* scan.h: variants, launches and plans of scans. */
#ifndef TALLY_SRC_SCAN_H
#define TALLY_SRC_SCAN_H

#include "program/program.h"

typedef struct tally_scan_variant {
    tally_variant_info info;
    unsigned classes;  /* bit 1 << tally_device_class: where it makes sense */
    const char *tiles; /* stem with its kernel, after the variant's own stem; NULL: none */
    unsigned needs;    /* bit i: it needs feature i */
    unsigned uses;     /* bit i: it uses feature i if the device has it */
    bool one_launch;   /* one launch; false: three, for totals, tiles and items */
    bool intervals;    /* each warp owns an interval; the order is not the canonical one */
} tally_scan_variant;

const tally_scan_variant *tally_scan_variant_row(size_t index);
/* Finds a variant by name; NULL and "auto" give the device's default. The context must have been
 * probed. Errors: E_ARGUMENT for an unknown name; E_UNSUPPORTED if the device cannot run the
 * variant. */
tally_status tally_scan_variant_find(const char *name, const tally_context *context, const tally_scan_variant **out);

/* Bits of tally_scan_launch.flags: what the kernels are specialised for. */
enum {
    TALLY_SCAN_IS_EXCLUSIVE = 1,
    TALLY_SCAN_IS_REVERSE = 2,
    TALLY_SCAN_IS_SEGMENTED = 4,
    TALLY_SCAN_HAS_INITIAL = 8,
    TALLY_SCAN_IS_STAGED = 16,
    TALLY_SCAN_HOLDS_BACK = 32 /* for tests: every fifth group waits */
};

/* How a scan is launched. */
typedef struct tally_scan_launch {
    const tally_scan_variant *variant;
    unsigned flags;
    uint32_t group_threads, tiles; /* of a group */
} tally_scan_launch;

/* Sets the threads and tiles of a launch for up to max_n items. Its variant and flags are set.
 * Errors: E_UNSUPPORTED, with the reason, if the device has no such groups or too little local
 * memory. */
tally_status tally_scan_shape(tally_scan_launch *launch, const tally_terms *terms, const tally_device_info *device,
                              unsigned features, uint64_t max_n);
/* Returns the bytes of a SCAN: the accumulator, and with segments a counter of 8 bytes after it. */
uint32_t tally_scan_bytes(const tally_terms *terms, unsigned flags);
tally_recipe tally_scan_recipe(const tally_scan_launch *launch);

/* Resolves a descriptor's terms, its launch and, where it is 0, its max_n. launch->flags may have
 * flags of tests; the others are set. On success the caller closes the terms. The context must have
 * been probed. */
tally_status tally_scan_resolve(const tally_context *context, tally_scan_desc *desc, tally_terms *terms,
                                tally_scan_launch *launch);

extern const tally_plan_kind tally_scan_kind;

typedef struct tally_scan_plan {
    tally_plan base;
    tally_scan_launch launch;
    tally_segments segments;
    unsigned char initial[16]; /* an item */
    uint64_t capacity;         /* tiles, or intervals, that the workspace holds */
    uint64_t done;             /* items since the last tally_scan */
    uint32_t turn;             /* the carry that the next call writes: 0 or 1 */
    void *totals_kernel, *tiles_kernel, *items_kernel, *clear_kernel, *set_kernel;
    tally_buffer *words, *values; /* workspace: kernels/scanning.h */
    tally_buffer *heads;          /* flags made of offsets */
} tally_scan_plan;

/* Makes a scan's plan. `extra` are flags beyond the descriptor's, for tests. */
tally_status tally_scan_plan_make(tally_context *context, const tally_scan_desc *given, unsigned extra, tally_plan **out);

/* The arguments of the scans' kernels, in their order (kernels/scanning.h). */
enum {
    TALLY_SCAN_ARG_IN,
    TALLY_SCAN_ARG_IN_OFFSET,
    TALLY_SCAN_ARG_PARAMS,
    TALLY_SCAN_ARG_HEADS,
    TALLY_SCAN_ARG_HEADS_OFFSET,
    TALLY_SCAN_ARG_BASE,
    TALLY_SCAN_ARG_N,
    TALLY_SCAN_ARG_RUN,
    TALLY_SCAN_ARG_CAPACITY,
    TALLY_SCAN_ARG_WORDS,
    TALLY_SCAN_ARG_VALUES,
    TALLY_SCAN_ARG_FLOW,
    TALLY_SCAN_ARG_OUT,
    TALLY_SCAN_ARG_OUT_OFFSET,
    TALLY_SCAN_ARG_INITIAL,
    TALLY_SCAN_ARGS
};

typedef struct tally_scan_geometry {
    uint64_t groups, run; /* run: items of a warp's interval; 1 without intervals */
} tally_scan_geometry;
tally_scan_geometry tally_scan_plan_geometry(const tally_scan_plan *plan, uint64_t n);

#endif
