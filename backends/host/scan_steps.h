/* SPDX-License-Identifier: MIT */
/*
 * scan_steps.h: the steps of a scan in scan order v1 (kernels/scanning.h) over arrays of parts. A
 * part is an accumulator. With segments it has a counter too: how many items it holds, with the
 * highest bit set where a segment begins among them.
 */
#ifndef TALLY_BACKENDS_HOST_SCAN_STEPS_H
#define TALLY_BACKENDS_HOST_SCAN_STEPS_H

#include "host.h"

#define HOST_ROW_ITEMS (TALLY_CELL_ITEMS * TALLY_SCAN_WIDTH)
#define HOST_BATCH_ITEMS (TALLY_HOST_ROWS * HOST_ROW_ITEMS)

/* Parts of an array of TALLY_HOST_PARTS places, from place `at` on. */
typedef struct host_parts {
    unsigned char *accs;
    uint64_t *counters; /* NULL without segments */
    uint32_t at;
} host_parts;

/* Where the items of a batch stand. Item j of the cell at place 8 + c has the index indices[c] + j
 * after the batch's. The scan's first counts[c] + j + 1 items end with it, less those before the
 * batch. */
typedef struct host_places {
    bool reverse;   /* the batch's items and results are in memory in reverse order */
    int64_t step;   /* from the index of an item of a list to that of the next one */
    uint32_t width; /* cells of a list that stand in a row */
    int64_t indices[TALLY_HOST_CELLS];
    uint64_t counts[TALLY_HOST_CELLS];
} host_places;

/* Fills the arrays. From one row to the next there are `items` items: 0 if rows are of different
 * lists. */
void host_places_fill(host_places *places, uint64_t items);

/* The steps of a scan, in a thread. */
typedef struct host_steps {
    const tally_host_program *program;
    const void *params;
    const host_places *places;
    bool segmented;
    uint32_t packed_bytes;          /* of a part in memory that the core knows: the counter follows */
    unsigned char *items, *results; /* those of a batch: for each j item j of the cells */
    host_parts spare;
    bool has_initial;
    host_parts initial; /* places 0 to 7: the initial item */
} host_steps;

/* 8 rows of cells side by side. Place 8 + 8 * l + r of cells[j] has the first j + 1 items of cell l
 * of row r. */
typedef struct host_batch {
    host_parts cells[TALLY_CELL_ITEMS];
} host_batch;

/* Takes memory from *at on, and moves *at to its end. Both are aligned to 64 bytes. */
unsigned char *host_take(unsigned char **at, uint64_t bytes);

/* Takes the memory of a thread's steps. */
host_steps host_steps_take(const tally_host_program *program, bool segmented, unsigned char **at);
uint32_t host_packed_bytes(const tally_host_program *program, bool segmented);
/* Makes steps ready: for an initial item, unless it is NULL. */
void host_steps_begin(host_steps *steps, const host_places *places, const void *params, const void *initial);
/* Writes the first result of an exclusive scan or of a segment in it: nothing is before it. */
void host_steps_first(const host_steps *steps, unsigned char *result);

/* ---- parts ----------------------------------------------------------------------------------- */

/* Takes an array of parts. */
host_parts host_parts_take(const host_steps *steps, unsigned char **at);
static inline host_parts host_parts_from(host_parts parts, uint32_t i) {
    parts.at += i;
    return parts;
}
void host_parts_copy(const host_steps *steps, host_parts to, host_parts from, uint32_t count);
void host_parts_write(const host_steps *steps, unsigned char *packed, host_parts part);
/* Makes `count` parts the one at `packed`; 8 parts a part, the identity. */
void host_parts_read(const host_steps *steps, host_parts to, const unsigned char *packed, uint32_t count);
void host_parts_spread(const host_steps *steps, host_parts to, host_parts part);
void host_parts_clear(const host_steps *steps, host_parts to);
/* Combines columns of `left` with those of `parts`; with left_step 0 one column with each. */
void host_parts_join(const host_steps *steps, host_parts left, int32_t left_step, host_parts parts, uint32_t columns);
/* Writes the scan of 32 parts by Kogge and Stone; `a` and `to` change. */
void host_parts_scan(const host_steps *steps, host_parts a, host_parts to);

/* ---- batches --------------------------------------------------------------------------------- */

host_batch host_batch_take(const host_steps *steps, unsigned char **at);
/* Folds the cells of HOST_BATCH_ITEMS items, row after row, and scans the ends of each list's
 * cells. With segments begins[i] is 1 where a segment begins with item i of the sequence.
 * `index` is that of its item 0. */
void host_batch_fold(const host_steps *steps, const unsigned char *items, uint8_t *begins, uint64_t index, uint32_t columns,
                     const host_batch *batch);
/* Turns all but the ends of cells into inclusive prefixes, by the ends before each cell. */
void host_batch_prefix(const host_steps *steps, uint32_t columns, const host_batch *batch);
/* Writes the results, row after row. `before` counts the items before the batch. */
void host_batch_finish(const host_steps *steps, bool exclusive, uint64_t before, uint32_t columns, const host_batch *batch,
                       unsigned char *results);

#endif
