/* SPDX-License-Identifier: MIT */
/*
 * scan_steps: the steps of a scan on the program's own steps (src/host/scan_steps.h). What is the
 * same for all accumulators stands here: copies, counters, and segments.
 */
#include <string.h>

#include "scan/scan.h"
#include "scan_steps.h"

#define CELL TALLY_CELL_ITEMS
#define WIDTH TALLY_SCAN_WIDTH
#define CELLS TALLY_HOST_CELLS
#define BEGINS (UINT64_C(1) << 63)
_Static_assert(WIDTH == TALLY_HOST_ROW && CELL == 4, "the programs' rows and cells are those of scan order v1");

void tally_host_places_fill(host_places *places) {
    for (uint32_t c = 0; c < CELLS; c++) {
        places->counts[c] = (places->is_whole ? c : c % places->width) * CELL;
        places->indices[c] = places->step * (int64_t)places->counts[c];
    }
}

unsigned char *tally_host_take(unsigned char **at, uint64_t bytes) {
    unsigned char *taken = *at;
    *at += (bytes + 63) / 64 * 64;
    return taken;
}

uint32_t tally_host_packed_bytes(const tally_host_program *program, bool segmented) {
    return segmented ? (program->acc_bytes + 7) / 8 * 8 + 8 : program->acc_bytes;
}

/* Finds the fields of the accumulators. */
static void find_fields(host_steps *steps) {
    const uint8_t *bytes = steps->program->scan.fields;
    uint32_t offset = 0;
    uint64_t begin = 0;
    for (uint32_t f = 0; f < TALLY_HOST_FIELDS && bytes[f]; f++) {
        offset = (offset + bytes[f] - 1) / bytes[f] * bytes[f];
        steps->fields[steps->field_count++] = (host_field){.bytes = bytes[f], .offset = offset, .begin = begin};
        offset += bytes[f];
        begin += bytes[f] * (uint64_t)TALLY_HOST_PARTS;
    }
    steps->counters = begin;
}

host_steps tally_host_steps_take(const tally_host_program *program, bool segmented, unsigned char **at) {
    host_steps steps = {.program = program,
                        .scan = &program->scan,
                        .segmented = segmented,
                        .packed_bytes = tally_host_packed_bytes(program, segmented)};
    find_fields(&steps);
    if (program->plain && !segmented) steps.plain = (host_steps *)(void *)tally_host_take(at, sizeof(host_steps));
    steps.items = tally_host_take(at, HOST_BATCH_ITEMS * (uint64_t)program->item_bytes);
    steps.shared = &tally_host_code_here()->shared;
    steps.spare = tally_host_parts_take(&steps, at);
    steps.room = tally_host_parts_take(&steps, at);
    steps.ends = tally_host_parts_take(&steps, at);
    steps.initial = tally_host_parts_take(&steps, at);
    return steps;
}

/* ---- parts ----------------------------------------------------------------------------------- */

#define EACH_FIELD(steps, field)                                                                                               \
    for (const host_field *field = (steps)->fields; field < (steps)->fields + (steps)->field_count; field++)

static inline unsigned char *values_of(const host_field *field, host_parts parts) {
    return parts.accs + field->begin + (uint32_t)parts.at * (uint64_t)field->bytes;
}

static inline uint64_t *counters_of(const host_steps *steps, host_parts parts) {
    return (uint64_t *)(void *)(parts.accs + steps->counters) + parts.at;
}

host_parts tally_host_parts_take(const host_steps *steps, unsigned char **at) {
    const uint64_t counters = steps->segmented ? TALLY_HOST_PARTS * sizeof(uint64_t) : 0;
    return (host_parts){.accs = tally_host_take(at, steps->counters + counters), .at = TALLY_HOST_FIRST};
}

/* Copies `count` values of 4 or 8 bytes. The compiler's code for a memcpy of any size is slow for a
 * few. */
#define COPY(word)                                                                                                             \
    for (uint32_t i = 0; i < count; i++, to += to_step * sizeof(word), from += from_step * sizeof(word))                       \
        memcpy(to, from, sizeof(word));
static inline void copy(unsigned char *to, uint32_t to_step, const unsigned char *from, uint32_t from_step, uint32_t bytes,
                        uint32_t count) {
    if (bytes == 4)
        COPY(uint32_t)
    else
        COPY(uint64_t)
}

void tally_host_parts_copy_apart(const host_steps *steps, host_parts to, uint32_t to_step, host_parts from, uint32_t from_step,
                                 uint32_t count) {
    EACH_FIELD(steps, field) copy(values_of(field, to), to_step, values_of(field, from), from_step, field->bytes, count);
    if (steps->segmented)
        copy((unsigned char *)counters_of(steps, to), to_step, (const unsigned char *)counters_of(steps, from), from_step,
             sizeof(uint64_t), count);
}

void tally_host_parts_copy(const host_steps *steps, host_parts to, host_parts from, uint32_t count) {
    tally_host_parts_copy_apart(steps, to, 1, from, 1, count);
}

void tally_host_parts_write(const host_steps *steps, unsigned char *packed, host_parts part) {
    memset(packed, 0, steps->packed_bytes);
    EACH_FIELD(steps, field) memcpy(packed + field->offset, values_of(field, part), field->bytes);
    if (steps->segmented) memcpy(packed + steps->packed_bytes - sizeof(uint64_t), counters_of(steps, part), sizeof(uint64_t));
}

void tally_host_parts_read(const host_steps *steps, host_parts part, const unsigned char *packed) {
    EACH_FIELD(steps, field) memcpy(values_of(field, part), packed + field->offset, field->bytes);
    if (steps->segmented) memcpy(counters_of(steps, part), packed + steps->packed_bytes - sizeof(uint64_t), sizeof(uint64_t));
}

/* Tells whether parts are plain: all fields are zeros but that of plain items. */
static bool are_plain(const host_steps *steps, host_parts parts, uint32_t count) {
    unsigned char others = 0;
    EACH_FIELD(steps, field)
    for (uint64_t i = 0; i < count * (uint64_t)field->bytes && field->offset != steps->program->plain_offset; i++)
        others |= values_of(field, parts)[i];
    return !others;
}

/* ---- the steps ------------------------------------------------------------------------------- */

/* Returns where a program's step writes. With segments the parts stay as they are until `choose`
 * has read them. */
static host_parts made_of(const host_steps *steps, host_parts parts) {
    return (host_parts){.accs = steps->segmented ? steps->spare.accs : parts.accs, .at = parts.at};
}

/* Writes the parts in which a segment begins, and else what was made of them. */
static void choose(const host_steps *steps, host_parts made, host_parts parts, host_parts to, uint32_t count) {
    EACH_FIELD(steps, field)
    steps->shared->choose[field->bytes == 8](counters_of(steps, parts), values_of(field, made), values_of(field, parts),
                                             values_of(field, to), count);
}

void tally_host_parts_pairs(const host_steps *steps, host_parts left, host_parts parts, uint32_t count) {
    const host_parts made = made_of(steps, parts);
    uint64_t *counters = counters_of(steps, parts);
    steps->scan->pairs(left.accs, (int32_t)left.at, parts.accs, made.accs, (int32_t)made.at, count);
    if (!steps->segmented) return;
    choose(steps, made, parts, parts, count);
    steps->shared->count_pairs(counters_of(steps, left), counters, counters, count);
}

void tally_host_parts_join(const host_steps *steps, host_parts left, uint32_t left_step, host_parts parts, uint32_t count) {
    EACH_FIELD(steps, field)
    steps->shared->spread[field->bytes == 8](values_of(field, left), left_step, values_of(field, steps->room), count);
    if (steps->segmented) steps->shared->spread[1](counters_of(steps, left), left_step, counters_of(steps, steps->room), count);
    tally_host_parts_pairs(steps, steps->room, parts, count);
}

/* Does a step of segmented scans of `width` parts each. */
static void segmented_step(const host_steps *steps, host_parts from, host_parts to, uint32_t s, uint32_t width,
                           uint32_t count) {
    const host_parts made = made_of(steps, to);
    steps->scan->steps(from.accs, made.accs, NULL, (int32_t)from.at, (int32_t)s, (int32_t)s + 1, (int32_t)width, count, false);
    choose(steps, made, from, to, count);
    steps->shared->count_step(counters_of(steps, from), counters_of(steps, to), s, width, count);
}

void tally_host_parts_scan(const host_steps *steps, host_parts parts, host_parts to, uint32_t width, uint32_t count) {
    host_parts next = host_log(width) % 2 ? to : steps->room, other = host_log(width) % 2 ? steps->room : to;
    if (width == 1) tally_host_parts_copy(steps, to, parts, count);
    if (!steps->segmented)
        steps->scan->steps(parts.accs, next.accs, other.accs, (int32_t)parts.at, 1, (int32_t)width, (int32_t)width, count,
                           true);
    for (uint32_t s = 1; s < width && steps->segmented; s *= 2) {
        segmented_step(steps, parts, next, s, width, count);
        parts = next;
        next = other;
        other = parts;
    }
}

/* Makes the steps for plain items, which have one field of the parts. */
static void begin_plain(host_steps *steps) {
    host_steps *plain = steps->plain;
    *plain = *steps;
    plain->scan = steps->program->plain;
    plain->field_count = 0;
    EACH_FIELD(steps, field)
    if (field->offset == steps->program->plain_offset) plain->fields[plain->field_count++] = *field;
}

void tally_host_steps_begin(host_steps *steps, const host_places *places, const void *params, const void *initial) {
    const uint32_t bytes = steps->program->item_bytes;
    steps->places = places;
    steps->params = params;
    steps->has_initial = initial != NULL;
    if (initial) {
        memset(steps->items, 0, WIDTH * (uint64_t)bytes);
        memcpy(steps->items, initial, bytes);
        steps->scan->load(steps->items, 0, places->indices, WIDTH, params, NULL, 0, steps->initial.accs,
                          (int32_t)steps->initial.at);
        if (steps->segmented) *counters_of(steps, steps->initial) = 1;
    }
    steps->takes_plain = steps->plain && (!initial || are_plain(steps, steps->initial, 1));
    if (steps->takes_plain) begin_plain(steps);
}

void tally_host_steps_first(const host_steps *steps, unsigned char *result) {
    host_packed_part initial;
    if (steps->has_initial) tally_host_parts_write(steps, initial.bytes, steps->initial);
    steps->program->finish(initial.bytes, steps->has_initial, steps->params, result);
}

/* ---- results and streams --------------------------------------------------------------------- */

unsigned char *tally_host_arrays_take(const tally_host_program *program, unsigned char **at) {
    return tally_host_take(at, HOST_BATCH_ITEMS * (uint64_t)program->result_bytes);
}

unsigned char *tally_host_arrays_at(const host_steps *steps, unsigned char *arrays, uint32_t i) {
    return arrays + (i % CELL * CELLS + i / CELL) * (uint64_t)steps->program->result_bytes;
}

void tally_host_arrays_join(const host_steps *steps, const unsigned char *arrays, uint32_t cells, unsigned char *results) {
    steps->shared->join[host_log(steps->program->result_bytes)](arrays, cells, steps->places->reverse, results);
}

/* Prefetches into the second cache. An address outside the array is harmless. */
static void prefetch_piece(host_streams *streams) {
    if (!streams) return;
    for (uint64_t i = 0; i < streams->piece_bytes; i += 64) __builtin_prefetch((const void *)(streams->items + i), 0, 2);
    streams->items += streams->piece_bytes;
}

/* Stores piece j of CELL. */
static void store_piece(const host_steps *steps, uint32_t j) {
    const host_streams *streams = steps->streams;
    const uint64_t bytes = HOST_BATCH_ITEMS / CELL * (uint64_t)steps->program->result_bytes;
    if (!streams || !streams->to) return;
    tally_host_arrays_join(steps, tally_host_arrays_at(steps, streams->arrays, j * CELLS), CELLS / CELL, streams->piece);
    steps->shared->pass(streams->to + (steps->places->reverse ? CELL - 1 - j : j) * bytes, streams->piece, bytes);
}

unsigned char *tally_host_streams_store(const host_steps *steps, unsigned char *arrays, unsigned char *to) {
    host_streams *streams = steps->streams;
    unsigned char *other = streams->arrays;
    streams->arrays = arrays;
    streams->to = to;
    return other;
}

void tally_host_streams_end(const host_steps *steps) {
    for (uint32_t j = 0; j < CELL; j++) store_piece(steps, j);
    steps->streams->to = NULL;
}

/* ---- batches --------------------------------------------------------------------------------- */

host_batch tally_host_batch_take(const host_steps *steps, unsigned char **at) {
    host_batch batch = {.steps = NULL};
    for (uint32_t j = 0; j < CELL - 1; j++) batch.cells[j] = tally_host_parts_take(steps, at);
    batch.ends = tally_host_parts_take(steps, at);
    batch.mark = (host_mark *)(void *)tally_host_take(at, sizeof(host_mark));
    return batch;
}

/* Loads the cells' items, and combines those of each cell. Returns false if the steps are not for
 * one of the items. */
static bool load_cells(const host_steps *steps, uint64_t index, uint32_t cells, const uint8_t *begins,
                       const host_batch *batch) {
    const host_places *places = steps->places;
    const uint64_t bytes = steps->program->item_bytes;
    bool all = true;
    for (uint32_t j = 0; j < CELL && all; j++) {
        const host_parts parts = j < CELL - 1 ? batch->cells[j] : steps->ends;
        const host_parts before = batch->cells[j ? j - 1 : 0];
        all = steps->scan->load(steps->items + j * CELLS * bytes, index + (uint64_t)(places->step * j), places->indices, cells,
                                steps->params, j && !steps->segmented ? before.accs : NULL, j, parts.accs, (int32_t)parts.at);
        prefetch_piece(steps->streams);
        if (!steps->segmented) continue;
        steps->shared->count_flags(begins + j * CELLS, counters_of(steps, parts), cells);
        if (j) tally_host_parts_pairs(steps, before, parts, cells);
    }
    return all;
}

/* Tells whether to try the steps for plain items: unless the mark is set, and every 16th time if it
 * is. A mark that is set is taken back, and the fields that these steps leave out become zeros. */
static bool may_be_plain(const host_steps *steps, const host_batch *batch) {
    if (!steps->takes_plain || (batch->mark->is_set && ++batch->mark->passed % 16)) return false;
    for (uint32_t j = 0; j < CELL && batch->mark->is_set; j++)
        memset(j < CELL - 1 ? batch->cells[j].accs : batch->ends.accs, 0, steps->counters);
    batch->mark->is_set = false;
    return true;
}

static void take_all(const host_steps *steps, host_batch *batch) {
    batch->steps = steps;
    batch->mark->is_set = true;
}

void tally_host_batch_fold(const host_steps *steps, const unsigned char *items, uint8_t *begins, uint64_t index, uint32_t cells,
                           host_batch *batch) {
    uint8_t turned[HOST_BATCH_ITEMS];
    steps->shared->split[host_log(steps->program->item_bytes)](items, cells, steps->places->reverse, steps->items);
    if (steps->segmented) steps->shared->split[0](begins, cells, false, turned);
    batch->steps = steps->plain;
    if (!may_be_plain(steps, batch) || !load_cells(batch->steps, index, cells, NULL, batch)) {
        take_all(steps, batch);
        load_cells(steps, index, cells, turned, batch);
    }
    tally_host_parts_scan(batch->steps, steps->ends, batch->ends, steps->places->width, cells);
}

void tally_host_batch_meet(const host_steps *steps, host_parts prefixes, uint32_t count, host_batch *batch) {
    if (batch->steps != steps && !are_plain(steps, prefixes, count)) take_all(steps, batch);
}

void tally_host_batch_prefix(host_parts before, uint32_t cells, uint32_t firsts, const host_batch *batch) {
    const host_steps *steps = batch->steps;
    const uint32_t width = steps->places->width;
    for (uint32_t j = 0; j < CELL - 1 && width > 1; j++) {
        const host_parts parts = batch->cells[j], first = steps->room;
        if (firsts) tally_host_parts_copy_apart(steps, first, width, parts, width, firsts);
        tally_host_parts_pairs(steps, before, parts, cells);
        if (firsts) tally_host_parts_copy_apart(steps, parts, width, first, width, firsts);
    }
}

void tally_host_batch_finish(const host_parts *before, uint64_t first, uint32_t cells, const host_batch *batch,
                             unsigned char *arrays) {
    const host_steps *steps = batch->steps;
    const host_parts all[] = {before ? *before : batch->ends, batch->cells[0], batch->cells[1], batch->cells[2], batch->ends};
    for (uint32_t j = 0; j < CELL; j++) {
        const host_parts prefixes = all[before ? j : j + 1];
        uint64_t *counters = counters_of(steps, prefixes);
        prefetch_piece(steps->streams);
        store_piece(steps, j);
        /* The beginnings of segments would drop the initial item. */
        for (uint32_t c = 0; c < cells && steps->segmented; c++) counters[c] &= ~BEGINS;
        if (steps->has_initial) tally_host_parts_join(steps, steps->initial, 0, prefixes, cells);
        steps->scan->finish(
            prefixes.accs, (int32_t)prefixes.at, steps->segmented ? 0 : first + j + !before + steps->has_initial,
            steps->segmented ? counters : steps->places->counts, cells, steps->params, tally_host_arrays_at(steps, arrays, j));
    }
    if (steps->streams) steps->streams->to = NULL;
}
