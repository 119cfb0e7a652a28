/* SPDX-License-Identifier: MIT */
/*
 * many_parts [PARTS]: the records of many parts (100,000), as ranks would send them, joined in
 * random associations. All must give one record, whose value has the bits of one reduction. Prints
 * the time of the joins. The parts are shares of whole chunks, or have 0 to 599 items.
 */
#define _POSIX_C_SOURCE 200809L
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <tally/tally.h>

#include "tests/support/test_main.h"

#define MOST_ITEMS (3 * TALLY_CHUNK)

typedef struct record {
    unsigned char *at;
    uint64_t bytes;
} record;

/* A run: the parts' records, and the value of one reduction. */
typedef struct trial {
    const char *name;
    tally_plan *plan;
    record *records;
    uint64_t *cuts; /* part i is items cuts[i] to cuts[i + 1] */
    uint32_t parts;
    uint64_t bound, seed;
    float expected[2]; /* sum, variance */
} trial;

static void die(const char *what) {
    fprintf(stderr, "many_parts: %s: %s\n", what, tally_last_error());
    exit(1);
}

static uint64_t draw(trial *t, uint64_t below) {
    t->seed = t->seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (t->seed >> 33) % below;
}

static double seconds(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

/* Item i: its sum depends on the order of addition. */
static float item(uint64_t i) {
    const uint32_t h = (uint32_t)(i * UINT64_C(0x9e3779b97f4a7c15) >> 32);
    return (float)((int32_t)(h >> 8) - (1 << 23)) * 1e-4f;
}

static void make_records(trial *t, tally_context *context, const tally_reduce_desc *desc) {
    static float items[MOST_ITEMS];
    tally_feed *feed;
    if (tally_feed_create(context, desc, &feed)) die("a feed");
    for (uint32_t p = 0; p < t->parts; p++) {
        record *r = &t->records[p];
        const uint64_t first = t->cuts[p], n = t->cuts[p + 1] - first;
        for (uint64_t i = 0; i < n; i++) items[i] = item(first + i);
        if (tally_part_bytes(desc, first, n, t->cuts[t->parts], &r->bytes) || !(r->at = malloc(r->bytes))) die("a record");
        const tally_part_host_args args = {.size = sizeof args,
                                           .items = {items},
                                           .first = first,
                                           .n = n,
                                           .total = t->cuts[t->parts],
                                           .out = r->at,
                                           .out_bytes = r->bytes};
        if (tally_reduce_part_host(t->plan, &args, NULL) || tally_feed_push(feed, items, n)) die("a part");
    }
    if (tally_feed_finish(feed, NULL, 0, t->expected)) die("the whole");
    tally_feed_destroy(feed);
}

/* Joins the records [from, to), divided at a random place, which are divided themselves. */
static record join(trial *t, uint32_t from, uint32_t to) {
    record r = {.at = malloc(t->bound)};
    if (!r.at) die("memory");
    if (to - from == 1) {
        r.bytes = t->records[from].bytes;
        memcpy(r.at, t->records[from].at, r.bytes);
        return r;
    }
    const uint32_t middle = from + 1 + (uint32_t)draw(t, to - from - 1);
    const record left = join(t, from, middle), right = join(t, middle, to);
    const void *const parts[] = {left.at, right.at};
    const uint64_t bytes[] = {left.bytes, right.bytes};
    if (tally_part_join(NULL, parts, bytes, 2, r.at, t->bound, &r.bytes)) die("a join");
    free(left.at);
    free(right.at);
    r.at = realloc(r.at, r.bytes);
    return r;
}

static int run(trial *t) {
    record first = {NULL, 0};
    float value[2];
    int wrong = 0;
    double best = 1e9;
    for (int turn = 0; turn < 3; turn++) {
        const double begin = seconds();
        record all = join(t, 0, t->parts);
        const double taken = seconds() - begin;
        if (taken < best) best = taken;
        if (!first.at) {
            first = all;
            continue;
        }
        if (all.bytes != first.bytes || memcmp(all.at, first.at, all.bytes) != 0) wrong = 1;
        free(all.at);
    }
    if (tally_part_value(NULL, first.at, first.bytes, value)) die("the value");
    wrong = wrong || memcmp(value, t->expected, sizeof value) != 0;
    printf("%s: %u parts of %llu items, joined in three random associations: %s; %.2f s for the joins of one, %.2f us each\n",
           t->name, t->parts, (unsigned long long)t->cuts[t->parts],
           wrong ? "DIFFERENT BITS" : "one record, the bits of the whole", best, best / t->parts * 1e6);
    free(first.at);
    return wrong;
}

/* Makes the parts of a trial and runs it. */
static int try_parts(trial *t, tally_context *context, int aligned) {
    static const tally_term_desc terms[] = {{.op = TALLY_SUM}, {.op = TALLY_VAR}};
    const tally_reduce_desc desc = {.size = sizeof desc, .in = TALLY_F32, .terms = terms, .term_count = 2, .max_n = MOST_ITEMS};
    t->records = calloc(t->parts, sizeof(record));
    t->cuts = calloc(t->parts + 1, sizeof(uint64_t));
    if (!t->records || !t->cuts) die("memory");
    if (tally_plan_create(context, &desc, &t->plan)) die("a plan");
    for (uint32_t p = 0; p < t->parts; p++) {
        uint64_t count = draw(t, 600);
        if (aligned && tally_share((uint64_t)t->parts * 5000 + 77, t->parts, p, &t->cuts[p], &count)) die("a share");
        t->cuts[p + 1] = t->cuts[p] + count;
    }
    if (tally_part_bound(&desc, t->cuts[t->parts], aligned, &t->bound)) die("the bound");
    make_records(t, context, &desc);
    const int wrong = run(t);
    for (uint32_t p = 0; p < t->parts; p++) free(t->records[p].at);
    free(t->records);
    free(t->cuts);
    tally_plan_destroy(t->plan);
    return wrong;
}

int main(int argc, char **argv) {
    const uint32_t parts = (uint32_t)test_number(argc, argv, 1, 1, 100000, "[PARTS]");
    trial shares = {.name = "shares of whole chunks", .parts = parts, .seed = 1};
    trial uneven = {.name = "parts of 0 to 599 items", .parts = parts, .seed = 2};
    tally_context *context;
    if (parts < 1) return fprintf(stderr, "many_parts: 1 part or more\n"), TEST_WRONG_USAGE;
    if (tally_context_create("host", &context)) die("the backend host");
    const int wrong = try_parts(&shares, context, 1) + try_parts(&uneven, context, 0);
    tally_context_destroy(context);
    return wrong != 0;
}
