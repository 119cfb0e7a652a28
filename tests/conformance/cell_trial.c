/* SPDX-License-Identifier: MIT */
#include "cell_trial.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "oracle/bound.h"
#include "oracle/items.h"
#include "oracle/oracle.h"
#include "oracle/patterns.h"
#include "tests/support/calls.h"

typedef struct trial {
    uint64_t n;
    int pattern;
    uint64_t in_offset, out_offset;
} trial;

/* The offset of an input's items. The second input has another offset than the first. */
static uint64_t offset_of(const trial *t, uint32_t input) {
    return input && t->in_offset ? MAX_OFFSET - t->in_offset : t->in_offset;
}

/* The integers of the pads. A kernel that reads one of them gives a wrong result. */
static uint64_t integer_pad(tally_op op, tally_dtype in, uint32_t input, uint64_t i) {
    const unsigned bits = 8 * (unsigned)item_bytes_of(in);
    const uint64_t top = UINT64_C(1) << (bits - 1);
    const uint64_t lowest = item_kind_of(in) == ITEM_SIGNED ? top : 0,
                   highest = item_kind_of(in) == ITEM_SIGNED ? top - 1 : top - 1 + top;
    switch (op) {
    case TALLY_MIN:
    case TALLY_NANMIN:
    case TALLY_ARGMIN:
        return lowest;
    case TALLY_MAX:
    case TALLY_NANMAX:
    case TALLY_ARGMAX:
        return highest;
    case TALLY_MINMAX:
        return i % 2 ? lowest : highest;
    case TALLY_AMAX:
    case TALLY_IAMAX:
        return item_kind_of(in) == ITEM_SIGNED ? lowest : highest;
    case TALLY_ALL:
    case TALLY_BAND:
        return 0;
    case TALLY_BOR:
        return UINT64_MAX;
    default: /* the pads of two inputs are not close to each other */
        return input ? UINT64_C(0x2525252525252525) : UINT64_C(0x5a5a5a5a5a5a5a5a);
    }
}

/* The floats of the pads: a NaN where NaN wins. Its payload must not appear in the result. */
static uint64_t float_pad(tally_op op, tally_dtype in) {
    const double infinity = op == TALLY_NANMIN ? (double)-INFINITY : (double)INFINITY;
    uint64_t bits = 0;
    if (op == TALLY_ALL) return 0; /* a NaN is true */
    store_float(in, op == TALLY_NANMIN || op == TALLY_NANMAX ? infinity : (double)NAN, &bits);
    return op == TALLY_NANMIN || op == TALLY_NANMAX ? bits : bits | 0x2d;
}

static void fill_pads(const bench *b, uint32_t input, uint64_t n) {
    const tally_op op = b->what->op;
    const tally_dtype in = b->what->in;
    unsigned char *items = b->host[input];
    for (uint64_t i = 0; i < PAD + MAX_OFFSET + PAD; i++) {
        unsigned char *to = items + (i < PAD + MAX_OFFSET ? i : n + i) * b->item_bytes;
        switch (item_kind_of(in)) {
        case ITEM_FLOAT:
        case ITEM_COMPLEX: {
            const uint64_t bits = float_pad(op, in);
            const size_t bytes = item_kind_of(in) == ITEM_COMPLEX ? b->item_bytes / 2 : b->item_bytes;
            memcpy(to, &bits, bytes); /* the low bytes come first here, as they do on every device so far */
            memcpy(to + b->item_bytes - bytes, &bits, bytes);
            break;
        }
        case ITEM_BOOL: {
            const uint8_t byte = (uint8_t)integer_pad(op, in, input, i);
            *to = op == TALLY_ALLCLOSE && input ? 0 : byte;
            break;
        }
        default:
            store_integer(in, integer_pad(op, in, input, i), to);
            break;
        }
    }
}

/*
 * Runs the plan twice into poisoned memory, then reads back the output and the inputs. Waits once,
 * at the end. Returns 0 with b->failure set if anything but the two results was written.
 */
static int run_twice(bench *b, const trial *t, uint64_t bytes, oracle_result runs[2]) {
    static const unsigned char poison[2] = {0xa5, 0x5a};
    const size_t area = RESULTS * b->result_bytes, at = t->out_offset * b->result_bytes;
    unsigned char results[2 * RESULTS * sizeof(oracle_result)], got[2 * RESULTS * sizeof(oracle_result)];
    uint64_t offsets[MAX_INPUTS];
    for (int r = 0; r < 2; r++) memset(results + r * area, poison[r], area);
    for (uint32_t k = 0; k < b->inputs; k++) {
        offsets[k] = PAD + offset_of(t, k);
        MUST(tally_buffer_write(b->queue, b->in[k], 0, b->host[k], bytes));
    }
    MUST(tally_buffer_write(b->queue, b->out, 0, results, 2 * area));
    for (uint64_t r = 0; r < 2; r++) {
        const uint64_t to = r * RESULTS + t->out_offset;
        if (b->inputs == 1)
            MUST(reduce_at(b->plan, b->queue, b->in[0], offsets[0], t->n, b->out, to));
        else
            MUST(reduce_inputs(b->plan, b->queue, (const tally_buffer *const *)b->in, offsets, t->n, b->out, to));
    }
    MUST(tally_buffer_read(b->queue, b->out, 0, got, 2 * area));
    for (uint32_t k = 0; k < b->inputs; k++) MUST(tally_buffer_read(b->queue, b->in[k], 0, b->back[k], bytes));
    MUST(tally_queue_wait(b->queue));
    for (int r = 0; r < 2; r++) {
        memset(&runs[r], 0, sizeof runs[r]);
        memcpy(&runs[r], got + r * area + at, b->result_bytes);
        memcpy(got + r * area + at, results + r * area + at, b->result_bytes);
    }
    if (memcmp(got, results, 2 * area) != 0) {
        snprintf(b->failure, sizeof b->failure, "wrote outside its result");
        return 0;
    }
    for (uint32_t k = 0; k < b->inputs; k++) {
        if (memcmp(b->host[k], b->back[k], bytes) == 0) continue;
        snprintf(b->failure, sizeof b->failure, "changed an input or what surrounds it");
        return 0;
    }
    return 1;
}

/* Prints the result's words in hexadecimal, floats as numbers too. */
static void print_value(char *text, size_t bytes, const bench *b, const oracle_result *value) {
    const tally_dtype out = oracle_result_dtype(b->what);
    size_t used = 0;
    text[0] = 0;
    const size_t step = out == TALLY_C64 ? 4 : out == TALLY_C128 ? 8 : item_bytes_of(out);
    for (size_t at = 0; at < b->result_bytes && used < bytes; at += step) {
        uint64_t bits = 0;
        float f32;
        double f64;
        memcpy(&bits, value->bytes + at, step);
        memcpy(&f32, value->bytes + at, sizeof f32);
        memcpy(&f64, value->bytes + at, sizeof f64);
        used += (size_t)snprintf(text + used, bytes - used, "%s0x%0*llx", at ? ", " : "", (int)(2 * step),
                                 (unsigned long long)bits);
        if (used < bytes && (out == TALLY_F32 || out == TALLY_C64))
            used += (size_t)snprintf(text + used, bytes - used, " (%a)", (double)f32);
        if (used < bytes && (out == TALLY_F64 || out == TALLY_C128))
            used += (size_t)snprintf(text + used, bytes - used, " (%a)", f64);
    }
}

/* Compares two runs with each other and with the oracle: to the bit, or within the op's bound. */
static int check_results(bench *b, const trial *t, const void *const items[], const oracle_result runs[2],
                         const oracle_result *expected) {
    char got[2][112], want[112];
    const uint64_t depth = b->is_exact ? 0 : tally_plan_depth(b->plan, t->n);
    int good = !b->is_repeatable || memcmp(&runs[0], &runs[1], b->result_bytes) == 0;
    for (int r = 0; r < 2 && good; r++) {
        if (b->is_exact) {
            good = memcmp(&runs[r], expected, b->result_bytes) == 0;
            continue;
        }
        const bound_verdict verdict = bound_check(b->what, items, t->n, depth, b->may_flush, &runs[r]);
        good = verdict != BOUND_BROKEN;
        b->cell->kept += verdict == BOUND_KEPT;
        b->cell->unbounded += verdict == BOUND_FREE;
        if (memcmp(&runs[0], &runs[1], b->result_bytes) == 0) break;
    }
    if (good) return 1;
    print_value(got[0], sizeof got[0], b, &runs[0]);
    print_value(got[1], sizeof got[1], b, &runs[1]);
    print_value(want, sizeof want, b, expected);
    snprintf(b->failure, sizeof b->failure, "is %s, the second time %s; should be %s", got[0], got[1], want);
    const size_t used = strlen(b->failure);
    if (!b->is_exact)
        snprintf(b->failure + used, sizeof b->failure - used, " or within the bound for a depth of %llu",
                 (unsigned long long)depth);
    return 0;
}

static void fill_input(const bench *b, const trial *t, uint32_t input, const void *first_input) {
    /* The offset moves the items within the written memory. The pads stay next to the items. */
    const uint64_t offset = offset_of(t, input);
    unsigned char *first = b->host[input] + (PAD + offset) * b->item_bytes;
    fill_pads(b, input, t->n);
    if (input)
        pattern_fill_second(t->pattern, b->what->op, b->what->in, first_input, first, t->n);
    else
        pattern_fill(t->pattern, b->what->in, first, t->n);
    if (offset < MAX_OFFSET) /* the gap between the items and their right pad */
        memcpy(first + t->n * b->item_bytes, b->host[input], (MAX_OFFSET - offset) * b->item_bytes);
}

static int run_trial(bench *b, const trial *t) {
    const uint64_t bytes = (PAD + MAX_OFFSET + t->n + PAD) * b->item_bytes;
    const void *items[MAX_INPUTS] = {NULL, NULL};
    oracle_result expected = {{0}}, runs[2];
    for (uint32_t k = 0; k < b->inputs; k++) {
        fill_input(b, t, k, items[0]);
        items[k] = b->host[k] + (PAD + offset_of(t, k)) * b->item_bytes;
    }
    oracle_reduce_inputs(b->what, items, t->n, &expected);
    return run_twice(b, t, bytes, runs) && check_results(b, t, items, runs, &expected);
}

void expect(bench *b, uint64_t n, int pattern, uint64_t in_offset, uint64_t out_offset) {
    const trial t = {n, pattern, in_offset, out_offset};
    if (n > b->max_n || run_trial(b, &t)) return;
    fail_msg("%s: n=%llu, \"%s\", in_offset=%llu, out_offset=%llu: %s", b->cell->name, (unsigned long long)n,
             pattern_name(pattern), (unsigned long long)in_offset, (unsigned long long)out_offset, b->failure);
}
