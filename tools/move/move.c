/* SPDX-License-Identifier: MIT */
/* move.c: `tally gather` and `tally scatter`: files in, a .npy file out. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tools/files/array.h"
#include "tools/files/input.h"
#include "tools/cli.h"
#include "tools/files/shape.h"
#include "tools/print/progress.h"

typedef struct mover {
    const cli_options *options;
    bool scatter;
    const char *name, *file; /* `name` is the command's */
    tally_dtype raw;
    uint64_t size; /* of `out`, from --size; UINT64_MAX: not given */
    array in, map, stencil, out;
    tally_context *context;
    tally_context_info info;
    double seconds;
} mover;

/* ---- the request ----------------------------------------------------------------------------- */

static cli_exit understand(mover *m, int count, char **operands) {
    const cli_options *o = m->options;
    if (count == 0) return cli_usage("%s: no file", m->name);
    if (count > 1) return cli_usage("%s: unexpected argument %s", m->name, operands[1]);
    if (!o->index) return cli_usage("%s: --index MAP is missing", m->name);
    if (!o->output) return cli_usage("%s: -o OUT.npy is missing", m->name);
    m->file = operands[0];
    m->size = UINT64_MAX;
    if (strcmp(o->output, "-") == 0) return cli_usage("-o -: a file must be named: %s writes no standard output", m->name);
    if (o->dtype && tally_dtype_from_name(o->dtype, &m->raw) != TALLY_OK)
        return cli_usage("--dtype %s: unknown item type; %s", o->dtype, cli_there_are(o->dtype, cli_dtype_names()).text);
    if (cli_read_count("size", o->count, 0, CLI_MOST_COUNT, &m->size) != CLI_DONE) return CLI_USAGE;
    if (o->count && o->into) return cli_usage("--size %s: --into has a size of its own", o->count);
    const char *const files[] = {m->file, o->index, o->stencil, o->into};
    int streams = 0;
    for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++) streams += files[i] && strcmp(files[i], "-") == 0;
    return streams > 1 ? cli_usage("%s: standard input can be read once", m->name) : CLI_DONE;
}

/* ---- files ----------------------------------------------------------------------------------- */

/* Returns true if item i of one file belongs to item i of the other: they have the same shape, or
 * one is raw and has as many items. Reports a difference. */
static bool fit(const char *path, const array *a, const char *other, const array *b) {
    if (a->is_npy && b->is_npy ? shape_equal(&a->shape, &b->shape) : a->n == b->n) return true;
    if (a->is_npy && b->is_npy)
        cli_report("%s and %s: their shapes differ: %s and %s", path, other, shape_text(&a->shape).text,
                   shape_text(&b->shape).text);
    else
        cli_report("%s has %" PRIu64 " item%s, but %s %" PRIu64, path, a->n, a->n == 1 ? "" : "s", other, b->n);
    return false;
}

static bool load_map(mover *m) {
    const cli_options *o = m->options;
    if (!array_load(&m->map, o->index, INPUT_NPY_ONLY)) return false;
    const tally_dtype t = m->map.dtype;
    if (t != TALLY_I32 && t != TALLY_U32 && t != TALLY_I64 && t != TALLY_U64) {
        cli_report("%s: its items are %s: a map has i32, u32, i64 or u64", o->index, tally_dtype_name(t));
        return false;
    }
    return !m->scatter || (array_repeat(&m->in, &m->map, m->file) && fit(o->index, &m->map, m->file, &m->in));
}

static bool load_stencil(mover *m) {
    const char *path = m->options->stencil;
    if (!path) return true;
    if (!array_load(&m->stencil, path, INPUT_NPY_ONLY)) return false;
    if (tally_dtype_bytes(m->stencil.dtype) != 1) {
        cli_report("%s: its items are %s: a stencil has bool, u8 or i8", path, tally_dtype_name(m->stencil.dtype));
        return false;
    }
    return array_repeat(&m->stencil, &m->map, path) && fit(path, &m->stencil, m->options->index, &m->map);
}

static bool make_out(mover *m) {
    const cli_options *o = m->options;
    const array *like = m->scatter ? &m->in : &m->map;
    const npy_shape flat = {.dimensions = 1, .lengths = {m->size}};
    if (!o->into && m->size != UINT64_MAX) return array_make(&m->out, m->in.dtype, &flat, m->size, o->output);
    if (!o->into) return array_make(&m->out, m->in.dtype, &like->shape, like->n, o->output);
    if (!array_load(&m->out, o->into, INPUT_NPY_ONLY)) return false;
    if (m->out.dtype != m->in.dtype) {
        cli_report("%s: its items are %s, but those of %s are %s", o->into, tally_dtype_name(m->out.dtype), m->file,
                   tally_dtype_name(m->in.dtype));
        return false;
    }
    return m->scatter || fit(o->into, &m->out, o->index, &m->map);
}

/* ---- the device ------------------------------------------------------------------------------ */

typedef struct buffers {
    tally_queue *queue;
    tally_buffer *in, *map, *stencil, *out;
    tally_plan *plan;
} buffers;

static bool failed(const mover *m) {
    cli_report("%s: %s", m->options->index, cli_last_error().text);
    return false;
}

static tally_status upload(const mover *m, const buffers *b, const array *a, tally_buffer **out) {
    const uint64_t bytes = a->items ? array_bytes(a) : 0;
    const tally_status status = tally_buffer_create(m->context, bytes, out);
    return status ? status : tally_buffer_write(b->queue, *out, 0, a->items, bytes);
}

static tally_status open_buffers(const mover *m, buffers *b) {
    const uint32_t last = m->options->last ? TALLY_SCATTER_LAST : 0;
    const tally_move_desc desc = {.size = sizeof(desc),
                                  .item_bytes = (uint32_t)tally_dtype_bytes(m->in.dtype),
                                  .map = m->map.dtype,
                                  .flags = last | (m->stencil.items ? TALLY_STENCIL : 0u),
                                  .max_n = m->map.n ? m->map.n : 1,
                                  .max_out = m->out.n ? m->out.n : 1};
    tally_status status = tally_queue_create(m->context, &b->queue);
    if (!status) status = upload(m, b, &m->in, &b->in);
    if (!status) status = upload(m, b, &m->map, &b->map);
    if (!status) status = upload(m, b, &m->stencil, &b->stencil);
    if (!status) status = upload(m, b, &m->out, &b->out);
    if (!status)
        status = m->scatter ? tally_scatter_plan_create(m->context, &desc, &b->plan)
                            : tally_gather_plan_create(m->context, &desc, &b->plan);
    return status;
}

static void close_buffers(buffers *b) {
    if (b->queue) tally_queue_wait(b->queue);
    tally_plan_destroy(b->plan);
    tally_buffer_destroy(b->in);
    tally_buffer_destroy(b->map);
    tally_buffer_destroy(b->stencil);
    tally_buffer_destroy(b->out);
    tally_queue_destroy(b->queue);
}

static tally_status move(const mover *m, const buffers *b, uint64_t n) {
    const tally_move_args args = {.size = sizeof(args),
                                  .map = b->map,
                                  .n = n,
                                  .in = b->in,
                                  .stencil = m->stencil.items ? b->stencil : NULL,
                                  .out = b->out,
                                  .items = m->scatter ? m->out.n : m->in.n};
    return m->scatter ? tally_scatter(b->plan, b->queue, &args) : tally_gather(b->plan, b->queue, &args);
}

/* Moves one entry first, because some drivers (POCL) compile at the first launch. An error in it is
 * reported by the call for all entries. */
static bool move_all(mover *m) {
    buffers b = {NULL};
    if (!m->options->json) progress_wait(PROGRESS_COMPILING);
    tally_status status = open_buffers(m, &b);
    if (!status) move(m, &b, m->map.n ? 1 : 0);
    progress_end();
    const double begun = units_seconds();
    if (!status) status = move(m, &b, m->map.n);
    m->seconds = units_seconds() - begun;
    if (!status) status = tally_buffer_read(b.queue, b.out, 0, m->out.items, array_bytes(&m->out));
    if (!status) status = tally_queue_wait(b.queue);
    const bool done = status == TALLY_OK || failed(m);
    close_buffers(&b);
    return done;
}

/* ---- messages -------------------------------------------------------------------------------- */

/* Counts the bytes moved: for each entry, the entry itself, an item read and an item written. */
static double bytes_of(const mover *m) {
    return (double)m->map.n * (double)(tally_dtype_bytes(m->map.dtype) + 2 * tally_dtype_bytes(m->in.dtype));
}

static void print_json(const mover *m) {
    json_object *line = json_object_new_object();
    json_object_object_add(line, "command", cli_json_text(m->name));
    json_object_object_add(line, "dtype", cli_json_text(tally_dtype_name(m->in.dtype)));
    json_object_object_add(line, "map_dtype", cli_json_text(tally_dtype_name(m->map.dtype)));
    json_object_object_add(line, "n", json_object_new_uint64(m->map.n));
    json_object_object_add(line, "out_n", json_object_new_uint64(m->out.n));
    cli_json_device(line, &m->info.device);
    cli_json_speed(line, m->seconds, bytes_of(m));
    json_object_object_add(line, "file", cli_json_text(m->file));
    json_object_object_add(line, "index", cli_json_text(m->options->index));
    json_object_object_add(line, "output", cli_json_text(m->options->output));
    cli_print_json(line);
}

static void print_text(const mover *m) {
    printf("%s  %s of %" PRIu64 " %s in %s, %" PRIu64 " items\n", cli_shown(m->options->output).text, m->name, m->map.n,
           tally_dtype_name(m->in.dtype), cli_shown(m->file).text, m->out.n);
    cli_print_run(NULL, &m->info.device, m->seconds, bytes_of(m));
}

static cli_exit run(const cli_options *options, bool scatter, int count, char **operands) {
    mover m = {.options = options, .scatter = scatter, .name = scatter ? "scatter" : "gather"};
    cli_exit code = understand(&m, count, operands);
    if (code == CLI_DONE) code = cli_open(options, &m.context);
    if (code != CLI_DONE) return code;
    bool done = tally_context_get_info(m.context, &m.info) == TALLY_OK || failed(&m);
    done = done && array_load(&m.in, m.file, m.raw) && load_map(&m) && load_stencil(&m) && make_out(&m) && move_all(&m) &&
           array_save(&m.out, options->output);
    if (done) (options->json ? print_json : print_text)(&m);
    array *const arrays[] = {&m.in, &m.map, &m.stencil, &m.out};
    for (size_t i = 0; i < sizeof(arrays) / sizeof(arrays[0]); i++) array_free(arrays[i]);
    tally_context_destroy(m.context);
    return done ? CLI_DONE : CLI_FAILED;
}

cli_exit cli_gather(const cli_options *options, int count, char **operands) {
    return run(options, false, count, operands);
}

cli_exit cli_scatter(const cli_options *options, int count, char **operands) {
    return run(options, true, count, operands);
}
