/* SPDX-License-Identifier: MIT */
/* What the planner asks of a CPU, where there is nothing to refuse: for programs that the build makes of a CPU's kernels in C. */
#ifndef TALLY_HOST_CPU_H
#define TALLY_HOST_CPU_H

#include "base/base.h"

static const tally_device_info tally_host_cpu = {.backend = "host",
                                                 .name = "host",
                                                 .device_class = TALLY_CLASS_CPU,
                                                 .compute_units = 1,
                                                 .max_group_items = 1,
                                                 .memory_bytes = UINT64_C(1) << 40,
                                                 .max_buffer_bytes = UINT64_C(1) << 40,
                                                 .has_f64 = 1,
                                                 .host_memory = 1};

#endif
