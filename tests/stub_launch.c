/* SPDX-License-Identifier: MIT */
/* What the stub's kernels do: the entries tally_partials, tally_init, tally_finish and tally_probe, as kernels_cl/ documents them. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core.h"
#include "oracle.h"
#include "stub_backend.h"

/* What a program was specialised for, read from its text. */
typedef struct special {
    tally_op op;
    tally_dtype in, acc;
    uint32_t group, factor;
    int atomic;
    const tally_variant *variant;
} special;

/* The value between `before` and `after`; 0 when it is not there. */
static int text_between(const char *source, const char *before, const char *after, char *text, size_t bytes) {
    const char *begin = strstr(source, before);
    if (!begin) return 0;
    begin += strlen(before);
    const char *end = strstr(begin, after);
    if (!end || (size_t)(end - begin) >= bytes) return 0;
    memcpy(text, begin, (size_t)(end - begin));
    text[end - begin] = 0;
    return 1;
}

static int typedef_of(const char *source, const char *name, tally_dtype *dtype) {
    char line[32], type[16];
    snprintf(line, sizeof line, " %s;", name);
    for (*dtype = TALLY_DTYPE_DEFAULT + 1; *dtype < TALLY_DTYPE_END; (*dtype)++) {
        snprintf(type, sizeof type, "typedef %s", tally_dtype_name(*dtype));
        const char *at = strstr(source, type);
        for (; at; at = strstr(at + 1, type))
            if (strncmp(at + strlen(type), line, strlen(line)) == 0) return 1;
    }
    return 0;
}

/* The variant whose stem stands last in the program. */
static const tally_variant *variant_of(const char *source) {
    for (size_t v = 0; v < tally_variant_count(); v++) {
        char text[64];
        snprintf(text, sizeof text, "/* stub: %s */\n", tally_variant_row(v)->info.stem);
        const char *at = strstr(source, text);
        if (at && !at[strlen(text)]) return tally_variant_row(v);
    }
    return NULL;
}

static int read_special(const char *source, special *s) {
    char combine[128], group[16];
    if (!typedef_of(source, "ITEM", &s->in) || !typedef_of(source, "ACC", &s->acc)) return 0;
    if (!text_between(source, "op_combine(ACC a, ACC b) { return ", ";", combine, sizeof combine)) return 0;
    if (!text_between(source, "#define GROUP ", "\n", group, sizeof group)) return 0;
    s->group = (uint32_t)strtoul(group, NULL, 10);
    if (!text_between(source, "#define FACTOR ", "\n", group, sizeof group)) return 0;
    s->factor = (uint32_t)strtoul(group, NULL, 10);
    s->atomic = strstr(source, "#define ATOMIC_STAGE 1\n") != NULL;
    if (!(s->variant = variant_of(source))) return 0;
    for (s->op = TALLY_OP_NONE + 1; s->op < TALLY_OP_END; s->op++)
        if (strstr(combine, tally_op_find(s->op)->combine)) return 1;
    return 0;
}

/* The place of `count` values of `bytes` each from index `at`; NULL, and a misuse, when they are not in the memory. */
static unsigned char *place_in(const stub_memory *mem, uint64_t at, uint64_t count, size_t bytes, const char *what) {
    const uint64_t have = mem ? mem->size / bytes : 0;
    if (at <= have && count <= have - at) return mem->bytes + at * bytes;
    stub_misuse("a launch would touch %llu %s from %llu of %llu", (unsigned long long)count, what, (unsigned long long)at,
                (unsigned long long)have);
    return NULL;
}

/* The aligned tree over accumulators; for exact ops any order will do. */
static void combine(const special *s, unsigned char *accs, uint64_t count, oracle_result *result) {
    const tally_dtype type = s->op == TALLY_SUM && s->acc == TALLY_U64 ? TALLY_I64 : s->acc;
    if (s->op != TALLY_SUM || (s->acc != TALLY_F32 && s->acc != TALLY_F64)) {
        oracle_reduce(s->op, type, accs, count, result);
        return;
    }
    const size_t bytes = tally_dtype_bytes(s->acc);
    for (uint64_t step = 1; step < count; step *= 2)
        for (uint64_t i = 0; i + step < count; i += 2 * step) {
            if (s->acc == TALLY_F32)
                ((float *)(void *)accs)[i] += ((float *)(void *)accs)[i + step];
            else
                ((double *)(void *)accs)[i] += ((double *)(void *)accs)[i + step];
        }
    memcpy(result, accs, bytes);
}

static void write_result(const special *s, const stub_memory *out, uint64_t at, uint64_t n, const oracle_result *acc) {
    const size_t bytes = tally_dtype_bytes(tally_result_dtype(s->op, s->in));
    unsigned char *to = place_in(out, at, 1, bytes, "results");
    oracle_result result = *acc;
    if (n == 0) oracle_reduce(s->op, s->in, NULL, 0, &result);
    /* A NaN's payload and sign go: so does the kernels' CANONICAL. */
    if (n > 0 && s->op == TALLY_SUM && s->in == TALLY_F32) oracle_reduce(s->op, s->in, &acc->f32, 1, &result);
    if (n > 0 && s->op == TALLY_SUM && s->in == TALLY_F64) oracle_reduce(s->op, s->in, &acc->f64, 1, &result);
    if (to) memcpy(to, &result, bytes);
}

/* Items that a group owns. A grid's groups own what a loop over all of them gives them: as good as an even share here. */
static uint64_t group_share(const special *s, const stub_launch *l, uint64_t n, uint64_t run) {
    switch (s->variant->shape) {
    case TALLY_SHAPE_SEGMENT:
        return (uint64_t)s->group * s->variant->items_per_item * (s->variant->info.factor ? s->factor : 1);
    case TALLY_SHAPE_GRID:
        return n ? (n - 1) / l->groups + 1 : 1;
    default:
        if (run == 0 || (run & (run - 1)) != 0) stub_misuse("a run of %llu chunks is no power of two", (unsigned long long)run);
        return run * TALLY_CHUNK_ITEMS;
    }
}

/* Every group's atomic on the one accumulator: the items of all of them in one go, on top of what is there. */
static void run_atomics(const special *s, const stub_launch *l, const unsigned char *items, uint64_t n) {
    const size_t acc = tally_dtype_bytes(s->acc);
    unsigned char *to = place_in(l->mem[4], l->value[5], 1, acc, "accumulators");
    oracle_result values[2] = {{0}, {0}};
    if (!to || !n) return;
    oracle_reduce(s->op, s->in, items, n, &values[1]);
    unsigned char accs[16];
    memcpy(accs, to, acc);
    memcpy(accs + acc, &values[1], acc);
    combine(s, accs, 2, &values[0]);
    memcpy(to, &values[0], acc);
}

static void run_partials(const special *s, const stub_launch *l) {
    const uint64_t in_offset = l->value[1], n = l->value[2], first = l->value[5];
    const int last = (int)l->value[8];
    const size_t item = tally_dtype_bytes(s->in), acc = tally_dtype_bytes(s->acc);
    const uint64_t share = group_share(s, l, n, l->value[3]);
    if (last && l->groups != 1) stub_misuse("%llu groups write one result", (unsigned long long)l->groups);
    if (l->groups * share < n) stub_misuse("%llu items are left out", (unsigned long long)(n - l->groups * share));
    const unsigned char *items = n ? place_in(l->mem[0], in_offset, n, item, "items") : NULL;
    if (n && !items) return;
    if (s->variant->stage == TALLY_STAGE_SCRATCH) {
        unsigned char *scratch = place_in(l->mem[4], first + l->groups, l->groups * s->group, acc, "scratch accumulators");
        if (scratch) memset(scratch, 0xee, l->groups * s->group * acc);
    }
    for (uint64_t g = 0; g < l->groups; g++) {
        const uint64_t begin = g * share, count = begin >= n ? 0 : n - begin < share ? n - begin : share;
        oracle_result partial = {0};
        /* An even share may leave a grid's last groups without items. */
        if (begin >= n && g > 0 && s->variant->shape != TALLY_SHAPE_GRID)
            stub_misuse("group %llu has no items", (unsigned long long)g);
        if (s->atomic) continue;
        oracle_reduce(s->op, s->in, items ? items + begin * item : NULL, count, &partial);
        unsigned char *to = last ? NULL : place_in(l->mem[4], first + g, 1, acc, "partials");
        if (to) memcpy(to, &partial, acc);
        if (last) write_result(s, l->mem[6], l->value[7], n, &partial);
    }
    if (s->atomic) run_atomics(s, l, items, n);
}

/* The op's identity: what no items give, but for a float sum, which starts at -0. */
static void run_init(const special *s, const stub_launch *l) {
    const size_t acc = tally_dtype_bytes(s->acc);
    unsigned char *to = place_in(l->mem[0], 0, 1, acc, "accumulators");
    oracle_result identity = {0};
    if (!s->atomic || l->groups != 1 || l->items != 1)
        stub_misuse("tally_init: %llu groups of %u", (unsigned long long)l->groups, l->items);
    oracle_reduce(s->op, s->in, NULL, 0, &identity);
    if (s->op == TALLY_SUM && s->acc == TALLY_F32) identity.f32 = -0.0f;
    if (s->op == TALLY_SUM && s->acc == TALLY_F64) identity.f64 = -0.0;
    if (to) memcpy(to, &identity, acc);
}

static void run_finish(const special *s, const stub_launch *l) {
    const uint64_t count = l->value[1], slot = l->value[3], out_offset = l->value[5];
    const size_t acc = tally_dtype_bytes(s->acc);
    oracle_result result = {0};
    if (l->groups != 1) stub_misuse("tally_finish in %llu groups", (unsigned long long)l->groups);
    const unsigned char *partials = count ? place_in(l->mem[0], 0, count, acc, "partials") : NULL;
    if (count && !partials) return;
    if (count) {
        unsigned char *copy = malloc(count * acc);
        if (!copy) abort();
        memcpy(copy, partials, count * acc);
        combine(s, copy, count, &result);
        free(copy);
    }
    unsigned char *to = l->value[6] ? NULL : place_in(l->mem[2], slot, 1, acc, "partials");
    if (to) memcpy(to, &result, acc);
    if (l->value[6]) write_result(s, l->mem[4], out_offset, count, &result);
}

/* The self-test: what a sound device computes, or what one with a defect does. */
static void run_probe(const stub_launch *l) {
    const float *in = (const float *)(void *)place_in(l->mem[0], 0, 6, sizeof *in, "inputs");
    uint32_t *state = (uint32_t *)(void *)place_in(l->mem[1], 0, 3, sizeof *state, "inputs");
    float *out = (float *)(void *)place_in(l->mem[2], 0, 3, sizeof *out, "results");
    if (!in || !state || !out) return;
    const volatile float product = in[0] * in[0], sum = in[2] + in[3];
    out[0] = stub.defect == STUB_FUSES ? (float)((double)in[0] * in[0] + in[1]) : product + in[1];
    out[1] = stub.defect == STUB_REORDERS ? in[2] : sum - in[3];
    out[2] = stub.defect == STUB_FLUSHES ? 0 : in[4] + in[5];
    uint32_t x = state[0];
    for (uint32_t i = 0; i < state[1] && (stub.defect != STUB_ENDS_LOOPS || i < 65535); i++) x = x * 1664525u + 1013904223u;
    state[2] = x;
}

void stub_run(const stub_launch *l) {
    special s;
    if (strcmp(l->entry, "tally_probe") == 0) {
        run_probe(l);
        return;
    }
    if (!read_special(l->source, &s)) {
        stub_misuse("the program's text cannot be understood");
        return;
    }
    if (strcmp(l->entry, "tally_init") == 0 && l->count == 1) {
        run_init(&s, l);
        return;
    }
    if (l->items != s.group) stub_misuse("%s: groups of %u items, made for %u", l->entry, l->items, s.group);
    if (strcmp(l->entry, "tally_partials") == 0 && l->count == 9)
        run_partials(&s, l);
    else if (strcmp(l->entry, "tally_finish") == 0 && l->count == 7)
        run_finish(&s, l);
    else
        stub_misuse("entry %s with %u arguments", l->entry, l->count);
}
