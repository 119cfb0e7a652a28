/* SPDX-License-Identifier: MIT */
/* Segments by axes, offsets and keys, and scans along an axis, for the program `races`. */
#include <stdio.h>
#include <string.h>

#include "races.h"

#define MAX_ITEMS 20000

/* ---- arrays ---------------------------------------------------------------------------------- */

/* An array of before * kept * after items in C order. The segment of index k has the items whose
 * middle index is k; a list of a scan runs along the middle axis. Each shape has a kernel, or a way
 * through one. */
typedef struct shape {
    const char *name;
    uint64_t before, kept, after;
    uint32_t flags;
} shape;

static const shape segment_shapes[] = {{"short rows", 1, 50, 3, 0},
                                       {"rows", 1, 9, 200, 0},
                                       {"long rows", 1, 3, 5000, 0},
                                       {"columns", 100, 70, 1, 0},
                                       {"few columns", 3000, 3, 1, 0},
                                       {"long columns", 5000, 3, 1, 0},
                                       {"planes", 10, 7, 20, 0},
                                       {"masked rows", 1, 9, 200, TALLY_WHERE},
                                       {"masked columns", 100, 70, 1, TALLY_WHERE}};
static const shape scan_shapes[] = {{"short rows", 40, 20, 1, TALLY_REVERSE},
                                    {"short columns", 1, 20, 40, 0},
                                    {"long rows", 3, 5000, 1, TALLY_EXCLUSIVE},
                                    {"long columns", 1, 300, 33, TALLY_REVERSE}};

/* A scalar, and a struct. */
static const struct {
    tally_op op;
    tally_dtype in;
} ops[] = {{TALLY_SUM, TALLY_F32}, {TALLY_ARGMIN, TALLY_I32}};

typedef union word {
    float f32;
    int32_t i32;
    uint64_t u64;
} word;

/* A value under way: of `seen` items, `taken` of which are not masked. */
typedef struct fold {
    int64_t sum;
    uint64_t at, seen, taken;
    int low;
} fold;

static void fold_item(fold *f, int x, int is_masked) {
    if (!is_masked && (!f->taken || x < f->low)) f->low = x, f->at = f->seen;
    if (!is_masked) f->sum += x, f->taken++;
    f->seen++;
}

/* Stores the op's value. Returns its bytes. */
static uint64_t store(const fold *f, tally_op op, unsigned char *to) {
    word w = {.u64 = 0};
    if (op == TALLY_SUM)
        w.f32 = (float)f->sum;
    else
        w.u64 = f->taken ? f->at : TALLY_NO_INDEX;
    const uint64_t bytes = op == TALLY_SUM ? 4 : 8;
    memcpy(to, &w, bytes);
    return bytes;
}

/* The memory of a case. */
static struct {
    uint32_t items[MAX_ITEMS], offsets[MAX_ITEMS], keys[MAX_ITEMS];
    uint8_t mask[MAX_ITEMS];
    unsigned char want[8 * MAX_ITEMS], got[8 * MAX_ITEMS];
} m;

static void fill_items(tally_dtype in, uint64_t n) {
    for (uint64_t i = 0; i < n; i++) {
        word w = {.u64 = 0};
        if (in == TALLY_F32)
            w.f32 = (float)item(in, 0, i);
        else
            w.i32 = item(in, 0, i);
        memcpy(&m.items[i], &w, 4);
        m.mask[i] = i % 3 != 0;
    }
}

/* ---- segments -------------------------------------------------------------------------------- */

static int segments_by_axes(running *r, tally_plan *plan, const shape *s, size_t o, const char *name) {
    const uint64_t n = s->before * s->kept * s->after, stride = s->kept * s->after;
    const tally_axis axes[] = {
        {.extent = s->before, .reduced = 1, .in_stride = {(int64_t)stride}, .where_stride = (int64_t)stride},
        {.extent = s->kept, .in_stride = {(int64_t)s->after}, .where_stride = (int64_t)s->after},
        {.extent = s->after, .reduced = 1, .in_stride = {1}, .where_stride = 1}};
    const int masks = s->flags & TALLY_WHERE;
    tally_queue *queue = NULL;
    tally_buffer *in = NULL, *where = NULL, *out = NULL;
    uint64_t bytes = 0;
    fill_items(ops[o].in, n);
    for (uint64_t k = 0; k < s->kept; k++) {
        fold f = {0};
        for (uint64_t b = 0; b < s->before; b++)
            for (uint64_t a = 0; a < s->after; a++) {
                const uint64_t at = (b * s->kept + k) * s->after + a;
                fold_item(&f, item(ops[o].in, 0, at), masks && !m.mask[at]);
            }
        bytes += store(&f, ops[o].op, m.want + bytes);
    }
    int bad = fails(tally_queue_create(r->context, &queue), name, "tally_queue_create") ||
              upload(r->context, queue, m.items, 4 * n, name, &in) || upload(r->context, queue, m.mask, n, name, &where) ||
              fails(tally_buffer_create(r->context, bytes, &out), name, "tally_buffer_create");
    const tally_axes_args args = {
        .size = sizeof args, .axes = axes, .axis_count = 3, .in = {in}, .where = masks ? where : NULL, .out = {out}};
    return bad || fails(tally_reduce_axes(plan, queue, &args), name, "the call") ||
           is_wrong(queue, out, m.got, m.want, bytes, n, name);
}

/* The length of segment s: short ones, medium ones, and one of more than a chunk. */
static uint64_t length_of(uint64_t s) {
    return s == 20 ? 9000 : s % 7 == 3 ? 300 : s * 37 % 50;
}

/* Segments by offsets or, if keys are wanted, runs of as many keys. */
#define SEGMENTS UINT64_C(60)
static uint64_t fill_list(size_t o, int by_keys, uint64_t *bytes, uint64_t *count) {
    uint64_t n = 0;
    *bytes = *count = 0;
    for (uint64_t s = 0; s < SEGMENTS; s++) {
        const uint64_t length = length_of(s);
        fold f = {0};
        m.offsets[s] = (uint32_t)n;
        for (uint64_t i = 0; i < length; i++) {
            m.keys[n] = (uint32_t)s;
            fold_item(&f, item(ops[o].in, 0, n++), 0);
        }
        if (by_keys && !length) continue;
        *bytes += store(&f, ops[o].op, m.want + *bytes);
        ++*count;
    }
    m.offsets[SEGMENTS] = (uint32_t)n;
    fill_items(ops[o].in, n);
    return n;
}

static int segments_by_list(running *r, tally_plan *plan, int by_keys, size_t o, const char *name) {
    tally_queue *queue = NULL;
    tally_buffer *in = NULL, *offsets = NULL, *keys = NULL, *out = NULL, *lengths = NULL, *runs = NULL;
    uint64_t bytes, count;
    const uint64_t n = fill_list(o, by_keys, &bytes, &count);
    int bad = fails(tally_queue_create(r->context, &queue), name, "tally_queue_create") ||
              upload(r->context, queue, m.items, 4 * n, name, &in) || upload(r->context, queue, m.keys, 4 * n, name, &keys) ||
              upload(r->context, queue, m.offsets, 4 * (SEGMENTS + 1), name, &offsets) ||
              fails(tally_buffer_create(r->context, bytes, &out), name, "tally_buffer_create") ||
              fails(tally_buffer_create(r->context, 8 * count, &lengths), name, "tally_buffer_create") ||
              fails(tally_buffer_create(r->context, 8, &runs), name, "tally_buffer_create");
    tally_offsets_args by_offsets = {
        .size = sizeof by_offsets, .count = SEGMENTS, .begins = offsets, .in = {in}, .n = n, .out = {out}};
    const tally_keys_args args = {.size = sizeof args,
                                  .keys = keys,
                                  .in = {in},
                                  .n = n,
                                  .capacity = count,
                                  .out = {out},
                                  .lengths = lengths,
                                  .runs = runs};
    if (by_keys)
        return bad || fails(tally_reduce_keys(plan, queue, &args), name, "the call") ||
               is_wrong(queue, out, m.got, m.want, bytes, n, name);
    bad = bad || fails(tally_reduce_offsets(plan, queue, &by_offsets), name, "the call") ||
          is_wrong(queue, out, m.got, m.want, bytes, n, name) ||
          fails(tally_plan_keep_offsets(plan, queue, &by_offsets), name, "tally_plan_keep_offsets");
    by_offsets.begins = NULL;
    return bad || fails(tally_reduce_offsets(plan, queue, &by_offsets), name, "the call with kept offsets") ||
           is_wrong(queue, out, m.got, m.want, bytes, n, name);
}

static int segments_all(running *r) {
    const char *variant = "teams";
    int bad = 0;
    if (r->of_one) return 0; /* oclgrind cannot make the kernels of CPUs: LLVM's marks of scopes are unknown to it */
    for (size_t c = 0; c < COUNT(segment_shapes) + 2; c++)
        for (size_t o = 0; o < COUNT(ops); o++) {
            const int by_axes = (c < COUNT(segment_shapes)), by_keys = (c > COUNT(segment_shapes));
            if (o && c % 8 != 1) continue; /* of structs rows and offsets: the tools are slow */
            char name[96];
            snprintf(name, sizeof(name), "%s %s %s, %s", variant, tally_op_name(ops[o].op), tally_dtype_name(ops[o].in),
                     by_axes   ? segment_shapes[c].name
                     : by_keys ? "keys"
                               : "offsets");
            if (!is_wanted(r, name)) continue;
            const tally_segments_desc desc = {.size = sizeof desc,
                                              .by = by_axes   ? TALLY_BY_AXES
                                                    : by_keys ? TALLY_BY_KEYS
                                                              : TALLY_BY_OFFSETS,
                                              .op = ops[o].op,
                                              .in = ops[o].in,
                                              .flags = by_axes ? segment_shapes[c].flags : 0,
                                              .max_n = MAX_ITEMS,
                                              .offsets = !by_axes && !by_keys ? TALLY_U32 : TALLY_DTYPE_DEFAULT,
                                              .key_bytes = by_keys ? 4 : 0,
                                              .variant = variant};
            tally_plan *plan;
            if (!has_plan(r, tally_segments_plan_create(r->context, &desc, &plan), 1, name, &bad)) continue;
            bad |=
                by_axes ? segments_by_axes(r, plan, &segment_shapes[c], o, name) : segments_by_list(r, plan, by_keys, o, name);
        }
    return bad;
}

/* ---- scans along an axis --------------------------------------------------------------------- */

/* Stores what a scan along the middle axis must give. Returns the bytes. */
static uint64_t fill_scanned(const shape *s, size_t o) {
    const uint64_t n = s->before * s->kept * s->after, bytes = ops[o].op == TALLY_SUM ? 4 : 8;
    const int reverse = (s->flags & TALLY_REVERSE) != 0, exclusive = (s->flags & TALLY_EXCLUSIVE) != 0;
    for (uint64_t list = 0; list < s->before * s->after; list++) {
        fold f = {0};
        for (uint64_t i = 0; i < s->kept; i++) {
            const uint64_t k = reverse ? s->kept - 1 - i : i;
            const uint64_t at = (list / s->after * s->kept + k) * s->after + list % s->after;
            fold before = f, after;
            f.seen = k;
            fold_item(&f, item(ops[o].in, 0, at), 0);
            after = f;
            store(exclusive ? &before : &after, ops[o].op, m.want + at * bytes);
        }
    }
    return n * bytes;
}

static int scan_axis(running *r, tally_plan *plan, const shape *s, size_t o, const char *name) {
    const uint64_t n = s->before * s->kept * s->after, bytes = fill_scanned(s, o);
    const tally_axis axes[] = {{.extent = s->before, .in_stride = {(int64_t)(s->kept * s->after)}},
                               {.extent = s->kept, .in_stride = {(int64_t)s->after}},
                               {.extent = s->after, .in_stride = {1}}};
    tally_queue *queue = NULL;
    tally_buffer *in = NULL, *out = NULL;
    fill_items(ops[o].in, n);
    int bad = fails(tally_queue_create(r->context, &queue), name, "tally_queue_create") ||
              upload(r->context, queue, m.items, 4 * n, name, &in) ||
              fails(tally_buffer_create(r->context, bytes, &out), name, "tally_buffer_create");
    const tally_scan_axis_args args = {.size = sizeof args, .axes = axes, .axis_count = 3, .axis = 1, .in = in, .out = out};
    return bad || fails(tally_scan_axis(plan, queue, &args), name, "the call") ||
           is_wrong(queue, out, m.got, m.want, bytes, n, name);
}

static int scans_all(running *r) {
    int bad = 0;
    for (size_t c = 0; c < COUNT(scan_shapes); c++)
        for (size_t o = 0; o < COUNT(ops); o++) {
            char name[96];
            snprintf(name, sizeof(name), "scan along an axis %s %s, %s", tally_op_name(ops[o].op), tally_dtype_name(ops[o].in),
                     scan_shapes[c].name);
            if (!is_wanted(r, name)) continue;
            const tally_scan_desc desc = {.size = sizeof desc,
                                          .op = ops[o].op,
                                          .in = ops[o].in,
                                          .max_n = MAX_ITEMS,
                                          .flags = TALLY_ALONG_AXIS | scan_shapes[c].flags};
            tally_plan *plan;
            /* A CPU's scans need atomics that not every device has. */
            if (!has_plan(r, tally_scan_plan_create(r->context, &desc, &plan), !r->of_one, name, &bad)) continue;
            bad |= scan_axis(r, plan, &scan_shapes[c], o, name);
        }
    return bad;
}

int arrays_all(running *r) {
    const int bad = segments_all(r);
    return scans_all(r) || bad;
}
