/* SPDX-License-Identifier: MIT */
/* print.c: prints the results of `tally check`, as text and as JSON. */
#include <stdio.h>
#include <string.h>

#include "check.h"
#include "tools/print/wrap.h"

static bool is_alike(const check_cell *a, const check_cell *b) {
    return a->primitive == b->primitive && strcmp(a->variant.name, b->variant.name) == 0;
}

check_counts check_count(const check_subject *s, const check_cell *like) {
    check_counts sum = {{0}};
    for (size_t i = 0; i < s->count; i++)
        if (!like || is_alike(&s->cells[i], like)) sum.cells[s->cells[i].state]++;
    return sum;
}

/* Returns true for the first cell of a variant, which represents the variant. */
static bool is_first(const check_subject *s, const check_cell *c) {
    const check_cell *first = s->cells;
    while (!is_alike(first, c)) first++;
    return first == c;
}

/* Returns true for gathers and scatters, which have no variants. */
static bool moves_items(const check_cell *c) {
    return c->primitive == CLI_GATHER || c->primitive == CLI_SCATTER;
}

/* Returns the text that distinguishes cells of the same variant. */
static cli_text form_text(const check_cell *c) {
    cli_text out;
    if (moves_items(c))
        snprintf(out.text, sizeof(out.text), "by %s, %u-byte items%s%s%s", tally_dtype_name(c->dtype), c->item_bytes,
                 c->flags & TALLY_STENCIL ? ", stencil" : "", c->flags & TALLY_SCATTER_LAST ? ", last" : "",
                 c->flags & TALLY_UNCHECKED ? ", unchecked" : "");
    else
        snprintf(out.text, sizeof(out.text), "%s %s%s%s%s", tally_op_name(c->op), tally_dtype_name(c->dtype),
                 c->flags & TALLY_EXCLUSIVE ? ", exclusive" : "", c->flags & TALLY_REVERSE ? ", reverse" : "",
                 c->flags & TALLY_WHERE ? ", masked" : "");
    return out;
}

/* Counts the cells that share the variant and the reason of a skip with cell `index`. Returns 0 if
 * `index` is not the first of them. */
static unsigned count_alike(const check_subject *s, size_t index) {
    const check_cell *c = &s->cells[index];
    unsigned alike = 0;
    if (c->state != CHECK_SKIPPED) return 0;
    for (size_t i = 0; i < s->count; i++) {
        const check_cell *other = &s->cells[i];
        if (other->state != CHECK_SKIPPED || !is_alike(other, c) || strcmp(other->text, c->text)) continue;
        if (i < index) return 0;
        alike++;
    }
    return alike;
}

void check_print_table(const check_subject *s) {
    wrap_printf(stdout, "%s:%d %s", s->device.backend, s->device.index, s->device.name);
    printf("  %-9s %-16s %6s %6s %7s\n", "primitive", "variant", "run", "failed", "skipped");
    for (size_t i = 0; i < s->count; i++) {
        const check_cell *c = &s->cells[i];
        if (!is_first(s, c)) continue;
        const check_counts sum = check_count(s, c);
        printf("  %-9s %-16s %6u %6u %7u\n", cli_primitive_names[c->primitive], moves_items(c) ? "" : c->variant.name,
               sum.cells[CHECK_RUN] + sum.cells[CHECK_FAILED], sum.cells[CHECK_FAILED], sum.cells[CHECK_SKIPPED]);
    }
    for (size_t i = 0; i < s->count; i++) {
        const check_cell *c = &s->cells[i];
        const unsigned alike = count_alike(s, i);
        if (alike) wrap_printf(stdout, "  skipped: %s, %u cells: %s", c->variant.name, alike, c->text);
        if (c->state != CHECK_FAILED) continue;
        wrap_printf(stdout, "  failed: %s %s: %s", c->variant.name, form_text(c).text, c->text);
    }
}

static void add_name(json_object *o, const check_cell *c) {
    json_object_object_add(o, "primitive", cli_json_text(cli_primitive_names[c->primitive]));
    json_object_object_add(o, "variant", moves_items(c) ? NULL : cli_json_text(c->variant.name));
}

static void add_counts(json_object *o, check_counts sum) {
    json_object_object_add(o, "run", json_object_new_int64(sum.cells[CHECK_RUN] + sum.cells[CHECK_FAILED]));
    json_object_object_add(o, "failed", json_object_new_int64(sum.cells[CHECK_FAILED]));
    json_object_object_add(o, "skipped", json_object_new_int64(sum.cells[CHECK_SKIPPED]));
}

void check_print_json(const check_subject *s) {
    json_object *o = json_object_new_object(), *variants = json_object_new_array();
    json_object *failures = json_object_new_array(), *skips = json_object_new_array();
    cli_json_device(o, &s->device);
    add_counts(o, check_count(s, NULL));
    for (size_t i = 0; i < s->count; i++) {
        if (!is_first(s, &s->cells[i])) continue;
        json_object *row = json_object_new_object();
        add_name(row, &s->cells[i]);
        add_counts(row, check_count(s, &s->cells[i]));
        json_object_array_add(variants, row);
    }
    for (size_t i = 0; i < s->count; i++) {
        const check_cell *c = &s->cells[i];
        if (c->state == CHECK_RUN) continue;
        json_object *row = json_object_new_object();
        add_name(row, c);
        if (!moves_items(c)) json_object_object_add(row, "op", cli_json_text(tally_op_name(c->op)));
        json_object_object_add(row, moves_items(c) ? "map_dtype" : "dtype", cli_json_text(tally_dtype_name(c->dtype)));
        json_object_object_add(row, "form", cli_json_text(form_text(c).text));
        json_object_object_add(row, "reason", cli_json_text(c->text));
        json_object_array_add(c->state == CHECK_FAILED ? failures : skips, row);
    }
    json_object_object_add(o, "variants", variants);
    json_object_object_add(o, "failures", failures);
    json_object_object_add(o, "skips", skips);
    cli_print_json(o);
}
