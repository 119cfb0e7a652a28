/* SPDX-License-Identifier: MIT */
/* ranks.h: declarations shared by the files of libtally_mpi. */
#ifndef TALLY_RANKS_H
#define TALLY_RANKS_H

#include <pthread.h>
#include <stdbool.h>

#include <tally/backend.h>
#include <tally/mpi.h>

#define RANKS_TAG UINT64_C(0x69706d796c6c6174)
#define RANKS_MOST_ITEMS (UINT64_C(1) << 60)
#define RANKS_TEXT_BYTES 448
#define RANKS_WORDS_BYTES 200
#define RANKS_ALL INT32_MIN /* in place of a root: the result goes to all ranks */

/* A rank's message in the first exchange. Joined with that of the next ranks, it tells about all of
 * them. It has the same layout in every version of tally. */
typedef struct ranks_header {
    char version[16];              /* tally's */
    uint64_t identity;             /* of op, types, parameters and root */
    uint64_t n;                    /* items of these ranks; saturates */
    int32_t first;                 /* the lowest of these ranks */
    int32_t failed;                /* the lowest that failed, if status is not 0 */
    uint32_t status;               /* a tally_status */
    uint32_t aligned;              /* 1: shares begin at multiples of TALLY_CHUNK from the first rank's */
    char words[RANKS_WORDS_BYTES]; /* the lowest rank's ops: "sum of f32 for all ranks" */
    char text[RANKS_TEXT_BYTES];   /* the failure */
} ranks_header;

/* An element of the second exchange: this prefix, and behind it a record, or the text of a
 * failure. */
typedef struct ranks_prefix {
    uint64_t bytes;  /* of the record */
    uint32_t status; /* a tally_status */
    int32_t rank;    /* the rank that failed; else the lowest whose items the record has */
} ranks_prefix;

typedef enum ranks_stage {
    RANKS_IDLE,
    RANKS_REDUCING,   /* the share's record is on its way to the host */
    RANKS_EXCHANGING, /* the records travel */
    RANKS_AGREEING,   /* the statuses of folded results travel */
    RANKS_ENDED       /* its status has not been returned yet */
} ranks_stage;

struct tally_mpi {
    uint64_t tag;
    MPI_Comm comm; /* a duplicate of the caller's */
    int rank, size;
    MPI_Datatype header_type;
    MPI_Op header_op, record_op;
    tally_plan *plan;
    bool gathers;                       /* the host cannot join the records: they are gathered, and devices fold them */
    char words[RANKS_WORDS_BYTES - 72]; /* the ops in words: "sum, var of f32" */
    uint32_t inputs;
    uint64_t item_bytes;
    /* [1]: of aligned shares. An element's bytes and its datatype. */
    uint64_t element_bytes[2];
    MPI_Datatype element_type[2];
    unsigned char *mine, *joined; /* elements of either kind */
    tally_buffer *part_buffer;    /* the record or the packet of a share in buffers */
    tally_staging *part;          /* a copy of it, or the packet itself */
    /* If it gathers: an element of each rank, and arguments for tally_part_join. */
    unsigned char *gathered;
    uint64_t gathered_bytes;
    const void **records;
    uint64_t *record_bytes;

    /* The call under way, or the last one. */
    ranks_stage stage;
    bool blocking;
    bool packed; /* the share in buffers is reduced to a packet */
    int aligned; /* 0 or 1 */
    int root;    /* or RANKS_ALL */
    void *result;
    uint64_t first, n, total; /* total 0: it had no items, or failed early */
    tally_queue *queue;
    tally_status status; /* of the share's enqueueing; in RANKS_ENDED of the call */
    char text[RANKS_TEXT_BYTES + 32];
    ranks_header told, heard;
    MPI_Request request;

    /* Guarded by the lock of order.c, if the call does not block. */
    tally_mpi *next;  /* the call begun after this one */
    pthread_t thread; /* the one that began it, or has waited for it or tested it */
};

/* messages.c: the user-defined operations of MPI, and elements. */
void ranks_join_headers(void *left, void *right, int *count, MPI_Datatype *type);
void ranks_join_records(void *left, void *right, int *count, MPI_Datatype *type);
ranks_prefix ranks_read(const unsigned char *element);
void ranks_write(unsigned char *element, ranks_prefix prefix);
/* Makes the element one of a failure. */
void ranks_write_failure(unsigned char *element, tally_status status, int rank, const char *text);
/* Returns the status of an MPI call's result; the text is MPI's. */
tally_status ranks_mpi_status(int code, const char *call);
#define RANKS_MPI(call) ranks_mpi_status((call), #call)

/* mpi.c: an empty tally_mpi; opens and closes what the first exchange needs. */
#define RANKS_NONE                                                                                                             \
    {                                                                                                                          \
        .tag = RANKS_TAG, .comm = MPI_COMM_NULL, .header_type = MPI_DATATYPE_NULL, .header_op = MPI_OP_NULL,                   \
        .record_op = MPI_OP_NULL, .element_type = {MPI_DATATYPE_NULL, MPI_DATATYPE_NULL}, .request = MPI_REQUEST_NULL          \
    }
tally_status ranks_check_comm(MPI_Comm comm, const char *call);
tally_status ranks_open_comm(tally_mpi *mpi, MPI_Comm comm);
void ranks_close(tally_mpi *mpi);
/* Fails with E_NO_DEVICE if the context is NULL. */
tally_status ranks_check_context(const tally_context *context);

/* agree.c: the first exchange. Fills the header of this rank: status and tally_last_error(), or the
 * identity of the plan as it is now, of root and columns. `columns` is 0 for a whole input. */
void ranks_tell(tally_mpi *mpi, tally_status status, uint64_t n, int root, uint64_t columns);
/* Exchanges the headers. Blocks. Returns the status that all ranks return, or MPI's. */
tally_status ranks_agree(tally_mpi *mpi);
/* Mixes a number into an identity. */
uint64_t ranks_mix(uint64_t identity, uint64_t number);
/* The same as ranks_tell with an identity and words that the caller has. */
void ranks_tell_as(tally_mpi *mpi, tally_status status, uint64_t n, uint64_t identity, const char *words);
/* Returns the status of the exchanged headers, and sets the error's text. */
tally_status ranks_heard(const tally_mpi *mpi);

/* Finds the number of items before this rank's, which are n. Collective. */
tally_status ranks_count_before(const tally_mpi *mpi, uint64_t n, uint64_t *first);
/* Returns the failure that an element has, if it has one; the text names the rank. */
tally_status ranks_read_failure(const unsigned char *element);

/* steps.c: the call under way. */
tally_status ranks_begin(tally_mpi *mpi, const tally_mpi_args *args, int root, void *result, bool blocking);
/* Joins the records of all ranks on this rank's device, and writes the result. The elements begin
 * at `gathered`, `step` bytes apart. */
tally_status ranks_fold(tally_mpi *mpi, const unsigned char *gathered, uint64_t step, void *result);
/* Furthers the call under way without waiting for other ranks, or until its end if `wait`. Its
 * status is kept at its end. */
void ranks_further(tally_mpi *mpi, bool wait);

/* order.c: the calls under way of this process. Goes on with the call under way, if there is one,
 * and with this thread's calls before it. Waits for it if `wait`. Returns its status if it has
 * ended. */
tally_status ranks_advance(tally_mpi *mpi, bool wait);
/* Adds a call that does not block and has begun. */
void ranks_enter(tally_mpi *mpi);
/* Removes a call, if it is there. */
void ranks_leave(tally_mpi *mpi);

/* columns.c: many results at once. */
tally_status ranks_reduce_columns(tally_mpi *mpi, const tally_mpi_columns_args *args, int root, void *results);

#endif
