/* SPDX-License-Identifier: MIT */
/*
 * tally/ops.h: the ops that are built in, and custom ops.
 */
#ifndef TALLY_API_OPS_H
#define TALLY_API_OPS_H

#include <tally/core.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The ops that are built in. docs/semantics.md has what they do with NaN, signed zeros, overflow
 * and empty input. */
typedef enum tally_op {
    TALLY_OP_NONE = 0,
    TALLY_SUM = 1,            /* sum of all items */
    TALLY_MIN = 2,            /* smallest item; NaN wins; -0 < +0 */
    TALLY_MAX = 3,            /* largest item; NaN wins; -0 < +0 */
    TALLY_PROD = 4,           /* product of all items */
    TALLY_NANMIN = 5,         /* smallest item that is no NaN; NaN if there is none */
    TALLY_NANMAX = 6,         /* largest item that is no NaN; NaN if there is none */
    TALLY_ARGMIN = 7,         /* index of the first smallest item; of the first NaN */
    TALLY_ARGMAX = 8,         /* index of the first largest item; of the first NaN */
    TALLY_MINMAX = 9,         /* smallest and largest item, two values; NaN wins */
    TALLY_ANY = 10,           /* 1 if any item is nonzero; NaN counts as nonzero */
    TALLY_ALL = 11,           /* 1 if all items are nonzero; NaN counts as nonzero */
    TALLY_COUNT_NONZERO = 12, /* number of nonzero items; NaN counts as nonzero */
    TALLY_BAND = 13,          /* bitwise and */
    TALLY_BOR = 14,           /* bitwise or */
    TALLY_BXOR = 15,          /* bitwise exclusive or */
    TALLY_ASUM = 16,          /* sum of magnitudes (L1 norm) */
    TALLY_SUMSQ = 17,         /* sum of squares */
    TALLY_NRM2 = 18,          /* root of the sum of squares (L2 norm), without overflow */
    TALLY_AMAX = 19,          /* largest magnitude; NaN wins */
    TALLY_IAMAX = 20,         /* index of the first largest magnitude; of the first NaN */
    TALLY_MEAN = 21,          /* arithmetic mean */
    TALLY_VAR = 22,           /* variance: sum of squared deviations over n - ddof, a parameter (0) */
    TALLY_STD = 23,           /* standard deviation: the root of the variance */
    TALLY_LOGSUMEXP = 24,     /* logarithm of the sum of exponentials, without overflow */
    TALLY_DOT = 25,           /* sum of products of two inputs */
    TALLY_DOTC = 26,          /* dot with the first input conjugated */
    TALLY_DIST2 = 27,         /* sum of squared differences of two inputs */
    TALLY_ALLCLOSE = 28,      /* 1 if |x - y| <= atol + rtol |y| for all items of two inputs */
    TALLY_OP_END
} tally_op;

/* The accuracy of sum, asum, sumsq, mean and dot of floats. */
typedef enum tally_accuracy {
    TALLY_ACCURACY_DEFAULT = 0,     /* the canonical order; the error grows with log n */
    TALLY_ACCURACY_COMPENSATED = 1, /* rounding errors are kept; the error does not grow with n */
    TALLY_ACCURACY_END
} tally_accuracy;

typedef struct tally_custom_op tally_custom_op;

/* The index that argmin, argmax and iamax of no items give. */
#define TALLY_NO_INDEX UINT64_MAX
/* The most inputs of a custom op, and the most terms of one plan. */
#define TALLY_MAX_INPUTS 4
#define TALLY_MAX_TERMS 16

/*
 * A term: one op of a pass over the items. Zeroed members mean their defaults.
 * The result may be converted: complex to complex, float to float, integer to integer, f32 or f64,
 * an index to i64 (docs/semantics.md, "Another result type").
 */
typedef struct tally_term_desc {
    tally_op op;             /* a built-in op; or `custom` */
    tally_dtype out;         /* the result's type; 0: tally_result_dtype(op, in) */
    tally_dtype acc;         /* the accumulator's type, for float and complex items: TALLY_F64, or 0: f32
                              * (f64 for f64 and c128). For integers and bool: 0 */
    tally_accuracy accuracy; /* of sum, asum, sumsq, mean and dot of floats */
    tally_custom_op *custom; /* a custom op, which names its own accumulator */
} tally_term_desc;

/* Return the name or the summary of a value. Static text; NULL for a value that the enum does not
 * have. */
TALLY_API const char *tally_op_name(tally_op op);
TALLY_API const char *tally_op_summary(tally_op op);
TALLY_API const char *tally_accuracy_name(tally_accuracy accuracy);

/* Finds the op that has the name, such as "sum", and writes it to *out. Errors: E_ARGUMENT for NULL
 * and for an unknown name; the text lists the names. */
TALLY_API tally_status tally_op_from_name(const char *name, tally_op *out);

/* Returns the type of the result where the caller names none (docs/ops.md has the table);
 * TALLY_DTYPE_DEFAULT for an unknown op or dtype, and for an op that does not take the dtype: min
 * of c64, say, or band of f32. */
TALLY_API tally_dtype tally_result_dtype(tally_op op, tally_dtype in);

/* Returns the number of values of that type in a result: 2 for minmax (smallest, then largest),
 * else 1; 0 where tally_result_dtype gives TALLY_DTYPE_DEFAULT. */
TALLY_API uint32_t tally_result_count(tally_op op, tally_dtype in);

/* Returns the number of inputs of the op: 1, or 2 (dot, dotc, dist2, allclose); 0 for an unknown
 * op. */
TALLY_API uint32_t tally_op_inputs(tally_op op);

/* Returns the name of the op's parameter `index` (of var and std: ddof; of allclose: rtol, atol).
 * Static text; NULL beyond the last. *value gets the default; `value` may be NULL. */
TALLY_API const char *tally_op_param_name(tally_op op, uint32_t index, double *value);

/* ---- a custom op ----------------------------------------------------------------------------- */

/* A field of an accumulator that is a struct. */
typedef struct tally_op_field {
    const char *name;     /* a C identifier */
    tally_dtype type;     /* f32, f64, i32, u32, i64 or u64; 0: as tally_op_desc.acc */
    const char *identity; /* the field's value that changes nothing when combined */
    const char *load;     /* its value for one item */
    const char *combine;  /* its value for the accumulators a and b: a.name and b.name */
} tally_op_field;

/* A constant that the expressions read as p.name. It is an argument of the kernel: a new value
 * compiles nothing. */
typedef struct tally_op_param {
    const char *name;
    tally_dtype type; /* f32, f64, i32, u32, i64 or u64; 0: f64 */
    double value;     /* until tally_plan_set_param. An integer type drops the fraction. Integers
                       * beyond 2^53 are rounded, as an f64 is: write them in the expression */
} tally_op_param;

/* The expressions of an operator that may have temporaries. */
typedef enum tally_op_part {
    TALLY_PART_NONE = 0,
    TALLY_PART_LOAD = 1,    /* load, of all fields */
    TALLY_PART_COMBINE = 2, /* combine, of all fields */
    TALLY_PART_FINISH = 3,  /* finish, of all results */
    TALLY_PART_END
} tally_op_part;

/* A temporary: a named value that is computed once, before the expressions that read it by its
 * name. */
typedef struct tally_op_let {
    const char *name;   /* a C identifier, other than the fields' and a b x y z w i n p */
    tally_op_part part; /* the expressions that read it. A name may be used once for each */
    tally_dtype type;   /* f32, f64, i32, u32, i64 or u64; 0: as tally_op_desc.acc */
    const char *value;  /* its expression; may read the temporaries of the same `part` before it */
} tally_op_let;

/* A value of a result that has several. */
typedef struct tally_op_result {
    const char *name;   /* a C identifier, for error texts */
    tally_dtype type;   /* any real type; 0: as tally_op_desc.acc */
    const char *finish; /* the value */
    const char *empty;  /* the value for n = 0; NULL: finish of the identity */
} tally_op_result;

/*
 * An operator by C expressions that mean the same in CUDA C and OpenCL C: C's operators, ?:, casts
 * to f32, f64, i32, u32, i64, u64, and the functions that both languages have (fabs sqrt exp log
 * fma fmin fmax floor ceil pow sin cos ..., INFINITY, NAN). No braces, no semicolons. At most 8,192
 * characters each, 16,384 together, and nested 200 deep.
 *
 * The accumulator is one value, given by identity, load and combine; or a struct, given by fields.
 * The result is one value, given by finish, empty and out; or several, given by results.
 *
 * `load` sees x, the item, and y, z, w, those of further inputs; i, the item's index as argmin
 * gives it (u64); p, the parameters. An item is f32 (also of f16 and bf16), f64, i32 (also of i8
 * and i16), u32 (also of u8, u16 and bool), i64, u64, or complex with x.re and x.im. `combine` sees
 * a and b, accumulators; in scans a is of the items with the lower indices. `finish` and `empty`
 * see a, the accumulator; n, the number of items (u64); p. Only load, combine and finish have
 * temporaries.
 *
 * combine must be associative, up to rounding, and but for scans commutative: in a chunk the items
 * of a and of b lie among each other. combine(identity, a) must be a to the bit, or bits may depend
 * on the device.
 */
typedef struct tally_op_desc {
    size_t size;      /* sizeof(tally_op_desc) */
    const char *name; /* for error texts; NULL: "custom" */
    uint32_t inputs;  /* 1 to TALLY_MAX_INPUTS; 0: 1. All are of the plan's item type */
    tally_dtype acc;  /* the accumulator's type; 0: f32, f64, i64 or u64, by the items */
    const char *identity, *load, *combine;
    const tally_op_field *fields; /* NULL: the accumulator is one value */
    uint32_t field_count;         /* 16 at most */
    const tally_op_param *params;
    uint32_t param_count;           /* 16 at most */
    const char *finish;             /* the result; NULL: a, of an accumulator that is one value */
    const char *empty;              /* the result for n = 0; NULL: finish of the identity */
    tally_dtype out;                /* the result's type; 0: acc */
    int exact;                      /* 1: the result does not depend on the order of combination */
    const tally_op_result *results; /* in place of finish, empty and out */
    uint32_t result_count;          /* 16 at most */
    const tally_op_let *lets;       /* computed in this order */
    uint32_t let_count;             /* 64 at most */
} tally_op_desc;

/* Makes an operator; every text is copied. Texts that are no expressions are refused here; those
 * that do not compile by tally_plan_create, with E_BUILD and the compiler's words about the
 * expression.
 * Errors: E_ARGUMENT; E_MEMORY. */
TALLY_API tally_status tally_op_create(const tally_op_desc *desc, tally_custom_op **out);
/* Destroys the operator. Plans made of it keep working. */
TALLY_API void tally_op_destroy(tally_custom_op *op);

#ifdef __cplusplus
}
#endif

#endif
