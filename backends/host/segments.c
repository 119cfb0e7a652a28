/* SPDX-License-Identifier: MIT */
/* The kernels of segments: their arguments, and what those by axes and by offsets share. */
#include "segments.h"

#include <stdlib.h>
#include <string.h>

#include "host/host.h"

/* ---- scratch --------------------------------------------------------------------------------- */

uint64_t tally_host_block_bytes(const host_program *of) {
    uint64_t block = 0;
    for (uint32_t p = 0; p < of->part_count; p++)
        if (of->parts[p].program->block_bytes > block) block = of->parts[p].program->block_bytes;
    return block;
}

/* Returns the bytes of the accumulators, or of the results, of fold_block. */
static uint64_t values_bytes(const host_program *of) {
    uint64_t most = 0;
    for (uint32_t p = 0; p < of->part_count; p++) {
        const tally_host_program *program = of->parts[p].program;
        const uint64_t bytes = program->acc_bytes > program->result_bytes ? program->acc_bytes : program->result_bytes;
        if (bytes > most) most = bytes;
    }
    return HOST_MOST_WIDE * most;
}

#define MASK_BYTES ((CHUNK + TALLY_HOST_MASKED * TALLY_HOST_GROUP) * sizeof(uint32_t))

static uint64_t scratch_bytes(const host_program *of, uint32_t inputs) {
    const uint64_t block = tally_host_block_bytes(of) ? 2 * values_bytes(of) + HOST_BLOCK_ROOM : 0;
    return (inputs + 1) * (uint64_t)GATHER_BYTES + MASK_BYTES + block;
}

host_scratch tally_host_scratch_of(const segments_job *job, uint32_t worker) {
    host_scratch scratch;
    unsigned char *at = job->scratch + worker * job->scratch_bytes;
    for (uint32_t k = 0; k < job->inputs; k++, at += GATHER_BYTES) scratch.items[k] = at;
    scratch.where = at;
    scratch.mask = (uint32_t *)(void *)(at + GATHER_BYTES);
    scratch.lanes = at + GATHER_BYTES + MASK_BYTES;
    scratch.accs = scratch.lanes + HOST_BLOCK_ROOM;
    scratch.results = scratch.accs + values_bytes(job->of);
    return scratch;
}

bool tally_host_segments_are_far(const segments_job *job, uint64_t n) {
    return tally_host_are_far(job->of->parts[0].program, n, job->threads);
}

/* ---- chunks ---------------------------------------------------------------------------------- */

uint64_t tally_host_fold_chunk(const segments_job *job, uint32_t p, const unsigned char *const *items, const uint8_t *where,
                               uint64_t base, uint64_t n, const host_scratch *scratch, unsigned char *acc) {
    const host_part *part = &job->of->parts[p];
    const unsigned char *params = job->params + part->param_offset;
    if (!where) {
        part->program->fold((const void *const *)items, params, base, n, job->is_far && p == 0, acc);
        return n;
    }
    tally_host_masked masked = {.index = base, .segments = 1, .n = {(uint32_t)n}, .mask = {scratch->mask}};
    masked.has[0] = job->shared->widen_mask(where, (uint32_t)n, scratch->mask);
    for (uint32_t k = 0; k < job->inputs; k++) {
        masked.items[k] = items[k];
        if (n % TALLY_HOST_GROUP && items[k] != scratch->items[k])
            masked.items[k] = memcpy(scratch->items[k], items[k], n * job->item_bytes);
    }
    part->program->fold_masked(&masked, params, acc);
    return masked.has[0];
}

/* ---- results --------------------------------------------------------------------------------- */

unsigned char *tally_host_result_at(const segments_job *job, uint32_t p, int64_t at) {
    const host_part *part = &job->of->parts[p];
    if (job->of->segments.apart) return job->out[p] + at * (int64_t)part->program->result_bytes;
    return job->out[0] + at * (int64_t)job->of->result_bytes + part->result_offset;
}

void tally_host_put_result(const segments_job *job, uint32_t p, unsigned char *acc, uint64_t n, int64_t at) {
    const host_program *of = job->of;
    const host_part *part = &of->parts[p];
    _Alignas(64) unsigned char all[TALLY_HOST_ACC_BYTES];
    /* Bytes between the values are 0. */
    if (p == 0 && of->part_count > 1 && !of->segments.apart) memset(tally_host_result_at(job, 0, at), 0, of->result_bytes);
    if (job->initial) {
        part->program->initial(job->initial + part->result_offset, all);
        if (n) part->program->combine(all, acc);
        if (!n) n = 1; /* with an initial value no result is empty */
        acc = all;
    }
    part->program->finish(acc, n, job->params + part->param_offset, tally_host_result_at(job, p, at));
}

void tally_host_put_partial(const segments_job *job, uint32_t p, const unsigned char *acc, uint64_t n, uint64_t at) {
    const host_part *part = &job->of->parts[p];
    memcpy(job->partials + at * job->of->acc_bytes + part->acc_offset, acc, part->program->acc_bytes);
    if (job->counts) job->counts[at] = n;
}

void tally_host_combine_partials(const segments_job *job, uint32_t p, uint64_t at, uint64_t leaves, unsigned char *acc) {
    const host_part *part = &job->of->parts[p];
    part->program->combine_all(job->partials + at * job->of->acc_bytes + part->acc_offset, job->of->acc_bytes, leaves, acc);
}

uint64_t tally_host_items_of(const segments_job *job, uint64_t at, uint64_t leaves, uint64_t n) {
    if (!job->counts) return n;
    uint64_t sum = 0;
    for (uint64_t k = 0; k < leaves; k++) sum += job->counts[at + k];
    return sum;
}

/* ---- arguments ------------------------------------------------------------------------------- */

static uint64_t *words(const tally_arg *arg) {
    return (uint64_t *)(void *)host_bytes(arg);
}

/* Returns the walk along input k, or along the mask if k is the number of inputs. */
static host_walk walk_of(const segments_job *job, uint32_t k) {
    const tally_array_shape *shape = &job->shape;
    const bool masks = k == job->inputs;
    const int64_t bytes = masks ? 1 : job->item_bytes;
    const tally_shape_axis *fastest = &shape->axis[shape->reduced + shape->kept - 1];
    host_walk walk = {.bytes = (uint32_t)bytes, .reduced = shape->reduced};
    for (uint32_t a = 0; a < shape->reduced; a++) {
        walk.extent[a] = shape->axis[a].extent;
        walk.step[a] = (masks ? shape->axis[a].where : shape->axis[a].in[k]) * bytes;
    }
    walk.across = (masks ? fastest->where : fastest->in[k]) * bytes;
    return walk;
}

static void open_axes(segments_job *job, const tally_arg *own) {
    job->leaf = HOST_VALUE(uint64_t, own[TALLY_SEGMENT_ARG_LEAF]);
    job->leaves = HOST_VALUE(uint64_t, own[TALLY_SEGMENT_ARG_LEAVES]);
    const uint64_t slice = HOST_VALUE(uint64_t, own[TALLY_SEGMENT_ARG_SLICE]);
    job->slices = host_bytes(&own[TALLY_SEGMENT_ARG_SLICES]) + slice * job->of->acc_bytes;
    job->slice_counts = words(&own[TALLY_SEGMENT_ARG_SLICE_COUNTS]) + slice;
    tally_host_read_shape(own[TALLY_SEGMENT_ARG_SHAPE].value, job->inputs, &job->shape);
    for (uint32_t k = 0; k < job->inputs; k++) job->walk[k] = walk_of(job, k);
    job->where_walk = walk_of(job, job->inputs);
}

static void open_offsets(segments_job *job, const tally_arg *own) {
    const uint32_t bytes = job->of->segments.offset_bytes;
    job->wide = bytes == 8;
    job->begins =
        host_bytes(&own[TALLY_SEGMENT_ARG_BEGINS]) + HOST_VALUE(uint64_t, own[TALLY_SEGMENT_ARG_BEGINS_OFFSET]) * bytes;
    job->ends = host_bytes(&own[TALLY_SEGMENT_ARG_ENDS]) + HOST_VALUE(uint64_t, own[TALLY_SEGMENT_ARG_ENDS_OFFSET]) * bytes;
    if (job->of->segments.has_number) {
        const uint64_t number =
            words(&own[TALLY_SEGMENT_ARG_NUMBER])[HOST_VALUE(uint64_t, own[TALLY_SEGMENT_ARG_NUMBER_OFFSET])];
        if (number < job->count) job->count = number;
    }
    job->work = words(&own[TALLY_SEGMENT_ARG_WORK]);
    job->capacity = HOST_VALUE(uint64_t, own[TALLY_SEGMENT_ARG_CAPACITY]);
    job->lists = HOST_VALUE(uint32_t, own[TALLY_SEGMENT_ARG_LISTS]);
}

static segments_job open_job(const host_kernel *kernel, const tally_arg *args) {
    const host_program *of = kernel->of;
    const tally_segment_form *form = &of->segments;
    const tally_arg *own = args + 2 * form->inputs, *outs = own + TALLY_SEGMENT_ARGS;
    segments_job job = {.of = of,
                        .shared = &tally_host_code_here()->shared,
                        .inputs = form->inputs,
                        .item_bytes = kernel->program->item_bytes,
                        .threads = kernel->threads,
                        .params = own[TALLY_SEGMENT_ARG_PARAMS].value,
                        .initial = form->has_initial ? own[TALLY_SEGMENT_ARG_INITIAL].value : NULL,
                        .first = HOST_VALUE(uint64_t, own[TALLY_SEGMENT_ARG_FIRST]),
                        .count = HOST_VALUE(uint64_t, own[TALLY_SEGMENT_ARG_COUNT]),
                        .last = HOST_VALUE(uint32_t, own[TALLY_SEGMENT_ARG_LAST]),
                        .partials = host_bytes(&own[TALLY_SEGMENT_ARG_PARTIALS]),
                        .scratch = kernel->scratch,
                        .scratch_bytes = scratch_bytes(of, form->inputs)};
    for (uint32_t k = 0; k < job.inputs; k++)
        job.in[k] = host_bytes(&args[2 * k]) + HOST_VALUE(uint64_t, args[2 * k + 1]) * job.item_bytes;
    if (form->has_where) {
        job.where = host_bytes(&own[TALLY_SEGMENT_ARG_WHERE]) + HOST_VALUE(uint64_t, own[TALLY_SEGMENT_ARG_WHERE_OFFSET]);
        job.counts = words(&own[TALLY_SEGMENT_ARG_COUNTS]);
    }
    for (uint32_t t = 0; t < (form->apart ? of->part_count : 1); t++) {
        const uint32_t bytes = form->apart ? of->parts[t].program->result_bytes : of->result_bytes;
        job.out[t] = host_bytes(&outs[2 * t]) + HOST_VALUE(uint64_t, outs[2 * t + 1]) * bytes;
    }
    if (form->offset_bytes)
        open_offsets(&job, own);
    else
        open_axes(&job, own);
    return job;
}

/* ---- entries --------------------------------------------------------------------------------- */

#define RUN(name)                                                                                                              \
    static void run_##name(host_kernel *kernel, uint64_t groups, const tally_arg *args) {                                      \
        (void)groups;                                                                                                          \
        segments_job job = open_job(kernel, args);                                                                             \
        tally_host_segments_##name(&job);                                                                                      \
    }
RUN(axes)
RUN(axes_fold)
RUN(clear)
RUN(offsets)
RUN(chunks)
RUN(offsets_fold)

tally_status tally_host_segments_entry(host_kernel *kernel, const char *entry) {
    static const struct {
        const char *name;
        bool by_offsets, has_scratch;
        host_entry run;
    } entries[] = {
        {"tally_segments_teams", false, true, run_axes},      {"tally_segments_threads", false, true, run_axes},
        {"tally_segments_fold", false, false, run_axes_fold}, {"tally_segments_fold_each", false, false, run_axes_fold},
        {"tally_segments_clear", true, false, run_clear},     {"tally_segments_teams", true, true, run_offsets},
        {"tally_segments_chunks", true, true, run_chunks},    {"tally_segments_fold", true, false, run_offsets_fold}};
    const tally_segment_form *form = &kernel->of->segments;
    for (size_t i = 0; i < TALLY_ARRAY_LENGTH(entries); i++) {
        if (strcmp(entry, entries[i].name) || entries[i].by_offsets != (form->offset_bytes != 0)) continue;
        kernel->run = entries[i].run;
        kernel->args = 2 * form->inputs + TALLY_SEGMENT_ARGS + 2 * (form->apart ? kernel->of->part_count : 1);
        if (!entries[i].has_scratch) return TALLY_OK;
        kernel->scratch = aligned_alloc(64, kernel->threads * scratch_bytes(kernel->of, form->inputs));
        return kernel->scratch ? TALLY_OK : tally_fail(TALLY_E_MEMORY, "out of memory");
    }
    return tally_fail(TALLY_E_INTERNAL, "no kernel '%s'", entry);
}
