/* SPDX-License-Identifier: MIT */
/*
 * prebuilt.h: the archive of programs that were compiled when the library was built: a head, rows sorted by key, and a fat binary (machine
 * code of several architectures, and PTX) for each row. It is part of the library; an entry is trusted as the library's code is.
 */
#ifndef TALLY_BACKENDS_CUDA_PREBUILT_H
#define TALLY_BACKENDS_CUDA_PREBUILT_H

#include <stddef.h>
#include <stdint.h>

/* In the byte order of the machine. */
typedef struct tally_cuda_archive_row {
    uint64_t high, low;     /* the key: XXH3's 128 bits of the source text */
    uint64_t offset, bytes; /* of the fat binary, from the archive's start */
} tally_cuda_archive_row;

#define TALLY_CUDA_ARCHIVE_MAGIC "tallyA1"
#define TALLY_CUDA_ARCHIVE_ALIGN 16

typedef struct tally_cuda_archive_head {
    char magic[8];
    uint64_t checksum; /* XXH3 of all that follows it */
    uint64_t bytes;    /* of all */
    uint64_t count;
    tally_cuda_archive_row rows[];
} tally_cuda_archive_head;

/* The library's own; count is 0 where it was built without. */
extern const tally_cuda_archive_head tally_cuda_archive;

/* Sets the key of a row alone. `bytes` are without the final 0. */
void tally_cuda_archive_key(const char *source, size_t bytes, tally_cuda_archive_row *row);
/* Of two rows, by their keys: for qsort and bsearch. */
int tally_cuda_archive_compare(const void *a, const void *b);
/* The fat binary of a source text, or NULL. */
const void *tally_cuda_archive_find(const tally_cuda_archive_head *archive, const char *source, size_t source_bytes,
                                    size_t *bytes);

#endif
