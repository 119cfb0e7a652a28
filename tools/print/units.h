/* SPDX-License-Identifier: MIT */
/* units.h: the clock, amounts in readable units, and counts in the notation of the command line. */
#ifndef TALLY_UNITS_H
#define TALLY_UNITS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct units_text {
    char text[32];
} units_text;

units_text units_bytes(uint64_t bytes); /* "1.5 GiB" */
units_text units_items(uint64_t n);     /* "2^20", "12M" for 12 * 2^20, "3K" for 3 * 2^10 */
double units_seconds(void);             /* a monotonic clock */

/*
 * Notation of counts and sizes in every option that takes one: whole numbers with *, ^ and the
 * suffixes K, M, G and T, which multiply by 2^10, 2^20, 2^30 and 2^40.
 */
#define UNITS_NOTATION "1000, 1e6, 12M, 2^20 or 3*2^22"

/* Reads a count from the first `length` characters. Returns false unless it is from `least` to
 * `most`. */
bool units_read_count(const char *text, size_t length, uint64_t least, uint64_t most, uint64_t *out);

/* The answer to any other text: "a whole number from 1 to 2^40 is needed, written as ...". */
typedef struct units_range {
    char text[160];
} units_range;
units_range units_needed(uint64_t least, uint64_t most);

#endif
