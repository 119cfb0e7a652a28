/* SPDX-License-Identifier: MIT */
/* The arithmetic of parts. Terms that the library has programs of are folded on the host, in the
 * floating-point environment that the programs need. Custom ops are folded by their plan's
 * device. */
#include <fenv.h>
#include <stdlib.h>
#include <string.h>

#include "parts/parts.h"

/* Marks the words of a term's accumulator that are no padding. */
static void mark_used(const tally_term *term, uint64_t *used) {
    tally_layout layout = {0, 0};
    for (uint32_t i = 0; i < term->field_count || !i; i++) {
        const tally_layout field = tally_layout_of(term->field_count ? term->fields[i].type : term->value);
        const uint32_t at = (term->acc_offset + tally_layout_append(&layout, field)) / 4;
        for (uint32_t word = at; word < at + field.bytes / 4; word++) used[word / 64] |= UINT64_C(1) << word % 64;
    }
}

tally_status tally_part_folder_open(const tally_terms *terms, const void *params, tally_reduce_plan *plan,
                                    tally_part_folder *folder) {
    const tally_term *without = NULL;
    tally_layout of_params = {0, 0}, of_results = {0, 0};
    *folder = (tally_part_folder){.terms = terms, .params = params, .plan = plan, .threads = 1};
    for (uint32_t t = 0; t < terms->count; t++) {
        const tally_term *term = &terms->list[t];
        folder->programs[t] = tally_host_program_of(terms, term, &folder->in[t]);
        if (!folder->programs[t] && !without) without = term;
        folder->param_offset[t] = tally_layout_append(&of_params, term->param);
        folder->result_offset[t] = tally_layout_append(&of_results, term->result);
        mark_used(term, folder->used);
    }
    if (!without) folder->plan = NULL;
    if (!without || plan) return TALLY_OK;
    return tally_fail(TALLY_E_UNSUPPORTED,
                      "%s of %s with this accumulator or accuracy is not compiled for the host: a plan of "
                      "it is needed",
                      without->name, tally_dtype_name(terms->in));
}

void tally_part_clean(const tally_part_folder *folder, void *acc) {
    for (uint32_t word = 0; word < folder->terms->acc.bytes / 4; word++)
        if (!(folder->used[word / 64] >> word % 64 & 1)) memset((unsigned char *)acc + 4 * word, 0, 4);
}

/* ---- on the host ----------------------------------------------------------------------------- */

/* Folds items that the program takes as another type, a chunk at a time. Chunks of two inputs take
 * 128 KiB, too much for the stacks of some threads. */
static tally_status fold_converted(const tally_part_folder *f, uint32_t t, const void *const *items, uint64_t base, uint64_t n,
                                   unsigned char *acc) {
    const tally_host_program *program = f->programs[t];
    const tally_dtype from = f->terms->in, to = f->in[t];
    const uint32_t parts = tally_dtype_kind(from) == TALLY_KIND_COMPLEX ? 2 : 1;
    const tally_dtype from_part = parts == 2 ? TALLY_F32 : from, to_part = parts == 2 ? TALLY_F64 : to;
    const uint64_t from_bytes = tally_dtype_bytes(from_part), to_bytes = tally_dtype_bytes(to_part);
    const uint64_t chunk_bytes = TALLY_CHUNK_ITEMS * parts * to_bytes;
    unsigned char *chunks = aligned_alloc(64, program->inputs * chunk_bytes);
    if (!chunks) return tally_fail(TALLY_E_MEMORY, "out of memory");
    const void *converted[TALLY_MAX_INPUTS];
    for (uint32_t k = 0; k < program->inputs; k++) converted[k] = chunks + k * chunk_bytes;
    tally_host_counter counter;
    counter.count = 0;
    for (uint64_t at = 0; at < n; at += TALLY_CHUNK_ITEMS) {
        const uint64_t count = n - at < TALLY_CHUNK_ITEMS ? n - at : TALLY_CHUNK_ITEMS;
        for (uint32_t k = 0; k < program->inputs; k++)
            for (uint64_t i = 0; i < count * parts; i++)
                tally_value_convert(from_part, (const unsigned char *)items[k] + (at * parts + i) * from_bytes, to_part,
                                    chunks + k * chunk_bytes + i * to_bytes);
        program->fold(converted, f->params + f->param_offset[t], base + at, count, false, acc);
        tally_host_push(program, &counter, acc);
    }
    tally_host_total(program, &counter, acc);
    free(chunks);
    return TALLY_OK;
}

static tally_status fold_here(const tally_part_folder *f, const void *const *items, uint64_t base, uint64_t n,
                              unsigned char *acc) {
    _Alignas(64) unsigned char own[TALLY_HOST_ACC_BYTES];
    tally_status status = TALLY_OK;
    for (uint32_t t = 0; t < f->terms->count && !status; t++) {
        const tally_term *term = &f->terms->list[t];
        if (f->in[t] == f->terms->in)
            tally_host_fold(f->programs[t], items, f->params + f->param_offset[t], base, n, f->threads, own);
        else
            status = fold_converted(f, t, items, base, n, own);
        if (!status) memcpy(acc + term->acc_offset, own, f->programs[t]->acc_bytes);
    }
    return status;
}

static void combine_here(const tally_part_folder *f, unsigned char *left, const unsigned char *right) {
    for (uint32_t t = 0; t < f->terms->count; t++)
        f->programs[t]->combine(left + f->terms->list[t].acc_offset, right + f->terms->list[t].acc_offset);
}

/* Returns the type in which the program gives value i. A program of converted items gives floats in
 * their type. */
static tally_dtype natural_of(const tally_part_folder *f, uint32_t t, uint32_t i) {
    const tally_dtype natural = f->terms->list[t].results[i].natural;
    return f->in[t] != f->terms->in && tally_dtype_is_float(natural) ? f->terms->list[t].real : natural;
}

static void finish_here(const tally_part_folder *f, const unsigned char *acc, uint64_t n, unsigned char *result) {
    _Alignas(64) unsigned char own[TALLY_HOST_ACC_BYTES], values[TALLY_HOST_ACC_BYTES];
    memset(result, 0, f->terms->result.bytes);
    for (uint32_t t = 0; t < f->terms->count; t++) {
        const tally_term *term = &f->terms->list[t];
        tally_layout from = {0, 0}, to = {0, 0};
        if (n) memcpy(own, acc + term->acc_offset, f->programs[t]->acc_bytes);
        f->programs[t]->finish(own, n, f->params + f->param_offset[t], values);
        for (uint32_t i = 0; i < term->result_count; i++) {
            const tally_dtype out = term->results[i].out, natural = natural_of(f, t, i);
            const unsigned char *value = values + tally_layout_append(&from, tally_layout_of(natural));
            const uint32_t at = f->result_offset[t] + tally_layout_append(&to, tally_layout_of(out));
            tally_value_convert(natural, value, out, result + at);
        }
    }
}

/* ---- on the plan's device -------------------------------------------------------------------- */

/* Puts accumulators to the device and finishes them to slot 2, or to the result. */
static tally_status finish_there(const tally_part_folder *f, const void *accs, uint64_t count, uint64_t n, tally_target to,
                                 tally_part_kit *kit) {
    tally_status status = tally_buffer_write(kit->queue, kit->few, 0, accs, count * f->terms->acc.bytes);
    if (!status) status = tally_reduce_finish(f->plan, kit->queue->handle, kit->few->mem, count, n, to);
    return status;
}

/* Reads the outcome. Waits after a failure too, since copies may be under way. */
static tally_status read_there(tally_part_kit *kit, tally_status status, const tally_buffer *from, uint64_t offset, void *to,
                               uint64_t bytes) {
    if (!status) status = tally_buffer_read(kit->queue, from, offset, to, bytes);
    const tally_status waited = tally_queue_wait(kit->queue);
    return status ? status : waited;
}

static tally_status combine_there(const tally_part_folder *f, unsigned char *left, const unsigned char *right) {
    const uint64_t bytes = f->terms->acc.bytes;
    unsigned char pair[2 * TALLY_PART_ACC_BYTES];
    tally_part_kit *kit;
    tally_status status = tally_part_kit_host(f->plan, &kit);
    if (status) return status;
    memcpy(pair, left, bytes);
    memcpy(pair + bytes, right, bytes);
    status = finish_there(f, pair, 2, 0, (tally_target){.mem = kit->few->mem, .offset = 2}, kit);
    return read_there(kit, status, kit->few, 2 * bytes, left, bytes);
}

static tally_status value_there(const tally_part_folder *f, const void *acc, uint64_t n, void *result) {
    tally_part_kit *kit;
    tally_status status = tally_part_kit_host(f->plan, &kit);
    if (status) return status;
    status = finish_there(f, acc, n ? 1 : 0, n, (tally_target){.mem = kit->result->mem, .result = true}, kit);
    return read_there(kit, status, kit->result, 0, result, f->terms->result.bytes);
}

static tally_status fold_there(const tally_part_folder *f, const void *const *items, uint64_t base, uint64_t n, void *acc) {
    tally_part_kit *kit;
    const tally_status status = tally_part_kit_host(f->plan, &kit);
    return status ? status : tally_feed_fold(kit->feed, items, n, base, acc);
}

/* ---- either ---------------------------------------------------------------------------------- */

tally_status tally_part_fold(const tally_part_folder *folder, const void *const *items, uint64_t base, uint64_t n, void *acc) {
    tally_status status = TALLY_OK;
    if (folder->plan) {
        status = fold_there(folder, items, base, n, acc);
    } else {
        fenv_t caller;
        fegetenv(&caller);
        fesetenv(FE_DFL_ENV);
        status = fold_here(folder, items, base, n, acc);
        fesetenv(&caller);
    }
    if (!status) tally_part_clean(folder, acc);
    return status;
}

tally_status tally_part_combine(const tally_part_folder *folder, void *left, const void *right) {
    tally_status status = TALLY_OK;
    if (folder->plan) {
        status = combine_there(folder, left, right);
    } else {
        fenv_t caller;
        fegetenv(&caller);
        fesetenv(FE_DFL_ENV);
        combine_here(folder, left, right);
        fesetenv(&caller);
    }
    if (!status) tally_part_clean(folder, left);
    return status;
}

tally_status tally_part_finish(const tally_part_folder *folder, const void *acc, uint64_t n, void *result) {
    fenv_t caller;
    if (folder->plan) return value_there(folder, acc, n, result);
    fegetenv(&caller);
    fesetenv(FE_DFL_ENV);
    finish_here(folder, acc, n, result);
    fesetenv(&caller);
    return TALLY_OK;
}
