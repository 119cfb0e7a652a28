/* SPDX-License-Identifier: MIT */
/* The thread's last error text. */
#include <stdarg.h>
#include <stdio.h>

#include "base/base.h"

/* The text, and the public function that failed: NULL until its name is known. */
static _Thread_local struct {
    char text[2048];
    const char *call;
    char whole[2048 + 64];
} last;

tally_status tally_fail(tally_status status, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(last.text, sizeof(last.text), format, arguments);
    va_end(arguments);
    /* Compilers' logs have many lines; the text is one. */
    for (char *c = last.text; *c; c++)
        if (*c == '\n' || *c == '\r') *c = ' ';
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
