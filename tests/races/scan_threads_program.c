/* SPDX-License-Identifier: MIT */
/*
 * scan_threads_program FILE OP DTYPE [WORD...]: writes cpu_scan in C for an op of these items.
 * scan_threads.c runs it in threads. Like tally_host_programs (src/host/generate/) it takes the
 * library's own specialiser, and the prelude that makes a CPU's kernels C. Words: exclusive,
 * reverse, segmented; few: the program for few items, a tile for each group; held: every fifth
 * group is held back, until others lose patience and compute what it has not published.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "host/cpu.h"
#include "scan/scan.h"

const char *tally_kernel_source_threads(const char *stem); /* embedded by the build */

static const tally_backend threads = {.name = "threads", .kernel_source = tally_kernel_source_threads};

static tally_status take_word(const char *word, unsigned *flags, uint64_t *max_n) {
    if (!strcmp(word, "exclusive"))
        *flags |= TALLY_SCAN_IS_EXCLUSIVE;
    else if (!strcmp(word, "reverse"))
        *flags |= TALLY_SCAN_IS_REVERSE;
    else if (!strcmp(word, "segmented"))
        *flags |= TALLY_SCAN_IS_SEGMENTED;
    else if (!strcmp(word, "few"))
        *max_n = 1;
    else if (!strcmp(word, "held"))
        *flags |= TALLY_SCAN_HOLDS_BACK;
    else
        return tally_fail(TALLY_E_ARGUMENT, "unknown word '%s'", word);
    return TALLY_OK;
}

static tally_status resolve(int count, char **arguments, tally_terms *terms, tally_scan_launch *launch) {
    const tally_context context = {.backend = &threads, .info = tally_host_cpu, .features = 1u << TALLY_FEATURE_ORDER};
    tally_terms_desc desc = {.count = 0};
    uint64_t max_n = UINT64_C(1) << 32;
    *launch = (tally_scan_launch){.flags = 0};
    tally_status status = tally_op_from_name(arguments[0], &desc.single.op);
    if (!status) status = tally_dtype_from_name(arguments[1], &desc.in);
    for (int i = 2; i < count && !status; i++) status = take_word(arguments[i], &launch->flags, &max_n);
    if (!status) status = tally_scan_variant_find("cpu_scan", &context, &launch->variant);
    if (!status) status = tally_terms_resolve(&desc, terms);
    if (status) return status;
    /* The device has one unit, so any number of items that is not few is many. */
    status = tally_scan_shape(launch, terms, &tally_host_cpu, context.features, max_n);
    if (status) tally_terms_close(terms);
    return status;
}

static tally_status write_text(const char *path, const char *text) {
    FILE *file = fopen(path, "w");
    const bool written = file && fputs(text, file) >= 0;
    if (!file || fclose(file) || !written) return tally_fail(TALLY_E_INTERNAL, "%s cannot be written", path);
    return TALLY_OK;
}

int main(int count, char **arguments) {
    if (count < 4) return fprintf(stderr, "usage: scan_threads_program FILE OP DTYPE [WORD...]\n"), 2;
    tally_terms terms;
    tally_scan_launch launch;
    char *text = NULL;
    size_t bytes;
    tally_status status = resolve(count - 2, arguments + 2, &terms, &launch);
    if (!status) {
        const tally_recipe recipe = tally_scan_recipe(&launch);
        status = tally_source_create(&threads, 1u << TALLY_FEATURE_ORDER, &terms, &recipe, &text, &bytes);
        if (!status) status = write_text(arguments[1], text);
        free(text);
        tally_terms_close(&terms);
    }
    if (status) fprintf(stderr, "scan_threads_program: %s\n", tally_last_error());
    return status != TALLY_OK;
}
