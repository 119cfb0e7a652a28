/* SPDX-License-Identifier: MIT */
/*
 * test_study: `tally study` on the stub. Its reference is the oracle, for every operator. The
 * oracle's values are right in every order, and any other value is wrong. The study itself finds
 * every operator right.
 */
#define _XOPEN_SOURCE 700
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "reduce/reduce.h"
#include "oracle/oracle.h"
#include "tests/stub/backend.h"
#include "tools/study/study.h"
#include "tests/support/test_main.h"

static const uint64_t sizes[] = {1, 2, 7, 1000, 4097, 9001};
#define COUNT(array) (sizeof(array) / sizeof((array)[0]))
#define MOST_N 9001
#define MOST_BYTES (MOST_N * 16)

typedef struct bench {
    tally_context *context;
    tally_queue *queue;
    tally_buffer *buffer;
    _Alignas(16) unsigned char items[MOST_BYTES];
    unsigned char values[MOST_BYTES], wrong[MOST_BYTES];
} bench;

static void must(tally_status status) {
    if (status) fail_msg("%s", tally_last_error());
}

static void open_bench(bench *b) {
    must(tally_context_create("stub:0", &b->context));
    must(tally_queue_create(b->context, &b->queue));
    must(tally_buffer_create(b->context, MOST_BYTES, &b->buffer));
}

static void close_bench(bench *b) {
    tally_buffer_destroy(b->buffer);
    tally_queue_destroy(b->queue);
    tally_context_destroy(b->context);
}

/* Returns another value of the same type. */
static void falsify(const oracle_case *what, unsigned char *value) {
    const tally_dtype out = oracle_result_dtype(what), part = cli_part_dtype(out);
    if (part == TALLY_F16 || part == TALLY_BF16 || part == TALLY_F32 || part == TALLY_F64)
        cli_part_store(part, cli_part_number(part, value) * 1.5 + 0.7, value);
    else
        value[0] ^= 1;
}

static void expect(study_state got, study_state wanted, const oracle_case *what, uint64_t n, const char *value,
                   const char *text) {
    if (got != wanted)
        fail_msg("%s of %llu %s: %s is %s: %s", tally_op_name(what->op), (unsigned long long)n, tally_dtype_name(what->in),
                 value, got == STUDY_CHECKED ? "right" : "wrong", text);
}

/* Combines items first to last - 1 in an order of its own: a third, then the rest, each in the same
 * way. */
static void combine(const oracle_case *what, const unsigned char *items, uint64_t first, uint64_t last, oracle_acc *to) {
    const size_t bytes = tally_dtype_bytes(what->in);
    const uint64_t middle = first + (last - first + 2) / 3;
    oracle_acc right;
    if (last - first == 1) {
        oracle_acc_load(what, items + first * bytes, first, to);
        return;
    }
    combine(what, items, first, middle, to);
    combine(what, items, middle, last, &right);
    oracle_acc_combine(what, to, &right);
}

static void try_reduction(bench *b, const oracle_case *what) {
    const study_request request = {.primitive = CLI_REDUCE, .op = what->op, .dtype = what->in};
    study_input *input = study_input_create(&request, b->queue, b->buffer, sizes, COUNT(sizes));
    assert_non_null(input);
    must(tally_buffer_read(b->queue, b->buffer, 0, b->items, MOST_N * tally_dtype_bytes(what->in)));
    must(tally_queue_wait(b->queue));
    for (size_t s = 0; s < COUNT(sizes); s++) {
        const uint64_t n = sizes[s];
        oracle_result right, other;
        oracle_acc acc;
        char text[512] = "";
        oracle_reduce(what->op, what->in, b->items, n, &right);
        combine(what, b->items, 0, n, &acc);
        oracle_acc_finish(what, &acc, n, &other);
        expect(study_input_check(input, n, true, 0, &right, text, sizeof(text)), STUDY_CHECKED, what, n, "order v1", text);
        expect(study_input_check(input, n, false, 64, &other, text, sizeof(text)), STUDY_CHECKED, what, n, "another order",
               text);
        falsify(what, right.bytes);
        expect(study_input_check(input, n, true, 0, &right, text, sizeof(text)), STUDY_FAILED, what, n, "a wrong value", text);
        expect(study_input_check(input, n, false, 64, &right, text, sizeof(text)), STUDY_FAILED, what, n, "a wrong value",
               text);
    }
    study_input_destroy(input);
}

static void try_scan(bench *b, const oracle_case *what) {
    static const uint64_t n = 1000;
    const study_request request = {.primitive = CLI_SCAN, .op = what->op, .dtype = what->in};
    const size_t each = oracle_result_bytes(what);
    study_input *input = study_input_create(&request, b->queue, b->buffer, &n, 1);
    char text[512] = "";
    assert_non_null(input);
    must(tally_buffer_read(b->queue, b->buffer, 0, b->items, n * tally_dtype_bytes(what->in)));
    must(tally_queue_wait(b->queue));
    for (uint64_t i = 0; i < n; i++) oracle_reduce(what->op, what->in, b->items, i + 1, b->values + i * each);
    expect(study_input_check_values(input, n, 64, b->values, text, sizeof(text)), STUDY_CHECKED, what, n, "the scan", text);
    const uint64_t places[] = {0, 1, n - 1};
    for (size_t p = 0; p < COUNT(places); p++) {
        memcpy(b->wrong, b->values, n * each);
        falsify(what, b->wrong + places[p] * each);
        expect(study_input_check_values(input, n, 64, b->wrong, text, sizeof(text)), STUDY_FAILED, what, n, "a wrong scan",
               text);
    }
    study_input_destroy(input);
}

/* Every op of one input with every type, as reductions and as scans. */
static void test_references(void **unused) {
    (void)unused;
    bench *b = calloc(1, sizeof(*b));
    unsigned tried = 0;
    assert_non_null(b);
    open_bench(b);
    for (tally_op op = TALLY_OP_NONE + 1; op < TALLY_OP_END; op++)
        for (tally_dtype in = TALLY_DTYPE_DEFAULT + 1; in < TALLY_DTYPE_END; in++) {
            const oracle_case what = {.op = op, .in = in};
            if (tally_op_inputs(op) > 1 || !tally_result_dtype(op, in)) continue;
            try_reduction(b, &what);
            try_scan(b, &what);
            tried++;
        }
    assert_true(tried > 250);
    close_bench(b);
    free(b);
}

/* Sums of so many items that they must round. They have a bound, and a wrong sum is found. */
static void test_rounded(void **unused) {
    (void)unused;
    const study_request request = {.primitive = CLI_REDUCE, .op = TALLY_SUM, .dtype = TALLY_F32},
                        scan = {.primitive = CLI_SCAN, .op = TALLY_SUM, .dtype = TALLY_F32};
    assert_int_equal(study_input_bytes(&request, 1 << 20), 0);
    assert_int_equal(study_input_bytes(&scan, 1 << 20), 4 << 20);
    assert_int_equal(study_input_bytes(&request, UINT64_C(1) << 28), UINT64_C(4) << 28);
    const study_request moments = {.primitive = CLI_REDUCE, .op = TALLY_VAR, .dtype = TALLY_F32};
    assert_int_equal(study_input_bytes(&moments, 1000), 4000);
}

/* ---- the study's runs ------------------------------------------------------------------------ */

/* Makes the first value of a row that was found right another one, which must be found wrong.
 * Reductions and scans have this in try_reduction and try_scan. */
static void expect_wrong(const study_memory *m, const char *row) {
    const study_request *r = m->request;
    const oracle_case what = {.op = r->op, .in = r->dtype};
    char text[512] = "";
    if (r->primitive == CLI_SEGMENTS) {
        falsify(&what, m->got);
        if (study_segments_check(m, row, r->n, text, sizeof(text))) fail_msg("%s: wrong, and not found", row);
    } else if (r->primitive > CLI_SEGMENTS) {
        m->got[0] ^= 1;
        if (study_moves_check(m, row, r->n, text, sizeof(text))) fail_msg("%s: wrong, and not found", row);
    }
}

/* Runs each listed row, or every row without a list: its plan, a run, and the check of the
 * result. Segments are the backend host's, as the stub has none. */
static void run_rows(const study_request *request, const char *const rows[], const char *name) {
    study_memory memory = {.request = request};
    tally_variant_info row;
    size_t checked = 0;
    must(tally_context_create(request->primitive == CLI_SEGMENTS ? "host" : "stub:0", &memory.context));
    must(study_memory_open(&memory, request->n));
    if (request->primitive > CLI_SEGMENTS)
        must(study_moves_fill(&memory, request->n));
    else
        memory.input = study_input_create(request, memory.queue, memory.in, &request->n, 1);
    for (size_t i = 0; study_row_get(request, i, &row); i++) {
        study_job job;
        char text[512] = "";
        bool is_wanted = !rows;
        for (size_t r = 0; rows && rows[r]; r++) is_wanted |= strcmp(rows[r], row.name) == 0;
        if (!is_wanted) continue;
        const tally_status status = study_job_open(&job, &memory, &row, 0, 0, request->n);
        if (!status) {
            must(study_job_prepare(&job, request->n));
            if (study_job_check(&job, request->n, true, text, sizeof(text)) != STUDY_CHECKED)
                fail_msg("%s by %s: %s", name, row.name, text);
            expect_wrong(&memory, row.name);
            checked++;
        } else if (status != TALLY_E_UNSUPPORTED) {
            fail_msg("%s by %s: %s", name, row.name, tally_last_error());
        }
        study_job_close(&job);
    }
    if (!checked) fail_msg("%s: nothing was checked", name);
    study_memory_close(&memory);
}

/* Every op of one input, by a canonical variant and one of the ladder's, and as a scan. */
static void test_ops(void **unused) {
    (void)unused;
    static const char *const rows[] = {"group_tree", "tree_global", NULL};
    for (tally_op op = TALLY_OP_NONE + 1; op < TALLY_OP_END; op++) {
        const bool has_float = tally_result_dtype(op, TALLY_F32) != TALLY_DTYPE_DEFAULT;
        study_request request = {.op = op, .dtype = has_float ? TALLY_F32 : TALLY_U8, .n = 5000};
        if (tally_op_inputs(op) > 1) continue;
        run_rows(&request, rows, tally_op_name(op));
        request.primitive = CLI_SCAN;
        request.n = 60; /* the stub scans in sequence, not with the depth that its plans give */
        run_rows(&request, NULL, tally_op_name(op));
    }
}

static void test_moves(void **unused) {
    (void)unused;
    study_request request = {.primitive = CLI_GATHER, .dtype = TALLY_F32, .n = 5000};
    run_rows(&request, NULL, "gather");
    request.primitive = CLI_SCATTER;
    run_rows(&request, NULL, "scatter");
}

/* Rows and columns, of values that are rounded, are indices, or are two. */
static void test_segments(void **unused) {
    (void)unused;
    static const oracle_case cases[] = {{.op = TALLY_SUM, .in = TALLY_F32},
                                        {.op = TALLY_VAR, .in = TALLY_F64},
                                        {.op = TALLY_ARGMAX, .in = TALLY_U8},
                                        {.op = TALLY_MINMAX, .in = TALLY_I16}};
    for (size_t c = 0; c < COUNT(cases); c++) {
        const study_request request = {.primitive = CLI_SEGMENTS, .op = cases[c].op, .dtype = cases[c].in, .n = 5000};
        run_rows(&request, NULL, tally_op_name(cases[c].op));
    }
}

int main(int argc, char **argv) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_references), cmocka_unit_test(test_rounded),
                                       cmocka_unit_test(test_ops), cmocka_unit_test(test_moves),
                                       cmocka_unit_test(test_segments)};
    setenv("TALLY_CACHE_DIR", "off", 1);
    stub_reset();
    if (tally_backend_register(&stub_backend)) return 1;
    return test_main(argc, argv, "tally study on the stub backend.", tests, COUNT(tests), NULL, NULL);
}
