/* SPDX-License-Identifier: MIT */
/* Names, texts, sizes and result types: each row of each table, both ways. */
#include <stdio.h>
#include <string.h>

#include "core_tests.h"

static void test_dtypes(void **unused) {
    (void)unused;
    int rows = 0;
#define ROW(id, value, name_, bytes_, kind, c_type, summary)                                                                   \
    do {                                                                                                                       \
        tally_dtype got = TALLY_DTYPE_DEFAULT;                                                                                 \
        assert_int_equal(TALLY_##id, value);                                                                                   \
        assert_string_equal(tally_dtype_name(TALLY_##id), name_);                                                              \
        assert_int_equal(tally_dtype_bytes(TALLY_##id), bytes_);                                                               \
        assert_int_equal(sizeof(c_type), bytes_);                                                                              \
        MUST(tally_dtype_from_name(name_, &got));                                                                              \
        assert_int_equal(got, TALLY_##id);                                                                                     \
        rows++;                                                                                                                \
    } while (0);
    TALLY_DTYPE_TABLE(ROW)
#undef ROW
    assert_int_equal(rows, TALLY_DTYPE_END - 1);
    static const int strange[] = {TALLY_DTYPE_DEFAULT, TALLY_DTYPE_END, 1000, -1};
    for (size_t i = 0; i < TALLY_ARRAY_LENGTH(strange); i++) {
        assert_null(tally_dtype_name((tally_dtype)strange[i]));
        assert_int_equal(tally_dtype_bytes((tally_dtype)strange[i]), 0);
    }
    tally_dtype got = TALLY_I64;
    static const char *const wrong[] = {"", "f", "f32 ", " f32", "float", "f3", "f321", "F32x", "%s%n"};
    for (size_t i = 0; i < TALLY_ARRAY_LENGTH(wrong); i++)
        REFUSED(tally_dtype_from_name(wrong[i], &got), TALLY_E_ARGUMENT, "f32", "f64", "i32", "u32", "i64", "u64");
    REFUSED(tally_dtype_from_name("complex128", &got), TALLY_E_ARGUMENT, "complex128");
    assert_int_equal(got, TALLY_I64);
}

static void test_ops(void **unused) {
    (void)unused;
    int rows = 0;
#define ROW(extra, id, value, name_, accumulate, identity, load, combine, finish, empty, exact, atomic, summary_)              \
    do {                                                                                                                       \
        tally_op got = TALLY_OP_NONE;                                                                                          \
        assert_int_equal(TALLY_##id, value);                                                                                   \
        assert_string_equal(tally_op_name(TALLY_##id), name_);                                                                 \
        assert_string_equal(tally_op_summary(TALLY_##id), summary_);                                                           \
        MUST(tally_op_from_name(name_, &got));                                                                                 \
        assert_int_equal(got, TALLY_##id);                                                                                     \
        rows++;                                                                                                                \
    } while (0);
    TALLY_OP_TABLE(ROW, )
#undef ROW
    assert_int_equal(rows, TALLY_OP_END - 1);
    static const int strange[] = {TALLY_OP_NONE, TALLY_OP_END, 1000, -1};
    for (size_t i = 0; i < TALLY_ARRAY_LENGTH(strange); i++) {
        assert_null(tally_op_name((tally_op)strange[i]));
        assert_null(tally_op_summary((tally_op)strange[i]));
        assert_int_equal(tally_result_dtype((tally_op)strange[i], TALLY_F32), TALLY_DTYPE_DEFAULT);
        assert_int_equal(tally_result_dtype(TALLY_SUM, (tally_dtype)(strange[i] ? strange[i] + 1000 : 0)), TALLY_DTYPE_DEFAULT);
    }
    tally_op got = TALLY_MAX;
    REFUSED(tally_op_from_name("median", &got), TALLY_E_ARGUMENT, "median", "sum", "min", "max");
    REFUSED(tally_op_from_name("", &got), TALLY_E_ARGUMENT, "sum", "min", "max");
    REFUSED(tally_op_from_name("su", &got), TALLY_E_ARGUMENT, "sum");
    assert_int_equal(got, TALLY_MAX);
}

static void test_result_types(void **unused) {
    (void)unused;
    static const tally_dtype sums[][2] = {{TALLY_F32, TALLY_F32}, {TALLY_F64, TALLY_F64}, {TALLY_I32, TALLY_I64},
                                          {TALLY_U32, TALLY_U64}, {TALLY_I64, TALLY_I64}, {TALLY_U64, TALLY_U64}};
    for (size_t i = 0; i < TALLY_ARRAY_LENGTH(sums); i++) {
        assert_int_equal(tally_result_dtype(TALLY_SUM, sums[i][0]), sums[i][1]);
        assert_int_equal(tally_result_dtype(TALLY_MIN, sums[i][0]), sums[i][0]);
        assert_int_equal(tally_result_dtype(TALLY_MAX, sums[i][0]), sums[i][0]);
    }
}

static void test_statuses_and_classes(void **unused) {
    (void)unused;
#define ROW(id, value, text_)                                                                                                  \
    assert_int_equal(TALLY_##id, value);                                                                                       \
    assert_non_null(strstr(tally_status_name(TALLY_##id), #id));                                                               \
    assert_string_equal(tally_status_text(TALLY_##id), text_);
    TALLY_STATUS_TABLE(ROW)
#undef ROW
    assert_null(tally_status_name(TALLY_STATUS_END));
    assert_null(tally_status_text((tally_status)-1));
    assert_null(tally_status_text((tally_status)1000));
#define ROW(id, value, name_, summary) assert_string_equal(tally_device_class_name(TALLY_CLASS_##id), name_);
    TALLY_DEVICE_CLASS_TABLE(ROW)
#undef ROW
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
        assert_true(info.group_items > 0 && (info.group_items & (info.group_items - 1)) == 0);
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

const core_test table_tests[] = {
    {"dtypes", test_dtypes},
    {"ops", test_ops},
    {"result types", test_result_types},
    {"statuses and device classes", test_statuses_and_classes},
    {"variants", test_variants},
    {NULL, NULL},
};
