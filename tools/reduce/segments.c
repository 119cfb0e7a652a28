/* SPDX-License-Identifier: MIT */
/*
 * segments.c: `tally reduce` of rows, columns, segments and keys. Files are opened where they lie:
 * an array in Fortran order or one that is repeated is a matter of strides, not of copies.
 */
#include "segments.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tools/files/input.h"
#include "tools/print/progress.h"

/* Inputs of up to this size are reduced once before the clock starts, because some drivers (POCL)
 * compile at the first launch, and the shape decides what is launched. */
#define WARM_BYTES ((uint64_t)64 << 20)

static tally_status run_axes(segments *s);
static tally_status run_offsets(segments *s);
static tally_status run_keys(segments *s);

static const struct form {
    tally_segments_by by;
    bool any_order; /* takes items in the order of the file */
    bool (*fit)(segments *s);
    tally_status (*run)(segments *s);
} forms[] = {
    [REDUCE_WHOLE] = {TALLY_BY_AXES, true, segments_fit_axes, run_axes},
    [REDUCE_AXES] = {TALLY_BY_AXES, true, segments_fit_axes, run_axes},
    [REDUCE_OFFSETS] = {TALLY_BY_OFFSETS, false, segments_fit_offsets, run_offsets},
    [REDUCE_KEYS] = {TALLY_BY_KEYS, false, segments_fit_keys, run_keys},
};

static bool failed(const segments *s) {
    cli_report("%s: %s", s->files[0], s->r->custom ? reduce_custom_error(s->r).text : cli_last_error().text);
    return false;
}

static bool no_memory(const segments *s) {
    cli_report("%s: out of memory", s->files[0]);
    return false;
}

/* ---- files ----------------------------------------------------------------------------------- */

static bool open_mask(segments *s) {
    const char *path = s->r->where;
    if (!path) return true;
    if (!array_open(&s->where, path, INPUT_NPY_ONLY, forms[s->r->form].any_order)) return false;
    if (tally_dtype_bytes(s->where.dtype) == 1) return true;
    cli_report("%s: its items are %s: a mask has bool, u8 or i8", path, tally_dtype_name(s->where.dtype));
    return false;
}

static bool open_files(segments *s) {
    const reduce_request *r = s->r;
    for (uint32_t k = 0; k < r->inputs; k++) {
        if (!array_open(&s->in[k], s->files[k], r->types.raw, forms[r->form].any_order)) return false;
        if (s->in[k].dtype == s->in[0].dtype) continue;
        cli_report("%s and %s: their item types differ: %s and %s", s->files[0], s->files[k], tally_dtype_name(s->in[0].dtype),
                   tally_dtype_name(s->in[k].dtype));
        return false;
    }
    return open_mask(s) && (!r->by || array_open(&s->by, r->by, INPUT_NPY_ONLY, false));
}

static uint64_t count_items(const segments *s) {
    uint64_t n = 1;
    bool empty = false;
    for (uint32_t d = 0; d < s->shape.dimensions; d++) {
        empty = empty || s->shape.lengths[d] == 0;
        if (__builtin_mul_overflow(n, s->shape.lengths[d], &n)) n = UINT64_MAX; /* the library refuses it */
    }
    return empty ? 0 : n;
}

/* ---- the plan -------------------------------------------------------------------------------- */

static bool create_plan(segments *s) {
    const int kept = s->r->custom ? reduce_silence() : -1;
    const tally_status status = tally_segments_plan_create(s->r->context, &s->desc, &s->plan);
    reduce_unsilence(kept);
    if (status) return failed(s);
    s->o.value_count = 0;
    while (tally_plan_result(s->plan, s->o.value_count, &s->o.values[s->o.value_count])) s->o.value_count++;
    s->result_bytes = tally_plan_result_bytes(s->plan);
    return true;
}

/* Reads the initial values, one for each value of a result. */
static bool read_initial(segments *s) {
    const char *at = s->r->initial;
    uint32_t i = 0;
    for (; i < s->o.value_count && at; i++) {
        const tally_result_info *value = &s->o.values[i];
        cli_value text;
        const size_t length = strcspn(at, ",");
        snprintf(text.text, sizeof(text.text), "%.*s", (int)length, at);
        if (length >= sizeof(text.text) || !cli_value_read(value->dtype, text.text, s->initial + value->offset)) {
            cli_report("--initial %s: '%s' is no %s, the result's type: %s", s->r->initial, text.text,
                       tally_dtype_name(value->dtype), cli_value_needed(value->dtype).text);
            return false;
        }
        at = at[length] ? at + length + 1 : NULL;
    }
    if (i == s->o.value_count && !at) return true;
    cli_report("--initial %s: the result has %u value%s, and so must this have", s->r->initial, s->o.value_count,
               s->o.value_count == 1 ? "" : "s");
    return false;
}

/* Makes the plan. Its result's types are known only then, and an initial value needs them: the plan
 * is made anew with it. */
static bool make_plan(segments *s) {
    const reduce_request *r = s->r;
    s->desc = (tally_segments_desc){.size = sizeof(s->desc),
                                    .by = forms[r->form].by,
                                    .in = s->in[0].dtype,
                                    .terms = r->terms,
                                    .term_count = r->term_count,
                                    .flags = r->where ? TALLY_WHERE : 0,
                                    .max_n = s->o.n ? s->o.n : 1,
                                    .max_segments = s->count > 1 ? s->count : 2}; /* 1 would compile more */
    if (r->form == REDUCE_OFFSETS) s->desc.offsets = s->by.dtype;
    if (r->form == REDUCE_KEYS) s->desc.key_bytes = (uint32_t)tally_dtype_bytes(s->by.dtype);
    if (!create_plan(s)) return false;
    if (r->initial) {
        if (!read_initial(s)) return false;
        tally_plan_destroy(s->plan);
        s->plan = NULL;
        s->desc.initial = s->initial;
        if (!create_plan(s)) return false;
    }
    for (uint32_t i = 0; i < r->param_count && !r->custom; i++)
        if (tally_plan_set_param(s->plan, r->params[i].name, r->params[i].value)) return failed(s);
    return true;
}

/* ---- the run --------------------------------------------------------------------------------- */

/* A plan alone takes parameters; without them the library reads the files where they are mapped,
 * also those that the device cannot hold. */
static bool is_in_place(const segments *s) {
    return forms[s->r->form].by == TALLY_BY_AXES && (s->r->custom || !s->r->param_count);
}

static tally_status run_axes(segments *s) {
    if (is_in_place(s)) {
        tally_host_axes args = {.size = sizeof(args),
                                .axes = s->axes,
                                .axis_count = s->shape.dimensions,
                                .where = s->where.items,
                                .out = {s->o.result}};
        for (uint32_t k = 0; k < s->r->inputs; k++) args.in[k] = s->in[k].items;
        return tally_reduce_host_axes(s->r->context, &s->desc, &args);
    }
    tally_axes_args args = {.size = sizeof(args),
                            .axes = s->axes,
                            .axis_count = s->shape.dimensions,
                            .where = s->buffers.where,
                            .out = {s->buffers.out}};
    for (uint32_t k = 0; k < s->r->inputs; k++) args.in[k] = s->buffers.in[k];
    return tally_reduce_axes(s->plan, s->queue, &args);
}

static tally_status run_offsets(segments *s) {
    tally_offsets_args args = {.size = sizeof(args),
                               .count = s->count,
                               .begins = s->buffers.by,
                               .n = s->o.n,
                               .where = s->buffers.where,
                               .out = {s->buffers.out}};
    for (uint32_t k = 0; k < s->r->inputs; k++) args.in[k] = s->buffers.in[k];
    return tally_reduce_offsets(s->plan, s->queue, &args);
}

static tally_status run_keys(segments *s) {
    tally_keys_args args = {.size = sizeof(args),
                            .keys = s->buffers.by,
                            .n = s->o.n,
                            .where = s->buffers.where,
                            .capacity = s->count,
                            .out_keys = s->buffers.keys,
                            .out = {s->buffers.out},
                            .runs = s->buffers.runs};
    for (uint32_t k = 0; k < s->r->inputs; k++) args.in[k] = s->buffers.in[k];
    return tally_reduce_keys(s->plan, s->queue, &args);
}

/* Makes a file's items a buffer; on a device that uses host memory they stay where they are. */
static tally_status lend(const segments *s, const array *a, tally_buffer **out) {
    if (!a->items) return TALLY_OK;
    if (s->r->info.device.host_memory) return tally_buffer_wrap_host(s->r->context, a->items, array_bytes(a), out);
    const tally_status status = tally_buffer_create(s->r->context, array_bytes(a), out);
    return status ? status : tally_buffer_write(s->queue, *out, 0, a->items, array_bytes(a));
}

static tally_status open_buffers(segments *s) {
    const bool keys = s->r->form == REDUCE_KEYS;
    tally_context *context = s->r->context;
    tally_status status = tally_queue_create(context, &s->queue);
    for (uint32_t k = 0; k < s->r->inputs && !status; k++) status = lend(s, &s->in[k], &s->buffers.in[k]);
    if (!status) status = lend(s, &s->where, &s->buffers.where);
    if (!status) status = lend(s, &s->by, &s->buffers.by);
    if (!status) status = tally_buffer_create(context, s->count * s->result_bytes, &s->buffers.out);
    if (!status && keys) status = tally_buffer_create(context, s->count * s->desc.key_bytes, &s->buffers.keys);
    if (!status && keys) status = tally_buffer_create(context, sizeof(uint64_t), &s->buffers.runs);
    return status;
}

static tally_status run(segments *s) {
    tally_status status = forms[s->r->form].run(s);
    if (is_in_place(s)) return status;
    if (!status) status = tally_buffer_read(s->queue, s->buffers.out, 0, s->o.result, s->count * s->result_bytes);
    if (!status && s->keys) status = tally_buffer_read(s->queue, s->buffers.keys, 0, s->keys, s->count * s->desc.key_bytes);
    return status ? status : tally_queue_wait(s->queue);
}

static bool allocate(segments *s) {
    const size_t most = SIZE_MAX / 2 / (s->result_bytes > 16 ? s->result_bytes : 16);
    if (s->count > most) return no_memory(s);
    s->o.result = malloc(s->count * s->result_bytes + 1);
    if (s->r->form == REDUCE_KEYS) s->keys = malloc(s->count * s->desc.key_bytes + 1);
    return (s->o.result && (s->keys || s->r->form != REDUCE_KEYS)) || no_memory(s);
}

static bool reduce(segments *s) {
    const uint64_t bytes = s->o.bytes;
    double begun = units_seconds();
    tally_status status = is_in_place(s) ? TALLY_OK : open_buffers(s);
    if (!status && bytes <= WARM_BYTES) {
        status = run(s);
        begun = units_seconds();
    }
    if (!status) status = run(s);
    s->o.seconds = units_seconds() - begun;
    s->o.bytes += s->count * (s->result_bytes + (s->keys ? s->desc.key_bytes : 0));
    if (status == TALLY_E_ARGUMENT && s->r->by) return cli_report("%s: %s", s->r->by, cli_last_error().text), false;
    return status == TALLY_OK || failed(s);
}

/* ---- the results ----------------------------------------------------------------------------- */

npy_shape segments_file_shape(const segments *s) {
    npy_shape shape = s->out;
    if (s->o.value_count > 1) shape.lengths[shape.dimensions++] = s->o.value_count;
    return shape;
}

/* Opens the file of the values before they are computed: its path may be wrong. So may the path of
 * the keys, which is only tried: one file is written at a time. */
static bool open_output(segments *s) {
    const char *path = s->r->output, *keys = s->r->keys_out;
    npy_writer trial;
    if (keys && !npy_write_open(&trial, keys, s->by.dtype, 1)) return false;
    if (keys) npy_write_abandon(&trial);
    return !path || npy_write_open(&s->to, path, s->o.values[0].dtype, segments_file_shape(s).dimensions);
}

/* Writes the values, and the keys that they belong to. */
static bool save(segments *s) {
    const array keys = {
        .dtype = s->by.dtype, .n = s->count, .shape = {.dimensions = 1, .lengths = {s->count}}, .items = s->keys};
    const npy_shape shape = segments_file_shape(s);
    const char *output = s->r->output, *keys_out = s->r->keys_out;
    if (!output) return true;
    if (!npy_write_items(&s->to, s->o.result, s->count * s->result_bytes) || !npy_write_close(&s->to, &shape)) return false;
    return !keys_out || array_save(&keys, keys_out);
}

static bool reduce_all(segments *s) {
    const reduce_request *r = s->r;
    const array *const arrays[] = {&s->in[0], &s->in[1], &s->in[2], &s->in[3], &s->where, &s->by};
    if (!open_files(s) || !forms[r->form].fit(s)) return false;
    s->o.n = count_items(s);
    s->o.in = s->in[0].dtype;
    for (size_t i = 0; i < sizeof(arrays) / sizeof(arrays[0]); i++)
        if (arrays[i]->items) s->o.bytes += array_bytes(arrays[i]);
    if (!r->json && !r->quiet) progress_wait(PROGRESS_COMPILING);
    const bool done = make_plan(s) && open_output(s) && allocate(s) && reduce(s);
    progress_end();
    return done && (r->form != REDUCE_KEYS || r->each_run || segments_check_keys(s)) && save(s);
}

static void release(segments *s) {
    if (s->queue) (void)tally_queue_wait(s->queue); /* the error is reported already */
    tally_buffer *const rest[] = {s->buffers.where, s->buffers.by, s->buffers.out, s->buffers.keys, s->buffers.runs};
    for (size_t i = 0; i < sizeof(rest) / sizeof(rest[0]); i++) tally_buffer_destroy(rest[i]);
    for (uint32_t k = 0; k < TALLY_MAX_INPUTS; k++) tally_buffer_destroy(s->buffers.in[k]);
    npy_write_abandon(&s->to);
    tally_plan_destroy(s->plan);
    tally_queue_destroy(s->queue);
    for (uint32_t k = 0; k < TALLY_MAX_INPUTS; k++) array_free(&s->in[k]);
    array_free(&s->where);
    array_free(&s->by);
    free(s->keys);
    free(s->o.result);
}

bool reduce_segments(const reduce_request *r, char *const *files, reduce_total *total) {
    segments *s = calloc(1, sizeof(*s));
    if (!s) return cli_report("out of memory"), false;
    s->r = r;
    s->files = files;
    const bool done = reduce_all(s);
    if (done) {
        if (r->form == REDUCE_WHOLE)
            reduce_print(r, files, &s->o);
        else
            segments_print(s);
        total->seconds += s->o.seconds;
        total->bytes += s->o.bytes;
        total->results++;
    }
    release(s);
    free(s);
    return done;
}
