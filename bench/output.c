/* SPDX-License-Identifier: MIT */
/* output.c: checks the outputs of scans, gathers, scatters and copies, item by item. It is compiled
 * with OpenMP. */
#include <stdio.h>
#include <string.h>

#include "bench.h"

#define BLOCKS 1024
#define ALL_RIGHT UINT64_MAX

/* ---- between the device and the host --------------------------------------------------------- */

/* Transfers an array. A device that reads the host's memory in place already has ARRAY_OUT. */
static int transfer(const bench_input *in, tally_status (*enqueue)(const bench_input *in, tally_queue *queue)) {
    tally_queue *queue = NULL;
    if (in->device->host_memory) return 0;
    tally_status status = tally_queue_create(in->context, &queue);
    if (!status) status = enqueue(in, queue);
    if (!status) status = tally_queue_wait(queue);
    tally_queue_destroy(queue);
    return status ? fprintf(stderr, "tally_bench: %s\n", tally_last_error()), 1 : 0;
}

static tally_status send_out(const bench_input *in, tally_queue *queue) {
    return tally_buffer_write(queue, in->buffer[ARRAY_OUT], 0, in->host[ARRAY_OUT], array_bytes(ARRAY_OUT, in->in, in->n));
}

static tally_status fetch_out(const bench_input *in, tally_queue *queue) {
    return tally_buffer_read(queue, in->buffer[ARRAY_OUT], 0, in->host[ARRAY_OUT], array_bytes(ARRAY_OUT, in->in, in->n));
}

/* Fills all bytes with 0x7f: 127 as i8, NaN as f16. This is not a fraction, nor a running sum or
 * extreme of a walk. */
int output_poison(const bench_input *in) {
    const uint64_t bytes = array_bytes(ARRAY_OUT, in->in, in->n);
    unsigned char *out = in->host[ARRAY_OUT];
#pragma omp parallel for schedule(static)
    for (uint64_t i = 0; i < bytes; i++) out[i] = 0x7f;
    return transfer(in, send_out);
}

/* ---- expected outputs ------------------------------------------------------------------------ */

static int64_t combine(tally_op op, int64_t a, int64_t b) {
    return op == TALLY_SUM ? a + b : op == TALLY_MIN ? (a < b ? a : b) : (a > b ? a : b);
}

static int64_t identity(tally_op op) {
    return op == TALLY_SUM ? 0 : op == TALLY_MIN ? INT64_MAX : INT64_MIN;
}

static double item_at(const bench_input *in, int which, uint64_t i) {
    return input_value(in->in, (const char *)in->host[which] + i * tally_dtype_bytes(in->in));
}

/* Scans items [begin, end). `before` is the op's result of the items before them. Returns the
 * result of all. *wrong becomes the first place where the output differs, unless it has an earlier
 * one. With `wrong` = NULL the output is not compared. */
static int64_t scan_block(const bench_input *in, uint64_t begin, uint64_t end, int64_t before, uint64_t *wrong) {
    for (uint64_t i = begin; i < end; i++) {
        before = combine(in->task->op, before, (int64_t)item_at(in, ARRAY_X, i));
        if (wrong && item_at(in, ARRAY_OUT, i) != (double)before && i < *wrong) *wrong = i;
    }
    return before;
}

static uint64_t bound(const bench_input *in, uint64_t block) {
    const uint64_t items = in->n / BLOCKS + 1;
    return block * items < in->n ? block * items : in->n;
}

/* Finds the first wrong item, in blocks: first each block's aggregate, then its exclusive prefix,
 * then each item. */
static uint64_t wrong_scan(const bench_input *in) {
    int64_t before[BLOCKS + 1];
    uint64_t wrong = ALL_RIGHT;
    const tally_op op = in->task->op;
    before[0] = identity(op);
#pragma omp parallel for schedule(static)
    for (uint64_t b = 0; b < BLOCKS; b++) before[b + 1] = scan_block(in, bound(in, b), bound(in, b + 1), identity(op), NULL);
    for (int b = 0; b < BLOCKS; b++) before[b + 1] = combine(op, before[b], before[b + 1]);
#pragma omp parallel for schedule(static) reduction(min : wrong)
    for (uint64_t b = 0; b < BLOCKS; b++) scan_block(in, bound(in, b), bound(in, b + 1), before[b], &wrong);
    return wrong;
}

/* Finds the first wrong item of a move; items are compared by their bits. */
static uint64_t wrong_move(const bench_input *in, int is_copy) {
    const uint32_t *map = in->host[ARRAY_MAP];
    const size_t bytes = tally_dtype_bytes(in->in);
    const char *x = in->host[ARRAY_X], *out = in->host[ARRAY_OUT];
    const int is_gather = in->task->primitive == BENCH_GATHER;
    uint64_t wrong = ALL_RIGHT;
#pragma omp parallel for schedule(static) reduction(min : wrong)
    for (uint64_t i = 0; i < in->n; i++) {
        const uint64_t from = is_copy || !is_gather ? i : map[i], to = is_copy || is_gather ? i : map[i];
        if (memcmp(out + to * bytes, x + from * bytes, bytes) && to < wrong) wrong = to;
    }
    return wrong;
}

uint64_t output_wrong(const bench_input *in, int is_copy) {
    return in->task->primitive == BENCH_SCAN && !is_copy ? wrong_scan(in) : wrong_move(in, is_copy);
}

int output_check(const bench_input *in, const char *engine, int is_copy) {
    if (transfer(in, fetch_out)) return 1;
    const uint64_t wrong = output_wrong(in, is_copy);
    if (wrong == ALL_RIGHT) return 0;
    fprintf(stderr, "tally_bench: %s: %s of %llu %s: item %llu is %.17g, and should not be\n", engine, task_name(in->task).text,
            (unsigned long long)in->n, tally_dtype_name(in->in), (unsigned long long)wrong, item_at(in, ARRAY_OUT, wrong));
    return 1;
}

/* ---- hashes ---------------------------------------------------------------------------------- */

/* Hashes each item with its place, so that cores can share the work. The hash is the finaliser of
 * splitmix64. */
int output_hash(const bench_input *in, uint64_t *hash) {
    const size_t bytes = tally_dtype_bytes(in->in);
    const char *out = in->host[ARRAY_OUT];
    uint64_t sum = 0;
    if (transfer(in, fetch_out)) return 1;
#pragma omp parallel for schedule(static) reduction(+ : sum)
    for (uint64_t i = 0; i < in->n; i++) {
        uint64_t x = 0;
        memcpy(&x, out + i * bytes, bytes);
        x += (i + 1) * UINT64_C(0x9e3779b97f4a7c15);
        x = (x ^ x >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
        x = (x ^ x >> 27) * UINT64_C(0x94d049bb133111eb);
        sum += x ^ x >> 31;
    }
    *hash = sum;
    return 0;
}
