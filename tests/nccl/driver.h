/* SPDX-License-Identifier: MIT */
/* driver.h: a library in place of libcuda.so.1, with the calls that libtally_nccl uses. All its
 * state is a thread's. */
#ifndef TALLY_TESTS_NCCL_DRIVER_H
#define TALLY_TESTS_NCCL_DRIVER_H

/* Returns the number of this thread's contexts that are pushed and not popped. */
int standin_pushed(void);

/* Returns whether work that is no kernel was enqueued since the last call. */
int standin_separated(void);

/* Makes streams capture from now on, or not. The name of a symbol: the test opens the library at
 * run time. */
#define STANDIN_CAPTURE "standin_capture"
typedef void standin_capture_call(int capture);

#endif
