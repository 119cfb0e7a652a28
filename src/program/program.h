/* SPDX-License-Identifier: MIT */
/* program.h: source texts, the programs made of them, and the common part of all plans. */
#ifndef TALLY_SRC_PROGRAM_H
#define TALLY_SRC_PROGRAM_H

#include "device/device.h"
#include "ops/ops.h"

/* ---- source.c -------------------------------------------------------------------------------- */

#define TALLY_MAX_STEMS 16

/* A recipe: how the program of a plan is made, apart from what it computes. */
typedef struct tally_recipe {
    const char *variant; /* for error texts */
    uint32_t group_threads;
    unsigned features;                  /* bit i: the program uses feature i if the device has it */
    bool overlaps;                      /* CUDA: its kernels wait for the work before them */
    bool has_arrays;                    /* the program uses ACC_ARRAYS, of ACCS accumulators */
    bool has_teams;                     /* teams of threads take chunks: by a table or by signs where the op has them */
    bool guesses;                       /* the program takes chunks by a guess where the op has one */
    const tally_segment_form *segments; /* NULL: the program is not of segments */
    const struct tally_recipe *parts;   /* of the programs that ops have alone; NULL: this one */
    char defines[512];                  /* lines before the prelude */
    const char *stems[TALLY_MAX_STEMS]; /* kernel texts after the specialised part */
    size_t stem_count;
} tally_recipe;

/* Adds a line "#define name value" to the recipe. */
void tally_recipe_define(tally_recipe *recipe, const char *name, unsigned value);
/* Adds a kernel text to the recipe. */
void tally_recipe_add(tally_recipe *recipe, const char *stem);

/* Makes the whole source text, which the caller frees with free(). `features` are the device's.
 * Errors: E_MEMORY; E_UNSUPPORTED for a stem that the backend lacks. */
tally_status tally_source_create(const tally_backend *backend, unsigned features, const tally_terms *terms,
                                 const tally_recipe *recipe, char **text, size_t *bytes);
/* Makes a text of the prelude and one stem, for kernels that reduce nothing. The caller frees it
 * with free(). `defines` are the lines before it, or "". Errors: E_MEMORY; E_UNSUPPORTED for a stem
 * that the backend lacks. */
tally_status tally_source_of_stem(const tally_backend *backend, const char *stem, uint32_t group_threads, const char *defines,
                                  char **text);
/* Returns the text of a stem: the backend's own, or that of kernels/, which all languages compile.
 * NULL if there is neither. */
const char *tally_kernel_text(const tally_backend *backend, const char *stem);
/* Returns a text of kernels/, embedded by the build; NULL if there is none. */
const char *tally_kernel_source_core(const char *stem);

/* ---- probe.c --------------------------------------------------------------------------------- */

/* Threads of the one group that runs the self-test, and of the one that runs a feature's trial. */
enum { TALLY_PROBE_THREADS = 1, TALLY_TRIAL_THREADS = 64 };

/* Runs the self-test of the context's device. Tries ORDER beside it if it is among `features` and
 * the self-test is compiled. The caller holds the context's lock. Errors: E_UNSUPPORTED with the
 * reason; E_MEMORY. */
tally_status tally_probe(tally_context *context, unsigned features);
/* Tries those of `features`, bits 1 << feature, that the context has not tried yet, where the
 * device's class may have them. The caller holds the context's lock. Errors: E_MEMORY. */
tally_status tally_try_features(tally_context *context, unsigned features);

/* ---- program.c ------------------------------------------------------------------------------- */

/* Runs the self-test before anything is compiled for a context, and the trials of `features`, bits
 * 1 << feature, and of those that every program defines. Each runs once for a context. */
tally_status tally_context_probe(tally_context *context, unsigned features);
/* Finds a program that was compiled with the library. NULL: there is none, or the driver is too old
 * for it. The caller closes it. */
void *tally_program_prebuilt(const tally_context *context, const tally_program_desc *source);
/* Makes a program of a source: a prebuilt one, or a compiled one. The caller closes it. */
tally_status tally_program_make(const tally_context *context, const tally_program_desc *source, void **program);
/* Finds or makes the program of a plan. It belongs to the context. */
tally_status tally_program_get(tally_context *context, const tally_terms *terms, const tally_recipe *recipe, void **program);
/* One of several programs. */
typedef struct tally_program_slot {
    tally_recipe recipe;
    unsigned kernels; /* which the caller opens of it */
    void *program;
    tally_status status;
    char error[2048];
} tally_program_slot;
/* As tally_program_get, for several programs of the same terms, which the pool's threads compile at
 * once. */
tally_status tally_programs_get(tally_context *context, const tally_terms *terms, tally_program_slot *slots, uint32_t count);
/* Finds or makes a program of one stem: see tally_source_of_stem. It belongs to the context. */
tally_status tally_program_of_stem(tally_context *context, const char *stem, uint32_t group_threads, const char *defines,
                                   void **program);

/* ---- plan.c ---------------------------------------------------------------------------------- */

/* The functions that differ between the kinds of plans. */
typedef struct tally_plan_kind {
    const char *name; /* "a reduction", for error texts */
    const char *(*variant)(const tally_plan *plan);
    uint64_t (*depth)(const tally_plan *plan, uint64_t n);
    uint64_t (*workspace_bytes)(const tally_plan *plan);
    void (*close)(tally_plan *plan); /* releases the members beyond tally_plan */
} tally_plan_kind;

/* The common part of all plans: the first member of every kind's plan. */
struct tally_plan {
    tally_tag tag;
    const tally_plan_kind *kind;
    tally_context *context; /* retained */
    tally_terms terms;      /* count is 0 for moves */
    void *params;           /* the kernels' PARAMS; NULL if there are no terms */
    uint64_t max_n;
};

/* Makes a plan of `bytes` bytes that begins with a tally_plan; the rest is zero. Takes over the
 * terms (NULL: none) and closes them on failure. */
tally_status tally_plan_open(tally_context *context, const tally_plan_kind *kind, size_t bytes, tally_terms *terms,
                             uint64_t max_n, tally_plan **out);
/* Ends the creation of a plan: gives it out, or destroys it if `status` is an error. Returns the
 * status. */
tally_status tally_plan_give(tally_plan *plan, tally_status status, tally_plan **out);
/* Checks that the plan is one of that kind (NULL: any). Errors: E_ARGUMENT. */
tally_status tally_check_plan(const tally_plan *plan, const tally_plan_kind *kind);
/* Checks n. Errors: E_ARGUMENT if it is above the plan's max_n. */
tally_status tally_check_n(const tally_plan *plan, uint64_t n);

/* Sizes a plan whose descriptor gives no max_n. Finds the largest n, `most` at most, that fits the
 * device. `set` makes the plan one for up to n items; `fits` tells whether that plan fits. */
void tally_plan_fit(tally_plan *plan, uint64_t most, void (*set)(tally_plan *, uint64_t), bool (*fits)(const tally_plan *));

/* Open and close a kernel of a plan. Closing NULL does nothing. */
tally_status tally_kernel_open(const tally_plan *plan, void *program, const char *entry, void **kernel);
void tally_kernel_close(const tally_plan *plan, void *kernel);

#endif
