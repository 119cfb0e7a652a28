/* SPDX-License-Identifier: MIT */
/* print.c: prints the study as tables: document 003's "Performance 12M Reduction", with the
 * spread and the device's read bandwidth added. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "study.h"
#include "tools/print/wrap.h"

static int label_width(const study_list *list) {
    int width = 8;
    for (size_t i = 0; i < list->count; i++) {
        const int length = (int)strlen(list->points[i].variant.name);
        if (length > width) width = length;
    }
    return width;
}

/* Formats "36.10..39.02", the spread in the unit of the median "37.53 ms". */
static cli_value spread_text(const study_point *p) {
    cli_value out;
    const double unit = p->median < 0.9995e-3 ? 1e6 : p->median < 0.9995 ? 1e3 : 1;
    const int decimals = p->median * unit >= 100 ? 1 : p->median * unit >= 10 ? 2 : 3;
    snprintf(out.text, sizeof(out.text), "%.*f..%.*f", decimals, p->least * unit, decimals, p->most * unit);
    return out;
}

/* Formats a ratio, or "" if there is no reference. */
static cli_value ratio_text(double ratio) {
    cli_value out = {""};
    if (ratio > 0) snprintf(out.text, sizeof(out.text), ratio >= 1000 ? "%.0f" : ratio >= 100 ? "%.1f" : "%.3f", ratio);
    return out;
}

/* Returns true if an earlier point was skipped for the same reason, which holds for every n of a
 * sweep. */
static bool said_before(const study_list *list, size_t at) {
    const study_point *p = &list->points[at];
    for (size_t i = 0; i < at; i++) {
        const study_point *earlier = &list->points[i];
        if (earlier->state == p->state && !strcmp(earlier->variant.name, p->variant.name) && !strcmp(earlier->text, p->text))
            return true;
    }
    return false;
}

static void print_others(const study_list *list) {
    for (size_t i = 0; i < list->count; i++) {
        const study_point *p = &list->points[i];
        if (p->state == STUDY_CHECKED || (p->state == STUDY_SKIPPED && said_before(list, i))) continue;
        wrap_printf(stdout, "  %s: %s, n %" PRIu64 ": %s", p->state == STUDY_SKIPPED ? "skipped" : "failed", p->variant.name,
                    p->n, p->text);
    }
}

static const char *bytes_counted(const study_request *r) {
    if (r->primitive == CLI_SEGMENTS) return "items read and values written";
    return r->primitive == CLI_SCAN ? "an item read and a value written"
                                    : "an entry of the map and an item read, an item written";
}

static void print_heading(const study_request *r, const study_device *d) {
    wrap_printf(stdout, "%s %s: %s, %s", d->label, d->info.name, study_task(r).text, study_date().text);
    wrap_printf(stdout, "%s %s %s; results checked; times by the device's clock: median (least..most) of %" PRIu32 " runs",
                study_ceiling_of(r).verb, study_speed_text(d->ceiling).text, study_ceiling_of(r).where, r->runs);
    puts("");
}

static void print_ladder(const study_request *r, const study_device *d) {
    const study_list *ladder = &d->ladder;
    const int width = label_width(ladder);
    const bool steps = r->primitive == CLI_REDUCE;
    unsigned fewer = 0, above = 0;
    bool marked = false;
    print_heading(r, d);
    printf("  %-*s %9s %17s %11s", width, study_row_word(r), "time", "least..most", "bandwidth");
    if (steps) printf(" %7s %10s %7s", "step", "cumulative", "to tree");
    printf(" of %s\n", study_ceiling_of(r).noun);
    for (size_t i = 0; i < ladder->count; i++) {
        const study_point *p = &ladder->points[i];
        const study_speedup s = study_speedup_of(ladder, i);
        if (p->state != STUDY_CHECKED) continue;
        const double share = study_speed(r, p) / d->ceiling;
        printf("%c %-*s %9s %17s %11s", p->automatic ? '*' : ' ', width, p->variant.name, study_time_text(p->median).text,
               spread_text(p).text, study_speed_text(study_speed(r, p)).text);
        if (steps) printf(" %7s %10s %7s", ratio_text(s.step).text, ratio_text(s.cumulative).text, ratio_text(s.to_tree).text);
        printf(" %6.1f%%\n", 100 * share);
        marked |= p->automatic;
        fewer += p->runs < r->runs;
        above += share > 1.02;
    }
    print_others(ladder);
    if (marked) printf("  * is what auto picks%s", steps ? ". " : "\n");
    if (steps) printf("%sstep: speedup over the row above; to tree: over %s\n", marked ? "" : "  ", STUDY_FIRST_TREE);
    if (!steps) printf("  bandwidth: %s\n", bytes_counted(r));
    if (fewer) printf("  %u slow rows have fewer runs, at least 3\n", fewer);
    if (above) printf("  above 100%%: the items, or some of them, came from a cache\n");
}

static void print_small(const study_device *d) {
    const study_list *small = &d->small;
    if (!small->count) return;
    printf("\n  document 002: a tree in global memory against one in local memory, groups of %" PRIu32 "\n",
           small->points[0].group);
    printf("  %12s %18s %18s\n", "n", small->points[0].variant.name, small->points[1].variant.name);
    for (size_t i = 0; i + 1 < small->count; i += 2) {
        const study_point *pair = &small->points[i];
        if (pair[0].state != STUDY_CHECKED || pair[1].state != STUDY_CHECKED) continue;
        printf("  %12" PRIu64 " %18s %18s\n", pair[0].n, study_time_text(pair[0].median).text,
               study_time_text(pair[1].median).text);
    }
    print_others(small);
    if (*study_small_finding(d).text) wrap_printf(stdout, "  %s", study_small_finding(d).text);
}

/* Prints a row for each variant and a column for each n, in GB/s, with as many sizes as fit a
 * line. */
static void print_sizes(const study_request *r, const study_device *d) {
    enum { COLUMNS = 8 };
    const study_list *sizes = &d->sizes;
    const int width = label_width(sizes);
    size_t per = 0;
    while (per < sizes->count && strcmp(sizes->points[per].variant.name, sizes->points[0].variant.name) == 0) per++;
    for (size_t from = 0; from < per; from += COLUMNS) {
        const size_t to = from + COLUMNS < per ? from + COLUMNS : per;
        printf("\n  GB/s by n\n  %-*s", width, study_row_word(r));
        for (size_t c = from; c < to; c++) printf(" %8s", units_items(sizes->points[c].n).text);
        puts("");
        for (size_t row = 0; row + per <= sizes->count; row += per) {
            printf("%c %-*s", sizes->points[row].automatic ? '*' : ' ', width, sizes->points[row].variant.name);
            for (size_t c = from; c < to; c++) {
                const study_point *p = &sizes->points[row + c];
                if (p->state == STUDY_CHECKED)
                    printf(" %8.4g", 1e-9 * study_speed(r, p));
                else
                    printf(" %8s", "");
            }
            puts("");
        }
    }
    print_others(sizes);
}

static void print_factors(const study_request *r, const study_device *d) {
    if (!d->factors.count) return;
    printf("\n  document 004: %s by its factor, n %" PRIu64 "\n", STUDY_FACTORED, r->n);
    printf("  %6s %10s %18s  %12s  %s\n", "factor", "time", "least..most", "bandwidth", "groups per compute unit");
    for (size_t i = 0; i < d->factors.count; i++) {
        const study_point *p = &d->factors.points[i];
        if (p->state != STUDY_CHECKED) continue;
        printf("  %6" PRIu32 " %10s %18s  %12s  %.1f\n", p->factor, study_time_text(p->median).text, spread_text(p).text,
               study_speed_text(study_speed(r, p)).text, study_groups_per_unit(d, p));
    }
    print_others(&d->factors);
    if (*study_factor_finding(r, d).text) wrap_printf(stdout, "  %s", study_factor_finding(r, d).text);
}

/* Formats "33.09 us 0.990 GB/s   4.3%*", or "" if the device has no figures for the row. */
static cli_value side_text(const study_request *r, const study_device *device, const char *row) {
    cli_value out = {""};
    for (size_t p = 0; p < device->ladder.count; p++) {
        const study_point *point = &device->ladder.points[p];
        if (point->state != STUDY_CHECKED || strcmp(point->variant.name, row)) continue;
        snprintf(out.text, sizeof(out.text), "%.16s %.16s %5.1f%%%c", study_time_text(point->median).text,
                 study_speed_text(study_speed(r, point)).text, 100 * study_speed(r, point) / device->ceiling,
                 point->automatic ? '*' : ' ');
    }
    return out;
}

/* Prints the devices side by side, as many as fit a line. A variant without figures has no row. */
static void print_side_by_side(const study_request *r, const study_device *devices, size_t count) {
    enum { COLUMNS = 2 };
    tally_variant_info v;
    const int width = 20;
    for (size_t from = 0; from < count; from += COLUMNS) {
        const size_t to = from + COLUMNS < count ? from + COLUMNS : count;
        printf("\nside by side: %s\n  %-*s", study_task(r).text, width, study_row_word(r));
        for (size_t d = from; d < to; d++) printf("  %30s", devices[d].label);
        puts("");
        for (size_t i = 0; study_row_get(r, i, &v); i++) {
            bool any = false;
            for (size_t d = 0; d < count; d++) any |= *side_text(r, &devices[d], v.name).text != 0;
            if (!any) continue;
            printf("  %-*s", width, v.name);
            for (size_t d = from; d < to; d++) printf("  %30s", side_text(r, &devices[d], v.name).text);
            puts("");
        }
    }
    printf("  percent: of what the device %s%s\n", study_ceiling_of(r).verb,
           r->primitive > CLI_SCAN ? "" : "; * is what auto picks there");
}

void study_print(const study_request *request, const study_device *devices, size_t count) {
    for (size_t i = 0; i < count; i++) {
        if (i) puts("");
        print_ladder(request, &devices[i]);
        print_small(&devices[i]);
        print_sizes(request, &devices[i]);
        print_factors(request, &devices[i]);
    }
    if (count > 1) print_side_by_side(request, devices, count);
}
