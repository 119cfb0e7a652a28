/* SPDX-License-Identifier: MIT */
/*
 * progress.h: a line on stderr during long work. It is shown only on a terminal and only after a
 * while. It is erased at the end, before a message, and when the user interrupts. Elsewhere lines
 * are printed on request.
 */
#ifndef TALLY_PROGRESS_H
#define TALLY_PROGRESS_H

#include <stdint.h>

typedef enum progress_unit { PROGRESS_BYTES, PROGRESS_STEPS } progress_unit;

/* Starts the clock. A `total` of 0 means unknown. The label must live until progress_end. */
void progress_begin(const char *label, progress_unit unit, uint64_t total);
void progress_update(uint64_t done);
/* If stderr is no terminal, prints the progress there all the same: a line each second and one at
 * the end, which stay. */
void progress_plain(void);
/* Shows the text after a tenth of a second, unless a line is already shown or progress_end comes
 * first. It is for long calls that report no progress. A thread waits in the meantime. */
void progress_wait(const char *text);
#define PROGRESS_COMPILING "compiling ..."
void progress_end(void);
/* Erases the line. Safe in a signal handler. */
void progress_erase(void);
/* Blocks the signals that whoever started the program has it ignore, as nohup does. LLVM in POCL
 * replaces what ignores them by a handler, which would end the program. */
void progress_block_ignored(void);
/* Sets a function that runs before a signal ends the program (NULL: none); such signals erase the
 * line too. Ignored signals stay ignored. `clean` must be safe in a signal handler. */
void progress_at_signals(void (*clean)(void));

#endif
