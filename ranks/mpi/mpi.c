/* SPDX-License-Identifier: MIT */
/* mpi.c: the public calls of libtally_mpi. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ranks.h"

/* ---- making one ------------------------------------------------------------------------------ */

tally_status ranks_check_comm(MPI_Comm comm, const char *call) {
    int begun = 0, ended = 0, inter = 0;
    if (MPI_Initialized(&begun) != MPI_SUCCESS || !begun)
        return tally_fail(TALLY_E_ARGUMENT, "%s: MPI is not initialised", call);
    if (MPI_Finalized(&ended) != MPI_SUCCESS || ended)
        return tally_fail(TALLY_E_ARGUMENT, "%s: MPI is finalised already", call);
    if (comm == MPI_COMM_NULL) return tally_fail(TALLY_E_ARGUMENT, "%s: comm is MPI_COMM_NULL", call);
    const tally_status status = RANKS_MPI(MPI_Comm_test_inter(comm, &inter));
    if (status) return status;
    return inter ? tally_fail(TALLY_E_ARGUMENT, "%s: comm is an intercommunicator", call) : TALLY_OK;
}

tally_status ranks_open_comm(tally_mpi *mpi, MPI_Comm comm) {
    tally_status status = RANKS_MPI(MPI_Comm_dup(comm, &mpi->comm));
    if (!status) status = RANKS_MPI(MPI_Comm_rank(mpi->comm, &mpi->rank));
    if (!status) status = RANKS_MPI(MPI_Comm_size(mpi->comm, &mpi->size));
    if (!status) status = RANKS_MPI(MPI_Type_contiguous((int)sizeof(ranks_header), MPI_BYTE, &mpi->header_type));
    if (!status) status = RANKS_MPI(MPI_Type_commit(&mpi->header_type));
    if (!status) status = RANKS_MPI(MPI_Op_create(ranks_join_headers, 0, &mpi->header_op));
    if (!status) status = RANKS_MPI(MPI_Op_create(ranks_join_records, 0, &mpi->record_op));
    return status;
}

/* Finds the bytes of elements, and makes their datatypes and buffers. */
static tally_status open_elements(tally_mpi *mpi, tally_context *context, const tally_reduce_desc *desc) {
    for (int aligned = 0; aligned < 2; aligned++) {
        uint64_t bytes = 0;
        tally_status status = tally_part_bound(desc, 0, aligned, &bytes);
        if (status) return status;
        if (bytes < RANKS_TEXT_BYTES) bytes = RANKS_TEXT_BYTES;
        mpi->element_bytes[aligned] = sizeof(ranks_prefix) + bytes;
        status = RANKS_MPI(MPI_Type_contiguous((int)mpi->element_bytes[aligned], MPI_BYTE, &mpi->element_type[aligned]));
        if (!status) status = RANKS_MPI(MPI_Type_commit(&mpi->element_type[aligned]));
        if (status) return status;
    }
    mpi->mine = calloc(1, mpi->element_bytes[0]);
    mpi->joined = calloc(1, mpi->element_bytes[0]);
    if (!mpi->mine || !mpi->joined) return tally_fail(TALLY_E_MEMORY, "out of memory");
    const uint64_t part_bytes = mpi->element_bytes[0] - sizeof(ranks_prefix);
    const tally_status status = tally_buffer_create(context, part_bytes, &mpi->part_buffer);
    return status ? status : tally_staging_create(context, part_bytes, &mpi->part);
}

/* Tells whether the host joins records of these ops by itself, in an operation of MPI. */
static bool joins_alone(const void *record, uint64_t bytes, void *out, uint64_t out_bytes) {
    const void *const twice[] = {record, record};
    const uint64_t twice_bytes[] = {bytes, bytes};
    return tally_part_join(NULL, twice, twice_bytes, 2, out, out_bytes, NULL) == TALLY_OK;
}

/* Reads the ops from the record of no items. */
static tally_status read_ops(tally_mpi *mpi) {
    unsigned char *record = mpi->mine + sizeof(ranks_prefix);
    const tally_part_host_args none = {
        .size = sizeof(none), .out = record, .out_bytes = mpi->element_bytes[0] - sizeof(ranks_prefix)};
    uint64_t bytes;
    tally_part_info info;
    tally_status status = tally_reduce_part_host(mpi->plan, &none, &bytes);
    if (!status) status = tally_part_describe(record, bytes, &info);
    if (status) return status;
    mpi->inputs = info.inputs;
    mpi->item_bytes = tally_dtype_bytes(info.in);
    size_t used = 0;
    for (uint32_t t = 0; t < info.term_count; t++) {
        const bool custom = info.terms[t].op == TALLY_OP_NONE;
        if (used < sizeof(mpi->words))
            used += (size_t)snprintf(mpi->words + used, sizeof(mpi->words) - used, "%s%s", t ? ", " : "",
                                     custom ? "a custom op" : tally_op_name(info.terms[t].op));
    }
    if (used < sizeof(mpi->words)) snprintf(mpi->words + used, sizeof(mpi->words) - used, " of %s", tally_dtype_name(info.in));
    mpi->gathers = !joins_alone(record, bytes, mpi->joined + sizeof(ranks_prefix), none.out_bytes);
    if (!mpi->gathers) return TALLY_OK;
    mpi->records = calloc((size_t)mpi->size, sizeof(*mpi->records));
    mpi->record_bytes = calloc((size_t)mpi->size, sizeof(*mpi->record_bytes));
    return mpi->records && mpi->record_bytes ? TALLY_OK : tally_fail(TALLY_E_MEMORY, "out of memory");
}

tally_status ranks_check_context(const tally_context *context) {
    if (context) return TALLY_OK;
    return tally_fail(TALLY_E_NO_DEVICE, "context is NULL; the error before: %.300s",
                      *tally_last_error() ? tally_last_error() : "none");
}

static tally_status open_plan(tally_mpi *mpi, tally_context *context, const tally_reduce_desc *desc) {
    tally_status status = ranks_check_context(context);
    if (!status) status = tally_plan_create(context, desc, &mpi->plan);
    if (!status) status = open_elements(mpi, context, desc);
    return status ? status : read_ops(mpi);
}

void ranks_close(tally_mpi *mpi) {
    int ended = 0;
    if (MPI_Finalized(&ended) != MPI_SUCCESS) ended = 1;
    for (int i = 0; i < 2 && !ended; i++)
        if (mpi->element_type[i] != MPI_DATATYPE_NULL) MPI_Type_free(&mpi->element_type[i]);
    if (!ended && mpi->record_op != MPI_OP_NULL) MPI_Op_free(&mpi->record_op);
    if (!ended && mpi->header_op != MPI_OP_NULL) MPI_Op_free(&mpi->header_op);
    if (!ended && mpi->header_type != MPI_DATATYPE_NULL) MPI_Type_free(&mpi->header_type);
    if (!ended && mpi->comm != MPI_COMM_NULL) MPI_Comm_free(&mpi->comm);
    tally_staging_destroy(mpi->part);
    tally_buffer_destroy(mpi->part_buffer);
    tally_plan_destroy(mpi->plan);
    free(mpi->record_bytes);
    free(mpi->records);
    free(mpi->gathered);
    free(mpi->joined);
    free(mpi->mine);
}

tally_status tally_mpi_create(MPI_Comm comm, tally_context *context, const tally_reduce_desc *desc, tally_mpi **out) {
    if (out) *out = NULL;
    tally_status status = ranks_check_comm(comm, __func__);
    if (status) return status;
    /* On the stack, so that a rank without memory takes part. */
    tally_mpi made = RANKS_NONE;
    tally_mpi *kept = NULL;
    status = ranks_open_comm(&made, comm);
    if (status) goto done;
    status = open_plan(&made, context, desc);
    if (!status && !out) status = tally_fail(TALLY_E_ARGUMENT, "out is NULL");
    if (!status && !(kept = malloc(sizeof(*kept)))) status = tally_fail(TALLY_E_MEMORY, "out of memory");
    ranks_tell(&made, status, 0, RANKS_ALL, 0);
    status = ranks_agree(&made);
done:
    if (status) {
        free(kept);
        ranks_close(&made);
        return status;
    }
    *kept = made;
    *out = kept;
    return TALLY_OK;
}

void tally_mpi_destroy(tally_mpi *mpi) {
    if (!mpi || mpi->tag != RANKS_TAG) return;
    int ended = 0;
    if (MPI_Finalized(&ended) == MPI_SUCCESS && !ended) ranks_advance(mpi, true);
    ranks_leave(mpi);
    ranks_close(mpi);
    mpi->tag = 0;
    free(mpi);
}

tally_plan *tally_mpi_plan(tally_mpi *mpi) {
    return mpi && mpi->tag == RANKS_TAG ? mpi->plan : NULL;
}

/* ---- reducing -------------------------------------------------------------------------------- */

static tally_status check_object(const tally_mpi *mpi, const char *call) {
    if (!mpi) return tally_fail(TALLY_E_ARGUMENT, "%s: mpi is NULL", call);
    return mpi->tag == RANKS_TAG ? TALLY_OK : tally_fail(TALLY_E_ARGUMENT, "%s: mpi is no tally_mpi", call);
}

/* Returns the root for the checks. RANKS_ALL is no caller's number, so its neighbour, which is
 * refused too, stands for it. */
static int named_root(int root) {
    return root == RANKS_ALL ? RANKS_ALL + 1 : root;
}

static tally_status reduce(tally_mpi *mpi, const tally_mpi_args *args, int root, void *result, const char *call) {
    tally_status status = check_object(mpi, call);
    if (!status) status = ranks_begin(mpi, args, root, result, true);
    return status ? status : ranks_advance(mpi, true);
}

tally_status tally_mpi_reduce(tally_mpi *mpi, const tally_mpi_args *args, int root, void *result) {
    return reduce(mpi, args, named_root(root), result, __func__);
}

tally_status tally_mpi_allreduce(tally_mpi *mpi, const tally_mpi_args *args, void *result) {
    return reduce(mpi, args, RANKS_ALL, result, __func__);
}

tally_status tally_mpi_ireduce(tally_mpi *mpi, const tally_mpi_args *args, int root, void *result) {
    const tally_status status = check_object(mpi, __func__);
    return status ? status : ranks_begin(mpi, args, named_root(root), result, false);
}

tally_status tally_mpi_iallreduce(tally_mpi *mpi, const tally_mpi_args *args, void *result) {
    const tally_status status = check_object(mpi, __func__);
    return status ? status : ranks_begin(mpi, args, RANKS_ALL, result, false);
}

tally_status tally_mpi_wait(tally_mpi *mpi) {
    const tally_status status = check_object(mpi, __func__);
    return status ? status : ranks_advance(mpi, true);
}

tally_status tally_mpi_test(tally_mpi *mpi, int *done) {
    tally_status status = check_object(mpi, __func__);
    if (!status && !done) status = tally_fail(TALLY_E_ARGUMENT, "tally_mpi_test: done is NULL");
    if (status) return status;
    status = ranks_advance(mpi, false);
    *done = mpi->stage == RANKS_IDLE;
    return status;
}

/* ---- columns --------------------------------------------------------------------------------- */

tally_status tally_mpi_reduce_columns(tally_mpi *mpi, const tally_mpi_columns_args *args, int root, void *results) {
    const tally_status status = check_object(mpi, __func__);
    return status ? status : ranks_reduce_columns(mpi, args, named_root(root), results);
}

tally_status tally_mpi_allreduce_columns(tally_mpi *mpi, const tally_mpi_columns_args *args, void *results) {
    const tally_status status = check_object(mpi, __func__);
    return status ? status : ranks_reduce_columns(mpi, args, RANKS_ALL, results);
}
