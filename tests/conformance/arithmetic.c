/* SPDX-License-Identifier: MIT */
/*
 * The arithmetic that the canonical order needs. A kernel, compiled as the backend compiles every
 * kernel, rounds after each operation (no FMA unless it is asked for), in the order written (no
 * reassociation), divides and takes roots to the last bit, and keeps denormals. One small program
 * serves both kernel languages, through the vtable. The operands come from memory, so that no
 * compiler can fold them.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <tgmath.h>

#include "conformance.h"
#include "oracle/patterns.h"

/* Computes y[0..11] from x[0..2], for three numbers at a time. */
static const char probe[] = "INLINE REAL multiply(REAL a, REAL b) { return a * b; }\n"
                            "KERNEL void tally_probe(GLOBAL const REAL *x, GLOBAL REAL *y, u64 n) {\n"
                            "    for (u64 i = 0; i < n; i++) {\n"
                            "        const REAL a = x[3 * i], b = x[3 * i + 1], c = x[3 * i + 2];\n"
                            "        y[OUTPUTS * i] = a * b + c;\n"
                            "        y[OUTPUTS * i + 1] = multiply(a, b) - multiply(c, c);\n"
                            "        y[OUTPUTS * i + 2] = (a + b) + c;\n"
                            "        y[OUTPUTS * i + 3] = a + (b + c);\n"
                            "        y[OUTPUTS * i + 4] = (a + b) - a;\n"
                            "        y[OUTPUTS * i + 5] = a * b * c;\n"
                            "        y[OUTPUTS * i + 6] = a + c * b;\n"
                            "        REAL sum = a;\n"
                            "        for (int k = 0; k < 16; k++) sum = sum + (k % 2 ? c : b);\n"
                            "        y[OUTPUTS * i + 7] = sum;\n"
                            "        y[OUTPUTS * i + 8] = QUOTIENT(a, b);\n"
                            "        y[OUTPUTS * i + 9] = ROOT(fabs(a));\n"
                            "        y[OUTPUTS * i + 10] = fma(a, b, c);\n"
                            "        y[OUTPUTS * i + 11] = fma(a, b, -(a * b));\n"
                            "    }\n"
                            "}\n";
#define OUTPUTS 12

/* The same on the host. `volatile` keeps its compiler from contracting and folding. */
#define HOST_PROBE(T, real)                                                                                                    \
    static void host_probe_##T(const real *x, real *y) {                                                                       \
        volatile real a = x[0], b = x[1], c = x[2], ab = a * b, cc = c * c, cb = c * b, a_plus_b = a + b, b_plus_c = b + c;    \
        y[0] = ab + c;                                                                                                         \
        y[1] = ab - cc;                                                                                                        \
        y[2] = a_plus_b + c;                                                                                                   \
        y[3] = a + b_plus_c;                                                                                                   \
        y[4] = a_plus_b - a;                                                                                                   \
        y[5] = ab * c;                                                                                                         \
        y[6] = a + cb;                                                                                                         \
        volatile real sum = a;                                                                                                 \
        for (int k = 0; k < 16; k++) sum = sum + (k % 2 ? c : b);                                                              \
        y[7] = sum;                                                                                                            \
        y[8] = a / b;                                                                                                          \
        y[9] = sqrt(fabs(a));                                                                                                  \
        y[10] = fma(a, b, c);                                                                                                  \
        y[11] = fma(a, b, -ab);                                                                                                \
    }
HOST_PROBE(f32, float)
HOST_PROBE(f64, double)

/* Chosen triples, whose results differ if a rule is broken; then random ones. */
static const float chosen_f32[][3] = {
    {1 + 0x1p-12f, 1 + 0x1p-12f, -1 - 0x1p-11f}, /* a * b + c: 0, or 2^-24 by FMA */
    {1 + 0x1p-23f, 1 + 0x1p-23f, 1 + 0x1p-22f},  /* the same */
    {0x1p24f, 1, -0x1p24f},                      /* (a + b) + c: 0, or 1 when reassociated */
    {1, 0x1p-24f, 0x1p-24f},                     /* (a + b) + c: 1, a + (b + c): 1 + 2^-23 */
    {0x1p100f, 1, 3},                            /* (a + b) - a: 0, not 1 */
    {0x1p-126f, 0.5f, 0x1p-149f},                /* products and sums below the smallest normal number */
    {0x1p-149f, 0x1p-149f, -0x1p-149f},
    {0x1.8p-127f, -0x1p-127f, 1},
    {0x1p-100f, 0x1p-45f, 0x1p10f},
    {-0.0f, -0.0f, -0.0f}, /* -0 + -0 is -0 */
};
static const double chosen_f64[][3] = {
    {1 + 0x1p-27, 1 + 0x1p-27, -1 - 0x1p-26},
    {1 + 0x1p-52, 1 + 0x1p-52, 1 + 0x1p-51},
    {0x1p53, 1, -0x1p53},
    {1, 0x1p-53, 0x1p-53},
    {0x1p500, 1, 3},
    {0x1p-1022, 0.5, 0x1p-1074},
    {0x1p-1074, 0x1p-1074, -0x1p-1074},
    {0x1.8p-1023, -0x1p-1023, 1},
    {0x1p-1000, 0x1p-70, 0x1p10},
    {-0.0, -0.0, -0.0},
};
#define CHOSEN TALLY_ARRAY_LENGTH(chosen_f32)
#define TRIPLES 200

typedef struct machine {
    const tally_backend *backend;
    void *device, *queue, *program, *kernel, *in, *out;
} machine;

static char *program_text(const place *at, const char *type, const char *kernel, size_t *bytes) {
    const char *prelude = at->backend->kernel_source("prelude");
    if (!prelude) fail_msg("%s has no stem \"prelude\"", at->select);
    /* As in kernels/arithmetic.h. */
    static const char words[] = "#ifndef f32_QUOTIENT\n"
                                "#define f32_QUOTIENT(a, b) ((a) / (b))\n"
                                "#define f32_ROOT(a) sqrt(a)\n"
                                "#endif\n"
                                "#define f64_QUOTIENT(a, b) ((a) / (b))\n"
                                "#define f64_ROOT(a) sqrt(a)\n";
    *bytes = strlen(prelude) + sizeof words + strlen(kernel) + 128;
    char *text = malloc(*bytes);
    assert_non_null(text);
    *bytes = (size_t)snprintf(
        text, *bytes, "%s\n#define REAL %s\n#define QUOTIENT %s_QUOTIENT\n#define ROOT %s_ROOT\n#define OUTPUTS %d\n%s%s",
        prelude, type, type, type, OUTPUTS, words, kernel);
    return text;
}

static void run_probe(const place *at, const char *type, const char *kernel, const void *x, uint64_t x_bytes, void *y,
                      uint64_t y_bytes, uint64_t n) {
    tally_device_info info;
    machine m = {.backend = at->backend};
    const tally_backend *b = m.backend;
    size_t bytes;
    char *text = program_text(at, type, kernel, &bytes);
    MUST(b->device_open(at->info.index, NULL, NULL, &info, &m.device));
    MUST(b->queue_open(m.device, 0, NULL, &m.queue));
    MUST(b->mem_open(m.device, TALLY_MEM_DEVICE, NULL, &x_bytes, &m.in));
    MUST(b->mem_open(m.device, TALLY_MEM_DEVICE, NULL, &y_bytes, &m.out));
    MUST(b->program_create(m.device, &(tally_program_desc){.form = TALLY_PROGRAM_SOURCE, .data = text, .bytes = bytes},
                           &m.program));
    free(text);
    MUST(b->kernel_create(m.device, m.program, "tally_probe", &m.kernel));
    const tally_arg args[] = {{.mem = m.in}, {.mem = m.out}, {.value = &n, .bytes = sizeof n}};
    MUST(b->copy_in(m.queue, m.in, 0, x, x_bytes));
    MUST(b->launch(m.queue, m.kernel, 1, 1, 3, args));
    MUST(b->copy_out(m.queue, m.out, 0, y, y_bytes));
    MUST(b->queue_wait(m.queue));
    b->kernel_close(m.device, m.kernel);
    b->program_close(m.device, m.program);
    b->mem_close(m.device, m.in);
    b->mem_close(m.device, m.out);
    b->queue_close(m.device, m.queue);
    b->device_close(m.device);
}

static const char *const expressions[OUTPUTS] = {"a * b + c",   "a * b - c * c", "(a + b) + c",  "a + (b + c)",
                                                 "(a + b) - a", "a * b * c",     "a + c * b",    "the sum of 17",
                                                 "a / b",       "sqrt(fabs(a))", "fma(a, b, c)", "fma(a, b, -(a * b))"};

#define TEST_ARITHMETIC(T, real)                                                                                               \
    static void test_arithmetic_##T(void **state) {                                                                            \
        const place *at = *state;                                                                                              \
        if (!at->info.has_f64 && sizeof(real) == 8) return;                                                                    \
        real x[TRIPLES][3], y[TRIPLES][OUTPUTS], expected[OUTPUTS];                                                            \
        pattern_fill(PATTERN_WIDE, sizeof(real) == 8 ? TALLY_F64 : TALLY_F32, x, 3 * TRIPLES);                                 \
        for (size_t i = CHOSEN; i < TRIPLES; i += 2) x[i][2] = -x[i][0] * x[i][1]; /* so that sums cancel */                   \
        memcpy(x, chosen_##T, sizeof chosen_##T);                                                                              \
        run_probe(at, #T, probe, x, sizeof x, y, sizeof y, TRIPLES);                                                           \
        for (size_t i = 0; i < TRIPLES; i++) {                                                                                 \
            host_probe_##T(x[i], expected);                                                                                    \
            for (int k = 0; k < OUTPUTS; k++)                                                                                  \
                if (memcmp(&y[i][k], &expected[k], sizeof(real)) != 0 && (y[i][k] == y[i][k] || expected[k] == expected[k]))   \
                    fail_msg("%s: %s of a = %a, b = %a, c = %a is %a; should be %a", at->select, expressions[k],               \
                             (double)x[i][0], (double)x[i][1], (double)x[i][2], (double)y[i][k], (double)expected[k]);         \
        }                                                                                                                      \
    }
TEST_ARITHMETIC(f32, float)
TEST_ARITHMETIC(f64, double)

/* Quotients and roots of f32: of random bits, and of pairs whose quotients are subnormal, or in the
 * middle between two numbers there, or next to an overflow. */
static const char quotients[] = "KERNEL void tally_probe(GLOBAL const REAL *x, GLOBAL REAL *y, u64 n) {\n"
                                "    for (u64 i = 0; i < n; i++) {\n"
                                "        y[2 * i] = QUOTIENT(x[2 * i], x[2 * i + 1]);\n"
                                "        y[2 * i + 1] = ROOT(x[2 * i]);\n"
                                "    }\n"
                                "}\n";
#define PAIRS 40000

static void pairs_fill(float (*x)[2]) {
    static const float edges[] = {0,
                                  -0.0f,
                                  1,
                                  -1,
                                  0x1p-149f,
                                  0x1.fffffcp-127f,
                                  0x1p-126f,
                                  0x1p-125f,
                                  INFINITY,
                                  -INFINITY,
                                  NAN,
                                  0x1.fffffep127f,
                                  0x1p127f,
                                  2,
                                  0.5f,
                                  0x1.8p-148f,
                                  3,
                                  0x1.fffffep0f,
                                  0x1.000002p0f,
                                  0x1p-23f,
                                  -0x1.8p-149f};
    const size_t count = TALLY_ARRAY_LENGTH(edges);
    uint64_t seed = 1;
    for (size_t i = 0; i < PAIRS; i++) {
        uint32_t bits[2];
        for (int k = 0; k < 2; k++) bits[k] = (uint32_t)((seed = seed * 6364136223846793005U + 1442695040888963407U) >> 32);
        if (i < count * count) {
            x[i][0] = edges[i / count], x[i][1] = edges[i % count];
        } else {
            if (i % 4 == 1) bits[0] = (bits[0] & 0x87ffffffU) | 0x800000U, bits[1] = (bits[1] & 0x8bffffffU) | 0x40000000U;
            if (i % 4 == 2) bits[0] &= 0x807fffffU, bits[1] = (bits[1] & 0x80000000U) | (127 + (bits[1] & 7)) << 23;
            if (i % 4 == 3) bits[0] |= 0x70000000U, bits[1] = (bits[1] & 0x83ffffffU) | 0x30000000U;
            memcpy(x[i], bits, sizeof bits);
        }
    }
}

static void test_quotients(void **state) {
    static float x[PAIRS][2], y[PAIRS][2];
    const place *at = *state;
    pairs_fill(x);
    run_probe(at, "f32", quotients, x, sizeof x, y, sizeof y, PAIRS);
    size_t numbers = 0, subnormals = 0, infinities = 0;
    for (size_t i = 0; i < PAIRS; i++) {
        const volatile float a = x[i][0], b = x[i][1];
        const float expected[] = {a / b, sqrtf(a)};
        numbers += isnormal(expected[0]) != 0, subnormals += fpclassify(expected[0]) == FP_SUBNORMAL,
            infinities += isinf(expected[0]) != 0;
        for (int k = 0; k < 2; k++)
            if (isnan(expected[k]) ? !isnan(y[i][k]) : memcmp(&y[i][k], &expected[k], sizeof expected[k]) != 0)
                fail_msg("%s: %s of a = %a, b = %a is %a; should be %a", at->select, k ? "sqrt(a)" : "a / b", (double)a,
                         (double)b, (double)y[i][k], (double)expected[k]);
    }
    assert_true(numbers > PAIRS / 4 && subnormals > PAIRS / 10 && infinities > PAIRS / 100);
}

/* A program that does not compile gives the compiler's words in one line. */
static void test_build_error(void **state) {
    const place *at = *state;
    const tally_backend *b = at->backend;
    static const char text[] = "this is no kernel;\nnor is this\n";
    tally_device_info info;
    void *device, *program = NULL;
    MUST(b->device_open(at->info.index, NULL, NULL, &info, &device));
    const tally_status status = b->program_create(
        device, &(tally_program_desc){.form = TALLY_PROGRAM_SOURCE, .data = text, .bytes = sizeof text - 1}, &program);
    b->device_close(device);
    assert_int_equal(status, TALLY_E_BUILD);
    assert_null(program);
    if (!strstr(tally_last_error(), "error") || strchr(tally_last_error(), '\n'))
        fail_msg("not one line with the compiler's words: %s", tally_last_error());
}

/* The data distinguish an FMA from two roundings, and one association from the other. Otherwise the
 * tests above would show nothing. */
static void test_data_tell(void **state) {
    (void)state;
    float y[OUTPUTS];
    host_probe_f32(chosen_f32[0], y);
    assert_true(y[0] != fmaf(chosen_f32[0][0], chosen_f32[0][1], chosen_f32[0][2]));
    host_probe_f32(chosen_f32[3], y);
    assert_true(y[2] != y[3]);
    host_probe_f32(chosen_f32[5], y);
    assert_true(y[0] > 0 && y[0] < 0x1p-126f);
    double z[OUTPUTS];
    host_probe_f64(chosen_f64[0], z);
    assert_true(z[0] != fma(chosen_f64[0][0], chosen_f64[0][1], chosen_f64[0][2]));
    host_probe_f64(chosen_f64[3], z);
    assert_true(z[2] != z[3]);
}

const device_test arithmetic_tests[] = {
    {"arithmetic: f32", test_arithmetic_f32},
    {"arithmetic: f64", test_arithmetic_f64},
    {"arithmetic: quotients and roots", test_quotients},
    {"arithmetic: the data show a difference", test_data_tell},
    {"arithmetic: a program that does not compile", test_build_error},
    {NULL, NULL},
};
