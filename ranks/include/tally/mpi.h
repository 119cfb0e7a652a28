/* SPDX-License-Identifier: MIT */
/*
 * tally/mpi.h: reductions over the ranks of an MPI communicator (docs/ranks.md). libtally_mpi has
 * them; libtally knows no MPI.
 *
 * Each rank has a share of the items: n items of its own, any number, 0 too. The whole is the
 * shares in the order of the ranks. The result has the bits of one tally_reduce of the whole, for
 * any number of ranks, any shares, and any mix of devices.
 *
 * The calls with "collective" in their comment must be made by all ranks of the communicator, in
 * the same order. A rank that fails (a wrong argument, no memory, no device) takes part all the
 * same. Then all ranks return the same status, and tally_last_error() has the same text on all,
 * which begins with the failing rank: "rank 2: ". Three failures are of one rank alone: a `mpi`
 * that is NULL or no object; an error of MPI itself where the communicator's error handler returns;
 * and, after a call that does not block, a value that a rank has no memory to compute.
 *
 * MPI is the caller's: initialised before and finalised after. A call must not run at the same time
 * as another on the same object. Without MPI_THREAD_MULTIPLE no other thread may be in MPI.
 */
#ifndef TALLY_API_MPI_H
#define TALLY_API_MPI_H

/* MPI's own classes of C++ stay out: a program with them must link one more library of MPI. A
 * program that uses them includes <mpi.h> first. */
#ifndef OMPI_SKIP_MPICXX
#define OMPI_SKIP_MPICXX 1
#endif
#ifndef MPICH_SKIP_MPICXX
#define MPICH_SKIP_MPICXX 1
#endif
#include <mpi.h>

#include <tally/tally.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A reduction over the ranks of a communicator, made ready to run. */
typedef struct tally_mpi tally_mpi;

/*
 * Makes a reduction over the ranks of `comm` by the descriptor, on this rank's device. It
 * duplicates the communicator, keeps the context alive and makes a plan. Collective; blocks. Each
 * rank destroys it with tally_mpi_destroy. Ranks may have different devices, and may differ in
 * max_n, variant, group_threads and factor. Custom ops are made by each rank from the same texts. A
 * rank without a device passes the context NULL: that is E_NO_DEVICE on all ranks. Errors, on all
 * ranks: as tally_plan_create; E_ARGUMENT for ranks with another op, type or level of accuracy;
 * E_UNSUPPORTED for a variant that is not canonical, and for ranks with another version of tally.
 * On one rank: E_ARGUMENT for MPI_COMM_NULL, an intercommunicator, before MPI_Init and after
 * MPI_Finalize.
 */
TALLY_API tally_status tally_mpi_create(MPI_Comm comm, tally_context *context, const tally_reduce_desc *desc, tally_mpi **out);

/* Waits for what is under way, and destroys the reduction. Collective before MPI_Finalize. Takes
 * NULL. */
TALLY_API void tally_mpi_destroy(tally_mpi *mpi);

/* Returns this rank's plan, for tally_plan_result, tally_plan_set_param and the like. It stays the
 * reduction's. All ranks must set the same parameters. NULL for NULL. */
TALLY_API tally_plan *tally_mpi_plan(tally_mpi *mpi);

/* A rank's share of the items: host arrays, or buffers with the queue that they are on. */
typedef struct tally_mpi_args {
    size_t size;                              /* sizeof(tally_mpi_args) */
    uint64_t n;                               /* items of this rank, of each input */
    const void *items[TALLY_MAX_INPUTS];      /* host arrays, if `queue` is NULL */
    tally_queue *queue;                       /* of this rank's context; NULL: host arrays */
    const tally_buffer *in[TALLY_MAX_INPUTS]; /* buffers, with `queue` */
    uint64_t in_offset[TALLY_MAX_INPUTS];     /* of the share's first item, in items */
} tally_mpi_args;

/*
 * Reduces all ranks' items. `result` is host memory of tally_plan_result_bytes bytes; it gets the
 * result on all ranks, or on rank `root` alone, where the others may pass NULL. Collective; blocks.
 * With a queue, the reduction begins when the queue has come to it, and the call waits for it.
 * Errors, on all ranks: as tally_reduce_part and tally_reduce_part_host; E_ARGUMENT for more than
 * 2^60 items in all, for ranks with other parameters or another root; E_MEMORY; E_DEVICE.
 */
TALLY_API tally_status tally_mpi_reduce(tally_mpi *mpi, const tally_mpi_args *args, int root, void *result);
TALLY_API tally_status tally_mpi_allreduce(tally_mpi *mpi, const tally_mpi_args *args, void *result);

/* A rank's rows of an array whose first axis is spread over the ranks: host arrays, or buffers with
 * the queue that they are on. */
typedef struct tally_mpi_columns_args {
    size_t size;                              /* sizeof(tally_mpi_columns_args) */
    uint64_t n;                               /* rows of this rank; 0 too */
    uint64_t columns;                         /* items of a row; the same on all ranks */
    uint64_t row_stride;                      /* items from a row to the next; 0: columns */
    const void *items[TALLY_MAX_INPUTS];      /* host arrays: the first row, if `queue` is NULL */
    tally_queue *queue;                       /* of this rank's context; NULL: host arrays */
    const tally_buffer *in[TALLY_MAX_INPUTS]; /* buffers, with `queue` */
    uint64_t in_offset[TALLY_MAX_INPUTS];     /* of the first row, in items */
} tally_mpi_columns_args;

/*
 * Reduces each column over the rows of all ranks. `results` is host memory of `columns` results of
 * tally_plan_result_bytes bytes each; it is written on all ranks, or on rank `root` alone. Each has
 * the bits of its column reduced alone. Collective; blocks. Columns are copied on the host, and
 * many travel at once. Rows in buffers are first copied to host memory, all of them. Errors: as
 * tally_mpi_reduce; E_ARGUMENT for other columns than on other ranks.
 */
TALLY_API tally_status tally_mpi_reduce_columns(tally_mpi *mpi, const tally_mpi_columns_args *args, int root, void *results);
TALLY_API tally_status tally_mpi_allreduce_columns(tally_mpi *mpi, const tally_mpi_columns_args *args, void *results);

/*
 * Begin a reduction, to be ended by tally_mpi_wait or tally_mpi_test. Collective. Each call agrees
 * with the other ranks on their shares, for which it waits. A share in buffers is enqueued; a share
 * in host memory is reduced at once, and the records travel while the caller works. `result` must
 * stay valid, buffers unchanged until the end. A reduction has one call under way: if there is
 * another one, it is ended first, and its error is lost. Several reductions may be under way. Ranks
 * may wait for them and test them in different orders. Other calls that wait for other ranks, of
 * tally or MPI, come after the same waits on all ranks.
 * Errors: as tally_mpi_reduce; those of the share's reduction come at the end.
 */
TALLY_API tally_status tally_mpi_ireduce(tally_mpi *mpi, const tally_mpi_args *args, int root, void *result);
TALLY_API tally_status tally_mpi_iallreduce(tally_mpi *mpi, const tally_mpi_args *args, void *result);

/* Blocks until the call under way has ended, and returns its status: TALLY_OK if there is none.
 * Also furthers the calls begun before it, of other reductions, that this thread was the last to
 * begin or test: another rank may wait for them. Their statuses are kept for their own waits.
 * Collective. */
TALLY_API tally_status tally_mpi_wait(tally_mpi *mpi);

/* Furthers the call under way and those before it, as tally_mpi_wait does, without waiting for
 * other ranks (but for the queues of these calls). *done tells whether it has ended; if so, returns
 * its status. A loop of tests ends if all ranks test or wait. Errors: those of the call; E_ARGUMENT
 * for NULL. */
TALLY_API tally_status tally_mpi_test(tally_mpi *mpi, int *done);

/* ---- scans ----------------------------------------------------------------------------------- */

/* A scan over the ranks of a communicator, made ready to run. */
typedef struct tally_mpi_scanner tally_mpi_scanner;

/*
 * Makes a scan over the ranks of `comm` by the descriptor, on this rank's device. It takes memory
 * there for 2^22 items and values, or max_n if that is less. Collective; blocks. Each rank destroys
 * it with tally_mpi_scanner_destroy. A rank without a device passes the context NULL. Errors, on
 * all ranks: as tally_scan_plan_create; E_UNSUPPORTED for a reverse scan, for segments, for custom
 * ops and for ranks with another version of tally; E_ARGUMENT for ranks with another descriptor
 * (but for max_n and variant). On one rank: as tally_mpi_create.
 */
TALLY_API tally_status tally_mpi_scanner_create(MPI_Comm comm, tally_context *context, const tally_scan_desc *desc,
                                                tally_mpi_scanner **out);
/* Destroys the scan. Collective before MPI_Finalize. Takes NULL. */
TALLY_API void tally_mpi_scanner_destroy(tally_mpi_scanner *scanner);

/* A rank's share of the items and of the values, in host memory. */
typedef struct tally_mpi_scan_args {
    size_t size;       /* sizeof(tally_mpi_scan_args) */
    uint64_t n;        /* items of this rank; 0 too */
    const void *items; /* n items */
    void *values;      /* gets n values; may be `items` if a value is as wide as an item */
} tally_mpi_scan_args;

/*
 * Scans the items of all ranks, in the order of the ranks. Each rank gets the values of its own
 * items, with the bits of one device's tally_scan of the whole. Collective; blocks.
 *
 * Each share begins at a multiple of TALLY_SCAN_BLOCK items of the whole. So all shares but the
 * last that is not empty have whole blocks. A rank receives the aggregate of each block of the
 * whole.
 * Errors, on all ranks: E_UNSUPPORTED for other shares; E_ARGUMENT for NULL and for more than 2^60
 * items in all; E_MEMORY; E_DEVICE.
 */
TALLY_API tally_status tally_mpi_scan(tally_mpi_scanner *scanner, const tally_mpi_scan_args *args);

#ifdef __cplusplus
}
#endif

#endif
