/* SPDX-License-Identifier: MIT */
/* Offsets and keys of segments, as kernels/offsets.h and kernels/keys.h document them. A group
 * takes a run of entries. */
#include <string.h>

#include "host.h"
#include "base/pool.h"

/* Returns the address of a place: `mem` and an offset, in entries of `bytes` bytes. */
static unsigned char *place(const tally_arg *args, uint32_t mem, uint64_t bytes) {
    return host_bytes(&args[mem]) + HOST_VALUE(uint64_t, args[mem + 1]) * bytes;
}

/* ---- offsets --------------------------------------------------------------------------------- */

typedef struct check_job {
    uint32_t bytes; /* of an offset */
    const unsigned char *begins, *ends;
    uint64_t count, n, run, *bad;
} check_job;

/* Tells whether an offset is wrong. */
static inline bool is_bad(const check_job *job, bool wide, uint64_t s) {
    const uint64_t begin =
        wide ? ((const uint64_t *)(const void *)job->begins)[s] : ((const uint32_t *)(const void *)job->begins)[s];
    const uint64_t end = wide ? ((const uint64_t *)(const void *)job->ends)[s] : ((const uint32_t *)(const void *)job->ends)[s];
    return (begin > end) | (end > job->n);
}

static inline uint64_t find_bad(const check_job *job, bool wide, uint64_t s, uint64_t end) {
    while (s < end && !is_bad(job, wide, s)) s++;
    return s < end ? s : UINT64_MAX;
}

static void check_group(void *opaque, uint64_t group, uint32_t worker) {
    (void)worker;
    const check_job *job = opaque;
    const uint64_t first = group * job->run < job->count ? group * job->run : job->count;
    const uint64_t end = job->count - first < job->run ? job->count : first + job->run;
    job->bad[group] = job->bytes == 8 ? find_bad(job, true, first, end) : find_bad(job, false, first, end);
}

/* tally_offsets_check(begins, begins_offset, ends, ends_offset, count, n, run, bad) */
static void run_check(host_kernel *kernel, uint64_t groups, const tally_arg *args) {
    check_job job = {.bytes = kernel->form,
                     .begins = place(args, 0, kernel->form),
                     .ends = place(args, 2, kernel->form),
                     .count = HOST_VALUE(uint64_t, args[4]),
                     .n = HOST_VALUE(uint64_t, args[5]),
                     .run = HOST_VALUE(uint64_t, args[6]),
                     .bad = (uint64_t *)(void *)host_bytes(&args[7])};
    tally_pool_run(kernel->threads, groups, check_group, &job);
}

/* ---- keys ------------------------------------------------------------------------------------ */

typedef struct keys_job {
    uint32_t bytes; /* of a key */
    const unsigned char *keys;
    uint64_t n, run, capacity;
    uint64_t *tiles, *begins;
    unsigned char *out_keys; /* NULL: not wanted */
} keys_job;

/* Counts the runs that begin in [from, to). `writes`: also writes where they begin and their keys,
 * the first of them as run `first`. A compiler that knows `bytes` compares keys by words, at any
 * address. */
static inline uint64_t find_runs_of(const keys_job *job, uint32_t bytes, uint64_t from, uint64_t to, uint64_t first,
                                    bool writes) {
    const unsigned char *keys = job->keys;
    uint64_t run = first;
    for (uint64_t i = from; i < to; i++) {
        if (i && !memcmp(keys + i * bytes, keys + (i - 1) * bytes, bytes)) continue;
        if (writes && run <= job->capacity) job->begins[run] = i;
        if (writes && run < job->capacity && job->out_keys) memcpy(job->out_keys + run * bytes, keys + i * bytes, bytes);
        run++;
    }
    return run - first;
}

static inline uint64_t find_runs(const keys_job *job, uint64_t group, uint64_t first, bool writes) {
    const uint64_t from = group * job->run < job->n ? group * job->run : job->n;
    const uint64_t to = job->n - from < job->run ? job->n : from + job->run;
    switch (job->bytes) {
    case 1:
        return find_runs_of(job, 1, from, to, first, writes);
    case 2:
        return find_runs_of(job, 2, from, to, first, writes);
    case 4:
        return find_runs_of(job, 4, from, to, first, writes);
    case 8:
        return find_runs_of(job, 8, from, to, first, writes);
    default:
        return find_runs_of(job, job->bytes, from, to, first, writes);
    }
}

static void count_group(void *opaque, uint64_t group, uint32_t worker) {
    (void)worker;
    const keys_job *job = opaque;
    job->tiles[group] = find_runs(job, group, 0, false);
}

static void write_group(void *opaque, uint64_t group, uint32_t worker) {
    (void)worker;
    const keys_job *job = opaque;
    find_runs(job, group, job->tiles[group], true);
}

/* tally_keys_count(keys, keys_offset, n, run, tiles) */
static void run_count(host_kernel *kernel, uint64_t groups, const tally_arg *args) {
    keys_job job = {.bytes = kernel->form,
                    .keys = place(args, 0, kernel->form),
                    .n = HOST_VALUE(uint64_t, args[2]),
                    .run = HOST_VALUE(uint64_t, args[3]),
                    .tiles = (uint64_t *)(void *)host_bytes(&args[4])};
    tally_pool_run(kernel->threads, groups, count_group, &job);
}

/* tally_keys_place(tiles, count, n, capacity, begins, runs, runs_offset) */
static void run_place(host_kernel *kernel, uint64_t groups, const tally_arg *args) {
    (void)kernel, (void)groups;
    uint64_t *tiles = (uint64_t *)(void *)host_bytes(&args[0]), *begins = (uint64_t *)(void *)host_bytes(&args[4]);
    const uint64_t count = HOST_VALUE(uint64_t, args[1]), n = HOST_VALUE(uint64_t, args[2]);
    uint64_t runs = 0;
    for (uint64_t i = 0; i < count; i++) {
        const uint64_t own = tiles[i];
        tiles[i] = runs;
        runs += own;
    }
    *(uint64_t *)(void *)place(args, 5, sizeof(uint64_t)) = runs;
    if (runs <= HOST_VALUE(uint64_t, args[3])) begins[runs] = n;
}

/* tally_keys_write(keys, keys_offset, n, run, tiles, capacity, begins, out_keys, out_keys_offset,
 * wants_keys) */
static void run_write(host_kernel *kernel, uint64_t groups, const tally_arg *args) {
    keys_job job = {.bytes = kernel->form,
                    .keys = place(args, 0, kernel->form),
                    .n = HOST_VALUE(uint64_t, args[2]),
                    .run = HOST_VALUE(uint64_t, args[3]),
                    .tiles = (uint64_t *)(void *)host_bytes(&args[4]),
                    .capacity = HOST_VALUE(uint64_t, args[5]),
                    .begins = (uint64_t *)(void *)host_bytes(&args[6]),
                    .out_keys = HOST_VALUE(uint32_t, args[9]) ? place(args, 7, kernel->form) : NULL};
    tally_pool_run(kernel->threads, groups, write_group, &job);
}

/* tally_keys_lengths(begins, runs, runs_offset, capacity, lengths, lengths_offset) */
static void run_lengths(host_kernel *kernel, uint64_t groups, const tally_arg *args) {
    (void)kernel, (void)groups;
    const uint64_t *begins = (const uint64_t *)(const void *)host_bytes(&args[0]);
    const uint64_t runs = *(const uint64_t *)(const void *)place(args, 1, sizeof(uint64_t));
    const uint64_t capacity = HOST_VALUE(uint64_t, args[3]), count = runs < capacity ? runs : capacity;
    uint64_t *lengths = (uint64_t *)(void *)place(args, 4, sizeof(uint64_t));
    for (uint64_t r = 0; r < count; r++) lengths[r] = begins[r + 1] - begins[r];
}

bool tally_host_keys_entry(host_kernel *kernel, const char *entry) {
    static const struct {
        const char *name;
        host_entry run;
        uint32_t args;
    } entries[] = {{"tally_offsets_check", run_check, 8},
                   {"tally_keys_count", run_count, 5},
                   {"tally_keys_place", run_place, 7},
                   {"tally_keys_write", run_write, 10},
                   {"tally_keys_lengths", run_lengths, 6}};
    for (size_t i = 0; i < TALLY_ARRAY_LENGTH(entries); i++) {
        if (strcmp(entry, entries[i].name)) continue;
        kernel->run = entries[i].run;
        kernel->args = entries[i].args;
        return true;
    }
    return false;
}
