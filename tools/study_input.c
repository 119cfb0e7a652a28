/* SPDX-License-Identifier: MIT */
/*
 * study_input.c: the items of the study, and the host's reference.
 *
 * Items of a float sum are whole numbers from -2 to 2, thinned out so that the sum of their magnitudes stays below 2^24 as long as it
 * can: then no partial sum of any order is rounded, and every variant must give the exact value. Random fractions would be checked by
 * the bound of docs/numerics.md alone, which lets anything pass where one word takes up all items (gamma(n), n = 3 * 2^22: 3). Items of
 * other ops are random: their results do not depend on the order.
 */
#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "oracle.h"
#include "patterns.h"
#include "study.h"

#define PIECE_ITEMS ((uint64_t)1 << 20)
#define MOST_THINNING 3 /* one item in 8; beyond 2^26 items of f32 the bound decides */

typedef struct reference {
    uint64_t n;
    oracle_result value;        /* not of float sums */
    long double sum, magnitude; /* of float sums: exact, being whole numbers */
} reference;

struct study_input {
    tally_op op;
    tally_dtype in, out;
    bool float_sum;
    unsigned thinning; /* one item in 2^thinning is kept */
    size_t count;
    reference references[];
};

static bool is_float(tally_dtype dtype) {
    return dtype == TALLY_F32 || dtype == TALLY_F64;
}

/* Whether sums up to this are held without rounding. */
static bool is_exact(const study_input *input, long double magnitude) {
    return magnitude <= (input->in == TALLY_F32 ? 0x1p24L : 0x1p53L);
}

static void make_items(const study_input *input, uint64_t first, uint64_t count, void *items) {
    const uint64_t mask = (UINT64_C(1) << input->thinning) - 1;
    for (uint64_t i = 0; i < count; i++) {
        const uint64_t random = pattern_random(first + i);
        const double whole = random >> 40 & mask ? 0 : (double)((int)(random % 5) - 2);
        const double value = input->float_sum ? whole : (double)(int64_t)random * 0x1p-53;
        if (input->in == TALLY_F32)
            ((float *)items)[i] = (float)value;
        else if (input->in == TALLY_F64)
            ((double *)items)[i] = value;
        else if (tally_dtype_bytes(input->in) == 4)
            ((uint32_t *)items)[i] = (uint32_t)(random >> 32);
        else
            ((uint64_t *)items)[i] = random;
    }
}

/* Adds items to what has been read so far. */
static void take_up(const study_input *input, oracle *state, reference *so_far, const void *items, uint64_t count) {
    so_far->n += count;
    if (!input->float_sum) {
        oracle_push(state, items, count);
        return;
    }
    for (uint64_t i = 0; i < count; i++) {
        const double x = input->in == TALLY_F32 ? (double)((const float *)items)[i] : ((const double *)items)[i];
        so_far->sum += x;
        so_far->magnitude += fabs(x);
    }
}

/* The sizes rise; the items are made and written in pieces that end where a size ends. */
static tally_status fill(study_input *input, tally_queue *queue, tally_buffer *buffer, unsigned char *items) {
    const size_t bytes = tally_dtype_bytes(input->in);
    oracle *state = malloc(sizeof(*state));
    reference so_far = {0};
    tally_status status = state ? TALLY_OK : tally_fail(TALLY_E_MEMORY, "out of memory");
    if (state) oracle_begin(state, input->op, input->in);
    for (size_t i = 0; i < input->count && !status; i++) {
        reference *r = &input->references[i];
        while (so_far.n < r->n && !status) {
            const uint64_t first = so_far.n, count = r->n - first < PIECE_ITEMS ? r->n - first : PIECE_ITEMS;
            make_items(input, first, count, items);
            take_up(input, state, &so_far, items, count);
            status = tally_buffer_write(queue, buffer, first * bytes, items, count * bytes);
            const tally_status waited = tally_queue_wait(queue);
            if (!status) status = waited;
        }
        *r = so_far;
        if (status || input->float_sum) continue;
        oracle ended = *state;
        oracle_end(&ended, &r->value);
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
        *input = (study_input){.op = request->op,
                               .in = request->dtype,
                               .out = tally_result_dtype(request->op, request->dtype),
                               .float_sum = request->op == TALLY_SUM && is_float(request->dtype),
                               .count = count};
        for (size_t i = 0; i < count; i++) input->references[i].n = sizes[i];
        /* The mean magnitude is 6/5. */
        const long double magnitude = count ? (long double)sizes[count - 1] * 1.2L : 0;
        while (input->thinning < MOST_THINNING && !is_exact(input, ldexpl(magnitude * 1.01L, -(int)input->thinning)))
            input->thinning++;
        status = fill(input, queue, buffer, items);
    }
    free(items);
    if (status == TALLY_OK) return input;
    cli_report("study: %s", tally_last_error());
    free(input);
    return NULL;
}

void study_input_destroy(study_input *input) {
    free(input);
}

/* How far a float sum may be off: |error| <= gamma(depth) * sum |x|, and nothing where no addition rounds. */
static long double tolerance(const study_input *input, const reference *r, uint64_t depth) {
    const long double u = input->in == TALLY_F32 ? FLT_EPSILON / 2 : DBL_EPSILON / 2, k_u = (long double)depth * u;
    if (is_exact(input, r->magnitude)) return 0;
    return k_u < 1 ? k_u / (1 - k_u) * r->magnitude : -1;
}

static bool check_float_sum(const study_input *input, const reference *r, uint64_t depth, const void *result, char *text,
                            size_t bytes) {
    oracle_result got;
    memcpy(&got, result, tally_dtype_bytes(input->out));
    const long double value = input->out == TALLY_F32 ? (long double)got.f32 : (long double)got.f64;
    const long double most = tolerance(input, r, depth);
    if (most < 0)
        snprintf(text, bytes, "cannot be checked: there is no bound on the error of %llu additions in a row",
                 (unsigned long long)depth);
    else
        snprintf(text, bytes, "got %.17Lg, expected %.17Lg, within %.3Lg", value, r->sum, most);
    return fabsl(value - r->sum) <= most; /* not so for a NaN */
}

bool study_input_check(const study_input *input, uint64_t n, uint64_t depth, const void *result, char *text, size_t bytes) {
    for (size_t i = 0; i < input->count; i++) {
        const reference *r = &input->references[i];
        if (r->n != n) continue;
        if (input->float_sum) return check_float_sum(input, r, depth, result, text, bytes);
        snprintf(text, bytes, "got %s, expected %s", cli_value_text(input->out, result).text,
                 cli_value_text(input->out, &r->value).text);
        return memcmp(result, &r->value, tally_dtype_bytes(input->out)) == 0;
    }
    snprintf(text, bytes, "cannot be checked: there is no reference for n = %llu", (unsigned long long)n);
    return false;
}
