/* SPDX-License-Identifier: MIT */
/*
 * part: writes the record of a part of a reduction (docs/parts.md).
 *
 * Computes: tally_part_items copies raw items. tally_part_seal writes a piece of the record's head;
 * with `seals` it also sets the padding of the nodes' accumulators to 0, and writes the checksum.
 * The accumulators are in the record before (kernels/outcome.h).
 * How: one group seals. Word i of the record is mixed with i and all are summed up, so that the
 * threads take words in turns.
 * Needs: a record at a multiple of 8 bytes; piece_at, nodes_at and words count words of 8 bytes
 * from its begin, node_words and acc_words words of 4.
 * Why: the record is made without the host, so that it may go on to another device, and the whole
 * may be captured in a graph.
 */
#define PIECE_WORDS 32
#define USED_WORDS 8
#define CHECK_WORD 3
/* Threads that add up all threads' sums, before one adds up theirs: the square root of 256. */
#define FEW_THREADS 16U

/* One struct: with a mask of its own ptxas would keep that in local memory. */
typedef struct {
    u64 words[PIECE_WORDS];
    u64 used[USED_WORDS]; /* bit i: word i of an accumulator is no padding */
} PIECE;

INLINE u64 mixed(u64 word, u64 i) {
    u64 z = word + (i + 1) * 0x9e3779b97f4a7c15UL;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9UL;
    z = (z ^ z >> 27) * 0x94d049bb133111ebUL;
    return z ^ z >> 31;
}

/* Copies `bytes` bytes, and zeros behind them up to `padded`. */
KERNEL BOUNDS void tally_part_items(GLOBAL const u8 *in, u64 from, GLOBAL u8 *out, u64 to, u64 bytes, u64 padded) {
    for (u64 i = GROUP_ID * GROUP + THREAD_ID; i < padded; i += GROUP_COUNT * GROUP) {
        u8 byte = 0;
        if (i < bytes) byte = in[from + i];
        out[to + i] = byte;
    }
}

KERNEL BOUNDS void tally_part_seal(GLOBAL u64 *out, u64 offset, u32 node_words, u32 acc_words, const PIECE piece, u32 piece_at,
                                   u32 piece_words, u32 nodes_at, u32 words, u32 seals) {
    SHARED u64 sums[GROUP];
    GLOBAL u64 *record = out + offset;
    GLOBAL u32 *accs = (GLOBAL u32 *)(record + nodes_at);
    u64 sum = 0;
    for (u32 i = THREAD_ID; i < piece_words; i += GROUP) record[piece_at + i] = piece.words[i];
    if (seals)
        for (u32 i = THREAD_ID; i < node_words + node_words % 2; i += GROUP) {
            const u32 word = i % acc_words;
            if (i >= node_words || !((piece.used[word / 64] >> (word % 64)) & 1)) accs[i] = 0;
        }
    BARRIER
    if (seals)
        for (u32 i = THREAD_ID; i < words; i += GROUP)
            if (i != CHECK_WORD) sum += mixed(record[i], i);
    sums[THREAD_ID] = sum;
    BARRIER
    if (THREAD_ID < FEW_THREADS) {
        for (u32 t = THREAD_ID + FEW_THREADS; t < GROUP; t += FEW_THREADS) sum += sums[t];
        sums[THREAD_ID] = sum;
    }
    BARRIER
    if (seals && THREAD_ID == 0) {
        for (u32 t = 1; t < min(FEW_THREADS, (u32)GROUP); t++) sum += sums[t];
        record[CHECK_WORD] = sum;
    }
}
