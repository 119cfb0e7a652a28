/* SPDX-License-Identifier: MIT */
/* expect.c: the results of reductions that input_expected does not know, by the oracle. Blocks of
 * equal items are reduced once, as a block is a subtree of the canonical order. It is compiled with
 * OpenMP: threads share out the operators and the blocks. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench.h"
#include "oracle/oracle.h"

#define BLOCK_ITEMS (UINT64_C(16) * TALLY_CHUNK_ITEMS)

static oracle_case case_of(const bench_input *input, const bench_task *task) {
    return (oracle_case){.op = task->op, .in = input->in};
}

/* ---- equal blocks ---------------------------------------------------------------------------- */

typedef struct block {
    uint64_t hash, index;
} block;

/* The whole blocks of an input. */
typedef struct block_list {
    uint64_t count, different;
    uint64_t *place; /* by block: the place in `first` of the block with its items */
    uint64_t *first; /* by place: the first of the blocks with equal items */
} block_list;

static const char *block_at(const bench_input *input, int which, uint64_t index) {
    return (const char *)input->host[which] + index * BLOCK_ITEMS * tally_dtype_bytes(input->in);
}

static uint64_t hash_of(const bench_input *input, uint64_t index, int inputs) {
    const size_t bytes = BLOCK_ITEMS * tally_dtype_bytes(input->in);
    uint64_t hash = 0;
    for (int k = 0; k < inputs; k++)
        for (size_t at = 0; at < bytes; at += sizeof(uint64_t)) {
            uint64_t word;
            memcpy(&word, block_at(input, k, index) + at, sizeof(word));
            hash = (hash ^ word) * UINT64_C(0x9e3779b97f4a7c15);
            hash ^= hash >> 29;
        }
    return hash;
}

static int are_equal(const bench_input *input, uint64_t a, uint64_t b, int inputs) {
    for (int k = 0; k < inputs; k++)
        if (memcmp(block_at(input, k, a), block_at(input, k, b), BLOCK_ITEMS * tally_dtype_bytes(input->in))) return 0;
    return 1;
}

static int by_hash(const void *a, const void *b) {
    const block *x = a, *y = b;
    if (x->hash != y->hash) return x->hash < y->hash ? -1 : 1;
    return (x->index > y->index) - (x->index < y->index);
}

static void close_blocks(block_list *list) {
    free(list->place);
    free(list->first);
    *list = (block_list){0};
}

/* Finds the blocks with equal items. Equal hashes are only a hint: items are compared. Returns 0
 * when done. */
static int find_blocks(const bench_input *input, int inputs, block_list *out) {
    const uint64_t count = out->count = input->n / BLOCK_ITEMS;
    block *sorted = malloc((count + 1) * sizeof(*sorted));
    out->place = malloc((count + 1) * sizeof(*out->place));
    out->first = malloc((count + 1) * sizeof(*out->first));
    if (!sorted || !out->place || !out->first) return free(sorted), 1;
#pragma omp parallel for schedule(dynamic)
    for (uint64_t b = 0; b < count; b++) sorted[b] = (block){hash_of(input, b, inputs), b};
    qsort(sorted, count, sizeof(*sorted), by_hash);
    /* place[b]: for now the first block of b's hash, or b itself if their items differ. */
    for (uint64_t i = 0, first = 0; i < count; i++) {
        if (sorted[i].hash != sorted[first].hash) first = i;
        out->place[sorted[i].index] = sorted[first].index;
    }
    free(sorted);
#pragma omp parallel for schedule(dynamic)
    for (uint64_t b = 0; b < count; b++)
        if (!are_equal(input, b, out->place[b], inputs)) out->place[b] = b;
    for (uint64_t b = 0; b < count; b++) {
        const uint64_t first = out->place[b];
        if (first == b) out->first[out->different] = b;
        out->place[b] = first == b ? out->different++ : out->place[first];
    }
    return 0;
}

/* ---- computing ------------------------------------------------------------------------------- */

/* The results for one type and n, by operator. */
static struct {
    tally_dtype in;
    uint64_t n;
    int is_there[TALLY_OP_END];
    oracle_result results[TALLY_OP_END];
} kept;

static void push(oracle *state, const bench_input *input, uint64_t first, uint64_t n) {
    const size_t bytes = tally_dtype_bytes(input->in);
    const void *at[2] = {(const char *)input->host[0] + first * bytes, (const char *)input->host[1] + first * bytes};
    oracle_push_inputs(state, at, n);
}

/* Reduces one block. */
static int reduce_block(const bench_input *input, const bench_task *task, uint64_t index, oracle_acc *out) {
    const oracle_case what = case_of(input, task);
    oracle *state = malloc(sizeof(*state));
    if (!state) return 1;
    oracle_begin_case(state, &what);
    push(state, input, index * BLOCK_ITEMS, BLOCK_ITEMS);
    oracle_get_partial(state, out);
    free(state);
    return 0;
}

/* Joins all blocks, and reduces the items after them. */
static int join_blocks(const bench_input *input, const bench_task *task, const block_list *list, const oracle_acc *partials) {
    const oracle_case what = case_of(input, task);
    oracle *state = malloc(sizeof(*state));
    if (!state) return 1;
    oracle_begin_case(state, &what);
    for (uint64_t b = 0; b < list->count; b++) oracle_push_partial(state, &partials[list->place[b]], BLOCK_ITEMS);
    push(state, input, list->count * BLOCK_ITEMS, input->n % BLOCK_ITEMS);
    memset(&kept.results[task->op], 0, sizeof(kept.results[0]));
    oracle_end(state, &kept.results[task->op]);
    kept.is_there[task->op] = 1;
    free(state);
    return 0;
}

static int reduce_all(const bench_input *input, const bench_task *const *tasks, int count, const block_list *list) {
    const uint64_t different = list->different, pairs = different * (uint64_t)count;
    oracle_acc *partials = malloc((pairs + 1) * sizeof(*partials));
    int failed = !partials;
#pragma omp parallel for schedule(dynamic) reduction(| : failed)
    for (uint64_t p = 0; p < (failed ? 0 : pairs); p++)
        failed |= reduce_block(input, tasks[p / different], list->first[p % different], &partials[p]);
        /* A partial's indices count from its block's first item: equal blocks share a partial. */
#pragma omp parallel for schedule(dynamic) reduction(| : failed)
    for (int t = 0; t < (failed ? 0 : count); t++)
        failed |= join_blocks(input, tasks[t], list, partials + (uint64_t)t * different);
    free(partials);
    return failed;
}

int expect_all(const bench_input *input, const bench_task *const *tasks, int count) {
    const bench_task *missing[TALLY_OP_END];
    int missing_count = 0, inputs = 1;
    if (kept.in != input->in || kept.n != input->n) {
        memset(&kept, 0, sizeof(kept));
        kept.in = input->in;
        kept.n = input->n;
    }
    for (int t = 0; t < count; t++) {
        if (kept.is_there[tasks[t]->op]) continue;
        missing[missing_count++] = tasks[t];
        if (tally_op_inputs(tasks[t]->op) > 1) inputs = 2;
    }
    if (!missing_count) return 0;
    block_list list = {0};
    const int failed = find_blocks(input, inputs, &list) || reduce_all(input, missing, missing_count, &list);
    close_blocks(&list);
    if (failed) fprintf(stderr, "tally_bench: out of memory\n");
    return failed;
}

const void *expect_result_of(const bench_task *task) {
    return &kept.results[task->op];
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
    /* Of a complex number peers give the real part. */
    const double expected = input_value(part_of(oracle_result_dtype(&what)), &kept.results[input->task->op]);
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
