/* SPDX-License-Identifier: MIT */
/* Cases of segments by offsets and by keys (segments_run.h). */
#include "segments_run.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "oracle/items.h"

static void *must_alloc(uint64_t bytes) {
    void *memory = malloc(bytes ? (size_t)bytes : 1);
    if (!memory) abort();
    return memory;
}

/* Fails unless the last error's text has the words and the number, which is no part of a longer
 * one. */
static void expect_number(const char *words, uint64_t number, const char *about) {
    char wanted[64];
    const int length = snprintf(wanted, sizeof wanted, "%s%llu", words, (unsigned long long)number);
    const char *text = tally_last_error();
    for (const char *at = strstr(text, wanted); at; at = strstr(at + 1, wanted))
        if ((*words || at == text || !isdigit((unsigned char)at[-1])) && !isdigit((unsigned char)at[length])) return;
    fail_msg("%s: the text should have '%s': %s", about, wanted, text);
}

static segments_memory make_memory(segments_run *r, const segments_items *items, uint64_t n, uint64_t results) {
    const segments_extent in[2] = {{0, n}, {0, n}};
    return segments_memory_make(r, items, in, in[0], (segments_extent){0, results});
}

/* Puts the oracle's values of the segments, at most `most` of them, into the outputs. */
static void put_values(const segments_run *r, segments_memory *m, const uint64_t *begins, const uint64_t *ends, uint64_t most) {
    for (uint32_t v = 0; v < r->value_count; v++) {
        void *values = must_alloc(most * oracle_result_bytes(&r->values[v].of));
        oracle_reduce_offsets(&r->values[v].of, &m->items, begins, ends, most, values);
        segments_put(r, m, v, values, most, NULL);
        free(values);
    }
}

/* ---- by offsets ------------------------------------------------------------------------------ */

static segments_region entries_of(segments_run *r, const uint64_t *entries, uint64_t count, uint32_t skew) {
    const tally_dtype dtype = r->desc.offsets ? r->desc.offsets : TALLY_U64;
    segments_region g = segments_region_make(item_bytes_of(dtype), skew, 0, count);
    for (uint64_t i = 0; i < count; i++) store_integer(dtype, entries[i], segments_at(&g, (int64_t)i));
    segments_upload(r, &g);
    return g;
}

static void describe_offsets(const segments_run *r, const segments_offsets *c, char *text, size_t size) {
    const tally_dtype dtype = r->desc.offsets ? r->desc.offsets : TALLY_U64;
    size_t used =
        (size_t)snprintf(text, size, "%s, %s, mask %d, skew %u, n %llu, %llu segments:", r->name, tally_dtype_name(dtype),
                         c->items.mask, c->items.skew, (unsigned long long)c->n, (unsigned long long)c->count);
    for (uint64_t s = 0; s < c->count && s < 8; s++)
        used += (size_t)snprintf(text + used, size - used, " %llu-%llu", (unsigned long long)c->begins[s],
                                 (unsigned long long)(c->ends ? c->ends : c->begins + 1)[s]);
}

/* Gives the plan the call's offsets, and takes them out of the call. Wrong ones must be refused,
 * and named. */
static void keep_offsets(segments_run *r, const segments_offsets *c, tally_offsets_args *args, const char *about) {
    const tally_status status = tally_plan_keep_offsets(r->plan, r->queue, args);
    if (status != (c->bad == TALLY_NO_INDEX ? TALLY_OK : TALLY_E_ARGUMENT))
        fail_msg("%s: kept: %s: %s", about, tally_status_name(status), status ? tally_last_error() : "");
    if (status) expect_number(": segment ", c->bad, about);
    args->begins = args->ends = NULL;
}

void segments_run_offsets(segments_run *r, const segments_offsets *c) {
    char about[600];
    describe_offsets(r, c, about, sizeof about);
    const uint64_t *ends = c->ends ? c->ends : c->begins + 1;
    const int is_good = c->bad == TALLY_NO_INDEX;
    segments_memory m = make_memory(r, &c->items, c->n, c->count);
    segments_region begin = entries_of(r, c->begins, c->count + !c->ends, c->items.skew), end = {0};
    if (c->ends) end = entries_of(r, c->ends, c->count, c->items.skew + 3);
    tally_offsets_args args = {.size = sizeof args,
                               .count = c->count,
                               .begins = begin.buffer,
                               .ends = end.buffer,
                               .begins_offset = begin.base,
                               .ends_offset = end.base,
                               .n = c->n,
                               .where = m.where.buffer,
                               .where_offset = m.where.base};
    for (uint32_t k = 0; k < r->inputs; k++) args.in[k] = m.in[k].buffer, args.in_offset[k] = m.in[k].base;
    for (int pass = 0; pass < 3; pass++) {
        if (pass == 2) {
            keep_offsets(r, c, &args, about);
            if (!is_good) break;
        }
        segments_poison(&m, pass);
        for (uint32_t t = 0; t < m.outs; t++) {
            segments_upload(r, &m.out[t]);
            args.out[t] = m.out[t].buffer;
            args.out_offset[t] = m.out[t].base;
        }
        const tally_status status = tally_reduce_offsets(r->plan, r->queue, &args);
        if (status != (is_good ? TALLY_OK : TALLY_E_ARGUMENT))
            fail_msg("%s: %s: %s", about, tally_status_name(status), status ? tally_last_error() : "");
        if (!is_good) expect_number(": segment ", c->bad, about);
        if (is_good) put_values(r, &m, c->begins, ends, c->count);
        for (uint32_t t = 0; t < m.outs; t++) segments_expect(r, &m.out[t], "the result", about);
    }
    segments_expect_inputs(r, &m, about);
    segments_expect(r, &begin, "begins", about);
    if (end.data) segments_expect(r, &end, "ends", about);
    segments_region_drop(&begin);
    segments_region_drop(&end);
    segments_memory_drop(&m);
}

/* ---- by keys --------------------------------------------------------------------------------- */

/* The keys and the outputs of a call by keys. */
typedef struct keyed {
    const segments_keys *c;
    segments_region keys, out_keys, lengths, runs;
    uint64_t *begins, count;
    char about[300];
} keyed;

static keyed make_keyed(segments_run *r, const segments_keys *c) {
    const uint32_t width = r->desc.key_bytes, skew = c->items.skew;
    keyed k = {.c = c, .begins = must_alloc((c->n + 1) * sizeof *k.begins)};
    k.count = oracle_runs(c->keys, width, c->n, k.begins);
    k.keys = segments_region_make(width, skew, 0, c->n);
    if (c->n) memcpy(segments_at(&k.keys, 0), c->keys, c->n * width);
    segments_upload(r, &k.keys);
    k.out_keys = segments_region_make(width, skew + 1, 0, c->capacity);
    k.lengths = segments_region_make(sizeof(uint64_t), skew + 2, 0, c->capacity);
    k.runs = segments_region_make(sizeof(uint64_t), skew + 3, 0, 1);
    snprintf(k.about, sizeof k.about, "%s, %u bytes, mask %d, skew %u, n %llu, %llu runs, capacity %llu%s%s", r->name, width,
             c->items.mask, skew, (unsigned long long)c->n, (unsigned long long)k.count, (unsigned long long)c->capacity,
             c->no_keys ? ", no keys" : "", c->no_lengths ? ", no lengths" : "");
    return k;
}

static void drop_keyed(keyed *k) {
    segments_region *const all[] = {&k->keys, &k->out_keys, &k->lengths, &k->runs};
    for (size_t i = 0; i < TALLY_ARRAY_LENGTH(all); i++) segments_region_drop(all[i]);
    free(k->begins);
}

static void upload_outputs(segments_run *r, segments_memory *m, keyed *k, int pass) {
    segments_region *const others[] = {&k->out_keys, &k->lengths, &k->runs};
    segments_poison(m, pass);
    for (uint32_t t = 0; t < m->outs; t++) segments_upload(r, &m->out[t]);
    for (size_t i = 0; i < TALLY_ARRAY_LENGTH(others); i++) {
        memset(others[i]->data, pass ? 0x77 : 0xcc, others[i]->bytes);
        segments_upload(r, others[i]);
    }
}

static tally_status call(segments_run *r, const segments_memory *m, const keyed *k) {
    tally_keys_args args = {.size = sizeof args,
                            .keys = k->keys.buffer,
                            .keys_offset = k->keys.base,
                            .n = k->c->n,
                            .where = m->where.buffer,
                            .where_offset = m->where.base,
                            .capacity = k->c->capacity,
                            .out_keys = k->c->no_keys ? NULL : k->out_keys.buffer,
                            .out_keys_offset = k->out_keys.base,
                            .lengths = k->c->no_lengths ? NULL : k->lengths.buffer,
                            .lengths_offset = k->lengths.base,
                            .runs = k->runs.buffer,
                            .runs_offset = k->runs.base};
    for (uint32_t i = 0; i < r->inputs; i++) args.in[i] = m->in[i].buffer, args.in_offset[i] = m->in[i].base;
    for (uint32_t t = 0; t < m->outs; t++) args.out[t] = m->out[t].buffer, args.out_offset[t] = m->out[t].base;
    return tally_reduce_keys(r->plan, r->queue, &args);
}

/* Puts what the call must write into the outputs: of `most` runs. */
static void put_outputs(const segments_run *r, segments_memory *m, keyed *k, uint64_t most) {
    const uint32_t width = r->desc.key_bytes;
    put_values(r, m, k->begins, k->begins + 1, most);
    for (uint64_t s = 0; s < most; s++) {
        const uint64_t length = k->begins[s + 1] - k->begins[s];
        if (!k->c->no_keys)
            memcpy(segments_at(&k->out_keys, (int64_t)s), (const unsigned char *)k->c->keys + k->begins[s] * width, width);
        if (!k->c->no_lengths) memcpy(segments_at(&k->lengths, (int64_t)s), &length, sizeof length);
    }
    memcpy(segments_at(&k->runs, 0), &k->count, sizeof k->count);
}

/* A call that failed may or may not have written the runs that fit. Takes the device's bytes there
 * for right. */
static void allow_any(segments_run *r, segments_region *g, uint64_t elements) {
    unsigned char *got = must_alloc(g->bytes);
    MUST(tally_buffer_read(r->queue, g->buffer, 0, got, g->bytes));
    MUST(tally_queue_wait(r->queue));
    memcpy(segments_at(g, 0), got + (size_t)(segments_at(g, 0) - g->data), elements * g->element);
    free(got);
}

void segments_run_keys(segments_run *r, const segments_keys *c) {
    segments_memory m = make_memory(r, &c->items, c->n, c->capacity);
    keyed k = make_keyed(r, c);
    const int fits = k.count <= c->capacity, fails = !fits && !(r->desc.flags & TALLY_UNCHECKED);
    const uint64_t most = fits ? k.count : c->capacity;
    for (int pass = 0; pass < 2; pass++) {
        upload_outputs(r, &m, &k, pass);
        const tally_status status = call(r, &m, &k);
        if (status != (fails ? TALLY_E_ARGUMENT : TALLY_OK))
            fail_msg("%s: %s: %s", k.about, tally_status_name(status), status ? tally_last_error() : "");
        if (fails) expect_number("", k.count, k.about);
        put_outputs(r, &m, &k, most);
        for (uint32_t t = 0; t < m.outs && fails; t++) allow_any(r, &m.out[t], most);
        if (fails && !c->no_keys) allow_any(r, &k.out_keys, most);
        if (fails && !c->no_lengths) allow_any(r, &k.lengths, most);
        segments_expect(r, &k.runs, "the number of runs", k.about);
        segments_expect(r, &k.out_keys, "the key", k.about);
        segments_expect(r, &k.lengths, "the length", k.about);
        for (uint32_t t = 0; t < m.outs; t++) segments_expect(r, &m.out[t], "the result", k.about);
    }
    segments_expect_inputs(r, &m, k.about);
    segments_expect(r, &k.keys, "the given key", k.about);
    drop_keyed(&k);
    segments_memory_drop(&m);
}
