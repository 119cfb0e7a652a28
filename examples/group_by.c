/* SPDX-License-Identifier: MIT */
/*
 * group_by.c: the mean and the number of the readings of each station, where readings are sorted by
 * station. Keys are the stations' numbers; the plan finds their runs.
 */
#include <stdint.h>
#include <stdio.h>

#include <tally/tally.h>

enum { N = 100000, STATIONS = 64 };

typedef struct work {
    tally_context *context;
    tally_queue *queue;
    tally_buffer *keys, *readings, *stations, *means, *counts, *runs;
    tally_plan *plan;
} work;

static uint16_t keys[N], stations[STATIONS];
static float readings[N], means[STATIONS];
static uint64_t counts[STATIONS], runs;

static tally_status open_work(work *w) {
    const tally_segments_desc desc = {.size = sizeof(desc),
                                      .by = TALLY_BY_KEYS,
                                      .op = TALLY_MEAN,
                                      .in = TALLY_F32,
                                      .key_bytes = sizeof(keys[0]),
                                      .max_n = N,
                                      .max_segments = STATIONS};
    tally_status status = tally_context_create(NULL, &w->context);
    if (!status) status = tally_segments_plan_create(w->context, &desc, &w->plan);
    if (!status) status = tally_queue_create(w->context, &w->queue);
    if (!status) status = tally_buffer_create(w->context, sizeof(keys), &w->keys);
    if (!status) status = tally_buffer_create(w->context, sizeof(readings), &w->readings);
    if (!status) status = tally_buffer_create(w->context, sizeof(stations), &w->stations);
    if (!status) status = tally_buffer_create(w->context, sizeof(means), &w->means);
    if (!status) status = tally_buffer_create(w->context, sizeof(counts), &w->counts);
    return status ? status : tally_buffer_create(w->context, sizeof(runs), &w->runs);
}

static tally_status group(work *w) {
    const tally_keys_args args = {.size = sizeof(args),
                                  .keys = w->keys,
                                  .in = {w->readings},
                                  .n = N,
                                  .capacity = STATIONS,
                                  .out_keys = w->stations,
                                  .out = {w->means},
                                  .lengths = w->counts,
                                  .runs = w->runs};
    tally_status status = tally_buffer_write(w->queue, w->keys, 0, keys, sizeof(keys));
    if (!status) status = tally_buffer_write(w->queue, w->readings, 0, readings, sizeof(readings));
    if (!status) status = tally_reduce_keys(w->plan, w->queue, &args); /* more than STATIONS runs are an error */
    if (!status) status = tally_buffer_read(w->queue, w->stations, 0, stations, sizeof(stations));
    if (!status) status = tally_buffer_read(w->queue, w->means, 0, means, sizeof(means));
    if (!status) status = tally_buffer_read(w->queue, w->counts, 0, counts, sizeof(counts));
    if (!status) status = tally_buffer_read(w->queue, w->runs, 0, &runs, sizeof(runs));
    return status ? status : tally_queue_wait(w->queue);
}

/* Later stations have fewer readings. Those of station 1000 + s are s and s + 2 in turn. */
static void make_readings(void) {
    for (uint64_t i = 0; i < N; i++) {
        const uint64_t s = i * i / N * 10 / N;
        keys[i] = (uint16_t)(1000 + s);
        readings[i] = (float)(s + i % 2 * 2);
    }
}

int main(void) {
    work w = {0};
    make_readings();
    tally_status status = open_work(&w);
    if (!status) status = group(&w);
    if (status) fprintf(stderr, "group_by: %s: %s\n", tally_status_name(status), tally_last_error());
    tally_plan_destroy(w.plan);
    tally_buffer_destroy(w.keys);
    tally_buffer_destroy(w.readings);
    tally_buffer_destroy(w.stations);
    tally_buffer_destroy(w.means);
    tally_buffer_destroy(w.counts);
    tally_buffer_destroy(w.runs);
    tally_queue_destroy(w.queue);
    tally_context_destroy(w.context);
    if (status) return 1;

    uint64_t all = 0;
    for (uint64_t s = 0; s < runs; s++) {
        printf("station %d: %llu readings, mean %.6g\n", stations[s], (unsigned long long)counts[s], (double)means[s]);
        const float off = means[s] - (float)(s + 1);
        if (stations[s] != 1000 + s || off * off > 1e-6f) return 1;
        all += counts[s];
    }
    return runs == 10 && all == N ? 0 : 1;
}
