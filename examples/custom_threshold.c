/* SPDX-License-Identifier: MIT */
/*
 * custom_threshold.c: a custom op that sums the squares above a threshold. The threshold is a
 * parameter: a new value needs no compilation.
 */
#include <stdio.h>

#include <tally/tally.h>

enum { N = 100000, THRESHOLDS = 4 };

typedef struct work {
    tally_context *context;
    tally_queue *queue;
    tally_buffer *in, *out;
    tally_custom_op *op;
    tally_plan *plan;
} work;

static tally_status run(work *w, const float *x, const double *thresholds, float *sums) {
    static const tally_op_param threshold = {.name = "threshold", .type = TALLY_F32, .value = 0};
    const tally_op_desc squares = {.size = sizeof(squares),
                                   .name = "squares above",
                                   /* -0.0 + x is x for every x, but 0.0 + -0.0 is not -0.0. */
                                   .identity = "-0.0f",
                                   .load = "x > p.threshold ? x * x : 0",
                                   .combine = "a + b",
                                   .params = &threshold,
                                   .param_count = 1};
    tally_status status = tally_context_create(NULL, &w->context);
    if (!status) status = tally_op_create(&squares, &w->op);
    const tally_reduce_desc desc = {.size = sizeof(desc), .custom = w->op, .in = TALLY_F32, .max_n = N};
    if (!status) status = tally_plan_create(w->context, &desc, &w->plan);
    if (!status) status = tally_queue_create(w->context, &w->queue);
    if (!status) status = tally_buffer_create(w->context, N * sizeof(*x), &w->in);
    if (!status) status = tally_buffer_create(w->context, THRESHOLDS * sizeof(*sums), &w->out);
    if (!status) status = tally_buffer_write(w->queue, w->in, 0, x, N * sizeof(*x));
    for (uint64_t t = 0; t < THRESHOLDS && !status; t++) {
        status = tally_plan_set_param(w->plan, "threshold", thresholds[t]);
        const tally_reduce_args args = {.size = sizeof(args), .in = {w->in}, .n = N, .out = w->out, .out_offset = t};
        if (!status) status = tally_reduce_with(w->plan, w->queue, &args);
    }
    if (!status) status = tally_buffer_read(w->queue, w->out, 0, sums, THRESHOLDS * sizeof(*sums));
    return status ? status : tally_queue_wait(w->queue);
}

int main(void) {
    static float x[N];
    static const double thresholds[THRESHOLDS] = {-1, 2, 6, 9};
    float sums[THRESHOLDS];
    work w = {0};
    for (int i = 0; i < N; i++) x[i] = (float)(i % 10);

    const tally_status status = run(&w, x, thresholds, sums);
    if (status) fprintf(stderr, "custom_threshold: %s: %s\n", tally_status_name(status), tally_last_error());
    tally_plan_destroy(w.plan);
    tally_op_destroy(w.op);
    tally_buffer_destroy(w.in);
    tally_buffer_destroy(w.out);
    tally_queue_destroy(w.queue);
    tally_context_destroy(w.context);
    if (status == TALLY_E_UNSUPPORTED) return 77; /* a device that compiles nothing */
    for (int t = 0; t < THRESHOLDS && !status; t++) printf("squares above %g: %.9g\n", thresholds[t], sums[t]);
    /* 10,000 times the squares from 0 to 9, from 3 to 9, from 7 to 9, and none. f32 holds all
     * partials exactly. */
    return !status && sums[0] == 2850000 && sums[1] == 2800000 && sums[2] == 1940000 && sums[3] == 0 ? 0 : 1;
}
