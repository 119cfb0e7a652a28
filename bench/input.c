/* SPDX-License-Identifier: MIT */
/* input.c: the items of all engines. It is compiled with OpenMP: all cores fill the items, and
 * touch the pages first. */
#include <math.h>
#include <string.h>
#include <sys/mman.h>

#include "bench.h"

/* ---- items ----------------------------------------------------------------------------------- */

/*
 * Items come in blocks of 2^16. Each block after the first 64 is a copy of one of them, in both
 * inputs, so that the oracle reduces few blocks (expect.c). Knuth's multiplicative hash chooses it:
 * copies that are a power of two apart are not the same.
 */
#define BLOCK_BITS 16
#define BLOCKS_BITS 6
#define GOLDEN UINT64_C(0x9e3779b97f4a7c15)

static uint64_t original(uint64_t i) {
    const uint64_t block = i >> BLOCK_BITS, within = i & ((UINT64_C(1) << BLOCK_BITS) - 1);
    return block >> BLOCKS_BITS ? (block * GOLDEN >> (64 - BLOCKS_BITS)) << BLOCK_BITS | within : i;
}

/* Returns a number from -8 to 8. */
static int item(uint64_t i, int which) {
    const uint64_t hash = (original(i) + (uint64_t)which * 12345) * GOLDEN;
    return (int)((uint32_t)(hash >> 40) % 17) - 8;
}

/*
 * Extremes of the first input, which lie beyond -8 to 8. The second half of the first 2^k items has
 * one extreme of each kind, for every k, and larger halves have larger extremes. So the first n
 * items have extremes of their own for every n, each in a single place far from the beginning. All
 * of them fit an i8 and are exact as bf16.
 */
#define FIRST_LEVEL 2
#define LAST_LEVEL 32
typedef struct extreme {
    uint64_t place;
    int value;
} extreme;

static extreme largest(int level) {
    const uint64_t half = UINT64_C(1) << (level - 1);
    return (extreme){half + half / 3, 8 + level};
}

/* Returns the smallest item of a level. Its magnitude exceeds that of all largest items before
 * it. */
static extreme smallest(int level) {
    const uint64_t half = UINT64_C(1) << (level - 1);
    return (extreme){half + 2 * half / 3, -10 - level};
}

/* Returns the walk's place after item i, from 0 to 8; step() is the walk's step there. */
static int walk(uint64_t i) {
    return (int)((uint32_t)(i * UINT64_C(0x9e3779b97f4a7c15) >> 40) % 9);
}

static int step(uint64_t i) {
    return walk(i) - walk(i - 1);
}

/* Returns the last extreme among the first n items. */
static extreme last_extreme(extreme (*of_level)(int), uint64_t n) {
    int level = FIRST_LEVEL;
    while (level < LAST_LEVEL && of_level(level + 1).place < n) level++;
    return of_level(level);
}

/* Mixes bits by splitmix64 (Steele, Lea, Flood 2014), for fractions from -1 to below 1. */
static uint64_t mixed(uint64_t i, int which) {
    uint64_t x = (i + ((uint64_t)which << 40)) * UINT64_C(0x9e3779b97f4a7c15);
    x = (x ^ x >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    x = (x ^ x >> 27) * UINT64_C(0x94d049bb133111eb);
    return x ^ x >> 31;
}

static float fraction_f32(uint64_t i, int which) {
    return (float)(mixed(i, which) >> 40) * 0x1p-23f - 1;
}

static double fraction_f64(uint64_t i, int which) {
    return (double)(mixed(i, which) >> 11) * 0x1p-52 - 1;
}

/* ---- types ----------------------------------------------------------------------------------- */

static uint16_t bf16_of(int value) {
    const float x = (float)value;
    uint32_t bits;
    memcpy(&bits, &x, sizeof(bits));
    return (uint16_t)(bits >> 16);
}

/* f16 has 10 bits of fraction and a bias of 15; f32 has 23 bits and a bias of 127. */
static uint16_t f16_of(int value) {
    const float x = (float)(value < 0 ? -value : value);
    uint32_t bits;
    memcpy(&bits, &x, sizeof(bits));
    return (uint16_t)((value < 0 ? 0x8000u : 0) | (value ? (bits - ((127u - 15u) << 23)) >> 13 : 0));
}

static double value_of_f16(uint16_t bits) {
    const int exponent = bits >> 10 & 31, fraction = bits & 1023;
    const double magnitude = exponent == 31 ? (fraction ? (double)NAN : (double)INFINITY)
                             : exponent     ? ldexp(fraction + 1024, exponent - 25)
                                            : ldexp(fraction, -24);
    return bits >> 15 ? -magnitude : magnitude;
}

static double value_of_bf16(uint16_t bits) {
    const uint32_t word = (uint32_t)bits << 16;
    float x;
    memcpy(&x, &word, sizeof(x));
    return (double)x;
}

double input_value(tally_dtype type, const void *value) {
    switch ((int)type) {
#define CASE(id, type, expression)                                                                                             \
    case TALLY_##id: {                                                                                                         \
        type x;                                                                                                                \
        memcpy(&x, value, sizeof(x));                                                                                          \
        return (double)(expression);                                                                                           \
    }
        CASE(F16, uint16_t, value_of_f16(x))
        CASE(BF16, uint16_t, value_of_bf16(x))
        CASE(F32, float, x)
        CASE(F64, double, x)
        CASE(I8, int8_t, x)
        CASE(U8, uint8_t, x)
        CASE(BOOL, uint8_t, x)
        CASE(I16, int16_t, x)
        CASE(U16, uint16_t, x)
        CASE(I32, int32_t, x)
        CASE(U32, uint32_t, x)
        CASE(I64, int64_t, x)
        CASE(U64, uint64_t, x)
#undef CASE
    }
    return (double)NAN;
}

/* Stores a whole number from -UNSIGNED_ZERO to UNSIGNED_ZERO. Unsigned types have it above that. A
 * complex item has an imaginary part that is another number. */
#define UNSIGNED_ZERO 42
static void put(tally_dtype in, void *items, uint64_t i, int value) {
    switch ((int)in) {
#define CASE(id, type, expression)                                                                                             \
    case TALLY_##id:                                                                                                           \
        ((type *)items)[i] = (type)(expression);                                                                               \
        break;
        CASE(F16, uint16_t, f16_of(value))
        CASE(BF16, uint16_t, bf16_of(value))
        CASE(F32, float, value)
        CASE(F64, double, value)
        CASE(I8, int8_t, value)
        CASE(I16, int16_t, value)
        CASE(I32, int32_t, value)
        CASE(I64, int64_t, value)
        CASE(U8, uint8_t, value + UNSIGNED_ZERO)
        CASE(U16, uint16_t, value + UNSIGNED_ZERO)
        CASE(U32, uint32_t, value + UNSIGNED_ZERO)
        CASE(U64, uint64_t, value + UNSIGNED_ZERO)
        CASE(BOOL, uint8_t, value != 0)
#undef CASE
    case TALLY_C64:
        ((float *)items)[2 * i] = (float)value;
        ((float *)items)[2 * i + 1] = (float)(value % 3);
        break;
    case TALLY_C128:
        ((double *)items)[2 * i] = value;
        ((double *)items)[2 * i + 1] = value % 3;
        break;
    }
}

/* ---- filling --------------------------------------------------------------------------------- */

int input_open(input_items *items, uint64_t bytes) {
    *items = (input_items){.bytes = bytes};
    for (int k = 0; k < ARRAYS; k++) {
        /* Pages that are never filled take no memory. */
        items->host[k] = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        if (items->host[k] == MAP_FAILED) {
            items->host[k] = NULL;
            return 1;
        }
    }
    return 0;
}

void input_close(input_items *items) {
    for (int k = 0; k < ARRAYS; k++)
        if (items->host[k]) munmap(items->host[k], items->bytes);
}

static void fill_whole(const input_items *items, int which, uint64_t begin, uint64_t end) {
    void *to = items->host[which];
    const uint64_t period = items->period ? items->period : UINT64_MAX;
#pragma omp parallel for schedule(static)
    for (uint64_t i = begin; i < end; i++) put(items->in, to, i, item(i < period ? i : i % period, which));
    if (which) return;
    for (uint64_t copy = 0; copy < end; copy += period) {
        for (int level = FIRST_LEVEL; level <= LAST_LEVEL; level++) {
            const extreme extremes[] = {largest(level), smallest(level)};
            for (int e = 0; e < 2; e++) {
                const uint64_t place = extremes[e].place;
                if (place < period && copy + place >= begin && copy + place < end)
                    put(items->in, to, copy + place, extremes[e].value);
            }
        }
        if (!items->period) break;
    }
}

/* Fills in the walk's steps. Some are leaps to an extreme and back, so running extremes change at
 * all distances. Leaps begin at level 4, from which no two are neighbours. */
static void fill_walk(const input_items *items, int which, uint64_t begin, uint64_t end) {
    void *to = items->host[which];
#pragma omp parallel for schedule(static)
    for (uint64_t i = begin; i < end; i++) put(items->in, to, i, step(i));
    for (int level = 4; level <= LAST_LEVEL; level++) {
        const extreme extremes[] = {largest(level), smallest(level)};
        for (int e = 0; e < 2; e++) {
            const uint64_t place = extremes[e].place, next = place + 1;
            if (place >= begin && place < end) put(items->in, to, place, extremes[e].value);
            if (next >= begin && next < end) put(items->in, to, next, step(place) + step(next) - extremes[e].value);
        }
    }
}

static void fill_rounded(const input_items *items, int which, uint64_t begin, uint64_t end) {
    const int is_single = items->in == TALLY_F32;
    float *f32 = items->host[which];
    double *f64 = items->host[which];
#pragma omp parallel for schedule(static)
    for (uint64_t i = begin; i < end; i++) {
        if (is_single)
            f32[i] = fraction_f32(i, which);
        else
            f64[i] = fraction_f64(i, which);
    }
}

void input_fill(input_items *items, input_kind kind, tally_dtype in, uint64_t n, uint64_t copies, int inputs) {
    const uint64_t period = copies > 1 ? n : 0;
    if (items->kind != kind || items->in != in || items->period != period) {
        items->kind = kind;
        items->in = in;
        items->period = period;
        items->filled[0] = items->filled[1] = 0;
        items->version++;
    }
    for (int k = 0; k < inputs; k++) {
        if (items->filled[k] >= n * copies) continue;
        const uint64_t begin = items->filled[k], end = items->filled[k] = n * copies;
        if (kind == INPUT_WHOLE) fill_whole(items, k, begin, end);
        if (kind == INPUT_WALK) fill_walk(items, k, begin, end);
        if (kind == INPUT_ROUNDED) fill_rounded(items, k, begin, end);
    }
}

/* Permutes the numbers of `bits` bits. Odd factors and right shifts that are xored in can be
 * undone. */
static uint64_t permuted(uint64_t i, unsigned bits) {
    const uint64_t mask = (UINT64_C(1) << bits) - 1;
    for (int round = 0; round < 3; round++) {
        i = (i * UINT64_C(0x9e3779b97f4a7c15) + 1) & mask;
        i ^= i >> (bits + 1) / 2;
    }
    return i;
}

/* Permutes the numbers below n. A number that is not below n is permuted again until it is. */
static uint32_t shuffled(uint64_t i, uint64_t n, unsigned bits) {
    do i = permuted(i, bits);
    while (i >= n);
    return (uint32_t)i;
}

void input_fill_map(input_items *items, bench_map map, uint64_t n) {
    uint32_t *to = items->host[ARRAY_MAP];
    unsigned bits = 1;
    if (items->map == map && items->map_n == n) return;
    items->map = map;
    items->map_n = n;
    while (n > UINT64_C(1) << bits) bits++;
#pragma omp parallel for schedule(static)
    for (uint64_t i = 0; i < n; i++) to[i] = map == MAP_IDENTITY ? (uint32_t)i : shuffled(i, n, bits);
}

/* ---- expected results ------------------------------------------------------------------------ */

/* Sums over the first n items of both inputs, without the extremes. */
typedef struct survey {
    uint64_t n;
    int64_t sum, magnitudes, squares, products;
} survey;

static survey add_items(survey s, uint64_t n) {
    int64_t sum = 0, magnitudes = 0, squares = 0, products = 0;
#pragma omp parallel for schedule(static) reduction(+ : sum, magnitudes, squares, products)
    for (uint64_t i = s.n; i < n; i++) {
        const int x = item(i, 0), y = item(i, 1);
        sum += x;
        magnitudes += x < 0 ? -x : x;
        squares += x * x;
        products += x * y;
    }
    return (survey){n, s.sum + sum, s.magnitudes + magnitudes, s.squares + squares, s.products + products};
}

static void take_extreme(survey *s, extreme e) {
    if (e.place >= s->n) return;
    const int x = item(e.place, 0), y = item(e.place, 1), magnitude = e.value < 0 ? -e.value : e.value;
    s->sum += e.value - x;
    s->magnitudes += magnitude - (x < 0 ? -x : x);
    s->squares += e.value * e.value - x * x;
    s->products += (e.value - x) * y;
}

/* Returns the survey of n items. The last survey is kept, for the same n or a larger one. */
static survey survey_of(uint64_t n) {
    static survey kept;
    kept = add_items(kept.n <= n ? kept : (survey){0}, n);
    survey s = kept;
    for (int level = FIRST_LEVEL; level <= LAST_LEVEL; level++) {
        take_extreme(&s, largest(level));
        take_extreme(&s, smallest(level));
    }
    return s;
}

int input_is_known(const bench_input *input) {
    const int is_narrow = input->in == TALLY_F16 || input->in == TALLY_BF16;
    switch ((int)input->in) {
    case TALLY_U8:
    case TALLY_U16:
    case TALLY_U32:
    case TALLY_U64:
    case TALLY_BOOL:
    case TALLY_C64:
    case TALLY_C128:
        return 0;
    }
    switch ((int)input->task->op) {
    case TALLY_SUM:
    case TALLY_MIN:
    case TALLY_MAX:
    case TALLY_AMAX:
    case TALLY_ARGMIN:
    case TALLY_ARGMAX:
    case TALLY_IAMAX:
        return 1;
    case TALLY_ASUM:
    case TALLY_SUMSQ:
    case TALLY_NRM2:
    case TALLY_DOT:
        return !is_narrow; /* their results are rounded to a few bits */
    }
    return 0;
}

double input_expected(const bench_input *input, double *tolerance) {
    const survey s = survey_of(input->n);
    const extreme least = last_extreme(smallest, input->n), most = last_extreme(largest, input->n);
    *tolerance = 0;
    switch ((int)input->task->op) {
    case TALLY_SUM:
        return (double)s.sum;
    case TALLY_MIN:
        return least.value;
    case TALLY_MAX:
        return most.value;
    case TALLY_AMAX:
        return -least.value;
    case TALLY_ARGMIN:
    case TALLY_IAMAX:
        return (double)least.place;
    case TALLY_ARGMAX:
        return (double)most.place;
    }
    /* Large sums of f32 are rounded, by some engines in one accumulator a thread. */
    *tolerance = 1e-3 * (input->task->op == TALLY_DOT ? (double)s.squares : 1);
    switch ((int)input->task->op) {
    case TALLY_ASUM:
        *tolerance *= (double)s.magnitudes;
        return (double)s.magnitudes;
    case TALLY_SUMSQ:
        *tolerance *= (double)s.squares;
        return (double)s.squares;
    case TALLY_NRM2:
        *tolerance *= sqrt((double)s.squares);
        return sqrt((double)s.squares);
    case TALLY_DOT:
        return (double)s.products;
    }
    return (double)NAN;
}
