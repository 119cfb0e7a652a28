/* SPDX-License-Identifier: MIT */
/* value.c: items and results of all types as text and as JSON. */
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli.h"
#include "tools/print/units.h"

tally_dtype cli_part_dtype(tally_dtype dtype) {
    return dtype == TALLY_C64 ? TALLY_F32 : dtype == TALLY_C128 ? TALLY_F64 : dtype;
}

/* ---- floats ---------------------------------------------------------------------------------- */

/* Format of numbers that are not subnormal: the bits after the point, and the least exponent. */
typedef struct format {
    int bits, least_exponent;
    int digits; /* digits that distinguish all numbers of the format */
} format;

static format format_of(tally_dtype dtype) {
    switch ((int)dtype) {
    case TALLY_F16:
        return (format){10, -14, 5};
    case TALLY_BF16:
        return (format){7, -126, 4};
    case TALLY_F32:
        return (format){23, -126, 9};
    default:
        return (format){52, -1022, 17};
    }
}

/* Rounds to the nearest number of the format, ties to even. The exponent has no upper limit. */
static double round_to(format f, double x) {
    if (x == 0 || !isfinite(x)) return x;
    const int exponent = ilogb(x) > f.least_exponent ? ilogb(x) : f.least_exponent;
    return ldexp(nearbyint(ldexp(x, f.bits - exponent)), exponent - f.bits);
}

static double read_float(tally_dtype dtype, const void *value) {
    uint16_t half;
    uint32_t word;
    float single;
    double x;
    switch ((int)dtype) {
    case TALLY_F16:
        memcpy(&half, value, sizeof(half));
        const int exponent = half >> 10 & 31, fraction = half & 1023;
        x = exponent == 31 ? (fraction ? NAN : INFINITY)
            : exponent     ? ldexp(fraction + 1024, exponent - 25)
                           : ldexp(fraction, -24);
        return half >> 15 ? -x : x;
    case TALLY_BF16:
        memcpy(&half, value, sizeof(half));
        word = (uint32_t)half << 16;
        memcpy(&single, &word, sizeof(single));
        return (double)single;
    case TALLY_F32:
        memcpy(&single, value, sizeof(single));
        return (double)single;
    default:
        memcpy(&x, value, sizeof(x));
        return x;
    }
}

static uint16_t half_of(double x) {
    const double magnitude = round_to(format_of(TALLY_F16), fabs(x));
    const unsigned sign = signbit(x) ? 0x8000u : 0;
    if (isnan(x)) return 0x7e00;
    if (magnitude > 65504) return (uint16_t)(sign | 0x7c00);
    if (magnitude < 0x1p-14) return (uint16_t)(sign | (unsigned)ldexp(magnitude, 24));
    const int exponent = ilogb(magnitude);
    return (uint16_t)(sign | (((unsigned)(exponent + 14) << 10) + (unsigned)ldexp(magnitude, 10 - exponent)));
}

/* Writes the nearest number of the item's type. */
static void write_float(tally_dtype dtype, double x, void *to) {
    const float single = (float)(dtype == TALLY_BF16 ? round_to(format_of(TALLY_BF16), x) : x);
    uint32_t word;
    uint16_t half;
    switch ((int)dtype) {
    case TALLY_F16:
        half = half_of(x);
        memcpy(to, &half, sizeof(half));
        break;
    case TALLY_BF16:
        memcpy(&word, &single, sizeof(word));
        half = (uint16_t)(word >> 16);
        memcpy(to, &half, sizeof(half));
        break;
    case TALLY_F32:
        memcpy(to, &single, sizeof(single));
        break;
    default:
        memcpy(to, &x, sizeof(x));
        break;
    }
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
    if (kind == TALLY_KIND_FLOAT) return w.number = read_float(dtype, value), w;
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
        write_float(part, number, to);
        return;
    }
    const uint64_t bits = kind == TALLY_KIND_BOOL ? number != 0 : number < 0 ? (uint64_t)(int64_t)number : (uint64_t)number;
    memcpy(to, &bits, bytes);
}

/* ---- text ------------------------------------------------------------------------------------ */

/* Formats the shortest text that reads back as the same number of the type. */
static void shortest(char *text, size_t bytes, tally_dtype dtype, double number) {
    const format f = format_of(dtype);
    for (int digits = 1; digits <= f.digits; digits++) {
        snprintf(text, bytes, "%.*g", digits, number);
        const double back = dtype == TALLY_F32 ? (double)strtof(text, NULL) : round_to(f, strtod(text, NULL));
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

/* Reads X, and for complex types also X+Yj. */
static bool read_number(tally_dtype dtype, const char *text, void *item) {
    const tally_dtype part = cli_part_dtype(dtype);
    char *end;
    errno = 0;
    const double re = strtod(text, &end);
    double im = 0;
    if (end == text) return false;
    if (dtype != part && *end) {
        const char *imaginary = end;
        im = strtod(imaginary, &end);
        if (end == imaginary || *end++ != 'j') return false;
    }
    if (*end || (errno == ERANGE && (isinf(re) || isinf(im)))) return false; /* 1e400 is no infinity */
    cli_part_store(part, re, item);
    if (dtype != part) cli_part_store(part, im, (char *)item + tally_dtype_bytes(part));
    return true;
}

/* Reads a truth value as cli_value_write prints it. */
static bool read_truth(const char *text, void *value) {
    const bool is_true = !strcmp(text, "true");
    if (is_true || !strcmp(text, "false")) return *(unsigned char *)value = is_true, true;
    return read_integer(TALLY_BOOL, text, value);
}

bool cli_value_read(tally_dtype dtype, const char *text, void *value) {
    const tally_kind kind = tally_dtype_kind(dtype);
    if (kind == TALLY_KIND_BOOL) return read_truth(text, value);
    const bool is_number = kind == TALLY_KIND_FLOAT || kind == TALLY_KIND_COMPLEX;
    return is_number ? read_number(dtype, text, value) : read_integer(dtype, text, value);
}
