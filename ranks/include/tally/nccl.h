/* SPDX-License-Identifier: MIT */
/*
 * tally/nccl.h: reductions over the ranks of an NCCL communicator, on CUDA streams
 * (docs/ranks.md). libtally_nccl has them; libtally knows no NCCL. It needs no header of NCCL:
 * ncclComm_t is struct ncclComm *. The library libnccl.so.2 is opened at run time.
 *
 * A call reduces this rank's share to a packet (tally/part.h), gathers the packets of all ranks by
 * ncclAllGather, and folds them by a kernel on each device. All of that is enqueued: the host does
 * not wait, and a CUDA graph may capture it. The result has the bits of one tally_reduce of the
 * whole, for any number of ranks.
 *
 * Shares begin at multiples of TALLY_CHUNK items, as those of tally_share do. Others are refused.
 *
 * From NCCL 2.27 on the packets lie in a window of NCCL (ncclCommWindowRegister) if all ranks can
 * have one. Otherwise they lie in plain memory. The results are the same.
 */
#ifndef TALLY_API_NCCL_H
#define TALLY_API_NCCL_H

#include <tally/tally.h>

#ifdef __cplusplus
extern "C" {
#endif

struct ncclComm;

/* A reduction over the ranks of a communicator, made ready to run. */
typedef struct tally_nccl tally_nccl;

/*
 * Makes a reduction over the ranks of `comm` by the descriptor. It makes a plan and all memory, so
 * that no later call allocates or compiles. Collective: all ranks call it, each in a thread or a
 * process of its own. Blocks. The communicator and its device's context must outlive it; the caller
 * destroys it. desc->max_n is the largest share of this rank. Ranks may differ in max_n and
 * variant. Packets in a window take at least 2 MiB of the device's memory.
 * Errors, on all ranks, with a text that begins with the failing rank: as tally_plan_create;
 * E_UNSUPPORTED for a variant that is not canonical and for ranks with another version of tally;
 * E_ARGUMENT for ranks with other ops, types, accuracies or parameters. On one rank, while the
 * others may wait for it: E_ARGUMENT for NULL and for a context that is not of CUDA or of another
 * device than the communicator's; E_NO_DEVICE without libnccl.so.2; E_MEMORY if there is no room
 * for the first exchange; E_DEVICE.
 */
TALLY_API tally_status tally_nccl_create(struct ncclComm *comm, tally_context *context, const tally_reduce_desc *desc,
                                         tally_nccl **out);
/* Destroys the reduction, on this rank alone. The work that it has enqueued must have ended. Takes
 * NULL. */
TALLY_API void tally_nccl_destroy(tally_nccl *nccl);

/* Returns this rank's plan, for tally_plan_result, tally_plan_set_param and the like. It stays the
 * reduction's. All ranks must set the same parameters. NULL for NULL. */
TALLY_API tally_plan *tally_nccl_plan(tally_nccl *nccl);

/* A rank's share of the items, and the places of the result. */
typedef struct tally_nccl_args {
    size_t size;                              /* sizeof(tally_nccl_args) */
    const tally_buffer *in[TALLY_MAX_INPUTS]; /* as many as the op has inputs; n 0: unused */
    uint64_t in_offset[TALLY_MAX_INPUTS];     /* of the share's first item, in items */
    uint64_t first, n;                        /* the share: n items from this index of the whole on */
    uint64_t total;                           /* items of all ranks, the same on all */
    tally_buffer *out;                        /* gets the result, as tally_plan_result lays it out */
    uint64_t out_offset;                      /* in results */
    tally_buffer *verdict;                    /* gets a tally_packet_verdict; it may be `out` */
    uint64_t verdict_offset;                  /* in bytes; a multiple of 4 */
} tally_nccl_args;

/*
 * Enqueues the reduction of all ranks' items on `queue`. Each rank gets the result and a verdict:
 * TALLY_OK, or the status of the lowest rank that failed and that rank's number, and no result.
 * Collective: all ranks make the same calls in the same order. Does not wait or allocate. Calls of
 * one reduction share its memory, so they must be on one queue, or one after the other.
 *
 * A rank whose share cannot be reduced takes part with its status. It returns the error, and all
 * ranks find it in their verdicts. The verdict is E_ARGUMENT for shares that do not follow each
 * other in the order of the ranks or do not make up `total`.
 * Errors: as tally_packet_reduce (E_UNSUPPORTED for a share that is not aligned) and
 * tally_packet_fold. For a wrong out or verdict the other ranks get their results all the same. On
 * one rank, which then does not take part: E_ARGUMENT for NULL, a wrong size and a queue of another
 * context; E_DEVICE with NCCL's text.
 */
TALLY_API tally_status tally_nccl_allreduce(tally_nccl *nccl, tally_queue *queue, const tally_nccl_args *args);

#ifdef __cplusplus
}
#endif

#endif
