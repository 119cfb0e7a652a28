/* SPDX-License-Identifier: MIT */
/* scan_print.c: what `tally scan` says of what it has written, for people and as JSON. */
#include <inttypes.h>
#include <stdio.h>

#include "scan.h"

static double bytes_per_second(const scan_outcome *o) {
    return o->seconds > 0 ? (double)o->bytes / o->seconds : 0;
}

static void print_json(const scan_request *r, const scan_outcome *o) {
    char text[32];
    json_object *line = json_object_new_object();
    json_object_object_add(line, "op", cli_json_text(tally_op_name(r->op)));
    json_object_object_add(line, "dtype", cli_json_text(tally_dtype_name(o->in)));
    json_object_object_add(line, "result_dtype", cli_json_text(tally_dtype_name(o->out)));
    json_object_object_add(line, "n", json_object_new_uint64(o->n));
    json_object_object_add(line, "exclusive", json_object_new_boolean((r->flags & TALLY_EXCLUSIVE) != 0));
    json_object_object_add(line, "reverse", json_object_new_boolean((r->flags & TALLY_REVERSE) != 0));
    json_object_object_add(line, "backend", cli_json_text(r->info.device.backend));
    json_object_object_add(line, "device", cli_json_text(r->info.device.name));
    json_object_object_add(line, "device_index", json_object_new_int(r->info.device.index));
    json_object_object_add(line, "variant", cli_json_text(o->variant));
    snprintf(text, sizeof(text), "%.9f", o->seconds);
    json_object_object_add(line, "seconds", json_object_new_double_s(o->seconds, text));
    snprintf(text, sizeof(text), "%.0f", bytes_per_second(o));
    json_object_object_add(line, "bytes_per_second", json_object_new_double_s(bytes_per_second(o), text));
    json_object_object_add(line, "file", cli_json_text(r->path));
    json_object_object_add(line, "output", cli_json_text(r->output));
    cli_print_json(line);
}

void scan_print(const scan_request *r, const scan_outcome *o) {
    const tally_device_info *d = &r->info.device;
    if (r->json) {
        print_json(r, o);
        return;
    }
    printf("%s: %s, the%s%s scan by %s of %" PRIu64 " %s in %s, by %s on %s:%d (%s), %.6f s, %.2f GB/s\n", r->output,
           tally_dtype_name(o->out), r->flags & TALLY_EXCLUSIVE ? " exclusive" : "", r->flags & TALLY_REVERSE ? " reverse" : "",
           tally_op_name(r->op), o->n, tally_dtype_name(o->in), r->path, o->variant, d->backend, d->index, d->name, o->seconds,
           1e-9 * bytes_per_second(o));
}
