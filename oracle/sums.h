/* SPDX-License-Identifier: MIT */
/*
 * sums.h: mean, variance and norm of integers of up to 32 bits, from exact sums. The quotients are
 * made bit by bit. A part of oracle.c, which includes it after survey.h.
 */

static void take_sums(tally_dtype in, oracle_survey *s, const void *items, uint32_t count) {
    uint64_t x[TALLY_CHUNK_ITEMS];
    read_integers(in, items, count, x);
    for (uint32_t i = 0; i < count; i++) {
        s->sum += (int64_t)x[i];
        s->squares += x[i] * x[i];
    }
}

/* A whole number of 224 bits, of 32 each, the lowest first. */
#define LIMBS 7
typedef struct limbs {
    uint32_t limb[LIMBS];
} limbs;

static limbs limbs_of(oracle_unsigned_wide x) {
    limbs a = {{0}};
    for (int k = 0; k < 4; k++) a.limb[k] = (uint32_t)(x >> 32 * k);
    return a;
}

/* The low 224 bits. */
static limbs limbs_product(limbs a, limbs b) {
    limbs product = {{0}};
    for (int i = 0; i < LIMBS; i++) {
        uint64_t carry = 0;
        for (int j = 0; i + j < LIMBS; j++) {
            carry += (uint64_t)a.limb[i] * b.limb[j] + product.limb[i + j];
            product.limb[i + j] = (uint32_t)carry;
            carry >>= 32;
        }
    }
    return product;
}

static limbs limbs_difference(limbs a, limbs b) {
    int64_t borrow = 0;
    for (int k = 0; k < LIMBS; k++) {
        const int64_t limb = (int64_t)a.limb[k] - b.limb[k] + borrow;
        a.limb[k] = (uint32_t)limb;
        borrow = limb < 0 ? -1 : 0;
    }
    return a;
}

static int limbs_compare(limbs a, limbs b) {
    for (int k = LIMBS - 1; k >= 0; k--)
        if (a.limb[k] != b.limb[k]) return a.limb[k] > b.limb[k] ? 1 : -1;
    return 0;
}

/* The f64 nearest to a / d: the first 54 bits of the quotient, of which the last one rounds, and
 * whether anything follows. d is not 0. */
static double nearest_quotient(limbs a, limbs d) {
    const limbs zero = {{0}};
    limbs rest = zero;
    uint64_t bits = 0;
    int power = 32 * LIMBS; /* of the last bit so far */
    if (limbs_compare(a, zero) == 0) return 0;
    while (!(a.limb[(power - 1) / 32] >> (power - 1) % 32 & 1)) power--; /* these bits give 0 */
    while (bits >> 53 == 0) {
        power--;
        for (int k = LIMBS - 1; k >= 0; k--) {
            const uint32_t below = k ? rest.limb[k - 1] >> 31 : power < 0 ? 0 : a.limb[power / 32] >> power % 32 & 1;
            rest.limb[k] = rest.limb[k] << 1 | below;
        }
        const int fits = limbs_compare(rest, d) >= 0;
        if (fits) rest = limbs_difference(rest, d);
        bits = bits << 1 | (uint64_t)fits;
    }
    int follows = limbs_compare(rest, zero) != 0;
    for (int k = 0; k < power; k++) follows |= a.limb[k / 32] >> k % 32 & 1;
    if (bits & 1 && (follows || bits & 2)) bits++;
    return ldexp((double)(bits >> 1), power + 1);
}

/* n times the sum of squared deviations. */
static limbs squared_deviations(const oracle_survey *s, uint64_t n) {
    const limbs sum = limbs_of((oracle_unsigned_wide)(s->sum < 0 ? -s->sum : s->sum));
    return limbs_difference(limbs_product(limbs_of(s->squares), limbs_of(n)), limbs_product(sum, sum));
}

static double sums_variance(const oracle_survey *s, uint64_t n, double ddof) {
    const double left = (double)n - ddof;
    const limbs deviations = squared_deviations(s, n);
    if (left > 0 && left < 0x1p53 && rint(left) == left)
        return nearest_quotient(deviations, limbs_product(limbs_of(n), limbs_of((uint64_t)left)));
    return nearest_quotient(deviations, limbs_of(n)) / (left <= 0 ? 0 : left);
}

static double sums_value(const oracle_case *what, const oracle_survey *s, uint64_t n) {
    double none[2];
    if (n == 0) {
        finish_none(what, none);
        return none[0];
    }
    switch (what->op) {
    case TALLY_NRM2:
        return sqrt(nearest_quotient(limbs_of(s->squares), limbs_of(1)));
    case TALLY_MEAN: {
        const double mean = nearest_quotient(limbs_of((oracle_unsigned_wide)(s->sum < 0 ? -s->sum : s->sum)), limbs_of(n));
        return s->sum < 0 ? -mean : mean;
    }
    case TALLY_VAR:
        return sums_variance(s, n, what->params[0]);
    default: /* std */
        return sqrt(sums_variance(s, n, what->params[0]));
    }
}
