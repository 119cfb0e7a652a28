/* SPDX-License-Identifier: MIT */
/* units.c: see units.h. */
#include "units.h"

#include <stdio.h>
#include <time.h>

units_text units_bytes(uint64_t bytes) {
    static const char *const units[] = {"B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
    units_text out;
    double amount = (double)bytes;
    size_t unit = 0;
    for (; amount >= 1024 && unit + 1 < sizeof(units) / sizeof(units[0]); unit++) amount /= 1024;
    snprintf(out.text, sizeof(out.text), unit ? "%.1f %s" : "%.0f %s", amount, units[unit]);
    return out;
}

double units_seconds(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}
