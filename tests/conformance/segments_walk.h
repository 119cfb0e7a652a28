/* SPDX-License-Identifier: MIT */
/* segments_walk.h: walks of a plan of segments by axes over many arrays. */
#ifndef TALLY_TESTS_SEGMENTS_WALK_H
#define TALLY_TESTS_SEGMENTS_WALK_H

#include "segments_shapes.h"

/* Tells whether the device is a CPU. */
int segments_on_cpu(void **state);
/* Returns whether the oracle has the case, and the device the needed features. */
int segments_is_here(void **state, const oracle_case *of);

/* Samples of accumulators, inputs and item sizes. Returns NULL if this run or the device does not
 * have sample s. */
#define SEGMENTS_SAMPLES 12
const oracle_case *segments_sample(void **state, size_t s);

/* Runs 1 of `parts` of the fixed shapes, in C order and in another layout. `number` chooses which,
 * and offsets. */
void segments_expect_fixed(segments_run *r, segments_mask mask, uint64_t number, uint64_t parts);
/* Runs `count` arrays drawn at random. sample_seed prints their seed. */
void segments_expect_random(segments_run *r, segments_mask mask, uint64_t count);
/* The names of variants, as segments.h has them. */
#define SEGMENTS_VARIANTS 2
extern const char *const segments_variants[SEGMENTS_VARIANTS];

/* Opens a plan by axes, runs both walks, and closes it. Returns 0 if its variant is not for this
 * device. */
int segments_expect_desc(void **state, const tally_segments_desc *desc, const segments_also *also, segments_mask mask);

#endif
