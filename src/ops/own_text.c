/* SPDX-License-Identifier: MIT */
/* The texts of a user's operator: names and expressions that compilers understand and survive. */
#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "ops/ops.h"

/* ---- names ----------------------------------------------------------------------------------- */

/* Keywords of C, C++, OpenCL C and CUDA C, and the names of their types and of ours; sorted. */
static const char words[] =
    " alignas alignof and and_eq asm auto bitand bitor bool break case catch char char16_t char32_t char8_t "
    "cl_mem_fence_flags class clk_event_t co_await co_return co_yield compl complex concept const const_cast consteval "
    "constant constexpr constinit continue decltype default delete do double dynamic_cast else enum event_t explicit export "
    "extern f32 f64 false float for friend generic global goto half i16 i32 i64 i8 if image imaginary inline int intptr_t "
    "kernel local long mutable namespace ndrange_t new noexcept not not_eq nullptr operator or or_eq pipe private protected "
    "ptrdiff_t public quad queue_t read_only read_write register reinterpret_cast requires reserve_id_t restrict return "
    "sampler_t short signed size_t sizeof static static_assert static_cast struct switch template this thread_local throw "
    "true try typedef typeid typename typeof typeof_unqual u16 u32 u64 u8 uchar uint uintptr_t ulong uniform union unsigned "
    "ushort using vec_step vector virtual void volatile wchar_t while write_only xor xor_eq ";
/* The types that OpenCL C and CUDA C have vectors of, and the vectors' lengths. */
static const char elements[] = " bool char double float half int long longlong quad short uchar uint ulong ulonglong ushort ";
static const char lengths[] = " 1 16 2 3 4 8 ";

static bool is_among(const char *list, const char *name, size_t length) {
    char word[72];
    return snprintf(word, sizeof(word), " %.*s ", (int)length, name) < (int)sizeof(word) && strstr(list, word);
}

bool tally_op_is_identifier(const char *name) {
    if (!name || !(isalpha((unsigned char)name[0]) || name[0] == '_')) return false;
    for (const char *c = name; *c; c++)
        if (!isalnum((unsigned char)*c) && *c != '_') return false;
    return strlen(name) < 64;
}

static bool is_keyword(const char *name) {
    const size_t length = strlen(name), letters = strcspn(name, "0123456789");
    if (is_among(words, name, length)) return true;
    if (is_among(elements, name, letters) && is_among(lengths, name + letters, length - letters)) return true;
    if (!strncmp(name, "image", 5) && isdigit((unsigned char)name[5]) && !strcmp(name + length - 2, "_t")) return true;
    /* Reserved to compilers: __global, _Bool; cl_khr_fp64 and the like are macros of OpenCL C. */
    return strstr(name, "__") || !strncmp(name, "cl_", 3) || (name[0] == '_' && isupper((unsigned char)name[1]));
}

bool tally_op_is_taken(const char *name) {
    /* Names of capitals alone are the library's. */
    return is_keyword(name) || !name[strcspn(name, "abcdefghijklmnopqrstuvwxyz")];
}

/* ---- expressions ----------------------------------------------------------------------------- */

/* An open bracket. */
typedef struct bracket {
    char close;
    bool is_cast;    /* so far: it follows no operand and holds only types' names and '*' */
    uint32_t before; /* `nested` in front of it */
    uint32_t base;   /* `base` in front of it */
} bracket;

/*
 * Follows the nesting of an expression as a compiler's recursive parser does. A bracket, a prefix
 * operator (or cast, or keyword), ?: and an assignment each call the parser again. A binary
 * operator ends the prefix operators before it, and a comma ends ?: and assignments too.
 */
typedef struct scan {
    bracket open[TALLY_MAX_NESTING];
    uint32_t depth;     /* of `open` */
    uint32_t nested;    /* calls of the parser at this place */
    uint32_t base;      /* those that a binary operator leaves: of brackets, ?: and assignments */
    bool after_operand; /* so an operator is no prefix */
} scan;

/* Takes a word or a number, and returns its last character. */
static const char *take_word(scan *s, const char *c) {
    char word[64];
    size_t length = 1;
    while (isalnum((unsigned char)c[length]) || c[length] == '_' || c[length] == '.') length++;
    snprintf(word, sizeof(word), "%.*s", (int)length, c);
    const bool is_name = tally_op_is_identifier(word), is_prefix = is_name && is_keyword(word);
    if (s->depth && !(is_name && tally_op_is_taken(word))) s->open[s->depth - 1].is_cast = false;
    s->nested += is_prefix || s->after_operand;
    s->after_operand = !is_prefix;
    return c + length - 1;
}

static void open_bracket(scan *s, char c) {
    if (s->depth) s->open[s->depth - 1].is_cast = false;
    if (s->nested < TALLY_MAX_NESTING)
        s->open[s->depth++] = (bracket){c == '(' ? ')' : ']', c == '(' && !s->after_operand, s->nested, s->base};
    s->base = ++s->nested;
    s->after_operand = false;
}

/* Closes the innermost open bracket. Returns false if c does not match it. */
static bool close_bracket(scan *s, char c) {
    if (!s->depth || s->open[s->depth - 1].close != c) return false;
    const bracket last = s->open[--s->depth];
    s->nested = last.before + last.is_cast;
    s->base = last.base;
    s->after_operand = !last.is_cast;
    return true;
}

/* Takes an operator, and returns its last character. */
static const char *take_operator(scan *s, const char *c) {
    const bool is_comparison = strchr("=<>!", *c) && c[1] == '=';
    const bool is_assignment = !is_comparison && (*c == '=' || (s->after_operand && c[1] == '='));
    const bool is_prefix = !s->after_operand && *c != ':';
    const bool is_pair = c[1] == '=' || (strchr("&|<>", *c) && c[1] == *c) || (*c == '-' && c[1] == '>');
    if (s->depth && *c != '*') s->open[s->depth - 1].is_cast = false;
    if (*c == ',') s->base = s->depth ? s->open[s->depth - 1].before + 1 : 0;
    if (*c == '?' || is_assignment) s->base++;
    s->nested = is_prefix ? s->nested + 1 : s->base;
    s->after_operand = false;
    return c + (is_pair && !is_prefix);
}

/* Other spellings of brackets, braces, # and \\. None begins where an expression may have its
 * characters. */
static bool is_digraph(const char *c) {
    static const char *const all[] = {"<:", ":>", "<%", "%>", "%:", "??"};
    for (size_t i = 0; i < TALLY_ARRAY_LENGTH(all); i++)
        if (!strncmp(c, all[i], 2)) return true;
    return false;
}

/* The name of what begins here and is in no expression; NULL for the rest. */
static const char *name_wrong(const char *c, char quoted[4]) {
    if (*c == '/' && (c[1] == '/' || c[1] == '*')) return "a comment";
    if (is_digraph(c)) return "a digraph or a trigraph";
    if (*c == '\n' || *c == '\r') return "a line break";
    if (*c == 0x7f || ((unsigned char)*c < ' ' && *c != '\t')) return "a control character";
    if ((unsigned char)*c > '~') return "a character that is not ASCII";
    return strchr("{};#\\\"'`$@", *c) ? snprintf(quoted, 4, "'%c'", *c), quoted : NULL;
}

tally_status tally_op_check_expression(const char *op, const char *part, const char *text) {
    char where[224], quoted[4];
    snprintf(where, sizeof(where), "op %s: %s", op, part);
    if (!text[strspn(text, " \t")]) return tally_fail(TALLY_E_ARGUMENT, "%s is empty", where);
    if (strlen(text) > TALLY_MAX_EXPRESSION)
        return tally_fail(TALLY_E_ARGUMENT, "%s has %zu characters: at most %d", where, strlen(text), TALLY_MAX_EXPRESSION);
    scan s = {.depth = 0};
    for (const char *c = text; *c; c++) {
        const char *wrong = name_wrong(c, quoted);
        if (wrong) return tally_fail(TALLY_E_ARGUMENT, "%s: '%.100s': %s is in no expression", where, text, wrong);
        if (*c == ' ' || *c == '\t') continue;
        if (isalnum((unsigned char)*c) || *c == '_' || *c == '.')
            c = take_word(&s, c);
        else if (*c == '(' || *c == '[')
            open_bracket(&s, *c);
        else if (*c != ')' && *c != ']')
            c = take_operator(&s, c);
        else if (!close_bracket(&s, *c))
            return tally_fail(TALLY_E_ARGUMENT, "%s: '%.100s': '%c' closes nothing", where, text, *c);
        if (s.nested > TALLY_MAX_NESTING)
            return tally_fail(TALLY_E_ARGUMENT,
                              "%s: '%.100s': brackets, prefix operators, casts, ?: and = are nested more than %d deep", where,
                              text, TALLY_MAX_NESTING);
    }
    if (!s.depth) return TALLY_OK;
    return tally_fail(TALLY_E_ARGUMENT, "%s: '%.100s': '%c' is missing", where, text, s.open[s.depth - 1].close);
}
