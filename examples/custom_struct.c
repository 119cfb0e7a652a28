/* SPDX-License-Identifier: MIT */
/*
 * custom_struct.c: a custom op whose accumulator is a struct of three fields, each with its own
 * type. It computes the mean of a column of readings without the largest one, which is always
 * wrong. Negative readings mean "none" and are left out.
 */
#include <math.h>
#include <stdio.h>

#include <tally/tally.h>

enum { N = 100000 };

static const tally_op_field fields[] = {
    {.name = "sum", .type = TALLY_I64, .identity = "0", .load = "x < 0 ? 0 : x", .combine = "a.sum + b.sum"},
    {.name = "count", .type = TALLY_U32, .identity = "0", .load = "x >= 0", .combine = "a.count + b.count"},
    {.name = "largest",
     .type = TALLY_I32,
     .identity = "0",
     .load = "x < 0 ? 0 : x",
     .combine = "a.largest > b.largest ? a.largest : b.largest"},
};

int main(void) {
    static int32_t x[N];
    for (int i = 0; i < N; i++) x[i] = i % 5 == 4 ? -1 : 100 + i % 5; /* 100 101 102 103 none */
    x[777] = 2000000000;

    const tally_op_desc op_desc = {.size = sizeof(op_desc),
                                   .name = "mean but the largest",
                                   .fields = fields,
                                   .field_count = 3,
                                   .finish = "a.count > 1 ? (f32)(a.sum - a.largest) / (f32)(a.count - 1) : NAN",
                                   .out = TALLY_F32,
                                   .exact = 1};
    tally_context *context = NULL;
    tally_custom_op *op = NULL;
    float mean = 0;
    tally_status status = tally_context_create(NULL, &context);
    if (!status) status = tally_op_create(&op_desc, &op);
    const tally_reduce_desc desc = {.size = sizeof(desc), .custom = op, .in = TALLY_I32};
    const void *const inputs[] = {x};
    if (!status) status = tally_reduce_host_inputs(context, &desc, inputs, N, &mean);
    if (status) fprintf(stderr, "custom_struct: %s: %s\n", tally_status_name(status), tally_last_error());
    tally_op_destroy(op);
    tally_context_destroy(context);
    if (status == TALLY_E_UNSUPPORTED) return 77; /* a device that compiles nothing */
    printf("the mean is %.9g\n", mean);
    /* 20,000 of each of four readings, without the 102 that x[777] replaces. */
    const double expected = (20000.0 * (100 + 101 + 102 + 103) - 102) / (4 * 20000 - 1);
    return !status && fabs(mean - expected) < 1e-4 ? 0 : 1;
}
