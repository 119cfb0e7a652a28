/* SPDX-License-Identifier: MIT */
/* report.c: prints a case's figures as rows of the table or as a JSON object. */
#include <stdio.h>

#include "forms.h"
#include "grid.h"
#include "tools/print/units.h"
#include "tools/print/wrap.h"

uint64_t report_bytes(const bench_input *in) {
    uint64_t bytes = in->bytes;
    for (int a = 0; a < ARRAYS; a++)
        if (!in->form && task_arrays(in->task) & 1u << a) bytes += array_bytes(a, in->in, in->n);
    return bytes;
}

static double speed(const bench_input *in, const bench_timing *timing) {
    return (double)report_bytes(in) / timing->seconds;
}

static const char *cache_name(const bench_input *in) {
    return in->copies > 1 ? "cold" : "warm";
}

/* Returns true if the engine has a ratio by the GPU's clock. Calls that wait cannot be in a
 * graph. */
static int has_gpu_ratio(const bench_report *r, int engine) {
    return r->timings[engine].gpu_seconds > 0 && r->timings[0].gpu_seconds > 0;
}

void report_heading(const tally_device_info *const *devices, int count) {
    for (int d = 0; d < count; d++)
        wrap_printf(stdout, "%s:%d: %s, %s", devices[d]->backend, devices[d]->index, devices[d]->name, devices[d]->driver);
    printf("  %-26s %12s %9s %8s %9s %9s %8s\n", "engine", "us", "GB/s", "ceiling", "GPU us", "tally is", "by GPU");
}

/* Prints a line for the case, and a line for each engine. */
void report_rows(const bench_report *r) {
    const bench_input *in = &r->input;
    printf("%s:%d: %s of %s, n = %s, %s\n", in->device->backend, in->device->index, task_name(in->task).text,
           tally_dtype_name(in->in), units_items(in->n).text, cache_name(in));
    for (int e = 0; e < r->count; e++) {
        const bench_timing *t = &r->timings[e];
        char name[48];
        snprintf(name, sizeof(name), "%s%s%s", r->names[e], e ? "" : ", ", e ? "" : r->variant);
        printf("  %-26s %12.2f %9.2f", name, 1e6 * t->seconds, 1e-9 * speed(in, t));
        if (r->ceiling > 0)
            printf(" %8.3f", speed(in, t) / r->ceiling);
        else
            printf(" %8s", "-");
        if (t->gpu_seconds > 0)
            printf(" %9.2f", 1e6 * t->gpu_seconds);
        else
            printf(" %9s", "-");
        if (e) printf(" %8.2fx", t->seconds / r->timings[0].seconds);
        if (e && has_gpu_ratio(r, e)) printf(" %7.2fx", t->gpu_seconds / r->timings[0].gpu_seconds);
        printf("\n");
    }
}

static const char *with_key(const bench_task *task) {
    return task->map ? "map" : "op";
}

void report_json_text(const char *key, const char *text) {
    printf("\"%s\": \"", key);
    for (; *text; text++)
        if ((unsigned char)*text >= ' ') printf(*text == '"' || *text == '\\' ? "\\%c" : "%c", *text);
    printf("\"");
}

void report_json(const bench_report *r, const bench_compile *compile) {
    const bench_input *in = &r->input;
    const struct {
        const char *key, *text;
    } texts[] = {{"primitive", bench_primitives[in->task->primitive].name},
                 {with_key(in->task), task_with(in->task)},
                 {"dtype", tally_dtype_name(in->in)},
                 {"backend", in->device->backend},
                 {"device", in->device->name},
                 {"driver", in->device->driver},
                 {"variant", r->variant},
                 {"cache", cache_name(in)}};
    printf("{");
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) report_json_text(texts[i].key, texts[i].text), printf(", ");
    if (in->form) report_json_text("form", in->form->name), printf(", ");
    printf("\"index\": %d, \"n\": %llu, \"blocks\": %d, ", in->device->index, (unsigned long long)in->n, r->blocks);
    if (r->ceiling > 0) printf("\"%s_bytes_per_second\": %.6g, ", is_copied(in->task) ? "copy" : "read", r->ceiling);
    if (compile)
        printf("\"of_%s\": %.6g, \"plan_seconds\": %.4g, \"first_call_seconds\": %.4g, ", is_copied(in->task) ? "copy" : "read",
               grid_share(r), compile->plan_seconds, compile->call_seconds);
    printf("\"engines\": [");
    for (int e = 0; e < r->count; e++) {
        const bench_timing *t = &r->timings[e];
        printf(e ? ", {" : "{");
        report_json_text("name", r->names[e]);
        printf(", \"seconds\": %.9g, \"bytes_per_second\": %.6g", t->seconds, speed(in, t));
        if (t->gpu_seconds > 0) printf(", \"gpu_seconds\": %.9g", t->gpu_seconds);
        if (has_gpu_ratio(r, e)) printf(", \"tally_is_by_gpu\": %.4g", t->gpu_seconds / r->timings[0].gpu_seconds);
        printf(", \"tally_is\": %.4g}", t->seconds / r->timings[0].seconds);
    }
    printf("]}\n");
}

void report_result(const bench_result *r, int json) {
    char hex[2 * sizeof(r->value) + 1] = "";
    for (size_t i = 0; i < r->bytes; i++) snprintf(hex + 2 * i, 3, "%02x", r->value[i]);
    if (!json) {
        printf("bits: %s:%d: %s of %s, n = %s, rounded: %s\n", r->device->backend, r->device->index, task_name(r->task).text,
               tally_dtype_name(r->in), units_items(r->n).text, hex);
        return;
    }
    const char *const texts[][2] = {{"primitive", bench_primitives[r->task->primitive].name},
                                    {with_key(r->task), task_with(r->task)},
                                    {"dtype", tally_dtype_name(r->in)},
                                    {"backend", r->device->backend},
                                    {"device", r->device->name},
                                    {"bits", hex}};
    printf("{");
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) report_json_text(texts[i][0], texts[i][1]), printf(", ");
    printf("\"index\": %d, \"n\": %llu}\n", r->device->index, (unsigned long long)r->n);
}
