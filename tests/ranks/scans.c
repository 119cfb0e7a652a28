/* SPDX-License-Identifier: MIT */
/* scans.c: scans over the ranks beside tally_scan of the whole on one device, to the bit; and the
 * errors of one rank, which all return. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ranks.h"

#define TAIL 777
#define MOST_ITEMS (7 * (uint64_t)TALLY_SCAN_BLOCK + TAIL)

static const float initial = 0.1f;

typedef struct scan_case {
    const char *name;
    tally_dtype in;
    tally_op op;
    uint32_t flags;
    const void *initial;
} scan_case;
static const scan_case cases[] = {{"f32 sum", TALLY_F32, TALLY_SUM, 0, NULL},
                                  {"f32 sum, exclusive", TALLY_F32, TALLY_SUM, TALLY_EXCLUSIVE, &initial},
                                  {"f64 var", TALLY_F64, TALLY_VAR, TALLY_EXCLUSIVE, NULL},
                                  {"f32 argmax", TALLY_F32, TALLY_ARGMAX, 0, NULL},
                                  {"i32 min", TALLY_I32, TALLY_MIN, 0, NULL},
                                  {"f32 nrm2", TALLY_F32, TALLY_NRM2, 0, NULL}};

static tally_scan_desc describe(const scan_case *c) {
    return (tally_scan_desc){.size = sizeof(tally_scan_desc),
                             .op = c->op,
                             .in = c->in,
                             .flags = c->flags,
                             .initial = c->initial,
                             .max_n = MOST_ITEMS};
}

/* Scans the whole on this rank's device. */
static tally_status expect(const tester *t, const scan_case *c, const void *items, uint64_t n, void *values, uint64_t *bytes) {
    const tally_scan_desc desc = describe(c);
    tally_plan *plan = NULL;
    tally_buffer *in = NULL, *out = NULL;
    tally_status status = tally_scan_plan_create(t->context, &desc, &plan);
    *bytes = status ? 0 : tally_plan_result_bytes(plan);
    if (!status) status = tally_buffer_create(t->context, n * tally_dtype_bytes(c->in) + 1, &in);
    if (!status) status = tally_buffer_create(t->context, n * *bytes + 1, &out);
    if (!status) status = tally_buffer_write(t->queue, in, 0, items, n * tally_dtype_bytes(c->in));
    if (!status) status = tally_scan(plan, t->queue, in, n, out);
    if (!status) status = tally_buffer_read(t->queue, out, 0, values, n * *bytes);
    if (!status) status = tally_queue_wait(t->queue);
    tally_buffer_destroy(in);
    tally_buffer_destroy(out);
    tally_plan_destroy(plan);
    return status;
}

/* Cuts n items at multiples of the block. Some shares are empty. */
static void cut_blocks(int size, uint64_t n, uint64_t *cuts) {
    const uint64_t blocks = (n + TALLY_SCAN_BLOCK - 1) / TALLY_SCAN_BLOCK;
    cuts[0] = 0;
    for (int r = 1; r < size; r++) {
        const uint64_t at = draw(blocks + 1) * TALLY_SCAN_BLOCK;
        cuts[r] = at < n ? at : n;
        for (int i = r; i > 1 && cuts[i] < cuts[i - 1]; i--) {
            const uint64_t swapped = cuts[i];
            cuts[i] = cuts[i - 1];
            cuts[i - 1] = swapped;
        }
    }
    cuts[size] = n;
}

static void try_shares(const tester *t, const scan_case *c, tally_mpi_scanner *scanner, const unsigned char *items, uint64_t n,
                       const unsigned char *expected, uint64_t bytes) {
    uint64_t cuts[MOST_RANKS + 1];
    cut_blocks(t->size, n, cuts);
    const uint64_t first = cuts[t->rank], own = cuts[t->rank + 1] - first;
    unsigned char *values = malloc(own * bytes + 1);
    memset(values, 0x5a, own * bytes + 1);
    const tally_mpi_scan_args args = {
        .size = sizeof(args), .n = own, .items = items + first * tally_dtype_bytes(c->in), .values = values};
    const tally_status status = tally_mpi_scan(scanner, &args);
    check(t, !status, "a scan, %s: %s", c->name, tally_last_error());
    check(t, memcmp(values, expected + first * bytes, own * bytes) == 0, "a scan, %s of %llu items: other bits from %llu on",
          c->name, (unsigned long long)n, (unsigned long long)first);
    check(t, values[own * bytes] == 0x5a, "a scan, %s: a byte behind the values", c->name);
    free(values);
}

void test_scans(const tester *t) {
    static const uint64_t lengths[] = {MOST_ITEMS, 0, 5, 2 * TALLY_SCAN_BLOCK};
    unsigned char *items = malloc(MOST_ITEMS * 8), *expected = malloc(MOST_ITEMS * 8);
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        const scan_case *c = &cases[i];
        tally_scan_desc desc = describe(c);
        tally_mpi_scanner *scanner = NULL;
        if (t->crowded && i % 3) continue;
        desc.max_n = 2 * TALLY_SCAN_BLOCK; /* a share takes several pieces */
        fill(c->in, items, MOST_ITEMS, 3 + i);
        const tally_status status = tally_mpi_scanner_create(MPI_COMM_WORLD, t->context, &desc, &scanner);
        if (!on_all(check(t, !status, "a scan, %s: %s", c->name, tally_last_error()))) continue;
        for (size_t l = 0; l < 4; l++) {
            uint64_t bytes;
            const tally_status whole = expect(t, c, items, lengths[l], expected, &bytes);
            if (!on_all(check(t, !whole, "%s: %s", c->name, tally_last_error()))) break;
            for (int k = 0; k < (l ? 1 : 3); k++) try_shares(t, c, scanner, items, lengths[l], expected, bytes);
        }
        tally_mpi_scanner_destroy(scanner);
    }
    free(expected);
    free(items);
}

/* ---- errors ---------------------------------------------------------------------------------- */

static void expect_refused(const tester *t, const char *what, tally_status status, tally_status wanted, const char *text) {
    check(t, status == wanted, "a scan, %s: status %d, not %d: %s", what, (int)status, (int)wanted, tally_last_error());
    check(t, strstr(tally_last_error(), text) != NULL, "a scan, %s: '%s' has no '%s'", what, tally_last_error(), text);
}

static void refuse_descriptors(const tester *t, const tally_scan_desc *sum) {
    const int last = t->size - 1;
    tally_mpi_scanner *scanner = NULL;
    char text[64];
    tally_scan_desc desc = *sum;
    snprintf(text, sizeof(text), "rank %d: a reverse scan", last);
    if (t->rank == last) desc.flags = TALLY_REVERSE;
    expect_refused(t, "reverse", tally_mpi_scanner_create(MPI_COMM_WORLD, t->context, &desc, &scanner), TALLY_E_UNSUPPORTED,
                   text);
    desc = *sum;
    snprintf(text, sizeof(text), "rank %d: segments", last);
    if (t->rank == last) desc.segments = TALLY_SEGMENTS_FLAGS;
    expect_refused(t, "segments", tally_mpi_scanner_create(MPI_COMM_WORLD, t->context, &desc, &scanner), TALLY_E_UNSUPPORTED,
                   text);
    snprintf(text, sizeof(text), "rank %d: context is NULL", last);
    expect_refused(t, "no device", tally_mpi_scanner_create(MPI_COMM_WORLD, t->rank == last ? NULL : t->context, sum, &scanner),
                   TALLY_E_NO_DEVICE, text);
    desc = *sum;
    snprintf(text, sizeof(text), "rank %d: it reduces", last);
    if (t->rank == last) desc.op = TALLY_MAX;
    if (t->size > 1)
        expect_refused(t, "another op", tally_mpi_scanner_create(MPI_COMM_WORLD, t->context, &desc, &scanner), TALLY_E_ARGUMENT,
                       text);
    check(t, !scanner, "a scanner in spite of an error");
}

void test_scan_faults(const tester *t) {
    const int last = t->size - 1;
    const tally_scan_desc sum = {.size = sizeof(sum), .op = TALLY_SUM, .in = TALLY_F32, .max_n = TALLY_SCAN_BLOCK};
    float *items = calloc(TALLY_SCAN_BLOCK, sizeof(float));
    tally_mpi_scanner *scanner = NULL;
    char text[64];
    refuse_descriptors(t, &sum);
    const tally_status status = tally_mpi_scanner_create(MPI_COMM_WORLD, t->context, &sum, &scanner);
    if (on_all(check(t, !status, "a scan: %s", tally_last_error()))) {
        tally_mpi_scan_args args = {.size = sizeof(args), .n = 100, .items = items, .values = items};
        snprintf(text, sizeof(text), "rank 1: its share begins at item 100");
        if (t->size > 1) expect_refused(t, "shares", tally_mpi_scan(scanner, &args), TALLY_E_UNSUPPORTED, text);
        snprintf(text, sizeof(text), "rank %d: values is NULL", last);
        if (t->rank == last) args.values = NULL;
        expect_refused(t, "no values", tally_mpi_scan(scanner, &args), TALLY_E_ARGUMENT, text);
        snprintf(text, sizeof(text), "rank %d: args is NULL", last);
        expect_refused(t, "no args", tally_mpi_scan(scanner, t->rank == last ? NULL : &args), TALLY_E_ARGUMENT, text);
        for (int i = 0; i < TALLY_SCAN_BLOCK; i++) items[i] = 1;
        args.n = TALLY_SCAN_BLOCK;
        args.values = items;
        check(t, !tally_mpi_scan(scanner, &args), "a scan after errors: %s", tally_last_error());
        const float wanted = (float)(t->rank + 1) * TALLY_SCAN_BLOCK;
        check(t, items[TALLY_SCAN_BLOCK - 1] == wanted, "a scan after errors: %g, not %g", (double)items[TALLY_SCAN_BLOCK - 1],
              (double)wanted);
    }
    tally_mpi_scanner_destroy(scanner);
    tally_mpi_scanner_destroy(NULL);
    check(t, tally_mpi_scan(NULL, NULL) == TALLY_E_ARGUMENT, "scanner NULL");
    free(items);
}
