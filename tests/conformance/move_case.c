/* SPDX-License-Identifier: MIT */
#include "move_case.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define AROUND 64 /* extra bytes of a buffer, which must stay as they are */
#define POISON 0xa5

/* ---- on the host ----------------------------------------------------------------------------- */

typedef struct bytes {
    unsigned char *data;
    uint64_t size;
} bytes;

typedef struct model {
    bytes map, in, stencil, out;
    bytes want; /* `out` after the call; where duplicates are unspecified, without the entries */
    uint64_t *entries;
    unsigned char *moved; /* whether each entry is moved */
    uint64_t lowest;      /* the lowest bad entry that counts, or TALLY_NO_INDEX */
} model;

static bytes make(uint64_t size, uint64_t seed) {
    const bytes b = {malloc(size ? size : 1), size};
    assert_non_null(b.data);
    for (uint64_t i = 0; i < size; i++) {
        seed = seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
        b.data[i] = (unsigned char)(seed >> 56);
    }
    return b;
}

static bytes copy(bytes from) {
    const bytes b = {malloc(from.size ? from.size : 1), from.size};
    assert_non_null(b.data);
    memcpy(b.data, from.data, from.size);
    return b;
}

static uint64_t entry_of(const move_case *c, uint64_t i) {
    switch (c->pattern) {
    case MOVE_REVERSED:
        return (c->n - 1 - i) % c->items;
    case MOVE_PERMUTED:
        return i * UINT64_C(7919) % c->items; /* a prime, which divides no size in use */
    case MOVE_RANDOM:
        return (i * UINT64_C(2654435761) >> 7) % (c->items / 3 + 1);
    case MOVE_CONSTANT:
        return c->items / 2;
    default:
        return i % c->items;
    }
}

/* Bad entries: the first beyond, far beyond, and for signed types negative ones. */
static uint64_t bad_entry(const move_case *c, uint64_t k) {
    const bool is_signed = c->desc.map == TALLY_I32 || c->desc.map == TALLY_I64;
    const bool narrow = c->desc.map == TALLY_I32 || c->desc.map == TALLY_U32;
    const uint64_t far = narrow ? (is_signed ? INT32_MAX : UINT32_MAX) : is_signed ? INT64_MAX : UINT64_MAX;
    const uint64_t choices[] = {c->items, is_signed ? (uint64_t)-1 : far, far, is_signed ? (uint64_t)-1000 : c->items + 1};
    return choices[k % 4];
}

static void set_entries(const move_case *c, model *m) {
    const size_t width = tally_dtype_bytes(c->desc.map);
    m->entries = malloc((c->n + 1) * sizeof *m->entries);
    assert_non_null(m->entries);
    for (uint64_t i = 0; i < c->n; i++) m->entries[i] = c->items ? entry_of(c, i) : 0;
    for (uint64_t k = 0; c->bad && c->bad[k] != TALLY_NO_INDEX; k++) m->entries[c->bad[k]] = bad_entry(c, k);
    for (uint64_t i = 0; i < c->n; i++) {
        unsigned char *to = m->map.data + (c->map_offset + i) * width;
        const uint32_t narrow = (uint32_t)m->entries[i];
        memcpy(to, width == 4 ? (const void *)&narrow : (const void *)&m->entries[i], width);
    }
}

/* The loop that the header documents. */
static void predict(const move_case *c, model *m) {
    const uint64_t b = c->desc.item_bytes;
    m->moved = calloc(c->n + 1, 1);
    assert_non_null(m->moved);
    m->lowest = TALLY_NO_INDEX;
    for (uint64_t i = 0; i < c->n; i++) {
        if (c->desc.flags & TALLY_STENCIL && !m->stencil.data[c->stencil_offset + i]) continue;
        if (m->entries[i] >= c->items) {
            if (m->lowest == TALLY_NO_INDEX) m->lowest = i;
            continue;
        }
        const uint64_t from = c->scatter ? i : m->entries[i], to = c->scatter ? m->entries[i] : i;
        memcpy(m->want.data + (c->out_offset + to) * b, m->in.data + (c->in_offset + from) * b, b);
        m->moved[i] = 1;
    }
}

static model make_model(const move_case *c) {
    const uint64_t b = c->desc.item_bytes, width = tally_dtype_bytes(c->desc.map);
    model m = {.map = make((c->map_offset + c->n) * width + AROUND, 1),
               .in = make((c->in_offset + (c->scatter ? c->n : c->items)) * b + AROUND, 2),
               .stencil = make(c->stencil_offset + c->n + AROUND, 3),
               .out = make((c->out_offset + (c->scatter ? c->items : c->n)) * b + AROUND, 4)};
    for (uint64_t i = 0; i < m.stencil.size; i++) m.stencil.data[i] &= i % 3 ? 0x80 : 0; /* at most a third, and never 1 */
    memset(m.out.data, POISON, m.out.size);
    m.want = copy(m.out);
    set_entries(c, &m);
    predict(c, &m);
    return m;
}

static void drop_model(model *m) {
    unsigned char *const all[] = {m->map.data, m->in.data, m->stencil.data, m->out.data, m->want.data, m->moved};
    for (size_t i = 0; i < TALLY_ARRAY_LENGTH(all); i++) free(all[i]);
    free(m->entries);
}

/* ---- on the device --------------------------------------------------------------------------- */

static const char *name_of(const move_case *c) {
    static const char *const patterns[] = {"identity", "reversed", "permuted", "random", "constant"};
    static char name[160];
    snprintf(name, sizeof name, "%s of %llu items of %u bytes, map %s %s, flags %u, offsets %llu %llu %llu %llu",
             c->scatter ? "scatter" : "gather", (unsigned long long)c->n, c->desc.item_bytes, tally_dtype_name(c->desc.map),
             patterns[c->pattern], c->desc.flags, (unsigned long long)c->map_offset, (unsigned long long)c->in_offset,
             (unsigned long long)c->stencil_offset, (unsigned long long)c->out_offset);
    return name;
}

typedef struct moved_buffer {
    tally_buffer *buffer;
    unsigned char *memory; /* the wrapped host memory; NULL: the device's own */
    tally_buffer *under;   /* the wrapped buffer, on a device with addresses */
    uint64_t size;
    uint32_t skew;
} moved_buffer;

static moved_buffer upload(tally_context *context, tally_queue *queue, bytes from, uint32_t skew) {
    moved_buffer b = {.size = from.size, .skew = skew};
    if (skew && !context->info.host_memory) {
        MUST(tally_buffer_create(context, from.size + skew, &b.under));
        char *address = context->backend->mem_pointer(b.under->mem);
        MUST(tally_buffer_open(context, TALLY_MEM_NATIVE, address + skew, from.size, &b.buffer));
    } else if (skew) {
        assert_non_null(b.memory = aligned_alloc(64, (from.size + skew + 63) / 64 * 64));
        MUST(tally_buffer_wrap_host(context, b.memory + skew, from.size, &b.buffer));
    } else {
        MUST(tally_buffer_create(context, from.size, &b.buffer));
    }
    MUST(tally_buffer_write(queue, b.buffer, 0, from.data, from.size));
    MUST(tally_queue_wait(queue));
    return b;
}

static void expect_bytes(tally_queue *queue, const moved_buffer *b, const unsigned char *want, const move_case *c,
                         const char *what) {
    unsigned char *got = malloc(b->size);
    assert_non_null(got);
    MUST(tally_buffer_read(queue, b->buffer, 0, got, b->size));
    MUST(tally_queue_wait(queue));
    for (uint64_t i = 0; i < b->size; i++)
        if (got[i] != want[i])
            fail_msg("%s: byte %llu of %s is 0x%02x, should be 0x%02x", name_of(c), (unsigned long long)i, what, got[i],
                     want[i]);
    free(got);
}

static bool has_duplicates(const move_case *c) {
    return c->scatter && (c->pattern == MOVE_RANDOM || c->pattern == MOVE_CONSTANT || c->items < c->n);
}

/* Any duplicate may have been written. If `out` holds one of them, that one is put in the place of
 * the loop's choice. */
static void allow_any(tally_queue *queue, const moved_buffer *out, const move_case *c, const model *m, unsigned char *want) {
    const uint64_t b = c->desc.item_bytes;
    unsigned char *got = malloc(out->size);
    assert_non_null(got);
    MUST(tally_buffer_read(queue, out->buffer, 0, got, out->size));
    MUST(tally_queue_wait(queue));
    for (uint64_t i = 0; i < c->n; i++) {
        const uint64_t to = (c->out_offset + m->entries[i]) * b;
        const unsigned char *item = m->in.data + (c->in_offset + i) * b;
        if (m->moved[i] && memcmp(got + to, item, b) == 0) memcpy(want + to, item, b);
    }
    free(got);
}

static void expect_status(tally_status status, const tally_plan *plan, const move_case *c, const model *m) {
    char text[128];
    const char *call = c->scatter ? "tally_scatter" : "tally_gather";
    const bool checked = !(c->desc.flags & TALLY_UNCHECKED);
    if (!checked || m->lowest == TALLY_NO_INDEX) {
        if (status) fail_msg("%s: %s", name_of(c), tally_last_error());
        assert_int_equal(tally_move_bad(plan), TALLY_NO_INDEX);
        return;
    }
    const uint64_t entry = m->entries[m->lowest];
    const bool is_signed = c->desc.map == TALLY_I32 || c->desc.map == TALLY_I64;
    snprintf(text, sizeof text,
             is_signed ? "%s: map[%llu] is %lld: %s has %llu item" : "%s: map[%llu] is %llu: %s has %llu item", call,
             (unsigned long long)m->lowest, (unsigned long long)(c->desc.map == TALLY_U32 ? (uint32_t)entry : entry),
             c->scatter ? "out" : "in", (unsigned long long)c->items);
    assert_int_equal(status, TALLY_E_ARGUMENT);
    if (strncmp(tally_last_error(), text, strlen(text)) != 0)
        fail_msg("%s: the text should begin \"%s\": %s", name_of(c), text, tally_last_error());
    assert_int_equal(tally_move_bad(plan), m->lowest);
}

tally_plan *move_plan(tally_context *context, const move_case *c) {
    tally_move_desc desc = c->desc;
    tally_plan *plan;
    desc.size = sizeof desc;
    if (!desc.max_n) desc.max_n = c->n ? c->n : 1;
    if (!desc.max_out) desc.max_out = c->items ? c->items : 1;
    MUST(c->scatter ? tally_scatter_plan_create(context, &desc, &plan) : tally_gather_plan_create(context, &desc, &plan));
    return plan;
}

void move_run(tally_context *context, tally_plan *plan, const move_case *c) {
    tally_queue *queue;
    MUST(tally_queue_create(context, &queue));
    model m = make_model(c);
    moved_buffer map = upload(context, queue, m.map, 0), in = upload(context, queue, m.in, c->skew);
    moved_buffer stencil = upload(context, queue, m.stencil, 0), out = upload(context, queue, m.out, c->skew);
    const tally_move_args args = {.size = sizeof args,
                                  .map = map.buffer,
                                  .map_offset = c->map_offset,
                                  .n = c->n,
                                  .in = in.buffer,
                                  .in_offset = c->in_offset,
                                  .stencil = c->desc.flags & TALLY_STENCIL ? stencil.buffer : NULL,
                                  .stencil_offset = c->stencil_offset,
                                  .out = out.buffer,
                                  .out_offset = c->out_offset,
                                  .items = c->items};
    for (int pass = 0; pass < 2; pass++) {
        MUST(tally_buffer_write(queue, out.buffer, 0, m.out.data, m.out.size));
        expect_status(c->scatter ? tally_scatter(plan, queue, &args) : tally_gather(plan, queue, &args), plan, c, &m);
        if (has_duplicates(c) && !(c->desc.flags & TALLY_SCATTER_LAST)) allow_any(queue, &out, c, &m, m.want.data);
        expect_bytes(queue, &out, m.want.data, c, "out");
    }
    expect_bytes(queue, &map, m.map.data, c, "map");
    expect_bytes(queue, &in, m.in.data, c, "in");
    expect_bytes(queue, &stencil, m.stencil.data, c, "stencil");
    const moved_buffer all[] = {map, in, stencil, out};
    for (size_t i = 0; i < TALLY_ARRAY_LENGTH(all); i++) {
        tally_buffer_destroy(all[i].buffer);
        tally_buffer_destroy(all[i].under);
        free(all[i].memory);
    }
    tally_queue_destroy(queue);
    drop_model(&m);
}
