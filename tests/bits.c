/* SPDX-License-Identifier: MIT */
/*
 * bits: the sums that `auto` gives on every device beside the oracle's, as bits: one line for each dtype and n. It fails when two
 * differ. Usage: bits [LOG2], the largest n (30: 4 GiB of f32 on the host and on the device; f64 to half of that).
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "oracle.h"
#include "patterns.h"
#include "places.h"

static uint64_t reduce(const place *at, tally_dtype in, const void *items, uint64_t n) {
    oracle_result result = {0};
    MUST(tally_reduce_host(at->context, TALLY_SUM, in, items, n, &result));
    return result.u64;
}

int main(int argc, char **argv) {
    const int log2 = argc > 1 ? atoi(argv[1]) : 30;
    static place places[MAX_PLACES];
    const int count = places_open(places);
    if (count <= 0 || log2 < 1 || log2 > 34) return fprintf(stderr, "bits: no device, or no such size\n"), 1;
    const uint64_t most = UINT64_C(1) << log2;
    const uint64_t sizes[] = {1, 127, 4095, 4096, 4097, 1000003, UINT64_C(1) << 24, UINT64_C(1) << 30};
    static const tally_dtype dtypes[] = {TALLY_F32, TALLY_F64};
    int different = 0, compared = 0;
    for (size_t d = 0; d < TALLY_ARRAY_LENGTH(dtypes); d++) {
        const uint64_t largest = most / (tally_dtype_bytes(dtypes[d]) / 4);
        char *items = malloc(largest * tally_dtype_bytes(dtypes[d]));
        if (!items) return fprintf(stderr, "bits: out of memory\n"), 1;
        pattern_fill(PATTERN_WIDE, dtypes[d], items, largest);
        for (size_t s = 0; s < TALLY_ARRAY_LENGTH(sizes); s++) {
            const uint64_t n = sizes[s] < largest ? sizes[s] : largest;
            if (s > 0 && n == sizes[s - 1]) continue;
            oracle_result expected = {0};
            oracle_reduce(TALLY_SUM, dtypes[d], items, n, &expected);
            printf("sum %s n=%-10" PRIu64 " oracle %016" PRIx64, tally_dtype_name(dtypes[d]), n, expected.u64);
            for (int p = 0; p < count; p++) {
                const uint64_t got = reduce(&places[p], dtypes[d], items, n);
                printf("  %s %016" PRIx64 "%s", places[p].select, got, got == expected.u64 ? "" : " DIFFERS");
                different += got != expected.u64;
                compared++;
            }
            printf("\n");
        }
        free(items);
    }
    printf("%d passed, %d failed\n", compared - different, different);
    return different != 0;
}
