/* SPDX-License-Identifier: MIT */
/* prebuild.h: the parts of tally_prebuild, which makes the archive of prebuilt programs
 * (../prebuilt.h) when the library is built. */
#ifndef TALLY_BACKENDS_CUDA_PREBUILD_H
#define TALLY_BACKENDS_CUDA_PREBUILD_H

#include <tally/backend.h>

#include "../prebuilt.h"

/* ---- list.c: which programs ------------------------------------------------------------------ */

typedef struct prebuild_program {
    tally_cuda_archive_row row; /* until the program is compiled only the key is set */
    const char *kind;           /* "reductions", say */
    char name[64];              /* "sum f32, groups of 256" */
    int arch;                   /* the one architecture whose devices ask for it; 0: all ask */
    char *source;
    size_t bytes;
} prebuild_program;

typedef struct prebuild_list {
    prebuild_program *programs; /* sorted by key */
    size_t count;
} prebuild_list;

/*
 * Makes the list of programs for the ops with bit 1 << op in `ops` and the types with bit 1 <<
 * dtype in `dtypes`. These are all programs that reductions on a CUDA device ask for if they leave
 * everything but op, dtype and max_n to the defaults; the scans that list.c names; with all ops the
 * moves that it names; and the self-test and the trials. prebuild_list_free also takes a list that
 * failed.
 */
tally_status prebuild_list_make(uint64_t ops, uint64_t dtypes, prebuild_list *list);
void prebuild_list_free(prebuild_list *list);
/* Prints the programs of each kind and their bytes, after prebuild_archive_write, and the bytes of
 * the archive, in which equal programs share their bytes. */
void prebuild_list_print(const prebuild_list *list, size_t archive_bytes);

/* ---- pack.c: fat binaries -------------------------------------------------------------------- */

#define PREBUILD_ARCHS 16 /* most architectures of an archive */

typedef struct prebuild_target {
    int archs[PREBUILD_ARCHS]; /* 90 is sm_90; ascending */
    int count;
    const char *fatbinary; /* path of the toolkit's program */
} prebuild_target;

/*
 * Compiles a program to machine code for each architecture and to PTX for the first, into the fat
 * binary `path`. Temporary files beside it have names that begin with `path`. Errors: E_BUILD, with
 * what the compiler says; E_INTERNAL for a file.
 */
tally_status prebuild_pack(const prebuild_program *program, const prebuild_target *target, const char *path);

/* ---- archive.c ------------------------------------------------------------------------------- */

/* Writes the path of the fat binary of programs[i], where it waits for the archive. */
void prebuild_fatbin_path(const char *folder, size_t i, char *path, size_t bytes);
/* Writes the archive under another name, reads it again, checks and renames it. *bytes gets its
 * bytes. Errors: E_INTERNAL for a file; E_MEMORY. */
tally_status prebuild_archive_write(const prebuild_list *list, const char *folder, const char *path, size_t *bytes);
/* Returns NULL if the archive is whole, else what is wrong with it. */
const char *prebuild_archive_check(const void *data, size_t bytes);

/* Read and write whole files. The caller frees *data. Errors: E_INTERNAL. */
tally_status prebuild_read_file(const char *path, void **data, size_t *bytes);
tally_status prebuild_write_file(const char *path, const void *data, size_t bytes);

#endif
