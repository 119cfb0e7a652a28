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
#define HOST_BATCH_ITEMS (TALLY_HOST_CELLS * TALLY_CELL_ITEMS)
#define HOST_BATCH_ROWS (TALLY_HOST_CELLS / TALLY_SCAN_WIDTH)

/* Parts of an array of TALLY_HOST_PARTS places, from place `at` on. With segments the array of the
 * counters follows. Calls pass the struct by value, so it fits two registers. */
typedef struct host_parts {
    unsigned char *accs;
    int64_t at;
} host_parts;

/* Where the items of a batch stand. Item j of cell c has the index indices[c] + j * step after the
 * batch's. The scan's first counts[c] + j + 1 items end with it, less those before the batch. */
typedef struct host_places {
    bool is_whole;  /* the rows are of one list, one after another */
    bool reverse;   /* the batch's items and results are in memory in reverse order */
    int64_t step;   /* from the index of an item of a list to that of the next one */
    uint32_t width; /* cells of a list that stand in a row */
    int64_t indices[TALLY_HOST_CELLS];
    uint64_t counts[TALLY_HOST_CELLS];
} host_places;

/* Fills the arrays. */
void tally_host_places_fill(host_places *places);

/* Stays in the scratch, which is zeros at first where an op has plain items. */
typedef struct host_mark {
    bool is_set;    /* fields other than that of plain items may not be zeros */
    uint8_t passed; /* batches since then, modulo 256 */
} host_mark;

/* A batch: 8 rows of cells, one after another. Part c of cells[j] has the first j + 1 items of
 * cell c. The last one, `ends`, is scanned with those of the cells before. `steps` are those that
 * the batch is taken by: for all fields, or for plain items. */
typedef struct host_batch {
    host_parts cells[TALLY_CELL_ITEMS - 1];
    host_parts ends;
    const struct host_steps *steps;
    host_mark *mark;
} host_batch;

/* A field of an accumulator: its place in an accumulator, and that of its array in an array of
 * parts. */
typedef struct host_field {
    uint32_t bytes, offset;
    uint64_t begin;
} host_field;

/*
 * Memory works while a thread computes: the items of its next group come into the caches, and the
 * results of its last batch go past them. Each step of a batch does a piece of both. In one go the
 * thread would wait for them.
 */
typedef struct host_streams {
    uintptr_t items;       /* the next ones to prefetch */
    uint64_t piece_bytes;  /* of a step; 0: none are prefetched */
    unsigned char *arrays; /* the results of a whole batch: for each j result j of its cells */
    unsigned char *to;     /* where they go; NULL: there are none */
    unsigned char *piece;  /* room for those of a step */
} host_streams;

/* The steps of a scan, in a thread. */
typedef struct host_steps {
    const tally_host_program *program;
    const tally_host_scan *scan;
    struct host_steps *plain; /* those for plain items; NULL: there are none */
    bool takes_plain;         /* there are, and no initial item forbids them */
    const tally_host_shared *shared;
    const void *params;
    const host_places *places;
    host_field fields[TALLY_HOST_FIELDS];
    uint32_t field_count;
    uint64_t counters; /* their place in an array of parts */
    bool segmented;
    uint32_t packed_bytes; /* of a part in memory that the core knows: the counter follows */
    unsigned char *items;  /* of a batch: for each j item j of the cells */
    host_streams *streams; /* NULL: there are none */
    host_parts spare;      /* what a step writes before it chooses */
    host_parts room;       /* between two steps of a scan; what is before the parts of rows */
    host_parts ends;       /* a batch's, before they are scanned */
    bool has_initial;
    host_parts initial; /* one part: the initial item */
} host_steps;

/* Takes memory from *at on, and moves *at to its end. Both are aligned to 64 bytes. */
unsigned char *tally_host_take(unsigned char **at, uint64_t bytes);

/* Takes the memory of a thread's steps. */
host_steps tally_host_steps_take(const tally_host_program *program, bool segmented, unsigned char **at);
uint32_t tally_host_packed_bytes(const tally_host_program *program, bool segmented);
/* Makes steps ready: for an initial item, unless it is NULL. */
void tally_host_steps_begin(host_steps *steps, const host_places *places, const void *params, const void *initial);
/* Writes the first result of an exclusive scan or of a segment in it: nothing is before it. */
void tally_host_steps_first(const host_steps *steps, unsigned char *result);

/* ---- parts ----------------------------------------------------------------------------------- */

/* Room for a packed part. */
typedef struct host_packed_part {
    _Alignas(64) unsigned char bytes[TALLY_HOST_ACC_BYTES];
} host_packed_part;

/* Takes an array of parts. */
host_parts tally_host_parts_take(const host_steps *steps, unsigned char **at);
static inline host_parts host_parts_from(host_parts parts, int64_t i) {
    parts.at += i;
    return parts;
}
void tally_host_parts_copy(const host_steps *steps, host_parts to, host_parts from, uint32_t count);
/* Copies parts that are to_step and from_step places apart. */
void tally_host_parts_copy_apart(const host_steps *steps, host_parts to, uint32_t to_step, host_parts from, uint32_t from_step,
                                 uint32_t count);
void tally_host_parts_write(const host_steps *steps, unsigned char *packed, host_parts part);
void tally_host_parts_read(const host_steps *steps, host_parts part, const unsigned char *packed);
/* Combine parts: `left` and those after it with `parts`; a part with those of a row, and the one
 * left_step places on with the next row. Whole rows of `parts` change, and with a part for rows
 * steps->room. */
void tally_host_parts_pairs(const host_steps *steps, host_parts left, host_parts parts, uint32_t count);
void tally_host_parts_join(const host_steps *steps, host_parts left, uint32_t left_step, host_parts parts, uint32_t count);
/* Writes the scans of `width` parts each by Kogge and Stone. `width` is a power of two. steps->room
 * changes. */
void tally_host_parts_scan(const host_steps *steps, host_parts parts, host_parts to, uint32_t width, uint32_t count);

/* ---- batches --------------------------------------------------------------------------------- */

host_batch tally_host_batch_take(const host_steps *steps, unsigned char **at);
/* Folds cells of items, and scans the ends of each list's cells. With segments begins[i] is 1 where
 * a segment begins with item i of the sequence. `index` is that of its item 0. The batch gets its
 * steps. */
void tally_host_batch_fold(const host_steps *steps, const unsigned char *items, uint8_t *begins, uint64_t index, uint32_t cells,
                           host_batch *batch);
/* Gives the batch the steps for all fields, unless the last inclusive prefixes of its `count` lists
 * are plain. Then the prefixes before them are plain too (tally_guess_row.field). */
void tally_host_batch_meet(const host_steps *steps, host_parts prefixes, uint32_t count, host_batch *batch);
/* Turns the cells into inclusive prefixes, by the prefixes before them. Nothing is before the first
 * cells of the first `firsts` rows, or lists that are no rows: there `before` has any value. */
void tally_host_batch_prefix(host_parts before, uint32_t cells, uint32_t firsts, const host_batch *batch);
/* Writes the results to `arrays`: for each j result j of the cells. `before` has the prefixes
 * before the cells for an exclusive scan, and is NULL for an inclusive one. `first` counts the
 * items before the batch. The streams then have no results any more. */
void tally_host_batch_finish(const host_parts *before, uint64_t first, uint32_t cells, const host_batch *batch,
                             unsigned char *arrays);
/* Takes room for the results of a batch, in arrays. */
unsigned char *tally_host_arrays_take(const tally_host_program *program, unsigned char **at);
/* Returns result i of the sequence in arrays. */
unsigned char *tally_host_arrays_at(const host_steps *steps, unsigned char *arrays, uint32_t i);
/* Writes the results of cells side by side, in the order of memory. */
void tally_host_arrays_join(const host_steps *steps, const unsigned char *arrays, uint32_t cells, unsigned char *results);
/* Has the streams store the results of a whole batch from `to` on, past the caches, while the next
 * one is finished. Returns other room for results. */
unsigned char *tally_host_streams_store(const host_steps *steps, unsigned char *arrays, unsigned char *to);
/* Stores the results that the streams still have. */
void tally_host_streams_end(const host_steps *steps);

#endif
