/* SPDX-License-Identifier: MIT */
/*
 * custom_weighted_mean.c: a custom op over two inputs. It computes the mean of x with the weights
 * y. Its accumulator has two fields.
 */
#include <math.h>
#include <stdio.h>

#include <tally/tally.h>

enum { N = 100000 };

static const tally_op_field fields[] = {
    {.name = "sum", .identity = "-0.0f", .load = "x * y", .combine = "a.sum + b.sum"},
    {.name = "weight", .identity = "-0.0f", .load = "y", .combine = "a.weight + b.weight"},
};

static tally_status weighted_mean(tally_context *context, const float *x, const float *weights, uint64_t n, float *mean) {
    const tally_op_desc op_desc = {.size = sizeof(op_desc),
                                   .name = "weighted mean",
                                   .inputs = 2,
                                   .fields = fields,
                                   .field_count = 2,
                                   .finish = "a.sum / a.weight",
                                   .empty = "NAN"};
    tally_custom_op *op = NULL;
    tally_status status = tally_op_create(&op_desc, &op);
    const tally_reduce_desc desc = {.size = sizeof(desc), .custom = op, .in = TALLY_F32};
    const void *const inputs[] = {x, weights};
    if (!status) status = tally_reduce_host_inputs(context, &desc, inputs, n, mean);
    tally_op_destroy(op);
    return status;
}

int main(void) {
    static float x[N], weights[N];
    for (int i = 0; i < N; i++) {
        x[i] = (float)(i % 4);
        weights[i] = i % 4 == 3 ? 2.0f : 1.0f;
    }
    tally_context *context = NULL;
    float mean = 0, none = 0;
    tally_status status = tally_context_create(NULL, &context);
    if (!status) status = weighted_mean(context, x, weights, N, &mean);
    if (!status) status = weighted_mean(context, x, weights, 0, &none);
    if (status) fprintf(stderr, "custom_weighted_mean: %s: %s\n", tally_status_name(status), tally_last_error());
    tally_context_destroy(context);
    if (status == TALLY_E_UNSUPPORTED) return 77; /* a device that compiles nothing */
    printf("weighted mean %.9g, of nothing %g\n", mean, none);
    /* (0 + 1 + 2 + 2 * 3) / (1 + 1 + 1 + 2) */
    return !status && mean == 1.8f && isnan(none) ? 0 : 1;
}
