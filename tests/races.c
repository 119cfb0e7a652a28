/* SPDX-License-Identifier: MIT */
/*
 * races: every variant, and gather and scatter, on a few items, for a tool that watches memory: oclgrind on OpenCL, compute-sanitizer on CUDA. The tool says
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

/* ---- gather and scatter ---------------------------------------------------------------------------------------------- */

/* Each with a word and with bytes as items. Without SCATTER_LAST no two entries name the same item: they would race, as documented. */
static const struct {
    int scatter;
    uint32_t item_bytes, flags;
    const char *name;
} moves[] = {{0, 4, 0, "gather"},
             {0, 3, TALLY_UNCHECKED | TALLY_STENCIL, "gather"},
             {1, 4, 0, "scatter"},
             {1, 3, TALLY_UNCHECKED | TALLY_STENCIL, "scatter"},
             {1, 4, TALLY_SCATTER_LAST, "scatter, last"},
             {1, 3, TALLY_SCATTER_LAST | TALLY_UNCHECKED | TALLY_STENCIL, "scatter, last"}};

#define MAX_ITEM_BYTES 4

typedef struct moved {
    uint32_t map[MAX_N];
    uint8_t in[MAX_N * MAX_ITEM_BYTES], stencil[MAX_N], out[MAX_N * MAX_ITEM_BYTES], want[MAX_N * MAX_ITEM_BYTES];
} moved;

static void fill_moved(size_t k, uint64_t n, moved *m) {
    const uint32_t bytes = moves[k].item_bytes, last = moves[k].flags & TALLY_SCATTER_LAST;
    for (uint64_t i = 0; i < n; i++) {
        m->map[i] = (uint32_t)(last ? i * 7919 % (n / 3 + 1) : i * 7919 % n); /* a prime that divides no n: each once */
        m->stencil[i] = i % 3 != 0;
        for (uint32_t b = 0; b < bytes; b++) m->in[i * bytes + b] = (uint8_t)(i * 31 + b);
    }
    memset(m->out, 0xa5, n * bytes);
    memset(m->want, 0xa5, n * bytes);
    for (uint64_t i = 0; i < n; i++) {
        if (moves[k].flags & TALLY_STENCIL && !m->stencil[i]) continue;
        const uint64_t from = moves[k].scatter ? i : m->map[i], to = moves[k].scatter ? m->map[i] : i;
        memcpy(m->want + to * bytes, m->in + from * bytes, bytes);
    }
}

static int upload(tally_context *context, tally_queue *queue, const void *data, uint64_t bytes, const char *name,
                  tally_buffer **out) {
    return fails(tally_buffer_create(context, bytes, out), name, "tally_buffer_create") ||
           fails(tally_buffer_write(queue, *out, 0, data, bytes), name, "tally_buffer_write");
}

static int move(tally_context *context, tally_index_plan *plan, size_t k, uint64_t n) {
    static moved m;
    tally_queue *queue = NULL;
    tally_buffer *map = NULL, *in = NULL, *stencil = NULL, *out = NULL;
    const uint64_t bytes = n * moves[k].item_bytes;
    const char *name = moves[k].name;
    fill_moved(k, n, &m);
    int bad = fails(tally_queue_create(context, &queue), name, "tally_queue_create") ||
              upload(context, queue, m.map, n * sizeof(m.map[0]), name, &map) ||
              upload(context, queue, m.in, bytes, name, &in) || upload(context, queue, m.stencil, n, name, &stencil) ||
              upload(context, queue, m.out, bytes, name, &out);
    const tally_index_args args = {.size = sizeof(args),
                                   .map = map,
                                   .n = n,
                                   .in = in,
                                   .stencil = moves[k].flags & TALLY_STENCIL ? stencil : NULL,
                                   .out = out,
                                   .items = n};
    bad = bad ||
          fails(moves[k].scatter ? tally_scatter(plan, queue, &args) : tally_gather(plan, queue, &args), name, "the call") ||
          fails(tally_buffer_read(queue, out, 0, m.out, bytes), name, "tally_buffer_read") ||
          fails(tally_queue_wait(queue), name, "tally_queue_wait");
    if (!bad && memcmp(m.out, m.want, bytes) != 0) {
        printf("FAILED: %s: n=%llu: a wrong result\n", name, (unsigned long long)n);
        bad = 1;
    }
    return bad;
}

static int move_all(tally_context *context, size_t *ran) {
    int bad = 0;
    for (size_t k = 0; k < COUNT(moves); k++) {
        const tally_index_desc desc = {.size = sizeof(desc),
                                       .item_bytes = moves[k].item_bytes,
                                       .map = TALLY_U32,
                                       .flags = moves[k].flags,
                                       .max_n = MAX_N,
                                       .max_out = MAX_N};
        tally_index_plan *plan;
        if (fails(moves[k].scatter ? tally_scatter_plan_create(context, &desc, &plan)
                                   : tally_gather_plan_create(context, &desc, &plan),
                  moves[k].name, "the plan"))
            return 1;
        printf("running: %s of items of %u bytes\n", moves[k].name, moves[k].item_bytes);
        for (size_t s = 0; s < COUNT(sizes); s++) bad |= move(context, plan, k, sizes[s]);
        *ran += 1;
    }
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
    bad |= move_all(context, &ran);
    const size_t all = tally_variant_count() * COUNT(cells) + COUNT(moves);
    printf("races: %zu ran, %zu not for this device, of %zu\n", ran, skipped, all);
    return bad || ran + skipped != all || !ran;
}
