/* SPDX-License-Identifier: MIT */
/*
 * steps.c: a call under way. All ranks agree on op and items (agree.c). Each makes the record of
 * its share. A user-defined operation of MPI joins records that the host can join. Those of custom
 * ops are gathered, each rank's device folds them, and the statuses of the results are exchanged.
 *
 * A failure after the agreement travels in place of the record.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ranks.h"

static bool wants_result(const tally_mpi *mpi) {
    return mpi->root == RANKS_ALL || mpi->root == mpi->rank;
}

/* ---- the share ------------------------------------------------------------------------------- */

static uint64_t record_room(const tally_mpi *mpi) {
    return mpi->element_bytes[mpi->aligned] - sizeof(ranks_prefix);
}

/* Puts the share's record, or the failure, into this rank's element. */
static void finish_share(tally_mpi *mpi, tally_status status, uint64_t bytes) {
    if (status)
        ranks_write_failure(mpi->mine, status, mpi->rank, tally_last_error());
    else
        ranks_write(mpi->mine, (ranks_prefix){.bytes = bytes, .rank = mpi->rank});
}

static void reduce_host(tally_mpi *mpi, const tally_mpi_args *args) {
    tally_part_host_args part = {.size = sizeof(part),
                                 .first = mpi->first,
                                 .n = args->n,
                                 .total = mpi->total,
                                 .out = mpi->mine + sizeof(ranks_prefix),
                                 .out_bytes = record_room(mpi)};
    memcpy(part.items, args->items, sizeof(part.items));
    uint64_t bytes = 0;
    const tally_status status = tally_reduce_part_host(mpi->plan, &part, &bytes);
    finish_share(mpi, status, bytes);
}

/* Enqueues the share's reduction, to a packet, which one launch makes, if all shares are aligned,
 * else to a record. A packet does not say its parameters, which a caller may change while the call
 * is under way. So only calls that block take one. The kernel writes a packet to staging where the
 * device can. Else a copy of the outcome is enqueued too. */
static tally_status enqueue(tally_mpi *mpi, const tally_mpi_args *args) {
    tally_part_args part = {
        .size = sizeof(part), .first = mpi->first, .n = args->n, .total = mpi->total, .out = mpi->part_buffer};
    uint64_t bytes = record_room(mpi);
    memcpy(part.in, args->in, sizeof(part.in));
    memcpy(part.in_offset, args->in_offset, sizeof(part.in_offset));
    mpi->packed = mpi->aligned && mpi->blocking;
    tally_buffer *const in_place = mpi->packed ? tally_staging_buffer(mpi->part) : NULL;
    if (in_place) part.out = in_place;
    tally_status status = mpi->packed ? tally_packet_bytes(mpi->plan, &bytes) : TALLY_OK;
    if (status) return status;
    status =
        mpi->packed ? tally_packet_reduce(mpi->plan, args->queue, &part) : tally_reduce_part(mpi->plan, args->queue, &part);
    if (status || in_place) return status;
    return tally_buffer_read(args->queue, mpi->part_buffer, 0, tally_staging_memory(mpi->part), bytes);
}

/* Makes the share's record of its packet. */
static tally_status read_packet(tally_mpi *mpi, uint64_t *bytes) {
    const tally_part_host_args args = {.size = sizeof(args),
                                       .first = mpi->first,
                                       .n = mpi->n,
                                       .total = mpi->total,
                                       .out = mpi->mine + sizeof(ranks_prefix),
                                       .out_bytes = record_room(mpi)};
    return tally_packet_record(mpi->plan, tally_staging_memory(mpi->part), &args, bytes);
}

static tally_status read_record(tally_mpi *mpi, uint64_t *bytes) {
    const void *record = tally_staging_memory(mpi->part);
    tally_part_info info = {0};
    const tally_status status = tally_part_describe(record, record_room(mpi), &info);
    *bytes = info.bytes;
    memcpy(mpi->mine + sizeof(ranks_prefix), record, info.bytes);
    return status;
}

/* Waits for the record of a share in buffers, or for what was enqueued before a failure. */
static void await_share(tally_mpi *mpi) {
    uint64_t bytes = 0;
    tally_status status = tally_queue_wait(mpi->queue);
    if (mpi->status)
        status = tally_fail(mpi->status, "%s", mpi->text);
    else if (!status)
        status = mpi->packed ? read_packet(mpi, &bytes) : read_record(mpi, &bytes);
    finish_share(mpi, status, bytes);
}

/* ---- the records ----------------------------------------------------------------------------- */

static tally_status exchange(tally_mpi *mpi) {
    MPI_Datatype type = mpi->element_type[mpi->aligned];
    mpi->stage = RANKS_EXCHANGING;
    if (mpi->gathers && mpi->blocking) return RANKS_MPI(MPI_Allgather(mpi->mine, 1, type, mpi->gathered, 1, type, mpi->comm));
    if (mpi->gathers) return RANKS_MPI(MPI_Iallgather(mpi->mine, 1, type, mpi->gathered, 1, type, mpi->comm, &mpi->request));
    if (mpi->blocking) return RANKS_MPI(MPI_Allreduce(mpi->mine, mpi->joined, 1, type, mpi->record_op, mpi->comm));
    return RANKS_MPI(MPI_Iallreduce(mpi->mine, mpi->joined, 1, type, mpi->record_op, mpi->comm, &mpi->request));
}

tally_status ranks_fold(tally_mpi *mpi, const unsigned char *gathered, uint64_t step, void *result) {
    for (int i = 0; i < mpi->size; i++) {
        mpi->records[i] = gathered + (uint64_t)i * step + sizeof(ranks_prefix);
        mpi->record_bytes[i] = ranks_read(gathered + (uint64_t)i * step).bytes;
    }
    uint64_t bytes = 0;
    unsigned char *out = mpi->joined + sizeof(ranks_prefix);
    const tally_status status = tally_part_join(mpi->plan, mpi->records, mpi->record_bytes, (uint32_t)mpi->size, out,
                                                mpi->element_bytes[0] - sizeof(ranks_prefix), &bytes);
    return status ? status : tally_part_value(mpi->plan, out, bytes, result);
}

/* Begins to exchange the statuses of the results. All ranks compute theirs, or not. */
static tally_status begin_agreeing(tally_mpi *mpi, tally_status status) {
    ranks_tell_as(mpi, status, 0, 0, "");
    mpi->stage = RANKS_AGREEING;
    if (mpi->blocking) return RANKS_MPI(MPI_Allreduce(&mpi->told, &mpi->heard, 1, mpi->header_type, mpi->header_op, mpi->comm));
    return RANKS_MPI(MPI_Iallreduce(&mpi->told, &mpi->heard, 1, mpi->header_type, mpi->header_op, mpi->comm, &mpi->request));
}

/* Folds what was gathered. */
static tally_status end_gathering(tally_mpi *mpi) {
    for (int i = 0; i < mpi->size; i++) {
        const tally_status status = ranks_read_failure(mpi->gathered + (uint64_t)i * mpi->element_bytes[mpi->aligned]);
        if (status) return mpi->stage = RANKS_ENDED, status; /* the same on all ranks */
    }
    const uint64_t step = mpi->element_bytes[mpi->aligned];
    return begin_agreeing(mpi, wants_result(mpi) ? ranks_fold(mpi, mpi->gathered, step, mpi->result) : TALLY_OK);
}

/* All ranks finish the joined record, those too that want no result. With a plan that takes no
 * memory of the heap, so that all ranks have one outcome. A call that does not block passes none:
 * the parameters are those of the record, and the plan's may be others by now. */
static tally_status end_joining(tally_mpi *mpi) {
    void *result = wants_result(mpi) ? mpi->result : mpi->mine;
    mpi->stage = RANKS_ENDED;
    const tally_status status = ranks_read_failure(mpi->joined);
    if (status) return status;
    return tally_part_value(mpi->blocking ? mpi->plan : NULL, mpi->joined + sizeof(ranks_prefix), ranks_read(mpi->joined).bytes,
                            result);
}

/* ---- the whole ------------------------------------------------------------------------------- */

/* Tells whether MPI has ended the exchange. A blocking one has no request. */
static tally_status ended(tally_mpi *mpi, bool wait, int *done) {
    *done = 1;
    if (mpi->request == MPI_REQUEST_NULL) return TALLY_OK;
    if (wait) return RANKS_MPI(MPI_Wait(&mpi->request, MPI_STATUS_IGNORE));
    return RANKS_MPI(MPI_Test(&mpi->request, done, MPI_STATUS_IGNORE));
}

/* Keeps the status that the call has come to. A call that has failed has ended: nothing is left to
 * wait for, or to write. */
static void keep(tally_mpi *mpi, tally_status status) {
    mpi->status = status;
    if (!status) return;
    snprintf(mpi->text, sizeof(mpi->text), "%s", tally_last_error());
    mpi->stage = RANKS_ENDED;
    mpi->request = MPI_REQUEST_NULL;
}

void ranks_further(tally_mpi *mpi, bool wait) {
    tally_status status = TALLY_OK;
    if (mpi->stage == RANKS_REDUCING) {
        await_share(mpi);
        status = exchange(mpi);
    }
    while (!status && mpi->stage != RANKS_ENDED) {
        int done;
        status = ended(mpi, wait, &done);
        if (status || !done) break;
        if (mpi->stage == RANKS_AGREEING) {
            mpi->stage = RANKS_ENDED;
            status = ranks_heard(mpi);
        } else {
            status = mpi->gathers ? end_gathering(mpi) : end_joining(mpi);
        }
    }
    keep(mpi, status);
}

static tally_status check(const tally_mpi *mpi, const tally_mpi_args *args, int root, const void *result) {
    if (!args) return tally_fail(TALLY_E_ARGUMENT, "args is NULL");
    if (args->size != sizeof(*args))
        return tally_fail(TALLY_E_ARGUMENT, "args.size is %zu; tally_mpi_args has %zu bytes", args->size, sizeof(*args));
    if (root != RANKS_ALL && (root < 0 || root >= mpi->size))
        return tally_fail(TALLY_E_ARGUMENT, "root is %d of %d ranks", root, mpi->size);
    if (!result && (root == RANKS_ALL || root == mpi->rank)) return tally_fail(TALLY_E_ARGUMENT, "result is NULL");
    if (args->n > RANKS_MOST_ITEMS) return tally_fail(TALLY_E_ARGUMENT, "n is more than 2^60");
    return TALLY_OK;
}

/* Makes room for an element of each rank. All ranks come here or none. */
static tally_status make_room(tally_mpi *mpi) {
    const uint64_t bytes = mpi->element_bytes[mpi->aligned] * (uint64_t)mpi->size;
    if (!mpi->gathers || bytes <= mpi->gathered_bytes) return TALLY_OK;
    unsigned char *room = malloc(bytes);
    ranks_tell(mpi, room ? TALLY_OK : tally_fail(TALLY_E_MEMORY, "out of memory for the records of %d ranks", mpi->size), 0,
               mpi->root, 0);
    const tally_status status = ranks_agree(mpi);
    if (status) return free(room), status;
    free(mpi->gathered);
    mpi->gathered = room;
    mpi->gathered_bytes = bytes;
    return TALLY_OK;
}

/* Ends a call that fails before its records travel. `early`: the queue that is at work on the share
 * already, or NULL. */
static tally_status give_up(tally_mpi *mpi, tally_queue *early, tally_status status) {
    char text[RANKS_TEXT_BYTES + 32];
    snprintf(text, sizeof(text), "%s", tally_last_error());
    if (early) tally_queue_wait(early);
    mpi->stage = RANKS_IDLE;
    mpi->total = 0;
    return tally_fail(status, "%s", text);
}

/* A share in buffers is taken for that of the call before, if it has as many items. So its device
 * begins before the ranks agree. If it lies elsewhere by then, it is enqueued once more. */
tally_status ranks_begin(tally_mpi *mpi, const tally_mpi_args *args, int root, void *result, bool blocking) {
    ranks_advance(mpi, true);
    tally_status status = check(mpi, args, root, result);
    const uint64_t n = status ? 0 : args->n, first = mpi->first, total = mpi->total;
    const int aligned = mpi->aligned;
    mpi->blocking = blocking;
    tally_queue *const early = !status && total && n == mpi->n ? args->queue : NULL;
    if (early) keep(mpi, enqueue(mpi, args));
    ranks_tell(mpi, status, n, root, 0);
    status = ranks_agree(mpi);
    mpi->aligned = mpi->heard.aligned != 0;
    mpi->n = n;
    mpi->total = mpi->heard.n;
    mpi->root = root;
    if (!status) status = ranks_count_before(mpi, n, &mpi->first);
    if (!status) status = make_room(mpi);
    if (status) return give_up(mpi, early, status);
    mpi->result = result;
    mpi->queue = args->queue;
    if (args->queue) {
        /* A failure travels in place of the record. */
        if (!early || mpi->first != first || mpi->total != total || mpi->aligned != aligned) keep(mpi, enqueue(mpi, args));
        mpi->stage = RANKS_REDUCING;
    } else {
        reduce_host(mpi, args);
        status = exchange(mpi);
        keep(mpi, status);
        if (status) mpi->stage = RANKS_IDLE;
    }
    if (!status && !blocking) ranks_enter(mpi);
    return status;
}
