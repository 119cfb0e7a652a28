/* SPDX-License-Identifier: MIT */
/* The rows' operators in C, from the same expressions that the kernels are compiled from: for what is finished on the host. */
#include <math.h>
#include <tgmath.h>

#include "reduce/reduce.h"

#include "../../kernels/arithmetic.h"

typedef uint64_t u64;

#define SIGN(a) signbit((double)(a))
#define MAKE(...) ((SELF){__VA_ARGS__})
#define IN_LANE(next, any) (any)
#define ZERO ((V)0)
#define ONE ((V)1)
/* For integers too: they are equal to themselves, and of two equal ones it does not matter which stays. */
#define MIN(a, b) FLOAT_MIN(a, b)
#define MAX(a, b) FLOAT_MAX(a, b)

/* SELF: a V where the column says SCALAR, else a struct of the fields. The second argument tells: SCALAR brings a comma along. */
#define F(type, name) type name;
#define PROBE_SCALAR ~, SELF_SCALAR
#define SECOND(first, second, ...) second
#define CHOOSE(...) SECOND(__VA_ARGS__)
#define SELF_SCALAR(acc) typedef V SELF;
#define SELF_STRUCT(acc)                                                                                                       \
    typedef struct {                                                                                                           \
        acc                                                                                                                    \
    } SELF;
#define DEFINE_SELF(acc) CHOOSE(PROBE_##acc, SELF_STRUCT, )(acc)

/* Bitwise expressions do not compile for floats; the rows that have them do not take any. */
#define TAKES_FLOAT_ANY(...) __VA_ARGS__
#define TAKES_FLOAT_FLOAT(...) __VA_ARGS__
#define TAKES_FLOAT_COMPLEX(...) __VA_ARGS__
#define TAKES_FLOAT_INTEGER(...)
#define TAKES_FLOAT_SAME(...) __VA_ARGS__
#define TAKES_FLOAT_WIDE(...) __VA_ARGS__
#define TAKES_FLOAT_REAL(...) __VA_ARGS__
#define TAKES_FLOAT_MAGNITUDE(...) __VA_ARGS__
#define TAKES_FLOAT_COUNT(...)
#define TAKES_FLOAT_TRUTH(...)

#define COMBINE(c_type, id, acc, combine)                                                                                      \
    case TALLY_##id: {                                                                                                         \
        typedef c_type V;                                                                                                      \
        DEFINE_SELF(acc)                                                                                                       \
        const SELF a = *(SELF *)left, b = *(const SELF *)right;                                                                \
        *(SELF *)left = (combine);                                                                                             \
        break;                                                                                                                 \
    }
#define COMBINE_INTEGER(c_type, id, value, name, takes, inputs, accumulate, gives, acc, identity, load, combine, ...)          \
    COMBINE(c_type, id, acc, combine)
#define COMBINE_FLOAT(c_type, id, value, name, takes, inputs, accumulate, gives, acc, identity, load, combine, ...)            \
    TAKES_FLOAT_##takes(TAKES_FLOAT_##accumulate(COMBINE(c_type, id, acc, combine)))

#define TABLE(table, kind, c_type)                                                                                             \
    switch ((int)op) { table(COMBINE_##kind, c_type) }                                                                         \
    break;
#define PLAIN_CASE(id, name, kind, c_type)                                                                                     \
    case TALLY_##id:                                                                                                           \
        TABLE(TALLY_OP_TABLE, kind, c_type)
#define FLOAT_CASES(table)                                                                                                     \
    case TALLY_F32:                                                                                                            \
        TABLE(table, FLOAT, float)                                                                                             \
    case TALLY_F64:                                                                                                            \
        TABLE(table, FLOAT, double)

static void combine_plain(tally_op op, tally_dtype value, void *left, const void *right) {
    switch ((int)value) { TALLY_VALUE_TABLE(PLAIN_CASE) }
}

static void combine_complex(tally_op op, tally_dtype value, void *left, const void *right) {
    switch ((int)value) { FLOAT_CASES(TALLY_COMPLEX_OP_TABLE) }
}

static void combine_compensated(tally_op op, tally_dtype value, void *left, const void *right) {
    switch ((int)value) { FLOAT_CASES(TALLY_COMPENSATED_OP_TABLE) }
}

void tally_host_combine(const tally_terms *terms, void *accumulators, uint64_t count) {
    const bool is_complex = tally_dtype_find(terms->in)->kind == TALLY_KIND_COMPLEX;
    void (*const combine)(tally_op, tally_dtype, void *, const void *) = terms->accuracy == TALLY_ACCURACY_COMPENSATED
                                                                             ? combine_compensated
                                                                         : is_complex ? combine_complex
                                                                                      : combine_plain;
    unsigned char *first = accumulators;
    for (uint64_t i = 1; i < count; i++)
        for (uint32_t t = 0; t < terms->count; t++) {
            const tally_term *term = &terms->list[t];
            combine(term->op, term->value, first + term->acc_offset, first + i * terms->acc.bytes + term->acc_offset);
        }
}
