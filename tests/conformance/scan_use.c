/* SPDX-License-Identifier: MIT */
/* Uses of scans: in pieces, by custom ops, with parameters; and refusals. */
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/support/calls.h"
#include "direct.h"
#include "oracle/patterns.h"
#include "scan_affine.h"
#include "scan_run.h"
#include "tests/support/test_main.h"

#include "scan/scan.h"

#define BLOCK UINT64_C(131072)

static void *must_alloc(uint64_t bytes) {
    void *memory = malloc((size_t)bytes);
    if (!memory) abort();
    return memory;
}

/* ---- in pieces ------------------------------------------------------------------------------- */

/* line: scan-pieces. */
static void expect_pieces(tally_context *context, const tally_scan_desc *desc) {
    static const uint64_t pieces[][5] = {{BLOCK, BLOCK, 1, 0}, {2 * BLOCK, 5000, 0}, {BLOCK, 2 * BLOCK, BLOCK, 0}, {BLOCK, 0}};
    const uint64_t room = 4 * BLOCK;
    scan_run r;
    if (!scan_run_open(&r, context, desc, NULL, room)) return;
    void *items = must_alloc(room * 16);
    uint8_t *flags = must_alloc(room);
    pattern_fill(PATTERN_WIDE, desc->in, items, room);
    for (uint64_t i = 0; i < room; i++) flags[i] = pattern_random(i) % 70001 == 0; /* some pieces have none */
    for (size_t p = 0; p < TALLY_ARRAY_LENGTH(pieces); p++) {
        scan_given g = {.items = items, .pieces = pieces[p], .in_offset = p, .out_offset = 2 * p};
        for (const uint64_t *piece = pieces[p]; *piece; piece++) g.n += *piece;
        if (desc->segments) g.flags = flags;
        scan_run_expect(&r, &g);
    }
    free(items);
    free(flags);
    scan_run_close(&r);
}

static void test_pieces(void **state) {
    static const int32_t initial = 77;
    const tally_scan_desc descs[] = {
        {.op = TALLY_SUM, .in = TALLY_F32},
        {.op = TALLY_ARGMAX, .in = TALLY_F32, .flags = TALLY_EXCLUSIVE},
        {.op = TALLY_MEAN, .in = TALLY_F32},
        {.op = TALLY_SUM, .in = TALLY_I32, .flags = TALLY_EXCLUSIVE, .initial = &initial},
        {.op = TALLY_MEAN, .in = TALLY_F32, .segments = TALLY_SEGMENTS_FLAGS},
    };
    const char *variant;
    for (size_t v = 0; (variant = scan_canonical_variant(v)) != NULL; v++)
        for (size_t d = 0; d < (quick() ? 1 : TALLY_ARRAY_LENGTH(descs)); d++) {
            tally_scan_desc desc = descs[d];
            desc.variant = variant;
            if (d == 0 || full()) expect_pieces(direct_context(state), &desc);
        }
    for (size_t d = 1; d < (quick() ? 1 : TALLY_ARRAY_LENGTH(descs)); d++) expect_pieces(direct_context(state), &descs[d]);
}

/* tally_scan starts anew, even with no items. A piece that is no whole block ends the scan. The
 * first call of a plan may be tally_scan_next. */
static void test_pieces_order(void **state) {
    tally_context *context = direct_context(state);
    const tally_scan_desc desc = {.op = TALLY_SUM, .in = TALLY_I32};
    scan_run r;
    int64_t got[3];
    int32_t *x = must_alloc(BLOCK * sizeof *x);
    assert_true(scan_run_open(&r, context, &desc, NULL, BLOCK));
    for (uint64_t i = 0; i < BLOCK; i++) x[i] = 1;
    MUST(tally_buffer_write(r.queue, r.in, 0, x, BLOCK * sizeof *x));
    MUST(scan_next(r.plan, r.queue, r.in, 0, NULL, 0, BLOCK, r.out, 0));
    MUST(scan_next(r.plan, r.queue, r.in, 0, NULL, 0, 3, r.out, 0));
    MUST(tally_buffer_read(r.queue, r.out, 0, got, sizeof got));
    MUST(tally_queue_wait(r.queue));
    assert_int_equal(got[0], BLOCK + 1);
    assert_int_equal(got[2], BLOCK + 3);
    assert_int_equal(scan_next(r.plan, r.queue, r.in, 0, NULL, 0, 3, r.out, 0), TALLY_E_ARGUMENT);
    MUST(tally_scan(r.plan, r.queue, r.in, 0, r.out));
    MUST(scan_next(r.plan, r.queue, r.in, 0, NULL, 0, 2, r.out, 0));
    MUST(tally_buffer_read(r.queue, r.out, 0, got, sizeof got));
    MUST(tally_queue_wait(r.queue));
    assert_int_equal(got[1], 2);
    free(x);
    scan_run_close(&r);
}

/* ---- a custom op ----------------------------------------------------------------------------- */

static void expect_affine(scan_run *r, const uint32_t *x, const uint8_t *flags, uint64_t room) {
    const uint64_t sizes[] = {0, 1, 6, 129, 4097, BLOCK + 7, room};
    for (size_t s = 0; s < TALLY_ARRAY_LENGTH(sizes); s++) {
        scan_given g = {.items = x, .n = sizes[s], .in_offset = s % 3, .flags = r->desc.segments ? flags : NULL};
        scan_run_expect(r, &g);
        g.is_in_place = 1;
        scan_run_expect(r, &g);
    }
}

static void test_custom(void **state) {
    enum { ROOM = 2 * BLOCK + 4500 };
    static const uint32_t flags_of_forms[] = {0, TALLY_EXCLUSIVE, TALLY_REVERSE}, initial = 77777;
    need_compiler(*state);
    tally_context *context = direct_context(state);
    tally_custom_op *op = scan_affine_op();
    uint32_t *x = must_alloc(ROOM * sizeof *x);
    uint8_t *flags = must_alloc(ROOM);
    unsigned ran = 0;
    const char *variant;
    for (uint64_t i = 0; i < ROOM; i++) x[i] = (uint32_t)(pattern_random(i) >> 32), flags[i] = pattern_random(i) % 3001 == 0;
    for (size_t v = 0; (variant = scan_canonical_variant(v)) != NULL; v++)
        for (size_t f = 0; f < TALLY_ARRAY_LENGTH(flags_of_forms); f++) {
            scan_run r;
            const tally_scan_desc desc = {.custom = op,
                                          .in = TALLY_U32,
                                          .variant = variant,
                                          .flags = flags_of_forms[f],
                                          .initial = f == 1 ? &initial : NULL, /* with segments it is on the left of each */
                                          .segments = f == 1 ? TALLY_SEGMENTS_FLAGS : TALLY_SEGMENTS_NONE};
            if (ran >= TALLY_ARRAY_LENGTH(flags_of_forms) && !has_turn(*state, v + f)) continue;
            if (!scan_run_open(&r, context, &desc, &scan_affine_maps, ROOM)) continue;
            expect_affine(&r, x, flags, ROOM);
            scan_run_close(&r);
            ran++;
        }
    assert_true(ran >= 3);
    free(x);
    free(flags);
    tally_op_destroy(op);
}

/* ---- several results ------------------------------------------------------------------------- */

/* Values of 3 bytes, of 6, and of 24 with gaps of 4 and 7 bytes, which are zeros. A cell of four is
 * then no whole number of the widest words. */
typedef struct narrow_value {
    uint8_t shift, scale, last;
} narrow_value;
typedef struct middle_value {
    uint16_t shift, scale, last;
} middle_value;
typedef struct wide_value {
    uint32_t shift;
    uint64_t scale;
    uint8_t last;
} wide_value;
enum { NARROW, MIDDLE, WIDE, WIDTHS };
static const int widths[WIDTHS] = {NARROW, MIDDLE, WIDE};

static void several_finish(const void *self, const void *acc, uint64_t n, void *value) {
    static const scan_affine identity = {1, 0, 7}; /* the value of `empty` */
    const scan_affine *a = n ? acc : &identity;
    const int width = *(const int *)self;
    if (width == NARROW) memcpy(value, &(narrow_value){(uint8_t)a->shift, (uint8_t)a->scale, (uint8_t)a->last}, 3);
    if (width == MIDDLE) memcpy(value, &(middle_value){(uint16_t)a->shift, (uint16_t)a->scale, (uint16_t)a->last}, 6);
    if (width != WIDE) return;
    wide_value wide;
    memset(&wide, 0, sizeof wide);
    wide.shift = a->shift;
    wide.scale = a->scale;
    wide.last = (uint8_t)a->last;
    memcpy(value, &wide, sizeof wide);
}

static tally_custom_op *several_op(int width) {
    static const tally_dtype types[WIDTHS][3] = {
        {TALLY_U8, TALLY_U8, TALLY_U8}, {TALLY_U16, TALLY_U16, TALLY_U16}, {TALLY_U32, TALLY_U64, TALLY_U8}};
    const tally_dtype *type = types[width];
    const tally_op_result results[] = {
        {"shift", type[0], "a.shift", NULL}, {"scale", type[1], "a.scale", NULL}, {"last", type[2], "a.last", "7"}};
    return direct_op(&(tally_op_desc){.name = "affine",
                                      .fields = scan_affine_fields,
                                      .field_count = SCAN_AFFINE_FIELDS,
                                      .results = results,
                                      .result_count = 3});
}

static void test_several(void **state) {
    static const size_t bytes[WIDTHS] = {sizeof(narrow_value), sizeof(middle_value), sizeof(wide_value)};
    static const uint32_t flags[] = {0, TALLY_EXCLUSIVE, TALLY_REVERSE};
    static const uint64_t sizes[] = {0, 3, 4100, BLOCK + 5};
    need_compiler(*state);
    uint32_t *x = must_alloc(sizes[3] * sizeof *x);
    unsigned ran = 0;
    const char *variant;
    for (uint64_t i = 0; i < sizes[3]; i++) x[i] = (uint32_t)(pattern_random(i) >> 32);
    for (int width = 0; width < WIDTHS; width++) {
        tally_custom_op *op = several_op(width);
        const scan_op reference = {4,
                                   sizeof(scan_affine),
                                   bytes[width],
                                   scan_affine_maps.load,
                                   scan_affine_maps.combine,
                                   several_finish,
                                   &widths[width]};
        for (size_t v = 0; (variant = scan_canonical_variant(v)) != NULL; v++) {
            scan_run r;
            const tally_scan_desc desc = {
                .custom = op, .in = TALLY_U32, .variant = variant, .flags = flags[(v + (size_t)width) % 3]};
            if (ran > (unsigned)width && !has_turn(*state, v + (size_t)width)) continue;
            if (!scan_run_open(&r, direct_context(state), &desc, &reference, sizes[3])) continue;
            for (size_t s = 0; s < TALLY_ARRAY_LENGTH(sizes); s++)
                for (uint64_t offset = 0; offset < 8; offset += 4) {
                    const scan_given g = {.items = x, .n = sizes[s], .in_offset = 1, .out_offset = offset};
                    scan_run_expect(&r, &g);
                }
            scan_run_close(&r);
            ran++;
        }
        tally_op_destroy(op);
    }
    assert_true(ran >= WIDTHS);
    free(x);
}

/* A parameter is set between two scans of a plan. */
static void test_param(void **state) {
    const tally_scan_desc desc = {.op = TALLY_VAR, .in = TALLY_F32};
    const float x[4] = {1, 3, 5, 7}, expected[2][4] = {{0, 1, 8.0f / 3, 5}, {NAN, 2, 4, 20.0f / 3}};
    scan_run r;
    assert_true(scan_run_open(&r, direct_context(state), &desc, NULL, 4));
    MUST(tally_buffer_write(r.queue, r.in, 0, x, sizeof x));
    for (int ddof = 0; ddof < 2; ddof++) {
        float got[4];
        MUST(tally_plan_set_param(r.plan, "ddof", ddof));
        MUST(tally_scan(r.plan, r.queue, r.in, 4, r.out));
        MUST(tally_buffer_read(r.queue, r.out, 0, got, sizeof got));
        MUST(tally_queue_wait(r.queue));
        assert_true(ddof ? isnan(got[0]) : got[0] == 0);
        for (int i = 1; i < 4; i++) assert_true(fabsf(got[i] - expected[ddof][i]) < 1e-5f);
    }
    scan_run_close(&r);
}

/* ---- many results ---------------------------------------------------------------------------- */

/* More than 16 MiB, which cpu_scan stores past the caches, in 16 bytes where aligned. */
static void test_many(void **state) {
    static const tally_scan_desc descs[] = {
        {.op = TALLY_SUM, .in = TALLY_F32},
        {.op = TALLY_MIN, .in = TALLY_I32, .flags = TALLY_REVERSE},
        {.op = TALLY_SUM, .in = TALLY_F64, .flags = TALLY_EXCLUSIVE | TALLY_REVERSE},
        {.op = TALLY_SUM, .in = TALLY_F32, .flags = TALLY_EXCLUSIVE, .segments = TALLY_SEGMENTS_FLAGS},
    };
    for (size_t d = 0; d < TALLY_ARRAY_LENGTH(descs); d++) {
        const uint64_t n = (UINT64_C(16) << 20) / tally_dtype_bytes(descs[d].in) + 12365;
        scan_run r;
        if (descs[d].in == TALLY_F64 && !direct_has_f64(state)) continue;
        assert_true(scan_run_open(&r, direct_context(state), &descs[d], NULL, n));
        void *items = must_alloc(n * r.op.item_bytes);
        uint8_t *flags = must_alloc(n);
        scan_given g = {.items = items, .n = n, .flags = descs[d].segments ? flags : NULL};
        pattern_fill(PATTERN_WIDE, descs[d].in, items, n);
        for (uint64_t i = 0; i < n; i++) flags[i] = i % 1021 == 0;
        scan_run_expect(&r, &g);
        g.out_offset = 1;
        scan_run_expect(&r, &g);
        g.out_offset = 0;
        g.is_in_place = 1;
        scan_run_expect(&r, &g);
        free(flags);
        free(items);
        scan_run_close(&r);
    }
}

/* ---- the look-back's fallback ---------------------------------------------------------------- */

static void expect_held_back(tally_context *context, const tally_scan_desc *desc, bool *had) {
    const uint64_t n = 5 * BLOCK + 777;
    scan_run r;
    *had = scan_run_open_with(&r, context, desc, TALLY_SCAN_HOLDS_BACK, NULL, n);
    if (!*had) return;
    void *items = must_alloc(n * r.op.item_bytes);
    scan_given g = {.items = items, .n = n};
    pattern_fill(PATTERN_WIDE, desc->in, items, n);
    scan_run_expect(&r, &g);
    scan_run_expect(&r, &g);
    g.is_in_place = 1;
    if (scan_run_fits_in_place(&r)) scan_run_expect(&r, &g);
    free(items);
    scan_run_close(&r);
}

/* The fallback: groups that wait in vain compute the missing aggregates themselves, to the same
 * bits. Aggregates lie in the word or beside it. */
static void test_held_back(void **state) {
    static const char *const variants[] = {"look_back", "cpu_scan"};
    static const tally_scan_desc descs[] = {
        {.op = TALLY_SUM, .in = TALLY_F32},
        {.op = TALLY_SUM, .in = TALLY_I8},
        {.op = TALLY_SUM, .in = TALLY_I64}, /* scanned in place */
        {.op = TALLY_SUM, .in = TALLY_F32, .flags = TALLY_REVERSE},
    };
    const size_t count = TALLY_ARRAY_LENGTH(descs);
    size_t ran = 0;
    for (size_t d = 0; d < count * TALLY_ARRAY_LENGTH(variants); d++) {
        tally_scan_desc desc = descs[d / 2];
        bool had;
        desc.variant = variants[d % 2];
        expect_held_back(direct_context(state), &desc, &had);
        ran += had;
    }
    if (ran) {
        assert_int_equal(ran, count); /* a device has one of the two variants, with every descriptor */
        return;
    }
    test_skip("%s", tally_last_error());
}

/* ---- results of a plan, and refusals --------------------------------------------------------- */

static void test_result(void **state) {
    tally_context *context = direct_context(state);
    tally_plan *plan;
    tally_result_info result;
    MUST(tally_scan_plan_create(
        context, &(tally_scan_desc){.size = sizeof(tally_scan_desc), .op = TALLY_MINMAX, .in = TALLY_I16, .max_n = 10}, &plan));
    assert_true(tally_plan_result(plan, 0, &result) && result.dtype == TALLY_I16 && result.offset == 0);
    assert_true(tally_plan_result(plan, 1, &result) && result.dtype == TALLY_I16 && result.offset == 2);
    assert_false(tally_plan_result(plan, 2, &result));
    assert_true(tally_plan_depth(plan, 100000) <= 22 + 1);
    assert_true(tally_plan_depth(plan, 10 * BLOCK) <= 22 + 10);
    tally_plan_destroy(plan);
}

/* line: scan-refused. Refusals by the device itself. tests/core/scan.c has the others. */
static void test_refused(void **state) {
    tally_context *context = direct_context(state);
    static const float initial = 1;
    const struct {
        tally_scan_desc desc;
        tally_status status;
    } refused[] = {
        {{.op = TALLY_DOT, .in = TALLY_F32}, TALLY_E_UNSUPPORTED},
        {{.op = TALLY_ALLCLOSE, .in = TALLY_F32}, TALLY_E_UNSUPPORTED},
        {{.op = TALLY_SUM, .in = TALLY_F32, .variant = "group_tree"}, TALLY_E_ARGUMENT}, /* a variant of reductions */
        {{.op = TALLY_SUM, .in = TALLY_F32, .initial = &initial}, TALLY_E_ARGUMENT},
        {{.op = TALLY_ARGMAX, .in = TALLY_F32, .flags = TALLY_EXCLUSIVE, .initial = &initial}, TALLY_E_UNSUPPORTED},
    };
    for (size_t i = 0; i < TALLY_ARRAY_LENGTH(refused); i++) {
        tally_scan_desc desc = refused[i].desc;
        tally_plan *plan = NULL;
        desc.size = sizeof desc;
        const tally_status status = tally_scan_plan_create(context, &desc, &plan);
        if (status != refused[i].status || plan)
            fail_msg("row %zu: %s: %s", i, tally_status_name(status), status ? tally_last_error() : "");
    }
}

const device_test scan_use_tests[] = {
    {"scan: in pieces", test_pieces},   {"scan: the order of pieces", test_pieces_order},
    {"scan: custom", test_custom},      {"scan: several results", test_several},
    {"scan: a parameter", test_param},  {"scan: many results", test_many},
    {"scan: fallback", test_held_back}, {"scan: results", test_result},
    {"scan: refused", test_refused},    {NULL, NULL},
};
