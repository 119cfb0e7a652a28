/* SPDX-License-Identifier: MIT */
/*
 * probe: the self-test of a device's arithmetic.
 *
 * Computes: a few words from inputs that the compiler cannot see. They show if a product and a sum
 * round twice, if sums keep the order in which they are written, if subnormals survive, if fma
 * rounds once, and if a long loop runs to its end. src/program/probe.c has the expected words.
 * How: one thread computes them.
 * Needs: nothing.
 * Why: a driver that contracts, reassociates or flushes to zero gives other bits and says nothing.
 * Mesa 22's llvmpipe ends any loop after 65,535 rounds. Such a device is refused with the reason.
 */
KERNEL void tally_probe(GLOBAL const f32 *in, GLOBAL u32 *state, GLOBAL f32 *out) {
    out[0] = in[0] * in[0] + in[1];
    out[1] = (in[2] + in[3]) - in[3];
    out[2] = in[4] + in[5];
    out[3] = fma(in[6], in[7], in[8]);
    u32 x = state[0];
    for (u32 i = 0; i < state[1]; i++) x = x * 1664525U + 1013904223U;
    state[2] = x;
}
