/* SPDX-License-Identifier: MIT */
/* .npy files that the program reads and writes. */
#include "cli.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

void write_array(const char *name, const char *descr, bool is_fortran, const char *shape, bool odd, const void *items,
                 size_t bytes) {
    char dictionary[256];
    snprintf(dictionary, sizeof(dictionary), "{'descr': '%s', 'fortran_order': %s, 'shape': %s}", descr,
             is_fortran ? "True" : "False", shape);
    while ((10 + strlen(dictionary)) % 64 != (odd ? 63 : 0)) strcat(dictionary, " ");
    write_npy_dictionary(name, 1, dictionary, items, bytes);
}

/* Returns a file's bytes, or NULL if there is no file. The caller frees them. */
static unsigned char *read_file(const char *name, size_t *bytes) {
    char path[512];
    struct stat about;
    snprintf(path, sizeof(path), "%s/%s", folder_path(), name);
    FILE *file = fopen(path, "rb");
    if (!file) return NULL;
    assert_int_equal(fstat(fileno(file), &about), 0);
    unsigned char *data = malloc((size_t)about.st_size + 1);
    assert_non_null(data);
    *bytes = fread(data, 1, (size_t)about.st_size + 1, file);
    assert_int_equal(*bytes, about.st_size);
    fclose(file);
    return data;
}

void *must_read_npy(const char *name, const char *descr, const char *order, const char *shape, size_t bytes) {
    size_t all = 0;
    char wanted[256];
    unsigned char *file = read_file(name, &all);
    if (!file) fail_msg("there is no %s", name);
    assert_true(all > 10 && memcmp(file, "\x93NUMPY\1", 8) == 0);
    const size_t offset = 10 + (file[8] | (size_t)file[9] << 8);
    snprintf(wanted, sizeof(wanted), "{'descr': '%s', 'fortran_order': %s, 'shape': %s, }", descr, order, shape);
    if (memcmp(file + 10, wanted, strlen(wanted)) != 0) fail_msg("%s: %.80s, should be %s", name, (char *)file + 10, wanted);
    for (const unsigned char *at = file + 10 + strlen(wanted); at < file + offset - 1; at++) assert_int_equal(*at, ' ');
    assert_int_equal(file[offset - 1], '\n');
    assert_int_equal(offset % 64, 0);
    assert_int_equal(all - offset, bytes);
    memmove(file, file + offset, bytes);
    return file;
}

void must_hold(const char *name, const char *descr, const char *order, const char *shape, const void *items, size_t bytes) {
    void *got = must_read_npy(name, descr, order, shape, bytes);
    if (memcmp(got, items, bytes) != 0) fail_msg("%s holds other values", name);
    free(got);
}

void expect_no_rest(const char *words) {
    DIR *folder = opendir(folder_path());
    assert_non_null(folder);
    for (const struct dirent *d; (d = readdir(folder)) != NULL;)
        if (strstr(d->d_name, ".tally-")) fail_msg("%s: left %s behind", words, d->d_name);
    closedir(folder);
}

result must_run(const setup *how, const char *words) {
    const result r = run(how, words);
    if (r.code || *r.err) fail_msg("%s: exit code %d: %s", words, r.code, r.err);
    expect_no_rest(words);
    return r;
}
