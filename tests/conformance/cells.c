/* SPDX-License-Identifier: MIT */
#include "cells.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/support/sample.h"

/* ---- the cells of a run ---------------------------------------------------------------------- */

/*
 * A program takes a device's compiler up to a second. So not every variant has every op and dtype
 * in every run:
 *   ALL     every variant with every op and dtype, the canonical ones with every accumulator and
 *           accuracy too. Other groups are sampled: all would be some 30,000 programs
 *           (TALLY_TEST_FULL).
 *   PART    the default variant has every op and dtype. The other canonical one has every op with
 *           f32 and with another dtype, and every dtype with sum and argmax. The ladder's have one
 *           of each accumulator's shape and type. Other groups, accumulators and accuracies are
 *           sampled.
 *   SECOND  the same device again, with POCL's other way to make loops of work-groups: samples, and
 *           few of the default variant, whose groups have one thread
 *   SMOKE   a run under sanitizers (TALLY_TEST_QUICK)
 */
typedef enum tier { ALL, PART, SECOND, SMOKE } tier;

static tier tier_of_run(void) {
    if (full()) return ALL;
    if (quick()) return SMOKE;
    return getenv("POCL_WORK_GROUP_METHOD") ? SECOND : PART;
}

/* Every op with f32, or with u8 if it takes no floats; every dtype with sum; complex items with
 * prod and dotc. */
static int is_sample(tally_op op, tally_dtype in) {
    const oracle_case with_float = {.op = op, .in = TALLY_F32};
    if (op == TALLY_SUM) return 1;
    if (in == TALLY_C64 || in == TALLY_C128) return op == TALLY_PROD || op == TALLY_DOTC;
    return in == (oracle_takes(&with_float) ? TALLY_F32 : TALLY_U8);
}

/* A wider sample: every op with another dtype, in turn; every real dtype with argmax. */
static int is_wider_sample(tally_op op, tally_dtype in) {
    static const tally_dtype others[] = {TALLY_I8, TALLY_F64, TALLY_U16, TALLY_BF16, TALLY_I64,  TALLY_F16,
                                         TALLY_U8, TALLY_I32, TALLY_U64, TALLY_I16,  TALLY_BOOL, TALLY_U32};
    return op == TALLY_ARGMAX || in == others[(size_t)op % TALLY_ARRAY_LENGTH(others)] || is_sample(op, in);
}

int cells_want_pair(tally_op op, tally_dtype in) {
    const oracle_case what = {.op = op, .in = in};
    const tier run = tier_of_run();
    char name[64];
    if (!oracle_takes(&what)) return 0;
    snprintf(name, sizeof name, "%s %s", tally_op_name(op), tally_dtype_name(in));
    return run == ALL || is_sample(op, in) || (run == PART && sample_takes(name));
}

/* One of each accumulator's shape and type, of item sizes, numbers of inputs and kinds of
 * atomics. */
static const struct {
    tally_op op;
    tally_dtype in;
    tally_dtype acc;
    tally_accuracy accuracy;
    tier last; /* the last run that has the shape */
} shapes[] = {
    {TALLY_SUM, TALLY_F32, 0, 0, SMOKE},        {TALLY_SUM, TALLY_I64, 0, 0, SMOKE},   {TALLY_SUM, TALLY_F64, 0, 0, PART},
    {TALLY_SUM, TALLY_I8, 0, 0, PART},          {TALLY_MIN, TALLY_F16, 0, 0, SECOND},  {TALLY_MAX, TALLY_I32, 0, 0, PART},
    {TALLY_MIN, TALLY_I64, 0, 0, PART},         {TALLY_ANY, TALLY_U8, 0, 0, PART},     {TALLY_MINMAX, TALLY_F32, 0, 0, PART},
    {TALLY_LOGSUMEXP, TALLY_F32, 0, 0, PART},   {TALLY_SUM, TALLY_C64, 0, 0, SECOND},  {TALLY_DOT, TALLY_F32, 0, 0, SECOND},
    {TALLY_ALLCLOSE, TALLY_F32, 0, 0, PART},    {TALLY_PROD, TALLY_BF16, 0, 0, PART},  {TALLY_SUM, TALLY_F32, 0, 1, SECOND},
    {TALLY_ARGMAX, TALLY_F32, 0, 0, SECOND},    {TALLY_ARGMIN, TALLY_F64, 0, 0, PART}, {TALLY_IAMAX, TALLY_U64, 0, 0, PART},
    {TALLY_ARGMIN, TALLY_I16, 0, 0, PART},      {TALLY_NRM2, TALLY_F32, 0, 0, PART},   {TALLY_VAR, TALLY_F64, 0, 0, PART},
    {TALLY_MINMAX, TALLY_F64, 0, 0, PART},      {TALLY_PROD, TALLY_C128, 0, 0, PART},  {TALLY_DOTC, TALLY_C128, 0, 0, PART},
    {TALLY_SUM, TALLY_F32, TALLY_F64, 0, PART}, {TALLY_DOT, TALLY_F64, 0, 1, PART},    {TALLY_MEAN, TALLY_U16, 0, 0, PART},
    {TALLY_VAR, TALLY_I8, 0, 0, PART},          {TALLY_STD, TALLY_I16, 0, 0, PART},    {TALLY_NRM2, TALLY_I32, 0, 0, PART},
};

static int is_shape(const oracle_case *what, tier run) {
    for (size_t s = 0; s < TALLY_ARRAY_LENGTH(shapes); s++)
        if (shapes[s].op == what->op && shapes[s].in == what->in && shapes[s].acc == what->acc &&
            shapes[s].accuracy == what->accuracy && run <= shapes[s].last)
            return 1;
    return 0;
}

static int is_pair(const oracle_case *what, tally_op op, tally_dtype in) {
    return what->op == op && what->in == in && !what->acc && !what->accuracy;
}

/* Accumulators and accuracies other than the default, on the default variant: every op that has
 * them with f32 and c64, sums of other floats. */
static int is_special_wanted(const oracle_case *what) {
    if (what->acc && what->accuracy) return what->op == TALLY_DOT && what->in == TALLY_F32;
    if (what->in == TALLY_C64) return 1;
    return what->in == TALLY_F32 || what->op == TALLY_SUM || (what->accuracy && what->in == TALLY_F64);
}

/* A canonical variant. In the run SECOND those other than the default one have more cells, as there
 * the method matters. */
static int is_canonical_wanted(const oracle_case *what, int is_auto, int is_default, tier run) {
    if (what->acc || what->accuracy)
        return is_auto && run == PART ? is_special_wanted(what) : is_shape(what, run) && !is_default;
    if (is_auto) return run == PART || (run == SMOKE ? is_sample(what->op, what->in) : is_shape(what, run));
    if (is_default || run == SMOKE) return is_shape(what, run);
    return is_shape(what, run) || (run == PART ? is_wider_sample(what->op, what->in) : is_sample(what->op, what->in));
}

/* Group sizes besides the variant's own, for variants shaped by group size. */
static const uint32_t other_groups[] = {32, 64, 1024};

static int is_group_wanted(const oracle_case *what, int is_canonical, uint32_t group_threads, tier run) {
    if (run == SMOKE) return 0;
    if (run == ALL)
        return is_shape(what, run) || (is_canonical && !what->acc && !what->accuracy && is_wider_sample(what->op, what->in));
    if (is_pair(what, TALLY_SUM, TALLY_F32)) return run == PART || group_threads == 1024;
    if (run == SECOND || group_threads == 64 || !is_canonical) return 0;
    return is_pair(what, TALLY_SUM, TALLY_U8) || is_pair(what, TALLY_ARGMIN, TALLY_BF16) ||
           is_pair(what, TALLY_DOT, TALLY_F64) || is_pair(what, TALLY_PROD, TALLY_C128);
}

static int is_wanted(const place *at, const tally_variant *row, uint32_t group_threads, const oracle_case *what, tier run) {
    const tally_variant *usual = NULL;
    if (!oracle_takes(what)) return 0;
    if (group_threads) return is_group_wanted(what, row->info.canonical, group_threads, run);
    if (row && !row->info.canonical) return is_shape(what, run) || (run == ALL && !what->acc && !what->accuracy);
    if (run == ALL) return 1;
    if (tally_variant_find("auto", &at->info, &usual) != TALLY_OK) abort();
    return is_canonical_wanted(what, !row, row == usual, run);
}

/* ---- the list of cells ----------------------------------------------------------------------- */

/* With TALLY_TEST_SHARE=K/N this run has each Nth cell, from the Kth on. K is `turn` for the share
 * whose turn it is in a sampled run; other runs then have all cells. */
typedef struct list {
    cell *cells; /* NULL: only counts */
    size_t count;
    size_t wanted; /* cells of all shares */
    size_t share, shares;
} list;

static void read_share(list *l) {
    const char *text = getenv("TALLY_TEST_SHARE");
    l->shares = 1;
    if (text && sscanf(text, "%zu/%zu", &l->share, &l->shares) == 2 && l->share < l->shares) return;
    const bool takes_turns = text && sscanf(text, "turn/%zu", &l->shares) == 1 && l->shares;
    if (takes_turns && sample_parts() > 1) {
        l->share = sample_seed() % l->shares;
        return;
    }
    static bool is_told;
    if (text && *text && !takes_turns && !is_told)
        fprintf(stderr, "TALLY_TEST_SHARE=%s is neither K/N nor turn/N: everything runs\n", text);
    is_told = true;
    l->share = 0;
    l->shares = 1;
}

int cells_share_has(size_t test) {
    list l = {0};
    read_share(&l);
    return test % l.shares == l.share;
}

static void name_cell(cell *c) {
    char group[16] = "";
    if (c->group_threads) snprintf(group, sizeof group, "/%u", c->group_threads);
    snprintf(c->name, sizeof c->name, "%s %s%s %s %s%s%s%s", c->at->select, c->variant, group, tally_op_name(c->what.op),
             tally_dtype_name(c->what.in), c->what.acc ? " in " : "", c->what.acc ? tally_dtype_name(c->what.acc) : "",
             c->what.accuracy ? " compensated" : "");
}

/* Adds the cell if the run wants it. A sampled run (TALLY_TEST_PART) takes it if it is in the
 * sample or in every run. row: NULL for auto. */
static void add_cell(list *l, const place *at, const tally_variant *row, uint32_t group_threads, const oracle_case *what) {
    if (!is_wanted(at, row, group_threads, what, tier_of_run())) return;
    cell c = {.at = at, .variant = row ? row->info.name : "auto", .group_threads = group_threads, .what = *what};
    c.state = CELL_FAILED;
    name_cell(&c);
    const int is_pair_alone = !row && !what->acc && !what->accuracy; /* its program serves other tests */
    const int is_taken = is_pair_alone ? cells_want_pair(what->op, what->in) : sample_takes(c.name);
    if (!is_taken && !is_wanted(at, row, group_threads, what, SMOKE)) return;
    if (l->wanted++ % l->shares != l->share) return;
    if (l->cells) l->cells[l->count] = c;
    l->count++;
}

/* Adds the cells of a variant; row: NULL for auto. */
static void add(list *l, const place *at, const tally_variant *row, uint32_t group_threads) {
    static const tally_dtype accs[] = {TALLY_DTYPE_DEFAULT, TALLY_F64};
    oracle_case what = {0};
    for (what.op = TALLY_OP_NONE + 1; what.op < TALLY_OP_END; what.op++)
        for (what.in = TALLY_DTYPE_DEFAULT + 1; what.in < TALLY_DTYPE_END; what.in++)
            for (what.accuracy = 0; what.accuracy < TALLY_ACCURACY_END; what.accuracy++)
                for (size_t a = 0; a < TALLY_ARRAY_LENGTH(accs); a++) {
                    what.acc = accs[a];
                    /* TALLY_F64 changes nothing for these. */
                    if (what.acc && (what.in == TALLY_F64 || what.in == TALLY_C128)) continue;
                    add_cell(l, at, row, group_threads, &what);
                }
}

static void enumerate(list *l, const place *places, int place_count) {
    for (int p = 0; p < place_count; p++) {
        add(l, &places[p], NULL, 0);
        for (size_t v = 0; v < tally_variant_count(); v++) {
            const tally_variant *row = tally_variant_row(v);
            if (!tally_kernel_text(places[p].backend, row->info.stem)) continue;
            add(l, &places[p], row, 0);
            for (size_t g = 0; row->info.group_threads > 1 && g < TALLY_ARRAY_LENGTH(other_groups); g++)
                if (other_groups[g] != row->info.group_threads) add(l, &places[p], row, other_groups[g]);
        }
    }
}

cell *cells_create(const place *places, int count, size_t *cells) {
    list l = {0};
    read_share(&l);
    enumerate(&l, places, count);
    *cells = l.count;
    l.cells = calloc(l.count ? l.count : 1, sizeof *l.cells);
    if (!l.cells) abort();
    l.count = l.wanted = 0;
    enumerate(&l, places, count);
    return l.cells;
}

int cell_is_deep(const cell *c) {
    static const struct {
        tally_op op;
        tally_dtype in;
    } deep[] = {{TALLY_SUM, TALLY_F32},    {TALLY_SUM, TALLY_F64},  {TALLY_SUM, TALLY_I8},   {TALLY_MIN, TALLY_F16},
                {TALLY_ARGMAX, TALLY_F32}, {TALLY_NRM2, TALLY_F32}, {TALLY_VAR, TALLY_F64},  {TALLY_SUM, TALLY_C128},
                {TALLY_DOT, TALLY_F32},    {TALLY_ALL, TALLY_BOOL}, {TALLY_SUM, TALLY_BF16}, {TALLY_MAX, TALLY_U64},
                {TALLY_VAR, TALLY_I8},     {TALLY_STD, TALLY_U32}};
    for (size_t d = 0; d < TALLY_ARRAY_LENGTH(deep); d++)
        if (is_pair(&c->what, deep[d].op, deep[d].in)) return 1;
    return 0;
}

/* ---- the report ------------------------------------------------------------------------------ */

static void report_causes(const cell *cells, size_t count) {
    for (size_t c = 0; c < count; c++) {
        if (cells[c].state != CELL_SKIPPED) continue;
        size_t first = 0, same = 0;
        while (cells[first].state != CELL_SKIPPED || strcmp(cells[first].cause, cells[c].cause) != 0) first++;
        if (first < c) continue;
        for (size_t other = c; other < count; other++)
            same += cells[other].state == CELL_SKIPPED && strcmp(cells[other].cause, cells[c].cause) == 0;
        printf("skipped %zu: %s (the first: %s)\n", same, cells[c].cause, cells[c].name);
    }
}

int cells_lack_f64(const oracle_case *what, const tally_device_info *info) {
    const int of_f64 = what->in == TALLY_F64 || what->in == TALLY_C128 || what->acc == TALLY_F64;
    const int of_integers = what->in != TALLY_F16 && what->in != TALLY_BF16 && what->in != TALLY_F32 && what->in != TALLY_C64;
    /* nrm2, mean and the like give f64 of integers, and allclose computes them as f64. */
    const int in_f64 = of_f64 || oracle_result_dtype(what) == TALLY_F64 || oracle_float(what) == TALLY_F64 ||
                       (what->op == TALLY_ALLCLOSE && of_integers);
    return in_f64 && !info->has_f64;
}

/* Returns the accumulator's bytes, which an atomic must be as wide as. This does not ask the
 * library's tables. */
static size_t accumulator_bytes(const oracle_case *what) {
    const tally_dtype real = oracle_float(what);
    const size_t item = tally_dtype_bytes(what->in), one = real == TALLY_F32 ? 4 : 8;
    const int is_complex = what->in == TALLY_C64 || what->in == TALLY_C128;
    switch (what->op) {
    case TALLY_ARGMIN:
    case TALLY_ARGMAX:
    case TALLY_IAMAX:
        return 16; /* a value and an index */
    case TALLY_MIN:
    case TALLY_MAX:
    case TALLY_NANMIN:
    case TALLY_NANMAX:
    case TALLY_AMAX:
    case TALLY_BAND:
    case TALLY_BOR:
    case TALLY_BXOR:
        return item == 8 || what->acc ? 8 : 4;
    case TALLY_MINMAX:
        return item == 8 || what->acc ? 16 : 8;
    case TALLY_ANY:
    case TALLY_ALL:
    case TALLY_ALLCLOSE:
        return 4;
    case TALLY_VAR:
    case TALLY_STD:
        return 4 * one;
    case TALLY_NRM2:
        return oracle_is_exact(what) ? 16 : 3 * one;
    case TALLY_MEAN:
        return is_complex || what->accuracy || (oracle_is_exact(what) && item == 4) ? 2 * one : one;
    case TALLY_LOGSUMEXP:
        return 2 * one;
    case TALLY_PROD:
        return is_complex ? 3 * one : one;
    case TALLY_ASUM:
    case TALLY_SUMSQ:
        return what->accuracy ? 2 * one : one;
    default:
        return is_complex || what->accuracy ? 2 * one : one;
    }
}

/* Returns whether the cell must run: its variant has kernels for this backend and serves this class
 * of device (auto always does), and the device has the needed features. The backend `host` has the
 * ops' own accumulators alone. */
static int is_owed(const cell *c) {
    const tally_device_info *info = &c->at->info;
    if (c->group_threads || cells_lack_f64(&c->what, info)) return 0;
    if (strcmp(info->backend, "host") == 0 && (c->what.acc || c->what.accuracy)) return 0;
    if (strcmp(c->variant, "auto") == 0) return 1;
    const tally_variant *row = NULL;
    if (tally_variant_find(c->variant, info, &row) != TALLY_OK) abort();
    const size_t bytes = accumulator_bytes(&c->what);
    if (row->stage == TALLY_STAGE_ATOMIC && (bytes > 8 || (bytes == 8 && !info->has_atomic64))) return 0;
    return tally_kernel_text(c->at->backend, row->info.stem) && row->classes & 1u << info->device_class;
}

static int report_floors(const cell *cells, size_t count, const place *places, int place_count) {
    int good = place_count > 0;
    if (place_count == 0) printf("there is no device: nothing was tested\n");
    for (int p = 0; p < place_count; p++) {
        size_t ran = 0, floor = 0;
        for (size_t c = 0; c < count; c++) {
            if (cells[c].at != &places[p] || cells[c].group_threads) continue;
            ran += cells[c].state == CELL_RUN;
            floor += (size_t)is_owed(&cells[c]);
        }
        printf("%s: %zu cells ran with their variant's own group; the floor is %zu%s\n", places[p].select, ran, floor,
               ran < floor || !floor ? ": TOO FEW" : "");
        if (ran < floor || !floor) good = 0;
    }
    return good;
}

static int same_variant(const cell *a, const cell *b) {
    return strcmp(a->at->info.backend, b->at->info.backend) == 0 && strcmp(a->variant, b->variant) == 0;
}

static int same_op(const cell *a, const cell *b) {
    return a->what.op == b->what.op;
}

/* Prints a line for all cells that share a name, a variant or an op. */
static void report_table(const cell *cells, size_t count, int by_op, int (*same)(const cell *, const cell *)) {
    printf("%-12s %-16s %8s %8s %8s\n", by_op ? "" : "backend", by_op ? "op" : "variant", "run", "skipped", "failed");
    for (size_t c = 0; c < count; c++) {
        size_t first = 0, states[3] = {0};
        while (!same(&cells[first], &cells[c])) first++;
        if (first < c) continue;
        for (size_t other = c; other < count; other++)
            if (same(&cells[other], &cells[c])) states[cells[other].state]++;
        printf("%-12s %-16s %8zu %8zu %8zu\n", by_op ? "" : cells[c].at->info.backend,
               by_op ? tally_op_name(cells[c].what.op) : cells[c].variant, states[CELL_RUN], states[CELL_SKIPPED],
               states[CELL_FAILED]);
    }
}

/* Every such cell must have checked a bound. */
static int report_bounds(const cell *cells, size_t count) {
    size_t kept = 0, unbounded = 0, idle = 0;
    for (size_t c = 0; c < count; c++) {
        const tally_variant *row = NULL;
        if (tally_variant_find(cells[c].variant, &cells[c].at->info, &row) != TALLY_OK) abort();
        const int is_bounded = !oracle_is_exact(&cells[c].what) && !row->info.canonical;
        kept += cells[c].kept;
        unbounded += cells[c].unbounded;
        idle += is_bounded && cells[c].state == CELL_RUN && cells[c].kept == 0;
    }
    printf("not held to the bit: %zu results within their bound, %zu without one because they may overflow%s\n", kept,
           unbounded, idle ? ": SOME CELLS CHECKED NONE" : "");
    return idle == 0;
}

static void report_programs(const place *places, int place_count) {
    for (int p = 0; p < place_count; p++) {
        tally_context_info info;
        if (!places[p].context || tally_context_get_info(places[p].context, &info) != TALLY_OK) continue;
        printf("%s: programs: %llu compiled, %llu prebuilt, %llu from disk, %llu from memory\n", places[p].select,
               (unsigned long long)info.programs_built, (unsigned long long)info.programs_prebuilt,
               (unsigned long long)info.programs_from_disk, (unsigned long long)info.programs_from_memory);
    }
}

int cells_report(const cell *cells, size_t count, const place *places, int place_count) {
    fflush(stderr);
    report_causes(cells, count);
    report_programs(places, place_count);
    const int good = report_floors(cells, count, places, place_count) & report_bounds(cells, count);
    report_table(cells, count, 1, same_op);
    report_table(cells, count, 0, same_variant);
    fflush(stdout);
    return good ? 0 : 1;
}
