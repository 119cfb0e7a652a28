/* SPDX-License-Identifier: MIT */
/* The forms of the benchmark's grid, on the backend host: their shapes, and that the check takes
 * right results and no others. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "bench/forms.h"
#include "tests/support/test_main.h"

#define BYTES (UINT64_C(3) << 20)

#define SHAPE_BYTES (UINT64_C(16) << 20) /* several rows of each form */

/* ---- shapes ---------------------------------------------------------------------------------- */

static void test_shapes(void **unused) {
    (void)unused;
    int cells = 0;
    for (const bench_form *form = bench_forms + 1; form->name; form++)
        for (tally_dtype in = TALLY_DTYPE_DEFAULT + 1; in < TALLY_DTYPE_END; in++)
            for (tally_op op = TALLY_OP_NONE + 1; op < TALLY_OP_END; op++) {
                bench_segments s, same;
                if (!form_takes(form, op, in)) continue;
                form_shape(form, op, in, 0, SHAPE_BYTES, &s);
                form_shape(form, op, in, s.n, 0, &same);
                assert_true(s.n == same.n && s.count == same.count && s.length == same.length && s.inner == same.inner);
                assert_true(s.n > 0 && s.count > 0);
                assert_string_equal(s.name, form->text);
                /* The largest array has nearly all of the bytes. */
                const uint64_t x = form_array_bytes(&s, ARRAY_X), out = form_array_bytes(&s, ARRAY_OUT);
                const uint64_t most = x > out ? x : out;
                if (most > SHAPE_BYTES * 3 / 2 || most < SHAPE_BYTES / 2)
                    fail_msg("%s: %s of %s: %llu bytes", form->name, tally_op_name(op), tally_dtype_name(in),
                             (unsigned long long)most);
                assert_int_equal(form_bytes(&s), x + out + form_array_bytes(&s, ARRAY_Y) + form_array_bytes(&s, ARRAY_MAP));
                assert_ptr_equal(form_task(form, op), form_task(form, op));
                cells++;
            }
    assert_true(cells > 3000);
}

/* The names are in the table once. */
static void test_names(void **unused) {
    (void)unused;
    int count = 0;
    for (const bench_form *form = bench_forms; form->name; form++, count++)
        for (const bench_form *other = bench_forms; other < form; other++) assert_string_not_equal(form->name, other->name);
    assert_int_equal(count, BENCH_FORMS);
    assert_string_equal(bench_forms[0].name, "whole");
}

/* ---- the check ------------------------------------------------------------------------------- */

/* An engine that runs another, and then changes a byte of a result. */
typedef struct spoiler {
    bench_engine ours;
    unsigned char *out;
    uint64_t at;
    int spoils;
} spoiler;

static int run_spoilt(void *state, int count) {
    const spoiler *s = state;
    const int failed = s->ours.run(s->ours.state, count);
    if (s->spoils) s->out[s->at] ^= 1;
    return failed;
}

/* An engine that does nothing. */
static int run_nothing(void *state, int count) {
    (void)state, (void)count;
    return 0;
}

typedef struct cell {
    bench_input input;
    bench_segments segments;
    tally_device_info device;
    input_items items;
    uint64_t *offsets;
} cell;

static void open_cell(cell *c, tally_context *context, const bench_form *form, tally_op op, tally_dtype in) {
    const tally_device_info *device = &c->device;
    tally_context_info info;
    memset(c, 0, sizeof(*c));
    assert_int_equal(tally_context_get_info(context, &info), TALLY_OK);
    c->device = info.device;
    form_shape(form, op, in, 0, BYTES, &c->segments);
    c->input = (bench_input){.context = context, .device = device, .form = form, .task = form_task(form, op), .in = in};
    c->input.n = c->segments.n;
    c->input.copies = 1;
    c->input.segments = &c->segments;
    assert_int_equal(input_open(&c->items, 2 * BYTES), 0);
    input_fill(&c->items, INPUT_WHOLE, in, c->segments.n, 1, 2);
    const uint64_t room = c->segments.count + 2;
    c->offsets = malloc(room * sizeof(*c->offsets));
    assert_non_null(c->offsets);
    assert_int_equal(form_fill_map(&c->segments, c->items.host[ARRAY_MAP], c->offsets, room), 0);
    for (int a = 0; a < ARRAYS; a++) {
        c->input.host[a] = c->items.host[a];
        assert_int_equal(tally_buffer_wrap_host(context, c->items.host[a], 2 * BYTES, &c->input.buffer[a]), TALLY_OK);
    }
}

static void close_cell(cell *c) {
    for (int a = 0; a < ARRAYS; a++) tally_buffer_destroy(c->input.buffer[a]);
    input_close(&c->items);
    free(c->offsets);
}

static void expect_verdict(const bench_form *form, const bench_input *input, bench_engine *engine, int is_right) {
    if ((form_check(input, engine) == 0) != is_right)
        fail_msg("%s: %s of %s: the check %s", form->name, tally_op_name(input->segments->op), tally_dtype_name(input->in),
                 is_right ? "fails" : "takes a wrong result");
}

/* The right results pass. A changed byte at either end does not, nor do results that were not
 * written. Of a scan of segments by flags the check sees the first values alone. */
static void check_cell(tally_context *context, const bench_form *form, tally_op op, tally_dtype in) {
    cell c;
    spoiler s = {.spoils = 0};
    open_cell(&c, context, form, op, in);
    const uint64_t bytes = form_array_bytes(&c.segments, ARRAY_OUT);
    bench_engine spoilt = {.name = "tally", .state = &s, .run = run_spoilt}, nothing = {.name = "tally", .run = run_nothing};
    const int ends = form->primitive == BENCH_SCAN && form->cut == CUT_LENGTHS ? 1 : 2;
    assert_int_equal(segments_ours_open(&c.input, &s.ours), 0);
    s.out = c.items.host[ARRAY_OUT];
    expect_verdict(form, &c.input, &spoilt, 1);
    s.spoils = 1;
    for (int end = 0; end < ends; end++) {
        s.at = end ? bytes - 1 : 0;
        /* The last value of a scan may be off by its rounding, which no integer is: its lowest
         * byte. A float's highest byte has the sign and the exponent. */
        if (end && form->cut == CUT_ONE && (op == TALLY_ARGMAX || in == TALLY_I8)) s.at = bytes - form_result_bytes(op, in);
        expect_verdict(form, &c.input, &spoilt, 0);
    }
    expect_verdict(form, &c.input, &nothing, 0);
    s.ours.close(s.ours.state);
    close_cell(&c);
}

static void test_check(void **unused) {
    (void)unused;
    static const struct {
        tally_op op;
        tally_dtype in;
    } cells[] = {{TALLY_SUM, TALLY_I8}, {TALLY_SUM, TALLY_C64}, {TALLY_ARGMAX, TALLY_F32}, {TALLY_MINMAX, TALLY_F16}};
    tally_context *context = NULL;
    assert_int_equal(tally_context_create("host", &context), TALLY_OK);
    for (const bench_form *form = bench_forms + 1; form->name; form++)
        for (size_t k = 0; k < sizeof(cells) / sizeof(cells[0]); k++)
            if (form_takes(form, cells[k].op, cells[k].in)) check_cell(context, form, cells[k].op, cells[k].in);
    tally_context_destroy(context);
}

/* A plan of each form is made and called. */
static void test_compile(void **unused) {
    (void)unused;
    tally_context *context = NULL;
    tally_context_info info;
    assert_int_equal(tally_context_create("host", &context), TALLY_OK);
    assert_int_equal(tally_context_get_info(context, &info), TALLY_OK);
    for (const bench_form *form = bench_forms + 1; form->name; form++) {
        bench_segments s;
        form_shape(form, TALLY_SUM, TALLY_F32, 0, UINT64_C(16) << 20, &s);
        bench_compile c = {.device = &info.device,
                           .context = context,
                           .form = form,
                           .task = form_task(form, TALLY_SUM),
                           .in = TALLY_F32,
                           .n = s.n};
        assert_int_equal(form_compile(&c), TALLY_OK);
        assert_true(c.plan_seconds > 0 && c.call_seconds > 0);
    }
    tally_context_destroy(context);
}

int main(int argc, char **argv) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_shapes), cmocka_unit_test(test_names),
                                       cmocka_unit_test(test_check), cmocka_unit_test(test_compile)};
    return test_main(argc, argv, "The forms of the grid of tally_bench, on the backend host.", tests,
                     sizeof tests / sizeof tests[0], NULL, NULL);
}
