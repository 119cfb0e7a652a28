/* SPDX-License-Identifier: MIT */
/* conformance.h: the tests that every device passes besides the matrix. Each is a cmocka test whose
 * *state is a place. */
#ifndef TALLY_TESTS_CONFORMANCE_H
#define TALLY_TESTS_CONFORMANCE_H

#include "cells.h"

typedef struct device_test {
    const char *name;
    CMUnitTestFunction run;
} device_test;

/* Each list ends with a NULL name. */
extern const device_test api_tests[];            /* api.c: the public functions on a real device */
extern const device_test memory_tests[];         /* memory.c: sizes of buffers, host memory in place */
extern const device_test wrapped_tests[];        /* wrapped.c: wrapped memory within other wrapped memory */
extern const device_test empty_tests[];          /* empties.c: none, one and two items of every op and type */
extern const device_test host_tests[];           /* host.c: few items on a CPU device, which the calling thread reduces */
extern const device_test feed_tests[];           /* feed.c: items in pieces */
extern const device_test devices_tests[];        /* devices.c: one reduction over several devices */
extern const device_test part_tests[];           /* parts.c: parts, and records joined */
extern const device_test packet_tests[];         /* packets.c: packets, folded by a kernel */
extern const device_test thread_tests[];         /* thread.c: contexts shared by threads */
extern const device_test cache_tests[];          /* cache.c: the program cache on disk */
extern const device_test arithmetic_tests[];     /* arithmetic.c: no contraction, no reassociation, denormals kept */
extern const device_test custom_example_tests[]; /* custom_examples.c: the operators of docs/custom-ops.md */
extern const device_test custom_tests[];         /* custom.c: custom ops: types, inputs, refusals */
extern const device_test fused_tests[];          /* fused.c: several ops over one pass */
extern const device_test accuracy_tests[];       /* accuracy.c: the accuracy of each level */
extern const device_test moment_tests[];         /* moments.c: the accuracy of mean, variance and standard deviation */
extern const device_test pivot_tests[];          /* pivots.c: chunks that are taken again with another pivot */
extern const device_test semantics_tests[];      /* semantics.c: docs/semantics.md, line by line */

extern const device_test enqueue_tests[]; /* enqueue.c: work captured in a graph, and enqueued without waiting */
extern const device_test tuning_tests[];  /* tuning.c: shapes of launches */
extern const device_test move_tests[];    /* move.c: gather and scatter */

extern const device_test segments_tests[];      /* segments.c: segments by axes: ops, types, shapes */
extern const device_test segments_form_tests[]; /* segments_forms.c: masks, initial results, several terms, own ops */
extern const device_test segments_list_tests[]; /* segments_by.c: segments by offsets and by keys, and of host arrays */
extern const device_test segments_same_tests[]; /* segments_same.c: the same items, the same bits */

extern const device_test scan_tests[];       /* scan.c: scans: ops, types, variants, forms */
extern const device_test scan_axis_tests[];  /* scan_axis.c: scans along an axis of an array */
extern const device_test scan_use_tests[];   /* scan_use.c: scans in pieces, by custom ops; refusals */
extern const device_test scan_block_tests[]; /* scan_blocks.c: scans whose blocks lie on several devices */

extern const device_test golden_tests[]; /* golden.c: the bits of golden/bits.txt */

/* Writes golden/bits.txt anew, as FILE, with this device's results. Returns 0, or 1 with the reason
 * printed. */
int golden_record(const place *at, const char *file);

/* Fails unless the result over these items is the oracle's, to the bit. `what` names the case. */
void expect_result_inputs(const oracle_case *of, const void *const inputs[], uint64_t n, const void *result, const char *what);
/* The same for an op of one input with all other members at their default. */
void expect_result(tally_op op, tally_dtype in, const void *items, uint64_t n, const void *result, const char *what);

/* Computes two sums and a min with a plan each, in a context opened anew with this selection, which
 * fills or reads the program cache. Returns the number of programs, or 0 with the reason
 * printed. */
int expect_fresh_context(const char *select, tally_context_info *info);

#endif
