/* SPDX-License-Identifier: MIT */
/* Texts of custom ops that tally_op_create refuses: expressions, their length and nesting, control
 * characters. */
#define _XOPEN_SOURCE 700 /* stpcpy */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "custom.h"

static void test_refused_expressions(void **unused) {
    (void)unused;
    static const struct {
        const char *text, *word;
    } bad[] = {
        {"x * x; launch()", "';'"},
        {"x }", "'}'"},
        {"{ x", "'{'"},
        {"x // why", "a comment"},
        {"x /* why", "a comment"},
        {"#define x", "'#'"},
        {"x \\", "'\\'"},
        {"\"x\"", "'\"'"},
        {"'x'", "'''"},
        {"`x`", "'`'"},
        {"x $ y", "'$'"},
        {"x @ y", "'@'"},
        {"x\ny", "a line break"},
        {"x\x7f", "control character"},
        {"\xc3\xa9", "not ASCII"},
        {"(x", "')' is missing"},
        {"x[1", "']' is missing"},
        {"x)", "')' closes nothing"},
        {"x]", "']' closes nothing"},
        {"(x]", "']' closes nothing"},
        {"x) + (x", "')' closes nothing"},
        {"((x)", "')' is missing"},
    };
    tally_op_desc d = sum_of_squares;
    custom_refuse_begin();
    for (size_t i = 0; i < TALLY_ARRAY_LENGTH(bad); i++) {
        d.load = bad[i].text;
        REFUSE(d, "op squares", "load", bad[i].word);
    }
    /* A refused text may be in any part. The message names the field. */
    d = sum_of_squares;
    d.finish = "a; b";
    REFUSE(d, "finish", "a; b");
    d.finish = NULL;
    d.empty = "0;";
    REFUSE(d, "empty", "0;");
    tally_op_field fields[2] = {two_fields[0], two_fields[1]};
    d = mean_by_fields;
    d.fields = fields;
    fields[1].combine = "a.w + b.w)";
    REFUSE(d, "op mean", "combine of field w", "closes nothing");
    fields[1].combine = NULL;
    REFUSE(d, "combine of field w", "is missing");
    fields[1].combine = "1";
    fields[1].identity = "";
    REFUSE(d, "identity of field w", "is empty");
    fields[1].identity = "0";
    fields[0].load = NULL;
    REFUSE(d, "load of field s", "is missing");
}

/* Returns `count` times `repeated` between `begin` and `end`. The caller frees it. */
static char *repeat(const char *begin, const char *repeated, size_t count, const char *end) {
    const size_t bytes = strlen(begin) + strlen(repeated) * count + strlen(end) + 1;
    char *text = malloc(bytes), *to = text;
    assert_non_null(text);
    to = stpcpy(to, begin);
    for (size_t i = 0; i < count; i++) to = stpcpy(to, repeated);
    stpcpy(to, end);
    return text;
}

static tally_status try_load(const char *text) {
    tally_op_desc d = sum_of_squares;
    tally_custom_op *op = NULL;
    d.load = text;
    const tally_status status = tally_op_create(&d, &op);
    assert_int_equal(status == TALLY_OK, op != NULL);
    tally_op_destroy(op);
    return status;
}

static void expect_length(size_t length, size_t limit, tally_status status) {
    if (status != (length > limit ? TALLY_E_ARGUMENT : TALLY_OK))
        fail_msg("%zu characters: %s: %s", length, tally_status_name(status), tally_last_error());
    char words[2][64];
    snprintf(words[0], sizeof words[0], "%zu characters", length);
    snprintf(words[1], sizeof words[1], "at most %zu", limit);
    if (status)
        refused(status, TALLY_E_ARGUMENT, "tally_op_create", __FILE__, __LINE__, (const char *[]){words[0], words[1], NULL});
}

/* The limits are 8,192 characters an expression and 16,384 an operator. */
static void test_length(void **unused) {
    (void)unused;
    for (size_t more = 0; more < 3; more++) {
        char *text = repeat("x", "+x", 4095, more == 0 ? "" : more == 1 ? " " : "  ");
        expect_length(8191 + more, 8192, try_load(text));
        free(text);
    }
    char *huge = repeat("", "x", 1 << 20, "");
    expect_length(1 << 20, 8192, try_load(huge));
    free(huge);
    char *half = repeat("x", "+x", 4094, ""); /* 8189 characters: two of them, with the identities and combines, reach 16,384 */
    tally_op_field fields[2] = {{"s", 0, "0", half, "a"}, {"w", 0, "0", half, "b"}};
    tally_op_desc d = mean_by_fields;
    d.fields = fields;
    for (size_t length = 1; length < 4; length++) {
        tally_custom_op *op = NULL;
        d.finish = &"n+n"[3 - length];
        expect_length(2 * 8189 + 4 + length, 16384, tally_op_create(&d, &op));
        tally_op_destroy(op);
    }
    free(half);
}

/* Each construct that nests a parser may be 200 deep, not deeper. Chains have no limit. */
static void test_nesting(void **unused) {
    (void)unused;
    static const struct {
        const char *open, *close; /* repeated for each level around an x */
    } nests[] = {{"(", ")"},        {"!", ""},      {"- ", ""},   {"~-", ""},     {"(f32)", ""},  {"(u64) ", ""},
                 {"x?x:", ""},      {"x ?: ", ""},  {"x=", ""},   {"x+=", ""},    {"x<<=", ""},   {"sizeof ", ""},
                 {"sizeof-", ""},   {"fabs(", ")"}, {"x[", "]"},  {"x*(", ")"},   {"(f32)-", ""}, {"(unsigned long*)", ""},
                 {"(float4)-", ""}, {"f(x,", ")"},  {"x?", ":x"}, {"(x?x:", ")"}, {"1+!", ""},    {"-x*(", ")"}};
    static const char *const chains[] = {"+x",   "&&x",   "<x",     "-1.5e-3*x", "+fabs(x)",    "+(x)",      "*(x+1)",
                                         "*-x",  "+(-x)", "||x==1", ">>1",       "+(f32)x",     "+(f32)(x)", "+p.k*a.b",
                                         "==!x", ",!x",   "<=x",    "+-x",       "+(x>0?x:-x)", "-(-(-x))",  "+f(-x,~x)"};
    for (size_t i = 0; i < TALLY_ARRAY_LENGTH(nests); i++) {
        size_t deepest = 0;
        for (size_t depth = 1; depth <= 1000; depth++) {
            char *open = repeat("", nests[i].open, depth, "x"), *text = repeat(open, nests[i].close, depth, "");
            const tally_status status = strlen(text) > 8192 ? TALLY_E_ARGUMENT : try_load(text);
            if (status == TALLY_OK) deepest = depth;
            if (status && deepest + 1 == depth && strlen(text) <= 8192)
                REFUSED(try_load(text), TALLY_E_ARGUMENT, "op squares: load: '", "nested more than 200 deep");
            free(open);
            free(text);
        }
        const size_t expected = strcmp(nests[i].open, "1+!") == 0 ? 1000 : 200;
        if (deepest > expected || deepest < expected / 3) fail_msg("%s: %zu deep", nests[i].open, deepest);
    }
    for (size_t i = 0; i < TALLY_ARRAY_LENGTH(chains); i++) {
        char *text = repeat("x", chains[i], 8191 / strlen(chains[i]), "");
        if (try_load(text)) fail_msg("x%s%s...: %s", chains[i], chains[i], tally_last_error());
        free(text);
    }
    assert_int_equal(try_load("((x) + (x)"), TALLY_E_ARGUMENT);
    assert_non_null(strstr(tally_last_error(), "')' is missing"));
    char *closed = repeat("(", "x+(", 98, "x"), *all = repeat(closed, ")", 99, "");
    MUST(try_load(all));
    free(closed);
    free(all);
}

/* Characters that cannot be printed are escaped wherever a user's text is shown. */
static void test_control_characters(void **unused) {
    (void)unused;
    tally_context *context = NULL;
    tally_custom_op *op = NULL;
    tally_op_field fields[2] = {two_fields[0], two_fields[1]};
    tally_op_desc d = mean_by_fields;
    tally_op value;
    tally_plan *plan;
    BAD(try_load("x\x1b[31m"), "'x\\x1b[31m'", "a control character is in no expression");
    BAD(try_load("x\n+1"), "'x +1'", "a line break is in no expression");
    static const char *const spelt[] = {"%:x",
                                        "x<%1",
                                        "x%>1",
                                        "x<:0:>",
                                        "x ?"
                                        "?/ 1",
                                        "?"
                                        "?=x"};
    for (size_t i = 0; i < TALLY_ARRAY_LENGTH(spelt); i++)
        BAD(try_load(spelt[i]), spelt[i], "a digraph or a trigraph is in no expression");
    BAD(try_load("x\xc2\x9b"), "'x\\xc2\\x9b'", "not ASCII"); /* CSI */
    BAD(try_load("\xff\xc3"), "'\\xff\\xc3'", "not ASCII");
    d.fields = fields;
    fields[1].name = "w\a\b";
    BAD(tally_op_create(&d, &op), "'w\\x07\\x08' is no name");
    BAD(tally_op_from_name("su\x7fm", &value), "'su\\x7fm'");
    BAD(tally_context_create("st\x1b]ub", &context), "'st\\x1b]ub'");
    MUST(tally_context_create("stub:alpha", &context));
    BAD(tally_plan_create(
            context,
            &(tally_reduce_desc){.size = sizeof(tally_reduce_desc), .op = TALLY_SUM, .in = TALLY_F32, .variant = "\r\x01"},
            &plan),
        "' \\x01'");
    MUST(tally_plan_create(context, &side_desc, &plan));
    BAD(tally_plan_set_param(plan, "\x1bP", 1), "'\\x1bP'");
    tally_plan_destroy(plan);
    tally_context_destroy(context);
    SOUND();
}

const core_test custom_text_tests[] = {
    {"custom: expressions refused", test_refused_expressions},
    {"custom: lengths", test_length},
    {"custom: nesting", test_nesting},
    {"custom: control characters", test_control_characters},
    {NULL, NULL},
};
