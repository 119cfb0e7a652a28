/* SPDX-License-Identifier: MIT */
/* The kernels of gather and scatter as kernels/move.h documents them. They go from the last entry
 * to the first, as every order is allowed. */
#include <stdlib.h>
#include <string.h>

#include "move/move.h"
#include "backend.h"

/* The numbers of the program's text, and the arguments of the launch. */
typedef struct move_job {
    const stub_launch *l;
    uint32_t item_bytes, map_bytes, word; /* word: bytes of a position */
    int is_signed, scatter, stencil, checked, last;
    uint64_t n, run;
    const unsigned char *map, *stencils, *in;
    unsigned char *out, *bad, *winners;
    uint64_t items;
} move_job;

static uint64_t number(const stub_launch *l, uint32_t argument) {
    uint64_t value = 0;
    if (l->mem[argument] || l->bytes[argument] != sizeof value)
        stub_misuse("%s: argument %u is no number of 8 bytes", l->entry, argument);
    else
        memcpy(&value, l->values + l->at[argument], sizeof value);
    return value;
}

static uint64_t read_word(const unsigned char *at, uint32_t bytes) {
    uint32_t narrow;
    uint64_t wide;
    memcpy(bytes == 4 ? (void *)&narrow : (void *)&wide, at, bytes);
    return bytes == 4 ? narrow : wide;
}

static void write_word(unsigned char *at, uint32_t bytes, uint64_t value) {
    const uint32_t narrow = (uint32_t)value;
    memcpy(at, bytes == 4 ? (const void *)&narrow : (const void *)&value, bytes);
}

static move_job job_open(const stub_launch *l) {
    const char *map = strstr(l->source, "\n#define MAP ");
    move_job j = {.l = l,
                  .item_bytes = stub_defined(l->source, "ITEM_BYTES"),
                  .word = stub_defined(l->source, "POSITION_BYTES"),
                  .scatter = (int)stub_defined(l->source, "SCATTER"),
                  .stencil = (int)stub_defined(l->source, "STENCIL"),
                  .checked = (int)stub_defined(l->source, "CHECKED"),
                  .last = (int)stub_defined(l->source, "LAST")};
    const char *name = map ? map + strlen("\n#define MAP ") : "?";
    j.is_signed = name[0] == 'i';
    j.map_bytes = name[1] == '3' ? 4 : name[1] == '6' ? 8 : 0;
    if (!j.item_bytes || !j.map_bytes || (j.word != 4 && j.word != 8)) stub_misuse("the program's text cannot be understood");
    return j;
}

/* The groups take all of `count`, and each has some. */
static void check_groups(const move_job *j, uint64_t count, uint64_t run) {
    const uint32_t tile = j->l->threads * stub_defined(j->l->source, "FLIGHT");
    char group[32] = "#define GROUP ";
    if ((uint32_t)strtoul(j->l->source + strlen(group), NULL, 10) != j->l->threads)
        stub_misuse("%s: groups of %u threads, made for another number", j->l->entry, j->l->threads);
    if (!count || !run || j->l->groups != (count - 1) / run + 1)
        stub_misuse("%s: %llu groups of %llu for %llu entries", j->l->entry, (unsigned long long)j->l->groups,
                    (unsigned long long)run, (unsigned long long)count);
    if (j->l->threads > 1 && run % tile)
        stub_misuse("%s: a run of %llu is no multiple of a tile", j->l->entry, (unsigned long long)run);
}

static void open_entries(move_job *j, uint32_t items, uint32_t stencil) {
    const stub_launch *l = j->l;
    j->n = number(l, 2);
    j->run = number(l, 3);
    j->items = number(l, items);
    j->map = stub_place(l->mem[0], number(l, 1), j->n, j->map_bytes, "entries");
    j->stencils = j->stencil ? stub_place(l->mem[stencil], number(l, stencil + 1), j->n, 1, "stencil items") : NULL;
    check_groups(j, j->n, j->run);
}

/* Returns whether entry i is to be moved, and the item that it names. */
static int is_heeded(const move_job *j, uint64_t i, uint64_t *index) {
    const uint64_t raw = read_word(j->map + i * j->map_bytes, j->map_bytes);
    *index = j->is_signed && j->map_bytes == 4 ? (uint64_t)(int64_t)(int32_t)raw : raw;
    if (j->stencil && !j->stencils[i]) return 0;
    if (*index < j->items) return 1;
    if (!j->checked)
        stub_misuse("entry %llu names item %llu of %llu", (unsigned long long)i, (unsigned long long)*index,
                    (unsigned long long)j->items);
    else if (j->bad && i < read_word(j->bad, j->word))
        write_word(j->bad, j->word, i);
    return 0;
}

/* tally_move(map, map_offset, n, run, in, in_offset, items, stencil, stencil_offset, out,
 * out_offset, bad, winners) */
static void run_move(move_job *j) {
    const stub_launch *l = j->l;
    open_entries(j, 6, 7);
    const uint64_t in_items = j->scatter ? j->n : j->items, out_items = j->scatter ? j->items : j->n;
    j->in = stub_place(l->mem[4], number(l, 5), in_items, j->item_bytes, "items");
    j->out = stub_place(l->mem[9], number(l, 10), out_items, j->item_bytes, "items of out");
    if (j->checked) j->bad = stub_place(l->mem[11], 0, 1, j->word, "positions");
    if (j->last) j->winners = stub_place(l->mem[12], 0, j->items, j->word, "winners");
    if (!j->map || !j->in || !j->out || (j->stencil && !j->stencils) || (j->checked && !j->bad) || (j->last && !j->winners))
        return;
    if (j->checked && read_word(j->bad, j->word) != (j->word == 4 ? UINT32_MAX : UINT64_MAX))
        stub_misuse("the lowest bad position is not cleared before a launch");
    for (uint64_t i = j->n; i-- > 0;) {
        uint64_t index;
        if (!is_heeded(j, i, &index)) continue;
        if (j->last && read_word(j->winners + index * j->word, j->word) != i + 1) continue;
        const uint64_t from = j->scatter ? i : index, to = j->scatter ? index : i;
        memcpy(j->out + to * j->item_bytes, j->in + from * j->item_bytes, j->item_bytes);
    }
}

/* tally_claim(map, map_offset, n, run, items, stencil, stencil_offset, winners) */
static void run_claim(move_job *j) {
    open_entries(j, 4, 5);
    j->winners = stub_place(j->l->mem[7], 0, j->items, j->word, "winners");
    if (!j->map || !j->winners || (j->stencil && !j->stencils)) return;
    for (uint64_t i = j->n; i-- > 0;) {
        uint64_t index;
        if (!is_heeded(j, i, &index)) continue;
        unsigned char *winner = j->winners + index * j->word;
        if (read_word(winner, j->word) < i + 1) write_word(winner, j->word, i + 1);
    }
}

/* tally_clear(winners, count, run) */
static void run_clear(const move_job *j) {
    const uint64_t count = number(j->l, 1);
    unsigned char *winners = stub_place(j->l->mem[0], 0, count, j->word, "winners");
    check_groups(j, count, number(j->l, 2));
    if (winners) memset(winners, 0, count * j->word);
}

int stub_run_move(const stub_launch *l) {
    if (!strstr(l->source, "/* stub: " TALLY_MOVE_STEM " */")) return 0;
    move_job j = job_open(l);
    if (strcmp(l->entry, "tally_move") == 0 && l->count == 13)
        run_move(&j);
    else if (strcmp(l->entry, "tally_claim") == 0 && l->count == 8)
        run_claim(&j);
    else if (strcmp(l->entry, "tally_clear") == 0 && l->count == 3)
        run_clear(&j);
    else
        stub_misuse("entry %s with %u arguments", l->entry, l->count);
    return 1;
}
