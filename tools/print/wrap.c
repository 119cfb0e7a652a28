/* SPDX-License-Identifier: MIT */
/* wrap.c: see wrap.h. */
#include "wrap.h"

#include <stdarg.h>
#include <stdbool.h>
#include <string.h>

void wrap_print(FILE *to, size_t column, size_t indent, size_t width, const char *text) {
    for (bool first = true; *text; first = false) {
        const size_t spaces = first ? strspn(text, " ") : 0, word = spaces + strcspn(text + spaces, " ");
        if (!first && column + 1 + word > width) {
            fprintf(to, "\n%*s", (int)indent, "");
            column = indent;
        } else if (!first) {
            putc(' ', to);
            column++;
        }
        for (size_t i = 0; i < word; i++) putc(text[i] == WRAP_JOINT ? ' ' : text[i], to);
        column += word;
        text += word + (text[word] == ' ');
    }
    putc('\n', to);
}

void wrap_printf(FILE *to, const char *format, ...) {
    char text[4096];
    va_list list;
    va_start(list, format);
    vsnprintf(text, sizeof(text), format, list);
    va_end(list);
    wrap_print(to, 0, 4, WRAP_COLUMNS, text);
}
