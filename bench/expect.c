/* SPDX-License-Identifier: MIT */
/* expect.c: the results of reductions that input_expected does not know, by the oracle. It is
 * compiled with OpenMP: each operator is one thread's. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench.h"
#include "oracle/oracle.h"

#define PIECE_ITEMS (UINT64_C(1) << 24)

static oracle_case case_of(const bench_input *input, const bench_task *task) {
    return (oracle_case){.op = task->op, .in = input->in};
}

/* ---- computing ------------------------------------------------------------------------------- */

/* The results for one type and n, by operator. */
static struct {
    tally_dtype in;
    uint64_t n;
    int is_there[TALLY_OP_END];
    oracle_result results[TALLY_OP_END];
} kept;

static int reduce(const bench_input *input, const bench_task *task, oracle_result *out) {
    const oracle_case what = case_of(input, task);
    const size_t bytes = tally_dtype_bytes(input->in);
    oracle *state = malloc(sizeof(*state));
    if (!state) return 1;
    oracle_begin_case(state, &what);
    for (uint64_t i = 0; i < input->n; i += PIECE_ITEMS) {
        const void *at[2] = {(const char *)input->host[0] + i * bytes, (const char *)input->host[1] + i * bytes};
        oracle_push_inputs(state, at, input->n - i < PIECE_ITEMS ? input->n - i : PIECE_ITEMS);
    }
    *out = (oracle_result){{0}};
    oracle_end(state, out);
    free(state);
    return 0;
}

int expect_all(const bench_input *input, const bench_task *const *tasks, int count) {
    int failed = 0;
    if (kept.in != input->in || kept.n != input->n) {
        memset(&kept, 0, sizeof(kept));
        kept.in = input->in;
        kept.n = input->n;
    }
#pragma omp parallel for schedule(dynamic) reduction(| : failed)
    for (int t = 0; t < count; t++) {
        const tally_op op = tasks[t]->op;
        if (kept.is_there[op]) continue;
        failed |= reduce(input, tasks[t], &kept.results[op]);
        kept.is_there[op] = 1;
    }
    if (failed) fprintf(stderr, "tally_bench: out of memory\n");
    return failed;
}

/* ---- comparing ------------------------------------------------------------------------------- */

/* Returns the type of a result's parts: those of a complex number are real. */
static tally_dtype part_of(tally_dtype type) {
    return type == TALLY_C64 ? TALLY_F32 : type == TALLY_C128 ? TALLY_F64 : type;
}

static int is_near(tally_dtype part, const void *found, const void *expected, size_t bytes) {
    double largest = 0, worst = 0;
    for (size_t at = 0; at < bytes; at += tally_dtype_bytes(part)) {
        const double x = input_value(part, (const char *)found + at), y = input_value(part, (const char *)expected + at);
        if (isnan(x) != isnan(y) || isinf(x) || isinf(y)) return 0;
        if (fabs(x - y) > worst) worst = fabs(x - y);
        if (fabs(y) > largest) largest = fabs(y);
    }
    return worst <= 1e-4 * largest;
}

/* A peer's sums of floats keep few digits. */
#define PEER_TOLERANCE 0.05

int is_near_expected(const bench_input *input, const char *engine, double found) {
    const oracle_case what = case_of(input, input->task);
    if (expect_all(input, &input->task, 1)) return 0;
    const double expected = input_value(oracle_result_dtype(&what), &kept.results[input->task->op]);
    if (fabs(found - expected) <= PEER_TOLERANCE * fabs(expected)) return 1;
    fprintf(stderr, "tally_bench: %s: %s of %llu %s is %.17g: it should be %.17g\n", engine, task_name(input->task).text,
            (unsigned long long)input->n, tally_dtype_name(input->in), found, expected);
    return 0;
}

int is_expected(const bench_input *input, const char *engine, const void *value, size_t bytes) {
    const oracle_case what = case_of(input, input->task);
    const tally_dtype part = part_of(oracle_result_dtype(&what));
    if (expect_all(input, &input->task, 1)) return 0;
    const oracle_result *expected = &kept.results[input->task->op];
    if (bytes == oracle_result_bytes(&what)) {
        if (!memcmp(value, expected, bytes)) return 1;
        if (!oracle_is_exact(&what) && is_near(part, value, expected, bytes)) return 1;
    }
    fprintf(stderr, "tally_bench: %s: %s of %llu %s begins with %.17g: it should with %.17g\n", engine,
            task_name(input->task).text, (unsigned long long)input->n, tally_dtype_name(input->in), input_value(part, value),
            input_value(part, expected));
    return 0;
}
