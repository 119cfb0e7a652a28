/* SPDX-License-Identifier: MIT */
/*
 * Writes COUNT f32 numbers, 0, 1, ... 1023, 0, 1, ..., to standard output, raw and in the machine's
 * byte order. Their sum, min and max are known. Every sum in the canonical order is exact while
 * COUNT / 4096 has few significant bits.
 */
#include <stdio.h>
#include <stdlib.h>

int main(int argc, char **argv) {
    const long count = argc == 2 ? atol(argv[1]) : 0;
    if (count <= 0 || count % 1024) return fprintf(stderr, "usage: %s COUNT, a multiple of 1024\n", argv[0]), 2;
    float ramp[1024];
    for (int i = 0; i < 1024; i++) ramp[i] = (float)i;
    for (long i = 0; i < count; i += 1024)
        if (fwrite(ramp, sizeof(ramp), 1, stdout) != 1) return perror("make_ramp"), 1;
    return fflush(stdout) ? (perror("make_ramp"), 1) : 0;
}
