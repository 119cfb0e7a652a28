/* SPDX-License-Identifier: MIT */
/* Combines accumulators on the host, with functions that the build makes of the ops' rows
 * (main.c). */
#include "reduce/reduce.h"

static tally_host_combiner find(const tally_terms *terms, const tally_term *term) {
    if (term->custom) return NULL;
    const tally_op op = tally_op_alike(term->op, terms->in, term->accuracy);
    return tally_host_combiners[tally_op_row_level(op, terms->in, term->accuracy)][op][term->value];
}

bool tally_host_can_combine(const tally_terms *terms) {
    bool can = true;
    for (uint32_t t = 0; t < terms->count; t++) can = can && find(terms, &terms->list[t]);
    return can;
}

void tally_host_combine(const tally_terms *terms, void *accumulators, uint64_t count) {
    unsigned char *first = accumulators;
    for (uint32_t t = 0; t < terms->count; t++) {
        const tally_term *term = &terms->list[t];
        const tally_host_combiner combine = find(terms, term);
        for (uint64_t i = 1; i < count; i++) combine(first + term->acc_offset, first + i * terms->acc.bytes + term->acc_offset);
    }
}
