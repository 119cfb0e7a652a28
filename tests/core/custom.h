/* SPDX-License-Identifier: MIT */
/* custom.h: shared by the tests of custom ops on the stub. */
#ifndef TALLY_TESTS_CORE_CUSTOM_H
#define TALLY_TESTS_CORE_CUSTOM_H

#include "core.h"

/* Correct operators, which tests change. */
static const tally_op_desc sum_of_squares = {
    .size = sizeof(tally_op_desc), .name = "squares", .identity = "0", .load = "x * x", .combine = "a + b"};
static const tally_op_field two_fields[] = {{"s", 0, "0", "x", "a.s + b.s"}, {"w", 0, "0", "1", "a.w + b.w"}};
static const tally_op_desc mean_by_fields = {
    .size = sizeof(tally_op_desc), .name = "mean", .fields = two_fields, .field_count = 2, .finish = "a.s / a.w"};

/* Expects tally_op_create to refuse the operator. The text has each word, and differs from the text
 * of every other refusal of the test. */
#define REFUSE(desc_, ...) custom_refuse(desc_, __LINE__, (const char *[]){__VA_ARGS__, NULL})
void custom_refuse(tally_op_desc desc, int line, const char *const *words);
/* Begins a test. */
void custom_refuse_begin(void);

#endif
