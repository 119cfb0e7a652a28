/* SPDX-License-Identifier: MIT */
/* window.h: memory that NCCL's kernels reach on the other devices of a communicator. */
#ifndef TALLY_RANKS_NCCL_WINDOW_H
#define TALLY_RANKS_NCCL_WINDOW_H

#include "library.h"

/* Zeros but for the first three. */
typedef struct nccl_window {
    const nccl_library *library;
    struct ncclComm *comm;
    size_t bytes;
    struct CUctx_st *context;         /* of the memory */
    void *memory;                     /* NULL before nccl_window_allocate, and if NCCL has no windows */
    struct ncclWindow_vidmem *handle; /* NULL unless it is open */
} nccl_window;

/* Makes the memory in the stream's context, which is no default stream. Returns whether it did. */
bool nccl_window_allocate(nccl_window *window, struct CUstream_st *stream);

/* Makes the memory a window. Collective, on ranks that all have the memory. Blocks. Returns whether
 * it did. A rank whose window is open must close it if another rank's is not. */
bool nccl_window_open(nccl_window *window);
void nccl_window_close(nccl_window *window);

/* Closes the window and frees the memory. */
void nccl_window_free(nccl_window *window);

/* Enqueues what keeps NCCL's next kernel from beginning before the last kernel of the stream has
 * ended. The kernels for windows may begin early, and those of NCCL 2.28.0 to 2.30.6 then await
 * nothing. Does nothing if the window is not open. Errors: E_DEVICE. */
tally_status nccl_window_separate(const nccl_window *window, struct CUstream_st *stream);

#endif
