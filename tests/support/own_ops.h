/* SPDX-License-Identifier: MIT */
/* own_ops.h: custom ops that several tests use: a minimum with its place, and a compensated sum. */
#ifndef TALLY_TESTS_OWN_OPS_H
#define TALLY_TESTS_OWN_OPS_H

#include <tally/ops.h>

/* The smallest f32 and the index of the first such item. The result has a gap of 4 bytes. */
typedef struct own_least_result {
    float value;
    uint64_t place;
} own_least_result;

static const tally_op_field own_least_fields[] = {
    {.name = "value", .type = TALLY_F32, .identity = "INFINITY", .load = "x", .combine = "closer ? b.value : a.value"},
    {.name = "place", .type = TALLY_U64, .identity = "~(u64)0", .load = "i", .combine = "closer ? b.place : a.place"}};
static const tally_op_let own_least_lets[] = {
    {"closer", TALLY_PART_COMBINE, TALLY_I32, "b.value < a.value || (b.value == a.value && b.place < a.place)"}};
static const tally_op_result own_least_results[] = {{"least", TALLY_F32, "a.value", "NAN"}, {"at", TALLY_U64, "a.place", NULL}};
static const tally_op_desc own_least = {.size = sizeof(tally_op_desc),
                                        .name = "least",
                                        .fields = own_least_fields,
                                        .field_count = 2,
                                        .lets = own_least_lets,
                                        .let_count = 1,
                                        .results = own_least_results,
                                        .result_count = 2,
                                        .exact = 1};

/* The sum of the library's level `compensated`, for finite items: a TwoSum (D. E. Knuth) plus the
 * low parts, split exactly once more. */
static const tally_op_field own_twofold_fields[] = {
    {.name = "high", .identity = "-0.0f", .load = "x", .combine = "sum"},
    {.name = "low", .identity = "-0.0f", .load = "-0.0f", .combine = "rest - (sum - rounded)"}};
static const tally_op_let own_twofold_lets[] = {
    {"rounded", TALLY_PART_COMBINE, 0, "a.high + b.high"},
    {"back", TALLY_PART_COMBINE, 0, "rounded - a.high"},
    {"rest", TALLY_PART_COMBINE, 0, "((a.high - (rounded - back)) + (b.high - back)) + (a.low + b.low)"},
    {"sum", TALLY_PART_COMBINE, 0, "rounded + rest"}};
static const tally_op_desc own_twofold = {.size = sizeof(tally_op_desc),
                                          .name = "twofold",
                                          .fields = own_twofold_fields,
                                          .field_count = 2,
                                          .lets = own_twofold_lets,
                                          .let_count = 4,
                                          .finish = "a.high + a.low",
                                          .empty = "0"};

#endif
