/* SPDX-License-Identifier: MIT */
/*
 * combine.h: the words of the rows' expressions, in C, for the functions that tally_host_programs writes (main.c): each combines two
 * accumulators, of type SELF, with values of type V.
 */
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
/* Integers too: they are equal to themselves, and of two equal ones it does not matter which stays. */
#define MIN(a, b) FLOAT_MIN(a, b)
#define MAX(a, b) FLOAT_MAX(a, b)
