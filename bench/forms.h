/* SPDX-License-Identifier: MIT */
/*
 * forms.h: the forms of a grid besides whole arrays: rows, columns and segments, with a mask and
 * without, and scans. A cell's engine reads ARRAY_X, of some operators ARRAY_Y too, and ARRAY_MAP,
 * which has the mask, the offsets, or the flags of segments. It writes to ARRAY_OUT.
 */
#ifndef TALLY_BENCH_FORMS_H
#define TALLY_BENCH_FORMS_H

#include "segments.h"

/* forms.c: the table of forms. `whole`, the first one, is a reduction of the whole array, of which
 * the grid without forms is. Its cells have no form (NULL). */
typedef struct bench_form {
    const char *name; /* "masked-rows-32" */
    const char *text; /* "rows of 32, with a mask" */
    bench_primitive primitive;
    segments_cut cut;
    uint64_t size; /* of a row or column, in items; the mean of segments */
    int is_masked;
} bench_form;
/* Bytes of a cell's largest array, far more than the caches hold. */
#define FORM_BYTES (UINT64_C(256) << 20)
#define BENCH_FORMS 16
extern const bench_form bench_forms[BENCH_FORMS + 1]; /* a NULL name ends them */

/* Returns the operator's task in the form. It stays valid. */
const bench_task *form_task(const bench_form *form, tally_op op);
/* Returns true if there may be such a cell. A plan may still be E_UNSUPPORTED. */
int form_takes(const bench_form *form, tally_op op, tally_dtype in);
/* Sets the shape of a cell, for `items` items or, where that is 0, for arrays of up to `bytes`
 * bytes. By offsets the count is the most that there may be. */
void form_shape(const bench_form *form, tally_op op, tally_dtype in, uint64_t items, uint64_t bytes, bench_segments *out);
/* Returns the bytes of one result, or of one value of a scan. */
uint64_t form_result_bytes(tally_op op, tally_dtype in);
/* Returns the bytes of a cell's array, and of all, which a call reads and writes. */
uint64_t form_array_bytes(const bench_segments *s, int which);
uint64_t form_bytes(const bench_segments *s);
/* Fills ARRAY_MAP on the host for this shape, and sets the count of segments by offsets. `offsets`
 * has room for `room`. Returns 0 when done. */
int form_fill_map(bench_segments *s, void *map, uint64_t *offsets, uint64_t room);

/* forms_check.c: runs the engine once, and compares the first and the last results with the
 * oracle's, to the bit. Of a scan of the whole array these are the first values, and the last one
 * but for its rounding; of segments by flags the first values alone. Returns 0 if they are
 * right. */
int form_check(const bench_input *input, bench_engine *engine);

/* forms_compile.c: makes a cell's plan and calls it once on few items. Returns the error of the
 * plan, which the cell reports; that of the call is reported here too. */
tally_status form_compile(bench_compile *compile);

/* forms_run.c: forms_add adds the plans of a device's cells to the compiles, forms_run times the
 * cells, and adds their number to *cases. They return the number of failures, which they have
 * reported on stderr. */
int forms_add(const bench_options *options, tally_context *context, const tally_device_info *device, bench_results *results);
int forms_run(const bench_options *options, tally_context *context, const tally_device_info *device, bench_results *results,
              int *cases);

#endif
