/* SPDX-License-Identifier: MIT */
/* Reductions: the kernels tally_partials and tally_finish, as kernels_cl/cpu_chunks.cl, finish.cl
 * and kernels/outcome.h document them. */
#include <string.h>

#include "host.h"
#include "host/host.h"
#include "base/pool.h"

/* Fewer take one thread less time than it takes to wake another. */
#define BRIEF_ITEMS 65536

typedef struct reduction {
    const host_program *of;
    const unsigned char *in[TALLY_MAX_INPUTS], *params;
    uint64_t base, n, span; /* span: items of a group */
    bool is_far;            /* the first part, which loads the items */
    unsigned char *partials;
} reduction;

static void fold_group(void *job, uint64_t group, uint32_t worker) {
    (void)worker;
    const reduction *r = job;
    const uint64_t begin = group * r->span, left = begin < r->n ? r->n - begin : 0, count = left < r->span ? left : r->span;
    unsigned char *partial = r->partials + group * r->of->acc_bytes;
    /* A chunk is read once from memory, whatever the number of ops: it stays in the cache. */
    for (uint32_t p = 0; p < r->of->part_count; p++) {
        const host_part *part = &r->of->parts[p];
        const void *in[TALLY_MAX_INPUTS];
        for (uint32_t k = 0; k < part->program->inputs; k++) in[k] = r->in[k] + begin * part->program->item_bytes;
        part->program->fold(in, r->params + part->param_offset, r->base + begin, count, p == 0 && r->is_far,
                            partial + part->acc_offset);
    }
}

/* Combines `count` accumulators into one. */
static void combine_all(const host_program *of, const unsigned char *accs, uint64_t count, unsigned char *to) {
    for (uint32_t p = 0; p < of->part_count; p++) {
        _Alignas(64) unsigned char acc[TALLY_HOST_ACC_BYTES];
        const host_part *part = &of->parts[p];
        part->program->combine_all(accs + part->acc_offset, of->acc_bytes, count, acc);
        memcpy(to + part->acc_offset, acc, part->program->acc_bytes);
    }
}

/* Writes the result of `count` accumulators, which hold n items. Bytes between the values are 0. */
static void finish(const host_program *of, const unsigned char *accs, uint64_t count, uint64_t n, const unsigned char *params,
                   unsigned char *result) {
    if (of->part_count > 1) memset(result, 0, of->result_bytes);
    for (uint32_t p = 0; p < of->part_count; p++) {
        const host_part *part = &of->parts[p];
        _Alignas(64) unsigned char acc[TALLY_HOST_ACC_BYTES];
        if (count) part->program->combine_all(accs + part->acc_offset, of->acc_bytes, count, acc);
        part->program->finish(acc, n, params + part->param_offset, result + part->result_offset);
    }
}

/* Writes the outcome of `count` accumulators at `at` (kernels/outcome.h). */
static void leave(const host_program *of, const unsigned char *accs, uint64_t count, uint64_t n, const unsigned char *params,
                  unsigned char *out, uint64_t at, const tally_outcome *outcome) {
    if (!outcome->is_node) {
        finish(of, accs, count, n, params, out + at * of->result_bytes);
        return;
    }
    combine_all(of, accs, count, out + 4 * at);
    if (outcome->has_header) memcpy(out + 8 * outcome->header_at, outcome->header, sizeof(outcome->header));
}

static void run_partials(host_kernel *kernel, uint64_t groups, const tally_arg *args) {
    const host_program *of = kernel->of;
    const tally_arg *rest = args + 2 * kernel->inputs;
    const uint32_t last = HOST_VALUE(uint32_t, rest[TALLY_REDUCE_ARG_LAST]);
    _Alignas(64) unsigned char own[TALLY_MAX_TERMS * TALLY_HOST_ACC_BYTES];
    reduction r = {.of = of,
                   .params = rest[TALLY_REDUCE_ARG_PARAMS].value,
                   .base = HOST_VALUE(uint64_t, rest[TALLY_REDUCE_ARG_BASE]),
                   .n = HOST_VALUE(uint64_t, rest[TALLY_REDUCE_ARG_N]),
                   .span = HOST_VALUE(uint64_t, rest[TALLY_REDUCE_ARG_RUN]) * TALLY_CHUNK_ITEMS};
    r.is_far = tally_host_are_far(of->parts[0].program, r.n, kernel->threads);
    for (uint32_t k = 0; k < kernel->inputs; k++)
        r.in[k] = host_bytes(&args[2 * k]) + HOST_VALUE(uint64_t, args[2 * k + 1]) * kernel->program->item_bytes;
    r.partials = last == TALLY_LAST_ALONE ? own
                                          : host_bytes(&rest[TALLY_REDUCE_ARG_PARTIALS]) +
                                                HOST_VALUE(uint64_t, rest[TALLY_REDUCE_ARG_FIRST]) * of->acc_bytes;
    (r.n < BRIEF_ITEMS ? tally_pool_run_briefly : tally_pool_run)(kernel->threads, groups, fold_group, &r);
    if (last != TALLY_LAST_NONE)
        leave(of, r.partials, groups, r.n, r.params, host_bytes(&rest[TALLY_REDUCE_ARG_OUT]),
              HOST_VALUE(uint64_t, rest[TALLY_REDUCE_ARG_OUT_OFFSET]), rest[TALLY_REDUCE_ARG_OUTCOME].value);
}

static void run_finish(host_kernel *kernel, uint64_t groups, const tally_arg *args) {
    (void)groups;
    const host_program *of = kernel->of;
    const uint64_t count = HOST_VALUE(uint64_t, args[TALLY_FINISH_ARG_COUNT]);
    if (HOST_VALUE(uint32_t, args[TALLY_FINISH_ARG_LAST])) {
        leave(of, host_bytes(&args[TALLY_FINISH_ARG_PARTIALS]), count, HOST_VALUE(uint64_t, args[TALLY_FINISH_ARG_N]),
              args[TALLY_FINISH_ARG_PARAMS].value, host_bytes(&args[TALLY_FINISH_ARG_OUT]),
              HOST_VALUE(uint64_t, args[TALLY_FINISH_ARG_OUT_OFFSET]), args[TALLY_FINISH_ARG_OUTCOME].value);
        return;
    }
    unsigned char *slot =
        host_bytes(&args[TALLY_FINISH_ARG_COMBINED]) + HOST_VALUE(uint64_t, args[TALLY_FINISH_ARG_SLOT]) * of->acc_bytes;
    combine_all(of, host_bytes(&args[TALLY_FINISH_ARG_PARTIALS]), count, slot);
}

bool tally_host_reduce_entry(host_kernel *kernel, const char *entry) {
    const bool folds = !strcmp(entry, "tally_partials");
    kernel->run = folds ? run_partials : run_finish;
    kernel->args = folds ? 2 * kernel->inputs + TALLY_REDUCE_ARGS : TALLY_FINISH_ARGS;
    return folds || !strcmp(entry, "tally_finish");
}
