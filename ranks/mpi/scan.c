/* SPDX-License-Identifier: MIT */
/*
 * scan.c: scans over the ranks. A rank finds the aggregates of its blocks, which are exchanged. The
 * aggregates of all blocks before it, combined in sequence, are what its own scan continues from.
 * Items pass through the device in pieces.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ranks.h"

#define PIECE_ITEMS (UINT64_C(32) * TALLY_SCAN_BLOCK)

struct tally_mpi_scanner {
    tally_mpi mpi; /* for the communicator and the exchange of headers; its plan is NULL */
    tally_plan *plan;
    tally_queue *queue;
    tally_buffer *in, *out; /* a piece each */
    uint64_t piece, item_bytes, value_bytes, prefix_bytes;
    uint64_t identity;
    char words[RANKS_WORDS_BYTES];
};

/* ---- making one ------------------------------------------------------------------------------ */

static tally_status check_desc(const tally_scan_desc *desc) {
    if (!desc) return tally_fail(TALLY_E_ARGUMENT, "desc is NULL");
    if (desc->size != sizeof(*desc))
        return tally_fail(TALLY_E_ARGUMENT, "desc.size is %zu; tally_scan_desc has %zu bytes", desc->size, sizeof(*desc));
    if (desc->flags & TALLY_REVERSE)
        return tally_fail(TALLY_E_UNSUPPORTED, "a reverse scan over ranks begins with the last rank");
    if (desc->segments) return tally_fail(TALLY_E_UNSUPPORTED, "segments are not scanned over ranks");
    if (desc->custom) return tally_fail(TALLY_E_UNSUPPORTED, "custom ops are not scanned over ranks");
    return TALLY_OK;
}

/* Returns a number that identifies all that decides a value. */
static uint64_t identify(const tally_scan_desc *desc) {
    const uint64_t numbers[] = {desc->op, desc->in, desc->out, desc->acc, desc->accuracy, desc->flags, desc->initial != NULL};
    uint64_t identity = 0x7363616e; /* no reduction's */
    for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++) identity = ranks_mix(identity, numbers[i]);
    for (size_t i = 0; desc->initial && i < tally_dtype_bytes(desc->in); i++)
        identity = ranks_mix(identity, ((const unsigned char *)desc->initial)[i]);
    return identity;
}

static tally_status open_scan(tally_mpi_scanner *s, tally_context *context, const tally_scan_desc *given) {
    tally_status status = ranks_check_context(context);
    if (!status) status = check_desc(given);
    if (status) return status;
    tally_scan_desc desc = *given;
    const uint64_t most = desc.max_n && desc.max_n < PIECE_ITEMS ? desc.max_n : PIECE_ITEMS;
    s->piece = desc.max_n = (most + TALLY_SCAN_BLOCK - 1) / TALLY_SCAN_BLOCK * TALLY_SCAN_BLOCK;
    status = tally_scan_plan_create(context, &desc, &s->plan);
    if (!status) status = tally_scan_prefix_bytes(s->plan, &s->prefix_bytes);
    if (status) return status;
    s->item_bytes = tally_dtype_bytes(desc.in);
    s->value_bytes = tally_plan_result_bytes(s->plan);
    s->identity = identify(&desc);
    snprintf(s->words, sizeof(s->words), "prefixes by %s of %s", tally_op_name(desc.op), tally_dtype_name(desc.in));
    status = tally_queue_create(context, &s->queue);
    if (!status) status = tally_buffer_create(context, s->piece * s->item_bytes, &s->in);
    return status ? status : tally_buffer_create(context, s->piece * s->value_bytes, &s->out);
}

static void close_scan(tally_mpi_scanner *s) {
    tally_buffer_destroy(s->out);
    tally_buffer_destroy(s->in);
    tally_queue_destroy(s->queue);
    tally_plan_destroy(s->plan);
    ranks_close(&s->mpi);
}

tally_status tally_mpi_scanner_create(MPI_Comm comm, tally_context *context, const tally_scan_desc *desc,
                                      tally_mpi_scanner **out) {
    if (out) *out = NULL;
    tally_status status = ranks_check_comm(comm, __func__);
    if (status) return status;
    /* On the stack, so that a rank without memory takes part. */
    tally_mpi_scanner made = {.mpi = RANKS_NONE}, *kept = NULL;
    status = ranks_open_comm(&made.mpi, comm);
    if (status) goto done;
    status = open_scan(&made, context, desc);
    if (!status && !out) status = tally_fail(TALLY_E_ARGUMENT, "out is NULL");
    if (!status && !(kept = malloc(sizeof(*kept)))) status = tally_fail(TALLY_E_MEMORY, "out of memory");
    ranks_tell_as(&made.mpi, status, 0, made.identity, made.words);
    status = ranks_agree(&made.mpi);
done:
    if (status) {
        free(kept);
        close_scan(&made);
        return status;
    }
    *kept = made;
    *out = kept;
    return TALLY_OK;
}

void tally_mpi_scanner_destroy(tally_mpi_scanner *scanner) {
    if (!scanner || scanner->mpi.tag != RANKS_TAG) return;
    close_scan(scanner);
    scanner->mpi.tag = 0;
    free(scanner);
}

/* ---- a call ---------------------------------------------------------------------------------- */

typedef struct scan_call {
    tally_mpi_scanner *s;
    const tally_mpi_scan_args *args;
    uint64_t first, total;
    uint64_t blocks;               /* of this rank, whose aggregates the ranks behind it need */
    unsigned char *own, *all;      /* the aggregates of these, and of all ranks' */
    int *counts, *places;          /* of all ranks, in aggregates */
    unsigned char prefix[16 * 16]; /* of the first block */
} scan_call;

static tally_status check(const tally_mpi_scan_args *args) {
    if (!args) return tally_fail(TALLY_E_ARGUMENT, "args is NULL");
    if (args->size != sizeof(*args))
        return tally_fail(TALLY_E_ARGUMENT, "args.size is %zu; tally_mpi_scan_args has %zu bytes", args->size, sizeof(*args));
    if (args->n > RANKS_MOST_ITEMS) return tally_fail(TALLY_E_ARGUMENT, "n is more than 2^60");
    if (args->n && !args->items) return tally_fail(TALLY_E_ARGUMENT, "items is NULL");
    return args->n && !args->values ? tally_fail(TALLY_E_ARGUMENT, "values is NULL") : TALLY_OK;
}

/* Tells the other ranks this one's status, and returns that of all. */
static tally_status agree(tally_mpi_scanner *s, tally_status status, uint64_t n) {
    ranks_tell_as(&s->mpi, status, n, s->identity, s->words);
    return ranks_agree(&s->mpi);
}

/* Finds this rank's place, and refuses shares that cut a block. */
static tally_status find_place(scan_call *c, tally_status status) {
    tally_mpi_scanner *s = c->s;
    const uint64_t n = status ? 0 : c->args->n;
    const tally_status agreed = agree(s, status, n);
    if (agreed) return agreed;
    c->total = s->mpi.heard.n;
    status = ranks_count_before(&s->mpi, n, &c->first);
    if (status) return status;
    if (n && c->first % TALLY_SCAN_BLOCK)
        status = tally_fail(TALLY_E_UNSUPPORTED, "its share begins at item %llu: shares of a scan begin at multiples of %d",
                            (unsigned long long)c->first, TALLY_SCAN_BLOCK);
    return agree(s, status, 0);
}

/* Uploads a piece of the items from `at` on; *n gets their number. */
static tally_status upload(const scan_call *c, uint64_t at, uint64_t *n) {
    const tally_mpi_scanner *s = c->s;
    *n = c->args->n - at < s->piece ? c->args->n - at : s->piece;
    return tally_buffer_write(s->queue, s->in, 0, (const unsigned char *)c->args->items + at * s->item_bytes,
                              *n * s->item_bytes);
}

/* Enqueues the aggregates of the blocks of a piece. Each is a scan of its own. */
static tally_status enqueue_aggregates(const scan_call *c, uint64_t at, uint64_t n) {
    const tally_mpi_scanner *s = c->s;
    tally_status status = TALLY_OK;
    for (uint64_t i = 0; i + TALLY_SCAN_BLOCK <= n && !status; i += TALLY_SCAN_BLOCK) {
        const uint64_t block = (at + i) / TALLY_SCAN_BLOCK;
        if (block >= c->blocks) break;
        const tally_scan_args args = {
            .size = sizeof(args), .in = s->in, .in_offset = i, .n = TALLY_SCAN_BLOCK, .out = s->out, .out_offset = i};
        status = tally_scan_prefix_set(s->plan, s->queue, c->first + at + i, NULL);
        if (!status) status = tally_scan_next(s->plan, s->queue, &args);
        if (!status) status = tally_scan_prefix_get(s->plan, s->queue, c->own + block * s->prefix_bytes);
    }
    return status;
}

/* Waits for the queue. The first failure stays. */
static tally_status wait_for(const tally_mpi_scanner *s, tally_status status) {
    char text[RANKS_TEXT_BYTES] = "";
    if (status) snprintf(text, sizeof(text), "%s", tally_last_error());
    const tally_status waited = tally_queue_wait(s->queue);
    return status ? tally_fail(status, "%s", text) : waited;
}

static tally_status find_aggregates(scan_call *c) {
    const tally_mpi_scanner *s = c->s;
    const uint64_t end = c->first + c->args->n, ranks = (uint64_t)s->mpi.size;
    /* No rank needs the aggregates of the last rank that has items. */
    c->blocks = end == c->total ? 0 : c->args->n / TALLY_SCAN_BLOCK;
    c->own = malloc(c->blocks * s->prefix_bytes + 1);
    c->all = malloc(c->total / TALLY_SCAN_BLOCK * s->prefix_bytes + 1);
    c->counts = calloc(2 * ranks, sizeof(*c->counts));
    if (!c->own || !c->all || !c->counts || c->total / TALLY_SCAN_BLOCK > INT32_MAX)
        return tally_fail(TALLY_E_MEMORY, "out of memory for the aggregates of %llu blocks",
                          (unsigned long long)(c->total / TALLY_SCAN_BLOCK));
    c->places = c->counts + ranks;
    tally_status status = TALLY_OK;
    for (uint64_t at = 0, n; at < c->blocks * TALLY_SCAN_BLOCK && !status; at += n) {
        status = upload(c, at, &n);
        if (!status) status = enqueue_aggregates(c, at, n);
    }
    return wait_for(s, status);
}

/* Exchanges the aggregates, and joins those before this rank. */
static tally_status find_prefix(scan_call *c) {
    const tally_mpi_scanner *s = c->s;
    MPI_Comm comm = s->mpi.comm;
    MPI_Datatype type = MPI_DATATYPE_NULL;
    const int blocks = (int)c->blocks;
    tally_status status = RANKS_MPI(MPI_Allgather(&blocks, 1, MPI_INT, c->counts, 1, MPI_INT, comm));
    for (int i = 1; i < s->mpi.size; i++) c->places[i] = c->places[i - 1] + c->counts[i - 1];
    if (!status) status = RANKS_MPI(MPI_Type_contiguous((int)s->prefix_bytes, MPI_BYTE, &type));
    if (!status) status = RANKS_MPI(MPI_Type_commit(&type));
    if (!status) status = RANKS_MPI(MPI_Allgatherv(c->own, blocks, type, c->all, c->counts, c->places, type, comm));
    if (type != MPI_DATATYPE_NULL) MPI_Type_free(&type);
    const uint64_t before = c->first / TALLY_SCAN_BLOCK;
    if (status || !c->args->n || !before) return status;
    memcpy(c->prefix, c->all, s->prefix_bytes);
    return tally_scan_prefix_join(s->plan, c->prefix, c->all + s->prefix_bytes, before - 1);
}

static tally_status scan_share(scan_call *c) {
    const tally_mpi_scanner *s = c->s;
    tally_status status =
        tally_scan_prefix_set(s->plan, s->queue, c->args->n ? c->first : 0, c->first && c->args->n ? c->prefix : NULL);
    for (uint64_t at = 0, n; at < c->args->n && !status; at += n) {
        status = upload(c, at, &n);
        const tally_scan_args args = {.size = sizeof(args), .in = s->in, .n = n, .out = s->out};
        if (!status) status = tally_scan_next(s->plan, s->queue, &args);
        if (!status)
            status = tally_buffer_read(s->queue, s->out, 0, (unsigned char *)c->args->values + at * s->value_bytes,
                                       n * s->value_bytes);
    }
    return wait_for(s, status);
}

tally_status tally_mpi_scan(tally_mpi_scanner *scanner, const tally_mpi_scan_args *args) {
    if (!scanner) return tally_fail(TALLY_E_ARGUMENT, "tally_mpi_scan: scanner is NULL");
    if (scanner->mpi.tag != RANKS_TAG) return tally_fail(TALLY_E_ARGUMENT, "tally_mpi_scan: scanner is no tally_mpi_scanner");
    scan_call c = {.s = scanner, .args = args};
    tally_status status = find_place(&c, check(args));
    if (!status) status = agree(scanner, find_aggregates(&c), 0);
    /* A failure of MPI itself is of one rank alone; the others go on to the next exchange. */
    if (!status) status = agree(scanner, find_prefix(&c), 0);
    if (!status) status = agree(scanner, scan_share(&c), 0);
    free(c.counts);
    free(c.all);
    free(c.own);
    return status;
}
