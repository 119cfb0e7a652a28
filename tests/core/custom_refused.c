/* SPDX-License-Identifier: MIT */
/* Descriptors of custom ops that tally_op_create refuses: parts, names, types, results,
 * temporaries. */
#include <stdio.h>
#include <string.h>

#include "custom.h"

/* Each reason has a text of its own. */
static char seen[256][256];
static size_t seen_count;

void custom_refuse_begin(void) {
    seen_count = 0;
}

void custom_refuse(tally_op_desc desc, int line, const char *const *words) {
    tally_custom_op *op = NULL;
    refused(tally_op_create(&desc, &op), TALLY_E_ARGUMENT, "tally_op_create", __FILE__, line, words);
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
    custom_refuse_begin();
    BAD(tally_op_create(NULL, &op), "tally_op_create", "desc");
    BAD(tally_op_create(&d, NULL), "tally_op_create", "out");
    d.size = 0;
    REFUSE(d, "tally_op_create", "desc.size is 0");
    d.size = sizeof d + 1;
    REFUSE(d, "tally_op_create", "desc.size");
    /* Missing and empty texts. */
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

/* ---- the arrays of a descriptor -------------------------------------------------------------- */

enum { FIELDS, PARAMS, RESULTS, LETS, KINDS };

static const struct {
    const char *kind, *member;
    uint32_t most;
} kinds[KINDS] = {{"field", "field", TALLY_MAX_FIELDS},
                  {"parameter", "param", TALLY_MAX_PARAMS},
                  {"result", "result", TALLY_MAX_RESULTS},
                  {"temporary", "let", TALLY_MAX_LETS}};

/* An array of each kind, one element longer than the limit. */
typedef struct arrays {
    tally_op_field fields[TALLY_MAX_FIELDS + 1];
    tally_op_param params[TALLY_MAX_PARAMS + 1];
    tally_op_result results[TALLY_MAX_RESULTS + 1];
    tally_op_let lets[TALLY_MAX_LETS + 1];
    char names[TALLY_MAX_LETS + 1][16];
} arrays;

static void fill(arrays *all) {
    for (int i = 0; i <= TALLY_MAX_LETS; i++) {
        snprintf(all->names[i], sizeof all->names[i], "m%d", i);
        if (i <= TALLY_MAX_FIELDS) all->fields[i] = (tally_op_field){all->names[i], 0, "0", "x", "0"};
        if (i <= TALLY_MAX_PARAMS) all->params[i] = (tally_op_param){all->names[i], 0, 1};
        if (i <= TALLY_MAX_RESULTS) all->results[i] = (tally_op_result){all->names[i], 0, "0", NULL};
        all->lets[i] = (tally_op_let){all->names[i], TALLY_PART_COMBINE, 0, "a"};
    }
}

/* Returns the place of element i's name. */
static const char **name_of(arrays *all, int kind, uint32_t i) {
    return kind == FIELDS    ? &all->fields[i].name
           : kind == PARAMS  ? &all->params[i].name
           : kind == RESULTS ? &all->results[i].name
                             : &all->lets[i].name;
}

/* An operator with `count` elements of one kind. */
static tally_op_desc op_with(const arrays *all, int kind, uint32_t count) {
    tally_op_desc d = kind == FIELDS ? mean_by_fields : sum_of_squares;
    d.name = "mine";
    if (kind == FIELDS) d.fields = all->fields, d.field_count = count, d.finish = "0";
    if (kind == PARAMS) d.params = all->params, d.param_count = count;
    if (kind == RESULTS) d.results = all->results, d.result_count = count;
    if (kind == LETS) d.lets = all->lets, d.let_count = count;
    return d;
}

static void accept(const tally_op_desc *desc) {
    tally_custom_op *op = NULL;
    MUST(tally_op_create(desc, &op));
    tally_op_destroy(op);
}

static void refuse_name(arrays *all, int kind, const char *name, const char *word) {
    char element[32];
    const char **at = name_of(all, kind, 1), *before = *at;
    snprintf(element, sizeof element, "%s 1:", kinds[kind].kind);
    *at = name;
    REFUSE(op_with(all, kind, 2), "op mine", element, name ? name : "", word);
    *at = before;
}

/* Reserved names: words of the languages, and ours, which are all capitals. */
static const char *const taken[] = {
    "int",           "class",     "kernel",          "half",       "f32",          "u64",           "V",
    "ONE",           "R_2",       "__global",        "__x",        "a__b",         "_Bool",         "_Thread_local",
    "_Xx",           "read_only", "write_only",      "read_write", "thread_local", "static_assert", "const_cast",
    "and_eq",        "not_eq",    "char16_t",        "co_await",   "concept",      "requires",      "consteval",
    "typeof_unqual", "image2d_t", "image1d_array_t", "sampler_t",  "event_t",      "uintptr_t",     "vec_step",
    "float4",        "half16",    "ulong2",          "uchar3",     "longlong2",    "constant",      "cl_khr_fp64"};

static void test_refused_names(void **unused) {
    (void)unused;
    static arrays all;
    static const char *const bad[] = {"1st", "a b", "a.b", "a-b", "f("};
    static const char *const free_names[] = {"_x",  "int5",  "new1", "local0", "image2d", "float5", "a_b",   "int_t", "min",
                                             "Max", "value", "in",   "w16",    "r",       "v",      "index", "cl"};
    char long_name[80];
    memset(long_name, 'n', sizeof long_name - 1);
    long_name[sizeof long_name - 1] = 0;
    fill(&all);
    for (int kind = 0; kind < KINDS; kind++) {
        custom_refuse_begin();
        for (size_t i = 0; i < TALLY_ARRAY_LENGTH(bad); i++) refuse_name(&all, kind, bad[i], "is no name");
        custom_refuse_begin();
        refuse_name(&all, kind, NULL, "'' is no name");
        long_name[64] = 0; /* 64 characters: one too many */
        *name_of(&all, kind, 1) = long_name;
        REFUSE(op_with(&all, kind, 2), "is no name");
        long_name[63] = 0;
        const tally_op_desc d = op_with(&all, kind, 2);
        accept(&d);
        for (size_t i = 0; i < TALLY_ARRAY_LENGTH(taken); i++) refuse_name(&all, kind, taken[i], "means something else");
        for (size_t i = 0; i < TALLY_ARRAY_LENGTH(free_names); i++) {
            *name_of(&all, kind, 1) = free_names[i];
            accept(&d);
        }
        *name_of(&all, kind, 1) = all.names[1];
        long_name[63] = 'n';
    }
}

static void test_refused_counts(void **unused) {
    (void)unused;
    static arrays all;
    fill(&all);
    custom_refuse_begin();
    for (int kind = 0; kind < KINDS; kind++) {
        char words[2][32];
        const uint32_t most = kinds[kind].most;
        tally_op_desc d = op_with(&all, kind, most);
        accept(&d);
        snprintf(words[0], sizeof words[0], "%s_count is %u", kinds[kind].member, most + 1);
        snprintf(words[1], sizeof words[1], "at most %u", most);
        d = op_with(&all, kind, most + 1);
        REFUSE(d, words[0], words[1]);
        d.fields = NULL, d.params = NULL, d.results = NULL, d.lets = NULL;
        snprintf(words[0], sizeof words[0], "op mine: %ss is NULL", kinds[kind].member);
        REFUSE(d, words[0]);
        *name_of(&all, kind, 2) = all.names[0];
        d = op_with(&all, kind, 3);
        REFUSE(d, kinds[kind].kind, " m0 ", kind == LETS ? "the name is that of a temporary before it" : "is there twice");
        *name_of(&all, kind, 2) = all.names[2];
    }
}

static void test_refused_types(void **unused) {
    (void)unused;
    static arrays all;
    static const tally_dtype no_type[] = {TALLY_F16, TALLY_BOOL, TALLY_I8, TALLY_C64, (tally_dtype)77};
    static const char words[] = "f32, f64, i32, u32, i64 or u64";
    custom_refuse_begin();
    for (size_t i = 0; i < TALLY_ARRAY_LENGTH(no_type); i++) {
        const char *name = tally_dtype_name(no_type[i]) ? tally_dtype_name(no_type[i]) : "no dtype";
        fill(&all);
        all.fields[1].type = all.params[1].type = all.lets[1].type = no_type[i];
        REFUSE(op_with(&all, FIELDS, 2), "field m1", words, name);
        REFUSE(op_with(&all, PARAMS, 2), "parameter m1", words, name);
        REFUSE(op_with(&all, LETS, 2), "temporary m1", words, name);
        tally_op_desc d = sum_of_squares;
        d.acc = no_type[i];
        REFUSE(d, "the accumulator", words, name);
    }
    static const tally_dtype no_result[] = {TALLY_C64, TALLY_C128, (tally_dtype)77};
    for (size_t i = 0; i < TALLY_ARRAY_LENGTH(no_result); i++) {
        const char *word = i < 2 ? "real values" : "77: no such dtype";
        tally_op_desc d = sum_of_squares;
        d.out = no_result[i];
        REFUSE(d, "op squares: out is", word);
        all.results[1].type = no_result[i];
        REFUSE(op_with(&all, RESULTS, 2), "op mine: the type of result m1 is", word);
    }
    all.results[1].type = TALLY_BF16;
    const tally_op_desc small = op_with(&all, RESULTS, 2);
    accept(&small);
}

/* A descriptor has one way to give its accumulator, and one to give its result. */
static void test_refused_forms(void **unused) {
    (void)unused;
    static arrays all;
    fill(&all);
    custom_refuse_begin();
    tally_op_desc d = mean_by_fields;
    d.finish = NULL;
    REFUSE(d, "finish", "is missing"); /* it is open which field is the result */
    d = mean_by_fields;
    d.load = "x";
    REFUSE(d, "op mean", "are the fields' own");
    for (int i = 0; i < 3; i++) {
        d = op_with(&all, RESULTS, 2);
        d.name = (const char *const[]){"A", "B", "C"}[i];
        if (i == 0) d.finish = "a";
        if (i == 1) d.empty = "a";
        if (i == 2) d.out = TALLY_F32;
        REFUSE(d, "finish, empty and out are the results' own");
    }
    all.results[1].finish = NULL;
    REFUSE(op_with(&all, RESULTS, 2), "finish of result m1", "is missing");
    all.results[1].finish = "a; b";
    REFUSE(op_with(&all, RESULTS, 2), "finish of result m1: 'a; b'", "';'");
    all.results[1].finish = "a";
    all.results[1].empty = "";
    REFUSE(op_with(&all, RESULTS, 2), "empty of result m1", "is empty");
    d = sum_of_squares;
    d.inputs = TALLY_MAX_INPUTS + 1;
    REFUSE(d, "5 inputs", "4");
    d.inputs = UINT32_MAX;
    REFUSE(d, "4294967295 inputs");
}

static void test_refused_lets(void **unused) {
    (void)unused;
    static const char *const given[] = {"a", "b", "x", "y", "z", "w", "i", "n", "p"};
    tally_op_let lets[2] = {{"t", TALLY_PART_COMBINE, 0, "a.s"}, {"u", TALLY_PART_COMBINE, 0, "t + b.s"}};
    tally_op_desc d = mean_by_fields;
    tally_custom_op *op = NULL;
    d.lets = lets;
    d.let_count = 2;
    custom_refuse_begin();
    for (size_t k = 0; k < TALLY_ARRAY_LENGTH(given); k++) {
        lets[1].name = given[k];
        REFUSE(d, "temporary", given[k], "of combine: the name is that of what the expressions are given");
    }
    lets[1].name = "w";
    BAD(tally_op_create(&d, &op), "temporary w of combine", "given"); /* a field has the name too */
    lets[1].name = "s";
    REFUSE(d, "temporary s of combine", "the name is that of a field");
    /* The same name in two parts is two temporaries. */
    lets[1].name = "t";
    REFUSE(d, "temporary t of combine", "a temporary before it");
    lets[1] = (tally_op_let){"t", TALLY_PART_LOAD, 0, "x"};
    accept(&d);
    static const int parts[] = {TALLY_PART_NONE, TALLY_PART_END, -1};
    for (size_t k = 0; k < TALLY_ARRAY_LENGTH(parts); k++) {
        lets[1].part = (tally_op_part)parts[k];
        REFUSE(d, "temporary t: part is", "no such part");
    }
    lets[1].part = TALLY_PART_FINISH;
    static const char *const bad[][2] = {{NULL, "is missing"}, {" ", "is empty"}, {"a; b", "';'"}, {"(a", "')' is missing"}};
    for (size_t k = 0; k < TALLY_ARRAY_LENGTH(bad); k++) {
        lets[1].value = bad[k][0];
        REFUSE(d, "op mean: temporary t of finish", bad[k][1]);
    }
}

static void test_refused_op_names(void **unused) {
    (void)unused;
    static const char *const bad[] = {"a\nb", "a\"b", "a\\b", "\xc3\xa9",
                                      "nnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnn"};
    tally_op_desc d = sum_of_squares;
    tally_custom_op *op = NULL;
    for (size_t i = 0; i < TALLY_ARRAY_LENGTH(bad); i++) {
        d.name = bad[i];
        BAD(tally_op_create(&d, &op), "a name of up to 64");
    }
    d.name = bad[4] + 1;
    accept(&d);
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

const core_test custom_refused_tests[] = {
    {"custom: parts refused", test_refused_parts},
    {"custom: names refused", test_refused_names},
    {"custom: counts refused", test_refused_counts},
    {"custom: types refused", test_refused_types},
    {"custom: forms refused", test_refused_forms},
    {"custom: temporaries refused", test_refused_lets},
    {"custom: names of operators refused", test_refused_op_names},
    {"custom: garbage and old descriptors", test_garbage},
    {NULL, NULL},
};
