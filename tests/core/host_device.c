/* SPDX-License-Identifier: MIT */
/* The backend `host`: it has every built-in op and type, every form of scan and every move; what it
 * has not is refused with the reason; its threads survive a fork and obey TALLY_THREADS. */
#define _GNU_SOURCE
#include <fenv.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core.h"

static tally_context *open_host(void) {
    tally_context *context;
    MUST(tally_context_create("host", &context));
    return context;
}

static void expect_plan(tally_status status, tally_plan *plan, const char *what, const char *op, const char *in) {
    if (status) fail_msg("%s %s of %s: %s", what, op, in, tally_last_error());
    tally_plan_destroy(plan);
}

/* ---- what it has ----------------------------------------------------------------------------- */

static void expect_scans(tally_context *context, tally_op op, tally_dtype in) {
    static const unsigned char item[16];
    for (unsigned form = 0; form < 3 * 16; form++) {
        const tally_scan_desc desc = {.size = sizeof desc,
                                      .op = op,
                                      .in = in,
                                      .flags = (form & 1 ? TALLY_EXCLUSIVE : 0) | (form & 2 ? TALLY_REVERSE : 0),
                                      .initial = form & 4 ? item : NULL,
                                      .max_n = form & 8 ? 1 : 1 << 22,
                                      .segments = (tally_segments)(form / 16)};
        tally_plan *plan = NULL;
        const int is_index = op == TALLY_ARGMIN || op == TALLY_ARGMAX || op == TALLY_IAMAX;
        if (form & 4 && (!(form & 1) || is_index)) continue;
        const tally_status status = tally_scan_plan_create(context, &desc, &plan);
        expect_plan(status, plan, "scan", tally_op_name(op), tally_dtype_name(in));
    }
}

static void test_every_op(void **unused) {
    (void)unused;
    tally_context *context = open_host();
    for (tally_op op = TALLY_OP_NONE + 1; op < TALLY_OP_END; op++)
        for (tally_dtype in = TALLY_DTYPE_DEFAULT + 1; in < TALLY_DTYPE_END; in++) {
            if (!tally_op_row_for(op, in, TALLY_ACCURACY_DEFAULT)) continue;
            const tally_reduce_desc desc = {.size = sizeof desc, .op = op, .in = in};
            tally_plan *plan = NULL;
            const tally_status status = tally_plan_create(context, &desc, &plan);
            expect_plan(status, plan, "a plan for", tally_op_name(op), tally_dtype_name(in));
            if (tally_op_inputs(op) == 1) expect_scans(context, op, in);
        }
    tally_context_info info;
    MUST(tally_context_get_info(context, &info));
    assert_int_equal(info.programs_built + info.programs_from_disk, 0);
    tally_context_destroy(context);
}

static void test_every_move(void **unused) {
    (void)unused;
    static const tally_dtype maps[] = {TALLY_I32, TALLY_U32, TALLY_I64, TALLY_U64};
    tally_context *context = open_host();
    for (uint32_t bytes = 1; bytes <= 16; bytes++)
        for (int m = 0; m < 4; m++)
            for (unsigned form = 0; form < 32; form++) {
                const int scatters = form & 1, last = (form & 2) != 0;
                const tally_move_desc desc = {.size = sizeof desc,
                                              .item_bytes = bytes,
                                              .map = maps[m],
                                              .flags = (form & 4 ? TALLY_UNCHECKED : 0) | (form & 8 ? TALLY_STENCIL : 0) |
                                                       (last ? TALLY_SCATTER_LAST : 0),
                                              .max_n = form & 16 ? 10 : UINT64_C(1) << 33,
                                              .max_out = last ? 10 : 0};
                tally_plan *plan = NULL;
                if (last && !scatters) continue;
                const tally_status status = scatters ? tally_scatter_plan_create(context, &desc, &plan)
                                                     : tally_gather_plan_create(context, &desc, &plan);
                expect_plan(status, plan, scatters ? "scatter" : "gather", "items", tally_dtype_name(maps[m]));
            }
    tally_context_destroy(context);
}

/* ---- what it has not ------------------------------------------------------------------------- */

static void test_refused(void **unused) {
    (void)unused;
    tally_context *context = open_host();
    tally_custom_op *own = NULL;
    tally_plan *plan = NULL;
    const tally_op_desc sum = {.size = sizeof sum, .name = "own", .identity = "0", .load = "x", .combine = "a + b"};
    MUST(tally_op_create(&sum, &own));
    const tally_reduce_desc by_own = {.size = sizeof by_own, .custom = own, .in = TALLY_F32};
    const tally_reduce_desc by_step = {.size = sizeof by_step, .op = TALLY_SUM, .in = TALLY_F32, .variant = "shuffle"};
    const tally_scan_desc in_three = {.size = sizeof in_three, .op = TALLY_SUM, .in = TALLY_F32, .variant = "reduce_then_scan"};
    REFUSED(tally_plan_create(context, &by_own, &plan), TALLY_E_UNSUPPORTED, "host compiles nothing", "built-in ops");
    REFUSED(tally_plan_create(context, &by_step, &plan), TALLY_E_UNSUPPORTED, "variant shuffle", "backend host has no kernels");
    REFUSED(tally_scan_plan_create(context, &in_three, &plan), TALLY_E_UNSUPPORTED, "reduce_then_scan");
    assert_null(plan);
    tally_op_destroy(own);
    tally_context_destroy(context);
}

/* ---- threads --------------------------------------------------------------------------------- */

static uint32_t units_of(const char *threads) {
    tally_device_info info;
    if (threads)
        setenv("TALLY_THREADS", threads, 1);
    else
        unsetenv("TALLY_THREADS");
    MUST(tally_device_get("host", 0, &info));
    return info.compute_units;
}

static void test_threads(void **unused) {
    (void)unused;
    static const char *const wrong[] = {"0", "-1", " 2", "2 ", "two", "1025", "99999999999999999999", "1.5"};
    const uint32_t all = units_of(NULL);
    tally_device_info info;
    tally_context *context = NULL;
    assert_true(all >= 1);
    assert_int_equal(units_of("1"), 1);
    assert_int_equal(units_of(""), all);
    assert_int_equal(units_of("1024"), all);
    for (size_t w = 0; w < TALLY_ARRAY_LENGTH(wrong); w++) {
        setenv("TALLY_THREADS", wrong[w], 1);
        REFUSED(tally_device_get("host", 0, &info), TALLY_E_ARGUMENT, "TALLY_THREADS", "from 1 to 1024", wrong[w]);
        REFUSED(tally_context_create("host", &context), TALLY_E_ARGUMENT, "TALLY_THREADS");
    }
    unsetenv("TALLY_THREADS");
}

enum { MANY = 1 << 20 };

/* Sums many floats with a plan; returns the bits. */
static uint32_t sum_many(void) {
    static float x[MANY];
    tally_context *context = open_host();
    tally_queue *queue;
    tally_buffer *in, *out;
    tally_plan *plan;
    uint32_t bits = 0;
    const tally_reduce_desc desc = {.size = sizeof desc, .op = TALLY_SUM, .in = TALLY_F32, .max_n = MANY};
    for (int i = 0; i < MANY && !x[MANY - 1]; i++) x[i] = 1.0f / (float)(i + 1);
    MUST(tally_queue_create(context, &queue));
    MUST(tally_buffer_wrap_host(context, x, sizeof x, &in));
    MUST(tally_buffer_create(context, sizeof bits, &out));
    MUST(tally_plan_create(context, &desc, &plan));
    MUST(tally_reduce(plan, queue, in, MANY, out));
    MUST(tally_buffer_read(queue, out, 0, &bits, sizeof bits));
    MUST(tally_queue_wait(queue));
    tally_plan_destroy(plan);
    tally_buffer_destroy(in);
    tally_buffer_destroy(out);
    tally_queue_destroy(queue);
    tally_context_destroy(context);
    return bits;
}

/* The caller's rounding mode changes no bit, nor does a call change it. The runs' partials are
 * combined, and the result finished, by the calling thread. */
static void test_rounding(void **unused) {
    (void)unused;
    static const int modes[] = {FE_UPWARD, FE_DOWNWARD, FE_TOWARDZERO};
    const uint32_t bits = sum_many();
    for (size_t m = 0; m < TALLY_ARRAY_LENGTH(modes); m++) {
        fesetround(modes[m]);
        const uint32_t got = sum_many();
        const int mode = fegetround();
        fesetround(FE_TONEAREST);
        assert_int_equal(got, bits);
        assert_int_equal(mode, modes[m]);
    }
}

/* The child has none of the parent's threads, and makes its own. */
static void test_fork(void **unused) {
    (void)unused;
    const uint32_t bits = sum_many();
    for (int round = 0; round < 3; round++) {
        const pid_t child = fork();
        int status = -1;
        if (child == 0) {
            alarm(60);
            _exit(sum_many() != bits || sum_many() != bits);
        }
        assert_true(child > 0 && waitpid(child, &status, 0) == child);
        assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
        assert_int_equal(sum_many(), bits);
    }
    setenv("TALLY_THREADS", "1", 1);
    assert_int_equal(sum_many(), bits);
    unsetenv("TALLY_THREADS");
}

/* With more than 2^31 items a negative offset of 32 bits is refused, too: read as an unsigned
 * number, it would be a place in the input. The items take no memory, as nothing reads them. */
static void test_negative_offsets(void **unused) {
    (void)unused;
    const uint64_t n = (UINT64_C(1) << 32) + TALLY_CHUNK_ITEMS;
    static int32_t begins[] = {0, -8}, ends[] = {4, -4};
    static uint8_t results[2] = {9, 9};
    tally_context *context = open_host();
    tally_queue *queue;
    tally_buffer *in, *first, *last, *out;
    tally_plan *plan;
    void *items = mmap(NULL, n, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    assert_ptr_not_equal(items, MAP_FAILED);
    const tally_segments_desc desc = {.size = sizeof(desc),
                                      .by = TALLY_BY_OFFSETS,
                                      .op = TALLY_MAX,
                                      .in = TALLY_U8,
                                      .max_n = n,
                                      .max_segments = 2,
                                      .offsets = TALLY_I32};
    MUST(tally_queue_create(context, &queue));
    MUST(tally_buffer_wrap_host(context, items, n, &in));
    MUST(tally_buffer_wrap_host(context, begins, sizeof(begins), &first));
    MUST(tally_buffer_wrap_host(context, ends, sizeof(ends), &last));
    MUST(tally_buffer_wrap_host(context, results, sizeof(results), &out));
    MUST(tally_segments_plan_create(context, &desc, &plan));
    const tally_offsets_args args = {
        .size = sizeof(args), .in = {in}, .n = n, .begins = first, .ends = last, .count = 2, .out = {out}};
    REFUSED(tally_reduce_offsets(plan, queue, &args), TALLY_E_ARGUMENT, "begins[1] is -8: segment 1 begins before item 0");
    REFUSED(tally_plan_keep_offsets(plan, queue, &args), TALLY_E_ARGUMENT, "begins[1] is -8: segment 1 begins before item 0");
    assert_true(results[0] == 9 && results[1] == 9);
    ((uint8_t *)items)[9] = 7;
    begins[1] = 8, ends[1] = 12;
    MUST(tally_reduce_offsets(plan, queue, &args));
    MUST(tally_queue_wait(queue));
    assert_true(results[0] == 0 && results[1] == 7);
    tally_plan_destroy(plan);
    tally_buffer *const buffers[] = {in, first, last, out};
    for (size_t i = 0; i < TALLY_ARRAY_LENGTH(buffers); i++) tally_buffer_destroy(buffers[i]);
    tally_queue_destroy(queue);
    tally_context_destroy(context);
    munmap(items, n);
}

enum { CAUGHT = 7 };

static void on_bus_error(int number) {
    (void)number;
    _exit(CAUGHT);
}

/* Reduces a file of which the second half, the share of the pool's thread, is gone. */
static void reduce_cut_file(void) {
    const size_t bytes = (size_t)64 << 20;
    FILE *file = tmpfile();
    float sum;
    tally_context *context = open_host();
    assert_true(file && ftruncate(fileno(file), (off_t)bytes) == 0);
    const float *items = mmap(NULL, bytes, PROT_READ, MAP_SHARED, fileno(file), 0);
    assert_true(items != MAP_FAILED && ftruncate(fileno(file), (off_t)bytes / 2) == 0);
    signal(SIGBUS, on_bus_error);
    (void)tally_reduce_host(context, TALLY_SUM, TALLY_F32, items, bytes / sizeof(float), &sum);
}

/* A fault of a thread of the pool reaches the application's handler. The system ends a process
 * whose thread has the signal of its own fault blocked. */
static void test_faults(void **unused) {
    (void)unused;
    for (int i = 0; i < 4; i++) {
        int status = 0;
        const pid_t child = fork();
        if (child == 0) {
            reduce_cut_file();
            _exit(0);
        }
        assert_true(child > 0 && waitpid(child, &status, 0) == child);
        if (!WIFEXITED(status) || WEXITSTATUS(status) != CAUGHT) fail_msg("a child ended with status %#x", status);
    }
}

const core_test host_device_tests[] = {
    {"host: every op and dtype", test_every_op},
    {"host: every move", test_every_move},
    {"host: refused", test_refused},
    {"host: threads", test_threads},
    {"host: rounding", test_rounding},
    {"host: fork", test_fork},
    {"host: faults", test_faults},
    {"host: negative offsets", test_negative_offsets},
    {NULL, NULL},
};
