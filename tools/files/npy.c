/* SPDX-License-Identifier: MIT */
/*
 * npy.c: a strict parser of the .npy header. The header is a Python dictionary with exactly the
 * keys descr, fortran_order and shape, each once and in any order, followed by white space. np.load
 * evaluates Python and so accepts more (escapes, nesting, other types); this parser refuses it.
 */
#include "npy.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <tally/backend.h>

typedef struct parser {
    const unsigned char *at, *end;
    char *problem;
    size_t problem_bytes;
} parser;

typedef struct text {
    const unsigned char *start;
    size_t bytes;
} text;

typedef enum key { KEY_DESCR, KEY_ORDER, KEY_SHAPE, KEY_COUNT } key;
static const char *const key_names[KEY_COUNT] = {"descr", "fortran_order", "shape"};

static bool bad(parser *p, const char *format, ...) TALLY_PRINTF(2, 3);
static bool bad(parser *p, const char *format, ...) {
    va_list list;
    va_start(list, format);
    vsnprintf(p->problem, p->problem_bytes, format, list);
    va_end(list);
    return false;
}

/* Text for messages: at most 40 bytes, with '?' for each byte that is not printable ASCII. */
typedef struct quoted {
    char text[48];
} quoted;

static quoted quote(text t) {
    quoted q;
    size_t n = t.bytes < 40 ? t.bytes : 40;
    for (size_t i = 0; i < n; i++) q.text[i] = t.start[i] >= ' ' && t.start[i] < 127 ? (char)t.start[i] : '?';
    memcpy(q.text + n, t.bytes > n ? "..." : "", t.bytes > n ? 4 : 1);
    return q;
}

static void skip_space(parser *p) {
    while (p->at < p->end && (*p->at == ' ' || (*p->at >= '\t' && *p->at <= '\r'))) p->at++;
}

/* Returns the next byte that is not white space, or -1 at the end. */
static int peek(parser *p) {
    skip_space(p);
    return p->at < p->end ? *p->at : -1;
}

static bool accept(parser *p, char c) {
    if (peek(p) != c) return false;
    p->at++;
    return true;
}

static bool expect(parser *p, char c) {
    return accept(p, c) || bad(p, "damaged .npy header: '%c' expected", c);
}

static bool parse_string(parser *p, text *out) {
    const int quote_mark = peek(p);
    if (quote_mark != '\'' && quote_mark != '"') return bad(p, "damaged .npy header: a quoted text expected");
    out->start = ++p->at;
    while (p->at < p->end && *p->at != quote_mark && *p->at != '\\' && *p->at != '\n') p->at++;
    if (p->at == p->end || *p->at != quote_mark) return bad(p, "damaged .npy header: a quoted text does not end");
    out->bytes = (size_t)(p->at++ - out->start);
    return true;
}

static bool equals(text t, const char *word) {
    return t.bytes == strlen(word) && memcmp(t.start, word, t.bytes) == 0;
}

/* Returns the letter of a type in a .npy header, or 0 for bf16, which NumPy lacks. */
static char letter_of(tally_dtype dtype) {
    static const char letters[] = {[TALLY_KIND_FLOAT] = 'f',
                                   [TALLY_KIND_SIGNED] = 'i',
                                   [TALLY_KIND_UNSIGNED] = 'u',
                                   [TALLY_KIND_BOOL] = 'b',
                                   [TALLY_KIND_COMPLEX] = 'c'};
    return dtype == TALLY_BF16 ? 0 : letters[tally_dtype_kind(dtype)];
}

/* Returns the type with this letter and this size in bytes. */
static tally_dtype find_dtype(char kind, uint64_t item_bytes) {
    for (tally_dtype dtype = 1; dtype < TALLY_DTYPE_END; dtype++)
        if (kind == letter_of(dtype) && item_bytes == tally_dtype_bytes(dtype)) return dtype;
    return TALLY_DTYPE_DEFAULT;
}

static bool unsupported(parser *p, text descr) {
    char names[128] = "";
    size_t used = 0;
    for (tally_dtype dtype = 1; dtype < TALLY_DTYPE_END; dtype++)
        if (letter_of(dtype))
            used += (size_t)snprintf(names + used, sizeof(names) - used, "%s%s", used ? ", " : "", tally_dtype_name(dtype));
    return bad(p, "unsupported .npy item type '%s'; there are %s", quote(descr).text, names);
}

/* Parses a byte order ('<', '>', '=', '|' or nothing), a letter, and the bytes of an item. */
static bool parse_descr(parser *p, npy_header *header) {
    if (peek(p) == '[') return bad(p, "unsupported .npy item type: structured (records of several fields)");
    text descr;
    if (!parse_string(p, &descr)) return false;
    const uint16_t probe = 1;
    const char native = *(const unsigned char *)&probe ? '<' : '>';
    size_t i = 0;
    char order = native;
    if (descr.bytes && memchr("<>=|", descr.start[0], 4)) order = (char)descr.start[i++];
    if (i < descr.bytes && descr.start[i] == 'O') return bad(p, "unsupported .npy item type: Python objects ('O')");
    if (i < descr.bytes && descr.start[i] == 'V') return bad(p, "unsupported .npy item type: raw records ('V')");
    const size_t digits = descr.bytes - i > 1 ? descr.bytes - i - 1 : 0;
    if (digits < 1 || digits > 2 || descr.start[i + 1] == '0') return unsupported(p, descr);
    uint64_t bytes = 0;
    for (size_t d = i + 1; d < descr.bytes; d++) {
        if (descr.start[d] < '0' || descr.start[d] > '9') return unsupported(p, descr);
        bytes = bytes * 10 + (descr.start[d] - '0');
    }
    header->dtype = find_dtype((char)descr.start[i], bytes);
    header->swapped = (order == '<' || order == '>') && order != native && bytes > 1;
    return header->dtype != TALLY_DTYPE_DEFAULT || unsupported(p, descr);
}

static bool parse_order(parser *p, npy_header *header) {
    peek(p);
    const size_t left = (size_t)(p->end - p->at);
    const size_t word = left >= 4 && memcmp(p->at, "True", 4) == 0 ? 4 : left >= 5 && memcmp(p->at, "False", 5) == 0 ? 5 : 0;
    p->at += word;
    header->shape.is_fortran = word == 4;
    return word || bad(p, "damaged .npy header: fortran_order is neither True nor False");
}

/* Parses a decimal number, with an optional L of Python 2. */
static bool parse_number(parser *p, uint64_t *out) {
    const int first = peek(p);
    if (first < '0' || first > '9') return bad(p, "damaged .npy header: the shape is not a tuple of whole numbers");
    uint64_t value = 0;
    const unsigned char *start = p->at;
    for (; p->at < p->end && *p->at >= '0' && *p->at <= '9'; p->at++) {
        const unsigned digit = *p->at - '0';
        if (value > (UINT64_MAX - digit) / 10) return bad(p, "the .npy header's shape overflows 64 bits");
        value = value * 10 + digit;
    }
    if (first == '0' && p->at - start > 1) return bad(p, "damaged .npy header: a number in the shape starts with 0");
    if (p->at < p->end && *p->at == 'L') p->at++;
    *out = value;
    return true;
}

static bool parse_shape(parser *p, npy_header *header) {
    if (!expect(p, '(')) return false;
    uint64_t n = 1, dimensions = 0;
    bool overflow = false, empty = false, comma = true;
    while (peek(p) != ')') {
        uint64_t length = 0;
        if (!comma) return bad(p, "damaged .npy header: ',' or ')' expected in the shape");
        if (!parse_number(p, &length)) return false;
        if (++dimensions > NPY_DIMENSION_LIMIT)
            return bad(p, "the .npy header's shape has more than %d dimensions", NPY_DIMENSION_LIMIT);
        header->shape.lengths[dimensions - 1] = length;
        empty = empty || length == 0;
        overflow = overflow || __builtin_mul_overflow(n, length, &n);
        comma = accept(p, ',');
    }
    p->at++;
    if (dimensions == 1 && !comma) return bad(p, "damaged .npy header: the shape is not a tuple");
    if (overflow && !empty) return bad(p, "the .npy header's shape overflows 64 bits");
    header->n = empty ? 0 : n;
    header->shape.dimensions = (uint32_t)dimensions;
    return true;
}

static bool parse_value(parser *p, key k, npy_header *header) {
    switch (k) {
    case KEY_DESCR:
        return parse_descr(p, header);
    case KEY_ORDER:
        return parse_order(p, header);
    default:
        return parse_shape(p, header);
    }
}

static bool parse_dictionary(parser *p, npy_header *header) {
    bool seen[KEY_COUNT] = {false};
    if (!expect(p, '{')) return false;
    for (bool comma = true; peek(p) != '}'; comma = accept(p, ',')) {
        text name;
        if (!comma) return bad(p, "damaged .npy header: ',' or '}' expected");
        if (!parse_string(p, &name)) return false;
        int k = 0;
        while (k < KEY_COUNT && !equals(name, key_names[k])) k++;
        if (k == KEY_COUNT) return bad(p, "damaged .npy header: unknown key '%s'", quote(name).text);
        if (seen[k]) return bad(p, "damaged .npy header: key '%s' is there twice", key_names[k]);
        seen[k] = true;
        if (!expect(p, ':') || !parse_value(p, (key)k, header)) return false;
    }
    p->at++;
    for (int k = 0; k < KEY_COUNT; k++)
        if (!seen[k]) return bad(p, "damaged .npy header: key '%s' is missing", key_names[k]);
    if (peek(p) >= 0) return bad(p, "damaged .npy header: something follows the closing '}'");
    if (header->n > INT64_MAX / tally_dtype_bytes(header->dtype))
        return bad(p, "the .npy header promises %" PRIu64 " items of %s, whose bytes overflow 64 bits", header->n,
                   tally_dtype_name(header->dtype));
    return true;
}

bool npy_is_start(const void *start, size_t bytes) {
    return bytes > 0 && memcmp(start, NPY_MAGIC, bytes < NPY_MAGIC_BYTES ? bytes : NPY_MAGIC_BYTES) == 0;
}

npy_status npy_parse(const void *start, size_t bytes, npy_header *header, size_t *need, char *problem, size_t problem_bytes) {
    const unsigned char *file = start;
    parser p = {.problem = problem, .problem_bytes = problem_bytes};
    if (bytes && !npy_is_start(start, bytes)) return bad(&p, "not a .npy file"), NPY_BAD;
    if (bytes < 10) return *need = 10, NPY_SHORT;
    const unsigned major = file[6], minor = file[7];
    if (major < 1 || major > 3 || minor != 0)
        return bad(&p, "unsupported .npy version %u.%u; there are 1.0, 2.0, 3.0", major, minor), NPY_BAD;
    const size_t prefix = major == 1 ? 10 : 12;
    if (bytes < prefix) return *need = prefix, NPY_SHORT;
    size_t length = file[8] | (size_t)file[9] << 8;
    if (major > 1) length |= (size_t)file[10] << 16 | (size_t)file[11] << 24;
    if (length > NPY_HEADER_LIMIT)
        return bad(&p, "the .npy header claims to be %zu bytes long; at most %zu are taken", length, NPY_HEADER_LIMIT), NPY_BAD;
    if (bytes < prefix + length) return *need = prefix + length, NPY_SHORT;
    p.at = file + prefix;
    p.end = p.at + length;
    npy_header parsed = {.data_offset = prefix + length};
    if (!parse_dictionary(&p, &parsed)) return NPY_BAD;
    *header = parsed;
    return NPY_OK;
}

/* ---- writing --------------------------------------------------------------------------------- */

size_t npy_room(uint32_t dimensions) {
    const size_t longest = 10 + sizeof("{'descr': '<c16', 'fortran_order': False, 'shape': (,), }\n") + 22 * (size_t)dimensions;
    return (longest + 63) / 64 * 64;
}

bool npy_make(tally_dtype dtype, const npy_shape *shape, unsigned char *to, size_t room) {
    enum { PREFIX = 10 };
    const uint16_t probe = 1;
    const char native = *(const unsigned char *)&probe ? '<' : '>';
    const size_t bytes = tally_dtype_bytes(dtype), length = room - PREFIX;
    char *at = (char *)to + PREFIX;
    if (!letter_of(dtype)) return false;
    if (!to) return true;
    memset(to, ' ', room);
    memcpy(to, NPY_MAGIC "\1", PREFIX - 2); /* includes the 0 that ends the text */
    to[PREFIX - 2] = (unsigned char)(length & 255);
    to[PREFIX - 1] = (unsigned char)(length >> 8);
    at += sprintf(at, "{'descr': '%c%c%zu', 'fortran_order': %s, 'shape': (", bytes == 1 ? '|' : native, letter_of(dtype),
                  bytes, shape->is_fortran ? "True" : "False");
    for (uint32_t d = 0; d < shape->dimensions; d++)
        at += sprintf(at, "%s%" PRIu64 "%s", d ? " " : "", shape->lengths[d], d + 1 < shape->dimensions || d == 0 ? "," : "");
    at += sprintf(at, "), }");
    *at = ' ';
    to[room - 1] = '\n';
    return true;
}
