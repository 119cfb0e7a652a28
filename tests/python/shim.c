/* SPDX-License-Identifier: MIT */
/* shim.c: the Python package's shim where memory runs out, on host memory. Python cannot make a
 * calloc fail. */
#include <stdlib.h>
#include <string.h>

#include <tally/tally.h>

#include "tests/support/test_main.h"

static int failing; /* the next calloc of the shim fails */

static void *tested_calloc(size_t count, size_t bytes) {
    if (failing) return NULL;
    return calloc(count, bytes);
}

#define calloc tested_calloc
#include "python/shim/shim.c"
#undef calloc

/* A sum of 6 items of [2, 3] along axis 1. */
typedef struct fixture {
    float items[6], sums[2];
    tally_context *context;
    tally_queue *queue;
    tally_plan *plan;
    int64_t numbers[14];
    tally_python_arrays arrays;
} fixture;

static void begin(fixture *f) {
    const tally_segments_desc desc = {.size = sizeof(desc), .by = TALLY_BY_AXES, .in = TALLY_F32, .op = TALLY_SUM};
    for (int i = 0; i < 6; i++) f->items[i] = (float)i;
    assert_int_equal(tally_context_create("host", &f->context), TALLY_OK);
    assert_int_equal(tally_queue_create(f->context, &f->queue), TALLY_OK);
    assert_int_equal(tally_segments_plan_create(f->context, &desc, &f->plan), TALLY_OK);
    const int64_t numbers[14] = {2, 3, 0, 1, (int64_t)(uintptr_t)f->items, 0, 4, 12, 4, (int64_t)(uintptr_t)f->sums,
                                 0, 4, 4, 0};
    memcpy(f->numbers, numbers, sizeof(numbers));
    f->arrays = (tally_python_arrays){
        (uintptr_t)f->context, (uintptr_t)f->plan, (uintptr_t)f->queue, TALLY_PYTHON_IN_PLACE, 2, 1, 0, 1, 0};
}

static void end(fixture *f) {
    tally_python_end_plan(&f->plan);
    tally_python_end_queue(&f->queue);
    assert_null(f->plan);
    assert_null(f->queue);
    tally_python_end_plan(&f->plan);
    tally_context_destroy(f->context);
}

static void test_no_memory(void **state) {
    (void)state;
    fixture f;
    begin(&f);
    tally_python_bound *bound = (tally_python_bound *)&f;
    tally_python_form *form = (tally_python_form *)&f;
    failing = 1;
    assert_int_equal(tally_python_bind(&f.arrays, f.numbers, &bound), TALLY_E_MEMORY);
    assert_non_null(strstr(tally_last_error(), "no host memory for a bound reduction ("));
    assert_int_equal(tally_python_form_make(&f.arrays, f.numbers, &form), TALLY_E_MEMORY);
    assert_non_null(strstr(tally_last_error(), "no host memory for a form ("));
    failing = 0;
    assert_null(bound);
    assert_null(form);
    tally_python_unbind(bound);
    tally_python_form_end(form);
    end(&f);
}

static void test_with_memory(void **state) {
    (void)state;
    fixture f;
    tally_python_bound *bound;
    tally_python_form *form;
    float other[2] = {7, 7};
    begin(&f);
    assert_int_equal(tally_python_bind(&f.arrays, f.numbers, &bound), TALLY_OK);
    assert_int_equal(tally_python_run(bound), TALLY_OK);
    assert_true(f.sums[0] == 3 && f.sums[1] == 12);
    tally_python_unbind(bound);
    assert_int_equal(tally_python_form_make(&f.arrays, f.numbers, &form), TALLY_OK);
    assert_int_equal(
        tally_python_form_run(form, (uintptr_t)f.plan, (uintptr_t)f.queue, (uintptr_t)f.items, 0, (uintptr_t)other), TALLY_OK);
    assert_true(other[0] == 3 && other[1] == 12);
    assert_int_not_equal(tally_python_form_run(form, (uintptr_t)f.plan, (uintptr_t)f.queue, 0, 0, (uintptr_t)other), TALLY_OK);
    tally_python_form_end(form);
    end(&f);
}

int main(int argc, char **argv) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_no_memory),
        cmocka_unit_test(test_with_memory),
    };
    return test_main(argc, argv, "The Python package's shim.", tests, sizeof tests / sizeof tests[0], NULL, NULL);
}
