/* SPDX-License-Identifier: MIT */
/* Host arrays on a CPU device: the library's own programs reduce them (src/host/host.c), and the
 * backend sees no call. */
#define _GNU_SOURCE /* feenableexcept */
#include <fenv.h>
#include <math.h>
#include <string.h>

#include "core.h"
#include "host/host.h"
#include "oracle/patterns.h"
#include "tests/support/test_main.h"

enum { MANY = 3 << 20, SOME = 4500 };

static double x[MANY + 1], y[MANY + 1];
static const void *const inputs[] = {x, y};

static int count_opened(void) {
    int opened = 0;
    for (int kind = 0; kind < STUB_KIND_COUNT; kind++) opened += stub.opened[kind];
    return opened;
}

/* The work of the device: calls that can fail, launches, objects, programs. */
typedef struct traffic {
    int calls, launches, opened, programs;
} traffic;

static traffic traffic_now(void) {
    return (traffic){stub.calls, stub.launches, count_opened(), stub.sources + stub.binaries + stub.prebuilt};
}

#define EXPECT_DEVICE(asked, call)                                                                                             \
    do {                                                                                                                       \
        const traffic before = traffic_now();                                                                                  \
        MUST(call);                                                                                                            \
        expect_traffic(before, asked, #call, __LINE__);                                                                        \
    } while (0)

static void expect_traffic(traffic before, bool asked, const char *call, int line) {
    const traffic now = traffic_now();
    const bool all = now.launches > before.launches && now.opened > before.opened;
    const bool none = now.calls == before.calls && now.launches == before.launches && now.opened == before.opened &&
                      now.programs == before.programs;
    if (asked ? !all : !none)
        fail_msg("line %d: %s: %d calls, %d launches, %d objects, %d programs", line, call, now.calls - before.calls,
                 now.launches - before.launches, now.opened - before.opened, now.programs - before.programs);
}

static bool has_programs(void) {
    return tally_host_program_for(TALLY_SUM, TALLY_F32) != NULL; /* false if the library was built for another machine */
}

static tally_context *open_context(const char *select) {
    tally_context *context;
    MUST(tally_context_create(select, &context));
    return context;
}

/* ---- reductions of host arrays --------------------------------------------------------------- */

/* As many items as end a run (src/host/host.c), or make runs longer. */
static void test_sizes(void **unused) {
    (void)unused;
    static const uint64_t sizes[] = {0, 10, 8 * TALLY_CHUNK_ITEMS, 8 * TALLY_CHUNK_ITEMS + 1, 2 * MANY};
    const float *items = (const float *)x;
    float sum = 0;
    for (uint64_t i = 0; i < 2 * MANY; i++) ((float *)x)[i] = 1;
    tally_context *context = open_context("stub:beta");
    for (size_t s = 0; s < TALLY_ARRAY_LENGTH(sizes); s++) {
        EXPECT_DEVICE(!has_programs(), tally_reduce_host(context, TALLY_SUM, TALLY_F32, s ? items : NULL, sizes[s], &sum));
        assert_true(sum == (float)sizes[s] && !signbit(sum));
    }
    tally_context_destroy(context);
    for (int gpu = 0; gpu < 2; gpu++) {
        context = open_context(gpu ? "stub:gamma" : "stub:alpha");
        EXPECT_DEVICE(true, tally_reduce_host(context, TALLY_SUM, TALLY_F32, items, 10, &sum));
        tally_context_destroy(context);
    }
    SOUND();
}

/* A descriptor that gives more than op and dtype is left to the device. */
static void test_descriptors(void **unused) {
    (void)unused;
    static const tally_term_desc ops[] = {{.op = TALLY_SUM}};
    const tally_reduce_desc sum = {.size = sizeof sum, .op = TALLY_SUM, .in = TALLY_F32};
    tally_reduce_desc more[6], short_one = sum, sized = sum;
    float result = 0;
    tally_context *context = open_context("stub:beta");
    pattern_fill(PATTERN_RAMP, TALLY_F32, x, 10);
    for (size_t i = 0; i < TALLY_ARRAY_LENGTH(more); i++) more[i] = sum;
    more[0].variant = "auto";
    more[1].out = TALLY_F32;
    more[2].acc = TALLY_F32;
    more[3].accuracy = TALLY_ACCURACY_COMPENSATED;
    more[4].group_threads = 1;
    more[5].op = TALLY_OP_NONE, more[5].terms = ops, more[5].term_count = 1;
    for (size_t i = 0; i < TALLY_ARRAY_LENGTH(more); i++) {
        result = 0;
        EXPECT_DEVICE(true, tally_reduce_host_inputs(context, &more[i], inputs, 10, &result));
        assert_true(result == 45);
    }
    short_one.size = offsetof(tally_reduce_desc, out);
    sized.max_n = 5; /* max_n is ignored */
    EXPECT_DEVICE(!has_programs(), tally_reduce_host_inputs(context, &short_one, inputs, 10, &result));
    EXPECT_DEVICE(!has_programs(), tally_reduce_host_inputs(context, &sized, inputs, 10, &result));
    assert_true(result == 45);
    tally_context_destroy(context);
    SOUND();
}

/* Items that are misaligned for their C type are copied to the device's memory. The result may be
 * at any address. */
static void test_addresses(void **unused) {
    (void)unused;
    unsigned char result[1 + sizeof(float)];
    float sum;
    tally_context *context = open_context("stub:beta");
    pattern_fill(PATTERN_RAMP, TALLY_F32, y, 10);
    memcpy((char *)x + 2, y, 10 * sizeof(float));
    EXPECT_DEVICE(true, tally_reduce_host(context, TALLY_SUM, TALLY_F32, (char *)x + 2, 10, &sum));
    assert_true(sum == 45);
    EXPECT_DEVICE(!has_programs(), tally_reduce_host(context, TALLY_SUM, TALLY_F32, y, 10, result + 1));
    assert_memory_equal(result + 1, &sum, sizeof sum);
    tally_context_destroy(context);
    SOUND();
}

/* The device does the work where it must check or do more. */
static void test_devices(void **unused) {
    (void)unused;
    const tally_reduce_desc desc = {.size = sizeof desc, .op = TALLY_SUM, .in = TALLY_F32};
    float sum;
    tally_context *context = open_context("stub:beta");
    if (!has_programs()) test_skip("the library has no programs of its own");
    tally_device_info *info = &context->info;
    const tally_device_info before = *info;
    assert_true(tally_host_reduce(context, &desc, inputs, 10, &sum));
    info->has_f64 = 0;
    assert_false(tally_host_reduce(context, &desc, inputs, 10, &sum));
    *info = before;
    info->host_memory = 0;
    assert_false(tally_host_reduce(context, &desc, inputs, 10, &sum));
    *info = before;
    info->device_class = TALLY_CLASS_GPU;
    assert_false(tally_host_reduce(context, &desc, inputs, 10, &sum));
    *info = before;
    tally_context_destroy(context);
    SOUND();
}

/* A thread with another rounding mode than the devices' leaves the work to the device. */
static void test_rounding(void **unused) {
    (void)unused;
    static const int modes[] = {FE_UPWARD, FE_DOWNWARD, FE_TOWARDZERO};
    float sum;
    tally_context *context = open_context("stub:beta");
    /* The stub computes on this thread, so its self-test runs before the mode is changed. */
    const tally_reduce_desc by_device = {.size = sizeof by_device, .op = TALLY_SUM, .in = TALLY_F32, .variant = "auto"};
    EXPECT_DEVICE(true, tally_reduce_host_inputs(context, &by_device, inputs, 10, &sum));
    for (size_t i = 0; i < TALLY_ARRAY_LENGTH(modes); i++) {
        assert_int_equal(fesetround(modes[i]), 0);
        EXPECT_DEVICE(true, tally_reduce_host(context, TALLY_SUM, TALLY_F32, x, 10, &sum));
        fesetround(FE_TONEAREST);
        EXPECT_DEVICE(!has_programs(), tally_reduce_host(context, TALLY_SUM, TALLY_F32, x, 10, &sum));
    }
    tally_context_destroy(context);
    SOUND();
}

#ifdef __SSE2__
/* A thread that traps at invalid operations leaves the work to the device, which traps at none. */
static void test_traps(void **unused) {
    (void)unused;
    static const double some[] = {1, NAN, INFINITY, -INFINITY};
    double sum = 0;
    tally_context *context = open_context("host");
    const tally_reduce_desc by_device = {.size = sizeof by_device, .op = TALLY_SUM, .in = TALLY_F64, .variant = "auto"};
    MUST(tally_reduce_host_inputs(context, &by_device, (const void *const[]){some}, 4, &sum));
    feclearexcept(FE_ALL_EXCEPT);
    const int before = feenableexcept(FE_INVALID | FE_OVERFLOW | FE_DIVBYZERO);
    const tally_status status = tally_reduce_host(context, TALLY_SUM, TALLY_F64, some + 2, 2, &sum);
    feclearexcept(FE_ALL_EXCEPT);
    fedisableexcept(FE_ALL_EXCEPT);
    feenableexcept(before);
    assert_int_equal(status, TALLY_OK);
    assert_true(isnan(sum));
    tally_context_destroy(context);
}
#endif

/* ---- the same as on any device --------------------------------------------------------------- */

static void test_refusals(void **unused) {
    (void)unused;
    static const char *const selects[] = {"stub:alpha", "stub:beta"};
    float sum;
    for (size_t s = 0; s < TALLY_ARRAY_LENGTH(selects); s++) {
        tally_context *context = open_context(selects[s]);
        const tally_reduce_desc dot = {.size = sizeof dot, .op = TALLY_DOT, .in = TALLY_F32};
        tally_reduce_desc odd = dot;
        odd.size = 3;
        BAD(tally_reduce_host(context, TALLY_SUM, TALLY_F32, x, 10, NULL), "tally_reduce_host: result is NULL");
        BAD(tally_reduce_host(context, TALLY_SUM, TALLY_F32, NULL, 10, &sum), "tally_reduce_host: items is NULL");
        BAD(tally_reduce_host(context, TALLY_DOT, TALLY_F32, x, 10, &sum), "dot has 2 inputs");
        BAD(tally_reduce_host(context, (tally_op)1000, TALLY_F32, x, 10, &sum), "desc.op is 1000: no such op");
        BAD(tally_reduce_host(context, TALLY_OP_NONE, TALLY_F32, x, 10, &sum), "desc.op is 0: no such op");
        BAD(tally_reduce_host(context, TALLY_SUM, (tally_dtype)-1, x, 10, &sum), "desc.in is -1: no such dtype");
        REFUSED(tally_reduce_host(context, TALLY_BAND, TALLY_F32, x, 10, &sum), TALLY_E_UNSUPPORTED, "band does not take f32");
        BAD(tally_reduce_host_inputs(context, &dot, NULL, 10, &sum), "items is NULL");
        BAD(tally_reduce_host_inputs(context, &dot, (const void *[]){x, NULL}, 10, &sum), "items is NULL");
        BAD(tally_reduce_host_inputs(context, &odd, inputs, 10, &sum), "desc.size is 3");
        tally_context_destroy(context);
        SOUND();
    }
}

/* Every function, compared with the stub's program of the same text, which has other optimisation
 * and another prelude. */
static void expect_same(tally_context *context, tally_op op, tally_dtype in, uint64_t n) {
    const tally_reduce_desc desc = {.size = sizeof desc, .op = op, .in = in};
    tally_reduce_desc device = desc;
    unsigned char got[2][64];
    device.variant = "auto";
    memset(got, 0xcd, sizeof got);
    EXPECT_DEVICE(false, tally_reduce_host_inputs(context, &desc, inputs, n, got[0]));
    EXPECT_DEVICE(true, tally_reduce_host_inputs(context, &device, inputs, n, got[1]));
    if (memcmp(got[0], got[1], sizeof got[0]) != 0)
        fail_msg("%s of %llu %s: other bits than the device's", tally_op_name(op), (unsigned long long)n, tally_dtype_name(in));
}

static void test_programs(void **unused) {
    (void)unused;
    static const uint64_t sizes[] = {0, 1, SOME};
    if (!has_programs()) test_skip("the library has no programs of its own");
    for (tally_dtype in = TALLY_DTYPE_DEFAULT + 1; in < TALLY_DTYPE_END; in++) {
        tally_context *context = open_context("stub:beta");
        pattern_fill(PATTERN_WIDE, in, x, SOME);
        for (tally_op op = TALLY_OP_NONE + 1; op < TALLY_OP_END; op++) {
            const bool takes = tally_op_row_for(op, in, TALLY_ACCURACY_DEFAULT) != NULL;
            assert_int_equal(tally_host_program_for(op, in) != NULL, takes);
            pattern_fill_second(PATTERN_WIDE, op, in, x, y, SOME);
            for (size_t s = 0; takes && s < TALLY_ARRAY_LENGTH(sizes); s++) expect_same(context, op, in, sizes[s]);
        }
        tally_context_destroy(context);
        SOUND();
        stub_reset(); /* else it would keep every object */
    }
}

const core_test few_tests[] = {
    {"host arrays: sizes", test_sizes},
    {"host arrays: descriptors", test_descriptors},
    {"host arrays: addresses", test_addresses},
    {"host arrays: devices", test_devices},
    {"host arrays: rounding", test_rounding},
#ifdef __SSE2__
    {"host arrays: traps", test_traps},
#endif
    {"host arrays: refused", test_refusals},
    {"host arrays: every program", test_programs},
    {NULL, NULL},
};
