/* SPDX-License-Identifier: MIT */
/* patterns.h: the values that the tests reduce. A pattern is a function of the type, the index and
 * n alone. */
#ifndef TALLY_TESTS_PATTERNS_H
#define TALLY_TESTS_PATTERNS_H

#include <stdint.h>

#include <tally/tally.h>

/* X(id, name, floats; integers): the last text says what the items are. Complex items are filled
 * part by part, as twice as many floats, so a special value stands in one part. Truth values are
 * bytes of any value. */
#define PATTERN_TABLE(X)                                                                                                       \
    X(WIDE, "wide", "random, exponents over 2^-40 to 2^40 (f16: 2^-12 to 2^12); random bits, of truth values half of them 0")  \
    X(RAMP, "ramp", "0, 1, 2, ...; from below zero up")                                                                        \
    X(POWERS, "powers", "exact powers of two; likewise")                                                                       \
    X(ALTERNATING, "alternating", "+1, -2, +3, ...; likewise")                                                                 \
    X(NAN_FIRST, "nan first", "random and a NaN with a payload at the first place; the type's limits there")                   \
    X(NAN_MIDDLE, "nan middle", "likewise in the middle, a negative NaN; likewise")                                            \
    X(NAN_LAST, "nan last", "likewise at the last place, a signalling NaN; likewise")                                          \
    X(ALL_NAN, "all nan", "every item a NaN; every item the lowest")                                                           \
    X(INFINITE, "infinite", "+inf among finite; the highest among others")                                                     \
    X(NEGATIVE_INFINITE, "-infinite", "-inf among finite; the lowest among others")                                            \
    X(BOTH_INFINITE, "+-infinite", "+inf and -inf: their sum is NaN; both limits")                                             \
    X(ALL_INFINITE, "all +infinite", "every item +inf; every item the highest")                                                \
    X(NEGATIVE_ZERO, "-0", "every item -0; every item 0")                                                                      \
    X(ZEROS, "zeros", "all -0 but one +0 in the middle; 0 but one 1")                                                          \
    X(NEGATIVE_ONLY_ZERO, "one -0", "all +0 but one -0 at the last place; 0 but one lowest")                                   \
    X(DENORMAL, "denormal", "random denormals of both signs; small numbers of both signs")                                     \
    X(LIMITS, "limits", "largest finite numbers of both signs, which overflow; the limits, which wrap")                        \
    X(ABSORBED, "absorbed", "1, then what is less than half an ulp of it: in sequence all of it is lost; random")              \
    X(DUPLICATES, "duplicates", "a few values, the extremes many times; likewise")                                             \
    X(ONE_FIRST, "one first", "0 but for the first place; likewise")                                                           \
    X(ONE_MIDDLE, "one middle", "0 but for the middle; likewise")                                                              \
    X(ONE_LAST, "one last", "0 but for the last place; likewise")                                                              \
    X(LACK_FIRST, "lack first", "0 at the first place alone; likewise")                                                        \
    X(LACK_MIDDLE, "lack middle", "0 in the middle alone; likewise")                                                           \
    X(LACK_LAST, "lack last", "0 at the last place alone; likewise")                                                           \
    X(MAGNITUDES, "magnitudes", "random over all exponents: squares vanish, are ordinary, overflow; random widths")            \
    X(TINY, "tiny", "random, squares vanish; 0, 1 and -1")                                                                     \
    X(BIG, "big", "random, squares overflow; near the limits")                                                                 \
    X(NEAR_ONE, "near one", "random near 1, complex ones near the unit circle: products stay in range; odd numbers")           \
    X(SHIFTED, "shifted", "random between 1000 and 1001: a small variance far from 0; 100 and a little more")

#define PATTERN_ROW(id, name, text) PATTERN_##id,
enum { PATTERN_TABLE(PATTERN_ROW) PATTERNS };
#undef PATTERN_ROW

const char *pattern_name(int pattern);
/* Fills n items. */
void pattern_fill(int pattern, tally_dtype dtype, void *items, uint64_t n);
/*
 * Fills the second input for `first`, which the pattern filled: the same pattern of other random
 * numbers, backwards, so that special values stand elsewhere. For allclose it is `first` with
 * changes. A part of the items is changed by less than the tolerance, by about the tolerance in the
 * pattern "shifted", and by just within it for f64 in "alternating". In "-infinite" the infinities
 * of f64 change their sign. Where the pattern says that all items but one are zero, all are.
 */
void pattern_fill_second(int pattern, tally_op op, tally_dtype dtype, const void *first, void *second, uint64_t n);

/* 64 bits that look random: splitmix64 of a counter. */
uint64_t pattern_random(uint64_t counter);

#endif
