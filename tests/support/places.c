/* SPDX-License-Identifier: MIT */
#define _XOPEN_SOURCE 700
#include "places.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "sample.h"
#include "test_main.h"

static int is_set(const char *variable) {
    const char *value = getenv(variable);
    return value && *value && strcmp(value, "0") != 0;
}

int quick(void) {
    return is_set("TALLY_TEST_QUICK");
}

int full(void) {
    return is_set("TALLY_TEST_FULL");
}

void must(tally_status status, const char *call, const char *file, int line) {
    if (status == TALLY_OK) return;
    print_error("%s: %s: %s\n", call, tally_status_name(status), tally_last_error());
    _fail(file, line);
}

int has_compiler(const place *at) {
    return strcmp(at->info.backend, "host") != 0;
}

void need_compiler(const place *at) {
    if (!has_compiler(at)) test_skip("the backend compiles nothing");
}

int has_turn(const place *at, uint64_t i) {
    return !has_compiler(at) || sample_has_turn(i);
}

/* ---- devices --------------------------------------------------------------------------------- */

static char own_cache[512];

static void use_own_cache(void) {
    if (getenv("TALLY_CACHE_DIR")) return;
    folder_make(own_cache, sizeof own_cache);
    setenv("TALLY_CACHE_DIR", own_cache, 1);
}

/* Finds the one device that TALLY_TEST_DEVICE selects. Returns 0 if it is unset, -1 if the device
 * is not here. */
static int find_only(tally_device_info *only) {
    const char *selection = getenv("TALLY_TEST_DEVICE");
    if (!selection || !*selection) return 0;
    tally_context *context;
    tally_context_info info;
    if (tally_context_create(selection, &context) != TALLY_OK || tally_context_get_info(context, &info) != TALLY_OK) {
        fprintf(stderr, "TALLY_TEST_DEVICE=%s: %s\n", selection, tally_last_error());
        return -1;
    }
    *only = info.device;
    tally_context_destroy(context);
    return 1;
}

static void open_place(place *at, const tally_backend *backend, const tally_device_info *info) {
    memset(at, 0, sizeof *at);
    at->backend = backend;
    at->info = *info;
    snprintf(at->select, sizeof at->select, "%.15s:%d", info->backend, info->index);
    if (tally_context_create(at->select, &at->context) != TALLY_OK) {
        at->context = NULL;
        snprintf(at->error, sizeof at->error, "%s", tally_last_error());
    }
    printf("%s: %s (%s, %s, driver %s, f64 %s, host memory %s)%s%s\n", at->select, info->name, info->platform,
           tally_device_class_name(info->device_class), info->driver, info->has_f64 ? "yes" : "no",
           info->host_memory ? "in place" : "copied", at->context ? "" : ": NOT OPENED: ", at->error);
}

/* Returns whether the backend has what TALLY_TEST_REQUIRE asks of it. Tools in that list concern
 * other tests. */
static int has_required(const char *name, const place *places, int count) {
    if (strcmp(name, "nvrtc") == 0 || strcmp(name, "oclgrind") == 0) return 1;
    for (int p = 0; p < count; p++)
        if (strcmp(places[p].info.backend, name) == 0 &&
            (strcmp(name, "cuda") != 0 || places[p].info.device_class == TALLY_CLASS_GPU))
            return 1;
    return 0;
}

static int check_required(const place *places, int count) {
    const char *required = getenv("TALLY_TEST_REQUIRE");
    char list[256];
    int good = 1;
    snprintf(list, sizeof list, "%s", required ? required : "");
    for (char *next = list, *name; (name = strtok(next, ", ")) != NULL; next = NULL)
        if (!has_required(name, places, count)) {
            fprintf(stderr, "TALLY_TEST_REQUIRE=%s: there is no %s device to test\n", required, name);
            good = 0;
        }
    return good;
}

int places_open(place *places) {
    int count = 0;
    tally_device_info only;
    use_own_cache();
    const int restricted = find_only(&only);
    if (restricted < 0) return -1;
    for (size_t b = 0; b < tally_backend_count(); b++) {
        tally_backend_info backend;
        if (tally_backend_get(b, &backend) != TALLY_OK) {
            fprintf(stderr, "tally_backend_get(%zu): %s\n", b, tally_last_error());
            return -1;
        }
        if (backend.devices == 0) printf("%s: no device: %s\n", backend.name, backend.reason);
        for (int d = 0; d < backend.devices && count < MAX_PLACES; d++) {
            tally_device_info info;
            if (tally_device_get(backend.name, d, &info) != TALLY_OK) {
                fprintf(stderr, "tally_device_get(%s, %d): %s\n", backend.name, d, tally_last_error());
                return -1;
            }
            if (!restricted || (strcmp(info.backend, only.backend) == 0 && info.index == only.index))
                open_place(&places[count++], tally_backend_at(b), &info);
        }
    }
    return check_required(places, count) ? count : -1;
}

void places_close(place *places, int count) {
    for (int p = 0; p < count; p++) tally_context_destroy(places[p].context);
    if (own_cache[0]) folder_remove(own_cache);
}
