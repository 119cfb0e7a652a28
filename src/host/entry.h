/* SPDX-License-Identifier: MIT */
/* entry: the end of a program for the host: the function that the library calls
 * (tally_host_function in host.h). The generator defines its name, ENTRY, and the default
 * parameters of the op, DEFAULTS. */
size_t ENTRY(const void *const *items, u64 n, void *result);

size_t ENTRY(const void *const *items, u64 n, void *result) {
    enum { x_INDEX, y_INDEX };
    const PARAMS params = DEFAULTS;
    ACC partial;
    RESULT r;
#define ARGUMENT(name) (const ITEM *)items[name##_INDEX], 0,
    tally_partials(EACH_INPUT(ARGUMENT) params, 0, n, n / CHUNK_ITEMS + 1, &partial, 0, &r, 0, ALONE);
    memcpy(result, &r, sizeof(r)); /* the caller's result may be unaligned */
    return sizeof(r);
}
