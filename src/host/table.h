/* SPDX-License-Identifier: MIT */
/* table.h: the words of the generated table of programs, which is compiled for each instruction
 * set ISA, and the self-test. */
#include "host/prelude.h"
#include "../../kernels/probe.h"
#include "host/shared_steps.h"

#define JOINED(a, b) a##_##b
#define NAMED(name, isa) JOINED(name, isa)
#define DECLARE(name) extern const tally_host_program NAMED(tally_host_##name, ISA);
#define ROW(name) &NAMED(tally_host_##name, ISA),
#define CODE                                                                                                                   \
    extern const tally_host_code NAMED(tally_host_code, ISA);                                                                  \
    const tally_host_code NAMED(tally_host_code, ISA) = {programs, sizeof(programs) / sizeof(programs[0]), tally_probe, SHARED};
