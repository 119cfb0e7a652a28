/* SPDX-License-Identifier: MIT */
/*
 * progress.h: one line on stderr while something takes long. It is shown only on a terminal and
 * only after a while. It is erased at the end, at a message, and when the user interrupts.
 */
#ifndef TALLY_PROGRESS_H
#define TALLY_PROGRESS_H

#include <stdint.h>

typedef enum progress_unit { PROGRESS_BYTES, PROGRESS_STEPS } progress_unit;

/* Starts the clock. total 0: not known. The label must live until progress_end. */
void progress_begin(const char *label, progress_unit unit, uint64_t total);
void progress_update(uint64_t done);
/* Shows the text after a tenth of a second, unless a line is shown or progress_end called before:
 * for calls that take long without coming back. A thread waits meanwhile. */
void progress_wait(const char *text);
#define PROGRESS_COMPILING "compiling ..."
void progress_end(void);
/* Erases the line; safe in a signal handler. */
void progress_erase(void);
/* Signals that end the program (those that are not ignored) call `clean` before, which must be safe there; as they erase the line. */
void progress_at_signals(void (*clean)(void));

#endif
