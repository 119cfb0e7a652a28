/* SPDX-License-Identifier: MIT */
/* check.h: what the files of `tally check` share. */
#ifndef TALLY_CHECK_H
#define TALLY_CHECK_H

#include "cli.h"

typedef enum check_state { CHECK_RUN, CHECK_FAILED, CHECK_SKIPPED } check_state;

/* What is run over sizes and patterns, and compared: a program to compile. */
typedef struct check_cell {
    check_state state;
    cli_primitive primitive;
    tally_variant_info variant; /* of gathers and scatters, which have none: their name */
    tally_op op;
    tally_dtype dtype;          /* of gathers and scatters the map's */
    uint32_t flags, item_bytes; /* flags: of tally_scan_desc and tally_move_desc; item_bytes: of gathers and scatters */
    char text[512];             /* why it was skipped, or how it failed first */
    tally_plan *plan;           /* while it runs */
} check_cell;

typedef struct check_counts {
    unsigned cells[CHECK_SKIPPED + 1];
} check_counts;

/* Items of the largest size, and the bytes of the widest item and value. */
#define CHECK_MOST_ITEMS ((uint64_t)1000003)
#define CHECK_ITEM_BYTES 16

/* What a device is tested with: its own memory, filled from `items`, and read back to `got`. */
typedef struct check_subject {
    tally_context *context;
    tally_device_info device;
    tally_queue *queue;
    tally_buffer *in, *out;
    unsigned char *items, *got, *want;
    check_cell *cells; /* reductions: by dtype, then op, then variant */
    size_t count, room;
} check_subject;

/* check.c: a cell more; false: out of memory. */
bool check_add(check_subject *s, const check_cell *cell);
/* Remembers that it failed, if it is the first time. */
void check_fail(check_cell *c, const char *text);
/* What a call that cannot make a plan says of the cell. */
void check_no_plan(check_cell *c, tally_status status);
/* A value of the cell's op: as numbers, then its bytes. */
void check_describe(const check_cell *c, const unsigned char *value, char *text, size_t bytes);

/* check_scan.c, check_move.c: the cells of scans, and of gathers and scatters, and what runs one. */
bool check_add_scans(check_subject *s);
void check_run_scan(const check_subject *s, check_cell *c);
bool check_add_indices(check_subject *s);
void check_run_move(const check_subject *s, check_cell *c);

/* check_print.c. Counts the cells of the variant of this cell; of all for NULL. */
check_counts check_count(const check_subject *s, const check_cell *like);
void check_print_table(const check_subject *s);
void check_print_json(const check_subject *s);

#endif
