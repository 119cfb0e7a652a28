/* SPDX-License-Identifier: MIT */
/*
 * guard.h: protects the program from mapped files that shrink. A read past the end of a truncated
 * file, or from a failing disk, raises SIGBUS in the thread that reads, which may be a driver's.
 * The program can then only report the error and exit.
 */
#ifndef TALLY_GUARD_H
#define TALLY_GUARD_H

#include <stddef.h>

#define GUARD_MAPS 6 /* the most inputs of an op, a mask, and offsets or keys */

/* Guards a map. From now on a fault in the map ends the program with a message that names the file.
 * At most GUARD_MAPS maps are guarded at a time. */
void guard_begin(const void *map, size_t bytes, const char *name);
void guard_end(const void *map);

#endif
