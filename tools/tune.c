/* SPDX-License-Identifier: MIT */
/*
 * tune.c: `tally tune` tries the shapes of launches on a device, by kind of operator, width of
 * items and size. It keeps the fastest as rows of the file of tunings that contexts read. Every
 * shape must give the same bits. The file is written as a whole at the end.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli.h"
#include "tools/print/progress.h"
#include "tools/print/wrap.h"

#define FILE_NAME "tunings.txt" /* in the cache's directory */
#define LEAST_EXPONENT 13       /* bytes of the smallest size, as a power of two */
#define MOST_EXPONENT 30
#define MAX_SIZES (MOST_EXPONENT - LEAST_EXPONENT + 1)
#define ROUNDS 5
#define TRIAL_SECONDS 1e-3 /* time of the calls between two marks of the clock */
#define MOST_CALLS 200
#define CLOSE 1.04 /* times within this factor are equal: fewer rows, less noise */
#define RESULT_BYTES 64

/* A launch as a row of the file has it; 0 means unset. */
typedef struct shape {
    unsigned group, loads, groups, run;
} shape;

static const shape gpu_shapes[] = {{32, 8, 0, 0},   {32, 16, 0, 0},  {32, 32, 0, 0},  {64, 8, 0, 0},   {64, 16, 0, 0},
                                   {64, 32, 0, 0},  {128, 8, 0, 0},  {128, 16, 0, 0}, {128, 32, 0, 0}, {256, 8, 0, 0},
                                   {256, 16, 0, 0}, {256, 32, 0, 0}, {512, 8, 0, 0},  {512, 16, 0, 0}};
static const shape cpu_shapes[] = {{0, 0, 4, 2},  {0, 0, 4, 8},  {0, 0, 4, 32},  {0, 0, 16, 2},  {0, 0, 16, 8}, {0, 0, 16, 32},
                                   {0, 0, 64, 2}, {0, 0, 64, 8}, {0, 0, 64, 32}, {0, 0, 256, 2}, {0, 0, 256, 8}};
#define COUNT(array) (sizeof(array) / sizeof((array)[0]))
#define MAX_SHAPES COUNT(gpu_shapes)
_Static_assert(COUNT(cpu_shapes) <= MAX_SHAPES, "the arrays below hold either");

/* One operator for each kind that rows distinguish, and one type for each width of items. */
static const struct {
    tally_op op;
    const char *kind;
} kinds[] = {{TALLY_SUM, "sum"}, {TALLY_ARGMAX, "struct"}, {TALLY_DOT, "pair"}};
static const tally_dtype dtypes[] = {TALLY_F32, TALLY_F64, TALLY_F16, TALLY_I8};

typedef struct tuner {
    tally_context *context;
    tally_context_info info;
    tally_queue *queue;
    tally_buffer *in, *out;
    tally_event *begin, *end;
    const shape *shapes;
    size_t shape_count;
    int most_exponent;
    uint64_t most_n; /* items, if given on the command line */
    uint64_t steps;
    bool json;
    char device[sizeof(((tally_device_info *)0)->name)]; /* as in rows */
    FILE *rows;                                          /* the rows to keep */
} tuner;

/* The times of one kind and type, seconds[size][shape]. The last shape is the library's own choice.
 * INFINITY means that the device cannot run it. */
typedef struct sweep {
    tally_op op;
    tally_dtype in;
    const char *kind;
    int sizes;
    double seconds[MAX_SIZES][MAX_SHAPES + 1];
} sweep;

static cli_exit complain(const char *what) {
    return cli_report("tune: %s: %s", what, cli_last_error().text), CLI_FAILED;
}

/* ---- rows ------------------------------------------------------------------------------------ */

static void print_field(FILE *file, unsigned value) {
    if (value)
        fprintf(file, " %u", value);
    else
        fprintf(file, " -");
}

/* Returns the bytes of an input that the last rows of a sweep reach; 0 means any size. --n ends a
 * sweep early, and larger inputs are then not measured. */
static uint64_t reach_of(const tuner *t, const sweep *s) {
    const int last = LEAST_EXPONENT + s->sizes - 1;
    return last < t->most_exponent ? UINT64_C(1) << last : 0;
}

/* Prints a row. `up_to` is the bytes of an input, a power of two; 0 means any size. */
static void print_row(FILE *file, const tuner *t, const sweep *s, uint64_t up_to, const shape *best) {
    fprintf(file, "%s %s %s %zu ", t->info.device.backend, t->device, s->kind, tally_dtype_bytes(s->in));
    if (!up_to)
        fprintf(file, "*");
    else
        fprintf(file, up_to % (1 << 20) ? "%" PRIu64 "K" : "%" PRIu64 "M", up_to % (1 << 20) ? up_to >> 10 : up_to >> 20);
    print_field(file, best->group);
    print_field(file, best->loads);
    print_field(file, best->groups);
    print_field(file, best->run);
    fprintf(file, "\n");
}

/* Returns the bytes that a row's fifth word reaches: "*", or a number as print_row writes it. */
static uint64_t read_reach(const char *word) {
    char *end;
    const uint64_t number = strtoull(word, &end, 10);
    return !number ? UINT64_MAX : number << (*end == 'K' ? 10 : *end == 'M' ? 20 : *end == 'G' ? 30 : 0);
}

/* Returns true if a new row replaces a line of the file: both begin with the same four words, and
 * the new row reaches as far. */
static bool is_replaced(const char *line, const char *rows) {
    char old[5][160], new[5][160];
    if (sscanf(line, "%159s %159s %159s %159s %159s", old[0], old[1], old[2], old[3], old[4]) != 5) return false;
    for (const char *at = rows; *at; at = strchr(at, '\n') + 1) {
        if (sscanf(at, "%159s %159s %159s %159s %159s", new[0], new[1], new[2], new[3], new[4]) != 5) continue;
        bool same = true;
        for (int i = 0; i < 4; i++) same = same && !strcmp(old[i], new[i]);
        if (same && read_reach(new[4]) >= read_reach(old[4])) return true;
    }
    return false;
}

/* Opens a regular file to read. Any other kind counts as absent, as a pipe would block the
 * program. */
static FILE *open_old(const char *path) {
    struct stat about;
    const int fd = open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    FILE *file = fd >= 0 && !fstat(fd, &about) && S_ISREG(about.st_mode) ? fdopen(fd, "r") : NULL;
    if (fd >= 0 && !file) close(fd);
    return file;
}

/* Writes the new rows, then the rows of the old file that they do not replace. A temporary file is
 * renamed, so a reader sees the old or the new file. Lines that are not rows are dropped, because
 * one of them makes readers ignore the whole file. */
static cli_exit write_file(const tuner *t, const char *rows) {
    char path[600], made[640], line[1024];
    snprintf(path, sizeof(path), "%s/" FILE_NAME, t->info.cache_dir);
    snprintf(made, sizeof(made), "%s.XXXXXX", path);
    const int fd = mkostemp(made, O_CLOEXEC);
    FILE *old = open_old(path), *file = fd < 0 ? NULL : fdopen(fd, "w");
    bool good = file != NULL;
    if (good) fputs("# backend device ops item up_to group loads groups run; by tally tune, which keeps other rows\n", file);
    if (good) fputs(rows, file);
    while (good && old && fgets(line, sizeof(line), old))
        if (line[0] != '#' && !is_replaced(line, rows) && !tally_context_set_tunings(t->context, line)) fputs(line, file);
    good = good && !ferror(file);
    if (old) fclose(old);
    if (file && fclose(file)) good = false;
    if (good && !rename(made, path)) {
        if (!t->json) printf("written to %s\n", path);
        return CLI_DONE;
    }
    const int error = errno;
    unlink(made);
    return cli_report("%s: %s", path, strerror(error)), CLI_FAILED;
}

/* ---- measuring ------------------------------------------------------------------------------- */

static tally_status set_shape(const tuner *t, const shape *s) {
    char row[96] = "";
    FILE *file = s ? fmemopen(row, sizeof(row), "w") : NULL;
    if (file) {
        fprintf(file, "* * * * *");
        print_field(file, s->group), print_field(file, s->loads), print_field(file, s->groups), print_field(file, s->run);
        fclose(file);
    }
    return tally_context_set_tunings(t->context, row);
}

static tally_status enqueue(const tuner *t, tally_plan *plan, uint64_t n) {
    const tally_reduce_args args = {.size = sizeof(args), .in = {t->in, t->in}, .n = n, .out = t->out};
    return tally_reduce_with(plan, t->queue, &args);
}

static tally_status time_calls(const tuner *t, tally_plan *plan, uint64_t n, int calls, double *seconds) {
    tally_status status = enqueue(t, plan, n); /* keeps the device from waiting for the host */
    if (!status) status = tally_event_record(t->begin, t->queue);
    for (int i = 0; i < calls && !status; i++) status = enqueue(t, plan, n);
    if (!status) status = tally_event_record(t->end, t->queue);
    if (!status) status = tally_event_seconds(t->begin, t->end, seconds);
    *seconds /= calls;
    return status;
}

static tally_status result_of(const tuner *t, tally_plan *plan, uint64_t n, unsigned char result[RESULT_BYTES]) {
    tally_status status = enqueue(t, plan, n);
    if (!status) status = tally_buffer_read(t->queue, t->out, 0, result, tally_plan_result_bytes(plan));
    const tally_status waited = tally_queue_wait(t->queue);
    return status ? status : waited;
}

static int ascending(const void *a, const void *b) {
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Times the shapes in turns. The result is the median of each shape's rounds. */
static tally_status time_plans(const tuner *t, tally_plan *const *plans, uint64_t n, double *seconds) {
    double times[MAX_SHAPES + 1][ROUNDS], once;
    int calls[MAX_SHAPES + 1];
    tally_status status = TALLY_OK;
    for (size_t k = 0; k <= t->shape_count && !status; k++) {
        if (plans[k]) status = time_calls(t, plans[k], n, 4, &once);
        calls[k] = plans[k] && once * MOST_CALLS > TRIAL_SECONDS ? (int)(TRIAL_SECONDS / once) + 1 : MOST_CALLS;
    }
    for (int round = 0; round < ROUNDS; round++)
        for (size_t k = 0; k <= t->shape_count && !status; k++)
            if (plans[k]) status = time_calls(t, plans[k], n, calls[k], &times[k][round]);
    for (size_t k = 0; k <= t->shape_count && !status; k++) {
        seconds[k] = INFINITY;
        if (!plans[k]) continue;
        qsort(times[k], ROUNDS, sizeof(double), ascending);
        seconds[k] = times[k][ROUNDS / 2];
    }
    return status;
}

/* Times a plan for each shape that the device can run, and one with the library's own choice. All
 * must give the same result. */
static cli_exit measure_size(tuner *t, const sweep *s, uint64_t n, double *seconds) {
    tally_plan *plans[MAX_SHAPES + 1] = {NULL};
    unsigned char expected[RESULT_BYTES], result[RESULT_BYTES];
    const tally_reduce_desc desc = {.size = sizeof(desc), .op = s->op, .in = s->in, .max_n = n};
    cli_exit code = CLI_DONE;
    for (size_t i = 0; i <= t->shape_count && code == CLI_DONE; i++) {
        const size_t k = t->shape_count - i; /* the library's own choice comes first */
        progress_update(t->steps++);
        tally_status status = set_shape(t, k < t->shape_count ? &t->shapes[k] : NULL);
        if (!status) status = tally_plan_create(t->context, &desc, &plans[k]);
        if (status == TALLY_E_UNSUPPORTED && i) continue;
        if (!status) status = result_of(t, plans[k], n, i ? result : expected);
        if (status) code = complain(tally_op_name(s->op));
        if (!status && i && memcmp(result, expected, tally_plan_result_bytes(plans[k])))
            code = (cli_report("tune: %s of %" PRIu64 " %s: the result depends on the shape", tally_op_name(s->op), n,
                               tally_dtype_name(s->in)),
                    CLI_FAILED);
    }
    if (code == CLI_DONE && time_plans(t, plans, n, seconds)) code = complain(tally_op_name(s->op));
    for (size_t k = 0; k <= t->shape_count; k++) tally_plan_destroy(plans[k]);
    return code;
}

/* ---- choosing -------------------------------------------------------------------------------- */

static double fastest(const sweep *s, int size, size_t shapes) {
    double least = INFINITY;
    for (size_t k = 0; k < shapes; k++) least = fmin(least, s->seconds[size][k]);
    return least;
}

/* Keeps rows for the sizes that are measured. Each row covers as many of them as one shape is good
 * for. */
static void keep_best(const tuner *t, const sweep *s) {
    for (int size = 0, next; size < s->sizes; size = next) {
        size_t best = 0;
        next = size;
        for (size_t k = 0; k < t->shape_count; k++) {
            int end = size;
            while (end < s->sizes && s->seconds[end][k] <= CLOSE * fastest(s, end, t->shape_count)) end++;
            if (end > next) next = end, best = k;
        }
        print_row(t->rows, t, s, next < s->sizes ? UINT64_C(1) << (LEAST_EXPONENT + next - 1) : reach_of(t, s),
                  &t->shapes[best]);
    }
}

static void print_sweep(const tuner *t, const sweep *s) {
    for (int size = 0; size < s->sizes; size++) {
        size_t best = 0;
        for (size_t k = 1; k < t->shape_count; k++)
            if (s->seconds[size][k] < s->seconds[size][best]) best = k;
        const shape *b = &t->shapes[best];
        const double before = 1e6 * s->seconds[size][t->shape_count], now = 1e6 * s->seconds[size][best];
        const uint64_t bytes = UINT64_C(1) << (LEAST_EXPONENT + size);
        if (t->json)
            printf("{\"op\": \"%s\", \"dtype\": \"%s\", \"bytes\": %" PRIu64 ", \"microseconds\": %.3f, "
                   "\"untuned_microseconds\": %.3f, \"group\": %u, \"loads\": %u, \"groups\": %u, \"run\": %u}\n",
                   tally_op_name(s->op), tally_dtype_name(s->in), bytes, now, before, b->group, b->loads, b->groups, b->run);
        else
            printf("%-7s %-5s %10s %12.2f %12.2f %8.2fx  %s %u, %s %u\n", tally_op_name(s->op), tally_dtype_name(s->in),
                   units_bytes(bytes).text, before, now, before / now, b->group ? "group" : "groups",
                   b->group ? b->group : b->groups, b->group ? "loads" : "run", b->group ? b->loads : b->run);
    }
}

/* ---- the command ----------------------------------------------------------------------------- */

/* Fills the input with numbers of both signs and many magnitudes, which are NaN in no type. */
static tally_status fill(tuner *t, tally_dtype in) {
    enum { BLOCK = 1 << 16 };
    static unsigned char block[BLOCK];
    const size_t bytes = tally_dtype_bytes(in);
    for (uint64_t i = 0; i < BLOCK / bytes; i++) {
        const uint64_t random = (i + 1) * UINT64_C(0x9e3779b97f4a7c15);
        if (in == TALLY_F32 || in == TALLY_F64)
            cli_part_store(in, (double)(int64_t)random * 0x1p-53, block + i * bytes);
        else
            memcpy(block + i * bytes, &(uint64_t){(random >> 40) & (in == TALLY_F16 ? 0xbbff : 0xff)}, bytes);
    }
    tally_status status = TALLY_OK;
    for (uint64_t at = 0; at < UINT64_C(1) << t->most_exponent && !status; at += BLOCK)
        status = tally_buffer_write(t->queue, t->in, at, block, BLOCK);
    const tally_status waited = tally_queue_wait(t->queue);
    return status ? status : waited;
}

/* Returns the exponent of the last size that is measured: the first that holds the items of --n. */
static int last_exponent(const tuner *t, tally_dtype in) {
    int e = LEAST_EXPONENT;
    while (e < t->most_exponent && (UINT64_C(1) << e) / tally_dtype_bytes(in) < t->most_n) e++;
    return e;
}

static cli_exit tune_type(tuner *t, size_t kind, tally_dtype in) {
    sweep s = {.op = kinds[kind].op, .in = in, .kind = kinds[kind].kind};
    cli_exit code = fill(t, in) ? complain("writing the items") : CLI_DONE;
    if (!t->json) progress_wait(PROGRESS_COMPILING);
    for (int e = LEAST_EXPONENT; e <= last_exponent(t, in) && code == CLI_DONE; e++)
        code = measure_size(t, &s, (UINT64_C(1) << e) / tally_dtype_bytes(in), s.seconds[s.sizes++]);
    if (code != CLI_DONE) return code;
    keep_best(t, &s);
    progress_end();
    print_sweep(t, &s);
    return CLI_DONE;
}

static tally_status open_tuner(tuner *t) {
    tally_status status = tally_context_get_info(t->context, &t->info);
    const tally_device_info *d = &t->info.device;
    const bool is_cpu = d->device_class == TALLY_CLASS_CPU;
    t->shapes = is_cpu ? cpu_shapes : gpu_shapes;
    t->shape_count = is_cpu ? COUNT(cpu_shapes) : COUNT(gpu_shapes);
    snprintf(t->device, sizeof(t->device), "%s", d->name);
    for (char *c = t->device; *c; c++)
        if (strchr(" \t#*?[\\", *c)) *c = '_';
    t->most_exponent = MOST_EXPONENT;
    while (t->most_exponent > LEAST_EXPONENT &&
           (UINT64_C(1) << t->most_exponent > d->memory_bytes / 4 || UINT64_C(1) << t->most_exponent > d->max_buffer_bytes))
        t->most_exponent--;
    if (!status) status = tally_queue_create(t->context, &t->queue);
    if (!status) status = tally_buffer_create(t->context, UINT64_C(1) << t->most_exponent, &t->in);
    if (!status) status = tally_buffer_create(t->context, RESULT_BYTES, &t->out);
    if (!status) status = tally_event_create(t->context, &t->begin);
    return status ? status : tally_event_create(t->context, &t->end);
}

static void close_tuner(tuner *t) {
    tally_event_destroy(t->begin);
    tally_event_destroy(t->end);
    tally_buffer_destroy(t->in);
    tally_buffer_destroy(t->out);
    tally_queue_destroy(t->queue);
    tally_context_destroy(t->context);
}

static cli_exit tune_all(tuner *t, const cli_options *options) {
    uint64_t steps = 0;
    bool wanted[COUNT(kinds)][COUNT(dtypes)];
    for (size_t k = 0; k < COUNT(kinds); k++)
        for (size_t d = 0; d < COUNT(dtypes); d++) {
            wanted[k][d] = (!options->op || !strcmp(options->op, tally_op_name(kinds[k].op))) &&
                           (!options->dtype || !strcmp(options->dtype, tally_dtype_name(dtypes[d])));
            steps += wanted[k][d] * (uint64_t)(last_exponent(t, dtypes[d]) - LEAST_EXPONENT + 1) * (t->shape_count + 1);
        }
    if (!steps)
        return cli_usage("tune takes --op sum, argmax or dot and --dtype f32, f64, f16 or i8, one for each kind and width");
    if (!t->json) {
        wrap_printf(stdout, "%s:%d %s", t->info.device.backend, t->info.device.index, t->info.device.name);
        printf("%-7s %-5s %10s %12s %12s %9s  fastest\n", "op", "in", "input", "untuned us", "tuned us", "is");
    }
    cli_exit code = CLI_DONE;
    for (size_t k = 0; k < COUNT(kinds); k++)
        for (size_t d = 0; d < COUNT(dtypes) && code == CLI_DONE; d++)
            if (wanted[k][d]) {
                progress_begin("tuning", PROGRESS_STEPS, steps);
                progress_update(t->steps);
                code = tune_type(t, k, dtypes[d]);
                progress_end();
            }
    return code;
}

cli_exit cli_tune(const cli_options *options, int count, char **operands) {
    (void)count, (void)operands;
    tuner t = {.json = options->json, .most_n = UINT64_MAX};
    if (cli_read_count("n", options->n, 1, CLI_MOST_COUNT, &t.most_n) != CLI_DONE) return CLI_USAGE;
    char *rows = NULL;
    size_t bytes = 0;
    cli_exit code = cli_open(options, &t.context);
    if (code != CLI_DONE) return code;
    if (open_tuner(&t)) code = complain("opening the device");
    if (code == CLI_DONE && !options->dry && !t.info.cache_dir[0])
        code = (cli_report("tune: there is nowhere to keep the tunings: %s; --dry-run prints them", t.info.cache_note),
                CLI_FAILED);
    if (code == CLI_DONE && !(t.rows = open_memstream(&rows, &bytes))) code = (cli_report("out of memory"), CLI_FAILED);
    if (code == CLI_DONE) code = tune_all(&t, options);
    if (t.rows && fclose(t.rows) && code == CLI_DONE) code = (cli_report("out of memory"), CLI_FAILED);
    if (code == CLI_DONE && options->dry && !t.json) fputs(rows, stdout);
    if (code == CLI_DONE && !options->dry) code = write_file(&t, rows);
    free(rows);
    close_tuner(&t);
    return code;
}
