/* SPDX-License-Identifier: MIT */
/*
 * backend.h: a backend for the tests of the core. Its devices are host memory, its kernel
 * language is C: the specialised text of a program is compiled and run, so that results are right;
 * around it a launch does what the kernels document, and checks every argument. It is as unkind as
 * the vtable allows: what is enqueued happens only when its queue is waited for, objects are
 * checked at every use, and any call can be made to fail.
 */
#ifndef TALLY_TESTS_STUB_BACKEND_H
#define TALLY_TESTS_STUB_BACKEND_H

#include <tally/backend.h>

/* X(kind): what is opened and must be closed. */
#define STUB_KINDS(X) X(DEVICE) X(MEMORY) X(QUEUE) X(PROGRAM) X(KERNEL) X(EVENT)
#define STUB_KIND(kind) STUB_##kind,
typedef enum stub_kind { STUB_KINDS(STUB_KIND) STUB_KIND_COUNT } stub_kind;
#undef STUB_KIND

/* What a device gets wrong in the self-test. */
typedef enum stub_defect { STUB_SOUND, STUB_FUSES, STUB_REORDERS, STUB_FLUSHES, STUB_ENDS_LOOPS } stub_defect;

/* Three devices: a GPU, a CPU that reads host memory in place and has groups of 64 at most, and a
 * GPU without f64 and 64-bit atomics and with little local memory. */
enum { STUB_ALPHA, STUB_BETA, STUB_GAMMA, STUB_DEVICES };
#define STUB_LOST "stub: lost"
#define STUB_SPECIALISED "/* specialised:" /* what tells a reduction's program from the probe's and the like */
#define STUB_NO_DEVICE_REASON "the stub was told to have none"

typedef struct stub_state {
    /* Set by the test. */
    int fail_at;            /* the call that fails, from 1; 0: none */
    tally_status fail_with; /* how */
    int lost;               /* and every call after it fails too, as on a device that is lost */
    int devices;            /* how many there are */
    stub_defect defect;     /* of all devices */
    const char *missing;    /* a stem that there is none of */
    const float *verdicts;  /* what the trials of SUBGROUPS and ORDER give, 64 of them; NULL: it has no such stems */
    int has_prebuilt;       /* every program was compiled with the stub */
    int refuse_binaries;    /* the driver has changed: binaries load no more */
    int in_void;            /* the test is in a function that has no status to return */
    /* Read by the test. */
    int calls;       /* of slots that can fail */
    char failed[32]; /* the slot that was made to fail; "" */
    char text[96];   /* the error text that it set */
    int failed_in_void;
    int open[STUB_KIND_COUNT], opened[STUB_KIND_COUNT];
    char misuse[256];                /* the first breach of the vtable's rules; "" */
    int sources, binaries, prebuilt; /* programs from source, from a binary and prebuilt */
    int launches, copies, waits;
} stub_state;

extern stub_state stub;
extern const tally_backend stub_backend;

/* Everything as at the start; frees what was closed. */
void stub_reset(void);

/* ---- inside the stub ------------------------------------------------------------------------- */

typedef struct stub_memory {
    unsigned char *bytes;
    uint64_t size;
} stub_memory;

/* Notes a breach of the rules. */
void stub_misuse(const char *format, ...) TALLY_PRINTF(1, 2);

#define STUB_MAX_ARGS 17     /* tally_partials of four inputs */
#define STUB_VALUE_BYTES 512 /* of all arguments that are values */

typedef struct stub_launch {
    const char *source;               /* the program's */
    const struct stub_module *module; /* NULL: of no reduction */
    char entry[32];
    uint64_t groups;
    uint32_t threads, count;
    stub_memory *mem[STUB_MAX_ARGS];                  /* NULL: a value */
    uint32_t at[STUB_MAX_ARGS], bytes[STUB_MAX_ARGS]; /* of a value, in `values` */
    unsigned char values[STUB_VALUE_BYTES];
} stub_launch;

/* launch.c: runs it. */
void stub_run(const stub_launch *launch);
/* A number that the text defines; 0 when it does not. */
uint32_t stub_defined(const char *source, const char *name);
/* Memory at an item offset, or NULL with a note. */
unsigned char *stub_place(const stub_memory *mem, uint64_t at, uint64_t count, uint64_t bytes, const char *what);
/* scan.c: runs it if it is one of a scan; whether it is. */
int stub_run_scan(const stub_launch *launch);
/* move.c: runs it if it is one of a gather or scatter; whether it is. */
int stub_run_move(const stub_launch *launch);

#endif
