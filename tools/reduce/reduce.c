/* SPDX-License-Identifier: MIT */
/* reduce.c: `tally reduce`. Each file has one feed; for an operator of two inputs, each pair of
 * files. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tools/files/inputs.h"
#include "tools/print/progress.h"
#include "reduce.h"

/* Upper limit on the bytes in the feed's staging: the default of tally_feed_create. */
#define STAGING_BYTES ((uint64_t)32 << 20)

static bool failed(const inputs *in) {
    cli_report("%s: %s", in->name, cli_last_error().text);
    return false;
}

static bool create_feed(const reduce_request *r, const inputs *in, const tally_reduce_desc *desc, tally_feed **feed) {
    if (!r->custom) return tally_feed_create(r->context, desc, feed) == TALLY_OK || failed(in);
    const int kept = reduce_silence();
    const tally_status status = tally_feed_create(r->context, desc, feed);
    reduce_unsilence(kept);
    if (status) cli_report("%s: %s", in->name, reduce_custom_error(r).text);
    return status == TALLY_OK;
}

static bool feed_items(tally_feed *feed, inputs *in, reduce_outcome *o) {
    const void *const *items;
    const uint64_t bytes = inputs_item_bytes(in) * in->count;
    uint64_t n;
    bool last;
    while (true) {
        if (!inputs_next(in, &items, &n, &last)) return false;
        o->n += n;
        o->bytes += n * bytes;
        if (last) break;
        if (tally_feed_push_inputs(feed, items, n) != TALLY_OK) return failed(in);
        progress_update(o->bytes);
    }
    return tally_feed_finish_inputs(feed, items, n, o->result) == TALLY_OK || failed(in);
}

/* Feeds one item before the clock starts, because some drivers (POCL) compile at the first
 * launch. */
static bool warm_up(tally_feed *feed, const inputs *in, void *result) {
    static const uint64_t zero[2];
    const void *const items[TALLY_MAX_INPUTS] = {zero, zero, zero, zero};
    return tally_feed_finish_inputs(feed, items, 1, result) == TALLY_OK || failed(in);
}

/* Sets the parameters and allocates the result. */
static bool prepare(const reduce_request *r, const inputs *in, tally_feed *feed, reduce_outcome *o) {
    tally_plan *plan = tally_feed_plan(feed);
    for (uint32_t i = 0; i < r->param_count && !r->custom; i++)
        if (tally_plan_set_param(plan, r->params[i].name, r->params[i].value) != TALLY_OK) return failed(in);
    snprintf(o->variant, sizeof(o->variant), "%s", tally_plan_variant(plan));
    o->result = malloc(tally_plan_result_bytes(plan));
    if (!o->result) return cli_report("%s: out of memory", in->name), false;
    while (tally_plan_result(plan, o->value_count, &o->values[o->value_count])) o->value_count++;
    return true;
}

static bool reduce_inputs(const reduce_request *r, inputs *in, reduce_outcome *o) {
    const uint64_t room = STAGING_BYTES / inputs_item_bytes(in), n = inputs_n(in);
    const tally_reduce_desc desc = {.size = sizeof(desc),
                                    .in = inputs_dtype(in),
                                    .terms = r->terms,
                                    .term_count = r->term_count,
                                    .max_n = n == 0     ? 1
                                             : n < room ? n
                                                        : room,
                                    .variant = r->variant};
    tally_feed *feed = NULL;
    o->in = desc.in;
    if (!r->json && !r->quiet) progress_wait(PROGRESS_COMPILING);
    if (!create_feed(r, in, &desc, &feed)) return false;
    bool done = prepare(r, in, feed, o) && warm_up(feed, in, o->result);
    progress_end();
    if (!r->quiet) progress_begin(in->name, PROGRESS_BYTES, n == INPUT_UNKNOWN ? 0 : n * inputs_item_bytes(in) * in->count);
    const double begun = units_seconds();
    done = done && feed_items(feed, in, o);
    o->seconds = units_seconds() - begun;
    progress_end();
    tally_feed_destroy(feed);
    return done;
}

/* Reduces a file, or as many as the operator has inputs. */
static bool reduce_stream(const reduce_request *r, char *const *files, reduce_total *total) {
    inputs in;
    reduce_outcome o = {0};
    if (!inputs_open(&in, files, r->inputs, r->types.raw)) return false;
    const bool done = reduce_inputs(r, &in, &o);
    inputs_close(&in);
    if (done) {
        reduce_print(r, files, &o);
        if (!strstr(total->variants.text, o.variant)) cli_add_name(&total->variants, o.variant);
        total->seconds += o.seconds;
        total->bytes += o.bytes;
        total->results++;
    }
    free(o.result);
    return done;
}

cli_exit cli_reduce(const cli_options *options, int count, char **operands) {
    reduce_request r;
    reduce_total total = {.seconds = 0};
    cli_exit code = reduce_understand(options, count, operands, &r);
    if (code == CLI_DONE) code = cli_open(options, &r.context);
    if (code == CLI_DONE && tally_context_get_info(r.context, &r.info) != TALLY_OK) {
        cli_report("%s", cli_last_error().text);
        code = CLI_FAILED;
    }
    /* After a bad file the others are still reduced. */
    for (int i = 0; r.context && i < r.file_count && cli_flush(); i += (int)r.inputs)
        if (!(r.form ? reduce_segments : reduce_stream)(&r, r.files + i, &total) || !cli_flush()) code = CLI_FAILED;
    reduce_print_total(&r, &total);
    tally_context_destroy(r.context);
    reduce_forget(&r);
    return code;
}
