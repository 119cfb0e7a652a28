/* SPDX-License-Identifier: MIT */
/* Resolving a descriptor: its ops' rows, with every type decided, laid out and checked. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core.h"

#define CALL "tally_plan_create"
#define MAX_FACTOR 65536
/* Of an item's lanes in registers, where a group has more than 256 items. i8 nrm2 (384 bytes), 4 GiB on an H200, November 2026: 4.8 ms in groups
 * of 256, 14.5 ms of 512. */
#define MAX_LANES_BYTES 192
#define DEFAULT_LOADS 8

/* ---- types ---------------------------------------------------------------------------------------------------------- */

static bool is_integer(tally_dtype dtype) {
    const tally_kind kind = tally_dtype_find(dtype)->kind;
    return kind == TALLY_KIND_SIGNED || kind == TALLY_KIND_UNSIGNED;
}

/* What floats (and the parts of complex items) compute in; `acc` may ask for f64. */
static tally_dtype float_value(const tally_dtype_row *in, tally_dtype acc) {
    return acc == TALLY_F64 ? TALLY_F64 : in->compute;
}

static tally_dtype value_type(tally_accumulate accumulate, const tally_dtype_row *in, tally_dtype acc) {
    const bool floats = in->kind == TALLY_KIND_FLOAT || in->kind == TALLY_KIND_COMPLEX;
    switch (accumulate) {
    case TALLY_ACCUMULATE_COUNT:
        return TALLY_U64;
    case TALLY_ACCUMULATE_TRUTH:
        return TALLY_U32;
    default:
        break;
    }
    if (floats) return float_value(in, acc);
    switch (accumulate) {
    case TALLY_ACCUMULATE_WIDE:
        return TALLY_U64;
    case TALLY_ACCUMULATE_REAL:
        return TALLY_F64;
    case TALLY_ACCUMULATE_MAGNITUDE:
        return in->compute == TALLY_I32 ? TALLY_U32 : in->compute == TALLY_I64 ? TALLY_U64 : in->compute;
    default:
        return in->compute;
    }
}

static tally_dtype real_type(const tally_dtype_row *in, tally_dtype acc) {
    const bool floats = in->kind == TALLY_KIND_FLOAT || in->kind == TALLY_KIND_COMPLEX;
    return floats ? float_value(in, acc) : TALLY_F64;
}

static tally_dtype unsigned_of(uint32_t bytes) {
    return bytes == 1 ? TALLY_U8 : bytes == 2 ? TALLY_U16 : bytes == 4 ? TALLY_U32 : TALLY_U64;
}

/* The result's type when none is asked for; of a complex result that of its parts. */
static tally_dtype natural_type(const tally_op_row *row, tally_dtype dtype, tally_dtype value) {
    const tally_dtype_row *in = tally_dtype_find(dtype);
    const bool floats = in->kind == TALLY_KIND_FLOAT || in->kind == TALLY_KIND_COMPLEX;
    switch (row->gives) {
    case TALLY_GIVES_ITEM:
        return in->kind == TALLY_KIND_COMPLEX ? value : dtype;
    case TALLY_GIVES_WIDE:
        return floats ? value : in->kind == TALLY_KIND_UNSIGNED ? TALLY_U64 : TALLY_I64;
    case TALLY_GIVES_UNSIGNED:
        return floats ? value : TALLY_U64;
    case TALLY_GIVES_MAGNITUDE:
        return in->kind == TALLY_KIND_SIGNED ? unsigned_of(in->bytes) : dtype;
    case TALLY_GIVES_INDEX:
    case TALLY_GIVES_COUNT:
        return TALLY_U64;
    case TALLY_GIVES_TRUTH:
        return TALLY_BOOL;
    case TALLY_GIVES_REAL:
        break;
    }
    return value;
}

static bool is_complex_result(const tally_op_row *row, tally_dtype in) {
    return tally_dtype_find(in)->kind == TALLY_KIND_COMPLEX && row->gives == TALLY_GIVES_ITEM;
}

static tally_dtype complex_of(tally_dtype part) {
    return part == TALLY_F64 ? TALLY_C128 : TALLY_C64;
}

tally_dtype tally_accumulator_dtype(tally_op op, tally_dtype in) {
    const tally_op_row *row = tally_op_row_for(op, in, TALLY_ACCURACY_DEFAULT);
    return row ? value_type(row->accumulate, tally_dtype_find(in), TALLY_DTYPE_DEFAULT) : TALLY_DTYPE_DEFAULT;
}

tally_dtype tally_result_dtype(tally_op op, tally_dtype in) {
    const tally_op_row *row = tally_op_row_for(op, in, TALLY_ACCURACY_DEFAULT);
    if (!row) return TALLY_DTYPE_DEFAULT;
    const tally_dtype natural = natural_type(row, in, tally_accumulator_dtype(op, in));
    return is_complex_result(row, in) ? complex_of(natural) : natural;
}

static bool has_second(const tally_op_row *row) {
    return strcmp(row->second, "NONE") != 0;
}

uint32_t tally_result_count(tally_op op, tally_dtype in) {
    const tally_op_row *row = tally_op_row_for(op, in, TALLY_ACCURACY_DEFAULT);
    if (!row) return 0;
    return has_second(row) && !is_complex_result(row, in) ? 2 : 1;
}

uint32_t tally_chunk_team(size_t item_bytes) {
    const size_t team = TALLY_LANES * item_bytes / 16;
    return team < 32 ? (uint32_t)team : 32;
}

/*
 * A lane adds up 32 items of a chunk, and 128 lanes meet: 2^12 terms. Of 8-bit items, and of 16-bit ones where the terms are linear in
 * them, 32 bits hold that, signed or not. An index needs no more than 12 bits within a chunk: V stays, the index becomes a u32.
 */
static tally_dtype lane_type(const tally_op_row *row, const tally_dtype_row *in, tally_dtype value) {
    if (row->gives == TALLY_GIVES_INDEX) return value;
    if (value != TALLY_U64) return TALLY_DTYPE_DEFAULT;
    const uint32_t bits = in->kind == TALLY_KIND_BOOL ? 1 : 8 * in->bytes;
    const uint32_t term_bits[] = {[TALLY_ADDITIVE_NO] = 64,
                                  [TALLY_ADDITIVE_UNIT] = 1,
                                  [TALLY_ADDITIVE_LINEAR] = bits,
                                  [TALLY_ADDITIVE_QUADRATIC] = 2 * bits};
    if (term_bits[row->additive] + 12 > 31) return TALLY_DTYPE_DEFAULT;
    return in->kind == TALLY_KIND_SIGNED && row->additive != TALLY_ADDITIVE_UNIT ? TALLY_I32 : TALLY_U32;
}

/* ---- layouts -------------------------------------------------------------------------------------------------------- */

static uint32_t align_up(uint32_t at, uint32_t align) {
    return (at + align - 1) / align * align;
}

/* Appends a member; returns its offset. */
static uint32_t append(tally_layout *layout, tally_layout member) {
    const uint32_t at = align_up(layout->bytes, member.align);
    layout->bytes = at + member.bytes;
    if (member.align > layout->align) layout->align = member.align;
    return at;
}

static void close_layout(tally_layout *layout) {
    if (!layout->align) *layout = (tally_layout){4, 4}; /* a member that is never used: no language has an empty struct */
    layout->bytes = align_up(layout->bytes, layout->align);
}

static tally_layout layout_of(tally_dtype dtype) {
    const uint32_t bytes = tally_dtype_find(dtype)->bytes;
    return (tally_layout){bytes, bytes};
}

static void lay_out_term(tally_term *term) {
    term->acc = term->param = term->result = (tally_layout){0, 0};
    for (uint32_t i = 0; i < term->field_count; i++) append(&term->acc, layout_of(term->fields[i].type));
    if (!term->field_count) term->acc = layout_of(term->value);
    close_layout(&term->acc);
    /* So that one atomic can take it. */
    if (term->acc.bytes == 8) term->acc.align = 8;
    for (uint32_t i = 0; i < term->param_count; i++) append(&term->param, layout_of(term->params[i].type));
    close_layout(&term->param);
    for (uint32_t i = 0; i < term->out_count; i++) append(&term->result, layout_of(term->out));
    close_layout(&term->result);
}

static void lay_out(tally_spec *spec) {
    spec->acc = spec->param = spec->result = (tally_layout){0, 0};
    for (uint32_t t = 0; t < spec->term_count; t++) {
        spec->terms[t].acc_offset = append(&spec->acc, spec->terms[t].acc);
        append(&spec->param, spec->terms[t].param);
        append(&spec->result, spec->terms[t].result);
    }
    close_layout(&spec->acc);
    close_layout(&spec->param);
    close_layout(&spec->result);
    if (spec->acc.bytes == 8) spec->acc.align = 8;
}

bool tally_spec_result(const tally_spec *spec, uint32_t index, tally_result_info *info) {
    tally_layout layout = {0, 0};
    for (uint32_t t = 0; t < spec->term_count; t++) {
        const tally_term *term = &spec->terms[t];
        const uint32_t at = append(&layout, term->result);
        const bool is_complex = term->out_count == 2 && tally_dtype_find(spec->in)->kind == TALLY_KIND_COMPLEX;
        const uint32_t values = is_complex ? 1 : term->out_count;
        if (index < values) {
            *info = (tally_result_info){.dtype = is_complex ? complex_of(term->out) : term->out,
                                        .offset = at + index * tally_dtype_find(term->out)->bytes,
                                        .op = t};
            return true;
        }
        index -= values;
    }
    return false;
}

/* A float holds every value, beyond its range as an infinity. What a cast to an integer gives for one beyond its range, C leaves undefined. */
static bool holds(tally_dtype type, double value) {
    if (!type || !is_integer(type)) return true;
    const bool has_sign = tally_dtype_find(type)->kind == TALLY_KIND_SIGNED;
    const double end = ldexp(1, (int)tally_dtype_bytes(type) * 8 - has_sign), whole = trunc(value);
    return whole >= (has_sign ? -end : 0) && whole < end;
}

tally_status tally_check_param(const char *call, const char *op, const tally_op_param *param, double value) {
    if (holds(param->type, value)) return TALLY_OK;
    return tally_fail(TALLY_E_ARGUMENT, "%s: op %s: parameter %s: %.17g does not fit %s", call, op, param->name, value,
                      tally_dtype_name(param->type));
}

static void pack_value(tally_dtype type, double value, unsigned char *to) {
#define CASE(id, name, kind, c_type)                                                                                           \
    case TALLY_##id: {                                                                                                         \
        const c_type v = (c_type)value;                                                                                        \
        memcpy(to, &v, sizeof(v));                                                                                             \
        break;                                                                                                                 \
    }
    switch ((int)type) { TALLY_VALUE_TABLE(CASE) }
#undef CASE
}

void tally_spec_pack_params(const tally_spec *spec, void *to) {
    tally_layout all = {0, 0};
    memset(to, 0, spec->param.bytes);
    for (uint32_t t = 0; t < spec->term_count; t++) {
        const tally_term *term = &spec->terms[t];
        unsigned char *at = (unsigned char *)to + append(&all, term->param);
        tally_layout own = {0, 0};
        for (uint32_t i = 0; i < term->param_count; i++) {
            const uint32_t offset = append(&own, layout_of(term->params[i].type));
            pack_value(term->params[i].type, term->params[i].value, at + offset);
        }
    }
}

/* ---- terms ---------------------------------------------------------------------------------------------------------- */

static const char *kind_name(tally_dtype dtype) {
    static const char *const names[] = {[TALLY_KIND_FLOAT] = "a float",
                                        [TALLY_KIND_SIGNED] = "an integer",
                                        [TALLY_KIND_UNSIGNED] = "an integer",
                                        [TALLY_KIND_BOOL] = "a truth value",
                                        [TALLY_KIND_COMPLEX] = "complex"};
    return names[tally_dtype_find(dtype)->kind];
}

/* Whether a result of type `natural` may be converted to `out`. An index must stay whole. */
static bool is_convertible(tally_dtype natural, tally_dtype out, bool is_index) {
    const tally_kind from = tally_dtype_find(natural)->kind, to = tally_dtype_find(out)->kind;
    if (natural == out) return true;
    if (is_index) return out == TALLY_I64;
    if (from == TALLY_KIND_COMPLEX || to == TALLY_KIND_COMPLEX) return from == to;
    if (from == TALLY_KIND_FLOAT) return to == TALLY_KIND_FLOAT;
    if (from == TALLY_KIND_BOOL) return to != TALLY_KIND_FLOAT;
    return is_integer(out) || out == TALLY_F32 || out == TALLY_F64;
}

/* Sets the result's type: `whole` is the natural one as the caller sees it. */
static tally_status set_out(tally_term *term, tally_dtype whole, tally_dtype asked, bool is_index) {
    term->out = term->natural;
    if (!asked || asked == whole) return TALLY_OK;
    if (!is_convertible(whole, asked, is_index))
        return tally_fail(TALLY_E_ARGUMENT, CALL ": desc.out is %s: the result of %s is %s, %s", tally_dtype_name(asked),
                          term->name, tally_dtype_name(whole), is_index ? "an index" : kind_name(whole));
    term->out = whole == TALLY_C64 || whole == TALLY_C128 ? tally_dtype_find(asked)->compute : asked;
    return TALLY_OK;
}

static tally_status check_acc(const char *name, tally_dtype acc, const tally_dtype_row *in) {
    const bool floats = in->kind == TALLY_KIND_FLOAT || in->kind == TALLY_KIND_COMPLEX;
    if (!acc || (floats && (acc == TALLY_F64 || acc == in->compute))) return TALLY_OK;
    return tally_fail(TALLY_E_ARGUMENT, CALL ": desc.acc is %s: %s of %s accumulates in %s", tally_dtype_name(acc), name,
                      in->name, floats ? "f32 or f64, no narrower than the items" : "the type that its row says");
}

static tally_status no_row(tally_op op, const tally_reduce_desc *desc) {
    const char *name = tally_op_name(op), *in = tally_dtype_name(desc->in);
    if (!tally_op_row_for(op, desc->in, TALLY_ACCURACY_DEFAULT))
        return tally_fail(TALLY_E_UNSUPPORTED, CALL ": %s does not take %s items", name, in);
    return tally_fail(TALLY_E_UNSUPPORTED, CALL ": %s of %s has no level '%s': sum, asum, sumsq, mean and dot of floats have",
                      name, in, tally_accuracy_name(desc->accuracy));
}

static tally_status resolve_row(tally_op op, const tally_reduce_desc *desc, tally_term *term) {
    const tally_dtype_row *in = tally_dtype_find(desc->in);
    const tally_op_row *row = tally_op_row_for(op, desc->in, desc->accuracy);
    if (!row) return no_row(op, desc);
    tally_status status = check_acc(row->name, desc->acc, in);
    if (status) return status;
    const tally_dtype value = value_type(row->accumulate, in, desc->acc);
    *term = (tally_term){.name = row->name,
                         .op = op,
                         .value = value,
                         .real = real_type(in, desc->acc),
                         .natural = natural_type(row, desc->in, value),
                         .out_count = has_second(row) ? 2 : 1,
                         .lane = lane_type(row, in, value),
                         .identity = row->identity,
                         .load = row->load,
                         .combine = row->combine,
                         .first = row->first,
                         .second = row->second,
                         .empty = row->empty,
                         .second_empty = row->second_empty,
                         .exact = row->exact,
                         .additive = row->additive};
    for (; row->fields[term->field_count].name; term->field_count++) {
        const tally_dtype type = row->fields[term->field_count].type;
        term->fields[term->field_count] =
            (tally_op_field){.name = row->fields[term->field_count].name, .type = type ? type : value};
    }
    for (; row->params[term->param_count].name; term->param_count++)
        term->params[term->param_count] = (tally_op_param){
            .name = row->params[term->param_count].name, .type = term->real, .value = row->params[term->param_count].value};
    const bool is_complex = is_complex_result(row, desc->in);
    return set_out(term, is_complex ? complex_of(value) : term->natural, desc->op_count ? TALLY_DTYPE_DEFAULT : desc->out,
                   row->gives == TALLY_GIVES_INDEX);
}

static tally_status resolve_custom(const tally_custom_op *op, const tally_reduce_desc *desc, tally_term *term) {
    const tally_dtype_row *in = tally_dtype_find(desc->in);
    const tally_op_desc *own = &op->desc;
    tally_dtype value = own->acc;
    if (!value) value = value_type(TALLY_ACCUMULATE_WIDE, in, TALLY_DTYPE_DEFAULT);
    if (!own->acc && (in->kind == TALLY_KIND_SIGNED || in->kind == TALLY_KIND_BOOL)) value = TALLY_I64;
    if (desc->acc)
        return tally_fail(TALLY_E_ARGUMENT, CALL ": desc.acc is %s: a custom op names its own", tally_dtype_name(desc->acc));
    if (desc->accuracy)
        return tally_fail(TALLY_E_UNSUPPORTED, CALL ": op %s: a custom op has no level '%s'", own->name,
                          tally_accuracy_name(desc->accuracy));
    *term = (tally_term){.name = own->name,
                         .value = value,
                         .real = real_type(in, TALLY_DTYPE_DEFAULT),
                         .natural = own->out ? own->out : value,
                         .out_count = 1,
                         .field_count = own->field_count,
                         .identity = own->identity,
                         .load = own->load,
                         .combine = own->combine,
                         .first = own->finish ? own->finish : "a",
                         .second = "NONE",
                         .empty = own->empty,
                         .second_empty = "NONE",
                         .is_custom = true,
                         .param_count = own->param_count,
                         .exact = own->exact != 0};
    for (uint32_t i = 0; i < own->field_count; i++) {
        term->fields[i] = own->fields[i];
        if (!term->fields[i].type) term->fields[i].type = value;
    }
    for (uint32_t i = 0; i < own->param_count; i++) term->params[i] = own->params[i];
    return set_out(term, term->natural, desc->out, false);
}

/* ---- the descriptor ------------------------------------------------------------------------------------------------- */

static tally_status check_ops(const tally_reduce_desc *desc) {
    const int ways = (desc->op != TALLY_OP_NONE) + (desc->op_count != 0) + (desc->custom != NULL);
    if (!ways) return tally_fail(TALLY_E_ARGUMENT, CALL ": desc.op is 0: no such op");
    if (ways > 1) return tally_fail(TALLY_E_ARGUMENT, CALL ": desc.op, desc.ops and desc.custom: give one of them");
    if (desc->op_count > TALLY_MAX_OPS)
        return tally_fail(TALLY_E_ARGUMENT, CALL ": desc.op_count is %u: at most %d", desc->op_count, TALLY_MAX_OPS);
    if (desc->op_count && !desc->ops) return tally_fail(TALLY_E_ARGUMENT, CALL ": desc.ops is NULL");
    if (desc->op_count && desc->out)
        return tally_fail(TALLY_E_ARGUMENT, CALL ": desc.out is %s: the results of several ops keep their types",
                          tally_dtype_name(desc->out));
    if (desc->custom && desc->custom->tag != TALLY_TAG_OP) return tally_fail(TALLY_E_ARGUMENT, CALL ": desc.custom is no op");
    for (uint32_t i = 0; i < desc->op_count || (i == 0 && desc->op); i++) {
        const tally_op op = desc->op ? desc->op : desc->ops[i];
        if (tally_op_find(op)) continue;
        if (desc->op) return tally_fail(TALLY_E_ARGUMENT, CALL ": desc.op is %d: no such op", (int)op);
        return tally_fail(TALLY_E_ARGUMENT, CALL ": desc.ops[%u] is %d: no such op", i, (int)op);
    }
    return TALLY_OK;
}

static tally_status copy_desc(const tally_reduce_desc *given, tally_reduce_desc *desc) {
    if (!given) return tally_fail(TALLY_E_ARGUMENT, CALL ": desc is NULL");
    if (given->size < offsetof(tally_reduce_desc, out) || given->size > sizeof(*given))
        return tally_fail(TALLY_E_ARGUMENT, CALL ": desc.size is %zu: sizeof(tally_reduce_desc) is %zu", given->size,
                          sizeof(*given));
    *desc = (tally_reduce_desc){0};
    memcpy(desc, given, given->size);
    if (!tally_dtype_find(desc->in)) return tally_fail(TALLY_E_ARGUMENT, CALL ": desc.in is %d: no such dtype", (int)desc->in);
    if (desc->out && !tally_dtype_find(desc->out))
        return tally_fail(TALLY_E_ARGUMENT, CALL ": desc.out is %d: no such dtype", (int)desc->out);
    if (desc->acc && !tally_dtype_is_value(desc->acc))
        return tally_fail(TALLY_E_ARGUMENT, CALL ": desc.acc is %d: no type to accumulate in", (int)desc->acc);
    if (!tally_accuracy_name(desc->accuracy))
        return tally_fail(TALLY_E_ARGUMENT, CALL ": desc.accuracy is %d: no such level", (int)desc->accuracy);
    return check_ops(desc);
}

static tally_status resolve_terms(const tally_reduce_desc *desc, tally_spec *spec) {
    spec->term_count = desc->op_count ? desc->op_count : 1;
    spec->terms = calloc(spec->term_count, sizeof(*spec->terms));
    if (!spec->terms) return tally_fail(TALLY_E_MEMORY, CALL ": out of memory");
    if (desc->custom) {
        spec->custom = (tally_custom_op *)(uintptr_t)desc->custom;
        tally_op_retain(spec->custom);
        spec->inputs = spec->custom->desc.inputs;
    }
    for (uint32_t t = 0; t < spec->term_count; t++) {
        tally_term *term = &spec->terms[t];
        const tally_op op = desc->op_count ? desc->ops[t] : desc->op;
        const tally_status status = desc->custom ? resolve_custom(desc->custom, desc, term) : resolve_row(op, desc, term);
        if (status) return status;
        const uint32_t inputs = desc->custom ? spec->inputs : tally_op_inputs(op);
        if (t && inputs != spec->inputs)
            return tally_fail(TALLY_E_ARGUMENT, CALL ": %s has %u input%s, %s has %u: they cannot share a pass", term->name,
                              inputs, inputs > 1 ? "s" : "", spec->terms[0].name, spec->inputs);
        spec->inputs = inputs;
        lay_out_term(term);
    }
    spec->accuracy = desc->accuracy;
    lay_out(spec);
    return TALLY_OK;
}

static bool is_group(const tally_variant *variant, uint32_t items) {
    return items >= variant->min_group_items && items <= variant->max_group_items && !(items & (items - 1));
}

/* The items of a group where the descriptor does not say: the tuning's, as far as an item's lanes fit the registers that it leaves them
 * (backends/cuda/kernels/group_tree.cu), else the variant's. */
static uint32_t tuned_group(const tally_spec *spec) {
    const tally_variant *variant = spec->variant;
    const uint32_t lanes_bytes = TALLY_LANES / tally_chunk_team(tally_dtype_bytes(spec->in)) * spec->acc.bytes;
    uint32_t tuned = variant->shape == TALLY_SHAPE_CHUNKS ? spec->tuning.group_items : 0;
    if (tuned > 256 && lanes_bytes > MAX_LANES_BYTES) tuned = 256;
    return tuned && is_group(variant, tuned) ? tuned : variant->info.group_items;
}

/* That group, or, where its accumulators do not fit the local memory, the largest that does. */
static tally_status choose_group(const tally_device_info *device, const tally_reduce_desc *desc, tally_spec *spec) {
    const uint32_t own = tuned_group(spec);
    spec->group_items = desc->group_items ? desc->group_items : own;
    tally_status status = tally_variant_check(device, spec);
    while (status == TALLY_E_UNSUPPORTED && !desc->group_items && spec->group_items / 2 >= spec->variant->min_group_items) {
        spec->group_items /= 2;
        status = tally_variant_check(device, spec);
    }
    if (!status || desc->group_items) return status;
    spec->group_items = own;
    return tally_variant_check(device, spec);
}

static tally_status resolve(const tally_device_info *device, const tally_tunings *tunings, tally_reduce_desc *desc,
                            tally_spec *spec) {
    tally_status status = tally_variant_find(desc->variant, device, &spec->variant);
    if (status) return status;
    const tally_variant_info *info = &spec->variant->info;
    if (!desc->factor) desc->factor = info->factor;
    if (desc->factor && !info->factor)
        return tally_fail(TALLY_E_ARGUMENT, CALL ": desc.factor is %u: variant %s has no factor", desc->factor, info->name);
    if (desc->factor > MAX_FACTOR)
        return tally_fail(TALLY_E_ARGUMENT, CALL ": desc.factor is %u: at most %d", desc->factor, MAX_FACTOR);
    if (!desc->max_n) desc->max_n = device->memory_bytes / tally_dtype_bytes(desc->in);
    if (desc->max_n > UINT64_MAX / 16) return tally_fail(TALLY_E_ARGUMENT, CALL ": desc.max_n is beyond any memory");
    spec->in = desc->in;
    spec->factor = desc->factor;
    status = resolve_terms(desc, spec);
    if (status) return status;
    spec->tuning = tally_tuning_find(tunings, device, spec, desc->max_n * tally_dtype_bytes(desc->in));
    if (!spec->tuning.loads) spec->tuning.loads = DEFAULT_LOADS;
    return choose_group(device, desc, spec);
}

tally_status tally_spec_resolve(const tally_device_info *device, const tally_tunings *tunings, const tally_reduce_desc *given,
                                tally_reduce_desc *desc, tally_spec *spec) {
    tally_status status = copy_desc(given, desc);
    if (status) return status;
    *spec = (tally_spec){0};
    status = resolve(device, tunings, desc, spec);
    if (status) tally_spec_free(spec);
    return status;
}

void tally_spec_free(tally_spec *spec) {
    tally_op_destroy(spec->custom);
    free(spec->terms);
    *spec = (tally_spec){0};
}

bool tally_spec_exact(const tally_spec *spec) {
    for (uint32_t t = 0; t < spec->term_count; t++) {
        const tally_term *term = &spec->terms[t];
        const bool integer = !term->field_count && !term->is_custom && is_integer(term->value);
        if (!term->exact && !integer) return false;
    }
    return true;
}
