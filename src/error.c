/* SPDX-License-Identifier: MIT */
/* The thread's last error text. */
#include <stdarg.h>
#include <stdio.h>

#include "core.h"

static _Thread_local char last_error[2048];

tally_status tally_fail(tally_status status, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(last_error, sizeof(last_error), format, arguments);
    va_end(arguments);
    /* Compilers' logs have many lines; the text is one. */
    for (char *c = last_error; *c; c++)
        if (*c == '\n' || *c == '\r') *c = ' ';
    return status;
}

const char *tally_last_error(void) {
    return last_error;
}
