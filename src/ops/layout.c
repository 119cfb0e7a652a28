/* SPDX-License-Identifier: MIT */
/* Sizes and alignments of structs, as every C compiler lays them out. */
#include "ops/ops.h"

static uint32_t align_up(uint32_t at, uint32_t align) {
    return (at + align - 1) / align * align;
}

uint32_t tally_layout_append(tally_layout *layout, tally_layout member) {
    const uint32_t at = align_up(layout->bytes, member.align);
    layout->bytes = at + member.bytes;
    if (member.align > layout->align) layout->align = member.align;
    return at;
}

void tally_layout_close(tally_layout *layout) {
    if (!layout->align) *layout = (tally_layout){4, 4};
    layout->bytes = align_up(layout->bytes, layout->align);
}

tally_layout tally_layout_of(tally_dtype dtype) {
    const uint32_t bytes = tally_dtype_find(dtype)->bytes;
    return (tally_layout){bytes, bytes};
}
