/* SPDX-License-Identifier: MIT */
/* Finds a program in the archive that came with the library. */
#include <stdlib.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "prebuilt.h"

void tally_cuda_archive_key(const char *source, size_t bytes, tally_cuda_archive_row *row) {
    const XXH128_hash_t hash = XXH3_128bits(source, bytes);
    row->high = hash.high64;
    row->low = hash.low64;
}

int tally_cuda_archive_compare(const void *first, const void *second) {
    const tally_cuda_archive_row *a = first, *b = second;
    if (a->high != b->high) return a->high < b->high ? -1 : 1;
    return (a->low > b->low) - (a->low < b->low);
}

const void *tally_cuda_archive_find(const tally_cuda_archive_head *archive, const char *source, size_t source_bytes,
                                    size_t *bytes) {
    if (!archive->count) return NULL;
    tally_cuda_archive_row wanted;
    tally_cuda_archive_key(source, source_bytes, &wanted);
    const tally_cuda_archive_row *row =
        bsearch(&wanted, archive->rows, archive->count, sizeof(wanted), tally_cuda_archive_compare);
    if (!row) return NULL;
    *bytes = row->bytes;
    return (const char *)archive + row->offset;
}
