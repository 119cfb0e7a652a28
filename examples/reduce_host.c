/* SPDX-License-Identifier: MIT */
/* reduce_host.c: reduces an array in the host's memory to one value, in one call. TALLY_BACKEND
 * chooses the device. */
#include <stdio.h>

#include <tally/tally.h>

int main(void) {
    enum { N = 1000000 };
    static float x[N];
    for (int i = 0; i < N; i++) x[i] = (float)(i % 100);

    tally_context *context = NULL;
    float sum, largest;
    /* Every call returns a status. tally_last_error() has the text of a failure. */
    if (tally_context_create(NULL, &context) || tally_reduce_host(context, TALLY_SUM, TALLY_F32, x, N, &sum) ||
        tally_reduce_host(context, TALLY_MAX, TALLY_F32, x, N, &largest)) {
        fprintf(stderr, "reduce_host: %s\n", tally_last_error());
        tally_context_destroy(context);
        return 1;
    }
    tally_context_destroy(context);
    printf("sum %.9g, max %.9g\n", sum, largest);
    /* 10,000 times 0 + 1 + ... + 99. f32 holds it and all partials exactly. */
    return sum == 49500000.0f && largest == 99.0f ? 0 : 1;
}
