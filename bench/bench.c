/* SPDX-License-Identifier: MIT */
/*
 * tally_bench: tally and its peers in one run, on the same memory: each result is checked against the known one, then the engines take
 * turns in blocks, and medians are reported.
 */
#include <errno.h>
#include <getopt.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "bench.h"

#define MAX_SIZES 31
#define LEAST_CEILING (UINT64_C(64) << 20)
#define MAX_DEVICES 16

typedef struct bench_options {
    const char *select, *ops, *types, *peers, *caches; /* lists; NULL: every device, every peer */
    int exponents[MAX_SIZES], size_count;
    int blocks;
    int json, bar;
    const char *plot; /* a file; NULL: none */
} bench_options;

/* Those that there are nothing but their own adapter for; each says itself which cases it takes. */
static int (*const peers[])(const bench_input *input, bench_engine *out) = {
    openmp_open,
#ifdef TALLY_BENCH_CBLAS
    cblas_open,
#endif
#ifdef TALLY_BENCH_CLBLAST
    clblast_open,
#endif
#ifdef TALLY_BENCH_COMPUTE
    compute_open,
#endif
#ifdef TALLY_BENCH_CUDA
    cub_open,     thrust_open, cublas_open,
#endif
};

/* What tally promises of the sum of f32, checked by --bar: at sizes 2^first to 2^last, at least this many times the peer's speed, or this one
 * of its own. A peer that is not there is not compared. */
typedef struct bench_bar {
    const char *where; /* a part of the device's or platform's name */
    const char *peer;  /* NULL: its own speed counts */
    int first, last;
    double least; /* times the peer's speed; bytes per second */
} bench_bar;

static const bench_bar bars[] = {
    {"Portable Computing Language", "OpenMP", 24, 27, 0.9},
    {"Portable Computing Language", "CLBlast", 22, 28, 10},
    {"Portable Computing Language", "Boost.Compute", 22, 28, 10},
    {"H200", NULL, 28, 28, 4.2e12},
};
#define EACH_BAR(bar) for (const bench_bar *bar = bars; bar < bars + sizeof(bars) / sizeof(bars[0]); bar++)

typedef struct bench_totals {
    int cases, failed_cases, checked_bars, failed_bars;
} bench_totals;

static const char usage[] =
    "usage: tally_bench [--backend LIST] [--ops LIST] [--dtypes LIST] [--peers LIST] [--sizes LIST] [--blocks N] [--json] "
    "[--cache LIST] [--plot FILE] [--bar]\n"
    "  --backend LIST  devices, each of which is run: opencl:pocl,cuda:0 (default: every device)\n"
    "  --ops LIST      sum min max amax asum sumsq nrm2 dot argmin argmax iamax (default: sum)\n"
    "  --dtypes LIST   f32 f64 i32 (default: f32)\n"
    "  --peers LIST    OpenMP CBLAS CLBlast Boost.Compute CUB Thrust cuBLAS, or none (default: those that are there)\n"
    "  --sizes LIST    exponents of two, 1 to 30 (default: 16,20,24,26,28)\n"
    "  --cache LIST    warm: the same items for each call; cold: others, that no cache has (default: warm)\n"
    "  --blocks N      timed blocks of each engine, 7 to 101 (default: 15)\n"
    "  --json          one JSON object a line instead of the table\n"
    "  --plot FILE     also charts of the bandwidths, as SVG\n"
    "  --bar           only the sizes that the project has speed bars for; exit 1 if one is missed or none applies\n";

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

/* ---- lists ---------------------------------------------------------------------------------------------------------- */

static const tally_op known_ops[] = {TALLY_SUM,  TALLY_MIN, TALLY_MAX,    TALLY_AMAX,   TALLY_ASUM, TALLY_SUMSQ,
                                     TALLY_NRM2, TALLY_DOT, TALLY_ARGMIN, TALLY_ARGMAX, TALLY_IAMAX};
static const tally_dtype known_types[] = {TALLY_F32, TALLY_F64, TALLY_I32};
#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static int is_listed(const char *list, const char *name) {
    const size_t length = strlen(name);
    for (const char *at = list; at; at = strchr(at, ',') ? strchr(at, ',') + 1 : NULL)
        if (!strncmp(at, name, length) && (!at[length] || at[length] == ',')) return 1;
    return 0;
}

/* Whether every name of the list is one that a case can have. */
static int is_known(const char *list, int is_op) {
    size_t names = 1, found = 0;
    for (const char *c = list; *c; c++) names += *c == ',';
    for (size_t i = 0; is_op && i < COUNT(known_ops); i++) found += (size_t)is_listed(list, tally_op_name(known_ops[i]));
    for (size_t i = 0; !is_op && i < COUNT(known_types); i++)
        found += (size_t)is_listed(list, tally_dtype_name(known_types[i]));
    return found == names;
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

static int applies(const bench_bar *bar, const tally_device_info *device) {
    return strstr(device->name, bar->where) || strstr(device->platform, bar->where);
}

static void check_bars(const bench_report *r, bench_totals *totals) {
    const bench_input *in = r->input;
    if (in->op != TALLY_SUM || in->in != TALLY_F32 || in->copies > 1) return;
    EACH_BAR(bar) {
        if (!applies(bar, in->device) || in->n < UINT64_C(1) << bar->first || in->n > UINT64_C(1) << bar->last) continue;
        int e = 0;
        while (bar->peer && e < r->count && (!e || strcmp(r->names[e], bar->peer))) e++;
        if (e == r->count) continue;
        const double is = bar->peer ? r->timings[e].seconds / r->timings[0].seconds : report_speed(in, &r->timings[0]);
        const int passed = is >= bar->least;
        totals->checked_bars++;
        totals->failed_bars += !passed;
        fprintf(stderr, "bar: %s:%d, n = %llu: %.4g, at least %.4g %s%s: %s\n", in->device->backend, in->device->index,
                (unsigned long long)in->n, is, bar->least, bar->peer ? "times the speed of " : "bytes per second",
                bar->peer ? bar->peer : "", passed ? "passed" : "FAILED");
    }
}

/* An engine that fails says so and is left out; tally's own failure is the case's. */
static int open_engines(const bench_options *options, const bench_input *input, bench_engine *engines) {
    int count = 0;
    if (ours_open(input, &engines[0])) return 0;
    if (check(input, &engines[0])) return engines[0].close(engines[0].state), 0;
    count = 1;
    for (size_t p = 0; p < COUNT(peers) && count < MAX_ENGINES; p++) {
        engines[count] = (bench_engine){0};
        if (peers[p](input, &engines[count])) continue;
        const int wanted = !options->peers || is_listed(options->peers, engines[count].name);
        if (!wanted || check(input, &engines[count]))
            engines[count].close(engines[count].state);
        else
            count++;
    }
    return count;
}

static int run_case(const bench_options *options, const bench_input *input, bench_totals *totals) {
    bench_engine engines[MAX_ENGINES] = {0};
    bench_report report = {.input = input, .blocks = options->blocks};
    tally_plan *plan = NULL;
    const tally_reduce_desc desc = {.size = sizeof(desc), .op = input->op, .in = input->in, .max_n = input->n};
    int failed = 1;
    const int count = report.count = open_engines(options, input, engines);
    if (!count || measure(engines, count, options->blocks, input->copies, report.timings)) goto done;
    for (int e = 0; e < count; e++)
        if (check(input, &engines[e])) goto done;
    /* Fewer are in a cache, or it is the launch that takes the time. */
    if (report_bytes(input) >= LEAST_CEILING && tally_measure_read(input->context, report_bytes(input), &report.read))
        goto done;
    if (tally_plan_create(input->context, &desc, &plan)) goto done;
    report.variant = tally_plan_variant(plan);
    for (int e = 0; e < count; e++) report.names[e] = engines[e].name;
    if (options->json)
        report_json(&report);
    else
        report_rows(&report);
    fflush(stdout);
    if (options->bar) check_bars(&report, totals);
    failed = options->plot ? figure_add(&report) : 0;
done:
    tally_plan_destroy(plan);
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

/* Whether some bar has this size on this device. */
static int has_bar(const tally_device_info *device, int exponent) {
    EACH_BAR(bar) if (applies(bar, device) && exponent >= bar->first && exponent <= bar->last) return 1;
    return 0;
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
    for (size_t o = 0; o < COUNT(known_ops); o++) {
        if (!is_listed(options->ops, tally_op_name(known_ops[o]))) continue;
        input->op = known_ops[o];
        totals->cases++;
        totals->failed_cases += run_case(options, input, totals);
    }
}

static void run_sizes(const bench_options *options, bench_input *input, void *const items[2], bench_totals *totals) {
    const tally_device_info *device = input->device;
    for (int i = 0; i < options->size_count; i++) {
        const int exponent = options->exponents[i];
        if (options->bar && !has_bar(device, exponent)) continue;
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
    int wanted = 0;
    EACH_BAR(bar) wanted |= applies(bar, &info.device) != 0;
    if (options->bar && !wanted)
        fprintf(stderr, "bar: none for %s:%d %s\n", info.device.backend, info.device.index, info.device.name);
    for (size_t t = 0; t < COUNT(known_types) && (wanted || !options->bar); t++) {
        if (!is_listed(options->types, tally_dtype_name(known_types[t]))) continue;
        int largest = 0;
        for (int i = 0; i < options->size_count; i++)
            if (options->exponents[i] > largest && fits(&info.device, known_types[t], options->exponents[i]))
                largest = options->exponents[i];
        input.in = known_types[t];
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
    static const struct option names[] = {{"backend", required_argument, NULL, 'd'}, {"ops", required_argument, NULL, 'o'},
                                          {"dtypes", required_argument, NULL, 't'},  {"peers", required_argument, NULL, 'p'},
                                          {"sizes", required_argument, NULL, 's'},   {"blocks", required_argument, NULL, 'b'},
                                          {"cache", required_argument, NULL, 'c'},   {"json", no_argument, NULL, 'j'},
                                          {"plot", required_argument, NULL, 'g'},    {"bar", no_argument, NULL, 'r'},
                                          {"help", no_argument, NULL, 'h'},          {NULL, 0, NULL, 0}};
    int name, wrong = 0;
    const char *sizes = NULL;
    *options = (bench_options){.ops = "sum", .types = "f32", .caches = "warm", .blocks = 15};
    while ((name = getopt_long(argc, argv, "", names, NULL)) >= 0) {
        if (name == 'd') options->select = optarg;
        if (name == 'o') options->ops = optarg;
        if (name == 't') options->types = optarg;
        if (name == 'p') options->peers = optarg;
        if (name == 's') sizes = optarg;
        if (name == 'c') options->caches = optarg;
        if (name == 'g') options->plot = optarg;
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
    if (!sizes) sizes = options->bar ? "22,23,24,25,26,27,28" : "16,20,24,26,28";
    if (!is_known(options->ops, 1))
        return fprintf(stderr, "tally_bench: --ops %s: a name is unknown\n%s", options->ops, usage), 3;
    if (!is_known(options->types, 0))
        return fprintf(stderr, "tally_bench: --dtypes %s: a name is unknown\n%s", options->types, usage), 3;
    if (is_listed(options->caches, "warm") + is_listed(options->caches, "cold") != 1 + (strchr(options->caches, ',') != NULL))
        return fprintf(stderr, "tally_bench: --cache %s: there are warm and cold\n%s", options->caches, usage), 3;
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
