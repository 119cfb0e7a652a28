/* SPDX-License-Identifier: MIT */
/* entry: the end of a program of the backend `host`: its functions as programs.h describes them.
 * The generator defines NAME, the program; DEFAULTS, the op's default parameters; SCANS, if the op
 * is for scans; and OF_FIRST, if an earlier program has all functions but those of the result: then
 * the compiler drops this one's. ISA is the instruction set. No function has the name of a member
 * of tally_host_program, as macros put the program's name before it (generate/names.c). */
#ifndef OF_FIRST
#define OF_FIRST(name) name
#endif
#undef ORDER /* the groups of a launch end together in backends/host/reduce.c */
#include "../../kernels/outcome.h"
#include "../../kernels_cl/finish.cl"
#include "host/products.h"
/* Exponentials are so large that gcc would call them, and a loop with a call has no vectors. A core
 * with AVX2 (Zen 5, November 2026) took 3.8 ns for an item of i8, and takes 0.9. */
#ifdef f64_EXP_SERIES
static ACC next_partial(ACC all, SOURCE in, u64 index, u32 count, u32 is_far) __attribute__((flatten));
static ACC run_partial(SOURCE in, u64 base, u64 n, u32 is_far) __attribute__((flatten));
#endif
#include "../../kernels_cl/cpu_chunks.cl"

#define JOINED(a, b) a##_##b
#define NAMED(name, isa) JOINED(name, isa)

/* The parameters' place may be aligned for bytes only. */
INLINE PARAMS params_at(const void *from) {
    PARAMS p;
    memcpy(&p, from, sizeof(p));
    return p;
}

INLINE SOURCE source_at(const void *const *items, const void *params) {
    enum { x_INDEX, y_INDEX, z_INDEX, w_INDEX };
#define ITEMS_OF(name) (const ITEM *)items[name##_INDEX],
    return (SOURCE){EACH_INPUT(ITEMS_OF) params_at(params)};
}

/* gcc 12 may fuse what complex items multiply and add (prelude.h). */
#if defined(FOLDS_AND_SCANS) && defined(COMPLEX_ITEMS)
#define FOLD_ITEMS NULL
#else
#define FOLD_ITEMS OF_FIRST(fold_items)
static void fold_items(const void *const *items, const void *params, u64 base, u64 n, bool is_far, void *acc) {
    const bool prefetches = is_far && !(READS_IN_ORDER && tally_host_fetches_ahead);
    *(ACC *)acc = run_partial(source_at(items, params), base, n, prefetches);
    LEAVE_VECTORS
}
#endif

#if defined(SCANS) && !(defined(FOLDS_AND_SCANS) && defined(COMPLEX_ITEMS))
#include "host/scan_steps.h"
#define SCAN_STEPS                                                                                                             \
    { ACC_FIELDS, OF_FIRST(scan_load), OF_FIRST(scan_steps), OF_FIRST(scan_pairs), scan_finish }
#else
#define SCAN_STEPS                                                                                                             \
    { 0 }
#endif

#ifndef PLAIN_STEPS
#define PLAIN_STEPS 0
#define PLAIN_OFFSET 0
#endif

extern const tally_host_program NAMED(NAME, ISA);
#ifdef FOLDS_AND_SCANS
/* Another instruction set's program has the other steps (programs.c). */
const tally_host_program NAMED(NAME, ISA) = {
    .far_items = FAR_ITEMS, .fold = FOLD_ITEMS, .scan = SCAN_STEPS, .plain = PLAIN_STEPS, .plain_offset = PLAIN_OFFSET};
#else
static void combine_accs(void *left, const void *right) {
    *(ACC *)left = op_combine(*(const ACC *)left, *(const ACC *)right);
    LEAVE_VECTORS
}

static void combine_tree(const void *accs, u64 step, u64 count, void *to) {
    ACC level[COUNTER_LEVELS];
    for (u64 i = 0; i < count; i++) counter_push(level, i, *(const ACC *)((const char *)accs + i * step));
    *(ACC *)to = counter_value(level, count);
    LEAVE_VECTORS
}

static void finish_acc(const void *acc, u64 n, const void *params, void *result) {
    const PARAMS p = params_at(params);
    const RESULT r = n ? op_result(*(const ACC *)acc, n, p) : op_empty(p);
    memcpy(result, &r, sizeof(r));
    LEAVE_VECTORS
}

#include "host/masked_steps.h"
#include "host/segment_steps.h"

const tally_host_program NAMED(NAME, ISA) = {.inputs = INPUTS,
                                             .item_bytes = ITEM_BYTES,
                                             .acc_bytes = sizeof(ACC),
                                             .result_bytes = sizeof(RESULT),
                                             .far_items = FAR_ITEMS,
                                             .defaults = &(const PARAMS)DEFAULTS,
                                             .fold = FOLD_ITEMS,
                                             .combine = OF_FIRST(combine_accs),
                                             .combine_all = OF_FIRST(combine_tree),
                                             .finish = finish_acc,
                                             .fold_masked = OF_FIRST(masked_accs),
                                             BLOCK_STEPS,
                                             .idempotent = IS_IDEMPOTENT,
                                             .initial = INITIAL_STEP,
                                             .scan = SCAN_STEPS,
                                             .plain = PLAIN_STEPS,
                                             .plain_offset = PLAIN_OFFSET};
_Static_assert((TALLY_HOST_MASKED + 1) * TALLY_HOST_GROUP <= LANES, "the last segment has lanes behind it");
_Static_assert(sizeof(ACC) + 8 <= TALLY_HOST_ACC_BYTES, "an accumulator has room");
#endif
