/* SPDX-License-Identifier: MIT */
/*
 * check.c: `tally check` tests that the devices here return the right bits.
 *
 * A cell of reductions is a canonical variant, an op and a dtype. It runs over sizes and value
 * patterns. Each result is compared with the host's oracle, which the tests use too. The ladder's
 * variants have no single right order: the conformance tests hold them to their bound.
 *
 * Each cell compiles a program, so the cells are a selection. It covers every dtype, every shape of
 * accumulator, and everything that the bits of f32 and f64 depend on. scan.c has the cells of
 * scans; move.c has those of gathers and scatters, segments.c those of segments.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "check.h"
#include "oracle/oracle.h"
#include "oracle/patterns.h"
#include "tools/print/progress.h"

/* Small sizes run with every pattern. Large sizes run with the patterns that find most errors. */
static const uint64_t small_sizes[] = {0, 1, 2, 127, 128, 4095, 4096, 4097};
static const uint64_t large_sizes[] = {3 * 4096 + 1, CHECK_MOST_ITEMS};
static const int large_patterns[] = {PATTERN_WIDE, PATTERN_NAN_MIDDLE, PATTERN_LIMITS};

static const struct {
    tally_dtype dtype;
    tally_op ops[5];
} chosen[] = {
    {TALLY_F16, {TALLY_MINMAX}},
    {TALLY_BF16, {TALLY_SUM}},
    {TALLY_F32, {TALLY_SUM, TALLY_MIN, TALLY_ARGMAX, TALLY_NRM2}},
    {TALLY_F64, {TALLY_SUM, TALLY_MAX, TALLY_VAR}},
    {TALLY_I8, {TALLY_SUM}},
    {TALLY_I16, {TALLY_ASUM}},
    {TALLY_I32, {TALLY_MIN}},
    {TALLY_I64, {TALLY_SUM}},
    {TALLY_U8, {TALLY_MEAN}},
    {TALLY_U16, {TALLY_SUMSQ}},
    {TALLY_U32, {TALLY_BXOR}},
    {TALLY_U64, {TALLY_MAX}},
    {TALLY_BOOL, {TALLY_COUNT_NONZERO}},
    {TALLY_C64, {TALLY_PROD}},
    {TALLY_C128, {TALLY_SUM}},
};

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

bool check_add(check_subject *s, const check_cell *cell) {
    if (s->count == s->room) {
        const size_t room = s->room ? 2 * s->room : 64;
        check_cell *cells = realloc(s->cells, room * sizeof(*cells));
        if (!cells) return false;
        s->cells = cells;
        s->room = room;
    }
    s->cells[s->count++] = *cell;
    return true;
}

void check_fail(check_cell *c, const char *text) {
    if (c->state == CHECK_RUN) snprintf(c->text, sizeof(c->text), "%s", text);
    c->state = CHECK_FAILED;
}

void check_no_plan(check_cell *c, tally_status status) {
    snprintf(c->text, sizeof(c->text), "%s", tally_last_error());
    c->state = status == TALLY_E_UNSUPPORTED ? CHECK_SKIPPED : CHECK_FAILED;
}

/* ---- one cell -------------------------------------------------------------------------------- */

static void prepare(const check_subject *s, check_cell *c) {
    const tally_reduce_desc desc = {
        .size = sizeof(desc), .op = c->op, .in = c->dtype, .max_n = CHECK_MOST_ITEMS, .variant = c->variant.name};
    const tally_status status = tally_plan_create(s->context, &desc, &c->plan);
    if (status) check_no_plan(c, status);
}

/* Writes "1.5", or "0.5 1.5" for two values, followed by the bytes. */
void check_describe(const check_cell *c, const unsigned char *value, char *text, size_t bytes) {
    const tally_dtype type = tally_result_dtype(c->op, c->dtype);
    const uint32_t count = tally_result_count(c->op, c->dtype);
    size_t used = 0;
    for (uint32_t i = 0; i < count; i++)
        used += (size_t)snprintf(text + used, bytes - used, "%s%s", i ? " " : "",
                                 cli_value_text(type, value + i * tally_dtype_bytes(type)).text);
    used += (size_t)snprintf(text + used, bytes - used, " (bytes ");
    for (size_t i = 0; i < count * tally_dtype_bytes(type); i++)
        used += (size_t)snprintf(text + used, bytes - used, "%02x", value[i]);
    snprintf(text + used, bytes - used, ")");
}

static void compare(const check_subject *s, check_cell *c, uint64_t offset, uint64_t n, int pattern) {
    oracle_result want, got, poison;
    const size_t bytes = tally_plan_result_bytes(c->plan);
    memset(&poison, 0xa5, sizeof(poison));
    tally_status status = tally_buffer_write(s->queue, s->out, 0, &poison, bytes);
    const tally_reduce_args args = {.size = sizeof(args), .in = {s->in}, .in_offset = {offset}, .n = n, .out = s->out};
    if (!status) status = tally_reduce_with(c->plan, s->queue, &args);
    if (!status) status = tally_buffer_read(s->queue, s->out, 0, &got, bytes);
    if (!status) status = tally_queue_wait(s->queue);
    if (status) {
        check_fail(c, tally_last_error());
        return;
    }
    oracle_reduce(c->op, c->dtype, s->items, n, &want);
    if (memcmp(&want, &got, bytes) == 0) return;
    char text[512], values[2][192];
    check_describe(c, got.bytes, values[0], sizeof(values[0]));
    check_describe(c, want.bytes, values[1], sizeof(values[1]));
    snprintf(text, sizeof(text), "n %" PRIu64 ", offset %" PRIu64 ", pattern '%s': got %s, expected %s", n, offset,
             pattern_name(pattern), values[0], values[1]);
    check_fail(c, text);
}

/* ---- one device ------------------------------------------------------------------------------ */

/* Runs all cells of a dtype on one input. With odd patterns the input starts one item into the
 * buffer. */
static void try_input(const check_subject *s, check_cell *cells, size_t count, uint64_t n, int pattern) {
    const tally_dtype dtype = cells[0].dtype;
    const uint64_t offset = (uint64_t)pattern % 2, item_bytes = tally_dtype_bytes(dtype);
    pattern_fill(pattern, dtype, s->items, n);
    tally_status status = tally_buffer_write(s->queue, s->in, offset * item_bytes, s->items, n * item_bytes);
    if (!status) status = tally_queue_wait(s->queue);
    for (size_t i = 0; i < count; i++) {
        if (status && cells[i].plan)
            check_fail(&cells[i], tally_last_error());
        else if (cells[i].plan)
            compare(s, &cells[i], offset, n, pattern);
    }
}

static void try_dtype(const check_subject *s, check_cell *cells, size_t count, uint64_t steps) {
    for (size_t i = 0; i < count; i++) {
        prepare(s, &cells[i]);
        progress_update(steps + i);
    }
    for (size_t i = 0; i < COUNT(small_sizes); i++)
        for (int pattern = 0; pattern < PATTERNS; pattern++) try_input(s, cells, count, small_sizes[i], pattern);
    for (size_t i = 0; i < COUNT(large_sizes); i++)
        for (size_t p = 0; p < COUNT(large_patterns); p++) try_input(s, cells, count, large_sizes[i], large_patterns[p]);
    for (size_t i = 0; i < count; i++) {
        tally_plan_destroy(cells[i].plan);
        cells[i].plan = NULL;
    }
}

/* Counts the cells from `first` on that have the same dtype. */
static size_t count_of_dtype(const check_subject *s, size_t first) {
    size_t count = 0;
    while (first + count < s->count && s->cells[first + count].primitive == CLI_REDUCE &&
           s->cells[first + count].dtype == s->cells[first].dtype)
        count++;
    return count;
}

static void try_all(check_subject *s) {
    for (size_t i = 0, count = 1; i < s->count; i += count) {
        check_cell *c = &s->cells[i];
        progress_update(i);
        count = c->primitive == CLI_REDUCE ? count_of_dtype(s, i) : 1;
        if (c->primitive == CLI_REDUCE)
            try_dtype(s, c, count, i);
        else if (c->primitive == CLI_SCAN)
            check_run_scan(s, c);
        else if (c->primitive == CLI_SEGMENTS)
            check_run_segments(s, c);
        else
            check_run_move(s, c);
    }
}

static bool make_cells(check_subject *s) {
    check_cell c = {.primitive = CLI_REDUCE};
    for (size_t d = 0; d < COUNT(chosen); d++)
        for (size_t o = 0; o < COUNT(chosen[d].ops) && chosen[d].ops[o]; o++)
            for (size_t v = 0; cli_variant_get(CLI_REDUCE, v, &c.variant); v++) {
                c.op = chosen[d].ops[o];
                c.dtype = chosen[d].dtype;
                if (c.variant.canonical && !check_add(s, &c)) return false;
            }
    return check_add_scans(s) && check_add_indices(s) && check_add_segments(s);
}

static bool open_subject(check_subject *s, const char *selection) {
    const cli_options options = {.backend = selection};
    tally_context_info info = {0};
    if (cli_open(&options, &s->context) != CLI_DONE) return false;
    tally_status status = tally_context_get_info(s->context, &info);
    if (!status) status = tally_queue_create(s->context, &s->queue);
    const size_t bytes = (CHECK_MOST_ITEMS + 1) * CHECK_ITEM_BYTES;
    if (!status) status = tally_buffer_create(s->context, bytes, &s->in);
    if (!status) status = tally_buffer_create(s->context, bytes, &s->out);
    s->items = malloc(bytes);
    s->got = malloc(bytes);
    s->want = malloc(bytes);
    s->device = info.device;
    if (!status && s->items && s->got && s->want && make_cells(s)) return true;
    cli_report("%s: %s", selection, status ? tally_last_error() : "out of memory");
    return false;
}

static void close_subject(check_subject *s) {
    tally_buffer_destroy(s->in);
    tally_buffer_destroy(s->out);
    tally_queue_destroy(s->queue);
    tally_context_destroy(s->context);
    free(s->items);
    free(s->got);
    free(s->want);
    free(s->cells);
}

/* ---- the command ----------------------------------------------------------------------------- */

/* Checks one device. It fails if it cannot be opened, returns a wrong bit, or runs no cell. */
static cli_exit check_device(const cli_options *options, const char *selection) {
    check_subject s = {0};
    cli_exit code = CLI_FAILED;
    if (open_subject(&s, selection)) {
        progress_begin(selection, PROGRESS_STEPS, s.count);
        if (!options->json) progress_wait(PROGRESS_COMPILING);
        try_all(&s);
        progress_end();
        const check_counts sum = check_count(&s, NULL);
        if (sum.cells[CHECK_RUN] && !sum.cells[CHECK_FAILED]) code = CLI_DONE;
        if (options->json)
            check_print_json(&s);
        else
            check_print_table(&s);
        if (!cli_flush()) code = CLI_FAILED;
    }
    close_subject(&s);
    return code;
}

#define MOST_DEVICES 16

/* A device as "opencl:0". */
typedef struct listed_device {
    char text[40];
} listed_device;

/* Opens the device that an entry of --backend names, to find its index. */
static cli_exit find_device(const char *entry, size_t length, listed_device *out) {
    tally_context *context = NULL;
    tally_context_info info;
    char name[256];
    snprintf(name, sizeof(name), "%.*s", (int)length, entry);
    const cli_options options = {.backend = name};
    const cli_exit code = cli_open(&options, &context);
    if (code != CLI_DONE) return code;
    tally_context_get_info(context, &info);
    tally_context_destroy(context);
    snprintf(out->text, sizeof(out->text), "%s:%d", info.device.backend, info.device.index);
    return CLI_DONE;
}

static bool is_listed(const listed_device *devices, size_t count, const listed_device *device) {
    for (size_t i = 0; i < count; i++)
        if (!strcmp(devices[i].text, device->text)) return true;
    return false;
}

/* Checks each device of --backend's list, once. All must be here before one is checked. */
static cli_exit check_chosen(const cli_options *options) {
    listed_device devices[MOST_DEVICES], next;
    size_t count = 0;
    for (const char *at = options->backend; at;) {
        const size_t length = strcspn(at, ",");
        if (!length)
            return cli_usage("--backend '%s': an entry is empty; check tests each device of the list", options->backend);
        const cli_exit code = find_device(at, length, &next);
        if (code != CLI_DONE) return code;
        if (!is_listed(devices, count, &next)) {
            if (count == MOST_DEVICES) return cli_usage("--backend %s: at most %d devices", options->backend, MOST_DEVICES);
            devices[count++] = next;
        }
        at = at[length] ? at + length + 1 : NULL;
    }
    cli_exit code = CLI_DONE;
    for (size_t i = 0; i < count; i++)
        if (check_device(options, devices[i].text) != CLI_DONE) code = CLI_FAILED;
    return code;
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
