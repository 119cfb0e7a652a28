/* SPDX-License-Identifier: MIT */
/* bars.c: the bars, which are tally's promises about its peers, and the verdict of a run on
 * each. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench.h"
#include "tools/print/units.h"
#include "tools/print/wrap.h"

#define H200 "H200"
#define POCL "Portable Computing Language"
#define MOVES "identity,random"
#define WIDE "nrm2,var,argmax,minmax" /* ops of wide accumulators */
#define HOST_SIZES "2^10,2^12,2^14,2^16,2^18,2^20,2^22,2^24,2^26,2^28"
#define CUB_SIZES "2^10,2^12,2^14,2^16,2^18,2^20,2^22,2^24,2^26,2^28,2^30"

/* Columns: where, backend, primitive, ops, types, sizes, kind, limit, peer, gpu, units. */
const bench_bar bench_bars[] = {
    {H200, "cuda", BENCH_REDUCE, "sum,min,max", "f32,f64,i32", CUB_SIZES, BAR_TIMES, 1, "CUB", 1, 0},
    {H200, "cuda", BENCH_REDUCE, "sum", "f32", "12M", BAR_TIMES, 1.2, "CUB", 1, 0},
    {H200, "cuda", BENCH_REDUCE, "sum", "f32", "2^10,2^12,2^14,2^16,2^18,2^20", BAR_TIMES, 2, "CUB", 0, 0},
    {H200, "cuda", BENCH_REDUCE, "sum", "f32", "2^10,2^12,2^14,2^16,2^18,2^20", BAR_SECONDS, 4e-6, NULL, 0, 0},
    {H200, "cuda", BENCH_REDUCE, "sum", "f32", "2^10,2^12", BAR_WITHIN, 0.4e-6, PEER_LAUNCH, 0, 0},
    {H200, "cuda", BENCH_REDUCE, "sum", "f16,bf16", "2^31", BAR_TIMES, 1.05, "CUB", 1, 0},
    {H200, "cuda", BENCH_REDUCE, "sum", "i8", "2^32", BAR_TIMES, 1.05, "CUB", 1, 0},
    {H200, "cuda", BENCH_REDUCE, "argmax", "f32", "2^20,2^28", BAR_TIMES, 1.05, "CUB", 1, 0},
    {H200, "cuda", BENCH_REDUCE, "argmax", "i8", "2^28", BAR_TIMES, 1.5, "CUB", 1, 0},
    {H200, "cuda", BENCH_REDUCE, "asum,nrm2,iamax", "f32", "2^28", BAR_TIMES, 1.5, "cuBLAS", 1, 0},
    {H200, "cuda", BENCH_REDUCE, "dot", "f32", "2^28", BAR_TIMES, 1, "cuBLAS", 1, 0},
    {H200, "cuda", BENCH_REDUCE, "sum", "f32", "2^28,2^30", BAR_TIMES, 0.98, PEER_READ, 1, 0},
    {H200, "cuda", BENCH_REDUCE, WIDE, "f32,f64,i32,i64", "2^28", BAR_TIMES, 0.9, PEER_READ, 1, 0},
    {H200, "cuda", BENCH_REDUCE, "logsumexp", "f32,f64,i64", "2^28", BAR_TIMES, 0.8, PEER_READ, 1, 0},
    {H200, "opencl", BENCH_REDUCE, WIDE, "f32,f64,i32,i64", "2^28", BAR_TIMES, 0.9, PEER_READ, 0, 0},
    {H200, "opencl", BENCH_REDUCE, "logsumexp", "f32,f64,i64", "2^28", BAR_TIMES, 0.8, PEER_READ, 0, 0},
    {H200, "opencl", BENCH_REDUCE, "sum", "f32", "2^20,2^22,12M,2^24,2^26,2^28,2^30", BAR_TIMES, 0.97, PEER_OURS, 0, 0},
    {H200, "opencl", BENCH_REDUCE, "sum", "f32", "2^10,2^12,2^14,2^16", BAR_WITHIN, 2e-6, PEER_OURS, 0, 0},
    {H200, "opencl", BENCH_REDUCE, "sum", "f32", "2^20", BAR_TIMES, 3, "CLBlast", 0, 0},
    {H200, "opencl", BENCH_REDUCE, "sum", "f32", "2^20", BAR_TIMES, 3, "Boost.Compute", 0, 0},
    {H200, "opencl", BENCH_REDUCE, "sum", "f32", "2^28", BAR_TIMES, 1.15, "CLBlast", 0, 0},
    {H200, "opencl", BENCH_REDUCE, "sum", "f32", "2^28", BAR_TIMES, 1.15, "Boost.Compute", 0, 0},
    {POCL, "opencl", BENCH_REDUCE, "sum", "f32", "2^10,2^12,2^14,2^15", BAR_WITHIN, 6e-6, "OpenMP", 0, 2},
    {POCL, "opencl", BENCH_REDUCE, "sum", "f32", "2^19,2^20,2^22,2^24,2^26,2^28", BAR_TIMES, 1, "OpenMP", 0, 2},
    {POCL, "opencl", BENCH_REDUCE, "sum", "f32", "2^22,2^24,2^26,2^28", BAR_TIMES, 10, "CLBlast", 0, 2},
    {POCL, "opencl", BENCH_REDUCE, "sum", "f32", "2^22,2^24,2^26,2^28", BAR_TIMES, 10, "Boost.Compute", 0, 2},
    {NULL, "host", BENCH_REDUCE, "sum,max,argmax,var,dot", "f32,f64,i8,i32", HOST_SIZES, BAR_TIMES, 0.95, "OpenMP", 0, 0},
    {NULL, NULL, BENCH_REDUCE, "sum,dot,nrm2", "f32,f64", "2^10,2^12,2^14,2^16,2^18,2^20,2^22,12M,2^24,2^26,2^28,2^30",
     BAR_BITS, 1, NULL, 0, 0},
    {H200, "cuda", BENCH_SCAN, "sum", "f32", "2^20", BAR_TIMES, 1.2, "CUB", 0, 0},
    {H200, "cuda", BENCH_SCAN, "sum", "f32", "2^28", BAR_TIMES, 1.05, "CUB", 1, 0},
    {H200, "cuda", BENCH_SCAN, "sum", "f16", "2^28", BAR_TIMES, 1.3, "CUB", 1, 0},
    {H200, "cuda", BENCH_GATHER, "identity", "f32", "2^26", BAR_TIMES, 1.3, "Thrust", 0, 0},
    {H200, "cuda", BENCH_SCATTER, MOVES, "f32", "2^26", BAR_TIMES, 1, "Thrust", 0, 0},
    {H200, "opencl", BENCH_SCAN, "sum", "f32", "2^28", BAR_TIMES, 0.9, PEER_OURS, 0, 0},
    {H200, "opencl", BENCH_SCAN, "sum", "f32", "2^28", BAR_TIMES, 3, "Boost.Compute", 0, 0},
    {H200, "opencl", BENCH_GATHER, MOVES, "f32", "2^26", BAR_TIMES, 0.9, PEER_OURS, 0, 0},
    {H200, "opencl", BENCH_GATHER, MOVES, "f32", "2^26", BAR_TIMES, 3, "Boost.Compute", 0, 0},
    {H200, "opencl", BENCH_SCATTER, MOVES, "f32", "2^26", BAR_TIMES, 0.9, PEER_OURS, 0, 0},
    {H200, "opencl", BENCH_SCATTER, MOVES, "f32", "2^26", BAR_TIMES, 3, "Boost.Compute", 0, 0},
    {POCL, "opencl", BENCH_SCAN, "sum", "f32", "2^26", BAR_TIMES, 5, "Boost.Compute", 0, 2},
    {POCL, "opencl", BENCH_SCAN, "sum", "f32", "2^26", BAR_TIMES, 0.8, "OpenMP", 0, 2},
    {NULL, NULL, BENCH_SCAN, "sum,min", "f32,f64", "2^10,2^16,2^20,2^24,2^26", BAR_BITS, 1, NULL, 0, 0},
    {0},
};

/* ---- which cases ----------------------------------------------------------------------------- */

static int applies(const bench_bar *bar, const tally_device_info *device) {
    if (bar->backend && strcmp(bar->backend, device->backend)) return 0;
    if (bar->units && device->compute_units > bar->units) return 0;
    return !bar->where || strstr(device->name, bar->where) || strstr(device->platform, bar->where);
}

static int has_case(const bench_bar *bar, const bench_task *task, tally_dtype in, uint64_t n) {
    bench_sizes sizes = {.count = 0};
    return task->primitive == bar->primitive && is_listed(bar->ops, task_with(task)) &&
           is_listed(bar->types, tally_dtype_name(in)) && !sizes_add(&sizes, bar->sizes) && sizes_have(&sizes, n);
}

/* Returns true if the bar compares with tally on this CUDA device. The device then needs the case
 * too. */
static int has_other_case(const bench_bar *bar, const tally_device_info *device, const bench_task *task, tally_dtype in,
                          uint64_t n) {
    return bar->peer && !strcmp(bar->peer, PEER_OURS) && !strcmp(device->backend, "cuda") && strstr(device->name, bar->where) &&
           has_case(bar, task, in, n);
}

static int ascending(const void *a, const void *b) {
    const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

void bars_sizes(bench_sizes *sizes) {
    for (const bench_bar *bar = bench_bars; bar->ops; bar++) sizes_add(sizes, bar->sizes);
    qsort(sizes->n, (size_t)sizes->count, sizeof(*sizes->n), ascending);
}

int bars_need(const tally_device_info *device, int is_bits, const bench_task *task, tally_dtype in, uint64_t n) {
    for (const bench_bar *bar = bench_bars; bar->ops; bar++) {
        if ((bar->kind == BAR_BITS) != is_bits) continue;
        if ((applies(bar, device) && has_case(bar, task, in, n)) || has_other_case(bar, device, task, in, n)) return 1;
    }
    return 0;
}

int bars_need_peer(const bench_input *input, const char *peer) {
    for (const bench_bar *bar = bench_bars; bar->ops; bar++)
        if (bar->peer && !strcmp(bar->peer, peer) && applies(bar, input->device) &&
            has_case(bar, input->task, input->in, input->n))
            return 1;
    return 0;
}

/* ---- words ----------------------------------------------------------------------------------- */

typedef struct bar_measure {
    char text[80];
} bar_measure;

typedef struct bar_text {
    char text[160];
} bar_text;

/* Formats "1.2 x CUB", "3.5 us" or "different bits". */
static bar_measure measure_text(const bench_bar *bar, double is) {
    bar_measure out;
    if (bar->kind == BAR_TIMES)
        snprintf(out.text, sizeof(out.text), "%.4g x %s", is, bar->peer);
    else if (bar->kind == BAR_WITHIN)
        snprintf(out.text, sizeof(out.text), "%.3g us more than %s", 1e6 * is, bar->peer);
    else if (bar->kind == BAR_SECONDS)
        snprintf(out.text, sizeof(out.text), "%.3g us", 1e6 * is);
    else
        snprintf(out.text, sizeof(out.text), is ? "equal bits" : "different bits");
    return out;
}

static bar_text limit_text(const bench_bar *bar) {
    bar_text out = {"equal bits on all devices"};
    if (bar->kind != BAR_BITS)
        snprintf(out.text, sizeof(out.text), "at %s %s", bar->kind == BAR_TIMES ? "least" : "most",
                 measure_text(bar, bar->limit).text);
    return out;
}

static bar_text sizes_text(const bench_bar *bar) {
    bench_sizes sizes = {.count = 0};
    bar_text out;
    size_t length = 0;
    sizes_add(&sizes, bar->sizes);
    for (int i = 0; i < sizes.count; i++) {
        const int is_last = i + 1 == sizes.count;
        /* A long list of sizes is printed as its first and last. */
        if (sizes.count > 3 && i && !is_last) continue;
        length += (size_t)snprintf(out.text + length, sizeof(out.text) - length, "%s%s", units_items(sizes.n[i]).text,
                                   is_last           ? ""
                                   : sizes.count > 3 ? " to "
                                                     : ", ");
    }
    return out;
}

static const char *place_text(const bench_bar *bar) {
    return bar->where ? bar->where : "all devices";
}

static const char *clock_text(const bench_bar *bar) {
    return bar->kind == BAR_BITS ? "-" : bar->gpu ? "GPU" : "stream";
}

/* ---- verdicts -------------------------------------------------------------------------------- */

static const bench_report *find_report(const bench_results *results, const tally_device_info *device, const bench_task *task,
                                       tally_dtype in, uint64_t n) {
    for (size_t i = 0; i < results->report_count; i++) {
        const bench_input *input = &results->reports[i].input;
        if (input->device == device && input->task == task && input->in == in && input->n == n && input->copies == 1)
            return &results->reports[i];
    }
    return NULL;
}

static double seconds_of(const bench_timing *timing, int gpu) {
    return gpu ? timing->gpu_seconds : timing->seconds;
}

/* Returns the peer's seconds for the case of this report, or 0 if the peer is absent. */
static double peer_seconds(const bench_bar *bar, const tally_device_info *const *devices, int device_count,
                           const bench_results *results, const bench_report *r) {
    const bench_input *in = &r->input;
    if (!strcmp(bar->peer, bench_primitives[bar->primitive].ceiling))
        return r->ceiling > 0 ? (double)report_bytes(in) / r->ceiling : 0;
    for (int e = 1; e < r->count; e++)
        if (!strcmp(r->names[e], bar->peer)) return seconds_of(&r->timings[e], bar->gpu);
    for (int d = 0; d < device_count && !strcmp(bar->peer, PEER_OURS); d++) {
        if (strcmp(devices[d]->backend, "cuda") || strcmp(devices[d]->name, in->device->name)) continue;
        const bench_report *other = find_report(results, devices[d], in->task, in->in, in->n);
        if (other) return seconds_of(&other->timings[0], bar->gpu);
    }
    return 0;
}

static void count_case(const bench_bar *bar, bar_verdict *v, double is, const bench_task *task, tally_dtype in, uint64_t n,
                       FILE *misses) {
    const int more_is_better = bar->kind == BAR_TIMES || bar->kind == BAR_BITS;
    const int failed = more_is_better ? is < bar->limit : is > bar->limit;
    if (failed && misses)
        wrap_printf(misses, "missed: %s of %s, n = %s: %s", task_name(task).text, tally_dtype_name(in), units_items(n).text,
                    measure_text(bar, is).text);
    v->failed += failed;
    if (v->shown++ && (more_is_better ? is >= v->worst : is <= v->worst)) return;
    v->worst = is;
    v->task = task;
    v->in = in;
    v->n = n;
}

static void judge_times(const bench_bar *bar, const tally_device_info *const *devices, int device_count,
                        const bench_results *results, const bench_report *r, bar_verdict *v, FILE *misses) {
    const double ours = seconds_of(&r->timings[0], bar->gpu);
    const double peers = bar->peer ? peer_seconds(bar, devices, device_count, results, r) : 0;
    if (ours <= 0 || (bar->peer && peers <= 0)) return;
    const double is = bar->kind == BAR_TIMES ? peers / ours : bar->kind == BAR_WITHIN ? ours - peers : ours;
    count_case(bar, v, is, r->input.task, r->input.in, r->input.n, misses);
}

/* Judges a bar of bits. A single device shows nothing. */
static void judge_bits(const bench_bar *bar, const bench_results *results, const bench_task *task, tally_dtype in, uint64_t n,
                       bar_verdict *v, FILE *misses) {
    int devices;
    const int equal = bits_compare(results, &(bench_result){.task = task, .in = in, .n = n}, &devices);
    if (devices < 2) return;
    if (!v->devices || devices < v->devices) v->devices = devices;
    count_case(bar, v, equal, task, in, n, misses);
}

bar_verdict bars_judge(const bench_bar *bar, const tally_device_info *const *devices, int device_count,
                       const bench_results *results, FILE *misses) {
    bar_verdict v = {0};
    bench_sizes sizes = {.count = 0};
    sizes_add(&sizes, bar->sizes);
    for (const bench_task *task = bench_tasks(); task->primitive; task++)
        for (tally_dtype in = TALLY_DTYPE_DEFAULT + 1; in < TALLY_DTYPE_END; in++)
            for (int i = 0; i < sizes.count; i++) {
                if (!has_case(bar, task, in, sizes.n[i])) continue;
                if (bar->kind == BAR_BITS) {
                    v.wanted++;
                    judge_bits(bar, results, task, in, sizes.n[i], &v, misses);
                    continue;
                }
                for (int d = 0; d < device_count; d++) {
                    if (!applies(bar, devices[d])) continue;
                    v.wanted++;
                    const bench_report *r = find_report(results, devices[d], task, in, sizes.n[i]);
                    if (r) judge_times(bar, devices, device_count, results, r, &v, misses);
                }
            }
    return v;
}

/* ---- reports --------------------------------------------------------------------------------- */

typedef enum outcome { PASSED, FAILED, NOT_SHOWN } outcome;

/* Returns the outcome. A bar is met if all of its cases were measured and none failed. */
static outcome outcome_of(const bar_verdict *v) {
    return v->failed ? FAILED : v->wanted && v->shown == v->wanted ? PASSED : NOT_SHOWN;
}

static const char *const outcome_names[] = {"passed", "FAILED", "not shown"};

static void print_bar(FILE *out, const bench_bar *bar, const bar_verdict *v) {
    char clock[32] = "", shown[96] = "", devices[32] = "", worst[192] = "";
    if (bar->kind != BAR_BITS) snprintf(clock, sizeof(clock), ", %s time", clock_text(bar));
    if (!v->wanted)
        snprintf(shown, sizeof(shown), ": no such device");
    else if (v->failed)
        snprintf(shown, sizeof(shown), " in %d of %d cases that ran", v->failed, v->shown);
    else if (v->shown < v->wanted)
        snprintf(shown, sizeof(shown), ": only %d of %d cases ran", v->shown, v->wanted);
    if (v->devices) snprintf(devices, sizeof(devices), "; %d devices", v->devices);
    if (v->shown)
        snprintf(worst, sizeof(worst), "; worst: %s of %s, n = %s: %s", task_name(v->task).text, tally_dtype_name(v->in),
                 units_items(v->n).text, measure_text(bar, v->worst).text);
    wrap_printf(out, "bar: %s%s%s: %s %s of %s, n = %s%s: %s: %s%s%s%s", place_text(bar), bar->backend ? ", " : "",
                bar->backend ? bar->backend : "", bench_primitives[bar->primitive].name, bar->ops, bar->types,
                sizes_text(bar).text, clock, limit_text(bar).text, outcome_names[outcome_of(v)], shown, devices, worst);
}

static void print_bar_json(const bench_bar *bar, const bar_verdict *v) {
    char worst[256] = "";
    const bar_text limit = limit_text(bar), sizes = sizes_text(bar);
    if (v->shown)
        snprintf(worst, sizeof(worst), "%s of %s, %s: %s", task_name(v->task).text, tally_dtype_name(v->in),
                 units_items(v->n).text, measure_text(bar, v->worst).text);
    const char *const texts[][2] = {{"bar", limit.text},
                                    {"where", place_text(bar)},
                                    {"backend", bar->backend ? bar->backend : "all"},
                                    {"primitive", bench_primitives[bar->primitive].name},
                                    {"ops", bar->ops},
                                    {"dtypes", bar->types},
                                    {"sizes", sizes.text},
                                    {"clock", clock_text(bar)},
                                    {"outcome", outcome_names[outcome_of(v)]},
                                    {"worst", worst}};
    printf("{");
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) report_json_text(texts[i][0], texts[i][1]), printf(", ");
    printf("\"cases\": %d, \"shown\": %d, \"failed\": %d}\n", v->wanted, v->shown, v->failed);
}

int bars_print(const tally_device_info *const *devices, int device_count, const bench_results *results, int json) {
    FILE *out = json ? stderr : stdout;
    int outcomes[] = {0, 0, 0};
    for (const bench_bar *bar = bench_bars; bar->ops; bar++) {
        const bar_verdict v = bars_judge(bar, devices, device_count, results, out);
        print_bar(out, bar, &v);
        if (json) print_bar_json(bar, &v);
        outcomes[outcome_of(&v)]++;
    }
    fprintf(out, "bars: %d passed, %d FAILED, %d not shown\n", outcomes[PASSED], outcomes[FAILED], outcomes[NOT_SHOWN]);
    return outcomes[FAILED] || !outcomes[PASSED];
}

void bars_print_table(FILE *out) {
    fputs("| device | by | primitive | operators, maps | items | n | clock | bar |\n|---|---|---|---|---|---|---|---|\n", out);
    for (const bench_bar *bar = bench_bars; bar->ops; bar++) {
        fprintf(out, "| %s", bar->where && !strcmp(bar->where, POCL) ? "POCL" : place_text(bar));
        if (bar->units) fprintf(out, ", up to %u cores", bar->units);
        fprintf(out, " | %s | %s | %s | %s | %s | %s | %s |\n", bar->backend ? bar->backend : "all",
                bench_primitives[bar->primitive].name, bar->ops, bar->types, sizes_text(bar).text, clock_text(bar),
                limit_text(bar).text);
    }
}
