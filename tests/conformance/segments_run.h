/* SPDX-License-Identifier: MIT */
/*
 * segments_run.h: plans of segments on a device, whose results are compared with the oracle, byte
 * by byte, with all memory around them.
 */
#ifndef TALLY_TESTS_SEGMENTS_RUN_H
#define TALLY_TESTS_SEGMENTS_RUN_H

#include "conformance.h"
#include "oracle/segments.h"

/* A value of a result, by the oracle: value `part` of a whole input's result. */
typedef struct segments_value {
    oracle_case of;
    uint32_t part, term;
    uint32_t offset; /* bytes, in the term's result */
} segments_value;

#define SEGMENTS_MAX_VALUES 32
typedef struct segments_run {
    tally_context *context;
    tally_queue *queue;
    tally_plan *plan;
    tally_segments_desc desc;
    double params[2];
    segments_value values[SEGMENTS_MAX_VALUES];
    uint32_t value_count, term_count, inputs;
    uint32_t term_offset[TALLY_MAX_TERMS], term_bytes[TALLY_MAX_TERMS]; /* in a result of all terms */
    uint32_t result_bytes;
    size_t item_bytes;
    uint64_t runs; /* cases so far, a seed of the next one's mask */
    char name[160];
} segments_run;

/* Settings of a plan that its descriptor does not have. */
typedef struct segments_also {
    const double *params;   /* of all ops that have parameters; NULL: the defaults */
    const oracle_case *own; /* what each value of a result of desc.custom is, in order */
    uint32_t own_count;
} segments_also;

/* Creates the plan. desc->size is filled in, and max_n and max_segments where they are 0. `also`
 * may be NULL. desc.terms must outlive the run. Returns 0 if the variant, which must then be named,
 * is not for this device. */
int segments_open(segments_run *r, tally_context *context, const tally_segments_desc *desc, const segments_also *also);
void segments_close(segments_run *r);
#define SEGMENTS_MAX_N (UINT64_C(1) << 17)
#define SEGMENTS_MAX_SEGMENTS (UINT64_C(1) << 15)

/* Returns the pattern of an op's items, of which products and exponentials neither overflow nor
 * vanish. */
int segments_usual_pattern(tally_op op);

typedef enum segments_mask { MASK_RANDOM, MASK_ONES, MASK_ZEROS, MASK_KINDS } segments_mask;

/* The members that cases of all kinds share. The mask counts with TALLY_WHERE alone. */
typedef struct segments_items {
    int pattern;
    segments_mask mask;
    uint32_t skew;      /* items, bytes of the mask and results before the first of the case */
    uint32_t mask_skew; /* bytes of the mask, if not 0 */
} segments_items;

/* ---- cases ----------------------------------------------------------------------------------- */

/* An array by axes. */
typedef struct segments_axes {
    segments_items items;
    uint32_t count;
    int out_strided;
    tally_axis axes[TALLY_MAX_AXES];
} segments_axes;
/* Runs the case twice. Fails unless each result is the oracle's and nothing else is written. */
void segments_run_axes(segments_run *r, const segments_axes *c);
/* The same for a host array, by tally_reduce_host_axes. */
void segments_run_host_axes(segments_run *r, const segments_axes *c);

/* Segments by offsets. */
typedef struct segments_offsets {
    segments_items items;
    const uint64_t *begins, *ends; /* `ends` NULL: begins has count + 1 entries */
    uint64_t count, n;
    uint64_t bad; /* the first segment that is wrong; TALLY_NO_INDEX: none */
} segments_offsets;
/* The same. If a segment is wrong, the call must name it and write nothing. */
void segments_run_offsets(segments_run *r, const segments_offsets *c);

/* Runs of keys. */
typedef struct segments_keys {
    segments_items items;
    const void *keys;
    uint64_t n, capacity;
    int no_keys, no_lengths; /* outputs that the call does not want */
} segments_keys;
/* The same. A checked plan must fail if the capacity is too small. `runs` is right in any case. */
void segments_run_keys(segments_run *r, const segments_keys *c);

/* ---- parts of a case ------------------------------------------------------------------------- */

/* Memory on the host and its copy on the device. */
typedef struct segments_region {
    unsigned char *data; /* as written */
    uint64_t bytes;
    uint64_t base; /* elements before the one of index 0 */
    size_t element;
    tally_buffer *buffer;
} segments_region;

typedef struct segments_memory {
    segments_region in[2], where, out[TALLY_MAX_TERMS];
    uint32_t outs;
    oracle_items items; /* the inputs and the mask, for the oracle */
} segments_memory;

/* Makes a region of poison: PAD and `skew` elements, `count` elements, and PAD again. Element 0 is
 * `first` elements behind the first of these. */
segments_region segments_region_make(size_t element, uint32_t skew, uint64_t first, uint64_t count);
void segments_region_drop(segments_region *g);
unsigned char *segments_at(const segments_region *g, int64_t element);
/* Copies the region to the device. */
void segments_upload(segments_run *r, segments_region *g);

/* Makes the inputs, the mask and the outputs: element 0 of each is first[...] elements behind the
 * lowest one, of count[...]. */
typedef struct segments_extent {
    uint64_t first, count;
} segments_extent;
segments_memory segments_memory_make(segments_run *r, const segments_items *items, const segments_extent in[2],
                                     segments_extent where, segments_extent out);
void segments_memory_drop(segments_memory *m);

/* Fills the outputs with poison of this pass. */
void segments_poison(segments_memory *m, int pass);
/* Puts value v of `count` segments, as the oracle wrote them, into the outputs. Segment s goes to
 * places[s], or to s. */
void segments_put(const segments_run *r, segments_memory *m, uint32_t v, const void *values, uint64_t count,
                  const int64_t *places);
/* Fails with `about` unless the device's copy of the region equals the host's. */
void segments_expect(segments_run *r, const segments_region *g, const char *what, const char *about);
/* The same for other memory than the device's. */
void segments_compare(const segments_region *g, const unsigned char *got, const char *what, const char *about);
/* Fails unless the inputs and the mask are as they were. */
void segments_expect_inputs(segments_run *r, const segments_memory *m, const char *about);

#endif
