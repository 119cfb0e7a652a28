/* SPDX-License-Identifier: MIT */
/* Records of parts, as kernels/part.h documents their kernels. */
#include <string.h>

#include "host.h"
#include "parts/parts.h"

/* tally_part_items(in, from, out, to, bytes, padded) */
static void run_items(host_kernel *kernel, uint64_t groups, const tally_arg *args) {
    (void)kernel, (void)groups;
    const uint64_t bytes = HOST_VALUE(uint64_t, args[4]), padded = HOST_VALUE(uint64_t, args[5]);
    unsigned char *to = host_bytes(&args[2]) + HOST_VALUE(uint64_t, args[3]);
    memcpy(to, host_bytes(&args[0]) + HOST_VALUE(uint64_t, args[1]), bytes);
    memset(to + bytes, 0, padded - bytes);
}

#define PIECE_WORDS 32 /* words of a piece; the bits of the used words of an accumulator follow */

/* tally_part_seal(nodes, node_words, acc_words, out, offset, piece, piece_at, piece_words,
 * nodes_at, words, seals, lead) */
static void run_seal(host_kernel *kernel, uint64_t groups, const tally_arg *args) {
    (void)kernel, (void)groups;
    const uint32_t node_words = HOST_VALUE(uint32_t, args[1]), acc_words = HOST_VALUE(uint32_t, args[2]);
    const uint64_t *used = (const uint64_t *)args[5].value + PIECE_WORDS;
    unsigned char *place = host_bytes(&args[3]) + 8 * HOST_VALUE(uint64_t, args[4]);
    unsigned char *record = place + 8 * (size_t)HOST_VALUE(uint32_t, args[11]);
    unsigned char *accs = record + 8 * (size_t)HOST_VALUE(uint32_t, args[8]);
    memcpy(place + 8 * (size_t)HOST_VALUE(uint32_t, args[6]), args[5].value, 8 * (size_t)HOST_VALUE(uint32_t, args[7]));
    if (!HOST_VALUE(uint32_t, args[10])) return;
    for (uint32_t i = 0; i < node_words + node_words % 2; i++) {
        const uint32_t word = i % acc_words;
        const bool is_used = i < node_words && used[word / 64] >> word % 64 & 1;
        memset(accs + 4 * (size_t)i, 0, 4);
        if (is_used) memcpy(accs + 4 * (size_t)i, host_bytes(&args[0]) + 4 * (size_t)i, 4);
    }
    const uint64_t sum = tally_part_sum(record, 8 * (uint64_t)HOST_VALUE(uint32_t, args[9]));
    memcpy(record + 8 * TALLY_PART_CHECK_WORD, &sum, sizeof(sum));
}

/* ---- the fold of packets --------------------------------------------------------------------- */

/* Arguments of tally_fold (kernels/fold.h). */
typedef struct fold {
    const host_program *of;
    const unsigned char *packets;
    uint64_t stride, count, identity, total; /* stride in bytes */
    uint32_t nodes_at, refused;              /* nodes_at in bytes of the record */
    unsigned char *accs;
    tally_part_node *nodes; /* of `accs`, a stack */
} fold;

static tally_packet_verdict read_status(const fold *f, uint64_t r) {
    tally_packet_verdict status = {.packet = (uint32_t)r};
    memcpy(&status.status, f->packets + r * f->stride, sizeof(status.status));
    return status;
}

/* Reads the head of packet r and finds the shape of its part. Returns false if the packet does not
 * fit, or does not follow item `end`. */
static bool read_packet(const fold *f, uint64_t r, uint64_t end, tally_part_shape *shape) {
    const unsigned char *packet = f->packets + r * f->stride;
    tally_part_head head;
    uint64_t identity;
    memcpy(&identity, packet + 8, sizeof(identity));
    memcpy(&head, packet + 8 * TALLY_PACKET_HEADER_WORDS, sizeof(head));
    if (identity != f->identity || head.total != f->total || head.first > f->total || head.n > f->total - head.first)
        return false;
    if (head.head_items || head.tail_items || (r == 0 && head.first) || (r && head.first != end)) return false;
    if (r + 1 == f->count && head.first + head.n != f->total) return false;
    tally_part_shape_of(head.first, head.n, head.total, shape);
    return shape->node_count == head.node_count && !shape->head_items && !shape->tail_items;
}

static void combine(const fold *f, uint64_t left) {
    for (uint32_t p = 0; p < f->of->part_count; p++) {
        unsigned char *acc = f->accs + left * f->of->acc_bytes + f->of->parts[p].acc_offset;
        f->of->parts[p].program->combine(acc, acc + f->of->acc_bytes);
    }
}

/* Combines the last node with its left siblings. `ends`: no chunks follow, so absent chunks belong
 * to the last node. Returns the number of nodes left. */
static uint64_t merge(const fold *f, uint64_t nodes, bool ends) {
    while (nodes > 1) {
        tally_part_node *left = &f->nodes[nodes - 2], right = left[1];
        while (ends && right.level < left->level && !(right.index & 1)) right.index /= 2, right.level++;
        if (left->level != right.level || !(right.index & 1) || left->index + 1 != right.index) break;
        *left = (tally_part_node){.index = left->index / 2, .level = left->level + 1};
        combine(f, --nodes - 1);
    }
    return nodes;
}

/* Joins all packets into the first accumulator. */
static tally_packet_verdict join_packets(const fold *f) {
    uint64_t end = 0, nodes = 0;
    for (uint64_t r = 0; r < f->count; r++) {
        tally_part_shape shape;
        const tally_packet_verdict status = read_status(f, r);
        if (status.status) return status;
        if (!read_packet(f, r, end, &shape)) return (tally_packet_verdict){f->refused, (uint32_t)r};
        const unsigned char *from = f->packets + r * f->stride + 8 * TALLY_PACKET_HEADER_WORDS + f->nodes_at;
        for (uint32_t k = 0; k < shape.node_count; k++, from += f->of->acc_bytes) {
            f->nodes[nodes] = shape.nodes[k];
            memcpy(f->accs + nodes * f->of->acc_bytes, from, f->of->acc_bytes);
            nodes = merge(f, nodes + 1, false);
        }
        end = shape.first + shape.n;
    }
    merge(f, nodes, true);
    return (tally_packet_verdict){0};
}

static void run_fold(host_kernel *kernel, uint64_t groups, const tally_arg *args) {
    (void)groups;
    const host_program *of = kernel->of;
    const fold f = {.of = of,
                    .packets = host_bytes(&args[TALLY_FOLD_ARG_PACKETS]) + 8 * HOST_VALUE(uint64_t, args[TALLY_FOLD_ARG_AT]),
                    .stride = 8 * HOST_VALUE(uint64_t, args[TALLY_FOLD_ARG_STRIDE]),
                    .count = HOST_VALUE(uint64_t, args[TALLY_FOLD_ARG_COUNT]),
                    .identity = HOST_VALUE(uint64_t, args[TALLY_FOLD_ARG_IDENTITY]),
                    .total = HOST_VALUE(uint64_t, args[TALLY_FOLD_ARG_TOTAL]),
                    .nodes_at = 8 * HOST_VALUE(uint32_t, args[TALLY_FOLD_ARG_NODES_AT]),
                    .refused = HOST_VALUE(uint32_t, args[TALLY_FOLD_ARG_REFUSED]),
                    .accs = host_bytes(&args[TALLY_FOLD_ARG_ACCS]),
                    .nodes = (tally_part_node *)(void *)host_bytes(&args[TALLY_FOLD_ARG_NODES])};
    const tally_packet_verdict verdict = join_packets(&f);
    memcpy(host_bytes(&args[TALLY_FOLD_ARG_VERDICT]) + 4 * HOST_VALUE(uint64_t, args[TALLY_FOLD_ARG_VERDICT_AT]), &verdict,
           sizeof(verdict));
    if (verdict.status) return;
    unsigned char *result =
        host_bytes(&args[TALLY_FOLD_ARG_OUT]) + HOST_VALUE(uint64_t, args[TALLY_FOLD_ARG_OUT_OFFSET]) * of->result_bytes;
    if (of->part_count > 1) memset(result, 0, of->result_bytes);
    for (uint32_t p = 0; p < of->part_count; p++) {
        const host_part *part = &of->parts[p];
        const unsigned char *params = args[TALLY_FOLD_ARG_PARAMS].value;
        part->program->finish(f.accs + part->acc_offset, f.total, params + part->param_offset, result + part->result_offset);
    }
}

bool host_fold_entry(host_kernel *kernel, const char *entry) {
    kernel->run = run_fold;
    kernel->args = TALLY_FOLD_ARGS;
    return !strcmp(entry, "tally_fold");
}

bool host_part_entry(host_kernel *kernel, const char *entry) {
    const bool seals = !strcmp(entry, "tally_part_seal");
    kernel->run = seals ? run_seal : run_items;
    kernel->args = seals ? 12 : 6;
    return seals || !strcmp(entry, "tally_part_items");
}
