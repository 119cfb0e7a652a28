/* SPDX-License-Identifier: MIT */
/* segments.h: a context of the backend `host` with a plan of segments of each kind and buffers. */
#ifndef TALLY_TESTS_CORE_SEGMENTS_H
#define TALLY_TESTS_CORE_SEGMENTS_H

#include "core.h"

#define SEGMENTS_ITEMS 200
#define SEGMENTS_RESULTS 60
#define SEGMENTS_MAX_N 150
#define SEGMENTS_MAX_SEGMENTS 50

typedef struct segment_parts {
    tally_context *context, *other;
    tally_queue *queue, *other_queue;
    tally_plan *axes, *offsets, *keys, *masked, *apart, *pairs, *whole; /* sums of f32; `pairs` is a dot */
    tally_buffer *in, *where, *begins;                                  /* zeros */
    tally_buffer *out, *out2, *lengths, *runs;                          /* poison */
    tally_buffer *strange;                                              /* of the other context */
} segment_parts;

/* A sum of f32 with these limits. */
tally_segments_desc segments_desc(tally_segments_by by);
/* The terms of the plan `apart`. */
extern const tally_term_desc two_terms[2];
void segments_open(segment_parts *p);
void segments_close(segment_parts *p);
/* Fails if a call has written to one of the outputs. */
void segments_untouched(segment_parts *p);

#endif
