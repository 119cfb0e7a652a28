/* SPDX-License-Identifier: MIT */
#include "report.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SKIPPED_STATUS 77

int nvrtc_open(const tally_cuda_compiler **out) {
    const char *require = getenv("TALLY_TEST_REQUIRE");
    setvbuf(stdout, NULL, _IOLBF, 0);
    if (!tally_cuda_compiler_get(out)) return -1;
    const int is_required = require && strstr(require, "nvrtc");
    printf("%s: %s\n", is_required ? "failed" : "skipped", tally_last_error());
    return is_required ? 1 : SKIPPED_STATUS;
}

int nvrtc_read_report(const char *log, const char *kernel, char *text, size_t bytes) {
    char entry[96];
    snprintf(entry, sizeof(entry), "Compiling entry function '%s'", kernel);
    const char *report = strstr(log, entry);
    if (!report) return snprintf(text, bytes, "the compiler reports nothing of %s: %s", kernel, log), -1;
    unsigned stack = 1, stores = 1, loads = 1;
    int registers = 0;
    const char *line = strstr(report, " bytes stack frame"); /* the text before the number depends on the version */
    while (line && line > report && strchr("0123456789", line[-1])) line--;
    const char *used = line ? strstr(line, "Used ") : NULL;
    if (!used ||
        sscanf(line, "%u bytes stack frame, %u bytes spill stores, %u bytes spill loads", &stack, &stores, &loads) != 3 ||
        sscanf(used, "Used %d registers", &registers) != 1)
        return snprintf(text, bytes, "%s: a report of another form: %s", kernel, report), -1;
    if (!stack && !stores && !loads) return registers;
    snprintf(text, bytes, "%s uses local memory: %u bytes of stack, %u and %u bytes of spills", kernel, stack, stores, loads);
    return NVRTC_SPILLS;
}
