/* SPDX-License-Identifier: MIT */
/* combine.h: the words of the rows' expressions in C. tally_host_programs (main.c) writes
 * functions with them. Each function combines two accumulators of type SELF with values of type
 * V. */
#include <math.h>
#include <string.h>

#include <tgmath.h>

#include "reduce/reduce.h"

typedef int32_t i32;
typedef uint32_t u32;
typedef int64_t i64;
typedef uint64_t u64;
typedef float f32;
typedef double f64;

#define INLINE static inline __attribute__((unused))

#include "../../kernels/arithmetic.h"
#include "../../kernels/wholes.h"

#include "host/bits.h"

#define REAL f32
#define OF(name) f32_##name
#include "../../kernels/exponentials.h"
#undef REAL
#undef OF
#define REAL f64
#define OF(name) f64_##name
#include "../../kernels/exponentials.h"

#define EXPONENT(x) _Generic((x), f32 : f32_EXPONENT, default : f64_EXPONENT)(x)
#define TWO_TO(n) _Generic((n), f32 : f32_TWO_TO, default : f64_TWO_TO)(n)
#define SIGN(a) signbit((double)(a))
#define QUOTIENT(a, b) ((a) / (b))
#define MAKE(...) ((SELF){__VA_ARGS__})
#define IN_LANE(next, any) (any)
#define ZERO ((V)0)
#define ONE ((V)1)
/* Integers use them too: an integer equals itself, and of two equal ones either may stay. */
#define MIN(a, b) FLOAT_MIN(a, b)
#define MAX(a, b) FLOAT_MAX(a, b)
