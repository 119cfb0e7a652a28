/* SPDX-License-Identifier: MIT */
/* calls.h: calls with an args struct, in one line. */
#ifndef TALLY_TESTS_CALLS_H
#define TALLY_TESTS_CALLS_H

#include "program/program.h"

static inline tally_status reduce_at(tally_plan *plan, tally_queue *queue, const tally_buffer *in, uint64_t in_offset,
                                     uint64_t n, tally_buffer *out, uint64_t out_offset) {
    const tally_reduce_args args = {
        .size = sizeof args, .in = {in}, .in_offset = {in_offset}, .n = n, .out = out, .out_offset = out_offset};
    return tally_reduce_with(plan, queue, &args);
}

/* Takes as many inputs as the plan has. `in` and `in_offsets` may be NULL: no buffers, all offsets
 * 0. */
static inline tally_status reduce_inputs(tally_plan *plan, tally_queue *queue, const tally_buffer *const *in,
                                         const uint64_t *in_offsets, uint64_t n, tally_buffer *out, uint64_t out_offset) {
    tally_reduce_args args = {.size = sizeof args, .n = n, .out = out, .out_offset = out_offset};
    for (uint32_t k = 0; plan && k < plan->terms.inputs; k++) {
        args.in[k] = in ? in[k] : NULL;
        args.in_offset[k] = in_offsets ? in_offsets[k] : 0;
    }
    return tally_reduce_with(plan, queue, &args);
}

static inline tally_scan_args scan_args(const tally_buffer *in, uint64_t in_offset, const tally_buffer *segments,
                                        uint64_t segments_offset, uint64_t count, uint64_t n, tally_buffer *out,
                                        uint64_t out_offset) {
    return (tally_scan_args){.size = sizeof(tally_scan_args),
                             .in = in,
                             .in_offset = in_offset,
                             .segments = segments,
                             .segments_offset = segments_offset,
                             .count = count,
                             .n = n,
                             .out = out,
                             .out_offset = out_offset};
}

static inline tally_status scan_at(tally_plan *plan, tally_queue *queue, const tally_buffer *in, uint64_t in_offset, uint64_t n,
                                   tally_buffer *out, uint64_t out_offset) {
    const tally_scan_args args = scan_args(in, in_offset, NULL, 0, 0, n, out, out_offset);
    return tally_scan_with(plan, queue, &args);
}

static inline tally_status scan_segments(tally_plan *plan, tally_queue *queue, const tally_buffer *in, uint64_t in_offset,
                                         const tally_buffer *segments, uint64_t segments_offset, uint64_t count, uint64_t n,
                                         tally_buffer *out, uint64_t out_offset) {
    const tally_scan_args args = scan_args(in, in_offset, segments, segments_offset, count, n, out, out_offset);
    return tally_scan_with(plan, queue, &args);
}

static inline tally_status scan_next(tally_plan *plan, tally_queue *queue, const tally_buffer *in, uint64_t in_offset,
                                     const tally_buffer *segments, uint64_t segments_offset, uint64_t n, tally_buffer *out,
                                     uint64_t out_offset) {
    const tally_scan_args args = scan_args(in, in_offset, segments, segments_offset, 0, n, out, out_offset);
    return tally_scan_next(plan, queue, &args);
}

#endif
