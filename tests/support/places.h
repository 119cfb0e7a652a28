/* SPDX-License-Identifier: MIT */
/*
 * places.h: the devices that a test program runs on, and the environment that it reads:
 *   TALLY_TEST_REQUIRE=cuda,opencl  these backends must have a device (cuda: a GPU), or the program
 *                                   fails
 *   TALLY_TEST_DEVICE=SELECTION     only this device, as in TALLY_BACKEND
 *                                   (nvrtc and oclgrind, for other tests, may be named too)
 *   TALLY_TEST_FULL=1               every variant with every op and dtype (cells.c): hours on a CPU
 *   TALLY_TEST_SHARE=K/N            each Nth cell of the matrix, from the Kth on: programs share a
 *                                   long run; turn/N: in a sampled run another share each day
 *   TALLY_TEST_SEED=N, TALLY_TEST_PART=N
 *                                   samples of long lists (sample.h)
 *   TALLY_TEST_QUICK=1              fewer shapes and patterns, for runs under sanitizers
 *   TALLY_CACHE_DIR                 the program cache; without it, a temporary one
 */
#ifndef TALLY_TESTS_PLACES_H
#define TALLY_TESTS_PLACES_H

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>

#include <cmocka.h>

#include <tally/tally.h>

#include "reduce/reduce.h"
#include "folders.h"

typedef struct place {
    const tally_backend *backend;
    tally_device_info info;
    char select[32];        /* BACKEND:INDEX */
    tally_context *context; /* NULL: it did not open, for the reason in `error` */
    char error[512];
} place;

#define MAX_PLACES 32

/* Returns whether the device's backend compiles programs. `host` does not: it has the built-in ops
 * with their own types alone. */
int has_compiler(const place *at);
/* Skips the test where it has none. */
void need_compiler(const place *at);
/* Returns 1 if this run takes entry i of a short list (sample_has_turn). A device that compiles
 * nothing takes all. */
int has_turn(const place *at, uint64_t i);

/* Finds the devices, opens a context on each and prints them. Returns their number, or -1 with a
 * printed reason if the environment asks for something that is not here. */
int places_open(place *places);
void places_close(place *places, int count);

/* TALLY_TEST_QUICK asks for less, TALLY_TEST_FULL for more. */
int quick(void);
int full(void);

/* Fails the test with tally_last_error() unless the call returns TALLY_OK. */
#define MUST(call) must(call, #call, __FILE__, __LINE__)
void must(tally_status status, const char *call, const char *file, int line);

#endif
