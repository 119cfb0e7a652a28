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

#define PIECE_WORDS 32 /* behind them are the used words of an accumulator */

/* tally_part_seal(nodes, node_words, acc_words, out, offset, piece, piece_at, piece_words,
 * nodes_at, words, seals) */
static void run_seal(host_kernel *kernel, uint64_t groups, const tally_arg *args) {
    (void)kernel, (void)groups;
    const uint32_t node_words = HOST_VALUE(uint32_t, args[1]), acc_words = HOST_VALUE(uint32_t, args[2]);
    const uint64_t *used = (const uint64_t *)args[5].value + PIECE_WORDS;
    unsigned char *record = host_bytes(&args[3]) + 8 * HOST_VALUE(uint64_t, args[4]);
    unsigned char *accs = record + 8 * (size_t)HOST_VALUE(uint32_t, args[8]);
    memcpy(record + 8 * (size_t)HOST_VALUE(uint32_t, args[6]), args[5].value, 8 * (size_t)HOST_VALUE(uint32_t, args[7]));
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

bool host_part_entry(host_kernel *kernel, const char *entry) {
    const bool seals = !strcmp(entry, "tally_part_seal");
    kernel->run = seals ? run_seal : run_items;
    kernel->args = seals ? 11 : 6;
    return seals || !strcmp(entry, "tally_part_items");
}
