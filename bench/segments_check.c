/* SPDX-License-Identifier: MIT */
/* segments_check.c: the results of segments as they should be. Items are whole numbers, so that
 * sums are exact in every order. It is compiled with OpenMP. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "segments.h"

/* ---- expected values ------------------------------------------------------------------------- */

/* Segments that are gathered side by side: neighbouring columns share cache lines. */
#define SIDE 64

typedef struct survey {
    double sum, imaginary, squares, least, most;
    uint64_t place; /* of `most` */
} survey;

/* Returns the place of item j of segment i. */
static uint64_t place_of(const bench_segments *s, uint64_t i, uint64_t j) {
    if (s->offsets) return s->offsets[i] + j;
    if (s->cut == CUT_CHANNELS) return (j / s->inner * s->length + i) * s->inner + j % s->inner;
    return (i / s->inner * s->length + j) * s->inner + i % s->inner;
}

static uint64_t length_of(const bench_segments *s, uint64_t i) {
    if (s->offsets) return s->offsets[i + 1] - s->offsets[i];
    return s->cut == CUT_CHANNELS ? s->outer * s->inner : s->length;
}

static void take(survey *v, const bench_input *input, uint64_t place, uint64_t index) {
    const char *item = (const char *)input->host[ARRAY_X] + (input->segments->first + place) * tally_dtype_bytes(input->in);
    const double x = input->in == TALLY_C64 ? (double)((const float *)item)[0] : input_value(input->in, item);
    if (input->in == TALLY_C64) v->imaginary += (double)((const float *)item)[1];
    v->sum += x;
    v->squares += x * x;
    if (x < v->least) v->least = x;
    if (x > v->most) v->most = x, v->place = index;
}

static double value_of(const survey *v, tally_op op, double n) {
    switch ((int)op) {
    case TALLY_SUM:
        return v->sum;
    case TALLY_MIN:
        return v->least;
    case TALLY_MAX:
        return v->most;
    case TALLY_ARGMAX:
        return (double)v->place;
    case TALLY_MEAN:
        return v->sum / n;
    case TALLY_VAR:
        return v->squares / n - v->sum / n * (v->sum / n);
    case TALLY_NRM2:
        return sqrt(v->squares);
    }
    return (double)NAN;
}

static void survey_side(const bench_input *input, uint64_t first, uint64_t count, double *expected) {
    const bench_segments *s = input->segments;
    survey all[SIDE];
    uint64_t longest = 0;
    for (uint64_t i = 0; i < count; i++) {
        all[i] = (survey){.least = (double)INFINITY, .most = -(double)INFINITY};
        if (length_of(s, first + i) > longest) longest = length_of(s, first + i);
    }
    for (uint64_t j = 0; j < longest; j++)
        for (uint64_t i = 0; i < count; i++)
            if (j < length_of(s, first + i)) take(&all[i], input, place_of(s, first + i, j), j);
    for (uint64_t i = 0; i < count; i++) {
        const double n = (double)length_of(s, first + i);
        expected[2 * (first + i)] = value_of(&all[i], s->op, n);
        expected[2 * (first + i) + 1] = s->also ? value_of(&all[i], s->also, n) : all[i].imaginary;
    }
}

void segments_expect(const bench_input *input, double *expected) {
    const bench_segments *s = input->segments;
    const uint64_t side = s->by == TALLY_BY_AXES && s->cut != CUT_CHANNELS && s->inner > 1 ? SIDE : 1;
#pragma omp parallel for schedule(dynamic, 16)
    for (uint64_t first = 0; first < s->count; first += side)
        survey_side(input, first, s->count - first < side ? s->count - first : side, expected);
}

/* ---- comparing ------------------------------------------------------------------------------- */

/* Copies ARRAY_OUT. A device that reads the host's memory in place already has it. */
static int transfer(const bench_input *input, uint64_t bytes, int is_back) {
    tally_queue *queue = NULL;
    if (input->device->host_memory) return 0;
    tally_status status = tally_queue_create(input->context, &queue);
    if (!status && is_back) status = tally_buffer_read(queue, input->buffer[ARRAY_OUT], 0, input->host[ARRAY_OUT], bytes);
    if (!status && !is_back) status = tally_buffer_write(queue, input->buffer[ARRAY_OUT], 0, input->host[ARRAY_OUT], bytes);
    if (!status) status = tally_queue_wait(queue);
    tally_queue_destroy(queue);
    return status ? fprintf(stderr, "tally_bench: %s\n", tally_last_error()), 1 : 0;
}

/* All bytes are 0x7f, which is no sum of a segment's items. */
int segments_poison(const bench_input *input, const segments_result *result) {
    const uint64_t bytes = input->segments->count * result->bytes;
    unsigned char *out = input->host[ARRAY_OUT];
#pragma omp parallel for schedule(static)
    for (uint64_t i = 0; i < bytes; i++) out[i] = 0x7f;
    return transfer(input, bytes, 0);
}

/* Returns true if the value is right: means, variances and norms but for their rounding. */
static int is_right(tally_op op, double found, double expected) {
    const int rounds = op == TALLY_MEAN || op == TALLY_VAR || op == TALLY_NRM2;
    return rounds ? fabs(found - expected) <= 1e-4 * (fabs(expected) + 1) : found == expected;
}

static int is_right_at(const bench_segments *s, const segments_result *result, const char *at, const double *expected) {
    const tally_result_info *first = &result->values[0], *second = &result->values[1];
    if (first->dtype == TALLY_C64) {
        float parts[2];
        memcpy(parts, at + first->offset, sizeof(parts));
        return (double)parts[0] == expected[0] && (double)parts[1] == expected[1];
    }
    if (!is_right(s->op, input_value(first->dtype, at + first->offset), expected[0])) return 0;
    return !s->also || is_right(s->also, input_value(second->dtype, at + second->offset), expected[1]);
}

int segments_check(const bench_input *input, const char *engine, const segments_result *result, const double *expected) {
    const bench_segments *s = input->segments;
    const char *out = input->host[ARRAY_OUT];
    uint64_t wrong = UINT64_MAX;
    if (transfer(input, s->count * result->bytes, 1)) return 1;
#pragma omp parallel for schedule(static) reduction(min : wrong)
    for (uint64_t i = 0; i < s->count; i++)
        if (!is_right_at(s, result, out + i * result->bytes, &expected[2 * i]) && i < wrong) wrong = i;
    if (wrong == UINT64_MAX) return 0;
    fprintf(stderr, "tally_bench: %s: %s of %s by %s: value %llu is %.17g, and should be %.17g\n", engine, tally_op_name(s->op),
            tally_dtype_name(s->in), s->name, (unsigned long long)wrong,
            input_value(result->values[0].dtype, out + wrong * result->bytes + result->values[0].offset), expected[2 * wrong]);
    return 1;
}
