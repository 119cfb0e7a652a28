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

units_text units_items(uint64_t n) {
    units_text out;
    int power = 0;
    while (power < 63 && UINT64_C(1) << power < n) power++;
    const int shift = n % (1 << 20) == 0 ? 20 : n % (1 << 10) == 0 ? 10 : 0;
    if (UINT64_C(1) << power == n)
        snprintf(out.text, sizeof(out.text), "2^%d", power);
    else
        snprintf(out.text, sizeof(out.text), "%llu%s", (unsigned long long)(n >> shift), shift ? shift == 20 ? "M" : "K" : "");
    return out;
}

double units_seconds(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}
