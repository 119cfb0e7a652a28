/* SPDX-License-Identifier: MIT */
/* One case: each engine's result is checked against the known one, then they take turns in blocks, and medians are reported; or the bits of
 * a result. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "bench.h"

#define LEAST_CEILING (UINT64_C(64) << 20)

/* A peer that was not there when this was built has no way in. */
#ifndef TALLY_BENCH_CBLAS
#define cblas_open NULL
#endif
#ifndef TALLY_BENCH_CLBLAST
#define clblast_open NULL
#endif
#ifndef TALLY_BENCH_COMPUTE
#define compute_open NULL
#endif
#ifndef TALLY_BENCH_CUDA
#define cub_open NULL
#define thrust_open NULL
#define cublas_open NULL
#endif

/* Each says itself which cases it takes. */
const bench_peer bench_peers[] = {
    {"OpenMP", openmp_open}, {"CBLAS", cblas_open},   {"CLBlast", clblast_open}, {"Boost.Compute", compute_open},
    {"CUB", cub_open},       {"Thrust", thrust_open}, {"cuBLAS", cublas_open},   {NULL, NULL},
};

/* Nothing is timed that was not found right first. */
static int check(const bench_input *input, bench_engine *engine) {
    double tolerance;
    const double expected = input_expected(input, &tolerance);
    if (engine->run(engine->state, 1)) return 1;
    const double found = engine->value(engine->state);
    if (fabs(found - expected) <= tolerance) return 0;
    fprintf(stderr, "tally_bench: %s: %s of %llu %s is %.17g: it should be %.17g\n", engine->name, tally_op_name(input->op),
            (unsigned long long)input->n, tally_dtype_name(input->in), found, expected);
    return 1;
}

static int is_wanted(const bench_options *options, const bench_input *input, const char *peer) {
    return is_listed(options->peers, peer) && (!options->bar || bars_need_peer(input, peer));
}

/* An engine that fails says so and is left out; tally's own failure is the case's. */
static int open_engines(const bench_options *options, const bench_input *input, bench_engine *engines) {
    int count = 0;
    if (ours_open(input, &engines[0])) return 0;
    if (check(input, &engines[0])) return engines[0].close(engines[0].state), 0;
    count = 1;
    for (const bench_peer *peer = bench_peers; peer->name && count < MAX_ENGINES; peer++) {
        bench_engine *engine = &engines[count];
        if (!peer->open || !is_wanted(options, input, peer->name)) continue;
        *engine = (bench_engine){0};
        if (peer->open(input, engine)) continue;
        engine->name = peer->name;
        if (check(input, engine))
            engine->close(engine->state);
        else
            count++;
    }
    return count;
}

/* Room for one more row of `bytes` bytes behind `count` of them; NULL: out of memory. */
static void *add_row(void *rows, size_t count, size_t bytes) {
    void *more = realloc(rows, (count + 1) * bytes);
    if (!more) fprintf(stderr, "tally_bench: out of memory\n");
    return more;
}

static int keep_report(bench_results *all, const bench_report *report) {
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

/* Fewer bytes are in a cache, or it is the launch that takes the time. */
static int wants_ceiling(const bench_options *options, const bench_input *input) {
    return report_bytes(input) >= LEAST_CEILING && (!options->bar || bars_need_peer(input, PEER_READ));
}

int case_times(const bench_options *options, const bench_input *input, bench_results *results) {
    bench_engine engines[MAX_ENGINES] = {0};
    bench_report report = {.input = *input, .blocks = options->blocks};
    char what[64];
    snprintf(what, sizeof(what), "%s of %llu %s", tally_op_name(input->op), (unsigned long long)input->n,
             tally_dtype_name(input->in));
    int failed = 1;
    const int count = report.count = open_engines(options, input, engines);
    if (!count || measure(what, engines, count, options, input->copies, report.timings)) goto done;
    for (int e = 0; e < count; e++)
        if (check(input, &engines[e])) goto done;
    if (wants_ceiling(options, input) && tally_measure_read(input->context, report_bytes(input), &report.read)) goto done;
    report.variant = ours_variant(&engines[0]);
    for (int e = 0; e < count; e++) report.names[e] = engines[e].name;
    if (options->json)
        report_json(&report);
    else
        report_rows(&report);
    fflush(stdout);
    failed = keep_report(results, &report) || (options->plot && figure_add(&report));
done:
    for (int e = 0; e < count; e++) engines[e].close(engines[e].state);
    return failed;
}

int case_bits(const bench_options *options, const bench_input *input, bench_results *results) {
    bench_engine ours = {0};
    bench_result result = {.device = input->device, .op = input->op, .in = input->in, .n = input->n};
    if (ours_open(input, &ours)) return 1;
    if (!ours.run(ours.state, 1)) result.bytes = ours_result(&ours, result.value);
    ours.close(ours.state);
    if (!result.bytes) return 1;
    report_result(&result, options->json);
    return keep_result(results, &result);
}
