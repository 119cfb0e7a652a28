/* SPDX-License-Identifier: MIT */
/* reduce.c: `tally reduce OP FILE...`: one feed for each file. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "cli.h"
#include "input.h"
#include "progress.h"

/* Items that the feed's staging holds, at most: what tally_feed_create takes by itself, in bytes. */
#define STAGING_BYTES ((uint64_t)32 << 20)

typedef struct request {
    tally_context *context;
    tally_context_info info;
    tally_op op;
    tally_dtype raw;     /* TALLY_DTYPE_DEFAULT: .npy only */
    const char *variant; /* as asked for */
    bool json;
} request;

typedef struct outcome {
    uint64_t n;
    size_t item_bytes;
    tally_dtype in;
    uint64_t value[2]; /* room for any result */
    char variant[64];
    double seconds;
} outcome;

static bool failed(const input *in) {
    cli_report("%s: %s", in->name, tally_last_error());
    return false;
}

static bool feed_items(tally_feed *feed, input *in, void *result, uint64_t *total) {
    const void *items;
    uint64_t n;
    bool last;
    *total = 0;
    while (true) {
        if (!input_next(in, &items, &n, &last)) return false;
        *total += n;
        if (last) break;
        if (tally_feed_push(feed, items, n) != TALLY_OK) return failed(in);
        progress_update(*total * in->item_bytes);
    }
    return tally_feed_finish(feed, n ? items : NULL, n, result) == TALLY_OK || failed(in);
}

/* The name of the variant that will run. */
static bool name_variant(const request *r, const input *in, char *name, size_t bytes) {
    const tally_reduce_desc desc = {.size = sizeof(desc), .op = r->op, .in = in->dtype, .max_n = 1, .variant = r->variant};
    tally_plan *plan = NULL;
    if (tally_plan_create(r->context, &desc, &plan) != TALLY_OK) return failed(in);
    snprintf(name, bytes, "%s", tally_plan_variant(plan));
    tally_plan_destroy(plan);
    return true;
}

static bool reduce_input(const request *r, input *in, outcome *out) {
    const uint64_t room = STAGING_BYTES / in->item_bytes, zero = 0;
    const tally_reduce_desc desc = {.size = sizeof(desc),
                                    .op = r->op,
                                    .in = in->dtype,
                                    .max_n = in->n == 0     ? 1
                                             : in->n < room ? in->n
                                                            : room,
                                    .variant = r->variant};
    tally_feed *feed = NULL;
    out->in = in->dtype;
    out->item_bytes = in->item_bytes;
    if (!name_variant(r, in, out->variant, sizeof(out->variant))) return false;
    if (tally_feed_create(r->context, &desc, &feed) != TALLY_OK) return failed(in);
    /* Some drivers (POCL) compile at the first launch: one item, so that this is over before the clock starts. */
    bool done = tally_feed_finish(feed, &zero, 1, out->value) == TALLY_OK || failed(in);
    progress_begin(in->name, PROGRESS_BYTES, in->n == INPUT_UNKNOWN ? 0 : in->n * in->item_bytes);
    const double begun = cli_seconds();
    done = done && feed_items(feed, in, out->value, &out->n);
    out->seconds = cli_seconds() - begun;
    progress_end();
    tally_feed_destroy(feed);
    return done;
}

static double bytes_per_second(const outcome *o) {
    return o->seconds > 0 ? (double)o->n * (double)o->item_bytes / o->seconds : 0;
}

static void print_json(const request *r, const char *file, const outcome *o) {
    char text[32];
    json_object *line = json_object_new_object();
    json_object_object_add(line, "op", cli_json_text(tally_op_name(r->op)));
    json_object_object_add(line, "dtype", cli_json_text(tally_dtype_name(o->in)));
    json_object_object_add(line, "n", json_object_new_uint64(o->n));
    json_object_object_add(line, "value", cli_value_json(tally_result_dtype(r->op, o->in), o->value));
    json_object_object_add(line, "backend", cli_json_text(r->info.device.backend));
    json_object_object_add(line, "device", cli_json_text(r->info.device.name));
    json_object_object_add(line, "device_index", json_object_new_int(r->info.device.index));
    json_object_object_add(line, "variant", cli_json_text(o->variant));
    snprintf(text, sizeof(text), "%.9f", o->seconds);
    json_object_object_add(line, "seconds", json_object_new_double_s(o->seconds, text));
    snprintf(text, sizeof(text), "%.0f", bytes_per_second(o));
    json_object_object_add(line, "bytes_per_second", json_object_new_double_s(bytes_per_second(o), text));
    json_object_object_add(line, "file", cli_json_text(file));
    cli_print_json(line);
}

static void print_text(const request *r, const char *file, const outcome *o) {
    const tally_device_info *d = &r->info.device;
    printf("%s  %s of %" PRIu64 " %s in %s, by %s on %s:%d (%s), %.6f s, %.2f GB/s\n",
           cli_value_text(tally_result_dtype(r->op, o->in), o->value).text, tally_op_name(r->op), o->n, tally_dtype_name(o->in),
           file, o->variant, d->backend, d->index, d->name, o->seconds, 1e-9 * bytes_per_second(o));
}

/* CLI_FAILED for a file that is bad; the others are done all the same. */
static cli_exit reduce_file(const request *r, const char *file) {
    input in;
    outcome o = {0};
    if (!input_open(&in, file, r->raw)) return CLI_FAILED;
    const bool done = reduce_input(r, &in, &o);
    input_close(&in);
    if (!done) return CLI_FAILED;
    if (r->json)
        print_json(r, file, &o);
    else
        print_text(r, file, &o);
    return cli_flush() ? CLI_DONE : CLI_FAILED;
}

static bool variant_exists(const char *name) {
    tally_variant_info info;
    for (size_t i = 0; tally_variant_get(i, &info) == TALLY_OK; i++)
        if (strcmp(info.name, name) == 0) return true;
    return strcmp(name, "auto") == 0;
}

static cli_exit understand(const cli_options *options, int count, char **operands, request *r) {
    if (count == 0) return cli_usage("reduce: no operator; there are %s", cli_op_names().text);
    if (tally_op_from_name(operands[0], &r->op) != TALLY_OK)
        return cli_usage("reduce: unknown operator %s; there are %s", operands[0], cli_op_names().text);
    if (count == 1) return cli_usage("reduce %s: no file; - is standard input", operands[0]);
    if (options->dtype && tally_dtype_from_name(options->dtype, &r->raw) != TALLY_OK)
        return cli_usage("--dtype %s: unknown item type; there are %s", options->dtype, cli_dtype_names().text);
    if (options->variant && !variant_exists(options->variant))
        return cli_usage("--variant %s: unknown variant; there are %s", options->variant, cli_variant_names().text);
    int streams = 0;
    for (int i = 1; i < count; i++) streams += strcmp(operands[i], "-") == 0;
    if (streams > 1) return cli_usage("reduce: standard input, -, can be named only once");
    r->variant = options->variant;
    r->json = options->json;
    return CLI_DONE;
}

cli_exit cli_reduce(const cli_options *options, int count, char **operands) {
    request r = {0};
    cli_exit code = understand(options, count, operands, &r);
    if (code == CLI_DONE) code = cli_open(options, &r.context);
    if (code != CLI_DONE) return code;
    if (tally_context_get_info(r.context, &r.info) != TALLY_OK) {
        cli_report("%s", tally_last_error());
        code = CLI_FAILED;
    }
    for (int i = 1; i < count && cli_flush(); i++)
        if (reduce_file(&r, operands[i]) != CLI_DONE) code = CLI_FAILED;
    tally_context_destroy(r.context);
    return code;
}
