/* SPDX-License-Identifier: MIT */
/* segments.h: shared by the files of the kernels of segments (kernels/segments.h). */
#ifndef TALLY_BACKENDS_HOST_SEGMENTS_H
#define TALLY_BACKENDS_HOST_SEGMENTS_H

#include "gather.h"
#include "segments/segments.h"

#define CHUNK TALLY_CHUNK_ITEMS

/* Bytes of an input's scratch in a thread: 32 columns of f32 fit. */
#define GATHER_BYTES (32 * (CHUNK * 4 + 64))

/* Bytes of the accumulators and the pivots of fold_block: as much as the cache of the second
 * level. */
#define HOST_BLOCK_ROOM (UINT64_C(9) << 17)
/* Most segments of a fold_block. ms of the sum of 2^26 f32, two cores of an EPYC (Zen 4), November
 * 2026: along 64 rows of 2^20, of 128 segments at once 20.9, of 1,024 16.1, of 4,096 13.0, of
 * 16,384 12.5; along 8,192 rows of as many, of 128 15.6, of 8,192 9.7; along rows of 1,000, of 128
 * 21.8, of 1,000 8.7. */
#define HOST_MOST_WIDE 16384

/* A launch. */
typedef struct segments_job {
    const host_program *of;
    const tally_host_shared *shared;
    uint32_t inputs, item_bytes, threads;
    const unsigned char *in[TALLY_MAX_INPUTS];
    const uint8_t *where;                  /* NULL: no mask */
    const unsigned char *params, *initial; /* initial NULL: none */
    uint64_t first, count;                 /* segments */
    bool last;                             /* results, no partials */
    bool is_far;                           /* the items do not fit the caches */
    unsigned char *partials;
    uint64_t *counts; /* of the partials' items; NULL: no mask */
    unsigned char *out[TALLY_MAX_TERMS];
    unsigned char *scratch;
    uint64_t scratch_bytes; /* of a thread */
    /* By axes. */
    tally_array_shape shape;
    host_walk walk[TALLY_MAX_INPUTS], where_walk;
    uint64_t leaf, leaves;
    unsigned char *slices; /* from SLICE on */
    uint64_t *slice_counts;
    /* By offsets. */
    const unsigned char *begins, *ends;
    bool wide;  /* offsets of 8 bytes */
    bool lists; /* long segments go to the work list; false: it is complete */
    uint64_t *work, capacity;
    uint64_t span; /* segments of a group */
} segments_job;

/* Tells whether n items of each input do not fit the caches. */
bool tally_host_segments_are_far(const segments_job *job, uint64_t n);

/* Returns the most bytes that a part's fold_block has for a lane of 128 segments. 0: none has
 * one. */
uint64_t tally_host_block_bytes(const host_program *of);

/* A thread's scratch. */
typedef struct host_scratch {
    unsigned char *items[TALLY_MAX_INPUTS], *where; /* GATHER_BYTES each */
    uint32_t *mask;                                 /* of a chunk, and of short segments (tally_host_masked) */
    unsigned char *accs, *results, *lanes;          /* of fold_block */
} host_scratch;

host_scratch tally_host_scratch_of(const segments_job *job, uint32_t worker);

/* Folds a chunk of a segment by op p into an aligned accumulator. The chunk's items begin at
 * items[k] in input k, and its first item has the index `base` in the segment. `where` is the mask,
 * NULL if there is none. Returns the number of items that are not masked. */
uint64_t tally_host_fold_chunk(const segments_job *job, uint32_t p, const unsigned char *const *items, const uint8_t *where,
                               uint64_t base, uint64_t n, const host_scratch *scratch, unsigned char *acc);

/* Stores op p's value of n items in the result at place `at`. */
void tally_host_put_result(const segments_job *job, uint32_t p, unsigned char *acc, uint64_t n, int64_t at);
/* Returns where op p's result at place `at` lies. */
unsigned char *tally_host_result_at(const segments_job *job, uint32_t p, int64_t at);
/* Stores op p's partial at place `at`. */
void tally_host_put_partial(const segments_job *job, uint32_t p, const unsigned char *acc, uint64_t n, uint64_t at);

/* Combines `leaves` partials from place `at` on, of op p. */
void tally_host_combine_partials(const segments_job *job, uint32_t p, uint64_t at, uint64_t leaves, unsigned char *acc);
/* Returns the number of items of these partials. Without a mask it is `n`. */
uint64_t tally_host_items_of(const segments_job *job, uint64_t at, uint64_t leaves, uint64_t n);

/* The kernels. */
void tally_host_segments_axes(segments_job *job);
void tally_host_segments_axes_fold(segments_job *job);
void tally_host_segments_clear(segments_job *job);
void tally_host_segments_offsets(segments_job *job);
void tally_host_segments_chunks(segments_job *job);
void tally_host_segments_offsets_fold(segments_job *job);

/* The items and the results of a segment, by axes. */
typedef struct host_segment {
    const unsigned char *in[TALLY_MAX_INPUTS];
    const uint8_t *where;
    int64_t out;
} host_segment;
host_segment tally_host_segment_by_axes(const segments_job *job, uint64_t s);

#endif
