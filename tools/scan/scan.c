/* SPDX-License-Identifier: MIT */
/*
 * scan.c: `tally scan` sends a file through the device in pieces of whole blocks. While the device
 * scans one piece, the program writes the values before it and reads the items after it. A reverse
 * scan starts with the last item, so its only piece is the whole file.
 */
#include "scan.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tools/files/input.h"
#include "tools/files/npy_write.h"
#include "tools/print/progress.h"

/* Approximate bytes of a piece's items, and of its values. TALLY_TEST_SCAN_PIECE sets the items,
 * for tests. */
#define PIECE_BYTES ((uint64_t)32 << 20)

typedef struct piece {
    unsigned char *items, *values;
    tally_buffer *in, *out;
    uint64_t n;
} piece;

typedef struct job {
    const scan_request *r;
    input in;
    npy_writer to;
    tally_plan *plan;
    tally_queue *queue;
    piece pieces[2];
    uint64_t room; /* items of a piece */
    size_t value_bytes;

    /* The slice of the input that is being handed out. */
    const unsigned char *at;
    uint64_t left;
    bool last;
    scan_outcome o;
} job;

static bool failed(const job *j) {
    cli_report("%s: %s", j->in.name, cli_last_error().text);
    return false;
}

static bool no_memory(const job *j) {
    cli_report("%s: out of memory", j->in.name);
    return false;
}

static bool too_large(const job *j) {
    cli_report("%s: a reverse scan needs all items at once, and they do not fit the memory", j->in.name);
    return false;
}

/* ---- reading --------------------------------------------------------------------------------- */

/* Reads up to `room` items, and fewer only at the end. */
static bool read_items(job *j, unsigned char *to, uint64_t room, uint64_t *n) {
    const size_t bytes = j->in.item_bytes;
    *n = 0;
    while (*n < room) {
        const void *slice = j->at;
        if (j->left == 0 && j->last) break;
        if (j->left == 0) {
            if (!input_next(&j->in, &slice, &j->left, &j->last)) return false;
            j->at = slice;
        }
        const uint64_t some = j->left < room - *n ? j->left : room - *n;
        if (some) memcpy(to + *n * bytes, j->at, some * bytes);
        j->at += some * bytes;
        j->left -= some;
        *n += some;
    }
    return true;
}

/* Reads all items into the first piece's memory, which grows: the length of a stream is unknown. */
static bool read_all(job *j) {
    piece *p = &j->pieces[0];
    uint64_t some;
    const uint64_t known = j->in.n == INPUT_UNKNOWN ? 0 : j->in.n, most = j->r->info.device.memory_bytes / j->in.item_bytes;
    /* A stream's end may show only when an item more than it has is asked for. */
    for (j->room = known ? known : TALLY_SCAN_BLOCK;; j->room = known ? known + 1 : 2 * j->room) {
        if (known > most) return too_large(j);
        unsigned char *items = realloc(p->items, j->room * j->in.item_bytes);
        if (!items) return too_large(j);
        p->items = items;
        if (!read_items(j, items + p->n * j->in.item_bytes, j->room - p->n, &some)) return false;
        p->n += some;
        if (j->last && j->left == 0) break;
        if (p->n > most) return too_large(j);
    }
    j->room = p->n ? p->n : 1;
    return true;
}

/* ---- the plan -------------------------------------------------------------------------------- */

static uint64_t room_of_pieces(const job *j) {
    const char *text = getenv("TALLY_TEST_SCAN_PIECE");
    uint64_t room = PIECE_BYTES / j->in.item_bytes / TALLY_SCAN_BLOCK * TALLY_SCAN_BLOCK, asked;
    if (text && units_read_count(text, strlen(text), TALLY_SCAN_BLOCK, CLI_MOST_COUNT, &asked))
        room = asked / TALLY_SCAN_BLOCK * TALLY_SCAN_BLOCK;
    if (j->in.n != INPUT_UNKNOWN && j->in.n < room) room = j->in.n ? j->in.n : 1;
    return room;
}

tally_scan_desc scan_desc(const scan_request *r, tally_dtype dtype, uint64_t max_n, const void *initial, uint32_t also) {
    return (tally_scan_desc){.size = sizeof(tally_scan_desc),
                             .op = r->op,
                             .in = dtype,
                             .out = r->types.out,
                             .acc = r->types.acc,
                             .accuracy = r->types.accuracy,
                             .max_n = max_n,
                             .variant = r->variant,
                             .flags = r->flags | also,
                             .initial = r->initial ? initial : NULL};
}

static bool create_plan(job *j) {
    const scan_request *r = j->r;
    _Alignas(16) unsigned char initial[16] = {0};
    if (r->initial && !scan_read_initial(r, j->in.dtype, initial)) return false;
    const tally_scan_desc desc = scan_desc(r, j->in.dtype, j->room, initial, 0);
    const tally_status status = tally_scan_plan_create(r->context, &desc, &j->plan);
    if (status == TALLY_E_MEMORY && r->flags & TALLY_REVERSE) return too_large(j);
    if (status) return failed(j);
    for (uint32_t i = 0; i < r->param_count; i++)
        if (tally_plan_set_param(j->plan, r->params[i].name, r->params[i].value)) return failed(j);
    tally_result_info value;
    if (!tally_plan_result(j->plan, 0, &value)) return failed(j);
    j->o.in = j->in.dtype;
    j->o.out = value.dtype;
    j->value_bytes = tally_plan_result_bytes(j->plan);
    snprintf(j->o.variant, sizeof(j->o.variant), "%s", tally_plan_variant(j->plan));
    return true;
}

static bool create_piece(job *j, piece *p) {
    if (!p->items && !(p->items = malloc(j->room * j->in.item_bytes))) return no_memory(j);
    if (!(p->values = malloc(j->room * j->value_bytes))) return j->r->flags & TALLY_REVERSE ? too_large(j) : no_memory(j);
    tally_status status = tally_buffer_create(j->r->context, j->room * j->in.item_bytes, &p->in);
    if (!status) status = tally_buffer_create(j->r->context, j->room * j->value_bytes, &p->out);
    if (!status) return true;
    return status == TALLY_E_MEMORY && j->r->flags & TALLY_REVERSE ? too_large(j) : failed(j);
}

/* Scans one item before the clock starts, because some drivers (POCL) compile at the first
 * launch. */
static bool warm_up(job *j) {
    const piece *p = &j->pieces[0];
    static const uint64_t zero[2];
    tally_status status = tally_queue_create(j->r->context, &j->queue);
    if (!status) status = tally_buffer_write(j->queue, p->in, 0, zero, j->in.item_bytes);
    if (!status) status = tally_scan(j->plan, j->queue, p->in, 1, p->out);
    if (!status) status = tally_queue_wait(j->queue);
    return status == TALLY_OK || failed(j);
}

static bool prepare(job *j) {
    const bool reverse = (j->r->flags & TALLY_REVERSE) != 0;
    if (!reverse) j->room = room_of_pieces(j);
    if (reverse && !read_all(j)) return false;
    if (!j->r->json) progress_wait(PROGRESS_COMPILING);
    if (!create_plan(j)) return false;
    if (!npy_write_open(&j->to, j->r->output, j->o.out, j->in.shape.dimensions + 2)) return false;
    if (!create_piece(j, &j->pieces[0])) return false;
    /* A second piece is needed only if the items do not fit into one. */
    if (!reverse && (j->in.n == INPUT_UNKNOWN || j->in.n > j->room) && !create_piece(j, &j->pieces[1])) return false;
    return warm_up(j);
}

/* ---- running --------------------------------------------------------------------------------- */

static bool enqueue(job *j, piece *p) {
    const uint64_t before = j->o.n;
    j->o.n += p->n;
    tally_status status = tally_buffer_write(j->queue, p->in, 0, p->items, p->n * j->in.item_bytes);
    const tally_scan_args args = {.size = sizeof(args), .in = p->in, .n = p->n, .out = p->out};
    if (!status) status = (before ? tally_scan_next : tally_scan_with)(j->plan, j->queue, &args);
    if (!status) status = tally_buffer_read(j->queue, p->out, 0, p->values, p->n * j->value_bytes);
    return status == TALLY_OK || failed(j);
}

static bool write_values(job *j, const piece *p) {
    if (!npy_write_items(&j->to, p->values, p->n * j->value_bytes)) return false;
    j->o.bytes += p->n * (j->in.item_bytes + j->value_bytes);
    progress_update(j->o.bytes);
    return true;
}

/* Runs the pieces in turn. `now` is the piece on the device. A piece without items ends the
 * loop. */
static bool run_pieces(job *j) {
    piece *now = &j->pieces[0], *next = &j->pieces[1];
    if (!(j->r->flags & TALLY_REVERSE) && !read_items(j, now->items, j->room, &now->n)) return false;
    if (now->n && !enqueue(j, now)) return false;
    while (now->n) {
        next->n = 0;
        if (next->items && now->n == j->room && !read_items(j, next->items, j->room, &next->n)) return false;
        if (tally_queue_wait(j->queue)) return failed(j);
        if (next->n && !enqueue(j, next)) return false;
        if (!write_values(j, now)) return false;
        piece *const done = now;
        now = next;
        next = done;
    }
    /* A stream with more or fewer items than its header claims shows this only at its end. */
    uint64_t more = 0;
    unsigned char item[16];
    return read_items(j, item, 1, &more);
}

/* Returns the output's shape: the input's, or one dimension if it has none. Two values for each
 * item add a dimension. */
static npy_shape shape_of(const job *j) {
    npy_shape shape = j->in.shape;
    const uint64_t values = j->value_bytes / tally_dtype_bytes(j->o.out);
    if (!j->in.is_npy) shape = (npy_shape){.dimensions = 1, .lengths = {j->o.n}};
    if (values == 1) return shape;
    if (shape.dimensions == NPY_DIMENSION_LIMIT) shape = (npy_shape){.dimensions = 1, .lengths = {j->o.n}};
    shape.lengths[shape.dimensions++] = values;
    return shape;
}

static bool run(job *j) {
    if (!prepare(j)) return false;
    const uint64_t n = j->in.n == INPUT_UNKNOWN ? 0 : j->in.n;
    progress_begin(j->in.name, PROGRESS_BYTES, n * (j->in.item_bytes + j->value_bytes));
    const double begun = units_seconds();
    const bool done = run_pieces(j);
    j->o.seconds = units_seconds() - begun;
    progress_end();
    if (!done) return false;
    const npy_shape shape = shape_of(j);
    return npy_write_close(&j->to, &shape);
}

static void release(job *j) {
    if (j->queue) (void)tally_queue_wait(j->queue); /* the error is reported already */
    npy_write_abandon(&j->to);
    for (int p = 0; p < 2; p++) {
        tally_buffer_destroy(j->pieces[p].in);
        tally_buffer_destroy(j->pieces[p].out);
        free(j->pieces[p].items);
        free(j->pieces[p].values);
    }
    tally_plan_destroy(j->plan);
    tally_queue_destroy(j->queue);
    input_close(&j->in);
}

cli_exit cli_scan(const cli_options *options, int count, char **operands) {
    scan_request r;
    job j = {.r = &r};
    cli_exit code = scan_understand(options, count, operands, &r);
    if (code == CLI_DONE) code = cli_open(options, &r.context);
    if (code == CLI_DONE && tally_context_get_info(r.context, &r.info) != TALLY_OK) {
        cli_report("%s", cli_last_error().text);
        code = CLI_FAILED;
    }
    if (code == CLI_DONE && r.has_axis) {
        code = scan_along_axis(&r, &j.o) ? CLI_DONE : CLI_FAILED;
    } else if (code == CLI_DONE) {
        code = input_open(&j.in, r.path, r.types.raw) && run(&j) ? CLI_DONE : CLI_FAILED;
        release(&j);
    }
    if (code == CLI_DONE) scan_print(&r, &j.o);
    tally_context_destroy(r.context);
    scan_forget(&r);
    return code;
}
