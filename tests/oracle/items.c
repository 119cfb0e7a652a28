/* SPDX-License-Identifier: MIT */
/*
 * The parts of the oracle: conversions of the item types against the compiler's own, ops against
 * the library's tables, the patterns, and the bounds.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "tests/support/test_main.h"
#include "oracle/bound.h"
#include "oracle/oracle.h"
#include "oracle/items.h"
#include "oracle/patterns.h"

#define LENGTH(array) (sizeof(array) / sizeof((array)[0]))

/* ---- item types ------------------------------------------------------------------------------ */

static uint32_t bits_of_f32(float x) {
    uint32_t bits;
    memcpy(&bits, &x, sizeof bits);
    return bits;
}

static void test_every_f16_and_bf16(void **unused) {
    (void)unused;
    for (uint32_t bits = 0; bits < 65536; bits++) {
        const float f16 = float_of_f16((uint16_t)bits), bf16 = float_of_bf16((uint16_t)bits);
        assert_int_equal(f16_of_double((double)f16), f16 == f16 ? bits : 0x7e00);
        assert_int_equal(bf16_of_double((double)bf16), bf16 == bf16 ? bits : 0x7fc0);
        assert_int_equal(f16 != f16, (bits & 0x7fff) > 0x7c00);
        if (bf16 == bf16) assert_int_equal(bits_of_f32(bf16), bits << 16);
        /* By definition: (1.f or 0.f) * 2^e. */
        const int field = (int)(bits >> 10 & 31), fraction = (int)(bits & 1023);
        const double size = field ? ldexp(1024 + fraction, field - 25) : ldexp(fraction, -24);
        if (field < 31) assert_true((double)f16 == (bits & 0x8000 ? -size : size) && !signbit(f16) == !(bits & 0x8000));
        if (field == 31 && fraction == 0) assert_true((double)f16 == (bits & 0x8000 ? (double)-INFINITY : (double)INFINITY));
#ifdef __FLT16_MANT_DIG__
        __extension__ _Float16 own;
        const uint16_t half = (uint16_t)bits;
        memcpy(&own, &half, sizeof own);
        if (f16 == f16) assert_int_equal(bits_of_f32((float)own), bits_of_f32(f16));
#endif
    }
}

/* A number between two neighbours goes to the nearer one, a tie to the even one. */
static void expect_rounding(uint16_t (*to)(double), float (*from)(uint16_t), uint16_t low) {
    const double below = (double)from(low), above = (double)from((uint16_t)(low + 1)), middle = below + (above - below) / 2;
    assert_int_equal(to(middle), low % 2 ? low + 1 : low);
    assert_int_equal(to(nextafter(middle, below)), low);
    assert_int_equal(to(nextafter(middle, above)), low + 1);
    assert_int_equal(to(-middle), (low % 2 ? low + 1 : low) | 0x8000);
}

static void test_rounding_to_f16_and_bf16(void **unused) {
    (void)unused;
    for (uint16_t low = 0; low < 0x7bff; low++) expect_rounding(f16_of_double, float_of_f16, low);
    for (uint16_t low = 0; low < 0x7f7f; low++) expect_rounding(bf16_of_double, float_of_bf16, low);
    /* Beyond the largest: infinity from half a step on. */
    assert_int_equal(f16_of_double(nextafter(65520, 0)), 0x7bff);
    assert_int_equal(f16_of_double(65520), 0x7c00);
    assert_int_equal(f16_of_double(-1e300), 0xfc00);
    assert_int_equal(bf16_of_double(nextafter(0x1.ffp127, 0)), 0x7f7f);
    assert_int_equal(bf16_of_double(0x1.ffp127), 0x7f80);
    assert_int_equal(bf16_of_double(1e-300), 0);
    assert_int_equal(f16_of_double(-1e-300), 0x8000);
#ifdef __FLT16_MANT_DIG__
    for (uint64_t i = 0; i < 200000; i++) {
        const double x = ldexp((double)pattern_random(i), (int)(pattern_random(~i) % 50) - 64 - 28);
        __extension__ _Float16 own;
        own = x;
        uint16_t bits;
        memcpy(&bits, &own, sizeof bits);
        assert_int_equal(f16_of_double(x), bits);
    }
#endif
}

/* ---- tables, patterns and bounds ------------------------------------------------------------- */

/* The oracle takes the pairs that the library takes, and gives the same types. */
static void test_tables_agree(void **unused) {
    (void)unused;
    oracle_case what = {0};
    for (what.op = TALLY_OP_NONE + 1; what.op < TALLY_OP_END; what.op++) {
        assert_int_equal(oracle_inputs(what.op), tally_op_inputs(what.op));
        for (what.in = TALLY_DTYPE_DEFAULT + 1; what.in < TALLY_DTYPE_END; what.in++) {
            const tally_dtype result = tally_result_dtype(what.op, what.in);
            assert_int_equal(item_bytes_of(what.in), tally_dtype_bytes(what.in));
            assert_int_equal(oracle_takes(&what), result != TALLY_DTYPE_DEFAULT);
            if (!oracle_takes(&what)) continue;
            assert_int_equal(oracle_result_dtype(&what), result);
            assert_int_equal(oracle_result_bytes(&what), tally_dtype_bytes(result) * tally_result_count(what.op, what.in));
        }
    }
    static const struct {
        tally_op op;
        uint32_t index;
        const char *name;
        double value;
    } params[] = {{TALLY_VAR, 0, "ddof", 0},
                  {TALLY_STD, 0, "ddof", 0},
                  {TALLY_ALLCLOSE, 0, "rtol", 1e-5},
                  {TALLY_ALLCLOSE, 1, "atol", 1e-8}};
    for (size_t p = 0; p < LENGTH(params); p++) {
        double value = -1;
        assert_string_equal(tally_op_param_name(params[p].op, params[p].index, &value), params[p].name);
        assert_true(value == params[p].value);
    }
}

/* The patterns show what they are for: both answers of allclose, products that stay in range, an
 * index that is not the first. */
static void test_patterns_tell(void **unused) {
    (void)unused;
    enum { N = 5000 };
    static float x[N], y[N];
    const oracle_case close = {.op = TALLY_ALLCLOSE, .in = TALLY_F32}, product = {.op = TALLY_PROD, .in = TALLY_F32};
    const void *const inputs[2] = {x, y};
    uint8_t answer;
    float value;
    for (int pattern = 0; pattern < PATTERNS; pattern++) {
        const int is_one = pattern == PATTERN_ONE_FIRST || pattern == PATTERN_ONE_MIDDLE || pattern == PATTERN_ONE_LAST;
        const int is_nan = pattern >= PATTERN_NAN_FIRST && pattern <= PATTERN_ALL_NAN;
        pattern_fill(pattern, TALLY_F32, x, N);
        pattern_fill_second(pattern, TALLY_ALLCLOSE, TALLY_F32, x, y, N);
        oracle_reduce_inputs(&close, inputs, N, &answer);
        if (pattern != PATTERN_LIMITS && pattern != PATTERN_SHIFTED) assert_int_equal(answer, !is_one && !is_nan);
    }
    int answers[2] = {0, 0};
    for (uint64_t n = 1; n < 40; n++) {
        pattern_fill(PATTERN_SHIFTED, TALLY_F32, x, n);
        pattern_fill_second(PATTERN_SHIFTED, TALLY_ALLCLOSE, TALLY_F32, x, y, n);
        oracle_reduce_inputs(&close, inputs, n, &answer);
        answers[answer]++;
    }
    assert_true(answers[0] && answers[1]);
    pattern_fill(PATTERN_NEAR_ONE, TALLY_F32, x, N);
    oracle_reduce_inputs(&product, inputs, N, &value);
    assert_true(value > 0.1f && value < 10 && value != 1);
}

/* The oracle's own results keep every bound for other orders. Results far from them do not. */
static void test_bounds(void **unused) {
    (void)unused;
    static const uint64_t some[] = {0, 1, 2, 129, 4097};
    enum { N = 4097 };
    unsigned char *x[2] = {malloc(N * 16), malloc(N * 16)};
    assert_true(x[0] && x[1]);
    oracle_case what = {0};
    size_t kept = 0, refused = 0;
    for (what.op = TALLY_OP_NONE + 1; what.op < TALLY_OP_END; what.op++)
        for (what.in = TALLY_DTYPE_DEFAULT + 1; what.in < TALLY_DTYPE_END; what.in++)
            for (what.accuracy = 0; what.accuracy < TALLY_ACCURACY_END; what.accuracy++)
                for (int pattern = 0; pattern < PATTERNS; pattern++) {
                    if (!oracle_takes(&what) || oracle_is_exact(&what)) continue;
                    for (size_t s = 0; s < LENGTH(some); s++) {
                        const void *const inputs[2] = {x[0], x[1]};
                        oracle_result result = {{0}};
                        pattern_fill(pattern, what.in, x[0], some[s]);
                        pattern_fill_second(pattern, what.op, what.in, x[0], x[1], some[s]);
                        oracle_reduce_inputs(&what, inputs, some[s], &result);
                        bound_verdict verdict = bound_check(&what, inputs, some[s], 42, 0, &result);
                        kept += verdict == BOUND_KEPT;
                        if (verdict == BOUND_BROKEN)
                            fail_msg("%s %s %d, \"%s\", n=%llu: 0x%llx 0x%llx breaks the bound", tally_op_name(what.op),
                                     tally_dtype_name(what.in), (int)what.accuracy, pattern_name(pattern),
                                     (unsigned long long)some[s], (unsigned long long)result.words[0],
                                     (unsigned long long)result.words[1]);
                        if (verdict == BOUND_FREE) continue;
                        /* A change of a bit of the exponent or of the fraction's upper half makes
                         * another number. */
                        const tally_dtype out = oracle_result_dtype(&what);
                        result.bytes[out == TALLY_F32 || out == TALLY_C64 ? 2 : 6] ^= 0x40;
                        verdict = bound_check(&what, inputs, some[s], 42, 0, &result);
                        refused += verdict == BOUND_BROKEN;
                    }
                }
    /* A bound is wider where signs cancel, or where a variance is small beside its mean. */
    if (refused < kept / 2 || kept < 10000) fail_msg("of %zu results %zu were refused when changed", kept, refused);
    free(x[0]);
    free(x[1]);
}

int main(int argc, char **argv) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_f16_and_bf16),
        cmocka_unit_test(test_rounding_to_f16_and_bf16),
        cmocka_unit_test(test_tables_agree),
        cmocka_unit_test(test_patterns_tell),
        cmocka_unit_test(test_bounds),
    };
    return test_main(argc, argv, "The oracle's items, bounds and tables.", tests, sizeof tests / sizeof tests[0], NULL, NULL);
}
