/* SPDX-License-Identifier: MIT */
/* host.h: shared by the files of the backend `host`. */
#ifndef TALLY_BACKENDS_HOST_H
#define TALLY_BACKENDS_HOST_H

#include <tally/backend.h>

#include "base/base.h"
#include "host/programs.h"

typedef struct host_mem {
    unsigned char *bytes;
    void *own; /* mem_close frees it; NULL for the caller's memory */
} host_mem;

/* An op of a program, and its places in an accumulator, a result and the parameters. */
typedef struct host_part {
    const tally_host_program *program;
    uint32_t acc_offset, result_offset, param_offset;
} host_part;

/* A program: ops over the same items, a scan, or a stem. */
typedef struct host_program {
    const tally_host_key *key;        /* of the text, or of the first part's */
    uint32_t acc_bytes, result_bytes; /* of all parts */
    bool has_segments;                /* it is of segments */
    tally_segment_form segments;
    uint32_t part_count; /* 0 for moves and the like */
    host_part parts[];
} host_program;

/* A kernel: an entry of a program. A launch of it has ended when the call returns. */
typedef struct host_kernel host_kernel;
typedef void (*host_entry)(host_kernel *kernel, uint64_t groups, const tally_arg *args);
struct host_kernel {
    host_entry run;
    uint32_t args; /* how many arguments it takes */
    uint32_t inputs;
    const host_program *of;
    const tally_host_program *program; /* of the first part */
    unsigned form;
    uint32_t threads; /* that may run its groups at once */
    void *scratch;    /* of scans and segments: a part for each thread */
};

/* Returns the logarithm of a power of two. */
static inline uint32_t host_log(uint32_t power) {
    uint32_t log = 0;
    while (power >> log > 1) log++;
    return log;
}

/* The value of an argument of type T. */
#define HOST_VALUE(T, arg) (*(const T *)(arg).value)
static inline unsigned char *host_bytes(const tally_arg *arg) {
    return ((const host_mem *)arg->mem)->bytes;
}

/* Each finds the kernel's entry; false if there is none of that name. */
bool tally_host_reduce_entry(host_kernel *kernel, const char *entry);
bool tally_host_move_entry(host_kernel *kernel, const char *entry);
bool tally_host_part_entry(host_kernel *kernel, const char *entry);
bool tally_host_fold_entry(host_kernel *kernel, const char *entry);
bool tally_host_keys_entry(host_kernel *kernel, const char *entry);
/* Scans and segments also make the kernel's scratch. */
tally_status tally_host_scan_entry(host_kernel *kernel, const char *entry);
tally_status tally_host_scan_axis_entry(host_kernel *kernel, const char *entry);
tally_status tally_host_segments_entry(host_kernel *kernel, const char *entry);

#endif
