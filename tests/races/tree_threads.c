/* SPDX-License-Identifier: MIT */
/*
 * tree_threads: the tree over partials of NVIDIA's GPUs (kernels/warp_tree.h) in threads of the
 * host, under ThreadSanitizer, which ends it with a status of its own if they race. The threads of
 * a group meet at barriers, and so do those of a warp, to exchange values. The combination depends
 * on the order. The result must be that of the aligned binary tree, for so many partials too that
 * the group goes on with what its warps wrote, more than once.
 *
 * GROUP is the threads of the group, WORDS the words of 8 bytes of an accumulator.
 */
#define _GNU_SOURCE
#include <pthread.h>
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

static void run_group(void) {
    pthread_t threads[GROUP];
    u32 numbers[GROUP];
    for (u32 t = 0; t < GROUP; t++) {
        numbers[t] = t;
        if (pthread_create(&threads[t], NULL, run_thread, &numbers[t])) abort();
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
    int bad = 0;
    if (argc > 1) return fprintf(stderr, "%s takes no argument\n", argv[0]), 2;
    pthread_barrier_init(&group, NULL, GROUP);
    for (int w = 0; w < GROUP / 32; w++) pthread_barrier_init(&warps[w], NULL, 32);
    for (size_t i = 0; i < sizeof(counts) / sizeof(counts[0]) && !bad; i++) {
        count = counts[i];
        partials = calloc(count, sizeof(ACC));
        if (!partials) abort();
        for (u64 k = 0; k < count; k++)
            for (int w = 0; w < WORDS; w++) partials[k].word[w] = (k * 7919 + (u64)w * 104729 + k * k) | 1;
        const ACC wanted = aligned_tree(partials, count);
        run_group();
        bad = memcmp(&result, &wanted, sizeof(ACC)) != 0;
        if (bad) printf("FAILED: %llu partials: not the aligned tree\n", (unsigned long long)count);
        free(partials);
    }
    printf("up to %llu partials of %d bytes, %d threads\n", (unsigned long long)count, (int)ACC_BYTES, GROUP);
    return bad;
}
