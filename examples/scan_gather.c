/* SPDX-License-Identifier: MIT */
/*
 * scan_gather.c: the balance of an account after each payment is a scan by sum of the payments. The
 * balances at the ends of months are then gathered from it: a map has the index of each month's
 * last payment. Both calls enqueue on one queue, so the gather sees the scan's values.
 */
#include <stdint.h>
#include <stdio.h>

#include <tally/tally.h>

enum { DAYS = 365, MONTHS = 12 };

static const int32_t month_ends[MONTHS] = {30, 58, 89, 119, 150, 180, 211, 242, 272, 303, 333, 364};

typedef struct work {
    tally_context *context;
    tally_queue *queue;
    tally_buffer *payments, *balances, *map, *ends;
    tally_plan *scan, *gather;
} work;

static tally_status open(work *w) {
    /* The value of a sum of i64 is i64, so a balance has 8 bytes. */
    const tally_scan_desc scan = {.size = sizeof(scan), .op = TALLY_SUM, .in = TALLY_I64, .max_n = DAYS};
    const tally_move_desc gather = {.size = sizeof(gather), .item_bytes = 8, .map = TALLY_I32, .max_n = MONTHS};
    tally_status status = tally_context_create(NULL, &w->context);
    if (!status) status = tally_queue_create(w->context, &w->queue);
    if (!status) status = tally_scan_plan_create(w->context, &scan, &w->scan);
    if (!status) status = tally_gather_plan_create(w->context, &gather, &w->gather);
    if (!status) status = tally_buffer_create(w->context, DAYS * sizeof(int64_t), &w->payments);
    if (!status) status = tally_buffer_create(w->context, DAYS * sizeof(int64_t), &w->balances);
    if (!status) status = tally_buffer_create(w->context, sizeof(month_ends), &w->map);
    if (!status) status = tally_buffer_create(w->context, MONTHS * sizeof(int64_t), &w->ends);
    return status;
}

static tally_status run(work *w, const int64_t *payments, int64_t *ends) {
    tally_status status = open(w);
    if (!status) status = tally_buffer_write(w->queue, w->payments, 0, payments, DAYS * sizeof(*payments));
    if (!status) status = tally_buffer_write(w->queue, w->map, 0, month_ends, sizeof(month_ends));
    if (!status) status = tally_scan(w->scan, w->queue, w->payments, DAYS, w->balances);
    const tally_move_args args = {
        .size = sizeof(args), .map = w->map, .n = MONTHS, .in = w->balances, .items = DAYS, .out = w->ends};
    /* It waits, since it reports entries of the map that are out of bounds. */
    if (!status) status = tally_gather(w->gather, w->queue, &args);
    if (!status) status = tally_buffer_read(w->queue, w->ends, 0, ends, MONTHS * sizeof(*ends));
    return status ? status : tally_queue_wait(w->queue);
}

int main(void) {
    work w = {0};
    int64_t payments[DAYS], ends[MONTHS], balance = 0;
    int wrong = 0;
    for (int day = 0; day < DAYS; day++) payments[day] = day % 7 ? -10 : 100;

    const tally_status status = run(&w, payments, ends);
    if (status) fprintf(stderr, "scan_gather: %s: %s\n", tally_status_name(status), tally_last_error());
    for (int day = 0, month = 0; day < DAYS && !status; day++) {
        balance += payments[day];
        if (day == month_ends[month]) wrong |= ends[month++] != balance;
    }
    if (!status) printf("the balance at the end of the year is %lld\n", (long long)ends[MONTHS - 1]);
    tally_plan_destroy(w.scan);
    tally_plan_destroy(w.gather);
    tally_buffer_destroy(w.payments);
    tally_buffer_destroy(w.balances);
    tally_buffer_destroy(w.map);
    tally_buffer_destroy(w.ends);
    tally_queue_destroy(w.queue);
    tally_context_destroy(w.context);
    return status || wrong;
}
