/* SPDX-License-Identifier: MIT */
/*
 * pivots.h: the chunks of ops whose items are taken relative to a number that is made of the first
 * of them. There is no header guard: order.h includes it for each REAL.
 */

/* The number of a chunk's front items: 128, or the largest power of two that is not more than there
 * are items. */
static uint32_t OWN(front)(uint32_t count) {
    uint32_t front = 1;
    while (front < TALLY_LANES && 2 * front <= count) front *= 2;
    return front;
}

/* Adds the upper half of `present` parts to the lower one, until one is left. */
static void OWN(halve)(REAL part[TALLY_LANES], uint32_t present) {
    for (uint32_t half = TALLY_LANES / 2; half > 0; half /= 2) {
        if (present <= half) continue;
        OWN(add)(part, part + half, present - half);
        present = half;
    }
}

/* The moments of a chunk. Its place is the mean of its front items. The distances of all items from
 * it, and their squares, are plain sums. */
static void OWN(chunk_moments)(const REAL *x, uint32_t count, REAL result[ORACLE_FIELDS]) {
    REAL part[TALLY_LANES], rest[TALLY_LANES], squares[TALLY_LANES];
    const uint32_t lanes = count < TALLY_LANES ? count : TALLY_LANES, front = OWN(front)(count);
    for (uint32_t l = 0; l < front; l++) part[l] = x[l] / TALLY_LANES;
    OWN(halve)(part, front);
    const REAL place = part[0] * (REAL)(TALLY_LANES / front);
    for (uint32_t i = 0; i < count; i++) {
        const uint32_t l = i % TALLY_LANES;
        const REAL d = x[i] - place, square = d * d;
        rest[l] = i == l ? d : rest[l] + d;
        squares[l] = i == l ? square : squares[l] + square;
    }
    OWN(halve)(rest, lanes);
    OWN(halve)(squares, lanes);
    result[0] = (REAL)count;
    result[1] = place;
    result[2] = rest[0];
    result[3] = squares[0];
}

/* The largest of the items, or a NaN. */
static REAL OWN(largest)(const REAL *x, uint32_t count) {
    REAL top = x[0];
    for (uint32_t i = 1; i < count && top == top; i++)
        if (x[i] > top || x[i] != x[i]) top = x[i];
    return top;
}

/* 2^doublings, but at least 2^-MOST_HALVINGS; a NaN is that, too. More than ROOM_ABOVE doublings
 * are beside a NaN, and count for nothing. */
static REAL OWN(doubled)(REAL doublings) {
    const int is_usual = doublings > -MOST_HALVINGS;
    return MATH(ldexp)(1, !is_usual ? -MOST_HALVINGS : doublings > ROOM_ABOVE ? ROOM_ABOVE : (int)doublings);
}

/* The exponentials of a chunk, added up as multiples of a power of two: that of the largest of the
 * front items, unless another item is too far above it. */
static void OWN(chunk_exponentials)(const REAL *x, uint32_t count, REAL result[ORACLE_FIELDS]) {
    REAL sum[TALLY_LANES];
    const REAL top = OWN(largest)(x, count), most = OWN(doublings)(top);
    REAL base = OWN(doublings)(OWN(largest)(x, OWN(front)(count)));
    if (most - base > ROOM_ABOVE) base = most;
    OWN(fill)(sum, TALLY_LANES, 0);
    for (uint32_t i = 0; i < count; i++) {
        REAL *lane = &sum[i % TALLY_LANES];
        *lane = MATH(fma)(OWN(undoubled)(x[i]), OWN(doubled)(OWN(doublings)(x[i]) - base), *lane);
    }
    OWN(halve)(sum, count < TALLY_LANES ? count : TALLY_LANES);
    result[0] = top;
    result[1] = sum[0] * OWN(doubled)(base - most);
}
