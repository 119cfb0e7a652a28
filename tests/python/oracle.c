/* SPDX-License-Identifier: MIT */
/*
 * oracle.c: the oracle as a shared library, for the tests of the Python package, which load it by
 * ctypes (python/tests/oracle.py). Only the test build makes it; no wheel has it.
 */
#include "oracle/bound.h"
#include "oracle/oracle.h"
#include "oracle/scan.h"

/* A reduction or scan by the numbers of its enums: op, item type, accumulator's type, accuracy,
 * result's type. 0 means the default. */
#define WHAT 5

int tally_test_oracle_bytes(const int what[WHAT]);
int tally_test_oracle_reduce(const int what[WHAT], const double *params, const void *initial, const void *const items[2],
                             const uint8_t *where, uint64_t n, void *result);
int tally_test_oracle_bound(const int what[WHAT], const double *params, const void *const items[2], uint64_t n, uint64_t depth,
                            const oracle_result *result);
int tally_test_oracle_scan(const int what[WHAT], const void *initial, int exclusive, int reverse, const void *items, uint64_t n,
                           void *values);

static oracle_case case_of(const int what[WHAT], const double *params, const void *initial) {
    return (oracle_case){.op = (tally_op)what[0],
                         .in = (tally_dtype)what[1],
                         .acc = (tally_dtype)what[2],
                         .accuracy = (tally_accuracy)what[3],
                         .out = (tally_dtype)what[4],
                         .params = params,
                         .initial = initial};
}

/* Returns the bytes of a result; 0 where there is no such reduction. */
int tally_test_oracle_bytes(const int what[WHAT]) {
    const oracle_case of = case_of(what, NULL, NULL);
    return oracle_takes(&of) ? (int)oracle_result_bytes(&of) : 0;
}

/* Writes the value of n items. Returns its bytes; 0 where there is no such reduction. */
int tally_test_oracle_reduce(const int what[WHAT], const double *params, const void *initial, const void *const items[2],
                             const uint8_t *where, uint64_t n, void *result) {
    const oracle_case of = case_of(what, params, initial);
    if (!oracle_takes(&of)) return 0;
    oracle_reduce_where(&of, items, where, n, result);
    return (int)oracle_result_bytes(&of);
}

/* Checks a result of the op's own type. Returns 0: out of the bound; 1: within; 2: there is no
 * bound; -1: no such reduction, or one whose bits every order gives. */
int tally_test_oracle_bound(const int what[WHAT], const double *params, const void *const items[2], uint64_t n, uint64_t depth,
                            const oracle_result *result) {
    const oracle_case of = case_of(what, params, NULL);
    if (!oracle_takes(&of) || oracle_is_exact(&of)) return -1;
    switch (bound_check(&of, items, n, depth, 0, result)) {
    case BOUND_BROKEN:
        return 0;
    case BOUND_KEPT:
        return 1;
    case BOUND_FREE:
        break;
    }
    return 2;
}

/* Writes the n values of a scan. Returns the bytes of one; 0 where there is no such scan. */
int tally_test_oracle_scan(const int what[WHAT], const void *initial, int exclusive, int reverse, const void *items, uint64_t n,
                           void *values) {
    const oracle_case of = case_of(what, NULL, NULL);
    const scan_form form = {.exclusive = exclusive, .reverse = reverse, .initial = initial};
    if (!oracle_takes(&of)) return 0;
    const scan_op op = scan_oracle_op(&of);
    scan_oracle(&op, &form, items, n, values);
    return (int)oracle_result_bytes(&of);
}
