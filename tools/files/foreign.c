/* SPDX-License-Identifier: MIT */
/* foreign.c: see foreign.h. */
#include "foreign.h"

#include <stdio.h>
#include <string.h>

#include "tools/cli.h"

#define LETTERS "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"

typedef struct packer {
    const char *name;
    const char *ending; /* ending of the files' names */
    const char *unpack; /* the command that writes the unpacked file to standard output */
    const char *magic;  /* first bytes of the files */
} packer;

static const packer packers[] = {
    {"gzip", ".gz", "zcat", "\x1f\x8b"},
    {"bzip2", ".bz2", "bzcat", "BZh"},
    {"xz", ".xz", "xzcat", "\xfd\x37zXZ"},
    {"zstd", ".zst", "zstdcat", "\x28\xb5\x2f\xfd"},
};
static const char *const other_endings[] = {".csv", ".tsv", ".txt", ".npz", ".zip"};

#define BYTE_ORDER_MARK "\xef\xbb\xbf" /* of UTF-8 */
#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static bool ends_with(const char *name, const char *ending) {
    const size_t n = strlen(name), e = strlen(ending);
    return n > e && strcmp(name + n - e, ending) == 0;
}

bool foreign_by_name(const char *name) {
    bool found = false;
    for (size_t i = 0; i < COUNT(packers); i++) found = found || ends_with(name, packers[i].ending);
    for (size_t i = 0; i < COUNT(other_endings); i++) found = found || ends_with(name, other_endings[i]);
    return found;
}

/* Returns the name for a command that is copied into a shell. Returns FILE for a name with
 * characters that are special to the shell. */
static const char *for_shell(const char *name) {
    return *name == '-' || name[strspn(name, LETTERS "0123456789_./+-")] ? "FILE" : name;
}

/* Returns true for text: it has a digit, and its only control characters are tabs and line ends.
 * Bytes from 128 on may be letters of a heading. */
static bool is_text(const unsigned char *start, size_t bytes) {
    bool digit = false;
    for (size_t i = 0; i < bytes; i++) {
        if (start[i] == 127 || (start[i] < ' ' && !memchr("\t\n\r", start[i], 3))) return false;
        digit = digit || (start[i] >= '0' && start[i] <= '9');
    }
    return digit;
}

/* Reports a text file, with a command that reads it. The command depends on the first line. */
static void report_text(const char *name, const unsigned char *start, size_t bytes) {
    char line[FOREIGN_BYTES + 1];
    memcpy(line, start, bytes);
    line[bytes] = 0;
    line[strcspn(line, "\r\n")] = 0;
    const bool has_mark = strncmp(line, BYTE_ORDER_MARK, strlen(BYTE_ORDER_MARK)) == 0;
    const char *first = line + (has_mark ? strlen(BYTE_ORDER_MARK) : 0);
    first += *first == '"';
    const char *delimiter = strchr(line, ';') ? ", delimiter=';'" : strchr(line, ',') ? ", delimiter=','" : "";
    cli_report("%s: looks like text%s: convert it, with NumPy: python3 -c \"import numpy as n; "
               "n.save('out.npy', n.loadtxt('%s'%s%s%s%s))\"",
               name, *delimiter ? " (CSV)" : "", for_shell(name), delimiter, strchr(line, '"') ? ", quotechar=chr(34)" : "",
               *first && strchr(LETTERS, *first) ? ", skiprows=1" : "", has_mark ? ", encoding='utf-8-sig'" : "");
}

bool foreign_report_packed(const char *name, const char *type, const unsigned char *start, size_t bytes) {
    for (size_t i = 0; i < COUNT(packers); i++) {
        const packer *p = &packers[i];
        if (bytes < strlen(p->magic) || memcmp(start, p->magic, strlen(p->magic)) != 0) continue;
        cli_report("%s: compressed by %s: %s %s | tally ...%s%s -", name, p->name, p->unpack, for_shell(name),
                   type ? " --dtype " : "", type ? type : "");
        return true;
    }
    if (bytes >= 4 && memcmp(start, "PK\3\4", 4) == 0) {
        cli_report("%s: a zip archive (.npz?): unpack it, and name the .npy files in it", name);
        return true;
    }
    return false;
}

bool foreign_report(const char *name, const char *type, const unsigned char *start, size_t bytes) {
    if (foreign_report_packed(name, type, start, bytes)) return true;
    if (is_text(start, bytes)) return report_text(name, start, bytes), true;
    return false;
}
