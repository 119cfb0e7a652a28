/* SPDX-License-Identifier: MIT */
/* table.c: prints the values of segments. A table has a row for each segment: the columns of its
 * name (indices of the kept axes, a number or a key), and a column for each value. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "segments.h"
#include "tools/files/shape.h"
#include "tools/print/wrap.h"

/* Rows at the beginning and at the end of a longer table. */
#define END_ROWS 12
/* The most values of an op that JSON has. */
#define MOST_JSON ((uint64_t)1 << 16)
#define GAP 2 /* spaces before a column */

/* ---- cells ----------------------------------------------------------------------------------- */

#define HEADING UINT64_MAX /* the row before row 0 */
#define MOST_COLUMNS (TALLY_MAX_AXES + 2 * TALLY_MAX_TERMS)

typedef struct table {
    const segments *s;
    uint32_t names, columns;       /* columns of names come first */
    uint32_t axes[TALLY_MAX_AXES]; /* by axes: the axis of each column of names */
    size_t widths[MOST_COLUMNS];
} table;

static cli_value name_cell(const table *t, uint64_t row, uint32_t column) {
    const segments *s = t->s;
    cli_value text;
    switch ((int)s->r->form) {
    case REDUCE_KEYS:
        return row == HEADING ? (cli_value){"key"}
                              : cli_value_text(s->by.dtype, s->keys + row * tally_dtype_bytes(s->by.dtype));
    case REDUCE_OFFSETS:
        if (row == HEADING) return (cli_value){"segment"};
        break;
    default:
        if (row == HEADING) return snprintf(text.text, sizeof(text.text), "axis %u", t->axes[column]), text;
        for (uint32_t c = t->names; c-- > column + 1;) row /= s->axes[t->axes[c]].extent;
        row %= s->axes[t->axes[column]].extent;
        break;
    }
    snprintf(text.text, sizeof(text.text), "%" PRIu64, row);
    return text;
}

static const unsigned char *value_at(const segments *s, uint64_t segment, const tally_result_info *value) {
    return s->o.result + segment * s->result_bytes + value->offset;
}

/* Returns true for the index of no item. */
static bool is_none(const segments *s, uint64_t segment, const tally_result_info *value) {
    const tally_op op = s->r->terms[value->term].op;
    uint64_t index;
    if (op != TALLY_ARGMIN && op != TALLY_ARGMAX && op != TALLY_IAMAX) return false;
    memcpy(&index, value_at(s, segment, value), sizeof(index));
    return index == TALLY_NO_INDEX;
}

static cli_value value_text(const segments *s, uint64_t segment, const tally_result_info *value) {
    return is_none(s, segment, value) ? (cli_value){"none"} : cli_value_text(value->dtype, value_at(s, segment, value));
}

static cli_value cell(const table *t, uint64_t row, uint32_t column) {
    const segments *s = t->s;
    cli_value text;
    if (column < t->names) return name_cell(t, row, column);
    const tally_result_info *value = &s->o.values[column - t->names];
    if (row != HEADING) return value_text(s, row, value);
    const reduce_want *want = s->r->wants;
    while (want->term != value->term) want++;
    snprintf(text.text, sizeof(text.text), "%s", reduce_name(s->r, want));
    return text;
}

/* ---- the table ------------------------------------------------------------------------------- */

/* Returns the row behind this one. The middle of a long table is left out. */
static uint64_t next_row(const table *t, uint64_t row) {
    const uint64_t count = t->s->count;
    return row + 1 == END_ROWS && count > 2 * END_ROWS ? count - END_ROWS : row + 1;
}

static void measure(table *t) {
    const segments *s = t->s;
    for (uint32_t d = 0; d < s->shape.dimensions && s->r->form == REDUCE_AXES; d++)
        if (!s->reduced[d]) t->axes[t->names++] = d;
    if (s->r->form != REDUCE_AXES) t->names = 1;
    t->columns = t->names + s->o.value_count;
    for (uint32_t c = 0; c < t->columns; c++)
        for (uint64_t row = HEADING; row == HEADING || row < s->count; row = next_row(t, row)) {
            const size_t length = strlen(cell(t, row, c).text);
            if (length > t->widths[c]) t->widths[c] = length;
        }
}

/* Prints the columns of names and those from `first` to `end` - 1. */
static void print_columns(const table *t, uint32_t first, uint32_t end) {
    uint64_t before = HEADING;
    for (uint64_t row = HEADING; row == HEADING || row < t->s->count; before = row, row = next_row(t, row)) {
        if (row != HEADING && row > before + 1) printf("... %" PRIu64 " more ...\n", row - before - 1);
        for (uint32_t c = t->names ? 0 : first; c < end; c = c + 1 == t->names ? first : c + 1)
            printf("%*s%s", GAP + (int)t->widths[c], cell(t, row, c).text, c + 1 < end ? "" : "\n");
    }
}

/* Prints as many columns as fit side by side, and the others below, with the names again. */
static void print_table(const segments *s) {
    table t = {.s = s};
    size_t named = 0;
    measure(&t);
    for (uint32_t c = 0; c < t.names; c++) named += GAP + t.widths[c];
    for (uint32_t first = t.names, end; first < t.columns; first = end) {
        size_t used = named + GAP + t.widths[first];
        for (end = first + 1; end < t.columns && used + GAP + t.widths[end] <= WRAP_COLUMNS; end++) used += GAP + t.widths[end];
        print_columns(&t, first, end);
    }
}

/* ---- sentences ------------------------------------------------------------------------------- */

/* Puts a text that stays on one line: a file's name or a shape. */
static void put_whole(FILE *to, const char *text) {
    const cli_shown_name shown = cli_shown(text);
    for (const char *c = shown.text; *c; c++) putc(*c == ' ' ? WRAP_JOINT : *c, to);
}

/* Puts "sum, max along axis 0 of (3, 4) f32 in x.npy where mask.npy". */
static void put_what(FILE *to, const segments *s) {
    const reduce_request *r = s->r;
    const char *joint = r->axis_count > 1 ? " along axes " : " along axis ";
    for (uint32_t i = 0; i < r->want_count; i++) fprintf(to, "%s%s", i ? ", " : "", reduce_name(r, &r->wants[i]));
    for (uint32_t d = 0; d < s->shape.dimensions; d++)
        if (s->reduced[d]) fprintf(to, "%s%u", joint, d), joint = ", ";
    if (r->by)
        fprintf(to, " by the %" PRIu64 " %s in ", s->count,
                r->form == REDUCE_OFFSETS ? "segments"
                : r->each_run             ? "runs"
                                          : "keys");
    if (r->by) put_whole(to, r->by);
    fputs(" of ", to);
    put_whole(to, shape_text(&s->shape).text);
    fprintf(to, " %s in ", tally_dtype_name(s->o.in));
    for (uint32_t k = 0; k < r->inputs; k++) {
        if (k) fputs(" and ", to);
        put_whole(to, s->files[k]);
    }
    if (r->where) fputs(" where ", to);
    if (r->where) put_whole(to, r->where);
}

static void print_text(const segments *s) {
    const npy_shape shape = segments_file_shape(s);
    const char *keys = s->r->keys_out;
    char *text = NULL;
    size_t bytes;
    FILE *to = open_memstream(&text, &bytes);
    if (to && s->r->output) {
        put_whole(to, s->r->output);
        fprintf(to, ": %s ", tally_dtype_name(s->o.values[0].dtype));
        put_whole(to, shape_text(&shape).text);
        if (keys) fputs(", keys in ", to);
        if (keys) put_whole(to, keys);
        fputs(", ", to);
    }
    if (to) put_what(to, s);
    if (to) fclose(to);
    if (text) wrap_print(stdout, 0, 4, WRAP_COLUMNS, text);
    free(text);
    if (!s->r->output && s->count) print_table(s);
}

/* Prints a segment's values on a line. */
static void print_quiet(const segments *s) {
    for (uint64_t i = 0; i < s->count; i++)
        for (uint32_t v = 0; v < s->o.value_count; v++)
            printf("%s%s", value_text(s, i, &s->o.values[v]).text, v + 1 < s->o.value_count ? " " : "\n");
}

/* ---- JSON ------------------------------------------------------------------------------------ */

static json_object *shape_json(const segments *s) {
    json_object *shape = json_object_new_array();
    for (uint32_t d = 0; d < s->out.dimensions; d++) json_object_array_add(shape, json_object_new_uint64(s->out.lengths[d]));
    return shape;
}

static json_object *keys_json(const segments *s) {
    json_object *keys = json_object_new_array();
    const size_t bytes = tally_dtype_bytes(s->by.dtype);
    for (uint64_t i = 0; i < s->count; i++) json_object_array_add(keys, cli_value_json(s->by.dtype, s->keys + i * bytes));
    return keys;
}

/* Returns an op's value of a segment; several are an array. */
static json_object *value_json(const segments *s, uint64_t segment, uint32_t term) {
    json_object *all = json_object_new_array();
    for (uint32_t v = 0; v < s->o.value_count; v++) {
        const tally_result_info *value = &s->o.values[v];
        if (value->term != term) continue;
        const bool none = is_none(s, segment, value);
        json_object_array_add(all, none ? NULL : cli_value_json(value->dtype, value_at(s, segment, value)));
    }
    if (json_object_array_length(all) > 1) return all;
    json_object *only = json_object_get(json_object_array_get_idx(all, 0));
    json_object_put(all);
    return only;
}

static json_object *values_json(const segments *s, uint32_t term) {
    json_object *values = json_object_new_array();
    for (uint64_t i = 0; i < s->count; i++) json_object_array_add(values, value_json(s, i, term));
    return values;
}

static void print_json(const segments *s, const reduce_want *want) {
    const reduce_request *r = s->r;
    const bool has_values = !r->output && s->count <= MOST_JSON;
    const tally_result_info *value = s->o.values;
    while (value->term != want->term) value++;
    json_object *line = json_object_new_object();
    json_object_object_add(line, "op", cli_json_text(reduce_name(r, want)));
    json_object_object_add(line, "dtype", cli_json_text(tally_dtype_name(s->o.in)));
    json_object_object_add(line, "result_dtype", cli_json_text(tally_dtype_name(value->dtype)));
    json_object_object_add(line, "n", json_object_new_uint64(s->o.n));
    json_object_object_add(line, "shape", shape_json(s));
    if (r->form == REDUCE_KEYS) json_object_object_add(line, "keys", has_values ? keys_json(s) : NULL);
    json_object_object_add(line, "values", has_values ? values_json(s, want->term) : NULL);
    cli_json_device(line, &r->info.device);
    cli_json_speed(line, s->o.seconds, (double)s->o.bytes);
    json_object_object_add(line, "file", reduce_files_json(r, s->files));
    if (r->where) json_object_object_add(line, "where", cli_json_text(r->where));
    json_object_object_add(line, "output", cli_json_text(r->output));
    cli_print_json(line);
}

void segments_print(const segments *s) {
    for (uint32_t i = 0; i < s->r->want_count && s->r->json; i++) print_json(s, &s->r->wants[i]);
    if (s->r->json || (s->r->output && s->r->quiet)) return;
    (s->r->quiet ? print_quiet : print_text)(s);
}
