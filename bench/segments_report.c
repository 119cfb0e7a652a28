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

/* Returns the share of the speed of a kernel that only reads; 0: not measured. */
static double share_of(const segments_report *r) {
    return r->ceiling > 0 ? (double)r->bytes / seconds_of(&r->timings[0]) / r->ceiling : 0;
}

void segments_report_heading(const tally_device_info *device, uint64_t items) {
    const int has_bars = device->device_class == TALLY_CLASS_GPU;
    wrap_printf(stdout, "%s:%d: %s, %s", device->backend, device->index, device->name, device->driver);
    wrap_printf(stdout,
                "segments of %s f32, or of as many bytes; GB/s: items, offsets or keys, results; read: share of a kernel that "
                "only reads%s",
                units_items(items).text, has_bars ? "; bar: its least on an H200, of 2^28" : "");
    printf("  %-28s %-7s %-4s %11s %8s %5s %4s  tally is\n", "segments", "op", "type", "us", "GB/s", "read",
           has_bars ? "bar" : "");
}

static void print_op(char *text, size_t size, const bench_segments *s) {
    snprintf(text, size, "%s%s%s", tally_op_name(s->op), s->also ? "," : "", s->also ? tally_op_name(s->also) : "");
}

void segments_report_row(const segments_report *r) {
    const bench_segments *s = r->segments;
    const double seconds = seconds_of(&r->timings[0]);
    char op[32], share[16] = "-", bar[16] = "";
    print_op(op, sizeof(op), s);
    if (r->ceiling > 0) snprintf(share, sizeof(share), "%.2f", share_of(r));
    if (s->bar > 0 && r->device->device_class == TALLY_CLASS_GPU) snprintf(bar, sizeof(bar), "%.2f", s->bar);
    printf("  %-28s %-7s %-4s %11.2f %8.2f %5s %4s", s->name, op, tally_dtype_name(s->in), 1e6 * seconds,
           1e-9 * (double)r->bytes / seconds, share, bar);
    for (int e = 1; e < r->count; e++) printf("%s%.2f x %s", e > 1 ? ", " : "  ", ratio_of(r, e), r->engines[e].name);
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
    if (r->ceiling > 0) printf("\"read_bytes_per_second\": %.6g, \"of_read\": %.4g, ", r->ceiling, share_of(r));
    printf("\"bar\": %.2f, \"engines\": [", s->bar);
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
