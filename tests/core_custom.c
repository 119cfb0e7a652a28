/* SPDX-License-Identifier: MIT */
/* Operators of one's own: what tally_op_create refuses and how, and what plans of sound ones compute, on the stub, which compiles them. */
#define _XOPEN_SOURCE 700 /* stpcpy */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core_tests.h"

#define ITEMS 600001u /* more than a span of either device, so that feeds have several */

/* ---- refused -------------------------------------------------------------------------------------------------------- */

static const tally_op_desc sum_of_squares = {
    .size = sizeof(tally_op_desc), .name = "squares", .identity = "0", .load = "x * x", .combine = "a + b"};
static const tally_op_field two_fields[] = {{"s", 0, "0", "x", "a.s + b.s"}, {"w", 0, "0", "1", "a.w + b.w"}};
static const tally_op_desc mean_by_fields = {
    .size = sizeof(tally_op_desc), .name = "mean", .fields = two_fields, .field_count = 2, .finish = "a.s / a.w"};

/* Texts must differ: each reason has its own. */
static char seen[160][256];
static size_t seen_count;

#define REFUSE(desc_, ...) refuse(&(desc_), __LINE__, (const char *[]){__VA_ARGS__, NULL})
static void refuse(const tally_op_desc *desc, int line, const char *const *words) {
    tally_custom_op *op = NULL;
    refused(tally_op_create(desc, &op), TALLY_E_ARGUMENT, "tally_op_create", __FILE__, line, words);
    assert_null(op);
    for (size_t i = 0; i < seen_count; i++)
        if (strcmp(seen[i], tally_last_error()) == 0) fail_msg("the same text twice, line %d: %s", line, seen[i]);
    assert_true(seen_count < TALLY_ARRAY_LENGTH(seen));
    snprintf(seen[seen_count++], sizeof seen[0], "%s", tally_last_error());
}

static void test_refused_parts(void **unused) {
    (void)unused;
    tally_op_desc d = sum_of_squares;
    tally_custom_op *op = NULL;
    seen_count = 0;
    BAD(tally_op_create(NULL, &op), "tally_op_create", "desc");
    BAD(tally_op_create(&d, NULL), "tally_op_create", "out");
    d.size = 0;
    REFUSE(d, "tally_op_create", "desc.size is 0");
    d.size = sizeof d + 1;
    REFUSE(d, "tally_op_create", "desc.size");
    /* Missing, and empty. */
    const size_t parts[] = {offsetof(tally_op_desc, identity), offsetof(tally_op_desc, load), offsetof(tally_op_desc, combine)};
    static const char *const names[] = {"identity", "load", "combine"};
    for (size_t i = 0; i < 3; i++) {
        const char *const none = NULL, *const empty = "", *const blank = " \t";
        d = sum_of_squares;
        memcpy((char *)&d + parts[i], &none, sizeof none);
        REFUSE(d, "op squares", names[i], "is missing");
        memcpy((char *)&d + parts[i], &empty, sizeof empty);
        REFUSE(d, "op squares", names[i], "is empty");
        memcpy((char *)&d + parts[i], &blank, sizeof blank);
        BAD(tally_op_create(&d, &op), names[i], "is empty");
    }
    d = sum_of_squares;
    d.finish = "";
    REFUSE(d, "finish", "is empty");
    d.finish = NULL;
    d.empty = " ";
    REFUSE(d, "empty", "is empty");
    assert_null(op);
}

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
    seen_count = 0;
    for (size_t i = 0; i < TALLY_ARRAY_LENGTH(bad); i++) {
        d.load = bad[i].text;
        REFUSE(d, "op squares", "load", bad[i].word);
    }
    /* In any part; of a field it is said of which. */
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

/* `count` times `repeated`, between what begins and ends the text; NULL-terminated, to be freed. */
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

/* 8,192 characters an expression, 16,384 an operator. */
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
    char *half = repeat("x", "+x", 4094, ""); /* 8189: with the identities and combines 16,384 are reached */
    tally_op_field fields[2] = {{"s", 0, "0", half, "a"}, {"w", 0, "0", half, "b"}};
    tally_op_desc d = mean_by_fields;
    d.fields = fields;
    for (size_t length = 1; length < 4; length++) {
        tally_custom_op *op = NULL;
        d.finish = "n+n" + 3 - length;
        expect_length(2 * 8189 + 4 + length, 16384, tally_op_create(&d, &op));
        tally_op_destroy(op);
    }
    free(half);
}

/* Each construct that nests a parser is taken 200 deep, not deeper. No chain is refused. */
static void test_nesting(void **unused) {
    (void)unused;
    static const struct {
        const char *open, *close; /* once for each level, around an x */
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

/* What cannot be printed is escaped, wherever a text of the user's is shown. */
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

static void test_refused_names_and_types(void **unused) {
    (void)unused;
    tally_op_desc d;
    tally_op_field fields[TALLY_MAX_FIELDS + 1];
    tally_op_param params[TALLY_MAX_PARAMS + 1];
    static char names[TALLY_MAX_FIELDS + 1][16];
    seen_count = 0;
    for (int i = 0; i <= TALLY_MAX_FIELDS; i++) {
        snprintf(names[i], sizeof names[i], "f%d", i);
        fields[i] = (tally_op_field){names[i], 0, "0", "x", "0"};
        params[i] = (tally_op_param){names[i], 0, 1};
    }
    static const char *const bad[] = {"1st", "a b", "a.b", "a-b", "f(", "\xc3\xa9"};
    for (size_t i = 0; i < TALLY_ARRAY_LENGTH(bad); i++) {
        fields[1].name = bad[i];
        d = mean_by_fields;
        d.fields = fields;
        REFUSE(d, "field 1", bad[i], "is no name");
        params[2].name = bad[i];
        d = sum_of_squares;
        d.params = params;
        d.param_count = 3;
        REFUSE(d, "parameter 2", bad[i], "is no name");
    }
    /* Names that are words of the languages, or of ours: nothing but capitals. */
    static const char *const taken[] = {
        "int",           "class",     "kernel",          "half",       "f32",          "u64",           "V",
        "ONE",           "R_2",       "__global",        "__x",        "a__b",         "_Bool",         "_Thread_local",
        "_Xx",           "read_only", "write_only",      "read_write", "thread_local", "static_assert", "const_cast",
        "and_eq",        "not_eq",    "char16_t",        "co_await",   "concept",      "requires",      "consteval",
        "typeof_unqual", "image2d_t", "image1d_array_t", "sampler_t",  "event_t",      "uintptr_t",     "vec_step",
        "float4",        "half16",    "ulong2",          "uchar3",     "longlong2"};
    for (size_t i = 0; i < TALLY_ARRAY_LENGTH(taken); i++) {
        fields[1].name = taken[i];
        d = mean_by_fields;
        d.fields = fields;
        REFUSE(d, "field 1", taken[i], "means something else");
        params[2].name = taken[i];
        d = sum_of_squares;
        d.params = params;
        d.param_count = 3;
        REFUSE(d, "parameter 2", taken[i], "means something else");
    }
    static const char *const free_names[] = {"x",   "_x",    "int5", "new1", "local0", "image2d", "float5",
                                             "a_b", "int_t", "min",  "Max",  "value",  "in",      "w16"};
    tally_custom_op *op = NULL;
    for (size_t i = 0; i < TALLY_ARRAY_LENGTH(free_names); i++) {
        fields[1].name = params[2].name = free_names[i];
        d = mean_by_fields;
        d.fields = fields;
        d.params = params;
        d.param_count = 3;
        d.finish = "0";
        MUST(tally_op_create(&d, &op));
        tally_op_destroy(op);
        op = NULL;
    }
    char long_name[80];
    memset(long_name, 'n', sizeof long_name - 1);
    long_name[sizeof long_name - 1] = 0;
    static const char *const empty[] = {NULL, ""};
    const char *const more[] = {empty[0], empty[1], long_name};
    for (size_t i = 0; i < 3; i++) {
        fields[1].name = params[2].name = more[i];
        d = mean_by_fields;
        d.fields = fields;
        BAD(tally_op_create(&d, &op), "field 1", "is no name");
        d = sum_of_squares;
        d.params = params;
        d.param_count = 3;
        BAD(tally_op_create(&d, &op), "parameter 2", "is no name");
    }
    fields[1].name = names[0];
    params[2].name = names[0];
    REFUSE(d, "parameter f0", "is there twice");
    d = mean_by_fields;
    d.fields = fields;
    REFUSE(d, "field f0", "is there twice");
    fields[1].name = names[1];
    params[2].name = names[2];

    static const tally_dtype no_type[] = {TALLY_F16, TALLY_BOOL, TALLY_I8, TALLY_C64, (tally_dtype)77};
    for (size_t i = 0; i < TALLY_ARRAY_LENGTH(no_type); i++) {
        const char *name = tally_dtype_name(no_type[i]) ? tally_dtype_name(no_type[i]) : "no dtype";
        fields[1].type = no_type[i];
        REFUSE(d, "field f1", "f32, f64, i32, u32, i64 or u64", name);
        tally_op_desc p = sum_of_squares;
        params[2].type = no_type[i];
        p.params = params;
        p.param_count = 3;
        REFUSE(p, "parameter f2", "f32, f64, i32, u32, i64 or u64", name);
        p = sum_of_squares;
        p.acc = no_type[i];
        REFUSE(p, "the accumulator", "f32, f64, i32, u32, i64 or u64", name);
    }
    fields[1].type = params[2].type = 0;
    d.field_count = TALLY_MAX_FIELDS + 1;
    REFUSE(d, "field_count is 17", "16");
    d.field_count = TALLY_MAX_FIELDS;
    d.finish = "a.f0";
    MUST(tally_op_create(&d, &op));
    tally_op_destroy(op);
    op = NULL;
    d.finish = NULL;
    REFUSE(d, "finish", "is missing"); /* which field would it be? */
    d.fields = NULL;
    REFUSE(d, "fields is NULL");
    d = sum_of_squares;
    d.params = params;
    d.param_count = TALLY_MAX_PARAMS + 1;
    REFUSE(d, "param_count is 17", "16");
    d.params = NULL;
    d.param_count = 1;
    REFUSE(d, "params is NULL");
    d = sum_of_squares;
    d.inputs = TALLY_MAX_INPUTS + 1;
    REFUSE(d, "5 inputs", "4");
    d.inputs = UINT32_MAX;
    REFUSE(d, "4294967295 inputs");
    d = sum_of_squares;
    d.out = TALLY_C64;
    REFUSE(d, "out is c64", "real values");
    d.out = (tally_dtype)77;
    REFUSE(d, "out is 77", "no such dtype");
    d = mean_by_fields;
    d.load = "x";
    REFUSE(d, "op mean", "are the fields' own");
    d.load = NULL;
    d.identity = "0";
    BAD(tally_op_create(&d, &op), "are the fields' own");
    d = sum_of_squares;
    static const char *const bad_ops[] = {"a\nb", "a\"b", "a\\b", "\xc3\xa9"};
    for (size_t i = 0; i < TALLY_ARRAY_LENGTH(bad_ops); i++) {
        d.name = bad_ops[i];
        BAD(tally_op_create(&d, &op), "a name of up to 64");
    }
    d.name = long_name;
    BAD(tally_op_create(&d, &op), "a name of up to 64");
    assert_null(op);
}

static void test_garbage(void **unused) {
    (void)unused;
    static uint64_t garbage[256];
    tally_op_destroy(NULL);
    tally_op_destroy((tally_custom_op *)(void *)garbage);
    for (size_t i = 0; i < TALLY_ARRAY_LENGTH(garbage); i++) assert_int_equal(garbage[i], 0);
    /* An application built when the descriptor ended after `combine`. */
    tally_op_desc old;
    tally_custom_op *op;
    memset(&old, 0x5a, sizeof old);
    old.size = offsetof(tally_op_desc, fields);
    old.name = NULL;
    old.inputs = 0;
    old.acc = 0;
    old.identity = "0";
    old.load = "x";
    old.combine = "a + b";
    MUST(tally_op_create(&old, &op));
    tally_op_destroy(op);
}

/* ---- computed --------------------------------------------------------------------------------------------------------- */

/* Small whole numbers: every order of combination gives the same sums. */
static float x_items[ITEMS], y_items[ITEMS], z_items[ITEMS], w_items[ITEMS];

static void make_items(void) {
    for (uint32_t i = 0; i < ITEMS; i++) {
        x_items[i] = (float)((int)(i * 2654435761u >> 20 & 15) - 7);
        y_items[i] = (float)(i * 2246822519u >> 21 & 7);
        z_items[i] = (float)(i % 5);
        w_items[i] = (float)(i % 3) - 1;
    }
    x_items[400000] = -99;
    x_items[450000] = 99;
}

/* One custom op, compiled, run as a plan and as a feed; the result's bytes. */
static void reduce_custom(const char *select, const tally_op_desc *desc, tally_dtype in, const void *const *items, uint64_t n,
                          void *result, size_t bytes) {
    tally_context *context;
    tally_custom_op *op;
    tally_plan *plan;
    tally_queue *queue;
    tally_buffer *buffers[TALLY_MAX_INPUTS] = {NULL}, *out;
    unsigned char fed[16], hosted[16];
    const uint32_t inputs = desc->inputs ? desc->inputs : 1;
    make_items();
    MUST(tally_context_create(select, &context));
    MUST(tally_op_create(desc, &op));
    const tally_reduce_desc what = {.size = sizeof what, .in = in, .custom = op, .max_n = ITEMS};
    MUST(tally_plan_create(context, &what, &plan));
    assert_int_equal(tally_plan_result_bytes(plan), bytes);
    MUST(tally_queue_create(context, &queue));
    MUST(tally_buffer_create(context, 3 * bytes, &out));
    for (uint32_t k = 0; k < inputs; k++) {
        MUST(tally_buffer_create(context, n * tally_dtype_bytes(in), &buffers[k]));
        MUST(tally_buffer_write(queue, buffers[k], 0, items[k], n * tally_dtype_bytes(in)));
    }
    MUST(tally_reduce_inputs(plan, queue, (const tally_buffer *const *)buffers, NULL, n, out, 2));
    MUST(tally_buffer_read(queue, out, 2 * bytes, result, bytes));
    MUST(tally_queue_wait(queue));
    MUST(tally_reduce_host_inputs(context, &what, items, n, hosted));
    assert_memory_equal(hosted, result, bytes);
    tally_feed *feed;
    MUST(tally_feed_create(context, &what, &feed));
    const uint64_t half = n / 3;
    const void *rest[TALLY_MAX_INPUTS];
    for (uint32_t k = 0; k < inputs; k++) rest[k] = (const char *)items[k] + half * tally_dtype_bytes(in);
    tally_op_destroy(op); /* the plan and the feed keep it */
    MUST(tally_feed_push_inputs(feed, items, half));
    MUST(tally_feed_finish_inputs(feed, rest, n - half, fed));
    assert_memory_equal(fed, result, bytes);
    MUST(tally_reduce_inputs(plan, queue, (const tally_buffer *const *)buffers, NULL, n, out, 0));
    MUST(tally_buffer_read(queue, out, 0, fed, bytes));
    MUST(tally_queue_wait(queue));
    assert_memory_equal(fed, result, bytes);
    tally_feed_destroy(feed);
    tally_plan_destroy(plan);
    tally_queue_destroy(queue);
    tally_buffer_destroy(out);
    for (uint32_t k = 0; k < inputs; k++) tally_buffer_destroy(buffers[k]);
    tally_context_destroy(context);
    SOUND();
}

static const char *const selects[] = {"stub:alpha", "stub:beta"};

static void test_sum_above(void **unused) {
    (void)unused;
    static const tally_op_param above[] = {{"least", TALLY_F32, 2}};
    tally_op_desc d = sum_of_squares;
    d.load = "x > p.least ? x * x : 0";
    d.params = above;
    d.param_count = 1;
    for (size_t s = 0; s < 2; s++) {
        float result, expected = 0;
        reduce_custom(selects[s], &d, TALLY_F32, (const void *[]){x_items}, ITEMS, &result, sizeof result);
        for (uint32_t i = 0; i < ITEMS; i++) expected += x_items[i] > 2 ? x_items[i] * x_items[i] : 0;
        assert_true(result == expected);
    }
}

static void test_weighted_mean(void **unused) {
    (void)unused;
    static const tally_op_field fields[] = {{"s", TALLY_F64, "0", "(f64)x * y", "a.s + b.s"},
                                            {"w", TALLY_F64, "0", "y", "a.w + b.w"}};
    tally_op_desc d = mean_by_fields;
    d.inputs = 2;
    d.fields = fields;
    d.finish = "a.s / a.w";
    d.out = TALLY_F64;
    for (size_t s = 0; s < 2; s++) {
        double result, sum = 0, weight = 0;
        reduce_custom(selects[s], &d, TALLY_F32, (const void *[]){x_items, y_items}, ITEMS, &result, sizeof result);
        for (uint32_t i = 0; i < ITEMS; i++) sum += (double)x_items[i] * y_items[i], weight += y_items[i];
        assert_true(result == sum / weight);
    }
}

/* The index is that in the whole input, also in a feed. */
static void test_argmax_of_magnitude(void **unused) {
    (void)unused;
    static const tally_op_field fields[] = {
        {"v", TALLY_F32, "-1", "fabs(x)", "b.v > a.v ? b.v : a.v"},
        {"at", TALLY_U64, "~(u64)0", "i", "b.v > a.v ? b.at : a.v > b.v ? a.at : a.at < b.at ? a.at : b.at"}};
    const tally_op_desc d = {
        .size = sizeof d, .name = "argmax_abs", .fields = fields, .field_count = 2, .finish = "a.at", .out = TALLY_U64};
    for (size_t s = 0; s < 2; s++) {
        uint64_t result;
        reduce_custom(selects[s], &d, TALLY_F32, (const void *[]){x_items}, ITEMS, &result, sizeof result);
        assert_int_equal(result, 400000);
    }
}

/* Four inputs; n and p in finish; an integer accumulator; a result of another type. */
static void test_four_inputs(void **unused) {
    (void)unused;
    static const tally_op_param p[] = {{"shift", TALLY_I32, 3}, {"scale", TALLY_F64, 0.5}};
    const tally_op_desc d = {.size = sizeof d,
                             .inputs = 4,
                             .acc = TALLY_I64,
                             .identity = "0",
                             .load = "(i64)(x * y + z * w) + p.shift",
                             .combine = "a + b",
                             .finish = "(f32)(a * p.scale) + (f32)n",
                             .out = TALLY_F32,
                             .params = p,
                             .param_count = 2,
                             .exact = 1};
    for (size_t s = 0; s < 2; s++) {
        float result;
        int64_t sum = 0;
        reduce_custom(selects[s], &d, TALLY_F32, (const void *[]){x_items, y_items, z_items, w_items}, ITEMS, &result,
                      sizeof result);
        for (uint32_t i = 0; i < ITEMS; i++) sum += (int64_t)(x_items[i] * y_items[i] + z_items[i] * w_items[i]) + 3;
        assert_true(result == (float)((double)sum * 0.5) + (float)ITEMS);
    }
}

/* Complex items have parts; small types are loaded as their wider ones; a result may be stored as any real type. */
static void test_types_of_items(void **unused) {
    (void)unused;
    const tally_op_desc parts = {.size = sizeof parts, .identity = "0", .load = "x.re - x.im", .combine = "a + b"};
    float sum, expected = 0;
    make_items();
    for (uint32_t i = 0; i + 1 < ITEMS; i += 2) expected += x_items[i] - x_items[i + 1];
    reduce_custom("stub:alpha", &parts, TALLY_C64, (const void *[]){x_items}, ITEMS / 2, &sum, sizeof sum);
    assert_true(sum == expected);

    static int8_t small[ITEMS];
    int64_t wide, wide_expected = 0;
    for (uint32_t i = 0; i < ITEMS; i++) small[i] = (int8_t)(i * 7), wide_expected += small[i] * small[i];
    reduce_custom("stub:alpha", &(tally_op_desc){.size = sizeof parts, .identity = "0", .load = "x * x", .combine = "a + b"},
                  TALLY_I8, (const void *[]){small}, ITEMS, &wide, sizeof wide);
    assert_int_equal(wide, wide_expected);

    uint8_t flag = 9;
    reduce_custom(
        "stub:beta",
        &(tally_op_desc){
            .size = sizeof parts, .identity = "0", .load = "x > 90", .combine = "a + b", .finish = "a == 1", .out = TALLY_BOOL},
        TALLY_F32, (const void *[]){x_items}, ITEMS, &flag, sizeof flag);
    assert_int_equal(flag, 1);
    uint16_t half = 0;
    reduce_custom("stub:beta",
                  &(tally_op_desc){.size = sizeof parts,
                                   .identity = "0",
                                   .load = "x > 90",
                                   .combine = "a + b",
                                   .finish = "a + 0.5f",
                                   .out = TALLY_F16},
                  TALLY_F32, (const void *[]){x_items}, ITEMS, &half, sizeof half);
    assert_int_equal(half, 0x3e00); /* 1.5 */
}

/* No items: `empty`, or the finish of the identity. */
static void test_empty(void **unused) {
    (void)unused;
    float result;
    tally_op_desc d = sum_of_squares;
    d.identity = "5";
    d.combine = "a > b ? a : b";
    d.finish = "a + n";
    reduce_custom("stub:alpha", &d, TALLY_F32, (const void *[]){x_items}, 0, &result, sizeof result);
    assert_true(result == 5);
    d.empty = "a - 7";
    reduce_custom("stub:beta", &d, TALLY_F32, (const void *[]){x_items}, 0, &result, sizeof result);
    assert_true(result == -2);
}

/* Parameters are set for the calls that follow; what is enqueued keeps the old ones; nothing is compiled. */
static void test_set_param(void **unused) {
    (void)unused;
    static const tally_op_param p[] = {{"scale", TALLY_F32, 2}, {"base", TALLY_I64, 100}};
    tally_op_desc d = sum_of_squares;
    d.load = "x * p.scale";
    d.finish = "a + p.base";
    d.params = p;
    d.param_count = 2;
    make_items();
    float sum = 0, results[3];
    for (uint32_t i = 0; i < ITEMS; i++) sum += x_items[i];
    tally_context *context;
    tally_context_info before, after;
    tally_custom_op *op;
    tally_plan *plan;
    tally_queue *queue;
    tally_buffer *in, *out;
    MUST(tally_context_create("stub:alpha", &context));
    MUST(tally_op_create(&d, &op));
    MUST(tally_plan_create(context, &(tally_reduce_desc){.size = sizeof(tally_reduce_desc), .in = TALLY_F32, .custom = op},
                           &plan));
    tally_op_destroy(op);
    MUST(tally_queue_create(context, &queue));
    MUST(tally_buffer_create(context, sizeof x_items, &in));
    MUST(tally_buffer_create(context, sizeof results, &out));
    MUST(tally_buffer_write(queue, in, 0, x_items, sizeof x_items));
    MUST(tally_context_get_info(context, &before));
    MUST(tally_reduce_at(plan, queue, in, 0, ITEMS, out, 0));
    MUST(tally_plan_set_param(plan, "scale", -3));
    MUST(tally_reduce_at(plan, queue, in, 0, ITEMS, out, 1));
    MUST(tally_plan_set_param(plan, "base", 0x1p20));
    MUST(tally_reduce_at(plan, queue, in, 0, ITEMS, out, 2));
    MUST(tally_buffer_read(queue, out, 0, results, sizeof results));
    MUST(tally_queue_wait(queue));
    assert_true(results[0] == 2 * sum + 100 && results[1] == -3 * sum + 100 && results[2] == -3 * sum + 0x1p20f);
    MUST(tally_context_get_info(context, &after));
    assert_int_equal(after.programs_built, before.programs_built);
    BAD(tally_plan_set_param(plan, "scales", 1), "tally_plan_set_param", "'scales'", "there are scale, base");
    BAD(tally_plan_set_param(plan, "", 1), "there are scale, base");
    BAD(tally_plan_set_param(plan, NULL, 1), "tally_plan_set_param", "name");
    BAD(tally_plan_set_param(NULL, "scale", 1), "tally_plan_set_param", "plan");
    BAD(tally_plan_set_param((tally_plan *)(void *)queue, "scale", 1), "tally_plan_set_param", "plan");
    tally_plan_destroy(plan);
    MUST(tally_plan_create(context, &side_desc, &plan));
    BAD(tally_plan_set_param(plan, "scale", 1), "'scale'", "there is none");
    tally_plan_destroy(plan);
    tally_buffer_destroy(in);
    tally_buffer_destroy(out);
    tally_queue_destroy(queue);
    tally_context_destroy(context);
    SOUND();
}

/* What is an expression to tally_op_create and none to the compiler: its message is about the user's text, under its part's name. */
static void test_wrong_expressions(void **unused) {
    (void)unused;
    tally_op_field fields[2] = {two_fields[0], two_fields[1]};
    fields[1].combine = "a.w + b.nothing";
    tally_op_desc of_field = mean_by_fields;
    of_field.fields = fields;
    tally_op_desc descs[5] = {sum_of_squares, sum_of_squares, sum_of_squares, sum_of_squares, of_field};
    static const char *const words[][2] = {{"load of op squares", "unknown_name"},
                                           {"combine of op squares", "b"},
                                           {"finish of op squares", "nothing"},
                                           {"identity of op squares", "elsewhere"},
                                           {"combine of field w of op mean", "nothing"}};
    descs[0].load = "x + unknown_name";
    descs[1].combine = "a + + * b";
    descs[2].finish = "a.nothing";
    descs[3].identity = "elsewhere";
    tally_context *context;
    MUST(tally_context_create("stub:alpha", &context));
    for (size_t i = 0; i < TALLY_ARRAY_LENGTH(descs); i++) {
        tally_custom_op *op;
        tally_plan *plan = NULL;
        MUST(tally_op_create(&descs[i], &op));
        const tally_reduce_desc what = {.size = sizeof what, .in = TALLY_F32, .custom = op};
        REFUSED(tally_plan_create(context, &what, &plan), TALLY_E_BUILD, words[i][0], words[i][1]);
        assert_null(plan);
        tally_op_destroy(op);
    }
    tally_context_destroy(context);
    SOUND();
}

/* Two ops that differ in nothing but parameters' values are one program; others are not. */
static void test_programs(void **unused) {
    (void)unused;
    tally_op_param p[] = {{"k", 0, 1}};
    tally_op_desc d = sum_of_squares;
    d.load = "x * p.k";
    d.params = p;
    d.param_count = 1;
    tally_context *context;
    MUST(tally_context_create("stub:alpha", &context));
    static const uint64_t built[] = {1, 1, 2};
    for (int i = 0; i < 3; i++) {
        tally_custom_op *op;
        tally_plan *plan;
        tally_context_info info;
        p[0].value = i;
        if (i == 2) d.load = "x / p.k";
        MUST(tally_op_create(&d, &op));
        const tally_reduce_desc what = {.size = sizeof what, .in = TALLY_F32, .custom = op};
        MUST(tally_plan_create(context, &what, &plan));
        MUST(tally_context_get_info(context, &info));
        assert_int_equal(info.programs_built, built[i]);
        tally_op_destroy(op);
        tally_plan_destroy(plan);
    }
    tally_context_destroy(context);
    SOUND();
}

const core_test custom_tests[] = {
    {"custom: parts refused", test_refused_parts},
    {"custom: expressions refused", test_refused_expressions},
    {"custom: length", test_length},
    {"custom: nesting", test_nesting},
    {"custom: control characters", test_control_characters},
    {"custom: names and types refused", test_refused_names_and_types},
    {"custom: garbage and old descriptors", test_garbage},
    {"custom: squares above a threshold", test_sum_above},
    {"custom: weighted mean", test_weighted_mean},
    {"custom: argmax of magnitudes", test_argmax_of_magnitude},
    {"custom: four inputs", test_four_inputs},
    {"custom: types of items", test_types_of_items},
    {"custom: no items", test_empty},
    {"custom: parameters", test_set_param},
    {"custom: wrong expressions", test_wrong_expressions},
    {"custom: programs", test_programs},
    {NULL, NULL},
};
