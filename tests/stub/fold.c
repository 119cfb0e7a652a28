/* SPDX-License-Identifier: MIT */
/* The fold of packets as kernels/fold.h documents it. It goes down the canonical tree from the root
 * to the nodes that the records have. */
#include <stdlib.h>
#include <string.h>

#include "parts/parts.h"
#include "backend.h"
#include "module.h"

typedef struct node {
    uint64_t begin; /* its first chunk */
    uint32_t level;
    const unsigned char *acc;
} node;

typedef struct fold {
    const stub_launch *l;
    uint64_t stride, count, key, total, chunks;
    uint32_t acc_bytes;
    node *nodes;
    uint64_t listed;
} fold;

static uint64_t number(const stub_launch *l, uint32_t argument, uint32_t bytes) {
    uint64_t value = 0;
    if (l->mem[argument] || l->bytes[argument] != bytes)
        stub_misuse("tally_fold: argument %u is no number of %u bytes", argument, bytes);
    else
        memcpy(&value, l->values + l->at[argument], bytes); /* little-endian */
    return value;
}

/* Lists the nodes of all packets. Returns the status of the lowest that is no good. */
static tally_packet_verdict list_nodes(fold *f, const unsigned char *packets) {
    uint64_t end = 0;
    for (uint32_t r = 0; r < f->count; r++) {
        const unsigned char *packet = packets + r * f->stride;
        uint64_t header[TALLY_PACKET_WORDS];
        tally_part_shape shape;
        memcpy(header, packet, sizeof header);
        const uint64_t first = header[2] * TALLY_CHUNK, stop = header[3] < f->chunks ? header[3] * TALLY_CHUNK : f->total;
        if (header[0]) return (tally_packet_verdict){(uint32_t)header[0], r};
        if (header[1] != f->key || header[2] != end || header[3] < end) return (tally_packet_verdict){TALLY_E_ARGUMENT, r};
        tally_part_shape_of(first, header[3] > end ? stop - first : 0, f->total, &shape);
        for (uint32_t k = 0; k < shape.node_count; k++)
            f->nodes[f->listed++] = (node){.begin = shape.nodes[k].index << shape.nodes[k].level,
                                           .level = shape.nodes[k].level,
                                           .acc = packet + sizeof header + k * f->acc_bytes};
        end = header[3];
    }
    if (end == f->chunks) return (tally_packet_verdict){0};
    return (tally_packet_verdict){TALLY_E_ARGUMENT, (uint32_t)f->count - 1};
}

/* Writes the accumulator of the subtree of this level that begins at chunk `begin`. */
static void value_at(const fold *f, uint64_t begin, uint32_t level, unsigned char *acc) {
    unsigned char right[STUB_ACC_MOST];
    for (uint64_t i = 0; i < f->listed; i++)
        if (f->nodes[i].begin == begin && f->nodes[i].level == level) {
            memcpy(acc, f->nodes[i].acc, f->acc_bytes);
            return;
        }
    const uint64_t middle = begin + (UINT64_C(1) << (level ? level - 1 : 0));
    if (!level) {
        stub_misuse("tally_fold: no packet has chunk %llu", (unsigned long long)begin);
        return;
    }
    value_at(f, begin, level - 1, acc);
    if (middle >= f->chunks) return;
    value_at(f, middle, level - 1, right);
    f->l->module->combine(acc, right);
}

static void run(fold *f) {
    const stub_launch *l = f->l;
    const uint64_t bytes = f->count * f->stride, most = f->count * TALLY_PART_MOST_NODES;
    const uint32_t result_bytes = l->module->sizes[STUB_RESULT_SIZE];
    const unsigned char *packets =
        stub_place(l->mem[TALLY_FOLD_ARG_PACKETS], number(l, TALLY_FOLD_ARG_AT, 8), bytes / 8, 8, "words of packets");
    unsigned char *verdict =
        stub_place(l->mem[TALLY_FOLD_ARG_VERDICT], number(l, TALLY_FOLD_ARG_VERDICT_AT, 8), 2, 4, "words of the verdict");
    unsigned char *out =
        stub_place(l->mem[TALLY_FOLD_ARG_OUT], number(l, TALLY_FOLD_ARG_OUT_OFFSET, 8), 1, result_bytes, "results");
    const int room = stub_place(l->mem[TALLY_FOLD_ARG_NODES], 0, most, TALLY_FOLD_NODE_BYTES, "nodes") &&
                     stub_place(l->mem[TALLY_FOLD_ARG_ACCS], 0, most, f->acc_bytes, "accumulators");
    unsigned char acc[STUB_ACC_MOST];
    uint32_t level = 0;
    if (!packets || !verdict || !out || !room || stub.misuse[0]) return;
    if (!(f->nodes = malloc((most + 1) * sizeof(node)))) abort();
    const tally_packet_verdict found = list_nodes(f, packets);
    memcpy(verdict, &found, sizeof found);
    while (UINT64_C(1) << level < f->chunks) level++;
    if (number(l, TALLY_FOLD_ARG_LEVELS, 4) != level) stub_misuse("tally_fold: the tree has %u levels", level);
    if (!found.status && f->total) value_at(f, 0, level, acc);
    if (!found.status) l->module->result(acc, f->total, l->values + l->at[TALLY_FOLD_ARG_PARAMS], out);
    free(f->nodes);
}

int stub_run_fold(const stub_launch *l) {
    if (strcmp(l->entry, "tally_fold") != 0) return 0;
    if (l->count != TALLY_FOLD_ARGS || l->groups != 1 || l->threads != stub_defined(l->source, "GROUP") || !l->module) {
        stub_misuse("tally_fold: %u arguments, %llu groups of %u", l->count, (unsigned long long)l->groups, l->threads);
        return 1;
    }
    fold f = {.l = l,
              .stride = 8 * number(l, TALLY_FOLD_ARG_STRIDE, 8),
              .count = number(l, TALLY_FOLD_ARG_COUNT, 8),
              .key = number(l, TALLY_FOLD_ARG_KEY, 8),
              .total = number(l, TALLY_FOLD_ARG_TOTAL, 8),
              .acc_bytes = l->module->sizes[STUB_ACC_SIZE]};
    if (number(l, TALLY_FOLD_ARG_CHUNKS, 8) != (f.total + TALLY_CHUNK - 1) / TALLY_CHUNK)
        stub_misuse("tally_fold: the chunks are not those of the items");
    f.chunks = (f.total + TALLY_CHUNK - 1) / TALLY_CHUNK;
    run(&f);
    return 1;
}
