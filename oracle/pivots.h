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

/*
 * Finds the items that the chunk's number is made of, and returns how many they are: its front
 * items, if all of them count, else the first item that counts, else none. valid: NULL, or 0 for
 * each item that does not count.
 */
static uint32_t OWN(pivots)(const REAL *x, const uint8_t *valid, uint32_t count, const REAL **from) {
    const uint32_t front = OWN(front)(count);
    uint32_t first = 0, counting = 0;
    *from = x;
    for (uint32_t i = 0; i < front; i++) counting += !valid || valid[i];
    if (counting == front) return front;
    while (first < count && !valid[first]) first++;
    *from = x + first;
    return first < count;
}

/* The moments of a chunk. Its place is the mean of the items above. The distances of all items from
 * it, and their squares, are plain sums, of which the fields are made. */
static void OWN(chunk_moments)(const REAL *x, const uint8_t *valid, uint32_t count, REAL result[ORACLE_FIELDS]) {
    REAL part[TALLY_LANES], rest[TALLY_LANES], squares[TALLY_LANES];
    const REAL *from;
    const uint32_t front = OWN(pivots)(x, valid, count, &from);
    uint32_t counting = 0;
    OWN(fill)(result, ORACLE_FIELDS, 0);
    if (front == 0) return;
    for (uint32_t l = 0; l < front; l++) part[l] = from[l] / TALLY_LANES;
    OWN(halve)(part, front);
    const REAL place = part[0] * (REAL)(TALLY_LANES / front);
    OWN(fill)(rest, TALLY_LANES, (REAL)-0.0);
    OWN(fill)(squares, TALLY_LANES, (REAL)-0.0);
    for (uint32_t i = 0; i < count; i++) {
        const REAL d = x[i] - place, square = d * d;
        if (valid && !valid[i]) continue;
        rest[i % TALLY_LANES] += d;
        squares[i % TALLY_LANES] += square;
        counting++;
    }
    OWN(halve)(rest, TALLY_LANES);
    OWN(halve)(squares, TALLY_LANES);
    result[0] = (REAL)counting;
    result[1] = place;
    result[2] = rest[0] / (REAL)counting;
    result[3] = squares[0] - rest[0] * result[2];
}

/* The largest of the items that count, or a NaN. At least one counts. */
static REAL OWN(largest)(const REAL *x, const uint8_t *valid, uint32_t count) {
    REAL top = (REAL)-INFINITY;
    for (uint32_t i = 0; i < count && top == top; i++)
        if ((!valid || valid[i]) && !(x[i] <= top)) top = x[i];
    return top;
}

/* 2^doublings, but at least 2^-MOST_HALVINGS; a NaN is that, too. More than ROOM_ABOVE doublings
 * are beside a NaN, and count for nothing. */
static REAL OWN(doubled)(REAL doublings) {
    const int is_usual = doublings > -MOST_HALVINGS;
    return MATH(ldexp)(1, !is_usual ? -MOST_HALVINGS : doublings > ROOM_ABOVE ? ROOM_ABOVE : (int)doublings);
}

/* The exponentials of a chunk, added up as multiples of a power of two: that of the largest of the
 * items above, unless another item is too far above it. */
static void OWN(chunk_exponentials)(const REAL *x, const uint8_t *valid, uint32_t count, REAL result[ORACLE_FIELDS]) {
    REAL sum[TALLY_LANES];
    const REAL *from;
    const uint32_t front = OWN(pivots)(x, valid, count, &from);
    result[0] = (REAL)-INFINITY;
    result[1] = 0;
    if (front == 0) return;
    const REAL top = OWN(largest)(x, valid, count), most = OWN(doublings)(top);
    REAL base = OWN(doublings)(OWN(largest)(from, NULL, front));
    if (most - base > ROOM_ABOVE) base = most;
    OWN(fill)(sum, TALLY_LANES, 0);
    for (uint32_t i = 0; i < count; i++) {
        REAL *lane = &sum[i % TALLY_LANES];
        if (valid && !valid[i]) continue;
        *lane = MATH(fma)(OWN(undoubled)(x[i]), OWN(doubled)(OWN(doublings)(x[i]) - base), *lane);
    }
    OWN(halve)(sum, TALLY_LANES);
    result[0] = top;
    result[1] = sum[0] * OWN(doubled)(base - most);
}

/* The exponentials of a chunk of truth values, which are counted. */
static void OWN(chunk_truths)(const REAL *x, const uint8_t *valid, uint32_t count, REAL result[ORACLE_FIELDS]) {
    uint32_t counting = 0, ones = 0;
    for (uint32_t i = 0; i < count; i++) {
        if (valid && !valid[i]) continue;
        counting++;
        ones += x[i] != 0;
    }
    result[0] = ones ? 1 : counting ? 0 : (REAL)-INFINITY;
    result[1] = (REAL)(counting - ones) * OWN(doubled)(-OWN(doublings)(ones != 0));
    result[1] = MATH(fma)((REAL)ones, OWN(undoubled)(1), result[1]);
}
