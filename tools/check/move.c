/* SPDX-License-Identifier: MIT */
/*
 * move.c: the gathers and scatters of `tally check`, compared with loops on the host. The
 * comparison covers every byte of the output, the bytes around it, and the place of the first entry
 * that is out of bounds.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "check.h"
#include "tools/move/maps.h"
#include "oracle/patterns.h"

static const uint64_t sizes[] = {0, 1, 2, 31, 257, 4097, 100003};
#define MOST ((uint64_t)100003)
#define BEFORE 3 /* guard items on each side of the output */

static const struct {
    cli_primitive primitive;
    tally_dtype map;
    uint32_t item_bytes, flags;
} forms[] = {
    {CLI_GATHER, TALLY_I32, 4, 0},
    {CLI_GATHER, TALLY_U32, 1, TALLY_STENCIL},
    {CLI_GATHER, TALLY_I64, 16, TALLY_STENCIL},
    {CLI_GATHER, TALLY_U64, 12, TALLY_UNCHECKED},
    {CLI_SCATTER, TALLY_I32, 4, 0},
    {CLI_SCATTER, TALLY_U32, 2, TALLY_STENCIL | TALLY_SCATTER_LAST},
    {CLI_SCATTER, TALLY_I64, 16, TALLY_SCATTER_LAST},
    {CLI_SCATTER, TALLY_U64, 3, TALLY_STENCIL | TALLY_UNCHECKED},
};

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

bool check_add_indices(check_subject *s) {
    for (size_t f = 0; f < COUNT(forms); f++) {
        const check_cell c = {.primitive = forms[f].primitive,
                              .variant = {.name = cli_primitive_names[forms[f].primitive]},
                              .dtype = forms[f].map,
                              .item_bytes = forms[f].item_bytes,
                              .flags = forms[f].flags};
        if (!check_add(s, &c)) return false;
    }
    return true;
}

/* A trial is a cell that is running. The subject's `items` are the items to move. Its `want` and
 * `got` are outputs. Its `out` is filled from `got` before each call. */
typedef struct trial {
    const check_subject *s;
    check_cell *c;
    tally_plan *plan;
    tally_buffer *map, *stencil;
    uint64_t *entries;
    unsigned char *map_items, *stencil_items;
    uint64_t n, first_bad; /* TALLY_NO_INDEX: no entry in use is out of bounds */
    size_t out_bytes;
    maps_kind kind;
} trial;

/* ---- input and expected output --------------------------------------------------------------- */

/* Returns a bad entry: n for an odd index; otherwise -1, or the largest value of an unsigned
 * type. */
static uint64_t bad_entry(const trial *t, uint64_t i) {
    const bool is_signed = t->c->dtype == TALLY_I32 || t->c->dtype == TALLY_I64;
    return i % 2 ? t->n : is_signed ? UINT64_MAX : t->c->dtype == TALLY_U32 ? UINT32_MAX : UINT64_MAX;
}

static bool is_heeded(const trial *t, uint64_t i) {
    return !(t->c->flags & TALLY_STENCIL) || t->stencil_items[i];
}

/* Fills the map. A random map has duplicates in gathers, and in scatters where the last one
 * wins. */
static void make_map(trial *t, bool with_bad) {
    const bool twice = t->kind == MAPS_RANDOM && (t->c->primitive == CLI_GATHER || t->c->flags & TALLY_SCATTER_LAST);
    t->first_bad = TALLY_NO_INDEX;
    for (uint64_t i = 0; i < t->n; i++) {
        t->entries[i] = maps_entry(t->kind, t->n, i) / (twice ? 2 : 1);
        t->stencil_items[i] = (unsigned char)(pattern_random(i) % 3);
        if (with_bad && i >= t->n / 2 && pattern_random(i + t->n) % 8 == 0) {
            t->entries[i] = bad_entry(t, i);
            if (t->first_bad == TALLY_NO_INDEX && is_heeded(t, i)) t->first_bad = i;
        }
        maps_store(t->c->dtype, t->map_items, i, t->entries[i]);
    }
}

/* Computes the expected output by the loop that the header documents. */
static void predict(trial *t) {
    const size_t bytes = t->c->item_bytes;
    memset(t->s->got, 0xa5, t->out_bytes);
    memset(t->s->want, 0xa5, t->out_bytes);
    for (uint64_t i = 0; i < t->n; i++) {
        const uint64_t entry = t->entries[i], from = t->c->primitive == CLI_GATHER ? entry : i,
                       to = t->c->primitive == CLI_GATHER ? i : entry;
        if (is_heeded(t, i) && entry < t->n) memcpy(t->s->want + (BEFORE + to) * bytes, t->s->items + from * bytes, bytes);
    }
}

/* ---- run and compare ------------------------------------------------------------------------- */

static tally_status move(const trial *t, tally_status *moved) {
    const check_subject *s = t->s;
    const tally_move_args args = {.size = sizeof(args),
                                  .map = t->map,
                                  .n = t->n,
                                  .in = s->in,
                                  .stencil = t->c->flags & TALLY_STENCIL ? t->stencil : NULL,
                                  .out = s->out,
                                  .out_offset = BEFORE,
                                  .items = t->n};
    tally_status status = tally_buffer_write(s->queue, t->map, 0, t->map_items, t->n * tally_dtype_bytes(t->c->dtype));
    if (!status) status = tally_buffer_write(s->queue, t->stencil, 0, t->stencil_items, t->n);
    if (!status) status = tally_buffer_write(s->queue, s->out, 0, s->got, t->out_bytes);
    if (!status)
        *moved =
            t->c->primitive == CLI_GATHER ? tally_gather(t->plan, s->queue, &args) : tally_scatter(t->plan, s->queue, &args);
    if (!status && *moved && *moved != TALLY_E_ARGUMENT) status = *moved;
    if (!status) status = tally_buffer_read(s->queue, s->out, 0, s->got, t->out_bytes);
    const tally_status waited = tally_queue_wait(s->queue);
    return status ? status : waited;
}

static void compare(trial *t, bool with_bad) {
    char text[256], at[96];
    tally_status moved = TALLY_OK;
    make_map(t, with_bad);
    predict(t);
    if (move(t, &moved)) {
        check_fail(t->c, tally_last_error());
        return;
    }
    snprintf(at, sizeof(at), "n %" PRIu64 ", map '%s'%s", t->n, maps_names[t->kind],
             with_bad ? " with entries out of bounds" : "");
    const uint64_t bad = tally_move_bad(t->plan);
    if ((moved == TALLY_OK) != (t->first_bad == TALLY_NO_INDEX) || bad != t->first_bad) {
        snprintf(text, sizeof(text), "%s: the call %s, and the first bad entry is %" PRId64 ", expected %" PRId64 " (-1: none)",
                 at, moved ? "failed" : "succeeded", (int64_t)bad, (int64_t)t->first_bad);
        check_fail(t->c, text);
    }
    for (size_t i = 0; i < t->out_bytes; i++) {
        if (t->s->got[i] == t->s->want[i]) continue;
        snprintf(text, sizeof(text), "%s: item %" PRId64 " of the output, byte %zu: got %02x, expected %02x", at,
                 (int64_t)(i / t->c->item_bytes) - BEFORE, i % t->c->item_bytes, t->s->got[i], t->s->want[i]);
        check_fail(t->c, text);
        return;
    }
}

/* ---- one cell -------------------------------------------------------------------------------- */

static tally_status open_trial(trial *t) {
    const check_cell *c = t->c;
    const tally_move_desc desc = {
        .size = sizeof(desc), .item_bytes = c->item_bytes, .map = c->dtype, .flags = c->flags, .max_n = MOST, .max_out = MOST};
    t->entries = malloc(MOST * sizeof(*t->entries));
    t->map_items = malloc(MOST * sizeof(*t->entries));
    t->stencil_items = malloc(MOST);
    if (!t->entries || !t->map_items || !t->stencil_items) return tally_fail(TALLY_E_MEMORY, "out of memory");
    tally_status status = tally_buffer_create(t->s->context, MOST * tally_dtype_bytes(c->dtype), &t->map);
    if (!status) status = tally_buffer_create(t->s->context, MOST, &t->stencil);
    if (status) return status;
    return c->primitive == CLI_GATHER ? tally_gather_plan_create(t->s->context, &desc, &t->plan)
                                      : tally_scatter_plan_create(t->s->context, &desc, &t->plan);
}

static void close_trial(trial *t) {
    tally_plan_destroy(t->plan);
    tally_buffer_destroy(t->map);
    tally_buffer_destroy(t->stencil);
    free(t->entries);
    free(t->map_items);
    free(t->stencil_items);
}

void check_run_move(const check_subject *s, check_cell *c) {
    trial t = {.s = s, .c = c};
    const size_t bytes = MOST * c->item_bytes;
    tally_status status = open_trial(&t);
    if (status) check_no_plan(c, status);
    for (size_t i = 0; i < bytes; i++) s->items[i] = (unsigned char)pattern_random(i);
    if (!status) status = tally_buffer_write(s->queue, s->in, 0, s->items, bytes);
    if (!status) status = tally_queue_wait(s->queue);
    for (size_t i = 0; i < COUNT(sizes) && !status; i++)
        for (int kind = 0; kind < MAPS_KINDS; kind++)
            for (int with_bad = 0; with_bad <= !(c->flags & TALLY_UNCHECKED); with_bad++) {
                t.n = sizes[i];
                t.kind = (maps_kind)kind;
                t.out_bytes = (t.n + 2 * BEFORE) * c->item_bytes;
                compare(&t, with_bad);
            }
    close_trial(&t);
}
