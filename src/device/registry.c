/* SPDX-License-Identifier: MIT */
/* The backends built in or registered, and the way from a selection such as "cuda:1,opencl:pocl"
 * to a device. */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/did_you_mean.h"
#include "device/device.h"

#ifdef TALLY_WITH_CUDA
extern const tally_backend tally_backend_cuda;
#endif
#ifdef TALLY_WITH_OPENCL
extern const tally_backend tally_backend_opencl;
#endif

extern const tally_backend tally_backend_host;

#define MAX_BACKENDS 8

static const tally_backend *backends[MAX_BACKENDS + 1] = {
#ifdef TALLY_WITH_CUDA
    &tally_backend_cuda,
#endif
#ifdef TALLY_WITH_OPENCL
    &tally_backend_opencl,
#endif
    &tally_backend_host, NULL};

size_t tally_backend_count(void) {
    size_t count = 0;
    while (backends[count]) count++;
    return count;
}

const tally_backend *tally_backend_at(size_t index) {
    return index < tally_backend_count() ? backends[index] : NULL;
}

/* Compares a text with a name without regard to case. */
static bool is_name(const char *text, size_t length, const char *name) {
    return strlen(name) == length && !strncasecmp(text, name, length);
}

static const tally_backend *find_backend(const char *name, size_t length) {
    for (size_t i = 0; backends[i]; i++)
        if (is_name(name, length, backends[i]->name)) return backends[i];
    return NULL;
}

/* Tells whether a selection may hold the name. "cuda" and "opencl" are known to every build, so
 * that "cuda,opencl" means the same everywhere. */
static bool known_name(const char *name, size_t length) {
    static const char *const known[] = {"cuda", "opencl"};
    for (size_t i = 0; i < TALLY_ARRAY_LENGTH(known); i++)
        if (is_name(name, length, known[i])) return true;
    return find_backend(name, length) != NULL;
}

tally_status tally_backend_register(const tally_backend *backend) {
    if (!backend) return TALLY_NAMED(tally_fail(TALLY_E_ARGUMENT, "backend is NULL"));
    if (backend->abi != TALLY_BACKEND_ABI)
        return TALLY_NAMED(tally_fail(TALLY_E_ARGUMENT, "ABI %u: this library has %u", backend->abi, TALLY_BACKEND_ABI));
    if (!backend->name || !backend->name[0] || strlen(backend->name) >= sizeof((tally_backend_info){0}.name))
        return TALLY_NAMED(tally_fail(TALLY_E_ARGUMENT, "a name of 1 to 15 characters is needed"));
    /* Every member after the name is a slot. */
    void (*const *slots)(void) = (void (*const *)(void))(const void *)&backend->device_count;
    const size_t count = (sizeof(*backend) - offsetof(tally_backend, device_count)) / sizeof(*slots);
    for (size_t i = 0; i < count; i++)
        if (!slots[i])
            return TALLY_NAMED(tally_fail(TALLY_E_ARGUMENT, "tally_backend_register(%s): slot %zu of %zu is NULL",
                                          backend->name, i + 1, count));
    if (find_backend(backend->name, strlen(backend->name)))
        return TALLY_NAMED(tally_fail(TALLY_E_ARGUMENT, "there is a backend '%s' already", backend->name));
    const size_t used = tally_backend_count();
    if (used == MAX_BACKENDS) return TALLY_NAMED(tally_fail(TALLY_E_ARGUMENT, "%d backends at most", MAX_BACKENDS));
    backends[used] = backend;
    return TALLY_OK;
}

tally_status tally_backend_get(size_t index, tally_backend_info *out) {
    if (!out) return TALLY_NAMED(tally_fail(TALLY_E_ARGUMENT, "out is NULL"));
    const tally_backend *backend = tally_backend_at(index);
    if (!backend)
        return TALLY_NAMED(tally_fail(TALLY_E_ARGUMENT, "index %zu: there are %zu backends", index, tally_backend_count()));
    tally_backend_info info = {0};
    snprintf(info.name, sizeof(info.name), "%s", backend->name);
    const tally_status status = backend->device_count(&info.devices, info.reason, sizeof(info.reason));
    if (!status) *out = info;
    return TALLY_NAMED(status);
}

/* Appends a and b to a text of `bytes` bytes. */
static void append(char *text, size_t bytes, const char *a, const char *b) {
    const size_t used = strlen(text);
    snprintf(text + used, bytes - used, "%s%s", a, b);
}

static void list_backends(char *text, size_t bytes) {
    text[0] = 0;
    for (size_t i = 0; backends[i]; i++) append(text, bytes, i ? ", " : "", backends[i]->name);
    if (!text[0]) append(text, bytes, "none", "");
}

tally_status tally_device_get(const char *name, int index, tally_device_info *out) {
    if (!name || !out) return TALLY_NAMED(tally_fail(TALLY_E_ARGUMENT, "%s is NULL", name ? "out" : "backend"));
    const tally_backend *backend = find_backend(name, strlen(name));
    if (!backend) {
        char names[256];
        list_backends(names, sizeof(names));
        return TALLY_NAMED(tally_fail(TALLY_E_ARGUMENT, "unknown backend '%s': %sthere are %s", name,
                                      tally_did_you_mean(name, strlen(name), names).text, names));
    }
    int count = 0;
    char reason[256] = "";
    const tally_status status = backend->device_count(&count, reason, sizeof(reason));
    if (status) return TALLY_NAMED(status);
    if (index < 0 || index >= count)
        return TALLY_NAMED(
            tally_fail(TALLY_E_NO_DEVICE, "%s has no device %d: it has %d%s%s", name, index, count, count ? "" : ": ", reason));
    return TALLY_NAMED(backend->device_info(index, out));
}

static bool contains_ignoring_case(const char *text, const char *part, size_t length) {
    for (; *text; text++) {
        size_t i = 0;
        while (i < length && text[i] && tolower((unsigned char)text[i]) == tolower((unsigned char)part[i])) i++;
        if (i == length) return true;
    }
    return false;
}

/* Lists every device here, for the error text of a selection that found none. */
static void list_devices(char *text, size_t bytes) {
    text[0] = 0;
    for (size_t b = 0; backends[b]; b++) {
        int count = 0;
        char reason[256] = "";
        if (backends[b]->device_count(&count, reason, sizeof(reason))) count = 0;
        for (int i = 0; i < count; i++) {
            tally_device_info info;
            char label[192];
            if (backends[b]->device_info(i, &info)) continue;
            snprintf(label, sizeof(label), "%s:%d (%s)", backends[b]->name, i, info.name);
            append(text, bytes, text[0] ? ", " : "", label);
        }
        if (!count) {
            char label[320];
            snprintf(label, sizeof(label), "%s has none (%s)", backends[b]->name, reason);
            append(text, bytes, text[0] ? ", " : "", label);
        }
    }
    if (!text[0]) append(text, bytes, "no backend was built in", "");
}

/* Matches an entry's device, an index or a part of a name (NULL: any), with one backend. *device
 * stays as it is if nothing matches. */
static tally_status match(const tally_backend *backend, const char *wanted, size_t length, int *device) {
    int count = 0;
    char reason[256];
    tally_status status = backend->device_count(&count, reason, sizeof(reason));
    if (status || !count) return status;
    if (!wanted) return *device = 0, TALLY_OK;
    size_t digits = 0;
    while (digits < length && isdigit((unsigned char)wanted[digits])) digits++;
    if (digits == length) {
        const unsigned long index = strtoul(wanted, NULL, 10);
        if (length < 10 && index < (unsigned long)count) *device = (int)index;
        return TALLY_OK;
    }
    for (int i = 0; i < count; i++) {
        tally_device_info info;
        status = backend->device_info(i, &info);
        if (status) return status;
        if (contains_ignoring_case(info.name, wanted, length) || contains_ignoring_case(info.platform, wanted, length))
            return *device = i, TALLY_OK;
    }
    return TALLY_OK;
}

tally_status tally_select(const char *selection, const char *by, const tally_backend **out, int *out_device) {
    /* All entries are checked before the first is tried, so that no typing error hides behind a
     * device that is there. */
    for (int trying = 0; trying < 2; trying++) {
        for (const char *entry = selection;;) {
            const char *end = entry + strcspn(entry, ",");
            while (*entry == ' ') entry++;
            size_t length = (size_t)(end - entry);
            while (length && entry[length - 1] == ' ') length--;
            const char *colon = memchr(entry, ':', length);
            const size_t name_length = colon ? (size_t)(colon - entry) : length;
            const size_t wanted_length = colon ? length - name_length - 1 : 0;
            const tally_backend *backend = find_backend(entry, name_length);
            int device = -1;
            if (!trying && !known_name(entry, name_length)) {
                char names[256];
                list_backends(names, sizeof(names));
                return tally_fail(TALLY_E_ARGUMENT, "%s '%s': unknown backend '%.*s': %sthere are %s", by, selection,
                                  (int)name_length, entry, tally_did_you_mean(entry, name_length, names).text, names);
            }
            if (!trying && colon && !wanted_length)
                return tally_fail(TALLY_E_ARGUMENT, "%s '%s': no device after '%.*s'", by, selection, (int)length, entry);
            if (trying && backend) {
                const tally_status status = match(backend, colon ? colon + 1 : NULL, wanted_length, &device);
                if (status) return status;
                if (device >= 0) return *out = backend, *out_device = device, TALLY_OK;
            }
            if (!*end) break;
            entry = end + 1;
        }
    }
    char here[1200];
    list_devices(here, sizeof(here));
    return tally_fail(TALLY_E_NO_DEVICE, "%s '%s': no such device here: %s", by, selection, here);
}
