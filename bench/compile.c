/* SPDX-License-Identifier: MIT */
/* compile.c: makes the plans of a grid by all cores, before anything is timed. Each is used once,
 * on few items: some drivers (POCL) compile the larger part at the first launch. The programs stay
 * with the context, so that the plans of the timed cases cost nothing. */
#define _POSIX_C_SOURCE 200809L
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "forms.h"
#include "tools/print/progress.h"
#include "tools/print/units.h"

#define MOST_THREADS 256
#define CALL_ITEMS (UINT64_C(1) << 20) /* enough for launches of the shape that large inputs have */
#define LOOK_NANOSECONDS 100000000L    /* between looks at the progress */

typedef struct compile_pool {
    bench_compile *all;
    size_t count, next, done; /* next, done: guarded by the lock */
    pthread_mutex_t lock;
    pthread_cond_t changed;
} compile_pool;

static tally_status call_once(const bench_compile *c, tally_plan *plan, tally_queue *queue, tally_buffer *in,
                              tally_buffer *out) {
    const tally_reduce_args args = {
        .size = sizeof(args), .in = {in, in}, .n = c->n < CALL_ITEMS ? c->n : CALL_ITEMS, .out = out};
    const tally_status status = tally_reduce_with(plan, queue, &args);
    return status ? status : tally_queue_wait(queue);
}

/* Makes a plan and calls it. A failure is reported by the case, which fails too. */
static void compile_one(bench_compile *c) {
    const tally_reduce_desc desc = {.size = sizeof(desc), .op = c->task->op, .in = c->in, .max_n = c->n};
    const uint64_t bytes = (c->n < CALL_ITEMS ? c->n : CALL_ITEMS) * tally_dtype_bytes(c->in);
    tally_plan *plan = NULL;
    tally_queue *queue = NULL;
    tally_buffer *in = NULL, *out = NULL;
    const double begin = units_seconds();
    c->status = tally_plan_create(c->context, &desc, &plan);
    c->plan_seconds = units_seconds() - begin;
    if (!c->status) c->status = tally_queue_create(c->context, &queue);
    if (!c->status) c->status = tally_buffer_create(c->context, bytes, &in);
    if (!c->status) c->status = tally_buffer_create(c->context, RESULT_BYTES, &out);
    const double called = units_seconds();
    if (!c->status) c->status = call_once(c, plan, queue, in, out);
    c->call_seconds = units_seconds() - called;
    tally_plan_destroy(plan);
    tally_buffer_destroy(in);
    tally_buffer_destroy(out);
    tally_queue_destroy(queue);
}

static void *work(void *data) {
    compile_pool *pool = data;
    pthread_mutex_lock(&pool->lock);
    while (pool->next < pool->count && !stop_reason()) {
        bench_compile *c = &pool->all[pool->next++];
        pthread_mutex_unlock(&pool->lock);
        if (c->form)
            c->status = form_compile(c);
        else
            compile_one(c);
        pthread_mutex_lock(&pool->lock);
        pool->done++;
        pthread_cond_signal(&pool->changed);
    }
    pthread_mutex_unlock(&pool->lock);
    return NULL;
}

/* Shows the progress until all plans are made, or all that were begun. */
static void watch(compile_pool *pool) {
    progress_begin("plans made", PROGRESS_STEPS, pool->count);
    pthread_mutex_lock(&pool->lock);
    while (pool->done < (stop_reason() ? pool->next : pool->count)) {
        struct timespec until;
        clock_gettime(CLOCK_REALTIME, &until);
        until.tv_nsec += LOOK_NANOSECONDS;
        until.tv_sec += until.tv_nsec / 1000000000L;
        until.tv_nsec %= 1000000000L;
        pthread_cond_timedwait(&pool->changed, &pool->lock, &until);
        progress_update(pool->done);
    }
    pthread_mutex_unlock(&pool->lock);
    progress_end();
}

int compile_all(bench_results *results, int threads) {
    compile_pool pool = {.all = results->compiles,
                         .count = results->compile_count,
                         .lock = PTHREAD_MUTEX_INITIALIZER,
                         .changed = PTHREAD_COND_INITIALIZER};
    pthread_t ids[MOST_THREADS];
    int count = 0;
    if (threads > MOST_THREADS) threads = MOST_THREADS;
    const double begin = units_seconds();
    while (count < threads && !pthread_create(&ids[count], NULL, work, &pool)) count++;
    if (!count) return fprintf(stderr, "tally_bench: no thread could be started\n"), 1;
    watch(&pool);
    for (int t = 0; t < count; t++) pthread_join(ids[t], NULL);
    results->compile_seconds = units_seconds() - begin;
    results->compile_threads = count;
    return 0;
}

int compile_add(bench_results *results, const bench_compile *compile) {
    bench_compile *more = realloc(results->compiles, (results->compile_count + 1) * sizeof(*more));
    if (!more) return fprintf(stderr, "tally_bench: out of memory\n"), 1;
    results->compiles = more;
    more[results->compile_count++] = *compile;
    return 0;
}

const bench_compile *compile_find(const bench_results *results, const bench_input *input) {
    for (size_t i = 0; i < results->compile_count; i++) {
        const bench_compile *c = &results->compiles[i];
        if (c->device == input->device && c->form == input->form && c->task == input->task && c->in == input->in &&
            c->n == input->n)
            return c;
    }
    return NULL;
}
