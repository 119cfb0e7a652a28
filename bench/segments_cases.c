/* SPDX-License-Identifier: MIT */
/* segments_cases.c: the table of the cases of segments. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "segments.h"
#include "tools/print/units.h"

#define ODD "1,3,5,7,31,33,63,100,127,129,500,1000,4095,4097"

/* A row is a case for each size. `n`: items, instead of all. `outer` and `inner` are extents of
 * CUT_MIDDLE, where the one that is 0 follows from the others; `outer` is the rows of CUT_LONG. */
typedef struct case_row {
    const char *group;
    segments_cut cut;
    const char *sizes;
    double bar;
    tally_op op, also;
    tally_dtype in;
    uint64_t n, outer, inner;
} case_row;

#define SUMS TALLY_SUM, 0, TALLY_F32
#define BY_1024(op, also, bar)                                                                                                 \
    {"ops", CUT_ROWS, "1024", bar, op, also, TALLY_F32, 0, 0, 0}, {                                                            \
        "ops", CUT_COLUMNS, "1024", bar, op, also, TALLY_F32, 0, 0, 0                                                          \
    }
#define OF_TYPE(type)                                                                                                          \
    {"types", CUT_ROWS, "4", 0.6, TALLY_SUM, 0, type, 0, 0, 0},                                                                \
        {"types", CUT_ROWS, "100,1024", 0.85, TALLY_SUM, 0, type, 0, 0, 0}, {                                                  \
        "types", CUT_COLUMNS, "1024", 0.85, TALLY_SUM, 0, type, 0, 0, 0                                                        \
    }
static const case_row rows[] = {
    {"rows", CUT_ROWS, "2^2,2^3", 0.85, SUMS, 0, 0, 0},
    {"rows", CUT_ROWS, "2^4,2^5,2^6,2^7,2^8,2^9,2^10,2^11,2^12,2^13,2^14,2^15,2^16,2^17,2^18,2^20,2^22,2^24,2^26,2^28", 0.92,
     SUMS, 0, 0, 0},
    {"odd", CUT_ROWS, ODD, 0.85, SUMS, 0, 0, 0},
    {"odd", CUT_SHIFTED, ODD, 0.85, SUMS, 0, 0, 0},
    {"columns", CUT_COLUMNS, "2^2", 0.78, SUMS, 0, 0, 0},
    {"columns", CUT_COLUMNS, "2^3", 0.85, SUMS, 0, 0, 0},
    {"columns", CUT_COLUMNS, "2^4,2^5,2^6", 0.9, SUMS, 0, 0, 0},
    {"columns", CUT_COLUMNS, "2^7,2^8,1000,2^10,2^12,2^14,2^16,2^18,2^20,2^22,2^24,2^26", 0.93, SUMS, 0, 0, 0},
    {"widths", CUT_WIDTHS, "1,2,3,8,31,33,100,1000", 0.85, SUMS, 0, 0, 0},
    {"middle", CUT_MIDDLE, "512", 0.9, SUMS, 0, 0, 8192},
    {"middle", CUT_MIDDLE, "512", 0.9, SUMS, 0, 0, 64},
    {"middle", CUT_MIDDLE, "4096", 0.9, SUMS, 0, 0, 4},
    {"middle", CUT_MIDDLE, "0", 0.9, SUMS, 0, 16, 16},
    {"middle", CUT_CHANNELS, "49", 0.8, SUMS, 0, 0, 0},
    {"middle", CUT_CHANNELS, "196,3136", 0.9, SUMS, 0, 0, 0},
    {"long", CUT_LONG, "8192,151936,2^24", 0, SUMS, 0, 1, 0},
    {"long", CUT_LONG, "8192,151936,2^24", 0, SUMS, 0, 2, 0},
    {"long", CUT_LONG, "8192,151936,2^24", 0, SUMS, 0, 3, 0},
    {"long", CUT_LONG, "8192,151936,2^24", 0, SUMS, 0, 8, 0},
    {"long", CUT_LONG, "8192,151936,2^24", 0, SUMS, 0, 131, 0},
    {"long", CUT_LONG, "8192,151936,2^24", 0, SUMS, 0, 133, 0},
    {"offsets", CUT_LENGTHS, "1,4", 0.5, SUMS, 0, 0, 0},
    {"offsets", CUT_LENGTHS, "32", 0.65, SUMS, 0, 0, 0},
    {"offsets", CUT_LENGTHS, "128", 0.8, SUMS, 0, 0, 0},
    {"offsets", CUT_LENGTHS, "1024", 0.88, SUMS, 0, 0, 0},
    {"offsets", CUT_LENGTHS, "2^16,2^24", 0.9, SUMS, 0, 0, 0},
    {"offsets", CUT_POWER, "5,8,11", 0.5, SUMS, 0, 0, 0},
    {"offsets", CUT_HALF, "32", 0.65, SUMS, 0, 0, 0},
    {"keys", CUT_LENGTHS, "1,4,32,128,1024,2^16,2^24", 0, SUMS, 0, 0, 0},
    {"keys", CUT_POWER, "5,8,11", 0, SUMS, 0, 0, 0},
    {"keys", CUT_HALF, "32", 0, SUMS, 0, 0, 0},
    BY_1024(TALLY_SUM, 0, 0),
    BY_1024(TALLY_MAX, 0, 0),
    BY_1024(TALLY_ARGMAX, 0, 0),
    BY_1024(TALLY_MEAN, 0, 0),
    BY_1024(TALLY_VAR, 0, 0),
    BY_1024(TALLY_NRM2, 0, 0),
    BY_1024(TALLY_MIN, TALLY_MAX, 0),
    OF_TYPE(TALLY_F16),
    OF_TYPE(TALLY_BF16),
    OF_TYPE(TALLY_I8),
    OF_TYPE(TALLY_F64),
    OF_TYPE(TALLY_C64),
    {"small", CUT_ROWS, "2^5,2^8,2^12,2^15", 0, SUMS, UINT64_C(1) << 20, 0, 0},
};
#define ROWS (sizeof(rows) / sizeof(rows[0]))
#define CHANNELS 256

const char *segments_group(size_t index) {
    for (size_t r = 0; r < ROWS; r++)
        if ((!r || strcmp(rows[r].group, rows[r - 1].group)) && !index--) return rows[r].group;
    return NULL;
}

/* ---- shapes ---------------------------------------------------------------------------------- */

static void set_axes(bench_segments *s, uint64_t outer, uint64_t length, uint64_t inner) {
    s->by = TALLY_BY_AXES;
    s->outer = outer;
    s->length = length;
    s->inner = inner;
    s->n = outer * length * inner;
    s->count = s->cut == CUT_CHANNELS ? length : outer * inner;
}

static void name(bench_segments *s, const char *format, unsigned long long size) {
    snprintf(s->name, sizeof(s->name), format, size);
}

static void set_middle(bench_segments *s, const case_row *row, uint64_t items) {
    const uint64_t inner = row->inner, outer = row->outer ? row->outer : items / (s->size * inner);
    set_axes(s, outer, s->size ? s->size : items / (outer * inner), inner);
    snprintf(s->name, sizeof(s->name), "axis 1 of (%llu, %llu, %llu)", (unsigned long long)s->outer,
             (unsigned long long)s->length, (unsigned long long)inner);
}

void segments_shape(bench_segments *s, uint64_t items) {
    s->first = s->cut == CUT_SHIFTED;
    if (s->cut == CUT_ONE) set_axes(s, 1, items, 1);
    if (s->cut == CUT_ROWS || s->cut == CUT_SHIFTED) set_axes(s, (items - s->first) / s->size, s->size, 1);
    if (s->cut == CUT_COLUMNS) set_axes(s, 1, s->size, items / s->size);
    if (s->cut == CUT_WIDTHS) set_axes(s, 1, items / s->size, s->size);
    if (s->cut < CUT_LENGTHS) return;
    s->by = strcmp(s->group, "keys") ? TALLY_BY_OFFSETS : TALLY_BY_KEYS;
    s->n = s->size > items ? 0 : items;
}

/* Sets the shape, and the name. `items` are at hand. */
static void set_shape(bench_segments *s, const case_row *row, uint64_t items) {
    segments_shape(s, items);
    if (s->cut == CUT_ROWS) name(s, "rows of %llu", s->size);
    if (s->cut == CUT_SHIFTED) name(s, "rows of %llu, unaligned", s->size);
    if (s->cut == CUT_COLUMNS) name(s, "columns of height %llu", s->size);
    if (s->cut == CUT_WIDTHS) name(s, "columns, %llu wide", s->size);
    if (s->cut == CUT_LONG) {
        set_axes(s, row->outer, s->size, 1);
        snprintf(s->name, sizeof(s->name), "%llu row%s of %llu", (unsigned long long)row->outer, row->outer > 1 ? "s" : "",
                 (unsigned long long)s->size);
    }
    if (s->cut == CUT_MIDDLE) set_middle(s, row, items);
    if (s->cut == CUT_CHANNELS) {
        set_axes(s, items / (CHANNELS * s->size), CHANNELS, s->size);
        snprintf(s->name, sizeof(s->name), "axes 0, 2 of (%llu, %d, %llu)", (unsigned long long)s->outer, CHANNELS,
                 (unsigned long long)s->size);
    }
    const int by_keys = s->by == TALLY_BY_KEYS;
    if (s->cut == CUT_LENGTHS) name(s, by_keys ? "runs of mean %llu" : "lengths of mean %llu", s->size);
    if (s->cut == CUT_HALF) name(s, by_keys ? "runs, half in one, others %llu" : "half in one, the others %llu", s->size);
    if (s->cut == CUT_POWER)
        snprintf(s->name, sizeof(s->name), by_keys ? "runs by a power law, %.1f" : "a power law, %.1f", (double)s->size / 10);
}

void segments_axes(const bench_segments *s, tally_axis axes[3]) {
    const int of_channels = s->cut == CUT_CHANNELS;
    const uint64_t extents[] = {s->outer, s->length, s->inner};
    int64_t stride = 1;
    for (int a = 3; a--; stride *= (int64_t)extents[a])
        axes[a] = (tally_axis){.extent = extents[a],
                               .reduced = (a == 1) != of_channels,
                               .in_stride = {stride, stride},
                               .where_stride = stride,
                               .out_stride = stride};
}

/* Reads number `index` of the list. Returns 0 behind the last. */
static int read_size(const char *list, size_t index, uint64_t *size) {
    for (; index; index--) {
        list = strchr(list, ',');
        if (!list++) return 0;
    }
    return units_read_count(list, strcspn(list, ","), 0, UINT64_MAX - 1, size);
}

int segments_case(size_t index, uint64_t items, const char *groups, bench_segments *s) {
    for (const case_row *row = rows; row < rows + ROWS; row++) {
        size_t sizes = 1;
        for (const char *at = row->sizes; *at; at++) sizes += *at == ',';
        if (index >= sizes) {
            index -= sizes;
            continue;
        }
        *s = (bench_segments){
            .group = row->group, .cut = row->cut, .op = row->op, .also = row->also, .in = row->in, .bar = row->bar};
        const uint64_t fits = items * sizeof(float) / tally_dtype_bytes(row->in), all = row->n ? row->n : fits;
        if (!read_size(row->sizes, index, &s->size) || !is_listed(groups, row->group)) return 0;
        set_shape(s, row, all);
        return s->n && s->n <= fits;
    }
    return -1;
}

/* ---- lengths --------------------------------------------------------------------------------- */

/* Returns a number from above 0 to 1, by splitmix64 (Steele, Lea, Flood 2014). */
static double fraction(uint64_t i) {
    uint64_t x = i * UINT64_C(0x9e3779b97f4a7c15);
    x = (x ^ x >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    x = (x ^ x >> 27) * UINT64_C(0x94d049bb133111eb);
    x ^= x >> 31;
    return (double)((x >> 11) + 1) * 0x1p-53;
}

#define MOST_POWER 1e7
/* Returns the length of segment i. Random lengths of a mean are geometric. */
static uint64_t length_of(const bench_segments *s, uint64_t i, uint64_t begin) {
    if (s->cut == CUT_HALF) return begin < s->n / 2 ? s->size : s->n;
    if (s->cut == CUT_POWER) {
        const double length = pow(fraction(i + 1), -(double)s->size / 10);
        return (uint64_t)(length < MOST_POWER ? length : MOST_POWER);
    }
    return s->size == 1 ? 1 : 1 + (uint64_t)(-log(fraction(i + 1)) * ((double)s->size - 0.5));
}

int segments_cut_items(bench_segments *s, uint64_t *to, uint64_t room) {
    uint64_t begin = 0, count = 0;
    while (begin < s->n) {
        if (count + 1 >= room) return 1;
        const uint64_t length = length_of(s, count, begin);
        to[count++] = begin;
        begin += length < s->n - begin ? length : s->n - begin;
    }
    to[count] = s->n;
    s->count = count;
    s->offsets = to;
    return 0;
}
