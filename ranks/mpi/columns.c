/* SPDX-License-Identifier: MIT */
/*
 * columns.c: reductions of the columns of an array whose rows are spread over the ranks. A column
 * is an input of its own, of which each rank has a share. Its records travel as those of a whole
 * input do, an element for each column, as many at once as a message may hold.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ranks.h"

/* Upper limits on the memory for elements and for copied columns; one column is always taken. */
#define MESSAGE_BYTES ((uint64_t)16 << 20)
#define COPY_BYTES ((uint64_t)64 << 20)
/* A row's neighbouring items are copied together: their cache line is read once. */
#define MOST_COPIED 64

/* A call. */
typedef struct columns_call {
    tally_mpi *mpi;
    const tally_mpi_columns_args *args;
    int root;
    bool wants_result;
    unsigned char *results;
    uint64_t first, total; /* rows */
    int aligned;
    uint64_t step;   /* bytes of an element */
    uint64_t batch;  /* columns of a message */
    uint64_t copied; /* columns that are copied together */
    uint64_t item_bytes, result_bytes;
    uint32_t inputs;
    unsigned char *mine, *all;                   /* `batch` elements, of this rank and joined or gathered */
    unsigned char *copies[TALLY_MAX_INPUTS];     /* `copied` columns, one after the other */
    const unsigned char *rows[TALLY_MAX_INPUTS]; /* the first row */
    unsigned char *read[TALLY_MAX_INPUTS];       /* rows that were in buffers */
} columns_call;

static uint64_t clamp(uint64_t n, uint64_t most) {
    return n < 1 ? 1 : n > most ? most : n;
}

/* Copies an item of 1, 2, 4, 8 or 16 bytes. */
static inline void copy_item(unsigned char *to, const unsigned char *from, uint64_t bytes) {
    switch (bytes) {
    case 4:
        memcpy(to, from, 4);
        break;
    case 8:
        memcpy(to, from, 8);
        break;
    default:
        memcpy(to, from, bytes);
        break;
    }
}

/* Copies `count` columns from column `begin` on. */
static void copy_columns(const columns_call *c, uint64_t begin, uint64_t count) {
    const uint64_t n = c->args->n, bytes = c->item_bytes;
    const uint64_t stride = c->args->row_stride ? c->args->row_stride : c->args->columns;
    for (uint32_t k = 0; k < c->inputs; k++)
        for (uint64_t row = 0; row < n; row++) {
            const unsigned char *from = c->rows[k] + (row * stride + begin) * bytes;
            for (uint64_t j = 0; j < count; j++) copy_item(c->copies[k] + (j * n + row) * bytes, from + j * bytes, bytes);
        }
}

/* Makes the element of copied column j. */
static void reduce_column(const columns_call *c, uint64_t j, unsigned char *element) {
    tally_part_host_args part = {.size = sizeof(part),
                                 .first = c->first,
                                 .n = c->args->n,
                                 .total = c->total,
                                 .out = element + sizeof(ranks_prefix),
                                 .out_bytes = c->step - sizeof(ranks_prefix)};
    for (uint32_t k = 0; k < c->inputs; k++) part.items[k] = c->copies[k] + j * c->args->n * c->item_bytes;
    uint64_t bytes = 0;
    const tally_status status = tally_reduce_part_host(c->mpi->plan, &part, &bytes);
    if (status)
        ranks_write_failure(element, status, c->mpi->rank, tally_last_error());
    else
        ranks_write(element, (ranks_prefix){.bytes = bytes, .rank = c->mpi->rank});
}

/* Writes the results of `count` columns where they are wanted. All ranks agree on the outcome. */
static tally_status write_results(const columns_call *c, uint64_t begin, uint64_t count) {
    tally_mpi *mpi = c->mpi;
    tally_status status = TALLY_OK;
    for (uint64_t j = 0; j < count && c->wants_result && !status; j++) {
        const unsigned char *element = c->all + j * c->step;
        unsigned char *result = c->results + (begin + j) * c->result_bytes;
        status = mpi->gathers ? ranks_fold(mpi, element, count * c->step, result)
                              : tally_part_value(NULL, element + sizeof(ranks_prefix), ranks_read(element).bytes, result);
    }
    ranks_tell(mpi, status, 0, c->root, c->args->columns + 1);
    return ranks_agree(mpi);
}

/* Exchanges the elements of `count` columns, and writes their results. */
static tally_status exchange(const columns_call *c, uint64_t begin, uint64_t count) {
    tally_mpi *mpi = c->mpi;
    MPI_Datatype type = mpi->element_type[c->aligned];
    const uint64_t elements = mpi->gathers ? count * (uint64_t)mpi->size : count;
    tally_status status = mpi->gathers
                              ? RANKS_MPI(MPI_Allgather(c->mine, (int)count, type, c->all, (int)count, type, mpi->comm))
                              : RANKS_MPI(MPI_Allreduce(c->mine, c->all, (int)count, type, mpi->record_op, mpi->comm));
    for (uint64_t e = 0; e < elements && !status; e++) status = ranks_read_failure(c->all + e * c->step);
    return status ? status : write_results(c, begin, count);
}

static tally_status reduce_batch(const columns_call *c, uint64_t begin, uint64_t count) {
    for (uint64_t at = 0, block; at < count; at += block) {
        block = count - at < c->copied ? count - at : c->copied;
        copy_columns(c, begin + at, block);
        for (uint64_t j = 0; j < block; j++) reduce_column(c, j, c->mine + (at + j) * c->step);
    }
    return exchange(c, begin, count);
}

static tally_status check(const tally_mpi *mpi, const tally_mpi_columns_args *args, int root, const void *results,
                          uint32_t inputs) {
    if (!args) return tally_fail(TALLY_E_ARGUMENT, "args is NULL");
    if (args->size != sizeof(*args))
        return tally_fail(TALLY_E_ARGUMENT, "args.size is %zu; tally_mpi_columns_args has %zu bytes", args->size,
                          sizeof(*args));
    if (root != RANKS_ALL && (root < 0 || root >= mpi->size))
        return tally_fail(TALLY_E_ARGUMENT, "root is %d of %d ranks", root, mpi->size);
    if (args->columns && !results && (root == RANKS_ALL || root == mpi->rank))
        return tally_fail(TALLY_E_ARGUMENT, "results is NULL");
    if (args->row_stride && args->row_stride < args->columns)
        return tally_fail(TALLY_E_ARGUMENT, "row_stride is %llu, and a row has %llu items",
                          (unsigned long long)args->row_stride, (unsigned long long)args->columns);
    const uint64_t stride = args->row_stride ? args->row_stride : args->columns;
    if (args->n > RANKS_MOST_ITEMS || args->columns > RANKS_MOST_ITEMS || (stride && args->n > RANKS_MOST_ITEMS / stride))
        return tally_fail(TALLY_E_ARGUMENT, "the rows have more than 2^60 items");
    for (uint32_t k = 0; k < inputs; k++)
        if (args->n && args->columns && !args->queue && !args->items[k])
            return tally_fail(TALLY_E_ARGUMENT, "items[%u] is NULL", k);
    return TALLY_OK;
}

/* Finds the rows in host memory, where those in buffers are copied. */
static tally_status find_rows(columns_call *c) {
    const tally_mpi_columns_args *args = c->args;
    const uint64_t stride = args->row_stride ? args->row_stride : args->columns;
    const uint64_t bytes = args->n ? ((args->n - 1) * stride + args->columns) * c->item_bytes : 0;
    tally_status status = TALLY_OK;
    for (uint32_t k = 0; k < c->inputs; k++) {
        c->rows[k] = args->items[k];
        if (!args->queue || !bytes) continue;
        c->rows[k] = c->read[k] = malloc(bytes);
        if (!c->read[k]) status = tally_fail(TALLY_E_MEMORY, "out of memory for rows of %llu bytes", (unsigned long long)bytes);
        if (!status && args->in_offset[k] >= RANKS_MOST_ITEMS)
            status = tally_fail(TALLY_E_ARGUMENT, "in_offset[%u] is beyond 2^60", k);
        if (!status)
            status = tally_buffer_read(args->queue, args->in[k], args->in_offset[k] * c->item_bytes, c->read[k], bytes);
        if (status) break;
    }
    if (!args->queue) return TALLY_OK;
    /* Copies may be under way after a failure too; its text stays. */
    char text[RANKS_TEXT_BYTES] = "";
    if (status) snprintf(text, sizeof(text), "%s", tally_last_error());
    const tally_status waited = tally_queue_wait(args->queue);
    return status ? tally_fail(status, "%s", text) : waited;
}

/* Allocates what the call needs. */
static tally_status make_room(columns_call *c) {
    const uint64_t ranks = c->mpi->gathers ? (uint64_t)c->mpi->size : 1, columns = c->args->columns;
    const uint64_t column = c->args->n * c->item_bytes;
    c->batch = clamp(MESSAGE_BYTES / (c->step * ranks), columns);
    c->copied = clamp(column ? COPY_BYTES / column : MOST_COPIED, c->batch < MOST_COPIED ? c->batch : MOST_COPIED);
    c->mine = malloc(c->batch * c->step);
    c->all = malloc(c->batch * c->step * ranks);
    bool good = c->mine && c->all;
    for (uint32_t k = 0; k < c->inputs; k++) {
        c->copies[k] = malloc(column ? c->copied * column : 1);
        good = good && c->copies[k];
    }
    return good ? TALLY_OK
                : tally_fail(TALLY_E_MEMORY, "out of memory for copies of columns of %llu bytes", (unsigned long long)column);
}

tally_status ranks_reduce_columns(tally_mpi *mpi, const tally_mpi_columns_args *args, int root, void *results) {
    ranks_advance(mpi, true);
    tally_status status = check(mpi, args, root, results, mpi->inputs);
    ranks_tell(mpi, status, status ? 0 : args->n, root, status ? 0 : args->columns + 1);
    status = ranks_agree(mpi);
    if (status || !args->columns) return status;
    columns_call c = {.mpi = mpi,
                      .args = args,
                      .root = root,
                      .wants_result = root == RANKS_ALL || root == mpi->rank,
                      .results = results,
                      .total = mpi->heard.n,
                      .aligned = mpi->heard.aligned != 0,
                      .step = mpi->element_bytes[mpi->heard.aligned != 0],
                      .item_bytes = mpi->item_bytes,
                      .result_bytes = tally_plan_result_bytes(mpi->plan),
                      .inputs = mpi->inputs};
    status = ranks_count_before(mpi, args->n, &c.first);
    if (!status) {
        status = make_room(&c);
        if (!status) status = find_rows(&c);
        ranks_tell(mpi, status, 0, root, args->columns + 1);
        status = ranks_agree(mpi);
    }
    for (uint64_t begin = 0; begin < args->columns && !status; begin += c.batch)
        status = reduce_batch(&c, begin, args->columns - begin < c.batch ? args->columns - begin : c.batch);
    for (uint32_t k = 0; k < c.inputs; k++) {
        free(c.copies[k]);
        free(c.read[k]);
    }
    free(c.all);
    free(c.mine);
    return status;
}
