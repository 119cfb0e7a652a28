/* SPDX-License-Identifier: MIT */
/* agree.c: the first exchange. Each rank tells its status, its number of items and a number that
 * identifies its op, types, parameters and root. All ranks learn the same. */
#include <stdio.h>
#include <string.h>

#include "ranks.h"

/* Mixes a number into an identity (the finaliser of MurmurHash3, by A. Appleby). */
uint64_t ranks_mix(uint64_t identity, uint64_t number) {
    identity ^= number + UINT64_C(0x9e3779b97f4a7c15);
    identity = (identity ^ identity >> 33) * UINT64_C(0xff51afd7ed558ccd);
    identity = (identity ^ identity >> 33) * UINT64_C(0xc4ceb9fe1a85ec53);
    return identity ^ identity >> 33;
}

/* The checksum of the record of no items is a function of ops, types and parameters. */
static tally_status identify(tally_mpi *mpi, int root, uint64_t columns, uint64_t *identity) {
    unsigned char *record = mpi->mine + sizeof(ranks_prefix);
    const tally_part_host_args none = {
        .size = sizeof(none), .out = record, .out_bytes = mpi->element_bytes[0] - sizeof(ranks_prefix)};
    uint64_t bytes;
    tally_part_info info;
    tally_status status = tally_reduce_part_host(mpi->plan, &none, &bytes);
    if (!status) status = tally_part_describe(record, bytes, &info);
    if (status) return status;
    *identity = ranks_mix(ranks_mix(info.check, (uint64_t)(root + 1) * 2 + mpi->gathers), columns);
    return TALLY_OK;
}

void ranks_tell_as(tally_mpi *mpi, tally_status status, uint64_t n, uint64_t identity, const char *words) {
    ranks_header *told = &mpi->told;
    *told = (ranks_header){.first = mpi->rank, .aligned = 1};
    snprintf(told->version, sizeof(told->version), "%.15s", tally_version());
    if (status) {
        told->status = (uint32_t)status;
        told->failed = mpi->rank;
        snprintf(told->text, sizeof(told->text), "%.*s", RANKS_TEXT_BYTES - 1, tally_last_error());
        return;
    }
    told->identity = identity;
    told->n = n;
    snprintf(told->words, sizeof(told->words), "%s", words);
}

void ranks_tell(tally_mpi *mpi, tally_status status, uint64_t n, int root, uint64_t columns) {
    char of[40] = "", for_whom[24] = "all ranks", words[RANKS_WORDS_BYTES];
    uint64_t identity = 0;
    if (!status) status = identify(mpi, root, columns, &identity);
    if (columns) snprintf(of, sizeof(of), " in %llu columns", (unsigned long long)(columns - 1));
    if (root >= 0) snprintf(for_whom, sizeof(for_whom), "rank %d", root);
    snprintf(words, sizeof(words), "%s%s for %s", mpi->words, of, for_whom);
    ranks_tell_as(mpi, status, n, identity, words);
}

tally_status ranks_heard(const tally_mpi *mpi) {
    const ranks_header *heard = &mpi->heard;
    if (heard->status)
        return tally_fail((tally_status)heard->status, "rank %d: %.*s", heard->failed, RANKS_TEXT_BYTES, heard->text);
    if (heard->n > RANKS_MOST_ITEMS) return tally_fail(TALLY_E_ARGUMENT, "the ranks have more than 2^60 items in all");
    return TALLY_OK;
}

tally_status ranks_agree(tally_mpi *mpi) {
    const tally_status status =
        RANKS_MPI(MPI_Allreduce(&mpi->told, &mpi->heard, 1, mpi->header_type, mpi->header_op, mpi->comm));
    return status ? status : ranks_heard(mpi);
}

tally_status ranks_count_before(const tally_mpi *mpi, uint64_t n, uint64_t *first) {
    const tally_status status = RANKS_MPI(MPI_Exscan(&n, first, 1, MPI_UINT64_T, MPI_SUM, mpi->comm));
    if (mpi->rank == 0) *first = 0; /* MPI leaves it undefined */
    return status;
}
