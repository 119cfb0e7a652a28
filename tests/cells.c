/* SPDX-License-Identifier: MIT */
#include "cells.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Groups that a variant shaped by group size is tested with besides its own. */
static const uint32_t other_groups[] = {32, 64, 1024};

/* A short run tries other groups with one op alone. */
static size_t add(cell *cells, size_t count, const place *at, const char *variant, uint32_t group_items) {
    const tally_op end = quick() && group_items ? TALLY_SUM + 1 : TALLY_OP_END;
    for (tally_op op = TALLY_OP_NONE + 1; op < end; op++)
        for (tally_dtype in = TALLY_DTYPE_DEFAULT + 1; in < TALLY_DTYPE_END; in++, count++) {
            if (!cells) continue;
            cell *c = &cells[count];
            *c = (cell){.at = at, .variant = variant, .group_items = group_items, .op = op, .in = in, .state = CELL_FAILED};
            char group[16] = "";
            if (group_items) snprintf(group, sizeof group, "/%u", group_items);
            snprintf(c->name, sizeof c->name, "%s %s%s %s %s", at->select, variant, group, tally_op_name(op),
                     tally_dtype_name(in));
        }
    return count;
}

/* Writes the cells if there is room for them; returns how many there are. */
static size_t enumerate(cell *cells, const place *places, int place_count) {
    size_t count = 0;
    for (int p = 0; p < place_count; p++) {
        count = add(cells, count, &places[p], "auto", 0);
        for (size_t v = 0; v < tally_variant_count(); v++) {
            tally_variant_info info;
            if (tally_variant_get(v, &info) != TALLY_OK) abort();
            count = add(cells, count, &places[p], info.name, 0);
            for (size_t g = 0; info.group_items > 1 && g < TALLY_ARRAY_LENGTH(other_groups); g++)
                if (other_groups[g] != info.group_items) count = add(cells, count, &places[p], info.name, other_groups[g]);
        }
    }
    return count;
}

cell *cells_create(const place *places, int count, size_t *cells) {
    *cells = enumerate(NULL, places, count);
    cell *array = calloc(*cells ? *cells : 1, sizeof *array);
    if (!array) abort();
    enumerate(array, places, count);
    return array;
}

/* ---- the report ----------------------------------------------------------------------------------------------------- */

static void report_causes(const cell *cells, size_t count) {
    for (size_t c = 0; c < count; c++) {
        if (cells[c].state != CELL_SKIPPED) continue;
        size_t first = 0, same = 0;
        while (cells[first].state != CELL_SKIPPED || strcmp(cells[first].cause, cells[c].cause) != 0) first++;
        if (first < c) continue;
        for (size_t other = c; other < count; other++)
            same += cells[other].state == CELL_SKIPPED && strcmp(cells[other].cause, cells[c].cause) == 0;
        printf("skipped %zu: %s (the first: %s)\n", same, cells[c].cause, cells[c].name);
    }
}

/* The variants that apply: the backend has their kernels, and they make sense on this class of device. auto always does. */
static size_t variants_of(const place *at) {
    size_t count = 1;
    for (size_t v = 0; v < tally_variant_count(); v++) {
        const tally_variant *row = tally_variant_row(v);
        count += at->backend->kernel_source(row->info.stem) && row->classes & 1u << at->info.device_class;
    }
    return count;
}

/* A device without f64 owes nothing in f64. */
static size_t floor_of(const place *at) {
    size_t cells = 0;
    for (tally_op op = TALLY_OP_NONE + 1; op < TALLY_OP_END; op++)
        for (tally_dtype in = TALLY_DTYPE_DEFAULT + 1; in < TALLY_DTYPE_END; in++) cells += in != TALLY_F64 || at->info.has_f64;
    return cells * variants_of(at);
}

static int report_floors(const cell *cells, size_t count, const place *places, int place_count) {
    int good = place_count > 0;
    if (place_count == 0) printf("there is no device: nothing was tested\n");
    for (int p = 0; p < place_count; p++) {
        size_t ran = 0;
        for (size_t c = 0; c < count; c++)
            ran += cells[c].at == &places[p] && cells[c].group_items == 0 && cells[c].state == CELL_RUN;
        const size_t floor = floor_of(&places[p]);
        printf("%s: %zu cells ran with their variant's own group; the floor is %zu%s\n", places[p].select, ran, floor,
               ran < floor ? ": TOO FEW" : "");
        if (ran < floor) good = 0;
    }
    return good;
}

static int same_row(const cell *a, const cell *b) {
    return strcmp(a->at->info.backend, b->at->info.backend) == 0 && strcmp(a->variant, b->variant) == 0;
}

static void report_table(const cell *cells, size_t count) {
    printf("%-12s %-16s %8s %8s %8s\n", "backend", "variant", "run", "skipped", "failed");
    for (size_t c = 0; c < count; c++) {
        size_t first = 0, states[3] = {0};
        while (!same_row(&cells[first], &cells[c])) first++;
        if (first < c) continue;
        for (size_t other = c; other < count; other++)
            if (same_row(&cells[other], &cells[c])) states[cells[other].state]++;
        printf("%-12s %-16s %8zu %8zu %8zu\n", cells[c].at->info.backend, cells[c].variant, states[CELL_RUN],
               states[CELL_SKIPPED], states[CELL_FAILED]);
    }
}

int cells_report(const cell *cells, size_t count, const place *places, int place_count) {
    fflush(stderr);
    report_causes(cells, count);
    const int good = report_floors(cells, count, places, place_count);
    report_table(cells, count);
    fflush(stdout);
    return good ? 0 : 1;
}
