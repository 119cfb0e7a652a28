/* SPDX-License-Identifier: MIT */
/*
 * The pool. One job runs at a time. Each thread has a box, a cache line of its own, by which the
 * job's caller offers the job to it. A thread takes it by a compare-and-swap. At the end the caller
 * takes back what is still offered in the same way, so it waits for the threads that are in the job
 * and for no others.
 *
 * The groups lie in shares, one for each thread or one for all. A thread that has done its own
 * share helps with the others. So a thread has the same items in each of several equal jobs, and
 * finds them in its core's caches.
 *
 * A thread without a job polls for some time and then sleeps, for a call that follows soon should
 * not pay for waking it. A job wakes the threads that it offers itself to, and no others. A brief
 * job, which costs less than that, wakes none unless another one came shortly before it.
 */
#define _GNU_SOURCE
#include "base/pool.h"

#include <ctype.h>
#include <errno.h>
#include <fenv.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

/* Polls before a thread sleeps: some 50 us. */
#define POLLS 2000
#define SHORTLY UINT64_C(50000) /* ns */

static struct {
    pthread_mutex_t owner; /* the thread whose job has the pool */
    pthread_mutex_t lock;  /* held by threads that fall asleep */
    uint32_t threads;      /* that there are, besides the callers of jobs */
    atomic_uint sleepers;
    pthread_cond_t wakes[TALLY_POOL_MOST_THREADS];
} pool = {.owner = PTHREAD_MUTEX_INITIALIZER, .lock = PTHREAD_MUTEX_INITIALIZER};

/* A thread's box: its part in the job, and the share of that number. Box 0 is the caller's. */
static struct {
    _Alignas(64) atomic_uint state;
    atomic_bool sleeps;
    uint32_t shares;       /* of the job */
    _Atomic uint64_t next; /* the first group of the share that no thread has begun */
    uint64_t end;
    tally_pool_group group;
    void *job;
} boxes[TALLY_POOL_MOST_THREADS];
enum { IDLE, OFFERED, TAKEN };

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
        return tally_fail(TALLY_E_ARGUMENT, "TALLY_THREADS is '%.40s': it must be a number from 1 to %d", text,
                          TALLY_POOL_MOST_THREADS);
    if (wanted < *threads) *threads = (uint32_t)wanted;
    return TALLY_OK;
}

/* ---- the threads ----------------------------------------------------------------------------- */

static void run_groups(uint32_t worker) {
    const uint32_t shares = boxes[worker].shares;
    const tally_pool_group group = boxes[worker].group;
    for (uint32_t s = 0; s < shares; s++) {
        const uint32_t share = (worker + s) % shares;
        const uint64_t end = boxes[share].end;
        while (atomic_load_explicit(&boxes[share].next, memory_order_relaxed) < end) {
            const uint64_t next = atomic_fetch_add_explicit(&boxes[share].next, 1, memory_order_relaxed);
            if (next < end) group(boxes[worker].job, next, worker);
        }
    }
}

/* Takes the job that is offered to a thread, or takes it back. */
static bool take(uint32_t worker, unsigned state) {
    unsigned offered = OFFERED;
    return atomic_load_explicit(&boxes[worker].state, memory_order_relaxed) == OFFERED &&
           atomic_compare_exchange_strong_explicit(&boxes[worker].state, &offered, state, memory_order_acquire,
                                                   memory_order_relaxed);
}

static void wait_for_job(uint32_t worker) {
    for (int polls = 0; polls < POLLS; polls++) {
        if (take(worker, TAKEN)) return;
        pause_briefly();
    }
    pthread_mutex_lock(&pool.lock);
    atomic_store(&boxes[worker].sleeps, true);
    atomic_fetch_add(&pool.sleepers, 1);
    while (!take(worker, TAKEN)) pthread_cond_wait(&pool.wakes[worker], &pool.lock);
    atomic_fetch_sub(&pool.sleepers, 1);
    atomic_store(&boxes[worker].sleeps, false);
    pthread_mutex_unlock(&pool.lock);
}

static void *live(void *number) {
    const uint32_t worker = (uint32_t)(uintptr_t)number;
    fesetenv(FE_DFL_ENV);
    for (;;) {
        wait_for_job(worker);
        run_groups(worker);
        atomic_store_explicit(&boxes[worker].state, IDLE, memory_order_release);
    }
    return NULL;
}

/* A forked child has none of the threads, and its locks may be taken by them. */
static void forget(void) {
    pthread_mutex_init(&pool.owner, NULL);
    pthread_mutex_init(&pool.lock, NULL);
    for (uint32_t w = 0; w <= pool.threads; w++) {
        atomic_store(&boxes[w].state, IDLE);
        atomic_store(&boxes[w].sleeps, false);
    }
    pool.threads = 0;
    atomic_store(&pool.sleepers, 0);
}

/* Makes the threads that a job of `most` threads lacks. It goes without those that the system
 * refuses. Signals are the application's: the threads block all but those of a fault of their own,
 * as of a mapped file that was cut short. The system ends a process that blocks these. */
static void make_threads(uint32_t most) {
    static const int faults[] = {SIGBUS, SIGSEGV, SIGFPE, SIGILL, SIGTRAP, SIGSYS};
    static atomic_flag handles_fork = ATOMIC_FLAG_INIT;
    sigset_t blocked, before;
    pthread_attr_t attributes;
    if (!atomic_flag_test_and_set(&handles_fork)) pthread_atfork(NULL, NULL, forget);
    sigfillset(&blocked);
    for (size_t i = 0; i < sizeof(faults) / sizeof(faults[0]); i++) sigdelset(&blocked, faults[i]);
    pthread_sigmask(SIG_SETMASK, &blocked, &before);
    pthread_attr_init(&attributes);
    pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
    for (pthread_t thread; pool.threads + 1 < most; pool.threads++) {
        pthread_cond_init(&pool.wakes[pool.threads + 1], NULL);
        if (pthread_create(&thread, &attributes, live, (void *)(uintptr_t)(pool.threads + 1))) break;
    }
    pthread_attr_destroy(&attributes);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
}

/* ---- jobs ------------------------------------------------------------------------------------ */

/* Returns the first group of a share. */
static uint64_t begin_of(uint32_t share, uint64_t groups, uint32_t count) {
    return groups / count * share + (share < groups % count ? share : groups % count);
}

/* Tells whether a brief job had too few threads shortly before. The caller owns the pool. */
static bool follows_another(void) {
    static uint64_t last;
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    const uint64_t then = last;
    last = (uint64_t)now.tv_sec * UINT64_C(1000000000) + (uint64_t)now.tv_nsec;
    return last - then < SHORTLY;
}

/* Offers a job to the threads. The caller owns the pool. */
static void offer(uint32_t threads, uint32_t shares, uint64_t groups, tally_pool_group group, void *job) {
    for (uint32_t w = 0; w < threads; w++) {
        boxes[w].shares = shares;
        boxes[w].group = group;
        boxes[w].job = job;
        if (w >= shares) continue;
        atomic_store_explicit(&boxes[w].next, begin_of(w, groups, shares), memory_order_relaxed);
        boxes[w].end = begin_of(w + 1, groups, shares);
    }
    for (uint32_t w = 1; w < threads; w++) atomic_store_explicit(&boxes[w].state, OFFERED, memory_order_release);
}

static bool any_sleeps(uint32_t threads) {
    bool any = false;
    for (uint32_t w = 1; w < threads; w++) any |= atomic_load_explicit(&boxes[w].sleeps, memory_order_relaxed);
    return any;
}

/* Wakes the threads for the job that is offered. */
static void wake(uint32_t threads) {
    /* A thread that is about to sleep sees the offer, or is seen here: both change the count. */
    if (!atomic_fetch_add(&pool.sleepers, 0) || !any_sleeps(threads)) return;
    pthread_mutex_lock(&pool.lock);
    for (uint32_t w = 1; w < threads; w++)
        if (atomic_load(&boxes[w].sleeps)) pthread_cond_signal(&pool.wakes[w]);
    pthread_mutex_unlock(&pool.lock);
}

/* Returns when no thread is in the job. */
static void end_job(uint32_t threads) {
    for (uint32_t w = 1; w < threads; w++) {
        if (take(w, IDLE)) continue;
        for (int polls = 0; atomic_load_explicit(&boxes[w].state, memory_order_acquire) != IDLE; polls++) {
            if (polls < POLLS)
                pause_briefly();
            else
                sched_yield();
        }
    }
}

typedef enum { ANY_ORDER, IN_ORDER, BRIEF } job_kind;

static void run(uint32_t threads, job_kind kind, uint64_t groups, tally_pool_group group, void *job) {
    const uint32_t most = groups < threads ? (uint32_t)groups : threads;
    const bool owns = most > 1 && !pthread_mutex_trylock(&pool.owner);
    const bool lacks = owns && (pool.threads + 1 < most || any_sleeps(most));
    const bool wakes = kind != BRIEF || (lacks && follows_another());
    if (owns && wakes && pool.threads + 1 < most) make_threads(most);
    const uint32_t there = owns && pool.threads < most ? pool.threads + 1 : most;
    if (owns && there > 1) {
        offer(there, kind == IN_ORDER ? 1 : there, groups, group, job);
        if (wakes) wake(there);
        run_groups(0);
        end_job(there);
    } else {
        for (uint64_t g = 0; g < groups; g++) group(job, g, 0);
    }
    if (owns) pthread_mutex_unlock(&pool.owner);
}

void tally_pool_run(uint32_t threads, uint64_t groups, tally_pool_group group, void *job) {
    run(threads, ANY_ORDER, groups, group, job);
}

void tally_pool_run_briefly(uint32_t threads, uint64_t groups, tally_pool_group group, void *job) {
    run(threads, BRIEF, groups, group, job);
}

void tally_pool_run_in_order(uint32_t threads, uint64_t groups, tally_pool_group group, void *job) {
    run(threads, IN_ORDER, groups, group, job);
}
