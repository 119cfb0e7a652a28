/* SPDX-License-Identifier: MIT */
/*
 * Feeds: reductions of host items that come in pieces. Each group of the first stage owns a span of
 * 2^k chunks, an aligned subtree of the canonical order. So a piece of whole spans adds its
 * partials behind those of earlier pieces, and one finish over all partials gives the bits of a
 * single reduction. Level 0 holds such partials, FAN_IN at most. A full level is an aligned subtree
 * too: it becomes one accumulator of the level above.
 *
 * A device with memory of its own uses two slots in turns, each with staging, device memory and a
 * queue. One slot is filled and copied while the kernel of the other runs. A device that reads host
 * memory in place reduces whole spans where they lie.
 */
#include <stdlib.h>
#include <string.h>

#include "reduce/reduce.h"

#define FAN_IN 4096
#define LEVELS 4
#define SLOTS 2
/* 1 MiB of f32. Items beyond whole spans are copied, so a span is small; a launch takes many
 * spans. */
#define CPU_SPAN_CHUNKS 64

typedef struct feed_slot {
    tally_buffer *staging[TALLY_MAX_INPUTS], *items[TALLY_MAX_INPUTS];
    tally_queue *queue;
} feed_slot;

struct tally_feed {
    tally_tag tag;
    tally_reduce_plan *plan;
    bool owns_plan;
    uint64_t span_items;
    uint64_t staging_items; /* a power of two of spans, FAN_IN at most */
    uint64_t filled;        /* items in the current slot's staging */
    feed_slot slots[SLOTS];
    int current;
    tally_buffer *result;
    tally_buffer *partial;        /* for tally_feed_fold; NULL where the plan is the feed's own */
    tally_buffer *levels[LEVELS]; /* level i: accumulators, FAN_IN at most */
    uint64_t counts[LEVELS];
    uint64_t added; /* items that the levels hold */
};

static uint32_t input_count(const tally_feed *feed) {
    return feed->plan->base.terms.inputs;
}

static size_t item_bytes(const tally_feed *feed) {
    return tally_dtype_bytes(feed->plan->base.terms.in);
}

static tally_status open_slot(tally_feed *feed, feed_slot *slot) {
    tally_context *context = feed->plan->base.context;
    const uint64_t bytes = feed->staging_items * item_bytes(feed);
    tally_status status = TALLY_OK;
    for (uint32_t k = 0; k < input_count(feed) && !status; k++) {
        status = tally_buffer_open(context, TALLY_MEM_STAGING, NULL, bytes, &slot->staging[k]);
        if (status) break;
        if (context->info.host_memory)
            status = tally_buffer_open(context, TALLY_MEM_HOST, slot->staging[k]->host, bytes, &slot->items[k]);
        else
            status = tally_buffer_open(context, TALLY_MEM_DEVICE, NULL, bytes, &slot->items[k]);
    }
    return status ? status : tally_queue_open(context, 0, NULL, &slot->queue);
}

static void close_slot(feed_slot *slot) {
    tally_queue_destroy(slot->queue);
    for (int k = 0; k < TALLY_MAX_INPUTS; k++) {
        tally_buffer_destroy(slot->items[k]);
        tally_buffer_destroy(slot->staging[k]);
    }
    *slot = (feed_slot){0};
}

/* Opens the feed's memory, with staging for `wanted` items, and a queue. */
static tally_status open_memory(tally_feed *feed, uint64_t wanted) {
    tally_reduce_plan *plan = feed->plan;
    tally_context *context = plan->base.context;
    if (!plan->launch.variant->info.canonical)
        return tally_fail(TALLY_E_UNSUPPORTED, "variant %s does not combine in the canonical order",
                          plan->launch.variant->info.name);
    if (!plan->run) plan->run = CPU_SPAN_CHUNKS;
    feed->span_items = plan->run * TALLY_CHUNK_ITEMS;
    /* A device that reads host memory in place stages only the items that fill no span. */
    uint64_t spans = 1;
    while (!context->info.host_memory && spans * feed->span_items < wanted && spans < FAN_IN) spans *= 2;
    feed->staging_items = spans * feed->span_items;

    tally_status status = TALLY_OK;
    for (int i = 0; i < LEVELS && !status; i++)
        status = tally_buffer_open(context, TALLY_MEM_DEVICE, NULL, FAN_IN * plan->base.terms.acc.bytes, &feed->levels[i]);
    if (!status) status = tally_buffer_open(context, TALLY_MEM_DEVICE, NULL, plan->base.terms.result.bytes, &feed->result);
    if (!status && !feed->owns_plan)
        status = tally_buffer_open(context, TALLY_MEM_DEVICE, NULL, plan->base.terms.acc.bytes, &feed->partial);
    return status ? status : open_slot(feed, &feed->slots[0]);
}

static tally_status give(tally_feed *feed, tally_status status, tally_feed **out) {
    if (status)
        tally_feed_destroy(feed);
    else
        *out = feed;
    return status;
}

tally_status tally_feed_open(tally_reduce_plan *plan, uint64_t max_n, tally_feed **out) {
    tally_feed *feed = calloc(1, sizeof(*feed));
    if (!feed) return tally_fail(TALLY_E_MEMORY, "out of memory");
    feed->tag = TALLY_TAG_FEED;
    feed->plan = plan;
    const uint64_t most = TALLY_FEED_STAGING_BYTES / item_bytes(feed);
    return give(feed, open_memory(feed, max_n < most ? max_n : most), out);
}

tally_status tally_feed_create(tally_context *context, const tally_reduce_desc *given, tally_feed **out) {
    if (out) *out = NULL;
    tally_status status = tally_check_context(context);
    if (!status) status = tally_check_pointer(given, "desc");
    if (!status) status = tally_check_pointer(out, "out");
    if (status) return TALLY_NAMED(status);
    tally_feed *feed = calloc(1, sizeof(*feed));
    if (!feed) return TALLY_NAMED(tally_fail(TALLY_E_MEMORY, "out of memory"));
    feed->tag = TALLY_TAG_FEED;
    feed->owns_plan = true;
    tally_plan *base = NULL;
    status = tally_reduce_plan_create(context, given, &base);
    feed->plan = (tally_reduce_plan *)base;
    const bool sized = given->size > offsetof(tally_reduce_desc, max_n) && given->max_n;
    if (!status) status = open_memory(feed, sized ? given->max_n : TALLY_FEED_STAGING_BYTES / item_bytes(feed));
    return TALLY_NAMED(give(feed, status, out));
}

static tally_status wait_all(tally_feed *feed) {
    tally_status status = TALLY_OK;
    for (int i = 0; i < SLOTS; i++) {
        const tally_status waited = feed->slots[i].queue ? tally_queue_wait(feed->slots[i].queue) : TALLY_OK;
        if (!status) status = waited;
    }
    return status;
}

/* Empties the feed after a result or a failure. Waits first, because the caller's items may be
 * in use. */
static void reset(tally_feed *feed) {
    wait_all(feed);
    feed->filled = 0;
    feed->added = 0;
    memset(feed->counts, 0, sizeof(feed->counts));
}

void tally_feed_destroy(tally_feed *feed) {
    if (!feed || feed->tag != TALLY_TAG_FEED) return;
    wait_all(feed);
    for (int i = 0; i < SLOTS; i++) close_slot(&feed->slots[i]);
    tally_buffer_destroy(feed->result);
    tally_buffer_destroy(feed->partial);
    for (int i = 0; i < LEVELS; i++) tally_buffer_destroy(feed->levels[i]);
    if (feed->plan && feed->owns_plan) tally_plan_destroy(&feed->plan->base);
    feed->tag = 0;
    free(feed);
}

/* Finishes level i into one accumulator of level i + 1. It waits before, until every partial is
 * written, and after, until level i may be overwritten. */
static tally_status raise_level(tally_feed *feed, int i) {
    tally_status status = wait_all(feed);
    if (!status)
        status =
            tally_reduce_finish(feed->plan, feed->slots[0].queue->handle, feed->levels[i]->mem, feed->counts[i], feed->added,
                                (tally_target){.mem = feed->levels[i + 1]->mem, .offset = feed->counts[i + 1]});
    if (!status) status = wait_all(feed);
    feed->counts[i + 1]++;
    feed->counts[i] = 0;
    return status;
}

/* Reduces the first n items of `items` to partials of level 0. Only the last items of the input may
 * end within a span. */
static tally_status add(tally_feed *feed, tally_queue *queue, tally_buffer *const *items, uint64_t n) {
    const uint64_t spans = n / feed->span_items + (n % feed->span_items != 0);
    tally_source source = {.base = feed->added};
    for (uint32_t k = 0; k < input_count(feed); k++) source.mem[k] = items[k]->mem;
    tally_status status =
        tally_reduce_partials(feed->plan, queue->handle, &source, n, (tally_geometry){.groups = spans, .run = feed->plan->run},
                              (tally_target){.mem = feed->levels[0]->mem, .offset = feed->counts[0]}, NULL);
    feed->counts[0] += spans;
    feed->added += n;
    for (int i = 0; i < LEVELS && feed->counts[i] == FAN_IN && !status; i++) {
        if (i + 1 == LEVELS) return tally_fail(TALLY_E_UNSUPPORTED, "more items than a feed can count");
        status = raise_level(feed, i);
    }
    return status;
}

/* A piece: one array for each input, of which the first `done` items are taken. */
typedef struct piece {
    const void *const *items;
    uint64_t done;
} piece;

static const void *piece_at(const tally_feed *feed, const piece *from, uint32_t k) {
    return (const char *)from->items[k] + from->done * item_bytes(feed);
}

static tally_status wrap(const tally_feed *feed, const piece *from, uint64_t n, tally_buffer **out) {
    tally_status status = TALLY_OK;
    for (uint32_t k = 0; k < input_count(feed) && !status; k++)
        status = tally_buffer_open(feed->plan->base.context, TALLY_MEM_HOST, (void *)(uintptr_t)piece_at(feed, from, k),
                                   n * item_bytes(feed), &out[k]);
    return status;
}

/* Copies the piece's next n items into the slot's staging, after the first `filled`. */
static void stage(const tally_feed *feed, feed_slot *slot, uint64_t filled, const piece *from, uint64_t n) {
    const size_t bytes = item_bytes(feed);
    for (uint32_t k = 0; k < input_count(feed); k++)
        memcpy((char *)slot->staging[k]->host + filled * bytes, piece_at(feed, from, k), n * bytes);
}

/* Enqueues the copy of n items from the slot's staging to the device, unless it reads them in
 * place. */
static tally_status send(const tally_feed *feed, feed_slot *slot, uint64_t n) {
    tally_status status = TALLY_OK;
    if (!feed->plan->base.context->info.host_memory)
        for (uint32_t k = 0; k < input_count(feed) && !status; k++)
            status = tally_buffer_write(slot->queue, slot->items[k], 0, slot->staging[k]->host, n * item_bytes(feed));
    return status;
}

/* Reduces items in place: as many whole spans as fit the level and a buffer, or at the end all
 * items. */
static tally_status add_in_place(tally_feed *feed, const piece *from, uint64_t n, uint64_t *taken) {
    uint64_t spans = FAN_IN - feed->counts[0];
    const uint64_t largest = feed->plan->base.context->info.max_buffer_bytes / (feed->span_items * item_bytes(feed));
    if (spans > largest) spans = largest ? largest : 1;
    *taken = n < spans * feed->span_items ? n : spans * feed->span_items;
    tally_buffer *buffers[TALLY_MAX_INPUTS] = {NULL};
    tally_queue *queue = feed->slots[0].queue;
    tally_status status = wrap(feed, from, *taken, buffers);
    if (!status) status = add(feed, queue, buffers, *taken);
    if (!status) status = tally_queue_wait(queue);
    for (uint32_t k = 0; k < input_count(feed); k++) tally_buffer_destroy(buffers[k]);
    return status;
}

/* Reduces the current slot's staging and turns to the other slot. */
static tally_status flush(tally_feed *feed) {
    feed_slot *slot = &feed->slots[feed->current];
    tally_status status = send(feed, slot, feed->filled);
    if (!status) status = add(feed, slot->queue, slot->items, feed->filled);
    feed->filled = 0;
    feed->current = (feed->current + 1) % SLOTS;
    slot = &feed->slots[feed->current];
    if (!status && slot->queue) status = tally_queue_wait(slot->queue);
    return status;
}

/* Copies as many items as fit into the current slot's staging and flushes a full one. */
static tally_status add_by_copy(tally_feed *feed, const piece *from, uint64_t n, uint64_t *taken) {
    feed_slot *slot = &feed->slots[feed->current];
    if (!slot->queue) {
        const tally_status status = open_slot(feed, slot);
        if (status) return close_slot(slot), status;
    }
    const uint64_t room = feed->staging_items - feed->filled;
    *taken = n < room ? n : room;
    stage(feed, slot, feed->filled, from, *taken);
    feed->filled += *taken;
    return feed->filled == feed->staging_items ? flush(feed) : TALLY_OK;
}

/* Tells whether the device reads host memory in place and all inputs lie at aligned addresses. */
static bool fit_in_place(const tally_feed *feed, const void *const *items) {
    const tally_dtype_row *row = tally_dtype_find(feed->plan->base.terms.in);
    const uintptr_t align = row->kind == TALLY_KIND_COMPLEX ? row->bytes / 2 : row->bytes;
    bool fit = feed->plan->base.context->info.host_memory;
    for (uint32_t k = 0; k < input_count(feed); k++) fit = fit && (uintptr_t)items[k] % align == 0;
    return fit;
}

static tally_status push(tally_feed *feed, const void *const *items, uint64_t n, bool last) {
    const bool in_place = n && fit_in_place(feed, items);
    piece from = {.items = items};
    while (from.done < n) {
        const uint64_t left = n - from.done, whole = last ? left : left - left % feed->span_items;
        uint64_t taken = 0;
        const tally_status status = in_place && !feed->filled && whole ? add_in_place(feed, &from, whole, &taken)
                                                                       : add_by_copy(feed, &from, left, &taken);
        if (status) return reset(feed), status;
        from.done += taken;
    }
    return TALLY_OK;
}

static tally_status check(const tally_feed *feed, const void *const *items, uint64_t n) {
    if (!feed) return tally_fail(TALLY_E_ARGUMENT, "feed is NULL");
    if (feed->tag != TALLY_TAG_FEED) return tally_fail(TALLY_E_ARGUMENT, "feed is no feed");
    if (n > TALLY_FEED_ITEMS) return tally_fail(TALLY_E_ARGUMENT, "n is beyond any memory");
    tally_status status = n ? tally_check_pointer(items, "items") : TALLY_OK;
    for (uint32_t k = 0; n && k < input_count(feed) && !status; k++) status = tally_check_pointer(items[k], "items");
    return status;
}

/* Checks that the feed has one input. `form` is the call that takes several. */
static tally_status check_single(const tally_feed *feed, const char *form) {
    if (!feed || feed->tag != TALLY_TAG_FEED || input_count(feed) == 1) return TALLY_OK;
    return tally_fail(TALLY_E_ARGUMENT, "%s has %u inputs: %s takes them", feed->plan->base.terms.list[0].name,
                      input_count(feed), form);
}

tally_status tally_feed_push_inputs(tally_feed *feed, const void *const *items, uint64_t n) {
    const tally_status status = check(feed, items, n);
    return TALLY_NAMED(status ? status : push(feed, items, n, false));
}

tally_status tally_feed_push(tally_feed *feed, const void *items, uint64_t n) {
    const tally_status status = check_single(feed, "tally_feed_push_inputs");
    return TALLY_NAMED(status ? status : tally_feed_push_inputs(feed, &items, n));
}

/* Folds each level into one more accumulator of the next, from below, and finishes the highest. */
static tally_status fold(tally_feed *feed, tally_target to) {
    int top = LEVELS - 1;
    while (top > 0 && !feed->counts[top]) top--;
    tally_status status = TALLY_OK;
    for (int i = 0; i < top && !status; i++)
        if (feed->counts[i]) status = raise_level(feed, i);
    if (!status) status = wait_all(feed);
    if (status) return status;
    return tally_reduce_finish(feed->plan, feed->slots[0].queue->handle, feed->levels[top]->mem, feed->counts[top], feed->added,
                               to);
}

/* Adds the last items, folds all, and copies what they come to out of the buffer `from`. */
static tally_status finish(tally_feed *feed, const void *const *items, uint64_t n, const tally_buffer *from, void *to) {
    tally_queue *queue = feed->slots[0].queue;
    tally_status status = push(feed, items, n, true);
    if (!status && feed->filled) status = flush(feed);
    if (!status) status = fold(feed, (tally_target){.mem = from->mem, .result = from == feed->result});
    if (!status) status = tally_buffer_read(queue, from, 0, to, from->bytes);
    if (!status) status = tally_queue_wait(queue);
    reset(feed);
    return status;
}

tally_status tally_feed_fold(tally_feed *feed, const void *const *items, uint64_t n, uint64_t base, void *acc) {
    feed->added = base;
    return finish(feed, items, n, feed->partial, acc);
}

/* Tells whether the feed is empty and can take all items at once, as a plan does. */
static bool is_whole(const tally_feed *feed, const void *const *items, uint64_t n) {
    if (!n || feed->added || feed->filled || n > feed->plan->base.max_n) return false;
    if (!fit_in_place(feed, items)) return n <= feed->staging_items;
    return n <= feed->plan->base.context->info.max_buffer_bytes / item_bytes(feed);
}

/* Reduces all items by one tally_reduce. The feed stays empty. */
static tally_status finish_whole(tally_feed *feed, const void *const *items, uint64_t n, void *result) {
    tally_buffer *wrapped[TALLY_MAX_INPUTS] = {NULL}, *const *in = wrapped;
    feed_slot *slot = &feed->slots[0];
    const piece all = {.items = items};
    tally_status status;
    if (fit_in_place(feed, items)) {
        status = wrap(feed, &all, n, wrapped);
    } else {
        stage(feed, slot, 0, &all, n);
        status = send(feed, slot, n);
        in = slot->items;
    }
    tally_reduce_args args = {.size = sizeof(args), .n = n, .out = feed->result};
    for (uint32_t k = 0; k < input_count(feed); k++) args.in[k] = in[k];
    if (!status) status = tally_reduce_with(&feed->plan->base, slot->queue, &args);
    if (!status) status = tally_buffer_read(slot->queue, feed->result, 0, result, feed->result->bytes);
    const tally_status waited = tally_queue_wait(slot->queue);
    for (uint32_t k = 0; k < TALLY_MAX_INPUTS; k++) tally_buffer_destroy(wrapped[k]);
    return status ? status : waited;
}

tally_status tally_feed_finish_inputs(tally_feed *feed, const void *const *items, uint64_t n, void *result) {
    tally_status status = check(feed, items, n);
    if (!status) status = tally_check_pointer(result, "result");
    if (status) return TALLY_NAMED(status);
    if (is_whole(feed, items, n)) return TALLY_NAMED(finish_whole(feed, items, n, result));
    return TALLY_NAMED(finish(feed, items, n, feed->result, result));
}

tally_status tally_feed_finish(tally_feed *feed, const void *items, uint64_t n, void *result) {
    const tally_status status = check_single(feed, "tally_feed_finish_inputs");
    return TALLY_NAMED(status ? status : tally_feed_finish_inputs(feed, &items, n, result));
}

tally_plan *tally_feed_plan(tally_feed *feed) {
    return feed && feed->tag == TALLY_TAG_FEED ? &feed->plan->base : NULL;
}

static void count(const tally_buffer *buffer, uint32_t *references, uint64_t *bytes) {
    if (!buffer) return;
    *references += 1;
    *bytes += buffer->bytes;
}

void tally_feed_measure(const tally_feed *feed, uint32_t *references, uint64_t *bytes) {
    *references = 1; /* the plan */
    *bytes = 0;
    for (int i = 0; i < SLOTS; i++) {
        const feed_slot *slot = &feed->slots[i];
        *references += slot->queue != NULL;
        for (int k = 0; k < TALLY_MAX_INPUTS; k++) {
            uint64_t same = 0;
            count(slot->staging[k], references, bytes);
            count(slot->items[k], references, feed->plan->base.context->info.host_memory ? &same : bytes);
        }
    }
    for (int i = 0; i < LEVELS; i++) count(feed->levels[i], references, bytes);
    count(feed->result, references, bytes);
    count(feed->partial, references, bytes);
    count(feed->plan->workspace, references, bytes);
    count(feed->plan->slices, references, bytes);
}
