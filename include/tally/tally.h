/* SPDX-License-Identifier: MIT */
/*
 * tally: parallel reductions on any vendor's device through OpenCL and on NVIDIA through CUDA, with the same bits on all.
 *
 * Every function that can fail returns a tally_status; TALLY_OK is 0. After a failure tally_last_error() holds one line of
 * text for the calling thread, and what *_create and *_wrap_* make is NULL. The library never prints, never exits and never changes the
 * caller's data. (Drivers may print: POCL's compiler writes "1 error generated." to stderr.)
 *
 * Words: a *context* is an opened device; a *buffer* is device memory; a *queue* is a CUDA stream or an OpenCL command queue;
 * a *plan* is a reduction made ready to run (compiled, its workspace taken). Contexts may be shared between threads, plans may
 * be created from any thread; one plan or feed serves one queue and one thread at a time.
 *
 * Destroying: every *_destroy takes NULL. Buffers, queues, plans and feeds keep their context alive, so the order of
 * destruction is free; what is enqueued must have ended (tally_queue_wait) before its plan or buffers are destroyed.
 */
#ifndef TALLY_TALLY_H
#define TALLY_TALLY_H

#include <tally/core.h>
#include <tally/move.h>
#include <tally/ops.h>
#include <tally/reduce.h>
#include <tally/scan.h>

#endif
