/* SPDX-License-Identifier: MIT */
/* print.c: prints the outcome of `tally scan`, as text and as JSON. */
#include <inttypes.h>
#include <stdio.h>

#include "scan.h"

static void print_json(const scan_request *r, const scan_outcome *o) {
    json_object *line = json_object_new_object();
    json_object_object_add(line, "op", cli_json_text(tally_op_name(r->op)));
    json_object_object_add(line, "dtype", cli_json_text(tally_dtype_name(o->in)));
    json_object_object_add(line, "result_dtype", cli_json_text(tally_dtype_name(o->out)));
    json_object_object_add(line, "n", json_object_new_uint64(o->n));
    json_object_object_add(line, "exclusive", json_object_new_boolean((r->flags & TALLY_EXCLUSIVE) != 0));
    json_object_object_add(line, "reverse", json_object_new_boolean((r->flags & TALLY_REVERSE) != 0));
    if (r->has_axis) json_object_object_add(line, "axis", json_object_new_int((int)o->along));
    cli_json_device(line, &r->info.device);
    json_object_object_add(line, "variant", cli_json_text(o->variant));
    cli_json_speed(line, o->seconds, (double)o->bytes);
    json_object_object_add(line, "file", cli_json_text(r->path));
    json_object_object_add(line, "output", cli_json_text(r->output));
    cli_print_json(line);
}

void scan_print(const scan_request *r, const scan_outcome *o) {
    if (r->json) {
        print_json(r, o);
        return;
    }
    printf("%s: %s, the%s%s scan by %s", cli_shown(r->output).text, tally_dtype_name(o->out),
           r->flags & TALLY_EXCLUSIVE ? " exclusive" : "", r->flags & TALLY_REVERSE ? " reverse" : "", tally_op_name(r->op));
    if (r->has_axis) printf(" along axis %" PRIu32, o->along);
    printf(" of %" PRIu64 " %s in %s\n", o->n, tally_dtype_name(o->in), cli_shown(r->path).text);
    cli_print_run(o->variant, &r->info.device, o->seconds, (double)o->bytes);
}
