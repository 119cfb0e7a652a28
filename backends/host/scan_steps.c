/* SPDX-License-Identifier: MIT */
/*
 * The steps of a scan (scan_steps.h). The program combines all parts as without segments, in
 * vectors. Then the parts in which a segment begins get back what they were. So no program has code
 * of its own for segments.
 */
#include <string.h>

#include "scan/scan.h"
#include "scan_steps.h"

#define CELL TALLY_CELL_ITEMS
#define CELLS TALLY_HOST_CELLS
#define BEGINS (UINT64_C(1) << 63)
#define FOLDED 128 /* cells that are folded at a time */
#define JOINED 32  /* parts that are joined at a time */

host_steps host_steps_of(const tally_host_program *program, bool segmented, const void *params) {
    const uint32_t bytes = program->acc_bytes;
    return (host_steps){program, params, segmented, bytes, segmented ? (bytes + 7) / 8 * 8 + 8 : bytes};
}

/* ---- parts ----------------------------------------------------------------------------------- */

static unsigned char *take(unsigned char **at, uint64_t bytes) {
    unsigned char *taken = *at;
    *at += (bytes + HOST_PARTS_ALIGN - 1) / HOST_PARTS_ALIGN * HOST_PARTS_ALIGN;
    return taken;
}

host_parts host_parts_take(const host_steps *steps, unsigned char **at, uint64_t count) {
    unsigned char *accs = take(at, count * steps->acc_bytes);
    return (host_parts){accs, steps->segmented ? (uint64_t *)(void *)take(at, count * sizeof(uint64_t)) : NULL};
}

host_parts host_parts_packed(const host_steps *steps, unsigned char *bytes) {
    unsigned char *counter = bytes + steps->packed_bytes - sizeof(uint64_t);
    return (host_parts){bytes, steps->segmented ? (uint64_t *)(void *)counter : NULL};
}

/* ---- segments -------------------------------------------------------------------------------- */

/* Writes to[i] = from[i], of `bytes` bytes, where a segment begins in part i. */
static inline void restore_as(const uint64_t *counters, const unsigned char *restrict from, unsigned char *restrict to,
                              uint32_t count, uint32_t bytes) {
    for (uint32_t i = 0; i < count; i++)
        if (counters[i] & BEGINS) memcpy(to + (uint64_t)i * bytes, from + (uint64_t)i * bytes, bytes);
}

static void restore(const host_steps *steps, const uint64_t *counters, const unsigned char *from, unsigned char *to,
                    uint32_t count) {
    if (steps->acc_bytes == 4)
        restore_as(counters, from, to, count, 4);
    else if (steps->acc_bytes == 8)
        restore_as(counters, from, to, count, 8);
    else if (steps->acc_bytes == 16)
        restore_as(counters, from, to, count, 16);
    else
        restore_as(counters, from, to, count, steps->acc_bytes);
}

/* Writes the counters of a[i * step] and b[i] combined. */
static void count_pairs(const uint64_t *a, uint32_t step, const uint64_t *b, uint64_t *to, uint32_t count) {
    for (uint32_t i = 0; i < count; i++) {
        const uint64_t kept = (b[i] >> 63) - 1; /* all bits: no segment begins in b */
        to[i] = b[i] + (a[i * step] & kept);
    }
}

/* ---- the steps ------------------------------------------------------------------------------- */

/* Folds `count` cells, few enough for the first cache. */
static void fold_cells(const host_steps *steps, const unsigned char *items, const uint8_t *begins, uint64_t index, int64_t step,
                       uint32_t count, host_parts scratch, host_parts cells) {
    for (uint32_t j = 0; j < CELL; j++) {
        const host_parts own = host_parts_from(steps, cells, j * CELLS), loaded = j ? scratch : own;
        steps->program->scan.load(items + (uint64_t)j * steps->program->item_bytes, index + (uint64_t)step * j, CELL * step,
                                  count, steps->params, loaded.accs);
        for (uint32_t c = 0; steps->segmented && c < count; c++) loaded.counters[c] = 1 | (begins[c * CELL + j] ? BEGINS : 0);
        if (j) host_steps_pairs(steps, host_parts_from(steps, cells, (j - 1) * CELLS), scratch, own, count);
    }
}

void host_steps_fold(const host_steps *steps, const unsigned char *items, const uint8_t *begins, uint64_t index, int64_t step,
                     uint32_t rows, host_parts scratch, host_parts cells) {
    const uint32_t count = rows * TALLY_SCAN_WIDTH;
    for (uint32_t c = 0; c < count; c += FOLDED)
        fold_cells(steps, items + (uint64_t)c * CELL * steps->program->item_bytes, steps->segmented ? begins + c * CELL : NULL,
                   index + (uint64_t)step * c * CELL, step, count - c < FOLDED ? count - c : FOLDED, scratch,
                   host_parts_from(steps, cells, c));
}

void host_steps_load(const host_steps *steps, const void *item, host_parts part) {
    steps->program->scan.load(item, 0, 0, 1, steps->params, part.accs);
    if (steps->segmented) *part.counters = 1;
}

void host_steps_pairs(const host_steps *steps, host_parts a, host_parts b, host_parts to, uint32_t count) {
    steps->program->scan.pairs(a.accs, b.accs, to.accs, count);
    if (!steps->segmented) return;
    restore(steps, b.counters, b.accs, to.accs, count);
    count_pairs(a.counters, 1, b.counters, to.counters, count);
}

void host_steps_join(const host_steps *steps, host_parts left, host_parts parts, uint32_t count) {
    _Alignas(64) unsigned char kept[JOINED * TALLY_HOST_ACC_BYTES];
    const uint32_t most = steps->segmented ? JOINED : count;
    for (uint32_t i = 0; i < count; i += most) {
        const host_parts some = host_parts_from(steps, parts, i);
        const uint32_t here = count - i < most ? count - i : most;
        if (steps->segmented) memcpy(kept, some.accs, here * (uint64_t)steps->acc_bytes);
        steps->program->scan.join(left.accs, some.accs, here);
        if (!steps->segmented) continue;
        restore(steps, some.counters, kept, some.accs, here);
        count_pairs(left.counters, 0, some.counters, some.counters, here);
    }
}

void host_steps_clear_beginnings(host_parts parts, uint32_t count) {
    for (uint32_t i = 0; i < count && parts.counters; i++) parts.counters[i] &= ~BEGINS;
}

void host_steps_finish(const host_steps *steps, host_parts parts, uint32_t step, uint64_t first, uint32_t count,
                       uint64_t before, unsigned char *results) {
    const tally_host_program *program = steps->program;
    if (!steps->segmented) {
        program->scan.finish(parts.accs, step, first, count, before, steps->params, results);
        return;
    }
    for (uint32_t i = 0; i < count; i++)
        program->finish(parts.accs + i * (uint64_t)steps->acc_bytes, (parts.counters[i] & ~BEGINS) + before, steps->params,
                        results + (uint64_t)i * step * program->result_bytes);
}
