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
 * Needs: KEY_BYTES; WORD, the widest word that keys are made of, of WORD_BYTES; BEGIN, the type
 * of begins; EACH, the tiles that a thread places at once; in OpenCL C SHUFFLES where PTX is.
 * Why: a GPU reads the keys once, and where few runs begin it reads and writes little else. One
 * pass by look-back between groups reads the keys that begin runs again too, and was no faster
 * (H100, November 2026: runs of mean 4 505 us, 494 by three kernels).
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

#define WIDTH 32 /* keys of a word, threads of a warp */

/*
 * Sums `own` over the group: sums[t + 1] becomes the sum of threads 0 to t, and sums[0] is 0. The
 * kernel has the array `sums` of SUMS u32s. Those of warps begin at a multiple of 16 bytes: a
 * compiler loads four at once, and no word that threads still write.
 */
#define OF_WARPS (GROUP + 4)
#define SUMS (OF_WARPS + GROUP / WIDTH)
#if GROUP == 1
#define SUM_OF_GROUP(own)                                                                                                      \
    sums[0] = 0;                                                                                                               \
    sums[1] = (own);
#elif defined(__CUDA_ARCH__) || defined(SHUFFLES)
/* Returns a mask of the threads of the warp whose word is not 0. */
INLINE u32 ballot_of(u32 is) {
    u32 mask;
    asm volatile("{.reg .pred p; setp.ne.u32 p, %1, 0; vote.sync.ballot.b32 %0, p, 0xffffffff;}" : "=r"(mask) : "r"(is));
    return mask;
}

/* Returns the word of the thread `by` below, by NVIDIA's shuffles. */
INLINE u32 word_below(u32 word, u32 by) {
    u32 v;
    asm volatile("shfl.sync.up.b32 %0, %1, %2, 0, 0xffffffff;" : "=r"(v) : "r"(word), "r"(by));
    return v;
}

/* Returns the sum of the warp's words up to the thread's own. */
INLINE u32 sum_up(u32 word) {
#pragma unroll
    for (u32 by = 1; by < WIDTH; by *= 2) {
        const u32 below = word_below(word, by);
        word += THREAD_ID % WIDTH >= by ? below : 0;
    }
    return word;
}
#define SUM_OF_GROUP(own)                                                                                                      \
    u32 sum = sum_up(own);                                                                                                     \
    if (THREAD_ID % WIDTH == WIDTH - 1) sums[OF_WARPS + THREAD_ID / WIDTH] = sum;                                              \
    BARRIER                                                                                                                    \
    _Pragma("unroll") for (u32 w = 0; w < GROUP / WIDTH; w++) sum += w < THREAD_ID / WIDTH ? sums[OF_WARPS + w] : 0;           \
    sums[THREAD_ID + 1] = sum;                                                                                                 \
    if (THREAD_ID == 0) sums[0] = 0;                                                                                           \
    BARRIER
#else
#define SUM_STEP(s)                                                                                                            \
    below = THREAD_ID >= (s) ? sums[THREAD_ID + 1 - (s)] : 0;                                                                  \
    BARRIER                                                                                                                    \
    sums[THREAD_ID + 1] += below;                                                                                              \
    BARRIER
#define SUM_OF_GROUP(own)                                                                                                      \
    u32 below = 0;                                                                                                             \
    sums[THREAD_ID + 1] = (own);                                                                                               \
    if (THREAD_ID == 0) sums[0] = 0;                                                                                           \
    BARRIER                                                                                                                    \
    SUM_STEP(1) SUM_STEP(2) SUM_STEP(4) SUM_STEP(8) SUM_STEP(16) SUM_STEP(32) SUM_STEP(64) SUM_STEP(128)(void) below;
#endif

/* How many runs begin in each tile, behind the `count` tiles' places. */
#define RUNS_OF_TILES(tiles, count) ((GLOBAL u32 *)((tiles) + (count) + 1))

#if GROUP > 1
/* The words of the group's tile, one for each thread. They stand behind the numbers of runs. */
#define OWN_WORDS (RUNS_OF_TILES(tiles, GROUP_COUNT) + GROUP_COUNT + GROUP_ID * GROUP)

/* Puts a word with a bit of each thread of a warp into local memory; it was 0 before. */
#ifdef __CUDA_ARCH__
#define COUNT_BITS(word) (u32) __popc(word)
#else
#define COUNT_BITS(word) popcount(word)
#endif
#if defined(__CUDA_ARCH__) || defined(SHUFFLES)
#define PUT_BITS(word, bit)                                                                                                    \
    {                                                                                                                          \
        const u32 all = ballot_of(bit);                                                                                        \
        if (THREAD_ID % WIDTH == 0) *(word) = all;                                                                             \
    }
#else
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
    SHARED u32 sums[SUMS];
    (void)run;
    words[THREAD_ID] = 0;
    BARRIER
    mark_runs(keys + keys_offset * KEY_BYTES, n, words);
    BARRIER
    OWN_WORDS[THREAD_ID] = words[THREAD_ID];
    SUM_OF_GROUP(COUNT_BITS(words[THREAD_ID]))
    if (THREAD_ID == 0) RUNS_OF_TILES(tiles, GROUP_COUNT)[GROUP_ID] = sums[GROUP];
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
    RUNS_OF_TILES(tiles, GROUP_COUNT)[GROUP_ID] = count_runs(keys, from, to);
}
#endif

/* Sums runs[0] to runs[end - 1] by the group. `sums` has room for GROUP u64s. */
INLINE u64 sum_of_runs(GLOBAL const u32 *runs, u64 end, LOCAL u64 *sums) {
    u64 sum = 0;
#pragma unroll 8
    for (u64 i = THREAD_ID; i < end; i += GROUP) sum += runs[i];
    sums[THREAD_ID] = sum;
    BARRIER
    for (u32 k = THREAD_ID + WIDTH; k < GROUP && THREAD_ID < WIDTH; k += WIDTH) sum += sums[k];
    BARRIER
    sums[THREAD_ID] = sum;
    BARRIER
    sum = 0;
    for (u32 k = 0; k < WIDTH && k < GROUP; k++) sum += sums[k];
    return sum;
}

/* One group runs this kernel, or as many as there are GROUP * EACH tiles. A group of several counts
 * the runs before its tiles by itself. */
KERNEL BOUNDS void tally_keys_place(GLOBAL u64 *tiles, u64 count, u64 n, u64 capacity, GLOBAL BEGIN *begins, GLOBAL u64 *runs,
                                    u64 runs_offset) {
    SHARED u32 sums[SUMS];
    SHARED u64 sums_before[GROUP];
    GLOBAL const u32 *own_runs = RUNS_OF_TILES(tiles, count);
    u64 at = GROUP_ID * (GROUP * EACH), all = sum_of_runs(own_runs, at, sums_before);
    for (; at < count; at += GROUP_COUNT * (GROUP * EACH)) {
        u32 place[EACH], own = 0;
#pragma unroll
        for (u32 k = 0; k < EACH; k++) {
            const u64 i = at + THREAD_ID * EACH + k;
            place[k] = own;
            own += i < count ? own_runs[i] : 0;
        }
        SUM_OF_GROUP(own)
#pragma unroll
        for (u32 k = 0; k < EACH; k++)
            if (at + THREAD_ID * EACH + k < count) tiles[at + THREAD_ID * EACH + k] = all + sums[THREAD_ID] + place[k];
        all += sums[GROUP];
        BARRIER
    }
    if (THREAD_ID || GROUP_ID < GROUP_COUNT - 1) return;
    tiles[count] = runs[runs_offset] = all;
    if (all <= capacity) begins[all] = (BEGIN)n;
}

INLINE void copy_key(GLOBAL u8 *to, KEY from, u32 are_aligned) {
    if (are_aligned) {
        for (int w = 0; w < KEY_WORDS; w++) ((GLOBAL WORD *)to)[w] = ((GLOBAL const WORD *)from)[w];
    } else {
        for (int k = 0; k < KEY_BYTES; k++) to[k] = from[k];
    }
}

#define WRITE_ARGS                                                                                                             \
    KEY keys, u64 keys_offset, u64 n, u64 run, GLOBAL const u64 *tiles, u64 capacity, GLOBAL BEGIN *begins,                    \
        GLOBAL u8 *out_keys, u64 out_keys_offset, u32 wants_keys
#define OPEN_WRITE                                                                                                             \
    keys += keys_offset * KEY_BYTES;                                                                                           \
    out_keys += out_keys_offset * KEY_BYTES;                                                                                   \
    const u32 are_aligned = IS_ALIGNED(keys) && IS_ALIGNED(out_keys);
/* Writes where run `place` begins, at key i, and its key. */
#define WRITE_RUN(place, i)                                                                                                    \
    {                                                                                                                          \
        if ((place) <= capacity) begins[place] = (BEGIN)(i);                                                                   \
        if ((place) < capacity && wants_keys) copy_key(out_keys + (place)*KEY_BYTES, keys + (i)*KEY_BYTES, are_aligned);       \
    }

#if GROUP > 1
/* The places of a tile's runs in local memory: threads that have a word of runs each write to
 * different banks. */
#define LISTED_AT(r) ((r) + (r) / WIDTH * 2)

/* Lists where in the tile the runs of the thread's word begin, from place `at` on. */
INLINE void list_runs(u32 word, u32 at, LOCAL u16 *listed) {
    KEEP_ROLLED
    for (; word; word &= word - 1, at++)
        listed[LISTED_AT(at)] = (u16)(THREAD_ID * WIDTH + COUNT_BITS((word & (0U - word)) - 1));
}

/* Neighbouring threads write neighbouring runs. */
KERNEL BOUNDS void tally_keys_write(WRITE_ARGS) {
    SHARED u16 listed[LISTED_AT(GROUP * WIDTH)];
    SHARED u32 sums[SUMS];
    (void)run;
    (void)n;
    OPEN_WRITE
    const u32 word = OWN_WORDS[THREAD_ID];
    SUM_OF_GROUP(COUNT_BITS(word))
    list_runs(word, sums[THREAD_ID], listed);
    BARRIER
    const u64 place = tiles[GROUP_ID], tile = GROUP_ID * (GROUP * WIDTH);
    const u32 here = sums[GROUP];
#pragma unroll 4
    for (u32 r = THREAD_ID; r < here; r += GROUP) WRITE_RUN(place + r, tile + listed[LISTED_AT(r)])
}
#else
/* Keys that a thread counts at once, before it looks for the runs among them. */
#define PIECE 64

KERNEL BOUNDS void tally_keys_write(WRITE_ARGS) {
    OPEN_WRITE
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
