/* SPDX-License-Identifier: MIT */
/*
 * ops.c: the program tally_ops compares the speed of every op with that of sum in one run. Each
 * result is checked first. Then all ops take turns, and medians by the device's clock are reported.
 * The items are small whole numbers with a period of 7. The tests' oracle gives the expected
 * results.
 */
#include <getopt.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <tally/tally.h>

#include "oracle/oracle.h"
#include "tools/print/units.h"

#define PERIOD 7
#define BLOCK_ITEMS (PERIOD << 16)
#define MAX_RUNS 101

typedef struct request {
    const char *select, *ops, *variant;
    tally_dtype dtype;
    uint64_t bytes;
    int runs, json;
    uint32_t group;
} request;

typedef struct trial {
    tally_op op;
    tally_plan *plan;
    double seconds[MAX_RUNS], median;
} trial;

static const char usage[] = "usage: tally_ops [--backend SELECTION] [--dtype NAME] [--bytes N] [--ops LIST] [--runs N]\n"
                            "                 [--group N] [--variant NAME] [--json]\n"
                            "  --dtype NAME  the items' type (default: f32)\n"
                            "  --bytes N     of each input (default: 256M); N: " UNITS_NOTATION "\n"
                            "  --ops LIST    sum,nrm2,... (default: all that take the type); sum is always among them\n"
                            "  --runs N      3 to 101 (default: 15)\n";

static int complain(const char *what) {
    fprintf(stderr, "tally_ops: %s: %s\n", what, tally_last_error());
    return 1;
}

/* ---- items ----------------------------------------------------------------------------------- */

/* Returns item i of input k: -3 to 3, or 0 to 6 for unsigned types. */
static int item(uint64_t i, int k, int is_signed) {
    return (int)((i + (uint64_t)k) % PERIOD) - (is_signed ? 3 : 0);
}

static int is_signed(tally_dtype dtype) {
    return dtype != TALLY_U8 && dtype != TALLY_U16 && dtype != TALLY_U32 && dtype != TALLY_U64 && dtype != TALLY_BOOL;
}

/* Returns the bits of a small whole number, which every float type holds. */
static uint16_t upper_half(int value) {
    const float x = (float)value;
    uint32_t bits;
    memcpy(&bits, &x, sizeof(bits));
    return (uint16_t)(bits >> 16);
}

static uint16_t half_bits(int value) {
    static const uint16_t bits[] = {0x0000, 0x3c00, 0x4000, 0x4200, 0x4400, 0x4500, 0x4600};
    return (uint16_t)(bits[abs(value)] | (value < 0 ? 0x8000 : 0));
}

static void put(tally_dtype dtype, void *items, uint64_t i, int value) {
    switch ((int)dtype) {
#define CASE(id, type, expression)                                                                                             \
    case TALLY_##id:                                                                                                           \
        ((type *)items)[i] = (type)(expression);                                                                               \
        break;
        CASE(F16, uint16_t, half_bits(value))
        CASE(BF16, uint16_t, upper_half(value))
        CASE(F32, float, value)
        CASE(F64, double, value)
        CASE(I8, int8_t, value)
        CASE(I16, int16_t, value)
        CASE(I32, int32_t, value)
        CASE(I64, int64_t, value)
        CASE(U8, uint8_t, value)
        CASE(U16, uint16_t, value)
        CASE(U32, uint32_t, value)
        CASE(U64, uint64_t, value)
        CASE(BOOL, uint8_t, value != 0)
#undef CASE
    }
}

/* Fills input k. *block has the first items, which repeat. */
static int fill(tally_context *context, tally_dtype dtype, uint64_t n, int k, void **block, tally_buffer **out) {
    const size_t bytes = tally_dtype_bytes(dtype);
    tally_queue *queue = NULL;
    *block = malloc(BLOCK_ITEMS * bytes);
    int failed = !*block || tally_queue_create(context, &queue) || tally_buffer_create(context, n * bytes, out);
    for (uint64_t i = 0; !failed && i < BLOCK_ITEMS; i++) put(dtype, *block, i, item(i, k, is_signed(dtype)));
    for (uint64_t i = 0; !failed && i < n; i += BLOCK_ITEMS) {
        const uint64_t left = n - i < BLOCK_ITEMS ? n - i : BLOCK_ITEMS;
        failed = tally_buffer_write(queue, *out, i * bytes, *block, left * bytes) != TALLY_OK;
    }
    failed = failed || tally_queue_wait(queue);
    tally_queue_destroy(queue);
    return failed ? complain("filling the inputs") : 0;
}

/* ---- expected results ------------------------------------------------------------------------ */

static double as_double(tally_dtype dtype, const void *value) {
    switch ((int)dtype) {
#define CASE(id, type)                                                                                                         \
    case TALLY_##id:                                                                                                           \
        return (double)*(const type *)value;
        CASE(F32, float)
        CASE(F64, double)
        CASE(I8, int8_t)
        CASE(I16, int16_t)
        CASE(I32, int32_t)
        CASE(I64, int64_t)
        CASE(U8, uint8_t)
        CASE(U16, uint16_t)
        CASE(U32, uint32_t)
        CASE(U64, uint64_t)
        CASE(BOOL, uint8_t)
#undef CASE
    }
    for (int v = -6; v <= 6; v++)
        if (*(const uint16_t *)value == (dtype == TALLY_F16 ? half_bits(v) : upper_half(v))) return v;
    return NAN;
}

/* ---- measuring ------------------------------------------------------------------------------- */

typedef struct bench {
    tally_context *context;
    tally_queue *queue;
    tally_buffer *in[2], *out;
    tally_event *begin, *end;
    void *blocks[2]; /* first items on the host, which repeat */
    uint64_t n;
} bench;

static int run(bench *b, trial *t) {
    const tally_reduce_args args = {.size = sizeof(args), .in = {b->in[0], b->in[1]}, .n = b->n, .out = b->out};
    return tally_reduce_with(t->plan, b->queue, &args) != TALLY_OK;
}

/* Computes the oracle's result of all items. Returns false if memory is short. */
static int find_expected(const bench *b, const oracle_case *what, oracle_result *out) {
    oracle *state = malloc(sizeof(*state));
    if (!state) return 0;
    oracle_begin_case(state, what);
    for (uint64_t i = 0; i < b->n; i += BLOCK_ITEMS)
        oracle_push_inputs(state, (const void *const *)b->blocks, b->n - i < BLOCK_ITEMS ? b->n - i : BLOCK_ITEMS);
    oracle_end(state, out);
    free(state);
    return 1;
}

/* Checks a result. Large sums are rounded, and variants of the ladder have another order. */
static int check(bench *b, const request *r, trial *t) {
    const oracle_case what = {.op = t->op, .in = r->dtype};
    const tally_dtype out = oracle_result_dtype(&what);
    oracle_result got = {{0}}, wanted = {{0}};
    if (!find_expected(b, &what, &wanted)) return fprintf(stderr, "tally_ops: out of memory\n"), 1;
    if (run(b, t) || tally_buffer_read(b->queue, b->out, 0, &got, oracle_result_bytes(&what)) || tally_queue_wait(b->queue))
        return complain(tally_op_name(t->op));
    if (memcmp(&got, &wanted, sizeof(got)) == 0) return 0;
    const double number = as_double(out, &got), right = as_double(out, &wanted);
    if (!oracle_is_exact(&what) && fabs(number - right) <= 1e-4 * fabs(right)) return 0;
    fprintf(stderr, "tally_ops: %s of %s is %.9g: it should be %.9g\n", tally_op_name(t->op), tally_dtype_name(r->dtype),
            number, right);
    return 1;
}

static int timed(bench *b, trial *t, double *seconds) {
    return tally_event_record(b->begin, b->queue) || run(b, t) || tally_event_record(b->end, b->queue) ||
           tally_event_seconds(b->begin, b->end, seconds);
}

static int ascending(const void *a, const void *b) {
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static int measure(bench *b, const request *r, trial *trials, int count) {
    for (int round = -1; round < r->runs; round++)
        for (int t = 0; t < count; t++) {
            double warm_up;
            /* An untimed call comes first: the other op's kernel leaves its traces in a CPU's
             * caches and threads. */
            if (timed(b, &trials[t], &warm_up) || timed(b, &trials[t], round < 0 ? &warm_up : &trials[t].seconds[round]))
                return complain(tally_op_name(trials[t].op));
        }
    for (int t = 0; t < count; t++) {
        qsort(trials[t].seconds, (size_t)r->runs, sizeof(double), ascending);
        trials[t].median = trials[t].seconds[r->runs / 2];
    }
    return 0;
}

static void report(const bench *b, const request *r, const trial *trials, int count, double read) {
    tally_context_info info;
    if (tally_context_get_info(b->context, &info)) return;
    if (!r->json)
        printf("%s (%s), %s, %" PRIu64 " items, read kernel %.0f GB/s, %d runs\n%-14s %12s %10s %8s %12s\n", info.device.name,
               info.device.backend, tally_dtype_name(r->dtype), b->n, 1e-9 * read, r->runs, "op", "median us", "GB/s",
               "of read", "of sum");
    const double bytes = (double)b->n * (double)tally_dtype_bytes(r->dtype), sum = bytes / trials[0].median;
    for (int t = 0; t < count; t++) {
        const double speed = bytes * tally_op_inputs(trials[t].op) / trials[t].median;
        const char *format = r->json ? "{\"op\": \"%s\", \"microseconds\": %.1f, \"gigabytes_per_second\": %.1f, "
                                       "\"of_read\": %.3f, \"of_sum\": %.3f}\n"
                                     : "%-14s %12.1f %10.1f %8.3f %12.3f\n";
        printf(format, tally_op_name(trials[t].op), 1e6 * trials[t].median, 1e-9 * speed, speed / read, speed / sum);
    }
}

static int is_chosen(const request *r, tally_op op) {
    char list[512], name[64];
    if (!tally_result_dtype(op, r->dtype)) return 0;
    if (!r->ops || op == TALLY_SUM) return 1;
    snprintf(list, sizeof(list), ",%s,", r->ops);
    snprintf(name, sizeof(name), ",%s,", tally_op_name(op));
    return strstr(list, name) != NULL;
}

static int bench_all(bench *b, const request *r) {
    static trial trials[TALLY_OP_END];
    int count = 0, wrong = 0;
    double read = 0;
    if (tally_context_create(r->select, &b->context)) return complain("opening the device");
    b->n = r->bytes / tally_dtype_bytes(r->dtype);
    if (fill(b->context, r->dtype, b->n, 0, &b->blocks[0], &b->in[0]) ||
        fill(b->context, r->dtype, b->n, 1, &b->blocks[1], &b->in[1]))
        return 1;
    if (tally_queue_create(b->context, &b->queue) || tally_buffer_create(b->context, 64, &b->out) ||
        tally_event_create(b->context, &b->begin) || tally_event_create(b->context, &b->end))
        return complain("opening the device");
    for (tally_op op = TALLY_OP_NONE + 1; op < TALLY_OP_END; op++) {
        if (!tally_op_name(op) || !is_chosen(r, op)) continue;
        trial *t = &trials[count];
        t->op = op;
        const tally_reduce_desc desc = {
            .size = sizeof(desc), .op = op, .in = r->dtype, .max_n = b->n, .group_threads = r->group, .variant = r->variant};
        if (tally_plan_create(b->context, &desc, &t->plan)) return complain(tally_op_name(op));
        count++;
        if (check(b, r, t)) wrong = 1;
    }
    if (wrong || measure(b, r, trials, count) || tally_measure_read(b->context, 0, &read)) return 1;
    report(b, r, trials, count, read);
    for (int t = 0; t < count; t++) tally_plan_destroy(trials[t].plan);
    return 0;
}

static void close_bench(bench *b) {
    tally_event_destroy(b->begin);
    tally_event_destroy(b->end);
    tally_buffer_destroy(b->out);
    tally_buffer_destroy(b->in[0]);
    tally_buffer_destroy(b->in[1]);
    tally_queue_destroy(b->queue);
    tally_context_destroy(b->context);
    free(b->blocks[0]);
    free(b->blocks[1]);
}

/* Reads getopt_long's argument as a count. */
static int read_count(const char *option, uint64_t least, uint64_t most, uint64_t *out) {
    if (units_read_count(optarg, strlen(optarg), least, most, out)) return 0;
    return fprintf(stderr, "tally_ops: --%s %s: %s\n", option, optarg, units_needed(least, most).text), 1;
}

int main(int argc, char **argv) {
    static const struct option options[] = {
        {"backend", required_argument, 0, 'b'}, {"dtype", required_argument, 0, 'd'},
        {"bytes", required_argument, 0, 'n'},   {"ops", required_argument, 0, 'o'},
        {"runs", required_argument, 0, 'r'},    {"json", no_argument, 0, 'j'},
        {"help", no_argument, 0, 'h'},          {"group", required_argument, 0, 'g'},
        {"variant", required_argument, 0, 'v'}, {0, 0, 0, 0},
    };
    request r = {.dtype = TALLY_F32, .bytes = 1u << 28, .runs = 15};
    uint64_t count = 0;
    for (int c; (c = getopt_long(argc, argv, "", options, NULL)) != -1;) switch (c) {
        case 'b':
            r.select = optarg;
            break;
        case 'd':
            if (tally_dtype_from_name(optarg, &r.dtype)) return complain("--dtype"), 2;
            break;
        case 'n':
            if (read_count("bytes", 64, UINT64_C(1) << 40, &r.bytes)) return 2;
            break;
        case 'o':
            r.ops = optarg;
            break;
        case 'r':
            if (read_count("runs", 3, MAX_RUNS, &count)) return 2;
            r.runs = (int)count;
            break;
        case 'g':
            if (read_count("group", 1, 1 << 16, &count)) return 2;
            r.group = (uint32_t)count;
            break;
        case 'v':
            r.variant = optarg;
            break;
        case 'j':
            r.json = 1;
            break;
        case 'h':
            return fputs(usage, stdout), 0;
        default:
            return fputs(usage, stderr), 2;
        }
    if (optind < argc || r.dtype == TALLY_C64 || r.dtype == TALLY_C128) return fputs(usage, stderr), 2;
    bench b = {0};
    const int failed = bench_all(&b, &r);
    close_bench(&b);
    return failed;
}
