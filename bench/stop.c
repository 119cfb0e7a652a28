/* SPDX-License-Identifier: MIT */
/* stop.c: ends a long run early, by a signal or a time limit. The run then reports what it has. */
#define _POSIX_C_SOURCE 200809L
#include <signal.h>
#include <stddef.h>
#include <stdint.h>

#include "bench.h"
#include "tools/print/units.h"

static volatile sig_atomic_t caught; /* the signal's number; 0: none */
static double deadline;              /* 0: none */

static void on_signal(int number) {
    caught = number;
}

void stop_prepare(uint64_t seconds) {
    static const int signals[] = {SIGINT, SIGTERM};
    deadline = seconds ? units_seconds() + (double)seconds : 0;
    for (size_t i = 0; i < sizeof(signals) / sizeof(signals[0]); i++) {
        /* The second signal ends the program at once. */
        const struct sigaction ours = {.sa_handler = on_signal, .sa_flags = (int)SA_RESETHAND | SA_RESTART};
        struct sigaction now;
        if (!sigaction(signals[i], NULL, &now) && now.sa_handler != SIG_IGN) sigaction(signals[i], &ours, NULL);
    }
}

int is_stopped(bench_results *results) {
    if (!results->stopped) results->stopped = stop_reason();
    return results->stopped != NULL;
}

const char *stop_reason(void) {
    if (caught) return caught == SIGINT ? "interrupted" : "terminated";
    return deadline > 0 && units_seconds() > deadline ? "out of time" : NULL;
}
