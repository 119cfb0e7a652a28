/* SPDX-License-Identifier: MIT */
/* The program `tally`, run as a user runs it: exit codes, stdout, stderr. */
#include "cli.h"
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

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_bad_usage),
    cmocka_unit_test(test_bad_files),
    cmocka_unit_test(test_bad_streams),
    cmocka_unit_test(test_foreign_files),
    cmocka_unit_test(test_bad_operators),
    cmocka_unit_test(test_bad_own_operators),
    cmocka_unit_test(test_bad_items),
    cmocka_unit_test(test_bad_pairs),
    cmocka_unit_test(test_bad_output),
    cmocka_unit_test(test_no_device),
    cmocka_unit_test(test_file_limit),
    cmocka_unit_test(test_shrinking_file),
    cmocka_unit_test(test_nile),
    cmocka_unit_test(test_formats),
    cmocka_unit_test(test_streams),
    cmocka_unit_test(test_values),
    cmocka_unit_test(test_slices),
    cmocka_unit_test(test_several_files),
    cmocka_unit_test(test_operators),
    cmocka_unit_test(test_indices),
    cmocka_unit_test(test_texts),
    cmocka_unit_test(test_parameters),
    cmocka_unit_test(test_accuracy),
    cmocka_unit_test(test_pairs),
    cmocka_unit_test(test_slices_of_pairs),
    cmocka_unit_test(test_own_operators),
    cmocka_unit_test(test_gather),
    cmocka_unit_test(test_scatter),
    cmocka_unit_test(test_bad_moves),
    cmocka_unit_test(test_orders),
    cmocka_unit_test(test_moves_of_orders),
    cmocka_unit_test(test_streams_of_orders),
    cmocka_unit_test(test_shapes),
    cmocka_unit_test(test_scalars),
    cmocka_unit_test(test_axes),
    cmocka_unit_test(test_axes_of_ops),
    cmocka_unit_test(test_axes_of_pairs),
    cmocka_unit_test(test_where),
    cmocka_unit_test(test_initial),
    cmocka_unit_test(test_offsets),
    cmocka_unit_test(test_keys),
    cmocka_unit_test(test_tables),
    cmocka_unit_test(test_segments_json),
    cmocka_unit_test(test_segments_usage),
    cmocka_unit_test(test_segments_refused),
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
    cmocka_unit_test(test_progress),
    cmocka_unit_test(test_compiling),
    cmocka_unit_test(test_scan),
    cmocka_unit_test(test_scan_options),
    cmocka_unit_test(test_scan_pieces),
    cmocka_unit_test(test_scan_usage),
    cmocka_unit_test(test_scan_refused),
    cmocka_unit_test(test_scan_interrupted),
    cmocka_unit_test(test_study_json),
    cmocka_unit_test(test_study_cells),
    cmocka_unit_test(test_study_tables),
    cmocka_unit_test(test_study_plot),
    cmocka_unit_test(test_study_usage),
    cmocka_unit_test(test_study_scan),
    cmocka_unit_test(test_study_scan_cells),
    cmocka_unit_test(test_study_moves),
    cmocka_unit_test(test_study_segments),
    cmocka_unit_test(test_study_primitive_tables),
    cmocka_unit_test(test_bench),
    cmocka_unit_test(test_bench_bits),
    cmocka_unit_test(test_bench_primitives),
    cmocka_unit_test(test_bench_segments),
    cmocka_unit_test(test_bench_scan_bits),
    cmocka_unit_test(test_bench_bar),
    cmocka_unit_test(test_bench_grid),
    cmocka_unit_test(test_bench_grid_table),
    cmocka_unit_test(test_bench_usage),
    cmocka_unit_test(test_tune),
    cmocka_unit_test(test_tune_refused),
};

int main(int argc, char **argv) {
    program = TALLY_PROGRAM;
    nile = NILE;
    return test_main(argc, argv, "The program tally, run as a user runs it.", tests, COUNT(tests), open_all, close_all);
}
