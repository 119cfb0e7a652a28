/* SPDX-License-Identifier: MIT */
/*
 * fold: joins the packets of neighbouring parts, and finishes them to the result
 * (tally_packet_fold, docs/parts.md).
 *
 * Computes: the result of all items, which have `chunks` chunks, from `count` packets, which begin
 * `stride` words apart. A packet is a header of PACKET_WORDS words (a status; a key of ops,
 * parameters and total; the chunks where its part begins and ends) and the accumulators of the
 * part's nodes. verdict[0] and verdict[1] become 0, or the status and the number of the lowest
 * packet that failed or does not fit. In that case no result is written.
 * How: one group does all. A thread takes a packet: it checks the header and lists the nodes with
 * their places in the canonical tree. Then, level by level up to the root's, each left child is
 * combined with its right sibling, which is the next node left. A left child without a sibling
 * keeps its accumulator: absent chunks change nothing. The list is in local memory if there are few
 * packets, of FEW nodes at most.
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

/* 16 nodes for each of 32 packets, and 20 KB of local memory at most. */
#if GROUP > 1 && ACC_BYTES <= 16
#define FEW (512 / GROUP)
#elif GROUP > 1 && ACC_BYTES <= 64
#define FEW (128 / GROUP)
#else
#define FEW 0
#endif

#ifdef __CUDA_ARCH__
#define LEADING_ZEROS(word) ((u32)__clzll((i64)(word)))
#define LOWER(at, value) atomicMin(at, value);
#else
#define LEADING_ZEROS(word) ((u32)clz((u64)(word)))
#define LOWER(at, value) atomic_min((volatile LOCAL u32 *)(at), value);
#define AWAIT_PREVIOUS
#define ADMIT_NEXT
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

/*
 * Lists the nodes of packet r in entries FIRST(r), FIRST(r) + step, ... The list is in local or in
 * global memory: OpenCL 1.2 has no pointers to either. The words of the header and the first
 * accumulator are loaded before anything is checked.
 */
#define LIST(nodes, accs, FIRST, step, most)                                                                                   \
    {                                                                                                                          \
        GLOBAL const u64 *packet = packets + r * stride;                                                                       \
        GLOBAL const ACC *its = (GLOBAL const ACC *)(packet + PACKET_WORDS);                                                   \
        const u64 status = packet[0], its_key = packet[1], begin = packet[2], end = packet[3];                                 \
        const u64 other = *(r ? packet + 3 - stride : packet + 3), before = r ? other : 0;                                     \
        const ACC acc = its[0];                                                                                                \
        NODE node = {begin, ABSENT, NONE, 1, 0};                                                                               \
        u32 at = FIRST(r), k = 0;                                                                                              \
        if ((u32)status || its_key != key || begin != before || end < begin || (r + 1 == count && end != chunks))              \
            LOWER(&worst, (u32)r)                                                                                              \
        accs[at] = acc;                                                                                                        \
        KEEP_ROLLED                                                                                                            \
        for (u64 i = begin; i < end && k < (most); k++) {                                                                      \
            if (k) {                                                                                                           \
                node.next = at + (step);                                                                                       \
                nodes[at] = node;                                                                                              \
                at = node.next;                                                                                                \
                accs[at] = its[k];                                                                                             \
            }                                                                                                                  \
            node.begin = i;                                                                                                    \
            node.level = level_at(i, end, chunks);                                                                             \
            i += (u64)1 << node.level;                                                                                         \
            LOWER(&lowest, node.level)                                                                                         \
            if (i < end && k + 1 == (most)) too_many = 1;                                                                      \
        }                                                                                                                      \
        node.next = r + 1 < count ? FIRST(r + 1) : NONE;                                                                       \
        nodes[at] = node;                                                                                                      \
        if (k > 1) nodes[FIRST(r)].entries = k;                                                                                \
    }

/* Combines the left children of packet r on level `level` with their siblings. */
#define COMBINE(nodes, accs, FIRST, step)                                                                                      \
    {                                                                                                                          \
        u32 at = FIRST(r), left = nodes[at].entries;                                                                           \
        KEEP_ROLLED                                                                                                            \
        for (; left; left--, at += (step)) {                                                                                   \
            const NODE node = nodes[at];                                                                                       \
            u32 next = node.next;                                                                                              \
            if (node.level > level || (node.begin & (((u64)2 << level) - 1))) continue;                                        \
            KEEP_ROLLED                                                                                                        \
            while (next != NONE && nodes[next].level == ABSENT) next = nodes[next].next;                                       \
            if (next == NONE) continue;                                                                                        \
            accs[at] = op_combine(accs[at], accs[next]);                                                                       \
            nodes[at].next = nodes[next].next;                                                                                 \
        }                                                                                                                      \
    }

/* Joins all listed nodes, and leaves the root's accumulator in `all` of thread 0. */
#define JOIN(nodes, accs, FIRST, step)                                                                                         \
    {                                                                                                                          \
        u32 root = 0;                                                                                                          \
        KEEP_ROLLED                                                                                                            \
        for (u32 level = lowest; level < levels; level++) {                                                                    \
            KEEP_ROLLED                                                                                                        \
            for (u64 r = THREAD_ID; r < count; r += GROUP) COMBINE(nodes, accs, FIRST, step)                                   \
            GROUP_MEETS                                                                                                        \
        }                                                                                                                      \
        KEEP_ROLLED                                                                                                            \
        while (THREAD_ID == 0 && nodes[root].level == ABSENT && nodes[root].next != NONE) root = nodes[root].next;             \
        if (THREAD_ID == 0) all = accs[root];                                                                                  \
    }

#define FEW_FIRST(r) ((u32)(r))
#define MANY_FIRST(r) ((u32)(r)*MOST_NODES)

KERNEL BOUNDS void tally_fold(GLOBAL const u64 *gathered, u64 gathered_at, u64 stride, u64 count, u64 key, u64 total,
                              u64 chunks, u32 levels, GLOBAL NODE *nodes, GLOBAL ACC *accs, GLOBAL RESULT *out, u64 out_offset,
                              GLOBAL u32 *verdict, u64 verdict_at, const PARAMS params) {
    SHARED u32 worst, lowest, too_many; /* worst: the lowest packet that failed or does not fit */
#if FEW
    SHARED NODE few_nodes[FEW * GROUP];
    SHARED ACC few_accs[FEW * GROUP];
#endif
    GLOBAL const u64 *packets = gathered + gathered_at;
    u32 is_few = 0;
    ACC all = IDENTITY;
    if (THREAD_ID == 0) {
        worst = NONE;
        lowest = ABSENT;
        too_many = 0;
    }
    GROUP_MEETS
    AWAIT_PREVIOUS
    ADMIT_NEXT
#if FEW
    if (count <= GROUP) {
        const u64 r = THREAD_ID;
        if (r < count) LIST(few_nodes, few_accs, FEW_FIRST, GROUP, FEW)
        GROUP_MEETS
        is_few = !too_many;
        if (is_few && worst == NONE) JOIN(few_nodes, few_accs, FEW_FIRST, GROUP)
    }
#endif
    if (!is_few) {
        KEEP_ROLLED
        for (u64 r = THREAD_ID; r < count; r += GROUP) LIST(nodes, accs, MANY_FIRST, 1, MOST_NODES)
        GROUP_MEETS
        if (worst == NONE) JOIN(nodes, accs, MANY_FIRST, 1)
    }
    if (THREAD_ID == 0) {
        const u32 is_good = worst == NONE, status = is_good ? 0 : (u32)packets[worst * stride];
        verdict[verdict_at] = is_good || status ? status : REFUSED;
        verdict[verdict_at + 1] = is_good ? 0 : worst;
        if (is_good) out[out_offset] = total ? op_result(all, total, params) : op_empty(params);
    }
}
