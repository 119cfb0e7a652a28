/* SPDX-License-Identifier: MIT */
/*
 * docs_tables: makes the tables in README.md and docs/ from the tables in the code. A table stands
 * between the lines "<!-- table: NAME -->" and "<!-- end table -->". Usage: docs_tables [--write]
 * FOLDER. Without --write it only compares. It fails on a difference, on an unknown table, and if
 * there is no table at all.
 */
#define _XOPEN_SOURCE 700
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/bench.h"
#include "reduce/reduce.h"

/* ---- the tables ------------------------------------------------------------------------------ */

/* Prints a cell's text with its bars escaped, as a bar ends the cell. */
static void print_cell(FILE *out, const char *text) {
    for (; *text; text++) {
        if (*text == '|') fputc('\\', out);
        fputc(*text, out);
    }
}

/* Returns the one result type of the op, or TALLY_DTYPE_DEFAULT if there are several. */
static tally_dtype only_result(tally_op op) {
    tally_dtype one = TALLY_DTYPE_DEFAULT;
    for (tally_dtype in = TALLY_DTYPE_DEFAULT + 1; in < TALLY_DTYPE_END; in++) {
        const tally_dtype result = tally_result_dtype(op, in);
        if (result && one && result != one) return TALLY_DTYPE_DEFAULT;
        if (result) one = result;
    }
    return one;
}

/* Prints the item types for which the op gives `result`, except that type itself. Returns their
 * number. */
static int print_items(FILE *out, tally_op op, tally_dtype result, const char *before) {
    int count = 0;
    for (tally_dtype in = TALLY_DTYPE_DEFAULT + 1; in < TALLY_DTYPE_END; in++) {
        if (tally_result_dtype(op, in) != result || in == result) continue;
        if (!count++) fprintf(out, "%s`%s` of `", before, tally_dtype_name(result));
        fprintf(out, "%s%s", count > 1 ? " " : "", tally_dtype_name(in));
    }
    if (count) fputs("`", out);
    return count;
}

static void print_result_types(FILE *out, tally_op op) {
    const char *values = tally_result_count(op, TALLY_F32) == 2 ? "two of " : "";
    int others = 0, own = 0;
    if (only_result(op)) {
        fprintf(out, "%s`%s`", values, tally_dtype_name(only_result(op)));
        return;
    }
    for (tally_dtype result = TALLY_DTYPE_DEFAULT + 1; result < TALLY_DTYPE_END; result++) {
        own += tally_result_dtype(op, result) == result;
        others += print_items(out, op, result, others ? ", " : "");
    }
    if (own) fprintf(out, "%s%sthe items'", others ? ", else " : "", values);
}

static void print_params(FILE *out, tally_op op) {
    double value;
    const char *name;
    if (!tally_op_param_name(op, 0, NULL)) fputs("-", out);
    for (uint32_t i = 0; (name = tally_op_param_name(op, i, &value)) != NULL; i++)
        fprintf(out, "%s`%s` %g", i ? ", " : "", name, value);
}

static void print_ops(FILE *out) {
    fputs("| op | what it gives | of items | inputs | parameters | type of the result | the same in any order |\n"
          "|---|---|---|---|---|---|---|\n",
          out);
    for (tally_op op = TALLY_OP_NONE + 1; op < TALLY_OP_END; op++) {
        const tally_op_row *row = tally_op_find(op);
        const int narrow = tally_accumulator_dtype(op, TALLY_I32) != TALLY_F64;
        const int integers = tally_accumulator_dtype(op, TALLY_I64) != TALLY_F64;
        fprintf(out, "| `%s` | ", row->name);
        print_cell(out, row->summary);
        fprintf(out, " | %s%s | %u | ", row->takes == TALLY_TAKES_INTEGER ? "integers, bool" : "real",
                tally_result_dtype(op, TALLY_C64) ? ", complex" : "", tally_op_inputs(op));
        print_params(out, op);
        fputs(" | ", out);
        print_result_types(out, op);
        fprintf(out, " | %s |\n",
                row->exact ? "yes"
                : integers ? "integers yes; floats by the canonical order"
                : narrow   ? "integers of up to 32 bits yes; others by the canonical order"
                           : "by the canonical order");
    }
}

static void print_dtypes(FILE *out) {
    fputs("| dtype | bytes | what it is | loaded as |\n|---|---|---|---|\n", out);
    for (tally_dtype dtype = TALLY_DTYPE_DEFAULT + 1; dtype < TALLY_DTYPE_END; dtype++) {
        const tally_dtype_row *row = tally_dtype_find(dtype);
        fprintf(out, "| `%s` | %u | %s | %s`%s` |\n", row->name, row->bytes, row->summary,
                row->kind == TALLY_KIND_COMPLEX ? "two " : "", tally_dtype_name(row->compute));
    }
}

/* Prints the ops that have the level. */
static void print_ops_of(FILE *out, tally_accuracy accuracy) {
    const char *separator = "";
    for (tally_op op = TALLY_OP_NONE + 1; op < TALLY_OP_END; op++) {
        if (!tally_op_row_for(op, TALLY_F32, accuracy)) continue;
        fprintf(out, "%s`%s`", separator, tally_op_name(op));
        separator = " ";
    }
    fputs(" of floats", out);
}

static void print_accuracies(FILE *out) {
    fputs("| level | what it is | ops |\n|---|---|---|\n", out);
    for (tally_accuracy level = 0; level < TALLY_ACCURACY_END; level++) {
        fprintf(out, "| `%s` | %s | ", tally_accuracy_name(level), tally_accuracy_summary(level));
        if (level == TALLY_ACCURACY_DEFAULT)
            fputs("all", out);
        else
            print_ops_of(out, level);
        fputs(" |\n", out);
    }
}

/* A device of a class, with every feature. */
static tally_device_info device_of(tally_device_class device_class) {
    return (tally_device_info){.device_class = device_class,
                               .max_group_threads = UINT32_MAX,
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
    fputs("| variant | the step it shows | documents | finishes by | threads of a group | devices | canonical order | why it "
          "exists |\n"
          "|---|---|---|---|---|---|---|---|\n",
          out);
    for (size_t v = 0; v < tally_variant_count(); v++) {
        tally_variant_info info;
        if (tally_variant_get(v, &info) != TALLY_OK) abort();
        fprintf(out, "| `%s` | %s | %s | %s | %u | ", info.name, info.step, info.source[0] ? info.source : "-", info.finish,
                info.group_threads);
        const char *separator = "";
        for (tally_device_class c = 1; c < TALLY_CLASS_END; c++)
            if (tally_variant_row(v)->classes & 1u << c) {
                fprintf(out, "%s%s", separator, tally_device_class_name(c));
                separator = ", ";
            }
        fprintf(out, " | %s | %s |\n", info.canonical ? "yes" : "no", info.why);
    }
}

static void print_scan_variants(FILE *out) {
    fputs("| variant | how | documents | finishes by | threads of a group | canonical order | why it exists "
          "|\n|---|---|---|---|---|---|---|\n",
          out);
    for (size_t v = 0; v < tally_scan_variant_count(); v++) {
        tally_variant_info info;
        if (tally_scan_variant_get(v, &info) != TALLY_OK) abort();
        fprintf(out, "| `%s` | %s | %s | %s | %u | %s | %s |\n", info.name, info.step, info.source[0] ? info.source : "-",
                info.finish, info.group_threads, info.canonical ? "yes" : "no", info.why);
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
    for (tally_device_class c = 1; c < TALLY_CLASS_END; c++)
        fprintf(out, "| `%s` | %s | `%s` |\n", tally_device_class_name(c), tally_device_class_summary(c), default_variant(c));
}

static const struct {
    const char *name;
    void (*print)(FILE *out);
} tables[] = {{"ops", print_ops},
              {"dtypes", print_dtypes},
              {"accuracies", print_accuracies},
              {"variants", print_variants},
              {"scan_variants", print_scan_variants},
              {"status", print_status},
              {"device_classes", print_device_classes},
              {"bars", bars_print_table}};

/* ---- the files ------------------------------------------------------------------------------- */

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

/* Copies a text with its tables made anew. Returns the number of tables, or -1 for one that is
 * unknown or has no end. */
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

/* Returns the number of tables in a file, or -1 with the reason on stderr. */
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
