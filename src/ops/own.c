/* SPDX-License-Identifier: MIT */
/* A user's own operators: checked copies of their descriptors. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ops/ops.h"

/* ---- checks --------------------------------------------------------------------------------------------------------- */

static tally_status check_part(const char *op, const char *part, const char *field, const char *text, bool needed) {
    if (text) return tally_op_check_expression(op, part, field, text);
    if (!needed) return TALLY_OK;
    return tally_fail(TALLY_E_ARGUMENT, "op %s: %s%s%s is missing", op, part, field ? " of field " : "", field ? field : "");
}

static tally_status check_type(const char *op, const char *what, const char *name, tally_dtype type) {
    if (!type || tally_dtype_is_value(type)) return TALLY_OK;
    return tally_fail(TALLY_E_ARGUMENT, "op %s: the type of %s%s: f32, f64, i32, u32, i64 or u64, not %s", op, what, name,
                      tally_dtype_name(type) ? tally_dtype_name(type) : "a number that is no dtype");
}

static tally_status check_fields(const tally_op_desc *desc, const char *op) {
    if (!desc->fields) return tally_fail(TALLY_E_ARGUMENT, "op %s: fields is NULL", op);
    if (desc->field_count > TALLY_MAX_FIELDS)
        return tally_fail(TALLY_E_ARGUMENT, "op %s: %u fields: at most %d", op, desc->field_count, TALLY_MAX_FIELDS);
    if (desc->identity || desc->load || desc->combine)
        return tally_fail(TALLY_E_ARGUMENT, "op %s: identity, load and combine are the fields' own", op);
    tally_status status = check_part(op, "finish", NULL, desc->finish, true);
    for (uint32_t i = 0; i < desc->field_count && !status; i++) {
        const tally_op_field *field = &desc->fields[i];
        if (!tally_op_is_identifier(field->name))
            return tally_fail(TALLY_E_ARGUMENT, "op %s: field %u: '%.64s' is no name", op, i, field->name ? field->name : "");
        if (tally_op_is_taken(field->name))
            return tally_fail(TALLY_E_ARGUMENT, "op %s: field %u: '%s' means something else to a compiler", op, i, field->name);
        for (uint32_t j = 0; j < i; j++)
            if (!strcmp(desc->fields[j].name, field->name))
                return tally_fail(TALLY_E_ARGUMENT, "op %s: field %s is there twice", op, field->name);
        status = check_type(op, "field ", field->name, field->type);
        if (!status) status = check_part(op, "identity", field->name, field->identity, true);
        if (!status) status = check_part(op, "load", field->name, field->load, true);
        if (!status) status = check_part(op, "combine", field->name, field->combine, true);
    }
    return status;
}

static tally_status check_params(const tally_op_desc *desc, const char *op) {
    if (desc->param_count && !desc->params) return tally_fail(TALLY_E_ARGUMENT, "op %s: params is NULL", op);
    if (desc->param_count > TALLY_MAX_PARAMS)
        return tally_fail(TALLY_E_ARGUMENT, "op %s: %u parameters: at most %d", op, desc->param_count, TALLY_MAX_PARAMS);
    for (uint32_t i = 0; i < desc->param_count; i++) {
        const tally_op_param *param = &desc->params[i];
        if (!tally_op_is_identifier(param->name))
            return tally_fail(TALLY_E_ARGUMENT, "op %s: parameter %u: '%.64s' is no name", op, i,
                              param->name ? param->name : "");
        if (tally_op_is_taken(param->name))
            return tally_fail(TALLY_E_ARGUMENT, "op %s: parameter %u: '%s' means something else to a compiler", op, i,
                              param->name);
        for (uint32_t j = 0; j < i; j++)
            if (!strcmp(desc->params[j].name, param->name))
                return tally_fail(TALLY_E_ARGUMENT, "op %s: parameter %s is there twice", op, param->name);
        tally_status status = check_type(op, "parameter ", param->name, param->type);
        if (!status) status = tally_check_param(op, param, param->value);
        if (status) return status;
    }
    return TALLY_OK;
}

/* What all its expressions together take a compiler to read. */
static tally_status check_length(const tally_op_desc *desc, const char *op) {
    const char *const texts[] = {desc->identity, desc->load, desc->combine, desc->finish, desc->empty};
    size_t length = 0;
    for (size_t i = 0; i < TALLY_ARRAY_LENGTH(texts); i++) length += texts[i] ? strlen(texts[i]) : 0;
    for (uint32_t i = 0; i < desc->field_count; i++)
        length += strlen(desc->fields[i].identity) + strlen(desc->fields[i].load) + strlen(desc->fields[i].combine);
    if (length <= TALLY_MAX_EXPRESSIONS) return TALLY_OK;
    return tally_fail(TALLY_E_ARGUMENT, "op %s: its expressions have %zu characters together: at most %d", op, length,
                      TALLY_MAX_EXPRESSIONS);
}

static tally_status check(const tally_op_desc *desc) {
    const char *op = desc->name;
    for (const char *c = op; *c; c++)
        if (*c < ' ' || *c > '~' || *c == '"' || *c == '\\' || strlen(op) > 64)
            return tally_fail(TALLY_E_ARGUMENT, "a name of up to 64 printable characters, without quotes and backslashes");
    if (desc->inputs > TALLY_MAX_INPUTS)
        return tally_fail(TALLY_E_ARGUMENT, "op %s: %u inputs: at most %d", op, desc->inputs, TALLY_MAX_INPUTS);
    if (desc->out && !tally_dtype_find(desc->out))
        return tally_fail(TALLY_E_ARGUMENT, "op %s: out is %d: no such dtype", op, (int)desc->out);
    if (desc->out && tally_dtype_find(desc->out)->kind == TALLY_KIND_COMPLEX)
        return tally_fail(TALLY_E_ARGUMENT, "op %s: out is %s: the result is one real value", op, tally_dtype_name(desc->out));
    tally_status status = check_type(op, "the accumulator", "", desc->acc);
    if (!status && desc->field_count) status = check_fields(desc, op);
    if (!status && !desc->field_count) {
        status = check_part(op, "identity", NULL, desc->identity, true);
        if (!status) status = check_part(op, "load", NULL, desc->load, true);
        if (!status) status = check_part(op, "combine", NULL, desc->combine, true);
        if (!status) status = check_part(op, "finish", NULL, desc->finish, false);
    }
    if (!status) status = check_part(op, "empty", NULL, desc->empty, false);
    if (!status) status = check_length(desc, op);
    return status ? status : check_params(desc, op);
}

/* ---- the copy ------------------------------------------------------------------------------------------------------- */

/* Moves one text to `to`, unless that is NULL; returns its bytes. */
static size_t move(const char **text, char *to) {
    if (!*text) return 0;
    const size_t bytes = strlen(*text) + 1;
    if (to) *text = memcpy(to, *text, bytes);
    return bytes;
}

/* Moves all texts of the operator into one block, or, where that is NULL, says how large it must be. */
static size_t move_all(tally_custom_op *op, char *block) {
    size_t used = 0;
#define MOVE(text) used += move(&(text), block ? block + used : NULL)
    MOVE(op->desc.name);
    MOVE(op->desc.identity);
    MOVE(op->desc.load);
    MOVE(op->desc.combine);
    MOVE(op->desc.finish);
    MOVE(op->desc.empty);
    for (uint32_t i = 0; i < op->desc.field_count; i++) {
        MOVE(op->fields[i].name);
        MOVE(op->fields[i].identity);
        MOVE(op->fields[i].load);
        MOVE(op->fields[i].combine);
    }
    for (uint32_t i = 0; i < op->desc.param_count; i++) MOVE(op->params[i].name);
#undef MOVE
    return used;
}

tally_status tally_op_create(const tally_op_desc *given, tally_custom_op **out) {
    if (out) *out = NULL;
    tally_status status = tally_check_pointer(given, "desc");
    if (!status) status = tally_check_pointer(out, "out");
    if (status) return TALLY_NAMED(status);
    if (given->size < offsetof(tally_op_desc, fields) || given->size > sizeof(*given))
        return TALLY_NAMED(
            tally_fail(TALLY_E_ARGUMENT, "desc.size is %zu: sizeof(tally_op_desc) is %zu", given->size, sizeof(*given)));
    tally_op_desc desc = {0};
    memcpy(&desc, given, given->size);
    if (!desc.name) desc.name = "custom";
    if (!desc.inputs) desc.inputs = 1;
    status = check(&desc);
    if (status) return TALLY_NAMED(status);
    tally_custom_op *op = calloc(1, sizeof(*op));
    if (!op) return TALLY_NAMED(tally_fail(TALLY_E_MEMORY, "out of memory"));
    op->desc = desc;
    for (uint32_t i = 0; i < desc.field_count; i++) op->fields[i] = desc.fields[i];
    for (uint32_t i = 0; i < desc.param_count; i++) {
        op->params[i] = desc.params[i];
        if (!op->params[i].type) op->params[i].type = TALLY_F64;
    }
    op->texts = malloc(move_all(op, NULL));
    if (!op->texts) return free(op), TALLY_NAMED(tally_fail(TALLY_E_MEMORY, "out of memory"));
    move_all(op, op->texts);
    op->desc.fields = op->fields;
    op->desc.params = op->params;
    op->tag = TALLY_TAG_OP;
    atomic_init(&op->references, 1);
    *out = op;
    return TALLY_OK;
}

void tally_op_retain(tally_custom_op *op) {
    atomic_fetch_add(&op->references, 1);
}

void tally_op_destroy(tally_custom_op *op) {
    if (!op || op->tag != TALLY_TAG_OP || atomic_fetch_sub(&op->references, 1) != 1) return;
    op->tag = 0;
    free(op->texts);
    free(op);
}
