/* SPDX-License-Identifier: MIT */
/*
 * races: every variant on a few items, for a tool that watches memory: oclgrind on OpenCL, compute-sanitizer on CUDA. The tool says
 * what is wrong; this program says that everything ran, and checks the results, which are whole numbers so that every order is exact.
 * Usage: races SELECTION
 * Prints the device, a line for each plan, and last "races: R ran, S not for this device, of T". Exit status 1 if a result is wrong or a
 * call fails; only what is not for the device may be refused: a variant of another class, an accumulator wider than its atomics.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <tally/tally.h>

#define GROUP 64
#define MAX_N 1000

static const uint64_t sizes[] = {1, 100, MAX_N};
/* Scalars and structs, narrow and wide items, one input and two. */
static const struct {
    tally_op op;
    tally_dtype in;
} cells[] = {{TALLY_SUM, TALLY_F32}, {TALLY_SUM, TALLY_I32},    {TALLY_MIN, TALLY_I32},    {TALLY_MAX, TALLY_F32},
             {TALLY_SUM, TALLY_U8},  {TALLY_ARGMIN, TALLY_I32}, {TALLY_MINMAX, TALLY_F32}, {TALLY_DOT, TALLY_I32}};

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))
#define MAX_INPUTS 2

typedef union value {
    unsigned char bytes[8];
    float f32[2];
    int32_t i32;
    int64_t i64;
} value;

typedef union items {
    float f32[MAX_N];
    int32_t i32[MAX_N];
    uint8_t u8[MAX_N];
} items;

static int item(tally_dtype in, uint32_t input, uint64_t i) {
    const int x = (int)((i + input) * 7919 % 2003);
    return in == TALLY_U8 ? x % 251 : x - 1001;
}

static void fill(tally_dtype in, uint32_t input, uint64_t n, items *to) {
    for (uint64_t i = 0; i < n; i++) {
        const int x = item(in, input, i);
        if (in == TALLY_F32)
            to->f32[i] = (float)x;
        else if (in == TALLY_I32)
            to->i32[i] = x;
        else
            to->u8[i] = (uint8_t)x;
    }
}

/* What op over the first n items gives, as a result of that op has it. */
static value expected(tally_op op, tally_dtype in, uint64_t n) {
    int64_t sum = 0, dot = 0, low = item(in, 0, 0), high = low, low_at = 0;
    for (uint64_t i = 0; i < n; i++) {
        const int x = item(in, 0, i);
        sum += x;
        dot += (int64_t)x * item(in, 1, i);
        if (x < low) low = x, low_at = (int64_t)i;
        if (x > high) high = x;
    }
    value v = {{0}};
    if (op == TALLY_MINMAX)
        v.f32[0] = (float)low, v.f32[1] = (float)high;
    else if (in == TALLY_F32)
        v.f32[0] = (float)(op == TALLY_SUM ? sum : high);
    else if (op == TALLY_MIN)
        v.i32 = (int32_t)low;
    else
        v.i64 = op == TALLY_SUM ? sum : op == TALLY_DOT ? dot : low_at;
    return v;
}

static int fails(tally_status status, const char *name, const char *call) {
    if (status) printf("FAILED: %s: %s: %s\n", name, call, tally_last_error());
    return status != TALLY_OK;
}

static int reduce(tally_context *context, tally_plan *plan, tally_op op, tally_dtype in, uint64_t n, const char *name) {
    items host[MAX_INPUTS];
    tally_queue *queue = NULL;
    tally_buffer *from[MAX_INPUTS] = {NULL}, *to = NULL;
    value got = {{0}};
    const value want = expected(op, in, n);
    const uint64_t in_bytes = n * tally_dtype_bytes(in), bytes = tally_plan_result_bytes(plan);
    int bad = fails(tally_queue_create(context, &queue), name, "tally_queue_create");
    for (uint32_t k = 0; !bad && k < tally_op_inputs(op); k++) {
        fill(in, k, n, &host[k]);
        /* Exactly as large as it must be, so that a step beyond it is seen. */
        bad = fails(tally_buffer_create(context, in_bytes, &from[k]), name, "tally_buffer_create") ||
              fails(tally_buffer_write(queue, from[k], 0, &host[k], in_bytes), name, "tally_buffer_write");
    }
    bad = bad || fails(tally_buffer_create(context, bytes, &to), name, "tally_buffer_create") ||
          fails(tally_reduce_inputs(plan, queue, (const tally_buffer *const *)from, NULL, n, to, 0), name,
                "tally_reduce_inputs") ||
          fails(tally_buffer_read(queue, to, 0, &got, bytes), name, "tally_buffer_read") ||
          fails(tally_queue_wait(queue), name, "tally_queue_wait");
    if (!bad && memcmp(&got, &want, bytes) != 0) {
        printf("FAILED: %s: n=%llu: a wrong result\n", name, (unsigned long long)n);
        bad = 1;
    }
    /* Nothing is destroyed: oclgrind 21.10 mistakes what a new buffer holds for what a destroyed one in its place held. */
    return bad;
}

/* A variant that is not for the device's class, or an accumulator that no atomic is as wide as. */
static int may_be_refused(const char *text) {
    return strstr(text, "is not for devices of class") || strstr(text, "no atomic is as wide");
}

int main(int argc, char **argv) {
    if (argc != 2) return fprintf(stderr, "usage: races SELECTION\n"), 2;
    setvbuf(stdout, NULL, _IOLBF, 0);
    tally_context *context;
    tally_context_info about;
    if (fails(tally_context_create(argv[1], &context), argv[1], "tally_context_create")) return 1;
    if (fails(tally_context_get_info(context, &about), argv[1], "tally_context_get_info")) return 1;
    printf("device: %s, %s, %s, %s\n", about.device.backend, about.device.name, about.device.platform,
           tally_device_class_name(about.device.device_class));
    size_t ran = 0, skipped = 0;
    int bad = 0;
    for (size_t v = 0; v < tally_variant_count(); v++) {
        tally_variant_info info;
        if (fails(tally_variant_get(v, &info), "variant", "tally_variant_get")) return 1;
        for (size_t c = 0; c < COUNT(cells); c++) {
            char name[96];
            snprintf(name, sizeof(name), "%s %s %s", info.name, tally_op_name(cells[c].op), tally_dtype_name(cells[c].in));
            const tally_reduce_desc desc = {.size = sizeof(desc),
                                            .op = cells[c].op,
                                            .in = cells[c].in,
                                            .max_n = MAX_N,
                                            .variant = info.name,
                                            .group_items = info.group_items > 1 ? GROUP : 0,
                                            .factor = info.factor ? 2 : 0};
            tally_plan *plan;
            const tally_status status = tally_plan_create(context, &desc, &plan);
            if (status == TALLY_E_UNSUPPORTED && may_be_refused(tally_last_error())) {
                printf("skipped: %s: %s\n", name, tally_last_error());
                skipped++;
                continue;
            }
            if (fails(status, name, "tally_plan_create")) {
                bad = 1;
                continue;
            }
            printf("running: %s\n", name);
            for (size_t s = 0; s < COUNT(sizes); s++) bad |= reduce(context, plan, cells[c].op, cells[c].in, sizes[s], name);
            ran++;
        }
    }
    printf("races: %zu ran, %zu not for this device, of %zu\n", ran, skipped, tally_variant_count() * COUNT(cells));
    return bad || ran + skipped != tally_variant_count() * COUNT(cells) || !ran;
}
