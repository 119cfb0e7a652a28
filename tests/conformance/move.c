/* SPDX-License-Identifier: MIT */
/* Gather and scatter on every device: sizes of items, types of maps, patterns, offsets, stencils,
 * entries out of bounds. */
#include <string.h>

#include "direct.h"
#include "move_case.h"
#include "tests/support/test_main.h"
#include "tests/support/sample.h"

#define MOST_N UINT64_C(70001)

static const tally_dtype maps[] = {TALLY_I32, TALLY_U32, TALLY_I64, TALLY_U64};
static const uint64_t sizes[] = {0, 1, 2, 255, 257, 4099, MOST_N};

/* Duplicates may mix an item that is not one word: each entry that names it may write a part
 * (docs/primitives.md). */
static bool may_mix(const move_case *c) {
    const uint32_t b = c->desc.item_bytes;
    return c->scatter && !(c->desc.flags & TALLY_SCATTER_LAST) && (b > 8 || (b & (b - 1)));
}

/* Runs one plan over patterns, sizes and offsets. The map may name more items than it has entries,
 * as many, or fewer. */
static void run_plan(tally_context *context, move_case c) {
    c.desc.max_out = MOST_N + 100;
    if (!c.desc.max_n) c.desc.max_n = MOST_N;
    tally_plan *plan = move_plan(context, &c);
    for (c.pattern = 0; c.pattern < MOVE_PATTERNS; c.pattern++)
        for (size_t s = 0; s < TALLY_ARRAY_LENGTH(sizes); s++) {
            const bool few = c.pattern == MOVE_RANDOM || c.pattern == MOVE_CONSTANT;
            const bool offsets = (s + c.pattern) % 2;
            if (may_mix(&c) && few) continue;
            c.n = sizes[s];
            c.items = few ? c.n / 2 + 1 : c.n + s % 3;
            if (!c.items) c.items = 1;
            c.map_offset = offsets ? 3 : 0;
            c.in_offset = offsets ? 5 : 0;
            c.stencil_offset = offsets ? 7 : 0;
            c.out_offset = offsets ? 1 : 0;
            move_run(context, plan, &c);
        }
    tally_plan_destroy(plan);
}

/* Every size of items with one type of map; every type, stencil and bounds with a word, a struct
 * and two words. */
static void run_all(tally_context *context, move_case c) {
    static const uint32_t some[] = {4, 12, 16};
    for (c.desc.item_bytes = 1; c.desc.item_bytes <= 16; c.desc.item_bytes++) {
        c.desc.map = maps[c.desc.item_bytes % 4];
        if (sample_has_turn(c.desc.item_bytes)) run_plan(context, c);
    }
    const uint32_t flags = c.desc.flags;
    for (size_t s = 0; s < (quick() ? 1 : TALLY_ARRAY_LENGTH(some)); s++)
        for (size_t m = 0; m < TALLY_ARRAY_LENGTH(maps); m++)
            for (uint32_t more = 0; more < 4; more++) {
                c.desc.item_bytes = some[s];
                c.desc.map = maps[m];
                c.desc.flags = flags | (more & 1 ? TALLY_UNCHECKED : 0) | (more & 2 ? TALLY_STENCIL : 0);
                if (sample_has_turn(s + m + more)) run_plan(context, c);
            }
}

static void test_gather(void **state) {
    run_all(direct_context(state), (move_case){.scatter = false});
}

static void test_scatter(void **state) {
    run_all(direct_context(state), (move_case){.scatter = true});
}

static void test_scatter_last(void **state) {
    run_all(direct_context(state), (move_case){.scatter = true, .desc.flags = TALLY_SCATTER_LAST});
}

/* ---- out of bounds --------------------------------------------------------------------------- */

/* The lowest bad entry is reported, wherever it is and whatever surrounds it. Then the plan works
 * as before. */
static void run_bad(tally_context *context, move_case c) {
    static const uint64_t none[] = {TALLY_NO_INDEX};
    static const uint64_t lists[][6] = {{0, TALLY_NO_INDEX},
                                        {1, 2, 3, 4, TALLY_NO_INDEX},
                                        {299, 300, 301, 4097, TALLY_NO_INDEX},
                                        {17, 4098, TALLY_NO_INDEX},
                                        {4098, TALLY_NO_INDEX}};
    c.desc.max_out = MOST_N;
    if (!c.desc.max_n) c.desc.max_n = MOST_N;
    tally_plan *plan = move_plan(context, &c);
    for (size_t l = 0; l < TALLY_ARRAY_LENGTH(lists); l++)
        for (int after = 0; after < 2; after++) {
            c.n = 4099;
            c.items = l % 2 ? 4099 : 5000;
            c.pattern = MOVE_PERMUTED;
            c.map_offset = l;
            c.bad = after ? none : lists[l];
            move_run(context, plan, &c);
        }
    /* With no items to name, every entry is out of bounds. */
    c.items = 0;
    c.n = 1000;
    move_run(context, plan, &c);
    tally_plan_destroy(plan);
}

static void test_bounds(void **state) {
    tally_context *context = direct_context(state);
    for (int kind = 0; kind < 3; kind++)
        for (size_t m = 0; m < TALLY_ARRAY_LENGTH(maps); m++)
            for (int stencil = 0; stencil < 2; stencil++)
                run_bad(context,
                        (move_case){.scatter = kind > 0,
                                    .desc = {.item_bytes = m % 2 ? 3 : 8,
                                             .map = maps[m],
                                             .flags = (kind == 2 ? TALLY_SCATTER_LAST : 0u) | (stencil ? TALLY_STENCIL : 0u)}});
}

/* Positions of 8 bytes, in plans for more entries than 4 bytes can number. */
static void test_wide(void **state) {
    const place *at = *state;
    tally_context *context = direct_context(state);
    const uint64_t many = UINT64_C(1) << 33;
    if (!at->info.has_atomic64) test_skip("the device has no 64-bit atomics");
    for (int kind = 0; kind < 3; kind++) {
        const move_case c = {
            .scatter = kind > 0,
            .desc = {.item_bytes = 4, .map = TALLY_U32, .max_n = many, .flags = kind == 2 ? TALLY_SCATTER_LAST : 0}};
        run_plan(context, c);
        run_bad(context, c);
    }
}

/* Misaligned memory. Items are still moved whole. */
static void test_unaligned(void **state) {
    const place *at = *state;
    tally_context *context = direct_context(state);
    static const uint32_t bytes[] = {2, 4, 8, 12, 16};
    if (!at->info.host_memory && strcmp(at->info.backend, "cuda") != 0) test_skip("no pointers of one's own on this device");
    for (size_t b = 0; b < TALLY_ARRAY_LENGTH(bytes); b++)
        for (int kind = 0; kind < 3; kind++) {
            move_case c = {.scatter = kind > 0,
                           .desc = {.item_bytes = bytes[b], .map = TALLY_I32, .flags = kind == 2 ? TALLY_SCATTER_LAST : 0},
                           .pattern = kind == 2 ? MOVE_RANDOM : MOVE_PERMUTED,
                           .n = 4099,
                           .items = 4099};
            tally_plan *plan = move_plan(context, &c);
            for (c.skew = 1; c.skew < 8; c.skew += c.skew) move_run(context, plan, &c);
            tally_plan_destroy(plan);
        }
}

const device_test move_tests[] = {{"gather", test_gather},
                                  {"scatter", test_scatter},
                                  {"scatter, the last wins", test_scatter_last},
                                  {"gather and scatter out of bounds", test_bounds},
                                  {"gather and scatter, wide positions", test_wide},
                                  {"gather and scatter, unaligned memory", test_unaligned},
                                  {NULL, NULL}};
