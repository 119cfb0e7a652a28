/* SPDX-License-Identifier: MIT */
/* A CPU without limits, as the planner sees it. Programs that the build makes of a CPU's kernels
 * in C are planned for it. */
#ifndef TALLY_HOST_CPU_H
#define TALLY_HOST_CPU_H

#include "base/base.h"

static const tally_device_info tally_host_cpu = {.backend = "host",
                                                 .name = "host",
                                                 .device_class = TALLY_CLASS_CPU,
                                                 .compute_units = 1,
                                                 .max_group_threads = 1024, /* of variants that have no kernels here */
                                                 .memory_bytes = UINT64_C(1) << 40,
                                                 .max_buffer_bytes = UINT64_C(1) << 40,
                                                 .local_bytes = UINT64_C(1) << 16,
                                                 .has_atomic64 = 1,
                                                 .has_f64 = 1,
                                                 .host_memory = 1,
                                                 .staging_in_place = 1};

#endif
