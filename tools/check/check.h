/* SPDX-License-Identifier: MIT */
/* check.h: declarations shared by the files of `tally check`. */
#ifndef TALLY_CHECK_H
#define TALLY_CHECK_H

#include "tools/cli.h"

typedef enum check_state { CHECK_RUN, CHECK_FAILED, CHECK_SKIPPED } check_state;

/* A cell is one program to compile. It runs over sizes and patterns, and its results are
 * compared. */
typedef struct check_cell {
    check_state state;
    cli_primitive primitive;
    tally_variant_info variant; /* gathers and scatters have no variant: only the name is set */
    tally_op op;
    tally_dtype dtype; /* of the map, for gathers and scatters */
    /* `flags` are those of the primitive's descriptor. Only gathers and scatters have
     * `item_bytes`. */
    uint32_t flags, item_bytes;
    tally_segments_by by; /* of segments, whose variant is named after it */
    char text[512];       /* reason of a skip, or the first failure */
    tally_plan *plan;     /* set while the cell runs */
} check_cell;

typedef struct check_counts {
    unsigned cells[CHECK_SKIPPED + 1];
} check_counts;

/* Items of the largest size, and bytes of the widest item and of the widest value. */
#define CHECK_MOST_ITEMS ((uint64_t)1000003)
#define CHECK_ITEM_BYTES 16

/* The device under test, with buffers that are filled from `items` and read back to `got`. */
typedef struct check_subject {
    tally_context *context;
    tally_device_info device;
    tally_queue *queue;
    tally_buffer *in, *out;
    unsigned char *items, *got, *want;
    check_cell *cells; /* those of reductions are sorted by dtype, op, variant */
    size_t count, room;
} check_subject;

/* check.c: adds a cell. Returns false if memory is short. */
bool check_add(check_subject *s, const check_cell *cell);
/* Marks the cell as failed. The text of its first failure stays. */
void check_fail(check_cell *c, const char *text);
/* Marks the cell as skipped or failed, after a call that could not make its plan. */
void check_no_plan(check_cell *c, tally_status status);
/* Writes a value of the cell's op as numbers, followed by its bytes. */
void check_describe(const check_cell *c, const unsigned char *value, char *text, size_t bytes);

/* scan.c, move.c and segments.c: add the cells of scans, of gathers and scatters, and of segments,
 * and run one. */
bool check_add_scans(check_subject *s);
void check_run_scan(const check_subject *s, check_cell *c);
bool check_add_indices(check_subject *s);
void check_run_move(const check_subject *s, check_cell *c);
bool check_add_segments(check_subject *s);
void check_run_segments(const check_subject *s, check_cell *c);

/* print.c: counts the cells with the same variant as `like`; all cells if it is NULL. */
check_counts check_count(const check_subject *s, const check_cell *like);
void check_print_table(const check_subject *s);
void check_print_json(const check_subject *s);

#endif
