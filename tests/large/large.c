/* SPDX-License-Identifier: MIT */
/*
 * large: more items than 32 bits can count. The same 64 MiB of items are repeated, and five more
 * follow, so that neither this program nor its oracle holds them all. A device gets them in one
 * buffer, if it has the memory; through a feed; and as one host array, which is the same pages
 * mapped again and again.
 */
#define _XOPEN_SOURCE 700
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "tests/support/calls.h"
#include "oracle/oracle.h"
#include "oracle/patterns.h"
#include "tests/support/places.h"
#include "tests/support/test_main.h"

#define BLOCK (UINT64_C(1) << 24)
#define BLOCKS (UINT64_C(1) << 8)
#define TAIL 5
#define N (BLOCK * BLOCKS + TAIL)

typedef struct big_case {
    place *at;
    tally_op op;
    tally_dtype in;
    char name[3][64];
    int ran;
} big_case;

/* A block, and the tail, which comes once. In the tail of integers is the largest item, at an index
 * beyond 32 bits. */
static void *make_items(tally_dtype in) {
    char *items = malloc((BLOCK + TAIL) * tally_dtype_bytes(in));
    assert_non_null(items);
    pattern_fill(PATTERN_WIDE, in, items, BLOCK + TAIL);
    if (in == TALLY_U32) {
        uint32_t *x = (uint32_t *)(void *)items;
        for (uint64_t i = 0; i < BLOCK; i++) x[i] &= 0x7fffffff;
        x[BLOCK + TAIL - 1] = UINT32_MAX;
    }
    return items;
}

static void expect_oracle(const big_case *c, const char *items, const oracle_result *result) {
    oracle state;
    oracle_result expected = {{0}};
    oracle_begin(&state, c->op, c->in);
    for (uint64_t b = 0; b < BLOCKS; b++) oracle_push(&state, items, BLOCK);
    oracle_push(&state, items + BLOCK * tally_dtype_bytes(c->in), TAIL);
    oracle_end(&state, &expected);
    if (memcmp(result, &expected, sizeof expected) != 0)
        fail_msg("of %llu items: 0x%llx, should be 0x%llx", (unsigned long long)N, (unsigned long long)result->u64,
                 (unsigned long long)expected.u64);
}

static void begin(const big_case *c) {
    if (!c->at->context) fail_msg("%s did not open: %s", c->at->select, c->at->error);
}

/* ---- one host array -------------------------------------------------------------------------- */

#define PAGE 65536 /* no machine has larger pages by default */

/* Returns N items at one address, backed by one block and a page, or NULL if they cannot be
 * mapped. */
static void *map_items(const char *items, size_t item_bytes, size_t *bytes) {
    const size_t block = BLOCK * item_bytes;
    *bytes = BLOCKS * block + PAGE;
    FILE *file = tmpfile();
    assert_non_null(file);
    assert_int_equal(fwrite(items, item_bytes, BLOCK + TAIL, file), BLOCK + TAIL);
    assert_int_equal(fflush(file), 0);
    char *all = mmap(NULL, *bytes, PROT_NONE, MAP_SHARED, fileno(file), 0); /* reserves the addresses */
    for (size_t at = 0; all != MAP_FAILED && at < *bytes; at += block) {
        const size_t length = at < BLOCKS * block ? block : PAGE;
        const off_t from = length == block ? 0 : (off_t)block;
        if (mmap(all + at, length, PROT_READ, MAP_SHARED | MAP_FIXED, fileno(file), from) == MAP_FAILED) {
            munmap(all, *bytes);
            all = MAP_FAILED;
        }
    }
    fclose(file);
    return all == MAP_FAILED ? NULL : all;
}

static void test_host(void **state) {
    big_case *c = *state;
    begin(c);
    char *items = make_items(c->in);
    size_t bytes;
    void *all = map_items(items, tally_dtype_bytes(c->in), &bytes);
    if (!all) {
        free(items);
        test_skip("16 GiB of addresses cannot be mapped");
    }
    oracle_result result = {{0}};
    MUST(tally_reduce_host(c->at->context, c->op, c->in, all, N, &result));
    expect_oracle(c, items, &result);
    munmap(all, bytes);
    free(items);
    c->ran++;
}

/* ---- a feed ---------------------------------------------------------------------------------- */

static void test_feed(void **state) {
    big_case *c = *state;
    begin(c);
    char *items = make_items(c->in);
    tally_feed *feed;
    oracle_result result = {{0}};
    const tally_reduce_desc desc = {.size = sizeof desc, .op = c->op, .in = c->in};
    MUST(tally_feed_create(c->at->context, &desc, &feed));
    for (uint64_t b = 0; b < BLOCKS; b++) MUST(tally_feed_push(feed, items, BLOCK));
    MUST(tally_feed_finish(feed, items + BLOCK * tally_dtype_bytes(c->in), TAIL, &result));
    expect_oracle(c, items, &result);
    tally_feed_destroy(feed);
    free(items);
    c->ran++;
}

/* ---- one buffer ------------------------------------------------------------------------------ */

/* A result near the end, at an offset beyond 32 bits. */
static void expect_last_items(const big_case *c, tally_plan *plan, tally_queue *queue, const tally_buffer *in,
                              tally_buffer *out, const char *items) {
    const size_t bytes = tally_dtype_bytes(c->in);
    char last[(3 + TAIL) * 8];
    memcpy(last, items + (BLOCK - 3) * bytes, (3 + TAIL) * bytes);
    oracle_result result = {{0}}, expected = {{0}};
    oracle_reduce(c->op, c->in, last, 3 + TAIL, &expected);
    MUST(reduce_at(plan, queue, in, N - TAIL - 3, 3 + TAIL, out, 0));
    MUST(tally_buffer_read(queue, out, 0, &result, tally_buffer_bytes(out)));
    MUST(tally_queue_wait(queue));
    assert_memory_equal(&result, &expected, sizeof result);
}

static void test_buffer(void **state) {
    big_case *c = *state;
    begin(c);
    const size_t bytes = tally_dtype_bytes(c->in);
    tally_buffer *in, *out;
    char cause[128];
    snprintf(cause, sizeof cause, "%llu MiB in one buffer are more than the %llu MiB it takes",
             (unsigned long long)(N * bytes >> 20), (unsigned long long)(c->at->info.max_buffer_bytes >> 20));
    if (c->at->info.max_buffer_bytes < N * bytes) test_skip("%s", cause);
    const tally_status status = tally_buffer_create(c->at->context, N * bytes, &in);
    if (status == TALLY_E_MEMORY) test_skip("%s", tally_last_error());
    must(status, "tally_buffer_create", __FILE__, __LINE__);

    char *items = make_items(c->in);
    tally_queue *queue;
    tally_plan *plan;
    oracle_result result = {{0}};
    const tally_reduce_desc desc = {.size = sizeof desc, .op = c->op, .in = c->in, .max_n = N};
    MUST(tally_queue_create(c->at->context, &queue));
    MUST(tally_buffer_create(c->at->context, tally_dtype_bytes(tally_result_dtype(c->op, c->in)), &out));
    MUST(tally_plan_create(c->at->context, &desc, &plan));
    for (uint64_t b = 0; b < BLOCKS; b++) MUST(tally_buffer_write(queue, in, b * BLOCK * bytes, items, BLOCK * bytes));
    MUST(tally_buffer_write(queue, in, BLOCKS * BLOCK * bytes, items + BLOCK * bytes, TAIL * bytes));
    MUST(tally_reduce(plan, queue, in, N, out));
    MUST(tally_buffer_read(queue, out, 0, &result, tally_buffer_bytes(out)));
    MUST(tally_queue_wait(queue));
    expect_oracle(c, items, &result);
    expect_last_items(c, plan, queue, in, out, items);
    tally_plan_destroy(plan);
    tally_buffer_destroy(in);
    tally_buffer_destroy(out);
    tally_queue_destroy(queue);
    free(items);
    c->ran++;
}

static const struct {
    tally_op op;
    tally_dtype in;
} wanted[] = {{TALLY_SUM, TALLY_F32},
              {TALLY_SUM, TALLY_U32},
              {TALLY_MAX, TALLY_U32},
              {TALLY_ARGMAX, TALLY_U32},
              {TALLY_COUNT_NONZERO, TALLY_U8}};
#define WANTED TALLY_ARRAY_LENGTH(wanted)

static const struct {
    const char *name;
    CMUnitTestFunction run;
} ways[] = {{"in a buffer", test_buffer}, {"by a feed", test_feed}, {"in a host array", test_host}};
#define WAYS TALLY_ARRAY_LENGTH(ways)

int main(int argc, char **argv) {
    test_choice choice;
    const int status = test_choose(argc, argv, "Reductions of more than 2^32 items on every device.", &choice);
    if (status >= 0) return status;
    static place places[MAX_PLACES];
    static big_case cases[MAX_PLACES * WANTED];
    static struct CMUnitTest tests[MAX_PLACES * WANTED * WAYS];
    size_t count = 0, used = 0, too_few = 0;
    const int place_count = places_open(places);
    if (place_count < 0) return 1;
    for (int p = 0; p < place_count; p++)
        for (size_t w = 0; w < WANTED; w++) {
            big_case *c = &cases[used++];
            *c = (big_case){.at = &places[p], .op = wanted[w].op, .in = wanted[w].in};
            for (size_t way = 0; way < WAYS; way++) {
                snprintf(c->name[way], sizeof c->name[0], "%s %s %s of 2^32 + 5 %s", c->at->select, tally_op_name(c->op),
                         tally_dtype_name(c->in), ways[way].name);
                tests[count++] = (struct CMUnitTest){c->name[way], ways[way].run, NULL, NULL, c};
            }
        }
    const int failed = count ? test_run(&choice, tests, count, NULL, NULL) : 0;
    for (size_t i = 0; i < used; i++) too_few += cases[i].ran == 0;
    if (choice.pattern || choice.list) too_few = 0;
    if (too_few) printf("%zu of %zu cases ran nowhere\n", too_few, used);
    places_close(places, place_count);
    return failed ? failed : too_few > 0 || used == 0;
}
