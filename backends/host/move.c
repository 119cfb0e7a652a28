/* SPDX-License-Identifier: MIT */
/* Gather and scatter, as kernels/move.h documents them, the flags of segments (kernels/heads.h),
 * and the kernels that measure memory (read.h, copy.h). A group takes a run of entries. */
#include <stdatomic.h>
#include <string.h>

#include "host.h"
#include "base/pool.h"

/* A launch of tally_move, tally_claim or tally_clear. */
typedef struct move_job {
    unsigned form;
    uint64_t n, run, items;
    const unsigned char *map, *in;
    const uint8_t *stencil;
    unsigned char *out;
    void *bad, *winners; /* positions of 4 or 8 bytes */
} move_job;

/* ---- positions ------------------------------------------------------------------------------- */

static bool is_wide(const move_job *job) {
    return job->form & TALLY_HOST_POSITION_IS_WIDE;
}

static void lower_to(const move_job *job, void *at, uint64_t value) {
    if (is_wide(job)) {
        uint64_t seen = atomic_load((_Atomic uint64_t *)at);
        while (value < seen && !atomic_compare_exchange_weak((_Atomic uint64_t *)at, &seen, value)) {
        }
    } else {
        uint32_t seen = atomic_load((_Atomic uint32_t *)at);
        while (value < seen && !atomic_compare_exchange_weak((_Atomic uint32_t *)at, &seen, (uint32_t)value)) {
        }
    }
}

static void raise_winner(const move_job *job, uint64_t index, uint64_t value) {
    if (is_wide(job)) {
        _Atomic uint64_t *at = (_Atomic uint64_t *)job->winners + index;
        uint64_t seen = atomic_load(at);
        while (value > seen && !atomic_compare_exchange_weak(at, &seen, value)) {
        }
    } else {
        _Atomic uint32_t *at = (_Atomic uint32_t *)job->winners + index;
        uint32_t seen = atomic_load(at);
        while (value > seen && !atomic_compare_exchange_weak(at, &seen, (uint32_t)value)) {
        }
    }
}

static uint64_t winner_at(const move_job *job, uint64_t index) {
    return is_wide(job) ? ((const uint64_t *)job->winners)[index] : ((const uint32_t *)job->winners)[index];
}

/* ---- entries --------------------------------------------------------------------------------- */

/* Returns an entry as an index. A negative entry is beyond all items. */
static inline uint64_t index_at(const unsigned char *map, bool wide, uint64_t i) {
    return wide ? ((const uint64_t *)(const void *)map)[i] : ((const uint32_t *)(const void *)map)[i];
}

/* Moves the plain entries [begin, end). Returns the first that is out of bounds, or `end`. */
#define MOVE(bytes_name, bytes)                                                                                                \
    static inline uint64_t move_##bytes_name(const move_job *job, uint64_t begin, uint64_t end, bool wide, bool scatters) {    \
        for (uint64_t i = begin; i < end; i++) {                                                                               \
            const uint64_t index = index_at(job->map, wide, i);                                                                \
            if (index >= job->items) return i;                                                                                 \
            memcpy(job->out + (scatters ? index : i) * (bytes), job->in + (scatters ? i : index) * (bytes), bytes);            \
        }                                                                                                                      \
        return end;                                                                                                            \
    }                                                                                                                          \
    static uint64_t move_run_##bytes_name(const move_job *job, uint64_t begin, uint64_t end) {                                 \
        const bool wide = job->form & TALLY_HOST_MAP_IS_WIDE;                                                                  \
        if (job->form & TALLY_HOST_SCATTERS)                                                                                   \
            return wide ? move_##bytes_name(job, begin, end, true, true) : move_##bytes_name(job, begin, end, false, true);    \
        return wide ? move_##bytes_name(job, begin, end, true, false) : move_##bytes_name(job, begin, end, false, false);      \
    }
MOVE(1, 1)
MOVE(2, 2)
MOVE(4, 4)
MOVE(8, 8)
MOVE(16, 16)
MOVE(any, (job->form & 15) + 1)

static uint64_t move_plain(const move_job *job, uint64_t begin, uint64_t end) {
    switch ((job->form & 15) + 1) {
    case 1:
        return move_run_1(job, begin, end);
    case 2:
        return move_run_2(job, begin, end);
    case 4:
        return move_run_4(job, begin, end);
    case 8:
        return move_run_8(job, begin, end);
    case 16:
        return move_run_16(job, begin, end);
    default:
        return move_run_any(job, begin, end);
    }
}

/* Tells whether entry i is to be moved, and finds its item. Lowers *lowest to i if the entry is out
 * of bounds. */
static bool is_heeded(const move_job *job, uint64_t i, uint64_t *index, uint64_t *lowest) {
    *index = index_at(job->map, job->form & TALLY_HOST_MAP_IS_WIDE, i);
    if (job->form & TALLY_HOST_HAS_STENCIL && !job->stencil[i]) return false;
    if (job->form & TALLY_HOST_CHECKS && *index >= job->items) {
        if (i < *lowest) *lowest = i;
        return false;
    }
    return true;
}

static void move_group(void *opaque, uint64_t group, uint32_t worker) {
    (void)worker;
    const move_job *job = opaque;
    const uint64_t begin = group * job->run, end = job->n - begin < job->run ? job->n : begin + job->run;
    const uint32_t bytes = (job->form & 15) + 1;
    const bool scatters = job->form & TALLY_HOST_SCATTERS, last = job->form & TALLY_HOST_LAST_WINS;
    uint64_t lowest = UINT64_MAX, i = begin, index;
    if (!last && !(job->form & TALLY_HOST_HAS_STENCIL)) i = move_plain(job, begin, end);
    for (; i < end; i++) {
        if (!is_heeded(job, i, &index, &lowest) || (last && winner_at(job, index) != i + 1)) continue;
        memcpy(job->out + (scatters ? index : i) * bytes, job->in + (scatters ? i : index) * bytes, bytes);
    }
    if (lowest != UINT64_MAX) lower_to(job, job->bad, lowest);
}

/* ---- the kernels of moves -------------------------------------------------------------------- */

static unsigned char *place(const tally_arg *args, uint32_t mem, uint64_t bytes) {
    return host_bytes(&args[mem]) + HOST_VALUE(uint64_t, args[mem + 1]) * bytes;
}

static move_job open_job(const host_kernel *kernel, const tally_arg *args, uint32_t items) {
    const bool wide = kernel->form & TALLY_HOST_MAP_IS_WIDE;
    return (move_job){.form = kernel->form,
                      .map = place(args, 0, wide ? 8 : 4),
                      .n = HOST_VALUE(uint64_t, args[2]),
                      .run = HOST_VALUE(uint64_t, args[3]),
                      .items = HOST_VALUE(uint64_t, args[items]),
                      .stencil = place(args, items + 1, 1)};
}

/* tally_move(map, map_offset, n, run, in, in_offset, items, stencil, stencil_offset, out,
 * out_offset, bad, winners) */
static void run_move(host_kernel *kernel, uint64_t groups, const tally_arg *args) {
    const uint32_t bytes = (kernel->form & 15) + 1;
    move_job job = open_job(kernel, args, 6);
    job.in = place(args, 4, bytes);
    job.out = place(args, 9, bytes);
    job.bad = host_bytes(&args[11]);
    job.winners = host_bytes(&args[12]);
    /* Unchecked entries are in bounds: the caller says so. */
    if (!(kernel->form & TALLY_HOST_CHECKS)) job.items = UINT64_MAX;
    tally_pool_run(kernel->threads, groups, move_group, &job);
}

static void claim_group(void *opaque, uint64_t group, uint32_t worker) {
    (void)worker;
    const move_job *job = opaque;
    const uint64_t begin = group * job->run, end = job->n - begin < job->run ? job->n : begin + job->run;
    uint64_t index, lowest = UINT64_MAX;
    for (uint64_t i = begin; i < end; i++)
        if (is_heeded(job, i, &index, &lowest)) raise_winner(job, index, i + 1);
}

/* tally_claim(map, map_offset, n, run, items, stencil, stencil_offset, winners) */
static void run_claim(host_kernel *kernel, uint64_t groups, const tally_arg *args) {
    move_job job = open_job(kernel, args, 4);
    job.winners = host_bytes(&args[7]);
    tally_pool_run(kernel->threads, groups, claim_group, &job);
}

/* tally_clear(winners, count, run) */
static void run_clear(host_kernel *kernel, uint64_t groups, const tally_arg *args) {
    (void)groups;
    memset(host_bytes(&args[0]), 0, HOST_VALUE(uint64_t, args[1]) * (kernel->form & TALLY_HOST_POSITION_IS_WIDE ? 8 : 4));
}

/* ---- the flags of segments ------------------------------------------------------------------- */

/* tally_heads_clear(heads, n, run) */
static void run_heads_clear(host_kernel *kernel, uint64_t groups, const tally_arg *args) {
    (void)kernel, (void)groups;
    memset(host_bytes(&args[0]), 0, HOST_VALUE(uint64_t, args[1]));
}

/* tally_heads_set(heads, n, offsets, first, count) */
static void run_heads_set(host_kernel *kernel, uint64_t groups, const tally_arg *args) {
    (void)kernel, (void)groups;
    unsigned char *heads = host_bytes(&args[0]);
    const uint64_t n = HOST_VALUE(uint64_t, args[1]), count = HOST_VALUE(uint64_t, args[4]);
    const uint64_t *offsets = (const uint64_t *)(const void *)host_bytes(&args[2]) + HOST_VALUE(uint64_t, args[3]);
    for (uint64_t i = 0; i < count; i++)
        if (offsets[i] < n) heads[offsets[i]] = 1;
}

/* ---- the speed of memory --------------------------------------------------------------------- */

/* tally_read(in, run, out), tally_copy(in, run, out): `run` is 16-byte vectors of a group. */
typedef struct memory_job {
    const uint64_t *in;
    uint64_t *out;
    uint64_t words; /* of a group */
} memory_job;

static void read_group(void *opaque, uint64_t group, uint32_t worker) {
    (void)worker;
    const memory_job *job = opaque;
    const uint64_t *in = job->in + group * job->words;
    uint64_t sums[16] = {0}, all = 0;
    for (uint64_t i = 0; i < job->words; i += 16) {
        __builtin_prefetch(in + i + 512);
        __builtin_prefetch(in + i + 520);
        for (int k = 0; k < 16; k++) sums[k] ^= in[i + (uint64_t)k];
    }
    for (int k = 0; k < 16; k++) all ^= sums[k];
    if (all == 0x9e3779b97f4a7c15U) *(uint32_t *)(void *)job->out = (uint32_t)all;
}

static void copy_group(void *opaque, uint64_t group, uint32_t worker) {
    (void)worker;
    const memory_job *job = opaque;
    memcpy(job->out + group * job->words, job->in + group * job->words, job->words * sizeof(uint64_t));
}

static void run_memory(const host_kernel *kernel, uint64_t groups, const tally_arg *args, tally_pool_group group) {
    memory_job job = {.in = (const uint64_t *)(const void *)host_bytes(&args[0]),
                      .out = (uint64_t *)(void *)host_bytes(&args[2]),
                      .words = 2 * HOST_VALUE(uint64_t, args[1])};
    tally_pool_run(kernel->threads, groups, group, &job);
}

static void run_read(host_kernel *kernel, uint64_t groups, const tally_arg *args) {
    run_memory(kernel, groups, args, read_group);
}

static void run_copy(host_kernel *kernel, uint64_t groups, const tally_arg *args) {
    run_memory(kernel, groups, args, copy_group);
}

bool tally_host_move_entry(host_kernel *kernel, const char *entry) {
    static const struct {
        const char *name;
        host_entry run;
        uint32_t args;
    } entries[] = {{"tally_move", run_move, 13},
                   {"tally_claim", run_claim, 8},
                   {"tally_clear", run_clear, 3},
                   {"tally_heads_clear", run_heads_clear, 3},
                   {"tally_heads_set", run_heads_set, 5},
                   {"tally_read", run_read, 3},
                   {"tally_copy", run_copy, 3}};
    for (size_t i = 0; i < TALLY_ARRAY_LENGTH(entries); i++) {
        if (strcmp(entry, entries[i].name)) continue;
        kernel->run = entries[i].run;
        kernel->args = entries[i].args;
        return true;
    }
    return false;
}
