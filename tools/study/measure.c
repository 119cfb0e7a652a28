/* SPDX-License-Identifier: MIT */
/*
 * measure.c: runs the points of a study on one device. A point is checked, then timed, and
 * the last result is checked again. For timing, runs are queued back to back with marks of the
 * device's clock between them. The host's share does not count if the host is fast enough.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tools/print/progress.h"
#include "study.h"

#define SLOW_SECONDS 0.5 /* a slower run is repeated less often */
#define LEAST_RUNS 3
#define LADDER_SECONDS 6.0 /* upper limit on a row's repeats, in the ladder */
#define SWEEP_SECONDS 1.5
/* Two other runs are queued before a run shorter than this, so the device never waits for the
 * host. */
#define SHORT_SECONDS 0.01

#define DOCUMENT_GROUP 1024 /* threads a group in document 002: 8 groups of 1,024 */
static const uint64_t small_sizes[] = {8 * 1024, 1 << 14, 1 << 16, 1 << 18, 1 << 20};

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))
#define MAX_SIZES 96

typedef struct bench {
    const study_request *request;
    study_device *device;
    study_memory memory;
    tally_event **events; /* request->runs + 1 events */
    uint64_t steps;
} bench;

/* ---- lists ----------------------------------------------------------------------------------- */

static study_point *add_point(study_list *list) {
    if (list->count == list->room) {
        const size_t room = list->room ? 2 * list->room : 32;
        study_point *points = realloc(list->points, room * sizeof(*points));
        if (!points) return NULL;
        list->points = points;
        list->room = room;
    }
    list->points[list->count] = (study_point){0};
    return &list->points[list->count++];
}

static bool is_listed(const char *list, const char *name) {
    const size_t length = strlen(name);
    for (const char *at = list; at; at = strchr(at, ','), at += at != NULL)
        if (strncmp(at, name, length) == 0 && (at[length] == ',' || !at[length])) return true;
    return false;
}

static bool is_wanted(const bench *b, const char *name) {
    const char *variants = b->request->variants;
    if (!variants || is_listed(variants, name)) return true;
    return strcmp(name, b->device->automatic) == 0 && is_listed(variants, STUDY_AUTO);
}

static bool find_wanted(const bench *b, const char *name, tally_variant_info *out) {
    for (size_t i = 0; study_row_get(b->request, i, out); i++)
        if (strcmp(out->name, name) == 0) return is_wanted(b, name);
    return false;
}

/* ---- one point ------------------------------------------------------------------------------- */

static bool failed(study_point *p) {
    p->state = STUDY_FAILED;
    snprintf(p->text, sizeof(p->text), "%s", tally_last_error());
    return false;
}

static bool check(const study_job *job, study_point *p, bool run) {
    p->state = study_job_check(job, p->n, run, p->text, sizeof(p->text));
    return p->state == STUDY_CHECKED;
}

/* Times `runs` runs, each between two marks. The first `before` runs are not timed. */
static bool time_runs(const bench *b, const study_job *job, study_point *p, unsigned before, unsigned runs, double *seconds) {
    tally_status status = TALLY_OK;
    for (unsigned i = 0; i < before && !status; i++) status = study_job_run(job, p->n);
    if (!status) status = tally_event_record(b->events[0], b->memory.queue);
    for (unsigned i = 0; i < runs && !status; i++) {
        status = study_job_run(job, p->n);
        if (!status) status = tally_event_record(b->events[i + 1], b->memory.queue);
    }
    for (unsigned i = 0; i < runs && !status; i++) {
        status = tally_event_seconds(b->events[i], b->events[i + 1], &seconds[i]);
        if (seconds[i] < 1e-9) seconds[i] = 1e-9; /* less than the clock's step */
    }
    const tally_status waited = tally_queue_wait(b->memory.queue);
    return (status || waited) ? failed(p) : true;
}

static int ascending(const void *a, const void *b) {
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static void run_point(bench *b, const study_job *job, study_point *p, double patience) {
    double *seconds = calloc(b->request->runs, sizeof(*seconds));
    unsigned runs = b->request->runs;
    progress_update(b->steps++);
    if (!seconds) {
        p->state = STUDY_FAILED;
        snprintf(p->text, sizeof(p->text), "out of memory");
        return;
    }
    bool done = study_job_prepare(job, p->n) == TALLY_OK || failed(p);
    done = done && check(job, p, true) && time_runs(b, job, p, 0, 1, seconds);
    if (done) {
        const double trial = seconds[0];
        if (trial > SLOW_SECONDS && patience / trial < runs) runs = (unsigned)(patience / trial);
        if (runs < LEAST_RUNS) runs = LEAST_RUNS;
        done = time_runs(b, job, p, trial < SHORT_SECONDS ? 2 : 0, runs, seconds) && check(job, p, false);
    }
    if (done) {
        qsort(seconds, runs, sizeof(*seconds), ascending);
        p->state = STUDY_CHECKED;
        p->runs = runs;
        p->least = seconds[0];
        p->most = seconds[runs - 1];
        p->median = (seconds[(runs - 1) / 2] + seconds[runs / 2]) / 2;
    }
    free(seconds);
}

/* Runs a row at each of the sizes. Without a plan, all points get the reason. */
static bool run_row(bench *b, study_list *list, const tally_variant_info *row, uint32_t group, uint32_t factor,
                    const uint64_t *sizes, size_t count, double patience) {
    study_job job;
    /* Kernels with one thread a group take no other group size. */
    if (row->group_threads <= 1) group = 0;
    if (!row->factor) factor = 0;
    const tally_status status = study_job_open(&job, &b->memory, row, group, factor, sizes[count - 1]);
    for (size_t i = 0; i < count; i++) {
        study_point *p = add_point(list);
        if (!p) break;
        p->variant = *row;
        p->n = sizes[i];
        p->group = group ? group : row->group_threads;
        p->factor = factor ? factor : row->factor;
        p->automatic = strcmp(row->name, b->device->automatic) == 0;
        if (!status) {
            run_point(b, &job, p, patience);
            continue;
        }
        failed(p);
        /* An unsupported row, or a lack of memory, is not a defect. */
        if (status == TALLY_E_UNSUPPORTED || status == TALLY_E_MEMORY) p->state = STUDY_SKIPPED;
    }
    study_job_close(&job);
    return list->count > 0;
}

/* ---- all points ------------------------------------------------------------------------------ */

static size_t sweep_sizes(const study_request *request, uint64_t *sizes) {
    size_t count = 0;
    for (uint64_t n = STUDY_SWEEP_LEAST; n < request->sweep_n; n *= 2) sizes[count++] = n;
    if (request->sweep_n) sizes[count++] = request->sweep_n;
    return count;
}

static bool has_small(const bench *b) {
    tally_variant_info variant;
    return find_wanted(b, STUDY_GLOBAL_TREE, &variant) && find_wanted(b, STUDY_LOCAL_TREE, &variant);
}

static void measure_small(bench *b) {
    tally_variant_info variants[2];
    const uint32_t most = b->device->info.max_group_threads;
    const uint32_t group = b->request->group ? b->request->group : most < DOCUMENT_GROUP ? most : DOCUMENT_GROUP;
    find_wanted(b, STUDY_GLOBAL_TREE, &variants[0]);
    find_wanted(b, STUDY_LOCAL_TREE, &variants[1]);
    for (size_t i = 0; i < COUNT(small_sizes); i++)
        for (int v = 0; v < 2; v++) run_row(b, &b->device->small, &variants[v], group, 0, &small_sizes[i], 1, SWEEP_SECONDS);
}

static uint64_t count_steps(const bench *b) {
    uint64_t sizes[MAX_SIZES], steps = has_small(b) ? 2 * COUNT(small_sizes) : 0;
    const size_t swept = sweep_sizes(b->request, sizes);
    tally_variant_info v;
    for (size_t i = 0; study_row_get(b->request, i, &v); i++) steps += is_wanted(b, v.name) ? 1 + swept : 0;
    return steps;
}

static void measure_all(bench *b) {
    const study_request *r = b->request;
    study_device *d = b->device;
    tally_variant_info v;
    uint64_t sizes[MAX_SIZES];
    const size_t swept = sweep_sizes(r, sizes);
    progress_begin(d->label, PROGRESS_STEPS, count_steps(b));
    if (!r->json) progress_wait(PROGRESS_COMPILING);
    for (size_t i = 0; study_row_get(r, i, &v); i++)
        if (is_wanted(b, v.name)) run_row(b, &d->ladder, &v, r->group, r->factor, &r->n, 1, LADDER_SECONDS);
    if (has_small(b)) measure_small(b);
    for (size_t i = 0; swept && study_row_get(r, i, &v); i++)
        if (is_wanted(b, v.name)) run_row(b, &d->sizes, &v, r->group, r->factor, sizes, swept, SWEEP_SECONDS);
    if (swept && find_wanted(b, STUDY_FACTORED, &v))
        for (uint32_t factor = 1; factor <= STUDY_MAX_FACTOR; factor *= 2)
            run_row(b, &d->factors, &v, r->group, factor, &r->n, 1, SWEEP_SECONDS);
    progress_end();
}

/* ---- the device ------------------------------------------------------------------------------ */

/* Lists every n of the run in rising order. */
static size_t all_sizes(const bench *b, uint64_t *sizes) {
    size_t count = sweep_sizes(b->request, sizes), kept = 0;
    for (size_t i = 0; i < COUNT(small_sizes) && has_small(b); i++) sizes[count++] = small_sizes[i];
    sizes[count++] = b->request->n;
    for (size_t i = 1; i < count; i++)
        for (size_t j = i; j && sizes[j - 1] > sizes[j]; j--) {
            const uint64_t larger = sizes[j - 1];
            sizes[j - 1] = sizes[j];
            sizes[j] = larger;
        }
    for (size_t i = 0; i < count; i++)
        if (!kept || sizes[kept - 1] != sizes[i]) sizes[kept++] = sizes[i];
    return kept;
}

static cli_exit give_up(const bench *b) {
    cli_report("study on %s: %s", b->device->label, tally_last_error());
    return CLI_FAILED;
}

/* Tests the memory before any is allocated. Some drivers allocate memory only at its first use, and
 * then end the program. */
static bool has_room(const bench *b, uint64_t n) {
    const study_request *r = b->request;
    const tally_device_info *d = &b->device->info;
    const uint64_t in = study_item_bytes(r), out = r->primitive == CLI_REDUCE ? 0 : study_out_bytes(r, 1);
    const uint64_t map = r->primitive > CLI_SEGMENTS ? tally_dtype_bytes(study_map_dtype(r)) : 0;
    const uint64_t most = d->max_buffer_bytes < d->memory_bytes ? d->max_buffer_bytes : d->memory_bytes;
    const uint64_t widest = in > out ? (in > map ? in : map) : out > map ? out : map;
    /* Host memory holds a copy of the output and the expected values. */
    const uint64_t beside = r->primitive > CLI_SEGMENTS ? 0 : study_input_bytes(r, n) / n;
    const uint64_t all = in + out + map + (d->host_memory ? out + beside : 0);
    if (n <= most / widest && n <= d->memory_bytes / all) return true;
    cli_report(
        "study on %s: %llu items of %s are too many for %s: each takes %llu bytes in all; a buffer there holds at most %s, "
        "of %s of memory",
        b->device->label, (unsigned long long)n, tally_dtype_name(r->dtype), d->name, (unsigned long long)all,
        units_bytes(most).text, units_bytes(d->memory_bytes).text);
    return false;
}

/* Finds the variant that `auto` picks. Gathers and scatters have no choice. */
static tally_status find_automatic(bench *b) {
    study_job job;
    const tally_variant_info any = {.name = STUDY_AUTO};
    if (b->request->primitive > CLI_SCAN) return TALLY_OK;
    const tally_status status = study_job_open(&job, &b->memory, &any, 0, 0, 1);
    if (!status) snprintf(b->device->automatic, sizeof(b->device->automatic), "%s", tally_plan_variant(job.plan));
    study_job_close(&job);
    return status;
}

static cli_exit open_bench(bench *b) {
    const study_request *r = b->request;
    study_memory *m = &b->memory;
    tally_context_info info;
    uint64_t sizes[2 * MAX_SIZES];
    study_device *d = b->device;
    if (tally_context_get_info(m->context, &info)) return give_up(b);
    d->info = info.device;
    snprintf(d->label, sizeof(d->label), "%s:%d", d->info.backend, d->info.index);
    if (!r->json) progress_wait(PROGRESS_COMPILING);
    if (find_automatic(b)) return give_up(b);
    const size_t count = all_sizes(b, sizes);
    const uint64_t most = sizes[count - 1];
    if (!has_room(b, most)) return CLI_FAILED;
    const bool reads = r->primitive == CLI_REDUCE || r->primitive == CLI_SEGMENTS;
    if ((reads ? tally_measure_read : tally_measure_copy)(m->context, 0, &d->ceiling)) return give_up(b);
    progress_end();
    tally_status status = study_memory_open(m, most);
    b->events = calloc(r->runs + 1, sizeof(tally_event *));
    if (!status && !b->events) status = tally_fail(TALLY_E_MEMORY, "out of memory");
    for (uint32_t i = 0; i <= r->runs && !status; i++) status = tally_event_create(m->context, &b->events[i]);
    if (!status && r->primitive > CLI_SEGMENTS) status = study_moves_fill(m, most);
    if (status) return give_up(b);
    if (r->primitive > CLI_SEGMENTS) return CLI_DONE;
    m->input = study_input_create(r, m->queue, m->in, sizes, count);
    return m->input ? CLI_DONE : CLI_FAILED;
}

cli_exit study_device_measure(const study_request *request, const char *selection, study_device *out) {
    const cli_options options = {.backend = selection};
    bench b = {.request = request, .device = out, .memory = {.request = request}};
    cli_exit code = cli_open(&options, &b.memory.context);
    if (code == CLI_DONE) code = open_bench(&b);
    if (code == CLI_DONE) measure_all(&b);
    for (uint32_t i = 0; b.events && i <= request->runs; i++) tally_event_destroy(b.events[i]);
    free(b.events);
    study_memory_close(&b.memory);
    return code;
}

void study_device_close(study_device *device) {
    study_list *lists[] = {&device->ladder, &device->small, &device->sizes, &device->factors};
    for (size_t i = 0; i < COUNT(lists); i++) free(lists[i]->points);
}
