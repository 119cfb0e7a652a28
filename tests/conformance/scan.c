/* SPDX-License-Identifier: MIT */
/*
 * Scans on a real device: every op, item type, accumulator, variant and form, over the sizes where
 * cells, rows, tiles and blocks end. A program takes a device's compiler up to a second, so `auto`
 * has every op and type here, and the other variants have samples (TALLY_TEST_FULL: all).
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "direct.h"
#include "oracle/patterns.h"
#include "scan_run.h"
#include "tests/support/test_main.h"
#include "tests/support/sample.h"

#define BLOCK UINT64_C(131072)
#define USUAL_ROOM (BLOCK + 4099)
#define LARGE_ROOM (3 * BLOCK + 4097)

static const uint64_t usual_sizes[] = {0, 1, 2, 3, 4, 5, 127, 128, 129, 4095, 4096, 4097, USUAL_ROOM};
static const uint64_t large_sizes[] = {BLOCK - 1, BLOCK, BLOCK + 1, 2 * BLOCK + 5000, LARGE_ROOM};

static void *must_alloc(uint64_t bytes) {
    void *memory = malloc((size_t)bytes);
    if (!memory) abort();
    return memory;
}

/* Returns whether the reductions' oracle has the case, and the device the needed features. */
static int is_here(void **state, const tally_scan_desc *d) {
    const place *at = *state;
    const oracle_case of = {.op = d->op, .in = d->in, .acc = d->acc, .accuracy = d->accuracy};
    return oracle_takes(&of) && oracle_inputs(d->op) == 1 && !cells_lack_f64(&of, &at->info);
}

/* Fills the items of most sizes. Products and powers of them neither overflow nor vanish. */
static int usual_pattern(tally_op op) {
    return op == TALLY_PROD ? PATTERN_NEAR_ONE : op == TALLY_LOGSUMEXP ? PATTERN_SHIFTED : PATTERN_WIDE;
}

/* line: scan-values, scan-none, scan-in-place, scan-order. One plan, at aligned and misaligned
 * places, and in place where that can be. */
static void expect_sizes(scan_run *r, const uint64_t *sizes, size_t count, void *items) {
    for (size_t s = 0; s < count; s++) {
        scan_given g = {.items = items, .n = sizes[s]};
        pattern_fill(usual_pattern(r->of.op), r->desc.in, items, g.n);
        scan_run_expect(r, &g);
        g.in_offset = 1 + s % 7;
        g.out_offset = 3 + s % 11;
        scan_run_expect(r, &g);
        g.is_in_place = scan_run_fits_in_place(r);
        if (g.is_in_place) scan_run_expect(r, &g);
    }
}

/* line: scan-nan. */
static void expect_patterns(scan_run *r, uint64_t n, void *items) {
    for (int pattern = 0; pattern < PATTERNS; pattern++) {
        pattern_fill(pattern, r->desc.in, items, n);
        scan_run_expect(r, &(scan_given){.items = items, .n = n, .out_offset = (uint64_t)pattern % 4});
    }
}

/* Returns 0 if the variant is not for this device. */
static int expect_scan(void **state, const tally_scan_desc *desc) {
    scan_run r;
    if (!scan_run_open(&r, direct_context(state), desc, NULL, USUAL_ROOM)) return 0;
    void *items = must_alloc(USUAL_ROOM * 16);
    expect_sizes(&r, usual_sizes, TALLY_ARRAY_LENGTH(usual_sizes), items);
    if (!desc->segments) expect_patterns(&r, 4500, items);
    assert_true(r.checked > (!r.is_canonical ? 200 : 10000));
    free(items);
    scan_run_close(&r);
    return 1;
}

/* ---- ops and types --------------------------------------------------------------------------- */

static void expect_all_ops(void **state, tally_dtype in) {
    for (tally_op op = TALLY_OP_NONE + 1; op < TALLY_OP_END; op++) {
        const tally_scan_desc desc = {.op = op, .in = in};
        if (sample_has_turn(op) && is_here(state, &desc) && cells_want_pair(op, in)) expect_scan(state, &desc);
    }
}

static void test_ops_f32(void **state) {
    expect_all_ops(state, TALLY_F32);
}

static void test_ops_i32(void **state) {
    expect_all_ops(state, TALLY_I32);
}

static void test_ops_c64(void **state) {
    expect_all_ops(state, TALLY_C64);
}

static void test_ops_others(void **state) {
    if (!full()) test_skip("only with TALLY_TEST_FULL=1");
    for (tally_dtype in = TALLY_DTYPE_DEFAULT + 1; in < TALLY_DTYPE_END; in++)
        if (in != TALLY_F32 && in != TALLY_I32 && in != TALLY_C64) expect_all_ops(state, in);
}

static void expect_all_types(void **state, tally_op op) {
    for (tally_dtype in = TALLY_DTYPE_DEFAULT + 1; in < TALLY_DTYPE_END; in++) {
        const tally_scan_desc desc = {.op = op, .in = in};
        const int is_done = in == TALLY_F32 || in == TALLY_I32 || in == TALLY_C64; /* tested above */
        if (is_done || !sample_has_turn(op + in)) continue;
        if (is_here(state, &desc) && cells_want_pair(op, in)) expect_scan(state, &desc);
    }
}

static void test_types_sum(void **state) {
    expect_all_types(state, TALLY_SUM);
}

static void test_types_max(void **state) {
    expect_all_types(state, TALLY_MAX);
}

/* Accumulators and accuracies other than the default, and types of results. */
static void test_accumulators(void **state) {
    need_compiler(*state);
    static const tally_scan_desc descs[] = {
        {.op = TALLY_SUM, .in = TALLY_F32, .acc = TALLY_F64},
        {.op = TALLY_PROD, .in = TALLY_C64, .acc = TALLY_F64},
        {.op = TALLY_SUM, .in = TALLY_F32, .accuracy = TALLY_ACCURACY_COMPENSATED},
        {.op = TALLY_MEAN, .in = TALLY_BF16, .accuracy = TALLY_ACCURACY_COMPENSATED},
        {.op = TALLY_SUM, .in = TALLY_F16, .out = TALLY_F16},
        {.op = TALLY_SUM, .in = TALLY_I8, .out = TALLY_I8},
        {.op = TALLY_SUM, .in = TALLY_U32, .out = TALLY_F32},
    };
    for (size_t d = 0; d < TALLY_ARRAY_LENGTH(descs); d++)
        if (is_here(state, &descs[d]) && (!quick() || d % 3 == 0)) expect_scan(state, &descs[d]);
}

/* Samples of accumulators' shapes and item sizes, on every variant by its name. A sampled run takes
 * the first sample on each. */
static void test_variants(void **state) {
    static const tally_scan_desc samples[] = {
        {.op = TALLY_SUM, .in = TALLY_F32},  {.op = TALLY_SUM, .in = TALLY_I8},    {.op = TALLY_ARGMAX, .in = TALLY_F16},
        {.op = TALLY_VAR, .in = TALLY_F64},  {.op = TALLY_PROD, .in = TALLY_C128}, {.op = TALLY_MINMAX, .in = TALLY_I64},
        {.op = TALLY_MEAN, .in = TALLY_F32},
    };
    unsigned canonical = 0;
    for (size_t v = 0; v < tally_scan_variant_count(); v++) {
        tally_variant_info info;
        MUST(tally_scan_variant_get(v, &info));
        for (tally_op op = TALLY_OP_NONE + 1; op < TALLY_OP_END && full(); op++) {
            const tally_scan_desc desc = {.op = op, .in = TALLY_F32, .variant = info.name};
            if (is_here(state, &desc)) expect_scan(state, &desc);
        }
        for (size_t s = 0; s < (quick() ? 2 : TALLY_ARRAY_LENGTH(samples)); s++) {
            tally_scan_desc desc = samples[s];
            desc.variant = info.name;
            if ((s == 0 || sample_has_turn(s + v)) && is_here(state, &desc))
                canonical += (unsigned)(expect_scan(state, &desc) && info.canonical);
        }
    }
    assert_true(canonical >= 1);
}

/* Several blocks, on every canonical variant. */
static void test_large(void **state) {
    static const tally_scan_desc descs[] = {
        {.op = TALLY_SUM, .in = TALLY_F32}, {.op = TALLY_ARGMIN, .in = TALLY_I16}, {.op = TALLY_SUM, .in = TALLY_C128}};
    void *items = must_alloc(LARGE_ROOM * 16);
    unsigned ran = 0;
    const char *variant;
    for (size_t v = 0; (variant = scan_canonical_variant(v)) != NULL; v++)
        for (size_t d = 0; d < (quick() ? 1 : TALLY_ARRAY_LENGTH(descs)); d++) {
            scan_run r;
            tally_scan_desc desc = descs[d];
            desc.variant = variant;
            if (!is_here(state, &desc) || !scan_run_open(&r, direct_context(state), &desc, NULL, LARGE_ROOM)) continue;
            ran++;
            expect_sizes(&r, large_sizes, TALLY_ARRAY_LENGTH(large_sizes), items);
            scan_run_close(&r);
        }
    assert_true(ran >= 1);
    free(items);
}

/* ---- forms ----------------------------------------------------------------------------------- */

/* Flags of segments of 1 to `longest` items. Any nonzero byte is a flag. */
static void fill_flags(uint8_t *flags, uint64_t n, uint64_t longest) {
    memset(flags, 0, (size_t)n);
    for (uint64_t i = 0, k = 0; i < n; i += 1 + pattern_random(k++) % longest) flags[i] = (uint8_t)(1 + k % 255);
}

/* The lowest items of such segments, unordered, some twice and some beyond the last item. */
static uint64_t fill_offsets(uint64_t *offsets, uint64_t n, uint64_t longest) {
    uint64_t count = 0;
    for (uint64_t i = 0; i < n; i += 1 + pattern_random(count) % longest) offsets[count++] = i;
    if (count == 0) return 0;
    for (uint64_t k = count - 1; k > 0; k--) {
        const uint64_t other = pattern_random(k) % (k + 1), at = offsets[k];
        offsets[k] = offsets[other];
        offsets[other] = at;
    }
    offsets[count] = offsets[count / 2];
    offsets[count + 1] = n;
    offsets[count + 2] = UINT64_MAX;
    return count + 3;
}

/* line: scan-segments, scan-offsets. Short segments, some longer than a tile, one segment, and
 * flags everywhere. */
static void expect_segments(scan_run *r, void *items) {
    static const uint64_t longest[] = {1, 3, 200, 9000, UINT64_C(1) << 40};
    uint8_t *flags = must_alloc(USUAL_ROOM);
    uint64_t *offsets = must_alloc((USUAL_ROOM + 3) * sizeof *offsets);
    for (size_t l = 0; l < TALLY_ARRAY_LENGTH(longest); l++)
        for (size_t s = 0; s < TALLY_ARRAY_LENGTH(usual_sizes); s++) {
            scan_given g = {.items = items, .n = usual_sizes[s], .segments_offset = s % 5, .in_offset = l};
            if (r->desc.segments == TALLY_SEGMENTS_FLAGS)
                fill_flags(flags, g.n, longest[l]), g.flags = flags;
            else
                g.count = fill_offsets(offsets, g.n, longest[l]), g.offsets = offsets;
            pattern_fill(usual_pattern(r->of.op), r->desc.in, items, g.n);
            scan_run_expect(r, &g);
        }
    free(flags);
    free(offsets);
}

enum { E = TALLY_EXCLUSIVE, R = TALLY_REVERSE };
static const struct {
    uint32_t flags;
    tally_segments segments;
    int has_initial;
    int is_sample; /* every case takes it */
} forms[] = {
    {E, 0, 0, 1},
    {R, 0, 0, 1},
    {E | R, 0, 0, 0},
    {E, 0, 1, 0},
    {E | R, 0, 1, 1},
    {0, TALLY_SEGMENTS_FLAGS, 0, 1},
    {E, TALLY_SEGMENTS_FLAGS, 0, 0},
    {R, TALLY_SEGMENTS_FLAGS, 0, 0},
    {E | R, TALLY_SEGMENTS_FLAGS, 0, 1},
    {E, TALLY_SEGMENTS_FLAGS, 1, 0},
    {0, TALLY_SEGMENTS_OFFSETS, 0, 0},
    {R, TALLY_SEGMENTS_OFFSETS, 0, 1},
    {E, TALLY_SEGMENTS_OFFSETS, 1, 0},
};

static int has_index(tally_op op) {
    return op == TALLY_ARGMIN || op == TALLY_ARGMAX || op == TALLY_IAMAX;
}

/* line: scan-exclusive, scan-initial, scan-reverse. Returns the number of forms. The initial value
 * is read when the plan is created, and not later. */
static unsigned expect_forms(void **state, const tally_scan_desc *base, int all) {
    unsigned ran = 0;
    unsigned char initial[16], given[16];
    void *items = must_alloc(USUAL_ROOM * 16);
    pattern_fill(PATTERN_SHIFTED, base->in, initial, 1);
    for (size_t f = 0; f < TALLY_ARRAY_LENGTH(forms); f++) {
        tally_scan_desc desc = *base;
        scan_run r;
        desc.flags = forms[f].flags;
        desc.segments = forms[f].segments;
        desc.initial = forms[f].has_initial ? given : NULL;
        memcpy(given, initial, sizeof given);
        if (!(all || forms[f].is_sample) || !is_here(state, &desc) || (desc.initial && has_index(desc.op))) continue;
        if (!scan_run_open(&r, direct_context(state), &desc, NULL, USUAL_ROOM)) continue;
        memset(given, 0x3b, sizeof given);
        if (desc.initial) r.desc.initial = initial;
        if (desc.segments)
            expect_segments(&r, items);
        else
            expect_sizes(&r, usual_sizes, TALLY_ARRAY_LENGTH(usual_sizes), items);
        scan_run_close(&r);
        ran++;
    }
    free(items);
    return ran;
}

static void test_forms(void **state) {
    assert_true(expect_forms(state, &(tally_scan_desc){.op = TALLY_SUM, .in = TALLY_F32}, !quick()) >= 6);
}

/* Ops that finish by n, have an index, are not commutative to the bit, or have several fields. */
static void test_forms_of_ops(void **state) {
    static const tally_scan_desc descs[] = {{.op = TALLY_MEAN, .in = TALLY_F32},
                                            {.op = TALLY_ARGMAX, .in = TALLY_I8},
                                            {.op = TALLY_PROD, .in = TALLY_C64},
                                            {.op = TALLY_VAR, .in = TALLY_F32},
                                            {.op = TALLY_MIN, .in = TALLY_F64}};
    for (size_t d = 0; d < (quick() ? 2 : TALLY_ARRAY_LENGTH(descs)); d++)
        if (sample_has_turn(d)) expect_forms(state, &descs[d], full());
}

/* A sampled run takes one variant that the device can run. */
static void test_forms_of_variants(void **state) {
    unsigned ran = 0;
    size_t count = 0;
    if (quick()) test_skip("not with TALLY_TEST_QUICK=1");
    while (scan_canonical_variant(count)) count++;
    for (size_t v = 0; v < count && !(ran && sample_parts() > 1); v++) {
        const char *variant = scan_canonical_variant((size_t)((v + sample_seed()) % count));
        ran += expect_forms(state, &(tally_scan_desc){.op = TALLY_SUM, .in = TALLY_F32, .variant = variant}, full());
    }
    assert_true(ran >= 1);
}

/* ---- sums of ordinary squares beside others -------------------------------------------------- */

/* line: scan-values. Norms of items whose squares are ordinary but for a few, whose squares vanish
 * or overflow: those of one plan, one after the other. Initial values are of either kind. */
static void expect_norms(void **state, tally_dtype in, uint32_t flags, int initial_pattern) {
    enum { N = 86100, ALL = N };
    static const struct {
        uint64_t from, count;
        int pattern;
    } others[] = {{0, 0, 0},
                  {0, 1, PATTERN_BIG},
                  {5000, 1, PATTERN_TINY},
                  {N - 1, 1, PATTERN_BIG},
                  {8191, 2, PATTERN_BIG},
                  {20000, 30000, PATTERN_TINY},
                  {0, ALL, PATTERN_TINY},
                  {0, 0, 0},
                  {60000, 900, PATTERN_BIG}};
    unsigned char initial[16], *items = must_alloc(N * 16);
    tally_scan_desc desc = {.op = TALLY_NRM2, .in = in, .flags = flags};
    const uint64_t bytes = tally_dtype_bytes(in);
    scan_run r;
    if (initial_pattern >= 0) pattern_fill(initial_pattern, in, initial, 1), desc.initial = initial;
    if (!is_here(state, &desc) || !scan_run_open(&r, direct_context(state), &desc, NULL, N)) {
        free(items);
        return;
    }
    for (size_t o = 0; o < TALLY_ARRAY_LENGTH(others); o++) {
        pattern_fill(PATTERN_NEAR_ONE, in, items, N);
        pattern_fill(others[o].pattern, in, items + others[o].from * bytes, others[o].count);
        scan_run_expect(&r, &(scan_given){.items = items, .n = N - o % 3, .in_offset = o % 2});
    }
    scan_run_close(&r);
    free(items);
}

/* Norms of an item whose square is just ordinary, or just overflows, and of more and more that is
 * small beside it, from 2^-51 of it on. Results that are computed together end with each item in
 * turn. */
static void expect_small_shares(void **state, tally_dtype in, double least) {
    enum { N = 400 };
    double wide[N] = {least};
    float narrow[N];
    scan_run r;
    for (int i = 1; i < N; i++) wide[i] = least * ldexp(1 + (i % 8) / 8.0, i / 8 - 51) * (i % 3 ? 1 : -1);
    for (int i = 0; i < N; i++) narrow[i] = (float)wide[i];
    const tally_scan_desc desc = {.op = TALLY_NRM2, .in = in};
    if (!is_here(state, &desc) || !scan_run_open(&r, direct_context(state), &desc, NULL, N)) return;
    for (uint64_t n = 1; n <= N; n += 1 + sample_parts() / 4)
        scan_run_expect(&r, &(scan_given){.items = in == TALLY_F64 ? (const void *)wide : narrow, .n = n});
    scan_run_close(&r);
}

static void test_norms(void **state) {
    static const tally_dtype types[] = {TALLY_F32, TALLY_F64, TALLY_BF16, TALLY_C64};
    expect_small_shares(state, TALLY_F32, 0x1p-63);
    expect_small_shares(state, TALLY_F32, 0x1.000002p32);
    expect_small_shares(state, TALLY_F64, 0x1p-511);
    expect_small_shares(state, TALLY_F64, 0x1.0000000000001p480);
    for (size_t t = 0; t < TALLY_ARRAY_LENGTH(types); t++) {
        if (t && !sample_has_turn(t)) continue;
        expect_norms(state, types[t], 0, -1);
        expect_norms(state, types[t], TALLY_EXCLUSIVE | TALLY_REVERSE, -1);
        expect_norms(state, types[t], TALLY_EXCLUSIVE, PATTERN_NEAR_ONE);
        expect_norms(state, types[t], TALLY_EXCLUSIVE, PATTERN_BIG);
    }
}

const device_test scan_tests[] = {
    {"scan: ops of f32", test_ops_f32},
    {"scan: ops of i32", test_ops_i32},
    {"scan: ops of c64", test_ops_c64},
    {"scan: ops of others", test_ops_others},
    {"scan: sums of every type", test_types_sum},
    {"scan: maxima of every type", test_types_max},
    {"scan: accumulators", test_accumulators},
    {"scan: variants", test_variants},
    {"scan: several blocks", test_large},
    {"scan: forms", test_forms},
    {"scan: forms of ops", test_forms_of_ops},
    {"scan: forms of variants", test_forms_of_variants},
    {"scan: norms", test_norms},
    {NULL, NULL},
};
