/* SPDX-License-Identifier: MIT */
/*
 * The pool. One job runs at a time. Its word `state` has the bit OPEN while the job takes threads,
 * the number of threads that are in it, and above these the number of the job. A thread joins by a
 * compare-and-swap, so the job's caller, who closes the word at the end, waits for those that have
 * joined and for no others.
 *
 * A thread without a job polls for some time and then sleeps, for a call that follows soon should
 * not pay for waking it.
 */
#define _GNU_SOURCE
#include "host/pool.h"

#include <ctype.h>
#include <errno.h>
#include <fenv.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <unistd.h>

/* Polls before a thread sleeps: some 50 us. */
#define POLLS 2000

#define OPEN UINT64_C(1)
#define THREAD UINT64_C(2)
#define THREADS (UINT64_C(0x7fff) * THREAD)
#define JOB (UINT64_C(1) << 16)

static struct {
    pthread_mutex_t owner; /* the thread whose job has the pool */
    pthread_mutex_t lock;  /* guards sleepers */
    pthread_cond_t wake;
    uint32_t threads; /* that there are, besides the callers of jobs */
    atomic_uint sleepers;
    _Atomic uint64_t state, next;
    /* The job. */
    uint32_t most; /* threads */
    uint64_t groups;
    tally_pool_group group;
    void *job;
} pool = {.owner = PTHREAD_MUTEX_INITIALIZER, .lock = PTHREAD_MUTEX_INITIALIZER, .wake = PTHREAD_COND_INITIALIZER};

static void pause_briefly(void) {
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("yield");
#endif
}

/* ---- how many threads ------------------------------------------------------------------------ */

static uint32_t count_processors(void) {
#ifdef __linux__
    cpu_set_t set;
    if (!sched_getaffinity(0, sizeof(set), &set)) return (uint32_t)CPU_COUNT(&set);
#endif
    const long online = sysconf(_SC_NPROCESSORS_ONLN);
    return online > 0 ? (uint32_t)online : 1;
}

tally_status tally_pool_threads(uint32_t *threads) {
    const char *text = getenv("TALLY_THREADS");
    char *end = NULL;
    *threads = count_processors();
    if (*threads > TALLY_POOL_MOST_THREADS) *threads = TALLY_POOL_MOST_THREADS;
    if (!text || !text[0]) return TALLY_OK;
    errno = 0;
    const unsigned long wanted = strtoul(text, &end, 10);
    if (!isdigit((unsigned char)text[0]) || *end || errno || !wanted || wanted > TALLY_POOL_MOST_THREADS)
        return tally_fail(TALLY_E_ARGUMENT, "TALLY_THREADS is '%.40s': a number from 1 to %d", text, TALLY_POOL_MOST_THREADS);
    if (wanted < *threads) *threads = (uint32_t)wanted;
    return TALLY_OK;
}

/* ---- the threads ----------------------------------------------------------------------------- */

static void run_groups(uint32_t worker) {
    for (uint64_t group; (group = atomic_fetch_add_explicit(&pool.next, 1, memory_order_relaxed)) < pool.groups;)
        pool.group(pool.job, group, worker);
}

/* Joins the open job that is not the last one that this thread was in. */
static bool join(uint64_t *last) {
    uint64_t state = atomic_load(&pool.state);
    while (state & OPEN && state / JOB != *last)
        if (atomic_compare_exchange_weak_explicit(&pool.state, &state, state + THREAD, memory_order_acquire,
                                                  memory_order_relaxed))
            return *last = state / JOB, true;
    return false;
}

static void wait_for_job(uint64_t *last) {
    for (int polls = 0; polls < POLLS; polls++) {
        if (join(last)) return;
        pause_briefly();
    }
    pthread_mutex_lock(&pool.lock);
    atomic_fetch_add(&pool.sleepers, 1);
    while (!join(last)) pthread_cond_wait(&pool.wake, &pool.lock);
    atomic_fetch_sub(&pool.sleepers, 1);
    pthread_mutex_unlock(&pool.lock);
}

static void *live(void *number) {
    const uint32_t worker = (uint32_t)(uintptr_t)number;
    uint64_t last = 0;
    fesetenv(FE_DFL_ENV);
    for (;;) {
        wait_for_job(&last);
        if (worker < pool.most) run_groups(worker);
        atomic_fetch_sub_explicit(&pool.state, THREAD, memory_order_release);
    }
    return NULL;
}

/* A forked child has none of the threads, and its locks may be taken by them. */
static void forget(void) {
    pthread_mutex_init(&pool.owner, NULL);
    pthread_mutex_init(&pool.lock, NULL);
    pthread_cond_init(&pool.wake, NULL);
    pool.threads = 0;
    atomic_store(&pool.sleepers, 0);
    atomic_store(&pool.state, 0);
}

/* Makes the threads that a job of `most` threads lacks. It goes without those that the system
 * refuses. Signals are the application's: the threads block all. */
static void make_threads(uint32_t most) {
    static atomic_flag handles_fork = ATOMIC_FLAG_INIT;
    sigset_t all, before;
    pthread_attr_t attributes;
    if (!atomic_flag_test_and_set(&handles_fork)) pthread_atfork(NULL, NULL, forget);
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    pthread_attr_init(&attributes);
    pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
    for (pthread_t thread; pool.threads + 1 < most; pool.threads++)
        if (pthread_create(&thread, &attributes, live, (void *)(uintptr_t)(pool.threads + 1))) break;
    pthread_attr_destroy(&attributes);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
}

/* ---- jobs ------------------------------------------------------------------------------------ */

/* Runs a job in the threads. The caller owns the pool. */
static void run_in_pool(uint32_t threads, uint64_t groups, tally_pool_group group, void *job) {
    pool.most = threads;
    pool.groups = groups;
    pool.group = group;
    pool.job = job;
    atomic_store_explicit(&pool.next, 0, memory_order_relaxed);
    const uint64_t state = atomic_load_explicit(&pool.state, memory_order_relaxed);
    /* Sequentially consistent, as is the count of sleepers: a thread that is about to sleep sees
     * the job, or is seen here. */
    atomic_store(&pool.state, (state / JOB + 1) * JOB | OPEN);
    if (atomic_load(&pool.sleepers)) {
        pthread_mutex_lock(&pool.lock);
        pthread_cond_broadcast(&pool.wake);
        pthread_mutex_unlock(&pool.lock);
    }
    run_groups(0);
    atomic_fetch_and_explicit(&pool.state, ~OPEN, memory_order_relaxed);
    for (int polls = 0; atomic_load_explicit(&pool.state, memory_order_acquire) & THREADS; polls++) {
        if (polls < POLLS)
            pause_briefly();
        else
            sched_yield();
    }
}

void tally_pool_run(uint32_t threads, uint64_t groups, tally_pool_group group, void *job) {
    const uint32_t most = groups < threads ? (uint32_t)groups : threads;
    const bool owns = most > 1 && !pthread_mutex_trylock(&pool.owner);
    if (owns && pool.threads + 1 < most) make_threads(most);
    if (owns && pool.threads)
        run_in_pool(most, groups, group, job);
    else
        for (uint64_t g = 0; g < groups; g++) group(job, g, 0);
    if (owns) pthread_mutex_unlock(&pool.owner);
}
