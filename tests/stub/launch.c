/* SPDX-License-Identifier: MIT */
/*
 * The stub's kernels: the entries tally_partials, tally_init, tally_finish and tally_probe, as
 * kernels_cl/ documents them. The program's compiled text computes. This file checks the arguments,
 * and the places of inputs and results.
 */
#include <stdio.h>
#include <stdlib.h>
#include <math.h>
#include <string.h>

#include "reduce/reduce.h"
#include "backend.h"
#include "module.h"

/* A launch of a reduction's program. */
typedef struct job {
    const stub_launch *l;
    const stub_module *module;
    const tally_variant *variant;
    uint32_t group, factor;
    int atomic;
    uint32_t item, acc, result, inputs; /* bytes, and the number of inputs */
} job;

uint32_t stub_defined(const char *source, const char *name) {
    char line[64];
    snprintf(line, sizeof line, "\n#define %s ", name);
    /* It may be the first line. */
    const char *at = strncmp(source, line + 1, strlen(line + 1)) == 0 ? source : strstr(source, line);
    return at ? (uint32_t)strtoul(at + strlen(at == source ? line + 1 : line), NULL, 10) : 0;
}

/* The variant whose stem is the last in the program. */
static const tally_variant *variant_of(const char *source) {
    for (size_t v = 0; v < tally_variant_count(); v++) {
        char text[64];
        snprintf(text, sizeof text, "/* stub: %s */\n", tally_variant_row(v)->info.stem);
        const char *at = strstr(source, text);
        if (at && !at[strlen(text)]) return tally_variant_row(v);
    }
    return NULL;
}

static int job_open(const stub_launch *l, job *j) {
    *j = (job){.l = l,
               .variant = variant_of(l->source),
               .module = l->module,
               .group = stub_defined(l->source, "GROUP"),
               .factor = stub_defined(l->source, "FACTOR")};
    j->atomic = stub_defined(l->source, "ATOMIC_STAGE") == 1;
    /* The second stage's program is of no variant. */
    const int finishes = strcmp(l->entry, "tally_finish") == 0;
    if (!j->module || !j->group || finishes != !j->variant || finishes != (int)stub_defined(l->source, "FINISHES"))
        return stub_misuse("the program's text cannot be understood"), 0;
    const uint32_t *sizes = j->module->sizes;
    j->item = sizes[STUB_ITEM_SIZE];
    j->acc = sizes[STUB_ACC_SIZE];
    j->result = sizes[STUB_RESULT_SIZE];
    j->inputs = sizes[STUB_INPUTS];
    if (j->atomic != (j->variant && j->variant->stage == TALLY_STAGE_ATOMIC))
        stub_misuse("ATOMIC_STAGE is not what the variant's row says");
    if (sizes[STUB_ITEM_BYTES] != j->item || sizes[STUB_VECTOR_SIZE] != 16)
        stub_misuse("ITEM_BYTES is %u, an item has %u, a vector %u", sizes[STUB_ITEM_BYTES], j->item, sizes[STUB_VECTOR_SIZE]);
    if (sizes[STUB_ACC_BYTES] != j->acc || j->acc > STUB_ACC_MOST)
        stub_misuse("ACC_BYTES is %u, an accumulator has %u", sizes[STUB_ACC_BYTES], j->acc);
    if (j->atomic && sizes[STUB_ACC_ALIGN] != j->acc)
        stub_misuse("an accumulator of %u bytes, for atomics, is aligned to %u", j->acc, sizes[STUB_ACC_ALIGN]);
    if (sizes[STUB_LANES] != TALLY_LANES || sizes[STUB_ROWS] != TALLY_ROWS || sizes[STUB_CHUNK_ITEMS] != TALLY_CHUNK_ITEMS)
        stub_misuse("the numbers of the canonical order are others");
    return 1;
}

/* ---- arguments ------------------------------------------------------------------------------- */

/* Reads a number of 8 bytes, or of 4. */
static uint64_t number(const job *j, uint32_t argument, uint32_t bytes) {
    uint64_t wide = 0;
    uint32_t narrow = 0;
    if (j->l->mem[argument] || j->l->bytes[argument] != bytes) {
        stub_misuse("%s: argument %u is no number of %u bytes", j->l->entry, argument, bytes);
        return 0;
    }
    memcpy(bytes == 4 ? (void *)&narrow : (void *)&wide, j->l->values + j->l->at[argument], bytes);
    return bytes == 4 ? narrow : wide;
}

/* Returns the parameters, or NULL if they are not those that the program takes. */
static const void *params_of(const job *j, uint32_t argument) {
    const uint32_t wanted = j->module->sizes[STUB_PARAMS_SIZE];
    if (!j->l->mem[argument] && j->l->bytes[argument] == wanted) return j->l->values + j->l->at[argument];
    stub_misuse("%s: %u bytes of parameters, should be %u", j->l->entry, j->l->bytes[argument], wanted);
    return NULL;
}

unsigned char *stub_place(const stub_memory *mem, uint64_t at, uint64_t count, uint64_t bytes, const char *what) {
    const uint64_t have = mem ? mem->size / bytes : 0;
    if (mem && at <= have && count <= have - at) return mem->bytes + at * bytes;
    stub_misuse("a launch would touch %llu %s from %llu of %llu", (unsigned long long)count, what, (unsigned long long)at,
                (unsigned long long)have);
    return NULL;
}

/* ---- partials -------------------------------------------------------------------------------- */

/* The items of a launch. */
typedef struct source {
    const void *in[TALLY_MAX_INPUTS];
    uint64_t offset[TALLY_MAX_INPUTS];
    const void *params;
    uint64_t base, n;
} source;

/* Combines accumulators as the aligned tree, into the first. */
static void combine(const job *j, unsigned char *accs, uint64_t count) {
    for (uint64_t step = 1; step < count; step *= 2)
        for (uint64_t i = 0; i + step < count; i += 2 * step) j->module->combine(accs + i * j->acc, accs + (i + step) * j->acc);
}

/* Combines chunks from item `begin` on, and the tree over them. */
static void reduce_chunks(const job *j, const source *s, uint64_t begin, uint64_t count, void *to) {
    const uint64_t chunks = count / TALLY_CHUNK_ITEMS + (count % TALLY_CHUNK_ITEMS != 0);
    unsigned char *accs = malloc((chunks + 1) * j->acc);
    if (!accs) abort();
    j->module->identity(accs);
    for (uint64_t c = 0; c < chunks; c++) {
        const uint64_t at = c * TALLY_CHUNK_ITEMS, left = count - at;
        j->module->chunk(s->in, s->offset, s->params, begin + at, left < TALLY_CHUNK_ITEMS ? left : TALLY_CHUNK_ITEMS, s->base,
                         accs + c * j->acc);
    }
    combine(j, accs, chunks);
    memcpy(to, accs, j->acc);
    free(accs);
}

/* The chunks that a group of the canonical shapes owns. */
static void check_run(const job *j, uint64_t run, uint64_t base, uint64_t n, int whole) {
    const uint32_t row = TALLY_LANES * j->item / 16, team = row < 32 ? row : 32; /* the threads that share a chunk */
    if (run == 0 || (run & (run - 1)) != 0) stub_misuse("a run of %llu chunks is no power of two", (unsigned long long)run);
    if (j->variant->shape == TALLY_SHAPE_CHUNKS && run != j->group / team)
        stub_misuse("a run of %llu chunks, where a group of %u owns %u", (unsigned long long)run, j->group, j->group / team);
    if (whole && base) stub_misuse("a result of a piece that starts at %llu", (unsigned long long)base);
    /* The only group may own less than a run: a subtree of fewer chunks. */
    const uint64_t chunks = n / TALLY_CHUNK_ITEMS + (n % TALLY_CHUNK_ITEMS != 0);
    uint64_t own = run;
    while (j->l->groups == 1 && own > 1 && own / 2 >= chunks) own /= 2;
    if (own && base % (own * TALLY_CHUNK_ITEMS))
        stub_misuse("a piece starts at %llu, within a span of %llu chunks", (unsigned long long)base, (unsigned long long)own);
}

/* The items that a group owns. A grid's groups own the items of a loop over the grid; here an even
 * share stands for them. */
static uint64_t group_share(const job *j, uint64_t n, uint64_t run) {
    switch (j->variant->shape) {
    case TALLY_SHAPE_TILE:
        return (uint64_t)j->group * j->variant->thread_items * (j->variant->info.factor ? j->factor : 1);
    case TALLY_SHAPE_GRID:
        return n ? (n - 1) / j->l->groups + 1 : 1;
    default:
        return run * TALLY_CHUNK_ITEMS;
    }
}

/* ---- outcomes -------------------------------------------------------------------------------- */

/* The place of a launch's outcome. */
typedef struct target {
    stub_memory *mem;
    uint64_t at;
    tally_outcome outcome;
} target;

static target target_of(const job *j, uint32_t out, uint64_t at, uint32_t outcome) {
    target to = {.mem = j->l->mem[out], .at = at};
    if (j->l->mem[outcome] || j->l->bytes[outcome] != sizeof to.outcome)
        stub_misuse("%s: %u bytes of an outcome, should be %u", j->l->entry, j->l->bytes[outcome], (unsigned)sizeof to.outcome);
    else
        memcpy(&to.outcome, j->l->values + j->l->at[outcome], sizeof to.outcome);
    return to;
}

/* Writes the outcome of an accumulator of n items, as kernels/outcome.h documents it. */
static void leave(const job *j, const target *to, const unsigned char *acc, uint64_t n, const void *params) {
    const tally_outcome *o = &to->outcome;
    unsigned char *result = o->is_node ? NULL : stub_place(to->mem, to->at, 1, j->result, "results");
    unsigned char *words = o->is_node ? stub_place(to->mem, to->at, j->acc / 4, 4, "words of a node") : NULL;
    unsigned char *header =
        o->has_header ? stub_place(to->mem, o->header_at, TALLY_PACKET_WORDS, 8, "words of a packet") : NULL;
    if (o->has_header && !o->is_node) stub_misuse("%s: a packet of a result", j->l->entry);
    if (result) j->module->result(acc, n, params, result);
    if (words) memcpy(words, acc, j->acc);
    if (header) memcpy(header, o->header, sizeof o->header);
}

/* ---- partials of all groups ------------------------------------------------------------------ */

/* The last group finishes if the groups of one launch do. Slot 0 counts them. */
static void finish_together(const job *j, const source *s, unsigned char *partials, uint64_t groups, void *count,
                            const target *to) {
    static const uint32_t zero;
    if (!partials || !count) return;
    if (memcmp(count, &zero, sizeof zero) != 0) stub_misuse("the count of groups that are done is not 0 before a launch");
    unsigned char *accs = malloc(groups * j->acc);
    if (!accs) abort();
    memcpy(accs, partials, groups * j->acc);
    memset(partials, 0xee, groups * j->acc); /* the tree may use their memory */
    combine(j, accs, groups);
    leave(j, to, accs, s->n, s->params);
    free(accs);
}

static void run_partials(const job *j) {
    const stub_launch *l = j->l;
    const uint32_t k = 2 * j->inputs;
    source s = {.params = params_of(j, k + TALLY_REDUCE_ARG_PARAMS),
                .base = number(j, k + TALLY_REDUCE_ARG_BASE, 8),
                .n = number(j, k + TALLY_REDUCE_ARG_N, 8)};
    const uint64_t run = number(j, k + TALLY_REDUCE_ARG_RUN, 8), first = number(j, k + TALLY_REDUCE_ARG_FIRST, 8);
    const target outcome =
        target_of(j, k + TALLY_REDUCE_ARG_OUT, number(j, k + TALLY_REDUCE_ARG_OUT_OFFSET, 8), k + TALLY_REDUCE_ARG_OUTCOME);
    const int last = number(j, k + TALLY_REDUCE_ARG_LAST, 4) == TALLY_LAST_ALONE,
              together = number(j, k + TALLY_REDUCE_ARG_LAST, 4) == TALLY_LAST_TOGETHER;
    const int canonical = j->variant->info.canonical;
    for (uint32_t i = 0; i < j->inputs; i++) {
        s.in[i] = l->mem[2 * i] ? l->mem[2 * i]->bytes : NULL;
        s.offset[i] = number(j, 2 * i + 1, 8);
        if (!stub_place(l->mem[2 * i], s.offset[i], s.n, j->item, "items")) return;
    }
    if (canonical)
        check_run(j, run, s.base, s.n, (last || together) && !outcome.outcome.is_node);
    else if (s.base)
        stub_misuse("a piece that starts at %llu for a step of the ladder", (unsigned long long)s.base);
    const uint64_t share = group_share(j, s.n, run);
    if (last && l->groups != 1) stub_misuse("%llu groups write one result", (unsigned long long)l->groups);
    if (l->groups * share < s.n) stub_misuse("%llu items are left out", (unsigned long long)(s.n - l->groups * share));
    if (!s.params || l->groups * share < s.n) return;
    if (together && (!j->variant->together || !first))
        stub_misuse("%s: its groups do not finish together", j->variant->info.name);
    if (j->variant->stage == TALLY_STAGE_SCRATCH) {
        unsigned char *scratch = stub_place(l->mem[k + TALLY_REDUCE_ARG_PARTIALS], first + l->groups, l->groups * j->group,
                                            j->acc, "scratch accumulators");
        if (scratch) memset(scratch, 0xee, l->groups * j->group * j->acc);
    }
    /* Each group combines its value into the one accumulator by an atomic. */
    unsigned char *one = j->atomic ? stub_place(l->mem[k + TALLY_REDUCE_ARG_PARTIALS], first, 1, j->acc, "accumulators") : NULL;
    for (uint64_t g = 0; g < l->groups; g++) {
        const uint64_t begin = g * share, count = begin >= s.n ? 0 : s.n - begin < share ? s.n - begin : share;
        unsigned char partial[STUB_ACC_MOST];
        /* With even shares a grid's last groups may have no items. */
        if (begin >= s.n && g > 0 && j->variant->shape != TALLY_SHAPE_GRID)
            stub_misuse("group %llu has no items", (unsigned long long)g);
        j->module->identity(partial);
        if (canonical)
            reduce_chunks(j, &s, begin, count, partial);
        else
            j->module->sequence(s.in, s.offset, s.params, begin, count, partial);
        if (one) j->module->combine(one, partial);
        if (j->atomic) continue;
        unsigned char *to = last ? NULL : stub_place(l->mem[k + TALLY_REDUCE_ARG_PARTIALS], first + g, 1, j->acc, "partials");
        if (to) memcpy(to, partial, j->acc);
        if (last) leave(j, &outcome, partial, s.n, s.params);
    }
    if (together)
        finish_together(j, &s, stub_place(l->mem[k + TALLY_REDUCE_ARG_PARTIALS], first, l->groups, j->acc, "partials"),
                        l->groups, stub_place(l->mem[k + TALLY_REDUCE_ARG_PARTIALS], 0, 1, sizeof(uint32_t), "counts"),
                        &outcome);
}

/* ---- init and finish ------------------------------------------------------------------------- */

static void run_init(const job *j) {
    unsigned char *to = stub_place(j->l->mem[0], 0, 1, j->acc, "accumulators");
    if (!j->atomic || j->l->groups != 1 || j->l->threads != 1)
        stub_misuse("tally_init: %llu groups of %u", (unsigned long long)j->l->groups, j->l->threads);
    if (to) j->module->identity(to);
}

static void run_finish(const job *j) {
    const stub_launch *l = j->l;
    const uint64_t count = number(j, TALLY_FINISH_ARG_COUNT, 8), slot = number(j, TALLY_FINISH_ARG_SLOT, 8),
                   n = number(j, TALLY_FINISH_ARG_N, 8);
    const target outcome =
        target_of(j, TALLY_FINISH_ARG_OUT, number(j, TALLY_FINISH_ARG_OUT_OFFSET, 8), TALLY_FINISH_ARG_OUTCOME);
    const int last = (int)number(j, TALLY_FINISH_ARG_LAST, 4);
    const void *params = params_of(j, TALLY_FINISH_ARG_PARAMS);
    if (l->groups != 1) stub_misuse("tally_finish in %llu groups", (unsigned long long)l->groups);
    if (last && !count != !n)
        stub_misuse("tally_finish: %llu items in %llu partials", (unsigned long long)n, (unsigned long long)count);
    unsigned char *partials = stub_place(l->mem[TALLY_FINISH_ARG_PARTIALS], 0, count, j->acc, "partials");
    if (!partials || !params) return;
    unsigned char *accs = malloc((count + 1) * j->acc);
    if (!accs) abort();
    j->module->identity(accs);
    memcpy(accs, partials, count * j->acc);
    memset(partials, 0xee, count * j->acc);
    combine(j, accs, count);
    unsigned char *to = last ? NULL : stub_place(l->mem[TALLY_FINISH_ARG_COMBINED], slot, 1, j->acc, "partials");
    if (to) memcpy(to, accs, j->acc);
    if (last) leave(j, &outcome, accs, n, params);
    free(accs);
}

/* ---- the self-test: results of a sound device, or of one with a defect ----------------------- */

static void run_probe(const stub_launch *l) {
    const float *in = (const float *)(void *)stub_place(l->mem[0], 0, 9, sizeof *in, "inputs");
    uint32_t *state = (uint32_t *)(void *)stub_place(l->mem[1], 0, 3, sizeof *state, "inputs");
    float *out = (float *)(void *)stub_place(l->mem[2], 0, 4, sizeof *out, "results");
    if (!in || !state || !out) return;
    const volatile float product = in[0] * in[0], sum = in[2] + in[3];
    out[0] = stub.defect == STUB_FUSES ? (float)((double)in[0] * in[0] + in[1]) : product + in[1];
    out[1] = stub.defect == STUB_REORDERS ? in[2] : sum - in[3];
    out[2] = stub.defect == STUB_FLUSHES ? 0 : in[4] + in[5];
    out[3] =
        stub.defect == STUB_ROUNDS_TWICE ? (float)fma((double)in[6], (double)in[7], (double)in[8]) : fmaf(in[6], in[7], in[8]);
    uint32_t x = state[0];
    for (uint32_t i = 0; i < state[1] && (stub.defect != STUB_ENDS_LOOPS || i < 65535); i++) x = x * 1664525u + 1013904223u;
    state[2] = x;
}

static void run_feature(const stub_launch *l) {
    void *verdicts = stub_place(l->mem[0], 0, l->threads, sizeof(float), "verdicts");
    if (l->groups != 1 || l->threads != 64 || !stub.verdicts) stub_misuse("a trial of %u threads", l->threads);
    if (verdicts && stub.verdicts) memcpy(verdicts, stub.verdicts, l->threads * sizeof(float));
}

void stub_run(const stub_launch *l) {
    job j;
    if (strcmp(l->entry, "tally_probe") == 0) {
        run_probe(l);
        return;
    }
    if (strcmp(l->entry, "tally_feature") == 0 && l->count == 1) {
        run_feature(l);
        return;
    }
    if (stub_run_scan(l) || stub_run_move(l) || stub_run_part(l) || stub_run_fold(l) || !job_open(l, &j)) return;
    if (strcmp(l->entry, "tally_init") == 0 && l->count == 1) {
        run_init(&j);
        return;
    }
    if (l->threads != j.group) stub_misuse("%s: groups of %u threads, made for %u", l->entry, l->threads, j.group);
    if (strcmp(l->entry, "tally_partials") == 0 && l->count == 2 * j.inputs + TALLY_REDUCE_ARGS)
        run_partials(&j);
    else if (strcmp(l->entry, "tally_finish") == 0 && l->count == TALLY_FINISH_ARGS)
        run_finish(&j);
    else
        stub_misuse("entry %s with %u arguments", l->entry, l->count);
}
