/* SPDX-License-Identifier: MIT */
/* forms_check.c: compares some results of a form's cell with the oracle's: a few megabytes of items
 * at both ends of the array, as the oracle is slow. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/forms.h"
#include "oracle/scan.h"
#include "oracle/segments.h"

#define WINDOW_SEGMENTS 64                               /* of a window */
#define WINDOW_ITEMS 32768                               /* of a window's segments, but for one alone */
#define FIRST_VALUES ((uint64_t)TALLY_SCAN_BLOCK + 5000) /* of a scan of the whole array */

/* Segments `first` to first + count - 1. Their results are `pieces` of `values` results, `pitch`
 * apart, from result `at` on. */
typedef struct window {
    uint64_t first, count, at, values, pieces, pitch;
} window;

static oracle_case case_of(const bench_segments *s) {
    return (oracle_case){.op = s->op, .in = s->in};
}

static int is_whole_scan(const bench_segments *s) {
    return s->is_scan && !segments_is_along_axis(s);
}

/* Returns the first window, or the last one. */
static window window_of(const bench_segments *s, int is_last) {
    if (is_whole_scan(s)) return (window){0, 1, 0, s->n < FIRST_VALUES ? s->n : FIRST_VALUES, 1, 0};
    const uint64_t length = s->n / s->count, fit = length < WINDOW_ITEMS ? WINDOW_ITEMS / length : 1;
    const uint64_t most = fit < WINDOW_SEGMENTS ? fit : WINDOW_SEGMENTS, count = most < s->count ? most : s->count;
    const uint64_t first = is_last ? s->count - count : 0;
    if (!s->is_scan) return (window){first, count, first, count, 1, 0};
    if (s->inner == 1) return (window){first, count, first * s->length, count * s->length, 1, 0};
    return (window){first, count, first, count, s->length, s->inner};
}

/* ---- expected results ------------------------------------------------------------------------ */

static const char *item_at(const bench_input *in, int which, uint64_t place) {
    return (const char *)in->host[which] + place * tally_dtype_bytes(in->in);
}

/* Sets the axes of the window's part of the array. Returns the place of its first item. */
static uint64_t window_axes(const bench_segments *s, const window *w, tally_axis axes[3]) {
    const int of_rows = s->inner == 1;
    segments_axes(s, axes);
    axes[of_rows ? 0 : 2].extent = w->count;
    return of_rows ? w->first * s->length : w->first;
}

static void expect_segments(const bench_input *in, const window *w, char *to) {
    const bench_segments *s = in->segments;
    const oracle_case what = case_of(s);
    const uint64_t *begins = (const uint64_t *)in->host[ARRAY_MAP] + w->first;
    const oracle_items all = {{in->host[ARRAY_X], in->host[ARRAY_Y]}, NULL};
    if (s->by == TALLY_BY_OFFSETS) {
        oracle_reduce_offsets(&what, &all, begins, begins + 1, w->count, to);
        return;
    }
    tally_axis axes[3];
    const uint64_t place = window_axes(s, w, axes);
    const oracle_items part = {{item_at(in, ARRAY_X, place), item_at(in, ARRAY_Y, place)},
                               s->is_masked ? (const uint8_t *)in->host[ARRAY_MAP] + place : NULL};
    oracle_reduce_axes(&what, &part, axes, 3, to);
}

/* Scans each row or column of the window. `list` has room for one, and its values. */
static void expect_lists(const bench_input *in, const window *w, char *list, char *to) {
    const bench_segments *s = in->segments;
    const oracle_case what = case_of(s);
    const scan_op op = scan_oracle_op(&what);
    const size_t item = op.item_bytes, value = op.value_bytes;
    char *values = list + s->length * item;
    tally_axis axes[3];
    const uint64_t place = window_axes(s, w, axes);
    for (uint64_t l = 0; l < w->count; l++) {
        const uint64_t first = place + (s->inner == 1 ? l * s->length : l);
        for (uint64_t j = 0; j < s->length; j++) memcpy(list + j * item, item_at(in, ARRAY_X, first + j * s->inner), item);
        scan_oracle(&op, &(scan_form){0}, list, s->length, values);
        for (uint64_t j = 0; j < s->length; j++) {
            const uint64_t at = s->inner == 1 ? l * s->length + j : j * w->count + l;
            memcpy(to + at * value, values + j * value, value);
        }
    }
}

/* Writes the results of the window's pieces, one after another. Returns 0 when done. */
static int expect_window(const bench_input *in, const window *w, char *to) {
    const bench_segments *s = in->segments;
    const oracle_case what = case_of(s);
    if (!s->is_scan) return expect_segments(in, w, to), 0;
    if (is_whole_scan(s)) {
        const scan_op op = scan_oracle_op(&what);
        const scan_form form = {.flags = s->cut == CUT_LENGTHS ? in->host[ARRAY_MAP] : NULL};
        return scan_oracle(&op, &form, in->host[ARRAY_X], w->values, to), 0;
    }
    char *list = malloc(s->length * (tally_dtype_bytes(in->in) + form_result_bytes(s->op, in->in)));
    if (list) expect_lists(in, w, list, to);
    free(list);
    return !list;
}

/* ---- comparing ------------------------------------------------------------------------------- */

/* Copies the window's results from the device, or to it. */
static int transfer(const bench_input *in, const window *w, char *host, int is_back) {
    const uint64_t bytes = form_result_bytes(in->segments->op, in->in);
    tally_queue *queue = NULL;
    tally_status status = tally_queue_create(in->context, &queue);
    for (uint64_t p = 0; p < w->pieces && !status; p++) {
        const uint64_t at = (w->at + p * w->pitch) * bytes, size = w->values * bytes;
        if (is_back)
            status = tally_buffer_read(queue, in->buffer[ARRAY_OUT], at, host + p * size, size);
        else
            status = tally_buffer_write(queue, in->buffer[ARRAY_OUT], at, host + p * size, size);
    }
    if (!status) status = tally_queue_wait(queue);
    tally_queue_destroy(queue);
    return status ? fprintf(stderr, "tally_bench: %s\n", tally_last_error()), 1 : 0;
}

static int compare(const bench_input *in, const window *w, const char *found, const char *expected) {
    const bench_segments *s = in->segments;
    const oracle_case what = case_of(s);
    const uint64_t bytes = form_result_bytes(s->op, in->in);
    uint64_t wrong = 0;
    while (wrong < w->pieces * w->values && !memcmp(found + wrong * bytes, expected + wrong * bytes, bytes)) wrong++;
    if (wrong == w->pieces * w->values) return 0;
    const tally_dtype type = oracle_result_dtype(&what);
    const tally_dtype part = type == TALLY_C64 ? TALLY_F32 : type == TALLY_C128 ? TALLY_F64 : type;
    fprintf(stderr, "tally_bench: tally: %s of %s, %s: result %llu begins with %.17g: it should with %.17g\n",
            tally_op_name(s->op), tally_dtype_name(in->in), s->name,
            (unsigned long long)(w->at + wrong / w->values * w->pitch + wrong % w->values),
            input_value(part, found + wrong * bytes), input_value(part, expected + wrong * bytes));
    return 1;
}

static window last_value(const bench_segments *s) {
    return (window){0, 1, s->n - 1, 1, 1, 0};
}

/* Compares the last value of a scan of the whole array with the reduction, whose order is
 * another. */
static int check_last(const bench_input *in) {
    const bench_segments *s = in->segments;
    const bench_task reduction = {BENCH_REDUCE, s->op, MAP_NONE};
    const uint64_t bytes = form_result_bytes(s->op, in->in);
    const window last = last_value(s);
    char value[RESULT_BYTES];
    bench_input whole = *in;
    whole.task = &reduction;
    return transfer(in, &last, value, 1) || !is_expected(&whole, "tally", value, bytes);
}

int form_check(const bench_input *in, bench_engine *engine) {
    const bench_segments *s = in->segments;
    /* The last value of a scan of the whole array is overwritten here, and compared below. */
    const window windows[] = {window_of(s, 0), is_whole_scan(s) ? last_value(s) : window_of(s, 1)};
    const int compared = is_whole_scan(s) ? 1 : 2;
    const uint64_t bytes = windows[0].pieces * windows[0].values * form_result_bytes(s->op, in->in);
    char *found = malloc(2 * bytes), *expected = found + bytes;
    int failed = !found;
    for (int w = 0; w < 2 && !failed; w++) {
        memset(found, 0x7f, bytes);
        failed = transfer(in, &windows[w], found, 0);
    }
    failed = failed || engine->run(engine->state, 1);
    for (int w = 0; w < compared && !failed; w++)
        failed = transfer(in, &windows[w], found, 1) || expect_window(in, &windows[w], expected) ||
                 compare(in, &windows[w], found, expected);
    free(found);
    return failed || (s->is_scan && s->cut == CUT_ONE && check_last(in));
}
