/* SPDX-License-Identifier: MIT */
/* program.h: texts for the backends' compilers, programs made of them and kept, and the part that all plans have in common. */
#ifndef TALLY_SRC_PROGRAM_H
#define TALLY_SRC_PROGRAM_H

#include "device/device.h"
#include "ops/ops.h"

/* ---- source.c ------------------------------------------------------------------------------------------------------ */

#define TALLY_MAX_STEMS 6

/* How the program of a plan is made, apart from what it computes. */
typedef struct tally_recipe {
    const char *variant; /* for error texts */
    uint32_t group_items;
    unsigned features;                  /* bit i: the program uses feature i, where the device has it */
    bool overlaps;                      /* on CUDA: its kernels wait by themselves for what is before them */
    char defines[512];                  /* lines before the specialised part */
    const char *stems[TALLY_MAX_STEMS]; /* the kernel texts after the specialised part */
    size_t stem_count;
} tally_recipe;

void tally_recipe_define(tally_recipe *recipe, const char *name, unsigned value);
void tally_recipe_add(tally_recipe *recipe, const char *stem);

/* Makes the whole source text, to be freed with free(). `features`: of the device. Errors: E_MEMORY; E_UNSUPPORTED for a stem that
 * the backend lacks. */
tally_status tally_source_create(const tally_backend *backend, unsigned features, const tally_terms *terms,
                                 const tally_recipe *recipe, char **text, size_t *bytes);
/* Makes prelude and stem alone, for kernels that reduce nothing; to be freed with free(). `defines`: lines before them, "" for
 * none. Errors: E_UNSUPPORTED where the backend lacks the stem. */
tally_status tally_source_of_stem(const tally_backend *backend, const char *stem, uint32_t group_items, const char *defines,
                                  char **text);
/* The text of a stem: the backend's, or the one of kernels/, which all languages compile. NULL where there is neither. */
const char *tally_kernel_text(const tally_backend *backend, const char *stem);
/* A text of kernels/; NULL if there is none. Made by the build. */
const char *tally_kernel_source_core(const char *stem);

/* ---- probe.c ------------------------------------------------------------------------------------------------------- */

/* Threads of the one group that runs the self-test, or a feature's trial. */
enum { TALLY_PROBE_ITEMS = 1, TALLY_TRIAL_ITEMS = 64 };

/* The self-test of the context's device. Errors: E_UNSUPPORTED with the reason. Called with the context's lock held. */
tally_status tally_probe(tally_context *context);
/* Finds the context's features. Called with the context's lock held. */
void tally_find_features(tally_context *context);

/* ---- program.c ----------------------------------------------------------------------------------------------------- */

/* Runs the self-test and the features' trials once for a context, before anything is compiled for it. */
tally_status tally_context_probe(tally_context *context);
/* Makes a program of a source that the caller closes: prebuilt, or compiled. */
tally_status tally_program_make(const tally_context *context, const tally_program_desc *source, void **program);
/* Finds the program of a plan: in memory, prebuilt, on disk, or compiled. It belongs to the context. */
tally_status tally_program_get(tally_context *context, const tally_terms *terms, const tally_recipe *recipe, void **program);
tally_status tally_program_of_stem(tally_context *context, const char *stem, uint32_t group_items, const char *defines,
                                   void **program);

/* ---- plan.c -------------------------------------------------------------------------------------------------------- */

/* What plans of one kind do in their own way. */
typedef struct tally_plan_kind {
    const char *name; /* "a reduction", for error texts */
    const char *(*variant)(const tally_plan *plan);
    uint64_t (*depth)(const tally_plan *plan, uint64_t n);
    uint64_t (*workspace_bytes)(const tally_plan *plan);
    void (*close)(tally_plan *plan); /* releases what the kind has beyond tally_plan */
} tally_plan_kind;

/* The first member of every kind's plan. */
struct tally_plan {
    tally_tag tag;
    const tally_plan_kind *kind;
    tally_context *context; /* retained */
    tally_terms terms;      /* of moves: count is 0 */
    void *params;           /* the kernels' PARAMS; NULL: there are no terms */
    uint64_t max_n;
};

/* Makes a plan of `bytes` bytes, which begins with a tally_plan and is zero behind it. Takes the terms (NULL: none): on
 * failure they are closed. */
tally_status tally_plan_open(tally_context *context, const tally_plan_kind *kind, size_t bytes, tally_terms *terms,
                             uint64_t max_n, tally_plan **out);
/* Errors: E_ARGUMENT for a plan that is none, or none of this kind (NULL: any). */
tally_status tally_check_plan(const tally_plan *plan, const tally_plan_kind *kind);
/* Errors: E_ARGUMENT for n above the plan's max_n. */
tally_status tally_check_n(const tally_plan *plan, uint64_t n);

/* Where no max_n is given: makes the plan one for as many items as fit the device, `most` at most.
 * `set` makes it one for up to n items, `fits` tells of such a plan. */
void tally_plan_fit(tally_plan *plan, uint64_t most, void (*set)(tally_plan *, uint64_t), bool (*fits)(const tally_plan *));

/* Kernels of a plan: opened in one go, closed in one go. */
tally_status tally_kernel_open(const tally_plan *plan, void *program, const char *entry, void **kernel);
void tally_kernel_close(const tally_plan *plan, void *kernel);

#endif
