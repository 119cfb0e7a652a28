/* SPDX-License-Identifier: MIT */
/* Contexts that threads share. Each thread has its own plans and queues. Plans are created from any
 * thread. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "conformance.h"
#include "oracle/oracle.h"
#include "oracle/patterns.h"

#define THREADS 4
#define MAX_N UINT64_C(70001)

/* A thread must not leave its function by cmocka's longjmp. It reports here, and the main thread
 * fails. */
typedef struct worker {
    pthread_t thread;
    const char *select;     /* selection for a context of its own */
    tally_context *context; /* shared context */
    int index, rounds;
    char failure[512];
} worker;

static int good(worker *w, tally_status status, const char *what) {
    if (status == TALLY_OK) return 1;
    if (!w->failure[0])
        snprintf(w->failure, sizeof w->failure, "thread %d: %s: %s: %s", w->index, what, tally_status_name(status),
                 tally_last_error());
    return 0;
}

/* Every thread reduces other items, of other lengths, with another op first. */
static int reduce_once(worker *w, int round, const void *items, tally_op op, tally_dtype in, uint64_t n) {
    const size_t bytes = tally_dtype_bytes(in), result_bytes = tally_dtype_bytes(tally_result_dtype(op, in));
    tally_plan *plan = NULL;
    tally_queue *queue = NULL;
    tally_buffer *from = NULL, *to = NULL;
    oracle_result result = {{0}}, expected = {{0}};
    const tally_reduce_desc desc = {.size = sizeof desc, .op = op, .in = in, .max_n = MAX_N};
    int done = good(w, tally_plan_create(w->context, &desc, &plan), "tally_plan_create") &&
               good(w, tally_queue_create(w->context, &queue), "tally_queue_create") &&
               good(w, tally_buffer_create(w->context, n * bytes, &from), "tally_buffer_create") &&
               good(w, tally_buffer_create(w->context, result_bytes, &to), "tally_buffer_create") &&
               good(w, tally_buffer_write(queue, from, 0, items, n * bytes), "tally_buffer_write");
    for (int again = 0; done && again < 5; again++)
        done = good(w, tally_reduce(plan, queue, from, n, to), "tally_reduce") &&
               good(w, tally_buffer_read(queue, to, 0, &result, result_bytes), "tally_buffer_read") &&
               good(w, tally_queue_wait(queue), "tally_queue_wait");
    tally_plan_destroy(plan);
    tally_queue_destroy(queue);
    tally_buffer_destroy(from);
    tally_buffer_destroy(to);
    oracle_reduce(op, in, items, n, &expected);
    if (done && memcmp(&result, &expected, sizeof result) != 0)
        snprintf(w->failure, sizeof w->failure, "thread %d, round %d: %s %s is 0x%llx, should be 0x%llx", w->index, round,
                 tally_op_name(op), tally_dtype_name(in), (unsigned long long)result.u64, (unsigned long long)expected.u64);
    return !w->failure[0];
}

static void *work(void *data) {
    worker *w = data;
    static const tally_op ops[] = {TALLY_SUM, TALLY_ARGMIN, TALLY_MAX};
    static const tally_dtype types[] = {TALLY_F32, TALLY_I32, TALLY_U64};
    void *items = malloc(MAX_N * 8);
    for (int round = 0; items && round < w->rounds; round++) {
        const tally_op op = ops[(round + w->index) % 3];
        const tally_dtype in = types[(round / 3 + w->index) % 3];
        const uint64_t n = MAX_N - (uint64_t)(1000 * w->index + round);
        pattern_fill(PATTERN_WIDE, in, items, n);
        if (!reduce_once(w, round, items, op, in, n)) break;
    }
    if (!items) snprintf(w->failure, sizeof w->failure, "no memory");
    free(items);
    return NULL;
}

static void run_threads(tally_context *context, int threads, int rounds) {
    worker workers[THREADS] = {0};
    for (int t = 0; t < threads; t++) {
        workers[t] = (worker){.context = context, .index = t, .rounds = rounds};
        assert_int_equal(pthread_create(&workers[t].thread, NULL, work, &workers[t]), 0);
    }
    for (int t = 0; t < threads; t++) pthread_join(workers[t].thread, NULL);
    for (int t = 0; t < threads; t++)
        if (workers[t].failure[0]) fail_msg("%s", workers[t].failure);
}

static void test_two_threads(void **state) {
    const place *at = *state;
    if (!at->context) fail_msg("%s did not open: %s", at->select, at->error);
    run_threads(at->context, 2, 18);
}

/* A context without programs. Four threads ask for the same programs at once. */
static void test_plans_from_four_threads(void **state) {
    const place *at = *state;
    tally_context *context;
    tally_context_info info;
    MUST(tally_context_create(at->select, &context));
    run_threads(context, THREADS, 9);
    MUST(tally_context_get_info(context, &info));
    tally_context_destroy(context);
    /* Three ops by three types. Each program is made once, however many threads ask for it. */
    assert_int_equal(info.programs_built + info.programs_prebuilt + info.programs_from_disk, 9);
    assert_int_equal(info.programs_from_memory, THREADS * 9 - 9);
}

/* Threads open contexts of their own at once. */
static void *open_and_work(void *data) {
    worker *w = data;
    if (good(w, tally_context_create(w->select, &w->context), "tally_context_create")) work(w);
    tally_context_destroy(w->context);
    return NULL;
}

static void test_contexts_from_two_threads(void **state) {
    const place *at = *state;
    worker workers[2] = {0};
    for (int t = 0; t < 2; t++) {
        workers[t] = (worker){.select = at->select, .index = t, .rounds = 3};
        assert_int_equal(pthread_create(&workers[t].thread, NULL, open_and_work, &workers[t]), 0);
    }
    for (int t = 0; t < 2; t++) pthread_join(workers[t].thread, NULL);
    for (int t = 0; t < 2; t++)
        if (workers[t].failure[0]) fail_msg("%s", workers[t].failure);
}

/* ---- calls with host arrays ------------------------------------------------------------------ */

#define CALLS 25
static const tally_op host_ops[] = {TALLY_MAX, TALLY_NRM2}; /* THREADS calls of each op need as many plans as a context keeps */

static uint64_t host_items(const worker *w, int call) {
    return MAX_N - (uint64_t)(w->index * 100 + call);
}

static void *call_and_call(void *data) {
    worker *w = data;
    float *items = malloc(MAX_N * sizeof *items);
    if (!items) return snprintf(w->failure, sizeof w->failure, "no memory"), NULL;
    pattern_fill(PATTERN_WIDE, TALLY_F32, items, MAX_N);
    for (int call = 0; call < CALLS * w->rounds && !w->failure[0]; call++) {
        oracle_result result = {{0}}, expected = {{0}};
        const tally_op op = host_ops[(call + w->index) % 2];
        const uint64_t n = host_items(w, call % CALLS);
        /* With a variant the device reduces; else the library's own programs would, on a CPU. */
        const tally_reduce_desc desc = {.size = sizeof desc, .op = op, .in = TALLY_F32, .variant = "auto"};
        if (!good(w, tally_reduce_host_inputs(w->context, &desc, (const void *[]){items}, n, &result),
                  "tally_reduce_host_inputs"))
            break;
        oracle_reduce(op, TALLY_F32, items, n, &expected);
        if (memcmp(&result, &expected, sizeof result) != 0)
            snprintf(w->failure, sizeof w->failure, "thread %d, call %d: %s has other bits", w->index, call, tally_op_name(op));
    }
    free(items);
    return NULL;
}

static void call_from(tally_context *context, int threads, int rounds) {
    worker workers[THREADS] = {0};
    for (int t = 0; t < threads; t++) {
        workers[t] = (worker){.context = context, .index = t, .rounds = rounds};
        assert_int_equal(pthread_create(&workers[t].thread, NULL, call_and_call, &workers[t]), 0);
    }
    for (int t = 0; t < threads; t++) pthread_join(workers[t].thread, NULL);
    for (int t = 0; t < threads; t++)
        if (workers[t].failure[0]) fail_msg("%s", workers[t].failure);
}

static uint64_t programs_of(const tally_context_info *info) {
    return info->programs_built + info->programs_prebuilt + info->programs_from_disk + info->programs_from_memory;
}

/* A repeated call makes no plan and asks for no program. Calls of four threads make at most as many
 * plans as there are threads. */
static void test_host_calls(void **state) {
    const place *at = *state;
    tally_context *context;
    tally_context_info one, again, four;
    MUST(tally_context_create(at->select, &context));
    call_from(context, 1, 1);
    MUST(tally_context_get_info(context, &one));
    assert_int_equal(one.host_plans_made, 2);
    assert_int_equal(one.host_plans_reused, CALLS - 2);
    assert_int_equal(one.host_plans_kept, 2);
    assert_true(one.host_bytes_kept > 0);
    call_from(context, 1, 2);
    MUST(tally_context_get_info(context, &again));
    assert_int_equal(again.host_plans_made, 2);
    assert_int_equal(again.host_plans_reused, 3 * CALLS - 2);
    assert_int_equal(again.host_bytes_kept, one.host_bytes_kept);
    assert_int_equal(programs_of(&again), programs_of(&one));
    call_from(context, THREADS, 4);
    MUST(tally_context_get_info(context, &four));
    assert_in_range(four.host_plans_made, 2, 2 * THREADS);
    assert_int_equal(four.host_plans_kept, four.host_plans_made);
    assert_int_equal(four.host_plans_made + four.host_plans_reused, (3 + 4 * THREADS) * CALLS);
    assert_int_equal(four.programs_built + four.programs_prebuilt + four.programs_from_disk,
                     one.programs_built + one.programs_prebuilt + one.programs_from_disk);
    tally_context_destroy(context);
}

/* New tunings during calls. The bits stay, and no earlier plan does. */
static void *tune_and_tune(void *data) {
    worker *w = data;
    for (int i = 0; i < 50; i++)
        good(w, tally_context_set_tunings(w->context, i % 2 ? "* * * * * 64 8 2 1" : "* * * * * 256 4 8 2"),
             "tally_context_set_tunings");
    return NULL;
}

static void test_host_calls_and_tunings(void **state) {
    const place *at = *state;
    worker tuner = {0};
    tally_context_info info;
    MUST(tally_context_create(at->select, &tuner.context));
    assert_int_equal(pthread_create(&tuner.thread, NULL, tune_and_tune, &tuner), 0);
    call_from(tuner.context, 2, 1);
    pthread_join(tuner.thread, NULL);
    if (tuner.failure[0]) fail_msg("%s", tuner.failure);
    MUST(tally_context_set_tunings(tuner.context, ""));
    MUST(tally_context_get_info(tuner.context, &info));
    assert_int_equal(info.host_plans_kept, 0);
    assert_int_equal(info.host_bytes_kept, 0);
    tally_context_destroy(tuner.context);
}

/* An error's text belongs to the thread that met the error. */
static void *fail_in_thread(void *data) {
    tally_op op;
    char *text = data;
    tally_op_from_name("no such op in the other thread", &op);
    snprintf(text, 256, "%s", tally_last_error());
    return NULL;
}

static void test_error_text_per_thread(void **state) {
    (void)state;
    pthread_t thread;
    tally_op op;
    char theirs[256], ours[256];
    assert_int_equal(tally_op_from_name("ours", &op), TALLY_E_ARGUMENT);
    snprintf(ours, sizeof ours, "%s", tally_last_error());
    assert_int_equal(pthread_create(&thread, NULL, fail_in_thread, theirs), 0);
    pthread_join(thread, NULL);
    assert_string_equal(tally_last_error(), ours);
    assert_non_null(strstr(theirs, "no such op in the other thread"));
}

/* Reduces in a child process. Returns 0 if its calls end as they should: host computes, and other
 * backends, whose drivers do not survive a fork, fail at once with a reason. */
static int reduce_in_child(const place *at, tally_plan *plan, tally_queue *queue, const tally_buffer *in, tally_buffer *out,
                           tally_event *const *marks) {
    double seconds;
    const tally_status status = tally_reduce(plan, queue, in, 1000, out), waited = tally_queue_wait(queue);
    const bool is_opencl = !strncmp(at->select, "opencl", 6);
    tally_context *another = NULL;
    if (!strncmp(at->select, "host", 4)) return status || waited;
    if (!is_opencl) return !status;
    if (status != TALLY_E_DEVICE || waited != TALLY_E_DEVICE || !strstr(tally_last_error(), "forked")) return 2;
    if (tally_event_seconds(marks[0], marks[1], &seconds) != TALLY_E_DEVICE) return 4;
    if (tally_context_create(at->select, &another) != TALLY_E_NO_DEVICE || !strstr(tally_last_error(), "forked")) return 3;
    return 0;
}

/* A child process never waits for what the parent's driver would have to do. */
static void test_fork(void **state) {
    const place *at = *state;
    tally_context *context = at->context;
    const tally_reduce_desc desc = {.size = sizeof desc, .op = TALLY_MAX, .in = TALLY_I32, .max_n = 1000};
    tally_plan *plan;
    tally_queue *queue;
    tally_buffer *in, *out;
    tally_event *marks[2];
    int status = -1;
    MUST(tally_plan_create(context, &desc, &plan));
    MUST(tally_queue_create(context, &queue));
    MUST(tally_buffer_create(context, 4000, &in));
    MUST(tally_buffer_create(context, 4, &out));
    for (int m = 0; m < 2; m++) MUST(tally_event_create(context, &marks[m]));
    MUST(tally_event_record(marks[0], queue));
    MUST(tally_reduce(plan, queue, in, 1000, out));
    MUST(tally_event_record(marks[1], queue));
    MUST(tally_queue_wait(queue));
    const pid_t child = fork();
    if (child == 0) {
        alarm(60);
        status = reduce_in_child(at, plan, queue, in, out, marks);
        if (strncmp(at->select, "cuda", 4)) {
            tally_plan_destroy(plan);
            tally_buffer_destroy(in);
            tally_queue_destroy(queue);
        }
        _exit(status);
    }
    assert_true(child > 0 && waitpid(child, &status, 0) == child);
    if (!WIFEXITED(status) || WEXITSTATUS(status)) fail_msg("the child ended with status 0x%x", status);
    MUST(tally_reduce(plan, queue, in, 1000, out));
    MUST(tally_queue_wait(queue));
    for (int m = 0; m < 2; m++) tally_event_destroy(marks[m]);
    tally_plan_destroy(plan);
    tally_buffer_destroy(in);
    tally_buffer_destroy(out);
    tally_queue_destroy(queue);
}

const device_test thread_tests[] = {
    {"threads: two on one context", test_two_threads},
    {"threads: plans from four", test_plans_from_four_threads},
    {"threads: contexts from two", test_contexts_from_two_threads},
    {"threads: calls with host arrays", test_host_calls},
    {"threads: calls with host arrays, and tunings", test_host_calls_and_tunings},
    {"threads: error text", test_error_text_per_thread},
    {"threads: a child process", test_fork},
    {NULL, NULL},
};
