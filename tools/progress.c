/* SPDX-License-Identifier: MIT */
/* progress.c: see progress.h. The line fits 79 columns and is erased with spaces, so that any terminal will do. */
#include "progress.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "units.h"

#define COLUMNS 79
#define PATIENCE_SECONDS 0.5
#define INTERVAL_SECONDS 0.1

static const char *label;
static progress_unit unit;
static uint64_t total;
static double begun, shown_at;
static volatile sig_atomic_t shown;

static void write_all(const char *text, size_t bytes) {
    /* A progress line that does not get through is no loss. */
    const ssize_t written = write(STDERR_FILENO, text, bytes);
    (void)written;
}

void progress_erase(void) {
    static const char blank[] = "\r                                                                               \r";
    _Static_assert(sizeof(blank) == COLUMNS + 3, "as wide as the line");
    if (shown) write_all(blank, sizeof(blank) - 1);
    shown = 0;
}

/* Signals that end the program, and what they did before: a driver's compiler (LLVM in POCL) may have its own handlers. */
static const int endings[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT};
static struct sigaction before[sizeof(endings) / sizeof(endings[0])];
static void (*volatile cleaner)(void);

static void on_signal(int number) {
    progress_erase();
    if (cleaner) cleaner();
    for (size_t i = 0; i < sizeof(endings) / sizeof(endings[0]); i++) {
        if (endings[i] != number) continue;
        sigaction(number, &before[i], NULL);
        before[i] = (struct sigaction){.sa_handler = SIG_DFL}; /* what was before may come back to us */
    }
    raise(number);
}

static void catch_signals(void) {
    for (size_t i = 0; i < sizeof(endings) / sizeof(endings[0]); i++) {
        const struct sigaction ours = {.sa_handler = on_signal};
        struct sigaction now;
        if (sigaction(endings[i], NULL, &now) || now.sa_handler == SIG_IGN || now.sa_handler == on_signal) continue;
        before[i] = now;
        sigaction(endings[i], &ours, NULL);
    }
}

void progress_at_signals(void (*clean)(void)) {
    cleaner = clean;
    catch_signals();
}

void progress_begin(const char *new_label, progress_unit new_unit, uint64_t new_total) {
    progress_end();
    label = isatty(STDERR_FILENO) ? new_label : NULL;
    unit = new_unit;
    total = new_total;
    begun = shown_at = units_seconds();
}

void progress_update(uint64_t done) {
    if (!label) return;
    const double now = units_seconds();
    if (now - begun < PATIENCE_SECONDS || now - shown_at < INTERVAL_SECONDS) return;
    shown_at = now;
    char percent[16] = "", amount[400], line[COLUMNS + 2];
    if (total) snprintf(percent, sizeof(percent), "%3.0f%%  ", 100.0 * (double)done / (double)total);
    if (unit == PROGRESS_BYTES)
        snprintf(amount, sizeof(amount), "%s, %.2f GB/s", units_bytes(done).text, 1e-9 * (double)done / (now - begun));
    else
        snprintf(amount, sizeof(amount), "%llu of %llu", (unsigned long long)done, (unsigned long long)total);
    int n = snprintf(line, sizeof(line), "\r%s%s  %.30s", percent, amount, label);
    if (n < 0) return;
    if ((size_t)n >= sizeof(line)) n = (int)sizeof(line) - 1;
    for (int i = 1; i < n; i++)
        if ((unsigned char)line[i] < ' ' || line[i] == 127) line[i] = ' ';
    for (; n < COLUMNS + 1; n++) line[n] = ' ';
    if (!shown) catch_signals();
    shown = 1;
    write_all(line, (size_t)n);
}

void progress_end(void) {
    progress_erase();
    label = NULL;
}
