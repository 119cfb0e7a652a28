/* SPDX-License-Identifier: MIT */
/*
 * scan_threads: a program of cpu_scan (scan_threads_program.c) in threads that take one group after
 * another, as a CPU's OpenCL runs it, under ThreadSanitizer, which ends it with a status of its own
 * if groups race. Call after call on one workspace, the values must have the bits of the same
 * program in one thread, where no group waits. The conformance tests check that those are right.
 *
 * IN_PLACE: in place, with unlimited patience. Otherwise a group's fallback reads items that others
 * may be overwriting, and throws the result away: a race on purpose.
 *
 * ThreadSanitizer knows no fences. The kernel's fences are for that race and for stores past the
 * caches. They order nothing that is watched here.
 */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Words that src/host/prelude.h, made for kernels of one group and without vectors, does not
 * have. */
typedef uint32_t uint4 __attribute__((vector_size(16)));
typedef uint32_t uint16 __attribute__((vector_size(64)));
static uint64_t group_count; /* groups of the running launch */
#define get_num_groups(dimension) group_count
#ifdef IN_PLACE
#define SPINS UINT32_MAX
#endif
#include "scan_program.h"

#define THREADS 4
#define BLOCK_ITEMS (WIDTH * TILE_ITEMS)
#define ROUNDS 2

/* A call that continues begins behind the items of the call before it. */
static const struct {
    u64 n;
    u32 continues;
} calls[] = {{1, 0},
             {1000, 0},
             {TILE_ITEMS, 0},
             {2 * BLOCK_ITEMS, 0},
             {3 * BLOCK_ITEMS + 5 * TILE_ITEMS + 77, 1},
             {((u64)16 << 20) / sizeof(RESULT) + TILE_ITEMS + 77, 0}}; /* its values are stored past the caches */
#define CALLS (sizeof(calls) / sizeof(calls[0]))
#define MAX_N (((u64)16 << 20) / sizeof(RESULT) + 2 * TILE_ITEMS)
#define CAPACITY ((MAX_N / TILE_ITEMS + TILES_EACH) / TILES_EACH * TILES_EACH)

/* The memory of a plan and its caller: one for all threads, and one for the single thread. */
typedef struct side {
    u64 *words;
    SCAN *values;
    ITEM *in;
    RESULT *out;
} side;

static u8 heads[MAX_N];

static void *zeros(u64 count, u64 bytes) {
    void *room = calloc(count, bytes);
    if (!room) abort();
    return room;
}

static side open_side(void) {
    side s;
    s.words = zeros(2 * LINE + (CAPACITY + WIDTH - 1) / WIDTH * BLOCK_LINES + CAPACITY * PARTS, sizeof(u64));
    s.values = zeros(2, sizeof(SCAN));
    s.in = zeros(MAX_N, sizeof(ITEM));
#ifdef IN_PLACE
    s.out = s.in;
#else
    s.out = zeros(MAX_N, sizeof(RESULT));
#endif
    return s;
}

/* Sums of these floats round. Segments begin in one block of three, so some are parts of a tile and
 * some are longer than a block. */
static void fill(const side *s) {
    static u64 x;
    for (u64 i = 0; i < MAX_N; i++) {
        x = x * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
        s->in[i] = (ITEM)((int)(x >> 40) % 2003 - 1001) / 7;
        heads[i] = i / BLOCK_ITEMS % 3 == 1 && (x >> 32) % 5003 == 0;
    }
}

/* ---- a launch -------------------------------------------------------------------------------- */

typedef struct launch {
    const side *s;
    u64 base, n, begun;
    u32 flow;
} launch;

static void *run_groups(void *argument) {
    launch *l = argument;
    const PARAMS none = {{0}};
    /* Relaxed: only the kernel's own operations may order groups. */
    while (__atomic_fetch_add(&l->begun, 1, __ATOMIC_RELAXED) < group_count)
        tally_scan_items(l->s->in, l->base, none, heads, l->base, l->base, l->n, 1, CAPACITY, l->s->words, l->s->values,
                         l->flow, l->s->out, l->base, 0);
    return NULL;
}

static void run(launch l, int threads) {
    pthread_t others[THREADS];
    group_count = (l.n + TILE_ITEMS * TILES_EACH - 1) / (TILE_ITEMS * TILES_EACH);
    for (int t = 1; t < threads; t++)
        if (pthread_create(&others[t], NULL, run_groups, &l)) abort();
    run_groups(&l);
    for (int t = 1; t < threads; t++) pthread_join(others[t], NULL);
}

/* ---- calls ----------------------------------------------------------------------------------- */

static int differs(const side *all, const side *alone, u64 base, u64 n, u64 call) {
    for (u64 i = base; i < base + n; i++)
        if (memcmp(&all->out[i], &alone->out[i], sizeof(RESULT))) {
            printf("FAILED: call %llu, n=%llu: value %llu is not that of one thread\n", (unsigned long long)call,
                   (unsigned long long)n, (unsigned long long)(i - base));
            return 1;
        }
    return 0;
}

int main(int argc, char **argv) {
    if (argc > 1) return fprintf(stderr, "%s takes no argument\n", argv[0]), 2;
    const side all = open_side(), alone = open_side();
    u64 base = 0, call = 0, groups = 0;
    int bad = 0;
    for (; call < ROUNDS * CALLS && !bad; call++) {
        const u64 n = calls[call % CALLS].n;
        const u32 continues = calls[call % CALLS].continues;
        base = continues ? base : 0;
        if (!continues) {
            fill(&all);
            memcpy(alone.in, all.in, MAX_N * sizeof(ITEM));
        }
        const u32 flow = (u32)(call & 1) | continues << 1;
        run((launch){.s = &alone, .base = base, .n = n, .flow = flow}, 1);
        run((launch){.s = &all, .base = base, .n = n, .flow = flow}, THREADS);
        bad = differs(&all, &alone, base, n, call);
        groups += group_count;
        base += n;
    }
    printf("%llu calls, %llu groups of %d tiles, %d threads\n", (unsigned long long)call, (unsigned long long)groups,
           TILES_EACH, THREADS);
    return bad;
}
