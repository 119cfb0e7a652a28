/* SPDX-License-Identifier: MIT */
/*
 * custom_likelihood.c: a custom op with two parameters. It computes the log-likelihood of a sample
 * under a normal distribution of mean mu and deviation sigma. The loop searches for the best mu:
 * one compilation, many reductions.
 */
#include <math.h>
#include <stdio.h>

#include <tally/tally.h>

enum { N = 20000, STEPS = 41 };

static const tally_op_param params[] = {{.name = "mu", .value = 0}, {.name = "sigma", .value = 1}};
static const tally_op_desc likelihood = {
    .size = sizeof(tally_op_desc),
    .name = "log-likelihood",
    .identity = "-0.0",
    .load = "-0.5 * ((x - p.mu) / p.sigma) * ((x - p.mu) / p.sigma) - log(p.sigma) - 0.91893853320467274178",
    .combine = "a + b",
    .params = params,
    .param_count = 2};

/* A feed keeps its plan, with the compiled kernels, from one reduction to the next. */
static tally_status find_best(tally_feed *feed, const double *x, double *best_mu) {
    double best = -INFINITY, found;
    tally_status status = tally_plan_set_param(tally_feed_plan(feed), "sigma", 0.5);
    for (int step = 0; step < STEPS && !status; step++) {
        const double mu = 2 + 0.05 * step;
        status = tally_plan_set_param(tally_feed_plan(feed), "mu", mu);
        if (!status) status = tally_feed_finish(feed, x, N, &found);
        if (!status && found > best) best = found, *best_mu = mu;
    }
    if (!status) printf("mu = %.2f: log-likelihood %.10g\n", *best_mu, best);
    return status;
}

int main(void) {
    static double x[N];
    /* The items are spread evenly around 3.2, as only the mean matters. */
    for (int i = 0; i < N; i++) x[i] = 3.2 + (double)(i - N / 2) / N;

    tally_context *context = NULL;
    tally_custom_op *op = NULL;
    tally_feed *feed = NULL;
    double mu = 0;
    tally_status status = tally_context_create(NULL, &context);
    if (!status) status = tally_op_create(&likelihood, &op);
    const tally_reduce_desc desc = {.size = sizeof(desc), .custom = op, .in = TALLY_F64};
    if (!status) status = tally_feed_create(context, &desc, &feed);
    if (!status) status = find_best(feed, x, &mu);
    if (status) fprintf(stderr, "custom_likelihood: %s: %s\n", tally_status_name(status), tally_last_error());
    tally_feed_destroy(feed);
    tally_op_destroy(op);
    tally_context_destroy(context);
    if (status == TALLY_E_UNSUPPORTED) return 77; /* a device without f64 */
    return !status && fabs(mu - 3.2) < 1e-9 ? 0 : 1;
}
