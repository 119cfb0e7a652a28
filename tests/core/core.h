/* SPDX-License-Identifier: MIT */
/* core.h: shared by the parts of test_core. */
#ifndef TALLY_TESTS_CORE_TESTS_H
#define TALLY_TESTS_CORE_TESTS_H

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>

#include <cmocka.h>

#include "reduce/reduce.h"
#include "tests/stub/backend.h"

typedef struct core_test {
    const char *name;
    CMUnitTestFunction run;
} core_test;

/* Each list ends with a NULL name. */
extern const core_test table_tests[];             /* tables.c: names, texts, sizes */
extern const core_test whole_tests[];             /* wholes.c: the arithmetic of exact sums */
extern const core_test type_tests[];              /* types.c: the types of every op and dtype */
extern const core_test spec_tests[];              /* spec.c: layouts, parameters and descriptors of ops; limits of a device */
extern const core_test selection_tests[];         /* selection.c: which device a context opens */
extern const core_test handle_tests[];            /* handles.c: NULL, garbage and foreign handles */
extern const core_test argument_tests[];          /* arguments.c: ranges and descriptors */
extern const core_test custom_tests[];            /* custom.c: custom ops */
extern const core_test custom_text_tests[];       /* custom_text.c: expressions that are refused */
extern const core_test custom_refused_tests[];    /* custom_refused.c: descriptors that are refused */
extern const core_test term_tests[];              /* terms.c: several ops over one pass */
extern const core_test input_tests[];             /* inputs.c: results of every op, with several inputs and several ops */
extern const core_test input_refused_tests[];     /* inputs_refused.c: calls with several inputs that are refused */
extern const core_test host_tests[];              /* host.c: combinations on the host */
extern const core_test host_device_tests[];       /* host_device.c: the backend host */
extern const core_test few_tests[];               /* few.c: host arrays on a CPU device, by the library's own programs */
extern const core_test failure_tests[];           /* failures.c: every slot fails once, at every call */
extern const core_test recovery_tests[];          /* recovery.c: calls after a failure; binaries and prebuilt programs */
extern const core_test ladder_tests[];            /* ladder.c: the steps of the ladder, their depth; events */
extern const core_test feature_tests[];           /* features.c: trials of features */
extern const core_test tuning_tests[];            /* tuning.c: the shapes of launches */
extern const core_test scan_tests[];              /* scan.c: scans */
extern const core_test scan_axis_tests[];         /* scan_axis.c: scans along an axis */
extern const core_test move_tests[];              /* move.c: gather and scatter */
extern const core_test move_argument_tests[];     /* move_arguments.c: gathers and scatters that are refused */
extern const core_test segments_tests[];          /* segments.c: plans of segments that are refused */
extern const core_test segments_whole_tests[];    /* segments_whole.c: one segment whose items are side by side */
extern const core_test segments_argument_tests[]; /* segments_arguments.c: calls of segments that are refused */
extern const core_test empty_tests[];             /* empties.c: none, one and two items of every op and type */
extern const core_test memory_tests[];            /* memory.c: sizes of memory, plans without max_n */
extern const core_test host_plan_tests[];         /* host_plan.c: host arrays by the steps of the ladder */
extern const core_test hint_tests[];              /* hints.c: what launches say that they read */
extern const core_test transpose_tests[];         /* transpose.c: rows of items become columns */
extern const core_test part_tests[];              /* parts.c: records of parts, joins that are refused, damage */
extern const core_test packet_tests[];            /* packets.c: packets on a device that fails */
extern const core_test devices_tests[];           /* devices.c: several devices: refusals, failures */
extern const core_test golden_tests[];            /* golden.c: the bits of golden/bits.txt */
extern const core_test kept_tests[];              /* kept.c: plans and memory that a context keeps for host arrays */
extern const core_test program_tests[];           /* program.c: programs that threads want at once */
extern const core_test cache_tests[]; /* cache.c: odd files in the cache's folder, and files that may not be written */

/* Fails unless the bytes between the values of a result, and behind the last value, are zeros. */
void expect_zero_gaps(const tally_plan *plan, const unsigned char *all, const char *where);

/* A sequence of public calls. It returns the first failure and destroys what it made. Wrong results
 * fail the test. */
typedef tally_status (*sequence)(void);
typedef enum cache_mode { CACHE_OFF, CACHE_COLD, CACHE_WARM } cache_mode;
/* Runs the sequence again and again, so that each of the backend's calls fails in turn. With `lost`
 * all later calls fail too. See each_call.c. */
void fail_each_call(sequence run, cache_mode mode, int lost);

/* Fails with tally_last_error() unless the call returns TALLY_OK. */
#define MUST(call) must(call, #call, __FILE__, __LINE__)
void must(tally_status status, const char *call, const char *file, int line);

/* Expects a call to be refused with this status, and each word in the error text. */
#define REFUSED(call, status, ...) refused(call, status, #call, __FILE__, __LINE__, (const char *[]){__VA_ARGS__, NULL})
void refused(tally_status got, tally_status expected, const char *call, const char *file, int line, const char *const *words);

/* Fails unless all of the stub's objects are closed and its rules were kept. */
#define SOUND() sound(__FILE__, __LINE__)
void sound(const char *file, int line);

#define BAD(call, ...) REFUSED(call, TALLY_E_ARGUMENT, __VA_ARGS__)
/* Expects a refusal whose status the headers leave open: E_ARGUMENT or E_UNSUPPORTED. */
#define REFUSED_EITHER(call, ...)                                                                                              \
    do {                                                                                                                       \
        const tally_status got = call;                                                                                         \
        refused(got, got == TALLY_E_UNSUPPORTED ? TALLY_E_UNSUPPORTED : TALLY_E_ARGUMENT, #call, __FILE__, __LINE__,           \
                (const char *[]){__VA_ARGS__, NULL});                                                                          \
    } while (0)

/* A device that has every feature, for descriptors that are resolved without a context. The caller
 * closes the terms. */
extern const tally_device_info made_up_device;
tally_terms resolve_launch(const tally_device_info *on, tally_reduce_desc desc, tally_launch *launch);
tally_terms resolve_desc(const tally_device_info *on, tally_reduce_desc desc);
tally_status try_desc(const tally_device_info *on, tally_reduce_desc desc);

void expect_type(const char *what, tally_op op, tally_dtype in, tally_dtype got, tally_dtype expected);

/* A context with an object of each kind. */
#define SIDE_ITEMS 100
#define SIDE_MAX_N 200

typedef struct side {
    tally_context *context;
    tally_queue *queue;
    tally_buffer *in, *out; /* SIDE_ITEMS and 2 floats */
    tally_plan *plan;       /* of side_desc: a sum of f32 */
    tally_feed *feed;
} side;

extern const tally_reduce_desc side_desc;
void open_side(side *s, const char *select);
void close_side(side *s);

#endif
