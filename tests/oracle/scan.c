/* SPDX-License-Identifier: MIT */
/* The scans' oracle against plain loops, and against the definition of scan order v1, evaluated
 * prefix by prefix as it is written. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "tests/support/test_main.h"
#include "oracle/items.h"
#include "oracle/patterns.h"
#include "oracle/scan.h"

#define LENGTH(array) (sizeof(array) / sizeof((array)[0]))

static void *must_alloc(size_t bytes) {
    void *memory = calloc(1, bytes ? bytes : 1);
    assert_non_null(memory);
    return memory;
}

/* Flags of segments of 1 to `longest` items. */
static void fill_flags(uint8_t *flags, uint64_t n, uint64_t longest) {
    memset(flags, 0, n);
    for (uint64_t i = 0, k = 0; i < n; i += 1 + pattern_random(k++) % longest) flags[i] = (uint8_t)(1 + k % 255);
}

/* ---- integers, in plain loops ---------------------------------------------------------------- */

static const scan_form forms[] = {{0, 0, NULL, NULL}, {1, 0, NULL, NULL}, {0, 1, NULL, NULL}, {1, 1, NULL, NULL}};

/* Sums, and the means made of them, exactly. */
static void expect_sums(const scan_form *form, const int32_t *x, uint64_t n) {
    const oracle_case sum = {.op = TALLY_SUM, .in = TALLY_I32}, mean = {.op = TALLY_MEAN, .in = TALLY_I32};
    const scan_op sums = scan_oracle_op(&sum), means = scan_oracle_op(&mean);
    const int64_t start = form->initial ? *(const int32_t *)form->initial : 0;
    int64_t *got = must_alloc(n * sizeof *got), acc = start;
    double *got_means = must_alloc(n * sizeof *got_means);
    uint64_t count = form->initial != NULL;
    scan_oracle(&sums, form, x, n, got);
    scan_oracle(&means, form, x, n, got_means);
    for (uint64_t i = 0; i < n; i++) {
        const uint64_t at = form->reverse ? n - 1 - i : i;
        const int begins = form->reverse ? i > 0 && form->flags && form->flags[at + 1] : form->flags && form->flags[at];
        if (begins) acc = start, count = form->initial != NULL;
        if (!form->exclusive) acc += x[at], count++;
        assert_int_equal(got[at], acc);
        if (count)
            assert_true(got_means[at] == (double)acc / (double)count);
        else
            assert_true(got_means[at] != got_means[at]);
        if (form->exclusive) acc += x[at], count++;
    }
    free(got);
    free(got_means);
}

static void test_integers(void **state) {
    (void)state;
    static const uint64_t sizes[] = {0, 1, 2, 3, 4, 5, 127, 128, 129, 4095, 4096, 4097, 131071, 131072, 131073, 300000};
    static const int32_t initial = -1000001;
    for (size_t s = 0; s < LENGTH(sizes); s++) {
        const uint64_t n = sizes[s];
        int32_t *x = must_alloc(n * sizeof *x);
        uint8_t *flags = must_alloc(n);
        pattern_fill(PATTERN_WIDE, TALLY_I32, x, n);
        for (uint64_t i = 0; i < n; i++) x[i] /= 1 << 12; /* so that sums in f64 are exact */
        for (size_t f = 0; f < LENGTH(forms); f++)
            for (int segments = 0; segments < 3; segments++) {
                scan_form form = forms[f];
                if (segments) fill_flags(flags, n, segments == 1 ? 7 : 30000), form.flags = flags;
                expect_sums(&form, x, n);
                form.initial = &initial;
                if (form.exclusive) expect_sums(&form, x, n);
            }
        free(x);
        free(flags);
    }
}

/* Equal items keep the lowest index, in either direction. An index is the item's own. */
static void test_indices(void **state) {
    (void)state;
    static const float x[] = {1, 3, 3, 2, NAN, 5, NAN};
    static const uint64_t forward[] = {0, 1, 1, 1, 4, 4, 4}, backward[] = {4, 4, 4, 4, 4, 6, 6};
    static const uint8_t flags[] = {0, 0, 0, 1, 0, 0, 0};
    static const uint64_t segmented[] = {1, 1, 2, 4, 4, 6, 6};
    const oracle_case what = {.op = TALLY_ARGMAX, .in = TALLY_F32};
    const scan_op op = scan_oracle_op(&what);
    uint64_t got[LENGTH(x)];
    scan_oracle(&op, &(scan_form){0}, x, LENGTH(x), got);
    assert_memory_equal(got, forward, sizeof got);
    scan_oracle(&op, &(scan_form){.reverse = 1}, x, LENGTH(x), got);
    assert_memory_equal(got, backward, sizeof got);
    scan_oracle(&op, &(scan_form){.reverse = 1, .flags = flags}, x, LENGTH(x), got);
    assert_memory_equal(got, segmented, sizeof got);
    scan_oracle(&op, &(scan_form){.exclusive = 1}, x, LENGTH(x), got);
    assert_true(got[0] == TALLY_NO_INDEX);
    assert_memory_equal(got + 1, forward, sizeof got - sizeof got[0]);
}

/* ---- the definition -------------------------------------------------------------------------- */

/* An accumulator, and whether a segment begins in it. */
typedef struct pair {
    int begins;
    uint64_t count;
    _Alignas(16) unsigned char acc[SCAN_ACC_BYTES];
} pair;

typedef struct definition {
    const scan_op *op;
    const unsigned char *items;
    const uint8_t *flags;
} definition;

static pair joined(const definition *d, pair a, pair b) {
    if (b.begins) return b;
    d->op->combine(d->op->self, a.acc, b.acc);
    a.count += b.count;
    return a;
}

static pair in_sequence(const definition *d, uint64_t first, uint64_t count) {
    pair all = {0};
    for (uint64_t i = first; i < first + count; i++) {
        pair item = {d->flags && d->flags[i], 1, {0}};
        d->op->load(d->op->self, d->items + i * d->op->item_bytes, i, item.acc);
        all = i == first ? item : joined(d, all, item);
    }
    return all;
}

static const uint64_t level_items[] = {4, 128, 4096, 131072};
static pair scanned(const definition *d, int level, uint64_t group, unsigned l, unsigned steps);

/* A whole cell, row, tile or block. */
static pair whole(const definition *d, int level, uint64_t first) {
    return level == 0 ? in_sequence(d, first, 4) : scanned(d, level - 1, first, 31, 5);
}

/* Part l of the group whose first item is `group`, after this many steps of Kogge and Stone's
 * scan. */
static pair scanned(const definition *d, int level, uint64_t group, unsigned l, unsigned steps) {
    if (steps == 0) return whole(d, level, group + l * level_items[level]);
    const unsigned s = 1U << (steps - 1);
    const pair right = scanned(d, level, group, l, steps - 1);
    return l >= s ? joined(d, scanned(d, level, group, l - s, steps - 1), right) : right;
}

/* The prefix ((((B . T) . R) . C) . I) of the first m items, m > 0. */
static pair prefix(const definition *d, uint64_t m) {
    pair all = {0};
    int is_some = 0;
    uint64_t at = 0;
    for (; m - at >= 131072; at += 131072, is_some = 1) all = is_some ? joined(d, all, whole(d, 3, at)) : whole(d, 3, at);
    for (int level = 2; level >= 0; level--) {
        const unsigned parts = (unsigned)((m - at) / level_items[level]);
        if (parts == 0) continue;
        const pair these = scanned(d, level, at, parts - 1, 5);
        all = is_some ? joined(d, all, these) : these;
        is_some = 1;
        at += parts * level_items[level];
    }
    if (m == at) return all;
    return is_some ? joined(d, all, in_sequence(d, at, m - at)) : in_sequence(d, at, m - at);
}

/* An operator without laws: its result shows the tree. */
static void load_hash(const void *self, const void *item, uint64_t index, void *acc) {
    const uint64_t hash = pattern_random(index ^ *(const uint64_t *)item << 20);
    (void)self;
    memcpy(acc, &hash, sizeof hash);
}

static void combine_hashes(const void *self, void *left, const void *right) {
    uint64_t a, b;
    (void)self;
    memcpy(&a, left, sizeof a);
    memcpy(&b, right, sizeof b);
    a = pattern_random(a * 3 + (b << 7 | b >> 57));
    memcpy(left, &a, sizeof a);
}

static void finish_hash(const void *self, const void *acc, uint64_t n, void *value) {
    uint64_t hash = 0;
    (void)self;
    if (n) memcpy(&hash, acc, sizeof hash);
    hash += n;
    memcpy(value, &hash, sizeof hash);
}

static const scan_op hashes = {8, 8, 8, load_hash, combine_hashes, finish_hash, NULL};

/* The prefixes whose lengths are near the ends of cells, rows, tiles and blocks. */
static int is_telling(uint64_t m, uint64_t n) {
    if (m <= 300 || m == n) return 1;
    const uint64_t near_tile = (m + 5) % 4096, near_block = (m + 5) % 131072;
    if (m < 20000) return near_tile < 10 || m % 509 == 0;
    return near_block < 10 || m % 50021 == 0;
}

static void expect_definition(const scan_op *op, const void *items, const uint8_t *flags, uint64_t n) {
    const definition d = {op, items, flags};
    const size_t bytes = op->value_bytes;
    unsigned char *inclusive = must_alloc(n * bytes), *exclusive = must_alloc(n * bytes), value[32];
    scan_oracle(op, &(scan_form){.flags = flags}, items, n, inclusive);
    scan_oracle(op, &(scan_form){.flags = flags, .exclusive = 1}, items, n, exclusive);
    for (uint64_t m = 1; m <= n; m++) {
        if (!is_telling(m, n)) continue;
        const pair all = prefix(&d, m);
        op->finish(op->self, all.acc, all.count, value);
        assert_memory_equal(inclusive + (m - 1) * bytes, value, bytes);
        if (m == n) continue;
        if (flags && flags[m]) op->finish(op->self, NULL, 0, value);
        assert_memory_equal(exclusive + m * bytes, value, bytes);
    }
    free(inclusive);
    free(exclusive);
}

static void test_definition(void **state) {
    (void)state;
    enum { N = 3 * 131072 + 4097 };
    uint64_t *x = must_alloc(N * sizeof *x);
    uint8_t *flags = must_alloc(N);
    for (uint64_t i = 0; i < N; i++) x[i] = pattern_random(i);
    expect_definition(&hashes, x, NULL, N);
    expect_definition(&hashes, x, NULL, 1);
    for (uint64_t longest = 3; longest < 1000000; longest *= 30) {
        fill_flags(flags, N, longest);
        expect_definition(&hashes, x, flags, N);
    }
    free(x);
    free(flags);
}

/* Ops that round: every shape of accumulator. */
static void test_definition_of_floats(void **state) {
    (void)state;
    enum { N = 131072 + 4099 };
    static const oracle_case cases[] = {
        {.op = TALLY_SUM, .in = TALLY_F32},  {.op = TALLY_PROD, .in = TALLY_C64},
        {.op = TALLY_VAR, .in = TALLY_F64},  {.op = TALLY_SUM, .in = TALLY_F16, .accuracy = TALLY_ACCURACY_COMPENSATED},
        {.op = TALLY_NRM2, .in = TALLY_F32}, {.op = TALLY_MEAN, .in = TALLY_C128},
    };
    void *x = must_alloc(N * 16);
    for (size_t c = 0; c < LENGTH(cases); c++) {
        const scan_op op = scan_oracle_op(&cases[c]);
        pattern_fill(cases[c].op == TALLY_PROD ? PATTERN_NEAR_ONE : PATTERN_WIDE, cases[c].in, x, N);
        expect_definition(&op, x, NULL, N);
    }
    free(x);
}

/* ---- consequences ---------------------------------------------------------------------------- */

/* For every operator an exclusive value is the inclusive value before it. A reverse scan is the
 * scan of the items in reverse. No value depends on later items. The inclusive scan of one item is
 * its reduction. */
static void expect_laws(const oracle_case *what, const unsigned char *x, uint64_t n) {
    const scan_op op = scan_oracle_op(what);
    const size_t bytes = op.value_bytes, item = op.item_bytes;
    unsigned char *y = must_alloc(n * item), *some = must_alloc(n * bytes), *other = must_alloc(n * bytes), first[32];
    const int has_index = what->op == TALLY_ARGMIN || what->op == TALLY_ARGMAX || what->op == TALLY_IAMAX;
    scan_oracle(&op, &(scan_form){0}, x, n, some);
    scan_oracle(&op, &(scan_form){.exclusive = 1}, x, n, other);
    assert_memory_equal(some, other + bytes, (n - 1) * bytes);
    oracle_reduce_inputs(what, (const void *const[]){x}, 0, first);
    assert_memory_equal(other, first, bytes);
    /* A compensated reduction combines with an identity, which makes +0 of -0. A scan does not. */
    oracle_reduce_inputs(what, (const void *const[]){x}, 1, first);
    if (!what->accuracy) assert_memory_equal(some, first, bytes);
    scan_oracle(&op, &(scan_form){0}, x, n - n / 3, other);
    assert_memory_equal(some, other, (n - n / 3) * bytes);
    if (oracle_is_exact(what)) {
        oracle_reduce_inputs(what, (const void *const[]){x}, n, first);
        assert_memory_equal(some + (n - 1) * bytes, first, bytes);
    }
    for (uint64_t i = 0; i < n; i++) memcpy(y + i * item, x + (n - 1 - i) * item, item);
    scan_oracle(&op, &(scan_form){.reverse = 1}, y, n, other);
    for (uint64_t i = 0; i < n && !has_index; i++) assert_memory_equal(some + i * bytes, other + (n - 1 - i) * bytes, bytes);
    free(y);
    free(some);
    free(other);
}

static void test_laws(void **state) {
    (void)state;
    enum { N = 4096 + 133 };
    static const int patterns[] = {PATTERN_WIDE, PATTERN_NAN_MIDDLE, PATTERN_NEGATIVE_ZERO, PATTERN_DUPLICATES};
    unsigned char *x = must_alloc(N * 16);
    oracle_case what = {0};
    for (what.op = TALLY_OP_NONE + 1; what.op < TALLY_OP_END; what.op++)
        for (what.in = TALLY_DTYPE_DEFAULT + 1; what.in < TALLY_DTYPE_END; what.in++)
            for (what.accuracy = 0; what.accuracy < TALLY_ACCURACY_END; what.accuracy++)
                for (int acc = 0; acc < 2; acc++) {
                    what.acc = acc ? TALLY_F64 : TALLY_DTYPE_DEFAULT;
                    if (!oracle_takes(&what) || oracle_inputs(what.op) != 1) continue;
                    for (size_t p = 0; p < LENGTH(patterns); p++) {
                        pattern_fill(patterns[p], what.in, x, N);
                        expect_laws(&what, x, N);
                    }
                }
    free(x);
}

static void test_flags_of_offsets(void **state) {
    (void)state;
    static const uint64_t offsets[] = {7, 0, 3, 3, 10, 99};
    static const uint8_t expected[10] = {1, 0, 0, 1, 0, 0, 0, 1, 0, 0};
    uint8_t flags[10];
    scan_oracle_flags(offsets, LENGTH(offsets), 10, flags);
    assert_memory_equal(flags, expected, sizeof flags);
}

int main(int argc, char **argv) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_integers),   cmocka_unit_test(test_indices),
        cmocka_unit_test(test_definition), cmocka_unit_test(test_definition_of_floats),
        cmocka_unit_test(test_laws),       cmocka_unit_test(test_flags_of_offsets),
    };
    return test_main(argc, argv, "The oracle of scans.", tests, sizeof tests / sizeof tests[0], NULL, NULL);
}
