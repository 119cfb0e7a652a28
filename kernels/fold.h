/* SPDX-License-Identifier: MIT */
/*
 * fold: joins the records of neighbouring parts, and finishes them to the result
 * (tally_packet_fold, docs/parts.md).
 *
 * Computes: the result of all items from `count` packets, which begin `stride` words apart. A
 * packet is a header of two words (a status; the identity of ops and parameters) and a record
 * without raw items. verdict[0] and verdict[1] become 0, or the status and the number of the lowest
 * packet that failed or does not fit. In that case no result is written.
 * How: one group does all. A thread checks a packet, finds the places of its nodes in the canonical
 * tree from its range, and lists them in the order of the chunks. Then, level by level, each left
 * child is combined with its right sibling, which is the next node left in the list. A left child
 * without a sibling keeps its accumulator: absent chunks change nothing.
 * Needs: `accs` and `nodes` for count * most entries. Words have 8 bytes.
 * Why: no host between the gathering of records and the result. The number of nodes is small, so
 * that one group is enough.
 */
#define HEADER_WORDS 2
#define CHUNKS(items) (((items) + CHUNK_ITEMS - 1) / CHUNK_ITEMS)

/* Places of words in a packet, from its header on. */
#define FIRST_WORD (HEADER_WORDS + 4)
#define ITEMS_WORD (HEADER_WORDS + 5)
#define TOTAL_WORD (HEADER_WORDS + 6)
#define COUNTS_WORD (HEADER_WORDS + 10) /* nodes in the low half, the head's items in the high one */
#define TAIL_WORD (HEADER_WORDS + 11)

/* Threads that look through all threads' failures, before every thread looks through theirs. */
#define FEW_THREADS 16U

/* `worst` if every packet fits. */
#define NO_PACKET (~(u64)0)

#if GROUP > 1
#define EACH_LEVEL_ENDS BARRIER
#else
#define EACH_LEVEL_ENDS
#endif

/* A node in the list. `from` is the place of its accumulator in the packets, in words of 4
 * bytes. */
typedef struct {
    u64 begin, from; /* begin: its first chunk */
    u32 level, next; /* next: the node after it in the list */
} NODE;

/* Returns the level of the node at chunk i of a part that ends before chunk `end`, as
 * src/parts/shape.c does. */
INLINE u32 level_at(u64 i, u64 end, u32 closed) {
    u32 level = 0;
    while (level < 60U && !((i >> level) & 1) && ((closed ? (u64)1 : (u64)2) << level) <= end - i - closed) level++;
    return level;
}

/* Returns the number of nodes of a packet, or 0 for one that failed or has more than `most`. */
INLINE u32 nodes_of(GLOBAL const u64 *packet, u32 most) {
    const u32 nodes = (u32)packet[COUNTS_WORD];
    return (u32)packet[0] || nodes > most ? 0 : nodes;
}

/* Lists the nodes of packet r from entry `at` on. Returns its status, or `refused` if its range,
 * its ops or its nodes do not fit. */
INLINE u32 list_nodes(GLOBAL const u64 *packets, u64 r, u64 stride, u64 count, u64 identity, u64 total, u32 nodes_at, u32 most,
                      u32 refused, GLOBAL NODE *nodes, u64 at) {
    GLOBAL const u64 *packet = packets + r * stride;
    if ((u32)packet[0]) return (u32)packet[0];
    const u64 first = packet[FIRST_WORD], n = packet[ITEMS_WORD], end = first + n;
    if (packet[1] != identity || packet[TOTAL_WORD] != total || first > total || n > total - first) return refused;
    if (packet[COUNTS_WORD] >> 32 || (u32)packet[COUNTS_WORD] > most || (u32)packet[TAIL_WORD]) return refused;
    if (r == 0 && first) return refused;
    if (r + 1 == count && end != total) return refused;
    if (r && !(u32)packets[(r - 1) * stride] &&
        packets[(r - 1) * stride + FIRST_WORD] + packets[(r - 1) * stride + ITEMS_WORD] != first)
        return refused;
    const u32 closed = end == total && total;
    const u64 last = n ? CHUNKS(end) : 0;
    const u64 words = 2 * (r * stride + HEADER_WORDS + nodes_at);
    u32 k = 0;
    for (u64 i = n ? first / CHUNK_ITEMS : 0; i < last && k < most; k++) {
        const u32 level = level_at(i, last, closed);
        NODE node;
        node.begin = i;
        node.from = words + (u64)k * (ACC_BYTES / 4);
        node.level = level;
        node.next = (u32)(at + k + 1);
        nodes[at + k] = node;
        i += (u64)1 << level;
    }
    return k == nodes_of(packet, most) ? 0 : refused;
}

KERNEL BOUNDS void tally_fold(GLOBAL const u64 *gathered, u64 gathered_at, u64 stride, u64 count, u64 identity, u64 total,
                              u32 nodes_at, u32 most, u32 refused, GLOBAL NODE *nodes, GLOBAL ACC *accs, GLOBAL RESULT *out,
                              u64 out_offset, GLOBAL u32 *verdict, u64 verdict_at, const PARAMS params) {
    SHARED u64 found[GROUP];
    GLOBAL const u64 *packets = gathered + gathered_at;
    u64 worst = NO_PACKET, at = 0, listed = 0;
    u32 levels = 0;
    for (u64 r = 0; r < count; r++) {
        /* Every thread counts all nodes, and lists those of its own packets. */
        if (r % GROUP == THREAD_ID) {
            const u32 status = list_nodes(packets, r, stride, count, identity, total, nodes_at, most, refused, nodes, at);
            if (status && worst == NO_PACKET) worst = r << 32 | status;
        }
        at += nodes_of(packets + r * stride, most);
    }
    listed = at;
    found[THREAD_ID] = worst;
    BARRIER
    if (THREAD_ID < FEW_THREADS) {
        for (u32 t = THREAD_ID; t < GROUP; t += FEW_THREADS) worst = min(worst, found[t]);
        found[THREAD_ID] = worst;
    }
    BARRIER
    for (u32 t = 0; t < min(FEW_THREADS, (u32)GROUP); t++) worst = min(worst, found[t]);
    if (worst != NO_PACKET) listed = 0;
    u32 lowest = 64; /* level of this thread's nodes, below which it has nothing to do */
    for (u64 i = THREAD_ID; i < listed; i += GROUP) {
        accs[i] = *(GLOBAL const ACC *)((GLOBAL const u32 *)packets + nodes[i].from);
        lowest = min(lowest, nodes[i].level);
    }
    while (listed && ((u64)1 << levels) < CHUNKS(total)) levels++;
    BARRIER
    for (u32 k = 0; k < levels; k++) {
        for (u64 i = THREAD_ID; k >= lowest && i < listed; i += GROUP) {
            const u32 next = nodes[i].next;
            const u64 within = nodes[i].begin & (((u64)2 << k) - 1);
            if (within == 0 && nodes[i].level <= k && next < listed) {
                accs[i] = op_combine(accs[i], accs[next]);
                nodes[i].next = nodes[next].next;
            }
        }
        EACH_LEVEL_ENDS
    }
    if (THREAD_ID == 0) {
        const u32 failed = worst != NO_PACKET;
        verdict[verdict_at] = failed ? (u32)worst : 0;
        verdict[verdict_at + 1] = failed ? (u32)(worst >> 32) : 0;
        if (!failed) out[out_offset] = total ? op_result(accs[0], total, params) : op_empty(params);
    }
}
