/* SPDX-License-Identifier: MIT */
/*
 * outcome: writes what a launch of a reduction leaves.
 *
 * Computes: a group's partial, or the outcome (`last`). The outcome is the result of all items, or
 * the accumulator of a node of a part (docs/parts.md), with or without the header of the part's
 * packet.
 * How: one thread writes. The place of a result counts results from `out` on, that of an
 * accumulator words of 4 bytes, that of a header words of 8.
 * Needs: accumulators at multiples of 4 bytes, or of 8 where a field has 8.
 * Why: a packet is whole when the last node's reduction ends. A launch that writes the header
 * would take longer than the header. A launch that `follows` one of the same call finds the items
 * as that one found them. It may take them while that one ends, and awaits it before it writes
 * (AWAIT_PREVIOUS).
 */
#define PACKET_WORDS 4

typedef struct {
    u64 header[PACKET_WORDS];
    u64 header_at;
    u32 is_node, has_header;
    u32 follows, zero;
} OUTCOME;

INLINE void store_outcome(ACC a, u64 n, PARAMS params, GLOBAL RESULT *out, u64 at, OUTCOME outcome) {
    if (outcome.is_node) {
        GLOBAL u64 *header = (GLOBAL u64 *)out + outcome.header_at;
        *(GLOBAL ACC *)((GLOBAL u32 *)out + at) = a;
        if (outcome.has_header)
            for (u32 i = 0; i < PACKET_WORDS; i++) header[i] = outcome.header[i];
    } else {
        out[at] = n ? op_result(a, n, params) : op_empty(params);
    }
}

INLINE void store(ACC a, u64 n, PARAMS params, GLOBAL ACC *partial, GLOBAL RESULT *out, u64 at, OUTCOME outcome, u32 last) {
    if (last)
        store_outcome(a, n, params, out, at, outcome);
    else
        *partial = a;
}
