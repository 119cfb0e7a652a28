/* SPDX-License-Identifier: MIT */
/* Gather and scatter on the stub: results, launches, and the failure of each of the backend's
 * calls. */
#include <stdio.h>
#include <string.h>

#include "move.h"

/* ---- a call and its objects ------------------------------------------------------------------ */

static int32_t map[MOVE_N];
static unsigned char in[MOVE_N * MOVE_BYTES], stencil[MOVE_N], before[MOVE_N * MOVE_BYTES];

/* The map names each item of the upper half twice. */
static void fill(void) {
    for (int i = 0; i < MOVE_N; i++) {
        map[i] = MOVE_N / 2 + i % (MOVE_N / 2);
        stencil[i] = i % 3 ? 2 : 0;
    }
    for (int i = 0; i < MOVE_N * MOVE_BYTES; i++) in[i] = (unsigned char)(i * 31 >> 3), before[i] = 0xa5;
}

tally_move_desc move_desc(uint32_t flags) {
    return (tally_move_desc){.size = sizeof(tally_move_desc),
                             .item_bytes = MOVE_BYTES,
                             .map = TALLY_I32,
                             .flags = flags,
                             .max_n = MOVE_N,
                             .max_out = MOVE_N};
}

#define TRY(call)                                                                                                              \
    if (!status) status = (call)

tally_status move_open(move_parts *p, const char *select, int scatter, uint32_t flags) {
    const tally_move_desc desc = move_desc(flags);
    *p = (move_parts){.context = NULL};
    fill();
    tally_status status = tally_context_create(select, &p->context);
    TRY(scatter ? tally_scatter_plan_create(p->context, &desc, &p->plan)
                : tally_gather_plan_create(p->context, &desc, &p->plan));
    TRY(tally_queue_create(p->context, &p->queue));
    TRY(tally_buffer_create(p->context, sizeof map, &p->map));
    TRY(tally_buffer_create(p->context, sizeof in, &p->in));
    TRY(tally_buffer_create(p->context, sizeof stencil, &p->stencil));
    TRY(tally_buffer_create(p->context, sizeof before, &p->out));
    TRY(tally_buffer_write(p->queue, p->map, 0, map, sizeof map));
    TRY(tally_buffer_write(p->queue, p->in, 0, in, sizeof in));
    TRY(tally_buffer_write(p->queue, p->stencil, 0, stencil, sizeof stencil));
    TRY(tally_buffer_write(p->queue, p->out, 0, before, sizeof before));
    p->args = (tally_move_args){.size = sizeof p->args,
                                .map = p->map,
                                .n = MOVE_N,
                                .in = p->in,
                                .stencil = flags & TALLY_STENCIL ? p->stencil : NULL,
                                .out = p->out,
                                .items = MOVE_N};
    return status;
}

void move_close(move_parts *p) {
    if (p->queue) tally_queue_wait(p->queue);
    tally_plan_destroy(p->plan);
    tally_buffer_destroy(p->map);
    tally_buffer_destroy(p->in);
    tally_buffer_destroy(p->stencil);
    tally_buffer_destroy(p->out);
    tally_queue_destroy(p->queue);
    tally_context_destroy(p->context);
}

tally_status move_run_one(move_parts *p, int scatter) {
    return scatter ? tally_scatter(p->plan, p->queue, &p->args) : tally_gather(p->plan, p->queue, &p->args);
}

/* Checks the result that the header documents. Of duplicates SCATTER_LAST gives the last. Without
 * it the stub gives the first, as it goes backwards. */
static void expect_bytes(const unsigned char *got, int scatter, uint32_t flags) {
    unsigned char want[MOVE_N * MOVE_BYTES];
    memcpy(want, before, sizeof want);
    const int backwards = scatter && !(flags & TALLY_SCATTER_LAST);
    for (int k = 0; k < MOVE_N; k++) {
        const int i = backwards ? MOVE_N - 1 - k : k;
        const int from = scatter ? i : map[i], to = scatter ? map[i] : i;
        if (map[i] < 0 || (flags & TALLY_STENCIL && !stencil[i])) continue;
        memcpy(want + to * MOVE_BYTES, in + from * MOVE_BYTES, MOVE_BYTES);
    }
    assert_memory_equal(got, want, sizeof want);
}

static void expect_moved(const move_parts *p, int scatter, uint32_t flags) {
    unsigned char got[sizeof before];
    MUST(tally_buffer_read(p->queue, p->out, 0, got, sizeof got));
    MUST(tally_queue_wait(p->queue));
    expect_bytes(got, scatter, flags);
}

/* ---- results --------------------------------------------------------------------------------- */

/* Unchecked calls only enqueue. Checked calls wait. Neither allocates. */
static void run_kind(const char *select, int scatter, uint32_t flags) {
    move_parts p;
    MUST(move_open(&p, select, scatter, flags));
    const uint64_t words = (flags & TALLY_UNCHECKED ? 0 : 1) + (flags & TALLY_SCATTER_LAST ? MOVE_N : 0);
    assert_int_equal(tally_plan_workspace_bytes(p.plan), 4 * words);
    for (int pass = 0; pass < 2; pass++) {
        MUST(tally_buffer_write(p.queue, p.out, 0, before, sizeof before));
        const int waits = stub.waits, copies = stub.copies, opened = stub.opened[STUB_MEMORY], launches = stub.launches;
        MUST(move_run_one(&p, scatter));
        assert_int_equal(stub.opened[STUB_MEMORY], opened);
        assert_int_equal(stub.launches - launches, flags & TALLY_SCATTER_LAST ? 3 : 1);
        assert_int_equal(stub.waits - waits, flags & TALLY_UNCHECKED ? 0 : 1);
        assert_int_equal(stub.copies - copies, flags & TALLY_UNCHECKED ? 0 : pass ? 1 : 2);
        expect_moved(&p, scatter, flags);
    }
    move_close(&p);
    SOUND();
}

static void test_results(void **unused) {
    (void)unused;
    static const char *const selects[] = {"stub:alpha", "stub:beta", "stub:gamma"};
    for (size_t s = 0; s < TALLY_ARRAY_LENGTH(selects); s++)
        for (uint32_t flags = 0; flags < 8; flags++) {
            if (!(flags & TALLY_SCATTER_LAST)) run_kind(selects[s], 0, flags);
            run_kind(selects[s], 1, flags);
        }
}

static void test_out_of_bounds(void **unused) {
    (void)unused;
    for (int scatter = 0; scatter < 2; scatter++)
        for (int with_stencil = 0; with_stencil < 2; with_stencil++) {
            const uint32_t flags = (scatter ? TALLY_SCATTER_LAST : 0) | (with_stencil ? TALLY_STENCIL : 0);
            move_parts p;
            MUST(move_open(&p, "stub:alpha", scatter, flags));
            map[3] = map[7] = map[4000] = -3; /* the stencil selects 7 and 4000 */
            MUST(tally_buffer_write(p.queue, p.map, 0, map, sizeof map));
            BAD(move_run_one(&p, scatter), scatter ? "tally_scatter: map[" : "tally_gather: map[", with_stencil ? "[7]" : "[3]",
                scatter ? "is -3: out has 5000 items" : "is -3: in has 5000 items");
            assert_int_equal(tally_move_bad(p.plan), with_stencil ? 7 : 3);
            expect_moved(&p, scatter, flags);
            fill();
            MUST(tally_buffer_write(p.queue, p.map, 0, map, sizeof map));
            MUST(tally_queue_wait(p.queue));
            MUST(move_run_one(&p, scatter));
            assert_int_equal(tally_move_bad(p.plan), TALLY_NO_INDEX);
            p.args.items = 2501;
            BAD(move_run_one(&p, scatter), with_stencil ? "map[1] is 2501" : "map[1] is 2501", "2501 items");
            p.args.items = 0;
            BAD(move_run_one(&p, scatter), with_stencil ? "map[1] is 2501" : "map[0] is 2500", "has 0 items");
            p.args.n = 0;
            MUST(move_run_one(&p, scatter));
            move_close(&p);
            SOUND();
        }
}

/* ---- failures -------------------------------------------------------------------------------- */

static tally_status use(const char *select, int scatter, uint32_t flags) {
    move_parts p;
    unsigned char got[sizeof before];
    tally_status status = move_open(&p, select, scatter, flags);
    TRY(move_run_one(&p, scatter));
    TRY(move_run_one(&p, scatter));
    TRY(tally_buffer_read(p.queue, p.out, 0, got, sizeof got));
    const tally_status waited = p.queue ? tally_queue_wait(p.queue) : TALLY_OK;
    TRY(waited);
    if (!status) expect_bytes(got, scatter, flags);
    stub.in_void = 1;
    move_close(&p);
    stub.in_void = 0;
    return status;
}

static tally_status use_gather(void) {
    return use("stub:alpha", 0, 0);
}

static tally_status use_scatter_last(void) {
    return use("stub:beta", 1, TALLY_SCATTER_LAST | TALLY_STENCIL);
}

/* Reads back the word with the bad entry's position, and the entry itself. */
static tally_status use_bad_entry(void) {
    move_parts p;
    tally_status status = move_open(&p, "stub:alpha", 0, 0);
    map[9] = MOVE_N;
    TRY(tally_buffer_write(p.queue, p.map, 0, map, sizeof map));
    const tally_status moved = status ? status : move_run_one(&p, 0);
    const int told = moved == TALLY_E_ARGUMENT && strstr(tally_last_error(), "map[9] is 5000");
    if (!told && !stub.failed[0]) fail_msg("no bad entry: %s", tally_last_error());
    TRY(told ? TALLY_OK : moved);
    stub.in_void = 1;
    move_close(&p);
    stub.in_void = 0;
    return status;
}

#define EACH_CALL_FAILS(name, mode)                                                                                            \
    static void test_##name(void **unused) {                                                                                   \
        (void)unused;                                                                                                          \
        for (int lost = 0; lost < 2; lost++) fail_each_call(use_##name, mode, lost);                                           \
    }
EACH_CALL_FAILS(gather, CACHE_OFF)
EACH_CALL_FAILS(scatter_last, CACHE_COLD)
EACH_CALL_FAILS(bad_entry, CACHE_OFF)

/* A failed call leaves nothing behind that the next call would see. */
static void test_again(void **unused) {
    (void)unused;
    for (int k = 1, failed = 1; failed; k++) {
        move_parts p;
        stub_reset();
        MUST(move_open(&p, "stub:alpha", 1, TALLY_SCATTER_LAST));
        map[3] = -1;
        MUST(tally_buffer_write(p.queue, p.map, 0, map, sizeof map));
        MUST(tally_queue_wait(p.queue));
        stub.fail_at = stub.calls + k;
        stub.fail_with = TALLY_E_DEVICE;
        failed = move_run_one(&p, 1) == TALLY_E_DEVICE;
        stub.fail_at = 0;
        MUST(tally_queue_wait(p.queue));
        fill();
        MUST(tally_buffer_write(p.queue, p.map, 0, map, sizeof map));
        MUST(tally_buffer_write(p.queue, p.out, 0, before, sizeof before));
        MUST(move_run_one(&p, 1));
        expect_moved(&p, 1, TALLY_SCATTER_LAST);
        move_close(&p);
        SOUND();
        assert_true(k > 1 || failed);
    }
}

const core_test move_tests[] = {
    {"move: results", test_results},
    {"move: out of bounds", test_out_of_bounds},
    {"each call fails: gather", test_gather},
    {"each call fails: scatter, cold cache", test_scatter_last},
    {"each call fails: a bad entry", test_bad_entry},
    {"move: again after a failure", test_again},
    {NULL, NULL},
};
