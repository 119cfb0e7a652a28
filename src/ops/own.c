/* SPDX-License-Identifier: MIT */
/* A user's own operators: checked copies of their descriptors. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ops/ops.h"

const char *const tally_op_part_names[TALLY_PART_END] = {[TALLY_PART_NONE] = "identity",
                                                         [TALLY_PART_LOAD] = "load",
                                                         [TALLY_PART_COMBINE] = "combine",
                                                         [TALLY_PART_FINISH] = "finish"};

/* ---- checks ---------------------------------------------------------------------------------- */

static tally_status check_part(const char *op, const char *where, const char *text, bool needed) {
    if (text) return tally_op_check_expression(op, where, text);
    return needed ? tally_fail(TALLY_E_ARGUMENT, "op %s: %s is missing", op, where) : TALLY_OK;
}

/* An expression of a named thing, as "load" of "field w". */
static tally_status check_part_of(const char *op, const char *part, const char *kind, const char *name, const char *text,
                                  bool needed) {
    char where[128];
    snprintf(where, sizeof(where), "%s of %s %s", part, kind, name);
    return check_part(op, where, text, needed);
}

static tally_status check_value_type(const char *op, const char *what, const char *name, tally_dtype type) {
    if (!type || tally_dtype_is_value(type)) return TALLY_OK;
    return tally_fail(TALLY_E_ARGUMENT, "op %s: the type of %s%s: f32, f64, i32, u32, i64 or u64, not %s", op, what, name,
                      tally_dtype_name(type) ? tally_dtype_name(type) : "a number that is no dtype");
}

static tally_status check_result_type(const char *op, const char *what, const char *name, tally_dtype type) {
    if (!type) return TALLY_OK;
    if (!tally_dtype_find(type)) return tally_fail(TALLY_E_ARGUMENT, "op %s: %s%s is %d: no such dtype", op, what, name, type);
    if (tally_dtype_find(type)->kind != TALLY_KIND_COMPLEX) return TALLY_OK;
    return tally_fail(TALLY_E_ARGUMENT, "op %s: %s%s is %s: a result has real values", op, what, name, tally_dtype_name(type));
}

/* An array of a descriptor whose elements begin with their names. */
typedef struct named {
    const char *kind, *member; /* an element's noun; the descriptor has MEMBERs and MEMBER_count */
    const void *array;
    size_t bytes; /* of an element */
    uint32_t count, most;
} named;

static const char *name_at(const named *list, uint32_t i) {
    const char *name;
    memcpy(&name, (const char *)list->array + i * list->bytes, sizeof(name));
    return name;
}

static tally_status check_names(const char *op, const named *list) {
    if (list->count && !list->array) return tally_fail(TALLY_E_ARGUMENT, "op %s: %ss is NULL", op, list->member);
    if (list->count > list->most)
        return tally_fail(TALLY_E_ARGUMENT, "op %s: %s_count is %u: at most %u", op, list->member, list->count, list->most);
    for (uint32_t i = 0; i < list->count; i++) {
        const char *name = name_at(list, i);
        if (!tally_op_is_identifier(name))
            return tally_fail(TALLY_E_ARGUMENT, "op %s: %s %u: '%.64s' is no name", op, list->kind, i, name ? name : "");
        if (tally_op_is_taken(name))
            return tally_fail(TALLY_E_ARGUMENT, "op %s: %s %u: '%s' means something else to a compiler", op, list->kind, i,
                              name);
    }
    return TALLY_OK;
}

static tally_status check_once(const char *op, const named *list) {
    for (uint32_t i = 0; i < list->count; i++)
        for (uint32_t j = 0; j < i; j++)
            if (!strcmp(name_at(list, i), name_at(list, j)))
                return tally_fail(TALLY_E_ARGUMENT, "op %s: %s %s is there twice", op, list->kind, name_at(list, i));
    return TALLY_OK;
}

static tally_status check_fields(const tally_op_desc *desc, const char *op) {
    const named list = {"field", "field", desc->fields, sizeof(*desc->fields), desc->field_count, TALLY_MAX_FIELDS};
    tally_status status = check_names(op, &list);
    if (!status) status = check_once(op, &list);
    if (!status && desc->field_count && (desc->identity || desc->load || desc->combine))
        return tally_fail(TALLY_E_ARGUMENT, "op %s: identity, load and combine are the fields' own", op);
    for (uint32_t i = 0; i < desc->field_count && !status; i++) {
        const tally_op_field *field = &desc->fields[i];
        status = check_value_type(op, "field ", field->name, field->type);
        if (!status) status = check_part_of(op, "identity", "field", field->name, field->identity, true);
        if (!status) status = check_part_of(op, "load", "field", field->name, field->load, true);
        if (!status) status = check_part_of(op, "combine", "field", field->name, field->combine, true);
    }
    return status;
}

static tally_status check_params(const tally_op_desc *desc, const char *op) {
    const named list = {"parameter", "param", desc->params, sizeof(*desc->params), desc->param_count, TALLY_MAX_PARAMS};
    tally_status status = check_names(op, &list);
    if (!status) status = check_once(op, &list);
    for (uint32_t i = 0; i < desc->param_count && !status; i++) {
        const tally_op_param *param = &desc->params[i];
        status = check_value_type(op, "parameter ", param->name, param->type);
        if (!status) status = tally_check_param(op, param, param->value);
    }
    return status;
}

static tally_status check_results(const tally_op_desc *desc, const char *op) {
    const named list = {"result", "result", desc->results, sizeof(*desc->results), desc->result_count, TALLY_MAX_RESULTS};
    tally_status status = check_names(op, &list);
    if (!status) status = check_once(op, &list);
    if (!status && desc->result_count && (desc->finish || desc->empty || desc->out))
        return tally_fail(TALLY_E_ARGUMENT, "op %s: finish, empty and out are the results' own", op);
    for (uint32_t i = 0; i < desc->result_count && !status; i++) {
        const tally_op_result *result = &desc->results[i];
        status = check_result_type(op, "the type of result ", result->name, result->type);
        if (!status) status = check_part_of(op, "finish", "result", result->name, result->finish, true);
        if (!status) status = check_part_of(op, "empty", "result", result->name, result->empty, false);
    }
    if (status || desc->result_count) return status;
    status = check_result_type(op, "out", "", desc->out);
    if (!status) status = check_part(op, "finish", desc->finish, desc->field_count > 0);
    return status ? status : check_part(op, "empty", desc->empty, false);
}

/* The earlier meaning of the name of temporary `at`; NULL: it has none. */
static const char *meaning(const tally_op_desc *desc, uint32_t at) {
    static const char *const given[] = {"a", "b", "x", "y", "z", "w", "i", "n", "p"};
    const tally_op_let *let = &desc->lets[at];
    for (size_t k = 0; k < TALLY_ARRAY_LENGTH(given); k++)
        if (!strcmp(let->name, given[k])) return "what the expressions are given";
    for (uint32_t k = 0; k < desc->field_count; k++)
        if (!strcmp(let->name, desc->fields[k].name)) return "a field";
    for (uint32_t k = 0; k < at; k++)
        if (let->part == desc->lets[k].part && !strcmp(let->name, desc->lets[k].name)) return "a temporary before it";
    return NULL;
}

static tally_status check_let(const char *op, const tally_op_let *let) {
    char where[128];
    snprintf(where, sizeof(where), "temporary %s of %s", let->name, tally_op_part_names[let->part]);
    return check_part(op, where, let->value, true);
}

static tally_status check_lets(const tally_op_desc *desc, const char *op) {
    const named list = {"temporary", "let", desc->lets, sizeof(*desc->lets), desc->let_count, TALLY_MAX_LETS};
    tally_status status = check_names(op, &list);
    for (uint32_t i = 0; i < desc->let_count && !status; i++) {
        const tally_op_let *let = &desc->lets[i];
        if (!let->part || (unsigned)let->part >= TALLY_PART_END)
            return tally_fail(TALLY_E_ARGUMENT, "op %s: temporary %s: part is %d: no such part", op, let->name, (int)let->part);
        const char *part = tally_op_part_names[let->part];
        if (meaning(desc, i))
            return tally_fail(TALLY_E_ARGUMENT, "op %s: temporary %s of %s: the name is that of %s", op, let->name, part,
                              meaning(desc, i));
        status = check_value_type(op, "temporary ", let->name, let->type);
        if (!status) status = check_let(op, let);
    }
    return status;
}

static size_t length_of(const char *text) {
    return text ? strlen(text) : 0;
}

/* A compiler reads all expressions. */
static tally_status check_length(const tally_op_desc *desc, const char *op) {
    size_t length = length_of(desc->identity) + length_of(desc->load) + length_of(desc->combine) + length_of(desc->finish) +
                    length_of(desc->empty);
    for (uint32_t i = 0; i < desc->field_count; i++)
        length += strlen(desc->fields[i].identity) + strlen(desc->fields[i].load) + strlen(desc->fields[i].combine);
    for (uint32_t i = 0; i < desc->result_count; i++)
        length += strlen(desc->results[i].finish) + length_of(desc->results[i].empty);
    for (uint32_t i = 0; i < desc->let_count; i++) length += strlen(desc->lets[i].value);
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
    tally_status status = check_value_type(op, "the accumulator", "", desc->acc);
    if (!status) status = check_fields(desc, op);
    if (!status && !desc->field_count) {
        status = check_part(op, "identity", desc->identity, true);
        if (!status) status = check_part(op, "load", desc->load, true);
        if (!status) status = check_part(op, "combine", desc->combine, true);
    }
    if (!status) status = check_results(desc, op);
    if (!status) status = check_lets(desc, op);
    if (!status) status = check_length(desc, op);
    return status ? status : check_params(desc, op);
}

/* ---- the copy -------------------------------------------------------------------------------- */

/* Moves one text to `to`, unless that is NULL; returns its bytes. */
static size_t move(const char **text, char *to) {
    if (!*text) return 0;
    const size_t bytes = strlen(*text) + 1;
    if (to) *text = memcpy(to, *text, bytes);
    return bytes;
}

/* Moves all texts of the operator into one block, or, where that is NULL, says how large it must
 * be. */
static size_t move_all(tally_custom_op *op, char *block) {
    size_t used = 0;
#define MOVE(text) used += move(&(text), block ? block + used : NULL)
    MOVE(op->desc.name);
    MOVE(op->desc.identity);
    MOVE(op->desc.load);
    MOVE(op->desc.combine);
    for (uint32_t i = 0; i < op->desc.field_count; i++) {
        MOVE(op->fields[i].name);
        MOVE(op->fields[i].identity);
        MOVE(op->fields[i].load);
        MOVE(op->fields[i].combine);
    }
    for (uint32_t i = 0; i < op->desc.param_count; i++) MOVE(op->params[i].name);
    for (uint32_t i = 0; i < op->desc.result_count; i++) {
        MOVE(op->results[i].name);
        MOVE(op->results[i].finish);
        MOVE(op->results[i].empty);
    }
    for (uint32_t i = 0; i < op->desc.let_count; i++) {
        MOVE(op->lets[i].name);
        MOVE(op->lets[i].value);
    }
#undef MOVE
    return used;
}

/* Copies a checked descriptor. Its arrays become the operator's own, and its result, however it was
 * said, results. */
static void copy(tally_custom_op *op, const tally_op_desc *desc) {
    op->desc = *desc;
    for (uint32_t i = 0; i < desc->field_count; i++) op->fields[i] = desc->fields[i];
    for (uint32_t i = 0; i < desc->let_count; i++) op->lets[i] = desc->lets[i];
    for (uint32_t i = 0; i < desc->param_count; i++) {
        op->params[i] = desc->params[i];
        if (!op->params[i].type) op->params[i].type = TALLY_F64;
    }
    for (uint32_t i = 0; i < desc->result_count; i++) op->results[i] = desc->results[i];
    if (!desc->result_count) {
        op->desc.result_count = 1;
        op->results[0] = (tally_op_result){.type = desc->out, .finish = desc->finish, .empty = desc->empty};
        if (!op->results[0].finish) op->results[0].finish = "a";
    }
    op->desc.fields = op->fields;
    op->desc.lets = op->lets;
    op->desc.params = op->params;
    op->desc.results = op->results;
}

static tally_status create(const tally_op_desc *given, tally_custom_op **out) {
    tally_status status = tally_check_pointer(given, "desc");
    if (!status) status = tally_check_pointer(out, "out");
    if (status) return status;
    if (given->size < offsetof(tally_op_desc, fields) || given->size > sizeof(*given))
        return tally_fail(TALLY_E_ARGUMENT, "desc.size is %zu: sizeof(tally_op_desc) is %zu", given->size, sizeof(*given));
    tally_op_desc desc = {0};
    memcpy(&desc, given, given->size);
    if (!desc.name) desc.name = "custom";
    if (!desc.inputs) desc.inputs = 1;
    status = check(&desc);
    if (status) return status;
    tally_custom_op *op = calloc(1, sizeof(*op));
    if (!op) return tally_fail(TALLY_E_MEMORY, "out of memory");
    copy(op, &desc);
    op->texts = malloc(move_all(op, NULL));
    if (!op->texts) return free(op), tally_fail(TALLY_E_MEMORY, "out of memory");
    move_all(op, op->texts);
    op->tag = TALLY_TAG_OP;
    atomic_init(&op->references, 1);
    *out = op;
    return TALLY_OK;
}

tally_status tally_op_create(const tally_op_desc *desc, tally_custom_op **out) {
    if (out) *out = NULL;
    return TALLY_NAMED(create(desc, out));
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
