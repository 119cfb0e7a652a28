/* SPDX-License-Identifier: MIT */
/* The oracle's order against a second formulation, which follows src/base/order.h step by step and
 * is slow. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "tests/support/test_main.h"
#include "oracle/oracle.h"
#include "oracle/items.h"
#include "oracle/patterns.h"

#define LENGTH(array) (sizeof(array) / sizeof((array)[0]))

/* An accumulator of any op, and the op's combination. */
typedef struct naive_acc {
    double f[4];
} naive_acc;
typedef struct naive_op {
    naive_acc identity;
    naive_acc (*load)(double re, double im);
    naive_acc (*combine)(naive_acc a, naive_acc b);
    naive_acc (*chunk)(const double *x, uint64_t n); /* of a chunk of n items; NULL: load and combine make it */
} naive_op;

/* Combines lane l of a chunk, then the lanes from `lane` by halving, then the chunks as an aligned
 * tree. Absent items are identities, up to a power of two of chunks. The oracle leaves them out. x
 * holds two parts of each item. */
static naive_acc naive_lane(const naive_op *op, const double *x, uint64_t n, uint64_t first) {
    naive_acc acc = op->identity;
    for (uint64_t r = 0; r < TALLY_ROWS; r++) {
        const uint64_t i = first + r * TALLY_LANES;
        acc = op->combine(acc, i < n ? op->load(x[2 * i], x[2 * i + 1]) : op->identity);
    }
    return acc;
}

static naive_acc naive_lanes(const naive_op *op, const double *x, uint64_t n, uint64_t first, uint64_t width) {
    if (width == TALLY_LANES) return naive_lane(op, x, n, first);
    return op->combine(naive_lanes(op, x, n, first, 2 * width), naive_lanes(op, x, n, first + width, 2 * width));
}

static naive_acc naive_tree(const naive_op *op, const double *x, uint64_t n, uint64_t chunk, uint64_t chunks) {
    const uint64_t first = chunk * TALLY_CHUNK_ITEMS;
    if (chunks == 1 && op->chunk && first < n)
        return op->chunk(x + 2 * first, n - first < TALLY_CHUNK_ITEMS ? n - first : TALLY_CHUNK_ITEMS);
    if (chunks == 1) return naive_lanes(op, x, n, first, 1);
    return op->combine(naive_tree(op, x, n, chunk, chunks / 2), naive_tree(op, x, n, chunk + chunks / 2, chunks / 2));
}

static naive_acc naive(const naive_op *op, const double *x, uint64_t n) {
    uint64_t chunks = 1;
    while (chunks * TALLY_CHUNK_ITEMS < n) chunks *= 2;
    return naive_tree(op, x, n, 0, chunks);
}

/* One operation in f32. Rounding an f64 result is not enough: GCC 12 at -O2 leaves (double)(float)
 * out of two neighbouring sums. */
#define IN_F32(a, op, b) ((double)((float)(a)op(float)(b)))

static naive_acc load_parts(double re, double im) {
    return (naive_acc){{re, im, 1}};
}

static naive_acc load_square_f32(double re, double im) {
    return (naive_acc){{IN_F32(IN_F32(re, *, re), +, IN_F32(im, *, im)), 0, 0}};
}

static naive_acc load_twofold(double re, double im) {
    (void)im;
    return (naive_acc){{re, -0.0, 0}};
}

static naive_acc add_f32(naive_acc a, naive_acc b) {
    return (naive_acc){{IN_F32(a.f[0], +, b.f[0]), IN_F32(a.f[1], +, b.f[1]), 0}};
}

static naive_acc add_f64(naive_acc a, naive_acc b) {
    return (naive_acc){{a.f[0] + b.f[0], a.f[1] + b.f[1], 0}};
}

static naive_acc multiply_f32(naive_acc a, naive_acc b) {
    if (a.f[2] == 0) return b;
    if (b.f[2] == 0) return a;
    const double rr = IN_F32(a.f[0], *, b.f[0]), ii = IN_F32(a.f[1], *, b.f[1]);
    const double ri = IN_F32(a.f[0], *, b.f[1]), ir = IN_F32(a.f[1], *, b.f[0]);
    return (naive_acc){{IN_F32(rr, -, ii), IN_F32(ri, +, ir), 1}};
}

static const naive_op naive_sum_f32 = {{{-0.0, -0.0, 0}}, load_parts, add_f32, NULL};

/* Fields: the number of items, a place near the mean, the sum of squared distances from it, and the
 * sum of the distances. */
typedef struct naive_moments {
    double n, place, low, deviations;
} naive_moments;

static naive_moments settled_f32(naive_acc a) {
    const double low = IN_F32(a.f[3], /, a.f[0]);
    return (naive_moments){a.f[0], a.f[1], low, IN_F32(a.f[2], -, IN_F32(a.f[3], *, low))};
}

static naive_acc merge_f32(naive_acc left, naive_acc right) {
    if (left.f[0] == 0) return right;
    if (right.f[0] == 0) return left;
    const naive_moments a = settled_f32(left), b = settled_f32(right);
    const double n = a.n + b.n, share = IN_F32(b.n, /, n);
    const double d = IN_F32(IN_F32(b.place, -, a.place), +, IN_F32(b.low, -, a.low));
    const double step = IN_F32(a.low, +, IN_F32(d, *, share)), place = IN_F32(a.place, +, step);
    /* Exact in f64, because the larger of the two is near their sum. */
    const double low = fabs(step) > fabs(a.place) ? step - place + a.place : a.place - place + step, rest = IN_F32(low, *, n);
    const double between = IN_F32(IN_F32(d, *, d), *, IN_F32(a.n, *, share));
    const double deviations = IN_F32(IN_F32(a.deviations, +, b.deviations), +, between);
    return (naive_acc){{n, place, IN_F32(deviations, +, IN_F32(rest, *, low)), rest}};
}

/* The place is the mean of the first items, a power of two of them. The distances from it and their
 * squares are the two parts of a sum. */
static naive_acc chunk_moments_f32(const double *x, uint64_t n) {
    static double parts[2 * TALLY_CHUNK_ITEMS];
    uint64_t front = TALLY_LANES;
    while (front > n) front /= 2;
    for (uint64_t i = 0; i < front; i++) parts[2 * i] = IN_F32(x[2 * i], /, TALLY_LANES);
    const double mean = naive_lanes(&naive_sum_f32, parts, front, 0, 1).f[0];
    const double place = IN_F32(mean, *, TALLY_LANES / front);
    for (uint64_t i = 0; i < n; i++) {
        parts[2 * i] = IN_F32(x[2 * i], -, place);
        parts[2 * i + 1] = IN_F32(parts[2 * i], *, parts[2 * i]);
    }
    const naive_acc sums = naive_lanes(&naive_sum_f32, parts, n, 0, 1);
    return (naive_acc){{(double)n, place, sums.f[1], sums.f[0]}};
}

/* A sum of two f32 of like size is exact in f64 or close enough. Otherwise Knuth's formulas are
 * used. */
static naive_acc add_twofold_f64(naive_acc a, naive_acc b) {
    volatile double sum = a.f[0] + b.f[0], taken = sum - a.f[0], left = sum - taken;
    volatile double lost_a = a.f[0] - left, lost_b = b.f[0] - taken, lost = lost_a + lost_b;
    volatile double lows = a.f[1] + b.f[1], error = lost + lows, high = sum + error, moved = high - sum;
    return (naive_acc){{high, error - moved, 0}};
}

static const naive_op naive_sum_f64 = {{{-0.0, -0.0, 0}}, load_parts, add_f64, NULL};
static const naive_op naive_sumsq_f32 = {{{-0.0, -0.0, 0}}, load_square_f32, add_f32, NULL};
static const naive_op naive_prod_f32 = {{{1, 0, 0}}, load_parts, multiply_f32, NULL};
static const naive_op naive_var_f32 = {{{0, 0, 0}}, load_parts, merge_f32, chunk_moments_f32};
static const naive_op naive_twofold_f64 = {{{-0.0, -0.0, 0}}, load_twofold, add_twofold_f64, NULL};

/* A comparison: the oracle's result, and the fields that it is made of. */
static const struct order_case {
    oracle_case what;
    const naive_op *op;
    int parts; /* parts of an item */
} order_cases[] = {
    {{.op = TALLY_SUM, .in = TALLY_F32}, &naive_sum_f32, 1},
    {{.op = TALLY_SUM, .in = TALLY_F64}, &naive_sum_f64, 1},
    {{.op = TALLY_SUM, .in = TALLY_F16}, &naive_sum_f32, 1},
    {{.op = TALLY_SUM, .in = TALLY_BF16}, &naive_sum_f32, 1},
    {{.op = TALLY_SUM, .in = TALLY_F32, .acc = TALLY_F64}, &naive_sum_f64, 1},
    {{.op = TALLY_SUM, .in = TALLY_C64}, &naive_sum_f32, 2},
    {{.op = TALLY_SUM, .in = TALLY_C128}, &naive_sum_f64, 2},
    {{.op = TALLY_SUMSQ, .in = TALLY_C64}, &naive_sumsq_f32, 2},
    {{.op = TALLY_PROD, .in = TALLY_C64}, &naive_prod_f32, 2},
    {{.op = TALLY_VAR, .in = TALLY_F32}, &naive_var_f32, 1},
    {{.op = TALLY_SUM, .in = TALLY_F64, .accuracy = TALLY_ACCURACY_COMPENSATED}, &naive_twofold_f64, 1},
};

static const uint64_t sizes[] = {0,    1,    2,    3,     127,   128,      129,      997,          4095,          4096,
                                 4097, 8191, 8192, 12288, 12289, 5 * 4096, 7 * 4096, 8 * 4096 + 1, 33 * 4096 - 1, 100003};
#define MAX_N UINT64_C(135167) /* the largest size */

/* The items as parts in f64. */
static void read_parts(tally_dtype in, int parts, const void *items, uint64_t n, double *x) {
    for (uint64_t i = 0; i < n * (uint64_t)parts; i++) {
        const uint64_t to = parts == 2 ? i : 2 * i;
        if (parts == 1) x[to + 1] = 0;
        if (in == TALLY_F16 || in == TALLY_BF16) {
            const uint16_t bits = ((const uint16_t *)items)[i];
            x[to] = (double)(in == TALLY_F16 ? float_of_f16(bits) : float_of_bf16(bits));
        } else {
            const int is_narrow = in == TALLY_F32 || in == TALLY_C64;
            x[to] = is_narrow ? (double)((const float *)items)[i] : ((const double *)items)[i];
        }
    }
}

static void expect_order(const struct order_case *c, int pattern, void *items, double *x, uint64_t n) {
    oracle_result got = {{0}}, expected = {{0}};
    pattern_fill(pattern, c->what.in, items, n);
    read_parts(c->what.in, c->parts, items, n, x);
    const void *const inputs[1] = {items};
    oracle_reduce_inputs(&c->what, inputs, n, &got);
    if (n == 0) return; /* values.c tests no items */
    naive_acc acc = naive(c->op, x, n);
    if (c->what.op == TALLY_VAR) acc.f[0] = isfinite(acc.f[1]) ? IN_F32(settled_f32(acc).deviations, /, n) : (double)NAN;
    if (c->what.accuracy) acc.f[0] = acc.f[0] + acc.f[1];
    const tally_dtype out = oracle_result_dtype(&c->what);
    store_float(out, acc.f[0], expected.bytes);
    if (out == TALLY_C64 || out == TALLY_C128) store_float(out, acc.f[1], expected.bytes + item_bytes_of(out) / 2);
    if (memcmp(&got, &expected, sizeof got) != 0)
        fail_msg("%s %s, \"%s\", n=%llu: 0x%llx 0x%llx, not 0x%llx 0x%llx", tally_op_name(c->what.op),
                 tally_dtype_name(c->what.in), pattern_name(pattern), (unsigned long long)n, (unsigned long long)got.words[0],
                 (unsigned long long)got.words[1], (unsigned long long)expected.words[0],
                 (unsigned long long)expected.words[1]);
}

static void test_floats_are_in_order(void **unused) {
    (void)unused;
    static const int few[] = {PATTERN_WIDE,          PATTERN_NEAR_ONE, PATTERN_NAN_LAST,
                              PATTERN_NEGATIVE_ZERO, PATTERN_SHIFTED,  PATTERN_DENORMAL};
    void *items = malloc(MAX_N * 16);
    double *x = malloc(MAX_N * 2 * sizeof *x);
    assert_true(items && x);
    for (size_t c = 0; c < LENGTH(order_cases); c++)
        for (size_t s = 0; s < LENGTH(sizes); s++) {
            for (int pattern = 0; c < 2 && pattern < PATTERNS; pattern++)
                expect_order(&order_cases[c], pattern, items, x, sizes[s]);
            for (size_t f = 0; c >= 2 && f < LENGTH(few); f++) {
                /* The formulas above give NaN where infinities cancel. */
                if (order_cases[c].what.accuracy && few[f] == PATTERN_NAN_LAST) continue;
                expect_order(&order_cases[c], few[f], items, x, sizes[s]);
            }
        }
    free(items);
    free(x);
}

/* The data depend on the order. Otherwise agreement on it would show nothing. */
static void test_order_matters(void **unused) {
    (void)unused;
    float *x = malloc(MAX_N * sizeof *x);
    assert_non_null(x);
    pattern_fill(PATTERN_WIDE, TALLY_F32, x, MAX_N);
    float ordered, plain = 0, pairs = 0;
    oracle_reduce(TALLY_SUM, TALLY_F32, x, MAX_N, &ordered);
    for (uint64_t i = 0; i < MAX_N; i++) plain += x[i];
    for (uint64_t i = 0; i + 1 < MAX_N; i += 2) pairs += x[i] + x[i + 1];
    assert_true(ordered != plain);
    assert_true(ordered != pairs);
    free(x);
}

static void test_pieces_do_not_matter(void **unused) {
    (void)unused;
    static const uint64_t pieces[] = {1, 3, 127, 4095, 4096, 4097, 20000};
    enum { N = 30011 };
    unsigned char *x[2] = {malloc(N * 16), malloc(N * 16)};
    assert_true(x[0] && x[1]);
    oracle *state = malloc(sizeof *state);
    assert_non_null(state);
    oracle_case what = {0};
    for (what.op = TALLY_OP_NONE + 1; what.op < TALLY_OP_END; what.op++)
        for (what.in = TALLY_DTYPE_DEFAULT + 1; what.in < TALLY_DTYPE_END; what.in++) {
            if (!oracle_takes(&what)) continue;
            const size_t bytes = item_bytes_of(what.in);
            oracle_result whole = {{0}}, parts = {{0}};
            pattern_fill(PATTERN_WIDE, what.in, x[0], N);
            pattern_fill_second(PATTERN_WIDE, what.op, what.in, x[0], x[1], N);
            oracle_reduce_inputs(&what, (const void *const *)x, N, &whole);
            for (size_t p = 0; p < LENGTH(pieces); p++) {
                oracle_begin_case(state, &what);
                for (uint64_t i = 0; i < N; i += pieces[p]) {
                    const void *const from[2] = {x[0] + i * bytes, x[1] + i * bytes};
                    oracle_push_inputs(state, from, N - i < pieces[p] ? N - i : pieces[p]);
                }
                oracle_end(state, &parts);
                assert_memory_equal(&whole, &parts, sizeof whole);
            }
        }
    free(state);
    free(x[0]);
    free(x[1]);
}

/* Appends pieces of `piece` items by their partials, and the rest as items. */
static void reduce_by_partials(oracle *states, const oracle_case *what, unsigned char *const x[2], uint64_t n, uint64_t piece,
                               oracle_result *result) {
    const size_t bytes = item_bytes_of(what->in);
    uint64_t at = 0;
    memset(states, 0x5a, 2 * sizeof *states); /* no subtrees of the last reduction */
    oracle_begin_case(&states[0], what);
    for (; n - at >= piece; at += piece) {
        const void *const from[2] = {x[0] + at * bytes, x[1] + at * bytes};
        oracle_acc partial;
        oracle_begin_case(&states[1], what);
        oracle_push_inputs(&states[1], from, piece);
        oracle_get_partial(&states[1], &partial);
        oracle_push_partial(&states[0], &partial, piece);
    }
    const void *const rest[2] = {x[0] + at * bytes, x[1] + at * bytes};
    oracle_push_inputs(&states[0], rest, n - at);
    oracle_end(&states[0], result);
}

/* Partials of subtrees, joined, give the bits of the items: on wide numbers, whose sums depend on
 * the order, on numbers whose products do, and with a NaN in the first or last place. */
static void test_partials(void **unused) {
    (void)unused;
    static const uint64_t pieces[] = {TALLY_CHUNK_ITEMS, 2 * TALLY_CHUNK_ITEMS, 4 * TALLY_CHUNK_ITEMS};
    static const int patterns[] = {PATTERN_WIDE, PATTERN_NEAR_ONE, PATTERN_NAN_FIRST, PATTERN_NAN_LAST};
    enum { N = 7 * TALLY_CHUNK_ITEMS + 1234 };
    unsigned char *x[2] = {malloc(N * 16), malloc(N * 16)};
    oracle *states = malloc(2 * sizeof *states);
    assert_true(x[0] && x[1] && states);
    oracle_case what = {0};
    for (what.op = TALLY_OP_NONE + 1; what.op < TALLY_OP_END; what.op++)
        for (what.in = TALLY_DTYPE_DEFAULT + 1; what.in < TALLY_DTYPE_END; what.in++)
            for (size_t p = 0; p < LENGTH(patterns); p++) {
                if (!oracle_takes(&what)) continue;
                oracle_result whole = {{0}}, parts = {{0}};
                pattern_fill(patterns[p], what.in, x[0], N);
                pattern_fill_second(patterns[p], what.op, what.in, x[0], x[1], N);
                oracle_reduce_inputs(&what, (const void *const *)x, N, &whole);
                for (size_t s = 0; s < LENGTH(pieces); s++) {
                    reduce_by_partials(states, &what, x, N, pieces[s], &parts);
                    assert_memory_equal(&whole, &parts, sizeof whole);
                }
            }
    free(states);
    free(x[0]);
    free(x[1]);
}

int main(int argc, char **argv) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_floats_are_in_order),
        cmocka_unit_test(test_order_matters),
        cmocka_unit_test(test_pieces_do_not_matter),
        cmocka_unit_test(test_partials),
    };
    return test_main(argc, argv, "The oracle's order of combination.", tests, sizeof tests / sizeof tests[0], NULL, NULL);
}
