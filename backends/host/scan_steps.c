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
#define ROWS TALLY_HOST_ROWS
#define CELLS TALLY_HOST_CELLS
#define BEGINS (UINT64_C(1) << 63)

void host_places_fill(host_places *places, uint64_t items) {
    for (uint32_t c = 0; c < CELLS; c++) {
        places->counts[c] = c % ROWS * items + c / ROWS % places->width * CELL;
        places->indices[c] = places->step * (int64_t)places->counts[c];
    }
}

unsigned char *host_take(unsigned char **at, uint64_t bytes) {
    unsigned char *taken = *at;
    *at += (bytes + 63) / 64 * 64;
    return taken;
}

uint32_t host_packed_bytes(const tally_host_program *program, bool segmented) {
    return segmented ? (program->acc_bytes + 7) / 8 * 8 + 8 : program->acc_bytes;
}

host_steps host_steps_take(const tally_host_program *program, bool segmented, unsigned char **at) {
    host_steps steps = {.program = program, .segmented = segmented, .packed_bytes = host_packed_bytes(program, segmented)};
    steps.items = host_take(at, HOST_BATCH_ITEMS * (uint64_t)program->item_bytes);
    steps.results = host_take(at, HOST_BATCH_ITEMS * (uint64_t)program->result_bytes);
    steps.initial = host_parts_take(&steps, at);
    if (segmented) steps.spare = host_parts_take(&steps, at);
    return steps;
}

/* ---- parts ----------------------------------------------------------------------------------- */

/* A field of an accumulator. */
typedef struct acc_field {
    uint32_t bytes, offset; /* in an accumulator */
    uint64_t begin;         /* of its array in an array of parts */
} acc_field;

/* Finds field f. Returns false if there is none. Begin with zeros and field 0. */
static inline bool next_field(const host_steps *steps, uint32_t f, acc_field *field) {
    const uint8_t *fields = steps->program->scan.fields;
    if (f == TALLY_HOST_FIELDS || !fields[f]) return false;
    const uint32_t end = field->offset + field->bytes;
    field->begin += field->bytes * (uint64_t)TALLY_HOST_PARTS;
    field->bytes = fields[f];
    field->offset = (end + field->bytes - 1) / field->bytes * field->bytes;
    return true;
}
#define EACH_FIELD(steps, field)                                                                                               \
    acc_field field = {0};                                                                                                     \
    for (uint32_t f = 0; next_field(steps, f, &field); f++)

static inline unsigned char *values_of(const acc_field *field, host_parts parts) {
    return parts.accs + field->begin + parts.at * (uint64_t)field->bytes;
}

static inline uint64_t *counters_of(host_parts parts) {
    return parts.counters + parts.at;
}

host_parts host_parts_take(const host_steps *steps, unsigned char **at) {
    uint64_t bytes = 0;
    EACH_FIELD(steps, field) bytes = field.begin + field.bytes * (uint64_t)TALLY_HOST_PARTS;
    unsigned char *accs = host_take(at, bytes);
    return (host_parts){.accs = accs,
                        .counters =
                            steps->segmented ? (uint64_t *)(void *)host_take(at, TALLY_HOST_PARTS * sizeof(uint64_t)) : NULL};
}

void host_parts_copy(const host_steps *steps, host_parts to, host_parts from, uint32_t count) {
    EACH_FIELD(steps, field) memcpy(values_of(&field, to), values_of(&field, from), count * (uint64_t)field.bytes);
    if (steps->segmented) memcpy(counters_of(to), counters_of(from), count * sizeof(uint64_t));
}

void host_parts_write(const host_steps *steps, unsigned char *packed, host_parts part) {
    memset(packed, 0, steps->packed_bytes);
    EACH_FIELD(steps, field) memcpy(packed + field.offset, values_of(&field, part), field.bytes);
    if (steps->segmented) memcpy(packed + steps->packed_bytes - sizeof(uint64_t), counters_of(part), sizeof(uint64_t));
}

void host_parts_read(const host_steps *steps, host_parts to, const unsigned char *packed, uint32_t count) {
    EACH_FIELD(steps, field)
    for (uint32_t r = 0; r < count; r++) memcpy(values_of(&field, to) + r * field.bytes, packed + field.offset, field.bytes);
    for (uint32_t r = 0; r < count && steps->segmented; r++)
        memcpy(counters_of(to) + r, packed + steps->packed_bytes - sizeof(uint64_t), sizeof(uint64_t));
}

/* Room for a packed part. */
typedef struct packed_part {
    _Alignas(64) unsigned char bytes[TALLY_HOST_ACC_BYTES];
} packed_part;

void host_parts_spread(const host_steps *steps, host_parts to, host_parts part) {
    packed_part packed;
    host_parts_write(steps, packed.bytes, part);
    host_parts_read(steps, to, packed.bytes, ROWS);
}

void host_parts_clear(const host_steps *steps, host_parts to) {
    packed_part packed = {{0}};
    const void *const none[] = {packed.bytes};
    steps->program->fold(none, steps->params, 0, 0, false, packed.bytes);
    host_parts_read(steps, to, packed.bytes, ROWS);
}

/* ---- segments -------------------------------------------------------------------------------- */

/* Writes to[i] = from[i], unless a segment begins in part i. Masks let loops become vectors. */
#define CHOOSE(word)                                                                                                           \
    for (uint32_t i = 0; i < count; i++) {                                                                                     \
        word given, old;                                                                                                       \
        memcpy(&given, values + i * sizeof(word), sizeof(word));                                                               \
        memcpy(&old, kept + i * sizeof(word), sizeof(word));                                                                   \
        old ^= (old ^ given) & (word)((counters[i] >> 63) - 1);                                                                \
        memcpy(kept + i * sizeof(word), &old, sizeof(word));                                                                   \
    }
static void choose(const host_steps *steps, host_parts from, host_parts to, uint32_t count) {
    const uint64_t *restrict counters = counters_of(to);
    EACH_FIELD(steps, field) {
        const unsigned char *restrict values = values_of(&field, from);
        unsigned char *restrict kept = values_of(&field, to);
        if (field.bytes == 4)
            CHOOSE(uint32_t)
        else
            CHOOSE(uint64_t)
    }
}

/* Adds the counters of columns of `left` to those of parts in which no segment begins. */
static void count_pairs(host_parts left, int32_t left_step, host_parts parts, int32_t step, uint32_t columns) {
    const uint64_t *a = counters_of(left);
    uint64_t *b = counters_of(parts);
    for (; columns; columns--, a += left_step, b += step)
        for (uint32_t r = 0; r < ROWS; r++) b[r] += a[r] & ((b[r] >> 63) - 1);
}

/* ---- the steps ------------------------------------------------------------------------------- */

/* Combines columns of `left` with those of `parts`. Goes on by left_step and `step` places. No
 * column of `left` is that of an earlier one of `parts`. */
static void pairs(const host_steps *steps, host_parts left, int32_t left_step, host_parts parts, int32_t step,
                  uint32_t columns) {
    const host_parts to = {steps->segmented ? steps->spare.accs : parts.accs, NULL, 0};
    if (!columns) return;
    steps->program->scan.pairs(left.accs, (int32_t)left.at, left_step, parts.accs, to.accs, (int32_t)parts.at, step, columns);
    if (!steps->segmented) return;
    const uint32_t below = step < 0 ? (columns - 1) * ROWS : 0;
    const host_parts lowest = {parts.accs, parts.counters, parts.at - below};
    choose(steps, host_parts_from(to, lowest.at), lowest, columns * ROWS);
    count_pairs(left, left_step, parts, step, columns);
}

void host_parts_join(const host_steps *steps, host_parts left, int32_t left_step, host_parts parts, uint32_t columns) {
    pairs(steps, left, left_step, parts, ROWS, columns);
}

/* Combines each column from `first` on, up to `columns` of them, with that of s columns before. The
 * last one is the first to be written, as others need what it was. */
static void shift(const host_steps *steps, host_parts first, uint32_t s, uint32_t columns) {
    if (s < columns)
        pairs(steps, host_parts_from(first, (columns - 1 - s) * ROWS), -ROWS, host_parts_from(first, (columns - 1) * ROWS),
              -ROWS, columns - s);
}

void host_parts_scan(const host_steps *steps, host_parts a, host_parts to) {
    for (uint32_t s = 1; s < ROWS; s *= 2) {
        host_parts_copy(steps, to, a, WIDTH);
        pairs(steps, a, ROWS, host_parts_from(to, s), ROWS, WIDTH / ROWS);
        const host_parts next = a;
        a = to;
        to = next;
    }
    for (uint32_t s = ROWS; s < WIDTH; s *= 2) shift(steps, a, s / ROWS, WIDTH / ROWS);
}

void host_steps_begin(host_steps *steps, const host_places *places, const void *params, const void *initial) {
    const uint32_t bytes = steps->program->item_bytes;
    steps->places = places;
    steps->params = params;
    steps->has_initial = initial != NULL;
    if (!initial) return;
    for (uint32_t i = 0; i < 4 * ROWS; i++) memcpy(steps->items + i * bytes, initial, bytes);
    steps->program->scan.load(steps->items, 0, places->indices, 1, params, steps->initial.accs, 0);
    for (uint32_t r = 0; r < ROWS && steps->segmented; r++) steps->initial.counters[r] = 1;
}

void host_steps_first(const host_steps *steps, unsigned char *result) {
    packed_part initial;
    if (steps->has_initial) host_parts_write(steps, initial.bytes, steps->initial);
    steps->program->finish(initial.bytes, steps->has_initial, steps->params, result);
}

/* ---- batches --------------------------------------------------------------------------------- */

host_batch host_batch_take(const host_steps *steps, unsigned char **at) {
    host_batch batch;
    for (uint32_t j = 0; j < CELL; j++) batch.cells[j] = host_parts_take(steps, at);
    return batch;
}

/*
 * Items and results stand in rows: item j of cell l of row r is number r * 128 + l * 4 + j, or in
 * reverse that number from the end. In columns it is number j * CELLS + l * ROWS + r. A turn copies
 * from one to the other. TURN_ROWS rows of TURN_ITEMS items of a cell become vectors, which are
 * zipped: first halves with second halves. Each time the bits of an item's number rotate by one.
 */
typedef unsigned char bytes_vector __attribute__((vector_size(16)));
typedef uint32_t words_vector __attribute__((vector_size(16)));
typedef uint64_t longs_vector __attribute__((vector_size(16)));
#define TURN_ROWS(bytes) ((bytes) <= 2 ? 8u : 16u / (bytes))
#define TURN_ITEMS(bytes) ((bytes) <= 4 ? 4u : 16u / (bytes))

/* Takes pieces of 4, 8 or 16 bytes for a vector. */
static inline bytes_vector gather(const unsigned char *const *pieces, uint32_t bytes) {
    uint64_t longs[2];
    uint32_t words[4];
    bytes_vector v = {0};
    if (bytes == 16) memcpy(&v, pieces[0], 16);
    for (int i = 0; i < 2 && bytes == 8; i++) memcpy(&longs[i], pieces[i], 8);
    for (int i = 0; i < 4 && bytes == 4; i++) memcpy(&words[i], pieces[i], 4);
    if (bytes == 8) v = (bytes_vector)(longs_vector){longs[0], longs[1]};
    if (bytes == 4) v = (bytes_vector)(words_vector){words[0], words[1], words[2], words[3]};
    return v;
}

static inline void scatter(unsigned char *const *pieces, uint32_t bytes, bytes_vector v) {
    const longs_vector longs = (longs_vector)v;
    const words_vector words = (words_vector)v;
    if (bytes == 16) memcpy(pieces[0], &v, 16);
    for (int i = 0; i < 2 && bytes == 8; i++) memcpy(pieces[i], &(uint64_t){longs[i]}, 8);
    for (int i = 0; i < 4 && bytes == 4; i++) memcpy(pieces[i], &(uint32_t){words[i]}, 4);
}

#ifdef __clang__
#define ZIP(type, a, b, ...) (bytes_vector) __builtin_shufflevector((type)(a), (type)(b), __VA_ARGS__)
#else /* gcc has that one from version 12 on */
#define ZIP(type, a, b, ...) (bytes_vector) __builtin_shuffle((type)(a), (type)(b), (type){__VA_ARGS__})
#endif
typedef uint16_t shorts_vector __attribute__((vector_size(16)));
static inline bytes_vector zip_low(bytes_vector a, bytes_vector b, uint32_t bytes) {
    return bytes == 1   ? ZIP(bytes_vector, a, b, 0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23)
           : bytes == 2 ? ZIP(shorts_vector, a, b, 0, 8, 1, 9, 2, 10, 3, 11)
           : bytes == 4 ? ZIP(words_vector, a, b, 0, 4, 1, 5)
                        : ZIP(longs_vector, a, b, 0, 2);
}
static inline bytes_vector zip_high(bytes_vector a, bytes_vector b, uint32_t bytes) {
    return bytes == 1   ? ZIP(bytes_vector, a, b, 8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31)
           : bytes == 2 ? ZIP(shorts_vector, a, b, 4, 12, 5, 13, 6, 14, 7, 15)
           : bytes == 4 ? ZIP(words_vector, a, b, 2, 6, 3, 7)
                        : ZIP(longs_vector, a, b, 1, 3);
}

/* Turns TURN_ITEMS items of TURN_ROWS cells, from or to their places in rows and in columns. */
static inline void turn_block(unsigned char *const *rows, unsigned char *const *columns, bool to_rows, uint32_t bytes) {
    const uint32_t count = TURN_ROWS(bytes) * TURN_ITEMS(bytes) * bytes / 16;
    const uint32_t of_row = TURN_ITEMS(bytes) * bytes, of_column = TURN_ROWS(bytes) * bytes;
    const uint32_t got = to_rows ? of_column : of_row, given = to_rows ? of_row : of_column;
    bytes_vector v[4], w[4];
    for (uint32_t i = 0; i < count; i++)
        v[i] = gather((const unsigned char *const *)(to_rows ? columns : rows) + i * (16 / got), got);
    for (uint32_t times = to_rows ? TURN_ITEMS(bytes) : TURN_ROWS(bytes); times > 1; times /= 2) {
        for (uint32_t i = 0; i < count / 2; i++) {
            w[2 * i] = zip_low(v[i], v[i + count / 2], bytes);
            w[2 * i + 1] = zip_high(v[i], v[i + count / 2], bytes);
        }
        for (uint32_t i = 0; i < count; i++) v[i] = w[i];
    }
    for (uint32_t i = 0; i < count; i++) scatter((to_rows ? rows : columns) + i * (16 / given), given, v[i]);
}

static inline __attribute__((always_inline)) void turn_as(unsigned char *in_rows, unsigned char *in_columns, uint32_t cells,
                                                          bool to_rows, bool reverse, uint32_t bytes) {
    for (uint32_t l = 0; l < cells; l++)
        for (uint32_t r = 0; r < ROWS; r += TURN_ROWS(bytes))
            for (uint32_t m = 0; m < CELL; m += TURN_ITEMS(bytes)) {
                unsigned char *rows[8], *columns[4];
                for (uint32_t i = 0; i < TURN_ROWS(bytes); i++)
                    rows[i] = in_rows + ((reverse ? ROWS - 1 - r - i : r + i) * HOST_ROW_ITEMS +
                                         (reverse ? WIDTH - 1 - l : l) * CELL + m) *
                                            bytes;
                for (uint32_t i = 0; i < TURN_ITEMS(bytes); i++)
                    columns[i] = in_columns + ((reverse ? CELL - 1 - m - i : m + i) * CELLS + l * ROWS + r) * bytes;
                if (bytes < 16)
                    turn_block(rows, columns, to_rows, bytes);
                else
                    memcpy(to_rows ? rows[0] : columns[0], to_rows ? columns[0] : rows[0], bytes);
            }
}

#define TURN(bytes)                                                                                                            \
    do {                                                                                                                       \
        if (to_rows)                                                                                                           \
            reverse ? turn_as(rows, in_columns, cells, true, true, bytes)                                                      \
                    : turn_as(rows, in_columns, cells, true, false, bytes);                                                    \
        else                                                                                                                   \
            reverse ? turn_as(rows, in_columns, cells, false, true, bytes)                                                     \
                    : turn_as(rows, in_columns, cells, false, false, bytes);                                                   \
    } while (0)
static void turn(unsigned char *rows, unsigned char *in_columns, uint32_t cells, bool to_rows, bool reverse, uint32_t bytes) {
    switch (bytes) {
    case 1:
        TURN(1);
        break;
    case 2:
        TURN(2);
        break;
    case 4:
        TURN(4);
        break;
    case 8:
        TURN(8);
        break;
    case 16:
        TURN(16);
        break;
    }
}

/* Sets the counters of the items of the cells. */
static void count_items(uint8_t *begins, uint32_t columns, const host_batch *batch) {
    uint8_t turned[HOST_BATCH_ITEMS];
    turn(begins, turned, columns, false, false, 1);
    for (uint32_t j = 0; j < CELL; j++)
        for (uint32_t c = 0; c < columns * ROWS; c++)
            batch->cells[j].counters[ROWS + c] = 1 | (uint64_t)turned[j * CELLS + c] << 63;
}

void host_batch_fold(const host_steps *steps, const unsigned char *items, uint8_t *begins, uint64_t index, uint32_t columns,
                     const host_batch *batch) {
    const tally_host_program *program = steps->program;
    const host_places *places = steps->places;
    const uint32_t width = places->width < columns ? places->width : columns;
    turn((unsigned char *)(uintptr_t)items, steps->items, columns, false, places->reverse, program->item_bytes);
    if (steps->segmented) count_items(begins, columns, batch);
    for (uint32_t j = 0; j < CELL; j++) {
        const host_parts cells = host_parts_from(batch->cells[j], ROWS);
        program->scan.load(steps->items + j * CELLS * (uint64_t)program->item_bytes, index + (uint64_t)(places->step * j),
                           places->indices, columns, steps->params, cells.accs, cells.at);
        if (j) host_parts_join(steps, host_parts_from(batch->cells[j - 1], ROWS), ROWS, cells, columns);
    }
    for (uint32_t l = 0; l < columns; l += width)
        for (uint32_t s = 1; s < width; s *= 2) shift(steps, host_parts_from(batch->cells[CELL - 1], ROWS * (1 + l)), s, width);
}

void host_batch_prefix(const host_steps *steps, uint32_t columns, const host_batch *batch) {
    const host_parts ends = batch->cells[CELL - 1];
    const uint32_t width = steps->places->width < columns ? steps->places->width : columns;
    const uint32_t first = steps->places->width < WIDTH; /* nothing is before cell 0 of a list that is no row */
    for (uint32_t j = 0; j < CELL - 1; j++)
        for (uint32_t l = 0; l < columns; l += width)
            host_parts_join(steps, host_parts_from(ends, ROWS * (l + first)), ROWS,
                            host_parts_from(batch->cells[j], ROWS * (1 + l + first)), width - first);
}

/* Returns the parts whose results are those of items j of the cells. */
static host_parts prefixes_of(const host_batch *batch, bool exclusive, uint32_t j) {
    if (!exclusive) return host_parts_from(batch->cells[j], ROWS);
    return j ? host_parts_from(batch->cells[j - 1], ROWS) : batch->cells[CELL - 1];
}

void host_batch_finish(const host_steps *steps, bool exclusive, uint64_t before, uint32_t columns, const host_batch *batch,
                       unsigned char *results) {
    const tally_host_program *program = steps->program;
    for (uint32_t i = CELL; i > 0; i--) {
        const uint32_t j = i - 1;
        const host_parts prefixes = prefixes_of(batch, exclusive, j);
        const uint64_t first = steps->segmented ? 0 : before + j + !exclusive + steps->has_initial;
        /* The beginnings of segments would drop the initial item. */
        for (uint32_t c = 0; c < columns * ROWS && steps->segmented; c++) counters_of(prefixes)[c] &= ~BEGINS;
        if (steps->has_initial) host_parts_join(steps, steps->initial, 0, prefixes, columns);
        program->scan.finish(prefixes.accs, prefixes.at, first,
                             steps->segmented ? counters_of(prefixes) : steps->places->counts, columns, steps->params,
                             steps->results + j * CELLS * (uint64_t)program->result_bytes);
    }
    turn(results, steps->results, columns, true, steps->places->reverse, program->result_bytes);
}
