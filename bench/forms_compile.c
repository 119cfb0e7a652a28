/* SPDX-License-Identifier: MIT */
/* forms_compile.c: makes the plan of a form's cell, and calls it once on few items. */
#include <stdlib.h>

#include "bench/forms.h"
#include "tools/print/units.h"

#define CALL_ITEMS (UINT64_C(1) << 20) /* enough for launches of the shape that large inputs have */

static tally_status open_few(bench_input *input, const bench_segments *s) {
    tally_status status = TALLY_OK;
    for (int a = 0; a < ARRAYS && !status; a++)
        if (form_array_bytes(s, a)) status = tally_buffer_create(input->context, form_array_bytes(s, a), &input->buffer[a]);
    return status;
}

/* Makes the offsets, flags or mask of few items on the device. */
static tally_status send_few(bench_input *input, bench_segments *s) {
    const uint64_t bytes = form_array_bytes(s, ARRAY_MAP), room = s->count + 2;
    tally_queue *queue = NULL;
    if (!bytes) return TALLY_OK;
    void *map = malloc(bytes);
    uint64_t *offsets = malloc(room * sizeof(*offsets));
    tally_status status = map && offsets && !form_fill_map(s, map, offsets, room) ? TALLY_OK : TALLY_E_MEMORY;
    if (!status) status = tally_queue_create(input->context, &queue);
    if (!status) status = tally_buffer_write(queue, input->buffer[ARRAY_MAP], 0, map, form_array_bytes(s, ARRAY_MAP));
    if (!status) status = tally_queue_wait(queue);
    tally_queue_destroy(queue);
    free(map);
    free(offsets);
    return status;
}

/* Calls the plan of the full shape once, on few items. */
static tally_status call_few(const bench_compile *c, bench_input *input) {
    const bench_segments *full = input->segments;
    bench_segments few;
    bench_engine ours;
    form_shape(c->form, c->task->op, c->in, c->n < CALL_ITEMS ? c->n : CALL_ITEMS, 0, &few);
    tally_status status = open_few(input, &few);
    if (!status) status = send_few(input, &few);
    if (status) return status;
    if (segments_ours_open(input, &ours)) return TALLY_E_DEVICE;
    input->segments = &few;
    if (ours.run(ours.state, 1)) status = TALLY_E_DEVICE;
    input->segments = full;
    ours.close(ours.state);
    return status;
}

tally_status form_compile(bench_compile *c) {
    bench_segments full;
    bench_input input = {.context = c->context, .device = c->device, .in = c->in, .copies = 1, .segments = &full};
    tally_plan *plan = NULL;
    form_shape(c->form, c->task->op, c->in, c->n, 0, &full);
    const double begin = units_seconds();
    tally_status status = segments_ours_plan(&input, &plan);
    const double called = units_seconds();
    c->plan_seconds = called - begin;
    if (!status) status = call_few(c, &input);
    c->call_seconds = units_seconds() - called;
    tally_plan_destroy(plan);
    for (int a = 0; a < ARRAYS; a++) tally_buffer_destroy(input.buffer[a]);
    return status;
}
