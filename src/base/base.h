/* SPDX-License-Identifier: MIT */
/* base.h: error texts, checks of pointers and the tables of types. Every room of the core uses
 * it. */
#ifndef TALLY_SRC_BASE_H
#define TALLY_SRC_BASE_H

#include <stdbool.h>

#include <tally/backend.h>
#include <tally/tally.h>

#include "base/order.h"

#define TALLY_ARRAY_LENGTH(array) (sizeof(array) / sizeof((array)[0]))

/* ---- error.c --------------------------------------------------------------------------------- */

/* Puts the name of a public function before the thread's error text if `status` is a failure.
 * Returns `status`. If a public function calls another one, the outer name stays. */
tally_status tally_named(const char *call, tally_status status);
#define TALLY_NAMED(status) tally_named(__func__, status)

/* Returns the bytes of a text's first character; 0 for a control character and for bytes that are
 * no UTF-8. */
size_t tally_character_bytes(const char *text);

/* Copies a text as one printable line into `bytes` bytes. Control characters and bytes that are no
 * UTF-8 become \xNN; line breaks and tabs become spaces. */
void tally_text_print(char *to, size_t bytes, const char *text);

/* Errors: E_ARGUMENT for NULL; the text names the argument. */
tally_status tally_check_pointer(const void *pointer, const char *argument);

static inline uint64_t tally_ceil_div(uint64_t a, uint64_t b) {
    return a / b + (a % b != 0);
}

/* ---- tables.c -------------------------------------------------------------------------------- */

typedef struct tally_dtype_row {
    const char *name;
    uint32_t bytes;
    tally_kind kind;
    tally_dtype compute; /* type that an item is loaded as */
    const char *summary;
} tally_dtype_row;

/* Returns the row of a type; NULL for a value that is no dtype. */
const tally_dtype_row *tally_dtype_find(tally_dtype dtype);
/* Return a text for docs; NULL for a value that the enum does not have. */
const char *tally_accuracy_summary(tally_accuracy accuracy);
const char *tally_device_class_summary(tally_device_class device_class);
/* Tells whether the type can be that of an accumulator, a field or a parameter. */
bool tally_dtype_is_value(tally_dtype dtype);
bool tally_dtype_is_integer(tally_dtype dtype);
/* Tells integers of up to 16 bits, and truth values. */
bool tally_dtype_is_narrow(tally_dtype dtype);
/* Real or complex floats. */
bool tally_dtype_is_float(tally_dtype dtype);

/* Writes the names of a table's rows, "sum, min, max", for error texts. A row is any struct whose
 * first member is its name. Rows without a name are left out. */
void tally_list_names(const void *rows, size_t row_bytes, size_t count, char *text, size_t bytes);

#endif
