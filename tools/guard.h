/* SPDX-License-Identifier: MIT */
/*
 * guard.h: mapped files that shrink. Reading past the end of a mapped file that was cut short, or from a failing disk, raises SIGBUS in
 * whichever thread reads, be it the driver's: all that is left is to say so and end.
 */
#ifndef TALLY_GUARD_H
#define TALLY_GUARD_H

#include <stddef.h>

/* From here on a fault within the map ends the program with a message that names the file; at most TALLY_MAX_INPUTS maps. */
void guard_begin(const void *map, size_t bytes, const char *name);
void guard_end(const void *map);

#endif
