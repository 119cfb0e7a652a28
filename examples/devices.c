/* SPDX-License-Identifier: MIT */
/*
 * devices.c: one sum over the devices of this machine, 32 at most, of every backend. Each has a
 * share of the items in its own memory. The result has the bits of one reduction over all items,
 * whatever the devices and the shares.
 */
#include <stdio.h>
#include <string.h>

#include <tally/tally.h>

enum { N = 1000000, MOST = 32 };

static float x[N];

/* A device that takes part. */
typedef struct member {
    tally_context *context;
    tally_queue *queue;
    tally_buffer *items;
} member;

/* Opens device `index` of a backend. */
static tally_status open_member(const char *backend, int index, member *m) {
    char select[64];
    snprintf(select, sizeof(select), "%s:%d", backend, index);
    const tally_status status = tally_context_create(select, &m->context);
    return status ? status : tally_queue_create(m->context, &m->queue);
}

static void close_member(member *m) {
    tally_buffer_destroy(m->items);
    tally_queue_destroy(m->queue);
    tally_context_destroy(m->context);
}

/* Copies share `i` of `count` to its device. */
static tally_status give_share(member *m, uint32_t i, uint32_t count, tally_devices_share *share) {
    uint64_t first;
    tally_status status = tally_share(N, count, i, &first, &share->n);
    if (!status) status = tally_buffer_create(m->context, share->n * sizeof(float), &m->items);
    if (!status) status = tally_buffer_write(m->queue, m->items, 0, x + first, share->n * sizeof(float));
    share->queue = m->queue;
    share->in[0] = m->items;
    return status;
}

static tally_status sum(member *members, uint32_t count, float *result) {
    const tally_reduce_desc desc = {.size = sizeof(desc), .op = TALLY_SUM, .in = TALLY_F32, .max_n = N};
    tally_context *contexts[MOST];
    tally_devices_share shares[MOST] = {{0}};
    tally_devices *devices = NULL;
    tally_status status = TALLY_OK;
    for (uint32_t i = 0; i < count && !status; i++) {
        contexts[i] = members[i].context;
        status = give_share(&members[i], i, count, &shares[i]);
    }
    if (!status) status = tally_devices_create(contexts, count, &desc, &devices);
    if (!status) status = tally_devices_reduce(devices, shares, sizeof(shares[0]));
    if (!status) status = tally_devices_finish(devices, result);
    tally_devices_destroy(devices);
    return status;
}

int main(void) {
    member members[MOST] = {{0}};
    uint32_t count = 0;
    float all = 0, whole = 1;
    tally_backend_info backend;
    tally_status status = TALLY_OK;
    for (int i = 0; i < N; i++) x[i] = 1.0f / (float)(i + 1);
    for (size_t b = 0; b < tally_backend_count() && !tally_backend_get(b, &backend); b++)
        for (int d = 0; d < backend.devices && count < MOST && !status; d++)
            status = open_member(backend.name, d, &members[count++]);
    if (!count) return 77; /* no device */
    if (!status) status = sum(members, count, &all);
    if (!status) status = tally_reduce_host(members[0].context, TALLY_SUM, TALLY_F32, x, N, &whole);
    if (status) fprintf(stderr, "devices: %s: %s\n", tally_status_name(status), tally_last_error());
    for (uint32_t i = 0; i < count; i++) close_member(&members[i]);
    if (status) return 1;
    printf("sum = %.9g on %u devices, %.9g on the first\n", all, count, whole);
    return memcmp(&all, &whole, sizeof(all)) != 0;
}
