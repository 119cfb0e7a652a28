/* SPDX-License-Identifier: MIT */
/* The built-in operators in C, from the same rows that the kernels are compiled from: for what is finished on the host. */
#include <math.h>

#include "core.h"

#define ACC_MIN(a, b) (((a) < (b)) | ((a) != (a)) | (((a) == (b)) & (signbit((double)(a)) != 0)) ? (a) : (b))
#define ACC_MAX(a, b) (((a) > (b)) | ((a) != (a)) | (((a) == (b)) & (signbit((double)(a)) == 0)) ? (a) : (b))

/* The dtype's rows outside, the ops' inside: one case for each pair. */
#define COMBINE(c_type, id, value, name, accumulate, identity, load, combine, finish, empty, exact, atomic, summary)           \
    case TALLY_##id:                                                                                                           \
        for (uint64_t i = 1; i < count; i++) {                                                                                 \
            const c_type a = items[0], b = items[i];                                                                           \
            items[0] = (c_type)(combine);                                                                                      \
        }                                                                                                                      \
        break;
#define CASES(id, value, name, bytes, kind, c_type, summary)                                                                   \
    case TALLY_##id: {                                                                                                         \
        c_type *items = accumulators;                                                                                          \
        switch ((int)op) { TALLY_OP_TABLE(COMBINE, c_type) }                                                                   \
        break;                                                                                                                 \
    }

void tally_host_combine(tally_op op, tally_dtype acc, void *accumulators, uint64_t count) {
    switch ((int)acc) { TALLY_DTYPE_TABLE(CASES) }
}
