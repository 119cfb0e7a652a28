/* SPDX-License-Identifier: MIT */
/*
 * tally_bench: tally and its peers in one run, on the same memory: each result is checked against the known sum, then the engines
 * take turns in blocks, and medians are reported. Cases so far: the sum of f32.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "bench.h"

#define MAX_SIZES 24
#define MAX_DEVICES 16

typedef struct bench_options {
    const char *select; /* entries of TALLY_BACKEND's form, each of which is run; NULL: every device */
    int exponents[MAX_SIZES], size_count;
    int blocks;
    int json, bar;
} bench_options;

/* What tally promises, checked by --bar: at sizes 2^first to 2^last, at least this speed, or this share of the peer's. */
typedef struct bench_bar {
    const char *where; /* a part of the device's or platform's name */
    int first, last;
    double ratio, bytes_per_second; /* 0: not this one */
} bench_bar;

static const bench_bar bars[] = {
    {.where = "Portable Computing Language", .first = 24, .last = 27, .ratio = 0.9},
    {.where = "H200", .first = 28, .last = 28, .bytes_per_second = 4.2e12},
};

typedef struct bench_totals {
    int cases, failed_cases, checked_bars, failed_bars;
} bench_totals;

static const char usage[] =
    "usage: tally_bench [--backend LIST] [--sizes LIST] [--blocks N] [--json] [--bar]\n"
    "  --backend LIST  devices, each of which is run: opencl:pocl,cuda:0 (default: every device)\n"
    "  --sizes LIST    exponents of two, 1 to 30 (default: 16,20,24,26,28)\n"
    "  --blocks N      timed blocks of each engine, 7 to 101 (default: 15)\n"
    "  --json          one JSON object a line instead of the table\n"
    "  --bar           only the sizes that the project has speed bars for; exit 1 if one is missed or none applies\n";

static const bench_bar *find_bar(const tally_device_info *device) {
    for (size_t i = 0; i < sizeof(bars) / sizeof(bars[0]); i++)
        if (strstr(device->name, bars[i].where) || strstr(device->platform, bars[i].where)) return &bars[i];
    return NULL;
}

/* ---- one case ------------------------------------------------------------------------------------------------------ */

static int open_peer(const bench_input *input, const tally_device_info *device, bench_engine *out) {
    if (device->device_class == TALLY_CLASS_CPU) return openmp_open(input, out) ? -1 : 1;
#ifdef TALLY_BENCH_CUB
    if (!strcmp(device->backend, "cuda")) return cub_open(input, device->index, out) ? -1 : 1;
#endif
    (void)out;
    return 0;
}

/* Nothing is timed that was not found right first. */
static int check(bench_engine *engine, float expected) {
    if (engine->run(engine->state, 1)) return 1;
    const float found = engine->value(engine->state);
    if (found == expected) return 0;
    fprintf(stderr, "tally_bench: %s: the sum is %.9g: it should be %.9g\n", engine->name, (double)found, (double)expected);
    return 1;
}

static void check_bar(const bench_bar *bar, const bench_report *r, bench_totals *totals) {
    if (!bar || r->n < UINT64_C(1) << bar->first || r->n > UINT64_C(1) << bar->last) return;
    totals->checked_bars++;
    const double is = bar->ratio > 0 ? r->theirs.seconds / r->ours.seconds : report_speed(r->n, &r->ours);
    const double should = bar->ratio > 0 ? bar->ratio : bar->bytes_per_second;
    const int passed = is >= should && (bar->ratio <= 0 || r->peer);
    totals->failed_bars += !passed;
    fprintf(stderr, "bar: %s:%d, n = %llu: %.4g, at least %.4g %s: %s\n", r->device->backend, r->device->index,
            (unsigned long long)r->n, is, should, bar->ratio > 0 ? "of the peer's speed" : "bytes per second",
            passed ? "passed" : "FAILED");
}

static int run_case(const bench_options *options, const bench_input *input, const tally_device_info *device,
                    bench_totals *totals) {
    bench_engine engines[2] = {0};
    bench_timing timings[2] = {0};
    tally_plan *plan = NULL;
    const tally_reduce_desc desc = {.size = sizeof(desc), .op = TALLY_SUM, .in = TALLY_F32, .max_n = input->n};
    const float expected = input_sum(input->host, input->n);
    int count = 0, failed = 1;
    if (ours_open(input, device, &engines[0])) goto done;
    count = 1;
    const int peer = open_peer(input, device, &engines[1]);
    if (peer < 0) goto done;
    count += peer;
    for (int e = 0; e < count; e++)
        if (check(&engines[e], expected)) goto done;
    if (measure(engines, count, options->blocks, timings)) goto done;
    for (int e = 0; e < count; e++)
        if (check(&engines[e], expected)) goto done;
    if (tally_plan_create(input->context, &desc, &plan)) goto done;
    const bench_report report = {.device = device,
                                 .variant = tally_plan_variant(plan),
                                 .peer = count > 1 ? engines[1].name : NULL,
                                 .n = input->n,
                                 .ours = timings[0],
                                 .theirs = timings[1]};
    if (options->json)
        report_json(&report, options->blocks);
    else
        report_row(&report);
    fflush(stdout);
    if (options->bar) check_bar(find_bar(device), &report, totals);
    failed = 0;
done:
    tally_plan_destroy(plan);
    for (int e = 0; e < count; e++) engines[e].close(engines[e].state);
    return failed;
}

/* ---- one device ---------------------------------------------------------------------------------------------------- */

/* The items on the device: the host's own where it reads those, a copy elsewhere. */
static int open_input(bench_input *input, const tally_device_info *device, uint64_t n) {
    const uint64_t bytes = n * sizeof(float);
    if (device->host_memory) return (int)tally_buffer_wrap_host(input->context, input->host, bytes, &input->buffer);
    tally_queue *queue = NULL;
    tally_status status = tally_buffer_create(input->context, bytes, &input->buffer);
    if (!status) status = tally_queue_create(input->context, &queue);
    if (!status) status = tally_buffer_write(queue, input->buffer, 0, input->host, bytes);
    if (!status) status = tally_queue_wait(queue);
    tally_queue_destroy(queue);
    return (int)status;
}

static int fits(const tally_device_info *device, int exponent) {
    const uint64_t bytes = sizeof(float) << exponent;
    return bytes <= device->max_buffer_bytes && (device->host_memory || bytes <= device->memory_bytes / 2);
}

static void run_device(const bench_options *options, const char *select, const float *items, bench_totals *totals) {
    bench_input input = {.host = items};
    tally_context_info info;
    if (tally_context_create(select, &input.context) || tally_context_get_info(input.context, &info)) {
        fprintf(stderr, "tally_bench: %s\n", tally_last_error());
        totals->failed_cases++;
        return;
    }
    const bench_bar *bar = find_bar(&info.device);
    int largest = 0;
    for (int i = 0; i < options->size_count; i++) {
        const int exponent = options->exponents[i];
        if (exponent > largest && fits(&info.device, exponent)) largest = exponent;
    }
    if (options->bar && !bar) {
        fprintf(stderr, "bar: none for %s:%d %s\n", info.device.backend, info.device.index, info.device.name);
    } else if (open_input(&input, &info.device, UINT64_C(1) << largest)) {
        fprintf(stderr, "tally_bench: %s\n", tally_last_error());
        totals->failed_cases++;
    } else {
        for (int i = 0; i < options->size_count; i++) {
            const int exponent = options->exponents[i];
            if (options->bar && (exponent < bar->first || exponent > bar->last)) continue;
            if (!fits(&info.device, exponent)) {
                fprintf(stderr, "tally_bench: %s: 2^%d items do not fit\n", info.device.name, exponent);
                continue;
            }
            input.n = UINT64_C(1) << exponent;
            totals->cases++;
            totals->failed_cases += run_case(options, &input, &info.device, totals);
        }
    }
    tally_buffer_destroy(input.buffer);
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

static int parse_number(const char **text, int least, int most) {
    char *end;
    errno = 0;
    const long value = strtol(*text, &end, 10);
    if (end == *text || errno || value < least || value > most) return -1;
    *text = end;
    return (int)value;
}

static int parse_sizes(const char *text, bench_options *options) {
    options->size_count = 0;
    for (;; text++) {
        const int exponent = parse_number(&text, 1, MAX_EXPONENT);
        if (exponent < 0 || options->size_count == MAX_SIZES) return 1;
        options->exponents[options->size_count++] = exponent;
        if (*text != ',') return *text != 0;
    }
}

/* 0: go on; else the exit status + 1. */
static int parse(int argc, char **argv, bench_options *options) {
    static const struct option names[] = {{"backend", required_argument, NULL, 'd'},
                                          {"sizes", required_argument, NULL, 's'},
                                          {"blocks", required_argument, NULL, 'b'},
                                          {"json", no_argument, NULL, 'j'},
                                          {"bar", no_argument, NULL, 'r'},
                                          {"help", no_argument, NULL, 'h'},
                                          {NULL, 0, NULL, 0}};
    int name, wrong = 0;
    const char *sizes = NULL;
    *options = (bench_options){.blocks = 15};
    while ((name = getopt_long(argc, argv, "", names, NULL)) >= 0) {
        if (name == 'd') options->select = optarg;
        if (name == 's') sizes = optarg;
        if (name == 'b') {
            const char *text = optarg;
            options->blocks = parse_number(&text, 7, 101);
            wrong |= options->blocks < 0 || *text;
        }
        if (name == 'j') options->json = 1;
        if (name == 'r') options->bar = 1;
        if (name == 'h') return fputs(usage, stdout), 1;
        if (name == '?') wrong = 1;
    }
    if (!sizes) sizes = options->bar ? "24,25,26,27,28" : "16,20,24,26,28";
    if (wrong || optind < argc || parse_sizes(sizes, options)) return fputs(usage, stderr), 3;
    return 0;
}

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
    const int wrong = parse(argc, argv, &options);
    if (wrong) return wrong - 1;
    char selections[MAX_DEVICES][64];
    const int devices = options.select ? split_devices(options.select, selections) : list_devices(selections);
    if (!devices) return fprintf(stderr, "tally_bench: no device to run on\n"), 1;

    int largest = 0;
    for (int i = 0; i < options.size_count; i++)
        if (options.exponents[i] > largest) largest = options.exponents[i];
    const size_t bytes = sizeof(float) << largest;
    float *items = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (items == MAP_FAILED) return fprintf(stderr, "tally_bench: 2^%d items: %s\n", largest, strerror(errno)), 1;
    input_fill(items, UINT64_C(1) << largest);

    if (!options.json) {
        printf("sum of f32; medians of %d alternating blocks; OpenMP: %d threads; ratio: our speed / the peer's\n",
               options.blocks, openmp_threads());
        report_heading();
    }
    bench_totals totals = {0};
    for (int i = 0; i < devices; i++) run_device(&options, selections[i], items, &totals);
    munmap(items, bytes);
    if (!totals.cases || totals.failed_cases) return fprintf(stderr, "tally_bench: %d cases failed\n", totals.failed_cases), 1;
    if (options.bar && !totals.checked_bars) return fprintf(stderr, "tally_bench: no bar applies to these devices\n"), 1;
    return totals.failed_bars > 0;
}
