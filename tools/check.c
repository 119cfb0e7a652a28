/* SPDX-License-Identifier: MIT */
/*
 * check.c: `tally check`: whether the devices here return the right bits. A cell is a canonical variant, an op and a dtype; it runs
 * over sizes and value patterns, and each result is compared with the host's oracle, which the tests use too. (The ladder's
 * variants have no one right order: the conformance tests hold them to their bound.)
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli.h"
#include "oracle.h"
#include "patterns.h"
#include "progress.h"

/* Every pattern at the small sizes; at the large ones, those that tell most. */
static const uint64_t small_sizes[] = {0, 1, 2, 127, 128, 4095, 4096, 4097};
static const uint64_t large_sizes[] = {3 * 4096 + 1, 1000003};
static const int large_patterns[] = {PATTERN_WIDE, PATTERN_NAN_MIDDLE, PATTERN_LIMITS};
#define LARGEST_SIZE ((uint64_t)1000003)

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

typedef enum cell_state { CELL_RUN, CELL_FAILED, CELL_SKIPPED } cell_state;

typedef struct cell {
    cell_state state;
    tally_variant_info variant;
    tally_op op;
    tally_dtype dtype;
    char text[512]; /* why it was skipped, or how it failed first */
    tally_plan *plan;
} cell;

typedef struct cell_counts {
    unsigned cells[CELL_SKIPPED + 1];
} cell_counts;

/* What a device is tested with: its own memory, filled from `items`. */
typedef struct subject {
    tally_context *context;
    tally_device_info device;
    tally_queue *queue;
    tally_buffer *in, *out;
    unsigned char *items;
    cell *cells; /* by dtype, then op, then variant */
    size_t per_dtype, count;
} subject;

static void fail_cell(cell *c, const char *text) {
    if (c->state == CELL_RUN) snprintf(c->text, sizeof(c->text), "%s", text);
    c->state = CELL_FAILED;
}

/* ---- one cell ------------------------------------------------------------------------------------------------------ */

static void prepare(const subject *s, cell *c) {
    const tally_reduce_desc desc = {
        .size = sizeof(desc), .op = c->op, .in = c->dtype, .max_n = LARGEST_SIZE, .variant = c->variant.name};
    c->state = CELL_RUN;
    const tally_status status = tally_plan_create(s->context, &desc, &c->plan);
    if (status == TALLY_OK) return;
    snprintf(c->text, sizeof(c->text), "%s", tally_last_error());
    c->state = status == TALLY_E_UNSUPPORTED ? CELL_SKIPPED : CELL_FAILED;
}

static void compare(const subject *s, cell *c, uint64_t offset, uint64_t n, int pattern) {
    oracle_result want, got, poison;
    const tally_dtype type = tally_result_dtype(c->op, c->dtype);
    const size_t bytes = tally_dtype_bytes(type);
    memset(&poison, 0xa5, sizeof(poison));
    tally_status status = tally_buffer_write(s->queue, s->out, 0, &poison, bytes);
    if (!status) status = tally_reduce_at(c->plan, s->queue, s->in, offset, n, s->out, 0);
    if (!status) status = tally_buffer_read(s->queue, s->out, 0, &got, bytes);
    if (!status) status = tally_queue_wait(s->queue);
    if (status) {
        fail_cell(c, tally_last_error());
        return;
    }
    oracle_reduce(c->op, c->dtype, s->items, n, &want);
    if (memcmp(&want, &got, bytes) == 0) return;
    char text[256], bits[2][20];
    for (size_t i = 0; i < bytes; i++) {
        snprintf(bits[0] + 2 * i, 3, "%02x", got.bytes[i]);
        snprintf(bits[1] + 2 * i, 3, "%02x", want.bytes[i]);
    }
    snprintf(text, sizeof(text), "n %" PRIu64 ", offset %" PRIu64 ", pattern '%s': got %s, expected %s (bytes %s, expected %s)",
             n, offset, pattern_name(pattern), cli_value_text(type, &got).text, cli_value_text(type, &want).text, bits[0],
             bits[1]);
    fail_cell(c, text);
}

/* ---- one device ---------------------------------------------------------------------------------------------------- */

/* One input for all the cells of a dtype; at odd patterns it does not start where the buffer does. */
static void try_input(const subject *s, cell *cells, tally_dtype dtype, uint64_t n, int pattern) {
    const uint64_t offset = (uint64_t)pattern % 2, item_bytes = tally_dtype_bytes(dtype);
    pattern_fill(pattern, dtype, s->items, n);
    tally_status status = tally_buffer_write(s->queue, s->in, offset * item_bytes, s->items, n * item_bytes);
    if (!status) status = tally_queue_wait(s->queue);
    for (size_t i = 0; i < s->per_dtype; i++) {
        if (status && cells[i].plan)
            fail_cell(&cells[i], tally_last_error());
        else if (cells[i].plan)
            compare(s, &cells[i], offset, n, pattern);
    }
}

static void try_dtype(const subject *s, cell *cells, uint64_t steps) {
    const tally_dtype dtype = cells[0].dtype;
    for (size_t i = 0; i < s->per_dtype; i++) {
        prepare(s, &cells[i]);
        progress_update(steps + i);
    }
    for (size_t i = 0; i < COUNT(small_sizes); i++)
        for (int pattern = 0; pattern < PATTERNS; pattern++) try_input(s, cells, dtype, small_sizes[i], pattern);
    for (size_t i = 0; i < COUNT(large_sizes); i++)
        for (size_t p = 0; p < COUNT(large_patterns); p++) try_input(s, cells, dtype, large_sizes[i], large_patterns[p]);
    for (size_t i = 0; i < s->per_dtype; i++) {
        tally_plan_destroy(cells[i].plan);
        cells[i].plan = NULL;
    }
}

static bool make_cells(subject *s) {
    tally_variant_info variant;
    const size_t variants = tally_variant_count();
    s->cells = calloc(variants * TALLY_OP_END * TALLY_DTYPE_END, sizeof(cell));
    if (!s->cells) return false;
    for (int dtype = 0; dtype < TALLY_DTYPE_END; dtype++) {
        const size_t before = s->count;
        if (!tally_dtype_name((tally_dtype)dtype)) continue;
        for (int op = 0; op < TALLY_OP_END; op++)
            for (size_t v = 0; tally_op_name((tally_op)op) && tally_variant_get(v, &variant) == TALLY_OK; v++)
                if (variant.canonical)
                    s->cells[s->count++] = (cell){.variant = variant, .op = (tally_op)op, .dtype = (tally_dtype)dtype};
        s->per_dtype = s->count - before;
    }
    return true;
}

static bool open_subject(subject *s, const char *selection) {
    const cli_options options = {.backend = selection};
    tally_context_info info;
    if (cli_open(&options, &s->context) != CLI_DONE) return false;
    tally_status status = tally_context_get_info(s->context, &info);
    if (!status) status = tally_queue_create(s->context, &s->queue);
    if (!status) status = tally_buffer_create(s->context, (LARGEST_SIZE + 1) * 8, &s->in);
    if (!status) status = tally_buffer_create(s->context, 8, &s->out);
    s->items = malloc((LARGEST_SIZE + 1) * 8);
    if (!status && s->items && make_cells(s)) return s->device = info.device, true;
    cli_report("%s: %s", selection, status ? tally_last_error() : "out of memory");
    return false;
}

static void close_subject(subject *s) {
    tally_buffer_destroy(s->in);
    tally_buffer_destroy(s->out);
    tally_queue_destroy(s->queue);
    tally_context_destroy(s->context);
    free(s->items);
    free(s->cells);
}

/* ---- results ------------------------------------------------------------------------------------------------------- */

/* Counts the cells of a variant; of all variants for NULL. */
static cell_counts count_cells(const subject *s, const char *variant) {
    cell_counts sum = {{0}};
    for (size_t i = 0; i < s->count; i++)
        if (!variant || strcmp(s->cells[i].variant.name, variant) == 0) sum.cells[s->cells[i].state]++;
    return sum;
}

/* Cells of the same variant that were skipped for the same reason, from the first of them on; 0 for the others. */
static unsigned count_alike(const subject *s, size_t index) {
    const cell *c = &s->cells[index];
    unsigned alike = 0;
    if (c->state != CELL_SKIPPED) return 0;
    for (size_t i = 0; i < s->count; i++) {
        const cell *other = &s->cells[i];
        if (other->state != CELL_SKIPPED || strcmp(other->variant.name, c->variant.name) || strcmp(other->text, c->text))
            continue;
        if (i < index) return 0;
        alike++;
    }
    return alike;
}

static void print_table(const subject *s) {
    tally_variant_info v;
    printf("%s:%d %s\n", s->device.backend, s->device.index, s->device.name);
    printf("  %-16s %6s %6s %7s\n", "variant", "run", "failed", "skipped");
    for (size_t i = 0; tally_variant_get(i, &v) == TALLY_OK; i++) {
        if (!v.canonical) continue;
        const cell_counts sum = count_cells(s, v.name);
        printf("  %-16s %6u %6u %7u\n", v.name, sum.cells[CELL_RUN] + sum.cells[CELL_FAILED], sum.cells[CELL_FAILED],
               sum.cells[CELL_SKIPPED]);
    }
    for (size_t i = 0; i < s->count; i++) {
        const cell *c = &s->cells[i];
        const unsigned alike = count_alike(s, i);
        if (alike) printf("  skipped: %s, %u cells: %s\n", c->variant.name, alike, c->text);
        if (c->state != CELL_FAILED) continue;
        printf("  failed: %s %s %s: %s\n", c->variant.name, tally_op_name(c->op), tally_dtype_name(c->dtype), c->text);
    }
}

static void add_counts(json_object *o, cell_counts sum) {
    json_object_object_add(o, "run", json_object_new_int64(sum.cells[CELL_RUN] + sum.cells[CELL_FAILED]));
    json_object_object_add(o, "failed", json_object_new_int64(sum.cells[CELL_FAILED]));
    json_object_object_add(o, "skipped", json_object_new_int64(sum.cells[CELL_SKIPPED]));
}

static void print_json(const subject *s) {
    tally_variant_info v;
    json_object *o = json_object_new_object(), *variants = json_object_new_array();
    json_object *failures = json_object_new_array(), *skips = json_object_new_array();
    json_object_object_add(o, "backend", cli_json_text(s->device.backend));
    json_object_object_add(o, "device", cli_json_text(s->device.name));
    json_object_object_add(o, "device_index", json_object_new_int(s->device.index));
    add_counts(o, count_cells(s, NULL));
    for (size_t i = 0; tally_variant_get(i, &v) == TALLY_OK; i++) {
        if (!v.canonical) continue;
        json_object *row = json_object_new_object();
        json_object_object_add(row, "variant", cli_json_text(v.name));
        add_counts(row, count_cells(s, v.name));
        json_object_array_add(variants, row);
    }
    for (size_t i = 0; i < s->count; i++) {
        const cell *c = &s->cells[i];
        if (c->state == CELL_RUN) continue;
        json_object *row = json_object_new_object();
        json_object_object_add(row, "variant", cli_json_text(c->variant.name));
        json_object_object_add(row, "op", cli_json_text(tally_op_name(c->op)));
        json_object_object_add(row, "dtype", cli_json_text(tally_dtype_name(c->dtype)));
        json_object_object_add(row, "reason", cli_json_text(c->text));
        json_object_array_add(c->state == CELL_FAILED ? failures : skips, row);
    }
    json_object_object_add(o, "variants", variants);
    json_object_object_add(o, "failures", failures);
    json_object_object_add(o, "skips", skips);
    cli_print_json(o);
}

/* A device that cannot be opened, gives a wrong bit, or runs no cell at all has failed. */
static cli_exit check_device(const cli_options *options, const char *selection) {
    subject s = {0};
    cli_exit code = CLI_FAILED;
    if (open_subject(&s, selection)) {
        progress_begin(selection, PROGRESS_STEPS, s.count);
        for (size_t i = 0; i < s.count; i += s.per_dtype) try_dtype(&s, s.cells + i, i);
        progress_end();
        const cell_counts sum = count_cells(&s, NULL);
        if (sum.cells[CELL_RUN] && !sum.cells[CELL_FAILED]) code = CLI_DONE;
        if (options->json)
            print_json(&s);
        else
            print_table(&s);
        if (!cli_flush()) code = CLI_FAILED;
    }
    close_subject(&s);
    return code;
}

/* The device that --backend chooses, by its index. */
static cli_exit check_chosen(const cli_options *options) {
    tally_context *context = NULL;
    tally_context_info info;
    char selection[40];
    const cli_exit code = cli_open(options, &context);
    if (code != CLI_DONE) return code;
    tally_context_get_info(context, &info);
    tally_context_destroy(context);
    snprintf(selection, sizeof(selection), "%s:%d", info.device.backend, info.device.index);
    return check_device(options, selection);
}

cli_exit cli_check(const cli_options *options, int count, char **operands) {
    (void)count, (void)operands;
    if (options->backend) return check_chosen(options);
    cli_exit code = CLI_DONE;
    int devices = 0;
    tally_backend_info backend;
    for (size_t i = 0; tally_backend_get(i, &backend) == TALLY_OK; i++)
        for (int d = 0; d < backend.devices; d++, devices++) {
            char selection[40];
            snprintf(selection, sizeof(selection), "%s:%d", backend.name, d);
            if (check_device(options, selection) != CLI_DONE) code = CLI_FAILED;
        }
    if (devices) return code;
    cli_report("check: there is no device (see tally devices)");
    return CLI_FAILED;
}
