/* SPDX-License-Identifier: MIT */
/*
 * libtally_nccl without GPUs. The ranks are threads, libnccl.so.2 is the stand-in (standin.c), and
 * the device is the backend `host` under the name "cuda". So packets, the exchange, the fold and
 * the errors are tested; streams, graphs and NCCL itself are not.
 */
#define _XOPEN_SOURCE 700
#include <dlfcn.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <tally/nccl.h>

#include "device/device.h"
#include "oracle/patterns.h"
#include "driver.h"
#include "standin.h"
#include "tests/support/test_main.h"

#define N UINT64_C(70001)
#define MOST_RANKS 5
#define MAX_RESULT 64

extern const tally_backend tally_backend_host;
static tally_backend device;
static int opened; /* memory, programs and kernels */
static float items[2][N];
static const tally_reduce_desc sum = {.op = TALLY_SUM, .in = TALLY_F32};

static tally_status as_cuda_open(int index, void *context, void *native, tally_device_info *info, void **out) {
    const tally_status status = tally_backend_host.device_open(index, context, native, info, out);
    snprintf(info->backend, sizeof info->backend, "cuda");
    return status;
}

static tally_status count_mem(void *dev, tally_mem_kind kind, void *handle, uint64_t *bytes, void **out) {
    __atomic_fetch_add(&opened, 1, __ATOMIC_RELAXED);
    return tally_backend_host.mem_open(dev, kind == TALLY_MEM_NATIVE ? TALLY_MEM_HOST : kind, handle, bytes, out);
}

static tally_status count_program(void *dev, const tally_program_desc *desc, void **out) {
    __atomic_fetch_add(&opened, 1, __ATOMIC_RELAXED);
    return tally_backend_host.program_create(dev, desc, out);
}

static tally_status count_kernel(void *dev, void *program, const char *entry, void **out) {
    __atomic_fetch_add(&opened, 1, __ATOMIC_RELAXED);
    return tally_backend_host.kernel_create(dev, program, entry, out);
}

/* ---- ranks ----------------------------------------------------------------------------------- */

/* One rank of a call, and what came out. Threads do not call cmocka. */
typedef struct rank {
    struct ncclComm comm;
    pthread_t thread;
    tally_reduce_desc desc;
    uint64_t first, n, total;
    uint32_t inputs;
    tally_status created, reduced, other; /* other: of what surrounds the calls */
    tally_packet_verdict verdict;
    unsigned char result[MAX_RESULT];
    char text[512];
    int opened; /* while it reduced */
    int refuse_memory, capture;
    int blames_window; /* the error text does */
} rank;

static standin_capture_call *capture;
static standin_refuse_memory_call *refuse_memory;
static standin_memory_left_call *memory_left;

static void keep_text(rank *r, tally_status status) {
    if (status && !r->text[0]) snprintf(r->text, sizeof r->text, "%s", tally_last_error());
}

#define TRY(call)                                                                                                              \
    if (!r->other) r->other = (call)

static void reduce(rank *r, tally_context *context, tally_nccl *nccl) {
    tally_queue *queue = NULL;
    tally_buffer *in[2] = {NULL, NULL}, *out = NULL;
    const uint64_t bytes = tally_plan_result_bytes(tally_nccl_plan(nccl));
    TRY(tally_queue_create(context, &queue));
    TRY(tally_buffer_create(context, MAX_RESULT + 8, &out));
    tally_nccl_args args = {.size = sizeof args,
                            .first = r->first,
                            .n = r->n,
                            .total = r->total,
                            .out = out,
                            .verdict = out,
                            .verdict_offset = MAX_RESULT};
    for (uint32_t k = 0; k < r->inputs; k++) {
        TRY(tally_buffer_create(context, N * sizeof(float), &in[k]));
        TRY(tally_buffer_write(queue, in[k], 0, items[k], N * sizeof(float)));
        args.in[k] = in[k];
        args.in_offset[k] = r->first;
    }
    memset(r->result, 0xee, sizeof r->result);
    TRY(tally_buffer_write(queue, out, 0, r->result, sizeof r->result));
    /* All ranks have their buffers before one counts what is opened. */
    pthread_barrier_wait(&r->comm.world->barrier);
    const int before = __atomic_load_n(&opened, __ATOMIC_RELAXED);
    r->reduced = tally_nccl_allreduce(nccl, queue, &args);
    keep_text(r, r->reduced);
    r->opened = __atomic_load_n(&opened, __ATOMIC_RELAXED) - before;
    TRY(tally_buffer_read(queue, out, 0, r->result, bytes));
    TRY(tally_buffer_read(queue, out, MAX_RESULT, &r->verdict, sizeof r->verdict));
    keep_text(r, r->other);
    for (int k = 0; k < 2; k++) tally_buffer_destroy(in[k]);
    tally_buffer_destroy(out);
    tally_queue_destroy(queue);
}

static void *run(void *of) {
    rank *r = of;
    tally_context *context = NULL;
    tally_nccl *nccl = NULL;
    refuse_memory(r->refuse_memory);
    capture(r->capture);
    TRY(tally_context_open(&device, 0, NULL, NULL, "argument", "cuda", &context));
    r->created = r->other ? TALLY_E_INTERNAL : tally_nccl_create(&r->comm, context, &r->desc, &nccl);
    keep_text(r, r->created);
    r->blames_window = strstr(tally_last_error(), "Window") != NULL;
    if (!r->created) reduce(r, context, nccl);
    tally_nccl_destroy(nccl);
    tally_context_destroy(context);
    return NULL;
}

/* Fills in `count` ranks that reduce n items in even shares. */
static void set_up_ranks(rank *ranks, int count, const tally_reduce_desc *desc, uint32_t inputs, uint64_t n) {
    memset(ranks, 0, (size_t)count * sizeof *ranks);
    for (int i = 0; i < count; i++) {
        ranks[i].desc = *desc;
        ranks[i].desc.size = sizeof ranks[i].desc;
        ranks[i].desc.max_n = N;
        ranks[i].inputs = inputs;
        ranks[i].total = n;
        ranks[i].comm.rank = i;
        if (tally_share(n, (uint64_t)count, (uint64_t)i, &ranks[i].first, &ranks[i].n)) fail_msg("%s", tally_last_error());
    }
}

static void run_ranks(rank *ranks, int count) {
    standin_world world = {.size = count};
    pthread_barrier_init(&world.barrier, NULL, (unsigned)count);
    for (int i = 0; i < count; i++) {
        ranks[i].comm.world = &world;
        assert_int_equal(pthread_create(&ranks[i].thread, NULL, run, &ranks[i]), 0);
    }
    for (int i = 0; i < count; i++) pthread_join(ranks[i].thread, NULL);
    pthread_barrier_destroy(&world.barrier);
    for (int i = 0; i < count; i++)
        if (ranks[i].other) fail_msg("rank %d: %s", i, ranks[i].text);
    assert_int_equal(world.mismatches, 0);
    for (int i = 0; i < count; i++) assert_null(ranks[i].comm.window);
    assert_int_equal(memory_left(), 0);
}

/* ---- bits ------------------------------------------------------------------------------------ */

static uint64_t reduce_whole(const tally_reduce_desc *given, uint32_t inputs, uint64_t n, void *result) {
    tally_reduce_desc desc = *given;
    tally_context *context;
    tally_plan *plan;
    desc.size = sizeof desc;
    desc.max_n = N;
    if (tally_context_create("host", &context) || tally_plan_create(context, &desc, &plan)) fail_msg("%s", tally_last_error());
    const uint64_t bytes = tally_plan_result_bytes(plan);
    tally_queue *queue;
    tally_buffer *in[2] = {NULL, NULL}, *out;
    tally_reduce_args args = {.size = sizeof args, .n = n};
    if (tally_queue_create(context, &queue) || tally_buffer_create(context, MAX_RESULT, &out))
        fail_msg("%s", tally_last_error());
    for (uint32_t k = 0; k < inputs; k++) {
        if (tally_buffer_wrap_host(context, items[k], N * sizeof(float), &in[k])) fail_msg("%s", tally_last_error());
        args.in[k] = in[k];
    }
    args.out = out;
    if (tally_reduce_with(plan, queue, &args) || tally_buffer_read(queue, out, 0, result, bytes))
        fail_msg("%s", tally_last_error());
    for (uint32_t k = 0; k < inputs; k++) tally_buffer_destroy(in[k]);
    tally_buffer_destroy(out);
    tally_queue_destroy(queue);
    tally_plan_destroy(plan);
    tally_context_destroy(context);
    return bytes;
}

static void test_bits(void **state) {
    static const tally_term_desc fused[] = {{.op = TALLY_SUM}, {.op = TALLY_VAR}};
    static const tally_reduce_desc descs[] = {{.op = TALLY_SUM, .in = TALLY_F32},
                                              {.op = TALLY_NRM2, .in = TALLY_F32},
                                              {.op = TALLY_LOGSUMEXP, .in = TALLY_F32},
                                              {.op = TALLY_ARGMAX, .in = TALLY_F32},
                                              {.op = TALLY_SUM, .in = TALLY_I32},
                                              {.op = TALLY_DOT, .in = TALLY_F32},
                                              {.in = TALLY_F32, .terms = fused, .term_count = 2}};
    static const int counts[] = {1, 2, 3, 5};
    static const uint64_t lengths[] = {N, 0, 3, 20480, 49153};
    (void)state;
    for (size_t d = 0; d < TALLY_ARRAY_LENGTH(descs); d++)
        for (size_t c = 0; c < TALLY_ARRAY_LENGTH(counts); c++)
            for (size_t l = 0; l < TALLY_ARRAY_LENGTH(lengths); l++) {
                const uint32_t inputs = descs[d].op == TALLY_DOT ? 2 : 1;
                unsigned char expected[MAX_RESULT];
                rank ranks[MOST_RANKS];
                const uint64_t bytes = reduce_whole(&descs[d], inputs, lengths[l], expected);
                set_up_ranks(ranks, counts[c], &descs[d], inputs, lengths[l]);
                run_ranks(ranks, counts[c]);
                for (int i = 0; i < counts[c]; i++) {
                    if (ranks[i].created || ranks[i].reduced) fail_msg("rank %d: %s", i, ranks[i].text);
                    assert_int_equal(ranks[i].verdict.status, TALLY_OK);
                    assert_int_equal(ranks[i].opened, 0);
                    if (memcmp(ranks[i].result, expected, bytes) != 0)
                        fail_msg("case %d, %d ranks, %d items: rank %d has other bits", (int)d, counts[c], (int)lengths[l], i);
                }
            }
}

/* ---- windows --------------------------------------------------------------------------------- */

/* All ranks have a window or none has one, and the result is the same. */
static void test_windows(void **state) {
    static const struct {
        int count, refuse_memory, no_window, windows, capture;
    } cases[] = {{1, 0, 0, 0, 0}, {2, 0, 0, 1, 0}, {3, 0, 0, 1, 0}, {3, 0, 0, 1, 1},
                 {3, 1, 0, 0, 0}, {3, 0, 1, 0, 0}, {3, 0, 2, 0, 0}};
    unsigned char expected[MAX_RESULT];
    (void)state;
    const uint64_t bytes = reduce_whole(&sum, 1, N, expected);
    for (size_t c = 0; c < TALLY_ARRAY_LENGTH(cases); c++) {
        const int count = cases[c].count, one = count - 1;
        rank ranks[3];
        set_up_ranks(ranks, count, &sum, 1, N);
        for (int i = 0; i < count; i++) ranks[i].capture = cases[c].capture;
        ranks[one].refuse_memory = cases[c].refuse_memory;
        ranks[one].comm.no_window = cases[c].no_window;
        run_ranks(ranks, count);
        for (int i = 0; i < count; i++) {
            if (ranks[i].created || ranks[i].reduced) fail_msg("rank %d: %s", i, ranks[i].text);
            assert_int_equal(ranks[i].comm.registered,
                             count > 1 && !cases[c].refuse_memory && !(i == one && cases[c].no_window));
            assert_int_equal(ranks[i].comm.in_window, cases[c].windows);
            assert_false(ranks[i].blames_window);
            assert_memory_equal(ranks[i].result, expected, bytes);
        }
    }
}

/* ---- errors ---------------------------------------------------------------------------------- */

static void expect_verdicts(const rank *ranks, int count, tally_status status, uint32_t packet) {
    for (int i = 0; i < count; i++) {
        if (ranks[i].created) fail_msg("rank %d: %s", i, ranks[i].text);
        assert_int_equal(ranks[i].verdict.status, status);
        assert_int_equal(ranks[i].verdict.packet, packet);
        for (size_t b = 0; b < sizeof(float); b++) assert_int_equal(ranks[i].result[b], 0xee);
    }
}

/* A share that is not aligned: its rank returns the error, and all find it in the verdict. */
static void test_failing_rank(void **state) {
    rank ranks[3];
    (void)state;
    set_up_ranks(ranks, 3, &sum, 1, 20480);
    ranks[1].first += 5;
    run_ranks(ranks, 3);
    expect_verdicts(ranks, 3, TALLY_E_UNSUPPORTED, 1);
    assert_int_equal(ranks[0].reduced, TALLY_OK);
    assert_int_equal(ranks[1].reduced, TALLY_E_UNSUPPORTED);
    assert_int_equal(ranks[2].reduced, TALLY_OK);
    assert_non_null(strstr(ranks[1].text, "packets begin at multiples of 4096"));
}

/* Shares that overlap, and ranks that take the whole for another one. */
static void test_wrong_shares(void **state) {
    rank ranks[3];
    (void)state;
    set_up_ranks(ranks, 3, &sum, 1, 20480);
    ranks[2].first -= TALLY_CHUNK;
    ranks[2].n += TALLY_CHUNK;
    run_ranks(ranks, 3);
    expect_verdicts(ranks, 3, TALLY_E_ARGUMENT, 2);
    set_up_ranks(ranks, 3, &sum, 1, 20480);
    ranks[1].n -= TALLY_CHUNK;
    run_ranks(ranks, 3);
    expect_verdicts(ranks, 3, TALLY_E_ARGUMENT, 2);
}

static void expect_created(const rank *ranks, int count, tally_status status, const char *text) {
    for (int i = 0; i < count; i++) {
        assert_int_equal(ranks[i].created, status);
        if (!strstr(ranks[i].text, text)) fail_msg("rank %d: the text is \"%s\", without \"%s\"", i, ranks[i].text, text);
    }
}

static void test_other_ops(void **state) {
    rank ranks[3];
    (void)state;
    set_up_ranks(ranks, 3, &sum, 1, N);
    ranks[2].desc.op = TALLY_VAR;
    run_ranks(ranks, 3);
    expect_created(ranks, 3, TALLY_E_ARGUMENT, "rank 2: it reduces by other ops");
    set_up_ranks(ranks, 3, &sum, 1, N);
    ranks[1].desc.op = TALLY_BAND; /* of floats */
    run_ranks(ranks, 3);
    expect_created(ranks, 3, ranks[1].created, "rank 1: tally_plan_create: ");
    assert_int_not_equal(ranks[1].created, TALLY_OK);
}

static void test_nccl_failures(void **state) {
    rank ranks[1];
    (void)state;
    set_up_ranks(ranks, 1, &sum, 1, N);
    ranks[0].comm.fail = 1;
    run_ranks(ranks, 1);
    expect_created(ranks, 1, TALLY_E_DEVICE, "ncclAllGather: invalid usage (stand-in) (5)");
    set_up_ranks(ranks, 1, &sum, 1, N);
    ranks[0].comm.lag = 3; /* a communicator that does not block */
    run_ranks(ranks, 1);
    expect_created(ranks, 1, TALLY_OK, "");
    assert_int_equal(ranks[0].comm.calls, 2);
    assert_true(ranks[0].comm.lag <= 0);
    set_up_ranks(ranks, 1, &sum, 1, N);
    ranks[0].comm.device = 3;
    run_ranks(ranks, 1);
    expect_created(ranks, 1, TALLY_E_ARGUMENT, "the context is of device 0, the communicator of device 3");
}

static void test_arguments(void **state) {
    standin_world world = {.size = 1};
    struct ncclComm comm = {.world = &world};
    tally_context *context;
    tally_nccl *nccl;
    (void)state;
    tally_reduce_desc desc = sum;
    desc.size = sizeof desc;
    assert_int_equal(tally_context_create("host", &context), TALLY_OK);
    assert_int_equal(tally_nccl_create(&comm, context, &desc, &nccl), TALLY_E_ARGUMENT);
    assert_non_null(strstr(tally_last_error(), "the context is of backend host"));
    assert_int_equal(tally_nccl_create(NULL, context, &desc, &nccl), TALLY_E_ARGUMENT);
    assert_non_null(strstr(tally_last_error(), "comm is NULL"));
    assert_int_equal(tally_nccl_create(&comm, NULL, &desc, &nccl), TALLY_E_ARGUMENT);
    assert_int_equal(tally_nccl_create(&comm, context, NULL, &nccl), TALLY_E_ARGUMENT);
    assert_int_equal(tally_nccl_create(&comm, context, &desc, NULL), TALLY_E_ARGUMENT);
    assert_null(nccl);
    assert_int_equal(tally_nccl_allreduce(NULL, NULL, NULL), TALLY_E_ARGUMENT);
    assert_null(tally_nccl_plan(NULL));
    tally_nccl_destroy(NULL);
    tally_context_destroy(context);
}

/* With the folder of a libnccl.so.2 that is none. */
static void test_no_library(void **state) {
    struct ncclComm comm = {.rank = 0};
    tally_context *context;
    tally_nccl *nccl;
    (void)state;
    tally_reduce_desc desc = sum;
    desc.size = sizeof desc;
    assert_int_equal(tally_context_create("host", &context), TALLY_OK);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(tally_nccl_create(&comm, context, &desc, &nccl), TALLY_E_NO_DEVICE);
        assert_non_null(strstr(tally_last_error(), "libnccl.so.2"));
    }
    tally_context_destroy(context);
}

static void find_call(const char *library, const char *name, void *to) {
    void *handle = dlopen(library, RTLD_NOW), *address = handle ? dlsym(handle, name) : NULL;
    if (!address) fprintf(stderr, "%s: %s\n", name, dlerror()), exit(1);
    memcpy(to, &address, sizeof address);
}

static int find_calls(void **state) {
    (void)state;
    find_call("libcuda.so.1", STANDIN_CAPTURE, &capture);
    find_call("libnccl.so.2", STANDIN_REFUSE_MEMORY, &refuse_memory);
    find_call("libnccl.so.2", STANDIN_MEMORY_LEFT, &memory_left);
    return 0;
}

int main(int argc, char **argv) {
    static const struct CMUnitTest tests[] = {cmocka_unit_test(test_bits),         cmocka_unit_test(test_windows),
                                              cmocka_unit_test(test_failing_rank), cmocka_unit_test(test_wrong_shares),
                                              cmocka_unit_test(test_other_ops),    cmocka_unit_test(test_nccl_failures),
                                              cmocka_unit_test(test_arguments)};
    static const struct CMUnitTest without[] = {cmocka_unit_test(test_no_library)};
    if (argc > 1 && !strcmp(argv[1], "no-library")) return cmocka_run_group_tests(without, NULL, NULL) != 0;
    test_choice choice;
    const int status = test_choose(argc, argv, "libtally_nccl with a stand-in for NCCL.", &choice);
    if (status >= 0) return status;
    device = tally_backend_host;
    device.name = "cuda";
    device.device_open = as_cuda_open;
    device.mem_open = count_mem;
    device.program_create = count_program;
    device.kernel_create = count_kernel;
    pattern_fill(PATTERN_WIDE, TALLY_F32, items[0], N);
    pattern_fill_second(PATTERN_WIDE, TALLY_DOT, TALLY_F32, items[0], items[1], N);
    return test_run(&choice, tests, TALLY_ARRAY_LENGTH(tests), find_calls, NULL);
}
