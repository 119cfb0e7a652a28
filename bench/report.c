/* SPDX-License-Identifier: MIT */
/* A case's figures as a row of the table or as a JSON object. */
#include <stdio.h>

#include "bench.h"

double report_speed(uint64_t n, const bench_timing *timing) {
    return (double)n * sizeof(float) / timing->seconds;
}

void report_heading(void) {
    printf("%-34s %-11s %-9s %10s %9s %9s  %-7s %10s %9s %9s %7s\n", "device", "variant", "n", "us", "GB/s", "GPU us", "peer",
           "us", "GB/s", "GPU us", "ratio");
}

static void print_gpu(double seconds) {
    if (seconds > 0)
        printf(" %9.2f", 1e6 * seconds);
    else
        printf(" %9s", "-");
}

void report_row(const bench_report *r) {
    int exponent = 0;
    while (r->n >> (exponent + 1)) exponent++;
    char device[64];
    snprintf(device, sizeof(device), "%s:%d %.24s", r->device->backend, r->device->index, r->device->name);
    printf("%-34s %-11s 2^%-7d %10.2f %9.2f", device, r->variant, exponent, 1e6 * r->ours.seconds,
           1e-9 * report_speed(r->n, &r->ours));
    print_gpu(r->ours.gpu_seconds);
    if (r->peer) {
        printf("  %-7s %10.2f %9.2f", r->peer, 1e6 * r->theirs.seconds, 1e-9 * report_speed(r->n, &r->theirs));
        print_gpu(r->theirs.gpu_seconds);
        printf(" %7.3f", r->theirs.seconds / r->ours.seconds);
    }
    printf("\n");
}

static void print_json_text(const char *key, const char *text) {
    printf("\"%s\": \"", key);
    for (; *text; text++)
        if ((unsigned char)*text >= ' ') printf(*text == '"' || *text == '\\' ? "\\%c" : "%c", *text);
    printf("\", ");
}

static void print_json_timing(const char *key, uint64_t n, const bench_timing *t) {
    printf("\"%s\": {\"seconds\": %.9g, \"bytes_per_second\": %.6g", key, t->seconds, report_speed(n, t));
    if (t->gpu_seconds > 0) printf(", \"gpu_seconds\": %.9g", t->gpu_seconds);
    printf("}");
}

void report_json(const bench_report *r, int blocks) {
    printf("{\"op\": \"sum\", \"dtype\": \"f32\", \"n\": %llu, ", (unsigned long long)r->n);
    print_json_text("backend", r->device->backend);
    print_json_text("device", r->device->name);
    print_json_text("driver", r->device->driver);
    print_json_text("variant", r->variant);
    printf("\"blocks\": %d, ", blocks);
    print_json_timing("tally", r->n, &r->ours);
    if (r->peer) {
        printf(", ");
        print_json_text("peer_name", r->peer);
        print_json_timing("peer", r->n, &r->theirs);
        printf(", \"ratio\": %.4g", r->theirs.seconds / r->ours.seconds);
    }
    printf("}\n");
}
