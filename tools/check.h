/* SPDX-License-Identifier: MIT */
/* check.h: what the files of `tally check` share. */
#ifndef TALLY_CHECK_H
#define TALLY_CHECK_H

#include "cli.h"

typedef enum check_state { CHECK_RUN, CHECK_FAILED, CHECK_SKIPPED } check_state;

typedef struct check_cell {
    check_state state;
    tally_variant_info variant;
    tally_op op;
    tally_dtype dtype;
    char text[512]; /* why it was skipped, or how it failed first */
    tally_plan *plan;
} check_cell;

typedef struct check_counts {
    unsigned cells[CHECK_SKIPPED + 1];
} check_counts;

/* What a device is tested with: its own memory, filled from `items`. */
typedef struct check_subject {
    tally_context *context;
    tally_device_info device;
    tally_queue *queue;
    tally_buffer *in, *out;
    unsigned char *items;
    check_cell *cells; /* by dtype, then op, then variant */
    size_t count;
} check_subject;

/* Counts the cells of a variant; of all variants for NULL. */
check_counts check_count(const check_subject *s, const char *variant);
void check_print_table(const check_subject *s);
void check_print_json(const check_subject *s);

#endif
