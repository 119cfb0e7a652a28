/* SPDX-License-Identifier: MIT */
/*
 * moves.c: the rows of gathers and scatters in the study: three kinds of maps, with and
 * without a check of bounds. Items and entries are functions of the index, so only the device
 * stores them.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tools/move/maps.h"
#include "oracle/patterns.h"
#include "study.h"

#define PIECE_ITEMS ((uint64_t)1 << 20)

static const struct {
    const char *name, *step, *finish;
    maps_kind kind;
    uint32_t flags;
} rows[] = {
    {"identity", "entry i is i", "checked", MAPS_IDENTITY, 0},
    {"strided", "every 32nd item, then their neighbours", "checked", MAPS_STRIDED, 0},
    {"random", "a random permutation", "checked", MAPS_RANDOM, 0},
    {"identity_unchecked", "entry i is i", "unchecked", MAPS_IDENTITY, TALLY_UNCHECKED},
    {"strided_unchecked", "every 32nd item, then their neighbours", "unchecked", MAPS_STRIDED, TALLY_UNCHECKED},
    {"random_unchecked", "a random permutation", "unchecked", MAPS_RANDOM, TALLY_UNCHECKED},
    {"random_last", "a random permutation, and the last of duplicates wins", "checked", MAPS_RANDOM, TALLY_SCATTER_LAST},
};

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

bool study_moves_row(cli_primitive of, size_t index, tally_variant_info *out) {
    if (index >= COUNT(rows) || (rows[index].flags & TALLY_SCATTER_LAST && of != CLI_SCATTER)) return false;
    *out = (tally_variant_info){
        .name = rows[index].name, .stem = "move", .step = rows[index].step, .source = "001", .finish = rows[index].finish};
    return true;
}

static size_t find_row(const char *name) {
    size_t row = 0;
    while (strcmp(rows[row].name, name) != 0) row++;
    return row;
}

/* ---- items and maps -------------------------------------------------------------------------- */

static void make_item(uint64_t i, unsigned char item[16]) {
    const uint64_t words[2] = {pattern_random(i), ~pattern_random(i)};
    memcpy(item, words, sizeof(words));
}

/* Writes items, or entries of a map, in pieces. */
static tally_status fill(const study_memory *m, tally_buffer *buffer, uint64_t n, bool is_map, maps_kind kind) {
    const tally_dtype type = is_map ? study_map_dtype(m->request) : m->request->dtype;
    const size_t width = tally_dtype_bytes(type);
    unsigned char *piece = malloc(PIECE_ITEMS * width), item[16];
    tally_status status = piece ? TALLY_OK : tally_fail(TALLY_E_MEMORY, "out of memory");
    for (uint64_t first = 0; first < n && !status; first += PIECE_ITEMS) {
        const uint64_t count = n - first < PIECE_ITEMS ? n - first : PIECE_ITEMS;
        for (uint64_t i = 0; i < count; i++) {
            if (is_map) maps_store(type, piece, i, maps_entry(kind, n, first + i));
            if (is_map) continue;
            make_item(first + i, item);
            memcpy(piece + i * width, item, width);
        }
        status = tally_buffer_write(m->queue, buffer, first * width, piece, count * width);
        const tally_status waited = tally_queue_wait(m->queue);
        if (!status) status = waited;
    }
    free(piece);
    return status;
}

tally_status study_moves_fill(const study_memory *m, uint64_t n) {
    return fill(m, m->in, n, false, MAPS_IDENTITY);
}

tally_status study_moves_map(const study_memory *m, const char *row, uint64_t n) {
    return fill(m, m->map, n, true, rows[find_row(row)].kind);
}

/* ---- running --------------------------------------------------------------------------------- */

tally_status study_moves_plan(const study_memory *m, const char *row, uint64_t max_n, tally_plan **out) {
    const tally_move_desc desc = {.size = sizeof(desc),
                                  .item_bytes = (uint32_t)tally_dtype_bytes(m->request->dtype),
                                  .map = study_map_dtype(m->request),
                                  .flags = rows[find_row(row)].flags,
                                  .max_n = max_n,
                                  .max_out = max_n};
    return m->request->primitive == CLI_GATHER ? tally_gather_plan_create(m->context, &desc, out)
                                               : tally_scatter_plan_create(m->context, &desc, out);
}

tally_status study_moves_run(const study_memory *m, tally_plan *plan, uint64_t n) {
    const tally_move_args args = {.size = sizeof(args), .map = m->map, .n = n, .in = m->in, .out = m->out, .items = n};
    return m->request->primitive == CLI_GATHER ? tally_gather(plan, m->queue, &args) : tally_scatter(plan, m->queue, &args);
}

bool study_moves_check(const study_memory *m, const char *row, uint64_t n, char *text, size_t bytes) {
    const size_t width = tally_dtype_bytes(m->request->dtype);
    const maps_kind kind = rows[find_row(row)].kind;
    unsigned char item[16];
    for (uint64_t i = 0; i < n; i++) {
        const uint64_t entry = maps_entry(kind, n, i);
        const uint64_t from = m->request->primitive == CLI_GATHER ? entry : i,
                       to = m->request->primitive == CLI_GATHER ? i : entry;
        make_item(from, item);
        if (memcmp(m->got + to * width, item, width) == 0) continue;
        snprintf(text, bytes, "item %" PRIu64 " of the output is not item %" PRIu64 " of the input", to, from);
        return false;
    }
    return true;
}
