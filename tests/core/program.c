/* SPDX-License-Identifier: MIT */
/* Programs that two threads want at once: different ones are made at the same time, the same one is
 * made once. The stub's own code is never in two threads at a time: the first thread waits in
 * stub.building while the second one is there. */
#define _XOPEN_SOURCE 700
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/pool.h"
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

/* ---- several programs at once ---------------------------------------------------------------- */

#define SLOTS 3

/* A backend whose compiler may be in several threads, unlike the stub's. A program is the number
 * that its text defines as SLOT; numbers from `first_broken` on are refused. Number 0 waits for a
 * second thread if `meets`. */
static int first_broken, meets;
static pthread_t makers[SLOTS];

static tally_status make_number(void *device, const tally_program_desc *desc, void **out) {
    (void)device;
    if (desc->form != TALLY_PROGRAM_SOURCE) return TALLY_E_UNSUPPORTED;
    const char *defined = strstr(desc->data, "#define SLOT ");
    const int number = defined ? atoi(defined + strlen("#define SLOT ")) : SLOTS;
    if (number >= SLOTS) return tally_fail(TALLY_E_INTERNAL, "the text of no slot");
    makers[number] = pthread_self();
    pthread_mutex_lock(&lock);
    came++;
    pthread_cond_broadcast(&changed);
    if (meets && number == 0) met = wait_for(&came, 2);
    pthread_mutex_unlock(&lock);
    *out = &makers[number];
    return number < first_broken ? TALLY_OK : tally_fail(TALLY_E_BUILD, "slot %d is broken", number);
}

static void close_number(void *device, void *program) {
    (void)device;
    (void)program;
}

/* Gets the programs of three slots. Returns the status. */
static tally_status get_slots(tally_context *context, tally_program_slot *slots, int broken, const char *most_threads) {
    tally_reduce_desc desc = {.size = sizeof desc, .op = TALLY_SUM, .in = TALLY_F32, .max_n = 100};
    tally_terms terms;
    tally_launch launch;
    uint32_t threads = 1;
    setenv("TALLY_THREADS", most_threads, 1);
    first_broken = broken;
    came = met = 0;
    meets = !tally_pool_threads(&threads) && threads > 1;
    MUST(tally_reduce_resolve(&context->info, NULL, &desc, &terms, &launch));
    for (unsigned i = 0; i < SLOTS; i++) {
        slots[i] = (tally_program_slot){.recipe = tally_launch_recipe(&launch)};
        tally_recipe_define(&slots[i].recipe, "SLOT", i);
    }
    const tally_status status = tally_programs_get(context, &terms, slots, SLOTS);
    tally_terms_close(&terms);
    unsetenv("TALLY_THREADS");
    return status;
}

/* Opens a context whose programs are numbers from now on. */
static tally_context *open_numbers(tally_backend *numbers) {
    tally_context *context = open_context();
    *numbers = *context->backend;
    numbers->program_create = make_number;
    numbers->program_close = close_number;
    context->backend = numbers;
    return context;
}

/* Closes the numbers, then the stub's own programs by the stub. */
static void close_numbers(tally_context *context) {
    tally_program **at = &context->programs;
    while (*at) {
        tally_program *program = *at;
        const char *handle = program->handle;
        if (handle < (const char *)makers || handle >= (const char *)(makers + SLOTS)) {
            at = &program->next;
        } else {
            *at = program->next;
            free(program);
        }
    }
    context->backend = &stub_backend;
    tally_context_destroy(context);
    SOUND();
}

/* Two threads compile at the same time, and each slot has its own program. */
static void test_several(void **unused) {
    (void)unused;
    tally_backend numbers;
    tally_program_slot slots[SLOTS];
    tally_context *context = open_numbers(&numbers);
    MUST(get_slots(context, slots, SLOTS, "2"));
    for (int i = 0; i < SLOTS; i++) assert_ptr_equal(slots[i].program, &makers[i]);
    if (meets && !met) fail_msg("no second thread compiled");
    const uint64_t found = context->from_memory;
    MUST(get_slots(context, slots, 0, "2")); /* nothing is compiled, so nothing is broken */
    assert_int_equal(context->from_memory - found, SLOTS);
    close_numbers(context);
}

/* The caller has the error of the first slot that failed, in whichever thread. A later call finds
 * the programs that were good. */
static void test_several_broken(void **unused) {
    (void)unused;
    for (int broken = 0; broken < SLOTS; broken++) {
        char says[32];
        tally_backend numbers;
        tally_program_slot slots[SLOTS];
        tally_context *context = open_numbers(&numbers);
        snprintf(says, sizeof says, "slot %d is broken", broken);
        assert_int_equal(get_slots(context, slots, broken, "2"), TALLY_E_BUILD);
        assert_string_equal(tally_last_error(), says);
        assert_true(!meets || broken < SLOTS - 1 || !pthread_equal(makers[broken], pthread_self()));
        const uint64_t found = context->from_memory;
        MUST(get_slots(context, slots, SLOTS, "2"));
        assert_int_equal(context->from_memory - found, broken);
        close_numbers(context);
    }
}

/* One thread compiles by TALLY_THREADS=1, and where TALLY_THREADS is wrong. */
static void test_several_alone(void **unused) {
    static const char *const most[] = {"1", "many"};
    (void)unused;
    for (size_t i = 0; i < TALLY_ARRAY_LENGTH(most); i++) {
        tally_backend numbers;
        tally_program_slot slots[SLOTS];
        tally_context *context = open_numbers(&numbers);
        MUST(get_slots(context, slots, SLOTS, most[i]));
        for (int s = 0; s < SLOTS; s++) assert_true(pthread_equal(makers[s], pthread_self()));
        close_numbers(context);
    }
}

const core_test program_tests[] = {{"programs: two threads, two programs", test_different},
                                   {"programs: two threads, one program", test_same},
                                   {"programs: several at once", test_several},
                                   {"programs: several at once, some broken", test_several_broken},
                                   {"programs: several, one thread", test_several_alone},
                                   {NULL, NULL}};
