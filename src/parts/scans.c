/* SPDX-License-Identifier: MIT */
/* Scans whose blocks lie on several devices: the prefix that a plan's next call continues from. */
#include <fenv.h>
#include <stdlib.h>
#include <string.h>

#include "host/host.h"
#include "reduce/reduce.h"
#include "scan/scan.h"

/* Checks that the plan's scan may be cut into blocks, and takes the plan. */
static tally_status open_plan(const tally_plan *base, tally_scan_plan **plan) {
    *plan = (tally_scan_plan *)(uintptr_t)base;
    const tally_status status = tally_check_plan(base, &tally_scan_kind);
    if (status) return status;
    if ((*plan)->axis.variant) return tally_fail(TALLY_E_UNSUPPORTED, "the plan scans along an axis");
    if ((*plan)->segments) return tally_fail(TALLY_E_UNSUPPORTED, "the plan has segments: its prefix is no accumulator");
    if ((*plan)->launch.flags & TALLY_SCAN_IS_REVERSE)
        return tally_fail(TALLY_E_UNSUPPORTED, "a reverse scan begins with the last item");
    if ((*plan)->launch.variant->intervals)
        return tally_fail(TALLY_E_UNSUPPORTED, "variant %s does not combine in scan order v1",
                          (*plan)->launch.variant->info.name);
    return TALLY_OK;
}

tally_status tally_scan_prefix_bytes(const tally_plan *base, uint64_t *bytes) {
    tally_scan_plan *plan;
    tally_status status = open_plan(base, &plan);
    if (!status) status = tally_check_pointer(bytes, "bytes");
    if (!status) *bytes = base->terms.acc.bytes;
    return TALLY_NAMED(status);
}

/* The carry that the plan's next call reads (kernels/scanning.h) is not the one that it writes. */
static uint64_t carry_at(const tally_scan_plan *plan) {
    return (uint64_t)(plan->turn ^ 1) * plan->base.terms.acc.bytes;
}

tally_status tally_scan_prefix_get(const tally_plan *base, tally_queue *queue, void *prefix) {
    tally_scan_plan *plan;
    tally_status status = open_plan(base, &plan);
    if (!status) status = tally_check_queue(queue, base->context);
    if (!status) status = tally_check_pointer(prefix, "prefix");
    if (!status && (!plan->done || plan->anew)) status = tally_fail(TALLY_E_ARGUMENT, "the plan has scanned nothing yet");
    if (!status) status = tally_scan_check_blocks(plan);
    if (!status) status = tally_buffer_read(queue, plan->values, carry_at(plan), prefix, base->terms.acc.bytes);
    return TALLY_NAMED(status);
}

tally_status tally_scan_prefix_set(tally_plan *base, tally_queue *queue, uint64_t items, const void *prefix) {
    tally_scan_plan *plan;
    tally_status status = open_plan(base, &plan);
    if (!status) status = tally_check_queue(queue, base->context);
    if (!status && items % TALLY_SCAN_BLOCK)
        status = tally_fail(TALLY_E_ARGUMENT, "items is %llu: a multiple of %d", (unsigned long long)items, TALLY_SCAN_BLOCK);
    if (!status && prefix && !items) status = tally_fail(TALLY_E_ARGUMENT, "items is 0: nothing is before the first item");
    if (!status && prefix) status = tally_buffer_write(queue, plan->values, carry_at(plan), prefix, base->terms.acc.bytes);
    if (status) return TALLY_NAMED(status);
    plan->done = items;
    plan->anew = !prefix;
    return TALLY_OK;
}

tally_status tally_scan_prefix_join(const tally_plan *base, void *prefix, const void *aggregates, uint64_t count) {
    tally_scan_plan *plan;
    tally_status status = open_plan(base, &plan);
    if (!status) status = tally_check_pointer(prefix, "prefix");
    if (!status && count) status = tally_check_pointer(aggregates, "aggregates");
    if (!status && !tally_host_can_combine(&base->terms))
        status = tally_fail(TALLY_E_UNSUPPORTED, "%s is not compiled for the host", base->terms.list[0].name);
    if (status) return TALLY_NAMED(status);
    const uint64_t bytes = base->terms.acc.bytes;
    _Alignas(16) unsigned char pair[2 * TALLY_MAX_FIELDS * 8];
    fenv_t caller;
    fegetenv(&caller);
    fesetenv(FE_DFL_ENV);
    memcpy(pair, prefix, bytes);
    for (uint64_t i = 0; i < count; i++) {
        memcpy(pair + bytes, (const unsigned char *)aggregates + i * bytes, bytes);
        tally_host_combine(&base->terms, pair, 2);
    }
    memcpy(prefix, pair, bytes);
    fesetenv(&caller);
    return TALLY_OK;
}
