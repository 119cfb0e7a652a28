/* SPDX-License-Identifier: MIT */
/* case.c: runs one case. Each engine's result is checked against the known one. Then the engines
 * take turns in blocks, and their medians are reported. For bits, only the result is kept. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench.h"
#include "tools/print/units.h"

/* A peer that was not built in cannot be opened. */
#ifndef TALLY_BENCH_CBLAS
#define cblas_open NULL
#endif
#ifndef TALLY_BENCH_CLBLAST
#define clblast_open NULL
#endif
#ifndef TALLY_BENCH_COMPUTE
#define compute_open NULL
#define compute_scan_open NULL
#define compute_move_open NULL
#endif
#ifndef TALLY_BENCH_OPENCL
#define opencl_copy_open NULL
#endif
#ifndef TALLY_BENCH_CUDA
#define cub_open NULL
#define cub_scan_open NULL
#define thrust_open NULL
#define thrust_move_open NULL
#define cublas_open NULL
#define launch_open NULL
#define cuda_copy_open NULL
#endif

/* Each engine itself says which cases it takes. */
#define MOVES(open) [BENCH_GATHER] = open, [BENCH_SCATTER] = open
const bench_peer bench_peers[] = {
    {"tally-unchecked", {MOVES(unchecked_open)}},
    {"OpenMP", {[BENCH_REDUCE] = openmp_open, [BENCH_SCAN] = openmp_scan_open, MOVES(openmp_move_open)}},
    {"CBLAS", {[BENCH_REDUCE] = cblas_open}},
    {"CLBlast", {[BENCH_REDUCE] = clblast_open}},
    {"Boost.Compute", {[BENCH_REDUCE] = compute_open, [BENCH_SCAN] = compute_scan_open, MOVES(compute_move_open)}},
    {"CUB", {[BENCH_REDUCE] = cub_open, [BENCH_SCAN] = cub_scan_open}},
    {"Thrust", {[BENCH_REDUCE] = thrust_open, MOVES(thrust_move_open)}},
    {"cuBLAS", {[BENCH_REDUCE] = cublas_open}},
    {PEER_LAUNCH, {[BENCH_REDUCE] = launch_open}},
    {NULL, {NULL}},
};

/* Checks a result that input_expected does not know. */
static int check_by_oracle(const bench_input *input, const bench_engine *engine, int is_ours) {
    unsigned char value[RESULT_BYTES];
    if (!is_ours) return !is_near_expected(input, engine->name, engine->value(engine->state));
    const size_t bytes = ours_result(engine, value);
    return !bytes || !is_expected(input, engine->name, value, bytes);
}

static int check_value(const bench_input *input, bench_engine *engine, int is_ours) {
    double tolerance;
    if (engine->run(engine->state, 1)) return 1;
    if (!input_is_known(input)) return check_by_oracle(input, engine, is_ours);
    const double expected = input_expected(input, &tolerance);
    const double found = engine->value(engine->state);
    if (fabs(found - expected) <= tolerance) return 0;
    fprintf(stderr, "tally_bench: %s: %s of %llu %s is %.17g: it should be %.17g\n", engine->name, task_name(input->task).text,
            (unsigned long long)input->n, tally_dtype_name(input->in), found, expected);
    return 1;
}

static int check_output(const bench_input *input, bench_engine *engine, int is_copy) {
    return output_poison(input) || engine->run(engine->state, 1) || output_check(input, engine->name, is_copy);
}

/* Checks an engine's result. Only engines with a right result are timed. */
int case_check(const bench_input *input, bench_engine *engine, int is_ours) {
    if (!strcmp(engine->name, PEER_LAUNCH)) return engine->run(engine->state, 1);
    return engine->value ? check_value(input, engine, is_ours) : check_output(input, engine, 0);
}

/* Returns true if the run wants the peer. The cost of the checks in gathers and scatters is
 * reported beside the bars. */
static int is_wanted(const bench_options *options, const bench_input *input, const bench_peer *peer) {
    if (!peer->open[input->task->primitive] || !is_listed(options->peers, peer->name)) return 0;
    return !options->bar || peer->open[input->task->primitive] == unchecked_open || bars_need_peer(input, peer->name);
}

/* Opens the engines. A peer that fails reports the error and is left out; the case fails if tally
 * does. */
static int open_engines(const bench_options *options, const bench_input *input, bench_engine *engines) {
    int count = 0;
    if (ours_open(input, &engines[0])) return 0;
    if (case_check(input, &engines[0], 1)) return engines[0].close(engines[0].state), 0;
    count = 1;
    for (const bench_peer *peer = bench_peers; peer->name && count < MAX_ENGINES; peer++) {
        bench_engine *engine = &engines[count];
        if (!is_wanted(options, input, peer)) continue;
        *engine = (bench_engine){0};
        if (peer->open[input->task->primitive](input, engine)) continue;
        engine->name = peer->name;
        if (case_check(input, engine, 0))
            engine->close(engine->state);
        else
            count++;
    }
    return count;
}

/* Makes room for another row of `bytes` bytes behind `count` rows. Returns NULL if memory is
 * short. */
static void *add_row(void *rows, size_t count, size_t bytes) {
    void *more = realloc(rows, (count + 1) * bytes);
    if (!more) fprintf(stderr, "tally_bench: out of memory\n");
    return more;
}

int keep_report(bench_results *all, const bench_report *report) {
    bench_report *reports = add_row(all->reports, all->report_count, sizeof(*reports));
    if (!reports) return 1;
    all->reports = reports;
    reports[all->report_count++] = *report;
    return 0;
}

static int keep_result(bench_results *all, const bench_result *result) {
    bench_result *results = add_row(all->results, all->result_count, sizeof(*results));
    if (!results) return 1;
    all->results = results;
    results[all->result_count++] = *result;
    return 0;
}

/* Returns true if the case is large enough for a ceiling. */
static int wants_ceiling(const bench_options *options, const bench_input *input) {
    if (options->grid) return 1;
    if (report_bytes(input) < LEAST_CEILING) return 0;
    return !options->bar || input->task->primitive != BENCH_REDUCE || bars_need_peer(input, PEER_READ);
}

static engine_open *copy_on(const tally_device_info *device) {
    if (is_host(device)) return openmp_copy_open;
    if (!strcmp(device->backend, "cuda")) return cuda_copy_open;
    return opencl_copy_open;
}

/* Measures the bytes per second of a copy of as many items, by the device's clock if possible. 0
 * means no copy. */
static int measure_copy(const bench_options *options, const bench_input *input, double *out) {
    engine_open *const open = copy_on(input->device);
    bench_engine copy = {0};
    bench_timing timing = {0};
    *out = 0;
    if (!open) return 0;
    if (open(input, &copy)) return 1;
    copy.name = PEER_COPY;
    const int failed = check_output(input, &copy, 1) || measure(PEER_COPY, &copy, 1, options, 1, &timing);
    copy.close(copy.state);
    const double seconds = timing.gpu_seconds > 0 ? timing.gpu_seconds : timing.seconds;
    if (!failed) *out = 2 * (double)array_bytes(ARRAY_X, input->in, input->n) / seconds;
    return failed;
}

/* Measures the ceiling itself. */
static int measure_now(const bench_options *options, const bench_input *input, double *out) {
    const uint64_t bytes = report_bytes(input);
    const int copies = is_copied(input->task);
    if (copies && !input->form) return measure_copy(options, input, out);
    const tally_status status =
        copies ? tally_measure_copy(input->context, bytes / 2, out) : tally_measure_read(input->context, bytes, out);
    if (status) fprintf(stderr, "tally_bench: %s\n", tally_last_error());
    return status != TALLY_OK;
}

/* A grid has hundreds of cells of few sizes, and each measurement of a ceiling fills a buffer. So
 * one serves the cells of the next seconds too, 20 times as long as it took. */
#define SERVES 20
int measure_ceiling(const bench_options *options, const bench_input *input, double *out) {
    static struct {
        const tally_context *context;
        int is_copied;
        uint64_t bytes;
        double until, bytes_per_second;
    } kept[8], *last = kept;
    const size_t count = sizeof(kept) / sizeof(kept[0]);
    const uint64_t bytes = report_bytes(input);
    const double now = units_seconds();
    for (size_t k = 0; options->grid && k < count; k++)
        if (kept[k].context == input->context && kept[k].is_copied == is_copied(input->task) && kept[k].bytes == bytes &&
            now <= kept[k].until)
            return *out = kept[k].bytes_per_second, 0;
    last = last + 1 < kept + count ? last + 1 : kept;
    last->context = NULL;
    if (measure_now(options, input, out)) return 1;
    last->context = input->context;
    last->is_copied = is_copied(input->task);
    last->bytes = bytes;
    last->bytes_per_second = *out;
    last->until = units_seconds() + SERVES * (units_seconds() - now);
    return 0;
}

int case_times(const bench_options *options, const bench_input *input, bench_results *results) {
    bench_engine engines[MAX_ENGINES] = {0};
    bench_report report = {.input = *input, .blocks = options->blocks};
    char what[64];
    snprintf(what, sizeof(what), "%s of %llu %s", task_name(input->task).text, (unsigned long long)input->n,
             tally_dtype_name(input->in));
    int failed = 1;
    const int count = report.count = open_engines(options, input, engines);
    if (!count || measure(options->grid ? NULL : what, engines, count, options, input->copies, report.timings)) goto done;
    for (int e = 0; e < count; e++)
        if (case_check(input, &engines[e], e == 0)) goto done;
    if (wants_ceiling(options, input) && measure_ceiling(options, input, &report.ceiling)) goto done;
    report.variant = ours_variant(&engines[0]);
    for (int e = 0; e < count; e++) report.names[e] = engines[e].name;
    if (options->json)
        report_json(&report, compile_find(results, input));
    else if (!options->grid)
        report_rows(&report);
    fflush(stdout);
    failed = keep_report(results, &report) || (options->plot && !options->grid && figure_add(&report));
done:
    for (int e = 0; e < count; e++) engines[e].close(engines[e].state);
    return failed;
}

/* Gets the bytes of the value or of a hash. Returns 0 on failure. */
static size_t result_of(const bench_input *input, const bench_engine *ours, unsigned char *bytes) {
    uint64_t hash;
    if (ours->value) return ours_result(ours, bytes);
    if (output_hash(input, &hash)) return 0;
    memcpy(bytes, &hash, sizeof(hash));
    return sizeof(hash);
}

int case_bits(const bench_options *options, const bench_input *input, bench_results *results) {
    bench_engine ours = {0};
    bench_result result = {.device = input->device, .task = input->task, .in = input->in, .n = input->n};
    if (ours_open(input, &ours)) return 1;
    if ((ours.value || !output_poison(input)) && !ours.run(ours.state, 1)) result.bytes = result_of(input, &ours, result.value);
    ours.close(ours.state);
    if (!result.bytes) return 1;
    report_result(&result, options->json);
    return keep_result(results, &result);
}
