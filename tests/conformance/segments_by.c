/* SPDX-License-Identifier: MIT */
/* Segments by offsets and by runs of keys, and axes of host arrays, on every device. */
#include <stdlib.h>
#include <string.h>

#include "direct.h"
#include "oracle/items.h"
#include "oracle/patterns.h"
#include "segments_walk.h"
#include "tests/support/sample.h"
#include "tests/support/test_main.h"

#define MOST_N UINT64_C(20500)
#define MOST_COUNT UINT64_C(20500)

static const tally_dtype offset_types[] = {TALLY_I32, TALLY_U32, TALLY_I64, TALLY_U64};

/* ---- lists of segments ----------------------------------------------------------------------- */

typedef struct list {
    uint64_t begins[MOST_COUNT + 1], ends[MOST_COUNT + 1];
    uint64_t count, n;
    int joined; /* begins alone, with count + 1 entries */
} list;

typedef enum list_kind {
    LIST_ONES,     /* 1 item each */
    LIST_SHORT,    /* 0 to 8 items */
    LIST_MEDIUM,   /* 0 to 100 items */
    LIST_ROWS,     /* 0 to 4,000 items; each fourth has none */
    LIST_LONG,     /* 0 to 9,000 items */
    LIST_ONE_LONG, /* short ones, but one of 12,000 items */
    LIST_CHUNKS,   /* lengths next to whole numbers of chunks */
    LIST_EMPTY,    /* no items */
    LIST_JOINED_KINDS,
    LIST_OVERLAP = LIST_JOINED_KINDS, /* anywhere, of any length: many items in several segments */
    LIST_SAME,                        /* the same long segment again and again */
    LIST_ALIKE,                       /* at multiples of 64 items, 64 or fewer of them */
    LIST_UNORDERED,                   /* apart from each other, from the last to the first */
    LIST_KINDS
} list_kind;

static uint64_t length_of(list_kind kind, uint64_t s) {
    static const uint64_t chunks[] = {4095, 4096, 4097, 128, 127, 129, 3968, 4224};
    switch (kind) {
    case LIST_ONES:
        return 1;
    case LIST_SHORT:
        return pattern_random(s) % 9;
    case LIST_MEDIUM:
        return pattern_random(s) % 101;
    case LIST_ROWS:
        return s % 4 ? pattern_random(s) % 4001 : 0;
    case LIST_LONG:
        return pattern_random(s) % 9001;
    case LIST_ONE_LONG:
        return s == 700 ? 12000 : pattern_random(s) % 6;
    case LIST_CHUNKS:
        return chunks[s % TALLY_ARRAY_LENGTH(chunks)];
    default:
        return 0;
    }
}

/* Segments side by side, of as many of the items as are left. */
static void fill_joined(list *l, list_kind kind) {
    uint64_t at = kind == LIST_SHORT && l->n > 3 ? 3 : 0;
    for (l->count = 0; at < l->n && l->count < (kind == LIST_EMPTY ? 1000 : MOST_COUNT); l->count++) {
        const uint64_t length = length_of(kind, l->count);
        l->begins[l->count] = at;
        at += length < l->n - at ? length : l->n - at;
        l->ends[l->count] = at;
    }
    l->begins[l->count] = at;
}

static void fill_list(list *l, list_kind kind, uint64_t n) {
    l->n = n;
    l->joined = kind < LIST_JOINED_KINDS;
    if (l->joined) {
        fill_joined(l, kind);
        return;
    }
    static const uint64_t strides[LIST_KINDS] = {[LIST_ALIKE] = 64, [LIST_UNORDERED] = 9};
    l->count = strides[kind] ? n / strides[kind] : !n ? 3 : kind == LIST_SAME ? 20 : 60;
    for (uint64_t s = 0; s < l->count; s++) {
        uint64_t at = pattern_random(s) % (n + 1), length = pattern_random(s + 1000) % (n - at + 1);
        if (kind == LIST_SAME) at = 0, length = n;
        if (kind == LIST_ALIKE) at = 64 * s, length = s % 2 ? 64 : pattern_random(s) % 65;
        if (kind == LIST_UNORDERED) at = (l->count - 1 - s) * 9, length = s % 8;
        l->begins[s] = at;
        l->ends[s] = at + length;
    }
}

static segments_offsets offsets_of(const list *l, uint32_t skew, segments_mask mask, int pattern) {
    return (segments_offsets){.items = {pattern, mask, skew},
                              .begins = l->begins,
                              .ends = l->joined ? NULL : l->ends,
                              .count = l->count,
                              .n = l->n,
                              .bad = TALLY_NO_INDEX};
}

/* ---- by offsets ------------------------------------------------------------------------------ */

/* Runs 1 of `parts` of the lists. Returns 0 if the variant is not for this device. */
static int expect_lists(void **state, const tally_segments_desc *given, segments_mask mask, size_t parts) {
    static const uint64_t sizes[] = {0, 1, 100, 5000, MOST_N};
    tally_segments_desc desc = *given;
    segments_run r;
    list *l = malloc(sizeof *l);
    assert_non_null(l);
    desc.by = TALLY_BY_OFFSETS;
    if (!desc.max_n) desc.max_n = MOST_N;
    if (!desc.max_segments) desc.max_segments = MOST_COUNT;
    const int opened = segments_open(&r, direct_context(state), &desc, NULL);
    for (list_kind kind = 0; kind < LIST_KINDS && opened; kind++)
        for (size_t s = 0; s < TALLY_ARRAY_LENGTH(sizes); s++) {
            if ((5 * kind + s + desc.op + desc.in) % (quick() ? 2 * parts : parts)) continue;
            fill_list(l, kind, sizes[s]);
            const segments_offsets c = offsets_of(l, (uint32_t)(kind + s) % 6, mask, segments_usual_pattern(r.values[0].of.op));
            segments_run_offsets(&r, &c);
        }
    free(l);
    if (opened) segments_close(&r);
    return opened;
}

static void test_offsets(void **state) {
    for (size_t t = 0; t < TALLY_ARRAY_LENGTH(offset_types); t++)
        for (uint32_t flags = 0; flags <= TALLY_UNCHECKED; flags += TALLY_UNCHECKED)
            expect_lists(state,
                         &(tally_segments_desc){.op = TALLY_SUM, .in = TALLY_F32, .offsets = offset_types[t], .flags = flags},
                         MASK_ONES, 1);
}

/* Segments of the hinted length, and longer ones, have the same bits. */
static void test_offsets_hint(void **state) {
    static const uint64_t lengths[] = {1, 4096, 4097};
    for (size_t i = 0; i < TALLY_ARRAY_LENGTH(lengths); i++)
        expect_lists(state, &(tally_segments_desc){.op = TALLY_SUM, .in = TALLY_F32, .max_length = lengths[i]}, MASK_ONES, 1);
}

static void test_offsets_ops(void **state) {
    for (size_t s = 0; s < SEGMENTS_SAMPLES; s++) {
        const oracle_case *of = segments_sample(state, s);
        if (!of) continue;
        const tally_segments_desc desc = {.op = of->op, .in = of->in, .flags = s % 2 ? TALLY_UNCHECKED : 0};
        expect_lists(state, &desc, MASK_ONES, 1);
    }
}

/* A backend without a compiler has every op and type. */
static void test_offsets_pairs(void **state) {
    if (has_compiler(*state) && !full()) test_skip("of all ops and types: TALLY_TEST_FULL=1 asks for them");
    for (tally_op op = TALLY_OP_NONE + 1; op < TALLY_OP_END; op++)
        for (tally_dtype in = TALLY_DTYPE_DEFAULT + 1; in < TALLY_DTYPE_END; in++) {
            const oracle_case of = {.op = op, .in = in};
            if (!segments_is_here(state, &of) || !cells_want_pair(op, in) || !sample_has_turn(op + in)) continue;
            expect_lists(state, &(tally_segments_desc){.op = op, .in = in, .offsets = offset_types[(op + in) % 4]}, MASK_ONES,
                         7);
        }
}

#define OP(op_)                                                                                                                \
    { .op = TALLY_##op_ }
static const tally_term_desc several[] = {OP(MINMAX), OP(MEAN), OP(SUM)};

/* Masks, initial results and several terms. */
static void test_offsets_forms(void **state) {
    const float initial = 2.5f;
    tally_segments_desc desc = {.op = TALLY_SUM, .in = TALLY_F32, .initial = &initial};
    expect_lists(state, &desc, MASK_ONES, 1);
    desc.flags = TALLY_WHERE;
    for (segments_mask mask = 0; mask < MASK_KINDS; mask++) expect_lists(state, &desc, mask, 1);
    desc = (tally_segments_desc){.op = TALLY_VAR, .in = TALLY_F32, .flags = TALLY_WHERE | TALLY_UNCHECKED};
    expect_lists(state, &desc, MASK_RANDOM, 1);
    desc = (tally_segments_desc){.in = TALLY_I16, .terms = several, .term_count = 3};
    if (direct_has_f64(state)) expect_lists(state, &desc, MASK_ONES, 1);
    desc.flags = TALLY_APART | TALLY_WHERE;
    if (direct_has_f64(state)) expect_lists(state, &desc, MASK_RANDOM, 1);
}

/* Makes segment s wrong in one of the ways that the type can hold. */
static void spoil(list *l, uint64_t s, tally_dtype type, unsigned way) {
    const int is_signed = type == TALLY_I32 || type == TALLY_I64, is_wide = type == TALLY_I64 || type == TALLY_U64;
    const uint64_t far = (is_wide ? UINT64_MAX : UINT32_MAX) >> is_signed;
    switch (way % 5) {
    case 0:
        l->begins[s] = 9, l->ends[s] = 8;
        break;
    case 1:
        l->ends[s] = l->n + 1;
        break;
    case 2:
        l->ends[s] = far;
        break;
    case 3: /* -1, or the highest number */
        l->begins[s] = is_signed ? UINT64_MAX : far;
        break;
    default:
        l->begins[s] = l->ends[s] = l->n + 1;
        break;
    }
}

/* The first wrong segment is named, and nothing is written. Then the plan works as before. */
static void test_offsets_wrong(void **state) {
    static const uint64_t places[][3] = {{0, 0, 0}, {1, 2, 3}, {255, 256, 2000}, {2276, 2276, 2276}, {17, 1024, 2276}};
    list *l = malloc(sizeof *l);
    assert_non_null(l);
    for (size_t t = 0; t < TALLY_ARRAY_LENGTH(offset_types); t++) {
        segments_run r;
        const tally_segments_desc desc = {.by = TALLY_BY_OFFSETS,
                                          .op = TALLY_SUM,
                                          .in = TALLY_F32,
                                          .offsets = offset_types[t],
                                          .max_n = MOST_N,
                                          .max_segments = MOST_COUNT};
        segments_open(&r, direct_context(state), &desc, NULL);
        for (size_t p = 0; p < TALLY_ARRAY_LENGTH(places); p++)
            for (unsigned way = 0; way < 5; way++) {
                fill_list(l, LIST_UNORDERED, MOST_N);
                assert_true(l->count == 2277);
                for (unsigned k = 0; k < 3; k++) spoil(l, places[p][k], desc.offsets, way + k);
                segments_offsets c = offsets_of(l, way, MASK_ONES, PATTERN_WIDE);
                c.bad = places[p][0];
                segments_run_offsets(&r, &c);
                fill_list(l, LIST_MEDIUM, MOST_N);
                c = offsets_of(l, way, MASK_ONES, PATTERN_WIDE);
                if (p == 0) segments_run_offsets(&r, &c);
                l->begins[l->count / 2] = l->begins[l->count / 2 + 1] + 1; /* ends before it begins */
                c.bad = l->count / 2;
                if (p == 1) segments_run_offsets(&r, &c);
            }
        segments_close(&r);
    }
    free(l);
}

/* ---- by keys --------------------------------------------------------------------------------- */

/* Fills keys of runs as long as a list's segments. Neighbouring keys differ in one bit, at a place
 * that changes from run to run. */
static void fill_keys(const list *l, uint32_t key_bytes, unsigned char *keys) {
    unsigned char key[TALLY_MAX_KEY_BYTES];
    uint64_t i = 0;
    memset(key, 0x80, sizeof key);
    for (uint64_t s = 0; s < l->count; s++) {
        const uint64_t length = l->ends[s] - l->begins[s], random = pattern_random(s);
        if (length) key[random % key_bytes] ^= (unsigned char)(1u << random / 64 % 8);
        for (uint64_t k = 0; k < length; k++) memcpy(keys + i++ * key_bytes, key, key_bytes);
    }
    for (; i < l->n; i++) memset(keys + i * key_bytes, 0, key_bytes);
}

/* Returns 0 if the variant is not for this device. */
static int expect_keys(void **state, const tally_segments_desc *given, segments_mask mask) {
    static const uint64_t sizes[] = {0, 1, 2, 4097, 8193, MOST_N};
    tally_segments_desc desc = *given;
    segments_run r;
    list *l = malloc(sizeof *l);
    unsigned char *keys = malloc(MOST_N * TALLY_MAX_KEY_BYTES);
    uint64_t *begins = malloc((MOST_N + 1) * sizeof *begins);
    assert_true(l && keys && begins);
    desc.by = TALLY_BY_KEYS;
    if (!desc.max_n) desc.max_n = MOST_N;
    const int opened = segments_open(&r, direct_context(state), &desc, NULL);
    const int pattern = r.value_count ? segments_usual_pattern(r.values[0].of.op) : 0;
    for (list_kind kind = 0; kind <= LIST_EMPTY && opened; kind++)
        for (size_t s = 0; s < TALLY_ARRAY_LENGTH(sizes); s++) {
            if (quick() && (kind + s) % 2) continue;
            fill_list(l, kind, sizes[s]);
            fill_keys(l, desc.key_bytes, keys);
            const uint64_t runs = oracle_runs(keys, desc.key_bytes, l->n, begins);
            const uint64_t capacities[] = {runs, runs + 9, runs ? runs - 1 : 0, runs / 2, 0};
            for (size_t k = 0; k < TALLY_ARRAY_LENGTH(capacities); k++) {
                const segments_keys c = {.items = {pattern, mask, (uint32_t)(kind + s + k) % 6},
                                         .keys = keys,
                                         .n = l->n,
                                         .capacity = capacities[k],
                                         .no_keys = (s + k) % 4 == 1,
                                         .no_lengths = (s + k) % 3 == 1};
                if (capacities[k] <= r.desc.max_segments && (k < 3 || s % 2)) segments_run_keys(&r, &c);
            }
        }
    free(l);
    free(keys);
    free(begins);
    if (opened) segments_close(&r);
    return opened;
}

/* Runs alone, and sums of each, for every width. */
static void test_keys(void **state) {
    static const uint32_t widths[] = {1, 2, 3, 4, 5, 8, 12, 16};
    for (size_t w = 0; w < TALLY_ARRAY_LENGTH(widths); w++)
        for (uint32_t flags = 0; flags <= TALLY_UNCHECKED; flags += TALLY_UNCHECKED) {
            if (!sample_has_turn(w + flags) && w != 3) continue;
            expect_keys(state, &(tally_segments_desc){.key_bytes = widths[w], .flags = flags}, MASK_ONES);
            expect_keys(state, &(tally_segments_desc){.op = TALLY_SUM, .in = TALLY_F32, .key_bytes = widths[w], .flags = flags},
                        MASK_ONES);
        }
}

/* More keys than one turn of the kernel that adds up the runs of tiles takes, in runs of 1,000. */
static void test_keys_many(void **state) {
    enum { N = 17000500, RUN = 1000, RUNS = N / RUN + 1 };
    tally_context *context = direct_context(state);
    unsigned char *keys = malloc(N), *got = malloc(RUNS);
    uint64_t *lengths = malloc(RUNS * sizeof *lengths), runs = 0;
    unsigned ran = 0;
    tally_queue *queue;
    tally_buffer *in, *out, *out_lengths, *number;
    assert_true(keys && got && lengths);
    for (uint32_t i = 0; i < N; i++) keys[i] = (unsigned char)(i / RUN);
    MUST(tally_queue_create(context, &queue));
    MUST(tally_buffer_create(context, N, &in));
    MUST(tally_buffer_create(context, RUNS, &out));
    MUST(tally_buffer_create(context, RUNS * sizeof *lengths, &out_lengths));
    MUST(tally_buffer_create(context, sizeof runs, &number));
    MUST(tally_buffer_write(queue, in, 0, keys, N));
    for (size_t v = 0; v < SEGMENTS_VARIANTS; v++) {
        const tally_segments_desc desc = {.size = sizeof desc,
                                          .by = TALLY_BY_KEYS,
                                          .key_bytes = 1,
                                          .max_n = N,
                                          .max_segments = RUNS,
                                          .variant = segments_variants[v]};
        const tally_keys_args args = {
            .size = sizeof args, .keys = in, .n = N, .capacity = RUNS, .out_keys = out, .lengths = out_lengths, .runs = number};
        tally_plan *plan;
        if (tally_segments_plan_create(context, &desc, &plan)) continue; /* not for this device */
        memset(lengths, 0, RUNS * sizeof *lengths);
        MUST(tally_buffer_write(queue, out_lengths, 0, lengths, RUNS * sizeof *lengths));
        MUST(tally_reduce_keys(plan, queue, &args));
        MUST(tally_buffer_read(queue, number, 0, &runs, sizeof runs));
        MUST(tally_buffer_read(queue, out, 0, got, RUNS));
        MUST(tally_buffer_read(queue, out_lengths, 0, lengths, RUNS * sizeof *lengths));
        MUST(tally_queue_wait(queue));
        assert_int_equal(runs, RUNS);
        for (uint32_t r = 0; r < RUNS; r++)
            if (got[r] != (unsigned char)r || lengths[r] != (r < RUNS - 1 ? RUN : N % RUN))
                fail_msg("%s: run %u has key %u and length %llu", desc.variant, r, got[r], (unsigned long long)lengths[r]);
        tally_plan_destroy(plan);
        ran++;
    }
    assert_true(ran >= 1);
    tally_buffer *const buffers[] = {in, out, out_lengths, number};
    for (size_t i = 0; i < TALLY_ARRAY_LENGTH(buffers); i++) tally_buffer_destroy(buffers[i]);
    tally_queue_destroy(queue);
    free(keys);
    free(got);
    free(lengths);
}

static void test_keys_ops(void **state) {
    for (size_t s = 0; s < SEGMENTS_SAMPLES; s++) {
        const oracle_case *of = segments_sample(state, s);
        if (of) expect_keys(state, &(tally_segments_desc){.op = of->op, .in = of->in, .key_bytes = 4}, MASK_ONES);
    }
}

static void test_keys_forms(void **state) {
    const float initial = -7;
    tally_segments_desc desc = {.op = TALLY_SUM, .in = TALLY_F32, .initial = &initial, .key_bytes = 8, .flags = TALLY_WHERE};
    for (segments_mask mask = 0; mask < MASK_KINDS; mask++) expect_keys(state, &desc, mask);
    desc = (tally_segments_desc){.op = TALLY_ARGMIN, .in = TALLY_F32, .flags = TALLY_WHERE | TALLY_UNCHECKED, .key_bytes = 4};
    expect_keys(state, &desc, MASK_RANDOM);
    desc = (tally_segments_desc){.in = TALLY_I16, .terms = several, .term_count = 3, .key_bytes = 2};
    if (direct_has_f64(state)) expect_keys(state, &desc, MASK_ONES);
    desc.flags = TALLY_APART | TALLY_WHERE;
    if (direct_has_f64(state)) expect_keys(state, &desc, MASK_RANDOM);
    /* max_segments below the runs that there are. */
    desc = (tally_segments_desc){.op = TALLY_MAX, .in = TALLY_I32, .key_bytes = 4, .max_segments = 100};
    expect_keys(state, &desc, MASK_ONES);
}

/* Every variant by its name, by offsets and by keys. */
static void test_variants(void **state) {
    unsigned ran = 0;
    for (size_t v = 0; v < SEGMENTS_VARIANTS; v++)
        for (size_t s = 0; s < SEGMENTS_SAMPLES; s += 2) {
            const oracle_case *of = segments_sample(state, s);
            if (!of || (ran && !has_turn(*state, v + s / 2))) continue;
            tally_segments_desc desc = {.op = of->op, .in = of->in, .variant = segments_variants[v]};
            desc.flags = s % 4 ? TALLY_WHERE : 0;
            ran += (unsigned)expect_lists(state, &desc, MASK_RANDOM, 1);
            desc.flags = s % 4 ? 0 : TALLY_WHERE | TALLY_UNCHECKED;
            desc.key_bytes = s % 4 ? 4 : 12;
            ran += (unsigned)expect_keys(state, &desc, MASK_RANDOM);
        }
    assert_true(ran >= 1);
}

/* ---- host arrays ----------------------------------------------------------------------------- */

static void test_host_arrays(void **state) {
    for (size_t s = 0; s < SEGMENTS_SAMPLES; s++) {
        const oracle_case *of = segments_sample(state, s);
        segments_shape shape;
        segments_run r;
        if (!of) continue;
        segments_open(&r, direct_context(state),
                      &(tally_segments_desc){.by = TALLY_BY_AXES, .op = of->op, .in = of->in, .flags = s % 2 ? TALLY_WHERE : 0},
                      NULL);
        for (size_t k = s % 3; segments_fixed_shape(k, &shape); k += quick() ? 9 : 3) {
            segments_axes c = segments_array(&shape, (k + s) % LAYOUTS, k % 2);
            c.items = (segments_items){segments_usual_pattern(of->op), MASK_RANDOM, (uint32_t)k % 8, 0};
            segments_run_host_axes(&r, &c);
        }
        for (uint64_t k = 0; k < (quick() ? 5 : 30); k++) {
            segments_axes c = segments_random_array(sample_seed() * 1000 + k);
            c.items.pattern = segments_usual_pattern(of->op);
            segments_run_host_axes(&r, &c);
        }
        segments_close(&r);
    }
}

static void test_host_terms(void **state) {
    static const segments_shape shape = {3, {5, 40, 30}, 2};
    if (!direct_has_f64(state)) test_skip("the device has no f64");
    for (uint32_t flags = 0; flags <= TALLY_APART; flags += TALLY_APART) {
        segments_run r;
        const tally_segments_desc desc = {
            .by = TALLY_BY_AXES, .in = TALLY_I16, .terms = several, .term_count = 3, .flags = flags};
        segments_open(&r, direct_context(state), &desc, NULL);
        for (segments_layout layout = 0; layout < LAYOUTS; layout++) {
            const segments_axes c = segments_array(&shape, layout, layout % 2);
            segments_run_host_axes(&r, &c);
        }
        segments_close(&r);
    }
}

/* Keys of 8 bytes in the caller's memory, read and written at no multiple of 8. */
static void test_keys_anywhere(void **state) {
    enum { N = 20000, KEY_BYTES = 8, RUN_ITEMS = 7, RUNS = (N + RUN_ITEMS - 1) / RUN_ITEMS };
    static _Alignas(8) unsigned char memory[N * KEY_BYTES + 8], room[RUNS * KEY_BYTES + 8], found[RUNS * KEY_BYTES];
    static uint64_t lengths[RUNS];
    tally_context *context = direct_context(state);
    tally_queue *queue;
    tally_plan *plan;
    tally_buffer *keys, *buffers[3];
    unsigned char *items = memory + 4;
    uint64_t runs = 0;
    for (uint64_t i = 0; i < N; i++) memcpy(items + i * KEY_BYTES, &(uint64_t){i / RUN_ITEMS << 20}, KEY_BYTES);
    if (tally_buffer_wrap_host(context, items, N * KEY_BYTES, &keys)) test_skip("the device takes no host memory in place");
    const tally_segments_desc desc = {
        .size = sizeof desc, .by = TALLY_BY_KEYS, .max_n = N, .max_segments = N, .key_bytes = KEY_BYTES};
    MUST(tally_queue_create(context, &queue));
    MUST(tally_segments_plan_create(context, &desc, &plan));
    MUST(tally_buffer_wrap_host(context, room + 4, sizeof found, &buffers[0]));
    MUST(tally_buffer_create(context, sizeof lengths, &buffers[1]));
    MUST(tally_buffer_create(context, sizeof runs, &buffers[2]));
    const tally_keys_args args = {.size = sizeof args,
                                  .keys = keys,
                                  .n = N,
                                  .capacity = RUNS,
                                  .out_keys = buffers[0],
                                  .lengths = buffers[1],
                                  .runs = buffers[2]};
    MUST(tally_reduce_keys(plan, queue, &args));
    MUST(tally_buffer_read(queue, buffers[0], 0, found, sizeof found));
    MUST(tally_buffer_read(queue, buffers[1], 0, lengths, sizeof lengths));
    MUST(tally_buffer_read(queue, buffers[2], 0, &runs, sizeof runs));
    MUST(tally_queue_wait(queue));
    assert_int_equal(runs, RUNS);
    for (uint64_t r = 0; r < RUNS; r++) {
        assert_memory_equal(found + r * KEY_BYTES, items + r * RUN_ITEMS * KEY_BYTES, KEY_BYTES);
        assert_int_equal(lengths[r], r + 1 < RUNS ? RUN_ITEMS : N - r * RUN_ITEMS);
    }
    for (int b = 0; b < 3; b++) tally_buffer_destroy(buffers[b]);
    tally_buffer_destroy(keys);
    tally_plan_destroy(plan);
    tally_queue_destroy(queue);
}

const device_test segments_list_tests[] = {
    {"segments: offsets", test_offsets},
    {"segments: offsets, a hint", test_offsets_hint},
    {"segments: offsets, ops", test_offsets_ops},
    {"segments: offsets, every op and type", test_offsets_pairs},
    {"segments: offsets, forms", test_offsets_forms},
    {"segments: offsets, wrong ones", test_offsets_wrong},
    {"segments: keys", test_keys},
    {"segments: keys, many", test_keys_many},
    {"segments: keys, ops", test_keys_ops},
    {"segments: keys, forms", test_keys_forms},
    {"segments: keys anywhere", test_keys_anywhere},
    {"segments: offsets and keys, variants", test_variants},
    {"segments: host arrays", test_host_arrays},
    {"segments: host arrays, several terms", test_host_terms},
    {NULL, NULL},
};
