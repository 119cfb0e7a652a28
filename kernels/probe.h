/* SPDX-License-Identifier: MIT */
/*
 * probe: whether a device computes as the canonical order needs (src/program/probe.c says what must come out).
 *
 * Computes a few words from inputs that the compiler cannot see: whether a product and a sum round twice, whether sums are taken in the
 * order written, whether subnormals survive, and whether a long loop runs to its end.
 * Needs: one item.
 * Why: a driver that contracts, reassociates or flushes gives other bits without a word; Mesa 22's llvmpipe ends any loop after 65,535
 * rounds. Such a device is refused with the reason.
 */
KERNEL void tally_probe(GLOBAL const f32 *in, GLOBAL u32 *state, GLOBAL f32 *out) {
    out[0] = in[0] * in[0] + in[1];
    out[1] = (in[2] + in[3]) - in[3];
    out[2] = in[4] + in[5];
    u32 x = state[0];
    for (u32 i = 0; i < state[1]; i++) x = x * 1664525U + 1013904223U;
    state[2] = x;
}
