/* SPDX-License-Identifier: MIT */
/*
 * order.c: the calls under way of this process, in the order of their begin, which is the same on
 * all ranks. Ranks may end them in any order: a rank that ends one also furthers those before it,
 * which another rank may wait for. Take the earliest call that a rank waits for. Each waiting rank
 * furthers it, so it ends.
 *
 * A thread furthers its own calls alone, because a queue serves one thread at a time. So calls of
 * several threads do not wait for each other.
 */
#include <sched.h>

#include "ranks.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static tally_mpi *first;

void ranks_enter(tally_mpi *mpi) {
    pthread_mutex_lock(&lock);
    tally_mpi **at = &first;
    while (*at) at = &(*at)->next;
    *at = mpi;
    mpi->next = NULL;
    mpi->thread = pthread_self();
    pthread_mutex_unlock(&lock);
}

void ranks_leave(tally_mpi *mpi) {
    pthread_mutex_lock(&lock);
    tally_mpi **at = &first;
    while (*at && *at != mpi) at = &(*at)->next;
    if (*at) *at = mpi->next;
    pthread_mutex_unlock(&lock);
}

/* Tells whether the call has an exchange that this rank has not begun. */
static bool has_more(const tally_mpi *mpi) {
    return mpi->stage == RANKS_REDUCING || (mpi->stage == RANKS_EXCHANGING && mpi->gathers);
}

/* Makes the call this thread's: no other thread furthers it from now on. */
static void claim(tally_mpi *mpi) {
    pthread_mutex_lock(&lock);
    mpi->thread = pthread_self();
    pthread_mutex_unlock(&lock);
}

/* Furthers this thread's calls before this one. Returns true if one of them has an exchange that
 * has not begun. */
static bool further_earlier(const tally_mpi *mpi) {
    bool more = false;
    pthread_mutex_lock(&lock);
    for (tally_mpi *call = first; call && call != mpi; call = call->next) {
        if (!pthread_equal(call->thread, mpi->thread) || call->stage == RANKS_ENDED) continue;
        ranks_further(call, false);
        more = more || has_more(call);
    }
    pthread_mutex_unlock(&lock);
    return more;
}

tally_status ranks_advance(tally_mpi *mpi, bool wait) {
    claim(mpi);
    if (mpi->stage == RANKS_IDLE) return TALLY_OK;
    while (mpi->stage != RANKS_ENDED) {
        const bool more = !mpi->blocking && further_earlier(mpi);
        ranks_further(mpi, wait && !more);
        if (!wait) break;
        if (more) sched_yield();
    }
    if (mpi->stage != RANKS_ENDED) return TALLY_OK;
    if (!mpi->blocking) ranks_leave(mpi);
    mpi->stage = RANKS_IDLE;
    return mpi->status ? tally_fail(mpi->status, "%s", mpi->text) : TALLY_OK;
}
