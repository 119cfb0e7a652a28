/* SPDX-License-Identifier: MIT */
/* messages.c: the messages between ranks, and the operations by which MPI joins them. MPI may join
 * messages in any association, but not in another order. */
#include <stdio.h>
#include <string.h>

#include "ranks.h"

tally_status ranks_mpi_status(int code, const char *call) {
    if (code == MPI_SUCCESS) return TALLY_OK;
    char text[MPI_MAX_ERROR_STRING] = "";
    int length;
    if (MPI_Error_string(code, text, &length) != MPI_SUCCESS) text[0] = 0;
    return tally_fail(TALLY_E_DEVICE, "%.*s: %s (%d)", (int)strcspn(call, "("), call, text, code);
}

/* ---- headers --------------------------------------------------------------------------------- */

/* Compares the lowest rank of `b` with that of `a`, which is before it. */
static void compare(const ranks_header *a, ranks_header *b) {
    char text[RANKS_TEXT_BYTES] = "";
    if (strncmp(a->version, b->version, sizeof(a->version)) != 0) {
        b->status = TALLY_E_UNSUPPORTED;
        snprintf(text, sizeof(text), "it has tally %.15s, and the ranks before it %.15s", b->version, a->version);
    } else if (a->identity != b->identity) {
        b->status = TALLY_E_ARGUMENT;
        if (strcmp(a->words, b->words) == 0)
            snprintf(text, sizeof(text), "it reduces %s by other parameters or types than the ranks before it", b->words);
        else
            snprintf(text, sizeof(text), "it reduces %s, and the ranks before it %s", b->words, a->words);
    } else {
        return;
    }
    b->failed = b->first;
    memcpy(b->text, text, sizeof(text));
}

/* The failure of the lowest rank stays. So the outcome does not depend on the association. */
static void join(const ranks_header *a, ranks_header *b) {
    ranks_header out = *a;
    if (!a->status) {
        /* b's lowest rank has an identity unless it failed itself. */
        if (!b->status || b->failed != b->first) {
            ranks_header compared = *b;
            compare(a, &compared);
            if (compared.status) *b = compared;
        }
        if (b->status) {
            out.status = b->status;
            out.failed = b->failed;
            memcpy(out.text, b->text, sizeof(out.text));
        }
    }
    out.n = a->n > UINT64_MAX - b->n ? UINT64_MAX : a->n + b->n;
    out.aligned = a->aligned && b->aligned && (!b->n || a->n % TALLY_CHUNK == 0);
    *b = out;
}

void ranks_join_headers(void *left, void *right, int *count, MPI_Datatype *type) {
    (void)type;
    for (int i = 0; i < *count; i++) {
        ranks_header a, b; /* copies: MPI's buffers may have any alignment */
        memcpy(&a, (char *)left + (size_t)i * sizeof(a), sizeof(a));
        memcpy(&b, (char *)right + (size_t)i * sizeof(b), sizeof(b));
        join(&a, &b);
        memcpy((char *)right + (size_t)i * sizeof(b), &b, sizeof(b));
    }
}

/* ---- records --------------------------------------------------------------------------------- */

ranks_prefix ranks_read(const unsigned char *element) {
    ranks_prefix prefix;
    memcpy(&prefix, element, sizeof(prefix));
    return prefix;
}

void ranks_write(unsigned char *element, ranks_prefix prefix) {
    memcpy(element, &prefix, sizeof(prefix));
}

void ranks_write_failure(unsigned char *element, tally_status status, int rank, const char *text) {
    ranks_write(element, (ranks_prefix){.status = (uint32_t)status, .rank = rank});
    snprintf((char *)element + sizeof(ranks_prefix), RANKS_TEXT_BYTES, "%.*s", RANKS_TEXT_BYTES - 1, text);
}

tally_status ranks_read_failure(const unsigned char *element) {
    const ranks_prefix prefix = ranks_read(element);
    if (!prefix.status) return TALLY_OK;
    return tally_fail((tally_status)prefix.status, "rank %d: %.*s", prefix.rank, RANKS_TEXT_BYTES,
                      (const char *)element + sizeof(prefix));
}

static void join_elements(const unsigned char *left, unsigned char *right, size_t bytes) {
    const ranks_prefix a = ranks_read(left);
    ranks_prefix b = ranks_read(right);
    if (a.status) {
        memcpy(right, left, sizeof(a) + RANKS_TEXT_BYTES);
    } else if (!b.status) {
        const void *const parts[] = {left + sizeof(a), right + sizeof(b)};
        const uint64_t part_bytes[] = {a.bytes, b.bytes};
        const tally_status status = tally_part_join(NULL, parts, part_bytes, 2, right + sizeof(b), bytes - sizeof(b), &b.bytes);
        if (status)
            ranks_write_failure(right, status, b.rank, tally_last_error());
        else
            ranks_write(right, (ranks_prefix){.bytes = b.bytes, .rank = a.rank});
    }
}

void ranks_join_records(void *left, void *right, int *count, MPI_Datatype *type) {
    MPI_Aint low, bytes;
    if (MPI_Type_get_extent(*type, &low, &bytes) != MPI_SUCCESS) return;
    for (MPI_Aint i = 0; i < *count; i++)
        join_elements((unsigned char *)left + i * bytes, (unsigned char *)right + i * bytes, (size_t)bytes);
}
