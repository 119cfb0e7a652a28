/* SPDX-License-Identifier: MIT */
/* tally_bench: tally and its peers in one run, on the same memory: which cases there are on which devices, and their items. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bench.h"
#include "units.h"

#define MAX_DEVICES 16

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

typedef struct bench_device {
    tally_context *context;
    tally_device_info info;
} bench_device;

typedef struct bench_run {
    const bench_options *options;
    bench_device devices[MAX_DEVICES];
    const tally_device_info *infos[MAX_DEVICES];
    int device_count;
    input_items items;
    bench_results results;
    int cases, failed_cases;
} bench_run;

/* ---- one device and type ------------------------------------------------------------------------------------------- */

/* Whether the run has that case, if it fits. */
static int has_case(const bench_run *run, const tally_device_info *device, input_kind kind, tally_op op, tally_dtype in,
                    uint64_t n) {
    const bench_options *o = run->options;
    if (!is_listed(o->ops, tally_op_name(op)) || !is_listed(o->types, tally_dtype_name(in))) return 0;
    if (in == TALLY_F64 && !device->has_f64) return 0;
    /* One device's bits say nothing to --bar. */
    if (kind == INPUT_ROUNDED && (!o->bits || !is_f32_or_f64(in) || (o->bar && run->device_count < 2))) return 0;
    return !o->bar || bars_need(device, kind, op, in, n);
}

/* How many inputs the cases of this size need; 0: there is none. */
static int inputs_of(const bench_run *run, const tally_device_info *device, input_kind kind, tally_dtype in, uint64_t n) {
    int inputs = 0;
    for (const tally_op *op = bench_ops; *op; op++)
        if (has_case(run, device, kind, *op, in, n) && (int)tally_op_inputs(*op) > inputs) inputs = (int)tally_op_inputs(*op);
    return inputs;
}

static int fits(const tally_device_info *device, tally_dtype type, uint64_t n) {
    const uint64_t bytes = n * tally_dtype_bytes(type);
    return bytes <= device->max_buffer_bytes && (device->host_memory || bytes <= device->memory_bytes / 4);
}

/* What the cases of one device, type and kind of input need: bytes of each input, 0: there is none; how many inputs. */
static uint64_t bytes_of(const bench_run *run, const tally_device_info *device, input_kind kind, tally_dtype in, int *inputs) {
    const bench_sizes *sizes = &run->options->sizes;
    uint64_t most = 0;
    *inputs = 0;
    for (int i = 0; i < sizes->count; i++) {
        const uint64_t bytes = sizes->n[i] * tally_dtype_bytes(in), copies = cold_copies(bytes);
        const int count = fits(device, in, sizes->n[i]) ? inputs_of(run, device, kind, in, sizes->n[i]) : 0;
        if (!count) continue;
        if (count > *inputs) *inputs = count;
        if (bytes > most) most = bytes;
        if (copies && is_listed(run->options->caches, "cold") && bytes * copies > most) most = bytes * copies;
    }
    return most;
}

/* The items on the device: the host's own where it reads those, else memory for them. */
static tally_status open_buffer(bench_input *input, int which, uint64_t bytes) {
    if (input->device->host_memory)
        return tally_buffer_wrap_host(input->context, input->host[which], bytes, &input->buffer[which]);
    return tally_buffer_create(input->context, bytes, &input->buffer[which]);
}

/* What of the items the device has. */
typedef struct sent_items {
    unsigned version;
    uint64_t bytes[2];
} sent_items;

static tally_status send_items(const bench_run *run, bench_input *input, int inputs, sent_items *sent) {
    const uint64_t bytes = input->n * input->copies * tally_dtype_bytes(input->in);
    if (input->device->host_memory) return TALLY_OK;
    if (sent->version != run->items.version) *sent = (sent_items){.version = run->items.version};
    tally_queue *queue = NULL;
    tally_status status = tally_queue_create(input->context, &queue);
    for (int k = 0; !status && k < inputs; k++) {
        const uint64_t from = sent->bytes[k];
        if (from >= bytes) continue;
        status = tally_buffer_write(queue, input->buffer[k], from, (const char *)input->host[k] + from, bytes - from);
        sent->bytes[k] = bytes;
    }
    if (!status) status = tally_queue_wait(queue);
    tally_queue_destroy(queue);
    return status;
}

static void fail_case(bench_run *run) {
    fprintf(stderr, "tally_bench: %s\n", tally_last_error());
    run->failed_cases++;
}

/* All operators of one size, on items that are warm or cold. */
static void run_ops(bench_run *run, input_kind kind, bench_input *input, sent_items *sent) {
    const int inputs = inputs_of(run, input->device, kind, input->in, input->n);
    input_fill(&run->items, kind, input->in, input->n, input->copies, inputs);
    if (send_items(run, input, inputs, sent)) {
        fail_case(run);
        return;
    }
    for (const tally_op *op = bench_ops; *op; op++) {
        if (!has_case(run, input->device, kind, *op, input->in, input->n)) continue;
        input->op = *op;
        run->cases++;
        run->failed_cases += (kind == INPUT_ROUNDED ? case_bits : case_times)(run->options, input, &run->results);
    }
}

static void run_sizes(bench_run *run, input_kind kind, bench_input *input) {
    const bench_options *options = run->options;
    sent_items sent = {0};
    for (int i = 0; i < options->sizes.count; i++) {
        input->n = options->sizes.n[i];
        if (!inputs_of(run, input->device, kind, input->in, input->n)) continue;
        if (!fits(input->device, input->in, input->n)) {
            fprintf(stderr, "tally_bench: %s: %s %s do not fit\n", input->device->name, units_items(input->n).text,
                    tally_dtype_name(input->in));
            continue;
        }
        input->copies = 1;
        if (kind == INPUT_ROUNDED || is_listed(options->caches, "warm")) run_ops(run, kind, input, &sent);
        input->copies = cold_copies(input->n * tally_dtype_bytes(input->in));
        if (kind == INPUT_WHOLE && input->copies && is_listed(options->caches, "cold")) run_ops(run, kind, input, &sent);
    }
}

static void run_device(bench_run *run, bench_device *device, input_kind kind, tally_dtype in) {
    bench_input input = {
        .context = device->context, .device = &device->info, .host = {run->items.host[0], run->items.host[1]}, .in = in};
    int inputs, failed = 0;
    const uint64_t bytes = bytes_of(run, &device->info, kind, in, &inputs);
    for (int k = 0; k < inputs && !failed; k++) failed = open_buffer(&input, k, bytes) != TALLY_OK;
    if (failed)
        fail_case(run);
    else
        run_sizes(run, kind, &input);
    for (int k = 0; k < 2; k++) tally_buffer_destroy(input.buffer[k]);
}

/* ---- devices ------------------------------------------------------------------------------------------------------- */

static void open_device(bench_run *run, const char *select) {
    bench_device *device = &run->devices[run->device_count];
    tally_context_info info;
    if (tally_context_create(select, &device->context) || tally_context_get_info(device->context, &info)) {
        fail_case(run);
        return;
    }
    device->info = info.device;
    for (int d = 0; d < run->device_count; d++)
        if (!strcmp(run->infos[d]->backend, info.device.backend) && run->infos[d]->index == info.device.index) {
            tally_context_destroy(device->context);
            return;
        }
    run->infos[run->device_count++] = &device->info;
}

/* Every device of every backend. */
static void open_all(bench_run *run) {
    for (size_t b = 0; b < tally_backend_count(); b++) {
        tally_backend_info info;
        char select[64];
        if (tally_backend_get(b, &info)) continue;
        for (int i = 0; i < info.devices && run->device_count < MAX_DEVICES; i++) {
            snprintf(select, sizeof(select), "%s:%d", info.name, i);
            open_device(run, select);
        }
    }
}

static void open_listed(bench_run *run, const char *list) {
    while (*list && run->device_count < MAX_DEVICES) {
        char select[64];
        const size_t length = strcspn(list, ",");
        snprintf(select, sizeof(select), "%.*s", (int)length, list);
        if (length) open_device(run, select);
        list += length + (list[length] == ',');
    }
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

/* Type by type, all devices on the same items; the rounded ones of a type after the whole ones, which are other items. */
static int run_all(bench_run *run) {
    uint64_t most = 0;
    for (int d = 0; d < run->device_count; d++)
        for (int t = 0; bench_types[t]; t++)
            for (int kind = INPUT_WHOLE; kind <= INPUT_ROUNDED; kind++) {
                int inputs;
                const uint64_t bytes = bytes_of(run, run->infos[d], (input_kind)kind, bench_types[t], &inputs);
                if (bytes > most) most = bytes;
            }
    if (most && input_open(&run->items, most)) return fprintf(stderr, "tally_bench: the items: %s\n", strerror(errno)), 1;
    for (int t = 0; bench_types[t]; t++)
        for (int kind = INPUT_WHOLE; kind <= INPUT_ROUNDED; kind++)
            for (int d = 0; d < run->device_count; d++) run_device(run, &run->devices[d], (input_kind)kind, bench_types[t]);
    input_close(&run->items);
    return 0;
}

/* The exit status, after all that is left to say. */
static int conclude(bench_run *run) {
    const bench_options *options = run->options;
    int failed = options->plot && figure_write(options->plot, options->blocks);
    if (run->failed_cases || (!run->cases && !options->bar))
        failed = 1, fprintf(stderr, "tally_bench: %d of %d cases failed\n", run->failed_cases, run->cases);
    if (options->bar) return bars_print(run->infos, run->device_count, &run->results, options->json) || failed;
    if (options->bits && bits_print(&run->results, options->json ? stderr : stdout)) failed = 1;
    return failed;
}

int main(int argc, char **argv) {
    restart_with_brief_spinning(argv);
    bench_options options;
    const int wrong = options_parse(argc, argv, &options);
    if (wrong) return wrong - 1;
    static bench_run run;
    run.options = &options;
    if (options.select)
        open_listed(&run, options.select);
    else
        open_all(&run);
    if (!run.device_count) return fprintf(stderr, "tally_bench: no device to run on\n"), 1;
    if (!options.json) {
        printf("medians of %d alternating blocks; OpenMP: %d threads; \"tally is\": our speed / the engine's\n", options.blocks,
               openmp_threads());
        report_heading();
    }
    const int failed = run_all(&run) || conclude(&run);
    for (int d = 0; d < run.device_count; d++) tally_context_destroy(run.devices[d].context);
    free(run.results.reports);
    free(run.results.results);
    return failed;
}
