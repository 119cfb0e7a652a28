/* SPDX-License-Identifier: MIT */
/* print.c: prints the results of `tally reduce`, as text and as JSON. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "reduce.h"

const char *reduce_name(const reduce_request *r, const reduce_want *want) {
    return r->custom ? "custom" : tally_op_name(r->terms[want->term].op);
}

/* Finds value `index` of an op's result. Returns NULL if there are fewer values. */
static const tally_result_info *find_value(const reduce_outcome *o, uint32_t term, uint32_t index) {
    for (uint32_t i = 0; i < o->value_count; i++)
        if (o->values[i].term == term && index-- == 0) return &o->values[i];
    return NULL;
}

/* Finds the value that represents the result, which may be an index. */
static const tally_result_info *main_value(const reduce_outcome *o, const reduce_want *want) {
    return find_value(o, want->term, 0);
}

static bool is_index(const reduce_want *want) {
    return want->value_term != REDUCE_NO_TERM;
}

static bool has_index(const reduce_outcome *o, const reduce_want *want) {
    uint64_t index;
    memcpy(&index, o->result + main_value(o, want)->offset, sizeof(index));
    return index != TALLY_NO_INDEX;
}

/* ---- JSON ------------------------------------------------------------------------------------ */

static json_object *value_json(const reduce_outcome *o, uint32_t term) {
    const tally_result_info *first = find_value(o, term, 0), *second = find_value(o, term, 1);
    json_object *value = cli_value_json(first->dtype, o->result + first->offset);
    if (!second) return value;
    json_object *pair = json_object_new_array();
    json_object_array_add(pair, value);
    json_object_array_add(pair, cli_value_json(second->dtype, o->result + second->offset));
    return pair;
}

/* Returns a text, or an array of texts for several inputs. */
json_object *reduce_files_json(const reduce_request *r, char *const *files) {
    if (r->inputs == 1) return cli_json_text(files[0]);
    json_object *names = json_object_new_array();
    for (uint32_t k = 0; k < r->inputs; k++) json_object_array_add(names, cli_json_text(files[k]));
    return names;
}

static void print_json(const reduce_request *r, char *const *files, const reduce_outcome *o, const reduce_want *want) {
    json_object *line = json_object_new_object();
    json_object_object_add(line, "op", cli_json_text(reduce_name(r, want)));
    json_object_object_add(line, "dtype", cli_json_text(tally_dtype_name(o->in)));
    json_object_object_add(line, "result_dtype", cli_json_text(tally_dtype_name(find_value(o, want->term, 0)->dtype)));
    json_object_object_add(line, "n", json_object_new_uint64(o->n));
    if (!is_index(want)) {
        json_object_object_add(line, "value", value_json(o, want->term));
    } else {
        const bool any = has_index(o, want);
        json_object_object_add(line, "value", any ? value_json(o, want->value_term) : NULL);
        json_object_object_add(line, "index", any ? value_json(o, want->term) : NULL);
    }
    cli_json_device(line, &r->info.device);
    json_object_object_add(line, "variant", *o->variant ? cli_json_text(o->variant) : NULL);
    cli_json_speed(line, o->seconds, (double)o->bytes);
    json_object_object_add(line, "file", reduce_files_json(r, files));
    if (r->where) json_object_object_add(line, "where", cli_json_text(r->where));
    cli_print_json(line);
}

/* ---- text ------------------------------------------------------------------------------------ */

static void print_value(const reduce_outcome *o, uint32_t term) {
    const tally_result_info *value;
    for (uint32_t i = 0; (value = find_value(o, term, i)) != NULL; i++)
        printf("%s%s", i ? " " : "", cli_value_text(value->dtype, o->result + value->offset).text);
}

static void print_text(const reduce_request *r, char *const *files, const reduce_outcome *o, const reduce_want *want) {
    const bool none = is_index(want) && !has_index(o, want);
    if (none)
        printf("none");
    else
        print_value(o, want->term);
    printf("  %s", reduce_name(r, want));
    if (is_index(want) && !none) {
        printf(" (");
        print_value(o, want->value_term);
        printf(")");
    }
    printf(" of %" PRIu64 " %s in ", o->n, tally_dtype_name(o->in));
    for (uint32_t k = 0; k < r->inputs; k++) printf("%s%s", k ? " and " : "", cli_shown(files[k]).text);
    printf("%s%s\n", r->where ? " where " : "", r->where ? cli_shown(r->where).text : "");
}

/* Prints only the value, or only the index. */
static void print_quiet(const reduce_outcome *o, const reduce_want *want) {
    if (is_index(want) && !has_index(o, want))
        printf("none");
    else
        print_value(o, want->term);
    printf("\n");
}

void reduce_print(const reduce_request *r, char *const *files, const reduce_outcome *o) {
    for (uint32_t i = 0; i < r->want_count; i++) {
        if (r->json)
            print_json(r, files, o, &r->wants[i]);
        else if (r->quiet)
            print_quiet(o, &r->wants[i]);
        else
            print_text(r, files, o, &r->wants[i]);
    }
}

/* Prints the line about the run, unless there was no result. */
void reduce_print_total(const reduce_request *r, const reduce_total *total) {
    if (r->json || r->quiet || !total->results) return;
    cli_print_run(*total->variants.text ? total->variants.text : NULL, &r->info.device, total->seconds, (double)total->bytes);
}
