/* SPDX-License-Identifier: MIT */
/* Names, texts and sizes of every row of every table, both ways. */
#include <stdio.h>
#include <string.h>

#include "core.h"

static void test_dtypes(void **unused) {
    (void)unused;
    /* Every value of the enum has a row, which is found by its name. */
    for (tally_dtype dtype = 1; dtype < TALLY_DTYPE_END; dtype++) {
        tally_dtype got = TALLY_DTYPE_DEFAULT;
        const tally_dtype_row *row = tally_dtype_find(dtype);
        assert_non_null(row);
        assert_true(row->name[0] && row->summary[0] && row->bytes > 0);
        assert_int_equal(tally_dtype_kind(dtype), row->kind);
        assert_true(tally_dtype_is_value(row->compute));
        MUST(tally_dtype_from_name(row->name, &got));
        assert_int_equal(got, dtype);
    }
    static const int strange[] = {TALLY_DTYPE_DEFAULT, TALLY_DTYPE_END, 1000, -1};
    for (size_t i = 0; i < TALLY_ARRAY_LENGTH(strange); i++) {
        assert_null(tally_dtype_name((tally_dtype)strange[i]));
        assert_int_equal(tally_dtype_bytes((tally_dtype)strange[i]), 0);
    }
    tally_dtype got = TALLY_I64;
    static const char *const wrong[] = {"", "f", "f32 ", " f32", "float", "f3", "f321", "F32x", "%s%n"};
    for (size_t i = 0; i < TALLY_ARRAY_LENGTH(wrong); i++)
        REFUSED(tally_dtype_from_name(wrong[i], &got), TALLY_E_ARGUMENT, "f16", "bf16", "f32", "f64", "i8", "u64", "bool",
                "c64", "c128");
    REFUSED(tally_dtype_from_name("complex128", &got), TALLY_E_ARGUMENT, "complex128");
    /* The sizes are those of C. */
    assert_int_equal(tally_dtype_bytes(TALLY_F32), sizeof(float));
    assert_int_equal(tally_dtype_bytes(TALLY_F64), sizeof(double));
    assert_int_equal(tally_dtype_bytes(TALLY_BOOL), sizeof(bool));
    assert_int_equal(tally_dtype_bytes(TALLY_C128), 2 * sizeof(double));
    int values = 0;
    for (tally_dtype dtype = 1; dtype < TALLY_DTYPE_END; dtype++) values += tally_dtype_is_value(dtype);
    assert_int_equal(values, 6);
    assert_int_equal(got, TALLY_I64);
}

/* The op that is like this one takes the same items, and has a row of its own for them. */
static void check_alike(const tally_op_row *row, const tally_op_row *alike) {
    assert_non_null(alike);
    assert_int_equal(alike->inputs, row->inputs);
    assert_false(row->alike.of & (~alike->takes | alike->alike.of));
    assert_true(!row->params[0].name && !alike->params[0].name);
}

static void test_ops(void **unused) {
    (void)unused;
    for (tally_op op = 1; op < TALLY_OP_END; op++) {
        tally_op got = TALLY_OP_NONE;
        const tally_op_row *row = tally_op_find(op);
        assert_non_null(row);
        assert_true(row->summary[0] && row->takes && !(row->alike.of & ~row->takes));
        if (row->takes & ~row->alike.of) assert_true(row->identity && row->load && row->combine && row->empty);
        if (row->alike.of) check_alike(row, tally_op_find(row->alike.op));
        assert_string_equal(tally_op_name(op), row->name);
        assert_string_equal(tally_op_summary(op), row->summary);
        assert_int_equal(tally_op_inputs(op), row->inputs == 2 ? 2 : 1);
        MUST(tally_op_from_name(row->name, &got));
        assert_int_equal(got, op);
        /* A special row is of the same op as the row whose place it takes. */
        const tally_op_row *others[] = {&tally_narrow_rows[op], &tally_whole_rows[op], &tally_complex_rows[op],
                                        &tally_compensated_rows[op]};
        for (size_t i = 0; i < TALLY_ARRAY_LENGTH(others); i++)
            if (others[i]->name) assert_string_equal(others[i]->name, row->name);
    }
    static const int strange[] = {TALLY_OP_NONE, TALLY_OP_END, 1000, -1};
    for (size_t i = 0; i < TALLY_ARRAY_LENGTH(strange); i++) {
        const tally_op op = (tally_op)strange[i];
        const tally_dtype dtype = (tally_dtype)(strange[i] ? strange[i] + 1000 : 0);
        assert_null(tally_op_name(op));
        assert_null(tally_op_summary(op));
        assert_int_equal(tally_op_inputs(op), 0);
        assert_null(tally_op_param_name(op, 0, NULL));
        assert_int_equal(tally_result_dtype(op, TALLY_F32), TALLY_DTYPE_DEFAULT);
        assert_int_equal(tally_result_dtype(TALLY_SUM, dtype), TALLY_DTYPE_DEFAULT);
        assert_int_equal(tally_result_count(op, TALLY_F32), 0);
        assert_int_equal(tally_result_count(TALLY_SUM, dtype), 0);
    }
    tally_op got = TALLY_MAX;
    REFUSED(tally_op_from_name("median", &got), TALLY_E_ARGUMENT, "median", "sum", "min", "max", "allclose");
    REFUSED(tally_op_from_name("", &got), TALLY_E_ARGUMENT, "sum", "min", "max");
    REFUSED(tally_op_from_name("su", &got), TALLY_E_ARGUMENT, "sum");
    assert_int_equal(got, TALLY_MAX);
}

static void test_op_params(void **unused) {
    (void)unused;
    static const struct {
        tally_op op;
        const char *name[3];
        double value[3];
    } known[] = {{TALLY_VAR, {"ddof"}, {0}},
                 {TALLY_STD, {"ddof"}, {0}},
                 {TALLY_ALLCLOSE, {"rtol", "atol"}, {1e-5, 1e-8}},
                 {TALLY_SUM, {NULL}, {0}}};
    for (size_t i = 0; i < TALLY_ARRAY_LENGTH(known); i++)
        for (uint32_t p = 0; p < 3; p++) {
            double value = -1;
            const char *name = tally_op_param_name(known[i].op, p, &value);
            assert_int_equal(name != NULL, known[i].name[p] != NULL);
            if (!name) break;
            assert_string_equal(name, known[i].name[p]);
            assert_true(value == known[i].value[p]);
            assert_ptr_equal(tally_op_param_name(known[i].op, p, NULL), name);
        }
    assert_null(tally_op_param_name(TALLY_VAR, UINT32_MAX, NULL));
}

static void test_accuracies(void **unused) {
    (void)unused;
    assert_string_equal(tally_accuracy_name(TALLY_ACCURACY_DEFAULT), "default");
    assert_string_equal(tally_accuracy_name(TALLY_ACCURACY_COMPENSATED), "compensated");
    assert_null(tally_accuracy_name(TALLY_ACCURACY_END));
    assert_null(tally_accuracy_name((tally_accuracy)-1));
}

static void test_statuses_and_classes(void **unused) {
    (void)unused;
    for (tally_status status = TALLY_OK; status < TALLY_STATUS_END; status++) {
        assert_int_equal(strncmp(tally_status_name(status), "TALLY_", 6), 0);
        assert_true(tally_status_text(status)[0]);
    }
    assert_null(tally_status_name(TALLY_STATUS_END));
    assert_null(tally_status_text((tally_status)-1));
    assert_null(tally_status_text((tally_status)1000));
    for (tally_device_class c = 1; c < TALLY_CLASS_END; c++)
        assert_true(tally_device_class_name(c)[0] && tally_device_class_summary(c)[0]);
    assert_null(tally_device_class_name((tally_device_class)0));
    assert_null(tally_device_class_name(TALLY_CLASS_END));
    assert_string_equal(tally_version(), TALLY_VERSION);
}

static void test_variants(void **unused) {
    (void)unused;
    const size_t count = tally_variant_count();
    int canonical = 0;
    assert_true(count >= 2);
    for (size_t v = 0; v < count; v++) {
        tally_variant_info info, other;
        MUST(tally_variant_get(v, &info));
        assert_true(info.name[0] && info.stem[0] && info.step[0] && info.why[0]);
        assert_true(info.group_threads > 0 && (info.group_threads & (info.group_threads - 1)) == 0);
        assert_string_not_equal(info.name, "auto");
        canonical += info.canonical;
        for (size_t w = 0; w < v; w++) {
            MUST(tally_variant_get(w, &other));
            assert_string_not_equal(info.name, other.name);
        }
    }
    assert_true(canonical >= 2);
    tally_variant_info info;
    REFUSED(tally_variant_get(count, &info), TALLY_E_ARGUMENT, "tally_variant_get");
    REFUSED(tally_variant_get(SIZE_MAX, &info), TALLY_E_ARGUMENT, "tally_variant_get");
}

/* A name near one of the rows gets a guess besides the listing. Any other name gets the listing
 * alone. */
static void test_guesses(void **unused) {
    (void)unused;
    static const struct {
        const char *wrong, *guess;
    } rows[] = {{"summ", "sum"},
                {"sm", "sum"},
                {"SUM", "sum"},
                {"usm", "sum"},
                {"argmaxx", "argmax"},
                {"arg_max", "argmax"},
                {"count", "count_nonzero"},
                {"nonmin", "nanmin"},
                {"logsumexpp", "logsumexp"}};
    tally_op op;
    tally_dtype dtype;
    for (size_t i = 0; i < TALLY_ARRAY_LENGTH(rows); i++) {
        char text[64];
        snprintf(text, sizeof text, "'%s': did you mean %s? there are sum, ", rows[i].wrong, rows[i].guess);
        REFUSED(tally_op_from_name(rows[i].wrong, &op), TALLY_E_ARGUMENT, text, "allclose");
    }
    REFUSED(tally_dtype_from_name("f23", &dtype), TALLY_E_ARGUMENT, "'f23': did you mean f32? there are ", "c128");
    REFUSED(tally_dtype_from_name("C-128", &dtype), TALLY_E_ARGUMENT, "did you mean c128? ");
    static const char *const strange[] = {
        "", "x", "histogram", "-", "frobnicate", ",", "%s", "sumsumsumsumsumsumsumsumsumsumsumsumsumsumsumsumsumsumsumsum"};
    for (size_t i = 0; i < TALLY_ARRAY_LENGTH(strange); i++) {
        REFUSED(tally_op_from_name(strange[i], &op), TALLY_E_ARGUMENT, "': there are sum, ");
        assert_null(strstr(tally_last_error(), "did you mean"));
    }
}

const core_test table_tests[] = {
    {"dtypes", test_dtypes},
    {"ops", test_ops},
    {"guesses at names", test_guesses},
    {"parameters of ops", test_op_params},
    {"accuracies", test_accuracies},
    {"statuses and device classes", test_statuses_and_classes},
    {"variants", test_variants},
    {NULL, NULL},
};
