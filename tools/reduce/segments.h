/* SPDX-License-Identifier: MIT */
/* segments.h: declarations shared by the files that reduce segments. */
#ifndef TALLY_TOOLS_SEGMENTS_H
#define TALLY_TOOLS_SEGMENTS_H

#include "reduce.h"
#include "tools/files/array.h"
#include "tools/files/npy_write.h"

/* Room for a result of any plan. */
#define SEGMENTS_RESULT_BYTES (2 * TALLY_MAX_TERMS * 16)

typedef struct segments {
    const reduce_request *r;
    char *const *files;
    array in[TALLY_MAX_INPUTS];
    array where, by; /* without items if they are not given; `by` has the offsets or keys */

    npy_shape shape; /* of the items; inputs and mask are repeated to have it */
    bool reduced[NPY_DIMENSION_LIMIT];
    tally_axis axes[TALLY_MAX_AXES];
    npy_shape out;       /* of the results */
    uint64_t count;      /* segments */
    unsigned char *keys; /* of the results, by keys */

    tally_segments_desc desc;
    _Alignas(16) unsigned char initial[SEGMENTS_RESULT_BYTES];
    size_t result_bytes;
    tally_plan *plan;
    tally_queue *queue;
    struct {
        tally_buffer *in[TALLY_MAX_INPUTS], *where, *by, *out, *keys, *runs;
    } buffers;
    npy_writer to;    /* of --output */
    reduce_outcome o; /* o.result has `count` results */
} segments;

/* shapes.c: checks that the files fit each other, and finds the items' shape, the number of
 * segments and the results' shape. Reports an error. */
bool segments_fit_axes(segments *s);
bool segments_fit_offsets(segments *s);
bool segments_fit_keys(segments *s);
/* Returns false, and reports the key, if a key comes again after another one. */
bool segments_check_keys(const segments *s);

/* segments.c: the shape of the file of values. Two values for each segment add an axis. */
npy_shape segments_file_shape(const segments *s);

/* table.c: prints the results, as a table, as JSON or as values alone. */
void segments_print(const segments *s);

#endif
