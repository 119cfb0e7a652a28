/* SPDX-License-Identifier: MIT */
/*
 * bits: the results of `auto` on every device beside the oracle's, as bits, in one line for each
 * case and n. Fails if two differ. Usage: bits [LOG2], the largest n (30: 4 GiB of f32 on the host
 * and on the device; f64 to half of that; others to 2^24).
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "oracle/oracle.h"
#include "oracle/patterns.h"
#include "tests/support/places.h"
#include "tests/support/test_main.h"

static const struct {
    tally_op op;
    tally_dtype in;
    int pattern, log2_most;
} cases[] = {{TALLY_SUM, TALLY_F32, PATTERN_WIDE, 64},        {TALLY_SUM, TALLY_F64, PATTERN_WIDE, 64},
             {TALLY_SUM, TALLY_F16, PATTERN_WIDE, 24},        {TALLY_SUM, TALLY_BF16, PATTERN_WIDE, 24},
             {TALLY_SUM, TALLY_C64, PATTERN_WIDE, 24},        {TALLY_PROD, TALLY_F32, PATTERN_NEAR_ONE, 24},
             {TALLY_NRM2, TALLY_F32, PATTERN_MAGNITUDES, 24}, {TALLY_VAR, TALLY_F32, PATTERN_SHIFTED, 24},
             {TALLY_STD, TALLY_F64, PATTERN_SHIFTED, 24},     {TALLY_ARGMAX, TALLY_F32, PATTERN_WIDE, 24}};

static int different, compared;

static void compare(const place *places, int count, size_t c, const void *items, uint64_t n) {
    const size_t bytes = tally_dtype_bytes(tally_result_dtype(cases[c].op, cases[c].in));
    oracle_result expected = {{0}};
    oracle_reduce(cases[c].op, cases[c].in, items, n, &expected);
    printf("%s %s n=%-10" PRIu64 " oracle %016" PRIx64, tally_op_name(cases[c].op), tally_dtype_name(cases[c].in), n,
           expected.u64);
    for (int p = 0; p < count; p++) {
        oracle_result got = {{0}};
        MUST(tally_reduce_host(places[p].context, cases[c].op, cases[c].in, items, n, &got));
        const int same = memcmp(&got, &expected, bytes) == 0;
        printf("  %s %016" PRIx64 "%s", places[p].select, got.u64, same ? "" : " DIFFERS");
        different += !same;
        compared++;
    }
    printf("\n");
}

int main(int argc, char **argv) {
    const int log2 = (int)test_number(argc, argv, 1, 1, 30, "[LOG2]");
    static place places[MAX_PLACES];
    const int count = places_open(places);
    if (count <= 0 || log2 < 1 || log2 > 34) return fprintf(stderr, "bits: no device, or no such size\n"), 1;
    const uint64_t sizes[] = {1, 127, 4095, 4096, 4097, 1000003, UINT64_C(1) << 24, UINT64_C(1) << 30};
    for (size_t c = 0; c < TALLY_ARRAY_LENGTH(cases); c++) {
        const uint64_t bytes = tally_dtype_bytes(cases[c].in),
                       most = UINT64_C(1) << (log2 < cases[c].log2_most ? log2 : cases[c].log2_most);
        const uint64_t largest = bytes > 4 ? most * 4 / bytes : most;
        char *items = malloc(largest * bytes);
        if (!items) return fprintf(stderr, "bits: out of memory\n"), 1;
        pattern_fill(cases[c].pattern, cases[c].in, items, largest);
        for (size_t s = 0; s < TALLY_ARRAY_LENGTH(sizes); s++) {
            const uint64_t n = sizes[s] < largest ? sizes[s] : largest;
            if (s > 0 && sizes[s - 1] >= largest) continue;
            compare(places, count, c, items, n);
        }
        free(items);
    }
    printf("%d passed, %d failed\n", compared - different, different);
    return different != 0;
}
