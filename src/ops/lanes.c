/* SPDX-License-Identifier: MIT */
/* Lanes: what a term keeps of a chunk's items before they become an accumulator. */
#include "ops/ops.h"

/*
 * A lane adds up 32 items of a chunk, and 128 lanes meet: 2^12 terms. The type that holds their
 * sum, signed or not; TALLY_DTYPE_DEFAULT where 64 bits may not. 32 bits hold that of 8-bit items,
 * and of 16-bit ones where the terms are linear in them.
 */
static tally_dtype type_of_sum(tally_additive additive, const tally_dtype_row *in) {
    const bool is_signed = in->kind == TALLY_KIND_SIGNED && additive != TALLY_ADDITIVE_UNIT;
    const uint32_t bits = in->kind == TALLY_KIND_BOOL ? 1 : 8 * in->bytes;
    const uint32_t term_bits[] = {[TALLY_ADDITIVE_NO] = 64,
                                  [TALLY_ADDITIVE_UNIT] = 1,
                                  [TALLY_ADDITIVE_LINEAR] = bits,
                                  [TALLY_ADDITIVE_QUADRATIC] = 2 * bits};
    const uint32_t sum_bits = term_bits[additive] + 12;
    if (sum_bits > 63) return TALLY_DTYPE_DEFAULT;
    return sum_bits > 31 ? is_signed ? TALLY_I64 : TALLY_U64 : is_signed ? TALLY_I32 : TALLY_U32;
}

/* The lane that a row describes; none where a field has no type. */
static tally_term_lane own_lane(const tally_lane_row *row, const tally_dtype_row *in, tally_dtype value) {
    tally_term_lane lane = {.value = value,
                            .identity = row->identity,
                            .load = row->load,
                            .combine = row->combine,
                            .widen = row->widen,
                            .pivot = row->pivot,
                            .table = row->table};
    for (; row->fields[lane.field_count].name; lane.field_count++) {
        const tally_additive additive = row->fields[lane.field_count].additive;
        const tally_dtype type = row->fields[lane.field_count].type;
        lane.value = additive ? type_of_sum(additive, in) : value;
        if (!lane.value) return (tally_term_lane){0};
        lane.fields[lane.field_count] =
            (tally_op_field){.name = row->fields[lane.field_count].name, .type = type ? type : lane.value};
    }
    return lane;
}

/* The lane of a row that has a narrower V, or whose indices within a chunk are narrower. */
static tally_term_lane narrower_lane(const tally_op_row *row, const tally_dtype_row *in, tally_dtype value) {
    tally_term_lane lane = {.identity = row->identity, .load = row->load, .combine = row->combine, .widen = "a"};
    if (row->gives == TALLY_GIVES_INDEX) {
        lane.value = value;
        lane.field_count = 2;
        lane.fields[0] = (tally_op_field){.name = row->fields[0].name, .type = value};
        lane.fields[1] = (tally_op_field){.name = row->fields[1].name, .type = TALLY_U32};
        lane.widen = "MAKE(a.value, a.index == ~(u32)0 ? NO_INDEX : index + a.index)";
    } else if (value == TALLY_U64 && tally_dtype_bytes(type_of_sum(row->additive, in)) == 4) {
        lane.value = type_of_sum(row->additive, in);
    }
    return lane;
}

/* The lane that a row describes for these items; NULL: it describes none. */
static const tally_lane_row *lane_row(const tally_op_row *row, tally_dtype in) {
    const bool has[] = {[TALLY_LANE_OF_ALL] = true,
                        [TALLY_LANE_OF_NARROW] = tally_dtype_is_narrow(in),
                        [TALLY_LANE_OF_WORDS] = in == TALLY_I32 || in == TALLY_U32,
                        [TALLY_LANE_OF_F16] = in == TALLY_F16};
    if (in == TALLY_BOOL && row->truth_lane.widen) return &row->truth_lane;
    if (tally_dtype_bytes(in) == 1 && row->byte_lane.widen) return &row->byte_lane;
    return row->lane.widen && has[row->lane.of] ? &row->lane : NULL;
}

/* A guess of its own combination is for floats: that of integers costs as little. */
static bool has_guess(const tally_op_row *row, tally_dtype in, tally_dtype value) {
    return !lane_row(row, in) && (tally_dtype_is_float(value) || !row->guess.combine);
}

/* Tells whether items have the row's short step. Those of f32 have the speed of memory without it,
 * and integers of 64 bits would take too many registers. */
static bool has_plain(const tally_op_row *row, tally_dtype dtype, const tally_dtype_row *in) {
    const bool is_long = in->bytes == 8 && !tally_dtype_is_float(dtype);
    return dtype == TALLY_BF16 || (row->plain.of_all && in->bytes > 1 && dtype != TALLY_F32 && !is_long);
}

/* The lane, which a row describes, or which is as the accumulators. */
static tally_term_lane lane_of(const tally_op_row *row, tally_dtype dtype, tally_dtype value) {
    const tally_dtype_row *in = tally_dtype_find(dtype);
    const tally_lane_row *own = lane_row(row, dtype);
    tally_term_lane lane = own ? own_lane(own, in, value) : narrower_lane(row, in, value);
    if (in->bytes == 1 || (in->bytes == 2 && row->takes_pairs && !tally_dtype_is_float(dtype))) {
        lane.bytes = own && own->bytes ? own->bytes : row->bytes;
        lane.bytes_hold = row->bytes_hold;
        lane.counts_zeros = row->counts_zeros;
    }
    lane.of_magnitudes = row->accumulate == TALLY_ACCUMULATE_MAGNITUDE;
    if (has_plain(row, dtype, in)) lane.plain = row->plain;
    return lane;
}

/* The type of values in an array of lanes: the items' own, where each value is that of an item or a
 * truth value, and V is wider. A vector of a CPU then has as many lanes as items. */
static tally_dtype lane_item(const tally_op_row *row, tally_dtype dtype, const tally_dtype_row *in) {
    const bool are_items =
        (row->gives == TALLY_GIVES_ITEM && row->accumulate == TALLY_ACCUMULATE_SAME) || row->gives == TALLY_GIVES_TRUTH;
    if (!row->exact || !are_items || !tally_dtype_is_narrow(dtype)) return TALLY_DTYPE_DEFAULT;
    return in->kind == TALLY_KIND_BOOL ? TALLY_U8 : dtype;
}

void tally_term_take_lane(tally_term *term, const tally_op_row *row, tally_dtype in) {
    term->lane = lane_of(row, in, term->value);
    term->lane_item = lane_item(row, in, tally_dtype_find(in));
    term->guess = has_guess(row, in, term->value) ? row->guess : (tally_guess_row){0};
}
