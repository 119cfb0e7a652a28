/* SPDX-License-Identifier: MIT */
/*
 * custom_argmax.c: a custom op with two results: the largest |x|, and the first index of it. (The
 * op iamax gives the index alone, and reports the place of a NaN.) The index is an integer though
 * the items are floats.
 */
#include <inttypes.h>
#include <stdio.h>

#include <tally/tally.h>

enum { N = 1000000 };

/* Laid out as the results are: a C struct of them. */
typedef struct largest {
    float size;
    uint64_t index;
} largest;

static const tally_op_field fields[] = {
    {.name = "size", .type = TALLY_F32, .identity = "-1", .load = "fabs(x)", .combine = "farther ? b.size : a.size"},
    {.name = "index", .type = TALLY_U64, .identity = "~(u64)0", .load = "i", .combine = "farther ? b.index : a.index"},
};
/* True if b replaces a. combine may get any two accumulators, so the index decides between
 * equals. */
static const tally_op_let lets[] = {
    {.name = "farther",
     .part = TALLY_PART_COMBINE,
     .type = TALLY_I32,
     .value = "b.size > a.size || (b.size == a.size && b.index < a.index)"},
};
static const tally_op_result results[] = {
    {.name = "size", .type = TALLY_F32, .finish = "a.size"},
    {.name = "index", .type = TALLY_U64, .finish = "a.index"},
};

int main(void) {
    static float x[N];
    for (int i = 0; i < N; i++) x[i] = (float)(i % 1000) - 500;
    x[700000] = 1234;
    x[123456] = -1234;

    const tally_op_desc op_desc = {.size = sizeof(op_desc),
                                   .name = "argmax of |x|",
                                   .fields = fields,
                                   .field_count = 2,
                                   .results = results,
                                   .result_count = 2,
                                   .lets = lets,
                                   .let_count = 1,
                                   .exact = 1}; /* the bits do not depend on the order */
    tally_context *context = NULL;
    tally_custom_op *op = NULL;
    largest found = {0, 0};
    tally_status status = tally_context_create(NULL, &context);
    if (!status) status = tally_op_create(&op_desc, &op);
    const tally_reduce_desc desc = {.size = sizeof(desc), .custom = op, .in = TALLY_F32};
    const void *const inputs[] = {x};
    if (!status) status = tally_reduce_host_inputs(context, &desc, inputs, N, &found);
    if (status) fprintf(stderr, "custom_argmax: %s: %s\n", tally_status_name(status), tally_last_error());
    tally_op_destroy(op);
    tally_context_destroy(context);
    if (status == TALLY_E_UNSUPPORTED) return 77; /* a device that compiles nothing */
    printf("the largest |x| is %g, at %" PRIu64 "\n", found.size, found.index);
    return !status && found.size == 1234 && found.index == 123456 ? 0 : 1;
}
