/* SPDX-License-Identifier: MIT */
/*
 * tally/part.h: parts of a reduction, as records that are joined wherever they meet.
 *
 * A *part* is the items [first, first + n) of a whole input. tally_reduce_part reduces it as far as
 * the canonical order allows without its neighbours and leaves a *record*: a few hundred bytes if
 * both ends of the part are multiples of TALLY_CHUNK items or ends of the whole input. Else the
 * record also has the items of the chunks that the part shares with its neighbours, 4,095 at most
 * at each end. tally_part_join joins neighbours, in any association, and tally_part_value gives the
 * result. Its bits are those of one tally_reduce of all items, for any number of parts.
 *
 * A record is plain bytes without pointers, of fixed sizes and little-endian (docs/parts.md). It
 * may be sent, written to a file, and joined by another process, on another kind of device. The
 * record of the same part by the same op has the same layout wherever it was made.
 *
 * Parts need a canonical variant (tally_reduce_desc.variant, "auto" for instance). Threads may join
 * and read records at the same time, as long as each has its own plan or none.
 */
#ifndef TALLY_API_PART_H
#define TALLY_API_PART_H

#include <tally/reduce.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The items of a chunk. A part that begins and ends at multiples of it shares no chunk. */
#define TALLY_CHUNK 4096

/*
 * Cuts n items into `ranks` shares, each but the last of whole chunks, and gives the share of
 * `rank`: *count items from item *first on. Their numbers of chunks differ by one at most, so with
 * fewer chunks than ranks some are empty. Shares of 256 chunks and more are cut at multiples of a
 * power of two of chunks, so that they have few partials. They differ by a 64th at most. Errors:
 * E_ARGUMENT for NULL, for no ranks, and for a rank that is not below `ranks`.
 */
TALLY_API tally_status tally_share(uint64_t n, uint64_t ranks, uint64_t rank, uint64_t *first, uint64_t *count);

/* ---- sizes ----------------------------------------------------------------------------------- */

/*
 * Gives the exact bytes of the record of items [first, first + n) of `total` items (0: open, not
 * known yet) by the descriptor's ops. A multiple of 8. Errors: E_ARGUMENT for a descriptor that
 * makes no sense and for items beyond `total`; E_UNSUPPORTED; E_MEMORY.
 */
TALLY_API tally_status tally_part_bytes(const tally_reduce_desc *desc, uint64_t first, uint64_t n, uint64_t total,
                                        uint64_t *bytes);

/*
 * Gives an upper limit on the bytes of every record, joined ones too, of parts of up to `total`
 * items (0: any number) by the descriptor's ops. With `aligned` not 0: of parts whose ends are
 * multiples of TALLY_CHUNK or the end of a known total. Errors: as tally_part_bytes.
 */
TALLY_API tally_status tally_part_bound(const tally_reduce_desc *desc, uint64_t total, int aligned, uint64_t *bytes);

/* ---- making records -------------------------------------------------------------------------- */

/* A part whose items are in device memory, and the place of its record. */
typedef struct tally_part_args {
    size_t size;                              /* sizeof(tally_part_args) */
    const tally_buffer *in[TALLY_MAX_INPUTS]; /* as many as the plan has inputs; n 0: unused */
    uint64_t in_offset[TALLY_MAX_INPUTS];     /* of the part's first item, in items */
    uint64_t first;                           /* index of that item in the whole input */
    uint64_t n;                               /* items of the part */
    uint64_t total;                           /* items of the whole input; 0: open, not known yet */
    tally_buffer *out;                        /* gets the record: tally_part_bytes bytes */
    uint64_t out_offset;                      /* in bytes, a multiple of 8 */
} tally_part_args;

/*
 * Enqueues the reduction of a part by a reduction's plan, with the plan's parameters as they are
 * now. The record is in `out` when the queue has come to it; tally_buffer_read takes it to the
 * host. No waiting. The first call of a plan allocates and compiles; those after it do not.
 * Errors: as tally_reduce_with; E_ARGUMENT for items beyond `total`; E_UNSUPPORTED for a variant
 * that is not canonical.
 */
TALLY_API tally_status tally_reduce_part(tally_plan *plan, tally_queue *queue, const tally_part_args *args);

/* A part whose items are in host memory, and the host memory for its record. */
typedef struct tally_part_host_args {
    size_t size;                         /* sizeof(tally_part_host_args) */
    const void *items[TALLY_MAX_INPUTS]; /* the part's n items of each input */
    uint64_t first;                      /* index of its first item in the whole input */
    uint64_t n;                          /* items of the part: any number, whatever the plan's max_n */
    uint64_t total;                      /* items of the whole input; 0: open, not known yet */
    void *out;                           /* gets the record */
    uint64_t out_bytes;                  /* bytes that `out` has: tally_part_bytes or more */
} tally_part_host_args;

/*
 * Reduces a part in host memory by a reduction's plan, with its parameters. Blocks. On a CPU the
 * library's own programs and threads reduce built-in ops, without a call of the driver; else the
 * items go through the plan's device, in pieces, on a queue of the plan's own. No work that the
 * plan has enqueued elsewhere may be under way. *bytes gets the record's bytes; it may be NULL.
 * Errors: as tally_reduce_part; E_ARGUMENT if out_bytes is too small; E_MEMORY; E_DEVICE.
 */
TALLY_API tally_status tally_reduce_part_host(tally_plan *plan, const tally_part_host_args *args, uint64_t *bytes);

/* ---- joining records ------------------------------------------------------------------------- */

/*
 * Joins `count` records, each the next one's left neighbour, into the record of all their items,
 * which is the same bytes in whatever association neighbours are joined. Blocks. A record may lie
 * at any address; `out` may be one of them. *joined_bytes gets the new record's bytes; it may be
 * NULL. tally_part_bound says how many there may be.
 *
 * `plan` may be NULL: the host joins records of built-in ops by itself. Records of a custom op need
 * a plan of it, whose device folds them. No work that the plan has enqueued may be under way.
 *
 * Errors: E_ARGUMENT for what is no sound record; for neighbours that are not adjacent, or of other
 * ops, types, parameters, totals, or of another order; for records that are not of the plan's ops;
 * for out_bytes too small; for a custom op without a plan. E_MEMORY; E_DEVICE.
 */
TALLY_API tally_status tally_part_join(tally_plan *plan, const void *const *parts, const uint64_t *bytes, uint32_t count,
                                       void *out, uint64_t out_bytes, uint64_t *joined_bytes);

/*
 * Writes the result of the record of a whole input: its first item is item 0, and it ends at the
 * total, or the total is open. `result` has tally_part_info.result_bytes, laid out as
 * tally_plan_result says. The plan is as for tally_part_join. Blocks. Errors: as tally_part_join,
 * and E_ARGUMENT for a part that is not the whole input.
 */
TALLY_API tally_status tally_part_value(tally_plan *plan, const void *part, uint64_t bytes, void *result);

/* ---- reading records ------------------------------------------------------------------------- */

/* The description that a record carries. */
typedef struct tally_part_info {
    uint64_t bytes;              /* of the record */
    uint64_t first, n, total;    /* as in tally_part_args */
    uint64_t check;              /* its checksum */
    uint32_t order;              /* the version of the canonical order: 1 */
    uint32_t inputs, term_count; /* inputs, and the ops over them */
    uint32_t head_items;         /* raw items, of each input, of a chunk that began before */
    uint32_t tail_items;         /* raw items of a chunk that goes on after the part */
    uint32_t nodes;              /* partials of aligned subtrees */
    uint32_t acc_bytes;          /* of a partial */
    uint32_t param_bytes;
    uint32_t result_bytes; /* of tally_part_value's result */
    tally_dtype in;
    tally_term_desc terms[TALLY_MAX_TERMS]; /* as resolved; a custom op: op 0, custom NULL */
    uint64_t customs[TALLY_MAX_TERMS];      /* its identity, a hash of its texts; 0 of a built-in op */
} tally_part_info;

/*
 * Checks a record of at most `bytes` bytes completely: magic, versions, every count, the checksum.
 * Safe for any bytes at any address; nothing is written. Errors: E_ARGUMENT says what is wrong;
 * E_UNSUPPORTED for a version of the format or of the order that this library does not know.
 */
TALLY_API tally_status tally_part_check(const void *part, uint64_t bytes);
/* The same, and describes the record. */
TALLY_API tally_status tally_part_describe(const void *part, uint64_t bytes, tally_part_info *out);

/* ---- packets: parts that a device folds ------------------------------------------------------ */

/*
 * A *packet* is a part's partials in device memory, behind a status and the part's range. All
 * packets of a plan have the same size, so that they may be gathered from other devices without the
 * host. tally_packet_fold enqueues the joining of neighbours' packets and their value: the bits of
 * one tally_reduce of all items. The host does nothing, not even for custom ops, so a CUDA graph
 * may capture the calls. A packet has no raw items, so a part in it begins and ends at multiples of
 * TALLY_CHUNK or at the end of the whole input, whose total must be known. Packets are for ranks
 * with the same version of tally; records are for files.
 */

/* The most packets of a fold. */
#define TALLY_MAX_PACKETS 65536

/* Gives the bytes of a packet of the plan, a multiple of 16: the same for every plan with the same
 * ops, types and accuracies, on every device. Errors: E_ARGUMENT, also for a plan that is no
 * reduction; E_UNSUPPORTED for a variant that is not canonical. */
TALLY_API tally_status tally_packet_bytes(const tally_plan *plan, uint64_t *bytes);

/*
 * Enqueues the reduction of a part to a packet, as tally_reduce_part does to a record, by one
 * launch for each partial of the part. The packet is in `out` from byte out_offset on. args->total
 * is the exact number of items of the whole input; 0 means that there are none. Errors: as
 * tally_reduce_part; E_UNSUPPORTED for a part with raw items.
 */
TALLY_API tally_status tally_packet_reduce(tally_plan *plan, tally_queue *queue, const tally_part_args *args);

/* Enqueues a packet that says that this part has failed, with a status that is not TALLY_OK: it
 * takes the place of one that could not be made. Errors: E_ARGUMENT; E_MEMORY; E_DEVICE. */
TALLY_API tally_status tally_packet_fail(tally_plan *plan, tally_queue *queue, tally_status failed, tally_buffer *out,
                                         uint64_t out_offset);

/*
 * Writes the record of the part whose packet lies in host memory, at any address: the bytes that
 * tally_reduce_part makes. The plan is the packet's, and has the same parameters. args->first, n
 * and total are the part's; `items` is not read. Blocks. *bytes gets the record's bytes; it may be
 * NULL. Errors: the status of a packet that failed; E_ARGUMENT for a packet of another part, or of
 * other ops, types or parameters, and for out_bytes too small; E_UNSUPPORTED as
 * tally_packet_reduce; E_MEMORY.
 */
TALLY_API tally_status tally_packet_record(tally_plan *plan, const void *packet, const tally_part_host_args *args,
                                           uint64_t *bytes);

/* The outcome of a fold, as it is in device memory. */
typedef struct tally_packet_verdict {
    uint32_t status; /* a tally_status. TALLY_OK: the result is written; else it is untouched */
    uint32_t packet; /* the lowest packet that failed (the status is its own) or that does not fit */
} tally_packet_verdict;

/* Packets in device memory, and the places of their result and of the verdict. */
typedef struct tally_packet_args {
    size_t size;                 /* sizeof(tally_packet_args) */
    const tally_buffer *packets; /* one behind the other, in the order of the parts */
    uint64_t packets_offset;     /* of the first, in bytes; a multiple of 8 */
    uint64_t count;              /* 1 to TALLY_MAX_PACKETS */
    uint64_t total;              /* items of the whole input */
    tally_buffer *out;           /* gets the result, as tally_plan_result lays it out */
    uint64_t out_offset;         /* in results */
    tally_buffer *verdict;       /* gets a tally_packet_verdict; it may be `out` */
    uint64_t verdict_offset;     /* in bytes; a multiple of 4 */
} tally_packet_args;

/*
 * Enqueues the fold of packets into the result of all their items. No waiting. The plan is of the
 * same ops, types and accuracies as the packets' plans, with the same parameters. The verdict is
 * E_ARGUMENT for a packet of something else or of another total, and for one that does not begin
 * where the one before ends. The first call of a plan allocates and compiles, and so does a call
 * with more packets than those before it; graphs that were captured before such a call must not be
 * launched again.
 * Errors: E_ARGUMENT; E_UNSUPPORTED for a variant that is not canonical; E_BUILD; E_MEMORY;
 * E_DEVICE.
 */
TALLY_API tally_status tally_packet_fold(tally_plan *plan, tally_queue *queue, const tally_packet_args *args);

#ifdef __cplusplus
}
#endif

#endif
