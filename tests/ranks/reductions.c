/* SPDX-License-Identifier: MIT */
/* reductions.c: the result over ranks has the bits of one device's reduction of the whole, for any
 * op and shares, host arrays and buffers, on all ranks or a root, blocking or not. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ranks.h"

#define MOST_ITEMS 140000

/* ---- ops ------------------------------------------------------------------------------------- */

static const tally_op_desc weighted = {
    .size = sizeof(tally_op_desc), .name = "weighted", .identity = "-0.0f", .load = "x * (f32)(i % 7)", .combine = "a + b"};
static tally_custom_op *own;

typedef struct op_case {
    const char *name;
    tally_dtype in;
    tally_op op;
    tally_op second; /* fused with `op`, if not 0 */
    tally_accuracy accuracy;
    bool custom, compiled; /* compiled: `host` does not have it */
} op_case;

static const op_case op_cases[] = {
    {"f32 sum", TALLY_F32, .op = TALLY_SUM},
    {"f64 sum", TALLY_F64, .op = TALLY_SUM},
    {"f32 nrm2", TALLY_F32, .op = TALLY_NRM2},
    {"f32 var", TALLY_F32, .op = TALLY_VAR},
    {"f32 logsumexp", TALLY_F32, .op = TALLY_LOGSUMEXP},
    {"f32 argmax", TALLY_F32, .op = TALLY_ARGMAX},
    {"c64 sum", TALLY_C64, .op = TALLY_SUM},
    {"i32 minmax", TALLY_I32, .op = TALLY_MINMAX},
    {"f32 dot", TALLY_F32, .op = TALLY_DOT},
    {"f32 sum and var", TALLY_F32, .op = TALLY_SUM, .second = TALLY_VAR, .compiled = true},
    {"f32 compensated sum", TALLY_F32, .op = TALLY_SUM, .accuracy = TALLY_ACCURACY_COMPENSATED, .compiled = true},
    {"f32 one of one's own", TALLY_F32, .custom = true, .compiled = true},
};

static tally_reduce_desc describe(const op_case *c, tally_term_desc terms[2]) {
    if (c->custom) return (tally_reduce_desc){.size = sizeof(tally_reduce_desc), .custom = own, .in = c->in};
    terms[0] = (tally_term_desc){.op = c->op};
    terms[1] = (tally_term_desc){.op = c->second};
    if (c->second) return (tally_reduce_desc){.size = sizeof(tally_reduce_desc), .in = c->in, .terms = terms, .term_count = 2};
    return (tally_reduce_desc){.size = sizeof(tally_reduce_desc), .op = c->op, .in = c->in, .accuracy = c->accuracy};
}

/* ---- items and shares ------------------------------------------------------------------------ */

void fill(tally_dtype in, void *items, uint64_t n, uint64_t seed) {
    const uint64_t parts = in == TALLY_C64 ? 2 * n : n;
    for (uint64_t i = 0; i < parts; i++) {
        uint64_t h = (i + 1) * UINT64_C(0x9e3779b97f4a7c15) + seed;
        h = (h ^ h >> 31) * UINT64_C(0xbf58476d1ce4e5b9);
        const double value = ((double)(h >> 11) / 9007199254740992.0 - 0.5) * 16.0;
        if (in == TALLY_F64)
            ((double *)items)[i] = value;
        else if (in == TALLY_I32)
            ((int32_t *)items)[i] = (int32_t)(h >> 32);
        else
            ((float *)items)[i] = (float)value;
    }
}

static const char *const shape_names[SHAPES] = {"even", "random", "some empty", "shorter than a chunk", "of one rank"};

static int ascending(const void *a, const void *b) {
    const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

void cut(int size, uint64_t n, shape of, uint64_t *cuts) {
    for (int r = 0; r < size; r++) {
        uint64_t first = 0, count;
        if (of == EVEN)
            tally_share(n, (uint64_t)size, (uint64_t)r, &first, &count);
        else if (of == RANDOM || of == EMPTY)
            first = of == EMPTY && r % 2 && r > 1 ? cuts[r - 1] : draw(n + 1);
        else if (of == SHORT) /* the last one has the rest */
            first = (uint64_t)r * 1000 < n ? (uint64_t)r * 1000 : n;
        else
            first = r > size / 2 ? n : 0;
        cuts[r] = first;
    }
    cuts[0] = 0;
    cuts[size] = n;
    qsort(cuts, (size_t)size + 1, sizeof(*cuts), ascending);
}

/* ---- a reduction in all forms ---------------------------------------------------------------- */

typedef struct trial {
    const tester *t;
    const op_case *c;
    tally_mpi *mpi;
    tally_plan *plan;        /* of the whole */
    unsigned char *items[2]; /* the whole, of each input */
    tally_buffer *buffers[2], *out;
    uint32_t inputs;
    uint64_t n;
    uint64_t cuts[MOST_RANKS + 1];
    shape of;
    unsigned char expected[RESULT_BYTES];
    uint64_t result_bytes;
} trial;

static bool is_expected(const trial *x, const char *form, tally_status status, const unsigned char *result) {
    if (!check(x->t, status == TALLY_OK, "%s of %llu, shares %s, %s: %s", x->c->name, (unsigned long long)x->n,
               shape_names[x->of], form, tally_last_error()))
        return false;
    return check(x->t, memcmp(result, x->expected, x->result_bytes) == 0, "%s of %llu, shares %s, %s: other bits", x->c->name,
                 (unsigned long long)x->n, shape_names[x->of], form);
}

static tally_mpi_args args_of(const trial *x, bool buffers) {
    const uint64_t first = x->cuts[x->t->rank], item = tally_dtype_bytes(x->c->in);
    tally_mpi_args args = {.size = sizeof(args), .n = x->cuts[x->t->rank + 1] - first};
    for (uint32_t k = 0; k < x->inputs; k++) {
        args.items[k] = buffers ? NULL : x->items[k] + first * item;
        args.in[k] = buffers ? x->buffers[k] : NULL;
        args.in_offset[k] = buffers ? first : 0;
    }
    args.queue = buffers ? x->t->queue : NULL;
    return args;
}

static void try_forms(const trial *x) {
    unsigned char result[RESULT_BYTES], untouched[RESULT_BYTES];
    memset(untouched, 0xa5, sizeof(untouched));
    for (int buffers = 0; buffers < 2; buffers++) {
        const tally_mpi_args args = args_of(x, buffers);
        memset(result, 0xa5, sizeof(result));
        tally_status status = tally_mpi_allreduce(x->mpi, &args, result);
        is_expected(x, buffers ? "buffers" : "host", status, result);
        check(x->t, memcmp(result + x->result_bytes, untouched, RESULT_BYTES - x->result_bytes) == 0, "written beyond");

        memset(result, 0xa5, sizeof(result));
        status = tally_mpi_iallreduce(x->mpi, &args, result);
        if (!status) status = tally_mpi_wait(x->mpi);
        is_expected(x, "begun and waited for", status, result);
    }
    const int root = (int)draw((uint64_t)x->t->size);
    const tally_mpi_args args = args_of(x, x->n % 2);
    memset(result, 0xa5, sizeof(result));
    const tally_status status = tally_mpi_reduce(x->mpi, &args, root, root == x->t->rank ? result : NULL);
    if (root == x->t->rank)
        is_expected(x, "root", status, result);
    else
        check(x->t, !status, "not the root: %s", tally_last_error());
}

/* Reduces the whole on this rank's device alone. */
static tally_status expect(trial *x) {
    tally_reduce_args args = {.size = sizeof(args), .n = x->n, .out = x->out};
    tally_status status = TALLY_OK;
    for (uint32_t k = 0; k < x->inputs && !status; k++) {
        args.in[k] = x->buffers[k];
        status = tally_buffer_write(x->t->queue, x->buffers[k], 0, x->items[k], x->n * tally_dtype_bytes(x->c->in));
    }
    if (!status) status = tally_reduce_with(x->plan, x->t->queue, &args);
    if (!status) status = tally_buffer_read(x->t->queue, x->out, 0, x->expected, x->result_bytes);
    return status ? status : tally_queue_wait(x->t->queue);
}

/* Shares of equal lengths that lie elsewhere in each call but the third: those in buffers are
 * enqueued before the ranks know where they lie. */
static void try_moved(trial *x) {
    static const uint64_t first_shares[] = {1500, 4096, 4096, 0, 9000};
    unsigned char result[RESULT_BYTES];
    x->of = RANDOM;
    for (size_t i = 0; i < sizeof(first_shares) / sizeof(first_shares[0]); i++) {
        for (int r = 1; r <= x->t->size; r++) x->cuts[r] = first_shares[i] + 1500 * (uint64_t)(r - 1);
        x->n = x->cuts[x->t->size];
        if (!on_all(check(x->t, !expect(x), "%s: %s", x->c->name, tally_last_error()))) return;
        const tally_mpi_args args = args_of(x, true);
        is_expected(x, "moved", tally_mpi_allreduce(x->mpi, &args, result), result);
    }
}

static tally_status open_trial(trial *x) {
    tally_term_desc terms[2];
    const tally_reduce_desc desc = describe(x->c, terms);
    x->inputs = x->c->custom ? 1 : tally_op_inputs(x->c->op);
    const uint64_t bytes = MOST_ITEMS * tally_dtype_bytes(x->c->in);
    tally_status status = tally_mpi_create(MPI_COMM_WORLD, x->t->context, &desc, &x->mpi);
    if (!status) status = tally_plan_create(x->t->context, &desc, &x->plan);
    if (!status) x->result_bytes = tally_plan_result_bytes(x->plan);
    if (!status) status = tally_buffer_create(x->t->context, x->result_bytes, &x->out);
    for (uint32_t k = 0; k < x->inputs && !status; k++) {
        x->items[k] = malloc(bytes);
        fill(x->c->in, x->items[k], MOST_ITEMS, k);
        status = tally_buffer_create(x->t->context, bytes, &x->buffers[k]);
    }
    return status;
}

static void try_op(const tester *t, const op_case *c) {
    static const uint64_t lengths[] = {0, 1, 777, 4096, 5000, 3 * 4096, 40961, 133337};
    trial x = {.t = t, .c = c};
    const bool opened = on_all(check(t, !open_trial(&x), "%s: %s", c->name, tally_last_error()));
    if (opened)
        for (size_t i = 0; i < sizeof(lengths) / sizeof(lengths[0]); i++) {
            x.n = lengths[i];
            if (!on_all(check(t, !expect(&x), "%s: %s", c->name, tally_last_error()))) break;
            for (x.of = 0; x.of < SHAPES; x.of++) {
                if (t->crowded && draw((uint64_t)t->size * 2)) continue;
                cut(t->size, x.n, x.of, x.cuts);
                try_forms(&x);
            }
        }
    if (opened) try_moved(&x);
    for (uint32_t k = 0; k < x.inputs; k++) {
        tally_buffer_destroy(x.buffers[k]);
        free(x.items[k]);
    }
    tally_buffer_destroy(x.out);
    tally_plan_destroy(x.plan);
    tally_mpi_destroy(x.mpi);
}

void test_reductions(const tester *t) {
    check(t, tally_op_create(&weighted, &own) == TALLY_OK, "%s", tally_last_error());
    for (size_t i = 0; i < sizeof(op_cases) / sizeof(op_cases[0]); i++)
        if (t->compiles || !op_cases[i].compiled) try_op(t, &op_cases[i]);
    tally_op_destroy(own);
}
