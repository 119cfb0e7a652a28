/* SPDX-License-Identifier: MIT */
/*
 * items.c: the items for the study of reductions and scans. The oracle defines the result and
 * the combination of each operator; no operator is named here.
 *
 * Operators whose result does not depend on the order of combination have random items. Their
 * result must have the oracle's bits.
 *
 * The other operators have items that round as little as possible. These are whole numbers from -2
 * to 2, thinned out so that the sum of their terms' magnitudes stays below 2^24 (for f32) as long
 * as possible. Then no partial of any order is rounded, and every variant must give the oracle's
 * value. Random fractions could be checked only by the bound of docs/numerics.md. That bound
 * accepts any result where one word takes up all items (gamma(n), n = 3 * 2^22: 3).
 *
 * Factors of a product are 1, -1 and some powers of two. Moments, exponentials and very many items
 * round in any case.
 */
#include "items.h"

#include <math.h>
#include <string.h>

#include "oracle/patterns.h"

#define MOST_THINNING 3 /* 1 item in 8 stays; f32 sums of over 2^26 items are rounded */
#define SAMPLE_ITEMS ((uint64_t)16 * TALLY_CHUNK_ITEMS)
#define SAMPLE_SLACK 1.01 /* upper limit of the mean magnitude over that of a sample */

/* ---- items ----------------------------------------------------------------------------------- */

/* Makes random bits for integers, and random numbers for floats, where a NaN would hide the
 * rest. */
static void make_random(tally_dtype in, uint64_t i, unsigned char *item) {
    const uint64_t random = pattern_random(i);
    const size_t bytes = tally_dtype_bytes(in);
    const uint64_t bits = in == TALLY_BOOL ? random >> 63 : random >> (64 - 8 * bytes);
    if (in == TALLY_F16 || in == TALLY_BF16 || in == TALLY_F32 || in == TALLY_F64)
        cli_part_store(in, (double)(int64_t)random * 0x1p-53, item);
    else
        memcpy(item, &bits, bytes);
}

/* Chooses the two parts of a whole number; a real type uses the first. Factors are units, and twice
 * a unit at places that are powers of two. */
static void choose_parts(const study_recipe *r, uint64_t i, double parts[2]) {
    const uint64_t random = pattern_random(i);
    const double unit = random & 1 ? 1 : -1;
    const bool is_thin = (random >> 40 & ((UINT64_C(1) << r->thinning) - 1)) != 0;
    switch (r->shape) {
    case ORACLE_PRODUCT:
        parts[0] = unit * (i & (i - 1) ? 1 : 2);
        parts[1] = 0;
        break;
    case ORACLE_COMPLEX_PRODUCT: /* 1, i, -1, -i */
        parts[0] = random & 2 ? unit : 0;
        parts[1] = random & 2 ? 0 : unit;
        break;
    case ORACLE_ADDED:
    case ORACLE_TWOFOLD:
    case ORACLE_MOMENTS:
    case ORACLE_EXPONENTIALS:
        for (int k = 0; k < 2; k++) parts[k] = is_thin ? 0 : (double)((int)((random >> 8 * k) % 5) - 2);
        break;
    }
}

static void make_whole(const study_recipe *r, uint64_t i, unsigned char *item) {
    const tally_dtype in = r->what.in, part = cli_part_dtype(in);
    const size_t bytes = tally_dtype_bytes(part);
    double parts[2];
    choose_parts(r, i, parts);
    if (in == TALLY_BOOL)
        parts[0] = parts[0] != 0;
    else if (in == TALLY_U8 || in == TALLY_U16 || in == TALLY_U32 || in == TALLY_U64)
        parts[0] = fabs(parts[0]);
    for (size_t k = 0; k * bytes < tally_dtype_bytes(in); k++) cli_part_store(part, parts[k], item + k * bytes);
}

void study_items_make(const study_recipe *r, uint64_t first, uint64_t count, unsigned char *items) {
    const size_t bytes = tally_dtype_bytes(r->what.in);
    for (uint64_t i = 0; i < count; i++) {
        if (r->exact)
            make_random(r->what.in, first + i, items + i * bytes);
        else
            make_whole(r, first + i, items + i * bytes);
    }
}

/* ---- rounding -------------------------------------------------------------------------------- */

/* Returns the mean magnitude of the terms that items load as, for the field where it is largest.
 * Returns infinity if some terms are not whole numbers. */
static double mean_magnitude(const study_recipe *r) {
    static _Alignas(16) unsigned char items[TALLY_CHUNK_ITEMS * 16];
    static double fields[ORACLE_FIELDS][TALLY_CHUNK_ITEMS];
    const void *const inputs[2] = {items, items};
    double sums[ORACLE_FIELDS] = {0}, most = 0;
    for (uint64_t first = 0; first < SAMPLE_ITEMS; first += TALLY_CHUNK_ITEMS) {
        study_items_make(r, first, TALLY_CHUNK_ITEMS, items);
        memset(fields, 0, sizeof(fields));
        oracle_load(&r->what, inputs, TALLY_CHUNK_ITEMS, fields);
        for (int f = 0; f < ORACLE_FIELDS; f++)
            for (int i = 0; i < TALLY_CHUNK_ITEMS; i++) {
                if (fields[f][i] != nearbyint(fields[f][i])) return (double)INFINITY;
                sums[f] += fabs(fields[f][i]);
            }
    }
    for (int f = 0; f < ORACLE_FIELDS; f++) most = fmax(most, sums[f] / (double)SAMPLE_ITEMS);
    return most;
}

study_recipe study_recipe_for(const study_request *request, uint64_t n) {
    study_recipe r = {.what = {.op = request->op, .in = request->dtype}};
    r.exact = oracle_is_exact(&r.what);
    r.shape = oracle_shape_of(&r.what);
    if (r.exact || r.shape == ORACLE_PRODUCT || r.shape == ORACLE_COMPLEX_PRODUCT) return r;
    r.rounds = true;
    if (r.shape != ORACLE_ADDED) return r;
    const double most = oracle_float(&r.what) == TALLY_F32 ? 0x1p24 : 0x1p53;
    for (;; r.thinning++) {
        r.rounds = mean_magnitude(&r) * (double)n * SAMPLE_SLACK > most;
        if (!r.rounds || r.thinning == MOST_THINNING) return r;
    }
}
