/* SPDX-License-Identifier: MIT */
/* units.h: the clock, and amounts for people. */
#ifndef TALLY_UNITS_H
#define TALLY_UNITS_H

#include <stdint.h>

typedef struct units_text {
    char text[32];
} units_text;

units_text units_bytes(uint64_t bytes); /* "1.5 GiB" */
units_text units_items(uint64_t n);     /* "2^20", "12M" for 12 * 2^20, "3K" for 3 * 2^10 */
double units_seconds(void);             /* a monotonic clock */

#endif
