/* SPDX-License-Identifier: MIT */
/* form.c: parses the options of `tally reduce` that say what the segments are. */
#include <stdlib.h>
#include <string.h>

#include "reduce.h"
#include "tools/print/new_file.h"

#define AT(member) offsetof(cli_options, member)
#define MOST_AXIS 1000 /* more than any array has */
#define OF(form) (1u << (form))
#define OF_SEGMENTS (OF(REDUCE_AXES) | OF(REDUCE_OFFSETS) | OF(REDUCE_KEYS))

static const struct {
    const char *name;
    size_t member;
} by[] = {
    [REDUCE_AXES] = {"axis", AT(axis)},
    [REDUCE_OFFSETS] = {"offsets", AT(offsets)},
    [REDUCE_KEYS] = {"by", AT(by)},
};

/* Options that only some forms have. */
static const struct {
    const char *name;
    size_t member;
    bool is_text;
    unsigned forms;
    const char *why;
} belongings[] = {
    {"keepdims", AT(keepdims), false, OF(REDUCE_AXES), "belongs to --axis, which is missing"},
    {"each-run", AT(each_run), false, OF(REDUCE_KEYS), "belongs to --by, which is missing"},
    {"keys-out", AT(keys_out), true, OF(REDUCE_KEYS), "belongs to --by, which is missing"},
    {"output", AT(output), true, OF_SEGMENTS, "belongs to --axis, --offsets or --by, and none of them is given"},
    {"variant", AT(variant), true, OF(REDUCE_STREAM), "belongs to whole files without --where and --initial"},
};

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static const char *text_at(const cli_options *options, size_t member) {
    return *(const char *const *)(const void *)((const char *)options + member);
}

static bool is_given(const cli_options *options, size_t member, bool is_text) {
    return is_text ? text_at(options, member) != NULL : *(const bool *)((const char *)options + member);
}

static cli_exit read_axes(const char *list, reduce_request *r) {
    const char *at = list;
    char *end;
    while (true) {
        const long axis = strtol(at, &end, 10);
        if (end == at || (*end && *end != ',') || axis < -MOST_AXIS || axis > MOST_AXIS)
            return cli_usage("--axis %s: axes are whole numbers with commas between them: 0, -1, or 0,2", list);
        if (r->axis_count == TALLY_MAX_AXES) return cli_usage("--axis %s: an array has at most %d axes", list, TALLY_MAX_AXES);
        r->axes[r->axis_count++] = (int)axis;
        if (!*end) return CLI_DONE;
        at = end + 1;
    }
}

cli_exit reduce_understand_form(const cli_options *options, reduce_request *r) {
    r->where = options->where;
    r->initial = options->initial;
    r->output = options->output;
    r->keys_out = options->keys_out;
    r->keepdims = options->keepdims;
    r->each_run = options->each_run;
    for (unsigned f = REDUCE_AXES; f < COUNT(by); f++) {
        if (!text_at(options, by[f].member)) continue;
        if (r->form)
            return cli_usage("reduce: --%s and --%s exclude each other: one of them says what the segments are",
                             by[r->form].name, by[f].name);
        r->form = (reduce_form)f;
        r->by = f == REDUCE_AXES ? NULL : text_at(options, by[f].member);
    }
    if (!r->form && (r->where || r->initial)) r->form = REDUCE_WHOLE;
    for (size_t i = 0; i < COUNT(belongings); i++)
        if (is_given(options, belongings[i].member, belongings[i].is_text) && !(belongings[i].forms & OF(r->form)))
            return cli_usage("reduce: --%s %s", belongings[i].name, belongings[i].why);
    const char *const written[] = {r->output, r->keys_out};
    for (size_t i = 0; i < COUNT(written); i++)
        if (written[i] && strcmp(written[i], "-") == 0)
            return cli_usage("reduce: - is no file to write: without -o the values are printed");
    if (r->keys_out && !r->output) return cli_usage("reduce: --keys-out %s: -o OUT.npy is missing", r->keys_out);
    if (r->keys_out && new_file_is_same(r->keys_out, r->output))
        return cli_usage("reduce: --keys-out %s: the values go to this file, and the keys need another", r->keys_out);
    return r->form == REDUCE_AXES ? read_axes(options->axis, r) : CLI_DONE;
}
