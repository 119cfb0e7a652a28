/* SPDX-License-Identifier: MIT */
/* entry: the end of a program for the host: the function that the library calls
 * (tally_host_function in host.h). The generator defines its name, ENTRY, and the default
 * parameters of the op, DEFAULTS. */
size_t ENTRY(const void *const *items, u64 n, void *result);

INLINE size_t reduce(const void *const *items, u64 n, void *result) {
    enum { x_INDEX, y_INDEX };
    const PARAMS params = DEFAULTS;
    ACC partial;
    RESULT r;
#define ARGUMENT(name) (const ITEM *)items[name##_INDEX], 0,
    tally_partials(EACH_INPUT(ARGUMENT) params, 0, n, n / CHUNK_ITEMS + 1, &partial, 0, &r, 0, ALONE);
    memcpy(result, &r, sizeof(r)); /* the caller's result may be unaligned */
    return sizeof(r);
}

/*
 * Without the instruction fma is a call: 4,096 items of logsumexp take 99 us instead of 17 (a Xeon,
 * gcc 12, November 2026). So programs with exponentials have everything twice.
 */
#if defined(f32_LOG2_E) && defined(__x86_64__) && defined(__GNUC__)
__attribute__((target("avx2,fma"), flatten)) static size_t reduce_by_fma(const void *const *items, u64 n, void *result) {
    return reduce(items, n, result);
}

size_t ENTRY(const void *const *items, u64 n, void *result) {
    const int has_fma = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
    return has_fma ? reduce_by_fma(items, n, result) : reduce(items, n, result);
}
#else
size_t ENTRY(const void *const *items, u64 n, void *result) {
    return reduce(items, n, result);
}
#endif
