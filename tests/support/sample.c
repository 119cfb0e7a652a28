/* SPDX-License-Identifier: MIT */
#include "sample.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static int is_on(const char *variable) {
    const char *value = getenv(variable);
    return value && value[0] && strcmp(value, "0") != 0;
}

uint64_t sample_seed(void) {
    static uint64_t chosen;
    static int is_chosen;
    if (is_chosen) return chosen;
    const char *given = getenv("TALLY_TEST_SEED");
    chosen = given && *given ? strtoull(given, NULL, 10) : (uint64_t)time(NULL) / (24 * 60 * 60);
    is_chosen = 1;
    printf("TALLY_TEST_SEED=%llu\n", (unsigned long long)chosen);
    return chosen;
}

int sample_has(uint64_t number, uint64_t parts) {
    if (is_on("TALLY_TEST_FULL")) return 1;
    const uint64_t at = number + sample_seed() % parts;
    return at % parts == 0 && (!is_on("TALLY_TEST_QUICK") || at / parts % 4 == 0);
}

uint64_t sample_parts(void) {
    const char *given = getenv("TALLY_TEST_PART");
    const uint64_t parts = given && !is_on("TALLY_TEST_FULL") ? strtoull(given, NULL, 10) : 1;
    return parts ? parts : 1;
}

int sample_takes(const char *name) {
    const uint64_t parts = sample_parts();
    if (parts == 1) return 1;
    uint64_t hash = UINT64_C(0xcbf29ce484222325); /* FNV-1a */
    for (const char *c = name; *c; c++) hash = (hash ^ (unsigned char)*c) * UINT64_C(0x100000001b3);
    return ((hash >> 32) + sample_seed()) % parts == 0;
}

int sample_has_turn(uint64_t i) {
    return sample_parts() == 1 || (i + sample_seed()) % 3 == 0;
}
