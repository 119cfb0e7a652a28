/* SPDX-License-Identifier: MIT */
/* move.h: gather and scatter. */
#ifndef TALLY_SRC_MOVE_H
#define TALLY_SRC_MOVE_H

#include "program/program.h"

/* The values that a move's program is specialised for. */
typedef struct tally_move_spec {
    bool scatter;
    uint32_t item_bytes, flags; /* bits such as TALLY_UNCHECKED */
    tally_dtype map;
    bool wide; /* positions in the map take 8 bytes; false: 4 */
    uint32_t group_threads;
    uint32_t flight; /* entries that a thread has in flight */
} tally_move_spec;

/* Checks a descriptor, copies it to `desc` with the defaults filled in, and resolves it for a
 * device. */
tally_status tally_move_resolve(const tally_device_info *device, bool scatter, const tally_move_desc *given,
                                tally_move_desc *desc, tally_move_spec *spec);
/* The stem of moves, and the lines before it in a program's text. */
#define TALLY_MOVE_STEM "move"
typedef struct tally_move_text {
    char text[512];
} tally_move_text;
tally_move_text tally_move_defines(const tally_move_spec *spec);

#endif
