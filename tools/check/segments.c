/* SPDX-License-Identifier: MIT */
/*
 * segments.c: the segments of `tally check`: rows and columns of arrays whose shapes and strides
 * are drawn at random, segments of random lengths by offsets, and runs of keys. The oracle reduces
 * a copy of each segment's items alone. The draws are the same in every run.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "check.h"
#include "oracle/oracle.h"
#include "oracle/patterns.h"

#define TRIALS 32
#define MOST ((uint64_t)1 << 18) /* items of a trial, and segments */
#define AXES 4
#define MOST_OFFSET 3 /* items before the first one */

static const int patterns[] = {PATTERN_WIDE, PATTERN_NAN_MIDDLE, PATTERN_LIMITS, PATTERN_ALTERNATING};

static const struct {
    tally_segments_by by;
    const char *name;
    tally_op op;
    tally_dtype dtype;
    uint32_t flags;
} forms[] = {
    {TALLY_BY_AXES, "axes", TALLY_SUM, TALLY_F32, 0},          {TALLY_BY_AXES, "axes", TALLY_SUM, TALLY_F32, TALLY_WHERE},
    {TALLY_BY_AXES, "axes", TALLY_VAR, TALLY_F64, 0},          {TALLY_BY_AXES, "axes", TALLY_ARGMAX, TALLY_F16, 0},
    {TALLY_BY_AXES, "axes", TALLY_SUM, TALLY_I8, 0},           {TALLY_BY_OFFSETS, "offsets", TALLY_SUM, TALLY_F32, 0},
    {TALLY_BY_OFFSETS, "offsets", TALLY_MINMAX, TALLY_I16, 0}, {TALLY_BY_KEYS, "keys", TALLY_SUM, TALLY_F32, 0},
    {TALLY_BY_KEYS, "keys", TALLY_ARGMIN, TALLY_I32, 0},
};

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

bool check_add_segments(check_subject *s) {
    for (size_t f = 0; f < COUNT(forms); f++) {
        const check_cell c = {.primitive = CLI_SEGMENTS,
                              .variant = {.name = forms[f].name},
                              .by = forms[f].by,
                              .op = forms[f].op,
                              .dtype = forms[f].dtype,
                              .flags = forms[f].flags};
        if (!check_add(s, &c)) return false;
    }
    return true;
}

/* A cell that is running. The subject's `items` are the items, its `got` the results, its `want` a
 * segment's items. */
typedef struct trial {
    const check_subject *s;
    check_cell *c;
    size_t item_bytes, result_bytes;
    uint64_t random; /* the state of the draws */

    uint64_t offset, n, count; /* n: items that lie from `offset` on */
    tally_axis axes[AXES];
    uint32_t axis_count;
    uint64_t *ends; /* by offsets and keys: MOST + 1; segment i begins at ends[i] */
    uint32_t *keys; /* MOST */
    uint8_t *mask;
    tally_buffer *aside, *keys_out, *runs; /* `aside` has the mask, the offsets or the keys */
} trial;

/* ---- draws ----------------------------------------------------------------------------------- */

/* Draws a number below `limit`. The generator is splitmix64. */
static uint64_t draw(trial *t, uint64_t limit) {
    uint64_t x = t->random += UINT64_C(0x9e3779b97f4a7c15);
    x = (x ^ x >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    x = (x ^ x >> 27) * UINT64_C(0x94d049bb133111eb);
    return (x ^ x >> 31) % limit;
}

/* Draws a length from 1 to `most`; small and large ones are as likely. */
static uint64_t draw_length(trial *t, uint64_t most) {
    unsigned bits = 0;
    while (most >> (bits + 1)) bits++;
    const uint64_t length = (UINT64_C(1) << draw(t, bits + 1)) + draw(t, 3);
    return length < most ? length : most;
}

/* Draws extents, which axes are reduced, and strides: axes lie in any order, forwards, backwards,
 * or on one place. */
static void draw_axes(trial *t) {
    uint32_t order[AXES];
    uint64_t room = draw_length(t, MOST), step = 1, first = t->offset;
    t->axis_count = 1 + (uint32_t)draw(t, AXES);
    t->count = 1;
    for (uint32_t a = 0; a < t->axis_count; a++) {
        const uint64_t extent = draw(t, 40) ? draw_length(t, room) : 0;
        const uint32_t at = (uint32_t)draw(t, a + 1);
        t->axes[a] = (tally_axis){.extent = extent, .reduced = (int)draw(t, 2)};
        if (!t->axes[a].reduced) t->count *= extent;
        room /= extent ? extent : 1;
        order[a] = order[at];
        order[at] = a;
    }
    for (uint32_t i = 0; i < t->axis_count; i++) {
        tally_axis *axis = &t->axes[order[i]];
        const bool back = draw(t, 4) == 0;
        if (draw(t, 8) == 0) continue; /* a stride of 0 */
        axis->in_stride[0] = axis->where_stride = back ? -(int64_t)step : (int64_t)step;
        if (back && axis->extent) first += (axis->extent - 1) * step;
        step *= axis->extent ? axis->extent : 1;
    }
    t->n = step;
    t->offset = first;
}

/* Draws segments that follow one another. A run of keys is never empty. */
static void draw_ends(trial *t) {
    const uint64_t most = draw_length(t, MOST), longest = draw_length(t, MOST);
    const bool keys = t->c->by == TALLY_BY_KEYS;
    t->ends[0] = t->n = t->count = 0;
    while (t->n < most && t->count < MOST) {
        const uint64_t rest = most - t->n, length = keys || draw(t, 6) ? draw_length(t, longest < rest ? longest : rest) : 0;
        for (uint64_t i = 0; i < length; i++) t->keys[t->n + i] = (uint32_t)t->count * 0x9e3779b9u;
        t->ends[++t->count] = t->n += length;
    }
}

/* ---- what is expected ------------------------------------------------------------------------ */

static uint64_t extent_of(const trial *t, int reduced) {
    uint64_t product = 1;
    for (uint32_t a = 0; a < t->axis_count; a++)
        if (t->axes[a].reduced == reduced) product *= t->axes[a].extent;
    return product;
}

/* Returns the place of the entry `index`, in C order, of the reduced or of the kept axes. */
static int64_t place_of(const trial *t, int reduced, uint64_t index) {
    int64_t place = 0;
    for (uint32_t a = t->axis_count; a-- > 0;) {
        if (t->axes[a].reduced != reduced) continue;
        place += (int64_t)(index % t->axes[a].extent) * t->axes[a].in_stride[0];
        index /= t->axes[a].extent;
    }
    return place;
}

/* Copies a segment's items to s->want and returns their number: 0 if all are masked. A masked item
 * is -0, which changes no sum. */
static uint64_t collect(const trial *t, uint64_t segment) {
    const float nothing = -0.0f;
    unsigned char *to = t->s->want;
    if (t->c->by != TALLY_BY_AXES) {
        const uint64_t n = t->ends[segment + 1] - t->ends[segment];
        memcpy(to, t->s->items + (t->offset + t->ends[segment]) * t->item_bytes, n * t->item_bytes);
        return n;
    }
    const uint64_t n = extent_of(t, 1);
    const int64_t first = (int64_t)t->offset + place_of(t, 0, segment);
    bool any = false;
    for (uint64_t i = 0; i < n; i++) {
        const int64_t at = first + place_of(t, 1, i);
        const bool masked = t->c->flags & TALLY_WHERE && !t->mask[at];
        memcpy(to + i * t->item_bytes, masked ? (const void *)&nothing : t->s->items + (size_t)at * t->item_bytes,
               t->item_bytes);
        any = any || !masked;
    }
    return any ? n : 0;
}

static void compare(const trial *t, unsigned number, int pattern) {
    char text[512], values[2][192];
    for (uint64_t i = 0; i < t->count; i++) {
        const unsigned char *got = t->s->got + i * t->result_bytes;
        oracle_result want;
        const uint64_t n = collect(t, i);
        oracle_reduce(t->c->op, t->c->dtype, t->s->want, n, &want);
        if (memcmp(want.bytes, got, t->result_bytes) == 0) continue;
        check_describe(t->c, got, values[0], sizeof(values[0]));
        check_describe(t->c, want.bytes, values[1], sizeof(values[1]));
        size_t used = (size_t)snprintf(text, sizeof(text), "trial %u, ", number);
        for (uint32_t a = 0; a < t->axis_count; a++)
            used += (size_t)snprintf(text + used, sizeof(text) - used, "%s axis of %" PRIu64 " by %" PRId64 ", ",
                                     t->axes[a].reduced ? "reduced" : "kept", t->axes[a].extent, t->axes[a].in_stride[0]);
        snprintf(text + used, sizeof(text) - used,
                 "pattern '%s': segment %" PRIu64 " of %" PRIu64 " items: got %s, expected %s", pattern_name(pattern), i, n,
                 values[0], values[1]);
        check_fail(t->c, text);
        return;
    }
}

/* ---- a trial --------------------------------------------------------------------------------- */

static tally_status launch(const trial *t) {
    const check_subject *s = t->s;
    const tally_axes_args axes = {.size = sizeof(axes),
                                  .axes = t->axes,
                                  .axis_count = t->axis_count,
                                  .in = {s->in},
                                  .in_offset = {t->offset},
                                  .where = t->c->flags & TALLY_WHERE ? t->aside : NULL,
                                  .where_offset = t->offset,
                                  .out = {s->out}};
    const tally_offsets_args offsets = {.size = sizeof(offsets),
                                        .count = t->count,
                                        .begins = t->aside,
                                        .in = {s->in},
                                        .in_offset = {t->offset},
                                        .n = t->n,
                                        .out = {s->out}};
    const tally_keys_args keys = {.size = sizeof(keys),
                                  .keys = t->aside,
                                  .in = {s->in},
                                  .in_offset = {t->offset},
                                  .n = t->n,
                                  .capacity = t->count,
                                  .out_keys = t->keys_out,
                                  .out = {s->out},
                                  .runs = t->runs};
    if (t->c->by == TALLY_BY_AXES) return tally_reduce_axes(t->c->plan, s->queue, &axes);
    return t->c->by == TALLY_BY_OFFSETS ? tally_reduce_offsets(t->c->plan, s->queue, &offsets)
                                        : tally_reduce_keys(t->c->plan, s->queue, &keys);
}

static tally_status run(const trial *t, uint64_t lying) {
    const check_subject *s = t->s;
    const bool by_axes = t->c->by == TALLY_BY_AXES;
    const void *aside = by_axes ? (const void *)t->mask : t->c->by == TALLY_BY_OFFSETS ? (const void *)t->ends : t->keys;
    const uint64_t aside_bytes = by_axes                        ? lying
                                 : t->c->by == TALLY_BY_OFFSETS ? (t->count + 1) * sizeof(*t->ends)
                                                                : t->n * sizeof(*t->keys);
    memset(s->got, 0xa5, t->count * t->result_bytes);
    tally_status status = tally_buffer_write(s->queue, s->in, 0, s->items, lying * t->item_bytes);
    if (!status) status = tally_buffer_write(s->queue, s->out, 0, s->got, t->count * t->result_bytes);
    if (!status) status = tally_buffer_write(s->queue, t->aside, 0, aside, aside_bytes);
    if (!status) status = launch(t);
    if (!status) status = tally_buffer_read(s->queue, s->out, 0, s->got, t->count * t->result_bytes);
    const tally_status waited = tally_queue_wait(s->queue);
    return status ? status : waited;
}

static void try_once(trial *t, unsigned number) {
    const int pattern = patterns[number % COUNT(patterns)];
    const uint64_t before = draw(t, MOST_OFFSET + 1);
    t->offset = before;
    (t->c->by == TALLY_BY_AXES ? draw_axes : draw_ends)(t);
    const uint64_t lying = before + t->n;
    pattern_fill(pattern, t->c->dtype, t->s->items, lying);
    for (uint64_t i = 0; i < lying; i++) t->mask[i] = draw(t, 4) != 0;
    if (run(t, lying))
        check_fail(t->c, tally_last_error());
    else
        compare(t, number, pattern);
}

static bool open_trial(trial *t) {
    const size_t aside = (MOST + 1) * sizeof(*t->ends);
    t->ends = malloc(aside);
    t->keys = malloc(MOST * sizeof(*t->keys));
    t->mask = malloc(MOST + MOST_OFFSET);
    tally_status status = tally_buffer_create(t->s->context, aside, &t->aside);
    if (!status) status = tally_buffer_create(t->s->context, MOST * sizeof(*t->keys), &t->keys_out);
    if (!status) status = tally_buffer_create(t->s->context, sizeof(uint64_t), &t->runs);
    if (status || !t->ends || !t->keys || !t->mask) check_fail(t->c, status ? tally_last_error() : "out of memory");
    return t->c->state == CHECK_RUN;
}

void check_run_segments(const check_subject *s, check_cell *c) {
    const tally_segments_desc desc = {.size = sizeof(desc),
                                      .by = c->by,
                                      .op = c->op,
                                      .in = c->dtype,
                                      .flags = c->flags,
                                      .max_n = MOST,
                                      .max_segments = MOST,
                                      .key_bytes = c->by == TALLY_BY_KEYS ? sizeof(uint32_t) : 0};
    const tally_status status = tally_segments_plan_create(s->context, &desc, &c->plan);
    if (status) {
        check_no_plan(c, status);
        return;
    }
    trial t = {.s = s, .c = c, .item_bytes = tally_dtype_bytes(c->dtype), .result_bytes = tally_plan_result_bytes(c->plan)};
    if (open_trial(&t))
        for (unsigned i = 0; i < TRIALS; i++) try_once(&t, i);
    tally_buffer_destroy(t.aside);
    tally_buffer_destroy(t.keys_out);
    tally_buffer_destroy(t.runs);
    free(t.ends);
    free(t.keys);
    free(t.mask);
    tally_plan_destroy(c->plan);
    c->plan = NULL;
}
