/* SPDX-License-Identifier: MIT */
/* One reduction over several devices: a part on each, and their records joined on the host. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <tally/devices.h>

#include "parts/parts.h"

/* The largest result: sixteen of an operator's results, of sixteen terms. */
#define RESULT_BYTES (TALLY_MAX_TERMS * 16 * 16)

typedef struct member {
    tally_plan *plan;
    tally_buffer *record;  /* on the device */
    tally_buffer *staging; /* the record on the host */
    tally_queue *queue;    /* of the call under way; NULL: nothing is enqueued */
    uint64_t bytes;        /* of the record */
} member;

struct tally_devices {
    tally_tag tag;
    uint32_t count;
    bool under_way;
    uint64_t bound;        /* of all records */
    unsigned char *joined; /* `bound` bytes */
    member members[];
};

/* Puts the device's index before the error's text. */
static tally_status of_device(uint32_t index, tally_status status) {
    return status ? tally_fail(status, "device %u: %s", index, tally_last_error()) : TALLY_OK;
}

static tally_status check(const tally_devices *devices) {
    const tally_status status = tally_check_pointer(devices, "devices");
    if (status) return status;
    return devices->tag == TALLY_TAG_DEVICES ? TALLY_OK : tally_fail(TALLY_E_ARGUMENT, "devices is no tally_devices");
}

/* ---- making one ------------------------------------------------------------------------------ */

static tally_status open_member(member *m, tally_context *context, const tally_reduce_desc *desc, uint64_t bound) {
    tally_status status = tally_plan_create(context, desc, &m->plan);
    if (!status) status = tally_part_check_plan(m->plan);
    if (!status) status = tally_buffer_open(context, TALLY_MEM_DEVICE, NULL, bound, &m->record);
    return status ? status : tally_buffer_open(context, TALLY_MEM_STAGING, NULL, bound, &m->staging);
}

tally_status tally_devices_create(tally_context *const *contexts, uint32_t count, const tally_reduce_desc *desc,
                                  tally_devices **out) {
    if (out) *out = NULL;
    uint64_t bound = 0;
    tally_status status = tally_check_pointer(contexts, "contexts");
    if (!status) status = tally_check_pointer(desc, "desc");
    if (!status) status = tally_check_pointer(out, "out");
    if (!status && (count == 0 || count > TALLY_MAX_DEVICES))
        status = tally_fail(TALLY_E_ARGUMENT, "count is %u: 1 to %d", count, TALLY_MAX_DEVICES);
    if (!status) status = tally_part_bound(desc, 0, 0, &bound);
    if (status) return TALLY_NAMED(status);
    tally_devices *devices = calloc(1, sizeof(*devices) + count * sizeof(devices->members[0]));
    if (devices) devices->joined = malloc(bound);
    if (!devices || !devices->joined) {
        free(devices);
        return TALLY_NAMED(tally_fail(TALLY_E_MEMORY, "out of memory"));
    }
    devices->tag = TALLY_TAG_DEVICES;
    devices->count = count;
    devices->bound = bound;
    for (uint32_t i = 0; i < count && !status; i++)
        status = of_device(i, open_member(&devices->members[i], contexts[i], desc, bound));
    if (status)
        tally_devices_destroy(devices);
    else
        *out = devices;
    return TALLY_NAMED(status);
}

/* Waits for the queues of the call under way. Returns the first failure. */
static tally_status wait_all(tally_devices *devices) {
    tally_status status = TALLY_OK;
    for (uint32_t i = 0; i < devices->count; i++) {
        member *m = &devices->members[i];
        if (!m->queue) continue;
        /* After a failure the others are waited for, but the first text stays. */
        char text[1024];
        if (status) snprintf(text, sizeof(text), "%s", tally_last_error());
        const tally_status waited = tally_queue_wait(m->queue);
        if (status)
            tally_fail(status, "%s", text);
        else
            status = of_device(i, waited);
        m->queue = NULL;
    }
    devices->under_way = false;
    return status;
}

void tally_devices_destroy(tally_devices *devices) {
    if (!devices || devices->tag != TALLY_TAG_DEVICES) return;
    wait_all(devices);
    for (uint32_t i = 0; i < devices->count; i++) {
        tally_buffer_destroy(devices->members[i].staging);
        tally_buffer_destroy(devices->members[i].record);
        tally_plan_destroy(devices->members[i].plan);
    }
    devices->tag = 0;
    free(devices->joined);
    free(devices);
}

tally_plan *tally_devices_plan(tally_devices *devices, uint32_t index) {
    if (!devices || devices->tag != TALLY_TAG_DEVICES || index >= devices->count) return NULL;
    return devices->members[index].plan;
}

tally_status tally_devices_set_param(tally_devices *devices, const char *name, double value) {
    tally_status status = check(devices);
    if (!status && devices->under_way)
        status = tally_fail(TALLY_E_ARGUMENT, "the call before has not been finished: tally_devices_finish");
    /* The plans are of the same ops, so all take the value or none. */
    for (uint32_t i = 0; !status && i < devices->count; i++)
        status = tally_plan_set_param(devices->members[i].plan, name, value);
    return TALLY_NAMED(status);
}

/* ---- reducing -------------------------------------------------------------------------------- */

static tally_status enqueue(member *m, const tally_devices_share *share, uint64_t first, uint64_t total) {
    tally_part_args args = {.size = sizeof(args), .first = first, .n = share->n, .total = total, .out = m->record};
    memcpy(args.in, share->in, sizeof(args.in));
    memcpy(args.in_offset, share->in_offset, sizeof(args.in_offset));
    tally_part_shape shape;
    tally_part_head head;
    m->queue = share->queue; /* a failure may leave launches to wait for */
    tally_status status = tally_reduce_part(m->plan, share->queue, &args);
    if (status) return status;
    tally_part_shape_of(first, share->n, total, &shape);
    tally_part_fill(&m->plan->terms, &shape, &head);
    m->bytes = head.bytes;
    return tally_buffer_read(share->queue, m->record, 0, m->staging->host, m->bytes);
}

tally_status tally_devices_reduce(tally_devices *devices, const tally_devices_share *shares, size_t size) {
    uint64_t total = 0, first = 0;
    tally_status status = check(devices);
    if (!status) status = tally_check_pointer(shares, "shares");
    if (!status && size != sizeof(*shares))
        status = tally_fail(TALLY_E_ARGUMENT, "size is %zu: sizeof(tally_devices_share) is %zu", size, sizeof(*shares));
    if (!status && devices->under_way)
        status = tally_fail(TALLY_E_ARGUMENT, "the call before has not been finished: tally_devices_finish");
    for (uint32_t i = 0; !status && i < devices->count; i++) {
        if (shares[i].n > TALLY_FEED_ITEMS || (total += shares[i].n) > TALLY_FEED_ITEMS)
            status = of_device(i, tally_fail(TALLY_E_ARGUMENT, "n is beyond any memory"));
    }
    if (status) return TALLY_NAMED(status);
    for (uint32_t i = 0; i < devices->count && !status; first += shares[i++].n)
        status = of_device(i, enqueue(&devices->members[i], &shares[i], first, total));
    devices->under_way = true;
    if (status) {
        char text[1024];
        snprintf(text, sizeof(text), "%s", tally_last_error());
        wait_all(devices);
        tally_fail(status, "%s", text);
    }
    return TALLY_NAMED(status);
}

/* Joins the records, and writes the result. */
static tally_status join(tally_devices *devices, void *result) {
    const void *parts[TALLY_MAX_DEVICES];
    uint64_t bytes[TALLY_MAX_DEVICES], joined = 0;
    for (uint32_t i = 0; i < devices->count; i++) {
        parts[i] = devices->members[i].staging->host;
        bytes[i] = devices->members[i].bytes;
    }
    tally_plan *plan = devices->members[0].plan;
    const tally_status status = tally_part_join(plan, parts, bytes, devices->count, devices->joined, devices->bound, &joined);
    return status ? status : tally_part_value(plan, devices->joined, joined, result);
}

static tally_status finish(tally_devices *devices, void *result) {
    tally_status status = check(devices);
    if (!status) status = tally_check_pointer(result, "result");
    if (!status && !devices->under_way) status = tally_fail(TALLY_E_ARGUMENT, "nothing is enqueued: tally_devices_reduce");
    if (!status) status = wait_all(devices);
    return status ? status : join(devices, result);
}

tally_status tally_devices_finish(tally_devices *devices, void *result) {
    return TALLY_NAMED(finish(devices, result));
}

tally_status tally_devices_finish_to(tally_devices *devices, tally_queue *queue, tally_buffer *out, uint64_t offset) {
    _Alignas(16) unsigned char result[RESULT_BYTES];
    tally_status status = check(devices);
    if (!status) status = tally_check_queue(queue, NULL);
    if (!status) status = tally_check_buffer(out, queue->context, "out");
    if (!status) status = tally_check_items(out, offset, tally_plan_result_bytes(devices->members[0].plan), 1, "out");
    if (!status) status = finish(devices, result);
    if (!status) status = tally_buffer_write(queue, out, offset, result, tally_plan_result_bytes(devices->members[0].plan));
    return TALLY_NAMED(status ? status : tally_queue_wait(queue));
}
