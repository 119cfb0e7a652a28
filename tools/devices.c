/* SPDX-License-Identifier: MIT */
/* devices.c: `tally devices`. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli.h"
#include "tools/print/wrap.h"

/* The device that a reduction uses, with the reason; or the reason why there is none. */
typedef struct choice {
    bool made;
    tally_context_info info;
    char reason[1024];
} choice;

static bool is_chosen(const choice *c, const tally_device_info *device) {
    return c->made && strcmp(c->info.device.backend, device->backend) == 0 && c->info.device.index == device->index;
}

/* Chooses a device. Without --backend, a device that cannot be chosen is shown and is no error. */
static cli_exit choose(const cli_options *options, choice *out) {
    tally_context *context = NULL;
    if (options->backend) {
        const cli_exit code = cli_open(options, &context);
        if (code != CLI_DONE) return code;
    } else if (tally_context_create(NULL, &context) != TALLY_OK) {
        snprintf(out->reason, sizeof(out->reason), "%.1023s", cli_last_error().text);
        return CLI_DONE;
    }
    out->made = tally_context_get_info(context, &out->info) == TALLY_OK;
    tally_context_destroy(context);
    return CLI_DONE;
}

static json_object *device_json(const tally_device_info *d, const choice *c) {
    json_object *o = json_object_new_object();
    json_object_object_add(o, "index", json_object_new_int(d->index));
    json_object_object_add(o, "name", cli_json_text(d->name));
    json_object_object_add(o, "class", cli_json_text(tally_device_class_name(d->device_class)));
    json_object_object_add(o, "platform", cli_json_text(d->platform));
    json_object_object_add(o, "driver", cli_json_text(d->driver));
    json_object_object_add(o, "compute_units", json_object_new_int64(d->compute_units));
    json_object_object_add(o, "memory_bytes", json_object_new_uint64(d->memory_bytes));
    json_object_object_add(o, "max_buffer_bytes", json_object_new_uint64(d->max_buffer_bytes));
    json_object_object_add(o, "local_bytes", json_object_new_uint64(d->local_bytes));
    json_object_object_add(o, "max_group_threads", json_object_new_int64(d->max_group_threads));
    json_object_object_add(o, "f64", json_object_new_boolean(d->has_f64));
    json_object_object_add(o, "host_memory", json_object_new_boolean(d->host_memory));
    json_object_object_add(o, "chosen", json_object_new_boolean(is_chosen(c, d)));
    return o;
}

static json_object *backend_json(const tally_backend_info *backend, const choice *c) {
    json_object *o = json_object_new_object(), *devices = json_object_new_array();
    tally_device_info d;
    for (int i = 0; i < backend->devices; i++)
        if (tally_device_get(backend->name, i, &d) == TALLY_OK) json_object_array_add(devices, device_json(&d, c));
    json_object_object_add(o, "backend", cli_json_text(backend->name));
    json_object_object_add(o, "devices", devices);
    json_object_object_add(o, "reason", *backend->reason ? cli_json_text(backend->reason) : NULL);
    return o;
}

static void print_json(const choice *c) {
    json_object *o = json_object_new_object(), *backends = json_object_new_array();
    tally_backend_info backend;
    char chosen[40];
    for (size_t i = 0; tally_backend_get(i, &backend) == TALLY_OK; i++)
        json_object_array_add(backends, backend_json(&backend, c));
    snprintf(chosen, sizeof(chosen), "%s:%d", c->info.device.backend, c->info.device.index);
    json_object_object_add(o, "backends", backends);
    json_object_object_add(o, "chosen", c->made ? cli_json_text(chosen) : NULL);
    json_object_object_add(o, "chosen_by", c->made ? cli_json_text(c->info.chosen_by) : NULL);
    json_object_object_add(o, "reason", c->made ? NULL : cli_json_text(c->reason));
    cli_print_json(o);
}

#define ROW "%c %-10s %-6s %10s  %-4s %-12s "
#define ROW_COLUMNS 50

/* Prints a row. A long version of a driver exceeds its column. */
static void print_row(const tally_device_info *d, char mark, const char *label) {
    const int used = printf(ROW, mark, label, tally_device_class_name(d->device_class), units_bytes(d->memory_bytes).text,
                            d->has_f64 ? "yes" : "no", d->driver);
    wrap_print(stdout, (size_t)used, ROW_COLUMNS, WRAP_COLUMNS, d->name);
}

static void print_backend(const tally_backend_info *backend, const choice *c) {
    if (backend->devices == 0) wrap_printf(stdout, "  %-10s none: %s", backend->name, backend->reason);
    for (int i = 0; i < backend->devices; i++) {
        tally_device_info d;
        char name[40];
        snprintf(name, sizeof(name), "%s:%d", backend->name, i);
        if (tally_device_get(backend->name, i, &d) != TALLY_OK)
            wrap_printf(stdout, "  %-10s %s", name, cli_last_error().text);
        else
            print_row(&d, is_chosen(c, &d) ? '*' : ' ', name);
    }
}

static void print_table(const choice *c) {
    tally_backend_info backend;
    printf(ROW "name\n", ' ', "device", "class", "memory", "f64", "driver");
    for (size_t i = 0; tally_backend_get(i, &backend) == TALLY_OK; i++) print_backend(&backend, c);
    if (tally_backend_count() == 0) puts("  this tally was built without any backend");
    if (c->made)
        wrap_printf(stdout, "* is used, chosen by %s (%s)", c->info.chosen_by, c->info.selection);
    else
        wrap_printf(stdout, "none is used: %s", c->reason);
}

cli_exit cli_devices(const cli_options *options, int count, char **operands) {
    (void)count, (void)operands;
    choice c = {0};
    const cli_exit code = choose(options, &c);
    if (code != CLI_DONE) return code;
    if (options->json)
        print_json(&c);
    else
        print_table(&c);
    return CLI_DONE;
}
