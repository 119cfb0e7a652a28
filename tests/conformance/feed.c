/* SPDX-License-Identifier: MIT */
/* Feeds: items in pieces give the same bits as all items at once. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "conformance.h"
#include "oracle/oracle.h"
#include "oracle/patterns.h"
#include "tests/support/sample.h"

#define MAX_N UINT64_C(300007)

static tally_feed *feed_create(void **state, tally_op op, tally_dtype in, uint64_t max_n) {
    const place *at = *state;
    if (!at->context) fail_msg("%s did not open: %s", at->select, at->error);
    const tally_reduce_desc desc = {.size = sizeof desc, .op = op, .in = in, .max_n = max_n};
    tally_feed *feed;
    MUST(tally_feed_create(at->context, &desc, &feed));
    return feed;
}

#define MAX_INPUTS 2

/* The items of each input. */
typedef struct feed_items {
    tally_op op;
    tally_dtype in;
    char *of[MAX_INPUTS];
} feed_items;

static feed_items items_create(tally_op op, tally_dtype in, uint64_t n) {
    feed_items items = {.op = op, .in = in};
    for (uint32_t k = 0; k < MAX_INPUTS; k++) {
        items.of[k] = malloc(n * tally_dtype_bytes(in));
        assert_non_null(items.of[k]);
    }
    pattern_fill(op == TALLY_PROD ? PATTERN_NEAR_ONE : PATTERN_WIDE, in, items.of[0], n);
    pattern_fill_second(PATTERN_WIDE, op, in, items.of[0], items.of[1], n);
    return items;
}

static void items_destroy(feed_items *items) {
    for (uint32_t k = 0; k < MAX_INPUTS; k++) free(items->of[k]);
}

/* Copies `count` items of each input to the memory that the feed reads. */
static void take_piece(const feed_items *items, char *const piece[], uint64_t at, uint64_t count) {
    const size_t bytes = tally_dtype_bytes(items->in);
    for (uint32_t k = 0; k < oracle_inputs(items->op); k++) memcpy(piece[k], items->of[k] + at * bytes, count * bytes);
}

/* Pushes n items in pieces, the first of `first` items, each next one longer by `step`. `last`:
 * finish takes the last piece. The memory of a piece is overwritten as soon as the call has
 * returned. */
static void push_all(tally_feed *feed, const feed_items *items, uint64_t n, uint64_t first, uint64_t step, int last,
                     void *result) {
    const size_t bytes = tally_dtype_bytes(items->in);
    const int is_pair = oracle_inputs(items->op) == 2;
    char *piece[MAX_INPUTS];
    for (uint32_t k = 0; k < MAX_INPUTS; k++) assert_non_null(piece[k] = malloc(n * bytes + 1));
    uint64_t at = 0;
    for (uint64_t count = first; at + count < n || (!last && at < n); count += step) {
        if (count > n - at) count = n - at;
        take_piece(items, piece, at, count);
        if (is_pair)
            MUST(tally_feed_push_inputs(feed, (const void *const *)piece, count));
        else
            MUST(tally_feed_push(feed, piece[0], count));
        for (uint32_t k = 0; k < MAX_INPUTS; k++) memset(piece[k], 0x77, count * bytes);
        at += count;
    }
    take_piece(items, piece, at, n - at);
    if (is_pair)
        MUST(tally_feed_finish_inputs(feed, at < n ? (const void *const *)piece : NULL, n - at, result));
    else
        MUST(tally_feed_finish(feed, at < n ? piece[0] : NULL, n - at, result));
    for (uint32_t k = 0; k < MAX_INPUTS; k++) free(piece[k]);
}

typedef struct feed_case {
    uint64_t n, first, step;
    int last;
} feed_case;

static const feed_case cases[] = {
    {0, 1, 0, 0},          {1, 1, 0, 0},        {1, 1, 0, 1},         {300, 1, 0, 1},           {9000, 1, 2, 0},
    {4096, 4096, 0, 0},    {8192, 4096, 0, 1},  {5000, 5000, 0, 0},   {5001, 5000, 0, 1},       {10000, 5000, 0, 0},
    {100003, 4097, 13, 1}, {100003, 777, 1, 0}, {MAX_N, MAX_N, 0, 0}, {MAX_N, MAX_N - 1, 0, 1}, {MAX_N, 60001, 0, 1},
};

/* Runs every `step`th case on one feed, which starts anew after each finish. */
static void run_cases(void **state, tally_op op, tally_dtype in, uint64_t max_n, size_t step) {
    tally_feed *feed = feed_create(state, op, in, max_n);
    feed_items items = items_create(op, in, MAX_N);
    const oracle_case of = {.op = op, .in = in};
    for (size_t c = 0; c < TALLY_ARRAY_LENGTH(cases); c += step) {
        const feed_case *f = &cases[c];
        char what[96];
        snprintf(what, sizeof what, "a feed that holds %llu, pieces of %llu + %llu k, finish %s", (unsigned long long)max_n,
                 (unsigned long long)f->first, (unsigned long long)f->step, f->last ? "with items" : "without");
        oracle_result result;
        memset(&result, 0xee, sizeof result);
        push_all(feed, &items, f->n, f->first, f->step, f->last, &result);
        expect_result_inputs(&of, (const void *const *)items.of, f->n, &result, what);
    }
    tally_feed_destroy(feed);
    items_destroy(&items);
}

/* 5000 is no multiple of a chunk, and 1 is less than one. */
static void test_feed_sum_f32(void **state) {
    static const uint64_t staging[] = {1, 4096, 5000, 65536, 0};
    for (size_t s = 0; s < TALLY_ARRAY_LENGTH(staging); s++) run_cases(state, TALLY_SUM, TALLY_F32, staging[s], 1);
}

static void test_feed_all(void **state) {
    const place *at = *state;
    for (tally_op op = TALLY_OP_NONE + 1; op < TALLY_OP_END; op++)
        for (tally_dtype in = TALLY_DTYPE_DEFAULT + 1; in < TALLY_DTYPE_END; in++) {
            const oracle_case of = {.op = op, .in = in};
            if (!has_turn(at, op + in)) continue;
            if (cells_want_pair(op, in) && !cells_lack_f64(&of, &at->info)) run_cases(state, op, in, 5000, 2);
        }
}

/* Special values in the last piece, the first, and in a piece of their own. */
static void test_feed_patterns(void **state) {
    tally_feed *feed = feed_create(state, TALLY_MIN, TALLY_F32, 5000);
    float items[20001], result;
    for (int pattern = 0; pattern < PATTERNS; pattern++) {
        pattern_fill(pattern, TALLY_F32, items, 20001);
        MUST(tally_feed_push(feed, items, 1));
        MUST(tally_feed_push(feed, items + 1, 0));
        MUST(tally_feed_push(feed, NULL, 0));
        MUST(tally_feed_push(feed, items + 1, 19999));
        MUST(tally_feed_finish(feed, items + 20000, 1, &result));
        expect_result(TALLY_MIN, TALLY_F32, items, 20001, &result, pattern_name(pattern));
    }
    tally_feed_destroy(feed);
}

/* A feed that is destroyed in the middle leaves nothing behind and does not disturb another. */
static void test_feed_abandoned(void **state) {
    float items[9000], result;
    pattern_fill(PATTERN_WIDE, TALLY_F32, items, 9000);
    tally_feed *kept = feed_create(state, TALLY_SUM, TALLY_F32, 5000), *left = feed_create(state, TALLY_SUM, TALLY_F32, 5000);
    MUST(tally_feed_push(kept, items, 8999));
    MUST(tally_feed_push(left, items, 9000));
    tally_feed_destroy(left);
    MUST(tally_feed_finish(kept, items + 8999, 1, &result));
    expect_result(TALLY_SUM, TALLY_F32, items, 9000, &result, "beside an abandoned feed");
    tally_feed_destroy(kept);
}

const device_test feed_tests[] = {
    {"feed: sum f32", test_feed_sum_f32},
    {"feed: every op and dtype", test_feed_all},
    {"feed: patterns", test_feed_patterns},
    {"feed: abandoned", test_feed_abandoned},
    {NULL, NULL},
};
