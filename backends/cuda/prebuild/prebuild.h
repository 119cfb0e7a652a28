/* SPDX-License-Identifier: MIT */
/* prebuild.h: the parts of tally_prebuild, which makes the archive of prebuilt programs (../prebuilt.h) when the library is built. */
#ifndef TALLY_BACKENDS_CUDA_PREBUILD_H
#define TALLY_BACKENDS_CUDA_PREBUILD_H

#include <tally/backend.h>

#include "../prebuilt.h"

/* ---- list.c: which programs ----------------------------------------------------------------------------------------- */

typedef struct prebuild_program {
    tally_cuda_archive_row row; /* until it is compiled: its key alone */
    char name[64];              /* "sum f32, groups of 256" */
    int arch;                   /* the only architecture whose devices ask for it; 0: all do */
    char *source;
    size_t bytes;
} prebuild_program;

typedef struct prebuild_list {
    prebuild_program *programs; /* sorted by their keys */
    size_t count;
} prebuild_list;

/*
 * Every program that plans on a CUDA device ask for when they leave all but op, dtype and max_n to the defaults, and those of the self-test
 * and of the trials. Bit 1 << op of `ops`, 1 << dtype of `dtypes`: which. prebuild_list_free takes a list that failed too.
 */
tally_status prebuild_list_make(uint64_t ops, uint64_t dtypes, prebuild_list *list);
void prebuild_list_free(prebuild_list *list);

/* ---- pack.c: fat binaries ------------------------------------------------------------------------------------------- */

#define PREBUILD_ARCHS 16 /* the most there may be */

typedef struct prebuild_target {
    int archs[PREBUILD_ARCHS]; /* 90 is sm_90; ascending */
    int count;
    const char *fatbinary; /* the toolkit's program */
} prebuild_target;

/* Compiles a program to machine code for each architecture and to PTX for the first, into the fat binary `path`; files beside it, whose
 * names begin with that, come and go. Errors: E_BUILD for what a compiler says; E_INTERNAL for a file. */
tally_status prebuild_pack(const prebuild_program *program, const prebuild_target *target, const char *path);

/* ---- archive.c ------------------------------------------------------------------------------------------------------ */

/* Where the fat binary of programs[i] is put, before there is an archive. */
void prebuild_fatbin_path(const char *folder, size_t i, char *path, size_t bytes);
/* Writes the archive: under another name, read again, checked and renamed. Errors: E_INTERNAL for a file; E_MEMORY. */
tally_status prebuild_archive_write(const prebuild_list *list, const char *folder, const char *path);
/* NULL, or what is wrong with it. */
const char *prebuild_archive_check(const void *data, size_t bytes);

/* Whole files; what is read is to be freed. Errors: E_INTERNAL. */
tally_status prebuild_read_file(const char *path, void **data, size_t *bytes);
tally_status prebuild_write_file(const char *path, const void *data, size_t bytes);

#endif
