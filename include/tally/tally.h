/* SPDX-License-Identifier: MIT */
/*
 * tally: parallel reductions on any vendor's device through OpenCL and on NVIDIA through CUDA, with
 * the same bits on all.
 *
 * Errors. Every function that can fail returns a tally_status; TALLY_OK is 0. After a failure
 * tally_last_error() has one line of text for the calling thread, and the object of a *_create or
 * *_wrap_* call is NULL. The library never prints, never exits and never changes its inputs.
 * (Drivers may print: POCL's compiler writes "1 error generated." to stderr.)
 *
 * Words. A *context* is an opened device. A *buffer* is device memory. A *queue* is a CUDA stream
 * or an OpenCL command queue. A *plan* is a reduction, scan or move made ready to run: compiled,
 * with its memory allocated. A *feed* is a reduction of host items that come in pieces. A *segment*
 * is a list of items that gives one value: a row, a column, the items between two offsets, a run of
 * equal keys.
 *
 * Headers. core.h has contexts, buffers and queues; ops.h operators; reduce.h reductions of whole
 * inputs; part.h those of parts; devices.h those over several devices; segments.h those of rows,
 * columns, segments and keys; scan.h scans; move.h gather and scatter.
 *
 * Threads. Threads may share a context and may create plans at the same time. A plan or a feed
 * serves one queue and one thread at a time.
 *
 * Destruction. Every *_destroy takes NULL. Buffers, queues, plans and feeds keep their context
 * alive, so they may be destroyed in any order. Before the plans and buffers of enqueued work are
 * destroyed, wait for the queue (tally_queue_wait).
 */
#ifndef TALLY_TALLY_H
#define TALLY_TALLY_H

#include <tally/core.h>
#include <tally/devices.h>
#include <tally/move.h>
#include <tally/ops.h>
#include <tally/part.h>
#include <tally/reduce.h>
#include <tally/scan.h>
#include <tally/segments.h>

#endif
