/* SPDX-License-Identifier: MIT */
/* items.h: the items of the study of reductions and scans. */
#ifndef TALLY_STUDY_ITEMS_H
#define TALLY_STUDY_ITEMS_H

#include "oracle/oracle.h"
#include "study.h"

/* A recipe says how items are made, and how their combination rounds. */
typedef struct study_recipe {
    oracle_case what;
    oracle_shape shape;
    bool exact;        /* every order gives the same bits */
    bool rounds;       /* some order may round the items */
    unsigned thinning; /* 1 item in 2^thinning is kept, the others are 0 */
} study_recipe;

/* Makes the recipe for inputs of up to n items. */
study_recipe study_recipe_for(const study_request *request, uint64_t n);
/* Makes the items first to first + count - 1. */
void study_items_make(const study_recipe *recipe, uint64_t first, uint64_t count, unsigned char *items);

/* input.c: the recipe of an input, and all its items, which are kept for segments. */
const study_recipe *study_input_recipe(const study_input *input);
const unsigned char *study_input_items(const study_input *input);

#endif
