/* SPDX-License-Identifier: MIT */
#include "segments_walk.h"

#include <string.h>

#include "direct.h"
#include "tests/support/sample.h"

int segments_is_here(void **state, const oracle_case *of) {
    const place *at = *state;
    return oracle_takes(of) && !cells_lack_f64(of, &at->info);
}

/* ---- walks ----------------------------------------------------------------------------------- */

void segments_expect_fixed(segments_run *r, segments_mask mask, uint64_t number, uint64_t parts) {
    segments_shape shape;
    const int pattern = segments_usual_pattern(r->values[0].of.op);
    for (size_t s = 0; segments_fixed_shape(s, &shape); s++) {
        if ((s + number) % (quick() ? 3 * parts : parts)) continue;
        for (int other = 0; other < 2; other++) {
            segments_axes c =
                segments_array(&shape, other ? 1 + (s + number) % (LAYOUTS - 1) : LAYOUT_C, (s + number) % 3 == 0);
            c.items = (segments_items){pattern, mask, (uint32_t)((s + number) % 8), 0};
            segments_run_axes(r, &c);
        }
    }
}

void segments_expect_random(segments_run *r, segments_mask mask, uint64_t count) {
    const uint64_t seed = sample_seed();
    for (uint64_t k = 0; k < count; k++) {
        segments_axes c = segments_random_array(seed * 1000 + k);
        c.items.pattern = segments_usual_pattern(r->values[0].of.op);
        c.items.mask = mask;
        segments_run_axes(r, &c);
    }
}

const char *const segments_variants[SEGMENTS_VARIANTS] = {"teams", "blocks"};

int segments_expect_desc(void **state, const tally_segments_desc *given, const segments_also *also, segments_mask mask) {
    tally_segments_desc desc = *given;
    segments_run r;
    desc.by = TALLY_BY_AXES;
    if (!segments_open(&r, direct_context(state), &desc, also)) return 0;
    segments_expect_fixed(&r, mask, (uint64_t)desc.op + desc.in + sample_seed(), 1);
    segments_expect_random(&r, mask, quick() ? 5 : 20);
    segments_close(&r);
    return 1;
}

/* Samples of accumulators, inputs and item sizes. */
static const oracle_case samples[] = {
    {.op = TALLY_SUM, .in = TALLY_F32},    {.op = TALLY_MAX, .in = TALLY_I16},  {.op = TALLY_ARGMAX, .in = TALLY_F16},
    {.op = TALLY_VAR, .in = TALLY_F32},    {.op = TALLY_DOT, .in = TALLY_C64},  {.op = TALLY_MEAN, .in = TALLY_U8},
    {.op = TALLY_MINMAX, .in = TALLY_I8},  {.op = TALLY_PROD, .in = TALLY_C64}, {.op = TALLY_ALLCLOSE, .in = TALLY_F32},
    {.op = TALLY_SUM, .in = TALLY_C128},   {.op = TALLY_NRM2, .in = TALLY_F64}, {.op = TALLY_LOGSUMEXP, .in = TALLY_F32},
    {.op = TALLY_ARGMAX, .in = TALLY_U64},
};

int segments_on_cpu(void **state) {
    tally_context_info info;
    assert_int_equal(tally_context_get_info(direct_context(state), &info), TALLY_OK);
    return info.device.device_class == TALLY_CLASS_CPU;
}

const oracle_case *segments_sample(void **state, size_t s) {
    return has_turn(*state, s) && (!quick() || s < 6) && segments_is_here(state, &samples[s]) ? &samples[s] : NULL;
}
