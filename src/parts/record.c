/* SPDX-License-Identifier: MIT */
/* Records of parts: how they are written, read and checked. A reader takes any bytes, at any
 * address. */
#include <stdio.h>
#include <string.h>

#include "parts/parts.h"

_Static_assert(sizeof(tally_part_head) == 96 && sizeof(tally_part_term) == 24, "the format has no padding");
#if defined(__BYTE_ORDER__) && __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "records, and the devices' memory, are little-endian"
#endif

static const unsigned char magic[8] = {'T', 'A', 'L', 'L', 'Y', 'P', 'R', 'T'};

static uint64_t up_to_8(uint64_t bytes) {
    return (bytes + 7) / 8 * 8;
}

/* ---- the checksum ---------------------------------------------------------------------------- */

/* The words are summed up, so that the threads of a device may take them in any order. The mixing
 * is that of SplitMix64 (Steele, Lea, Flood, OOPSLA 2014). */
uint64_t tally_part_mix(uint64_t word, uint64_t i) {
    uint64_t z = word + (i + 1) * UINT64_C(0x9e3779b97f4a7c15);
    z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
    return z ^ z >> 31;
}

uint64_t tally_part_sum(const unsigned char *record, uint64_t bytes) {
    uint64_t sum = 0, word;
    for (uint64_t i = 0; i < bytes / 8; i++) {
        memcpy(&word, record + 8 * i, 8);
        if (i != TALLY_PART_CHECK_WORD) sum += tally_part_mix(word, i);
    }
    return sum;
}

/* ---- writing --------------------------------------------------------------------------------- */

tally_part_places tally_part_places_of(const tally_part_head *head) {
    const uint64_t item_bytes = (uint64_t)head->inputs * tally_dtype_bytes((tally_dtype)head->in);
    tally_part_places at = {.params = sizeof(*head) + head->term_count * sizeof(tally_part_term)};
    at.nodes = at.params + up_to_8(head->param_bytes);
    at.head = at.nodes + up_to_8((uint64_t)head->node_count * head->acc_bytes);
    at.tail = at.head + up_to_8(head->head_items * item_bytes);
    at.bytes = at.tail + up_to_8(head->tail_items * item_bytes);
    return at;
}

void tally_part_fill(const tally_terms *terms, const tally_part_shape *shape, tally_part_head *head) {
    *head = (tally_part_head){.format = TALLY_PART_FORMAT,
                              .order = TALLY_ORDER_VERSION,
                              .first = shape->first,
                              .n = shape->n,
                              .total = shape->total,
                              .in = terms->in,
                              .inputs = terms->inputs,
                              .term_count = terms->count,
                              .acc_bytes = terms->acc.bytes,
                              .param_bytes = terms->param.bytes,
                              .result_bytes = terms->result.bytes,
                              .node_count = shape->node_count,
                              .head_items = shape->head_items,
                              .tail_items = shape->tail_items};
    memcpy(head->magic, magic, sizeof(magic));
    head->bytes = tally_part_places_of(head).bytes;
}

static uint64_t hash_number(uint64_t hash, uint64_t number) {
    return tally_part_mix(hash ^ number, number);
}

/* NULL and "" differ. */
static uint64_t hash_text(uint64_t hash, const char *text) {
    if (!text) return hash_number(hash, 1);
    for (; *text; text++) hash = hash_number(hash, (unsigned char)*text);
    return hash_number(hash, 0);
}

/* Returns a hash of all that decides an own operator's bits: every text but its name. Never 0. */
static uint64_t hash_custom(const tally_custom_op *op) {
    const tally_op_desc *d = &op->desc;
    uint64_t hash = hash_number(hash_number(TALLY_PART_FORMAT, d->inputs), d->acc);
    const char *const texts[] = {d->identity, d->load, d->combine};
    const uint32_t counts[] = {d->field_count, d->param_count, d->result_count, d->let_count};
    for (size_t i = 0; i < TALLY_ARRAY_LENGTH(texts); i++) hash = hash_text(hash, texts[i]);
    for (size_t i = 0; i < TALLY_ARRAY_LENGTH(counts); i++) hash = hash_number(hash, counts[i]);
    for (uint32_t i = 0; i < d->field_count; i++) {
        const char *const parts[] = {op->fields[i].name, op->fields[i].identity, op->fields[i].load, op->fields[i].combine};
        hash = hash_number(hash, op->fields[i].type);
        for (size_t k = 0; k < TALLY_ARRAY_LENGTH(parts); k++) hash = hash_text(hash, parts[k]);
    }
    for (uint32_t i = 0; i < d->param_count; i++) hash = hash_text(hash_number(hash, op->params[i].type), op->params[i].name);
    for (uint32_t i = 0; i < d->result_count; i++) {
        hash = hash_text(hash_number(hash, op->results[i].type), op->results[i].finish);
        hash = hash_text(hash, op->results[i].empty);
    }
    for (uint32_t i = 0; i < d->let_count; i++) {
        hash = hash_number(hash_number(hash, op->lets[i].part), op->lets[i].type);
        hash = hash_text(hash_text(hash, op->lets[i].name), op->lets[i].value);
    }
    return hash | 1;
}

/* Returns the type of term t's result as a descriptor gives it. */
static tally_dtype out_of(const tally_terms *terms, uint32_t t) {
    tally_result_info info;
    for (uint32_t i = 0; tally_terms_result(terms, i, &info); i++)
        if (info.term == t) return info.dtype;
    return TALLY_DTYPE_DEFAULT;
}

uint32_t tally_part_identify(const tally_terms *terms, const void *params, unsigned char *to) {
    const bool floats = tally_dtype_is_float(terms->in);
    const uint32_t term_bytes = terms->count * (uint32_t)sizeof(tally_part_term);
    for (uint32_t t = 0; t < terms->count; t++) {
        const tally_term *term = &terms->list[t];
        tally_part_term stored = {.op = term->op, .accuracy = term->accuracy};
        if (term->custom) stored.custom = hash_custom(term->custom);
        if (!term->custom || term->result_count == 1) stored.out = out_of(terms, t);
        if (!term->custom && floats) stored.acc = term->real;
        memcpy(to + t * sizeof(stored), &stored, sizeof(stored));
    }
    const uint32_t param_bytes = (uint32_t)up_to_8(terms->param.bytes);
    memset(to + term_bytes, 0, param_bytes);
    memcpy(to + term_bytes, params, terms->param.bytes);
    return term_bytes + param_bytes;
}

/* ---- reading --------------------------------------------------------------------------------- */

static tally_status no_record(const char *name, const char *why) {
    return tally_fail(TALLY_E_ARGUMENT, "%s is no sound record of a part: %s", name, why);
}

static tally_status check_sizes(const char *name, const tally_part_head *h) {
    if (!tally_dtype_find((tally_dtype)h->in)) return no_record(name, "its items have no type");
    if (!h->inputs || h->inputs > TALLY_MAX_INPUTS) return no_record(name, "its number of inputs");
    if (!h->term_count || h->term_count > TALLY_MAX_TERMS) return no_record(name, "its number of ops");
    if (!h->acc_bytes || h->acc_bytes > TALLY_PART_ACC_BYTES || h->acc_bytes % 4) return no_record(name, "its accumulators");
    if (h->param_bytes > TALLY_MAX_TERMS * TALLY_MAX_PARAMS * 8 || h->param_bytes % 4) return no_record(name, "its parameters");
    if (!h->result_bytes || h->result_bytes > TALLY_MAX_TERMS * TALLY_MAX_RESULTS * 8) return no_record(name, "its result");
    return h->zero ? no_record(name, "a reserved field is not 0") : TALLY_OK;
}

/* Checks what follows from the range of the part. */
static tally_status check_shape(const char *name, tally_part_view *view, uint64_t bytes) {
    const tally_part_head *h = &view->head;
    const tally_status status = tally_part_check_range(name, h->first, h->n, h->total);
    if (status) return status;
    tally_part_shape_of(h->first, h->n, h->total, &view->shape);
    if (h->node_count != view->shape.node_count || h->head_items != view->shape.head_items ||
        h->tail_items != view->shape.tail_items)
        return no_record(name, "its partials and items are not those of its range");
    view->places = tally_part_places_of(h);
    if (h->bytes != view->places.bytes) return no_record(name, "its length");
    if (h->bytes <= bytes) return TALLY_OK;
    return tally_fail(TALLY_E_ARGUMENT, "%s is truncated: it has %llu bytes of %llu", name, (unsigned long long)bytes,
                      (unsigned long long)h->bytes);
}

tally_status tally_part_read(const char *name, const void *record, uint64_t bytes, tally_part_view *view) {
    tally_part_head *h = &view->head;
    tally_status status = tally_check_pointer(record, name);
    if (status) return status;
    if (bytes < sizeof(*h)) return no_record(name, "it is shorter than a record's head");
    view->at = record;
    memcpy(h, record, sizeof(*h));
    if (memcmp(h->magic, magic, sizeof(magic))) return no_record(name, "it does not begin with TALLYPRT");
    if (h->format != TALLY_PART_FORMAT)
        return tally_fail(TALLY_E_UNSUPPORTED, "%s has format %u: this library knows format %d", name, h->format,
                          TALLY_PART_FORMAT);
    if (h->order != TALLY_ORDER_VERSION)
        return tally_fail(TALLY_E_UNSUPPORTED, "%s is of order v%u: this library combines in order v%d", name, h->order,
                          TALLY_ORDER_VERSION);
    status = check_sizes(name, h);
    if (!status) status = check_shape(name, view, bytes);
    if (status) return status;
    memcpy(view->terms, view->at + sizeof(*h), h->term_count * sizeof(view->terms[0]));
    if (tally_part_sum(view->at, h->bytes) != h->check) return no_record(name, "its checksum is not that of its bytes");
    return TALLY_OK;
}

tally_status tally_part_resolve(const char *name, const tally_part_view *view, tally_terms *terms) {
    const tally_part_head *h = &view->head;
    tally_term_desc list[TALLY_MAX_TERMS];
    for (uint32_t t = 0; t < h->term_count; t++) {
        const tally_part_term *term = &view->terms[t];
        if (!term->op && term->custom)
            return tally_fail(TALLY_E_ARGUMENT, "%s is of a custom op: a plan of it is needed", name);
        list[t] = (tally_term_desc){.op = (tally_op)term->op,
                                    .out = (tally_dtype)term->out,
                                    .acc = (tally_dtype)term->acc,
                                    .accuracy = (tally_accuracy)term->accuracy};
    }
    const tally_terms_desc desc = {.in = (tally_dtype)h->in, .list = list, .count = h->term_count};
    tally_status status = tally_terms_resolve(&desc, terms);
    if (status == TALLY_E_MEMORY) return status;
    if (status) return no_record(name, "its ops are none");
    unsigned char prefix[TALLY_PART_PREFIX_BYTES];
    tally_part_head own;
    tally_part_fill(terms, &view->shape, &own);
    own.check = h->check;
    /* The sizes first: the parameters are read by them. */
    bool same = !memcmp(&own, h, sizeof(own));
    if (same) tally_part_identify(terms, view->at + view->places.params, prefix);
    same = same && !memcmp(prefix, view->terms, h->term_count * sizeof(view->terms[0]));
    if (same) return TALLY_OK;
    tally_terms_close(terms);
    return no_record(name, "its sizes are not those of its ops");
}
