/* SPDX-License-Identifier: MIT */
/* inputs.c: see inputs.h. */
#include "inputs.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tools/cli.h"
#include "shape.h"

#define REPEATED_BYTES ((size_t)1 << 20) /* bytes of a slice of a scalar */

static void make_name(inputs *set, char *const *paths) {
    size_t used = 0;
    for (uint32_t k = 0; k < set->count && used < sizeof(set->name); k++)
        used += (size_t)snprintf(set->name + used, sizeof(set->name) - used, "%s%s",
                                 !k                    ? ""
                                 : k + 1 == set->count ? " and "
                                                       : ", ",
                                 paths[k]);
}

/* Reports that files i and k differ. */
static bool differ(const inputs *set, uint32_t i, uint32_t k, const char *what, const char *first, const char *other) {
    cli_report("%s and %s: their %s differ: %s and %s", set->files[i].name, set->files[k].name, what, first, other);
    return false;
}

/* Returns true for a scalar, whose only item belongs to every item of the other files. */
static bool is_scalar(const input *in) {
    return in->is_npy && in->shape.dimensions == 0;
}

/* Returns the first file that is not a scalar, or 0 if all are scalars. */
static uint32_t find_leader(const inputs *set) {
    for (uint32_t k = 0; k < set->count; k++)
        if (!is_scalar(&set->files[k])) return k;
    return 0;
}

/* Returns true if the files' items belong together; reports the difference if not. */
static bool fit(const inputs *set) {
    const uint32_t leader = find_leader(set);
    /* `shaped` is the first file that has a shape and is not a scalar. */
    const input *first = &set->files[leader], *shaped = NULL;
    char n[2][32];
    for (uint32_t k = 0; k < set->count; k++) {
        const input *in = &set->files[k];
        if (in->dtype != set->files[0].dtype)
            return differ(set, 0, k, "item types", tally_dtype_name(set->files[0].dtype), tally_dtype_name(in->dtype));
        if (k != leader && is_scalar(in)) continue;
        if (in->is_npy && shaped && !shape_equal(&shaped->shape, &in->shape))
            return differ(set, (uint32_t)(shaped - set->files), k, "shapes", shape_text(&shaped->shape).text,
                          shape_text(&in->shape).text);
        if (in->is_npy && !shaped) shaped = in;
        if (in->n == first->n || in->n == INPUT_UNKNOWN || first->n == INPUT_UNKNOWN) continue;
        snprintf(n[0], sizeof(n[0]), "%" PRIu64 " items", first->n);
        snprintf(n[1], sizeof(n[1]), "%" PRIu64, in->n);
        return differ(set, leader, k, "lengths", n[0], n[1]);
    }
    return true;
}

/* Reads the scalars and repeats each of them. */
static bool repeat_scalars(inputs *set) {
    const uint32_t leader = find_leader(set);
    for (uint32_t k = 0; k < set->count; k++) {
        const void *item;
        uint64_t n;
        bool last;
        if (k == leader || !is_scalar(&set->files[k]) || is_scalar(&set->files[leader])) continue;
        const size_t bytes = set->files[k].item_bytes;
        if (!input_next(&set->files[k], &item, &n, &last)) return false;
        if (!(set->repeated[k] = malloc(REPEATED_BYTES))) return cli_report("%s: out of memory", set->files[k].name), false;
        for (size_t at = 0; at < REPEATED_BYTES; at += bytes) memcpy(set->repeated[k] + at, item, bytes);
    }
    return true;
}

bool inputs_open(inputs *set, char *const *paths, uint32_t count, tally_dtype raw) {
    memset(set, 0, sizeof(*set));
    for (; set->count < count; set->count++)
        if (!input_open(&set->files[set->count], paths[set->count], raw)) return inputs_close(set), false;
    for (uint32_t k = 0; k < count; k++) set->files[k].share = count;
    make_name(set, paths);
    if (fit(set) && repeat_scalars(set)) return true;
    inputs_close(set);
    return false;
}

/* Reports that some files have ended and others have not, and returns false. Streams show this only
 * here. */
static bool ended_early(const inputs *set) {
    const uint32_t leader = find_leader(set);
    char n[2][48];
    uint32_t odd = leader + 1;
    while (odd + 1 < set->count && (set->repeated[odd] || !set->left[odd] == !set->left[leader])) odd++;
    for (int i = 0; i < 2; i++) {
        const uint32_t k = i ? odd : leader;
        snprintf(n[i], sizeof(n[i]), "%s%" PRIu64 "%s", set->last[k] ? "" : "at least ", set->files[k].done, i ? "" : " items");
    }
    return differ(set, leader, odd, "lengths", n[0], n[1]);
}

/* Gets the next slice of each file whose slice is used up. */
static bool fill(inputs *set) {
    for (uint32_t k = 0; k < set->count; k++) {
        const void *slice = set->at[k];
        if (set->repeated[k]) {
            slice = set->repeated[k];
            set->left[k] = REPEATED_BYTES / set->files[k].item_bytes;
        } else if (!set->left[k] && !set->last[k] && !input_next(&set->files[k], &slice, &set->left[k], &set->last[k])) {
            return false;
        }
        set->at[k] = slice;
    }
    return true;
}

bool inputs_next(inputs *set, const void *const **items, uint64_t *n, bool *last) {
    bool all_ended = true;
    *n = UINT64_MAX;
    if (!fill(set)) return false;
    for (uint32_t k = 0; k < set->count; k++) {
        if (set->left[k] < *n) *n = set->left[k];
        all_ended = all_ended && (set->repeated[k] || !set->left[k]);
    }
    if (!*n && !all_ended) return ended_early(set);
    *last = true;
    for (uint32_t k = 0; k < set->count; k++) {
        set->pieces[k] = set->at[k];
        set->left[k] -= *n;
        if (*n) set->at[k] += *n * set->files[k].item_bytes;
        *last = *last && (set->repeated[k] || (set->last[k] && !set->left[k]));
    }
    *items = set->pieces;
    return true;
}

void inputs_close(inputs *set) {
    for (uint32_t k = 0; k < set->count; k++) {
        input_close(&set->files[k]);
        free(set->repeated[k]);
        set->repeated[k] = NULL;
    }
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
        if (set->files[k].n != INPUT_UNKNOWN && !set->repeated[k]) return set->files[k].n;
    return INPUT_UNKNOWN;
}
