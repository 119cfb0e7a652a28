/* SPDX-License-Identifier: MIT */
/*
 * keys: where runs of equal neighbouring keys begin.
 *
 * Computes: tally_keys_count the number of runs that begin in each tile, tally_keys_place the sum
 * of those before it, and *runs, the number of all; tally_keys_write each run's first item,
 * begins[r], and its key; tally_keys_lengths each run's length. begins[runs] is n. Runs beyond the
 * capacity are counted and not written; begins has capacity + 1 places.
 * How: a key begins a run if any of its bytes differs from the key before. A tile is GROUP * run
 * neighbouring keys, `run` for each thread. Its threads count theirs, and a scan in local memory
 * gives each its place.
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

/* Tells whether key i, which is not the first, differs from the one before. */
INLINE u32 differs(GLOBAL const WORD *keys, u64 i) {
    u32 any = 0;
    for (int w = 0; w < KEY_WORDS; w++) any |= keys[i * KEY_WORDS + w] != keys[(i - 1) * KEY_WORDS + w];
    return any;
}

/* Counts the runs that begin in [from, to). The loop becomes vectors on CPUs. */
INLINE u32 count_runs(GLOBAL const WORD *keys, u64 from, u64 to) {
    u32 count = from == 0 && from < to;
    for (u64 i = from + (from == 0); i < to; i++) count += differs(keys, i);
    return count;
}

/* Keys among which one thread looks for runs at once. */
#define PIECE 64

/* Leaves in sums[t + 1] the sum of the group's `own` up to thread t, and 0 in sums[0]. */
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

#define OWN_KEYS const u64 from = min(n, (GROUP_ID * GROUP + THREAD_ID) * run), to = min(n, from + run);

KERNEL BOUNDS void tally_keys_count(GLOBAL const WORD *keys, u64 keys_offset, u64 n, u64 run, GLOBAL u64 *tiles) {
    keys += keys_offset * KEY_WORDS;
    OWN_KEYS
    SUM_OF_GROUP(count_runs(keys, from, to))
    if (THREAD_ID == 0) tiles[GROUP_ID] = sums[GROUP];
}

/* By one group. */
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
    runs[runs_offset] = sums[GROUP];
    if (sums[GROUP] <= capacity) begins[sums[GROUP]] = n;
}

KERNEL BOUNDS void tally_keys_write(GLOBAL const WORD *keys, u64 keys_offset, u64 n, u64 run, GLOBAL const u64 *tiles,
                                    u64 capacity, GLOBAL u64 *begins, GLOBAL WORD *out_keys, u64 out_keys_offset,
                                    u32 wants_keys) {
    keys += keys_offset * KEY_WORDS;
    OWN_KEYS
    SUM_OF_GROUP(count_runs(keys, from, to))
    u64 place = tiles[GROUP_ID] + sums[THREAD_ID];
    for (u64 piece = from; piece < to; piece += PIECE) {
        const u64 end = min(to, piece + PIECE);
        if (!count_runs(keys, piece, end)) continue;
        for (u64 i = piece; i < end; i++) {
            if (i && !differs(keys, i)) continue;
            if (place <= capacity) begins[place] = i;
            if (place < capacity && wants_keys)
                for (int w = 0; w < KEY_WORDS; w++)
                    out_keys[(out_keys_offset + place) * KEY_WORDS + w] = keys[i * KEY_WORDS + w];
            place++;
        }
    }
}

KERNEL BOUNDS void tally_keys_lengths(GLOBAL const u64 *begins, GLOBAL const u64 *runs, u64 runs_offset, u64 capacity,
                                      GLOBAL u64 *lengths, u64 lengths_offset) {
    const u64 count = min(capacity, runs[runs_offset]);
    for (u64 r = GROUP_ID * GROUP + THREAD_ID; r < count; r += GROUP_COUNT * GROUP)
        lengths[lengths_offset + r] = begins[r + 1] - begins[r];
}
