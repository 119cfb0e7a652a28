/* SPDX-License-Identifier: MIT */
/* cli.c: messages, output and device choice for all commands. */
#include "cli.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "progress.h"

static void report(const char *ending, const char *format, va_list list) {
    char line[4096];
    const size_t limit = sizeof(line) - 64;
    size_t n = (size_t)snprintf(line, sizeof(line), "tally: ");
    const int wanted = vsnprintf(line + n, limit - n, format, list);
    n += wanted < 0 ? 0 : (size_t)wanted < limit - n ? (size_t)wanted : limit - n - 1;
    while (n && (line[n - 1] == '\n' || line[n - 1] == ' ')) n--;
    for (size_t i = 0; i < n; i++)
        if ((unsigned char)line[i] < ' ' || line[i] == 127) line[i] = ' ';
    snprintf(line + n, sizeof(line) - n, "%s\n", ending);
    progress_end();
    fputs(line, stderr);
}

void cli_report(const char *format, ...) {
    va_list list;
    va_start(list, format);
    report("", format, list);
    va_end(list);
}

cli_exit cli_usage(const char *format, ...) {
    va_list list;
    va_start(list, format);
    report(" (see tally --help)", format, list);
    va_end(list);
    return CLI_USAGE;
}

static void add_name(cli_names *names, const char *name) {
    const size_t used = strlen(names->text);
    snprintf(names->text + used, sizeof(names->text) - used, "%s%s", used ? ", " : "", name);
}

cli_names cli_op_names(void) {
    cli_names names = {""};
    for (int op = 0; op < TALLY_OP_END; op++)
        if (tally_op_name((tally_op)op)) add_name(&names, tally_op_name((tally_op)op));
    return names;
}

cli_names cli_dtype_names(void) {
    cli_names names = {""};
    for (int dtype = 0; dtype < TALLY_DTYPE_END; dtype++)
        if (tally_dtype_name((tally_dtype)dtype)) add_name(&names, tally_dtype_name((tally_dtype)dtype));
    return names;
}

cli_names cli_variant_names(void) {
    cli_names names = {"auto"};
    tally_variant_info info;
    for (size_t i = 0; tally_variant_get(i, &info) == TALLY_OK; i++) add_name(&names, info.name);
    return names;
}

void cli_print_json(json_object *object) {
    puts(json_object_to_json_string_ext(object, JSON_C_TO_STRING_NOSLASHESCAPE | JSON_C_TO_STRING_SPACED));
    json_object_put(object);
}

bool cli_flush(void) {
    static bool reported;
    errno = 0;
    if (fflush(stdout) == 0 && !ferror(stdout)) return true;
    if (!reported) cli_report("standard output: %s", errno ? strerror(errno) : "write error");
    return reported = true, false;
}

json_object *cli_json_text(const char *text) {
    return text ? json_object_new_string(text) : NULL;
}

/* A value of any dtype in the widest type of its kind. */
typedef struct wide {
    enum { FLOAT, SIGNED, UNSIGNED } kind;
    double number;
    int64_t integer;
    uint64_t natural;
    int digits; /* that distinguish all floats of the type */
} wide;

static wide widen(tally_dtype dtype, const void *value) {
    wide w = {FLOAT, 0, 0, 0, 0};
    switch (dtype) {
#define ROW(id, row_value, name, bytes, row_kind, c_type, summary)                                                             \
    case TALLY_##id: {                                                                                                         \
        c_type x;                                                                                                              \
        memcpy(&x, value, sizeof(x));                                                                                          \
        w = (wide){row_kind, (double)x, (int64_t)(row_kind == SIGNED ? x : 0), (uint64_t)(row_kind == UNSIGNED ? x : 0),       \
                   (bytes) == 4 ? 9 : 17};                                                                                     \
        break;                                                                                                                 \
    }
        TALLY_DTYPE_TABLE(ROW)
#undef ROW
    default:
        break;
    }
    return w;
}

/* The shortest text that reads back as the same float, at most `digits` digits. */
static void shortest(char *text, size_t bytes, wide w) {
    for (int digits = 1; digits <= w.digits; digits++) {
        snprintf(text, bytes, "%.*g", digits, w.number);
        const double back = w.digits == 9 ? (double)strtof(text, NULL) : strtod(text, NULL);
        if (back != w.number) continue;
        /* 1370, not 1.37e+03. */
        const char *exponent = strstr(text, "e+");
        const int before_point = exponent ? atoi(exponent + 2) + 1 : 0;
        if (exponent && before_point <= 15) snprintf(text, bytes, "%.*g", before_point, w.number);
        return;
    }
}

static const char *non_finite(double x) {
    return isnan(x) ? "nan" : x > 0 ? "inf" : "-inf";
}

cli_value cli_value_text(tally_dtype dtype, const void *value) {
    cli_value out;
    const wide w = widen(dtype, value);
    if (w.kind == SIGNED)
        snprintf(out.text, sizeof(out.text), "%" PRId64, w.integer);
    else if (w.kind == UNSIGNED)
        snprintf(out.text, sizeof(out.text), "%" PRIu64, w.natural);
    else if (!isfinite(w.number))
        snprintf(out.text, sizeof(out.text), "%s", non_finite(w.number));
    else
        shortest(out.text, sizeof(out.text), w);
    return out;
}

json_object *cli_value_json(tally_dtype dtype, const void *value) {
    const wide w = widen(dtype, value);
    if (w.kind == SIGNED) return json_object_new_int64(w.integer);
    if (w.kind == UNSIGNED) return json_object_new_uint64(w.natural);
    if (!isfinite(w.number)) return json_object_new_string(non_finite(w.number));
    char text[48];
    const int n = snprintf(text, sizeof(text), "%.*g", w.digits, w.number);
    /* "-0" would be read as an integer, and lose its sign. */
    if (!strpbrk(text, ".e")) snprintf(text + n, sizeof(text) - (size_t)n, ".0");
    return json_object_new_double_s(w.number, text);
}

cli_value cli_bytes_text(uint64_t bytes) {
    static const char *const units[] = {"B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
    cli_value out;
    double amount = (double)bytes;
    size_t unit = 0;
    for (; amount >= 1024 && unit + 1 < sizeof(units) / sizeof(units[0]); unit++) amount /= 1024;
    snprintf(out.text, sizeof(out.text), unit ? "%.1f %s" : "%.0f %s", amount, units[unit]);
    return out;
}

double cli_seconds(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

cli_exit cli_open(const cli_options *options, tally_context **out) {
    static const char origin[] = "argument "; /* what the library calls its own argument */
    const tally_status status = tally_context_create(options->backend, out);
    if (status == TALLY_OK) return CLI_DONE;
    const char *text = tally_last_error();
    const bool ours = strncmp(text, origin, sizeof(origin) - 1) == 0;
    cli_report("%s%s", ours ? "--backend " : "", ours ? text + sizeof(origin) - 1 : text);
    return status == TALLY_E_ARGUMENT ? CLI_USAGE : CLI_FAILED;
}
