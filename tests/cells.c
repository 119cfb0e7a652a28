/* SPDX-License-Identifier: MIT */
#include "cells.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Groups that a variant shaped by group size is tested with besides its own. */
static const uint32_t other_groups[] = {32, 64, 1024};

/* A canonical variant runs every op and dtype with its own group, the smallest and the largest, and sums with one between. The ladder
 * has many variants, and a program takes a device's compiler up to a second: they run every op and dtype with their own group, a
 * float and an integer sum with others. A short run (quick) leaves out what shows the same again. */
static int is_wanted(int canonical, uint32_t group_items, tally_op op, tally_dtype in) {
    const int sample = op == TALLY_SUM && (in == TALLY_F32 || in == TALLY_I64);
    if (full()) return 1;
    if (canonical && group_items == 64) return op == TALLY_SUM;
    if (canonical) return !quick() || !group_items || op == TALLY_SUM;
    return group_items ? sample && !quick() : sample || !quick();
}

static size_t add(cell *cells, size_t count, const place *at, const char *variant, int canonical, uint32_t group_items) {
    for (tally_op op = TALLY_OP_NONE + 1; op < TALLY_OP_END; op++)
        for (tally_dtype in = TALLY_DTYPE_DEFAULT + 1; in < TALLY_DTYPE_END; in++) {
            if (!is_wanted(canonical, group_items, op, in)) continue;
            if (cells) {
                cell *c = &cells[count];
                *c = (cell){.at = at, .variant = variant, .group_items = group_items, .op = op, .in = in, .state = CELL_FAILED};
                char group[16] = "";
                if (group_items) snprintf(group, sizeof group, "/%u", group_items);
                snprintf(c->name, sizeof c->name, "%s %s%s %s %s", at->select, variant, group, tally_op_name(op),
                         tally_dtype_name(in));
            }
            count++;
        }
    return count;
}

/* Writes the cells if there is room for them; returns how many there are. */
static size_t enumerate(cell *cells, const place *places, int place_count) {
    size_t count = 0;
    for (int p = 0; p < place_count; p++) {
        count = add(cells, count, &places[p], "auto", 1, 0);
        for (size_t v = 0; v < tally_variant_count(); v++) {
            tally_variant_info info;
            if (tally_variant_get(v, &info) != TALLY_OK) abort();
            count = add(cells, count, &places[p], info.name, info.canonical, 0);
            for (size_t g = 0; info.group_items > 1 && g < TALLY_ARRAY_LENGTH(other_groups); g++)
                if (other_groups[g] != info.group_items)
                    count = add(cells, count, &places[p], info.name, info.canonical, other_groups[g]);
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

/* Every op and dtype under every variant that applies: the backend has its kernels, and it makes sense on this class of device; auto
 * always does. A device without f64 owes nothing in f64. */
static size_t floor_of(const place *at) {
    size_t count = 0;
    for (tally_op op = TALLY_OP_NONE + 1; op < TALLY_OP_END; op++)
        for (tally_dtype in = TALLY_DTYPE_DEFAULT + 1; in < TALLY_DTYPE_END; in++) {
            if (in == TALLY_F64 && !at->info.has_f64) continue;
            count++;
            for (size_t v = 0; v < tally_variant_count(); v++) {
                const tally_variant *row = tally_variant_row(v);
                const int applies = at->backend->kernel_source(row->info.stem) && row->classes & 1u << at->info.device_class;
                count += applies && is_wanted(row->info.canonical, 0, op, in);
            }
        }
    return count;
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

/* The bound on float sums must have been put to the test by every such cell. */
static int report_bounds(const cell *cells, size_t count) {
    size_t kept = 0, unbounded = 0, idle = 0;
    for (size_t c = 0; c < count; c++) {
        tally_variant_info info = {.canonical = 1};
        for (size_t v = 0; v < tally_variant_count(); v++) {
            tally_variant_info row;
            if (tally_variant_get(v, &row) == TALLY_OK && strcmp(row.name, cells[c].variant) == 0) info = row;
        }
        const int is_float = cells[c].in == TALLY_F32 || cells[c].in == TALLY_F64;
        const int is_bounded = !info.canonical && is_float && cells[c].op == TALLY_SUM && cells[c].state == CELL_RUN;
        kept += cells[c].kept;
        unbounded += cells[c].unbounded;
        idle += is_bounded && cells[c].kept == 0;
    }
    printf("float sums not in the canonical order: %zu within their bound, %zu without one because they may overflow%s\n", kept,
           unbounded, idle ? ": SOME CELLS CHECKED NONE" : "");
    return idle == 0;
}

int cells_report(const cell *cells, size_t count, const place *places, int place_count) {
    fflush(stderr);
    report_causes(cells, count);
    const int good = report_floors(cells, count, places, place_count) & report_bounds(cells, count);
    report_table(cells, count);
    fflush(stdout);
    return good ? 0 : 1;
}
