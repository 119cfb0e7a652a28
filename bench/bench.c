/* SPDX-License-Identifier: MIT */
/* bench.c: the program tally_bench, which measures tally and its peers in one run on the same
 * memory. This file chooses the devices and their cases, and makes the items. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bench.h"
#include "forms.h"
#include "grid.h"
#include "tools/print/new_file.h"
#include "tools/print/output.h"
#include "tools/print/progress.h"
#include "tools/print/units.h"

#define MAX_DEVICES 16

/* Bytes that cold calls pass through, many times the largest caches of today's GPUs (50 MiB on an
 * H200). A graph can hold the calls of one pass. Copies of less than 128 KiB are never cold: one
 * graph could not hold enough of them. */
#define COLD_BYTES (UINT64_C(512) << 20)
#define MOST_COPIES 2048

/* Returns the number of copies for cold calls. 0 means no cold calls: the items are too few, or
 * they exceed half of COLD_BYTES and are cold in any case. */
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
    uint64_t most_bytes; /* limit of an array */
    input_items items;
    bench_results results;
    int cases, failed_cases;
} bench_run;

/* ---- one device, primitive and type ---------------------------------------------------------- */

/* A pass is a purpose for which devices have the same arrays. */
typedef struct bench_pass {
    bench_primitive primitive;
    int is_bits; /* bits; otherwise times */
    tally_dtype in;
} bench_pass;

static input_kind kind_of(const bench_pass *pass) {
    return pass->is_bits ? INPUT_ROUNDED : bench_primitives[pass->primitive].kind;
}

/* Returns true if the pass also has cold calls. Scans and the like have none: they write to a
 * single place, which copies of the input do not make cold. */
static int is_cold_too(const bench_run *run, const bench_pass *pass) {
    return pass->primitive == BENCH_REDUCE && !pass->is_bits && is_listed(run->options->caches, "cold");
}

/* Bytes of each input of a grid, far more than the caches hold. */
#define GRID_BYTES_GPU (UINT64_C(1) << 30)
#define GRID_BYTES_CPU (UINT64_C(256) << 20)

/* Returns the run's sizes on a device. They are numbers of items; those of a grid may be as many
 * bytes of each type instead. */
static bench_sizes sizes_of(const bench_run *run, const tally_device_info *device, tally_dtype in) {
    const bench_options *o = run->options;
    const uint64_t usual = device->device_class == TALLY_CLASS_GPU ? GRID_BYTES_GPU : GRID_BYTES_CPU;
    if (o->sizes.count) return o->sizes;
    return (bench_sizes){.n = {(o->bytes ? o->bytes : usual) / tally_dtype_bytes(in)}, .count = 1};
}

/* Returns true if the run has the case, provided that it fits. */
static int has_case(const bench_run *run, const tally_device_info *device, const bench_pass *pass, const bench_task *task,
                    uint64_t n) {
    const bench_options *o = run->options;
    const primitive_row *row = &bench_primitives[pass->primitive];
    const char *type = tally_dtype_name(pass->in);
    if (task->primitive != pass->primitive || !is_listed(o->primitives, row->name)) return 0;
    if (o->forms && !is_listed(o->forms, bench_forms[0].name)) return 0;
    if (!is_listed(task->map ? o->maps : o->ops, task_with(task))) return 0;
    if (!is_listed(o->types, type) || !task_takes(task, pass->in)) return 0;
    if ((pass->in == TALLY_F64 || pass->in == TALLY_C128) && !device->has_f64) return 0;
    /* Moves have no bits of their own. With --bar, the bits of a single device show nothing. */
    if (pass->is_bits && (!o->bits || task->map || !is_f32_or_f64(pass->in) || (o->bar && run->device_count < 2))) return 0;
    return !o->bar || bars_need(device, pass->is_bits, task, pass->in, n);
}

/* Returns the arrays, as bits, that the cases of this size need; 0 means no case. */
static unsigned arrays_of(const bench_run *run, const tally_device_info *device, const bench_pass *pass, uint64_t n) {
    unsigned arrays = 0;
    for (const bench_task *task = bench_tasks(); task->primitive; task++)
        if (has_case(run, device, pass, task, n)) arrays |= task_arrays(task);
    return arrays;
}

int bench_fits(const tally_device_info *device, uint64_t bytes) {
    return bytes <= device->max_buffer_bytes && (device->host_memory || bytes <= device->memory_bytes / 4);
}

static int fits(const tally_device_info *device, tally_dtype type, uint64_t n) {
    return bench_fits(device, n * tally_dtype_bytes(type));
}

/* Returns the bytes of each array for the cases of one device, or 0 if there is no case. *arrays
 * are the arrays in use. */
static uint64_t bytes_of(const bench_run *run, const tally_device_info *device, const bench_pass *pass, unsigned *arrays) {
    const bench_sizes sizes = sizes_of(run, device, pass->in);
    uint64_t most = 0;
    *arrays = 0;
    for (int i = 0; i < sizes.count; i++) {
        const uint64_t bytes = sizes.n[i] * tally_dtype_bytes(pass->in), copies = cold_copies(bytes);
        const unsigned needed = fits(device, pass->in, sizes.n[i]) ? arrays_of(run, device, pass, sizes.n[i]) : 0;
        if (!needed) continue;
        *arrays |= needed;
        if (bytes > most) most = bytes;
        if (copies && is_cold_too(run, pass) && bytes * copies > most) most = bytes * copies;
    }
    return most;
}

tally_status bench_open_buffer(bench_input *input, int which, uint64_t bytes) {
    if (input->device->host_memory)
        return tally_buffer_wrap_host(input->context, input->host[which], bytes, &input->buffer[which]);
    return tally_buffer_create(input->context, bytes, &input->buffer[which]);
}

tally_status bench_send(bench_input *input, int which, uint64_t from, uint64_t to) {
    tally_queue *queue = NULL;
    if (input->device->host_memory || from >= to) return TALLY_OK;
    tally_status status = tally_queue_create(input->context, &queue);
    if (!status)
        status = tally_buffer_write(queue, input->buffer[which], from, (const char *)input->host[which] + from, to - from);
    if (!status) status = tally_queue_wait(queue);
    tally_queue_destroy(queue);
    return status;
}

tally_status bench_send_items(const input_items *items, bench_input *input, int inputs, sent_items *sent) {
    const uint64_t bytes = input->n * input->copies * tally_dtype_bytes(input->in);
    tally_status status = TALLY_OK;
    if (sent->version != items->version) *sent = (sent_items){.version = items->version};
    for (int k = 0; !status && k < inputs; k++) {
        status = bench_send(input, k, sent->bytes[k], bytes);
        if (bytes > sent->bytes[k]) sent->bytes[k] = bytes;
    }
    return status;
}

static tally_status send_map(bench_run *run, bench_input *input, sent_items *sent) {
    const bench_map map = input->task->map;
    if (!map || (sent->map == map && sent->map_n == input->n)) return TALLY_OK;
    input_fill_map(&run->items, map, input->n);
    sent->map = map;
    sent->map_n = input->n;
    return bench_send(input, ARRAY_MAP, 0, array_bytes(ARRAY_MAP, input->in, input->n));
}

static void fail_case(bench_run *run) {
    progress_erase();
    fprintf(stderr, "tally_bench: %s\n", tally_last_error());
    run->failed_cases++;
}

/* Computes the results that only the oracle knows, all of one size at once. */
static int expect_tasks(const bench_run *run, const bench_pass *pass, bench_input *input) {
    const bench_task *unknown[TALLY_OP_END];
    int count = 0;
    for (const bench_task *task = bench_tasks(); task->primitive == BENCH_REDUCE; task++) {
        if (!has_case(run, input->device, pass, task, input->n)) continue;
        input->task = task;
        if (!input_is_known(input)) unknown[count++] = task;
    }
    return pass->is_bits || !count ? 0 : expect_all(input, unknown, count);
}

static void run_task(bench_run *run, const bench_pass *pass, bench_input *input, sent_items *sent) {
    const bench_compile *compile = compile_find(&run->results, input);
    if (run->options->grid && is_stopped(&run->results)) return;
    if (compile) progress_update(run->results.cells_done++);
    if (compile && compile->status == TALLY_E_UNSUPPORTED) return;
    run->cases++;
    if (send_map(run, input, sent))
        fail_case(run);
    else
        run->failed_cases += (pass->is_bits ? case_bits : case_times)(run->options, input, &run->results);
}

/* Runs all tasks of one size, on items that are warm or cold. */
static void run_tasks(bench_run *run, const bench_pass *pass, bench_input *input, sent_items *sent) {
    const int inputs = arrays_inputs(arrays_of(run, input->device, pass, input->n));
    if (run->options->grid && is_stopped(&run->results)) return;
    input_fill(&run->items, kind_of(pass), pass->in, input->n, input->copies, inputs);
    if (bench_send_items(&run->items, input, inputs, sent) || expect_tasks(run, pass, input)) {
        fail_case(run);
        return;
    }
    for (const bench_task *task = bench_tasks(); task->primitive; task++) {
        if (!has_case(run, input->device, pass, task, input->n)) continue;
        input->task = task;
        run_task(run, pass, input, sent);
    }
}

static void run_sizes(bench_run *run, const bench_pass *pass, bench_input *input) {
    const bench_options *options = run->options;
    const bench_sizes sizes = sizes_of(run, input->device, pass->in);
    sent_items sent = {0};
    for (int i = 0; i < sizes.count; i++) {
        input->n = sizes.n[i];
        if (!arrays_of(run, input->device, pass, input->n)) continue;
        if (!fits(input->device, pass->in, input->n)) {
            fprintf(stderr, "tally_bench: %s: %s %s do not fit\n", input->device->name, units_items(input->n).text,
                    tally_dtype_name(pass->in));
            continue;
        }
        input->copies = 1;
        if (pass->is_bits || is_listed(options->caches, "warm")) run_tasks(run, pass, input, &sent);
        input->copies = cold_copies(input->n * tally_dtype_bytes(pass->in));
        if (input->copies && is_cold_too(run, pass)) run_tasks(run, pass, input, &sent);
    }
}

static void run_device(bench_run *run, bench_device *device, const bench_pass *pass) {
    bench_input input = {.context = device->context, .device = &device->info, .in = pass->in};
    unsigned arrays;
    int failed = 0;
    const uint64_t bytes = bytes_of(run, &device->info, pass, &arrays);
    for (int a = 0; a < ARRAYS && !failed; a++) {
        input.host[a] = run->items.host[a];
        if (arrays & 1u << a) failed = bench_open_buffer(&input, a, bytes) != TALLY_OK;
    }
    if (failed)
        fail_case(run);
    else
        run_sizes(run, pass, &input);
    for (int a = 0; a < ARRAYS; a++) tally_buffer_destroy(input.buffer[a]);
}

/* ---- devices --------------------------------------------------------------------------------- */

/* Opens a device, unless the run has it already. */
static tally_status open_device(bench_run *run, const char *select) {
    bench_device *device = &run->devices[run->device_count];
    tally_context_info info;
    tally_status status = tally_context_create(select, &device->context);
    if (!status) status = tally_context_get_info(device->context, &info);
    if (status) {
        tally_context_destroy(device->context);
        return status;
    }
    device->info = info.device;
    for (int d = 0; d < run->device_count; d++)
        if (!strcmp(run->infos[d]->backend, info.device.backend) && run->infos[d]->index == info.device.index) {
            tally_context_destroy(device->context);
            return TALLY_OK;
        }
    run->infos[run->device_count++] = &device->info;
    return TALLY_OK;
}

/* Opens every device of every backend. */
static void open_all(bench_run *run) {
    for (size_t b = 0; b < tally_backend_count(); b++) {
        tally_backend_info info;
        char select[64];
        if (tally_backend_get(b, &info)) continue;
        for (int i = 0; i < info.devices && run->device_count < MAX_DEVICES; i++) {
            snprintf(select, sizeof(select), "%s:%d", info.name, i);
            if (open_device(run, select)) fail_case(run);
        }
    }
}

/* Opens the devices of a list. Returns an exit status; at the first that is not here the error is
 * printed. */
static int open_listed(bench_run *run, const char *list) {
    while (*list && run->device_count < MAX_DEVICES) {
        char select[64];
        const size_t length = strcspn(list, ",");
        snprintf(select, sizeof(select), "%.*s", (int)length, list);
        const tally_status status = length ? open_device(run, select) : TALLY_OK;
        /* The library's text is "CALL: argument 'SELECT': REASON". */
        const char *reason = status ? strstr(tally_last_error(), "': ") : NULL;
        if (status) fprintf(stderr, "tally_bench: --backend %s: %s\n", select, reason ? reason + 3 : tally_last_error());
        if (status) return status == TALLY_E_ARGUMENT ? 2 : 1;
        list += length + (list[length] == ',');
    }
    return 0;
}

/* ---- the program ----------------------------------------------------------------------------- */

/*
 * Restarts the program with settings that libgomp reads when it is loaded. Its threads must not
 * spin for long while the other engine runs. If they slept at once, the peer would pay for waking
 * them at each call: 50 us instead of 1.6 at 2^16 (2 cores, November 2026). So they spin for less
 * than a warm-up lasts, which costs neither engine anything.
 */
static void restart_with_brief_spinning(char **argv) {
    if (getenv("OMP_WAIT_POLICY")) return;
    setenv("OMP_WAIT_POLICY", "passive", 1);
    setenv("GOMP_SPINCOUNT", "30000", 0);
    execv("/proc/self/exe", argv);
}

/* Calls `each` for every device of each pass. Types come in turn, all devices on the same items.
 * Rounded items come after whole ones, because they are other items. */
static void walk_passes(bench_run *run, void (*each)(bench_run *run, bench_device *device, const bench_pass *pass)) {
    for (tally_dtype in = TALLY_DTYPE_DEFAULT + 1; in < TALLY_DTYPE_END; in++)
        for (int primitive = BENCH_NONE + 1; primitive < BENCH_END; primitive++)
            for (int is_bits = 0; is_bits < 2; is_bits++)
                for (int d = 0; d < run->device_count; d++)
                    each(run, &run->devices[d], &(bench_pass){(bench_primitive)primitive, is_bits, in});
}

static void take_bytes(bench_run *run, bench_device *device, const bench_pass *pass) {
    unsigned arrays;
    const uint64_t bytes = bytes_of(run, &device->info, pass, &arrays);
    if (bytes > run->most_bytes) run->most_bytes = bytes;
}

/* Adds the plans of a pass of a grid. */
static void take_plans(bench_run *run, bench_device *device, const bench_pass *pass) {
    const uint64_t n = sizes_of(run, &device->info, pass->in).n[0];
    if (pass->is_bits || !fits(&device->info, pass->in, n)) return;
    for (const bench_task *task = bench_tasks(); task->primitive; task++)
        if (has_case(run, &device->info, pass, task, n) &&
            compile_add(
                &run->results,
                &(bench_compile){.device = &device->info, .context = device->context, .task = task, .in = pass->in, .n = n}))
            run->failed_cases++;
}

static int compile_grid(bench_run *run) {
    walk_passes(run, take_plans);
    for (int d = 0; d < run->device_count; d++)
        run->failed_cases += forms_add(run->options, run->devices[d].context, run->infos[d], &run->results);
    return run->results.compile_count && compile_all(&run->results, openmp_threads());
}

static int run_all(bench_run *run) {
    walk_passes(run, take_bytes);
    if (run->most_bytes && input_open(&run->items, run->most_bytes))
        return fprintf(stderr, "tally_bench: the items: %s\n", strerror(errno)), 1;
    if (run->options->grid) {
        if (compile_grid(run)) return 1;
        progress_begin("cells timed", PROGRESS_STEPS, run->results.compile_count);
    }
    walk_passes(run, run_device);
    for (int d = 0; d < run->device_count && run->options->forms; d++)
        run->failed_cases += forms_run(run->options, run->devices[d].context, run->infos[d], &run->results, &run->cases);
    for (int d = 0; d < run->device_count && run->options->has_segments; d++)
        run->failed_cases += segments_run(run->options, run->devices[d].context, &run->devices[d].info, &run->cases);
    progress_end();
    input_close(&run->items);
    return 0;
}

/* Lists the grids, a form of a device each. Returns their number. */
static int grid_keys(const bench_run *run, grid_key *keys) {
    const char *forms = run->options->forms;
    int count = 0;
    for (const bench_form *form = bench_forms; form->name; form++) {
        const int is_whole = form == bench_forms;
        for (int d = 0; d < run->device_count && (forms ? is_listed(forms, form->name) : is_whole); d++)
            keys[count++] = (grid_key){run->infos[d], is_whole ? NULL : form};
    }
    return count;
}

/* Prints and draws the grids. */
static int conclude_grid(const bench_run *run) {
    const bench_options *options = run->options;
    grid_key keys[MAX_DEVICES * BENCH_FORMS];
    const int count = grid_keys(run, keys);
    for (int k = 0; k < count; k++) {
        if (options->json)
            grid_json(options, &run->results, &keys[k]);
        else
            grid_print(stdout, options, &run->results, &keys[k]);
    }
    return options->plot && run->results.report_count && grid_figure(options->plot, options, &run->results, keys, count);
}

/* Prints the last messages and returns the exit status. */
static int conclude(bench_run *run) {
    const bench_options *options = run->options;
    int failed = options->grid ? conclude_grid(run) : options->plot ? figure_write(options->plot, options->blocks) : 0;
    const bench_results *results = &run->results;
    if (results->stopped)
        failed = 1, fprintf(stderr, "tally_bench: %s: %zu of %zu cells are measured\n", results->stopped, results->report_count,
                            results->compile_count);
    if (run->failed_cases) failed = 1, fprintf(stderr, "tally_bench: %d of %d cases failed\n", run->failed_cases, run->cases);
    if (!run->cases && !run->failed_cases && !options->bar && !results->stopped)
        failed = 1,
        fprintf(stderr, options->forms
                            ? "tally_bench: no case fits these options\n"
                            : "tally_bench: no case fits these options: scans have sum, min and max alone; an operator may not "
                              "take the type; --cache cold is of reductions whose inputs have 128 KiB and more\n");
    if (options->bar) return bars_print(run->infos, run->device_count, &run->results, options->json) || failed;
    if (options->bits && bits_print(&run->results, options->json ? stderr : stdout)) failed = 1;
    return failed;
}

static int bench(int argc, char **argv) {
    bench_options options;
    const int wrong = options_parse(argc, argv, &options);
    if (wrong) return wrong - 1;
    static bench_run run;
    run.options = &options;
    const char *unwritable = options.plot ? new_file_check(options.plot) : NULL;
    if (unwritable) return fprintf(stderr, "tally_bench: %s: %s\n", options.plot, unwritable), 1;
    if (options.progress) progress_plain();
    if (options.grid) stop_prepare(options.seconds);
    const int unopened = options.select ? open_listed(&run, options.select) : 0;
    if (unopened) return unopened;
    if (!options.select) open_all(&run);
    if (!run.device_count) return fprintf(stderr, "tally_bench: no device to run on\n"), 1;
    if (!options.json && !options.grid) {
        printf("medians of %d alternating blocks; OpenMP: %d threads; \"tally is\": our speed / the engine's\n", options.blocks,
               openmp_threads());
        if (strcmp(options.primitives ? options.primitives : "", "segments")) report_heading(run.infos, run.device_count);
    }
    const int failed = run_all(&run) || conclude(&run);
    for (int d = 0; d < run.device_count; d++) tally_context_destroy(run.devices[d].context);
    free(run.results.reports);
    free(run.results.results);
    free(run.results.compiles);
    return failed;
}

/* Returns the exit status: 1 if some output was not written. */
static int flushed(int status) {
    const char *wrong = output_flush();
    if (wrong) fprintf(stderr, "tally_bench: standard output: %s\n", wrong);
    return wrong ? 1 : status;
}

int main(int argc, char **argv) {
    restart_with_brief_spinning(argv);
    return flushed(bench(argc, argv));
}
