/* SPDX-License-Identifier: MIT */
/*
 * tree_threads: the tree over partials of NVIDIA's GPUs (kernels/warp_tree.h) in threads of the
 * host, under ThreadSanitizer, which ends it with a status of its own if they race. The threads of
 * a group meet at barriers, and so do those of a warp, to exchange values. The combination depends
 * on the order. The result must be that of the aligned binary tree, for so many partials too that
 * the group goes on with what its warps wrote, more than once. So must the result of many groups
 * which finish by blocks, one after the other here, whatever their order.
 *
 * GROUP is the threads of the group, WORDS the words of 8 bytes of an accumulator.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef uint32_t u32;
typedef uint64_t u64;
typedef struct {
    u64 word[WORDS];
} ACC;
#define ACC_BYTES (8 * WORDS)
static _Thread_local u32 thread_id;
static pthread_barrier_t group, warps[GROUP / 32];
static ACC exchanged[GROUP];

/* ---- words of the kernel's language ---------------------------------------------------------- */

#define PTX 1
#define ORDER 1
#define TREE_MANY 100
#define TREE_BLOCK 64
#define min(a, b) ((a) < (b) ? (a) : (b))
#define INLINE static inline
#define GLOBAL
#define LOCAL
#define THREAD_ID thread_id
#define BARRIER pthread_barrier_wait(&group);
#define IDENTITY op_identity()
#define SHUFFLE(NAME, TYPE, MODE)                                                                                              \
    static TYPE NAME(TYPE a, u32 s) {                                                                                          \
        const u32 from = thread_id % 32 + s < 32 ? thread_id + s : thread_id;                                                  \
        exchanged[thread_id] = a;                                                                                              \
        pthread_barrier_wait(&warps[thread_id / 32]);                                                                          \
        a = exchanged[from];                                                                                                   \
        pthread_barrier_wait(&warps[thread_id / 32]);                                                                          \
        return a;                                                                                                              \
    }

#define ARRIVE(before, counter, last) before = arrive(counter, last);
static u32 arrive(u32 *counter, u32 last) {
    const u32 before = __atomic_fetch_add(counter, 1, __ATOMIC_ACQ_REL);
    if (before == last) *counter = 0;
    return before;
}

static ACC op_identity(void) {
    return (ACC){{0}};
}

/* Is neither associative nor commutative. No partial here is the identity. */
static ACC op_combine(ACC a, ACC b) {
    if (!a.word[0]) return b;
    if (!b.word[0]) return a;
    for (int w = 0; w < WORDS; w++) a.word[w] = (3 * a.word[w] + 5 * b.word[w] + (a.word[w] >> 29)) | 1;
    return a;
}

#include "warp_tree.h"

/* ---- a launch -------------------------------------------------------------------------------- */

static ACC *partials, tree[TREE_SLOTS], result;
static u64 count;

static void *run_thread(void *number) {
    thread_id = *(const u32 *)number;
    const ACC a = tree_value(partials, count, tree);
    if (!thread_id) result = a;
    return NULL;
}

static void run_threads(void *(*run)(void *)) {
    pthread_t threads[GROUP];
    u32 numbers[GROUP];
    for (u32 t = 0; t < GROUP; t++) {
        numbers[t] = t;
        if (pthread_create(&threads[t], NULL, run, &numbers[t])) abort();
    }
    for (u32 t = 0; t < GROUP; t++) pthread_join(threads[t], NULL);
}

/* Returns the aligned binary tree over n > 0 partials. */
static ACC aligned_tree(const ACC *from, u64 n) {
    u64 half = 1;
    if (n == 1) return *from;
    while (2 * half < n) half *= 2;
    return op_combine(aligned_tree(from, half), aligned_tree(from + half, n - half));
}

/* Fills `n` partials. */
static void fill(ACC *to, u64 n) {
    for (u64 k = 0; k < n; k++)
        for (int w = 0; w < WORDS; w++) to[k].word[w] = (k * 7919 + (u64)w * 104729 + k * k) | 1;
}

/* ---- many groups ----------------------------------------------------------------------------- */

#define COUNTERS(groups) (1 + ((groups) + TREE_BLOCK - 1) / TREE_BLOCK)
#define FIRST(groups) ((COUNTERS(groups) * sizeof(u32) + sizeof(ACC) - 1) / sizeof(ACC))
static ACC *slots, *given;
static u32 groups, is_last[2], ends;

/* Group by group, in the order of their multiples by an odd number. Every group has a turn, as no
 * number of groups here is a multiple of 7. */
static void *run_groups(void *number) {
    thread_id = *(const u32 *)number;
    for (u32 i = 0; i < groups; i++) {
        const u32 own = (u32)((u64)i * 7 % groups);
        ACC all;
        if (!thread_id) slots[FIRST(groups) + own] = given[own];
        if (tree_of_groups(slots, FIRST(groups), own, groups, tree, is_last, &all) && !thread_id) result = all, ends++;
        BARRIER
    }
    return NULL;
}

static bool is_tree_of_groups(u32 n) {
    const u64 first = FIRST(n);
    bool is = true;
    groups = n;
    slots = calloc(first + n, sizeof(ACC));
    given = calloc(n, sizeof(ACC));
    if (!slots || !given) abort();
    fill(given, n);
    const ACC wanted = aligned_tree(given, n);
    for (int call = 0; call < 2 && is; call++) { /* the second one needs counters of 0 */
        ends = 0;
        run_threads(run_groups);
        is = ends == 1 && memcmp(&result, &wanted, sizeof(ACC)) == 0;
        for (u32 c = 0; c < COUNTERS(n); c++) is = is && !((u32 *)slots)[c];
    }
    if (!is) printf("FAILED: %u groups: %u ends, not the aligned tree, or counters that are not 0\n", n, ends);
    free(slots);
    free(given);
    return is;
}

int main(int argc, char **argv) {
    static const u64 counts[] = {1,
                                 2,
                                 31,
                                 32,
                                 33,
                                 GROUP - 1,
                                 GROUP,
                                 GROUP + 1,
                                 1000,
                                 TILE,
                                 TILE + 1,
                                 GROUP / 32 * TILE,
                                 GROUP * TILE,
                                 2 * GROUP * TILE + 77};
    static const u32 launches[] = {2, 64, 100, 101, 128, 129, 200, 331};
    int bad = 0;
    if (argc > 1) return fprintf(stderr, "%s takes no argument\n", argv[0]), 2;
    pthread_barrier_init(&group, NULL, GROUP);
    for (int w = 0; w < GROUP / 32; w++) pthread_barrier_init(&warps[w], NULL, 32);
    for (size_t i = 0; i < sizeof(counts) / sizeof(counts[0]) && !bad; i++) {
        count = counts[i];
        partials = calloc(count, sizeof(ACC));
        if (!partials) abort();
        fill(partials, count);
        const ACC wanted = aligned_tree(partials, count);
        run_threads(run_thread);
        bad = memcmp(&result, &wanted, sizeof(ACC)) != 0;
        if (bad) printf("FAILED: %llu partials: not the aligned tree\n", (unsigned long long)count);
        free(partials);
    }
    for (size_t i = 0; i < sizeof(launches) / sizeof(launches[0]) && !bad; i++) bad = !is_tree_of_groups(launches[i]);
    printf("up to %llu partials of %d bytes, %d threads\n", (unsigned long long)count, (int)ACC_BYTES, GROUP);
    return bad;
}
