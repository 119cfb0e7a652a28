/* SPDX-License-Identifier: MIT */
/* convert.c: the items of an array as those of another type, each by tally_value_convert. */
#include "shim.h"

#include <string.h>

#include <tally/backend.h>

/* An item type: a real one, or the type of a complex one's two parts. */
typedef struct part {
    tally_dtype type;
    size_t bytes;
    uint32_t count; /* of an item */
} part;

/* The arrays of a conversion. `numbers` is as tally_python_convert takes it. */
typedef struct conversion {
    part from, to;
    uint32_t axis_count;
    const int64_t *numbers;
} conversion;

static part part_of(int type) {
    part p = {(tally_dtype)type, 0, 1};
    if (type == TALLY_C64 || type == TALLY_C128) {
        p.type = type == TALLY_C64 ? TALLY_F32 : TALLY_F64;
        p.count = 2;
    }
    p.bytes = tally_dtype_bytes(p.type);
    return p;
}

/* Complex items lose their imaginary part to real types, and are true if either part is. */
static tally_status convert_item(const conversion *c, const char *item, char *to) {
    const part *from = &c->from, *out = &c->to;
    const char *second = item + from->bytes;
    tally_status status = tally_value_convert(from->type, item, out->type, to);
    if (from->count == 2 && out->type == TALLY_BOOL && !*to) return tally_value_convert(from->type, second, out->type, to);
    if (out->count == 1 || status) return status;
    if (from->count == 2) return tally_value_convert(from->type, second, out->type, to + out->bytes);
    memset(to + out->bytes, 0, out->bytes);
    return TALLY_OK;
}

/* Converts along the axes from `axis` on. */
static tally_status convert_axes(const conversion *c, uint32_t axis, const char *item, char *to) {
    if (axis == c->axis_count) return convert_item(c, item, to);
    const int64_t *extents = c->numbers, *steps = extents + c->axis_count, *out_steps = steps + c->axis_count;
    const int64_t n = extents[axis], step = steps[axis], out_step = out_steps[axis];
    const int is_last = axis + 1 == c->axis_count;
    tally_status status = TALLY_OK;
    for (int64_t i = 0; i < n && !status; i++, item += step, to += out_step)
        status = is_last ? convert_item(c, item, to) : convert_axes(c, axis + 1, item, to);
    return status;
}

tally_status tally_python_convert(int from, uintptr_t items, int to, uintptr_t values, uint32_t axis_count,
                                  const int64_t *numbers) {
    const conversion c = {part_of(from), part_of(to), axis_count, numbers};
    return convert_axes(&c, 0, (const char *)items, (char *)values);
}
