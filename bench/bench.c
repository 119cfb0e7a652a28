/* SPDX-License-Identifier: MIT */
/*
 * tally_bench: tally and its peers in one run, on the same memory: each result is checked against the known one, then the engines take
 * turns in blocks, and medians are reported.
 */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "bench.h"

#define LEAST_CEILING (UINT64_C(64) << 20)
#define MAX_DEVICES 16

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
    {"OpenMP", openmp_open},
    {"CBLAS", cblas_open},
    {"CLBlast", clblast_open},
    {"Boost.Compute", compute_open},
    {"CUB", cub_open},
    {"Thrust", thrust_open},
    {"cuBLAS", cublas_open},
    {NULL, NULL},
};

/* What cold calls pass through: many times the largest caches of today's GPUs (an H200's has 50 MiB). In so many calls that a graph may hold
 * them: items of fewer than 128 KiB would stay in a cache even so. */
#define COLD_BYTES (UINT64_C(512) << 20)
#define MOST_COPIES 2048

/* 0: these items cannot be cold, or (larger than half of COLD_BYTES) are always. */
static uint64_t cold_copies(uint64_t bytes) {
    const uint64_t copies = COLD_BYTES / bytes;
    if (copies < 2 || bytes * MOST_COPIES < COLD_BYTES / 2) return 0;
    return copies < MOST_COPIES ? copies : MOST_COPIES;
}

/* ---- one case ------------------------------------------------------------------------------------------------------ */

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

/* An engine that fails says so and is left out; tally's own failure is the case's. */
static int open_engines(const bench_options *options, const bench_input *input, bench_engine *engines) {
    int count = 0;
    if (ours_open(input, &engines[0])) return 0;
    if (check(input, &engines[0])) return engines[0].close(engines[0].state), 0;
    count = 1;
    for (const bench_peer *peer = bench_peers; peer->name && count < MAX_ENGINES; peer++) {
        bench_engine *engine = &engines[count];
        if (!peer->open || (options->peers && !is_listed(options->peers, peer->name))) continue;
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

static int run_case(const bench_options *options, const bench_input *input, bench_totals *totals) {
    bench_engine engines[MAX_ENGINES] = {0};
    bench_report report = {.input = input, .blocks = options->blocks};
    char what[64];
    snprintf(what, sizeof(what), "%s of %llu %s", tally_op_name(input->op), (unsigned long long)input->n,
             tally_dtype_name(input->in));
    int failed = 1;
    const int count = report.count = open_engines(options, input, engines);
    if (!count || measure(what, engines, count, options->blocks, input->copies, report.timings)) goto done;
    for (int e = 0; e < count; e++)
        if (check(input, &engines[e])) goto done;
    /* Fewer are in a cache, or it is the launch that takes the time. */
    if (report_bytes(input) >= LEAST_CEILING && tally_measure_read(input->context, report_bytes(input), &report.read))
        goto done;
    report.variant = ours_variant(&engines[0]);
    for (int e = 0; e < count; e++) report.names[e] = engines[e].name;
    if (options->json)
        report_json(&report);
    else
        report_rows(&report);
    fflush(stdout);
    if (options->bar) bars_check(&report, totals);
    failed = options->plot ? figure_add(&report) : 0;
done:
    for (int e = 0; e < count; e++) engines[e].close(engines[e].state);
    return failed;
}

/* ---- one device ---------------------------------------------------------------------------------------------------- */

/* The items on the device: the host's own where it reads those, else memory for them. */
static tally_status open_buffer(bench_input *input, int which, uint64_t bytes) {
    if (input->device->host_memory)
        return tally_buffer_wrap_host(input->context, input->host[which], bytes, &input->buffer[which]);
    return tally_buffer_create(input->context, bytes, &input->buffer[which]);
}

static int send_items(bench_input *input) {
    if (input->device->host_memory) return 0;
    const uint64_t bytes = input->n * input->copies * tally_dtype_bytes(input->in);
    tally_queue *queue = NULL;
    tally_status status = tally_queue_create(input->context, &queue);
    for (int k = 0; !status && k < 2; k++) status = tally_buffer_write(queue, input->buffer[k], 0, input->host[k], bytes);
    if (!status) status = tally_queue_wait(queue);
    tally_queue_destroy(queue);
    return (int)status;
}

static int fits(const tally_device_info *device, tally_dtype type, int exponent) {
    const uint64_t bytes = (uint64_t)tally_dtype_bytes(type) << exponent;
    return bytes <= device->max_buffer_bytes && (device->host_memory || bytes <= device->memory_bytes / 4);
}

static void fail_case(bench_totals *totals) {
    fprintf(stderr, "tally_bench: %s\n", tally_last_error());
    totals->failed_cases++;
}

/* All operators of one size, on items that are warm or cold. */
static void run_ops(const bench_options *options, bench_input *input, void *const items[2], bench_totals *totals) {
    for (int k = 0; k < 2; k++) input_fill(input->in, items[k], input->n, input->copies, k);
    if (send_items(input)) {
        fail_case(totals);
        return;
    }
    for (const tally_op *op = bench_ops; *op; op++) {
        if (!is_listed(options->ops, tally_op_name(*op))) continue;
        input->op = *op;
        totals->cases++;
        totals->failed_cases += run_case(options, input, totals);
    }
}

static void run_sizes(const bench_options *options, bench_input *input, void *const items[2], bench_totals *totals) {
    const tally_device_info *device = input->device;
    for (int i = 0; i < options->size_count; i++) {
        const int exponent = options->exponents[i];
        if (options->bar && !bars_have(device, exponent)) continue;
        if (!fits(device, input->in, exponent)) {
            fprintf(stderr, "tally_bench: %s: 2^%d items do not fit\n", device->name, exponent);
            continue;
        }
        input->n = UINT64_C(1) << exponent;
        input->copies = 1;
        if (is_listed(options->caches, "warm")) run_ops(options, input, items, totals);
        input->copies = cold_copies(input->n * tally_dtype_bytes(input->in));
        if (input->copies && is_listed(options->caches, "cold")) run_ops(options, input, items, totals);
    }
}

/* Bytes of one input at most. */
static uint64_t input_bytes(const bench_options *options, tally_dtype in, int largest) {
    const uint64_t bytes = (uint64_t)tally_dtype_bytes(in) << largest;
    return bytes < COLD_BYTES && is_listed(options->caches, "cold") ? COLD_BYTES : bytes;
}

static void run_device(const bench_options *options, const char *select, void *const items[2], bench_totals *totals) {
    bench_input input = {.host = {items[0], items[1]}};
    tally_context_info info;
    if (tally_context_create(select, &input.context) || tally_context_get_info(input.context, &info)) {
        fail_case(totals);
        tally_context_destroy(input.context);
        return;
    }
    input.device = &info.device;
    const int wanted = bars_apply(&info.device);
    if (options->bar && !wanted)
        fprintf(stderr, "bar: none for %s:%d %s\n", info.device.backend, info.device.index, info.device.name);
    for (const tally_dtype *type = bench_types; *type && (wanted || !options->bar); type++) {
        if (!is_listed(options->types, tally_dtype_name(*type))) continue;
        int largest = 0;
        for (int i = 0; i < options->size_count; i++)
            if (options->exponents[i] > largest && fits(&info.device, *type, options->exponents[i]))
                largest = options->exponents[i];
        input.in = *type;
        const uint64_t bytes = input_bytes(options, input.in, largest);
        if (open_buffer(&input, 0, bytes) || open_buffer(&input, 1, bytes))
            fail_case(totals);
        else
            run_sizes(options, &input, items, totals);
        for (int k = 0; k < 2; k++) {
            tally_buffer_destroy(input.buffer[k]);
            input.buffer[k] = NULL;
        }
    }
    tally_context_destroy(input.context);
}

/* Every device of every backend, as selections. */
static int list_devices(char selections[MAX_DEVICES][64]) {
    int count = 0;
    for (size_t b = 0; b < tally_backend_count(); b++) {
        tally_backend_info info;
        if (tally_backend_get(b, &info)) continue;
        for (int i = 0; i < info.devices && count < MAX_DEVICES; i++) snprintf(selections[count++], 64, "%s:%d", info.name, i);
    }
    return count;
}

static int split_devices(const char *list, char selections[MAX_DEVICES][64]) {
    int count = 0;
    while (*list && count < MAX_DEVICES) {
        const size_t length = strcspn(list, ",");
        if (length) snprintf(selections[count++], 64, "%.*s", (int)(length < 63 ? length : 63), list);
        list += length + (list[length] == ',');
    }
    return count;
}

/* ---- the program --------------------------------------------------------------------------------------------------- */

/*
 * libgomp reads these when it is loaded. Its threads must not spin for long while the other engine runs, but sleeping at once would
 * make the peer pay for waking them at each call: 50 us instead of 1.6 at 2^16 (2 cores, November 2026). So they spin for less than
 * a warm-up lasts, which costs neither of the two.
 */
static void restart_with_brief_spinning(char **argv) {
    if (getenv("OMP_WAIT_POLICY")) return;
    setenv("OMP_WAIT_POLICY", "passive", 1);
    setenv("GOMP_SPINCOUNT", "30000", 0);
    execv("/proc/self/exe", argv);
}

int main(int argc, char **argv) {
    restart_with_brief_spinning(argv);
    bench_options options;
    const int wrong = options_parse(argc, argv, &options);
    if (wrong) return wrong - 1;
    char selections[MAX_DEVICES][64];
    const int devices = options.select ? split_devices(options.select, selections) : list_devices(selections);
    if (!devices) return fprintf(stderr, "tally_bench: no device to run on\n"), 1;

    int largest = 0;
    for (int i = 0; i < options.size_count; i++)
        if (options.exponents[i] > largest) largest = options.exponents[i];
    const uint64_t bytes = input_bytes(&options, is_listed(options.types, "f64") ? TALLY_F64 : TALLY_F32, largest);
    void *items[2];
    for (int k = 0; k < 2; k++) {
        items[k] = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (items[k] == MAP_FAILED) return fprintf(stderr, "tally_bench: 2^%d items: %s\n", largest, strerror(errno)), 1;
    }

    if (!options.json) {
        printf("medians of %d alternating blocks; OpenMP: %d threads; \"tally is\": our speed / the engine's\n", options.blocks,
               openmp_threads());
        report_heading();
    }
    bench_totals totals = {0};
    for (int i = 0; i < devices; i++) run_device(&options, selections[i], items, &totals);
    for (int k = 0; k < 2; k++) munmap(items[k], bytes);
    if (options.plot && figure_write(options.plot, options.blocks)) return 1;
    if (!totals.cases || totals.failed_cases) return fprintf(stderr, "tally_bench: %d cases failed\n", totals.failed_cases), 1;
    if (options.bar && !totals.checked_bars) return fprintf(stderr, "tally_bench: no bar applies to these devices\n"), 1;
    return totals.failed_bars > 0;
}
