/* SPDX-License-Identifier: MIT */
/*
 * reduce_feed.c: numbers that come in pieces of any length, more than a device or this machine can
 * hold. The result has the bits of one reduction over all of them, whatever the pieces.
 */
#include <stdint.h>
#include <stdio.h>

#include <tally/tally.h>

enum { PIECE = 100000 };

/* Sums the harmonic series 1 + 1/2 + 1/3 + ... + 1/n in pieces of `length`. */
static tally_status harmonic(tally_context *context, uint64_t n, uint64_t length, double *sum) {
    static double piece[PIECE];
    const tally_reduce_desc desc = {.size = sizeof(desc), .op = TALLY_SUM, .in = TALLY_F64};
    tally_feed *feed = NULL;
    tally_status status = tally_feed_create(context, &desc, &feed);
    for (uint64_t done = 0; done < n && !status; done += length) {
        const uint64_t count = n - done < length ? n - done : length;
        for (uint64_t i = 0; i < count; i++) piece[i] = 1.0 / (double)(done + i + 1);
        /* The feed no longer needs the items when the call returns, so `piece` can be filled
         * again. */
        status = tally_feed_push(feed, piece, count);
    }
    if (!status) status = tally_feed_finish(feed, NULL, 0, sum);
    tally_feed_destroy(feed);
    return status;
}

int main(void) {
    tally_context *context = NULL;
    double one = 0, other = 1;
    const uint64_t n = 3000000;
    tally_status status = tally_context_create(NULL, &context);
    if (!status) status = harmonic(context, n, PIECE, &one);
    if (!status) status = harmonic(context, n, 777, &other);
    if (status) fprintf(stderr, "reduce_feed: %s: %s\n", tally_status_name(status), tally_last_error());
    tally_context_destroy(context);
    if (status) return 1;
    printf("H(%llu) = %.17g in pieces of %d, %.17g in pieces of 777\n", (unsigned long long)n, one, PIECE, other);
    /* ln n + Euler's constant + 1/2n - ... */
    const double expected = 15.491338678200574;
    return one == other && one > expected - 1e-12 && one < expected + 1e-12 ? 0 : 1;
}
