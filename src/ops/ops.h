/* SPDX-License-Identifier: MIT */
/*
 * ops.h: what is computed. A row describes a built-in op, tally_custom_op one of the user's own.
 * A term is an op resolved for items of one type; terms are all ops of one pass and their layouts.
 */
#ifndef TALLY_SRC_OPS_H
#define TALLY_SRC_OPS_H

#include <stdatomic.h>

#include "base/base.h"

/* ---- rows.c ---------------------------------------------------------------------------------- */

/* Bits 1 << tally_kind: the items that a row takes. */
enum {
    TALLY_TAKES_FLOAT = 1 << TALLY_KIND_FLOAT,
    TALLY_TAKES_UNSIGNED = 1 << TALLY_KIND_UNSIGNED,
    TALLY_TAKES_BOOL = 1 << TALLY_KIND_BOOL,
    TALLY_TAKES_INTEGER = 1 << TALLY_KIND_SIGNED | TALLY_TAKES_UNSIGNED | TALLY_TAKES_BOOL,
    TALLY_TAKES_ANY = TALLY_TAKES_FLOAT | TALLY_TAKES_INTEGER,
    TALLY_TAKES_COMPLEX = 1 << TALLY_KIND_COMPLEX
};

/* V, the type that a row computes in. Floats compute in f32 or f64 in the first four. */
typedef enum tally_accumulate {
    TALLY_ACCUMULATE_SAME,      /* the type that the item is loaded as */
    TALLY_ACCUMULATE_WIDE,      /* u64 for integers: sums wrap modulo 2^64, which C defines */
    TALLY_ACCUMULATE_REAL,      /* f64 for integers */
    TALLY_ACCUMULATE_MAGNITUDE, /* unsigned for integers */
    TALLY_ACCUMULATE_COUNT,     /* u64 */
    TALLY_ACCUMULATE_TRUTH      /* u32 */
} tally_accumulate;

/* The type of a row's result. */
typedef enum tally_gives {
    TALLY_GIVES_ITEM,      /* the item's */
    TALLY_GIVES_WIDE,      /* i64 or u64 for integers, V for floats */
    TALLY_GIVES_UNSIGNED,  /* u64 for integers, V for floats */
    TALLY_GIVES_REAL,      /* V */
    TALLY_GIVES_MAGNITUDE, /* the item's, unsigned for integers */
    TALLY_GIVES_INDEX,     /* u64 */
    TALLY_GIVES_COUNT,     /* u64 */
    TALLY_GIVES_TRUTH      /* bool */
} tally_gives;

/* The terms that a combine of a + b adds up, as powers of the items: they bound what a chunk of
 * narrow integers comes to. Devices have such a combine as an atomic. */
typedef enum tally_additive {
    TALLY_ADDITIVE_NO, /* combine is not a + b */
    TALLY_ADDITIVE_UNIT,
    TALLY_ADDITIVE_LINEAR,
    TALLY_ADDITIVE_QUADRATIC
} tally_additive;

#define TALLY_ROW_FIELDS 5 /* with the end */
#define TALLY_ROW_PARAMS 3

/*
 * A pivot: a number of the lane's type V that a chunk's items are taken relative to. It is made of
 * items of the chunk's first row before any lane begins: `load` of each item x, combined as lanes
 * are (left and right must not matter), then `finish` of that a. The items are 128, or 128 halved
 * `halvings` times where there are fewer (kernels/pivots.h). A lane's expressions read the number
 * as `pivot`.
 *
 * With `holds` the pivot may turn out to be no good. `of_lane` is what the items of the lane a come
 * to by `load` and `combine`, and `all` is `finish` of that of the whole chunk. Where `holds`, of
 * `pivot` and `all`, is false, the chunk is taken again with `all` as its pivot.
 */
typedef struct tally_pivot_row {
    const char *identity, *load, *combine, *finish;
    const char *of_lane, *holds; /* NULL: the pivot is good for every chunk */
} tally_pivot_row;

/* The items whose lanes are as a lane row says; lanes of others are as the accumulators. */
typedef enum tally_lane_of {
    TALLY_LANE_OF_ALL,    /* where 64 bits hold each sum of 2^12 terms */
    TALLY_LANE_OF_NARROW, /* integers of up to 16 bits */
    TALLY_LANE_OF_WORDS,  /* integers of 32 bits */
    TALLY_LANE_OF_F16
} tally_lane_of;

/*
 * A number of each item of a byte, an f64, which `load` reads as ITEM_NUMBER. `number` is that of
 * x. NVIDIA's GPUs take it from a table (kernels/byte_table.h): the lane a after an item is `take`
 * with its `number`, and after four items, of the word w, `take_word` of any lane. Between them
 * they do what `load` and `combine` do.
 */
typedef struct tally_table_row {
    const char *number, *take, *take_word;
} tally_table_row;

/* A lane of a row's own, for the items of a chunk, which is smaller than the accumulator: a struct
 * of sums, or (no fields) a V. */
typedef struct tally_lane_row {
    tally_lane_of of;
    struct {
        tally_additive additive; /* the terms, which say how wide the field is; NO: `type` does */
        const char *name;
        tally_dtype type; /* TALLY_DTYPE_DEFAULT: the row's V */
    } fields[TALLY_ROW_FIELDS];
    const char *identity, *load, *combine; /* as the row's */
    const char *widen;                     /* the accumulator of the lane a, of `count` items */
    const char *bytes;                     /* as the row's; NULL: the row's */
    tally_pivot_row pivot;                 /* NULLs: there is none */
    tally_table_row table;                 /* NULLs: there is none */
} tally_lane_row;

/* The lane of a sum of 32-bit integers x: the sum modulo 2^32, and that of the upper halves
 * (kernels/arithmetic.h). No item is widened. */
#define TALLY_SUM_BY_HALVES(x, widened)                                                                                        \
    {                                                                                                                          \
        .of = TALLY_LANE_OF_WORDS, .fields = {{TALLY_ADDITIVE_UNIT, "low"}, {TALLY_ADDITIVE_UNIT, "high"}},                    \
        .identity = "MAKE(ZERO, ZERO)", .load = "MAKE((u32)(" x "), UPPER_HALF(" x "))",                                       \
        .combine = "MAKE(a.low + b.low, a.high + b.high)", .widen = widened                                                    \
    }

/*
 * A guess at a chunk, for CPUs: the row's `load` or `combine` at less cost. It
 * is right where `holds` is true of the lane a that the whole chunk comes to. Else the chunk is
 * taken again by the row's own.
 * With a `combine` of its own the items come in any order, and some twice: it is for ops that
 * neither changes. Nor is it right where an item is a NaN. Of an index the guess is the value, and
 * the first item that has it is looked for.
 */
typedef struct tally_guess_row {
    const char *load, *combine; /* one of them; NULL: the row's */
    const char *holds;          /* NULL: there is no guess */
    /* The field that is left to be combined where a guess by `load` holds: all others are zeros.
     * They are sums of what is not negative, so if they are zeros at a scan's end they were zeros
     * all along. Scans of `host` then combine that field alone, and results are usual. NULL: there
     * is none. */
    const char *field;
    /* The sign of a zero: that of the words a and b combined, whose highest bits are signs. With it
     * GPUs take chunks of f64 by `combine` too; NULL: they do not. */
    const char *signs;
} tally_guess_row;

/* A short step on GPUs, for bf16 at least: the lane a after the item x. It may be taken where
 * `not_plain` is 0 for all words w of a vector: of two items, of one, or the upper half of one.
 * IMMODERATE(w) is not 0 where an item is not moderate: |x| is 2^16 or above
 * (kernels/arithmetic.h). */
typedef struct tally_plain_row {
    const char *not_plain, *step; /* NULL: there is none */
    bool of_all;                  /* others have it too (lanes.c) */
} tally_plain_row;

/* On what a result depends. An exact one does not depend on the order of combination. One by an
 * idempotent operator does not depend on how often an item is combined either: what an accumulator
 * has already does not change it. */
typedef enum tally_exactness { TALLY_INEXACT, TALLY_EXACT, TALLY_IDEMPOTENT } tally_exactness;

/* A built-in op: C expressions and how they are typed. */
typedef struct tally_op_row {
    const char *name, *summary;
    unsigned takes;
    uint32_t inputs; /* 0: 1 */
    tally_accumulate accumulate;
    tally_gives gives;
    struct {
        tally_dtype type; /* TALLY_DTYPE_DEFAULT: V */
        const char *name;
    } fields[TALLY_ROW_FIELDS]; /* of the accumulator; none: it is a V */
    const char *identity;       /* the accumulator that changes nothing */
    const char *load;           /* the accumulator of the items x (and y), whose index is i */
    const char *combine;        /* of a and b; IN_LANE(next, any): cheaper within a lane */
    /* No accumulator in a scan is empty, and most counts of items follow from places. `share` is
     * the share of b's items in those of a and b, and `by_share` is `combine` by a share that is
     * known. NULLs: scans take `combine`. */
    const char *share, *by_share;
    const char *first, *second;       /* the result's values, of a and n; NULL: a, and none */
    const char *empty, *second_empty; /* the same for n = 0 */
    /* The accumulator of an initial result, whose values are x and y. NULL: (V)(x) if the result
     * is the accumulator, else there is none. */
    const char *initial;
    /* Where `usual` holds, `usually` is `first` at less cost: a scan on a CPU has a result to
     * compute for each item. Both may read f, the first accumulator of those whose results are
     * computed together. NULLs: there is none. */
    const char *usual, *usually;
    const char *decided; /* holds of an a that no other changes; CPUs then leave out items; NULL: none */
    tally_exactness exact;
    tally_additive additive;
    tally_lane_row lane;
    tally_lane_row byte_lane;  /* the same for items of a byte; NULLs: `lane` */
    tally_lane_row truth_lane; /* the same for truth values; NULLs: `byte_lane` */
    tally_guess_row guess;     /* NULLs: there is none */
    /* A lane after four items of a byte, those of the word w (of two inputs, w and v); NULL: item
     * by item. `bytes_hold`: of p, whether it may be used; NULL: always. */
    const char *bytes, *bytes_hold;
    bool counts_zeros;  /* a word of zeros may change a lane by `bytes` */
    bool adds_products; /* `load` is x * y, or x * x, and lanes are accumulators */
    bool takes_pairs;   /* `bytes` takes two integers of 16 bits too */
    tally_plain_row plain;
    const char *text; /* the stem of kernels/ that the expressions need; NULL: arithmetic alone */
    struct {
        tally_op op;
        unsigned of; /* items of these kinds */
    } alike;         /* the op that has the same results there */
    struct {
        const char *name;
        double value; /* the default */
    } params[TALLY_ROW_PARAMS];
} tally_op_row;

/* The tables of rows. All but the first take the place of an op's own row for some items, where
 * they have the op (special_rows.c). */
typedef enum tally_row_level {
    TALLY_ROW_PLAIN,
    TALLY_ROW_NARROW,      /* integers of up to 16 bits */
    TALLY_ROW_WHOLE,       /* integers of up to 32 bits */
    TALLY_ROW_COMPLEX,     /* complex items, which no other row takes */
    TALLY_ROW_COMPENSATED, /* the level `compensated`, which no other row has */
    TALLY_ROW_LEVELS
} tally_row_level;
extern const tally_op_row tally_narrow_rows[TALLY_OP_END], tally_whole_rows[TALLY_OP_END], tally_complex_rows[TALLY_OP_END],
    tally_compensated_rows[TALLY_OP_END];

/* The row; NULL for a value that is none. */
const tally_op_row *tally_op_find(tally_op op);
/* The table of the row that an op and a dtype, which there are, have. */
tally_row_level tally_op_row_level(tally_op op, tally_dtype in, tally_accuracy accuracy);
/* The op whose row an op has for these items, both of which there are: itself, or one that has the
 * same results. */
tally_op tally_op_alike(tally_op op, tally_dtype in, tally_accuracy accuracy);
/* The row that an op has for these items. NULL where there is none. */
const tally_op_row *tally_op_row_for(tally_op op, tally_dtype in, tally_accuracy accuracy);
/* V of the op's row, for the accuracy DEFAULT; TALLY_DTYPE_DEFAULT where the op does not take the
 * dtype. */
tally_dtype tally_accumulator_dtype(tally_op op, tally_dtype in);

/* ---- own.c ----------------------------------------------------------------------------------- */

#define TALLY_MAX_FIELDS 16
#define TALLY_MAX_PARAMS 16
#define TALLY_MAX_RESULTS 16
#define TALLY_MAX_LETS 64

/*
 * Limits of a user's expressions. Measured on 2026-11-22 with 2 cores: to compile x+x+... of 8,192
 * characters as `load` takes NVRTC 13.0 7 to 18 s (as `combine` 56 s), POCL 3.1 2 s, Intel's OpenCL
 * 2026.2 14 s; two such fields take NVRTC 26 s, four 152 s. Such chains need up to 6 MB of stack
 * (Intel's). Nesting needs more: 8,190 '!' overflow 8 MB in POCL and Intel's, 256 casts need 2 MB.
 * LLVM refuses more than 256 brackets, some of which are the library's.
 */
#define TALLY_MAX_EXPRESSION 8192   /* characters */
#define TALLY_MAX_EXPRESSIONS 16384 /* characters of all of an operator's expressions */
#define TALLY_MAX_NESTING 200

/* A user's operator: a copy of the descriptor and its texts. Plans share it. */
struct tally_custom_op {
    uint32_t tag;
    atomic_int references;
    tally_op_desc desc; /* its finish, empty and out are in results[0] */
    tally_op_field fields[TALLY_MAX_FIELDS];
    tally_op_param params[TALLY_MAX_PARAMS];
    tally_op_result results[TALLY_MAX_RESULTS]; /* one at least; a name of NULL: the only one */
    tally_op_let lets[TALLY_MAX_LETS];
    char *texts; /* what all of them point into */
};
#define TALLY_TAG_OP 0x544f5043u

/* The parts' names. That of TALLY_PART_NONE is identity, which has no temporaries. */
extern const char *const tally_op_part_names[TALLY_PART_END];

void tally_op_retain(tally_custom_op *op);

/* ---- own_text.c ------------------------------------------------------------------------------ */

/* Tells a C identifier of at most 63 characters. */
bool tally_op_is_identifier(const char *name);
/* Tells a name that means something else to a compiler. */
bool tally_op_is_taken(const char *name);
/* `part` is what the text is of the op. Errors: E_ARGUMENT for a text that is no expression, or
 * beyond the limits. */
tally_status tally_op_check_expression(const char *op, const char *part, const char *text);

/* ---- layout.c -------------------------------------------------------------------------------- */

/* A type's size and alignment in a C struct. */
typedef struct tally_layout {
    uint32_t bytes, align;
} tally_layout;

/* Appends a member; returns its offset. */
uint32_t tally_layout_append(tally_layout *layout, tally_layout member);
/* Rounds the size up to the alignment. A struct without members gets one of 4 bytes: no language
 * has an empty struct. */
void tally_layout_close(tally_layout *layout);
tally_layout tally_layout_of(tally_dtype dtype);

/* ---- terms.c --------------------------------------------------------------------------------- */

/* One value of a term's result. */
typedef struct tally_term_result {
    const char *name;    /* of the member of RESULT; NULL: it is the only one */
    tally_dtype natural; /* its type before conversion; for a complex result, its parts' type */
    tally_dtype out;
    const char *finish;
    const char *empty; /* for n = 0; NULL: finish of the identity */
} tally_term_result;

/* A lane within a chunk, where it is narrower than an accumulator. */
typedef struct tally_term_lane {
    tally_dtype value; /* V; TALLY_DTYPE_DEFAULT: the lane is an accumulator */
    uint32_t field_count;
    tally_op_field fields[TALLY_ROW_FIELDS];
    const char *identity, *load, *combine;
    const char *bytes, *bytes_hold; /* as the row's */
    bool counts_zeros;              /* a word of zeros may change it */
    bool of_magnitudes;             /* it is of the items' magnitudes */
    tally_plain_row plain;          /* NULLs: there is none */
    const char *widen;              /* the accumulator of the lane a, of a chunk of `count` items that begins at `index` */
    tally_pivot_row pivot;
    tally_table_row table;
} tally_term_lane;

/* One op of a plan, resolved for its items: what a row or a custom op says, with every type
 * decided. */
typedef struct tally_term {
    const char *name;
    const char *row_name;    /* of the op whose row it has (tally_op_alike) */
    tally_op op;             /* TALLY_OP_NONE: a custom one */
    tally_custom_op *custom; /* retained; NULL: the op is a row */
    tally_accuracy accuracy;
    tally_dtype value; /* V */
    tally_dtype real;  /* R */
    tally_term_lane lane;
    tally_guess_row guess;                   /* NULLs: there is none */
    tally_dtype lane_item;                   /* of each V in an array of lanes, where V is wider; TALLY_DTYPE_DEFAULT: V */
    uint32_t field_count;                    /* 0: the accumulator is a V */
    tally_op_field fields[TALLY_MAX_FIELDS]; /* of a row: names and types alone */
    const char *identity, *load, *combine;
    const char *text; /* the stem of kernels/ that they need; NULL: arithmetic alone */
    uint32_t result_count;
    tally_term_result results[TALLY_MAX_RESULTS]; /* a complex result is two: its parts */
    const char *initial;                          /* the accumulator of the result x (and y); NULL: there is none */
    const char *share, *by_share;                 /* as the row's; NULL: none */
    const char *usual, *usually, *decided;        /* as the row's; NULL: none */
    bool is_index;                                /* the result is an index */
    uint32_t param_count;
    tally_op_param params[TALLY_MAX_PARAMS];
    bool exact;
    tally_additive additive;
    tally_layout acc, result, param;
    uint32_t acc_offset; /* in the accumulator of all terms */
} tally_term;

/* The terms of one pass, without the way they are launched. */
typedef struct tally_terms {
    tally_dtype in;
    uint32_t inputs, count;
    tally_term *list;                /* `count`; freed by tally_terms_close */
    tally_layout acc, result, param; /* of all terms together */
} tally_terms;

/* The members of a descriptor that say what is computed: one term by itself, or a list of terms. */
typedef struct tally_terms_desc {
    tally_dtype in;
    tally_term_desc single; /* zeros where there is a list */
    const tally_term_desc *list;
    uint32_t count; /* of the list; 0: the single one */
} tally_terms_desc;

/* Errors: E_ARGUMENT, E_UNSUPPORTED naming the descriptor's member; E_MEMORY. On failure there is
 * nothing to close. */
tally_status tally_terms_resolve(const tally_terms_desc *desc, tally_terms *terms);
void tally_terms_close(tally_terms *terms);
/* Tells where the result's value `index` is; false beyond the last. */
bool tally_terms_result(const tally_terms *terms, uint32_t index, tally_result_info *info);
/* Returns the integer that value i of an initial result becomes, where the result is a float and
 * the op computes in integers; else TALLY_DTYPE_DEFAULT. */
tally_dtype tally_term_initial_integer(const tally_term *term, uint32_t i);
/* Errors: E_ARGUMENT for an initial result whose value that integer does not hold. */
tally_status tally_terms_check_initial(const tally_terms *terms, const void *initial);
/* Tells whether an op is the user's. */
bool tally_terms_are_custom(const tally_terms *terms);
/* Tells whether four items of a byte may be added as a word, with bytes of 0 that are no items. */
bool tally_terms_pad_bytes(const tally_terms *terms);
/* Tells whether the ops combine to the same bits in any order. */
bool tally_terms_exact(const tally_terms *terms);
/* Errors: E_UNSUPPORTED when the terms compute in f64 and the device does not. */
tally_status tally_terms_check(const tally_terms *terms, const tally_device_info *device);

/* ---- lanes.c --------------------------------------------------------------------------------- */

/* Sets the term's lane, lane_item and guess, for items of that type. */
void tally_term_take_lane(tally_term *term, const tally_op_row *row, tally_dtype in);

/* ---- params.c -------------------------------------------------------------------------------- */

/* Tells whether an integer type holds the value without its fraction. What a cast gives for one
 * beyond its range, C leaves undefined. */
bool tally_integer_holds(tally_dtype type, double value);
/* Errors: E_ARGUMENT when the parameter's type does not hold the value, of which an integer drops
 * the fraction. */
tally_status tally_check_param(const char *op, const tally_op_param *param, double value);
/* Writes the parameters, which their types hold, as the kernels' PARAMS, of terms->param.bytes. */
void tally_terms_pack_params(const tally_terms *terms, void *to);
/* Sets the parameter of all terms that have it. Errors: E_ARGUMENT, and none is set, for a name
 * that none has (the text lists those there are) and for a value that one of them cannot hold. */
tally_status tally_terms_set_param(tally_terms *terms, const char *name, double value);

#endif
