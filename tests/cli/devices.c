/* SPDX-License-Identifier: MIT */
/* The device that is used, and the listings and `check`. */
#include "cli.h"

#include <stdio.h>
#include <string.h>

#include <tally/tally.h>

#include "tests/support/sample.h"
#include "tests/support/test_main.h"

/* Runs a sum and returns the device that computed it, or NULL on failure. */
static const char *used_device(const setup *how, const char *option) {
    static char used[64];
    char words[512];
    snprintf(words, sizeof(words), "reduce sum --json %s%s", option, nile);
    const result r = run(how, words);
    if (r.code) return NULL;
    json_object *o = parse_line(&r, 0);
    snprintf(used, sizeof(used), "%s:%s", text_member(o, "backend"), text_member(o, "device_index"));
    json_object_put(o);
    return used;
}

/* Three items whose sum is 6. */
static void write_items(void) {
    static const int32_t x[3] = {1, 2, 3};
    write_npy("a.npy", 1, own_descr('i', 4), "(3,)", x, sizeof(x));
}

/* The three forms in the environment and as the option: BACKEND, BACKEND:INDEX or BACKEND:NAME, and
 * a list. */
void test_selection(void **unused) {
    (void)unused;
    char backend[64], wanted[5][160], words[256];
    need_compiler();
    write_items();
    snprintf(backend, sizeof(backend), "%.*s", (int)strcspn(device, ":"), device);
    result r = run(NULL, "devices --json");
    json_object *o = parse_line(&r, 0), *backends = member(o, "backends");
    for (size_t i = 0; i < json_object_array_length(backends); i++) {
        json_object *b = json_object_array_get_idx(backends, i);
        if (strcmp(text_member(b, "backend"), backend)) continue;
        const char *name = text_member(json_object_array_get_idx(member(b, "devices"), 0), "name");
        /* Copies the first letters of the name, in capitals. */
        snprintf(wanted[2], sizeof(wanted[2]), "%s:%.4s", backend, name);
        for (char *c = strchr(wanted[2], ':'); *c; c++) *c = *c >= 'a' && *c <= 'z' ? (char)(*c - 32) : *c;
    }
    json_object_put(o);
    snprintf(wanted[0], sizeof(wanted[0]), "%s", backend);
    snprintf(wanted[1], sizeof(wanted[1]), "%s", device);
    snprintf(wanted[3], sizeof(wanted[3]), "%s:99,%s", backend, backend);
    snprintf(wanted[4], sizeof(wanted[4]), "%s:no such name,%s", backend, device);
    for (int i = 0; i < 5; i++) {
        char environment[1024], option[1024];
        snprintf(environment, sizeof(environment), "TALLY_BACKEND=%s", wanted[i]);
        const char *used = used_device(&(setup){.env = {environment}}, "");
        if (!used || strcmp(used, device)) fail_msg("%s: %s, not %s", environment, used ? used : "failed", device);
        if (strchr(wanted[i], ' ')) continue;
        snprintf(option, sizeof(option), "--backend %s ", wanted[i]);
        /* The option overrides the environment. */
        used = used_device(&(setup){.env = {"TALLY_BACKEND=frob"}}, option);
        if (!used || strcmp(used, device)) fail_msg("%s: %s, not %s", option, used ? used : "failed", device);
    }
    const char *const says[] = {":99", "no such device here", backend};
    snprintf(words, sizeof(words), "reduce sum --backend %s:99 x", backend);
    must_refuse(NULL, words, 1, says, COUNT(says));
    snprintf(words, sizeof(words), "TALLY_BACKEND=%s:99", backend);
    must_refuse(&(setup){.env = {words}}, "reduce sum x", 1, says, COUNT(says));
    /* The user's choice of a variant. */
    must_give(NULL, "reduce sum --variant group_tree a.npy", "6");
    must_give(NULL, "reduce sum --variant auto a.npy", "6");
}

/* A home where nothing can be written. The program cache is not used. (POCL itself insists on a
 * folder.) */
void test_home(void **unused) {
    (void)unused;
    char pocl[512];
    need_device();
    write_items();
    snprintf(pocl, sizeof(pocl), "POCL_CACHE_DIR=%s", folder_path());
    const setup how = {.env = {"HOME=/proc", "TALLY_CACHE_DIR", "XDG_CACHE_HOME", pocl}};
    must_give(&how, "reduce sum a.npy", "6");
}

void test_listings(void **unused) {
    (void)unused;
    need_device();
    result r = run(NULL, "devices");
    assert_int_equal(r.code, 0);
    assert_non_null(strstr(r.out, "* "));
    assert_non_null(strstr(r.out, device));
    r = run(NULL, "variants --json");
    json_object *o = parse_line(&r, 0), *variants = member(o, "variants");
    assert_string_equal(text_member(o, "device"), device);
    bool runs[2] = {false, false}; /* auto runs one variant, of reductions and of scans */
    for (size_t i = 0; i < json_object_array_length(variants); i++) {
        json_object *v = json_object_array_get_idx(variants, i);
        static const char *const texts[] = {"name", "stem", "step", "why"};
        for (size_t t = 0; t < COUNT(texts); t++) assert_true(strlen(text_member(v, texts[t])) > 1);
        assert_true(json_object_get_int(member(v, "group_threads")) > 0);
        assert_true(json_object_is_type(member(v, "canonical"), json_type_boolean));
        assert_true(json_object_get_boolean(member(v, "runs")) || strlen(text_member(v, "reason")) > 4);
        const bool scan = strcmp(text_member(v, "primitive"), "scan") == 0;
        if (!scan) assert_string_equal(text_member(v, "primitive"), "reduce");
        if (strcmp(text_member(v, "name"), text_member(o, scan ? "auto_scan" : "auto")) == 0)
            runs[scan] = json_object_get_boolean(member(v, "runs"));
    }
    assert_true(runs[0] && runs[1]);
    json_object_put(o);
    r = run(NULL, "variants");
    assert_int_equal(r.code, 0);
    assert_non_null(strstr(r.out, "* "));
    assert_non_null(strstr(r.out, "is what auto picks"));
    assert_non_null(strstr(r.out, "\n  scan "));
    assert_non_null(strstr(r.out, "warp_carry"));
}

void test_help(void **unused) {
    (void)unused;
    static const char *const commands[] = {"--help",       "devices --help", "variants -h",   "reduce --help",
                                           "check --help", "scan --help",    "--help reduce", "reduce"};
    result r;
    for (size_t i = 0; i + 1 < COUNT(commands); i++) {
        r = run(NULL, commands[i]);
        assert_int_equal(r.code, 0);
        assert_string_equal(r.err, "");
        assert_non_null(strstr(r.out, "--backend SEL"));
    }
    r = run(NULL, "--help");
    static const char *const words[] = {"devices",
                                        "variants",
                                        "reduce OP[,OP...] FILE...",
                                        "reduce --load EXPR",
                                        "scan OP FILE -o OUT.npy",
                                        "check",
                                        "--json",
                                        "f32",
                                        "--param",
                                        "exit code"};
    for (size_t i = 0; i < COUNT(words); i++) assert_non_null(strstr(r.out, words[i]));
    for (int op = 0; op < TALLY_OP_END; op++) {
        char line[64];
        if (!tally_op_name((tally_op)op)) continue;
        snprintf(line, sizeof(line), "\n  %s ", tally_op_name((tally_op)op));
        if (!strstr(r.out, line)) fail_msg("the help does not list %s", tally_op_name((tally_op)op));
    }
    for (const char *at = r.out; *at; at += strcspn(at, "\n") + 1)
        if (strcspn(at, "\n") > 80) fail_msg("the help has a line of more than 80 columns: %.100s", at);
    r = run(NULL, "--version");
    assert_int_equal(r.code, 0);
    assert_int_equal(strncmp(r.out, "tally ", 6), 0);
    assert_int_equal(count_lines(r.out), 1);
}

/* Each device of a list is checked, once. */
static void check_list(void) {
    static const char *const absent[] = {"--backend 'host:9': no such device"};
    static const char *const empty[] = {"--backend 'host,,host'", "an entry is empty"};
    char words[128];
    snprintf(words, sizeof(words), "check --backend host:0,%s,host --json", device);
    const result r = run(NULL, words);
    if (r.code) fail_msg("check: exit code %d: %s%s", r.code, r.out, r.err);
    assert_int_equal(count_lines(r.out), strncmp(device, "host", 4) ? 2 : 1);
    must_refuse(NULL, "check --backend host,host:9", 1, absent, COUNT(absent));
    must_refuse(NULL, "check --backend host,,host", 2, empty, COUNT(empty));
}

void test_check(void **unused) {
    (void)unused;
    char words[128];
    need_device();
    if (!sample_has_turn(0)) test_skip("it has no turn in this sampled run");
    snprintf(words, sizeof(words), "check --backend %s --json", device);
    const result r = run(NULL, words);
    if (r.code) fail_msg("check: exit code %d: %s%s", r.code, r.out, r.err);
    json_object *o = parse_line(&r, 0);
    assert_int_equal(json_object_get_int(member(o, "failed")), 0);
    static const char *const primitives[] = {"reduce", "scan", "gather", "scatter", "segments"};
    /* One variant of each kind: every dtype and the ops of f32 and f64; four ways to scan, and
     * another type; moves with a stencil, unchecked, and so on; segments by axes, offsets, keys. */
    static const int least[] = {18, 5, 4, 4, 9};
    json_object *variants = member(o, "variants");
    int all = 0;
    for (size_t p = 0; p < COUNT(primitives); p++) {
        int run_cells = 0;
        for (size_t i = 0; i < json_object_array_length(variants); i++) {
            json_object *v = json_object_array_get_idx(variants, i);
            if (strcmp(text_member(v, "primitive"), primitives[p]) == 0) run_cells += json_object_get_int(member(v, "run"));
        }
        if (run_cells < least[p]) fail_msg("check: %d cells of %s", run_cells, primitives[p]);
        all += run_cells;
    }
    assert_int_equal(json_object_get_int(member(o, "run")), all);
    json_object_put(o);
    snprintf(words, sizeof(words), "check --backend %s", device);
    const result table = run(NULL, words);
    assert_int_equal(table.code, 0);
    static const char *const says[] = {"primitive",   "warp_carry",   "cpu_chunks",
                                       "\n  gather ", "\n  scatter ", "\n  segments  axes "};
    for (size_t i = 0; i < COUNT(says); i++)
        if (!strstr(table.out, says[i])) fail_msg("no '%s' in: %s", says[i], table.out);
    check_list();
}
