/* SPDX-License-Identifier: MIT */
/*
 * large_move: a scatter of more entries than 32 bits can count, whose last entry wins, and a gather
 * by a map that begins beyond 2^32. The map names the same 2^24 items again and again, and ends
 * with five other entries. A device without 22 GiB for that is skipped, and so is one whose buffers
 * are smaller.
 */
#define _XOPEN_SOURCE 700
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/support/places.h"
#include "tests/support/test_main.h"

#define BLOCK (UINT64_C(1) << 24)
#ifndef BLOCKS /* fewer only to try this program on a small device */
#define BLOCKS (UINT64_C(1) << 8)
#endif
#define TAIL 5
#define N (BLOCK * BLOCKS + TAIL)
#define BAD (N - 2) /* the position of the bad entry */

typedef struct setup {
    tally_queue *queue;
    tally_buffer *map, *in, *out;
    uint32_t *entries; /* the entries of a block */
    unsigned char *items, *got;
} setup;

static void write_all(setup *s) {
    static const uint32_t tail[TAIL] = {7, 3, 5, BLOCK, 7};
    static const unsigned char tail_items[TAIL] = {201, 202, 203, 204, 205};
    for (uint64_t i = 0; i < BLOCK; i++) {
        s->entries[i] = (uint32_t)(i * 7919 % BLOCK);
        s->items[i] = (unsigned char)(i % 199);
    }
    for (uint64_t b = 0; b < BLOCKS; b++) {
        MUST(tally_buffer_write(s->queue, s->map, b * BLOCK * 4, s->entries, BLOCK * 4));
        MUST(tally_buffer_write(s->queue, s->in, b * BLOCK, s->items, BLOCK));
    }
    MUST(tally_buffer_write(s->queue, s->map, BLOCKS * BLOCK * 4, tail, sizeof tail));
    MUST(tally_buffer_write(s->queue, s->in, BLOCKS * BLOCK, tail_items, sizeof tail_items));
    MUST(tally_queue_wait(s->queue));
}

static void read_out(const setup *s, uint64_t bytes) {
    MUST(tally_buffer_read(s->queue, s->out, 0, s->got, bytes));
    MUST(tally_queue_wait(s->queue));
}

/* The entries at the end are written last, except the bad one. */
static void run_scatter(tally_context *context, const setup *s) {
    char text[96];
    tally_plan *plan;
    const tally_move_desc desc = {
        .size = sizeof desc, .item_bytes = 1, .map = TALLY_U32, .flags = TALLY_SCATTER_LAST, .max_n = N, .max_out = BLOCK};
    const tally_move_args args = {.size = sizeof args, .map = s->map, .n = N, .in = s->in, .out = s->out, .items = BLOCK};
    MUST(tally_scatter_plan_create(context, &desc, &plan));
    assert_int_equal(tally_scatter(plan, s->queue, &args), TALLY_E_ARGUMENT);
    snprintf(text, sizeof text, "tally_scatter: map[%llu] is %llu: ", (unsigned long long)BAD, (unsigned long long)BLOCK);
    if (strncmp(tally_last_error(), text, strlen(text)) != 0) fail_msg("%s", tally_last_error());
    assert_int_equal(tally_move_bad(plan), BAD);
    read_out(s, BLOCK);
    for (uint64_t i = 0; i < BLOCK; i++) {
        const uint64_t to = s->entries[i];
        const unsigned char want = to == 7 ? 205 : to == 3 ? 202 : to == 5 ? 203 : s->items[i];
        if (s->got[to] != want) fail_msg("item %llu is %u, should be %u", (unsigned long long)to, s->got[to], want);
    }
    tally_plan_destroy(plan);
}

static void run_gather(tally_context *context, const setup *s) {
    tally_plan *plan;
    const uint64_t n = 1000, from = BLOCKS * BLOCK - n + 3;
    const tally_move_desc desc = {.size = sizeof desc, .item_bytes = 1, .map = TALLY_U32, .max_n = n};
    const tally_move_args args = {.size = sizeof args,
                                  .map = s->map,
                                  .map_offset = from,
                                  .n = n,
                                  .in = s->in,
                                  .in_offset = (BLOCKS - 1) * BLOCK,
                                  .items = BLOCK,
                                  .out = s->out};
    MUST(tally_gather_plan_create(context, &desc, &plan));
    MUST(tally_gather(plan, s->queue, &args));
    read_out(s, n);
    for (uint64_t i = 0; i < n - 3; i++) assert_int_equal(s->got[i], s->items[s->entries[BLOCK - n + 3 + i]]);
    assert_int_equal(s->got[n - 3], s->items[7]);
    assert_int_equal(s->got[n - 2], s->items[3]);
    assert_int_equal(s->got[n - 1], s->items[5]);
    tally_plan_destroy(plan);
}

static void test_moves(void **state) {
    const place *at = *state;
    setup s = {NULL};
    if (!at->context) fail_msg("%s did not open: %s", at->select, at->error);
    if (at->info.max_buffer_bytes < 4 * N) test_skip("its buffers are smaller than 16 GiB");
    if (at->info.memory_bytes < 4 * N + N + 9 * BLOCK) test_skip("it has less than 21 GiB");
    const tally_status status = tally_buffer_create(at->context, 4 * N, &s.map);
    if (status == TALLY_E_MEMORY) test_skip("%s", tally_last_error());
    must(status, "tally_buffer_create", __FILE__, __LINE__);
    MUST(tally_buffer_create(at->context, N, &s.in));
    MUST(tally_buffer_create(at->context, BLOCK, &s.out));
    MUST(tally_queue_create(at->context, &s.queue));
    assert_non_null(s.entries = malloc(BLOCK * sizeof *s.entries));
    assert_non_null(s.items = malloc(BLOCK));
    assert_non_null(s.got = malloc(BLOCK));
    write_all(&s);
    run_scatter(at->context, &s);
    run_gather(at->context, &s);
    tally_buffer_destroy(s.map);
    tally_buffer_destroy(s.in);
    tally_buffer_destroy(s.out);
    tally_queue_destroy(s.queue);
    free(s.entries);
    free(s.items);
    free(s.got);
}

int main(int argc, char **argv) {
    test_choice choice;
    const int status = test_choose(argc, argv, "Gather and scatter of more than 2^32 items on every device.", &choice);
    if (status >= 0) return status;
    static place places[MAX_PLACES];
    static struct CMUnitTest tests[MAX_PLACES];
    const int count = places_open(places);
    if (count < 0) return 1;
    for (int p = 0; p < count; p++) tests[p] = (struct CMUnitTest){places[p].select, test_moves, NULL, NULL, &places[p]};
    const int failed = count ? test_run(&choice, tests, (size_t)count, NULL, NULL) : 0;
    places_close(places, count);
    return count == 0 ? 1 : failed;
}
