/* SPDX-License-Identifier: MIT */
/* pool.h: the threads of the library, which all contexts share: for the launches of the backend
 * `host`, and for programs that are compiled at once. */
#ifndef TALLY_SRC_BASE_POOL_H
#define TALLY_SRC_BASE_POOL_H

#include "base/base.h"

#define TALLY_POOL_MOST_THREADS 1024

/* Returns the threads that a job may have, the calling one among them: the processors of the
 * process's affinity, or TALLY_THREADS if that is less. Errors: E_ARGUMENT if TALLY_THREADS is no
 * number from 1 to 1,024. */
tally_status tally_pool_threads(uint32_t *threads);

/* A group of a job. `worker` is below the job's threads; no two groups that run at the same time
 * have the same one. */
typedef void (*tally_pool_group)(void *job, uint64_t group, uint32_t worker);

/*
 * Runs the groups of a job in at most `threads` threads, and returns when all have ended. The
 * calling thread takes part. It runs all groups by itself if there is only one, or if another
 * thread's job has the pool. Threads are made by the first job that needs them; in a child process
 * after a fork they are made anew. They have the default floating-point environment; the caller
 * sees to its own.
 */
void tally_pool_run(uint32_t threads, uint64_t groups, tally_pool_group group, void *job);
/* As tally_pool_run, for a job of few microseconds: it wakes threads that sleep only where another
 * one came shortly before it. */
void tally_pool_run_briefly(uint32_t threads, uint64_t groups, tally_pool_group group, void *job);
/* As tally_pool_run; groups begin in the order of their numbers, so a group may wait for a lower
 * one. */
void tally_pool_run_in_order(uint32_t threads, uint64_t groups, tally_pool_group group, void *job);

#endif
