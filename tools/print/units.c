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

/* ---- counts ---------------------------------------------------------------------------------- */

typedef struct reading {
    const char *at, *end;
    bool is_large; /* exceeds 64 bits */
} reading;

static uint64_t multiply(reading *r, uint64_t a, uint64_t b) {
    if (a && b > UINT64_MAX / a) r->is_large = true;
    return r->is_large ? UINT64_MAX : a * b;
}

static uint64_t power(reading *r, uint64_t base, uint64_t exponent) {
    uint64_t value = 1;
    if (base < 2) return exponent ? base : 1;
    for (; exponent && !r->is_large; exponent--) value = multiply(r, value, base);
    return value;
}

static bool take(reading *r, char c) {
    if (r->at == r->end || *r->at != c) return false;
    return r->at++, true;
}

static bool read_digits(reading *r, uint64_t *out) {
    const char *const from = r->at;
    for (*out = 0; r->at < r->end && *r->at >= '0' && *r->at <= '9'; r->at++) {
        const uint64_t digit = (uint64_t)(*r->at - '0');
        *out = multiply(r, *out, 10);
        if (*out > UINT64_MAX - digit) r->is_large = true;
        *out += digit;
    }
    return r->at > from;
}

/* Reads 12, 2^20 or 1e6, each with an optional unit. */
static bool read_factor(reading *r, uint64_t *out) {
    static const char units[] = "KMGT";
    uint64_t exponent;
    if (!read_digits(r, out)) return false;
    if (take(r, '^')) {
        if (!read_digits(r, &exponent)) return false;
        *out = power(r, *out, exponent);
    } else if (take(r, 'e') || take(r, 'E')) {
        if (!read_digits(r, &exponent)) return false;
        *out = multiply(r, *out, power(r, 10, exponent));
    }
    for (unsigned i = 0; units[i]; i++)
        if (take(r, units[i])) return *out = multiply(r, *out, UINT64_C(1) << 10 * (i + 1)), true;
    return true;
}

bool units_read_count(const char *text, size_t length, uint64_t least, uint64_t most, uint64_t *out) {
    reading r = {.at = text, .end = text + length};
    uint64_t value = 1, factor;
    do {
        if (!read_factor(&r, &factor)) return false;
        value = multiply(&r, value, factor);
    } while (take(&r, '*'));
    if (r.at < r.end || r.is_large || value < least || value > most) return false;
    return *out = value, true;
}

/* Formats a limit in digits, unless these are many. */
static units_text limit_text(uint64_t n) {
    units_text out;
    if (n > 100000) return units_items(n);
    snprintf(out.text, sizeof(out.text), "%u", (unsigned)n);
    return out;
}

units_range units_needed(uint64_t least, uint64_t most) {
    units_range out;
    snprintf(out.text, sizeof(out.text), "a whole number from %s to %s is needed, written as " UNITS_NOTATION,
             limit_text(least).text, limit_text(most).text);
    return out;
}
