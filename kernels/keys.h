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
 * neighbouring keys. On GPUs neighbouring threads look at neighbouring keys. tally_keys_count keeps
 * a bit for each key, behind the numbers of the tiles, and tally_keys_write reads these bits. On
 * CPUs a group is one thread, which looks at the keys twice.
 * Needs: KEY_BYTES; WORD, the widest word that keys are made of, of WORD_BYTES; BEGIN, the type of
 * begins.
 * Why: a GPU reads the keys once, and where few runs begin it reads and writes little else.
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

/* Sums `own` over the group: sums[t + 1] becomes the sum of threads 0 to t, and sums[0] is 0. The
 * kernel has the array `sums` of GROUP + 1 TYPEs. */
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
#define SUM_OF_GROUP(TYPE, own)                                                                                                \
    TYPE before = 0;                                                                                                           \
    sums[THREAD_ID + 1] = (own);                                                                                               \
    if (THREAD_ID == 0) sums[0] = 0;                                                                                           \
    BARRIER                                                                                                                    \
    SUM_STEPS(void) before;

#if GROUP > 1
#define WIDTH 32 /* keys of a word, threads of a warp */
/* The words of the group's tile, one for each thread. They stand behind `tiles`. */
#define OWN_WORDS ((GLOBAL u32 *)(tiles + GROUP_COUNT + 1) + GROUP_ID * GROUP)

/* Puts a word with a bit of each thread of a warp into local memory; it was 0 before. */
#ifdef __CUDA_ARCH__
#define COUNT_BITS(word) (u32) __popc(word)
#define PUT_BITS(word, bit)                                                                                                    \
    {                                                                                                                          \
        const u32 all = __ballot_sync(0xffffffffu, bit);                                                                       \
        if (THREAD_ID % WIDTH == 0) *(word) = all;                                                                             \
    }
#else
#define COUNT_BITS(word) popcount(word)
#define PUT_BITS(word, bit)                                                                                                    \
    if (bit) atomic_or((volatile LOCAL u32 *)(word), 1U << THREAD_ID % WIDTH);
#endif

/* Sets the bit of each key of the group's tile that begins a run. Bit b of word w is of key
 * 32 w + b. */
INLINE void mark_runs(KEY keys, u64 n, LOCAL u32 *words) {
    const u64 tile = GROUP_ID * (GROUP * WIDTH);
    LOCAL u32 *word = words + THREAD_ID / WIDTH;
    KEY own = keys + (tile + THREAD_ID) * KEY_BYTES;
    if (tile && tile + GROUP * WIDTH <= n && IS_ALIGNED(keys)) { /* each key has one before it, so loads wait for nothing */
#pragma unroll 8
        for (u32 k = 0; k < WIDTH; k++, own += GROUP * KEY_BYTES, word += GROUP / WIDTH)
            PUT_BITS(word, words_differ(own, own - KEY_BYTES))
        return;
    }
    KEEP_ROLLED
    for (u32 k = 0; k < WIDTH; k++, word += GROUP / WIDTH) {
        const u64 i = tile + k * GROUP + THREAD_ID;
        PUT_BITS(word, i < n && (i == 0 || begins_run(keys, i)))
    }
}

KERNEL BOUNDS void tally_keys_count(KEY keys, u64 keys_offset, u64 n, u64 run, GLOBAL u64 *tiles) {
    SHARED u32 words[GROUP];
    SHARED u32 sums[GROUP + 1];
    (void)run;
    words[THREAD_ID] = 0;
    BARRIER
    mark_runs(keys + keys_offset * KEY_BYTES, n, words);
    BARRIER
    OWN_WORDS[THREAD_ID] = words[THREAD_ID];
    SUM_OF_GROUP(u32, COUNT_BITS(words[THREAD_ID]))
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

#define EACH 16 /* tiles that a thread of the next kernel places at once */
/* One group runs this kernel. */
KERNEL BOUNDS void tally_keys_place(GLOBAL u64 *tiles, u64 count, u64 n, u64 capacity, GLOBAL BEGIN *begins, GLOBAL u64 *runs,
                                    u64 runs_offset) {
    SHARED u64 sums[GROUP + 1];
    u64 all = 0;
    for (u64 at = 0; at < count; at += GROUP * EACH) {
        u64 place[EACH], own = 0;
#pragma unroll
        for (u32 k = 0; k < EACH; k++) {
            const u64 i = at + THREAD_ID * EACH + k, runs_here = i < count ? tiles[i] : 0;
            place[k] = own;
            own += runs_here;
        }
        SUM_OF_GROUP(u64, own)
#pragma unroll
        for (u32 k = 0; k < EACH; k++)
            if (at + THREAD_ID * EACH + k < count) tiles[at + THREAD_ID * EACH + k] = all + sums[THREAD_ID] + place[k];
        all += sums[GROUP];
        BARRIER
    }
    if (THREAD_ID) return;
    tiles[count] = runs[runs_offset] = all;
    if (all <= capacity) begins[all] = (BEGIN)n;
}

INLINE void copy_key(GLOBAL u8 *to, KEY from) {
    if (IS_ALIGNED(to) && IS_ALIGNED(from)) {
        for (int w = 0; w < KEY_WORDS; w++) ((GLOBAL WORD *)to)[w] = ((GLOBAL const WORD *)from)[w];
    } else {
        for (int k = 0; k < KEY_BYTES; k++) to[k] = from[k];
    }
}

#define WRITE_ARGS                                                                                                             \
    KEY keys, u64 keys_offset, u64 n, u64 run, GLOBAL const u64 *tiles, u64 capacity, GLOBAL BEGIN *begins,                    \
        GLOBAL u8 *out_keys, u64 out_keys_offset, u32 wants_keys
/* Writes where run `place` begins, at key i, and its key. */
#define WRITE_RUN(place, i)                                                                                                    \
    {                                                                                                                          \
        if ((place) <= capacity) begins[place] = (BEGIN)(i);                                                                   \
        if ((place) < capacity && wants_keys)                                                                                  \
            copy_key(out_keys + (out_keys_offset + (place)) * KEY_BYTES, keys + (i)*KEY_BYTES);                                \
    }

#if GROUP > 1
/* Fewest runs of a tile that a warp writes word by word. */
#define MANY_RUNS (GROUP * WIDTH / 8)

/* If there are many runs, a warp takes the words of its threads in turn: a thread for each key, so
 * that neighbouring threads write neighbouring runs. Else a thread takes the bits of its own
 * word. */
KERNEL BOUNDS void tally_keys_write(WRITE_ARGS) {
    SHARED u32 words[GROUP], sums[GROUP + 1];
    (void)run;
    (void)n;
    keys += keys_offset * KEY_BYTES;
    words[THREAD_ID] = OWN_WORDS[THREAD_ID];
    SUM_OF_GROUP(u32, COUNT_BITS(words[THREAD_ID]))
    const u32 bit = THREAD_ID % WIDTH, first = THREAD_ID - bit;
    const u64 place = tiles[GROUP_ID], tile = GROUP_ID * (GROUP * WIDTH);
    if (sums[GROUP] < MANY_RUNS) {
        u64 at = place + sums[THREAD_ID];
        KEEP_ROLLED
        for (u32 word = words[THREAD_ID]; word; word &= word - 1, at++)
            WRITE_RUN(at, tile + THREAD_ID * WIDTH + COUNT_BITS((word & (0U - word)) - 1))
        return;
    }
    KEEP_ROLLED
    for (u32 w = first; w < first + WIDTH; w++) {
        const u32 word = words[w];
        if (!(word >> bit & 1)) continue;
        const u64 at = place + sums[w] + COUNT_BITS(word & ((1U << bit) - 1));
        WRITE_RUN(at, tile + w * WIDTH + bit)
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

KERNEL BOUNDS void tally_keys_lengths(GLOBAL const BEGIN *begins, GLOBAL const u64 *runs, u64 runs_offset, u64 capacity,
                                      GLOBAL u64 *lengths, u64 lengths_offset) {
    const u64 count = min(capacity, runs[runs_offset]);
    for (u64 r = GROUP_ID * GROUP + THREAD_ID; r < count; r += GROUP_COUNT * GROUP)
        lengths[lengths_offset + r] = (u64)begins[r + 1] - begins[r];
}
