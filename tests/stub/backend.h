/* SPDX-License-Identifier: MIT */
/*
 * backend.h: a backend for the tests of the core. Its devices are host memory and its kernel
 * language is C. The specialised text of a program is compiled and run, so that results are right.
 * Around it a launch does what the kernels document, and checks every argument. It is as strict as
 * the vtable allows: enqueued work happens only at the wait, objects are checked at every use, and
 * any call can be made to fail.
 */
#ifndef TALLY_TESTS_STUB_BACKEND_H
#define TALLY_TESTS_STUB_BACKEND_H

#include <tally/backend.h>

/* X(kind): the kinds of objects that are opened and must be closed. */
#define STUB_KINDS(X) X(DEVICE) X(MEMORY) X(QUEUE) X(PROGRAM) X(KERNEL) X(EVENT)
#define STUB_KIND(kind) STUB_##kind,
typedef enum stub_kind { STUB_KINDS(STUB_KIND) STUB_KIND_COUNT } stub_kind;
#undef STUB_KIND

/* The error of a device in the self-test. */
typedef enum stub_defect {
    STUB_SOUND,
    STUB_FUSES,
    STUB_REORDERS,
    STUB_FLUSHES,
    STUB_ROUNDS_TWICE,
    STUB_ENDS_LOOPS
} stub_defect;

/* Three devices: a GPU; a CPU that reads host memory in place and has groups of at most 64; and a
 * GPU without f64 and 64-bit atomics and with little local memory. */
enum { STUB_ALPHA, STUB_BETA, STUB_GAMMA, STUB_DEVICES };
#define STUB_LOST "stub: lost"
#define STUB_SPECIALISED "/* specialised:" /* the mark of a reduction's or scan's program */
#define STUB_NO_DEVICE_REASON "the stub was told to have none"

typedef struct stub_state {
    /* Set by the test. */
    int fail_at;            /* the call that fails, from 1; 0: none */
    tally_status fail_with; /* the status of that failure */
    int lost;               /* every later call fails too, as on a lost device */
    int devices;            /* the number of devices */
    stub_defect defect;     /* of all devices */
    const char *missing;    /* a stem that the backend lacks */
    const float *verdicts;  /* 64 results of the trials of SUBGROUPS and ORDER; NULL: there are no such stems */
    int has_prebuilt;       /* every program was compiled with the stub */
    int refuse_binaries;    /* binaries are refused, as after a change of the driver */
    void (*building)(void); /* called at the start of each build from source; may be NULL */
    int in_void;            /* the test is in a function without a status */
    /* Read by the test. */
    int calls;       /* of slots that can fail */
    char failed[32]; /* the slot that was made to fail; "" */
    char text[96];   /* the error text that it set */
    int failed_in_void;
    int open[STUB_KIND_COUNT], opened[STUB_KIND_COUNT];
    char misuse[256];                /* the first breach of the vtable's rules; "" */
    int sources, binaries, prebuilt; /* programs by their form */
    int launches, copies, waits;
} stub_state;

extern stub_state stub;
extern const tally_backend stub_backend;

/* Frees all objects and sets everything as at the start. */
void stub_reset(void);

/* ---- inside the stub ------------------------------------------------------------------------- */

typedef struct stub_memory {
    unsigned char *bytes;
    uint64_t size;
} stub_memory;

/* Notes a breach of the rules. */
void stub_misuse(const char *format, ...) TALLY_PRINTF(1, 2);

#define STUB_MAX_ARGS TALLY_MAX_ARGS
#define STUB_VALUE_BYTES 1024 /* all arguments that are values */

typedef struct stub_launch {
    const char *source;               /* the program's */
    const struct stub_module *module; /* NULL: no reduction's or scan's program */
    char entry[32];
    uint64_t groups;
    uint32_t threads, count;
    stub_memory *mem[STUB_MAX_ARGS];                  /* NULL: a value */
    uint32_t at[STUB_MAX_ARGS], bytes[STUB_MAX_ARGS]; /* place and size of a value in `values` */
    unsigned char values[STUB_VALUE_BYTES];
} stub_launch;

/* launch.c: runs a launch. */
void stub_run(const stub_launch *launch);
/* Returns a number that the text defines, or 0. */
uint32_t stub_defined(const char *source, const char *name);
/* Returns memory at an item offset, or NULL with a note. */
unsigned char *stub_place(const stub_memory *mem, uint64_t at, uint64_t count, uint64_t bytes, const char *what);
/* scan.c: runs the launch if it is one of a scan. Returns whether it is. */
int stub_run_scan(const stub_launch *launch);
/* move.c: runs the launch if it is one of a gather or scatter. Returns whether it is. */
int stub_run_move(const stub_launch *launch);
/* part.c: runs the launch if it is one of a part's record. Returns whether it is. */
int stub_run_part(const stub_launch *launch);
/* fold.c: runs the launch if it is one of the fold of packets. Returns whether it is. */
int stub_run_fold(const stub_launch *launch);

#endif
