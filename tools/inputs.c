/* SPDX-License-Identifier: MIT */
/* inputs.c: see inputs.h. */
#include "inputs.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "cli.h"

static void make_name(inputs *set, char *const *paths) {
    size_t used = 0;
    for (uint32_t k = 0; k < set->count && used < sizeof(set->name); k++)
        used += (size_t)snprintf(set->name + used, sizeof(set->name) - used, "%s%s",
                                 !k                    ? ""
                                 : k + 1 == set->count ? " and "
                                                       : ", ",
                                 paths[k]);
}

/* Reports that file k differs from the first. */
static bool differ(const inputs *set, uint32_t k, const char *what, const char *first, const char *other) {
    cli_report("%s and %s: their %s differ: %s and %s", set->files[0].name, set->files[k].name, what, first, other);
    return false;
}

static bool fit(const inputs *set) {
    const input *first = &set->files[0];
    char n[2][32];
    for (uint32_t k = 1; k < set->count; k++) {
        const input *in = &set->files[k];
        if (in->dtype != first->dtype)
            return differ(set, k, "item types", tally_dtype_name(first->dtype), tally_dtype_name(in->dtype));
        if (in->n == first->n || in->n == INPUT_UNKNOWN || first->n == INPUT_UNKNOWN) continue;
        snprintf(n[0], sizeof(n[0]), "%" PRIu64 " items", first->n);
        snprintf(n[1], sizeof(n[1]), "%" PRIu64, in->n);
        return differ(set, k, "lengths", n[0], n[1]);
    }
    return true;
}

bool inputs_open(inputs *set, char *const *paths, uint32_t count, tally_dtype raw) {
    memset(set, 0, sizeof(*set));
    for (; set->count < count; set->count++)
        if (!input_open(&set->files[set->count], paths[set->count], raw)) return inputs_close(set), false;
    for (uint32_t k = 0; k < count; k++) set->files[k].share = count;
    make_name(set, paths);
    if (fit(set)) return true;
    inputs_close(set);
    return false;
}

/* Some files have ended and others go on, which is found out only here for streams. */
static bool ended_early(const inputs *set) {
    char n[2][48];
    uint32_t odd = 1;
    while (odd + 1 < set->count && !set->left[odd] == !set->left[0]) odd++;
    for (int i = 0; i < 2; i++) {
        const uint32_t k = i ? odd : 0;
        snprintf(n[i], sizeof(n[i]), "%s%" PRIu64 "%s", set->last[k] ? "" : "at least ", set->files[k].done, i ? "" : " items");
    }
    return differ(set, odd, "lengths", n[0], n[1]);
}

bool inputs_next(inputs *set, const void *const **items, uint64_t *n, bool *last) {
    bool all_ended = true;
    *n = UINT64_MAX;
    for (uint32_t k = 0; k < set->count; k++) {
        const void *slice = set->at[k];
        if (!set->left[k] && !set->last[k] && !input_next(&set->files[k], &slice, &set->left[k], &set->last[k])) return false;
        set->at[k] = slice;
        if (set->left[k] < *n) *n = set->left[k];
        all_ended = all_ended && !set->left[k];
    }
    if (!*n && !all_ended) return ended_early(set);
    *last = true;
    for (uint32_t k = 0; k < set->count; k++) {
        set->pieces[k] = set->at[k];
        set->left[k] -= *n;
        if (*n) set->at[k] += *n * set->files[k].item_bytes;
        *last = *last && set->last[k] && !set->left[k];
    }
    *items = set->pieces;
    return true;
}

void inputs_close(inputs *set) {
    for (uint32_t k = 0; k < set->count; k++) input_close(&set->files[k]);
    set->count = 0;
}

tally_dtype inputs_dtype(const inputs *set) {
    return set->files[0].dtype;
}

size_t inputs_item_bytes(const inputs *set) {
    return set->files[0].item_bytes;
}

uint64_t inputs_n(const inputs *set) {
    for (uint32_t k = 0; k < set->count; k++)
        if (set->files[k].n != INPUT_UNKNOWN) return set->files[k].n;
    return INPUT_UNKNOWN;
}
