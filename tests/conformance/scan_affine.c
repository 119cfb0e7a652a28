/* SPDX-License-Identifier: MIT */
#include "scan_affine.h"

#include <string.h>

#include "direct.h"

static void affine_load(const void *self, const void *item, uint64_t index, void *acc) {
    uint32_t x;
    (void)self;
    memcpy(&x, item, sizeof x);
    *(scan_affine *)acc = (scan_affine){2 * x + 1, x ^ 5, (uint32_t)index};
}

static void affine_combine(const void *self, void *left, const void *right) {
    scan_affine *a = left;
    const scan_affine *b = right;
    (void)self;
    *a = (scan_affine){a->scale * b->scale, a->shift + a->scale * b->shift, b->last};
}

static void affine_finish(const void *self, const void *acc, uint64_t n, void *value) {
    const scan_affine *a = acc;
    const uint32_t result = n ? a->shift ^ (uint32_t)n << 24 ^ a->last * 3 : 12345;
    (void)self;
    memcpy(value, &result, sizeof result);
}

const scan_op scan_affine_maps = {4, sizeof(scan_affine), 4, affine_load, affine_combine, affine_finish, NULL};

const tally_op_field scan_affine_fields[SCAN_AFFINE_FIELDS] = {
    {"scale", TALLY_U32, "1", "2 * x + 1", "a.scale * b.scale"},
    {"shift", TALLY_U32, "0", "x ^ 5", "a.shift + a.scale * b.shift"},
    {"last", TALLY_U32, "0", "(u32)i", "b.last"}};

tally_custom_op *scan_affine_op(void) {
    return direct_op(&(tally_op_desc){.name = "affine",
                                      .fields = scan_affine_fields,
                                      .field_count = SCAN_AFFINE_FIELDS,
                                      .finish = "a.shift ^ (u32)n << 24 ^ a.last * 3",
                                      .empty = "12345",
                                      .out = TALLY_U32});
}
