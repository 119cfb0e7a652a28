/* SPDX-License-Identifier: MIT */
#include "tests/support/calls.h"
#include "direct.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/order.h"

tally_context *direct_context(void **state) {
    const place *at = *state;
    if (!at->context) fail_msg("%s did not open: %s", at->select, at->error);
    return at->context;
}

int direct_has_f64(void **state) {
    const place *at = *state;
    return at->info.has_f64;
}

void direct_reduce(tally_context *context, const tally_reduce_desc *given, const direct_param *params, const void *const *items,
                   uint64_t n, void *result) {
    tally_reduce_desc desc = *given;
    tally_plan *plan;
    tally_queue *queue;
    tally_buffer *in[TALLY_MAX_INPUTS] = {NULL}, *out;
    desc.size = sizeof desc;
    desc.max_n = n ? n : 1;
    MUST(tally_plan_create(context, &desc, &plan));
    for (; params && params->name; params++) MUST(tally_plan_set_param(plan, params->name, params->value));
    MUST(tally_queue_create(context, &queue));
    const uint64_t bytes = n * tally_dtype_bytes(desc.in), result_bytes = tally_plan_result_bytes(plan);
    for (uint32_t k = 0; k < plan->terms.inputs; k++) {
        MUST(tally_buffer_create(context, bytes, &in[k]));
        MUST(tally_buffer_write(queue, in[k], 0, items[k], bytes));
    }
    MUST(tally_buffer_create(context, result_bytes, &out));
    memset(result, 0xcd, result_bytes); /* the reduction must write each byte */
    MUST(tally_buffer_write(queue, out, 0, result, result_bytes));
    MUST(reduce_inputs(plan, queue, (const tally_buffer *const *)in, NULL, n, out, 0));
    MUST(tally_buffer_read(queue, out, 0, result, result_bytes));
    MUST(tally_queue_wait(queue));
    tally_plan_destroy(plan);
    for (uint32_t k = 0; k < TALLY_MAX_INPUTS; k++) tally_buffer_destroy(in[k]);
    tally_buffer_destroy(out);
    tally_queue_destroy(queue);
}

tally_custom_op *direct_op(const tally_op_desc *given) {
    tally_op_desc desc = *given;
    tally_custom_op *op;
    desc.size = sizeof desc;
    MUST(tally_op_create(&desc, &op));
    return op;
}

tally_reduce_desc direct_desc(tally_custom_op *op, tally_dtype in) {
    return (tally_reduce_desc){.size = sizeof(tally_reduce_desc), .custom = op, .in = in};
}

void direct_expect_bits(const void *got, const void *expected, size_t bytes, const char *what, uint64_t n) {
    uint64_t g = 0, e = 0;
    memcpy(&g, got, bytes);
    memcpy(&e, expected, bytes);
    if (g != e)
        fail_msg("%s of %llu items is 0x%llx, should be 0x%llx", what, (unsigned long long)n, (unsigned long long)g,
                 (unsigned long long)e);
}

/* ---- items as words -------------------------------------------------------------------------- */

double direct_of_f16(uint16_t bits) {
    const int exponent = bits >> 10 & 31, fraction = bits & 1023;
    const double magnitude = exponent == 31 ? (fraction ? NAN : INFINITY)
                             : exponent     ? ldexp(1024 + fraction, exponent - 25)
                                            : ldexp(fraction, -24);
    return bits & 0x8000 ? -magnitude : magnitude;
}

static uint64_t f16_bits(double value) {
    if (isnan(value)) return 0x7e00;
    for (uint32_t bits = 0; bits < 0x10000; bits++)
        if (direct_of_f16((uint16_t)bits) == value && !(bits & 0x8000) == !signbit(value)) return bits;
    fail_msg("%a is no f16", value);
    return 0;
}

static uint64_t f32_bits(double value) {
    const float f = (float)value;
    uint32_t bits;
    if (isnan(value)) return 0x7fc00000;
    if ((double)f != value) fail_msg("%a is no f32", value);
    memcpy(&bits, &f, sizeof bits);
    return bits;
}

static uint64_t f64_bits(double value) {
    uint64_t bits;
    if (isnan(value)) return 0x7ff8000000000000;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

static uint64_t bf16_bits(double value) {
    const uint64_t bits = f32_bits(value);
    if (bits & 0xffff) fail_msg("%a is no bf16", value);
    return bits >> 16;
}

/* Returns the bits of one number, or of one part of a complex one. */
static uint64_t parse_bits(tally_dtype dtype, const char *word) {
    if (*word == '#') return strtoull(word + 1, NULL, 16);
    switch ((int)dtype) {
    case TALLY_F16:
        return f16_bits(strtod(word, NULL));
    case TALLY_BF16:
        return bf16_bits(strtod(word, NULL));
    case TALLY_F32:
    case TALLY_C64:
        return f32_bits(strtod(word, NULL));
    case TALLY_F64:
    case TALLY_C128:
        return f64_bits(strtod(word, NULL));
    default:
        return *word == '-' ? (uint64_t)strtoll(word, NULL, 0) : strtoull(word, NULL, 0);
    }
}

uint64_t direct_parse(tally_dtype dtype, const char *text, void *items) {
    const int parts = dtype == TALLY_C64 || dtype == TALLY_C128 ? 2 : 1;
    const size_t bytes = tally_dtype_bytes(dtype) / (size_t)parts;
    uint64_t count = 0;
    char words[1024];
    assert_true(strlen(text) < sizeof words);
    strcpy(words, text);
    for (char *next = words, *word; (word = strtok(next, " ")) != NULL; next = NULL) {
        const uint64_t bits = parse_bits(dtype, word);
        assert_true(count < DIRECT_MAX_ITEMS * (uint64_t)parts);
        memcpy((char *)items + bytes * count++, &bits, bytes); /* little-endian, like the library */
    }
    assert_true(count % (uint64_t)parts == 0);
    return count / (uint64_t)parts;
}

/* ---- the canonical order --------------------------------------------------------------------- */

/* The value of one chunk. */
static void reduce_chunk(const canonical_op *op, const void *const *items, uint64_t begin, uint64_t end, void *acc) {
    char lanes[TALLY_LANES][CANONICAL_BYTES], item[CANONICAL_BYTES];
    for (int l = 0; l < TALLY_LANES; l++) memcpy(lanes[l], op->identity, op->bytes);
    for (uint64_t i = begin; i < end; i++) {
        op->load(item, items, i);
        op->combine(lanes[(i - begin) % TALLY_LANES], item);
    }
    for (int s = TALLY_LANES / 2; s > 0; s /= 2)
        for (int l = 0; l < s; l++) op->combine(lanes[l], lanes[l + s]);
    memcpy(acc, lanes[0], op->bytes);
}

void canonical_reduce(const canonical_op *op, const void *const *items, uint64_t n, void *acc) {
    char level[64][CANONICAL_BYTES], chunk[CANONICAL_BYTES];
    uint64_t chunks = 0;
    assert_true(op->bytes <= CANONICAL_BYTES);
    for (uint64_t begin = 0; begin < n; begin += TALLY_CHUNK_ITEMS, chunks++) {
        reduce_chunk(op, items, begin, n - begin < TALLY_CHUNK_ITEMS ? n : begin + TALLY_CHUNK_ITEMS, chunk);
        int k = 0;
        for (; chunks >> k & 1; k++) {
            op->combine(level[k], chunk);
            memcpy(chunk, level[k], op->bytes);
        }
        memcpy(level[k], chunk, op->bytes);
    }
    /* The right edge of the tree: waiting subtrees, from the lowest level up. Each is combined on
     * the left of the result so far. */
    int first = 1;
    memcpy(acc, op->identity, op->bytes);
    for (int k = 0; k < 64 && chunks >> k; k++) {
        if (!(chunks >> k & 1)) continue;
        if (!first) op->combine(level[k], acc);
        memcpy(acc, level[k], op->bytes);
        first = 0;
    }
}
