/* SPDX-License-Identifier: MIT */
/* Combines accumulators on the host, by the ops' programs. */
#include <float.h>

#include "host/host.h"

const tally_host_program *tally_host_program_of(const tally_terms *terms, const tally_term *term, tally_dtype *in) {
    const bool complex = tally_dtype_kind(terms->in) == TALLY_KIND_COMPLEX;
    *in = terms->in;
    /* A processor that computes in wider types gives other bits. */
    if (term->custom || !tally_host_code_here()->programs || FLT_EVAL_METHOD != 0) return NULL;
    if (tally_dtype_is_float(terms->in) && (term->accuracy || term->real != tally_dtype_find(terms->in)->compute))
        *in = complex ? TALLY_C128 : term->real;
    const tally_host_program *program = tally_host_program_at(term->accuracy, term->op, *in);
    return program && program->acc_bytes == term->acc.bytes ? program : NULL;
}

bool tally_host_can_combine(const tally_terms *terms) {
    bool can = true;
    tally_dtype in;
    for (uint32_t t = 0; t < terms->count; t++) can = can && tally_host_program_of(terms, &terms->list[t], &in);
    return can;
}

void tally_host_combine(const tally_terms *terms, void *accumulators, uint64_t count) {
    unsigned char *first = accumulators;
    for (uint32_t t = 0; t < terms->count; t++) {
        const tally_term *term = &terms->list[t];
        tally_dtype in;
        const tally_host_program *program = tally_host_program_of(terms, term, &in);
        for (uint64_t i = 1; i < count; i++)
            program->combine(first + term->acc_offset, first + i * terms->acc.bytes + term->acc_offset);
    }
}
