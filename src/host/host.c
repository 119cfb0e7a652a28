/* SPDX-License-Identifier: MIT */
/* Reductions of few items on a CPU device by the calling thread. The kernel cpu_chunks, compiled
 * as C into the library (cmake/host.cmake), needs no plan, no memory and no call of a driver.
 * The order is the same, so the bits are the same. */
#include <float.h>
#include <string.h>

#include "host/host.h"

/* Tells whether the descriptor gives only an op and a dtype. The functions are for these. */
static bool is_plain(const tally_reduce_desc *desc) {
    const bool whole = desc->size >= offsetof(tally_reduce_desc, out) && desc->size <= sizeof(*desc);
    return whole && !desc->out && !desc->variant && !desc->group_threads && !desc->factor && !desc->acc && !desc->accuracy &&
           !desc->custom && !desc->terms && !desc->term_count;
}

static bool has_function(unsigned op, unsigned in) { /* the caller's values may be any number */
    return op < TALLY_OP_END && in < TALLY_DTYPE_END && tally_host_functions[op][in];
}

uint64_t tally_host_items(tally_op op, tally_dtype in) {
    if (!has_function(op, in)) return 0;
    const tally_op_row *row = tally_op_row_for(op, in, TALLY_ACCURACY_DEFAULT);
    if (row->text && !strcmp(row->text, "exponentials")) return TALLY_CHUNK_ITEMS;
    const bool adds_floats = row->additive && tally_dtype_find(in)->kind == TALLY_KIND_FLOAT;
    if (!adds_floats || tally_accumulator_dtype(op, in) != in) return TALLY_HOST_ITEMS;
    return TALLY_HOST_SUM_BYTES / tally_dtype_bytes(in);
}

/* Tells whether this thread rounds and keeps subnormals as the devices do, which are tested for it
 * (probe.c). A program linked with -ffast-math flushes subnormals, for example. */
static bool is_sound(void) {
    static const volatile float one = 1, half_ulp = 0x1p-24f, more = 0x1.8p-24f, small = 0x1.8p-126f, least = 0x1p-126f;
    const volatile float subnormal = small - least;
    return FLT_EVAL_METHOD == 0 && one + half_ulp == one && -one - half_ulp == -one && one + more > one && -one - more < -one &&
           subnormal + least == small;
}

static bool is_readable(const void *const *items, uint32_t inputs, size_t item_bytes) {
    bool readable = items != NULL;
    for (uint32_t k = 0; readable && k < inputs; k++) readable = items[k] && (uintptr_t)items[k] % item_bytes == 0;
    return readable;
}

bool tally_host_reduce(const tally_context *context, const tally_reduce_desc *desc, const void *const *items, uint64_t n,
                       void *result) {
    static const void *const nothing[TALLY_MAX_INPUTS] = {&nothing, &nothing, &nothing, &nothing};
    const tally_device_info *device = &context->info;
    if (device->device_class != TALLY_CLASS_CPU || !device->host_memory || !device->has_f64) return false;
    if (!is_plain(desc) || !has_function(desc->op, desc->in)) return false;
    if (n > TALLY_CHUNK_ITEMS && n > tally_host_items(desc->op, desc->in)) return false;
    if (!is_sound()) return false;
    if (n && !is_readable(items, tally_op_inputs(desc->op), tally_dtype_bytes(desc->in))) return false;
    tally_host_functions[desc->op][desc->in](n ? items : nothing, n, result);
    return true;
}
