/* SPDX-License-Identifier: MIT */
/* value.c: items and results of all types as text and as JSON. */
#include <errno.h>
#include <float.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <tally/backend.h>

#include "cli.h"
#include "tools/print/units.h"

tally_dtype cli_part_dtype(tally_dtype dtype) {
    return dtype == TALLY_C64 ? TALLY_F32 : dtype == TALLY_C128 ? TALLY_F64 : dtype;
}

/* ---- any part -------------------------------------------------------------------------------- */

/* A real value of any type, in the widest type of its kind. */
typedef struct wide {
    tally_kind kind;
    double number;
    int64_t integer;
    uint64_t natural;
} wide;

static wide widen(tally_dtype dtype, const void *value) {
    const tally_kind kind = tally_dtype_kind(dtype);
    const size_t bytes = tally_dtype_bytes(dtype);
    wide w = {.kind = kind};
    if (kind == TALLY_KIND_FLOAT) return tally_value_convert(dtype, value, TALLY_F64, &w.number), w;
    /* Low bytes come first: only for little-endian machines. */
    memcpy(&w.natural, value, bytes);
    const unsigned unused = 64 - 8 * (unsigned)bytes;
    w.integer = (int64_t)(w.natural << unused) >> unused;
    w.number = kind == TALLY_KIND_SIGNED ? (double)w.integer : (double)w.natural;
    return w;
}

double cli_part_number(tally_dtype part, const void *value) {
    return widen(part, value).number;
}

void cli_part_store(tally_dtype part, double number, void *to) {
    const tally_kind kind = tally_dtype_kind(part);
    const size_t bytes = tally_dtype_bytes(part);
    if (kind == TALLY_KIND_FLOAT) {
        tally_value_convert(TALLY_F64, &number, part, to);
        return;
    }
    const uint64_t bits = kind == TALLY_KIND_BOOL ? number != 0 : number < 0 ? (uint64_t)(int64_t)number : (uint64_t)number;
    memcpy(to, &bits, bytes);
}

/* ---- text ------------------------------------------------------------------------------------ */

/* Returns the digits that distinguish all numbers of a float type. */
static int digits_of(tally_dtype dtype) {
    return dtype == TALLY_F16 ? 5 : dtype == TALLY_BF16 ? 4 : dtype == TALLY_F32 ? 9 : 17;
}

/* Returns the number of a float type that is nearest to the text's. */
static double nearest(tally_dtype dtype, const char *text) {
    unsigned char item[8];
    if (dtype == TALLY_F32) return (double)strtof(text, NULL);
    cli_part_store(dtype, strtod(text, NULL), item);
    return cli_part_number(dtype, item);
}

/* Formats the shortest text that reads back as the same number of the type. */
static void shortest(char *text, size_t bytes, tally_dtype dtype, double number) {
    for (int digits = 1; digits <= digits_of(dtype); digits++) {
        snprintf(text, bytes, "%.*g", digits, number);
        const double back = nearest(dtype, text);
        if (back != number) continue;
        /* An exponent below 15 is written out: 1370, not 1.37e+03. */
        const char *exponent = strstr(text, "e+");
        const int before_point = exponent ? atoi(exponent + 2) + 1 : 0;
        if (exponent && before_point <= 15) snprintf(text, bytes, "%.*g", before_point, number);
        return;
    }
}

static const char *non_finite(double x) {
    return isnan(x) ? "nan" : x > 0 ? "inf" : "-inf";
}

static cli_value part_text(tally_dtype dtype, const void *value) {
    cli_value out;
    const wide w = widen(dtype, value);
    if (w.kind == TALLY_KIND_BOOL)
        snprintf(out.text, sizeof(out.text), "%s", w.natural ? "true" : "false");
    else if (w.kind == TALLY_KIND_SIGNED)
        snprintf(out.text, sizeof(out.text), "%" PRId64, w.integer);
    else if (w.kind == TALLY_KIND_UNSIGNED)
        snprintf(out.text, sizeof(out.text), "%" PRIu64, w.natural);
    else if (!isfinite(w.number))
        snprintf(out.text, sizeof(out.text), "%s", non_finite(w.number));
    else
        shortest(out.text, sizeof(out.text), dtype, w.number);
    return out;
}

cli_value cli_value_text(tally_dtype dtype, const void *value) {
    const tally_kind kind = tally_dtype_kind(dtype);
    const size_t bytes = tally_dtype_bytes(dtype);
    if (kind != TALLY_KIND_COMPLEX) return part_text(dtype, value);
    /* 1.5+2j, 0-infj: the notation of Python and NumPy. */
    cli_value out;
    const cli_value re = part_text(cli_part_dtype(dtype), value),
                    im = part_text(cli_part_dtype(dtype), (const char *)value + bytes / 2);
    snprintf(out.text, sizeof(out.text), "%.30s%s%.30sj", re.text, *im.text == '-' ? "" : "+", im.text);
    return out;
}

static json_object *part_json(tally_dtype dtype, const void *value) {
    const wide w = widen(dtype, value);
    if (w.kind == TALLY_KIND_BOOL) return json_object_new_boolean(w.natural != 0);
    if (w.kind == TALLY_KIND_SIGNED) return json_object_new_int64(w.integer);
    if (w.kind == TALLY_KIND_UNSIGNED) return json_object_new_uint64(w.natural);
    if (!isfinite(w.number)) return json_object_new_string(non_finite(w.number));
    char text[48];
    /* JSON readers have no float narrower than f32. */
    const int n = snprintf(text, sizeof(text), "%.*g", dtype == TALLY_F64 ? 17 : 9, w.number);
    /* "-0" would be read as an integer and lose its sign. */
    if (!strpbrk(text, ".e")) snprintf(text + n, sizeof(text) - (size_t)n, ".0");
    return json_object_new_double_s(w.number, text);
}

json_object *cli_value_json(tally_dtype dtype, const void *value) {
    const tally_kind kind = tally_dtype_kind(dtype);
    const size_t bytes = tally_dtype_bytes(dtype);
    if (kind != TALLY_KIND_COMPLEX) return part_json(dtype, value);
    json_object *pair = json_object_new_array();
    json_object_array_add(pair, part_json(cli_part_dtype(dtype), value));
    json_object_array_add(pair, part_json(cli_part_dtype(dtype), (const char *)value + bytes / 2));
    return pair;
}

/* ---- reading --------------------------------------------------------------------------------- */

/* Reads a whole number of the type, in the notation of counts behind its sign. */
static bool read_integer(tally_dtype dtype, const char *text, void *item) {
    const size_t bytes = tally_dtype_bytes(dtype);
    const bool is_signed = tally_dtype_kind(dtype) == TALLY_KIND_SIGNED, is_negative = is_signed && *text == '-';
    const unsigned bits = dtype == TALLY_BOOL ? 1 : 8 * (unsigned)bytes - is_signed;
    const uint64_t highest = UINT64_MAX >> (64 - bits);
    uint64_t size;
    text += is_negative || *text == '+';
    if (!units_read_count(text, strlen(text), 0, highest + is_negative, &size)) return false;
    const uint64_t value = is_negative ? 0 - size : size;
    /* Lower bytes come first. Like the library, this is only for little-endian machines. */
    memcpy(item, &value, bytes);
    return true;
}

/* Reads a part. Returns false for text that is no number, and for a finite number beyond the type:
 * 1e400 is no infinity, nor is 1e39 as f32. */
static bool read_part(tally_dtype part, const char *text, char **end, void *item) {
    errno = 0;
    const double number = strtod(text, end);
    const bool is_finite = isfinite(number) || errno == ERANGE;
    cli_part_store(part, number, item);
    return *end != text && !(is_finite && isinf(cli_part_number(part, item)));
}

/* Reads X, and for complex types also X+Yj. */
static bool read_number(tally_dtype dtype, const char *text, void *item) {
    const tally_dtype part = cli_part_dtype(dtype);
    void *const imaginary = (char *)item + tally_dtype_bytes(part);
    char *end;
    if (!read_part(part, text, &end, item)) return false;
    if (*end && dtype != part) return read_part(part, end, &end, imaginary) && strcmp(end, "j") == 0;
    if (dtype != part) cli_part_store(part, 0, imaginary);
    return !*end;
}

/* Reads a truth value as cli_value_write prints it. */
static bool read_truth(const char *text, void *value) {
    const bool is_true = !strcmp(text, "true");
    if (is_true || !strcmp(text, "false")) return *(unsigned char *)value = is_true, true;
    return read_integer(TALLY_BOOL, text, value);
}

/* Returns the largest number of a float type. */
static double most_of(tally_dtype dtype) {
    const uint16_t half = dtype == TALLY_F16 ? 0x7bff : 0x7f7f;
    if (dtype == TALLY_F32 || dtype == TALLY_F64) return dtype == TALLY_F32 ? (double)FLT_MAX : DBL_MAX;
    return cli_part_number(dtype, &half);
}

cli_needed cli_value_needed(tally_dtype dtype) {
    cli_needed out;
    const tally_kind kind = tally_dtype_kind(dtype);
    const unsigned bits = 8 * (unsigned)tally_dtype_bytes(dtype);
    if (kind == TALLY_KIND_BOOL)
        snprintf(out.text, sizeof(out.text), "true, false, 1 or 0 is needed");
    else if (kind == TALLY_KIND_SIGNED)
        snprintf(out.text, sizeof(out.text), "a whole number from %" PRId64 " to %" PRId64 " is needed",
                 INT64_MIN >> (64 - bits), INT64_MAX >> (64 - bits));
    else if (kind == TALLY_KIND_UNSIGNED)
        snprintf(out.text, sizeof(out.text), "a whole number from 0 to %" PRIu64 " is needed", UINT64_MAX >> (64 - bits));
    else
        snprintf(out.text, sizeof(out.text), "%s is needed, of at most %.8g if it is finite",
                 kind == TALLY_KIND_COMPLEX ? "a number such as 1.5 or 1.5+2j" : "a real number such as 1.5, -2e3 or inf",
                 most_of(cli_part_dtype(dtype)));
    return out;
}

bool cli_value_read(tally_dtype dtype, const char *text, void *value) {
    const tally_kind kind = tally_dtype_kind(dtype);
    if (kind == TALLY_KIND_BOOL) return read_truth(text, value);
    const bool is_number = kind == TALLY_KIND_FLOAT || kind == TALLY_KIND_COMPLEX;
    return is_number ? read_number(dtype, text, value) : read_integer(dtype, text, value);
}
