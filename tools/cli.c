/* SPDX-License-Identifier: MIT */
/* cli.c: messages, output and the choice of a device, for all commands. */
#include "cli.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/base.h"
#include "base/did_you_mean.h"
#include "tools/print/output.h"
#include "tools/print/progress.h"
#include "tools/print/wrap.h"

/* cli_set_help's words. */
static char help[32] = "tally";

void cli_set_help(const char *words) {
    snprintf(help, sizeof(help), "%s", words);
}

/* cli_capture's text, or NULL. */
static char *captured;
static size_t captured_bytes;

void cli_capture(char *text, size_t bytes) {
    captured = text;
    captured_bytes = bytes;
}

static void report(const char *ending, const char *format, va_list list) {
    char line[4096];
    const size_t limit = sizeof(line) - 64;
    const size_t start = (size_t)snprintf(line, sizeof(line), "tally: ");
    size_t n = start;
    const int wanted = vsnprintf(line + n, limit - n, format, list);
    n += wanted < 0 ? 0 : (size_t)wanted < limit - n ? (size_t)wanted : limit - n - 1;
    while (n && (line[n - 1] == '\n' || line[n - 1] == ' ')) n--;
    for (size_t i = 0; i < n; i++)
        if ((unsigned char)line[i] < ' ' || line[i] == 127) line[i] = ' ';
    snprintf(line + n, sizeof(line) - n, "%s\n", ending);
    progress_end();
    if (captured)
        snprintf(captured, captured_bytes, "%.*s", (int)(n - start), line + start);
    else
        fputs(line, stderr);
}

void cli_report(const char *format, ...) {
    va_list list;
    va_start(list, format);
    report("", format, list);
    va_end(list);
}

cli_exit cli_usage(const char *format, ...) {
    va_list list;
    char ending[sizeof(help) + 16];
    snprintf(ending, sizeof(ending), " (see %s --help)", help);
    va_start(list, format);
    report(ending, format, list);
    va_end(list);
    return CLI_USAGE;
}

void cli_add_name(cli_names *names, const char *name) {
    const size_t used = strlen(names->text);
    snprintf(names->text + used, sizeof(names->text) - used, "%s%s", used ? ", " : "", name);
}

cli_names cli_op_names(void) {
    cli_names names = {""};
    for (tally_op op = 1; op < TALLY_OP_END; op++) cli_add_name(&names, tally_op_name(op));
    return names;
}

cli_names cli_dtype_names(void) {
    cli_names names = {""};
    for (tally_dtype dtype = 1; dtype < TALLY_DTYPE_END; dtype++) cli_add_name(&names, tally_dtype_name(dtype));
    return names;
}

const tally_dtype cli_accs[CLI_ACCS] = {TALLY_F32, TALLY_F64, TALLY_I32, TALLY_U32, TALLY_I64, TALLY_U64};

cli_names cli_acc_names(void) {
    cli_names names = {""};
    for (size_t i = 0; i < CLI_ACCS; i++) cli_add_name(&names, tally_dtype_name(cli_accs[i]));
    return names;
}

cli_names cli_accuracy_names(void) {
    cli_names names = {""};
    for (int level = 0; level < TALLY_ACCURACY_END; level++) cli_add_name(&names, tally_accuracy_name((tally_accuracy)level));
    return names;
}

cli_listing cli_there_are(const char *name, cli_names names) {
    cli_listing out;
    const char *verb = !*names.text ? "is none" : strchr(names.text, ',') ? "are " : "is ";
    snprintf(out.text, sizeof(out.text), "%sthere %s%s", tally_did_you_mean(name, strlen(name), names.text).text, verb,
             names.text);
    return out;
}

const char *const cli_primitive_names[CLI_PRIMITIVES] = {"reduce", "scan", "segments", "gather", "scatter"};

bool cli_variant_get(cli_primitive of, size_t index, tally_variant_info *out) {
    if (of == CLI_REDUCE) return tally_variant_get(index, out) == TALLY_OK;
    return of == CLI_SCAN && tally_scan_variant_get(index, out) == TALLY_OK;
}

cli_names cli_variant_names(cli_primitive of) {
    cli_names names = {"auto"};
    tally_variant_info info;
    for (size_t i = 0; cli_variant_get(of, i, &info); i++) cli_add_name(&names, info.name);
    return names;
}

void cli_print_json(json_object *object) {
    puts(json_object_to_json_string_ext(object, JSON_C_TO_STRING_NOSLASHESCAPE | JSON_C_TO_STRING_SPACED));
    json_object_put(object);
}

bool cli_flush(void) {
    static bool reported;
    const char *wrong = output_flush();
    if (!wrong) return true;
    if (!reported) cli_report("standard output: %s", wrong);
    return reported = true, false;
}

cli_shown_name cli_shown(const char *name) {
    cli_shown_name shown;
    tally_text_print(shown.text, sizeof(shown.text), name);
    return shown;
}

/* JSON is UTF-8, and escapes control characters itself: what else is escaped by cli_shown is
 * none. */
json_object *cli_json_text(const char *text) {
    size_t bytes = 1;
    for (const char *c = text; c && *c && bytes; c += bytes)
        if (!(bytes = tally_character_bytes(c)) && (unsigned char)*c < 0x80) bytes = 1;
    return text ? json_object_new_string(bytes ? text : cli_shown(text).text) : NULL;
}

void cli_json_device(json_object *o, const tally_device_info *device) {
    json_object_object_add(o, "backend", cli_json_text(device->backend));
    json_object_object_add(o, "device", cli_json_text(device->name));
    json_object_object_add(o, "device_index", json_object_new_int(device->index));
}

void cli_json_speed(json_object *o, double seconds, double bytes) {
    const double speed = seconds > 0 ? bytes / seconds : 0;
    char text[64];
    snprintf(text, sizeof(text), "%.9f", seconds);
    json_object_object_add(o, "seconds", json_object_new_double_s(seconds, text));
    snprintf(text, sizeof(text), "%.0f", speed);
    json_object_object_add(o, "bytes_per_second", json_object_new_double_s(speed, text));
}

void cli_print_run(const char *variant, const tally_device_info *d, double seconds, double bytes) {
    wrap_printf(stdout, "%s%s%son %s:%d (%s), %.6f\1s, %.2f\1GB/s", variant ? "by " : "", variant ? variant : "",
                variant ? " " : "", d->backend, d->index, d->name, seconds, seconds > 0 ? 1e-9 * bytes / seconds : 0);
}

/* The library's last error without the call's name in front. */
static const char *error_without_call(void) {
    static const char call[] = "tally_";
    const char *text = tally_last_error();
    if (strncmp(text, call, sizeof(call) - 1) != 0) return text;
    const size_t name = strspn(text, "abcdefghijklmnopqrstuvwxyz_");
    return strncmp(text + name, ": ", 2) == 0 ? text + name + 2 : text;
}

/* The library's names of descriptor members are option names here: "desc.x" becomes "--x". */
cli_text cli_last_error(void) {
    static const char member[] = "desc.";
    const char *text = error_without_call();
    cli_text out;
    const bool option = strncmp(text, member, sizeof(member) - 1) == 0;
    if (option) text += sizeof(member) - 1;
    /* An option holds for all terms. */
    if (option && strncmp(text, "terms[", 6) == 0) text = strchr(text, '.') + 1;
    snprintf(out.text, sizeof(out.text), "%s%s", option ? "--" : "", text);
    return out;
}

cli_exit cli_open(const cli_options *options, tally_context **out) {
    static const char origin[] = "argument "; /* the library's prefix of its own arguments */
    const tally_status status = tally_context_create(options->backend, out);
    if (status == TALLY_OK) return CLI_DONE;
    const char *text = error_without_call();
    const bool ours = strncmp(text, origin, sizeof(origin) - 1) == 0;
    cli_report("%s%s", ours ? "--backend " : "", ours ? text + sizeof(origin) - 1 : text);
    return status == TALLY_E_ARGUMENT ? CLI_USAGE : CLI_FAILED;
}

/* ---- numbers --------------------------------------------------------------------------------- */

cli_exit cli_read_count(const char *option, const char *text, uint64_t least, uint64_t most, uint64_t *out) {
    if (!text || units_read_count(text, strlen(text), least, most, out)) return CLI_DONE;
    return cli_usage("--%s %s: %s", option, text, units_needed(least, most).text);
}
