/* SPDX-License-Identifier: MIT */
/* unload: a program opens the library by dlopen, has its threads work, and closes it at once, again
 * and again. The threads outlive the call. Argument: the library's path. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <tally/tally.h>

#define N (1 << 20)

static float items[N];

static void *find(void *library, const char *name) {
    void *found = dlsym(library, name);
    if (!found) fprintf(stderr, "unload: %s\n", dlerror()), exit(1);
    return found;
}

static void reduce(void *library) {
    tally_status (*create)(const char *, tally_context **);
    tally_status (*sum)(tally_context *, tally_op, tally_dtype, const void *, uint64_t, void *);
    void (*destroy)(tally_context *);
    tally_context *context;
    float result = 0;
    *(void **)&create = find(library, "tally_context_create");
    *(void **)&sum = find(library, "tally_reduce_host");
    *(void **)&destroy = find(library, "tally_context_destroy");
    if (create("host", &context) || sum(context, TALLY_SUM, TALLY_F32, items, N, &result)) exit(1);
    destroy(context);
}

int main(int argc, char **argv) {
    for (int i = 0; i < 10; i++) {
        void *library = argc > 1 ? dlopen(argv[1], RTLD_NOW) : NULL;
        if (!library) return fprintf(stderr, "unload: %s\n", argc > 1 ? dlerror() : "the library's path is needed"), 1;
        reduce(library);
        dlclose(library);
        usleep(2000); /* the threads go to sleep */
    }
    return 0;
}
