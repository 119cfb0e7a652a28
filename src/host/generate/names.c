/* SPDX-License-Identifier: MIT */
/*
 * names.c: the names of a program. Several programs stand in one C file, and each declares the same
 * functions and types. So a program's text stands between macros that put the program's name before
 * them, and ends with an #undef of each macro. The names are those that the text and the headers
 * which it includes declare at the beginning of a line.
 */
#define _POSIX_C_SOURCE 200809L
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "host/generate/generate.h"

#define NAME_BYTES 64

typedef struct name_list {
    char (*names)[NAME_BYTES];
    size_t count;
} name_list;

struct generate_names {
    const char *source;         /* the folder of tally's sources */
    name_list declared, macros; /* of the text */
    char real[NAME_BYTES];      /* what stands for OF in front of a name (kernels/exponentials.h) */
    tally_status status;
};

static bool has(const name_list *list, const char *name) {
    for (size_t i = 0; i < list->count; i++)
        if (!strcmp(list->names[i], name)) return true;
    return false;
}

/* Adds the name of `bytes` bytes, behind a prefix. */
static void add(generate_names *names, name_list *list, const char *prefix, const char *name, size_t bytes) {
    char whole[NAME_BYTES];
    const int length = snprintf(whole, sizeof(whole), "%s%.*s", prefix, (int)bytes, name);
    if (length >= NAME_BYTES) names->status = tally_fail(TALLY_E_INTERNAL, "a long name: %s", whole);
    if (!bytes || names->status || has(list, whole)) return;
    if (!(list->count & (list->count - 1))) {
        void *more = realloc(list->names, (list->count ? 2 * list->count : 1) * NAME_BYTES);
        if (!more) names->status = tally_fail(TALLY_E_MEMORY, "out of memory");
        if (!more) return;
        list->names = more;
    }
    memcpy(list->names[list->count++], whole, NAME_BYTES);
}

/* ---- the words of a line --------------------------------------------------------------------- */

static bool begins(const char *line, const char *word) {
    return !strncmp(line, word, strlen(word));
}

static bool is_of_name(char c) {
    return isalnum((unsigned char)c) || c == '_';
}

static size_t word_bytes(const char *word) {
    size_t bytes = 0;
    while (is_of_name(word[bytes])) bytes++;
    return bytes;
}

/* Returns the word that ends before `end`. */
static const char *word_before(const char *text, const char *end) {
    while (end > text && isspace((unsigned char)end[-1])) end--;
    while (end > text && is_of_name(end[-1])) end--;
    return end;
}

/* Adds the function that is declared from `line` on: the word before the first parenthesis. OF(x)
 * is a word too. */
static void add_function(generate_names *names, const char *line) {
    const char *end = strchr(line, '\n'), *open = strchr(line, '(');
    while (open && open < end) {
        const char *word = word_before(line, open);
        if (!begins(word, "OF(")) {
            add(names, &names->declared, "", word, word_bytes(word));
            return;
        }
        if (open[word_bytes(open + 1) + 2] == '(') {
            add(names, &names->declared, names->real, open + 1, word_bytes(open + 1));
            return;
        }
        open = strchr(open + 1, '(');
    }
}

/* Adds the type that is declared from `line` on: the word before the semicolon. */
static void add_type(generate_names *names, const char *line) {
    const char *at = line;
    for (int depth = 0; *at && (depth || *at != ';'); at++) depth += (*at == '{') - (*at == '}');
    const char *word = word_before(line, at);
    add(names, &names->declared, "", word, word_bytes(word));
}

static void add_macro(generate_names *names, const char *word) {
    add(names, &names->macros, "", word, word_bytes(word));
    if (begins(word, "REAL ")) snprintf(names->real, sizeof(names->real), "%.*s_", (int)word_bytes(word + 5), word + 5);
}

/* ---- texts ----------------------------------------------------------------------------------- */

/* Reads a header, by its name in an #include: below src/, or from src/host/ on. */
static char *read_header(const generate_names *names, const char *name, size_t bytes) {
    char path[4096];
    snprintf(path, sizeof(path), "%s/src/%s%.*s", names->source, begins(name, "host/") ? "" : "host/", (int)bytes, name);
    FILE *file = fopen(path, "rb");
    char *text = NULL;
    size_t room = 0;
    if (!file || getdelim(&text, &room, '\0', file) < 0) {
        free(text);
        text = NULL;
        tally_fail(TALLY_E_INTERNAL, "%s cannot be read", path);
    }
    if (file) fclose(file);
    return text;
}

static void add_text(generate_names *names, const char *text);

static void add_header(generate_names *names, const char *name) {
    char *text = read_header(names, name, strcspn(name, "\""));
    if (!text) names->status = TALLY_E_INTERNAL;
    if (text) add_text(names, text);
    free(text);
}

static void add_text(generate_names *names, const char *text) {
    static const char *const functions[] = {"INLINE ", "OUT_OF_LINE ", "KERNEL ", "static "};
    static const char define[] = "#define ", include[] = "#include \"";
    for (const char *line = text; line && *line && !names->status; line = strchr(line, '\n')) {
        line += *line == '\n';
        if (begins(line, define)) add_macro(names, line + sizeof(define) - 1);
        if (begins(line, include)) add_header(names, line + sizeof(include) - 1);
        if (begins(line, "typedef ")) add_type(names, line);
        for (size_t i = 0; i < TALLY_ARRAY_LENGTH(functions); i++)
            if (begins(line, functions[i])) add_function(names, line);
    }
}

generate_names *generate_names_of(const char *source, const char *text) {
    generate_names *names = calloc(1, sizeof(*names));
    if (!names) return tally_fail(TALLY_E_MEMORY, "out of memory"), NULL;
    names->source = source;
    add_text(names, text);
    if (!names->status) return names;
    generate_names_close(names);
    return NULL;
}

void generate_names_close(generate_names *names) {
    if (!names) return;
    free(names->declared.names);
    free(names->macros.names);
    free(names);
}

void generate_names_begin(FILE *file, const generate_names *names, const char *program) {
    for (size_t i = 0; i < names->declared.count; i++) {
        const char *name = names->declared.names[i];
        if (!has(&names->macros, name)) fprintf(file, "#define %s %s_%s\n", name, program, name);
    }
}

void generate_names_end(FILE *file, const generate_names *names, const generate_names *kept) {
    for (size_t i = 0; i < names->declared.count; i++)
        if (!has(&names->macros, names->declared.names[i])) fprintf(file, "#undef %s\n", names->declared.names[i]);
    for (size_t i = 0; i < names->macros.count; i++)
        if (!has(&kept->macros, names->macros.names[i])) fprintf(file, "#undef %s\n", names->macros.names[i]);
}
