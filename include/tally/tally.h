/* SPDX-License-Identifier: MIT */
/*
 * tally: parallel reductions on any vendor's device through OpenCL and on NVIDIA through CUDA, with
 * the same bits on all.
 *
 * Errors. Every function that can fail returns a tally_status; TALLY_OK is 0. After a failure
 * tally_last_error() has one line of text for the calling thread, and the object of a *_create or
 * *_wrap_* call is NULL. The library never prints, never exits and never changes its inputs.
 * (Drivers may print: POCL's compiler writes "1 error generated." to stderr.) Comments write E_NAME
 * for the status TALLY_E_NAME.
 *
 * Words. A *context* is an opened device. A *buffer* is device memory. A *queue* is a CUDA stream
 * or an OpenCL command queue. A *plan* is a reduction, scan or move made ready to run: compiled,
 * with its memory allocated. A *feed* is a reduction of host items that come in pieces. A *segment*
 * is a list of items that gives one value: a row, a column, the items between two offsets, a run of
 * equal keys.
 *
 * Structs. The first member of a descriptor and of a call's arguments is `size`: set it to the
 * struct's sizeof, and the members that you do not need to 0. A descriptor (of a reduction, of
 * segments, of a scan, of a custom op) may come from an older header: a member beyond `size` is
 * then as if 0. Any other size is E_ARGUMENT.
 *
 * Queues. Calls that "enqueue" return before the device has done the work; on the backend `host`
 * they return after it. Where a call "blocks", it returns when the work is done.
 *
 * Headers. core.h has contexts, buffers and queues; ops.h operators; reduce.h reductions of whole
 * inputs; part.h those of parts; devices.h those over several devices; segments.h those of rows,
 * columns, segments and keys; scan.h scans; move.h gather and scatter.
 *
 * Threads. Threads may share a context and may create plans at the same time. A queue, a plan or a
 * feed serves one thread at a time. A plan serves one queue at a time: before it goes to another,
 * wait for the first.
 *
 * Processes. After a fork the child may go on with objects of the backend `host`. Drivers do not
 * survive a fork: in the child calls with the parent's objects of CUDA and OpenCL fail with
 * E_DEVICE, and there are no devices of a driver that the parent had used.
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
