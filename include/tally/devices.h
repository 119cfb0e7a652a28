/* SPDX-License-Identifier: MIT */
/*
 * tally/devices.h: one reduction over several devices of this process.
 *
 * Each device has a *share* of the items in its own memory. The devices reduce their shares to
 * records of parts (tally/part.h) at the same time, and the host joins them. The result has the
 * bits of one tally_reduce of all items, for any number of devices, any shares, and any mix of
 * backends.
 */
#ifndef TALLY_API_DEVICES_H
#define TALLY_API_DEVICES_H

#include <tally/part.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A reduction over several devices, made ready to run. */
typedef struct tally_devices tally_devices;

/* The most devices of one reduction. */
#define TALLY_MAX_DEVICES 64

/*
 * Makes a reduction over `count` contexts by the descriptor: a plan on each, and memory for their
 * records. Contexts may be of different backends; one may be named twice. Blocks. The caller
 * destroys it. Errors: as tally_plan_create; the text of one device's error names it; E_ARGUMENT
 * for no contexts and for more than TALLY_MAX_DEVICES; E_UNSUPPORTED for a variant that is not
 * canonical.
 */
TALLY_API tally_status tally_devices_create(tally_context *const *contexts, uint32_t count, const tally_reduce_desc *desc,
                                            tally_devices **out);
/* Waits for what is enqueued, and destroys the reduction. Takes NULL. */
TALLY_API void tally_devices_destroy(tally_devices *devices);

/* Returns the plan on device `index`, for tally_plan_result and the like; NULL beyond the last. It
 * stays the reduction's. */
TALLY_API tally_plan *tally_devices_plan(tally_devices *devices, uint32_t index);
/* Sets a parameter on all devices, as tally_plan_set_param does. Errors: E_ARGUMENT also while a
 * reduction is under way. */
TALLY_API tally_status tally_devices_set_param(tally_devices *devices, const char *name, double value);

/* A device's share of the items. */
typedef struct tally_devices_share {
    tally_queue *queue;                       /* of the device's context */
    const tally_buffer *in[TALLY_MAX_INPUTS]; /* as many as the op has inputs; n 0: unused */
    uint64_t in_offset[TALLY_MAX_INPUTS];     /* of the share's first item, in items */
    uint64_t n;                               /* items of the share; may be 0 */
} tally_devices_share;

/*
 * Enqueues the reduction of shares[i] on device i, for all devices. The whole input is the shares
 * in this order. `size` is sizeof(tally_devices_share). Does not wait; the first call allocates and
 * compiles. tally_devices_finish must follow. `shares` may go when it returns; buffers stay
 * unchanged until the queues have come to the end. Errors: as tally_reduce_part; the text begins
 * with the index of the device, and the shares that were enqueued are waited for; E_ARGUMENT if a
 * call has not been finished.
 */
TALLY_API tally_status tally_devices_reduce(tally_devices *devices, const tally_devices_share *shares, size_t size);

/*
 * Waits for the queues, joins the records, and writes the result to host memory, as
 * tally_plan_result lays it out. Errors: E_DEVICE, E_MEMORY; E_ARGUMENT if nothing is enqueued.
 */
TALLY_API tally_status tally_devices_finish(tally_devices *devices, void *result);
/* The same; the result goes to a buffer, from byte `offset` on, through `queue`, which is of the
 * buffer's context. Waits for that too. */
TALLY_API tally_status tally_devices_finish_to(tally_devices *devices, tally_queue *queue, tally_buffer *out, uint64_t offset);

#ifdef __cplusplus
}
#endif

#endif
