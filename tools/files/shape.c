/* SPDX-License-Identifier: MIT */
/* shape.c: see shape.h. */
#include "shape.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

bool shape_equal(const npy_shape *a, const npy_shape *b) {
    return a->dimensions == b->dimensions && memcmp(a->lengths, b->lengths, a->dimensions * sizeof(a->lengths[0])) == 0;
}

shape_name shape_text(const npy_shape *shape) {
    enum { REST = sizeof("18446744073709551615, ...)") };
    shape_name name = {"("};
    size_t used = 1;
    for (uint32_t d = 0; d < shape->dimensions; d++) {
        if (used > sizeof(name.text) - REST) return strcpy(name.text + used, "...)"), name;
        used += (size_t)sprintf(name.text + used, "%" PRIu64 "%s", shape->lengths[d],
                                d + 1 < shape->dimensions ? ", "
                                : d == 0                  ? ","
                                                          : "");
    }
    strcpy(name.text + used, ")");
    return name;
}
