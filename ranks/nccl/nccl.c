/* SPDX-License-Identifier: MIT */
/* nccl.c: libtally_nccl. A call enqueues three things: a packet of this rank's share, ncclAllGather
 * of all packets, and the fold. The packets' memory is a window of NCCL where all ranks can have
 * one: NCCL's kernels then reach the other devices' memory in one step. */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <tally/backend.h>
#include <tally/cuda.h>

#include "library.h"
#include "window.h"

#define TAG UINT64_C(0x6c63636e796c6c61)
#define TEXT_BYTES 448

struct tally_nccl {
    uint64_t tag;
    const nccl_library *library;
    struct ncclComm *comm;
    int rank, size;
    tally_context *context;
    tally_queue *own; /* for what tally_nccl_create enqueues */
    tally_plan *plan;
    uint64_t packet_bytes;
    nccl_window window;     /* the memory of `gathered`, on all ranks or on none */
    tally_buffer *gathered; /* a packet of each rank; this rank makes its own there */
};

/* A rank's message in the exchange of tally_nccl_create: the same bytes in every version. */
typedef struct hello {
    char version[16];
    uint64_t identity;     /* of ops, types, levels and parameters */
    uint32_t status;       /* a tally_status */
    uint32_t window;       /* 1: ready for a window, or has it */
    char text[TEXT_BYTES]; /* the failure */
} hello;

/* ---- native handles -------------------------------------------------------------------------- */

/* Enqueues a gather of `bytes` bytes of each rank, this rank's from byte from_at on. */
static tally_status gather(const tally_nccl *n, tally_queue *queue, const tally_buffer *from, uint64_t from_at,
                           tally_buffer *to, uint64_t bytes) {
    struct CUstream_st *stream;
    unsigned long long send, receive;
    tally_status status = tally_queue_get_cuda(queue, &stream);
    if (!status) status = tally_buffer_get_cuda(from, &send);
    if (!status) status = tally_buffer_get_cuda(to, &receive);
    if (status) return status;
    const int result = n->library->AllGather((const void *)(uintptr_t)(send + from_at), (void *)(uintptr_t)receive,
                                             (size_t)bytes, NCCL_UINT8, n->comm, stream);
    return nccl_status(n->library, n->comm, result, "ncclAllGather");
}

/* Returns the place of this rank's packet. There ncclAllGather needs no copy of it. */
static uint64_t own_place(const tally_nccl *n) {
    return (uint64_t)n->rank * n->packet_bytes;
}

/* ---- the packets' memory --------------------------------------------------------------------- */

static tally_status make_memory(tally_nccl *n) {
    const uint64_t bytes = n->packet_bytes * (uint64_t)n->size;
    struct CUstream_st *stream;
    const tally_status status = tally_queue_get_cuda(n->own, &stream);
    if (status) return status;
    n->window = (nccl_window){.library = n->library, .comm = n->comm, .bytes = (size_t)bytes};
    if (n->size < 2 || !nccl_window_allocate(&n->window, stream)) return tally_buffer_create(n->context, bytes, &n->gathered);
    return tally_buffer_wrap_cuda(n->context, (unsigned long long)(uintptr_t)n->window.memory, bytes, &n->gathered);
}

static tally_status await_packet(const tally_nccl *n, tally_queue *queue) {
    struct CUstream_st *stream;
    const tally_status status = tally_queue_get_cuda(queue, &stream);
    return status ? status : nccl_window_separate(&n->window, stream);
}

/* ---- making one ------------------------------------------------------------------------------ */

/* Finds a number that stands for ops, types, levels and parameters: the checksum of the record of
 * no items. */
static tally_status identify(const tally_reduce_desc *desc, tally_plan *plan, uint64_t *identity) {
    uint64_t bytes;
    tally_part_info info;
    tally_status status = tally_part_bytes(desc, 0, 0, 0, &bytes);
    unsigned char *record = status ? NULL : malloc(bytes);
    if (!status && !record) status = tally_fail(TALLY_E_MEMORY, "out of memory");
    const tally_part_host_args none = {.size = sizeof(none), .out = record, .out_bytes = bytes};
    if (!status) status = tally_reduce_part_host(plan, &none, &bytes);
    if (!status) status = tally_part_describe(record, bytes, &info);
    free(record);
    if (!status) *identity = info.check;
    return status;
}

/* Makes the plan, its memory and its kernels. Then it reduces no items, without the other ranks, so
 * that every kernel has run once. */
static tally_status make_ready(tally_nccl *n, const tally_reduce_desc *desc, uint64_t *identity) {
    tally_buffer *out = NULL;
    tally_status status = tally_plan_create(n->context, desc, &n->plan);
    if (!status) status = tally_packet_bytes(n->plan, &n->packet_bytes);
    if (!status) status = identify(desc, n->plan, identity);
    if (!status) status = make_memory(n);
    const uint64_t result_bytes = status ? 0 : tally_plan_result_bytes(n->plan), verdict_at = (result_bytes + 7) / 8 * 8;
    if (!status) status = tally_buffer_create(n->context, verdict_at + sizeof(tally_packet_verdict), &out);
    const tally_part_args none = {.size = sizeof(none), .out = n->gathered, .out_offset = own_place(n)};
    const tally_packet_args all = {.size = sizeof(all),
                                   .packets = n->gathered,
                                   .count = (uint64_t)n->size,
                                   .out = out,
                                   .verdict = out,
                                   .verdict_offset = verdict_at};
    for (int i = 0; i < n->size && !status; i++)
        status = tally_packet_fail(n->plan, n->own, TALLY_E_INTERNAL, n->gathered, (uint64_t)i * n->packet_bytes);
    if (!status) status = tally_packet_reduce(n->plan, n->own, &none);
    if (!status) status = tally_packet_fold(n->plan, n->own, &all);
    if (!status) status = tally_queue_wait(n->own);
    tally_buffer_destroy(out);
    return status;
}

/* Returns the failure of the lowest rank that has one. */
static tally_status compare(const hello *all, int size) {
    for (int i = 0; i < size; i++) {
        if (strncmp(all[i].version, all[0].version, sizeof(all[0].version)) != 0)
            return tally_fail(TALLY_E_UNSUPPORTED, "rank %d: it has tally %.15s, and rank 0 %.15s", i, all[i].version,
                              all[0].version);
        if (all[i].status) return tally_fail((tally_status)all[i].status, "rank %d: %.*s", i, TEXT_BYTES - 1, all[i].text);
        if (all[i].identity != all[0].identity)
            return tally_fail(TALLY_E_ARGUMENT, "rank %d: it reduces by other ops, types, levels or parameters than rank 0", i);
    }
    return TALLY_OK;
}

/* Exchanges the ranks' messages. `room` has place for this rank's message, and `to` for one of each
 * rank. Blocks. */
static tally_status exchange(tally_nccl *n, tally_buffer *room, tally_buffer *to, const hello *mine, hello *all) {
    tally_status status = tally_buffer_write(n->own, room, 0, mine, sizeof(*mine));
    if (!status) status = gather(n, n->own, room, 0, to, sizeof(*mine));
    if (!status) status = tally_buffer_read(n->own, to, 0, all, (uint64_t)n->size * sizeof(*all));
    if (!status) status = tally_queue_wait(n->own);
    return status ? status : compare(all, n->size);
}

static tally_status check_place(const tally_nccl *n) {
    tally_context_info info;
    int device = 0;
    const tally_status status = tally_context_get_info(n->context, &info);
    if (status) return status;
    if (strcmp(info.device.backend, "cuda") != 0)
        return tally_fail(TALLY_E_ARGUMENT, "tally_nccl_create: the context is of backend %s: NCCL takes cuda",
                          info.device.backend);
    const tally_status asked = nccl_status(n->library, n->comm, n->library->CommCuDevice(n->comm, &device), "ncclCommCuDevice");
    if (asked || info.device.index < 0 || info.device.index == device) return asked;
    return tally_fail(TALLY_E_ARGUMENT, "tally_nccl_create: the context is of device %d, the communicator of device %d",
                      info.device.index, device);
}

static tally_status open_ranks(tally_nccl *n) {
    const nccl_library *library = n->library;
    tally_status status = nccl_status(library, n->comm, library->CommUserRank(n->comm, &n->rank), "ncclCommUserRank");
    if (!status) status = nccl_status(library, n->comm, library->CommCount(n->comm, &n->size), "ncclCommCount");
    if (!status && (n->size < 1 || n->size > TALLY_MAX_PACKETS))
        status = tally_fail(TALLY_E_UNSUPPORTED, "tally_nccl_create: %d ranks: %d at most", n->size, TALLY_MAX_PACKETS);
    if (!status) status = check_place(n);
    return status ? status : tally_queue_create(n->context, &n->own);
}

/* Exchanges whether all ranks are ready for a window, or have one. */
static tally_status exchange_window(tally_nccl *n, tally_buffer *room, tally_buffer *to, hello *mine, hello *all, bool window,
                                    bool *every) {
    mine->window = window;
    const tally_status status = exchange(n, room, to, mine, all);
    *every = !status;
    for (int i = 0; i < n->size; i++) *every = *every && all[i].window;
    return status;
}

/* Agrees with the other ranks that all are ready, and on a window. */
static tally_status meet(tally_nccl *n, const tally_reduce_desc *desc) {
    tally_buffer *room = NULL, *to = NULL;
    hello mine = {.version = ""}, *all = calloc((size_t)n->size, sizeof(*all));
    tally_status status = all ? TALLY_OK : tally_fail(TALLY_E_MEMORY, "tally_nccl_create: out of memory");
    if (!status) status = tally_buffer_create(n->context, sizeof(mine), &room);
    if (!status) status = tally_buffer_create(n->context, (uint64_t)n->size * sizeof(mine), &to);
    if (!status) {
        const tally_status ready = make_ready(n, desc, &mine.identity);
        snprintf(mine.version, sizeof(mine.version), "%.15s", tally_version());
        mine.status = (uint32_t)ready;
        if (ready) snprintf(mine.text, sizeof(mine.text), "%.*s", TEXT_BYTES - 1, tally_last_error());
        bool every;
        status = exchange_window(n, room, to, &mine, all, n->window.memory != NULL, &every);
        if (every) status = exchange_window(n, room, to, &mine, all, nccl_window_open(&n->window), &every);
        if (!every) nccl_window_close(&n->window);
    }
    tally_buffer_destroy(to);
    tally_buffer_destroy(room);
    free(all);
    return status;
}

tally_status tally_nccl_create(struct ncclComm *comm, tally_context *context, const tally_reduce_desc *desc, tally_nccl **out) {
    if (out) *out = NULL;
    if (!comm || !context || !desc || !out)
        return tally_fail(TALLY_E_ARGUMENT, "tally_nccl_create: %s is NULL",
                          !comm      ? "comm"
                          : !context ? "context"
                          : !desc    ? "desc"
                                     : "out");
    const nccl_library *library = nccl_open();
    tally_nccl *n = library ? calloc(1, sizeof(*n)) : NULL;
    if (!library) return TALLY_E_NO_DEVICE;
    if (!n) return tally_fail(TALLY_E_MEMORY, "tally_nccl_create: out of memory");
    *n = (tally_nccl){.tag = TAG, .library = library, .comm = comm, .context = context};
    tally_status status = open_ranks(n);
    if (!status) status = meet(n, desc);
    if (status)
        tally_nccl_destroy(n);
    else
        *out = n;
    return status;
}

void tally_nccl_destroy(tally_nccl *nccl) {
    if (!nccl || nccl->tag != TAG) return;
    tally_buffer_destroy(nccl->gathered);
    nccl_window_free(&nccl->window);
    tally_plan_destroy(nccl->plan);
    tally_queue_destroy(nccl->own);
    nccl->tag = 0;
    free(nccl);
}

tally_plan *tally_nccl_plan(tally_nccl *nccl) {
    return nccl && nccl->tag == TAG ? nccl->plan : NULL;
}

/* ---- reducing -------------------------------------------------------------------------------- */

static tally_status check(const tally_nccl *nccl, const tally_queue *queue, const tally_nccl_args *args) {
    const char *null = !nccl ? "nccl" : !queue ? "queue" : !args ? "args" : NULL;
    if (null) return tally_fail(TALLY_E_ARGUMENT, "tally_nccl_allreduce: %s is NULL", null);
    if (nccl->tag != TAG) return tally_fail(TALLY_E_ARGUMENT, "tally_nccl_allreduce: nccl is no tally_nccl");
    if (args->size == sizeof(*args)) return TALLY_OK;
    return tally_fail(TALLY_E_ARGUMENT, "tally_nccl_allreduce: args.size is %zu; tally_nccl_args has %zu bytes", args->size,
                      sizeof(*args));
}

/* Enqueues the packet of this rank's share, or one of the failure, whose text is kept. */
static tally_status enqueue_packet(tally_nccl *n, tally_queue *queue, const tally_nccl_args *args, char *text,
                                   tally_status *failed) {
    tally_part_args part = {.size = sizeof(part),
                            .first = args->first,
                            .n = args->n,
                            .total = args->total,
                            .out = n->gathered,
                            .out_offset = own_place(n)};
    memcpy(part.in, args->in, sizeof(part.in));
    memcpy(part.in_offset, args->in_offset, sizeof(part.in_offset));
    *failed = tally_packet_reduce(n->plan, queue, &part);
    if (!*failed) return TALLY_OK;
    snprintf(text, TEXT_BYTES, "%s", tally_last_error());
    return tally_packet_fail(n->plan, queue, *failed, n->gathered, own_place(n));
}

tally_status tally_nccl_allreduce(tally_nccl *nccl, tally_queue *queue, const tally_nccl_args *args) {
    char text[TEXT_BYTES];
    tally_status failed = TALLY_OK, status = check(nccl, queue, args);
    if (status) return status;
    const tally_packet_args all = {.size = sizeof(all),
                                   .packets = nccl->gathered,
                                   .count = (uint64_t)nccl->size,
                                   .total = args->total,
                                   .out = args->out,
                                   .out_offset = args->out_offset,
                                   .verdict = args->verdict,
                                   .verdict_offset = args->verdict_offset};
    status = enqueue_packet(nccl, queue, args, text, &failed);
    if (!status) status = await_packet(nccl, queue);
    if (!status) status = gather(nccl, queue, nccl->gathered, own_place(nccl), nccl->gathered, nccl->packet_bytes);
    if (!status) status = tally_packet_fold(nccl->plan, queue, &all);
    return failed ? tally_fail(failed, "%s", text) : status;
}
