/* SPDX-License-Identifier: MIT */
/* progress.c: see progress.h. The line fits 79 columns and is erased with spaces, which works on
 * any terminal. */
#include "progress.h"

#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "units.h"

#define COLUMNS 79
#define PATIENCE_SECONDS 0.5
#define INTERVAL_SECONDS 0.1
#define PLAIN_INTERVAL_SECONDS 1.0
#define WAIT_NANOSECONDS 100000000L

static const char *label;
static progress_unit unit;
static uint64_t total, done_so_far;
static double begun, shown_at;
static volatile sig_atomic_t shown;

/* A separate descriptor of the terminal, as stderr may be silenced while a compiler runs. -1:
 * stderr is not a terminal, and lines are not wanted there. */
static int terminal = -1;
static bool plain; /* it is no terminal: lines end, and are not erased */

void progress_plain(void) {
    plain = !isatty(STDERR_FILENO);
}

static bool has_terminal(void) {
    if (terminal < 0 && (plain || isatty(STDERR_FILENO))) terminal = fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
    return terminal >= 0;
}

static void write_all(const char *text, size_t bytes) {
    /* Losing a progress line does no harm. */
    const ssize_t written = write(terminal, text, bytes);
    (void)written;
}

void progress_erase(void) {
    static const char blank[] = "\r                                                                               \r";
    _Static_assert(sizeof(blank) == COLUMNS + 3, "as wide as the line");
    if (shown) write_all(blank, sizeof(blank) - 1);
    shown = 0;
}

/* Signals that end the program, and their earlier handlers. A driver's compiler (LLVM in POCL) may
 * have installed some. */
static const int endings[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGPIPE, SIGXCPU};
static struct sigaction before[sizeof(endings) / sizeof(endings[0])];
static void (*volatile cleaner)(void);

static void on_signal(int number) {
    progress_erase();
    if (cleaner) cleaner();
    for (size_t i = 0; i < sizeof(endings) / sizeof(endings[0]); i++) {
        if (endings[i] != number) continue;
        sigaction(number, &before[i], NULL);
        /* An earlier handler may call this one again. */
        before[i] = (struct sigaction){.sa_handler = SIG_DFL};
    }
    raise(number);
    /* The earlier handler may return: LLVM's of SIGQUIT does, and the bench's, which stops a grid.
     * Without what was cleaned away the program cannot go on. */
    if (!cleaner) return;
    signal(number, SIG_DFL);
    raise(number);
}

static void catch_signals(void) {
    for (size_t i = 0; i < sizeof(endings) / sizeof(endings[0]); i++) {
        /* SA_NODEFER: a signal that the handler raises comes at once. */
        const struct sigaction ours = {.sa_handler = on_signal, .sa_flags = SA_NODEFER};
        struct sigaction now;
        if (sigaction(endings[i], NULL, &now) || now.sa_handler == SIG_IGN || now.sa_handler == on_signal) continue;
        before[i] = now;
        sigaction(endings[i], &ours, NULL);
    }
}

void progress_block_ignored(void) {
    sigset_t signals;
    sigemptyset(&signals);
    for (size_t i = 0; i < sizeof(endings) / sizeof(endings[0]); i++) {
        struct sigaction now;
        if (!sigaction(endings[i], NULL, &now) && now.sa_handler == SIG_IGN) sigaddset(&signals, endings[i]);
    }
    sigprocmask(SIG_BLOCK, &signals, NULL);
}

void progress_at_signals(void (*clean)(void)) {
    cleaner = clean;
    catch_signals();
}

/* Shows a text of n characters in place of the line, padded with spaces. The first one is a return.
 * A plain line goes without it. */
static void show(char line[COLUMNS + 2], int n) {
    if (n < 0) return;
    if (n > COLUMNS + 1) n = COLUMNS + 1;
    for (int i = 1; i < n; i++)
        if ((unsigned char)line[i] < ' ' || line[i] == 127) line[i] = ' ';
    if (plain) {
        line[n] = '\n';
        write_all(line + 1, (size_t)n);
        return;
    }
    for (; n < COLUMNS + 1; n++) line[n] = ' ';
    shown = 1;
    write_all(line, (size_t)n);
}

/* ---- a call that takes long ------------------------------------------------------------------ */

static pthread_t waiter;
static bool has_waiter;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static bool is_over; /* guarded by the lock */

static void *wait_and_show(void *text) {
    struct timespec until;
    char line[COLUMNS + 2];
    int timed_out = 0;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_nsec += WAIT_NANOSECONDS;
    until.tv_sec += until.tv_nsec / 1000000000L;
    until.tv_nsec %= 1000000000L;
    pthread_mutex_lock(&lock);
    while (!is_over && !timed_out) timed_out = pthread_cond_timedwait(&changed, &lock, &until);
    if (!is_over) show(line, snprintf(line, sizeof(line), "\r%s", (const char *)text));
    pthread_mutex_unlock(&lock);
    return NULL;
}

static void stop_waiting(void) {
    if (!has_waiter) return;
    pthread_mutex_lock(&lock);
    is_over = true;
    pthread_cond_signal(&changed);
    pthread_mutex_unlock(&lock);
    pthread_join(waiter, NULL);
    has_waiter = false;
}

void progress_wait(const char *text) {
    stop_waiting();
    is_over = false;
    if (!has_terminal()) return;
    catch_signals(); /* here: in the thread it could race with this one's changes */
    has_waiter = !pthread_create(&waiter, NULL, wait_and_show, (void *)(uintptr_t)text);
}

/* ---- steps ----------------------------------------------------------------------------------- */

void progress_begin(const char *new_label, progress_unit new_unit, uint64_t new_total) {
    progress_end();
    label = has_terminal() ? new_label : NULL;
    unit = new_unit;
    total = new_total;
    done_so_far = 0;
    begun = shown_at = units_seconds();
}

static void show_progress(uint64_t done, double now) {
    const double seconds = now > begun ? now - begun : 1e-9;
    shown_at = now;
    char percent[16] = "", amount[400], line[COLUMNS + 2];
    if (total) snprintf(percent, sizeof(percent), "%3.0f%%  ", 100.0 * (double)done / (double)total);
    if (unit == PROGRESS_BYTES)
        snprintf(amount, sizeof(amount), "%s, %.2f GB/s", units_bytes(done).text, 1e-9 * (double)done / seconds);
    else
        snprintf(amount, sizeof(amount), "%llu of %llu", (unsigned long long)done, (unsigned long long)total);
    stop_waiting();
    if (!shown && !plain) catch_signals();
    show(line, snprintf(line, sizeof(line), "\r%s%s  %.30s", percent, amount, label));
}

void progress_update(uint64_t done) {
    if (!label) return;
    const double now = units_seconds();
    done_so_far = done;
    if (now - begun < PATIENCE_SECONDS || now - shown_at < (plain ? PLAIN_INTERVAL_SECONDS : INTERVAL_SECONDS)) return;
    show_progress(done, now);
}

void progress_end(void) {
    if (plain && label) show_progress(done_so_far, units_seconds());
    stop_waiting();
    progress_erase();
    label = NULL;
}
