/* SPDX-License-Identifier: MIT */
/*
 * docs_tables: the tables in README.md and docs/, made anew from the tables in the code. A table stands between the lines
 * "<!-- table: NAME -->" and "<!-- end table -->". Usage: docs_tables [--write] FOLDER: without --write it only compares, and fails on
 * a difference, on a table that it does not know, and where there is none at all.
 */
#define _XOPEN_SOURCE 700
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core.h"

/* ---- the tables ----------------------------------------------------------------------------------------------------- */

/* Which items' types give another type, and that the others give their own. */
static void print_result_types(FILE *out, tally_op op) {
    const char *separator = "";
    for (tally_dtype in = TALLY_DTYPE_DEFAULT + 1; in < TALLY_DTYPE_END; in++) {
        const tally_dtype result = tally_result_dtype(op, in);
        if (result == in) continue;
        fprintf(out, "%s`%s` of `%s`", separator, tally_dtype_name(result), tally_dtype_name(in));
        separator = ", ";
    }
    fputs(*separator ? ", else the items'" : "the items'", out);
}

static void print_ops(FILE *out) {
    fputs("| op | what it gives | type of the result | the same in any order |\n|---|---|---|---|\n", out);
    for (tally_op op = TALLY_OP_NONE + 1; op < TALLY_OP_END; op++) {
        fprintf(out, "| `%s` | %s | ", tally_op_name(op), tally_op_summary(op));
        print_result_types(out, op);
        fprintf(out, " | %s |\n", tally_op_find(op)->exact ? "yes" : "integers yes; floats by the canonical order");
    }
}

static void print_dtypes(FILE *out) {
    fputs("| dtype | bytes | what it is |\n|---|---|---|\n", out);
    for (tally_dtype dtype = TALLY_DTYPE_DEFAULT + 1; dtype < TALLY_DTYPE_END; dtype++)
        fprintf(out, "| `%s` | %zu | %s |\n", tally_dtype_name(dtype), tally_dtype_bytes(dtype),
                tally_dtype_find(dtype)->summary);
}

/* A device of a class that lacks nothing. */
static tally_device_info device_of(tally_device_class device_class) {
    return (tally_device_info){.device_class = device_class,
                               .max_group_items = UINT32_MAX,
                               .local_bytes = UINT64_MAX,
                               .has_f64 = 1,
                               .host_memory = device_class == TALLY_CLASS_CPU};
}

static const char *default_variant(tally_device_class device_class) {
    const tally_device_info device = device_of(device_class);
    const tally_variant *variant;
    return tally_variant_find(NULL, &device, &variant) ? "none" : variant->info.name;
}

static void print_variants(FILE *out) {
    fputs("| variant | the step it shows | documents | finishes by | items of a group | devices | canonical order | why it "
          "exists |\n"
          "|---|---|---|---|---|---|---|---|\n",
          out);
    for (size_t v = 0; v < tally_variant_count(); v++) {
        tally_variant_info info;
        if (tally_variant_get(v, &info) != TALLY_OK) abort();
        fprintf(out, "| `%s` | %s | %s | %s | %u | ", info.name, info.step, info.source[0] ? info.source : "-", info.finish,
                info.group_items);
        const char *separator = "";
        for (tally_device_class c = 1; c < TALLY_CLASS_END; c++)
            if (tally_variant_row(v)->classes & 1u << c) {
                fprintf(out, "%s%s", separator, tally_device_class_name(c));
                separator = ", ";
            }
        fprintf(out, " | %s | %s |\n", info.canonical ? "yes" : "no", info.why);
    }
}

static void print_status(FILE *out) {
    fputs("| status | value | what it says |\n|---|---|---|\n", out);
    for (int status = 0; status < TALLY_STATUS_END; status++)
        fprintf(out, "| `%s` | %d | %s |\n", tally_status_name((tally_status)status), status,
                tally_status_text((tally_status)status));
}

static void print_device_classes(FILE *out) {
    fputs("| class | what it is | `auto` |\n|---|---|---|\n", out);
#define TALLY_ROW(id, value, name, summary)                                                                                    \
    fprintf(out, "| `%s` | %s | `%s` |\n", name, summary, default_variant(TALLY_CLASS_##id));
    TALLY_DEVICE_CLASS_TABLE(TALLY_ROW)
#undef TALLY_ROW
}

static const struct {
    const char *name;
    void (*print)(FILE *out);
} tables[] = {{"ops", print_ops},
              {"dtypes", print_dtypes},
              {"variants", print_variants},
              {"status", print_status},
              {"device_classes", print_device_classes}};

/* ---- the files ------------------------------------------------------------------------------------------------------ */

#define BEGIN "<!-- table: "
#define END "<!-- end table -->\n"

static char *read_text(const char *path) {
    FILE *file = fopen(path, "rb");
    char *text = NULL;
    long bytes = -1;
    if (file && fseek(file, 0, SEEK_END) == 0) bytes = ftell(file);
    if (bytes >= 0 && (text = calloc(1, (size_t)bytes + 1)) != NULL) {
        rewind(file);
        if (fread(text, 1, (size_t)bytes, file) != (size_t)bytes) {
            free(text);
            text = NULL;
        }
    }
    if (file) fclose(file);
    return text;
}

/* Copies a text with its tables made anew; how many there were, or -1 for one that is not known or has no end. */
static int regenerate(const char *path, const char *text, FILE *out) {
    int found = 0;
    for (const char *begin; (begin = strstr(text, BEGIN)) != NULL; found++) {
        const char *line_end = strchr(begin, '\n'), *end = line_end ? strstr(line_end, END) : NULL;
        const char *name = begin + strlen(BEGIN);
        size_t t = 0;
        while (t < TALLY_ARRAY_LENGTH(tables) && (strncmp(name, tables[t].name, strlen(tables[t].name)) != 0 ||
                                                  strncmp(name + strlen(tables[t].name), " -->\n", 5) != 0))
            t++;
        if (!end || t == TALLY_ARRAY_LENGTH(tables)) {
            fprintf(stderr, "%s: %s: %.40s\n", path, end ? "there is no table of this name" : "a table without its end", begin);
            return -1;
        }
        fwrite(text, 1, (size_t)(line_end + 1 - text), out);
        tables[t].print(out);
        text = end;
    }
    fputs(text, out);
    return found;
}

/* The number of tables in a file, or -1 for what was said on stderr. */
static int treat(const char *path, int write) {
    char *text = read_text(path), *fresh = NULL;
    size_t bytes;
    if (!text) {
        perror(path);
        return -1;
    }
    FILE *memory = open_memstream(&fresh, &bytes);
    if (!memory) abort();
    int found = regenerate(path, text, memory);
    if (fclose(memory) != 0) abort();
    if (found > 0 && strcmp(text, fresh) != 0) {
        FILE *file = write ? fopen(path, "wb") : NULL;
        if (!write)
            fprintf(stderr, "%s: a table is not what the code says: run docs_tables --write\n", path);
        else if (!file || fwrite(fresh, 1, bytes, file) != bytes || fclose(file) != 0)
            perror(path);
        else
            printf("%s: written\n", path);
        if (!write || !file) found = -1;
    }
    free(text);
    free(fresh);
    return found;
}

int main(int argc, char **argv) {
    const int write = argc == 3 && strcmp(argv[1], "--write") == 0;
    if (argc != 2 + write) return fprintf(stderr, "usage: %s [--write] FOLDER\n", argv[0]), 2;
    static const char *const patterns[] = {"README.md", "docs/*.md"};
    int count = 0, failed = 0;
    for (size_t p = 0; p < TALLY_ARRAY_LENGTH(patterns); p++) {
        char pattern[4096];
        glob_t files;
        snprintf(pattern, sizeof pattern, "%s/%s", argv[1 + write], patterns[p]);
        if (glob(pattern, 0, NULL, &files) != 0) continue;
        for (size_t f = 0; f < files.gl_pathc; f++) {
            const int found = treat(files.gl_pathv[f], write);
            count += found > 0 ? found : 0;
            failed |= found < 0;
        }
        globfree(&files);
    }
    printf("%d tables\n", count);
    if (count == 0 && !failed) fprintf(stderr, "%s: no table was found in README.md or docs/\n", argv[1 + write]);
    return failed || count == 0;
}
