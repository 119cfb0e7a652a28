/* SPDX-License-Identifier: MIT */
/* figures.c: figures and sentences derived from the points of a study. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "study.h"

size_t study_item_bytes(const study_request *request) {
    return tally_dtype_bytes(request->dtype);
}

uint64_t study_out_bytes(const study_request *r, uint64_t n) {
    if (r->primitive > CLI_SEGMENTS) return n * study_item_bytes(r);
    const uint64_t value = tally_result_count(r->op, r->dtype) * tally_dtype_bytes(tally_result_dtype(r->op, r->dtype));
    return r->primitive == CLI_REDUCE ? value : n * value;
}

tally_dtype study_map_dtype(const study_request *request) {
    const uint64_t most = request->n > request->sweep_n ? request->n : request->sweep_n;
    return most <= UINT64_C(1) << 31 ? TALLY_I32 : TALLY_I64;
}

double study_speed(const study_request *request, const study_point *point) {
    double bytes = (double)study_item_bytes(request); /* read bytes */
    if (request->primitive == CLI_SEGMENTS && point->median > 0)
        return (double)study_segments_bytes(request, point->variant.name, point->n) / point->median;
    if (request->primitive != CLI_REDUCE) bytes += (double)study_out_bytes(request, 1);
    if (request->primitive > CLI_SEGMENTS) bytes += (double)tally_dtype_bytes(study_map_dtype(request));
    return point->median > 0 ? (double)point->n * bytes / point->median : 0;
}

double study_groups_per_unit(const study_device *device, const study_point *point) {
    const uint64_t tile = (uint64_t)point->group * 2 * point->factor;
    return (double)((point->n + tile - 1) / tile) / device->info.compute_units;
}

study_speedup study_speedup_of(const study_list *ladder, size_t index) {
    const study_point *p = &ladder->points[index], *first = NULL, *before = NULL, *tree = NULL;
    for (size_t i = 0; i <= index; i++) {
        const study_point *other = &ladder->points[i];
        if (other->state != STUDY_CHECKED) continue;
        if (!first) first = other;
        if (i < index) before = other;
        if (strcmp(other->variant.name, STUDY_FIRST_TREE) == 0) tree = other;
    }
    if (p->state != STUDY_CHECKED) return (study_speedup){0};
    return (study_speedup){.step = before ? before->median / p->median : 1,
                           .cumulative = first->median / p->median,
                           .to_tree = tree ? tree->median / p->median : 0};
}

/* ---- texts ----------------------------------------------------------------------------------- */

/* Formats four digits, as in document 003. */
static cli_value four_digits(double value, const char *unit) {
    cli_value out;
    const int decimals = value >= 1000 ? 0 : value >= 100 ? 1 : value >= 10 ? 2 : 3;
    snprintf(out.text, sizeof(out.text), "%.*f %s", decimals, value, unit);
    return out;
}

cli_value study_time_text(double seconds) {
    if (seconds < 0.9995e-3) return four_digits(seconds * 1e6, "us");
    return seconds < 0.9995 ? four_digits(seconds * 1e3, "ms") : four_digits(seconds, "s");
}

cli_value study_speed_text(double bytes_per_second) {
    return four_digits(bytes_per_second * 1e-9, "GB/s");
}

study_text study_what(const study_request *r, uint64_t n) {
    const char *primitive = cli_primitive_names[r->primitive], *op = tally_op_name(r->op), *dtype = tally_dtype_name(r->dtype);
    char number[32] = "";
    study_text out;
    if (n) snprintf(number, sizeof(number), "%" PRIu64 " ", n);
    if (r->primitive == CLI_REDUCE)
        snprintf(out.text, sizeof(out.text), "%s of %s%s", op, number, dtype);
    else if (r->primitive == CLI_SCAN)
        snprintf(out.text, sizeof(out.text), "scan by %s of %s%s", op, number, dtype);
    else if (r->primitive == CLI_SEGMENTS)
        snprintf(out.text, sizeof(out.text), "segments by %s of %s%s", op, number, dtype);
    else
        snprintf(out.text, sizeof(out.text), "%s of %s%s by %s maps", primitive, number, dtype,
                 tally_dtype_name(study_map_dtype(r)));
    return out;
}

study_text study_task(const study_request *r) {
    study_text out = study_what(r, r->n);
    const size_t used = strlen(out.text);
    snprintf(out.text + used, sizeof(out.text) - used, " (%s)", units_bytes(r->n * study_item_bytes(r)).text);
    return out;
}

study_ceiling study_ceiling_of(const study_request *request) {
    static const study_ceiling read = {"read", "reads", "from its memory"};
    static const study_ceiling copy = {"copy", "copies", "within its memory, read and written"};
    return request->primitive == CLI_REDUCE || request->primitive == CLI_SEGMENTS ? read : copy;
}

const char *study_row_word(const study_request *request) {
    return request->primitive > CLI_SEGMENTS ? "map" : request->primitive == CLI_SEGMENTS ? "shape" : "variant";
}

cli_value study_date(void) {
    cli_value out = {""};
    const time_t now = time(NULL);
    struct tm day;
    if (localtime_r(&now, &day)) strftime(out.text, sizeof(out.text), "%Y-%m-%d", &day);
    return out;
}

/* ---- findings -------------------------------------------------------------------------------- */

/* Returns the ratio of the local tree's time to the global tree's, for pair `i`. The global tree is
 * faster above 1. 1 means a difference within the spread; 0 means not measured. */
static double small_ratio(const study_list *small, size_t i) {
    const study_point *global = &small->points[2 * i], *local = &small->points[2 * i + 1];
    if (global->state != STUDY_CHECKED || local->state != STUDY_CHECKED) return 0;
    if (global->median >= local->least && global->median <= local->most && local->median >= global->least &&
        local->median <= global->most)
        return 1;
    return local->median / global->median;
}

study_text study_small_finding(const study_device *device) {
    const study_list *small = &device->small;
    study_text out = {""};
    const size_t pairs = small->count / 2;
    size_t last = pairs;
    while (last && !small_ratio(small, last - 1)) last--;
    if (!last || !small_ratio(small, 0)) return out;
    const double first = small_ratio(small, 0);
    const study_point *global = &small->points[0], *local = &small->points[1];
    const char *at = "At 8 x 1024 items";
    int n;
    if (first == 1)
        n = snprintf(out.text, sizeof(out.text), "%s %s (%s) and %s (%s) differ by less than their spread", at,
                     global->variant.name, study_time_text(global->median).text, local->variant.name,
                     study_time_text(local->median).text);
    else
        n = snprintf(out.text, sizeof(out.text), "%s %s (%s) is %.2f times as fast as %s (%s)", at,
                     (first > 1 ? global : local)->variant.name,
                     study_time_text(first > 1 ? global->median : local->median).text, first > 1 ? first : 1 / first,
                     (first > 1 ? local : global)->variant.name,
                     study_time_text(first > 1 ? local->median : global->median).text);
    n += snprintf(out.text + n, sizeof(out.text) - (size_t)n,
                  ": document 002's observation, that local memory does not pay at small n, %s here.",
                  first > 1   ? "holds"
                  : first < 1 ? "does not hold"
                              : "is within the noise");
    const double end = small_ratio(small, last - 1);
    if (last > 1 && end != 1)
        snprintf(out.text + n, sizeof(out.text) - (size_t)n, " At %" PRIu64 " items %s is %.2f times as fast.",
                 small->points[2 * last - 2].n, (end > 1 ? global : local)->variant.name, end > 1 ? end : 1 / end);
    else if (last > 1)
        snprintf(out.text + n, sizeof(out.text) - (size_t)n, " At %" PRIu64 " items the two are equal within their spread.",
                 small->points[2 * last - 2].n);
    return out;
}

study_text study_factor_finding(const study_request *request, const study_device *device) {
    const study_point *best = NULL, *most = NULL;
    study_text out = {""};
    for (size_t i = 0; i < device->factors.count; i++) {
        const study_point *p = &device->factors.points[i];
        if (p->state != STUDY_CHECKED) continue;
        if (!best || p->median < best->median) best = p;
        most = p;
    }
    if (!best) return out;
    const int n = snprintf(out.text, sizeof(out.text),
                           "The best factor here is %" PRIu32 ": %.1f groups of %" PRIu32 " items for each of the %" PRIu32
                           " compute units, %s.",
                           best->factor, study_groups_per_unit(device, best), best->group, device->info.compute_units,
                           study_speed_text(study_speed(request, best)).text);
    if (most != best)
        snprintf(out.text + n, sizeof(out.text) - (size_t)n, " The largest, %" PRIu32 ", leaves %.1f groups for each, and %s.",
                 most->factor, study_groups_per_unit(device, most), study_speed_text(study_speed(request, most)).text);
    return out;
}
