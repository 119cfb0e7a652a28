/* SPDX-License-Identifier: MIT */
/* The last error text of each thread. */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/base.h"

/* The text and the public function that failed; `call` is NULL until its name is known. */
static _Thread_local struct {
    char text[2048];
    const char *call;
    char whole[2048 + 64];
} last;

size_t tally_character_bytes(const char *text) {
    const unsigned char *c = (const unsigned char *)text;
    if (c[0] < 0x80) return c[0] >= ' ' && c[0] != 0x7f;
    const size_t bytes = c[0] >= 0xf0 ? 4 : c[0] >= 0xe0 ? 3 : 2;
    if (c[0] < 0xc2 || c[0] > 0xf4 || (c[0] == 0xc2 && c[1] < 0xa0)) return 0;
    for (size_t i = 1; i < bytes; i++)
        if ((c[i] & 0xc0) != 0x80) return 0;
    return bytes;
}

void tally_text_print(char *to, size_t bytes, const char *text) {
    static const char breaks[] = "\n\r\t"; /* the logs of compilers have these */
    size_t used = 0;
    for (size_t n; *text; text += n) {
        char escaped[5];
        const char *from = text;
        size_t length = n = tally_character_bytes(text);
        if (!n) {
            snprintf(escaped, sizeof(escaped), strchr(breaks, *text) ? " " : "\\x%02x", (unsigned char)*text);
            from = escaped, length = strlen(escaped), n = 1;
        }
        if (used + length >= bytes) break;
        memcpy(to + used, from, length);
        used += length;
    }
    to[used] = 0;
}

tally_status tally_fail(tally_status status, const char *format, ...) {
    char text[sizeof(last.text)];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof(text), format, arguments);
    va_end(arguments);
    tally_text_print(last.text, sizeof(last.text), text);
    last.call = NULL;
    return status;
}

tally_status tally_named(const char *call, tally_status status) {
    if (status) last.call = call;
    return status;
}

const char *tally_last_error(void) {
    if (!last.call) return last.text;
    snprintf(last.whole, sizeof(last.whole), "%s: %s", last.call, last.text);
    return last.whole;
}

tally_status tally_check_pointer(const void *pointer, const char *argument) {
    return pointer ? TALLY_OK : tally_fail(TALLY_E_ARGUMENT, "%s is NULL", argument);
}
