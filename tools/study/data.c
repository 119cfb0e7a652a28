/* SPDX-License-Identifier: MIT */
/* data.c: prints the study for programs, as a JSON object for each device or as one CSV
 * table. The CSV has only points with figures. */
#include <inttypes.h>
#include <stdio.h>

#include "study.h"

/* ---- JSON ------------------------------------------------------------------------------------ */

static void add_number(json_object *o, const char *name, double value, const char *format) {
    char text[48];
    snprintf(text, sizeof(text), format, value);
    json_object_object_add(o, name, value > 0 ? json_object_new_double_s(value, text) : NULL);
}

/* Builds a key such as "of_read" or "copy_bytes_per_second". */
static cli_value key(const study_request *r, const char *before, const char *after) {
    cli_value out;
    snprintf(out.text, sizeof(out.text), "%s%s%s", before, study_ceiling_of(r).noun, after);
    return out;
}

static json_object *row_json(const study_request *r, const study_device *d, const study_point *p) {
    json_object *o = json_object_new_object();
    json_object_object_add(o, study_row_word(r), cli_json_text(p->variant.name));
    json_object_object_add(o, "source", cli_json_text(p->variant.source));
    json_object_object_add(o, "finish", cli_json_text(p->variant.finish));
    json_object_object_add(o, "auto", json_object_new_boolean(p->automatic));
    json_object_object_add(o, "n", json_object_new_uint64(p->n));
    json_object_object_add(o, "group_threads", p->group ? json_object_new_int64(p->group) : NULL);
    json_object_object_add(o, "factor", p->factor ? json_object_new_int64(p->factor) : NULL);
    json_object_object_add(o, "checked", json_object_new_boolean(p->state == STUDY_CHECKED));
    if (p->state != STUDY_CHECKED) {
        json_object_object_add(o, "reason", cli_json_text(p->text));
        return o;
    }
    json_object_object_add(o, "runs", json_object_new_int64(p->runs));
    add_number(o, "seconds", p->median, "%.9f");
    add_number(o, "seconds_least", p->least, "%.9f");
    add_number(o, "seconds_most", p->most, "%.9f");
    add_number(o, "bytes_per_second", study_speed(r, p), "%.0f");
    add_number(o, key(r, "of_", "").text, study_speed(r, p) / d->ceiling, "%.6f");
    return o;
}

/* Adds the points with figures as `name`. Skipped and failed points have their own arrays. */
static void add_rows(json_object *o, const char *name, const study_request *r, const study_device *d, const study_list *list,
                     json_object *skipped, json_object *failed) {
    json_object *rows = json_object_new_array();
    for (size_t i = 0; i < list->count; i++) {
        const study_point *p = &list->points[i];
        json_object *row = row_json(r, d, p);
        if (p->state == STUDY_CHECKED && list == &d->ladder && r->primitive == CLI_REDUCE) {
            const study_speedup s = study_speedup_of(list, i);
            add_number(row, "step_speedup", s.step, "%.6f");
            add_number(row, "cumulative_speedup", s.cumulative, "%.6f");
            add_number(row, "speedup_to_tree", s.to_tree, "%.6f");
        }
        if (list == &d->factors) add_number(row, "groups_per_compute_unit", study_groups_per_unit(d, p), "%.3f");
        json_object_array_add(p->state == STUDY_CHECKED ? rows : p->state == STUDY_SKIPPED ? skipped : failed, row);
    }
    json_object_object_add(o, name, rows);
}

void study_print_json(const study_request *request, const study_device *device) {
    json_object *o = json_object_new_object(), *skipped = json_object_new_array(), *failed = json_object_new_array();
    const bool moves = request->primitive > CLI_SEGMENTS;
    cli_json_device(o, &device->info);
    json_object_object_add(o, "platform", cli_json_text(device->info.platform));
    json_object_object_add(o, "driver", cli_json_text(device->info.driver));
    json_object_object_add(o, "class", cli_json_text(tally_device_class_name(device->info.device_class)));
    json_object_object_add(o, "compute_units", json_object_new_int64(device->info.compute_units));
    json_object_object_add(o, "memory_bytes", json_object_new_uint64(device->info.memory_bytes));
    add_number(o, key(request, "", "_bytes_per_second").text, device->ceiling, "%.0f");
    json_object_object_add(o, "date", cli_json_text(study_date().text));
    json_object_object_add(o, "primitive", cli_json_text(cli_primitive_names[request->primitive]));
    json_object_object_add(o, "op", moves ? NULL : cli_json_text(tally_op_name(request->op)));
    json_object_object_add(o, "dtype", cli_json_text(tally_dtype_name(request->dtype)));
    json_object_object_add(o, "n", json_object_new_uint64(request->n));
    json_object_object_add(o, "auto", request->primitive > CLI_SCAN ? NULL : cli_json_text(device->automatic));
    if (moves) json_object_object_add(o, "map_dtype", cli_json_text(tally_dtype_name(study_map_dtype(request))));
    add_rows(o, "rows", request, device, &device->ladder, skipped, failed);
    if (request->sweep_n) add_rows(o, "sizes", request, device, &device->sizes, skipped, failed);
    if (request->primitive == CLI_REDUCE) {
        add_rows(o, "small", request, device, &device->small, skipped, failed);
        json_object_object_add(o, "small_finding", cli_json_text(study_small_finding(device).text));
    }
    if (request->primitive == CLI_REDUCE && request->sweep_n) {
        add_rows(o, "factors", request, device, &device->factors, skipped, failed);
        json_object_object_add(o, "factor_finding", cli_json_text(study_factor_finding(request, device).text));
    }
    json_object_object_add(o, "skipped", skipped);
    json_object_object_add(o, "failed", failed);
    cli_print_json(o);
}

/* ---- CSV ------------------------------------------------------------------------------------- */

static void print_quoted(const char *text) {
    putchar('"');
    for (; *text; text++) {
        if (*text == '"') putchar('"');
        putchar(*text);
    }
    putchar('"');
}

/* Prints a ratio; 0 means that there is no reference. */
static void print_ratio(double ratio) {
    if (ratio > 0)
        printf(",%.6f", ratio);
    else
        putchar(',');
}

static void print_rows(const char *part, const study_request *r, const study_device *d, const study_list *list) {
    for (size_t i = 0; i < list->count; i++) {
        const study_point *p = &list->points[i];
        if (p->state != STUDY_CHECKED) continue;
        const bool steps = list == &d->ladder && r->primitive == CLI_REDUCE;
        const study_speedup s = steps ? study_speedup_of(list, i) : (study_speedup){0};
        printf("%s,%s,", part, d->label);
        print_quoted(d->info.name);
        printf(",%s,%s,%s,%s,%" PRIu64 ",", cli_primitive_names[r->primitive], p->variant.name,
               r->primitive > CLI_SEGMENTS ? "" : tally_op_name(r->op), tally_dtype_name(r->dtype), p->n);
        if (p->group) printf("%" PRIu32, p->group);
        putchar(',');
        if (p->factor) printf("%" PRIu32, p->factor);
        printf(",%s,yes,%u,%.9f,%.9f,%.9f,%.0f,%.6f", p->automatic ? "yes" : "no", p->runs, p->median, p->least, p->most,
               study_speed(r, p), study_speed(r, p) / d->ceiling);
        print_ratio(s.step);
        print_ratio(s.cumulative);
        print_ratio(s.to_tree);
        print_ratio(list == &d->factors ? study_groups_per_unit(d, p) : 0);
        puts("");
    }
}

void study_print_csv(const study_request *request, const study_device *devices, size_t count) {
    printf("part,device,name,primitive,%s,op,dtype,n,group_threads,factor,auto,checked,runs,seconds,seconds_least,seconds_most,"
           "bytes_per_second,of_%s,step_speedup,cumulative_speedup,speedup_to_tree,groups_per_compute_unit\n",
           study_row_word(request), study_ceiling_of(request).noun);
    for (size_t i = 0; i < count; i++) {
        const study_device *d = &devices[i];
        print_rows("ladder", request, d, &d->ladder);
        print_rows("small", request, d, &d->small);
        print_rows("sizes", request, d, &d->sizes);
        print_rows("factors", request, d, &d->factors);
    }
}
