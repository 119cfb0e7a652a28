/* SPDX-License-Identifier: MIT */
/*
 * races: every variant, gather and scatter, every variant of scans, and segments and scans of
 * arrays (arrays.c), on a few items, under a tool that watches memory: oclgrind on OpenCL,
 * compute-sanitizer on CUDA. The tool reports faults. This program reports that everything ran, and
 * checks the results, which are whole numbers, so that every order is exact. Usage: races SELECTION
 * [as-cpu], and the arguments of test_main.h. as-cpu takes the device for a CPU and runs the
 * variants with one thread a group, as oclgrind calls itself a GPU. Prints the device, a line for
 * each plan, and last "races: R ran, S not for this device, of T". The exit status is 1 if a result
 * is wrong, a call fails, or a plan is refused that the tables of variants promise to this device.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "races.h"
#include "reduce/reduce.h"
#include "scan/scan.h" /* the class, tally_context_probe */
#include "tests/support/calls.h"

#define GROUP 64
#define MAX_N 1000

static const uint64_t sizes[] = {1, 100, MAX_N};
#define WHOLE_ROWS (MAX_N / TALLY_LANES * TALLY_LANES) /* of a chunk: loads of 16 bytes end where the buffer does */
/* Scalars and structs, narrow and wide items, one input and two. */
static const struct {
    tally_op op;
    tally_dtype in;
    int bytes; /* of an accumulator */
} cells[] = {{TALLY_SUM, TALLY_F32, 4}, {TALLY_SUM, TALLY_I32, 8},     {TALLY_MIN, TALLY_I32, 4},    {TALLY_MAX, TALLY_F32, 4},
             {TALLY_SUM, TALLY_U8, 8},  {TALLY_ARGMIN, TALLY_I32, 16}, {TALLY_MINMAX, TALLY_F32, 8}, {TALLY_DOT, TALLY_I32, 8}};

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

int item(tally_dtype in, uint32_t input, uint64_t i) {
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

/* Stores the op's value of the first n items as that op's result. */
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

int fails(tally_status status, const char *name, const char *call) {
    if (status) printf("FAILED: %s: %s: %s\n", name, call, tally_last_error());
    return status != TALLY_OK;
}

/* Reduces n items behind `skipped` others in the same buffer. */
static int reduce(tally_context *context, tally_plan *plan, tally_op op, tally_dtype in, uint64_t n, uint64_t skipped,
                  const char *name) {
    items host[MAX_INPUTS];
    tally_queue *queue = NULL;
    tally_buffer *from[MAX_INPUTS] = {NULL}, *to = NULL;
    value got = {{0}};
    const value want = expected(op, in, n);
    const uint64_t before = skipped * tally_dtype_bytes(in), in_bytes = before + n * tally_dtype_bytes(in);
    const uint64_t bytes = tally_plan_result_bytes(plan), skips[MAX_INPUTS] = {skipped, skipped};
    int bad = fails(tally_queue_create(context, &queue), name, "tally_queue_create");
    for (uint32_t k = 0; !bad && k < tally_op_inputs(op); k++) {
        memset(&host[k], 0, before);
        fill(in, k, n, (items *)((char *)&host[k] + before));
        /* The buffer is exactly as large as it must be, so that an access beyond it is seen. */
        bad = fails(tally_buffer_create(context, in_bytes, &from[k]), name, "tally_buffer_create") ||
              fails(tally_buffer_write(queue, from[k], 0, &host[k], in_bytes), name, "tally_buffer_write");
    }
    bad = bad || fails(tally_buffer_create(context, bytes, &to), name, "tally_buffer_create") ||
          fails(reduce_inputs(plan, queue, (const tally_buffer *const *)from, skips, n, to, 0), name, "tally_reduce_with") ||
          fails(tally_buffer_read(queue, to, 0, &got, bytes), name, "tally_buffer_read") ||
          fails(tally_queue_wait(queue), name, "tally_queue_wait");
    if (!bad && memcmp(&got, &want, bytes) != 0) {
        printf("FAILED: %s: n=%llu: a wrong result\n", name, (unsigned long long)n);
        bad = 1;
    }
    /* Nothing is destroyed: see hold_places. */
    return bad;
}

/* ---- gather and scatter ---------------------------------------------------------------------- */

/* Each move has one-word and one-byte items. Without SCATTER_LAST no two entries name the same
 * item, as those would race, as documented. */
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

int is_wrong(tally_queue *queue, tally_buffer *from, void *out, const void *want, uint64_t bytes, uint64_t n,
             const char *name) {
    if (fails(tally_buffer_read(queue, from, 0, out, bytes), name, "tally_buffer_read") ||
        fails(tally_queue_wait(queue), name, "tally_queue_wait"))
        return 1;
    if (memcmp(out, want, bytes) == 0) return 0;
    printf("FAILED: %s: n=%llu: a wrong result\n", name, (unsigned long long)n);
    return 1;
}

typedef struct moved {
    uint32_t map[MAX_N];
    uint8_t in[MAX_N * MAX_ITEM_BYTES], stencil[MAX_N], out[MAX_N * MAX_ITEM_BYTES], want[MAX_N * MAX_ITEM_BYTES];
} moved;

static void fill_moved(size_t k, uint64_t n, moved *m) {
    const uint32_t bytes = moves[k].item_bytes, last = moves[k].flags & TALLY_SCATTER_LAST;
    for (uint64_t i = 0; i < n; i++) {
        m->map[i] = (uint32_t)(last ? i * 7919 % (n / 3 + 1)
                                    : i * 7919 % n); /* a prime that divides no n: the map names each item once */
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

int upload(tally_context *context, tally_queue *queue, const void *data, uint64_t bytes, const char *name, tally_buffer **out) {
    return fails(tally_buffer_create(context, bytes, out), name, "tally_buffer_create") ||
           fails(tally_buffer_write(queue, *out, 0, data, bytes), name, "tally_buffer_write");
}

static int move(tally_context *context, tally_plan *plan, size_t k, uint64_t n) {
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
    const tally_move_args args = {.size = sizeof(args),
                                  .map = map,
                                  .n = n,
                                  .in = in,
                                  .stencil = moves[k].flags & TALLY_STENCIL ? stencil : NULL,
                                  .out = out,
                                  .items = n};
    bad = bad ||
          fails(moves[k].scatter ? tally_scatter(plan, queue, &args) : tally_gather(plan, queue, &args), name, "the call") ||
          is_wrong(queue, out, m.out, m.want, bytes, n, name);
    return bad;
}

/* ---- scans ----------------------------------------------------------------------------------- */

#define TILE UINT64_C(4096)
#define BLOCK (32 * TILE)
#define SCAN_ROOM (BLOCK + TILE + 77)

/* Sizes: less than a tile, so that whole warps have no item; two tiles; and more than a block, in a
 * second call that continues, if possible. oclgrind would take minutes for the last. */
static const uint64_t scan_sizes[] = {77, TILE + 77, SCAN_ROOM};

/* Forms of segments, orders and memory, with a scalar and with a struct to combine. */
static const struct {
    const char *name;
    tally_op op;
    tally_dtype in;
    uint32_t flags;
    tally_segments segments;
    int in_place;
} scans[] = {{"inclusive", TALLY_SUM, TALLY_F32, 0, TALLY_SEGMENTS_NONE, 0},
             {"in place", TALLY_SUM, TALLY_F32, 0, TALLY_SEGMENTS_NONE, 1},
             {"exclusive, by flags", TALLY_SUM, TALLY_F32, TALLY_EXCLUSIVE, TALLY_SEGMENTS_FLAGS, 0},
             {"reverse, by offsets, in place", TALLY_MIN, TALLY_I32, TALLY_REVERSE, TALLY_SEGMENTS_OFFSETS, 1},
             {"exclusive", TALLY_ARGMIN, TALLY_I32, TALLY_EXCLUSIVE, TALLY_SEGMENTS_NONE, 0}};

typedef union number {
    float f32;
    int32_t i32;
} number;

typedef struct scanned {
    number in[SCAN_ROOM];
    unsigned char out[SCAN_ROOM * 8], want[SCAN_ROOM * 8];
    uint8_t heads[SCAN_ROOM];
    uint64_t offsets[SCAN_ROOM], count;
} scanned;

/* Stores the value of the first `count` items of the scan or of the segment. */
static value scan_value(size_t k, uint64_t count, int64_t sum, int low, int64_t low_at) {
    value v = {{0}};
    if (scans[k].op == TALLY_SUM)
        v.f32[0] = (float)sum;
    else if (scans[k].op == TALLY_MIN)
        v.i32 = low;
    else
        v.i64 = count ? low_at : (int64_t)TALLY_NO_INDEX;
    return v;
}

static void fill_scanned(size_t k, uint64_t n, scanned *m) {
    const uint64_t bytes = scans[k].op == TALLY_ARGMIN ? 8 : 4;
    const int reverse = (scans[k].flags & TALLY_REVERSE) != 0, exclusive = (scans[k].flags & TALLY_EXCLUSIVE) != 0;
    m->count = 0;
    for (uint64_t i = 0; i < n; i++) {
        const int x = item(scans[k].in, 0, i);
        m->heads[i] = i * 7919 % 1009 == 5;
        if (m->heads[i]) m->offsets[m->count++] = i;
        if (scans[k].in == TALLY_F32)
            m->in[i].f32 = (float)x;
        else
            m->in[i].i32 = x;
    }
    m->offsets[m->count++] = n; /* an empty segment at the end */
    int64_t sum = 0, low_at = 0;
    uint64_t count = 0;
    int low = 0;
    for (uint64_t s = 0; s < n; s++) {
        const uint64_t i = reverse ? n - 1 - s : s;
        const int x = item(scans[k].in, 0, i), begins = scans[k].segments && (reverse ? s && m->heads[i + 1] : m->heads[i]);
        if (begins) sum = 0, count = 0;
        const value before = scan_value(k, count, sum, low, low_at);
        if (!count || x < low) low = x, low_at = (int64_t)i;
        sum += x;
        count++;
        const value with = scan_value(k, count, sum, low, low_at);
        memcpy(m->want + i * bytes, exclusive ? &before : &with, bytes);
    }
}

/* Scans all n at once, or, if possible, the first block and then the rest. */
static tally_status scan_in_calls(tally_plan *plan, tally_queue *queue, size_t k, uint64_t n, const tally_buffer *in,
                                  const tally_buffer *segments, uint64_t count, tally_buffer *out) {
    const int whole = scans[k].segments == TALLY_SEGMENTS_OFFSETS;
    const uint64_t first = n < BLOCK || whole ? n : BLOCK;
    const tally_status status = segments ? scan_segments(plan, queue, in, 0, segments, 0, count, first, out, 0)
                                         : tally_scan(plan, queue, in, first, out);
    if (status || first == n) return status;
    return scan_next(plan, queue, in, first, segments, first, n - first, out, first);
}

static int scan(tally_context *context, tally_plan *plan, size_t k, uint64_t n, const char *name) {
    static scanned m;
    tally_queue *queue = NULL;
    tally_buffer *in = NULL, *segments = NULL, *out = NULL;
    fill_scanned(k, n, &m);
    const uint64_t bytes = n * tally_plan_result_bytes(plan);
    int bad = fails(tally_queue_create(context, &queue), name, "tally_queue_create") ||
              upload(context, queue, m.in, n * sizeof(m.in[0]), name, &in);
    if (scans[k].segments == TALLY_SEGMENTS_FLAGS) bad = bad || upload(context, queue, m.heads, n, name, &segments);
    if (scans[k].segments == TALLY_SEGMENTS_OFFSETS)
        bad = bad || upload(context, queue, m.offsets, m.count * sizeof(m.offsets[0]), name, &segments);
    if (scans[k].in_place)
        out = in;
    else
        bad = bad || fails(tally_buffer_create(context, bytes, &out), name, "tally_buffer_create");
    bad = bad || fails(scan_in_calls(plan, queue, k, n, in, segments, m.count, out), name, "the call") ||
          is_wrong(queue, out, m.out, m.want, bytes, n, name);
    return bad;
}

/* ---- the program ----------------------------------------------------------------------------- */

/* Returns whether a variant makes sense on the device, and the device has the needed features. */
static int is_for_device(const running *r, unsigned classes, unsigned features) {
    for (size_t i = 0; i < TALLY_FEATURE_END; i++) /* A backend without a trial of a feature does without. */
        if (features & ~r->context->features & 1u << i && r->context->backend->kernel_source(tally_features[i].stem)) return 0;
    return (classes & 1u << r->about.device.device_class) != 0;
}

static int has_atomic(const running *r, int bytes) {
    return bytes <= (r->about.device.has_atomic64 ? 8 : 4);
}

int is_wanted(running *r, const char *name) {
    if (!test_is_chosen(&r->choice, name)) return 0;
    if (r->choice.list) printf("%s\n", name);
    r->listed += r->choice.list;
    return !r->choice.list;
}

int has_plan(running *r, tally_status status, int is_promised, const char *name, int *bad) {
    r->all++;
    if (status == TALLY_E_UNSUPPORTED && !is_promised) {
        printf("skipped: %s: %s\n", name, tally_last_error());
        r->skipped++;
        return 0;
    }
    if (fails(status, name, "the plan")) return *bad = 1, 0;
    printf("running: %s\n", name);
    r->ran++;
    return 1;
}

static int reduce_all(running *r) {
    int bad = 0;
    for (size_t v = 0; v < tally_variant_count(); v++) {
        const tally_variant *row = tally_variant_row(v);
        const tally_variant_info info = row->info;
        if (r->of_one && info.group_threads > 1) continue;
        for (size_t c = 0; c < COUNT(cells); c++) {
            char name[96];
            snprintf(name, sizeof(name), "%s %s %s", info.name, tally_op_name(cells[c].op), tally_dtype_name(cells[c].in));
            if (!is_wanted(r, name)) continue;
            const int is_promised =
                is_for_device(r, row->classes, 0) && (row->stage != TALLY_STAGE_ATOMIC || has_atomic(r, cells[c].bytes));
            const tally_reduce_desc desc = {.size = sizeof(desc),
                                            .op = cells[c].op,
                                            .in = cells[c].in,
                                            .max_n = MAX_N,
                                            .variant = info.name,
                                            .group_threads = info.group_threads > 1 ? GROUP : 0,
                                            .factor = info.factor ? 2 : 0};
            tally_plan *plan;
            if (!has_plan(r, tally_plan_create(r->context, &desc, &plan), is_promised, name, &bad)) continue;
            for (size_t s = 0; s < COUNT(sizes); s++)
                bad |= reduce(r->context, plan, cells[c].op, cells[c].in, sizes[s], 0, name);
            bad |= reduce(r->context, plan, cells[c].op, cells[c].in, WHOLE_ROWS, 1, name);
        }
    }
    return bad;
}

static int move_all(running *r) {
    int bad = 0;
    for (size_t k = 0; k < COUNT(moves); k++) {
        char name[96];
        snprintf(name, sizeof(name), "%s of items of %u bytes", moves[k].name, moves[k].item_bytes);
        if (!is_wanted(r, name)) continue;
        const tally_move_desc desc = {.size = sizeof(desc),
                                      .item_bytes = moves[k].item_bytes,
                                      .map = TALLY_U32,
                                      .flags = moves[k].flags,
                                      .max_n = MAX_N,
                                      .max_out = MAX_N};
        tally_plan *plan;
        const tally_status status = moves[k].scatter ? tally_scatter_plan_create(r->context, &desc, &plan)
                                                     : tally_gather_plan_create(r->context, &desc, &plan);
        if (has_plan(r, status, 1, name, &bad))
            for (size_t s = 0; s < COUNT(sizes); s++) bad |= move(r->context, plan, k, sizes[s]);
    }
    return bad;
}

static int scan_all(running *r) {
    const size_t size_count = COUNT(scan_sizes) - (strstr(r->about.device.platform, "Oclgrind") != NULL);
    int bad = 0;
    for (size_t v = 0; v < tally_scan_variant_count(); v++) {
        const tally_scan_variant *row = tally_scan_variant_row(v);
        const tally_variant_info info = row->info;
        if (r->of_one && info.group_threads > 1) continue;
        for (size_t k = 0; k < COUNT(scans); k++) {
            char name[96];
            snprintf(name, sizeof(name), "%s %s %s, %s", info.name, tally_op_name(scans[k].op), tally_dtype_name(scans[k].in),
                     scans[k].name);
            if (!is_wanted(r, name)) continue;
            const int is_promised = is_for_device(r, row->classes, row->needs);
            const tally_scan_desc desc = {.size = sizeof(desc),
                                          .op = scans[k].op,
                                          .in = scans[k].in,
                                          .max_n = scan_sizes[size_count - 1],
                                          .variant = info.name,
                                          .flags = scans[k].flags,
                                          .segments = scans[k].segments};
            tally_plan *plan;
            if (has_plan(r, tally_scan_plan_create(r->context, &desc, &plan), is_promised, name, &bad))
                for (size_t s = 0; s < size_count; s++) bad |= scan(r->context, plan, k, scan_sizes[s], name);
        }
    }
    return bad;
}

/*
 * oclgrind 21.10 confuses a new buffer's content with that of a destroyed buffer in its place. When
 * a scan came first, it called values of the workspace uninitialised from byte 128 on, which had
 * just been written. With that place taken it is silent. So the places of buffers that the library
 * destroyed after its trials of features are given to buffers that nobody uses.
 */
static int hold_places(tally_context *context) {
    tally_buffer *unused;
    int bad = fails(tally_context_probe(context, ~0u), "the device", "tally_context_probe");
    for (int i = 0; i < 8 && !bad; i++)
        bad = fails(tally_buffer_create(context, 4096, &unused), "a place", "tally_buffer_create");
    return bad;
}

static const char about[] = "Every variant on a few items, for a tool that watches memory.\n"
                            "Before these arguments comes the SELECTION of a device, and as-cpu to take it for a CPU.";

int main(int argc, char **argv) {
    const int has_selection = argc > 1 && argv[1][0] != '-', of_one = argc > 2 && strcmp(argv[2], "as-cpu") == 0;
    const int own = has_selection + of_one;
    running r = {.of_one = of_one};
    const int status = test_choose(argc - own, argv + own, about, &r.choice);
    if (status >= 0) return status;
    if (!has_selection) return fprintf(stderr, "races: the selection of a device is missing; see --help\n"), TEST_WRONG_USAGE;
    r.choice.program = "races";
    setvbuf(stdout, NULL, _IOLBF, 0);
    if (fails(tally_context_create(argv[1], &r.context), argv[1], "tally_context_create")) return 1;
    if (r.of_one) r.context->info.device_class = TALLY_CLASS_CPU;
    if (fails(tally_context_get_info(r.context, &r.about), argv[1], "tally_context_get_info")) return 1;
    const tally_device_info *device = &r.about.device;
    printf("device: %s, %s, %s, %s\n", device->backend, device->name, device->platform,
           tally_device_class_name(device->device_class));
    if (!r.choice.list && hold_places(r.context)) return 1;
    int bad = 0;
    bad |= reduce_all(&r);
    bad |= move_all(&r);
    bad |= scan_all(&r);
    bad |= arrays_all(&r);
    if (!r.all && !r.listed) return test_none_chosen(&r.choice);
    if (r.choice.list) return 0;
    printf("races: %zu ran, %zu not for this device, of %zu\n", r.ran, r.skipped, r.all);
    return bad || !r.ran;
}
