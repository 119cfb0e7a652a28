/* SPDX-License-Identifier: MIT */
/*
 * input.c: the input for the study of reductions and scans, and the expected results. They
 * come from the oracle, for any operator. If some order rounds the items, a canonical variant must
 * match the order v1, and any other variant the bound (bound.h).
 */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "oracle/bound.h"
#include "items.h"

#define PIECE_ITEMS ((uint64_t)1 << 20)

typedef struct reference {
    uint64_t n;
    oracle_result value;
} reference;

struct study_input {
    study_recipe recipe;
    size_t result_bytes;
    unsigned char *items;  /* all items, for the bound and for segments; NULL: none is needed */
    unsigned char *values; /* values of a scan that does not round, else NULL */
    size_t count;
    reference references[];
};

const study_recipe *study_input_recipe(const study_input *input) {
    return &input->recipe;
}

const unsigned char *study_input_items(const study_input *input) {
    return input->items;
}

uint64_t study_input_bytes(const study_request *request, uint64_t n) {
    const study_recipe r = study_recipe_for(request, n);
    if (r.rounds || request->primitive == CLI_SEGMENTS) return n * tally_dtype_bytes(request->dtype);
    return request->primitive == CLI_SCAN ? study_out_bytes(request, n) : 0;
}

/* ---- expected results ------------------------------------------------------------------------ */

/* Computes the values of a scan from item `first` on. *acc holds the items before. The computation
 * is sequential, as every order gives the same values. */
static void scan_items(const study_input *input, uint64_t first, uint64_t count, const unsigned char *items, oracle_acc *acc) {
    const oracle_case *what = &input->recipe.what;
    const size_t bytes = tally_dtype_bytes(what->in);
    for (uint64_t i = first; i < first + count; i++) {
        oracle_acc next;
        oracle_acc_load(what, items + (i - first) * bytes, i, &next);
        if (i)
            oracle_acc_combine(what, acc, &next);
        else
            *acc = next;
        oracle_acc_finish(what, acc, i + 1, input->values + i * input->result_bytes);
    }
}

static tally_status write_items(tally_queue *queue, tally_buffer *buffer, uint64_t at, const void *items, uint64_t bytes) {
    const tally_status status = tally_buffer_write(queue, buffer, at, items, bytes), waited = tally_queue_wait(queue);
    return status ? status : waited;
}

/* Makes and writes the items in pieces. The sizes rise, and a piece ends where a size ends. `room`
 * holds a piece. */
static tally_status fill(study_input *input, tally_queue *queue, tally_buffer *buffer, unsigned char *room) {
    const study_recipe *r = &input->recipe;
    const size_t bytes = tally_dtype_bytes(r->what.in);
    oracle *state = malloc(2 * sizeof(*state)), *ended = state + 1;
    oracle_acc acc;
    uint64_t done = 0;
    tally_status status = state ? TALLY_OK : tally_fail(TALLY_E_MEMORY, "out of memory");
    if (state) oracle_begin(state, r->what.op, r->what.in);
    for (size_t i = 0; i < input->count && !status; i++) {
        reference *to = &input->references[i];
        while (done < to->n && !status) {
            const uint64_t count = to->n - done < PIECE_ITEMS ? to->n - done : PIECE_ITEMS;
            unsigned char *items = input->items ? input->items + done * bytes : room;
            study_items_make(r, done, count, items);
            oracle_push(state, items, count);
            if (input->values) scan_items(input, done, count, items, &acc);
            status = write_items(queue, buffer, done * bytes, items, count * bytes);
            done += count;
        }
        memcpy(ended, state, sizeof(*ended));
        oracle_end(ended, &to->value);
    }
    free(state);
    return status;
}

static tally_status take_memory(study_input *input, const study_request *request, uint64_t most) {
    const uint64_t bytes = study_input_bytes(request, most);
    if (input->recipe.rounds || request->primitive == CLI_SEGMENTS)
        input->items = malloc(bytes);
    else if (bytes)
        input->values = malloc(bytes);
    if (!bytes || input->items || input->values) return TALLY_OK;
    return tally_fail(TALLY_E_MEMORY, "out of memory");
}

study_input *study_input_create(const study_request *request, tally_queue *queue, tally_buffer *buffer, const uint64_t *sizes,
                                size_t count) {
    study_input *input = calloc(1, sizeof(*input) + count * sizeof(reference));
    unsigned char *room = malloc(PIECE_ITEMS * tally_dtype_bytes(request->dtype));
    tally_status status = tally_fail(TALLY_E_MEMORY, "out of memory");
    if (input && room) {
        *input = (study_input){.recipe = study_recipe_for(request, sizes[count - 1]), .count = count};
        input->result_bytes = oracle_result_bytes(&input->recipe.what);
        for (size_t i = 0; i < count; i++) input->references[i].n = sizes[i];
        status = take_memory(input, request, sizes[count - 1]);
        if (!status) status = fill(input, queue, buffer, room);
    }
    free(room);
    if (status == TALLY_OK) return input;
    cli_report("study: %s", tally_last_error());
    study_input_destroy(input);
    return NULL;
}

void study_input_destroy(study_input *input) {
    if (input) free(input->items), free(input->values);
    free(input);
}

/* ---- checks ---------------------------------------------------------------------------------- */

/* Returns true if two values have the same bits, or are equal as floats. The sign of a zero may
 * depend on the order. */
static bool is_same(const study_input *input, const void *got, const void *wanted) {
    const tally_dtype out = oracle_result_dtype(&input->recipe.what), part = cli_part_dtype(out);
    if (memcmp(got, wanted, input->result_bytes) == 0) return true;
    if (input->recipe.exact) return false;
    for (size_t at = 0; at < input->result_bytes; at += tally_dtype_bytes(part)) {
        const double x = cli_part_number(part, (const char *)got + at), y = cli_part_number(part, (const char *)wanted + at);
        if (isnan(x) || isnan(y) || x < y || x > y) return false;
    }
    return true;
}

static study_state fail(const study_input *input, const void *got, const void *wanted, char *text, size_t bytes) {
    const tally_dtype out = oracle_result_dtype(&input->recipe.what);
    const char *near = input->recipe.rounds ? "about " : "";
    snprintf(text, bytes, "got %s, expected %s%s", cli_value_text(out, got).text, near, cli_value_text(out, wanted).text);
    return STUDY_FAILED;
}

/* Checks a value of the first n items by the bound. `wanted` is the oracle's value. */
static study_state check_bound(const study_input *input, uint64_t n, uint64_t depth, const void *got, const void *wanted,
                               char *text, size_t bytes) {
    const void *const inputs[] = {input->items};
    oracle_result value = {{0}};
    memcpy(&value, got, input->result_bytes);
    switch (bound_check(&input->recipe.what, inputs, n, depth, 0, &value)) {
    case BOUND_KEPT:
        return STUDY_CHECKED;
    case BOUND_FREE:
        snprintf(text, bytes, "cannot be checked: there is no bound on the error of %" PRIu64 " combinations in a row", depth);
        return STUDY_SKIPPED;
    case BOUND_BROKEN:
        break;
    }
    return fail(input, got, wanted, text, bytes);
}

study_state study_input_check(const study_input *input, uint64_t n, bool canonical, uint64_t depth, const void *result,
                              char *text, size_t bytes) {
    for (size_t i = 0; i < input->count; i++) {
        const reference *r = &input->references[i];
        if (r->n != n) continue;
        if (!canonical && input->recipe.rounds) return check_bound(input, n, depth, result, &r->value, text, bytes);
        if (canonical ? memcmp(result, &r->value, input->result_bytes) == 0 : is_same(input, result, &r->value))
            return STUDY_CHECKED;
        return fail(input, result, &r->value, text, bytes);
    }
    snprintf(text, bytes, "cannot be checked: there is no reference for n = %" PRIu64, n);
    return STUDY_FAILED;
}

/* Returns the next place to check: the first values, the last, and ever fewer between. The time of
 * a bound grows with its items. */
static uint64_t next_place(const study_input *input, uint64_t i, uint64_t n) {
    if (!input->recipe.rounds || i < 5 || i + 1 == n) return i + 1;
    return 2 * i - 1 < n ? 2 * i - 1 : n - 1;
}

study_state study_input_check_values(const study_input *input, uint64_t n, uint64_t depth, const void *values, char *text,
                                     size_t bytes) {
    const study_recipe *r = &input->recipe;
    const size_t each = input->result_bytes;
    study_state state = STUDY_CHECKED;
    if (input->values && memcmp(values, input->values, n * each) == 0) return state;
    for (uint64_t i = 0; i < n; i = next_place(input, i, n)) {
        const unsigned char *got = (const unsigned char *)values + i * each;
        oracle_result wanted = {{0}};
        if (r->rounds)
            oracle_reduce(r->what.op, r->what.in, input->items, i + 1, &wanted);
        else
            memcpy(&wanted, input->values + i * each, each);
        if (r->rounds)
            state = check_bound(input, i + 1, depth, got, &wanted, text, bytes);
        else if (!is_same(input, got, &wanted))
            state = fail(input, got, &wanted, text, bytes);
        if (state == STUDY_CHECKED) continue;
        const size_t used = strlen(text);
        snprintf(text + used, bytes - used, ", at item %" PRIu64, i);
        return state;
    }
    return state;
}
