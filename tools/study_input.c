/* SPDX-License-Identifier: MIT */
/*
 * study_input.c: the items of the study of reductions and scans, and the host's reference. Operators whose result does not depend on the order have random items,
 * and must give the oracle's bits; those of the others are study_sums.c's.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "oracle.h"
#include "patterns.h"
#include "study.h"

#define PIECE_ITEMS ((uint64_t)1 << 20)

/* The items before the next one, combined in sequence. */
typedef struct prefix {
    study_sums sums; /* n counts in any case */
    oracle_acc acc;  /* of what is exact */
} prefix;

typedef struct reference {
    uint64_t n;
    oracle_result value; /* of what is exact */
    study_sums sums;     /* of the rest */
} reference;

struct study_input {
    tally_op op;
    tally_dtype in;
    size_t result_bytes;
    bool exact;
    unsigned thinning;
    prefix known;         /* of scans: so many values have been found right; */
    unsigned char *right; /* those, which need not be looked at again. There is room for the largest n. NULL: none are kept */
    size_t count;
    reference references[];
};

/* Random bits; of floats random numbers, so that a NaN does not decide everything. */
static void make_random(tally_dtype in, uint64_t i, unsigned char *item) {
    const uint64_t random = pattern_random(i);
    const size_t bytes = tally_dtype_bytes(in);
    const uint64_t bits = in == TALLY_BOOL ? random >> 63 : random >> (64 - 8 * bytes);
    if (in == TALLY_F16 || in == TALLY_BF16 || in == TALLY_F32 || in == TALLY_F64)
        cli_part_store(in, (double)(int64_t)random * 0x1p-53, item);
    else
        memcpy(item, &bits, bytes);
}

/* Makes items, and adds them to what has been read so far. */
static void make_items(const study_input *input, oracle *state, study_sums *sums, uint64_t count, unsigned char *items) {
    const size_t bytes = tally_dtype_bytes(input->in), part_bytes = tally_dtype_bytes(cli_part_dtype(input->in));
    const uint64_t first = sums->n;
    if (input->exact) {
        for (uint64_t i = 0; i < count; i++) make_random(input->in, first + i, items + i * bytes);
        oracle_push(state, items, count);
        sums->n += count;
        return;
    }
    for (uint64_t i = 0; i < count; i++) {
        double parts[2];
        study_sums_item(input->op, input->in, input->thinning, first + i, parts);
        study_sums_take(input->op, input->in, parts, sums);
        for (size_t at = 0; at < bytes; at += part_bytes)
            cli_part_store(cli_part_dtype(input->in), parts[at / part_bytes], items + i * bytes + at);
    }
}

/* The sizes rise; the items are made and written in pieces that end where a size ends. */
static tally_status fill(study_input *input, tally_queue *queue, tally_buffer *buffer, unsigned char *items) {
    const size_t bytes = tally_dtype_bytes(input->in);
    oracle *state = malloc(sizeof(*state));
    study_sums sums = {0};
    tally_status status = state ? TALLY_OK : tally_fail(TALLY_E_MEMORY, "out of memory");
    if (state && input->exact) oracle_begin(state, input->op, input->in);
    for (size_t i = 0; i < input->count && !status; i++) {
        reference *r = &input->references[i];
        while (sums.n < r->n && !status) {
            const uint64_t first = sums.n, count = r->n - first < PIECE_ITEMS ? r->n - first : PIECE_ITEMS;
            make_items(input, state, &sums, count, items);
            status = tally_buffer_write(queue, buffer, first * bytes, items, count * bytes);
            const tally_status waited = tally_queue_wait(queue);
            if (!status) status = waited;
        }
        r->sums = sums;
        if (status || !input->exact) continue;
        oracle *ended = malloc(sizeof(*ended));
        if (!ended) status = tally_fail(TALLY_E_MEMORY, "out of memory");
        if (ended) oracle_end(memcpy(ended, state, sizeof(*ended)), &r->value);
        free(ended);
    }
    free(state);
    return status;
}

study_input *study_input_create(const study_request *request, tally_queue *queue, tally_buffer *buffer, const uint64_t *sizes,
                                size_t count) {
    study_input *input = calloc(1, sizeof(*input) + count * sizeof(reference));
    unsigned char *items = malloc(PIECE_ITEMS * tally_dtype_bytes(request->dtype));
    tally_status status = tally_fail(TALLY_E_MEMORY, "out of memory");
    if (input && items) {
        const oracle_case what = {.op = request->op, .in = request->dtype};
        *input = (study_input){.op = request->op,
                               .in = request->dtype,
                               .result_bytes = oracle_result_bytes(&what),
                               .exact = oracle_is_exact(&what),
                               .thinning = study_sums_thinning(request->op, request->dtype, count ? sizes[count - 1] : 0),
                               .count = count};
        for (size_t i = 0; i < count; i++) input->references[i].n = sizes[i];
        if (request->primitive == CLI_SCAN) input->right = malloc(study_out_bytes(request, sizes[count - 1]));
        if (!input->right && request->primitive == CLI_SCAN)
            status = tally_fail(TALLY_E_MEMORY, "out of memory");
        else
            status = fill(input, queue, buffer, items);
    }
    free(items);
    if (status == TALLY_OK) return input;
    cli_report("study: %s", tally_last_error());
    study_input_destroy(input);
    return NULL;
}

void study_input_destroy(study_input *input) {
    if (input) free(input->right);
    free(input);
}

bool study_input_check(const study_input *input, uint64_t n, uint64_t depth, const void *result, char *text, size_t bytes) {
    const tally_dtype out = tally_result_dtype(input->op, input->in);
    for (size_t i = 0; i < input->count; i++) {
        const reference *r = &input->references[i];
        if (r->n != n) continue;
        if (!input->exact) return study_sums_check(input->op, input->in, &r->sums, depth, result, text, bytes);
        if (memcmp(result, &r->value, input->result_bytes) == 0) return true;
        snprintf(text, bytes, "got %s, expected %s", cli_value_text(out, result).text, cli_value_text(out, &r->value).text);
        return false;
    }
    snprintf(text, bytes, "cannot be checked: there is no reference for n = %llu", (unsigned long long)n);
    return false;
}

/* ---- scans --------------------------------------------------------------------------------------------------------------- */

/* Takes one item more, and looks at the value of the items so far. */
static bool check_next(const study_input *input, prefix *p, uint64_t depth, const void *value, char *text, size_t bytes) {
    const oracle_case what = {.op = input->op, .in = input->in};
    const uint64_t i = p->sums.n;
    oracle_result wanted = {{0}};
    if (!input->exact) {
        double parts[2];
        study_sums_item(input->op, input->in, input->thinning, i, parts);
        study_sums_take(input->op, input->in, parts, &p->sums);
        return study_sums_check(input->op, input->in, &p->sums, depth, value, text, bytes);
    }
    _Alignas(16) unsigned char item[16];
    oracle_acc acc;
    make_random(input->in, i, item);
    oracle_acc_load(&what, item, i, &acc);
    if (i)
        oracle_acc_combine(&what, &p->acc, &acc);
    else
        p->acc = acc;
    p->sums.n++;
    oracle_acc_finish(&what, &p->acc, p->sums.n, &wanted);
    if (memcmp(value, &wanted, input->result_bytes) == 0) return true;
    const tally_dtype out = tally_result_dtype(input->op, input->in);
    snprintf(text, bytes, "got %s, expected %s", cli_value_text(out, value).text, cli_value_text(out, &wanted).text);
    return false;
}

/* A value is of the items up to it, whatever n is: what was right once is right again. Other bits may be right too: all is looked at then. */
bool study_input_check_values(study_input *input, uint64_t n, uint64_t depth, const void *values, char *text, size_t bytes) {
    const uint64_t known = input->known.sums.n < n ? input->known.sums.n : n;
    const bool same = memcmp(values, input->right, known * input->result_bytes) == 0;
    const unsigned char *got = values;
    prefix p = same ? input->known : (prefix){.sums = {0}};
    for (uint64_t i = p.sums.n; i < n; i++) {
        if (check_next(input, &p, depth, got + i * input->result_bytes, text, bytes)) continue;
        const size_t used = strlen(text);
        snprintf(text + used, bytes - used, ", at item %" PRIu64, i);
        return false;
    }
    if (!same || n <= known) return true;
    memcpy(input->right + known * input->result_bytes, got + known * input->result_bytes, (n - known) * input->result_bytes);
    input->known = p;
    return true;
}
