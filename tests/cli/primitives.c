/* SPDX-License-Identifier: MIT */
/* `tally study --primitive`: scans, gathers and scatters. */
#include "study.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <tally/tally.h>

/* Runs the study of these words. Nothing fails, and all rows are consistent. */
static json_object *must_study(const char *words, const char *primitive, size_t bytes_each) {
    json_object *o = study_json(words);
    assert_string_equal(text_member(o, "primitive"), primitive);
    assert_int_equal(json_object_array_length(member(o, "failed")), 0);
    assert_true(json_object_array_length(member(o, "rows")) >= 1);
    study_expect_rows(member(o, "rows"), "of_copy", study_number(o, "copy_bytes_per_second"), bytes_each);
    return o;
}

/* Every variant is in the rows or, with a reason, among the skipped. Each n has its rows. */
void test_study_scan(void **unused) {
    (void)unused;
    tally_variant_info v;
    unsigned automatic = 0, ran = 0;
    need_compiler();
    json_object *o = must_study("study --primitive scan --n 5000 --sweep --json", "scan", 8);
    json_object *rows = member(o, "rows"), *skipped = member(o, "skipped"), *sizes = member(o, "sizes");
    study_expect_rows(sizes, "of_copy", study_number(o, "copy_bytes_per_second"), 8);
    for (size_t i = 0; tally_scan_variant_get(i, &v) == TALLY_OK; i++) {
        const unsigned run_rows = study_rows_of(rows, v.name);
        if (run_rows + study_rows_of(skipped, v.name) < 1) fail_msg("%s is missing", v.name);
        assert_int_equal(study_rows_of(sizes, v.name), run_rows ? 4 : 0); /* 2^10 to 2^12, and 5000 */
        ran += run_rows;
    }
    assert_true(ran >= 2);
    for (size_t i = 0; i < json_object_array_length(rows); i++) {
        json_object *row = json_object_array_get_idx(rows, i), *step;
        automatic += json_object_get_boolean(member(row, "auto"));
        assert_false(json_object_object_get_ex(row, "step_speedup", &step)); /* only ladders have it */
    }
    assert_int_equal(automatic, 1);
    json_object_put(o);
}

/* Sums, exact ops, other ops, and values that are wider than items. */
void test_study_scan_cells(void **unused) {
    (void)unused;
    static const struct {
        tally_op op;
        tally_dtype dtype;
    } cells[] = {{TALLY_STD, TALLY_F32},  {TALLY_SUM, TALLY_I8},     {TALLY_ARGMAX, TALLY_F16},
                 {TALLY_PROD, TALLY_C64}, {TALLY_MINMAX, TALLY_U16}, {TALLY_LOGSUMEXP, TALLY_F64}};
    need_device();
    for (size_t i = 0; i < (is_quick() ? 2 : COUNT(cells)); i++) {
        char words[256];
        const tally_op op = cells[i].op;
        const tally_dtype in = cells[i].dtype;
        const size_t value = tally_result_count(op, in) * tally_dtype_bytes(tally_result_dtype(op, in));
        snprintf(words, sizeof(words), "study --primitive scan --n 3079 --runs 7 --json --op %s --dtype %s --variant %s",
                 tally_op_name(op), tally_dtype_name(in), i ? "auto" : "warp_carry,auto");
        json_object_put(must_study(words, "scan", tally_dtype_bytes(in) + value));
    }
}

void test_study_moves(void **unused) {
    (void)unused;
    static const char *const maps[] = {"identity",           "strided",          "random",
                                       "identity_unchecked", "random_unchecked", "random_last"};
    need_device();
    for (int scatter = 0; scatter < 2; scatter++) {
        json_object *o = must_study(scatter ? "study --primitive scatter --n 4099 --dtype u8 --json"
                                            : "study --primitive gather --n 4099 --json",
                                    scatter ? "scatter" : "gather", 4 + 2 * (scatter ? 1 : 4));
        assert_string_equal(text_member(o, "map_dtype"), "i32");
        assert_true(json_object_is_type(member(o, "op"), json_type_null));
        for (size_t i = 0; i < COUNT(maps); i++)
            assert_int_equal(study_rows_of(member(o, "rows"), maps[i]), scatter || i + 1 < COUNT(maps));
        json_object_put(o);
    }
}

/* Rows and columns of every length up to n, of operators whose values are wide, round or are
 * indices. */
void test_study_segments(void **unused) {
    (void)unused;
    static const char *const ops[] = {"sum --dtype f32", "minmax --dtype i16", "var --dtype f64", "argmax --dtype f16"};
    static const size_t item_bytes[] = {4, 2, 8, 2}, value_bytes[] = {4, 4, 8, 8};
    need_device();
    for (size_t i = 0; i < (is_quick() ? 2 : COUNT(ops)); i++) {
        char words[256];
        snprintf(words, sizeof(words), "study --primitive segments --n 5000 --runs 7 --json --op %s", ops[i]);
        json_object *o = study_json(words), *rows = member(o, "rows");
        assert_int_equal(json_object_array_length(member(o, "failed")), 0);
        assert_int_equal(json_object_array_length(member(o, "skipped")), 0);
        assert_int_equal(json_object_array_length(rows), 2 * 7); /* 1, 4, ..., 4096 */
        for (size_t k = 0; k < json_object_array_length(rows); k++) {
            json_object *row = json_object_array_get_idx(rows, k);
            const size_t length = (size_t)1 << k / 2 * 2, bytes = 5000 / length * (length * item_bytes[i] + value_bytes[i]);
            char name[32];
            snprintf(name, sizeof(name), "%s_%zu", k % 2 ? "columns" : "rows", length);
            assert_string_equal(text_member(row, "shape"), name);
            assert_true(json_object_get_boolean(member(row, "checked")));
            const double speed = study_number(row, "bytes_per_second"), seconds = study_number(row, "seconds");
            if (speed * seconds < 0.99 * (double)bytes || speed * seconds > 1.01 * (double)bytes)
                fail_msg("%s: %s: %g bytes, not %zu", words, name, speed * seconds, bytes);
        }
        json_object_put(o);
    }
}

static void expect_plot(const char *name, const char *const *says, size_t count) {
    char path[512], *text = NULL;
    size_t bytes = 0;
    snprintf(path, sizeof(path), "%s/%s", folder_path(), name);
    FILE *f = fopen(path, "rb");
    assert_non_null(f);
    assert_true(getdelim(&text, &bytes, 0, f) > 0);
    fclose(f);
    study_expect_elements(text);
    for (size_t i = 0; i < count; i++)
        if (!strstr(text, says[i])) fail_msg("%s does not say '%s'", name, says[i]);
    free(text);
}

void test_study_primitive_tables(void **unused) {
    (void)unused;
    char words[256];
    result r;
    need_device();
    snprintf(words, sizeof(words), "study --primitive scan --n 4096 --runs 7 --variant auto --backend %s,%s", device, device);
    char *text = study_text(words, 0, &r);
    static const char *const scans[] = {"scan by sum of 4096 f32", "copies", "of copy", "side by side", "a value written"};
    for (size_t i = 0; i < COUNT(scans); i++)
        if (!strstr(text, scans[i])) fail_msg("no '%s' in: %s", scans[i], text);
    assert_null(strstr(text, "to tree"));
    free(text);

    text = study_text("study --primitive gather --n 2048 --runs 7 --csv --sweep --variant random --plot moves.svg", 0, &r);
    static const char header[] = "part,device,name,primitive,map,op,dtype,n,group_threads,factor,auto,checked,runs,seconds,";
    assert_int_equal(strncmp(text, header, strlen(header)), 0);
    assert_non_null(strstr(text, ",gather,random,,f32,2048,,,no,yes,7,"));
    assert_int_equal(count_lines(text), 1 + 1 + 2); /* the row, and 2^10 and 2^11 */
    free(text);

    static const char *const says[] = {"Gather of 2048 f32 by i32 maps", ">random</text>", " copies ",
                                       "Bandwidth by the number of items"};
    expect_plot("moves.svg", says, COUNT(says));

    text =
        study_text("study --primitive segments --n 2048 --runs 7 --csv --variant rows_64,columns_64 --plot lengths.svg", 0, &r);
    assert_non_null(strstr(text, ",primitive,shape,op,"));
    assert_non_null(strstr(text, ",segments,columns_64,sum,f32,2048,,,no,yes,7,"));
    assert_int_equal(count_lines(text), 1 + 2);
    free(text);
    static const char *const lengths[] = {"Segments by sum of 2048 f32", ">columns_64</text>", " reads the items in ",
                                          "Time by the length of a row", ">columns</text>"};
    expect_plot("lengths.svg", lengths, COUNT(lengths));
}
