/* SPDX-License-Identifier: MIT */
/* What there is to measure, and lists as the command line and the bars write them: names, and numbers of items. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "bench.h"

const tally_op bench_ops[] = {TALLY_SUM,  TALLY_MIN, TALLY_MAX,    TALLY_AMAX,   TALLY_ASUM,  TALLY_SUMSQ,
                              TALLY_NRM2, TALLY_DOT, TALLY_ARGMIN, TALLY_ARGMAX, TALLY_IAMAX, TALLY_OP_NONE};
const tally_dtype bench_types[] = {TALLY_F32, TALLY_F64, TALLY_I32, TALLY_F16, TALLY_BF16, TALLY_I8, TALLY_DTYPE_DEFAULT};

int is_listed(const char *list, const char *name) {
    const size_t length = strlen(name);
    if (!list) return 1;
    for (const char *at = list; at; at = strchr(at, ',') ? strchr(at, ',') + 1 : NULL)
        if (!strncmp(at, name, length) && (!at[length] || at[length] == ',')) return 1;
    return 0;
}

int sizes_have(const bench_sizes *sizes, uint64_t n) {
    for (int i = 0; i < sizes->count; i++)
        if (sizes->n[i] == n) return 1;
    return 0;
}

/* The number of items that the text begins with; 0: it begins with none. */
static uint64_t parse_size(const char **text) {
    char *end;
    errno = 0;
    if (**text < '0' || **text > '9') return 0;
    const unsigned long value = strtoul(*text, &end, 10);
    const int shift = *end == 'K' ? 10 : *end == 'M' ? 20 : 0;
    *text = end + (shift > 0);
    if (errno || value > MOST_ITEMS) return 0;
    const uint64_t n = shift ? (uint64_t)value << shift : value < 64 ? UINT64_C(1) << value : 0;
    return n >= LEAST_ITEMS && n <= MOST_ITEMS ? n : 0;
}

int sizes_add(bench_sizes *sizes, const char *text) {
    for (;; text++) {
        const uint64_t n = parse_size(&text);
        if (!n || (*text && *text != ',')) return 1;
        if (!sizes_have(sizes, n)) {
            if (sizes->count == MAX_SIZES) return 1;
            sizes->n[sizes->count++] = n;
        }
        if (!*text) return 0;
    }
}
