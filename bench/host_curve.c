/* SPDX-License-Identifier: MIT */
/*
 * host_curve.c: the program tally_host_curve measures the wall time of one call of
 * tally_reduce_host by the number of items, from 1 to 2^26. For comparison it measures a plan that
 * is kept, with the array in place or copied, and the result read and waited for. It finds the
 * largest step between neighbouring sizes.
 *
 * Both ways must give the same bits before they are timed. They take turns. A sample has as many
 * calls as take 50 us. The program prints the median and the least of the samples.
 */
#include <getopt.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <tally/tally.h>

#include "tools/print/plot.h"
#include "tools/print/units.h"

enum { FIRST_PAIR = 12, LAST_PAIR = 18, MAX_SIZES = 64, MAX_RUNS = 1001, RESULT_BYTES = 64 };
#define MOST_ITEMS (UINT64_C(1) << 26)
#define SAMPLE_SECONDS 50e-6

typedef struct request {
    const char *select, *plot;
    tally_op op;
    tally_dtype dtype;
    int runs;
    uint64_t most;
} request;

static const char usage[] =
    "usage: tally_host_curve [--backend SELECTION] [--op NAME] [--dtype NAME] [--runs N] [--most COUNT] [--plot FILE]\n"
    "  --op NAME     of one input (default: sum)\n"
    "  --dtype NAME  f32, f64, i32 or i64 (default: f32)\n"
    "  --runs N      samples of each size, 3 to 1001 (default: 201)\n"
    "  --most COUNT  sizes up to this many items, at most 2^26 (default: 2^26)\n"
    "  --plot FILE   the curves as an SVG\n";

/* A size, prepared for both ways. */
typedef struct bench {
    tally_context *context;
    const request *r;
    const void *items;
    uint64_t n;
    int in_place;
    tally_plan *plan;
    tally_queue *queue;
    tally_buffer *in, *out;
    unsigned char result[RESULT_BYTES];
} bench;

enum { HOST, PLAN, WAYS };

typedef struct point {
    uint64_t n;
    int by_thread;                    /* the call ran without a plan */
    double median[WAYS], least[WAYS]; /* in us */
} point;

static int complain(const char *what) {
    fprintf(stderr, "tally_host_curve: %s: %s\n", what, tally_last_error());
    return 1;
}

/* ---- a call ---------------------------------------------------------------------------------- */

static int call(bench *b, int way) {
    const uint64_t bytes = b->n * tally_dtype_bytes(b->r->dtype);
    if (way == HOST) return tally_reduce_host(b->context, b->r->op, b->r->dtype, b->items, b->n, b->result) != TALLY_OK;
    return (!b->in_place && tally_buffer_write(b->queue, b->in, 0, b->items, bytes)) ||
           tally_reduce(b->plan, b->queue, b->in, b->n, b->out) ||
           tally_buffer_read(b->queue, b->out, 0, b->result, tally_plan_result_bytes(b->plan)) || tally_queue_wait(b->queue);
}

static int open_plan(bench *b) {
    const tally_reduce_desc desc = {.size = sizeof(desc), .op = b->r->op, .in = b->r->dtype, .max_n = b->n};
    const uint64_t bytes = b->n * tally_dtype_bytes(b->r->dtype);
    return tally_plan_create(b->context, &desc, &b->plan) || tally_queue_create(b->context, &b->queue) ||
           (b->in_place ? tally_buffer_wrap_host(b->context, b->items, bytes, &b->in)
                        : tally_buffer_create(b->context, bytes, &b->in)) ||
           tally_buffer_create(b->context, tally_plan_result_bytes(b->plan), &b->out);
}

static void close_plan(bench *b) {
    tally_buffer_destroy(b->in);
    tally_buffer_destroy(b->out);
    tally_queue_destroy(b->queue);
    tally_plan_destroy(b->plan);
}

static uint64_t plans_used(const bench *b) {
    tally_context_info info;
    return tally_context_get_info(b->context, &info) ? 0 : info.host_plans_made + info.host_plans_reused;
}

/* ---- times ----------------------------------------------------------------------------------- */

static int ascending(const void *a, const void *b) {
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Returns the us of one of `count` calls, or a negative number on failure. */
static double timed(bench *b, int way, int count) {
    const double begin = units_seconds();
    for (int i = 0; i < count; i++)
        if (call(b, way)) return -1;
    return 1e6 * (units_seconds() - begin) / count;
}

static int time_both(bench *b, point *p) {
    static double samples[WAYS][MAX_RUNS];
    int count[WAYS] = {1, 1};
    for (int way = 0; way < WAYS; way++)
        for (double us = 0; 1e-6 * us * count[way] < SAMPLE_SECONDS; count[way] *= 2)
            if ((us = timed(b, way, count[way])) < 0) return complain("a call");
    for (int run = 0; run < b->r->runs; run++)
        for (int way = 0; way < WAYS; way++) {
            /* An untimed call comes first, as the other way had the caches. */
            if (call(b, way) || (samples[way][run] = timed(b, way, count[way])) < 0) return complain("a call");
        }
    for (int way = 0; way < WAYS; way++) {
        qsort(samples[way], (size_t)b->r->runs, sizeof(double), ascending);
        p->median[way] = samples[way][b->r->runs / 2];
        p->least[way] = samples[way][0];
    }
    return 0;
}

static int measure(bench *b, point *p) {
    unsigned char results[WAYS][RESULT_BYTES] = {{0}};
    const uint64_t plans = plans_used(b);
    b->n = p->n;
    if (open_plan(b)) return complain("a plan");
    for (int way = 0; way < WAYS; way++) {
        memset(b->result, 0, sizeof(b->result));
        if (call(b, way)) return complain("a call");
        memcpy(results[way], b->result, sizeof(b->result));
        if (way == HOST) p->by_thread = plans_used(b) == plans;
    }
    if (memcmp(results[HOST], results[PLAN], RESULT_BYTES) != 0)
        return fprintf(stderr, "tally_host_curve: %" PRIu64 " items: the results differ\n", p->n), 1;
    const int failed = time_both(b, p);
    close_plan(b);
    return failed;
}

/* ---- results --------------------------------------------------------------------------------- */

/* Returns the ratio of times over the ratio of items: 1 if time grows like the items. */
static double step(const point *from, const point *to) {
    return to->median[HOST] / from->median[HOST] / ((double)to->n / (double)from->n);
}

static void print_steps(const point *points, int count) {
    int largest = 1, by_one = 0;
    for (int i = 2; i < count; i++) {
        const int is_one = points[i].n - points[i - 1].n == 1;
        if (step(&points[i - 1], &points[i]) > step(&points[largest - 1], &points[largest])) largest = i;
        if (is_one && (!by_one || step(&points[i - 1], &points[i]) > step(&points[by_one - 1], &points[by_one]))) by_one = i;
    }
    const point *to = &points[largest], *from = to - 1;
    printf("Largest step between neighbours: %.2f times the time for %.2f times the items, from %" PRIu64 " to %" PRIu64 ".\n",
           to->median[HOST] / from->median[HOST], (double)to->n / (double)from->n, from->n, to->n);
    if (by_one)
        printf("Largest step by one item: %.2f times, from %" PRIu64 " to %" PRIu64 ".\n",
               points[by_one].median[HOST] / points[by_one - 1].median[HOST], points[by_one - 1].n, points[by_one].n);
}

static void print(const bench *b, const point *points, int count) {
    tally_context_info info;
    if (tally_context_get_info(b->context, &info)) return;
    printf("%s of %s, %s (%s, %s), %u cores, %d samples of each\n\n", tally_op_name(b->r->op), tally_dtype_name(b->r->dtype),
           info.device.name, info.device.platform, info.device.driver, info.device.compute_units, b->r->runs);
    printf("| n | by | us | least | kept plan, us | least |\n|---|---|---|---|---|---|\n");
    for (int i = 0; i < count; i++) {
        const point *p = &points[i];
        printf("| %s | %s | %.2f | %.2f | %.2f | %.2f |\n", p->n & (p->n - 1) ? "+ 1" : units_items(p->n).text,
               p->by_thread ? "thread" : "device", p->median[HOST], p->least[HOST], p->median[PLAN], p->least[PLAN]);
    }
    printf("\n");
    print_steps(points, count);
}

static int draw(const bench *b, const point *points, int count, const char *file) {
    static double x[MAX_SIZES], y[WAYS][MAX_SIZES];
    static plot_label labels[MAX_SIZES];
    char title[96], subtitle[320];
    size_t label_count = 0;
    tally_context_info info;
    plot p;
    if (tally_context_get_info(b->context, &info)) return complain("the device");
    snprintf(title, sizeof(title), "tally_reduce_host, %s of %s: time of one call", tally_op_name(b->r->op),
             tally_dtype_name(b->r->dtype));
    snprintf(subtitle, sizeof(subtitle), "%s, %u cores. Medians of %d samples in turns, results compared.", info.device.name,
             info.device.compute_units, b->r->runs);
    for (int i = 0; i < count; i++) {
        x[i] = (double)points[i].n;
        for (int way = 0; way < WAYS; way++) y[way][i] = points[i].median[way];
        if (points[i].n & (points[i].n - 1) || (i && (label_count && 4 * labels[label_count - 1].x > x[i]))) continue;
        labels[label_count].x = x[i];
        plot_write_size(labels[label_count].text, sizeof(labels[0].text), points[i].n);
        label_count++;
    }
    const plot_series series[] = {
        {.name = "tally_reduce_host", .colour = plot_colour(0), .strong = true, .count = (size_t)count, .x = x, .y = y[HOST]},
        {.name = "a kept plan", .colour = plot_colour(1), .count = (size_t)count, .x = x, .y = y[PLAN]}};
    const plot_lines lines = {.title = title,
                              .subtitle = subtitle,
                              .x_title = "items, n (logarithmic)",
                              .y_title = "us a call (logarithmic)",
                              .height = 480,
                              .y_logarithmic = true,
                              .series_count = WAYS,
                              .series = series,
                              .label_count = label_count,
                              .labels = labels};
    if (!plot_begin(&p)) return complain("out of memory");
    plot_draw_lines(&p, &lines);
    const char *wrong = plot_end(&p, file, "tally_host_curve");
    if (wrong) fprintf(stderr, "tally_host_curve: %s: %s\n", file, wrong);
    return wrong != NULL;
}

/* ---- the program ----------------------------------------------------------------------------- */

/* Makes small whole numbers. */
static void *make_items(tally_dtype dtype, uint64_t n) {
    void *items = aligned_alloc(4096, (n * tally_dtype_bytes(dtype) + 4095) / 4096 * 4096);
    for (uint64_t i = 0; items && i < n; i++) {
        const int value = (int)(i % 7) - 3;
        if (dtype == TALLY_F32) ((float *)items)[i] = (float)value;
        if (dtype == TALLY_F64) ((double *)items)[i] = value;
        if (dtype == TALLY_I32) ((int32_t *)items)[i] = value;
        if (dtype == TALLY_I64) ((int64_t *)items)[i] = value;
    }
    return items;
}

static int run(const request *r) {
    static point points[MAX_SIZES];
    int count = 0, failed = 0;
    bench b = {.r = r};
    tally_context_info info;
    void *items = make_items(r->dtype, r->most + 1);
    b.items = items;
    if (!items) return fprintf(stderr, "tally_host_curve: out of memory\n"), 1;
    if (tally_context_create(r->select, &b.context) || tally_context_get_info(b.context, &info))
        return complain("opening the device");
    b.in_place = info.device.host_memory;
    for (int k = 0; UINT64_C(1) << k <= r->most; k++) {
        points[count++].n = UINT64_C(1) << k;
        if (k >= FIRST_PAIR && k <= LAST_PAIR) points[count++].n = (UINT64_C(1) << k) + 1;
    }
    for (int i = 0; i < count && !failed; i++) failed = measure(&b, &points[i]);
    if (!failed) print(&b, points, count);
    if (!failed && r->plot) failed = draw(&b, points, count, r->plot);
    tally_context_destroy(b.context);
    free(items);
    return failed;
}

int main(int argc, char **argv) {
    static const struct option options[] = {
        {"backend", required_argument, 0, 'b'}, {"op", required_argument, 0, 'o'},
        {"dtype", required_argument, 0, 'd'},   {"runs", required_argument, 0, 'r'},
        {"most", required_argument, 0, 'm'},    {"plot", required_argument, 0, 'p'},
        {"help", no_argument, 0, 'h'},          {0, 0, 0, 0},
    };
    request r = {.op = TALLY_SUM, .dtype = TALLY_F32, .runs = 201, .most = MOST_ITEMS};
    uint64_t runs;
    for (int c; (c = getopt_long(argc, argv, "", options, NULL)) != -1;) switch (c) {
        case 'b':
            r.select = optarg;
            break;
        case 'o':
            if (tally_op_from_name(optarg, &r.op)) return complain("--op"), 2;
            break;
        case 'd':
            if (tally_dtype_from_name(optarg, &r.dtype)) return complain("--dtype"), 2;
            break;
        case 'r':
            if (!units_read_count(optarg, strlen(optarg), 3, MAX_RUNS, &runs)) return fputs(usage, stderr), 2;
            r.runs = (int)runs;
            break;
        case 'm':
            if (!units_read_count(optarg, strlen(optarg), 1, MOST_ITEMS, &r.most)) return fputs(usage, stderr), 2;
            break;
        case 'p':
            r.plot = optarg;
            break;
        case 'h':
            return fputs(usage, stdout), 0;
        default:
            return fputs(usage, stderr), 2;
        }
    const int is_number = r.dtype == TALLY_F32 || r.dtype == TALLY_F64 || r.dtype == TALLY_I32 || r.dtype == TALLY_I64;
    if (optind < argc || !is_number || tally_op_inputs(r.op) != 1) return fputs(usage, stderr), 2;
    return run(&r);
}
