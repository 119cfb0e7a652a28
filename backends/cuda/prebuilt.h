/* SPDX-License-Identifier: MIT */
/*
 * prebuilt.h: the archive of programs that were compiled when the library was built. It is part of
 * the library, and an entry is trusted as the library's code is.
 * It has a head, rows sorted by key, and a fat binary for each row: machine code of several
 * architectures, and PTX.
 */
#ifndef TALLY_BACKENDS_CUDA_PREBUILT_H
#define TALLY_BACKENDS_CUDA_PREBUILT_H

#include <stddef.h>
#include <stdint.h>

/* All numbers are in the byte order of the machine. */
typedef struct tally_cuda_archive_row {
    uint64_t high, low;     /* the key: the 128 bits of the source text's XXH3 */
    uint64_t offset, bytes; /* offset: from the archive's start to the fat binary */
} tally_cuda_archive_row;

#define TALLY_CUDA_ARCHIVE_MAGIC "tallyA1"
#define TALLY_CUDA_ARCHIVE_ALIGN 16

typedef struct tally_cuda_archive_head {
    char magic[8];
    uint64_t checksum; /* XXH3 of all bytes behind it */
    uint64_t bytes;    /* of the whole archive */
    uint64_t count;
    tally_cuda_archive_row rows[];
} tally_cuda_archive_head;

/* The library's own archive. Its count is 0 if the library was built without one. */
extern const tally_cuda_archive_head tally_cuda_archive;

/* Sets the key of a row, and nothing else. `bytes` does not count the final 0. */
void tally_cuda_archive_key(const char *source, size_t bytes, tally_cuda_archive_row *row);
/* Compares two rows by their keys, for qsort and bsearch. */
int tally_cuda_archive_compare(const void *a, const void *b);
/* Returns the fat binary of a source text and sets *bytes, or returns NULL. */
const void *tally_cuda_archive_find(const tally_cuda_archive_head *archive, const char *source, size_t source_bytes,
                                    size_t *bytes);

#endif
