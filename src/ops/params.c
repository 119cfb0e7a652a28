/* SPDX-License-Identifier: MIT */
/* Parameters: constants of an op that are an argument of its kernels, so that a change compiles
 * nothing. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/did_you_mean.h"
#include "ops/ops.h"

bool tally_integer_holds(tally_dtype type, double value) {
    const bool has_sign = tally_dtype_find(type)->kind == TALLY_KIND_SIGNED;
    const double end = ldexp(1, (int)tally_dtype_bytes(type) * 8 - has_sign), whole = trunc(value);
    return whole >= (has_sign ? -end : 0) && whole < end;
}

/* A float holds every value, beyond its range as an infinity. */
static bool holds(tally_dtype type, double value) {
    return !type || !tally_dtype_is_integer(type) || tally_integer_holds(type, value);
}

tally_status tally_check_param(const char *op, const tally_op_param *param, double value) {
    if (holds(param->type, value)) return TALLY_OK;
    return tally_fail(TALLY_E_ARGUMENT, "op %s: parameter %s: %.17g does not fit %s", op, param->name, value,
                      tally_dtype_name(param->type));
}

static void pack_value(tally_dtype type, double value, unsigned char *to) {
#define CASE(id, c_type)                                                                                                       \
    case TALLY_##id: {                                                                                                         \
        const c_type v = (c_type)value;                                                                                        \
        memcpy(to, &v, sizeof(v));                                                                                             \
        break;                                                                                                                 \
    }
    switch ((int)type) {
        CASE(F32, float)
        CASE(F64, double)
        CASE(I32, int32_t)
        CASE(U32, uint32_t)
        CASE(I64, int64_t)
        CASE(U64, uint64_t)
    }
#undef CASE
}

void tally_terms_pack_params(const tally_terms *terms, void *to) {
    tally_layout all = {0, 0};
    memset(to, 0, terms->param.bytes);
    for (uint32_t t = 0; t < terms->count; t++) {
        const tally_term *term = &terms->list[t];
        unsigned char *at = (unsigned char *)to + tally_layout_append(&all, term->param);
        tally_layout own = {0, 0};
        for (uint32_t i = 0; i < term->param_count; i++) {
            const uint32_t offset = tally_layout_append(&own, tally_layout_of(term->params[i].type));
            pack_value(term->params[i].type, term->params[i].value, at + offset);
        }
    }
}

/* Tells whether a term before t has the parameter too. */
static bool is_repeated(const tally_terms *terms, uint32_t t, const char *name) {
    for (uint32_t e = 0; e < t; e++)
        for (uint32_t i = 0; i < terms->list[e].param_count; i++)
            if (!strcmp(terms->list[e].params[i].name, name)) return true;
    return false;
}

static tally_status unknown_param(const tally_terms *terms, const char *name) {
    char names[256] = "";
    size_t used = 0;
    for (uint32_t t = 0; t < terms->count; t++)
        for (uint32_t i = 0; i < terms->list[t].param_count; i++) {
            const char *own = terms->list[t].params[i].name;
            if (used < sizeof(names) && !is_repeated(terms, t, own))
                used += (size_t)snprintf(names + used, sizeof(names) - used, "%s%s", used ? ", " : "", own);
        }
    return tally_fail(TALLY_E_ARGUMENT, "unknown parameter '%s': %sthere %s %s", name,
                      tally_did_you_mean(name, strlen(name), names).text, strchr(names, ',') ? "are" : "is",
                      used ? names : "none");
}

tally_status tally_terms_set_param(tally_terms *terms, const char *name, double value) {
    bool found = false;
    for (int set = 0; set < 2; set++) /* first all of them are asked whether they hold it */
        for (uint32_t t = 0; t < terms->count; t++)
            for (uint32_t i = 0; i < terms->list[t].param_count; i++) {
                tally_op_param *param = &terms->list[t].params[i];
                if (strcmp(param->name, name)) continue;
                const tally_status status = tally_check_param(terms->list[t].name, param, value);
                if (status) return status;
                if (set) param->value = value;
                found = true;
            }
    return found ? TALLY_OK : unknown_param(terms, name);
}
