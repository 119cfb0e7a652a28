/* SPDX-License-Identifier: MIT */
#include "empties.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "oracle/oracle.h"
#include "oracle/items.h"

/* ---- types ----------------------------------------------------------------------------------- */

/* The default type of each value of the result. */
static tally_dtype natural_of(tally_op op, tally_dtype in) {
    return oracle_result_dtype(&(oracle_case){.op = op, .in = in});
}

static int is_whole(tally_dtype dtype) {
    return item_kind_of(dtype) == ITEM_SIGNED || item_kind_of(dtype) == ITEM_UNSIGNED;
}

int empties_takes(tally_op op, tally_dtype in, tally_dtype out) {
    const tally_dtype natural = natural_of(op, in);
    if (op == TALLY_ARGMIN || op == TALLY_ARGMAX || op == TALLY_IAMAX) return out == TALLY_U64 || out == TALLY_I64;
    switch (item_kind_of(natural)) {
    case ITEM_FLOAT:
        return item_kind_of(out) == ITEM_FLOAT;
    case ITEM_COMPLEX:
        return item_kind_of(out) == ITEM_COMPLEX;
    case ITEM_BOOL:
        return is_whole(out) || out == TALLY_BOOL;
    default:
        return is_whole(out) || out == TALLY_F32 || out == TALLY_F64;
    }
}

/* ---- values ---------------------------------------------------------------------------------- */

/* LARGEST and SMALLEST are the limits of the item type, for floats the infinities. */
typedef enum value { ZERO, ONE, LARGEST, SMALLEST, ALL_ONES, NOT_A_NUMBER, MINUS_INFINITY, NO_INDEX } value;

/* A line for each op. A new op needs its own. */
static value value_of(tally_op op) {
    static const struct {
        tally_op op;
        value value;
    } lines[] = {
        {TALLY_SUM, ZERO},          {TALLY_PROD, ONE},         {TALLY_MIN, LARGEST},      {TALLY_MAX, SMALLEST},
        {TALLY_NANMIN, LARGEST},    {TALLY_NANMAX, SMALLEST},  {TALLY_MINMAX, LARGEST},   {TALLY_ARGMIN, NO_INDEX},
        {TALLY_ARGMAX, NO_INDEX},   {TALLY_ANY, ZERO},         {TALLY_ALL, ONE},          {TALLY_COUNT_NONZERO, ZERO},
        {TALLY_BAND, ALL_ONES},     {TALLY_BOR, ZERO},         {TALLY_BXOR, ZERO},        {TALLY_ASUM, ZERO},
        {TALLY_SUMSQ, ZERO},        {TALLY_NRM2, ZERO},        {TALLY_AMAX, ZERO},        {TALLY_IAMAX, NO_INDEX},
        {TALLY_MEAN, NOT_A_NUMBER}, {TALLY_VAR, NOT_A_NUMBER}, {TALLY_STD, NOT_A_NUMBER}, {TALLY_LOGSUMEXP, MINUS_INFINITY},
        {TALLY_DOT, ZERO},          {TALLY_DOTC, ZERO},        {TALLY_DIST2, ZERO},       {TALLY_ALLCLOSE, ONE},
    };
    for (size_t i = 0; i < sizeof lines / sizeof lines[0]; i++)
        if (lines[i].op == op) return lines[i].value;
    fprintf(stderr, "%s needs its line in tests/support/empties.c\n", tally_op_name(op));
    abort();
}

/* The bits in each float type of 0, 1, NaN, -inf and +inf. */
static void put_float(tally_dtype out, value v, unsigned char *to) {
    static const uint64_t f64[] = {0, 0x3ff0000000000000, 0x7ff8000000000000, 0xfff0000000000000, 0x7ff0000000000000};
    static const uint64_t f32[] = {0, 0x3f800000, 0x7fc00000, 0xff800000, 0x7f800000};
    static const uint64_t f16[] = {0, 0x3c00, 0x7e00, 0xfc00, 0x7c00}, bf16[] = {0, 0x3f80, 0x7fc0, 0xff80, 0x7f80};
    const int row = v == ZERO ? 0 : v == ONE ? 1 : v == NOT_A_NUMBER ? 2 : v == LARGEST ? 4 : 3;
    const uint64_t *bits = out == TALLY_F64 ? f64 : out == TALLY_F32 ? f32 : out == TALLY_F16 ? f16 : bf16;
    for (size_t byte = 0; byte < item_bytes_of(out); byte++) to[byte] = (unsigned char)(bits[row] >> (8 * byte));
}

/* A whole number of this size and sign. */
static void put_whole(tally_dtype out, uint64_t size, int is_negative, unsigned char *to) {
    const float narrow = is_negative ? -(float)size : (float)size;
    const double wide = is_negative ? -(double)size : (double)size;
    if (out == TALLY_F32) memcpy(to, &narrow, sizeof narrow);
    if (out == TALLY_F64) memcpy(to, &wide, sizeof wide);
    if (item_kind_of(out) == ITEM_FLOAT) return;
    for (size_t byte = 0; byte < item_bytes_of(out); byte++)
        to[byte] = (unsigned char)((is_negative ? 0 - size : size) >> (8 * byte));
}

/* The value of an op whose results are integers, truth values or indices. */
static void put_integer(tally_dtype in, tally_dtype out, value v, unsigned char *to) {
    const uint64_t half = UINT64_C(1) << (8 * item_bytes_of(in) - 1), whole = half - 1 + half;
    const int is_signed = item_kind_of(in) == ITEM_SIGNED, is_bool = in == TALLY_BOOL;
    switch (v) {
    case ONE:
        put_whole(out, 1, 0, to);
        break;
    case LARGEST:
        put_whole(out, is_bool ? 1 : is_signed ? half - 1 : whole, 0, to);
        break;
    case SMALLEST:
        put_whole(out, is_signed ? half : 0, is_signed, to);
        break;
    case ALL_ONES:
        put_whole(out, is_bool || is_signed ? 1 : whole, is_signed, to);
        break;
    case NO_INDEX:
        put_whole(out, UINT64_MAX, 0, to);
        break;
    default:
        put_whole(out, 0, 0, to);
        break;
    }
}

size_t empties_value(tally_op op, tally_dtype in, tally_dtype out, void *result) {
    const value v = value_of(op);
    const item_kind kind = item_kind_of(natural_of(op, in));
    const tally_dtype part = out == TALLY_C64 ? TALLY_F32 : TALLY_F64;
    unsigned char *first = result, *second = first + item_bytes_of(kind == ITEM_COMPLEX ? part : out);
    if (kind == ITEM_COMPLEX) {
        put_float(part, v, first);
        put_float(part, v == ONE ? ZERO : v, second);
        return item_bytes_of(out);
    }
    for (int k = 0; k < 1 + (op == TALLY_MINMAX); k++) {
        if (kind == ITEM_FLOAT)
            put_float(out, k ? SMALLEST : v, k ? second : first);
        else
            put_integer(in, out, k ? SMALLEST : v, k ? second : first);
    }
    return item_bytes_of(out) * (op == TALLY_MINMAX ? 2 : 1);
}
