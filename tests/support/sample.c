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

static uint64_t seed(void) {
    static uint64_t chosen;
    static int is_chosen;
    if (is_chosen) return chosen;
    const char *given = getenv("TALLY_TEST_SEED");
    chosen = given ? strtoull(given, NULL, 10) : (uint64_t)time(NULL) / (24 * 60 * 60);
    is_chosen = 1;
    printf("TALLY_TEST_SEED=%llu\n", (unsigned long long)chosen);
    return chosen;
}

int sample_has(uint64_t number, uint64_t parts) {
    if (is_on("TALLY_TEST_FULL")) return 1;
    const uint64_t place = number + seed() % parts;
    return place % parts == 0 && (!is_on("TALLY_TEST_QUICK") || place / parts % 4 == 0);
}
