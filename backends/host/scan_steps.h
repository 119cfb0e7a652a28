/* SPDX-License-Identifier: MIT */
/*
 * scan_steps.h: the steps of a scan in scan order v1 (kernels/scanning.h) over arrays of parts. A
 * part is an accumulator. With segments it has a counter too: how many items it holds, with the
 * highest bit set where a segment begins among them.
 */
#ifndef TALLY_BACKENDS_HOST_SCAN_STEPS_H
#define TALLY_BACKENDS_HOST_SCAN_STEPS_H

#include <string.h>

#include "host.h"

typedef struct host_steps {
    const tally_host_program *program;
    const void *params;
    bool segmented;
    uint32_t acc_bytes;
    uint32_t packed_bytes; /* of a part in memory that the core knows: the counter follows */
} host_steps;

/* An array of parts: counters[i] is that of accs[i]. */
typedef struct host_parts {
    unsigned char *accs;
    uint64_t *counters; /* NULL without segments */
} host_parts;

host_steps host_steps_of(const tally_host_program *program, bool segmented, const void *params);

/* Takes an array of parts from memory at *at, and moves *at to its end. Both are aligned. */
#define HOST_PARTS_ALIGN 64
host_parts host_parts_take(const host_steps *steps, unsigned char **at, uint64_t count);
/* Returns the packed part at `bytes`. */
host_parts host_parts_packed(const host_steps *steps, unsigned char *bytes);
/* Returns the parts from part i on. */
static inline host_parts host_parts_from(const host_steps *steps, host_parts parts, uint64_t i) {
    return (host_parts){parts.accs + i * steps->acc_bytes, parts.counters ? parts.counters + i : NULL};
}

static inline void host_parts_copy(const host_steps *steps, host_parts to, host_parts from, uint64_t count) {
    memcpy(to.accs, from.accs, count * steps->acc_bytes);
    if (steps->segmented) memcpy(to.counters, from.counters, count * sizeof(uint64_t));
}

/* Folds whole rows of 32 cells of 4 items: part j * TALLY_HOST_CELLS + c of `cells` is the first
 * j + 1 items of cell c. `index` is item 0's, and each further item's is `step` more. With segments
 * begins[i] is not 0 where a segment begins with item i. `scratch` has TALLY_HOST_CELLS parts. */
void host_steps_fold(const host_steps *steps, const unsigned char *items, const uint8_t *begins, uint64_t index, int64_t step,
                     uint32_t rows, host_parts scratch, host_parts cells);
/* Loads one item, whose index is 0. */
void host_steps_load(const host_steps *steps, const void *item, host_parts part);
/* Combines a[i] with b[i]. The arrays do not overlap. */
void host_steps_pairs(const host_steps *steps, host_parts a, host_parts b, host_parts to, uint32_t count);
/* Combines `left` with each part. */
void host_steps_join(const host_steps *steps, host_parts left, host_parts parts, uint32_t count);
/* Makes no segment begin in these parts. */
void host_steps_clear_beginnings(host_parts parts, uint32_t count);
/* Writes results[i * step], that of parts[i]. The part holds the first + i * step + before items of
 * the sequence; with segments those that it counts, and `before`. */
void host_steps_finish(const host_steps *steps, host_parts parts, uint32_t step, uint64_t first, uint32_t count,
                       uint64_t before, unsigned char *results);

#endif
