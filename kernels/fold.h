/* SPDX-License-Identifier: MIT */
/*
 * fold: joins the packets of neighbouring parts, and finishes them to the result
 * (tally_packet_fold, docs/parts.md).
 *
 * Computes: the result of all items, which have `chunks` chunks, from `count` packets, which begin
 * `stride` words apart. A packet is a header of PACKET_WORDS words (a status; a key of ops,
 * parameters and total; the chunks where its part begins and ends) and the accumulators of the
 * part's nodes. verdict[0] and verdict[1] become 0, or the status and the number of the lowest
 * packet that failed or does not fit. In that case no result is written. A status from NO_STATUS on
 * is none, so the packet does not fit.
 * How: one group does all. Even shares come first (fold_even): the shares of 2^k chunks but for the
 * last ones, of which each is one node. A thread takes a packet, and the tree is over the threads.
 * All others are listed (list_nodes): a thread takes a packet, checks the header and lists the
 * nodes with their places in the canonical tree. Then, level by level up to the root's, each left
 * child is combined with its right sibling, which is the next node left. A left child without a
 * sibling keeps its accumulator: absent chunks change nothing.
 * Needs: `accs` and `nodes` for count * MOST_NODES entries. Words have 8 bytes.
 * Why: no host between the gathering of packets and the result. A call of libtally_nccl takes
 * longer than a reduction and a gather by the time of this one group. So all words of a header are
 * loaded at once, and loops are not unrolled, so that the text is short.
 */
#define PACKET_WORDS 4

#if GROUP > 1
#define GROUP_MEETS BARRIER
#else
#define GROUP_MEETS
#endif

#ifdef __CUDA_ARCH__
#define LEADING_ZEROS(word) ((u32)__clzll((i64)(word)))
#define LOWER(at, value) atomicMin(at, value)
#else
#define LEADING_ZEROS(word) ((u32)clz((u64)(word)))
#define LOWER(at, value) atomic_min((volatile LOCAL u32 *)(at), value)
#define AWAIT_PREVIOUS
#define ADMIT_NEXT
#endif

/* The packets, as all threads know them. */
typedef struct {
    GLOBAL const u64 *words;
    u64 stride, count, key, chunks;
} PACKETS;

typedef struct {
    u64 status, key, begin, end;
    ACC acc; /* of the first node, if there is one */
} PACKET;

INLINE PACKET packet_at(PACKETS all, u64 r) {
    GLOBAL const u64 *words = all.words + r * all.stride;
    PACKET p;
    p.status = words[0];
    p.key = words[1];
    p.begin = words[2];
    p.end = words[3];
    p.acc = *(GLOBAL const ACC *)(words + PACKET_WORDS);
    return p;
}

/* Tells whether the packet failed, or is of another reduction. */
INLINE u32 is_bad(PACKETS all, PACKET p) {
    return p.status || p.key != all.key;
}

#if GROUP > 1 && GROUP * ACC_BYTES <= 16384
#define TAKES_EVEN
/* Tells whether packet r is that of an even share: `width` chunks, 2^k of them, or those that are
 * left. */
INLINE u32 is_even(PACKETS all, PACKET p, u64 r, u64 width) {
    const u64 from = min(r * width, all.chunks), to = min(from + width, all.chunks);
    const u32 is_node = !(width & (width - 1)) || width >= all.chunks;
    return is_node && p.begin == from && p.end == to && (r + 1 < all.count || to == all.chunks);
}

/* Combines the nodes of even shares, one of each thread: accs[0] becomes the root's. */
INLINE void fold_even(LOCAL ACC *accs, PACKETS all, u64 width) {
    KEEP_ROLLED
    for (u64 step = 1; step < all.count; step *= 2) {
        const u64 right = THREAD_ID + step;
        if (!(THREAD_ID & (2 * step - 1)) && right * width < all.chunks)
            accs[THREAD_ID] = op_combine(accs[THREAD_ID], accs[right]);
        GROUP_MEETS
    }
}
#endif

/* An entry of the list. A packet without nodes has one that is absent. */
typedef struct {
    u64 begin;   /* the node's first chunk */
    u32 level;   /* ABSENT: no node */
    u32 next;    /* the next entry in the order of the chunks; NONE: it is the last */
    u32 entries; /* in a packet's first entry: how many it has */
    u32 zero;
} NODE;
#define ABSENT 64U
#define NONE (~0U)

/* Returns the level of the node at chunk i of a part that ends before chunk `end`, as
 * src/parts/shape.c does. */
INLINE u32 level_at(u64 i, u64 end, u64 chunks) {
    const u64 left = end - i;
    const u32 whole = 63U - LEADING_ZEROS(left), more = end == chunks && (left & (left - 1));
    const u32 aligned = i ? 63U - LEADING_ZEROS(i & (0 - i)) : 63U;
    return min(whole + more, aligned);
}

/* Lists the nodes of packet r. `worst` becomes r if that is less and the packet does not fit,
 * `lowest` the lowest level of a node. */
INLINE void list_nodes(PACKETS all, u64 r, GLOBAL NODE *nodes, GLOBAL ACC *accs, LOCAL u32 *worst, LOCAL u32 *lowest) {
    const PACKET p = packet_at(all, r);
    const u64 before = r ? all.words[r * all.stride + 3 - all.stride] : 0;
    GLOBAL const ACC *its = (GLOBAL const ACC *)(all.words + r * all.stride + PACKET_WORDS);
    const u32 first = (u32)r * MOST_NODES;
    NODE node = {p.begin, ABSENT, NONE, 1, 0};
    u32 k = 0;
    if (is_bad(all, p) || p.begin != before || p.end < p.begin || (r + 1 == all.count && p.end != all.chunks))
        LOWER(worst, (u32)r);
    KEEP_ROLLED
    for (u64 i = p.begin; i < p.end && k < MOST_NODES; k++) {
        if (k) {
            node.next = first + k;
            nodes[first + k - 1] = node;
        }
        accs[first + k] = its[k];
        node.begin = i;
        node.level = level_at(i, p.end, all.chunks);
        i += (u64)1 << node.level;
        LOWER(lowest, node.level);
    }
    node.next = r + 1 < all.count ? first + MOST_NODES : NONE;
    nodes[first + (k ? k - 1 : 0)] = node;
    if (k > 1) nodes[first].entries = k;
}

/* Combines the left children of packet r on level `level` with their siblings. */
INLINE void combine_nodes(u64 r, u32 level, GLOBAL NODE *nodes, GLOBAL ACC *accs) {
    const u32 first = (u32)r * MOST_NODES, end = first + nodes[first].entries;
    KEEP_ROLLED
    for (u32 at = first; at < end; at++) {
        const NODE node = nodes[at];
        u32 next = node.next;
        if (node.level > level || (node.begin & (((u64)2 << level) - 1))) continue;
        KEEP_ROLLED
        while (next != NONE && nodes[next].level == ABSENT) next = nodes[next].next;
        if (next == NONE) continue;
        accs[at] = op_combine(accs[at], accs[next]);
        nodes[at].next = nodes[next].next;
    }
}

/* Joins all listed nodes. Returns the root's entry. */
INLINE u32 join_nodes(u64 count, u32 lowest, u32 levels, GLOBAL NODE *nodes, GLOBAL ACC *accs) {
    u32 root = 0;
    KEEP_ROLLED
    for (u32 level = lowest; level < levels; level++) {
        KEEP_ROLLED
        for (u64 r = THREAD_ID; r < count; r += GROUP) combine_nodes(r, level, nodes, accs);
        GROUP_MEETS
    }
    KEEP_ROLLED
    while (THREAD_ID == 0 && nodes[root].level == ABSENT && nodes[root].next != NONE) root = nodes[root].next;
    return root;
}

KERNEL BOUNDS void tally_fold(GLOBAL const u64 *gathered, u64 gathered_at, u64 stride, u64 count, u64 key, u64 total,
                              u64 chunks, u32 levels, GLOBAL NODE *nodes, GLOBAL ACC *accs, GLOBAL RESULT *out, u64 out_offset,
                              GLOBAL u32 *verdict, u64 verdict_at, const PARAMS params) {
    SHARED u32 worst, lowest, even; /* worst: the lowest packet that failed or does not fit */
    const PACKETS all = {gathered + gathered_at, stride, count, key, chunks};
    ACC root = IDENTITY;
    if (THREAD_ID == 0) {
        worst = NONE;
        lowest = ABSENT;
        even = 0;
    }
#ifdef TAKES_EVEN
    SHARED ACC even_accs[GROUP];
    if (THREAD_ID == 0) even = count <= GROUP;
#endif
    GROUP_MEETS
    AWAIT_PREVIOUS
    ADMIT_NEXT
#ifdef TAKES_EVEN
    if (count <= GROUP) {
        const u64 width = all.words[3];
        if (THREAD_ID < count) {
            const PACKET p = packet_at(all, THREAD_ID);
            if (is_bad(all, p) || !is_even(all, p, THREAD_ID, width)) LOWER(&even, 0);
            even_accs[THREAD_ID] = p.acc;
        }
        GROUP_MEETS
        if (even) {
            fold_even(even_accs, all, width);
            root = even_accs[0];
        }
    }
#endif
    if (!even) {
        KEEP_ROLLED
        for (u64 r = THREAD_ID; r < count; r += GROUP) list_nodes(all, r, nodes, accs, &worst, &lowest);
        GROUP_MEETS
        if (worst == NONE) {
            const u32 at = join_nodes(count, lowest, levels, nodes, accs);
            if (THREAD_ID == 0) root = accs[at];
        }
    }
    if (THREAD_ID == 0) {
        const u32 is_good = worst == NONE;
        const u64 status = is_good ? 0 : all.words[worst * stride];
        verdict[verdict_at] = is_good || (status && status < NO_STATUS) ? (u32)status : REFUSED;
        verdict[verdict_at + 1] = is_good ? 0 : worst;
        if (is_good) out[out_offset] = total ? op_result(root, total, params) : op_empty(params);
    }
}
