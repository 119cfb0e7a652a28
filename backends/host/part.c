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

static void run_seal(host_kernel *kernel, uint64_t groups, const tally_arg *args) {
    (void)kernel, (void)groups;
    const uint32_t node_words = HOST_VALUE(uint32_t, args[TALLY_SEAL_ARG_NODE_WORDS]),
                   acc_words = HOST_VALUE(uint32_t, args[TALLY_SEAL_ARG_ACC_WORDS]);
    const tally_part_piece *piece = args[TALLY_SEAL_ARG_PIECE].value;
    unsigned char *record = host_bytes(&args[TALLY_SEAL_ARG_OUT]) + 8 * HOST_VALUE(uint64_t, args[TALLY_SEAL_ARG_OFFSET]);
    unsigned char *accs = record + 8 * (size_t)HOST_VALUE(uint32_t, args[TALLY_SEAL_ARG_NODES_AT]);
    memcpy(record + 8 * (size_t)HOST_VALUE(uint32_t, args[TALLY_SEAL_ARG_PIECE_AT]), piece->words,
           8 * (size_t)HOST_VALUE(uint32_t, args[TALLY_SEAL_ARG_PIECE_WORDS]));
    if (!HOST_VALUE(uint32_t, args[TALLY_SEAL_ARG_SEALS])) return;
    for (uint32_t i = 0; i < node_words + node_words % 2; i++) {
        const uint32_t word = i % acc_words;
        if (i >= node_words || !(piece->used[word / 64] >> word % 64 & 1)) memset(accs + 4 * (size_t)i, 0, 4);
    }
    const uint64_t sum = tally_part_sum(record, 8 * (uint64_t)HOST_VALUE(uint32_t, args[TALLY_SEAL_ARG_WORDS]));
    memcpy(record + 8 * TALLY_PART_CHECK_WORD, &sum, sizeof(sum));
}

/* ---- the fold of packets --------------------------------------------------------------------- */

/* Arguments of tally_fold (kernels/fold.h). */
typedef struct fold {
    const host_program *of;
    const unsigned char *packets;
    uint64_t stride, count, key, total; /* stride in bytes */
    unsigned char *accs;
    tally_part_node *nodes; /* of `accs`, a stack */
} fold;

static tally_packet_verdict read_status(const fold *f, uint64_t r) {
    uint64_t status;
    memcpy(&status, f->packets + r * f->stride, sizeof(status));
    return (tally_packet_verdict){status < TALLY_STATUS_END ? (uint32_t)status : TALLY_E_ARGUMENT, (uint32_t)r};
}

/* Reads the header of packet r, which must begin at chunk *end, and finds the shape of its part.
 * *end becomes its own end. Returns false if the packet does not fit. */
static bool read_packet(const fold *f, uint64_t r, uint64_t *end, tally_part_shape *shape) {
    const uint64_t chunks = tally_ceil_div(f->total, TALLY_CHUNK_ITEMS);
    uint64_t header[TALLY_PACKET_WORDS];
    memcpy(header, f->packets + r * f->stride, sizeof(header));
    const uint64_t key = header[1], begin = header[2], stop = header[3];
    if (key != f->key || begin != *end || stop < begin || stop > chunks || (r + 1 == f->count && stop != chunks)) return false;
    const uint64_t first = begin * TALLY_CHUNK_ITEMS, behind = stop < chunks ? stop * TALLY_CHUNK_ITEMS : f->total;
    tally_part_shape_of(first, stop > begin ? behind - first : 0, f->total, shape);
    *end = stop;
    return true;
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
        if (!read_packet(f, r, &end, &shape)) return (tally_packet_verdict){TALLY_E_ARGUMENT, (uint32_t)r};
        const unsigned char *from = f->packets + r * f->stride + 8 * TALLY_PACKET_WORDS;
        for (uint32_t k = 0; k < shape.node_count; k++, from += f->of->acc_bytes) {
            f->nodes[nodes] = shape.nodes[k];
            memcpy(f->accs + nodes * f->of->acc_bytes, from, f->of->acc_bytes);
            nodes = merge(f, nodes + 1, false);
        }
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
                    .key = HOST_VALUE(uint64_t, args[TALLY_FOLD_ARG_KEY]),
                    .total = HOST_VALUE(uint64_t, args[TALLY_FOLD_ARG_TOTAL]),
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

bool tally_host_fold_entry(host_kernel *kernel, const char *entry) {
    kernel->run = run_fold;
    kernel->args = TALLY_FOLD_ARGS;
    return !strcmp(entry, "tally_fold");
}

bool tally_host_part_entry(host_kernel *kernel, const char *entry) {
    const bool seals = !strcmp(entry, "tally_part_seal");
    kernel->run = seals ? run_seal : run_items;
    kernel->args = seals ? TALLY_SEAL_ARGS : 6;
    return seals || !strcmp(entry, "tally_part_items");
}
