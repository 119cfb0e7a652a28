/* SPDX-License-Identifier: MIT */
/* report.h: ptxas's report of a kernel. */
#ifndef TALLY_TESTS_NVRTC_REPORT_H
#define TALLY_TESTS_NVRTC_REPORT_H

#include <stddef.h>

#include "backends/cuda/compiler.h"

#define NVRTC_SPILLS (-2)

/* Opens NVRTC. Returns -1 on success. Else prints the reason and returns the exit status: 77
 * (skipped), or 1 if TALLY_TEST_REQUIRE names nvrtc. */
int nvrtc_open(const tally_cuda_compiler **out);

/* Reads ptxas's report of one kernel. Returns the number of registers, or a negative number with a
 * text: NVRTC_SPILLS if the kernel uses local memory. */
int nvrtc_read_report(const char *log, const char *kernel, char *text, size_t bytes);

/* The architectures that the README names. */
static const int nvrtc_archs[] = {75, 80, 86, 89, 90, 100, 120};

#endif
