/* SPDX-License-Identifier: MIT */
/* Terms: ops resolved for items of one type, with every type decided, laid out and checked. */
#include <stdlib.h>
#include <string.h>

#include "ops/ops.h"

/* ---- types ---------------------------------------------------------------------------------------------------------- */

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
    return row->second != NULL;
}

uint32_t tally_result_count(tally_op op, tally_dtype in) {
    const tally_op_row *row = tally_op_row_for(op, in, TALLY_ACCURACY_DEFAULT);
    if (!row) return 0;
    return has_second(row) && !is_complex_result(row, in) ? 2 : 1;
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

static void lay_out_term(tally_term *term) {
    term->acc = term->param = term->result = (tally_layout){0, 0};
    for (uint32_t i = 0; i < term->field_count; i++) tally_layout_append(&term->acc, tally_layout_of(term->fields[i].type));
    if (!term->field_count) term->acc = tally_layout_of(term->value);
    tally_layout_close(&term->acc);
    /* So that one atomic can take it. */
    if (term->acc.bytes == 8) term->acc.align = 8;
    for (uint32_t i = 0; i < term->param_count; i++) tally_layout_append(&term->param, tally_layout_of(term->params[i].type));
    tally_layout_close(&term->param);
    for (uint32_t i = 0; i < term->out_count; i++) tally_layout_append(&term->result, tally_layout_of(term->out));
    tally_layout_close(&term->result);
}

static void lay_out(tally_terms *terms) {
    terms->acc = terms->param = terms->result = (tally_layout){0, 0};
    for (uint32_t t = 0; t < terms->count; t++) {
        terms->list[t].acc_offset = tally_layout_append(&terms->acc, terms->list[t].acc);
        tally_layout_append(&terms->param, terms->list[t].param);
        tally_layout_append(&terms->result, terms->list[t].result);
    }
    tally_layout_close(&terms->acc);
    tally_layout_close(&terms->param);
    tally_layout_close(&terms->result);
    if (terms->acc.bytes == 8) terms->acc.align = 8;
}

bool tally_terms_result(const tally_terms *terms, uint32_t index, tally_result_info *info) {
    tally_layout layout = {0, 0};
    for (uint32_t t = 0; t < terms->count; t++) {
        const tally_term *term = &terms->list[t];
        const uint32_t at = tally_layout_append(&layout, term->result);
        const bool is_complex = term->out_count == 2 && tally_dtype_find(terms->in)->kind == TALLY_KIND_COMPLEX;
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
    return tally_dtype_is_integer(out) || out == TALLY_F32 || out == TALLY_F64;
}

/* Sets the result's type: `whole` is the natural one as the caller sees it. */
static tally_status set_out(tally_term *term, tally_dtype whole, tally_dtype asked, bool is_index) {
    term->out = term->natural;
    if (!asked || asked == whole) return TALLY_OK;
    if (!is_convertible(whole, asked, is_index))
        return tally_fail(TALLY_E_ARGUMENT, "desc.out is %s: the result of %s is %s, %s", tally_dtype_name(asked), term->name,
                          tally_dtype_name(whole), is_index ? "an index" : kind_name(whole));
    term->out = whole == TALLY_C64 || whole == TALLY_C128 ? tally_dtype_find(asked)->compute : asked;
    return TALLY_OK;
}

static tally_status check_acc(const char *name, tally_dtype acc, const tally_dtype_row *in) {
    const bool floats = in->kind == TALLY_KIND_FLOAT || in->kind == TALLY_KIND_COMPLEX;
    if (!acc || (floats && (acc == TALLY_F64 || acc == in->compute))) return TALLY_OK;
    return tally_fail(TALLY_E_ARGUMENT, "desc.acc is %s: %s of %s accumulates in %s", tally_dtype_name(acc), name, in->name,
                      floats ? "f32 or f64, no narrower than the items" : "the type that its row says");
}

static tally_status no_row(tally_op op, const tally_terms_desc *desc) {
    const char *name = tally_op_name(op), *in = tally_dtype_name(desc->in);
    if (!tally_op_row_for(op, desc->in, TALLY_ACCURACY_DEFAULT))
        return tally_fail(TALLY_E_UNSUPPORTED, "%s does not take %s items", name, in);
    return tally_fail(TALLY_E_UNSUPPORTED, "%s of %s has no level '%s': sum, asum, sumsq, mean and dot of floats have", name,
                      in, tally_accuracy_name(desc->accuracy));
}

static tally_status resolve_row(tally_op op, const tally_terms_desc *desc, tally_term *term) {
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
                         .first = row->first ? row->first : "a",
                         .second = row->second,
                         .empty = row->empty,
                         .second_empty = row->second_empty,
                         .is_index = row->gives == TALLY_GIVES_INDEX,
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

static tally_status resolve_custom(const tally_custom_op *op, const tally_terms_desc *desc, tally_term *term) {
    const tally_dtype_row *in = tally_dtype_find(desc->in);
    const tally_op_desc *own = &op->desc;
    tally_dtype value = own->acc;
    if (!value) value = value_type(TALLY_ACCUMULATE_WIDE, in, TALLY_DTYPE_DEFAULT);
    if (!own->acc && (in->kind == TALLY_KIND_SIGNED || in->kind == TALLY_KIND_BOOL)) value = TALLY_I64;
    if (desc->acc)
        return tally_fail(TALLY_E_ARGUMENT, "desc.acc is %s: a custom op names its own", tally_dtype_name(desc->acc));
    if (desc->accuracy)
        return tally_fail(TALLY_E_UNSUPPORTED, "op %s: a custom op has no level '%s'", own->name,
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
                         .empty = own->empty,
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

static tally_status check_ops(const tally_terms_desc *desc) {
    const int ways = (desc->op != TALLY_OP_NONE) + (desc->op_count != 0) + (desc->custom != NULL);
    if (!ways) return tally_fail(TALLY_E_ARGUMENT, "desc.op is 0: no such op");
    if (ways > 1) return tally_fail(TALLY_E_ARGUMENT, "desc.op, desc.ops and desc.custom: give one of them");
    if (desc->op_count > TALLY_MAX_OPS)
        return tally_fail(TALLY_E_ARGUMENT, "desc.op_count is %u: at most %d", desc->op_count, TALLY_MAX_OPS);
    if (desc->op_count && !desc->ops) return tally_fail(TALLY_E_ARGUMENT, "desc.ops is NULL");
    if (desc->op_count && desc->out)
        return tally_fail(TALLY_E_ARGUMENT, "desc.out is %s: the results of several ops keep their types",
                          tally_dtype_name(desc->out));
    if (desc->custom && desc->custom->tag != TALLY_TAG_OP) return tally_fail(TALLY_E_ARGUMENT, "desc.custom is no op");
    for (uint32_t i = 0; i < desc->op_count || (i == 0 && desc->op); i++) {
        const tally_op op = desc->op ? desc->op : desc->ops[i];
        if (tally_op_find(op)) continue;
        if (desc->op) return tally_fail(TALLY_E_ARGUMENT, "desc.op is %d: no such op", (int)op);
        return tally_fail(TALLY_E_ARGUMENT, "desc.ops[%u] is %d: no such op", i, (int)op);
    }
    return TALLY_OK;
}

static tally_status check_types(const tally_terms_desc *desc) {
    if (!tally_dtype_find(desc->in)) return tally_fail(TALLY_E_ARGUMENT, "desc.in is %d: no such dtype", (int)desc->in);
    if (desc->out && !tally_dtype_find(desc->out))
        return tally_fail(TALLY_E_ARGUMENT, "desc.out is %d: no such dtype", (int)desc->out);
    if (desc->acc && !tally_dtype_is_value(desc->acc))
        return tally_fail(TALLY_E_ARGUMENT, "desc.acc is %d: no type to accumulate in", (int)desc->acc);
    if (!tally_accuracy_name(desc->accuracy))
        return tally_fail(TALLY_E_ARGUMENT, "desc.accuracy is %d: no such level", (int)desc->accuracy);
    return TALLY_OK;
}

/* Resolves term t, whose number of inputs must be that of the terms before it. */
static tally_status resolve_term(const tally_terms_desc *desc, tally_terms *terms, uint32_t t) {
    tally_term *term = &terms->list[t];
    const tally_op op = desc->op_count ? desc->ops[t] : desc->op;
    const tally_status status = desc->custom ? resolve_custom(desc->custom, desc, term) : resolve_row(op, desc, term);
    if (status) return status;
    const uint32_t inputs = desc->custom ? desc->custom->desc.inputs : tally_op_inputs(op);
    if (t && inputs != terms->inputs)
        return tally_fail(TALLY_E_ARGUMENT, "%s has %u input%s, %s has %u: they cannot share a pass", term->name, inputs,
                          inputs > 1 ? "s" : "", terms->list[0].name, terms->inputs);
    terms->inputs = inputs;
    lay_out_term(term);
    return TALLY_OK;
}

tally_status tally_terms_resolve(const tally_terms_desc *desc, tally_terms *terms) {
    *terms = (tally_terms){.in = desc->in, .count = desc->op_count ? desc->op_count : 1, .accuracy = desc->accuracy};
    tally_status status = check_types(desc);
    if (!status) status = check_ops(desc);
    if (status) return status;
    terms->list = calloc(terms->count, sizeof(*terms->list));
    if (!terms->list) return tally_fail(TALLY_E_MEMORY, "out of memory");
    if (desc->custom) {
        terms->custom = desc->custom;
        tally_op_retain(terms->custom);
    }
    for (uint32_t t = 0; t < terms->count && !status; t++) status = resolve_term(desc, terms, t);
    if (status)
        tally_terms_close(terms);
    else
        lay_out(terms);
    return status;
}

void tally_terms_close(tally_terms *terms) {
    tally_op_destroy(terms->custom);
    free(terms->list);
    *terms = (tally_terms){0};
}

/* Tells whether f64 takes part: whether it is read, computed in or given. */
static bool uses_f64(const tally_terms *terms) {
    bool uses = terms->in == TALLY_F64 || terms->in == TALLY_C128;
    for (uint32_t t = 0; t < terms->count; t++) {
        const tally_term *term = &terms->list[t];
        uses = uses || term->value == TALLY_F64 || term->natural == TALLY_F64 || term->out == TALLY_F64;
        for (uint32_t i = 0; i < term->field_count; i++) uses = uses || term->fields[i].type == TALLY_F64;
        for (uint32_t i = 0; i < term->param_count; i++) uses = uses || term->params[i].type == TALLY_F64;
    }
    return uses;
}

tally_status tally_terms_check(const tally_terms *terms, const tally_device_info *device) {
    if (device->has_f64 || !uses_f64(terms)) return TALLY_OK;
    return tally_fail(TALLY_E_UNSUPPORTED, "%s does not compute in f64", device->name);
}

bool tally_terms_exact(const tally_terms *terms) {
    for (uint32_t t = 0; t < terms->count; t++) {
        const tally_term *term = &terms->list[t];
        const bool integer = !term->field_count && !term->is_custom && tally_dtype_is_integer(term->value);
        if (!term->exact && !integer) return false;
    }
    return true;
}
