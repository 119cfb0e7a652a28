/* SPDX-License-Identifier: MIT */
/* base.h: what every room of the core uses: error texts, checks of pointers, the tables of types. */
#ifndef TALLY_SRC_BASE_H
#define TALLY_SRC_BASE_H

#include <stdbool.h>

#include <tally/backend.h>
#include <tally/tally.h>

#include "base/order.h"

#define TALLY_ARRAY_LENGTH(array) (sizeof(array) / sizeof((array)[0]))

/* ---- error.c ------------------------------------------------------------------------------------------------------- */

/* Puts the name of the public function in front of the thread's error text, if `status` is a
 * failure; returns `status`. A public function that calls another one puts its own name there. */
tally_status tally_named(const char *call, tally_status status);
#define TALLY_NAMED(status) tally_named(__func__, status)
/* Copies a text as one line that a terminal shows as it is: control characters, and bytes that are
 * no UTF-8, as \xNN. */
void tally_text_print(char *to, size_t bytes, const char *text);

/* Errors: E_ARGUMENT naming the argument. */
tally_status tally_check_pointer(const void *pointer, const char *argument);

static inline uint64_t tally_ceil_div(uint64_t a, uint64_t b) {
    return a / b + (a % b != 0);
}

/* ---- tables.c ------------------------------------------------------------------------------------------------------ */

typedef struct tally_dtype_row {
    const char *name;
    uint32_t bytes;
    tally_kind kind;
    tally_dtype compute; /* the type that items are loaded as */
    const char *summary;
} tally_dtype_row;

/* The row; NULL for a value that is none. */
const tally_dtype_row *tally_dtype_find(tally_dtype dtype);
/* Texts for docs; NULL for a value that is none. */
const char *tally_accuracy_summary(tally_accuracy accuracy);
const char *tally_device_class_summary(tally_device_class device_class);
/* Tells whether the type can be an accumulator's, a field's or a parameter's. */
bool tally_dtype_is_value(tally_dtype dtype);
bool tally_dtype_is_integer(tally_dtype dtype);
/* Real or complex. */
bool tally_dtype_is_float(tally_dtype dtype);

/* Writes the names of a table's rows, "sum, min, max", for error texts. A row is any struct whose
 * first member is its name; rows without a name are left out. */
void tally_list_names(const void *rows, size_t row_bytes, size_t count, char *text, size_t bytes);

#endif
