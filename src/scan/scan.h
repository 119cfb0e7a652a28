/* SPDX-License-Identifier: MIT */
/* scan.h: variants, launches and plans of scans. */
#ifndef TALLY_SRC_SCAN_H
#define TALLY_SRC_SCAN_H

#include "program/program.h"

typedef struct tally_scan_variant {
    tally_variant_info info;
    unsigned classes;  /* bit 1 << tally_device_class: it is for that class */
    const char *tiles; /* stem with its kernel, after the variant's own stem; NULL: none */
    unsigned needs;    /* bit i: it needs feature i */
    unsigned uses;     /* bit i: it uses feature i if the device has it */
    bool one_launch;   /* one launch; false: three, for totals, tiles and items */
    bool intervals;    /* each warp owns an interval; the order is not the canonical one */
} tally_scan_variant;

const tally_scan_variant *tally_scan_variant_row(size_t index);
/* Returns the features, bits 1 << feature, that variants for the class need or use. */
unsigned tally_scan_features(tally_device_class device_class);
/* Finds a variant by name; NULL and "auto" give the device's default. The features must have been
 * tried. Errors: E_ARGUMENT for an unknown name; E_UNSUPPORTED if the device cannot run the
 * variant. */
tally_status tally_scan_variant_find(const char *name, const tally_context *context, const tally_scan_variant **out);

/* Bits of tally_scan_launch.flags: what the kernels are specialised for. */
enum {
    TALLY_SCAN_IS_EXCLUSIVE = 1,
    TALLY_SCAN_IS_REVERSE = 2,
    TALLY_SCAN_IS_SEGMENTED = 4,
    TALLY_SCAN_HAS_INITIAL = 8,
    TALLY_SCAN_IS_STAGED = 16,
    TALLY_SCAN_HOLDS_BACK = 32, /* for tests: every fifth group waits */
    TALLY_SCAN_IS_AXIS = 64     /* the program of scans along an axis */
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
/* Turns a launch of tally_scan into that of tally_scan_axis. Errors: E_UNSUPPORTED, as above and
 * for a variant in another order. */
tally_status tally_scan_shape_axis(tally_scan_launch *launch, const tally_terms *terms, const tally_device_info *device);
/* Returns the bytes of a SCAN: the accumulator, and with segments a counter of 8 bytes after it. */
uint32_t tally_scan_bytes(const tally_terms *terms, unsigned flags);
tally_recipe tally_scan_recipe(const tally_scan_launch *launch);

/* Resolves a descriptor's terms and launch, and sets a max_n of 0 to as many items as the memory
 * holds. launch->flags may have flags of tests and gets the others. On success the caller closes
 * the terms. The features must have been tried. */
tally_status tally_scan_resolve(const tally_context *context, tally_scan_desc *desc, tally_terms *terms,
                                tally_scan_launch *launch);

/* The kernels of scans along an axis (kernels/scan_axis.h), and those of CPUs
 * (kernels_cl/cpu_scan_axis.cl). */
enum { TALLY_SCAN_AXIS_LISTS, TALLY_SCAN_AXIS_ROWS, TALLY_SCAN_AXIS_CPU_KERNELS };
enum {
    TALLY_SCAN_AXIS_SHORT,
    TALLY_SCAN_AXIS_SHORT_ACROSS,
    TALLY_SCAN_AXIS_LONG,
    TALLY_SCAN_AXIS_LONG_ACROSS,
    TALLY_SCAN_AXIS_KERNELS
};
/* Lists that a thread of a CPU scans at once. */
#define TALLY_SCAN_LISTS 16
/* Items of a row: 32 cells. */
#define TALLY_ROW_ITEMS (TALLY_CELL_ITEMS * TALLY_SCAN_WIDTH)

extern const tally_plan_kind tally_scan_kind;

typedef struct tally_scan_plan {
    tally_plan base;
    tally_scan_launch launch;
    tally_segments segments;
    unsigned char initial[16]; /* an item */
    uint64_t capacity;         /* tiles, or intervals, that the workspace holds */
    uint64_t done;             /* items since the last tally_scan */
    bool anew;                 /* the next call begins with item `done`, and takes no prefix */
    uint32_t turn;             /* the carry that the next call writes: 0 or 1 */
    void *totals_kernel, *tiles_kernel, *items_kernel, *clear_kernel, *set_kernel;
    tally_scan_launch axis;                      /* of scans along an axis; variant NULL: none */
    void *axis_kernels[TALLY_SCAN_AXIS_KERNELS]; /* on CPUs the first two */
    tally_buffer *words, *values;                /* workspace: kernels/scanning.h */
    tally_buffer *heads;                         /* flags made of offsets */
} tally_scan_plan;

/* Checks that the items so far are whole blocks. Errors: E_ARGUMENT. */
tally_status tally_scan_check_blocks(const tally_scan_plan *plan);
/* Enqueues a scan of a checked call. `continues`: its items come after those of the plan's earlier
 * calls. */
tally_status tally_scan_launch_all(tally_scan_plan *plan, void *queue, const tally_scan_args *r, bool continues);

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

/* The arguments of the kernels of scans along an axis, in their order (kernels/scan_lists.h). */
enum {
    TALLY_AXIS_ARG_IN,
    TALLY_AXIS_ARG_IN_OFFSET,
    TALLY_AXIS_ARG_PARAMS,
    TALLY_AXIS_ARG_SHAPE, /* as tally_shape_pack writes it, of one input */
    TALLY_AXIS_ARG_COUNT, /* u64: lists */
    TALLY_AXIS_ARG_TEAM,  /* u32: threads of a list; on CPUs 1, or 32 with an index */
    TALLY_AXIS_ARG_OUT,
    TALLY_AXIS_ARG_OUT_OFFSET,
    TALLY_AXIS_ARG_INITIAL,
    TALLY_AXIS_ARGS
};

typedef struct tally_scan_geometry {
    uint64_t groups, run; /* run: items of a warp's interval; 1 without intervals */
} tally_scan_geometry;
tally_scan_geometry tally_scan_plan_geometry(const tally_scan_plan *plan, uint64_t n);

#endif
