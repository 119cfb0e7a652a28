/* SPDX-License-Identifier: MIT */
/* cli.h: runs the program in a folder of its own and checks its output. */
#ifndef TALLY_TEST_CLI_H
#define TALLY_TEST_CLI_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include <cmocka.h>
#include <json-c/json.h>

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

/* ---- the program's folder -------------------------------------------------------------------- */

void folder_open(void);
void folder_close(void);
const char *folder_path(void);
void write_file(const char *name, const void *data, size_t bytes);
/* Writes a .npy file: the dictionary's values as text, and the data. */
/* Returns "<f4" for 'f' and 4, in this machine's byte order. */
const char *own_descr(char letter, int bytes);
void write_npy(const char *name, unsigned major, const char *descr, const char *shape, const void *data, size_t bytes);
/* Writes a .npy file with this whole dictionary, not padded. */
void write_npy_dictionary(const char *name, unsigned major, const char *dictionary, const void *data, size_t bytes);

/* ---- running --------------------------------------------------------------------------------- */

extern const char *program; /* the path of `tally` */

typedef struct setup {
    const char *env[4];  /* NAME=VALUE, or NAME to unset it */
    const char *in_file; /* content of a pipe to standard input; NULL: empty */
    size_t in_piece;     /* bytes of a piece; 0: all at once */
    unsigned in_pause;   /* milliseconds between pieces */
    const char *out;     /* stdout: a path, "-" for closed, NULL to keep it */
    int err_fd;          /* stderr: a file descriptor; 0 to keep it */
} setup;

typedef struct result {
    int code; /* exit code; 1000 + the signal that ended it */
    char out[16384], err[16384];
} result;

/* `words` are separated by single spaces. */
pid_t start(const setup *how, const char *words);
void finish(pid_t pid, result *r);
result run(const setup *how, const char *words);

/* ---- arrays.c ------------------------------------------------------------------------------- */

/* Writes a .npy file, with misaligned items if `odd`. */
void write_array(const char *name, const char *descr, bool is_fortran, const char *shape, bool odd, const void *items,
                 size_t bytes);
/* Returns the items of a .npy file. Fails unless the file has `bytes` bytes of items with this type
 * and shape, and a header as NumPy writes it. The caller frees them. */
void *must_read_npy(const char *name, const char *descr, const char *order, const char *shape, size_t bytes);
/* Expects these items. */
void must_hold(const char *name, const char *descr, const char *order, const char *shape, const void *items, size_t bytes);
/* Expects no temporary file; `words` are for the message. */
void expect_no_rest(const char *words);
/* Runs the program. Expects success, an empty stderr and no temporary file. */
result must_run(const setup *how, const char *words);

/* ---- checking -------------------------------------------------------------------------------- */

unsigned count_lines(const char *text);
/* Parses line `index` of the output as JSON. The caller puts it. Fails if the line is no JSON. */
json_object *parse_line(const result *r, unsigned index);
/* Returns a member that must be there. */
json_object *member(json_object *o, const char *name);
const char *text_member(json_object *o, const char *name);
/* Runs `words` with --json and compares the value of the only result, as text. */
void must_give(const setup *how, const char *words, const char *value);
/* Expects this exit code, nothing on stdout, and one line on stderr that starts with "tally: " and
 * has each text up to the first NULL. */
void must_refuse(const setup *how, const char *words, int code, const char *const *says, size_t count);

/* Calls must_refuse for each row. */
typedef struct bad_row {
    const char *words;
    const char *says[3];
    const char *env; /* or NULL */
    const char *in;  /* content of standard input, or NULL */
} bad_row;
void must_refuse_rows(const bad_row *rows, size_t count, int code);

/* The device that is used by default, for example "opencl:0", or "" without a device. */
extern char device[64];
/* TALLY_BACKEND of each run that does not set it, or NULL. */
extern const char *default_backend;
/* For tests that reduce: skips the test, or fails under TALLY_TEST_REQUIRE, if there is no
 * device. */
void need_device(void);
/* The same for tests of what the device `host` has not, as it compiles nothing: custom ops, other
 * accumulators, more than one variant. */
void need_compiler(void);
/* Returns whether TALLY_TEST_QUICK or TALLY_TEST_PART asks for less. */
bool is_quick(void);

/* ---- the tests ------------------------------------------------------------------------------- */

extern const char *nile;
void test_bad_usage(void **unused);
void test_bench(void **unused);
void test_bench_bits(void **unused);
void test_bench_primitives(void **unused);
void test_bench_segments(void **unused);
void test_bench_scan_bits(void **unused);
void test_bench_bar(void **unused);
void test_bench_grid(void **unused);
void test_bench_grid_table(void **unused);
void test_bench_grid_forms(void **unused);
void test_bench_forms_usage(void **unused);
void test_bench_grid_ends(void **unused);
void test_bench_usage(void **unused);
void test_bench_output(void **unused);
void test_tune(void **unused);
void test_tune_refused(void **unused);
void test_bad_files(void **unused);
void test_bad_streams(void **unused);
void test_foreign_files(void **unused);
void test_bad_output(void **unused);
void test_no_device(void **unused);
void test_file_limit(void **unused);
void test_shrinking_file(void **unused);

void test_bad_operators(void **unused);
void test_bad_own_operators(void **unused);
void test_bad_items(void **unused);
void test_bad_pairs(void **unused);

void test_nile(void **unused);
void test_formats(void **unused);
void test_streams(void **unused);
void test_values(void **unused);
void test_slices(void **unused);
void test_several_files(void **unused);
void test_selection(void **unused);
void test_home(void **unused);
void test_listings(void **unused);
void test_help(void **unused);
void test_check(void **unused);
void test_progress(void **unused);
void test_compiling(void **unused);

/* The names of the commands. */
#define COMMANDS 12
extern const char *const all_commands[COMMANDS];

/* Runs `words` and returns all of its output. The caller frees it. */
char *read_output(const setup *how, const char *words, int *code);

void test_lines(void **unused);
void test_names(void **unused);
void test_numbers(void **unused);
void test_guesses(void **unused);
void test_help_command(void **unused);
void test_ops_list(void **unused);
void test_quiet(void **unused);

void test_operators(void **unused);
void test_indices(void **unused);
void test_texts(void **unused);
void test_parameters(void **unused);
void test_accuracy(void **unused);
void test_pairs(void **unused);
void test_slices_of_pairs(void **unused);
void test_own_operators(void **unused);

void test_axes(void **unused);
void test_axes_of_ops(void **unused);
void test_many_rows(void **unused);
void test_axes_of_own(void **unused);
void test_axes_of_pairs(void **unused);
void test_where(void **unused);
void test_initial(void **unused);
void test_offsets(void **unused);
void test_keys(void **unused);
void test_tables(void **unused);
void test_segments_json(void **unused);
void test_segments_usage(void **unused);
void test_segments_refused(void **unused);
void test_segments_values(void **unused);

void test_scan(void **unused);
void test_scan_options(void **unused);
void test_scan_axis(void **unused);
void test_scan_pieces(void **unused);
void test_scan_usage(void **unused);
void test_scan_refused(void **unused);
void test_output_is_input(void **unused);
void test_scan_interrupted(void **unused);
void test_scan_ignores(void **unused);
void test_gather(void **unused);
void test_scatter(void **unused);
void test_bad_moves(void **unused);
void test_orders(void **unused);
void test_moves_of_orders(void **unused);
void test_streams_of_orders(void **unused);
void test_shapes(void **unused);
void test_scalars(void **unused);

void test_study_json(void **unused);
void test_study_cells(void **unused);
void test_study_tables(void **unused);
void test_study_plot(void **unused);
void test_study_usage(void **unused);
void test_study_scan(void **unused);
void test_study_scan_cells(void **unused);
void test_study_moves(void **unused);
void test_study_segments(void **unused);
void test_study_primitive_tables(void **unused);

#endif
