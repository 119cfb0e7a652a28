/* SPDX-License-Identifier: MIT */
/* The ops' rows, looked up by value and by name. */
#include <string.h>

#include "ops/ops.h"

/* The columns that are lists: fields and parameters, each with an end. */
#define SCALAR
#define NONE
#define F(type, name) {FIELD_##type, #name},
#define P(name, value) {#name, value},
#define FIELD_V TALLY_DTYPE_DEFAULT
#define FIELD_u64 TALLY_U64
#define OP_ROW(extra, id, value, name, takes, inputs, accumulate, gives, acc, identity, load, combine, first, second, empty,   \
               second_empty, exact, additive, params, summary)                                                                 \
    [TALLY_##id] = {name,                                                                                                      \
                    TALLY_TAKES_##takes,                                                                                       \
                    inputs,                                                                                                    \
                    TALLY_ACCUMULATE_##accumulate,                                                                             \
                    TALLY_GIVES_##gives,                                                                                       \
                    {acc{TALLY_DTYPE_DEFAULT, NULL}},                                                                          \
                    #identity,                                                                                                 \
                    #load,                                                                                                     \
                    #combine,                                                                                                  \
                    #first,                                                                                                    \
                    #second,                                                                                                   \
                    #empty,                                                                                                    \
                    #second_empty,                                                                                             \
                    exact,                                                                                                     \
                    TALLY_ADDITIVE_##additive,                                                                                 \
                    {params{NULL, 0}},                                                                                         \
                    summary},
static const tally_op_row ops[TALLY_OP_END] = {TALLY_OP_TABLE(OP_ROW, )};
static const tally_op_row complex_ops[TALLY_OP_END] = {TALLY_COMPLEX_OP_TABLE(OP_ROW, )};
static const tally_op_row compensated_ops[TALLY_OP_END] = {TALLY_COMPENSATED_OP_TABLE(OP_ROW, )};

/* Values come from callers, who can put any number into an enum: compare as unsigned. */
#define IN_TABLE(value, end) ((unsigned)(value) < (unsigned)(end))

const tally_op_row *tally_op_find(tally_op op) {
    return IN_TABLE(op, TALLY_OP_END) && ops[op].name ? &ops[op] : NULL;
}

const tally_op_row *tally_op_row_for(tally_op op, tally_dtype in, tally_accuracy accuracy) {
    const tally_dtype_row *type = tally_dtype_find(in);
    if (!tally_op_find(op) || !type) return NULL;
    const tally_op_row *row = accuracy == TALLY_ACCURACY_COMPENSATED ? &compensated_ops[op]
                              : type->kind == TALLY_KIND_COMPLEX     ? &complex_ops[op]
                                                                     : &ops[op];
    return row->name && row->takes & 1u << type->kind ? row : NULL;
}

const char *tally_op_name(tally_op op) {
    const tally_op_row *row = tally_op_find(op);
    return row ? row->name : NULL;
}

const char *tally_op_summary(tally_op op) {
    const tally_op_row *row = tally_op_find(op);
    return row ? row->summary : NULL;
}

tally_status tally_op_from_name(const char *name, tally_op *out) {
    if (!name || !out) return TALLY_NAMED(tally_fail(TALLY_E_ARGUMENT, "%s is NULL", name ? "out" : "name"));
    for (int i = 0; i < TALLY_OP_END; i++)
        if (ops[i].name && !strcmp(name, ops[i].name)) return *out = (tally_op)i, TALLY_OK;
    char names[512];
    tally_list_names(ops, sizeof(ops[0]), TALLY_OP_END, names, sizeof(names));
    return tally_fail(TALLY_E_ARGUMENT, "unknown op '%s': there are %s", name, names);
}

uint32_t tally_op_inputs(tally_op op) {
    const tally_op_row *row = tally_op_find(op);
    return row ? row->inputs : 0;
}

const char *tally_op_param_name(tally_op op, uint32_t index, double *value) {
    const tally_op_row *row = tally_op_find(op);
    for (uint32_t i = 0; row && row->params[i].name; i++) {
        if (i < index) continue;
        if (value) *value = row->params[i].value;
        return row->params[i].name;
    }
    return NULL;
}
