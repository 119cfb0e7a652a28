/* SPDX-License-Identifier: MIT */
/* The speed bars of --bar. */
#include <stdio.h>
#include <string.h>

#include "bench.h"

/* What tally promises of the sum of f32, checked by --bar: at sizes 2^first to 2^last, at least this many times the peer's speed, or this one
 * of its own. A peer that is not there is not compared. */
typedef struct bench_bar {
    const char *where; /* a part of the device's or platform's name */
    const char *peer;  /* NULL: its own speed counts */
    int first, last;
    double least; /* times the peer's speed; bytes per second */
} bench_bar;

static const bench_bar bars[] = {
    {"Portable Computing Language", "OpenMP", 24, 27, 0.9},
    {"Portable Computing Language", "CLBlast", 22, 28, 10},
    {"Portable Computing Language", "Boost.Compute", 22, 28, 10},
    {"H200", NULL, 28, 28, 4.2e12},
};
#define EACH_BAR(bar) for (const bench_bar *bar = bars; bar < bars + sizeof(bars) / sizeof(bars[0]); bar++)

static int applies(const bench_bar *bar, const tally_device_info *device) {
    return strstr(device->name, bar->where) || strstr(device->platform, bar->where);
}

void bars_check(const bench_report *r, bench_totals *totals) {
    const bench_input *in = r->input;
    if (in->op != TALLY_SUM || in->in != TALLY_F32 || in->copies > 1) return;
    EACH_BAR(bar) {
        if (!applies(bar, in->device) || in->n < UINT64_C(1) << bar->first || in->n > UINT64_C(1) << bar->last) continue;
        int e = 0;
        while (bar->peer && e < r->count && (!e || strcmp(r->names[e], bar->peer))) e++;
        if (e == r->count) continue;
        const double is = bar->peer ? r->timings[e].seconds / r->timings[0].seconds : report_speed(in, &r->timings[0]);
        const int passed = is >= bar->least;
        totals->checked_bars++;
        totals->failed_bars += !passed;
        fprintf(stderr, "bar: %s:%d, n = %llu: %.4g, at least %.4g %s%s: %s\n", in->device->backend, in->device->index,
                (unsigned long long)in->n, is, bar->least, bar->peer ? "times the speed of " : "bytes per second",
                bar->peer ? bar->peer : "", passed ? "passed" : "FAILED");
    }
}

int bars_apply(const tally_device_info *device) {
    EACH_BAR(bar) if (applies(bar, device)) return 1;
    return 0;
}

int bars_have(const tally_device_info *device, int exponent) {
    EACH_BAR(bar) if (applies(bar, device) && exponent >= bar->first && exponent <= bar->last) return 1;
    return 0;
}
