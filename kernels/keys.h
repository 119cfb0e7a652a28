/* SPDX-License-Identifier: MIT */
/*
 * keys: where runs of equal neighbouring keys begin.
 *
 * Computes: a part in each kernel.
 * - tally_keys_count: the number of runs that begin in each tile
 * - tally_keys_place: for each tile the number of runs in the tiles before it; the number of all
 *   runs, in *runs and after the last tile; begins[runs], which is n
 * - tally_keys_write: the first item of run r, begins[r], and its key
 * - tally_keys_lengths: the length of each run
 * Runs beyond the capacity are counted and not written; begins has capacity + 1 places.
 * How: a key begins a run if any of its bytes differs from the key before. A tile is GROUP * run
 * neighbouring keys. Neighbouring threads look at neighbouring keys, and mark in local memory those
 * that begin runs. Then each thread counts `run` marks, and a scan gives each run its place. On
 * CPUs a group is one thread, which counts without marks.
 * Needs: KEY_BYTES; WORD, the widest word that keys are made of, of WORD_BYTES.
 * Why: keys are read twice, and nothing is kept for each of them.
 */
#if WORD_BYTES == 8
typedef u64 WORD;
#elif WORD_BYTES == 4
typedef u32 WORD;
#elif WORD_BYTES == 2
typedef u16 WORD;
#else
typedef u8 WORD;
#endif
#define KEY_WORDS (KEY_BYTES / WORD_BYTES)

/* A key, as bytes: a compiler takes a pointer to words for aligned. */
typedef GLOBAL const u8 *KEY;
#define IS_ALIGNED(at) (WORD_BYTES == 1 || (u64)(at) % WORD_BYTES == 0)

/* words_differ tells whether two aligned keys differ; bytes_differ takes any two keys. */
INLINE u32 words_differ(KEY a, KEY b) {
    u32 any = 0;
    for (int w = 0; w < KEY_WORDS; w++) any |= ((GLOBAL const WORD *)a)[w] != ((GLOBAL const WORD *)b)[w];
    return any;
}

INLINE u32 bytes_differ(KEY a, KEY b) {
    u32 any = 0;
    for (int k = 0; k < KEY_BYTES; k++) any |= a[k] != b[k];
    return any;
}

/* Tells whether key i, which is not the first, differs from the one before. */
INLINE u32 begins_run(KEY keys, u64 i) {
    KEY own = keys + i * KEY_BYTES;
    return IS_ALIGNED(keys) ? words_differ(own, own - KEY_BYTES) : bytes_differ(own, own - KEY_BYTES);
}

/* Sums `own` over the group: sums[t + 1] becomes the sum of threads 0 to t, and sums[0] is 0. */
#define SUM_STEP(s)                                                                                                            \
    before = THREAD_ID >= (s) ? sums[THREAD_ID + 1 - (s)] : 0;                                                                 \
    BARRIER                                                                                                                    \
    sums[THREAD_ID + 1] += before;                                                                                             \
    BARRIER
#if GROUP > 1
#define SUM_STEPS SUM_STEP(1) SUM_STEP(2) SUM_STEP(4) SUM_STEP(8) SUM_STEP(16) SUM_STEP(32) SUM_STEP(64) SUM_STEP(128)
#else
#define SUM_STEPS
#endif
#define SUM_OF_GROUP(own)                                                                                                      \
    SHARED u64 sums[GROUP + 1];                                                                                                \
    u64 before = 0;                                                                                                            \
    sums[THREAD_ID + 1] = (own);                                                                                               \
    if (THREAD_ID == 0) sums[0] = 0;                                                                                           \
    BARRIER                                                                                                                    \
    SUM_STEPS(void) before;

#if GROUP > 1
#define RUN 32 /* keys of a thread */
typedef union {
    u8 mark[GROUP * RUN];
    u32 word[GROUP * RUN / 4];
} MARKS;

/* Marks the keys of the group's tile that begin runs. */
INLINE void make_marks(KEY keys, u64 n, LOCAL MARKS *marks) {
    const u64 tile = GROUP_ID * (GROUP * RUN);
    KEY own = keys + (tile + THREAD_ID) * KEY_BYTES;
    if (tile && tile + GROUP * RUN <= n && IS_ALIGNED(keys)) { /* each key has one before it, so loads wait for nothing */
#pragma unroll 8
        for (u32 k = 0; k < RUN; k++, own += GROUP * KEY_BYTES)
            marks->mark[k * GROUP + THREAD_ID] = (u8)words_differ(own, own - KEY_BYTES);
        return;
    }
    KEEP_ROLLED
    for (u32 k = 0; k < RUN; k++) {
        const u64 i = tile + k * GROUP + THREAD_ID;
        marks->mark[k * GROUP + THREAD_ID] = i < n && (i == 0 || begins_run(keys, i));
    }
}

/* Returns how many of the thread's own keys are marked. */
INLINE u32 count_marks(const LOCAL MARKS *marks) {
    u32 count = 0;
#pragma unroll
    for (u32 w = 0; w < RUN / 4; w++) count += marks->word[THREAD_ID * (RUN / 4) + w] * 0x01010101u >> 24;
    return count;
}

KERNEL BOUNDS void tally_keys_count(KEY keys, u64 keys_offset, u64 n, u64 run, GLOBAL u64 *tiles) {
    SHARED MARKS marks;
    (void)run;
    make_marks(keys + keys_offset * KEY_BYTES, n, &marks);
    BARRIER
    SUM_OF_GROUP(count_marks(&marks))
    if (THREAD_ID == 0) tiles[GROUP_ID] = sums[GROUP];
}
#else
/* Counts the runs that begin in [from, to). The loop becomes vectors on CPUs. */
INLINE u32 count_runs(KEY keys, u64 from, u64 to) {
    u32 count = from == 0 && from < to;
    const u64 begin = from + (from == 0);
    if (IS_ALIGNED(keys)) {
        for (u64 i = begin; i < to; i++) count += words_differ(keys + i * KEY_BYTES, keys + (i - 1) * KEY_BYTES);
    } else {
        for (u64 i = begin; i < to; i++) count += bytes_differ(keys + i * KEY_BYTES, keys + (i - 1) * KEY_BYTES);
    }
    return count;
}

#define OWN_KEYS const u64 from = min(n, GROUP_ID * run), to = min(n, from + run);

KERNEL BOUNDS void tally_keys_count(KEY keys, u64 keys_offset, u64 n, u64 run, GLOBAL u64 *tiles) {
    keys += keys_offset * KEY_BYTES;
    OWN_KEYS
    tiles[GROUP_ID] = count_runs(keys, from, to);
}
#endif

/* One group runs this kernel. */
KERNEL BOUNDS void tally_keys_place(GLOBAL u64 *tiles, u64 count, u64 n, u64 capacity, GLOBAL u64 *begins, GLOBAL u64 *runs,
                                    u64 runs_offset) {
    const u64 each = (count + GROUP - 1) / GROUP, from = min(count, THREAD_ID * each), to = min(count, from + each);
    u64 own = 0;
    for (u64 i = from; i < to; i++) own += tiles[i];
    SUM_OF_GROUP(own)
    u64 place = sums[THREAD_ID];
    for (u64 i = from; i < to; i++) {
        const u64 tile = tiles[i];
        tiles[i] = place;
        place += tile;
    }
    if (THREAD_ID) return;
    tiles[count] = runs[runs_offset] = sums[GROUP];
    if (sums[GROUP] <= capacity) begins[sums[GROUP]] = n;
}

INLINE void copy_key(GLOBAL u8 *to, KEY from) {
    if (IS_ALIGNED(to) && IS_ALIGNED(from)) {
        for (int w = 0; w < KEY_WORDS; w++) ((GLOBAL WORD *)to)[w] = ((GLOBAL const WORD *)from)[w];
    } else {
        for (int k = 0; k < KEY_BYTES; k++) to[k] = from[k];
    }
}

#define WRITE_ARGS                                                                                                             \
    KEY keys, u64 keys_offset, u64 n, u64 run, GLOBAL const u64 *tiles, u64 capacity, GLOBAL u64 *begins, GLOBAL u8 *out_keys, \
        u64 out_keys_offset, u32 wants_keys
/* Writes where run `place` begins, at key i, and its key. */
#define WRITE_RUN(place, i)                                                                                                    \
    {                                                                                                                          \
        if ((place) <= capacity) begins[place] = i;                                                                            \
        if ((place) < capacity && wants_keys)                                                                                  \
            copy_key(out_keys + (out_keys_offset + (place)) * KEY_BYTES, keys + (i)*KEY_BYTES);                                \
    }

#if GROUP > 1
/* Neighbouring threads write neighbouring runs: local memory has the key that each begins with. */
KERNEL BOUNDS void tally_keys_write(WRITE_ARGS) {
    SHARED MARKS marks;
    SHARED u16 firsts[GROUP * RUN];
    (void)run;
    keys += keys_offset * KEY_BYTES;
    const u32 any = tiles[GROUP_ID] != tiles[GROUP_ID + 1]; /* else no key is read again */
    if (any) make_marks(keys, n, &marks);
    BARRIER
    SUM_OF_GROUP(any ? count_marks(&marks) : 0)
    u32 place = (u32)sums[THREAD_ID];
    for (u32 k = THREAD_ID * RUN; any && k < (THREAD_ID + 1) * RUN; k++)
        if (marks.mark[k]) firsts[place++] = (u16)k;
    BARRIER
    for (u32 r = THREAD_ID; r < (u32)sums[GROUP]; r += GROUP) {
        const u64 at = tiles[GROUP_ID] + r, i = GROUP_ID * (GROUP * RUN) + firsts[r];
        WRITE_RUN(at, i)
    }
}
#else
/* Keys that a thread counts at once, before it looks for the runs among them. */
#define PIECE 64

KERNEL BOUNDS void tally_keys_write(WRITE_ARGS) {
    keys += keys_offset * KEY_BYTES;
    OWN_KEYS
    u64 place = tiles[GROUP_ID];
    for (u64 piece = from; piece < to; piece += PIECE) {
        const u64 end = min(to, piece + PIECE);
        if (!count_runs(keys, piece, end)) continue;
        for (u64 i = piece; i < end; i++) {
            if (i && !begins_run(keys, i)) continue;
            WRITE_RUN(place, i)
            place++;
        }
    }
}
#endif

KERNEL BOUNDS void tally_keys_lengths(GLOBAL const u64 *begins, GLOBAL const u64 *runs, u64 runs_offset, u64 capacity,
                                      GLOBAL u64 *lengths, u64 lengths_offset) {
    const u64 count = min(capacity, runs[runs_offset]);
    for (u64 r = GROUP_ID * GROUP + THREAD_ID; r < count; r += GROUP_COUNT * GROUP)
        lengths[lengths_offset + r] = begins[r + 1] - begins[r];
}
