/* SPDX-License-Identifier: MIT */
/* segments.c: runs the cases of rows, columns, segments and keys on a device. Each engine's results
 * are compared with those that are computed here, before and after it is timed. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "segments.h"
#include "bench/peers/segments_openmp.h"

/* f32 items of a case: far more bytes than caches hold. */
#define ITEMS_GPU (UINT64_C(1) << 28)
#define ITEMS_CPU (UINT64_C(1) << 26)

typedef struct segments_bench {
    const bench_options *options;
    uint64_t items;
    input_items filled;
    bench_input input;
    bench_task task;
    bench_segments segments;
    tally_dtype sent;  /* the type of the items that the device has */
    uint64_t *offsets; /* room for `room` */
    uint64_t room;
    double *expected; /* two for each segment */
    segments_result result;
    bench_input whole; /* the same items as one segment, for the last engine of some cases */
    bench_task whole_task;
    bench_engine engines[MAX_ENGINES];
    int count;
} segments_bench;

static int complain(void) {
    fprintf(stderr, "tally_bench: %s\n", tally_last_error());
    return 1;
}

#define SLAB 256 /* columns of a thread, in segments_openmp.c */

/* ---- OpenMP ---------------------------------------------------------------------------------- */

static int run_openmp(void *state, int count) {
    const bench_input *in = *(bench_input *const *)state;
    const bench_segments *s = in->segments;
    const float *x = (const float *)in->host[ARRAY_X] + s->first;
    for (int call = 0; call < count; call++)
        if (s->inner == 1)
            openmp_sum_rows(x, s->outer, s->length, in->host[ARRAY_OUT]);
        else
            openmp_sum_columns(x, s->length, s->inner, in->host[ARRAY_OUT]);
    return 0;
}

static double openmp_value(void *state) {
    return (double)(*(bench_input *const *)state)->segments->count;
}

/* Opens the peer of sums of rows and columns of f32. Each thread must have rows, or a slab of
 * columns. */
static int openmp_segments_open(const bench_input *input, bench_engine *out) {
    const bench_segments *s = input->segments;
    if (!is_host(input->device) || s->by != TALLY_BY_AXES || s->op != TALLY_SUM || s->in != TALLY_F32) return BENCH_ABSENT;
    const uint64_t threads = (uint64_t)openmp_threads();
    const int of_rows = s->inner == 1 && s->outer >= threads, of_columns = s->outer == 1 && s->inner >= SLAB * threads;
    if (s->cut == CUT_CHANNELS || (!of_rows && !of_columns)) return BENCH_ABSENT;
    const bench_input **state = malloc(sizeof(*state));
    if (!state) return 1;
    *state = input;
    *out = (bench_engine){.state = state, .run = run_openmp, .value = openmp_value, .close = free};
    return 0;
}

/* ---- engines --------------------------------------------------------------------------------- */

#ifndef TALLY_BENCH_CUDA
#define cub_segments_open NULL
#endif
static const struct {
    const char *name;
    engine_open *open;
} peers[] = {{"OpenMP", openmp_segments_open}, {"CUB", cub_segments_open}};

#define WHOLE "whole"
static int check(segments_bench *b, bench_engine *engine) {
    const bench_segments *s = &b->segments;
    if (!strcmp(engine->name, WHOLE)) return case_check(&b->whole, engine, 1);
    if (segments_poison(&b->input, &b->result) || engine->run(engine->state, 1)) return 1;
    const double found = engine->value(engine->state);
    if (found == (double)s->count) return segments_check(&b->input, engine->name, &b->result, b->expected);
    fprintf(stderr, "tally_bench: %s: %s: %g segments: there should be %llu\n", engine->name, s->name, found,
            (unsigned long long)s->count);
    return 1;
}

/* Adds the engine that was opened, if its result is right. */
static int add(segments_bench *b, const char *name) {
    bench_engine *engine = &b->engines[b->count];
    engine->name = name;
    if (check(b, engine)) return engine->close(engine->state), 1;
    b->count++;
    return 0;
}

/* Opens a reduction of all items, which long rows and other ops are compared with. */
static int open_whole(segments_bench *b, bench_engine *out) {
    const bench_segments *s = &b->segments;
    if (strcmp(s->group, "long") && strcmp(s->group, "ops")) return BENCH_ABSENT;
    b->whole = b->input;
    b->whole.n = s->n;
    b->whole_task = (bench_task){.primitive = BENCH_REDUCE, .op = s->also ? TALLY_MINMAX : s->op};
    b->whole.task = &b->whole_task;
    return ours_open(&b->whole, out);
}

/* A peer that fails reports the error and is left out. */
static int open_engines(segments_bench *b) {
    b->count = 0;
    if (segments_ours_open(&b->input, &b->engines[0])) return 1;
    b->result = segments_ours_result(&b->engines[0]);
    if (b->segments.count * b->result.bytes > b->filled.bytes || add(b, "tally")) return 1;
    for (size_t p = 0; p < sizeof(peers) / sizeof(peers[0]); p++)
        if (peers[p].open && is_listed(b->options->peers, peers[p].name) && !peers[p].open(&b->input, &b->engines[b->count]))
            add(b, peers[p].name);
    return !open_whole(b, &b->engines[b->count]) && add(b, WHOLE);
}

static uint64_t bytes_of(const segments_bench *b) {
    const bench_segments *s = &b->segments;
    const uint64_t index = s->by == TALLY_BY_OFFSETS ? (s->count + 1) * sizeof(uint64_t)
                           : s->by == TALLY_BY_KEYS  ? (s->n + s->count) * sizeof(uint32_t)
                                                     : 0;
    return s->n * tally_dtype_bytes(s->in) + index + s->count * b->result.bytes;
}

static int time_engines(segments_bench *b) {
    bench_timing timings[MAX_ENGINES];
    segments_report report = {.segments = &b->segments,
                              .device = b->input.device,
                              .variant = segments_ours_variant(&b->engines[0]),
                              .bytes = bytes_of(b),
                              .count = b->count,
                              .blocks = b->options->blocks,
                              .engines = b->engines,
                              .timings = timings};
    if (measure(b->segments.name, b->engines, b->count, b->options, 1, timings)) return 1;
    for (int e = 0; e < b->count; e++)
        if (check(b, &b->engines[e])) return 1;
    if (report.bytes >= LEAST_CEILING && tally_measure_read(b->input.context, report.bytes, &report.ceiling)) return complain();
    (b->options->json ? segments_report_json : segments_report_row)(&report);
    fflush(stdout);
    return 0;
}

/* ---- cases ----------------------------------------------------------------------------------- */

/* Makes the items, and the offsets or keys, on the device too. */
static int make_input(segments_bench *b) {
    bench_segments *s = &b->segments;
    const uint64_t items = s->n + s->first, bytes = items * tally_dtype_bytes(s->in);
    input_fill(&b->filled, INPUT_WHOLE, s->in, b->filled.bytes / 2 / tally_dtype_bytes(s->in), 1, 1);
    b->input.in = s->in;
    b->input.n = s->n;
    b->task.op = s->op;
    if (b->sent != s->in && bench_send(&b->input, ARRAY_X, 0, b->filled.bytes / 2)) return complain();
    b->sent = s->in;
    if (bytes > b->filled.bytes) return 1;
    if (s->by == TALLY_BY_AXES) return 0;
    if (segments_cut_items(s, b->offsets, b->room)) return 1;
    uint32_t *keys = b->filled.host[ARRAY_MAP];
    if (s->by == TALLY_BY_OFFSETS) memcpy(keys, b->offsets, (s->count + 1) * sizeof(uint64_t));
    for (uint64_t k = 0; s->by == TALLY_BY_KEYS && k < s->count; k++)
        for (uint64_t i = s->offsets[k]; i < s->offsets[k + 1]; i++) keys[i] = (uint32_t)k;
    const uint64_t sent = s->by == TALLY_BY_KEYS ? s->n * sizeof(uint32_t) : (s->count + 1) * sizeof(uint64_t);
    return bench_send(&b->input, ARRAY_MAP, 0, sent) ? complain() : 0;
}

static int run_case(segments_bench *b) {
    if (make_input(b)) return 1;
    b->expected = malloc(2 * b->segments.count * sizeof(double));
    if (!b->expected) return fprintf(stderr, "tally_bench: out of memory\n"), 1;
    segments_expect(&b->input, b->expected);
    const int failed = open_engines(b) || time_engines(b);
    for (int e = 0; e < b->count; e++) b->engines[e].close(b->engines[e].state);
    free(b->expected);
    return failed;
}

/* Opens the arrays: items, offsets or keys, results, each of at most 8 bytes for an f32 item. */
static int open_arrays(segments_bench *b) {
    const uint64_t bytes = (b->items + 2) * sizeof(uint64_t);
    static const int which[] = {ARRAY_X, ARRAY_MAP, ARRAY_OUT};
    b->room = b->items + 2;
    b->offsets = malloc(b->room * sizeof(*b->offsets));
    if (!b->offsets || input_open(&b->filled, bytes)) return fprintf(stderr, "tally_bench: %s\n", strerror(errno)), 1;
    for (int a = 0; a < ARRAYS; a++) b->input.host[a] = b->filled.host[a];
    for (size_t k = 0; k < sizeof(which) / sizeof(which[0]); k++)
        if (bench_open_buffer(&b->input, which[k], bytes)) return complain();
    return 0;
}

int segments_run(const bench_options *options, tally_context *context, const tally_device_info *device, int *cases) {
    segments_bench b = {.options = options, .input = {.context = context, .device = device, .copies = 1}};
    int failed = 0;
    b.items = device->device_class == TALLY_CLASS_GPU ? ITEMS_GPU : ITEMS_CPU;
    if (options->has_sizes) b.items = options->sizes.n[0];
    b.task.primitive = BENCH_SEGMENTS;
    b.input.task = &b.task;
    b.input.segments = &b.segments;
    if (open_arrays(&b)) failed = 1;
    if (!failed && !options->json) segments_report_heading(device, b.items);
    for (size_t i = 0; b.input.buffer[ARRAY_OUT]; i++) {
        const int has = segments_case(i, b.items, options->cases, &b.segments);
        if (has < 0) break;
        if (!has || ((b.segments.in == TALLY_F64) && !device->has_f64)) continue;
        ++*cases;
        failed += run_case(&b);
    }
    for (int a = 0; a < ARRAYS; a++) tally_buffer_destroy(b.input.buffer[a]);
    input_close(&b.filled);
    free(b.offsets);
    return failed;
}
