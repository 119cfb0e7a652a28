/* SPDX-License-Identifier: MIT */
/*
 * entry: what stands behind the stems in a program for the host: the function that the library calls (tally_host_function in core.h). The
 * generator defines its name, ENTRY, and the op's parameters as they are by default, DEFAULTS.
 */
size_t ENTRY(const void *const *items, u64 n, void *result);

size_t ENTRY(const void *const *items, u64 n, void *result) {
    enum { x_INDEX, y_INDEX };
    const PARAMS params = DEFAULTS;
    ACC partial;
    RESULT r;
#define ARGUMENT(name) (const ITEM *)items[name##_INDEX], 0,
    tally_partials(EACH_INPUT(ARGUMENT) params, 0, n, n / CHUNK_ITEMS + 1, &partial, 0, &r, 0, ALONE);
    memcpy(result, &r, sizeof(r)); /* the caller's may be aligned to nothing */
    return sizeof(r);
}
