/* SPDX-License-Identifier: MIT */
/*
 * The program cache on disk: a directory of the user's own with one file an entry, named by its
 * key. An entry is a header with the key and a checksum, then the payload. It is written under
 * another name and then renamed, so a reader sees all of it or nothing. An entry that fails its
 * check is dropped and compiled anew. Nothing here fails: without a directory, programs are
 * compiled each time.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "device/device.h"

struct tally_cache {
    char dir[512];
};

/* The header before the payload, in the machine's byte order: the directory belongs to one
 * machine's user. */
typedef struct header {
    char magic[8];
    tally_key key;
    uint64_t bytes;
    uint64_t checksum;
} header;

static const char magic[8] = "tallyP1";

/* Makes all parts of the path, as mkdir -p does. Only the user may enter the last one. */
static bool make_directory(const char *path) {
    char part[512];
    snprintf(part, sizeof(part), "%s", path);
    for (char *slash = strchr(part + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
        *slash = 0;
        if (mkdir(part, 0777) && errno != EEXIST) return false;
        *slash = '/';
    }
    return !mkdir(path, 0700) || errno == EEXIST;
}

/* Puts the working directory before a path without one, so that a later chdir does not lead to a
 * directory that nobody has checked. Returns false, with errno set, if it cannot. */
static bool make_absolute(char *dir, size_t bytes) {
    char here[512], relative[512];
    if (dir[0] == '/') return true;
    snprintf(relative, sizeof(relative), "%s", dir);
    if (!getcwd(here, sizeof(here))) return false;
    const int length = snprintf(dir, bytes, "%s/%s", here, relative);
    errno = ENAMETOOLONG;
    return length >= 0 && (size_t)length < bytes;
}

/* Chooses the path of the cache's directory. Returns false, with the reason in `note`, if there
 * is none or the cache is turned off. */
static bool choose_directory(char *dir, size_t bytes, char *note, size_t note_bytes) {
    const char *own = getenv("TALLY_CACHE_DIR"), *xdg = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
    int length;
    if (own) {
        if (!own[0] || !strcmp(own, "off")) return snprintf(note, note_bytes, "turned off by TALLY_CACHE_DIR"), false;
        length = snprintf(dir, bytes, "%s", own);
    } else if (xdg && xdg[0] == '/') {
        length = snprintf(dir, bytes, "%s/tally", xdg);
    } else if (home && home[0]) {
        length = snprintf(dir, bytes, "%s/.cache/tally", home);
    } else {
        return snprintf(note, note_bytes, "none of TALLY_CACHE_DIR, XDG_CACHE_HOME and HOME is set"), false;
    }
    if (length < 0 || (size_t)length >= bytes) return snprintf(note, note_bytes, "the directory's path is too long"), false;
    while (length > 1 && dir[length - 1] == '/') dir[--length] = 0;
    return make_absolute(dir, bytes) ||
           (snprintf(note, note_bytes, "a path in the working directory: %s", strerror(errno)), false);
}

tally_cache *tally_cache_open(char *dir, size_t dir_bytes, char *note, size_t note_bytes) {
    dir[0] = note[0] = 0;
    char path[400];
    if (!choose_directory(path, sizeof(path), note, note_bytes)) return NULL;
    struct stat stat;
    if (!make_directory(path) || lstat(path, &stat))
        return snprintf(note, note_bytes, "%.*s: %s", 180, path, strerror(errno)), NULL;
    /* Machine code is loaded from here, so nobody else may write here. */
    if (!S_ISDIR(stat.st_mode) || stat.st_uid != geteuid() || (stat.st_mode & (S_IWGRP | S_IWOTH)))
        return snprintf(note, note_bytes, "%.*s is not a directory that only this user can write", 180, path), NULL;
    if (access(path, W_OK | X_OK)) return snprintf(note, note_bytes, "%.*s: %s", 180, path, strerror(errno)), NULL;
    tally_cache *cache = malloc(sizeof(*cache));
    if (!cache) return snprintf(note, note_bytes, "out of memory"), NULL;
    snprintf(cache->dir, sizeof(cache->dir), "%s", path);
    snprintf(dir, dir_bytes, "%s", path);
    return cache;
}

void tally_cache_close(tally_cache *cache) {
    free(cache);
}

tally_key tally_cache_key(const tally_device_info *device, const char *source, size_t bytes) {
    /* Each text counts with its final 0, so that two lists of texts never give the same bytes. */
    const char *texts[] = {TALLY_VERSION,  device->backend, device->platform,     device->name,
                           device->driver, source,          device->build_options};
    XXH3_state_t state;
    XXH3_128bits_reset(&state);
    for (size_t i = 0; i < TALLY_ARRAY_LENGTH(texts); i++)
        XXH3_128bits_update(&state, texts[i], (texts[i] == source ? bytes : strlen(texts[i])) + 1);
    const XXH128_hash_t hash = XXH3_128bits_digest(&state);
    return (tally_key){hash.low64, hash.high64};
}

static void entry_path(const tally_cache *cache, tally_key key, char path[600]) {
    snprintf(path, 600, "%s/%016llx%016llx.bin", cache->dir, (unsigned long long)key.high, (unsigned long long)key.low);
}

FILE *tally_file_open(const char *path) {
    const int handle = open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    if (handle < 0) return NULL;
    struct stat stat;
    FILE *file = NULL;
    if (fstat(handle, &stat) == 0 && S_ISREG(stat.st_mode))
        file = fdopen(handle, "rb");
    else
        errno = ENXIO;
    if (file) return file;
    const int kept = errno;
    close(handle);
    return errno = kept, NULL;
}

/* Tells whether the process may write a file of that size (ulimit -f). SIGXFSZ would end it
 * otherwise. */
static bool may_write(uint64_t bytes) {
    struct rlimit limit;
    return getrlimit(RLIMIT_FSIZE, &limit) || limit.rlim_cur == RLIM_INFINITY || bytes <= limit.rlim_cur;
}

void *tally_cache_load(tally_cache *cache, tally_key key, size_t *bytes, bool *damaged) {
    *damaged = false;
    if (!cache) return NULL;
    char path[600];
    entry_path(cache, key, path);
    FILE *file = tally_file_open(path);
    if (!file && errno != ENXIO) return NULL;
    header head = {0};
    void *data = NULL;
    struct stat stat;
    bool good = file && !fstat(fileno(file), &stat) && fread(&head, sizeof(head), 1, file) == 1 &&
                !memcmp(head.magic, magic, sizeof(magic)) && head.key.low == key.low && head.key.high == key.high &&
                head.bytes > 0 && (uint64_t)stat.st_size == sizeof(head) + head.bytes;
    if (good) {
        data = malloc(head.bytes);
        if (!data) return fclose(file), NULL;
        good = fread(data, head.bytes, 1, file) == 1 && XXH3_64bits(data, head.bytes) == head.checksum;
    }
    if (file) fclose(file);
    if (good) return *bytes = head.bytes, data;
    free(data);
    *damaged = true;
    remove(path); /* removes an empty directory too */
    return NULL;
}

void tally_cache_store(tally_cache *cache, tally_key key, const void *data, size_t bytes) {
    if (!cache || !bytes || !may_write(sizeof(header) + bytes)) return;
    char path[600], temporary[640];
    entry_path(cache, key, path);
    snprintf(temporary, sizeof(temporary), "%s.XXXXXX", path);
    header head = {.key = key, .bytes = bytes, .checksum = XXH3_64bits(data, bytes)};
    memcpy(head.magic, magic, sizeof(magic));
    const int handle = mkostemp(temporary, O_CLOEXEC);
    if (handle < 0) return;
    FILE *file = fdopen(handle, "wb");
    if (!file) {
        close(handle);
        unlink(temporary);
        return;
    }
    bool good = fwrite(&head, sizeof(head), 1, file) == 1 && fwrite(data, bytes, 1, file) == 1;
    good = !fclose(file) && good;
    if (!good || rename(temporary, path)) unlink(temporary);
}

void tally_cache_drop(tally_cache *cache, tally_key key) {
    if (!cache) return;
    char path[600];
    entry_path(cache, key, path);
    unlink(path);
}
