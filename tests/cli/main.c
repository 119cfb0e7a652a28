/* SPDX-License-Identifier: MIT */
/* The program `tally`, run as a user runs it: exit codes, stdout, stderr. */
#include "cli.h"
#include "tests/support/sample.h"
#include "tests/support/test_main.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int open_all(void **unused) {
    (void)unused;
    folder_open();
    const result r = run(NULL, "devices --json");
    if (r.code) return fprintf(stderr, "test_cli: %s devices: exit code %d: %s\n", program, r.code, r.err), -1;
    json_object *o = parse_line(&r, 0);
    if (member(o, "chosen")) snprintf(device, sizeof(device), "%s", text_member(o, "chosen"));
    json_object_put(o);
    printf("device: %s\n", *device ? device : "none: the tests that reduce are skipped");
    return 0;
}

static int close_all(void **unused) {
    (void)unused;
    folder_close();
    return 0;
}

/* ---- on the device `host` -------------------------------------------------------------------- */

static char default_device[sizeof(device)];

/* In a sampled run, a test of files, of arguments or of output takes the device `host`, which
 * compiles nothing. 1 of TALLY_TEST_PART takes the default device. */
static int take_host(void **name) {
    snprintf(default_device, sizeof(default_device), "%s", device);
    if (!is_quick() || (sample_parts() > 1 && sample_takes(*name))) return 0;
    snprintf(device, sizeof(device), "host:0");
    default_backend = "host";
    return 0;
}

static int leave_host(void **name) {
    (void)name;
    snprintf(device, sizeof(device), "%s", default_device);
    default_backend = NULL;
    return 0;
}

#define ON_HOST(test) cmocka_unit_test_prestate_setup_teardown(test, take_host, leave_host, (void *)(uintptr_t) #test)

static const struct CMUnitTest tests[] = {
    ON_HOST(test_bad_usage),
    ON_HOST(test_bad_files),
    ON_HOST(test_bad_streams),
    ON_HOST(test_foreign_files),
    ON_HOST(test_bad_operators),
    cmocka_unit_test(test_bad_own_operators),
    ON_HOST(test_bad_items),
    ON_HOST(test_bad_pairs),
    ON_HOST(test_bad_output),
    cmocka_unit_test(test_no_device),
    ON_HOST(test_file_limit),
    ON_HOST(test_shrinking_file),
    cmocka_unit_test(test_nile),
    ON_HOST(test_formats),
    ON_HOST(test_streams),
    ON_HOST(test_values),
    ON_HOST(test_slices),
    ON_HOST(test_several_files),
    ON_HOST(test_operators),
    ON_HOST(test_indices),
    ON_HOST(test_texts),
    cmocka_unit_test(test_parameters),
    cmocka_unit_test(test_accuracy),
    ON_HOST(test_pairs),
    ON_HOST(test_slices_of_pairs),
    cmocka_unit_test(test_own_operators),
    ON_HOST(test_gather),
    ON_HOST(test_scatter),
    ON_HOST(test_bad_moves),
    ON_HOST(test_orders),
    ON_HOST(test_moves_of_orders),
    ON_HOST(test_streams_of_orders),
    ON_HOST(test_shapes),
    cmocka_unit_test(test_scalars),
    ON_HOST(test_axes),
    ON_HOST(test_axes_of_ops),
    cmocka_unit_test(test_many_rows),
    cmocka_unit_test(test_axes_of_own),
    ON_HOST(test_axes_of_pairs),
    ON_HOST(test_where),
    ON_HOST(test_initial),
    ON_HOST(test_offsets),
    ON_HOST(test_keys),
    ON_HOST(test_tables),
    ON_HOST(test_segments_json),
    ON_HOST(test_segments_usage),
    ON_HOST(test_segments_refused),
    ON_HOST(test_segments_values),
    cmocka_unit_test(test_selection),
    cmocka_unit_test(test_home),
    cmocka_unit_test(test_listings),
    cmocka_unit_test(test_help),
    cmocka_unit_test(test_check),
    cmocka_unit_test(test_help_command),
    cmocka_unit_test(test_ops_list),
    cmocka_unit_test(test_guesses),
    cmocka_unit_test(test_numbers),
    cmocka_unit_test(test_quiet),
    cmocka_unit_test(test_lines),
    cmocka_unit_test(test_names),
    cmocka_unit_test(test_progress),
    cmocka_unit_test(test_compiling),
    cmocka_unit_test(test_scan),
    cmocka_unit_test(test_scan_options),
    ON_HOST(test_scan_axis),
    ON_HOST(test_scan_pieces),
    ON_HOST(test_scan_usage),
    ON_HOST(test_scan_refused),
    ON_HOST(test_output_is_input),
    ON_HOST(test_scan_interrupted),
    ON_HOST(test_scan_ignores),
    cmocka_unit_test(test_study_json),
    ON_HOST(test_study_cells),
    cmocka_unit_test(test_study_tables),
    ON_HOST(test_study_plot),
    cmocka_unit_test(test_study_usage),
    cmocka_unit_test(test_study_scan),
    ON_HOST(test_study_scan_cells),
    ON_HOST(test_study_moves),
    ON_HOST(test_study_segments),
    cmocka_unit_test(test_study_primitive_tables),
    cmocka_unit_test(test_bench),
    cmocka_unit_test(test_bench_bits),
    cmocka_unit_test(test_bench_primitives),
    cmocka_unit_test(test_bench_segments),
    cmocka_unit_test(test_bench_scan_bits),
    cmocka_unit_test(test_bench_bar),
    cmocka_unit_test(test_bench_grid),
    cmocka_unit_test(test_bench_grid_forms),
    cmocka_unit_test(test_bench_forms_usage),
    ON_HOST(test_bench_grid_table),
    ON_HOST(test_bench_grid_ends),
    cmocka_unit_test(test_bench_usage),
    cmocka_unit_test(test_bench_output),
    cmocka_unit_test(test_tune),
    cmocka_unit_test(test_tune_refused),
};

int main(int argc, char **argv) {
    program = TALLY_PROGRAM;
    nile = NILE;
    return test_main(argc, argv, "The program tally, run as a user runs it.", tests, COUNT(tests), open_all, close_all);
}
