/* SPDX-License-Identifier: MIT */
/* Initial results: those that are floats, of ops that compute in integers. */
#include <math.h>

#include <tally/backend.h>

#include "ops/ops.h"

tally_dtype tally_term_initial_integer(const tally_term *term, uint32_t i) {
    const tally_term_result *result = &term->results[i];
    if (!tally_dtype_is_float(result->out)) return TALLY_DTYPE_DEFAULT;
    if (tally_dtype_is_integer(result->natural)) return result->natural;
    return term->value && tally_dtype_is_integer(term->value) ? term->value : TALLY_DTYPE_DEFAULT;
}

/* Tells ops whose identity is +0 though they are no sums: nothing below it is a result. */
static bool is_magnitude(tally_op op) {
    return op == TALLY_AMAX || op == TALLY_NRM2;
}

tally_status tally_terms_check_initial(const tally_terms *terms, const void *initial) {
    tally_result_info value;
    uint32_t term = 0, first = 0;
    for (uint32_t i = 0; tally_terms_result(terms, i, &value); i++) {
        if (value.term != term) first = i;
        term = value.term;
        const tally_dtype type = tally_term_initial_integer(&terms->list[term], i - first);
        const bool is_size = is_magnitude(terms->list[term].op) && tally_dtype_is_float(value.dtype);
        if (!type && !is_size) continue;
        double x = 0;
        tally_value_convert(value.dtype, (const unsigned char *)initial + value.offset, TALLY_F64, &x);
        if (is_size && signbit(x) && !isnan(x))
            return tally_fail(TALLY_E_ARGUMENT, "desc.initial: %s is no negative number: %.17g", terms->list[term].name, x);
        if (!type) continue;
        if (x == trunc(x) && tally_integer_holds(type, x)) continue;
        return tally_fail(TALLY_E_ARGUMENT, "desc.initial: %s of %s is computed in integers: %.17g is no %s",
                          terms->list[term].name, tally_dtype_name(terms->in), x, tally_dtype_name(type));
    }
    return TALLY_OK;
}
