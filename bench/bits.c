/* SPDX-License-Identifier: MIT */
/* bits.c: compares the results of rounded inputs. tally promises the same bits on every device. */
#include <stdio.h>
#include <string.h>

#include "bench.h"
#include "tools/print/units.h"

static int is_same_case(const bench_result *a, const bench_result *b) {
    return a->task == b->task && a->in == b->in && a->n == b->n;
}

int bits_compare(const bench_results *all, const bench_result *of, int *devices) {
    const bench_result *first = NULL;
    int equal = 1;
    *devices = 0;
    for (size_t i = 0; i < all->result_count; i++) {
        const bench_result *r = &all->results[i];
        if (!is_same_case(r, of)) continue;
        if (!first) first = r;
        equal &= r->bytes == first->bytes && !memcmp(r->value, first->value, r->bytes);
        ++*devices;
    }
    return equal;
}

int bits_print(const bench_results *all, FILE *out) {
    int cases = 0, compared = 0, different = 0;
    for (size_t i = 0; i < all->result_count; i++) {
        const bench_result *r = &all->results[i];
        size_t first = 0;
        while (!is_same_case(&all->results[first], r)) first++;
        if (first < i) continue;
        int devices;
        const int equal = bits_compare(all, r, &devices);
        cases++;
        compared += devices > 1;
        different += !equal;
        if (!equal)
            fprintf(out, "bits: %s of %s, n = %s: they differ between %d devices\n", task_name(r->task).text,
                    tally_dtype_name(r->in), units_items(r->n).text, devices);
    }
    if (compared)
        fprintf(out, "bits: of %d cases %d were compared between devices: %d differ\n", cases, compared, different);
    else
        fprintf(out, "bits: nothing was compared: of %d cases none ran on two devices\n", cases);
    return different;
}
