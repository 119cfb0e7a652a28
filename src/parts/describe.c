/* SPDX-License-Identifier: MIT */
/* Sizes of records, and what they say of themselves. */
#include <string.h>

#include "parts/parts.h"

/* Resolves the ops of a descriptor. On success the caller closes the terms. */
static tally_status resolve(const tally_reduce_desc *given, tally_terms *terms) {
    tally_reduce_desc desc;
    const tally_status status = tally_reduce_desc_copy(given, &desc);
    if (status) return status;
    const tally_terms_desc what = {
        .in = desc.in,
        .single = {.op = desc.op, .out = desc.out, .acc = desc.acc, .accuracy = desc.accuracy, .custom = desc.custom},
        .list = desc.terms,
        .count = desc.term_count};
    return tally_terms_resolve(&what, terms);
}

tally_status tally_part_bytes(const tally_reduce_desc *desc, uint64_t first, uint64_t n, uint64_t total, uint64_t *bytes) {
    tally_terms terms;
    tally_part_shape shape;
    tally_part_head head;
    tally_status status = tally_check_pointer(bytes, "bytes");
    if (!status) status = tally_part_check_range("the part", first, n, total);
    if (!status) status = resolve(desc, &terms);
    if (status) return TALLY_NAMED(status);
    tally_part_shape_of(first, n, total, &shape);
    tally_part_fill(&terms, &shape, &head);
    *bytes = head.bytes;
    tally_terms_close(&terms);
    return TALLY_OK;
}

tally_status tally_part_bound(const tally_reduce_desc *desc, uint64_t total, int aligned, uint64_t *bytes) {
    tally_terms terms;
    tally_part_shape shape = {.first = 0};
    tally_part_head head;
    tally_status status = tally_check_pointer(bytes, "bytes");
    if (!status) status = tally_part_check_range("the part", 0, 0, total);
    if (!status) status = resolve(desc, &terms);
    if (status) return TALLY_NAMED(status);
    /* A run of fewer than 2^k chunks has at most two nodes of each level below k. */
    const uint64_t chunks = tally_ceil_div(total ? total : TALLY_FEED_ITEMS, TALLY_CHUNK_ITEMS);
    while (chunks >> shape.node_count) shape.node_count++;
    shape.node_count = 2 * shape.node_count < chunks ? 2 * shape.node_count : (uint32_t)chunks;
    const uint64_t raw = aligned ? 0 : total && total < TALLY_CHUNK_ITEMS ? total : TALLY_CHUNK_ITEMS - 1;
    shape.head_items = shape.tail_items = (uint32_t)raw;
    tally_part_fill(&terms, &shape, &head);
    *bytes = head.bytes;
    tally_terms_close(&terms);
    return TALLY_OK;
}

/* Checks a record, and its ops as far as they are built in. */
static tally_status check(const void *part, uint64_t bytes, tally_part_view *view) {
    tally_status status = tally_part_read("part", part, bytes, view);
    bool customs = false;
    for (uint32_t t = 0; !status && t < view->head.term_count; t++) {
        const tally_part_term *term = &view->terms[t];
        const bool custom = !term->op && term->custom;
        if (!custom && (term->custom || !tally_op_name((tally_op)term->op)))
            status = tally_fail(TALLY_E_ARGUMENT, "part is no sound record of a part: op %u of it is none", t);
        customs = customs || custom;
    }
    if (status || customs) return status;
    tally_terms terms;
    status = tally_part_resolve("part", view, &terms);
    if (!status) tally_terms_close(&terms);
    return status;
}

tally_status tally_part_check(const void *part, uint64_t bytes) {
    tally_part_view view;
    return TALLY_NAMED(check(part, bytes, &view));
}

tally_status tally_part_describe(const void *part, uint64_t bytes, tally_part_info *out) {
    tally_part_view view;
    tally_status status = tally_check_pointer(out, "out");
    if (!status) status = check(part, bytes, &view);
    if (status) return TALLY_NAMED(status);
    const tally_part_head *h = &view.head;
    *out = (tally_part_info){.bytes = h->bytes,
                             .first = h->first,
                             .n = h->n,
                             .total = h->total,
                             .check = h->check,
                             .order = h->order,
                             .inputs = h->inputs,
                             .term_count = h->term_count,
                             .head_items = h->head_items,
                             .tail_items = h->tail_items,
                             .nodes = h->node_count,
                             .acc_bytes = h->acc_bytes,
                             .param_bytes = h->param_bytes,
                             .result_bytes = h->result_bytes,
                             .in = (tally_dtype)h->in};
    for (uint32_t t = 0; t < h->term_count; t++) {
        out->terms[t] = (tally_term_desc){.op = (tally_op)view.terms[t].op,
                                          .out = (tally_dtype)view.terms[t].out,
                                          .acc = (tally_dtype)view.terms[t].acc,
                                          .accuracy = (tally_accuracy)view.terms[t].accuracy};
        out->customs[t] = view.terms[t].custom;
    }
    return TALLY_OK;
}
