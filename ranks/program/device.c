/* SPDX-License-Identifier: MIT */
/* device.c: chooses a rank's device. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "program.h"

/* Returns the rank among the processes of this machine; 0 where MPI does not tell. */
static int local_rank(void) {
    MPI_Comm local;
    int rank = 0;
    if (MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &local) != MPI_SUCCESS) return 0;
    MPI_Comm_rank(local, &rank);
    MPI_Comm_free(&local);
    return rank;
}

static int cuda_devices(void) {
    tally_backend_info info;
    for (size_t i = 0; i < tally_backend_count(); i++)
        if (tally_backend_get(i, &info) == TALLY_OK && strcmp(info.name, "cuda") == 0) return info.devices;
    return 0;
}

/* Tells whether a selection begins with cuda and names no device of it. */
static bool takes_any_cuda(const char *selection) {
    const char *entry = selection + strspn(selection, " ");
    return !*entry || (strncasecmp(entry, "cuda", 4) == 0 && strspn(entry + 4, " ") == strcspn(entry + 4, ","));
}

cli_exit device_open(const cli_options *options, tally_context **out, problem *failed) {
    cli_options mine = *options;
    const char *select = options->backend;
    const int rank = local_rank(); /* collective */
    const char *asked = select && *select ? select : getenv("TALLY_BACKEND");
    char own[32];
    const int devices = !asked || takes_any_cuda(asked) ? cuda_devices() : 0;
    if (devices > 1) {
        snprintf(own, sizeof(own), "cuda:%d", rank % devices);
        mine.backend = own;
    }
    cli_capture(failed->text, sizeof(failed->text));
    const cli_exit code = cli_open(&mine, out);
    cli_capture(NULL, 0);
    return code;
}
