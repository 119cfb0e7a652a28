/* SPDX-License-Identifier: MIT */
/* check_print.c: what `tally check` found, for people and as JSON. */
#include <stdio.h>
#include <string.h>

#include "check.h"

check_counts check_count(const check_subject *s, const char *variant) {
    check_counts sum = {{0}};
    for (size_t i = 0; i < s->count; i++)
        if (!variant || strcmp(s->cells[i].variant.name, variant) == 0) sum.cells[s->cells[i].state]++;
    return sum;
}

/* Cells of the same variant that were skipped for the same reason, from the first of them on; 0 for the others. */
static unsigned count_alike(const check_subject *s, size_t index) {
    const check_cell *c = &s->cells[index];
    unsigned alike = 0;
    if (c->state != CHECK_SKIPPED) return 0;
    for (size_t i = 0; i < s->count; i++) {
        const check_cell *other = &s->cells[i];
        if (other->state != CHECK_SKIPPED || strcmp(other->variant.name, c->variant.name) || strcmp(other->text, c->text))
            continue;
        if (i < index) return 0;
        alike++;
    }
    return alike;
}

void check_print_table(const check_subject *s) {
    tally_variant_info v;
    printf("%s:%d %s\n", s->device.backend, s->device.index, s->device.name);
    printf("  %-16s %6s %6s %7s\n", "variant", "run", "failed", "skipped");
    for (size_t i = 0; tally_variant_get(i, &v) == TALLY_OK; i++) {
        if (!v.canonical) continue;
        const check_counts sum = check_count(s, v.name);
        printf("  %-16s %6u %6u %7u\n", v.name, sum.cells[CHECK_RUN] + sum.cells[CHECK_FAILED], sum.cells[CHECK_FAILED],
               sum.cells[CHECK_SKIPPED]);
    }
    for (size_t i = 0; i < s->count; i++) {
        const check_cell *c = &s->cells[i];
        const unsigned alike = count_alike(s, i);
        if (alike) printf("  skipped: %s, %u cells: %s\n", c->variant.name, alike, c->text);
        if (c->state != CHECK_FAILED) continue;
        printf("  failed: %s %s %s: %s\n", c->variant.name, tally_op_name(c->op), tally_dtype_name(c->dtype), c->text);
    }
}

static void add_counts(json_object *o, check_counts sum) {
    json_object_object_add(o, "run", json_object_new_int64(sum.cells[CHECK_RUN] + sum.cells[CHECK_FAILED]));
    json_object_object_add(o, "failed", json_object_new_int64(sum.cells[CHECK_FAILED]));
    json_object_object_add(o, "skipped", json_object_new_int64(sum.cells[CHECK_SKIPPED]));
}

void check_print_json(const check_subject *s) {
    tally_variant_info v;
    json_object *o = json_object_new_object(), *variants = json_object_new_array();
    json_object *failures = json_object_new_array(), *skips = json_object_new_array();
    json_object_object_add(o, "backend", cli_json_text(s->device.backend));
    json_object_object_add(o, "device", cli_json_text(s->device.name));
    json_object_object_add(o, "device_index", json_object_new_int(s->device.index));
    add_counts(o, check_count(s, NULL));
    for (size_t i = 0; tally_variant_get(i, &v) == TALLY_OK; i++) {
        if (!v.canonical) continue;
        json_object *row = json_object_new_object();
        json_object_object_add(row, "variant", cli_json_text(v.name));
        add_counts(row, check_count(s, v.name));
        json_object_array_add(variants, row);
    }
    for (size_t i = 0; i < s->count; i++) {
        const check_cell *c = &s->cells[i];
        if (c->state == CHECK_RUN) continue;
        json_object *row = json_object_new_object();
        json_object_object_add(row, "variant", cli_json_text(c->variant.name));
        json_object_object_add(row, "op", cli_json_text(tally_op_name(c->op)));
        json_object_object_add(row, "dtype", cli_json_text(tally_dtype_name(c->dtype)));
        json_object_object_add(row, "reason", cli_json_text(c->text));
        json_object_array_add(c->state == CHECK_FAILED ? failures : skips, row);
    }
    json_object_object_add(o, "variants", variants);
    json_object_object_add(o, "failures", failures);
    json_object_object_add(o, "skips", skips);
    cli_print_json(o);
}
