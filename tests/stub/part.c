/* SPDX-License-Identifier: MIT */
/* The kernels of records of parts as kernels/part.h documents them. */
#include <string.h>

#include "backend.h"

/* Reads a number of 8 bytes, or of 4. */
static uint64_t number(const stub_launch *l, uint32_t argument, uint32_t bytes) {
    uint64_t wide = 0;
    uint32_t narrow = 0;
    if (l->mem[argument] || l->bytes[argument] != bytes) {
        stub_misuse("%s: argument %u is no number of %u bytes", l->entry, argument, bytes);
        return 0;
    }
    memcpy(bytes == 4 ? (void *)&narrow : (void *)&wide, l->values + l->at[argument], bytes);
    return bytes == 4 ? narrow : wide;
}

/* Returns an argument that is a struct, or NULL. */
static const unsigned char *words_of(const stub_launch *l, uint32_t argument, uint32_t bytes) {
    if (!l->mem[argument] && l->bytes[argument] == bytes) return l->values + l->at[argument];
    stub_misuse("%s: argument %u is no struct of %u bytes", l->entry, argument, bytes);
    return NULL;
}

static void run_items(const stub_launch *l) {
    const uint64_t from = number(l, 1, 8), to = number(l, 3, 8), bytes = number(l, 4, 8), padded = number(l, 5, 8);
    const unsigned char *in = stub_place(l->mem[0], from, bytes, 1, "bytes of items");
    unsigned char *out = stub_place(l->mem[2], to, padded, 1, "bytes of the record");
    if (bytes > padded || padded - bytes > 7) stub_misuse("tally_part_items: %d bytes for %d", (int)padded, (int)bytes);
    if (!in || !out || bytes > padded) return;
    memset(out, 0, padded);
    memcpy(out, in, bytes);
}

static uint64_t mixed(uint64_t word, uint64_t i) {
    uint64_t z = word + 0x9e3779b97f4a7c15u * (i + 1);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

static void seal(const stub_launch *l, unsigned char *record, uint64_t words) {
    const uint64_t node_words = number(l, 2, 4), acc_words = number(l, 3, 4), nodes_at = number(l, 7, 4);
    const unsigned char *piece = words_of(l, 4, 320);
    unsigned char *nodes = record + 8 * nodes_at;
    uint64_t sum = 0, word;
    if (8 * nodes_at + 4 * node_words > 8 * words) stub_misuse("tally_part_seal: the nodes are beyond the record");
    if (!piece || stub.misuse[0]) return;
    memset(nodes + 4 * node_words, 0, 4 * (node_words % 2));
    for (uint64_t i = 0; i < node_words; i++)
        if (!(piece[256 + i % acc_words / 8] >> (i % acc_words % 8) & 1)) memset(nodes + 4 * i, 0, 4);
    for (uint64_t i = 0; i < words; i++) {
        memcpy(&word, record + 8 * i, 8);
        if (i != 3) sum += mixed(word, i);
    }
    memcpy(record + 24, &sum, 8);
}

static void run_seal(const stub_launch *l) {
    const uint64_t piece_at = number(l, 5, 4), piece_words = number(l, 6, 4), words = number(l, 8, 4);
    const unsigned char *piece = words_of(l, 4, 320);
    unsigned char *record = stub_place(l->mem[0], number(l, 1, 8), words, 8, "words of the record");
    if (l->groups != 1) stub_misuse("tally_part_seal in %llu groups", (unsigned long long)l->groups);
    if (piece_words > 32 || piece_at + piece_words > words) stub_misuse("tally_part_seal: a piece beyond the record");
    if (!piece || !record || stub.misuse[0]) return;
    memcpy(record + 8 * piece_at, piece, 8 * piece_words);
    if (number(l, 9, 4)) seal(l, record, words);
}

int stub_run_part(const stub_launch *l) {
    const int items = strcmp(l->entry, "tally_part_items") == 0, seals = strcmp(l->entry, "tally_part_seal") == 0;
    if (!items && !seals) return 0;
    if (l->count != (items ? 6 : 10))
        stub_misuse("entry %s with %u arguments", l->entry, l->count);
    else if (l->threads != stub_defined(l->source, "GROUP"))
        stub_misuse("%s: groups of %u threads", l->entry, l->threads);
    else if (items)
        run_items(l);
    else
        run_seal(l);
    return 1;
}
