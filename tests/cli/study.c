/* SPDX-License-Identifier: MIT */
/* `tally study`: its table, JSON, CSV and plot, and refusals. The figures themselves depend on the
 * machine. */
#include "study.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <tally/tally.h>

char *study_text(const char *words, int code, result *r) {
    *r = run(&(setup){.out = "study.out"}, words);
    if (r->code != code) fail_msg("%s: exit code %d, not %d: %s", words, r->code, code, r->err);
    char path[512];
    snprintf(path, sizeof(path), "%s/study.out", folder_path());
    FILE *f = fopen(path, "rb");
    assert_non_null(f);
    char *text = NULL;
    size_t bytes = 0;
    assert_true(getdelim(&text, &bytes, 0, f) > 0);
    fclose(f);
    return text;
}

json_object *study_json(const char *words) {
    result r;
    char *text = study_text(words, 0, &r);
    assert_string_equal(r.err, "");
    assert_int_equal(count_lines(text), 1);
    json_object *o = json_tokener_parse(text);
    assert_non_null(o);
    free(text);
    return o;
}

static const char *study_name(json_object *row) {
    json_object *name = NULL;
    return json_object_object_get_ex(row, "map", &name) ? json_object_get_string(name) : text_member(row, "variant");
}

unsigned study_rows_of(json_object *rows, const char *row) {
    unsigned count = 0;
    for (size_t i = 0; i < json_object_array_length(rows); i++)
        count += strcmp(study_name(json_object_array_get_idx(rows, i)), row) == 0;
    return count;
}

double study_number(json_object *row, const char *name) {
    return json_object_get_double(member(row, name));
}

void study_expect_rows(json_object *rows, const char *of_ceiling, double ceiling, size_t bytes_each) {
    for (size_t i = 0; i < json_object_array_length(rows); i++) {
        json_object *row = json_object_array_get_idx(rows, i);
        assert_true(json_object_get_boolean(member(row, "checked")));
        const double seconds = study_number(row, "seconds"), speed = study_number(row, "bytes_per_second");
        assert_true(seconds > 0 && json_object_get_int(member(row, "runs")) >= 3);
        assert_true(study_number(row, "seconds_least") <= seconds && seconds <= study_number(row, "seconds_most"));
        const double bytes = study_number(row, "n") * (double)bytes_each;
        assert_true(speed > 0.99 * bytes / (seconds + 1e-9) - 1 && speed < 1.01 * bytes / (seconds - 0.5e-9) + 1);
        const double share = study_number(row, of_ceiling), right = speed / ceiling;
        assert_true(share > 0.99 * right - 1e-5 && share < 1.01 * right + 1e-5);
    }
}

/* Every variant is in the rows or, with a reason, among the skipped. */
void test_study_json(void **unused) {
    (void)unused;
    tally_variant_info v;
    need_compiler();
    json_object *o = study_json("study --n 5000 --json"), *rows = member(o, "rows"), *skipped = member(o, "skipped");
    assert_string_equal(text_member(o, "op"), "sum");
    assert_int_equal(json_object_get_int(member(o, "n")), 5000);
    assert_int_equal(json_object_array_length(member(o, "failed")), 0);
    assert_true(study_number(o, "read_bytes_per_second") > 0);
    study_expect_rows(rows, "of_read", study_number(o, "read_bytes_per_second"), 4);
    study_expect_rows(member(o, "small"), "of_read", study_number(o, "read_bytes_per_second"), 4);
    for (size_t i = 0; tally_variant_get(i, &v) == TALLY_OK; i++)
        if (study_rows_of(rows, v.name) + study_rows_of(skipped, v.name) < 1) fail_msg("%s is missing", v.name);
    for (size_t i = 0; i < json_object_array_length(skipped); i++)
        assert_true(strlen(text_member(json_object_array_get_idx(skipped, i), "reason")) > 4);
    unsigned automatic = 0;
    for (size_t i = 0; i < json_object_array_length(rows); i++) {
        json_object *row = json_object_array_get_idx(rows, i);
        automatic += json_object_get_boolean(member(row, "auto"));
        /* The others are compared with the first row. */
        const double expected = study_number(json_object_array_get_idx(rows, 0), "seconds") / study_number(row, "seconds");
        const double cumulative = study_number(row, "cumulative_speedup");
        assert_true(cumulative > 0.99 * expected && cumulative < 1.01 * expected);
        if (strcmp(text_member(row, "variant"), "interleaved_modulo") == 0)
            assert_true(study_number(row, "speedup_to_tree") == 1);
    }
    assert_int_equal(automatic, 1);
    assert_true(strlen(text_member(o, "small_finding")) > 20);
    json_object_put(o);
}

/* A ladder of these variants. Each is checked, or skipped with a reason. */
static void expect_cell(tally_op op, tally_dtype dtype, const char *variants, unsigned count) {
    char words[256];
    snprintf(words, sizeof(words), "study --n 3*2^10 --runs 7 --group 64 --factor 2 --json --op %s --dtype %s --variant %s",
             tally_op_name(op), tally_dtype_name(dtype), variants);
    json_object *o = study_json(words), *rows = member(o, "rows");
    assert_int_equal(json_object_array_length(member(o, "failed")), 0);
    assert_int_equal(json_object_array_length(rows) + json_object_array_length(member(o, "skipped")), count);
    assert_true(json_object_array_length(rows) >= 1);
    study_expect_rows(rows, "of_read", study_number(o, "read_bytes_per_second"), tally_dtype_bytes(dtype));
    for (size_t i = 0; i < json_object_array_length(rows); i++) {
        json_object *row = json_object_array_get_idx(rows, i);
        const int group = json_object_get_int(member(row, "group_threads"));
        assert_true(group == 64 || group == 1);
        if (strcmp(text_member(row, "variant"), "coarsened") == 0)
            assert_int_equal(json_object_get_int(member(row, "factor")), 2);
    }
    json_object_put(o);
}

/* Sums, exact ops and other ops on variants of each finish; on the default variant one op of each
 * kind of reference. */
void test_study_cells(void **unused) {
    (void)unused;
    static const char steps[] = "atomic_global,coarsened,tree_global,host_finish,auto";
    static const struct {
        tally_op op;
        tally_dtype dtype;
    } others[] = {{TALLY_SUM, TALLY_BF16},         {TALLY_SUM, TALLY_U16},    {TALLY_PROD, TALLY_C64}, {TALLY_PROD, TALLY_F16},
                  {TALLY_ASUM, TALLY_C64},         {TALLY_NRM2, TALLY_C128},  {TALLY_MEAN, TALLY_I8},  {TALLY_STD, TALLY_BOOL},
                  {TALLY_LOGSUMEXP, TALLY_F32},    {TALLY_MINMAX, TALLY_F16}, {TALLY_BAND, TALLY_U8},  {TALLY_IAMAX, TALLY_I32},
                  {TALLY_COUNT_NONZERO, TALLY_F64}};
    need_device();
    expect_cell(TALLY_SUM, TALLY_F32, steps, 5);
    expect_cell(TALLY_VAR, TALLY_F32, steps, 5);
    if (is_quick()) return;
    expect_cell(TALLY_ARGMAX, TALLY_I64, steps, 5);
    for (size_t i = 0; i < COUNT(others); i++) expect_cell(others[i].op, others[i].dtype, "auto", 1);
}

void test_study_tables(void **unused) {
    (void)unused;
    tally_variant_info v;
    result r;
    char words[256];
    need_compiler();
    snprintf(words, sizeof(words), "study --n 4096 --backend %s,%s", device, device);
    char *text = study_text(words, 0, &r);
    for (size_t i = 0; tally_variant_get(i, &v) == TALLY_OK; i++) assert_non_null(strstr(text, v.name));
    static const char *const says[] = {"bandwidth", "step", "cumulative",   "to tree",      "of read",          "least..most",
                                       "checked",   "GB/s", "document 002", "side by side", "At 8 x 1024 items"};
    for (size_t i = 0; i < COUNT(says); i++)
        if (!strstr(text, says[i])) fail_msg("no '%s' in: %s", says[i], text);
    free(text);

    text = study_text("study --n 4096 --csv --variant sequential,coarsened --sweep", 0, &r);
    static const char header[] =
        "part,device,name,primitive,variant,op,dtype,n,group_threads,factor,auto,checked,runs,seconds,";
    assert_int_equal(strncmp(text, header, strlen(header)), 0);
    /* Two rows of the ladder, 2^10 to 2^12 for both, factors 1 to 256. Each row has as many commas
     * as the header, and one name in quotes. */
    assert_int_equal(count_lines(text), 1 + 2 + 2 * 3 + 9);
    unsigned columns = 0, lines = 0;
    for (const char *line = text; *line; line = strchr(line, '\n') + 1, lines++) {
        unsigned commas = 0;
        bool quoted = false;
        for (const char *c = line; *c != '\n'; c++) {
            if (*c == '"') quoted = !quoted;
            commas += *c == ',' && !quoted;
        }
        if (!lines) columns = commas;
        assert_int_equal(commas, columns);
    }
    assert_non_null(strstr(text, "\nfactors,"));
    free(text);
}

/* ---- the plot -------------------------------------------------------------------------------- */

void study_expect_elements(const char *text) {
    char open[32][32];
    unsigned depth = 0, elements = 0;
    for (const char *at = text; (at = strchr(at, '<')); at++) {
        if (at[1] == '?') continue;
        const bool closing = at[1] == '/';
        const char *name = at + 1 + closing, *end = strchr(at, '>');
        char word[32];
        assert_non_null(end);
        assert_true(sscanf(name, "%31[a-z]", word) == 1);
        if (closing) {
            assert_true(depth > 0);
            assert_string_equal(open[--depth], word);
        } else if (end[-1] != '/') {
            assert_true(depth < COUNT(open));
            snprintf(open[depth++], sizeof(open[0]), "%s", word);
        }
        elements++;
        at = end;
    }
    assert_int_equal(depth, 0);
    assert_true(elements > 50);
}

void test_study_plot(void **unused) {
    (void)unused;
    tally_variant_info v;
    char path[512], command[600], label[128], *text = NULL;
    size_t bytes = 0;
    struct stat before, after;
    need_device();
    snprintf(path, sizeof(path), "%s/plot.svg", folder_path());
    write_file("plot.svg", "old", 3);
    assert_true(chmod(path, 0640) == 0 && stat(path, &before) == 0);
    json_object *o = study_json("study --n 2048 --sweep --json --plot plot.svg");
    /* The old file is replaced, not written to, so a reader sees all of one of them. */
    assert_int_equal(stat(path, &after), 0);
    assert_int_not_equal(after.st_ino, before.st_ino);
    assert_int_equal(after.st_mode & 0777, 0640);
    FILE *f = fopen(path, "rb");
    assert_non_null(f);
    assert_true(getdelim(&text, &bytes, 0, f) > 0);
    fclose(f);
    study_expect_elements(text);
    for (size_t i = 0; tally_variant_get(i, &v) == TALLY_OK; i++) {
        snprintf(label, sizeof(label), ">%s</text>", v.name);
        if (study_rows_of(member(o, "rows"), v.name) && strcmp(v.name, text_member(o, "auto")) && !strstr(text, label))
            fail_msg("the plot does not name %s", v.name);
    }
    snprintf(label, sizeof(label), ">* %s</text>", text_member(o, "auto"));
    assert_non_null(strstr(text, label));
    static const char *const says[] = {"GB/s",
                                       "Bandwidth by the number of items",
                                       "groups for each compute unit",
                                       " reads ",
                                       "sum of 2048 f32",
                                       "stroke-dasharray"};
    for (size_t i = 0; i < COUNT(says); i++)
        if (!strstr(text, says[i])) fail_msg("the plot does not say '%s'", says[i]);
    assert_non_null(strstr(text, text_member(o, "date")));
    if (system("command -v xmllint >/dev/null 2>&1") == 0) {
        snprintf(command, sizeof(command), "xmllint --noout '%s'", path);
        assert_int_equal(system(command), 0);
    }
    free(text);
    json_object_put(o);
}

/* ---- refusals -------------------------------------------------------------------------------- */

void test_study_usage(void **unused) {
    (void)unused;
    static const bad_row rows[] = {
        {"study this", {"study", "this"}, NULL, NULL},
        {"study --op frob", {"--op frob", "sum, min, max, prod"}, NULL, NULL},
        {"study --op dot", {"--op dot", "one input"}, NULL, NULL},
        {"study --op band", {"--op band", "--dtype f32", "does not take"}, NULL, NULL},
        {"study --op max --dtype c64", {"--op max", "--dtype c64", "does not take"}, NULL, NULL},
        {"study --dtype f33", {"--dtype f33", "f32, f64, i32"}, NULL, NULL},
        {"study --variant fast", {"--variant fast", "auto, atomic_global"}, NULL, NULL},
        {"study --variant sequential,fast", {"--variant fast", "auto, atomic_global"}, NULL, NULL},
        {"study --variant sequential,", {"--variant", "unknown variant"}, NULL, NULL},
        {"study --group 33", {"--group 33", "power of two"}, NULL, NULL},
        {"study --group 16", {"--group 16", "32 to 1024"}, NULL, NULL},
        {"study --group x", {"--group x", "32 to 1024"}, NULL, NULL},
        {"study --factor 0", {"--factor 0", "1 to 65536"}, NULL, NULL},
        {"study --factor 65537", {"--factor 65537", "1 to 65536"}, NULL, NULL},
        {"study --runs 6", {"--runs 6", "7 to 1000"}, NULL, NULL},
        {"study --n 0", {"--n 0", "whole number"}, NULL, NULL},
        {"study --n -5", {"--n -5", "whole number"}, NULL, NULL},
        {"study --n 2^", {"--n 2^", "whole number"}, NULL, NULL},
        {"study --n 2^64", {"--n 2^64", "whole number"}, NULL, NULL},
        {"study --n 1e16", {"--n 1e16", "from 1 to 2^40"}, NULL, NULL},
        {"study --plot x.png", {"--plot x.png", "SVG", ".svg"}, NULL, NULL},
        {"study --plot svg", {"--plot svg", "SVG", ".svg"}, NULL, NULL},
        {"study --json --csv", {"--json", "--csv"}, NULL, NULL},
        {"study --backend frob", {"--backend", "frob", "there are"}, NULL, NULL},
        {"study --backend opencl,", {"--backend", "empty"}, NULL, NULL},
        {"reduce sum x --sweep", {"reduce", "--sweep"}, NULL, NULL},
        {"study --primitive frob", {"--primitive frob", "reduce, scan, segments, gather, scatter"}, NULL, NULL},
        {"study --primitive segments --sweep", {"--sweep", "lengths are swept"}, NULL, NULL},
        {"study --primitive segments --factor 2", {"--factor 2", "of reductions alone"}, NULL, NULL},
        {"study --primitive segments --op dot", {"--op dot", "one input"}, NULL, NULL},
        {"study --primitive segments --variant rows_5",
         {"--variant rows_5", "unknown shape of segments", "rows_1, columns_1"},
         NULL,
         NULL},
        {"study --primitive reduce,scan", {"--primitive reduce,scan", "the study is of one;"}, NULL, NULL},
        {"study --primitive scan --variant sequential", {"--variant sequential", "auto, warp_carry"}, NULL, NULL},
        {"study --primitive scan --op dot", {"--op dot", "one input"}, NULL, NULL},
        {"study --primitive scan --group 64", {"--group 64", "scan"}, NULL, NULL},
        {"study --primitive scatter --factor 2", {"--factor 2", "scatter"}, NULL, NULL},
        {"study --primitive gather --op sum", {"--op sum", "no operator"}, NULL, NULL},
        {"study --primitive gather --variant auto", {"--variant auto", "identity, strided, random"}, NULL, NULL},
        {"study --primitive gather --variant random_last", {"--variant random_last", "random_unchecked"}, NULL, NULL},
    };
    must_refuse_rows(rows, COUNT(rows), 2);
    const bad_row failures[] = {
        {"study --n 2^40", {"1099511627776 items of f32", "too many", device}, NULL, NULL},
        {"study --primitive scan --n 2^40", {"1099511627776 items of f32", "too many", device}, NULL, NULL},
        {"study --primitive gather --n 2^40", {"1099511627776 items of f32", "too many", device}, NULL, NULL},
        {"study --n 64 --plot absent/x.svg", {"absent/x.svg", "No such file"}, NULL, NULL},
        {"study --n 64 --plot pipe.svg", {"pipe.svg", "no regular file"}, NULL, NULL},
    };
    char pipe[512];
    need_device();
    snprintf(pipe, sizeof(pipe), "%s/pipe.svg", folder_path());
    assert_true(mkfifo(pipe, 0600) == 0 || errno == EEXIST);
    must_refuse_rows(failures, COUNT(failures), 1);
}
