/* SPDX-License-Identifier: MIT */
/* Records joined, and their values. A builder takes records, or host items, from left to right. The
 * nodes that it holds are those of the canonical tree, so that the outcome depends on the items
 * alone, not on how they came. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "parts/parts.h"

/* ---- the builder ----------------------------------------------------------------------------- */

tally_status tally_part_builder_open(const tally_part_folder *folder, uint64_t first, uint64_t total,
                                     tally_part_builder *builder) {
    *builder = (tally_part_builder){.folder = folder, .first = first, .end = first, .total = total};
    builder->accs = calloc(TALLY_PART_MOST_NODES + 1, folder->terms->acc.bytes);
    return builder->accs ? TALLY_OK : tally_fail(TALLY_E_MEMORY, "out of memory");
}

void tally_part_builder_close(tally_part_builder *builder) {
    free(builder->accs);
    free(builder->heads);
    free(builder->tails);
    builder->accs = builder->heads = builder->tails = NULL;
}

static unsigned char *acc_at(const tally_part_builder *b, uint32_t i) {
    return b->accs + (size_t)i * b->folder->terms->acc.bytes;
}

/* Combines the last two nodes, of which the last is taken for one of level `level`. */
static tally_status merge(tally_part_builder *b, uint32_t level) {
    const uint32_t left = b->node_count - 2;
    b->nodes[left] = (tally_part_node){.index = b->nodes[left].index / 2, .level = level + 1};
    b->node_count--;
    return tally_part_combine(b->folder, acc_at(b, left), acc_at(b, left + 1));
}

/* Combines the last node, whose accumulator is in place, with its left siblings. */
static tally_status merge_siblings(tally_part_builder *b) {
    tally_status status = TALLY_OK;
    while (!status && b->node_count > 1) {
        const tally_part_node *left = &b->nodes[b->node_count - 2], *right = left + 1;
        if (left->level != right->level || !(right->index & 1) || left->index + 1 != right->index) break;
        status = merge(b, right->level);
    }
    return status;
}

tally_status tally_part_add_node(tally_part_builder *b, const tally_part_node *node, uint64_t n, const void *acc) {
    if (b->node_count > TALLY_PART_MOST_NODES) return tally_fail(TALLY_E_INTERNAL, "a part of too many nodes");
    b->nodes[b->node_count] = *node;
    memcpy(acc_at(b, b->node_count), acc, b->folder->terms->acc.bytes);
    tally_part_clean(b->folder, acc_at(b, b->node_count));
    b->node_count++;
    b->end += n;
    return merge_siblings(b);
}

/* Folds the chunk that the tail is, whole or the last one of all. */
static tally_status fold_tail(tally_part_builder *b) {
    const uint64_t begin = b->end - b->tail_items, stride = TALLY_CHUNK_ITEMS * tally_dtype_bytes(b->folder->terms->in);
    const tally_part_node node = {.index = begin / TALLY_CHUNK_ITEMS, .level = 0};
    const void *items[TALLY_MAX_INPUTS];
    _Alignas(64) unsigned char acc[TALLY_PART_ACC_BYTES];
    for (uint32_t k = 0; k < b->folder->terms->inputs; k++) items[k] = b->tails + k * stride;
    tally_status status = tally_part_fold(b->folder, items, begin, b->tail_items, acc);
    b->tail_items = 0;
    return status ? status : tally_part_add_node(b, &node, 0, acc);
}

tally_status tally_part_add_items(tally_part_builder *b, const void *const *items, uint64_t n) {
    const uint64_t bytes = tally_dtype_bytes(b->folder->terms->in);
    if (!n) return TALLY_OK;
    const bool in_head = b->first % TALLY_CHUNK_ITEMS && b->first / TALLY_CHUNK_ITEMS == b->end / TALLY_CHUNK_ITEMS;
    uint32_t *count = in_head ? &b->head_items : &b->tail_items;
    unsigned char **chunk = in_head ? &b->heads : &b->tails;
    if (!*chunk) *chunk = malloc((uint64_t)b->folder->terms->inputs * TALLY_CHUNK_ITEMS * bytes);
    if (!*chunk) return tally_fail(TALLY_E_MEMORY, "out of memory");
    for (uint32_t k = 0; k < b->folder->terms->inputs; k++)
        memcpy(*chunk + (k * TALLY_CHUNK_ITEMS + *count) * bytes, items[k], n * bytes);
    *count += (uint32_t)n;
    b->end += n;
    return !in_head && b->end % TALLY_CHUNK_ITEMS == 0 ? fold_tail(b) : TALLY_OK;
}

/* Ends a builder whose end is that of all items. Its last chunk may be short, and absent chunks
 * belong to the last subtree. */
static tally_status close_end(tally_part_builder *b) {
    tally_status status = b->tail_items ? fold_tail(b) : TALLY_OK;
    while (!status && b->node_count > 1) {
        const tally_part_node *left = &b->nodes[b->node_count - 2], *right = left + 1;
        if (left->level < right->level) break;
        const uint32_t up = left->level - right->level;
        const uint64_t index = right->index >> up;
        if (index << up != right->index || !(index & 1) || left->index + 1 != index) break;
        status = merge(b, left->level);
    }
    return status;
}

static void write_items(const tally_part_builder *b, const unsigned char *from, uint32_t count, unsigned char *to) {
    const uint64_t bytes = tally_dtype_bytes(b->folder->terms->in);
    for (uint32_t k = 0; k < b->folder->terms->inputs && count; k++)
        memcpy(to + k * count * bytes, from + k * TALLY_CHUNK_ITEMS * bytes, count * bytes);
}

/* Tells whether the builder has what a part of its range has. */
static bool is_shaped(const tally_part_builder *b, const tally_part_shape *shape) {
    bool same = shape->node_count == b->node_count && shape->head_items == b->head_items && shape->tail_items == b->tail_items;
    for (uint32_t i = 0; same && i < b->node_count; i++)
        same = shape->nodes[i].index == b->nodes[i].index && shape->nodes[i].level == b->nodes[i].level;
    return same;
}

tally_status tally_part_build(tally_part_builder *b, void *out, uint64_t out_bytes, uint64_t *bytes) {
    const tally_terms *terms = b->folder->terms;
    tally_part_shape shape;
    tally_part_head head;
    tally_part_shape_of(b->first, b->end - b->first, b->total, &shape);
    tally_status status = shape.closed ? close_end(b) : TALLY_OK;
    if (status) return status;
    if (!is_shaped(b, &shape)) return tally_fail(TALLY_E_INTERNAL, "a part that is not the one of its range");
    tally_part_fill(terms, &shape, &head);
    if (bytes) *bytes = head.bytes;
    if (head.bytes > out_bytes)
        return tally_fail(TALLY_E_ARGUMENT, "out_bytes is %llu: the record has %llu", (unsigned long long)out_bytes,
                          (unsigned long long)head.bytes);
    const tally_part_places at = tally_part_places_of(&head);
    unsigned char *to = out;
    memset(to, 0, head.bytes);
    memcpy(to, &head, sizeof(head));
    tally_part_identify(terms, b->folder->params, to + sizeof(head));
    memcpy(to + at.nodes, b->accs, (size_t)b->node_count * terms->acc.bytes);
    write_items(b, b->heads, b->head_items, to + at.head);
    write_items(b, b->tails, b->tail_items, to + at.tail);
    head.check = tally_part_sum(to, head.bytes);
    memcpy(to + 8 * TALLY_PART_CHECK_WORD, &head.check, sizeof(head.check));
    return TALLY_OK;
}

/* ---- records --------------------------------------------------------------------------------- */

/* Records that are joined, with the terms that they are of. */
typedef struct joining {
    tally_part_view first; /* the first record */
    tally_terms own;       /* resolved; none where a plan has the terms */
    tally_part_folder folder;
    tally_part_builder builder;
    _Alignas(8) unsigned char params[TALLY_PART_PREFIX_BYTES];
} joining;

typedef struct record_name {
    char text[32];
} record_name;

static record_name name_of(uint32_t i, uint32_t count) {
    record_name name;
    snprintf(name.text, sizeof(name.text), count > 1 ? "parts[%u]" : "part", i);
    return name;
}

/* Writes what the ops of a record are, for error texts. */
static void write_ops(const tally_part_view *view, char *text, size_t bytes) {
    size_t used = 0;
    for (uint32_t t = 0; t < view->head.term_count && used < bytes; t++) {
        const char *name = tally_op_name((tally_op)view->terms[t].op);
        used += (size_t)snprintf(text + used, bytes - used, "%s%s", t ? ", " : "", name ? name : "a custom op");
    }
    if (used < bytes) snprintf(text + used, bytes - used, " of %s", tally_dtype_name((tally_dtype)view->head.in));
}

/* Fails for a record whose ops are not those of the first. */
static tally_status fail_other_ops(const tally_part_view *a, const tally_part_view *b, const char *name) {
    char ops[2][256];
    write_ops(a, ops[0], sizeof(ops[0]));
    write_ops(b, ops[1], sizeof(ops[1]));
    if (strcmp(ops[0], ops[1])) return tally_fail(TALLY_E_ARGUMENT, "%s is %s: parts[0] is %s", name, ops[1], ops[0]);
    return tally_fail(TALLY_E_ARGUMENT, "%s and parts[0] are %s of other types, accuracy or texts", name, ops[0]);
}

/* Checks that a record is of the same ops as the first. */
static tally_status check_same(const tally_part_view *a, const tally_part_view *b, const char *name) {
    const tally_part_head *h = &a->head, *g = &b->head;
    const bool same = h->in == g->in && h->inputs == g->inputs && h->term_count == g->term_count &&
                      !memcmp(a->terms, b->terms, h->term_count * sizeof(a->terms[0])) && h->acc_bytes == g->acc_bytes &&
                      h->param_bytes == g->param_bytes && h->result_bytes == g->result_bytes;
    if (!same) return fail_other_ops(a, b, name);
    if (!memcmp(a->at + a->places.params, b->at + b->places.params, h->param_bytes)) return TALLY_OK;
    return tally_fail(TALLY_E_ARGUMENT, "%s and parts[0] have other parameters", name);
}

/* Finds the terms of the records: the plan's, which they must be of, or their own. */
static tally_status open_terms(joining *j, tally_reduce_plan *plan, const char *name) {
    const tally_part_view *view = &j->first;
    const tally_terms *terms = plan ? &plan->base.terms : &j->own;
    unsigned char own[TALLY_PART_PREFIX_BYTES];
    tally_part_head head;
    memcpy(j->params, view->at + view->places.params, view->head.param_bytes);
    if (!plan) {
        const tally_status status = tally_part_resolve(name, view, &j->own);
        return status ? status : tally_part_folder_open(terms, j->params, NULL, &j->folder);
    }
    tally_part_fill(terms, &view->shape, &head);
    head.check = view->head.check;
    bool same = !memcmp(&head, &view->head, sizeof(head));
    if (same) tally_part_identify(terms, plan->base.params, own);
    same = same && !memcmp(own, view->terms, view->head.term_count * sizeof(view->terms[0]));
    if (!same) return tally_fail(TALLY_E_ARGUMENT, "%s is not of the plan's ops", name);
    if (memcmp(plan->base.params, j->params, view->head.param_bytes))
        return tally_fail(TALLY_E_ARGUMENT, "%s has other parameters than the plan", name);
    return tally_part_folder_open(terms, j->params, plan, &j->folder);
}

/* Takes over the total of a record. */
static tally_status take_total(tally_part_builder *b, const tally_part_view *view, const char *name) {
    const uint64_t total = view->head.total;
    if (total && b->total && total != b->total)
        return tally_fail(TALLY_E_ARGUMENT, "%s is of %llu items in all: those before it of %llu", name,
                          (unsigned long long)total, (unsigned long long)b->total);
    if (total) b->total = total;
    return tally_part_check_range(name, b->first, b->end - b->first, b->total);
}

static tally_status add_section(tally_part_builder *b, const unsigned char *at, uint32_t count) {
    const uint64_t bytes = count * tally_dtype_bytes(b->folder->terms->in);
    const void *items[TALLY_MAX_INPUTS];
    for (uint32_t k = 0; k < b->folder->terms->inputs; k++) items[k] = at + k * bytes;
    return tally_part_add_items(b, items, count);
}

static tally_status add_record(tally_part_builder *b, const tally_part_view *view, const char *name) {
    const tally_part_shape *shape = &view->shape;
    if (shape->first != b->end)
        return tally_fail(TALLY_E_ARGUMENT, "%s begins at item %llu: the part before it ends at %llu", name,
                          (unsigned long long)shape->first, (unsigned long long)b->end);
    tally_status status = add_section(b, view->at + view->places.head, shape->head_items);
    for (uint32_t i = 0; i < shape->node_count && !status; i++) {
        uint64_t n;
        tally_part_node_items(&shape->nodes[i], shape->first + shape->n, &n);
        status = tally_part_add_node(b, &shape->nodes[i], n, view->at + view->places.nodes + i * view->head.acc_bytes);
    }
    if (!status) status = add_section(b, view->at + view->places.tail, shape->tail_items);
    return status ? status : take_total(b, view, name);
}

static void close_joining(joining *j) {
    tally_part_builder_close(&j->builder);
    tally_terms_close(&j->own);
}

/* Reads the first record, and finds the terms. The caller closes the outcome, of a failure too. */
static tally_status open_joining(joining *j, tally_plan *plan, const void *const *parts, const uint64_t *bytes,
                                 uint32_t count) {
    *j = (joining){.own = {0}};
    tally_status status = plan ? tally_part_check_plan(plan) : TALLY_OK;
    if (!status && !count) status = tally_fail(TALLY_E_ARGUMENT, "count is 0: there is nothing to join");
    if (!status) status = tally_check_pointer(parts, "parts");
    if (!status) status = tally_check_pointer(bytes, "bytes");
    if (status) return status;
    const record_name name = name_of(0, count);
    status = tally_part_read(name.text, parts[0], bytes[0], &j->first);
    return status ? status : open_terms(j, (tally_reduce_plan *)plan, name.text);
}

/* Joins the first record and those behind it in the builder. */
static tally_status join_all(joining *j, const void *const *parts, const uint64_t *bytes, uint32_t count) {
    tally_status status = tally_part_builder_open(&j->folder, j->first.head.first, 0, &j->builder);
    if (!status) status = add_record(&j->builder, &j->first, name_of(0, count).text);
    for (uint32_t i = 1; i < count && !status; i++) {
        const record_name name = name_of(i, count);
        tally_part_view view;
        status = tally_part_read(name.text, parts[i], bytes[i], &view);
        if (!status) status = check_same(&j->first, &view, name.text);
        if (!status) status = add_record(&j->builder, &view, name.text);
    }
    return status;
}

tally_status tally_part_join(tally_plan *plan, const void *const *parts, const uint64_t *bytes, uint32_t count, void *out,
                             uint64_t out_bytes, uint64_t *joined_bytes) {
    joining j;
    tally_status status = tally_check_pointer(out, "out");
    if (status) return TALLY_NAMED(status);
    status = open_joining(&j, plan, parts, bytes, count);
    if (!status) status = join_all(&j, parts, bytes, count);
    if (!status) status = tally_part_build(&j.builder, out, out_bytes, joined_bytes);
    close_joining(&j);
    return TALLY_NAMED(status);
}

/* Folds the nodes and the items of one record to its root, and finishes that. */
static tally_status fold_record(joining *j, const void *part, uint64_t bytes, void *result) {
    tally_status status = join_all(j, &part, &bytes, 1);
    if (!status) status = close_end(&j->builder);
    return status ? status : tally_part_finish(&j->folder, j->builder.accs, j->builder.end, result);
}

/* Finishes the root, which is all that a closed record of all items has, without memory of the
 * heap. A record of no items has no node. */
static tally_status finish_root(const joining *j, void *result) {
    const tally_part_view *view = &j->first;
    _Alignas(64) unsigned char root[TALLY_PART_ACC_BYTES];
    if (view->shape.n) {
        memcpy(root, view->at + view->places.nodes, view->head.acc_bytes);
        tally_part_clean(&j->folder, root);
    }
    return tally_part_finish(&j->folder, root, view->shape.n, result);
}

static tally_status value(joining *j, const void *part, uint64_t bytes, void *result) {
    const tally_part_shape *shape = &j->first.shape;
    const uint64_t end = shape->first + shape->n, total = j->first.head.total;
    if (shape->first && !total)
        return tally_fail(TALLY_E_ARGUMENT, "the part is %llu items from item %llu on, not the whole",
                          (unsigned long long)shape->n, (unsigned long long)shape->first);
    if (shape->first || (total && end != total))
        return tally_fail(TALLY_E_ARGUMENT, "the part is %llu items from item %llu on of %llu, not the whole",
                          (unsigned long long)shape->n, (unsigned long long)shape->first, (unsigned long long)total);
    return shape->closed || !shape->n ? finish_root(j, result) : fold_record(j, part, bytes, result);
}

tally_status tally_part_value(tally_plan *plan, const void *part, uint64_t bytes, void *result) {
    joining j;
    tally_status status = tally_check_pointer(result, "result");
    if (status) return TALLY_NAMED(status);
    status = open_joining(&j, plan, &part, &bytes, 1);
    if (!status) status = value(&j, part, bytes, result);
    close_joining(&j);
    return TALLY_NAMED(status);
}
