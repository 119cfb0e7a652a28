/* SPDX-License-Identifier: MIT */
/* Terms: ops resolved for items of one type, with every type decided, laid out and checked. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ops/ops.h"

/* ---- types ----------------------------------------------------------------------------------- */

/* The type that floats, and the parts of complex items, compute in; `acc` may ask for f64. */
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
    return floats ? value : TALLY_F64;
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

uint32_t tally_result_count(tally_op op, tally_dtype in) {
    const tally_op_row *row = tally_op_row_for(op, in, TALLY_ACCURACY_DEFAULT);
    if (!row) return 0;
    return row->second && !is_complex_result(row, in) ? 2 : 1;
}

/* ---- layouts --------------------------------------------------------------------------------- */

static void lay_out_term(tally_term *term) {
    term->acc = term->param = term->result = (tally_layout){0, 0};
    for (uint32_t i = 0; i < term->field_count; i++) tally_layout_append(&term->acc, tally_layout_of(term->fields[i].type));
    if (!term->field_count) term->acc = tally_layout_of(term->value);
    tally_layout_close(&term->acc);
    /* So that one atomic can take it. */
    if (term->acc.bytes == 8) term->acc.align = 8;
    for (uint32_t i = 0; i < term->param_count; i++) tally_layout_append(&term->param, tally_layout_of(term->params[i].type));
    tally_layout_close(&term->param);
    for (uint32_t i = 0; i < term->result_count; i++) tally_layout_append(&term->result, tally_layout_of(term->results[i].out));
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

/* The type of a complex result, whose two values are its parts; TALLY_DTYPE_DEFAULT of any
 * other. */
static tally_dtype whole_type(tally_dtype in, const tally_term *term) {
    const bool is_complex = !term->custom && term->result_count == 2 && tally_dtype_find(in)->kind == TALLY_KIND_COMPLEX;
    return is_complex ? complex_of(term->results[0].out) : TALLY_DTYPE_DEFAULT;
}

bool tally_terms_result(const tally_terms *terms, uint32_t index, tally_result_info *info) {
    tally_layout layout = {0, 0};
    for (uint32_t t = 0; t < terms->count; t++) {
        const tally_term *term = &terms->list[t];
        const uint32_t at = tally_layout_append(&layout, term->result);
        const tally_dtype whole = whole_type(terms->in, term);
        const uint32_t values = whole ? 1 : term->result_count;
        if (index < values) {
            tally_layout before = {0, 0};
            for (uint32_t i = 0; i < index; i++) tally_layout_append(&before, tally_layout_of(term->results[i].out));
            const uint32_t within = tally_layout_append(&before, tally_layout_of(term->results[index].out));
            *info = (tally_result_info){.dtype = whole ? whole : term->results[index].out, .offset = at + within, .term = t};
            return true;
        }
        index -= values;
    }
    return false;
}

/* ---- terms ----------------------------------------------------------------------------------- */

static const char *kind_name(tally_dtype dtype) {
    static const char *const names[] = {[TALLY_KIND_FLOAT] = "a float",
                                        [TALLY_KIND_SIGNED] = "an integer",
                                        [TALLY_KIND_UNSIGNED] = "an integer",
                                        [TALLY_KIND_BOOL] = "a truth value",
                                        [TALLY_KIND_COMPLEX] = "complex"};
    return names[tally_dtype_find(dtype)->kind];
}

/* Tells whether a result of type `natural` may be converted to `out`. An index must stay whole. */
static bool is_convertible(tally_dtype natural, tally_dtype out, bool is_index) {
    const tally_kind from = tally_dtype_find(natural)->kind, to = tally_dtype_find(out)->kind;
    if (natural == out) return true;
    if (is_index) return out == TALLY_I64;
    if (from == TALLY_KIND_COMPLEX || to == TALLY_KIND_COMPLEX) return from == to;
    if (from == TALLY_KIND_FLOAT) return to == TALLY_KIND_FLOAT;
    if (from == TALLY_KIND_BOOL) return to != TALLY_KIND_FLOAT;
    return tally_dtype_is_integer(out) || out == TALLY_F32 || out == TALLY_F64;
}

/* A term that is asked for. */
typedef struct asked {
    const tally_term_desc *desc;
    const tally_dtype_row *in;
    char where[32]; /* of its descriptor, in error texts: "desc" or "desc.terms[2]" */
} asked;

/* Sets the type of value i of the result, which is converted if the descriptor asks for another.
 * `whole`: the natural one as the caller sees it. */
static tally_status set_out(const asked *ask, tally_term *term, uint32_t i, tally_dtype whole) {
    const tally_dtype out = ask->desc->out;
    term->results[i].out = term->results[i].natural;
    if (!out || out == whole) return TALLY_OK;
    if (!is_convertible(whole, out, term->is_index))
        return tally_fail(TALLY_E_ARGUMENT, "%s.out is %s: the result of %s is %s, %s", ask->where, tally_dtype_name(out),
                          term->name, tally_dtype_name(whole), term->is_index ? "an index" : kind_name(whole));
    term->results[i].out = whole == TALLY_C64 || whole == TALLY_C128 ? tally_dtype_find(out)->compute : out;
    return TALLY_OK;
}

static tally_status check_acc(const asked *ask, const char *name) {
    const tally_dtype acc = ask->desc->acc;
    const bool floats = ask->in->kind == TALLY_KIND_FLOAT || ask->in->kind == TALLY_KIND_COMPLEX;
    if (!acc || (floats && (acc == TALLY_F64 || acc == ask->in->compute))) return TALLY_OK;
    return tally_fail(TALLY_E_ARGUMENT, "%s.acc is %s: %s of %s accumulates in %s", ask->where, tally_dtype_name(acc), name,
                      ask->in->name,
                      !floats                         ? "the type that its row says"
                      : ask->in->compute == TALLY_F64 ? "f64"
                                                      : "f32 or f64");
}

static tally_status no_row(const asked *ask, tally_dtype in) {
    const char *name = tally_op_name(ask->desc->op);
    if (!tally_op_row_for(ask->desc->op, in, TALLY_ACCURACY_DEFAULT))
        return tally_fail(TALLY_E_UNSUPPORTED, "%s does not take %s items", name, ask->in->name);
    return tally_fail(TALLY_E_UNSUPPORTED, "%s of %s has no level '%s': sum, asum, sumsq, mean and dot of floats have", name,
                      ask->in->name, tally_accuracy_name(ask->desc->accuracy));
}

static tally_status resolve_row(const asked *ask, tally_dtype dtype, tally_term *term) {
    const tally_dtype_row *in = ask->in;
    const tally_dtype acc = ask->desc->acc;
    const tally_op_row *row = tally_op_row_for(ask->desc->op, dtype, ask->desc->accuracy);
    if (!row) return no_row(ask, dtype);
    tally_status status = check_acc(ask, tally_op_name(ask->desc->op));
    if (status) return status;
    const tally_dtype value = value_type(row->accumulate, in, acc), natural = natural_type(row, dtype, value);
    *term = (tally_term){.name = tally_op_name(ask->desc->op),
                         .row_name = row->name,
                         .op = ask->desc->op,
                         .accuracy = ask->desc->accuracy,
                         .value = value,
                         .real = real_type(in, acc),
                         .identity = row->identity,
                         .load = row->load,
                         .combine = row->combine,
                         .text = row->text,
                         .result_count = row->second ? 2 : 1,
                         .is_index = row->gives == TALLY_GIVES_INDEX,
                         .exact = row->exact,
                         .additive = row->additive};
    tally_term_take_lane(term, row, dtype);
    for (; row->fields[term->field_count].name; term->field_count++) {
        const tally_dtype type = row->fields[term->field_count].type;
        term->fields[term->field_count] =
            (tally_op_field){.name = row->fields[term->field_count].name, .type = type ? type : value};
    }
    for (; row->params[term->param_count].name; term->param_count++)
        term->params[term->param_count] = (tally_op_param){
            .name = row->params[term->param_count].name, .type = term->real, .value = row->params[term->param_count].value};
    term->results[0] = (tally_term_result){.natural = natural, .finish = row->first ? row->first : "a", .empty = row->empty};
    term->initial = row->initial ? row->initial : row->fields[0].name || row->first ? NULL : "(V)(x)";
    term->share = row->share;
    term->by_share = row->by_share;
    term->usual = row->usual;
    term->usually = row->usually;
    term->decided = row->decided;
    if (row->second) {
        term->results[0].name = "first";
        term->results[1] =
            (tally_term_result){.name = "second", .natural = natural, .finish = row->second, .empty = row->second_empty};
    }
    const tally_dtype whole = is_complex_result(row, dtype) ? complex_of(value) : natural;
    for (uint32_t i = 0; i < term->result_count && !status; i++) status = set_out(ask, term, i, whole);
    return status;
}

/* Checks that nothing is asked for that a custom op decides by itself. */
static tally_status check_custom(const asked *ask, const tally_op_desc *own) {
    if (ask->desc->acc)
        return tally_fail(TALLY_E_ARGUMENT, "%s.acc is %s: a custom op names its own", ask->where,
                          tally_dtype_name(ask->desc->acc));
    if (ask->desc->accuracy)
        return tally_fail(TALLY_E_UNSUPPORTED, "op %s: a custom op has no level '%s'", own->name,
                          tally_accuracy_name(ask->desc->accuracy));
    if (ask->desc->out && own->result_count > 1)
        return tally_fail(TALLY_E_ARGUMENT, "%s.out is %s: the %u results of op %s have types of their own", ask->where,
                          tally_dtype_name(ask->desc->out), own->result_count, own->name);
    return TALLY_OK;
}

static tally_status resolve_custom(const asked *ask, tally_term *term) {
    const tally_dtype_row *in = ask->in;
    const tally_op_desc *own = &ask->desc->custom->desc;
    tally_dtype value = own->acc;
    if (!value) value = value_type(TALLY_ACCUMULATE_WIDE, in, TALLY_DTYPE_DEFAULT);
    if (!own->acc && (in->kind == TALLY_KIND_SIGNED || in->kind == TALLY_KIND_BOOL)) value = TALLY_I64;
    tally_status status = check_custom(ask, own);
    if (status) return status;
    tally_op_retain(ask->desc->custom);
    *term = (tally_term){.name = own->name,
                         .row_name = own->name,
                         .custom = ask->desc->custom,
                         .value = value,
                         .real = real_type(in, TALLY_DTYPE_DEFAULT),
                         .field_count = own->field_count,
                         .identity = own->identity,
                         .load = own->load,
                         .combine = own->combine,
                         .result_count = own->result_count,
                         .param_count = own->param_count,
                         .exact = own->exact != 0};
    if (!own->field_count && own->result_count == 1 && !strcmp(own->results[0].finish, "a")) term->initial = "(V)(x)";
    for (uint32_t i = 0; i < own->field_count; i++) {
        term->fields[i] = own->fields[i];
        if (!term->fields[i].type) term->fields[i].type = value;
    }
    for (uint32_t i = 0; i < own->param_count; i++) term->params[i] = own->params[i];
    for (uint32_t i = 0; i < own->result_count && !status; i++) {
        const tally_op_result *result = &own->results[i];
        term->results[i] = (tally_term_result){.name = own->result_count > 1 ? result->name : NULL,
                                               .natural = result->type ? result->type : value,
                                               .finish = result->finish,
                                               .empty = result->empty};
        status = set_out(ask, term, i, term->results[i].natural);
    }
    return status;
}

static tally_status check_term(const asked *ask) {
    const tally_term_desc *desc = ask->desc;
    if (desc->op && desc->custom) return tally_fail(TALLY_E_ARGUMENT, "%s.op and .custom: give one of them", ask->where);
    if (desc->custom && desc->custom->tag != TALLY_TAG_OP)
        return tally_fail(TALLY_E_ARGUMENT, "%s.custom is no op", ask->where);
    if (!desc->custom && !tally_op_find(desc->op))
        return tally_fail(TALLY_E_ARGUMENT, "%s.op is %d: no such op", ask->where, (int)desc->op);
    if (desc->out && !tally_dtype_find(desc->out))
        return tally_fail(TALLY_E_ARGUMENT, "%s.out is %d: no such dtype", ask->where, (int)desc->out);
    if (desc->acc && !tally_dtype_is_value(desc->acc))
        return tally_fail(TALLY_E_ARGUMENT, "%s.acc is %d: no type to accumulate in", ask->where, (int)desc->acc);
    if (!tally_accuracy_name(desc->accuracy))
        return tally_fail(TALLY_E_ARGUMENT, "%s.accuracy is %d: no such level", ask->where, (int)desc->accuracy);
    return TALLY_OK;
}

/* Resolves term t, whose number of inputs must be that of the terms before it. */
static tally_status resolve_term(const tally_terms_desc *desc, tally_terms *terms, uint32_t t) {
    tally_term *term = &terms->list[t];
    asked ask = {.desc = desc->count ? &desc->list[t] : &desc->single, .in = tally_dtype_find(desc->in), .where = "desc"};
    if (desc->count) snprintf(ask.where, sizeof(ask.where), "desc.terms[%u]", t);
    tally_status status = check_term(&ask);
    if (!status) status = ask.desc->custom ? resolve_custom(&ask, term) : resolve_row(&ask, desc->in, term);
    if (status) return status;
    const uint32_t inputs = term->custom ? term->custom->desc.inputs : tally_op_inputs(term->op);
    if (t && inputs != terms->inputs)
        return tally_fail(TALLY_E_ARGUMENT, "%s has %u input%s, %s has %u: they cannot share a pass", term->name, inputs,
                          inputs > 1 ? "s" : "", terms->list[0].name, terms->inputs);
    terms->inputs = inputs;
    lay_out_term(term);
    return TALLY_OK;
}

static tally_status check_list(const tally_terms_desc *desc) {
    const tally_term_desc *single = &desc->single;
    const char *const beside = single->op         ? "op"
                               : single->custom   ? "custom"
                               : single->out      ? "out"
                               : single->acc      ? "acc"
                               : single->accuracy ? "accuracy"
                                                  : NULL;
    if (!tally_dtype_find(desc->in)) return tally_fail(TALLY_E_ARGUMENT, "desc.in is %d: no such dtype", (int)desc->in);
    if (!desc->count) return TALLY_OK;
    if (beside) return tally_fail(TALLY_E_ARGUMENT, "desc.terms and desc.%s: give one of them", beside);
    if (!desc->list) return tally_fail(TALLY_E_ARGUMENT, "desc.terms is NULL");
    if (desc->count <= TALLY_MAX_TERMS) return TALLY_OK;
    return tally_fail(TALLY_E_ARGUMENT, "desc.term_count is %u: at most %d", desc->count, TALLY_MAX_TERMS);
}

tally_status tally_terms_resolve(const tally_terms_desc *desc, tally_terms *terms) {
    *terms = (tally_terms){.in = desc->in, .count = desc->count ? desc->count : 1};
    tally_status status = check_list(desc);
    if (status) return status;
    terms->list = calloc(terms->count, sizeof(*terms->list));
    if (!terms->list) return tally_fail(TALLY_E_MEMORY, "out of memory");
    for (uint32_t t = 0; t < terms->count && !status; t++) status = resolve_term(desc, terms, t);
    if (status)
        tally_terms_close(terms);
    else
        lay_out(terms);
    return status;
}

void tally_terms_close(tally_terms *terms) {
    for (uint32_t t = 0; terms->list && t < terms->count; t++) tally_op_destroy(terms->list[t].custom);
    free(terms->list);
    *terms = (tally_terms){0};
}

bool tally_terms_are_custom(const tally_terms *terms) {
    bool are = false;
    for (uint32_t t = 0; t < terms->count; t++) are = are || terms->list[t].custom;
    return are;
}

/* Tells whether f64 takes part in a term: whether it is computed in, given, or a parameter or
 * temporary. */
static bool term_uses_f64(const tally_term *term) {
    bool uses = term->value == TALLY_F64;
    for (uint32_t i = 0; i < term->field_count; i++) uses = uses || term->fields[i].type == TALLY_F64;
    for (uint32_t i = 0; i < term->param_count; i++) uses = uses || term->params[i].type == TALLY_F64;
    for (uint32_t i = 0; i < term->result_count; i++)
        uses = uses || term->results[i].natural == TALLY_F64 || term->results[i].out == TALLY_F64;
    for (uint32_t i = 0; term->custom && i < term->custom->desc.let_count; i++)
        uses = uses || term->custom->lets[i].type == TALLY_F64;
    return uses;
}

static bool uses_f64(const tally_terms *terms) {
    bool uses = terms->in == TALLY_F64 || terms->in == TALLY_C128;
    for (uint32_t t = 0; t < terms->count; t++) uses = uses || term_uses_f64(&terms->list[t]);
    return uses;
}

tally_status tally_terms_check(const tally_terms *terms, const tally_device_info *device) {
    if (device->has_f64 || !uses_f64(terms)) return TALLY_OK;
    return tally_fail(TALLY_E_UNSUPPORTED, "%s does not compute in f64", device->name);
}

bool tally_terms_pad_bytes(const tally_terms *terms) {
    const tally_term_lane *lane = &terms->list[0].lane;
    return terms->count == 1 && terms->inputs == 1 && lane->bytes && !lane->bytes_hold && !lane->counts_zeros;
}

bool tally_terms_exact(const tally_terms *terms) {
    for (uint32_t t = 0; t < terms->count; t++) {
        const tally_term *term = &terms->list[t];
        const bool integer = !term->field_count && !term->custom && tally_dtype_is_integer(term->value);
        if (!term->exact && !integer) return false;
    }
    return true;
}
