/* SPDX-License-Identifier: MIT */
/* Programs that two threads want at once: different ones are made at the same time, the same one is
 * made once. The stub's own code is never in two threads at a time: the first thread waits in
 * stub.building while the second one is there. */
#define _XOPEN_SOURCE 700
#include <pthread.h>
#include <time.h>
#include <unistd.h>

#include "core.h"

#define PATIENCE 2 /* seconds that the first thread waits for the second */

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
/* How many threads have come to build and have left; whether the first met the second. */
static int came, left, met;

typedef struct worker {
    tally_context *context;
    tally_op op;
    tally_plan *plan;
    tally_status status;
} worker;

static void *make_plan(void *data) {
    worker *w = data;
    const tally_reduce_desc desc = {.size = sizeof desc, .op = w->op, .in = TALLY_F32, .max_n = 100};
    w->status = tally_plan_create(w->context, &desc, &w->plan);
    return NULL;
}

/* Waits until `*count` is at least `least`; whether it is before the patience ends. */
static int wait_for(const int *count, int least) {
    struct timespec until;
    int timed_out = 0;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += PATIENCE;
    while (*count < least && !timed_out) timed_out = pthread_cond_timedwait(&changed, &lock, &until);
    return *count >= least;
}

/* The first thread goes on when the second has made its plan. */
static void meet(void) {
    pthread_mutex_lock(&lock);
    const int first = ++came == 1;
    pthread_cond_broadcast(&changed);
    if (first) met = wait_for(&came, 2) && wait_for(&left, 1);
    pthread_mutex_unlock(&lock);
}

/* Starts the first thread, makes the second plan once the first is being built, and ends both. */
static void make_both(worker *first, worker *second) {
    pthread_t thread;
    came = left = met = 0;
    assert_int_equal(pthread_create(&thread, NULL, make_plan, first), 0);
    pthread_mutex_lock(&lock);
    const int begun = wait_for(&came, 1);
    pthread_mutex_unlock(&lock);
    make_plan(second);
    pthread_mutex_lock(&lock);
    left++;
    pthread_cond_broadcast(&changed);
    pthread_mutex_unlock(&lock);
    pthread_join(thread, NULL);
    assert_true(begun);
    tally_plan_destroy(first->plan);
    tally_plan_destroy(second->plan);
}

/* Opens a context that has been probed, so that reductions are all that is built. */
static tally_context *open_context(void) {
    tally_context *context;
    worker w = {.op = TALLY_SUM};
    MUST(tally_context_create("stub:alpha", &context));
    w.context = context;
    make_plan(&w);
    MUST(w.status);
    tally_plan_destroy(w.plan);
    return context;
}

static void test_different(void **unused) {
    (void)unused;
    tally_context *context = open_context();
    worker max = {context, TALLY_MAX, NULL, TALLY_E_INTERNAL}, min = {context, TALLY_MIN, NULL, TALLY_E_INTERNAL};
    stub.building = meet;
    make_both(&max, &min);
    MUST(max.status);
    MUST(min.status);
    assert_int_equal(came, 2);
    if (!met) fail_msg("the second program was not begun before the first was done");
    tally_context_destroy(context);
    SOUND();
}

static int fails_first;

/* Lets the second thread come to wait for the same program. */
static void linger(void) {
    pthread_mutex_lock(&lock);
    const int first = ++came == 1;
    pthread_cond_broadcast(&changed);
    pthread_mutex_unlock(&lock);
    if (!first) return;
    nanosleep(&(struct timespec){.tv_nsec = 200000000}, NULL);
    if (fails_first) stub.fail_at = stub.calls + 1, stub.fail_with = TALLY_E_BUILD;
}

/* The second thread waits for the first one's program. If that fails, it makes its own. */
static void test_same(void **unused) {
    (void)unused;
    for (fails_first = 0; fails_first < 2; fails_first++) {
        stub_reset();
        tally_context *context = open_context();
        tally_context_info before, after;
        worker one = {context, TALLY_MAX, NULL, TALLY_E_INTERNAL}, two = one;
        MUST(tally_context_get_info(context, &before));
        stub.building = linger;
        make_both(&one, &two);
        MUST(tally_context_get_info(context, &after));
        assert_int_equal(one.status, fails_first ? TALLY_E_BUILD : TALLY_OK);
        MUST(two.status);
        assert_int_equal(came, fails_first ? 2 : 1);
        assert_int_equal(after.programs_built - before.programs_built, 1);
        assert_int_equal(after.programs_from_memory - before.programs_from_memory, fails_first ? 0 : 1);
        tally_context_destroy(context);
        SOUND();
    }
}

const core_test program_tests[] = {
    {"programs: two threads, two programs", test_different}, {"programs: two threads, one program", test_same}, {NULL, NULL}};
