/* SPDX-License-Identifier: MIT */
/*
 * large_segments: more than 2^32 items in a segment, segments, items between two columns, and
 * results; offsets, runs of keys and lists of scans beyond 2^32. A device without 9 GiB for that is
 * skipped, and so is one whose buffers are smaller than 4 GiB.
 */
#define _XOPEN_SOURCE 700
#include <stdlib.h>
#include <string.h>

#include "tests/support/places.h"
#include "tests/support/test_main.h"

#define BLOCK (UINT64_C(1) << 24)
#ifndef BLOCKS /* fewer only to try this program on a small device */
#define BLOCKS (UINT64_C(1) << 8)
#endif
#define TAIL 13
#define WHOLE (BLOCK * BLOCKS)
#define N (WHOLE + TAIL)

typedef struct setup {
    tally_context *context;
    tally_queue *queue;
    tally_buffer *in, *out, *few; /* N items, N bytes of results, and room for a few */
    unsigned char *items, *got;   /* of a block */
    uint64_t *sums;               /* sums[i]: of the first i items of a block */
} setup;

/* ---- items ----------------------------------------------------------------------------------- */

/* Item i of the input: those of a block again and again, then larger ones. */
static unsigned char item_at(const setup *s, uint64_t i) {
    return i < WHOLE ? s->items[i % BLOCK] : (unsigned char)(200 + i - WHOLE);
}

/* The sum of the first n items. */
static uint64_t sum_to(const setup *s, uint64_t n) {
    const uint64_t in_blocks = n < WHOLE ? n : WHOLE;
    uint64_t sum = in_blocks / BLOCK * s->sums[BLOCK] + s->sums[in_blocks % BLOCK];
    for (uint64_t i = WHOLE; i < n; i++) sum += item_at(s, i);
    return sum;
}

static uint64_t sum_of(const setup *s, uint64_t begin, uint64_t end) {
    return sum_to(s, end) - sum_to(s, begin);
}

static void write_items(setup *s) {
    unsigned char tail[TAIL];
    for (uint64_t i = 0; i < BLOCK; i++) {
        s->items[i] = (unsigned char)(1 + i * 7919 % 198);
        s->sums[i + 1] = s->sums[i] + s->items[i];
    }
    for (uint64_t i = 0; i < TAIL; i++) tail[i] = item_at(s, WHOLE + i);
    for (uint64_t b = 0; b < BLOCKS; b++) MUST(tally_buffer_write(s->queue, s->in, b * BLOCK, s->items, BLOCK));
    MUST(tally_buffer_write(s->queue, s->in, WHOLE, tail, TAIL));
    MUST(tally_queue_wait(s->queue));
}

static void read_few(const setup *s, void *to, uint64_t bytes) {
    MUST(tally_buffer_read(s->queue, s->few, 0, to, bytes));
    MUST(tally_queue_wait(s->queue));
}

/* Fails unless `out` has the items, byte by byte. */
static void expect_items(const setup *s, const char *what) {
    for (uint64_t at = 0; at < N; at += BLOCK) {
        const uint64_t count = N - at < BLOCK ? N - at : BLOCK;
        MUST(tally_buffer_read(s->queue, s->out, at, s->got, count));
        MUST(tally_queue_wait(s->queue));
        for (uint64_t i = 0; i < count; i++)
            if (s->got[i] != item_at(s, at + i))
                fail_msg("%s: value %llu is %u, should be %u", what, (unsigned long long)(at + i), s->got[i],
                         item_at(s, at + i));
    }
}

/* ---- by axes --------------------------------------------------------------------------------- */

static tally_plan *plan_of(const setup *s, tally_segments_by by, tally_op op, uint64_t max_segments) {
    const tally_segments_desc desc = {.size = sizeof desc,
                                      .by = by,
                                      .op = op,
                                      .in = TALLY_U8,
                                      .max_n = N,
                                      .max_segments = max_segments,
                                      .key_bytes = by == TALLY_BY_KEYS};
    tally_plan *plan;
    MUST(tally_segments_plan_create(s->context, &desc, &plan));
    return plan;
}

static void reduce(const setup *s, tally_op op, const tally_axis *axes, uint32_t count, tally_buffer *out) {
    tally_plan *plan = plan_of(s, TALLY_BY_AXES, op, 0);
    const tally_axes_args args = {
        .size = sizeof args, .axes = axes, .axis_count = count, .out_strided = 1, .in = {s->in}, .out = {out}};
    MUST(tally_reduce_axes(plan, s->queue, &args));
    MUST(tally_queue_wait(s->queue));
    tally_plan_destroy(plan);
}

static void run_axes(const setup *s) {
    const tally_axis row[] = {{.extent = N, .reduced = 1, .in_stride = {1}}};
    const tally_axis ones[] = {{.extent = N, .in_stride = {1}, .out_stride = 1}, {.extent = 1, .reduced = 1}};
    const tally_axis same[] = {{.extent = N, .reduced = 1}}; /* item 0, again and again */
    const tally_axis far[] = {{.extent = 2, .reduced = 1, .in_stride = {WHOLE}},
                              {.extent = TAIL, .in_stride = {1}, .out_stride = 8}};
    const tally_axis spread[] = {{.extent = BLOCK, .reduced = 1, .in_stride = {1}},
                                 {.extent = 2, .in_stride = {WHOLE - BLOCK + TAIL}, .out_stride = WHOLE}};
    uint64_t value;
    unsigned char values[8 * TAIL], ends[2];
    reduce(s, TALLY_SUM, row, 1, s->few);
    read_few(s, &value, sizeof value);
    assert_int_equal(value, sum_of(s, 0, N));
    reduce(s, TALLY_ARGMAX, row, 1, s->few);
    read_few(s, &value, sizeof value);
    assert_int_equal(value, N - 1);
    reduce(s, TALLY_COUNT_NONZERO, same, 1, s->few);
    read_few(s, &value, sizeof value);
    assert_int_equal(value, N);
    reduce(s, TALLY_MAX, ones, 2, s->out);
    expect_items(s, "rows of 1");
    reduce(s, TALLY_MAX, far, 2, s->few);
    read_few(s, values, sizeof values);
    for (uint64_t i = 0; i < TAIL; i++) assert_int_equal(values[8 * i], 200 + i);
    reduce(s, TALLY_MAX, spread, 2, s->out);
    for (int i = 0; i < 2; i++) MUST(tally_buffer_read(s->queue, s->out, i ? WHOLE : 0, &ends[i], 1));
    MUST(tally_queue_wait(s->queue));
    assert_int_equal(ends[0], 198);
    assert_int_equal(ends[1], 200 + TAIL - 1);
}

/* Sums of three columns of each of so many arrays that a launch has no room for the chunks of all
 * of them. */
static void run_few_columns(const setup *s) {
    enum { WIDTH = 3, BOTH = 4096 };
    const uint64_t rows = WHOLE / BOTH + 5, arrays = N / (WIDTH * rows);
    const tally_axis axes[] = {{.extent = arrays, .in_stride = {(int64_t)(WIDTH * rows)}, .out_stride = WIDTH},
                               {.extent = rows, .reduced = 1, .in_stride = {WIDTH}},
                               {.extent = WIDTH, .in_stride = {1}, .out_stride = 1}};
    uint64_t sums[BOTH] = {0};
    assert_true(arrays * WIDTH <= BOTH);
    reduce(s, TALLY_SUM, axes, 3, s->out);
    MUST(tally_buffer_read(s->queue, s->out, 0, sums, arrays * WIDTH * sizeof *sums));
    MUST(tally_queue_wait(s->queue));
    for (uint64_t a = 0, at = 0; a < arrays; a++) {
        uint64_t expected[WIDTH] = {0};
        for (uint64_t r = 0; r < rows; r++)
            for (uint64_t c = 0; c < WIDTH; c++) expected[c] += item_at(s, at++);
        for (uint64_t c = 0; c < WIDTH; c++) assert_int_equal(sums[a * WIDTH + c], expected[c]);
    }
}

/* ---- by offsets and keys, and scans ---------------------------------------------------------- */

static void run_offsets(const setup *s) {
    enum { COUNT = 5 };
    const uint64_t begins[COUNT] = {0, WHOLE - 3, N, WHOLE + 1, 7}, ends[COUNT] = {N, WHOLE + 9, N, WHOLE + 2, WHOLE + 8};
    uint64_t got[COUNT];
    tally_buffer *both;
    tally_plan *plan = plan_of(s, TALLY_BY_OFFSETS, TALLY_SUM, COUNT);
    tally_offsets_args args = {
        .size = sizeof args, .count = COUNT, .ends_offset = COUNT, .in = {s->in}, .n = N, .out = {s->few}};
    MUST(tally_buffer_create(s->context, 2 * sizeof begins, &both));
    MUST(tally_buffer_write(s->queue, both, 0, begins, sizeof begins));
    MUST(tally_buffer_write(s->queue, both, sizeof begins, ends, sizeof ends));
    args.begins = args.ends = both;
    for (int kept = 0; kept < 2; kept++) {
        MUST(tally_reduce_offsets(plan, s->queue, &args));
        read_few(s, got, sizeof got);
        for (int i = 0; i < COUNT; i++) assert_int_equal(got[i], sum_of(s, begins[i], ends[i]));
        if (!kept) MUST(tally_plan_keep_offsets(plan, s->queue, &args));
        args.begins = args.ends = NULL;
    }
    tally_buffer_destroy(both);
    tally_plan_destroy(plan);
}

/* There are N keys in `out`. The last 5 are of another run. */
static void run_keys(const setup *s) {
    enum { RUNS = 2, LAST = 5 };
    const unsigned char last[LAST] = {9, 9, 9, 9, 9};
    struct {
        uint64_t sums[RUNS], lengths[RUNS], runs;
    } got;
    tally_plan *plan = plan_of(s, TALLY_BY_KEYS, TALLY_SUM, RUNS);
    const tally_keys_args args = {.size = sizeof args,
                                  .keys = s->out,
                                  .in = {s->in},
                                  .n = N,
                                  .capacity = RUNS,
                                  .out = {s->few},
                                  .lengths = s->few,
                                  .lengths_offset = RUNS,
                                  .runs = s->few,
                                  .runs_offset = 2 * RUNS};
    memset(s->got, 0, BLOCK);
    for (uint64_t at = 0; at < N; at += BLOCK)
        MUST(tally_buffer_write(s->queue, s->out, at, s->got, N - at < BLOCK ? N - at : BLOCK));
    MUST(tally_buffer_write(s->queue, s->out, N - LAST, last, LAST));
    MUST(tally_reduce_keys(plan, s->queue, &args));
    read_few(s, &got, sizeof got);
    assert_int_equal(got.runs, RUNS);
    assert_int_equal(got.lengths[0], N - LAST);
    assert_int_equal(got.lengths[1], LAST);
    assert_int_equal(got.sums[0], sum_of(s, 0, N - LAST));
    assert_int_equal(got.sums[1], sum_of(s, N - LAST, N));
    tally_plan_destroy(plan);
}

/* N lists of one item, whose maxima are the items; and one list of N items, in reverse, all of
 * whose maxima are the last item. */
static void run_scans(const setup *s) {
    const tally_axis lists[] = {{.extent = N, .in_stride = {1}}, {.extent = 1}}, list[] = {{.extent = N, .in_stride = {1}}};
    for (uint32_t along = 0; along < 2; along++) {
        tally_plan *plan;
        const tally_scan_desc desc = {.size = sizeof desc,
                                      .op = TALLY_MAX,
                                      .in = TALLY_U8,
                                      .max_n = N,
                                      .flags = TALLY_ALONG_AXIS | (along ? TALLY_REVERSE : 0)};
        const tally_scan_axis_args args = {.size = sizeof args,
                                           .axes = along ? list : lists,
                                           .axis_count = 2 - along,
                                           .axis = 1 - along,
                                           .in = s->in,
                                           .out = s->out};
        MUST(tally_scan_plan_create(s->context, &desc, &plan));
        MUST(tally_scan_axis(plan, s->queue, &args));
        MUST(tally_queue_wait(s->queue));
        tally_plan_destroy(plan);
        if (!along) expect_items(s, "lists of 1");
    }
    for (uint64_t b = 0; b < BLOCKS; b++) {
        MUST(tally_buffer_read(s->queue, s->out, b * BLOCK, s->got, BLOCK));
        MUST(tally_queue_wait(s->queue));
        for (uint64_t i = 0; i < BLOCK; i++)
            if (s->got[i] != 200 + TAIL - 1)
                fail_msg("maximum %llu is %u, should be %d", (unsigned long long)(b * BLOCK + i), s->got[i], 200 + TAIL - 1);
    }
}

/* ---- devices --------------------------------------------------------------------------------- */

static void test_segments(void **state) {
    const place *at = *state;
    setup s = {.context = at->context};
    if (!at->context) fail_msg("%s did not open: %s", at->select, at->error);
    if (at->info.max_buffer_bytes < N) test_skip("its buffers are smaller than 4 GiB");
    if (at->info.memory_bytes < 2 * N + 9 * BLOCK) test_skip("it has less than 9 GiB");
    const tally_status status = tally_buffer_create(at->context, N, &s.in);
    if (status == TALLY_E_MEMORY) test_skip("%s", tally_last_error());
    must(status, "tally_buffer_create", __FILE__, __LINE__);
    MUST(tally_buffer_create(at->context, N, &s.out));
    MUST(tally_buffer_create(at->context, 4096, &s.few));
    MUST(tally_queue_create(at->context, &s.queue));
    assert_non_null(s.items = malloc(BLOCK));
    assert_non_null(s.got = malloc(BLOCK));
    assert_non_null(s.sums = calloc(BLOCK + 1, sizeof *s.sums));
    write_items(&s);
    run_axes(&s);
    run_few_columns(&s);
    run_offsets(&s);
    run_keys(&s);
    run_scans(&s);
    tally_buffer_destroy(s.in);
    tally_buffer_destroy(s.out);
    tally_buffer_destroy(s.few);
    tally_queue_destroy(s.queue);
    free(s.items);
    free(s.got);
    free(s.sums);
}

int main(int argc, char **argv) {
    test_choice choice;
    const int status = test_choose(argc, argv, "Segments and scans along axes beyond 2^32 on every device.", &choice);
    if (status >= 0) return status;
    static place places[MAX_PLACES];
    static struct CMUnitTest tests[MAX_PLACES];
    const int count = places_open(places);
    if (count < 0) return 1;
    for (int p = 0; p < count; p++) tests[p] = (struct CMUnitTest){places[p].select, test_segments, NULL, NULL, &places[p]};
    const int failed = count ? test_run(&choice, tests, (size_t)count, NULL, NULL) : 0;
    places_close(places, count);
    return count == 0 ? 1 : failed;
}
