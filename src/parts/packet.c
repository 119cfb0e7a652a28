/* SPDX-License-Identifier: MIT */
/* Packets: records with a status before them, which a device folds (kernels/fold.h). */
#include <string.h>

#include "parts/parts.h"

#define HEADER_BYTES (8 * TALLY_PACKET_HEADER_WORDS)

/* Returns the head of the longest record of a packet. */
static tally_part_head longest(const tally_plan *plan) {
    const tally_part_shape shape = {.node_count = TALLY_PART_MOST_NODES};
    tally_part_head head;
    tally_part_fill(&plan->terms, &shape, &head);
    return head;
}

static uint64_t packet_bytes(const tally_plan *plan) {
    return (HEADER_BYTES + longest(plan).bytes + 15) / 16 * 16;
}

/* Fills a packet's header. The identity is a hash of what the records have in common. */
static void fill_header(const tally_plan *plan, tally_status status, uint64_t header[TALLY_PACKET_HEADER_WORDS]) {
    _Alignas(8) unsigned char prefix[sizeof(tally_part_head) + TALLY_PART_PREFIX_BYTES] = {0};
    tally_part_head head = longest(plan);
    memcpy(prefix, &head, sizeof(head));
    const uint32_t bytes = tally_part_identify(&plan->terms, plan->params, prefix + sizeof(head));
    header[0] = (uint64_t)status;
    header[1] = tally_part_sum(prefix, sizeof(head) + bytes);
}

tally_status tally_packet_bytes(const tally_plan *plan, uint64_t *bytes) {
    tally_status status = tally_part_check_plan(plan);
    if (!status) status = tally_check_pointer(bytes, "bytes");
    if (!status) *bytes = packet_bytes(plan);
    return TALLY_NAMED(status);
}

/* Checks the place of a packet. */
static tally_status check_place(const tally_plan *plan, const tally_buffer *out, uint64_t offset) {
    const tally_status status = tally_check_buffer(out, plan->context, "out");
    if (status) return status;
    if (offset % 8) return tally_fail(TALLY_E_ARGUMENT, "out_offset is %llu: a multiple of 8", (unsigned long long)offset);
    return tally_check_items(out, offset, packet_bytes(plan), 1, "out");
}

/* ---- making packets -------------------------------------------------------------------------- */

/* Refuses a part with raw items. */
static tally_status check_ends(const tally_part_args *a) {
    const uint64_t end = a->first + a->n;
    if (!a->total && a->n) return tally_fail(TALLY_E_ARGUMENT, "total is 0: a packet needs the number of all items");
    if (a->n && a->first % TALLY_CHUNK)
        return tally_fail(TALLY_E_UNSUPPORTED, "the part begins at item %llu: packets begin at multiples of %d",
                          (unsigned long long)a->first, TALLY_CHUNK);
    if (!a->n || end == a->total || end % TALLY_CHUNK == 0) return TALLY_OK;
    return tally_fail(TALLY_E_UNSUPPORTED, "the part ends at item %llu: packets end at multiples of %d or with all items, %llu",
                      (unsigned long long)end, TALLY_CHUNK, (unsigned long long)a->total);
}

static tally_status packet_reduce(tally_plan *plan, tally_queue *queue, const tally_part_args *args) {
    uint64_t header[TALLY_PACKET_HEADER_WORDS];
    tally_status status = tally_part_check_plan(plan);
    if (!status) status = tally_check_pointer(args, "args");
    if (!status && args->size != sizeof(*args))
        status = tally_fail(TALLY_E_ARGUMENT, "args.size is %zu: sizeof(tally_part_args) is %zu", args->size, sizeof(*args));
    if (!status) status = tally_part_check_range("the part", args->first, args->n, args->total);
    if (!status) status = check_ends(args);
    if (!status) status = check_place(plan, args->out, args->out_offset);
    if (status) return status;
    fill_header(plan, TALLY_OK, header);
    tally_part_args record = *args;
    record.out_offset += HEADER_BYTES;
    return tally_part_enqueue(plan, queue, &record, header);
}

tally_status tally_packet_reduce(tally_plan *plan, tally_queue *queue, const tally_part_args *args) {
    return TALLY_NAMED(packet_reduce(plan, queue, args));
}

static tally_status packet_fail(tally_plan *plan, tally_queue *queue, tally_status failed, tally_buffer *out, uint64_t offset) {
    const uint32_t zero = 0, one = 1, words = TALLY_PACKET_HEADER_WORDS;
    const uint64_t at = offset / 8;
    tally_part_piece piece = {.words = {0}};
    tally_part_kit *kit;
    tally_status status = tally_part_check_plan(plan);
    if (!status) status = tally_check_queue(queue, plan->context);
    if (!status && failed == TALLY_OK) status = tally_fail(TALLY_E_ARGUMENT, "failed is TALLY_OK");
    if (!status) status = check_place(plan, out, offset);
    if (!status) status = tally_part_kit_device((tally_reduce_plan *)plan, &kit);
    if (status) return status;
    fill_header(plan, failed, piece.words);
    const tally_arg args[] = {TALLY_MEM(kit->nodes->mem), TALLY_VALUE(zero),  TALLY_VALUE(one),
                              TALLY_MEM(out->mem),        TALLY_VALUE(at),    TALLY_VALUE(piece),
                              TALLY_VALUE(zero),          TALLY_VALUE(words), TALLY_VALUE(zero),
                              TALLY_VALUE(words),         TALLY_VALUE(zero),  TALLY_VALUE(zero)};
    return plan->context->backend->launch(queue->handle, kit->seal_kernel, 1, kit->threads, TALLY_ARRAY_LENGTH(args), args);
}

tally_status tally_packet_fail(tally_plan *plan, tally_queue *queue, tally_status failed, tally_buffer *out,
                               uint64_t out_offset) {
    return TALLY_NAMED(packet_fail(plan, queue, failed, out, out_offset));
}

/* ---- folding packets ------------------------------------------------------------------------- */

static tally_status check_args(const tally_plan *plan, const tally_packet_args *a) {
    const uint64_t bytes = packet_bytes(plan), result_bytes = plan->terms.result.bytes;
    tally_status status = TALLY_OK;
    if (a->size != sizeof(*a))
        return tally_fail(TALLY_E_ARGUMENT, "args.size is %zu: sizeof(tally_packet_args) is %zu", a->size, sizeof(*a));
    if (!a->count || a->count > TALLY_MAX_PACKETS)
        return tally_fail(TALLY_E_ARGUMENT, "count is %llu: 1 to %d", (unsigned long long)a->count, TALLY_MAX_PACKETS);
    if (a->packets_offset % 8)
        return tally_fail(TALLY_E_ARGUMENT, "packets_offset is %llu: a multiple of 8", (unsigned long long)a->packets_offset);
    if (a->verdict_offset % 4)
        return tally_fail(TALLY_E_ARGUMENT, "verdict_offset is %llu: a multiple of 4", (unsigned long long)a->verdict_offset);
    status = tally_part_check_range("the whole", 0, a->total, a->total);
    if (!status) status = tally_check_buffer(a->packets, plan->context, "packets");
    if (!status) status = tally_check_items(a->packets, a->packets_offset, a->count * bytes, 1, "packets");
    if (!status) status = tally_check_buffer(a->out, plan->context, "out");
    if (!status) status = tally_check_items(a->out, a->out_offset, 1, result_bytes, "out");
    if (!status) status = tally_check_buffer(a->verdict, plan->context, "verdict");
    if (!status) status = tally_check_items(a->verdict, a->verdict_offset, sizeof(tally_packet_verdict), 1, "verdict");
    if (status) return status;
    const tally_range in = {a->packets, a->packets_offset, a->count * bytes, "packets"};
    const tally_range out = {a->out, a->out_offset * result_bytes, result_bytes, "out"};
    const tally_range verdict = {a->verdict, a->verdict_offset, sizeof(tally_packet_verdict), "verdict"};
    status = tally_check_apart(in, out);
    if (!status) status = tally_check_apart(in, verdict);
    return status ? status : tally_check_apart(out, verdict);
}

static tally_status packet_fold(tally_plan *base, tally_queue *queue, const tally_packet_args *a) {
    uint64_t header[TALLY_PACKET_HEADER_WORDS];
    tally_part_kit *kit;
    tally_status status = tally_part_check_plan(base);
    if (!status) status = tally_check_queue(queue, base->context);
    if (!status) status = tally_check_pointer(a, "args");
    if (!status) status = check_args(base, a);
    if (!status) status = tally_part_kit_fold((tally_reduce_plan *)base, a->count, &kit);
    if (status) return status;
    const tally_part_head head = longest(base);
    const uint64_t at = a->packets_offset / 8, stride = packet_bytes(base) / 8, verdict_at = a->verdict_offset / 4;
    const uint32_t nodes_at = (uint32_t)(tally_part_places_of(&head).nodes / 8), most = TALLY_PART_MOST_NODES;
    const uint32_t refused = TALLY_E_ARGUMENT;
    fill_header(base, TALLY_OK, header);
    const tally_arg args[TALLY_FOLD_ARGS] = {
        [TALLY_FOLD_ARG_PACKETS] = TALLY_MEM(a->packets->mem),
        [TALLY_FOLD_ARG_AT] = TALLY_VALUE(at),
        [TALLY_FOLD_ARG_STRIDE] = TALLY_VALUE(stride),
        [TALLY_FOLD_ARG_COUNT] = TALLY_VALUE(a->count),
        [TALLY_FOLD_ARG_IDENTITY] = TALLY_VALUE(header[1]),
        [TALLY_FOLD_ARG_TOTAL] = TALLY_VALUE(a->total),
        [TALLY_FOLD_ARG_NODES_AT] = TALLY_VALUE(nodes_at),
        [TALLY_FOLD_ARG_MOST] = TALLY_VALUE(most),
        [TALLY_FOLD_ARG_REFUSED] = TALLY_VALUE(refused),
        [TALLY_FOLD_ARG_NODES] = TALLY_MEM(kit->fold_nodes->mem),
        [TALLY_FOLD_ARG_ACCS] = TALLY_MEM(kit->fold_accs->mem),
        [TALLY_FOLD_ARG_OUT] = TALLY_MEM(a->out->mem),
        [TALLY_FOLD_ARG_OUT_OFFSET] = TALLY_VALUE(a->out_offset),
        [TALLY_FOLD_ARG_VERDICT] = TALLY_MEM(a->verdict->mem),
        [TALLY_FOLD_ARG_VERDICT_AT] = TALLY_VALUE(verdict_at),
        [TALLY_FOLD_ARG_PARAMS] = {.value = base->params, .bytes = base->terms.param.bytes}};
    return base->context->backend->launch(queue->handle, kit->fold_kernel, 1, kit->fold_threads, TALLY_ARRAY_LENGTH(args),
                                          args);
}

tally_status tally_packet_fold(tally_plan *plan, tally_queue *queue, const tally_packet_args *args) {
    return TALLY_NAMED(packet_fold(plan, queue, args));
}
