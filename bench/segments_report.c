/* SPDX-License-Identifier: MIT */
/* segments_report.c: prints the cases of segments as lines of a table or of JSON. */
#include <stdio.h>

#include "segments.h"
#include "tools/print/units.h"
#include "tools/print/wrap.h"

/* Returns the time of a call by the GPU's clock if there is one. */
static double seconds_of(const bench_timing *t) {
    return t->gpu_seconds > 0 ? t->gpu_seconds : t->seconds;
}

/* Returns tally's speed divided by that of engine e, both by one clock. */
static double ratio_of(const segments_report *r, int e) {
    const int by_gpu = r->timings[0].gpu_seconds > 0 && r->timings[e].gpu_seconds > 0;
    return by_gpu ? r->timings[e].gpu_seconds / r->timings[0].gpu_seconds : r->timings[e].seconds / r->timings[0].seconds;
}

static double share_of(const segments_report *r) {
    return (double)r->bytes / seconds_of(&r->timings[0]) / r->ceiling;
}

void segments_report_heading(const tally_device_info *device, uint64_t items) {
    wrap_printf(
        stdout,
        "%s:%d: %s, %s: segments of %s f32 or as many bytes; GB/s of items, offsets or keys, and results; read: share of a "
        "kernel that only reads; bars are an H200's",
        device->backend, device->index, device->name, device->driver, units_items(items).text);
    printf("  %-34s %-10s %-4s %11s %8s %6s %5s  %s\n", "segments", "op", "type", "us", "GB/s", "read", "bar", "tally is");
}

static void print_op(char *text, size_t size, const bench_segments *s) {
    snprintf(text, size, "%s%s%s", tally_op_name(s->op), s->also ? "," : "", s->also ? tally_op_name(s->also) : "");
}

void segments_report_row(const segments_report *r) {
    const bench_segments *s = r->segments;
    const double seconds = seconds_of(&r->timings[0]);
    char op[32], bar[16] = "";
    print_op(op, sizeof(op), s);
    if (s->bar > 0) snprintf(bar, sizeof(bar), "%.2f", s->bar);
    printf("  %-34s %-10s %-4s %11.2f %8.2f %6.3f %5s ", s->name, op, tally_dtype_name(s->in), 1e6 * seconds,
           1e-9 * (double)r->bytes / seconds, share_of(r), bar);
    for (int e = 1; e < r->count; e++) printf("%s %.2f x %s", e > 1 ? "," : "", ratio_of(r, e), r->engines[e].name);
    printf("\n");
}

void segments_report_json(const segments_report *r) {
    const bench_segments *s = r->segments;
    char op[32];
    print_op(op, sizeof(op), s);
    const char *const texts[][2] = {{"primitive", "segments"},
                                    {"group", s->group},
                                    {"segments", s->name},
                                    {"op", op},
                                    {"dtype", tally_dtype_name(s->in)},
                                    {"backend", r->device->backend},
                                    {"device", r->device->name},
                                    {"driver", r->device->driver},
                                    {"variant", r->variant}};
    printf("{");
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) report_json_text(texts[i][0], texts[i][1]), printf(", ");
    printf("\"index\": %d, \"n\": %llu, \"count\": %llu, \"bytes\": %llu, \"blocks\": %d, ", r->device->index,
           (unsigned long long)s->n, (unsigned long long)s->count, (unsigned long long)r->bytes, r->blocks);
    printf("\"read_bytes_per_second\": %.6g, \"of_read\": %.4g, \"bar\": %.2f, \"engines\": [", r->ceiling, share_of(r),
           s->bar);
    for (int e = 0; e < r->count; e++) {
        const bench_timing *t = &r->timings[e];
        printf(e ? ", {" : "{");
        report_json_text("name", r->engines[e].name);
        printf(", \"seconds\": %.9g", t->seconds);
        if (t->gpu_seconds > 0) printf(", \"gpu_seconds\": %.9g", t->gpu_seconds);
        printf(", \"tally_is\": %.4g}", ratio_of(r, e));
    }
    printf("]}\n");
}
