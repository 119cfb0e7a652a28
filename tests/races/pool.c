/* SPDX-License-Identifier: MIT */
/*
 * pool: the backend `host` under ThreadSanitizer. The core and the backend are compiled with it;
 * the programs of the ops are not. Jobs of many sizes run at once from several threads of the
 * application, which also lets the pool's threads fall asleep between them. Every result must have
 * the bits of the same work in one thread.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <tally/tally.h>

#include "base/pool.h"

#define CALLERS 3
#define ROUNDS 6
enum { MOST = 40 * 4096 + 77, SMALL = 5000 };

static void fail(const char *what) {
    fprintf(stderr, "pool: %s: %s\n", what, tally_last_error());
    exit(1);
}
#define MUST(call)                                                                                                             \
    do                                                                                                                         \
        if (call) fail(#call);                                                                                                 \
    while (0)

/* ---- the pool alone -------------------------------------------------------------------------- */

typedef struct job {
    uint64_t sums[64]; /* one for each worker, written without atomics */
    atomic_uint_fast64_t begun;
} job;

/* Waits for the group before it, as the groups of a scan do. */
static void add_group(void *opaque, uint64_t group, uint32_t worker) {
    job *j = opaque;
    while (atomic_load(&j->begun) != group) sched_yield();
    j->sums[worker] += group + 1;
    atomic_store(&j->begun, group + 1);
}

/* A group of a job that has no order. */
static void add_any(void *opaque, uint64_t group, uint32_t worker) {
    job *j = opaque;
    j->sums[worker] += group + 1;
    if (group % 7 == 0) sched_yield(); /* others help with the rest of the share */
}

static void try_jobs(unsigned seed) {
    for (uint64_t groups = 0; groups < 40; groups = groups * 2 + 1)
        for (int kind = 0; kind < 3; kind++) {
            job j = {.sums = {0}};
            uint64_t sum = 0;
            const uint32_t threads = 1 + (seed + (unsigned)groups) % 5;
            if (kind == 0) tally_pool_run_in_order(threads, groups, add_group, &j);
            if (kind == 1) tally_pool_run(threads, groups, add_any, &j);
            if (kind == 2) tally_pool_run_briefly(threads, groups, add_any, &j);
            for (int w = 0; w < 64; w++) sum += j.sums[w];
            if (sum != groups * (groups + 1) / 2) fail("groups were lost, or ran twice");
        }
}

/* ---- plans on the device --------------------------------------------------------------------- */

static float items[MOST];

typedef struct made {
    float sum;
    uint64_t index;
    float scanned[MOST], reversed[MOST], gathered[SMALL];
} made;

typedef struct work {
    tally_context *context;
    tally_queue *queue;
    tally_buffer *in, *out;
} work;

static void reduce(const work *w, tally_op op, uint64_t n, void *result, uint64_t bytes) {
    const tally_reduce_desc desc = {.size = sizeof desc, .op = op, .in = TALLY_F32, .max_n = MOST};
    tally_plan *plan;
    MUST(tally_plan_create(w->context, &desc, &plan));
    MUST(tally_reduce(plan, w->queue, w->in, n, w->out));
    MUST(tally_buffer_read(w->queue, w->out, 0, result, bytes));
    tally_plan_destroy(plan);
}

/* In place, so that a group that runs ahead would destroy what another reads. */
static void scan(const work *w, uint32_t flags, uint64_t n, float *values) {
    const tally_scan_desc desc = {.size = sizeof desc, .op = TALLY_SUM, .in = TALLY_F32, .flags = flags, .max_n = MOST};
    tally_plan *plan;
    MUST(tally_scan_plan_create(w->context, &desc, &plan));
    MUST(tally_buffer_write(w->queue, w->out, 0, items, n * sizeof(float)));
    MUST(tally_scan(plan, w->queue, w->out, n, w->out));
    MUST(tally_buffer_read(w->queue, w->out, 0, values, n * sizeof(float)));
    tally_plan_destroy(plan);
}

static void gather(const work *w, float *values) {
    static uint32_t map[SMALL];
    const tally_move_desc desc = {.size = sizeof desc, .item_bytes = 4, .map = TALLY_U32, .max_n = SMALL};
    tally_plan *plan;
    tally_buffer *entries;
    MUST(tally_gather_plan_create(w->context, &desc, &plan));
    MUST(tally_buffer_create(w->context, sizeof map, &entries));
    uint32_t own[SMALL];
    for (uint32_t i = 0; i < SMALL; i++) own[i] = i * 7919 % SMALL;
    MUST(tally_buffer_write(w->queue, entries, 0, own, sizeof own));
    const tally_move_args args = {.size = sizeof args, .map = entries, .n = SMALL, .in = w->in, .out = w->out, .items = SMALL};
    MUST(tally_gather(plan, w->queue, &args));
    MUST(tally_buffer_read(w->queue, w->out, 0, values, SMALL * sizeof(float)));
    tally_plan_destroy(plan);
    tally_buffer_destroy(entries);
}

static void make(made *m) {
    work w;
    MUST(tally_context_create("host", &w.context));
    MUST(tally_queue_create(w.context, &w.queue));
    MUST(tally_buffer_wrap_host(w.context, items, sizeof items, &w.in));
    MUST(tally_buffer_create(w.context, sizeof items, &w.out));
    reduce(&w, TALLY_SUM, MOST, &m->sum, sizeof m->sum);
    reduce(&w, TALLY_ARGMAX, MOST, &m->index, sizeof m->index);
    scan(&w, 0, MOST, m->scanned);
    scan(&w, TALLY_EXCLUSIVE | TALLY_REVERSE, MOST, m->reversed);
    gather(&w, m->gathered);
    tally_buffer_destroy(w.in);
    tally_buffer_destroy(w.out);
    tally_queue_destroy(w.queue);
    tally_context_destroy(w.context);
}

static made expected;

static void *call(void *number) {
    made *m = calloc(1, sizeof *m);
    for (unsigned round = 0; m && round < ROUNDS; round++) {
        try_jobs(round + (unsigned)(uintptr_t)number);
        memset(m, 0, sizeof *m);
        make(m);
        if (memcmp(m, &expected, sizeof *m) != 0) fail("other bits than in one thread");
        if (round % 3 == 2) usleep(20000); /* the pool's threads fall asleep */
    }
    free(m);
    return NULL;
}

int main(int argc, char **argv) {
    if (argc > 1) return fprintf(stderr, "%s takes no argument\n", argv[0]), 2;
    pthread_t threads[CALLERS];
    for (int i = 0; i < MOST; i++) items[i] = (float)(i * 7919 % 1013) / 1013.0f;
    setenv("TALLY_CACHE_DIR", "off", 1);
    setenv("TALLY_THREADS", "1", 1);
    make(&expected);
    unsetenv("TALLY_THREADS");
    for (uintptr_t t = 0; t < CALLERS; t++) pthread_create(&threads[t], NULL, call, (void *)t);
    for (int t = 0; t < CALLERS; t++) pthread_join(threads[t], NULL);
    printf("pool: %d callers, %d rounds each\n", CALLERS, ROUNDS);
    return 0;
}
