/* SPDX-License-Identifier: MIT */
/*
 * parts.c: one variance in two places. Each reduces its items to a record of some hundred bytes,
 * which may go through a file or a network. The value of the joined records has the bits of one
 * reduction over all items.
 */
#include <stdio.h>
#include <string.h>

#include <tally/tally.h>

enum { N = 1000000, RECORD_BYTES = 4096 };

int main(void) {
    static float x[N];
    static unsigned char records[2][RECORD_BYTES], all[RECORD_BYTES];
    const tally_reduce_desc desc = {.size = sizeof(desc), .op = TALLY_VAR, .in = TALLY_F32, .max_n = N};
    tally_context *context = NULL;
    tally_plan *plan = NULL;
    uint64_t first = 0, count = 0, bytes[2], all_bytes;
    float joined = 0, whole = 1;
    for (int i = 0; i < N; i++) x[i] = (float)(i * 7 % 1000);
    tally_status status = tally_context_create(NULL, &context);
    if (!status) status = tally_plan_create(context, &desc, &plan);

    /* Each of these could be another process, on a device of another vendor. */
    for (int place = 0; place < 2 && !status; place++) {
        status = tally_share(N, 2, (uint64_t)place, &first, &count);
        const tally_part_host_args part = {.size = sizeof(part),
                                           .items = {x + first},
                                           .first = first,
                                           .n = count,
                                           .total = N,
                                           .out = records[place],
                                           .out_bytes = RECORD_BYTES};
        if (!status) status = tally_reduce_part_host(plan, &part, &bytes[place]);
    }

    /* Joining takes no plan and no device. */
    const void *const parts[] = {records[0], records[1]};
    if (!status) status = tally_part_join(NULL, parts, bytes, 2, all, RECORD_BYTES, &all_bytes);
    if (!status) status = tally_part_value(NULL, all, all_bytes, &joined);

    if (!status) status = tally_reduce_host(context, TALLY_VAR, TALLY_F32, x, N, &whole);
    if (status) fprintf(stderr, "parts: %s: %s\n", tally_status_name(status), tally_last_error());
    tally_plan_destroy(plan);
    tally_context_destroy(context);
    if (status) return 1;
    printf("var = %.9g from records of %llu and %llu bytes, %.9g from all items\n", joined, (unsigned long long)bytes[0],
           (unsigned long long)bytes[1], whole);
    return memcmp(&joined, &whole, sizeof(joined)) != 0;
}
