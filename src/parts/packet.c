/* SPDX-License-Identifier: MIT */
/* Packets: the accumulators of a part's nodes with a header before them, which a device folds
 * (kernels/fold.h). */
#include <string.h>

#include "parts/parts.h"

#define HEADER_BYTES (8 * TALLY_PACKET_WORDS)

static uint64_t packet_bytes(const tally_plan *plan) {
    return (HEADER_BYTES + TALLY_PART_MOST_NODES * (uint64_t)plan->terms.acc.bytes + 15) / 16 * 16;
}

/* Returns a hash of what all packets of a reduction have in common: ops, types, parameters and the
 * total. */
static uint64_t key_of(const tally_plan *plan, uint64_t total) {
    _Alignas(8) unsigned char prefix[TALLY_PART_PREFIX_BYTES];
    const tally_part_shape none = {.total = total};
    tally_part_head head;
    tally_part_fill(&plan->terms, &none, &head);
    memcpy(prefix, &head, sizeof(head));
    return tally_part_sum(prefix, sizeof(head) + tally_part_identify(&plan->terms, plan->params, prefix + sizeof(head)));
}

static uint64_t chunks_of(uint64_t items) {
    return tally_ceil_div(items, TALLY_CHUNK_ITEMS);
}

tally_status tally_packet_bytes(const tally_plan *plan, uint64_t *bytes) {
    tally_status status = tally_part_check_plan(plan);
    if (!status) status = tally_check_pointer(bytes, "bytes");
    if (!status) *bytes = packet_bytes(plan);
    return TALLY_NAMED(status);
}

/* ---- making packets -------------------------------------------------------------------------- */

/* Refuses a part with raw items. */
static tally_status check_ends(uint64_t first, uint64_t n, uint64_t total) {
    const uint64_t end = first + n;
    if (!total && n) return tally_fail(TALLY_E_ARGUMENT, "total is 0: a packet needs the number of all items");
    if (first % TALLY_CHUNK && (n || first != total))
        return tally_fail(TALLY_E_UNSUPPORTED, "the part begins at item %llu: packets begin at multiples of %d",
                          (unsigned long long)first, TALLY_CHUNK);
    if (!n || end == total || end % TALLY_CHUNK == 0) return TALLY_OK;
    return tally_fail(TALLY_E_UNSUPPORTED, "the part ends at item %llu: packets end at multiples of %d or with all items, %llu",
                      (unsigned long long)end, TALLY_CHUNK, (unsigned long long)total);
}

/* The header of a packet that has not failed. */
typedef struct packet_header {
    uint64_t words[TALLY_PACKET_WORDS];
} packet_header;

static packet_header header_of(const tally_plan *plan, uint64_t first, uint64_t n, uint64_t total) {
    return (packet_header){{TALLY_OK, key_of(plan, total), chunks_of(first), chunks_of(first + n)}};
}

static tally_status packet_reduce(tally_plan *plan, tally_queue *queue, const tally_part_args *args) {
    tally_part_shape shape;
    tally_status status = tally_part_check_args(plan, queue, args);
    if (!status) status = check_ends(args->first, args->n, args->total);
    if (!status) status = tally_part_check_out(plan, args, packet_bytes(plan));
    if (status) return status;
    const packet_header header = header_of(plan, args->first, args->n, args->total);
    tally_part_shape_of(args->first, args->n, args->total, &shape);
    return tally_part_enqueue_nodes(plan, queue, args, &shape, HEADER_BYTES, header.words);
}

tally_status tally_packet_reduce(tally_plan *plan, tally_queue *queue, const tally_part_args *args) {
    return TALLY_NAMED(packet_reduce(plan, queue, args));
}

static tally_status packet_fail(tally_plan *plan, tally_queue *queue, tally_status failed, tally_buffer *out, uint64_t offset) {
    const tally_part_args place = {.out = out, .out_offset = offset};
    const uint32_t zero = 0, one = 1, words = TALLY_PACKET_WORDS;
    const uint64_t at = offset / 8;
    tally_part_piece piece = {.words = {(uint64_t)failed}};
    tally_part_kit *kit;
    tally_status status = tally_part_check_plan(plan);
    if (!status) status = tally_check_queue(queue, plan->context);
    if (!status && (failed <= TALLY_OK || failed >= TALLY_STATUS_END))
        status = tally_fail(TALLY_E_ARGUMENT, "failed is %d: no status of a failure", (int)failed);
    if (!status) status = tally_check_buffer(out, plan->context, "out");
    if (!status) status = tally_part_check_out(plan, &place, packet_bytes(plan));
    if (!status) status = tally_part_kit_device((tally_reduce_plan *)plan, &kit);
    if (status) return status;
    /* A piece of a head that is never sealed. */
    const tally_arg args[TALLY_SEAL_ARGS] = {
        [TALLY_SEAL_ARG_OUT] = TALLY_MEM(out->mem),        [TALLY_SEAL_ARG_OFFSET] = TALLY_VALUE(at),
        [TALLY_SEAL_ARG_NODE_WORDS] = TALLY_VALUE(zero),   [TALLY_SEAL_ARG_ACC_WORDS] = TALLY_VALUE(one),
        [TALLY_SEAL_ARG_PIECE] = TALLY_VALUE(piece),       [TALLY_SEAL_ARG_PIECE_AT] = TALLY_VALUE(zero),
        [TALLY_SEAL_ARG_PIECE_WORDS] = TALLY_VALUE(words), [TALLY_SEAL_ARG_NODES_AT] = TALLY_VALUE(zero),
        [TALLY_SEAL_ARG_WORDS] = TALLY_VALUE(words),       [TALLY_SEAL_ARG_SEALS] = TALLY_VALUE(zero)};
    return plan->context->backend->launch(queue->handle, kit->seal_kernel, 1, kit->threads, TALLY_ARRAY_LENGTH(args), args);
}

tally_status tally_packet_fail(tally_plan *plan, tally_queue *queue, tally_status failed, tally_buffer *out,
                               uint64_t out_offset) {
    return TALLY_NAMED(packet_fail(plan, queue, failed, out, out_offset));
}

/* ---- a packet's record ----------------------------------------------------------------------- */

static tally_status check_record(const tally_plan *plan, const void *packet, const tally_part_host_args *a) {
    tally_status status = tally_part_check_plan(plan);
    if (!status) status = tally_check_pointer(packet, "packet");
    if (!status) status = tally_check_pointer(a, "args");
    if (!status && a->size != sizeof(*a))
        status = tally_fail(TALLY_E_ARGUMENT, "args.size is %zu: sizeof(tally_part_host_args) is %zu", a->size, sizeof(*a));
    if (!status) status = tally_part_check_range("the part", a->first, a->n, a->total);
    if (!status) status = check_ends(a->first, a->n, a->total);
    if (!status) status = tally_check_pointer(a->out, "out");
    if (status) return status;
    const packet_header expected = header_of(plan, a->first, a->n, a->total);
    packet_header header;
    memcpy(&header, packet, sizeof(header));
    const uint64_t failed = header.words[0];
    if (failed && failed < TALLY_STATUS_END) return tally_fail((tally_status)failed, "the packet's part has failed");
    if (!memcmp(&header, &expected, sizeof(header))) return TALLY_OK;
    return tally_fail(TALLY_E_ARGUMENT, "the packet is not that of items %llu to %llu of %llu by this plan",
                      (unsigned long long)a->first, (unsigned long long)(a->first + a->n), (unsigned long long)a->total);
}

static tally_status packet_record(tally_plan *plan, const void *packet, const tally_part_host_args *a, uint64_t *bytes) {
    const unsigned char *acc = (const unsigned char *)packet + HEADER_BYTES;
    tally_part_folder folder;
    tally_part_builder builder;
    tally_part_shape shape;
    tally_status status = check_record(plan, packet, a);
    if (!status) status = tally_part_folder_open(&plan->terms, plan->params, (tally_reduce_plan *)plan, &folder);
    if (!status) status = tally_part_builder_open(&folder, a->first, a->total, &builder);
    if (status) return status;
    tally_part_shape_of(a->first, a->n, a->total, &shape);
    for (uint32_t i = 0; i < shape.node_count && !status; i++, acc += plan->terms.acc.bytes) {
        uint64_t n;
        tally_part_node_items(&shape.nodes[i], a->first + a->n, &n);
        status = tally_part_add_node(&builder, &shape.nodes[i], n, acc);
    }
    if (!status) status = tally_part_build(&builder, a->out, a->out_bytes, bytes);
    tally_part_builder_close(&builder);
    return status;
}

tally_status tally_packet_record(tally_plan *plan, const void *packet, const tally_part_host_args *args, uint64_t *bytes) {
    return TALLY_NAMED(packet_record(plan, packet, args, bytes));
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

/* Returns the levels of the canonical tree over the chunks. */
static uint32_t levels_of(uint64_t chunks) {
    uint32_t levels = 0;
    while (UINT64_C(1) << levels < chunks) levels++;
    return levels;
}

static tally_status packet_fold(tally_plan *base, tally_queue *queue, const tally_packet_args *a) {
    tally_part_kit *kit;
    tally_status status = tally_part_check_plan(base);
    if (!status) status = tally_check_queue(queue, base->context);
    if (!status) status = tally_check_pointer(a, "args");
    if (!status) status = check_args(base, a);
    if (!status) status = tally_part_kit_fold((tally_reduce_plan *)base, a->count, &kit);
    if (status) return status;
    const uint64_t at = a->packets_offset / 8, stride = packet_bytes(base) / 8, verdict_at = a->verdict_offset / 4;
    const uint64_t key = key_of(base, a->total), chunks = chunks_of(a->total);
    const uint32_t levels = levels_of(chunks);
    const tally_arg args[TALLY_FOLD_ARGS] = {
        [TALLY_FOLD_ARG_PACKETS] = TALLY_MEM(a->packets->mem),
        [TALLY_FOLD_ARG_AT] = TALLY_VALUE(at),
        [TALLY_FOLD_ARG_STRIDE] = TALLY_VALUE(stride),
        [TALLY_FOLD_ARG_COUNT] = TALLY_VALUE(a->count),
        [TALLY_FOLD_ARG_KEY] = TALLY_VALUE(key),
        [TALLY_FOLD_ARG_TOTAL] = TALLY_VALUE(a->total),
        [TALLY_FOLD_ARG_CHUNKS] = TALLY_VALUE(chunks),
        [TALLY_FOLD_ARG_LEVELS] = TALLY_VALUE(levels),
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
