/* SPDX-License-Identifier: MIT */
/*
 * scan.c: the scans of `tally check`. Every variant runs inclusive and exclusive, forwards
 * and in reverse, and is compared with the tests' oracle. If a variant is not canonical and its
 * bits depend on the order, some of its values are held to their bound instead.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "oracle/bound.h"
#include "check.h"
#include "oracle/patterns.h"
#include "oracle/scan.h"

/* Sizes around the lengths that kernels process at once (a cell, a row, a tile), and one beyond a
 * block. */
static const uint64_t small_sizes[] = {0, 1, 3, 4, 5, 127, 129, 4095, 4096, 4097};
static const uint64_t large_sizes[] = {3 * 4096 + 1, 2 * TALLY_SCAN_BLOCK + 77};
static const int large_patterns[] = {PATTERN_WIDE, PATTERN_NAN_MIDDLE, PATTERN_LIMITS};

/* Few forms, because a scan's programs are large. POCL takes up to 8 seconds to compile one that is
 * shaped for GPUs: a CPU gets the first two. */
#define CPU_FORMS 2
static const struct {
    tally_op op;
    tally_dtype dtype;
    uint32_t flags;
} forms[] = {
    {TALLY_SUM, TALLY_F32, 0},
    {TALLY_SUM, TALLY_F64, TALLY_EXCLUSIVE},
    {TALLY_MAX, TALLY_F16, TALLY_REVERSE},
    {TALLY_SUM, TALLY_BF16, TALLY_EXCLUSIVE | TALLY_REVERSE},
    {TALLY_SUM, TALLY_I32, TALLY_EXCLUSIVE},
};

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

bool check_add_scans(check_subject *s) {
    const bool is_cpu = s->device.device_class == TALLY_CLASS_CPU;
    check_cell c = {.primitive = CLI_SCAN};
    for (size_t f = 0; f < COUNT(forms); f++)
        for (size_t v = 0; cli_variant_get(CLI_SCAN, v, &c.variant); v++) {
            c.op = forms[f].op;
            c.dtype = forms[f].dtype;
            c.flags = forms[f].flags;
            if (f >= CPU_FORMS && is_cpu && c.variant.group_threads > 1) continue;
            if (!check_add(s, &c)) return false;
        }
    return true;
}

/* Returns the number of items that value i reduces, and the first of them. */
static uint64_t items_of_value(const check_cell *c, uint64_t n, uint64_t i, uint64_t *first) {
    const uint64_t itself = c->flags & TALLY_EXCLUSIVE ? 0 : 1;
    *first = c->flags & TALLY_REVERSE ? i + 1 - itself : 0;
    return c->flags & TALLY_REVERSE ? n - *first : i + itself;
}

/* Returns true if some order of the items may give value i. */
static bool is_near(const check_subject *s, const check_cell *c, const scan_op *op, uint64_t n, uint64_t i) {
    uint64_t first;
    const uint64_t count = items_of_value(c, n, i, &first);
    const void *const inputs[] = {s->items + first * op->item_bytes};
    oracle_result value = {{0}};
    memcpy(&value, s->got + i * op->value_bytes, op->value_bytes);
    return bound_check(op->self, inputs, count, tally_plan_depth(c->plan, n), 0, &value) != BOUND_BROKEN;
}

/* Returns the index of the first wrong value, or n if there is none. */
static uint64_t find_wrong(const check_subject *s, const check_cell *c, const scan_op *op, uint64_t n) {
    const size_t bytes = op->value_bytes;
    const bool exact = c->variant.canonical || oracle_is_exact(op->self);
    if (exact && memcmp(s->got, s->want, n * bytes) == 0) return n;
    /* The time of a bound grows with its items. The loop visits the first values, the last, and
     * ever fewer between. */
    for (uint64_t i = 0; i < n; i = exact || i < 5 || i + 1 == n ? i + 1 : 2 * i - 1 < n ? 2 * i - 1 : n - 1)
        if (exact ? memcmp(s->got + i * bytes, s->want + i * bytes, bytes) != 0 : !is_near(s, c, op, n, i)) return i;
    return n;
}

static void compare(const check_subject *s, check_cell *c, const scan_op *op, uint64_t n, int pattern) {
    const uint64_t offset = (uint64_t)pattern % 2; /* odd patterns start one item into the buffer */
    const scan_form form = {.exclusive = (c->flags & TALLY_EXCLUSIVE) != 0, .reverse = (c->flags & TALLY_REVERSE) != 0};
    char text[512], values[2][192];
    pattern_fill(pattern, c->dtype, s->items, n);
    memset(s->got, 0xa5, n * op->value_bytes);
    tally_status status = tally_buffer_write(s->queue, s->in, offset * op->item_bytes, s->items, n * op->item_bytes);
    if (!status) status = tally_buffer_write(s->queue, s->out, 0, s->got, n * op->value_bytes);
    const tally_scan_args args = {.size = sizeof(args), .in = s->in, .in_offset = offset, .n = n, .out = s->out};
    if (!status) status = tally_scan_with(c->plan, s->queue, &args);
    if (!status) status = tally_buffer_read(s->queue, s->out, 0, s->got, n * op->value_bytes);
    const tally_status waited = tally_queue_wait(s->queue);
    if (status || waited) {
        check_fail(c, tally_last_error());
        return;
    }
    scan_oracle(op, &form, s->items, n, s->want);
    const uint64_t i = find_wrong(s, c, op, n);
    if (i == n) return;
    check_describe(c, s->got + i * op->value_bytes, values[0], sizeof(values[0]));
    check_describe(c, s->want + i * op->value_bytes, values[1], sizeof(values[1]));
    snprintf(text, sizeof(text), "n %" PRIu64 ", offset %" PRIu64 ", pattern '%s': value %" PRIu64 ": got %s, expected %s", n,
             offset, pattern_name(pattern), i, values[0], values[1]);
    check_fail(c, text);
}

void check_run_scan(const check_subject *s, check_cell *c) {
    const oracle_case what = {.op = c->op, .in = c->dtype};
    const scan_op op = scan_oracle_op(&what);
    const tally_scan_desc desc = {.size = sizeof(desc),
                                  .op = c->op,
                                  .in = c->dtype,
                                  .max_n = CHECK_MOST_ITEMS,
                                  .variant = c->variant.name,
                                  .flags = c->flags};
    const tally_status status = tally_scan_plan_create(s->context, &desc, &c->plan);
    if (status) {
        check_no_plan(c, status);
        return;
    }
    for (size_t i = 0; i < COUNT(small_sizes); i++)
        for (int pattern = 0; pattern < PATTERNS; pattern++) compare(s, c, &op, small_sizes[i], pattern);
    for (size_t i = 0; i < COUNT(large_sizes); i++)
        for (size_t p = 0; p < COUNT(large_patterns); p++) compare(s, c, &op, large_sizes[i], large_patterns[p]);
    tally_plan_destroy(c->plan);
    c->plan = NULL;
}
