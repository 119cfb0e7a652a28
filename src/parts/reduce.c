/* SPDX-License-Identifier: MIT */
/* Parts made into records: in device memory by kernels (kernels/part.h), in host memory by the
 * builder of join.c. */
#include <string.h>

#include "parts/parts.h"

#define PIECE_WORDS TALLY_PART_PIECE_WORDS
#define COPY_BYTES 16 /* of a thread, by kernels/part.h */

/* ---- device memory --------------------------------------------------------------------------- */

/* A call of tally_reduce_part. */
typedef struct part_call {
    tally_plan *plan;
    void *queue;
    const tally_part_args *args;
    tally_part_kit *kit;
    tally_part_shape shape;
    tally_part_places at;
    _Alignas(8) unsigned char prefix[TALLY_PART_PREFIX_BYTES];
} part_call;

tally_status tally_part_check_args(const tally_plan *plan, const tally_queue *queue, const tally_part_args *a) {
    static const char *const names[TALLY_MAX_INPUTS] = {"in[0]", "in[1]", "in[2]", "in[3]"};
    tally_status status = tally_part_check_plan(plan);
    if (!status) status = tally_check_queue(queue, plan->context);
    if (!status) status = tally_check_pointer(a, "args");
    if (!status && a->size != sizeof(*a))
        status = tally_fail(TALLY_E_ARGUMENT, "args.size is %zu: sizeof(tally_part_args) is %zu", a->size, sizeof(*a));
    if (!status) status = tally_part_check_range("the part", a->first, a->n, a->total);
    if (!status) status = tally_check_n(plan, a->n);
    const uint64_t bytes = tally_dtype_bytes(plan ? plan->terms.in : TALLY_DTYPE_DEFAULT);
    for (uint32_t k = 0; !status && a->n && k < plan->terms.inputs; k++) {
        status = tally_check_buffer(a->in[k], plan->context, names[k]);
        if (!status) status = tally_check_items(a->in[k], a->in_offset[k], a->n, bytes, names[k]);
    }
    return status ? status : tally_check_buffer(a->out, plan->context, "out");
}

tally_status tally_part_check_out(const tally_plan *plan, const tally_part_args *a, uint64_t bytes) {
    const uint64_t item_bytes = tally_dtype_bytes(plan->terms.in);
    const tally_range out = {a->out, a->out_offset, bytes, "out"};
    tally_status status = TALLY_OK;
    if (a->out_offset % 8)
        status = tally_fail(TALLY_E_ARGUMENT, "out_offset is %llu: a multiple of 8", (unsigned long long)a->out_offset);
    if (!status) status = tally_check_items(a->out, a->out_offset, bytes, 1, "out");
    for (uint32_t k = 0; !status && a->n && k < plan->terms.inputs; k++)
        status = tally_check_apart((tally_range){a->in[k], a->in_offset[k] * item_bytes, a->n * item_bytes, "in"}, out);
    return status;
}

/* Enqueues the reduction of n items, from item `base` of the whole on, to a node. */
static tally_status enqueue_node(tally_plan *plan, tally_queue *queue, const tally_part_args *a, uint64_t base, uint64_t n,
                                 tally_target to) {
    tally_source source = {.base = base};
    for (uint32_t k = 0; k < plan->terms.inputs; k++) {
        /* Without items any memory serves. */
        source.mem[k] = n ? a->in[k]->mem : a->out->mem;
        source.offset[k] = n ? a->in_offset[k] + (base - a->first) : 0;
    }
    return tally_reduce_tree((tally_reduce_plan *)plan, queue->handle, &source, n, to);
}

tally_status tally_part_enqueue_nodes(tally_plan *plan, tally_queue *queue, const tally_part_args *a,
                                      const tally_part_shape *shape, uint64_t nodes_at, const uint64_t *header) {
    const uint32_t launches = !shape->node_count && header ? 1 : shape->node_count;
    tally_outcome node = {.header_at = a->out_offset / 8, .is_node = 1};
    tally_target to = {.mem = a->out->mem, .offset = (a->out_offset + nodes_at) / 4, .node = &node};
    tally_status status = TALLY_OK;
    if (header) memcpy(node.header, header, sizeof(node.header));
    for (uint32_t i = 0; i < launches && !status; i++, to.offset += plan->terms.acc.bytes / 4) {
        uint64_t n = 0;
        const uint64_t base = shape->node_count ? tally_part_node_items(&shape->nodes[i], a->first + a->n, &n) : a->first;
        node.has_header = header && i + 1 == launches;
        node.follows = i > 0;
        status = enqueue_node(plan, queue, a, base, n, to);
    }
    return status;
}

/* Enqueues the copies of `count` raw items of each input, from item `from` of the part on, to the
 * section that begins at byte `at` of the record and ends at `end`. */
static tally_status enqueue_items(const part_call *call, uint64_t from, uint64_t count, uint64_t at, uint64_t end) {
    const tally_part_args *a = call->args;
    const uint64_t item_bytes = tally_dtype_bytes(call->plan->terms.in), bytes = count * item_bytes;
    const uint32_t inputs = call->plan->terms.inputs;
    tally_status status = TALLY_OK;
    for (uint32_t k = 0; count && k < inputs && !status; k++, at += bytes) {
        const uint64_t begin = (a->in_offset[k] + from) * item_bytes, to = a->out_offset + at;
        const uint64_t padded = k + 1 < inputs ? bytes : end - at;
        const tally_arg args[] = {TALLY_MEM(a->in[k]->mem), TALLY_VALUE(begin), TALLY_MEM(a->out->mem),
                                  TALLY_VALUE(to),          TALLY_VALUE(bytes), TALLY_VALUE(padded)};
        const uint64_t groups = call->kit->threads > 1 ? tally_ceil_div(padded, (uint64_t)COPY_BYTES * call->kit->threads) : 1;
        status = call->plan->context->backend->launch(call->queue, call->kit->items_kernel, groups, call->kit->threads,
                                                      TALLY_ARRAY_LENGTH(args), args);
    }
    return status;
}

/* Enqueues the head, the terms and the parameters, in pieces that are arguments of their launches.
 * The last launch clears the nodes' padding, and writes the checksum. */
static tally_status enqueue_seal(const part_call *call, const tally_part_folder *folder) {
    const tally_part_args *a = call->args;
    const uint32_t acc_words = folder->terms->acc.bytes / 4, node_words = call->shape.node_count * acc_words;
    const uint32_t end = (uint32_t)(call->at.nodes / 8), words = (uint32_t)(call->at.bytes / 8);
    const uint64_t offset = a->out_offset / 8;
    tally_status status = TALLY_OK;
    for (uint32_t at = 0; at < end && !status; at += PIECE_WORDS) {
        tally_part_piece piece = {.words = {0}};
        const uint32_t count = end - at < PIECE_WORDS ? end - at : PIECE_WORDS, seals = at + count == end;
        memcpy(piece.words, call->prefix + 8 * at, 8 * count);
        memcpy(piece.used, folder->used, sizeof(piece.used));
        const tally_arg args[TALLY_SEAL_ARGS] = {
            [TALLY_SEAL_ARG_OUT] = TALLY_MEM(a->out->mem),         [TALLY_SEAL_ARG_OFFSET] = TALLY_VALUE(offset),
            [TALLY_SEAL_ARG_NODE_WORDS] = TALLY_VALUE(node_words), [TALLY_SEAL_ARG_ACC_WORDS] = TALLY_VALUE(acc_words),
            [TALLY_SEAL_ARG_PIECE] = TALLY_VALUE(piece),           [TALLY_SEAL_ARG_PIECE_AT] = TALLY_VALUE(at),
            [TALLY_SEAL_ARG_PIECE_WORDS] = TALLY_VALUE(count),     [TALLY_SEAL_ARG_NODES_AT] = TALLY_VALUE(end),
            [TALLY_SEAL_ARG_WORDS] = TALLY_VALUE(words),           [TALLY_SEAL_ARG_SEALS] = TALLY_VALUE(seals)};
        status = call->plan->context->backend->launch(call->queue, call->kit->seal_kernel, 1, call->kit->threads,
                                                      TALLY_ARRAY_LENGTH(args), args);
    }
    return status;
}

static tally_status reduce_part(tally_plan *plan, tally_queue *queue, const tally_part_args *args) {
    tally_part_head head;
    tally_part_folder folder;
    tally_status status = tally_part_check_args(plan, queue, args);
    if (status) return status;
    part_call call = {.plan = plan, .queue = queue->handle, .args = args};
    tally_part_shape_of(args->first, args->n, args->total, &call.shape);
    tally_part_fill(&plan->terms, &call.shape, &head);
    call.at = tally_part_places_of(&head);
    status = tally_part_check_out(plan, args, call.at.bytes);
    if (!status) status = tally_part_folder_open(&plan->terms, plan->params, (tally_reduce_plan *)plan, &folder);
    if (!status) status = tally_part_kit_device((tally_reduce_plan *)plan, &call.kit);
    if (status) return status;
    memcpy(call.prefix, &head, sizeof(head));
    tally_part_identify(&plan->terms, plan->params, call.prefix + sizeof(head));
    status = tally_part_enqueue_nodes(plan, queue, args, &call.shape, call.at.nodes, NULL);
    if (!status) status = enqueue_items(&call, 0, head.head_items, call.at.head, call.at.tail);
    if (!status) status = enqueue_items(&call, args->n - head.tail_items, head.tail_items, call.at.tail, call.at.bytes);
    return status ? status : enqueue_seal(&call, &folder);
}

tally_status tally_reduce_part(tally_plan *plan, tally_queue *queue, const tally_part_args *args) {
    return TALLY_NAMED(reduce_part(plan, queue, args));
}

/* ---- host memory ----------------------------------------------------------------------------- */

static tally_status check_host_args(const tally_plan *plan, const tally_part_host_args *a) {
    tally_status status = tally_part_check_plan(plan);
    if (!status) status = tally_check_pointer(a, "args");
    if (!status && a->size != sizeof(*a))
        status = tally_fail(TALLY_E_ARGUMENT, "args.size is %zu: sizeof(tally_part_host_args) is %zu", a->size, sizeof(*a));
    if (!status) status = tally_part_check_range("the part", a->first, a->n, a->total);
    for (uint32_t k = 0; !status && a->n && k < plan->terms.inputs; k++) status = tally_check_pointer(a->items[k], "items");
    return status ? status : tally_check_pointer(a->out, "out");
}

/* Tells whether the host folds the items itself: a CPU does, of items at aligned addresses. */
static bool folds_here(const tally_plan *plan, const tally_part_host_args *a) {
    const tally_device_info *device = &plan->context->info;
    const tally_dtype_row *row = tally_dtype_find(plan->terms.in);
    const uintptr_t align = row->kind == TALLY_KIND_COMPLEX ? row->bytes / 2 : row->bytes;
    bool here = device->device_class == TALLY_CLASS_CPU && device->host_memory && device->has_f64;
    for (uint32_t k = 0; k < plan->terms.inputs; k++) here = here && (uintptr_t)a->items[k] % align == 0;
    return here;
}

/* Appends the items of a part to a builder, which begins with it. */
static tally_status add_part(tally_part_builder *b, const tally_part_shape *shape, const tally_part_host_args *a) {
    const uint64_t bytes = tally_dtype_bytes(b->folder->terms->in);
    const void *items[TALLY_MAX_INPUTS];
    _Alignas(64) unsigned char acc[TALLY_PART_ACC_BYTES];
    tally_status status = tally_part_add_items(b, a->items, shape->head_items);
    for (uint32_t i = 0; i <= shape->node_count && !status; i++) {
        const bool is_tail = i == shape->node_count;
        uint64_t n = shape->tail_items;
        const uint64_t base = is_tail ? b->end : tally_part_node_items(&shape->nodes[i], a->first + a->n, &n);
        for (uint32_t k = 0; k < b->folder->terms->inputs; k++)
            items[k] = a->n ? (const unsigned char *)a->items[k] + (base - a->first) * bytes : NULL;
        if (is_tail) return tally_part_add_items(b, items, n);
        status = tally_part_fold(b->folder, items, base, n, acc);
        if (!status) status = tally_part_add_node(b, &shape->nodes[i], n, acc);
    }
    return status;
}

tally_status tally_reduce_part_host(tally_plan *plan, const tally_part_host_args *args, uint64_t *bytes) {
    tally_part_folder folder;
    tally_part_builder builder;
    tally_part_shape shape;
    tally_status status = check_host_args(plan, args);
    if (!status) status = tally_part_folder_open(&plan->terms, plan->params, (tally_reduce_plan *)plan, &folder);
    if (status) return TALLY_NAMED(status);
    if (!folds_here(plan, args)) folder.plan = (tally_reduce_plan *)plan;
    folder.threads = plan->context->info.compute_units;
    status = tally_part_builder_open(&folder, args->first, args->total, &builder);
    if (status) return TALLY_NAMED(status);
    tally_part_shape_of(args->first, args->n, args->total, &shape);
    status = add_part(&builder, &shape, args);
    if (!status) status = tally_part_build(&builder, args->out, args->out_bytes, bytes);
    tally_part_builder_close(&builder);
    return TALLY_NAMED(status);
}
