/* SPDX-License-Identifier: MIT */
/*
 * main.c: the program tally-mpi: `tally reduce` over the ranks that mpiexec starts.
 *   mpiexec -n 8 tally-mpi reduce OP[,OP...] FILE... [options of tally reduce]
 *   mpiexec -n 8 tally-mpi reduce OP[,OP...] --parts 'part-%d.npy'
 * Rank 0 prints what tally reduce prints, with the same bits.
 */
#define _DEFAULT_SOURCE /* FIONREAD */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "program.h"
#include "tools/options.h"
#include "tools/print/progress.h"
#include "tools/print/wrap.h"

bool world_is_well(const world *w, const problem *mine) {
    int failed = mine->text[0] ? w->rank : w->size, lowest = w->size;
    MPI_Allreduce(&failed, &lowest, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
    if (lowest == w->size) return true;
    problem its = *mine;
    MPI_Bcast(its.text, (int)sizeof(its.text), MPI_CHAR, lowest, MPI_COMM_WORLD);
    if (w->rank == 0) cli_report("rank %d: %s", lowest, its.text);
    return false;
}

bool world_has(const world *w, tally_status status, bool alone) {
    static const char first[] = "rank 0: "; /* a rank alone is the first */
    problem mine = {""};
    if (!alone && status && w->rank == 0) cli_report("%s", tally_last_error());
    if (!alone) return status == TALLY_OK;
    const char *text = status ? tally_last_error() : "";
    if (strncmp(text, first, sizeof(first) - 1) == 0) text += sizeof(first) - 1;
    snprintf(mine.text, sizeof(mine.text), "%.1000s", text);
    return world_is_well(w, &mine);
}

/* Sets the parameters, and finds where the values are in the result. */
static bool prepare(const world *w, const reduce_request *r, tally_mpi *mpi, reduce_outcome *o) {
    tally_plan *plan = tally_mpi_plan(mpi);
    problem mine = {""};
    for (uint32_t i = 0; i < r->param_count && !r->custom; i++)
        if (tally_plan_set_param(plan, r->params[i].name, r->params[i].value) != TALLY_OK)
            snprintf(mine.text, sizeof(mine.text), "%.1000s", tally_last_error());
    snprintf(o->variant, sizeof(o->variant), "%s", tally_plan_variant(plan));
    while (tally_plan_result(plan, o->value_count, &o->values[o->value_count])) o->value_count++;
    o->result = malloc(tally_plan_result_bytes(plan));
    if (!o->result) snprintf(mine.text, sizeof(mine.text), "out of memory");
    return world_is_well(w, &mine);
}

/* Reduces one row before the clock starts, because some drivers (POCL) compile at the first
 * launch; then the share. */
static bool reduce_share(const world *w, const reduce_request *r, const share *s, tally_mpi *mpi, reduce_outcome *o) {
    tally_mpi_args args = {.size = sizeof(args), .n = s->n > 0 && s->own > 0};
    for (uint32_t k = 0; k < r->inputs; k++) args.items[k] = s->items[k];
    if (!prepare(w, r, mpi, o)) return false;
    if (!world_has(w, tally_mpi_reduce(mpi, &args, 0, o->result), s->by_columns)) return false;
    const double begun = units_seconds();
    args.n = s->n;
    if (!(r->form ? axes_reduce(w, r, s, mpi, o) : world_has(w, tally_mpi_reduce(mpi, &args, 0, o->result), false)))
        return false;
    o->seconds += units_seconds() - begun;
    const uint64_t items = s->n * s->own;
    MPI_Reduce(&items, &o->n, 1, MPI_UINT64_T, MPI_SUM, 0, MPI_COMM_WORLD);
    o->bytes = o->n * tally_dtype_bytes(s->dtype) * r->inputs;
    return true;
}

/* Checks that the file has one length on all ranks: another machine may have another file there. */
static bool is_one_file(const world *w, char *const *files, const share *s) {
    uint64_t rows = s->rows;
    problem mine = {""};
    MPI_Bcast(&rows, 1, MPI_UINT64_T, 0, MPI_COMM_WORLD);
    if (!w->parts && rows != s->rows)
        snprintf(mine.text, sizeof(mine.text), "%.900s: is another file than on rank 0: %llu items or rows, not %llu", files[0],
                 (unsigned long long)s->rows, (unsigned long long)rows);
    return world_is_well(w, &mine);
}

/* Reduces a file, or as many as the operator has inputs. */
static bool reduce_files(const world *w, const reduce_request *r, char *const *files, reduce_total *total) {
    share s;
    problem mine;
    reduce_outcome o = {0};
    tally_mpi *mpi = NULL;
    const double begun = units_seconds();
    share_open(&s, w, files, r, &mine);
    bool done = world_is_well(w, &mine) && is_one_file(w, files, &s);
    o.seconds = units_seconds() - begun;
    if (done) {
        const tally_reduce_desc desc = {
            .size = sizeof(desc), .in = s.dtype, .terms = r->terms, .term_count = r->term_count, .variant = r->variant};
        o.in = s.dtype;
        const int kept = r->custom ? reduce_silence() : -1;
        const MPI_Comm comm = s.by_columns ? MPI_COMM_SELF : MPI_COMM_WORLD;
        const tally_status status = tally_mpi_create(comm, r->context, &desc, &mpi);
        if (r->custom) reduce_unsilence(kept);
        done = world_has(w, status, s.by_columns) && reduce_share(w, r, &s, mpi, &o);
    }
    if (done && w->rank == 0) {
        if (r->form)
            axes_print(r, files, &s, &o, tally_plan_result_bytes(tally_mpi_plan(mpi)));
        else
            reduce_print(r, files, &o);
        if (!r->form && !strstr(total->variants.text, o.variant)) cli_add_name(&total->variants, o.variant);
        total->seconds += o.seconds;
        total->bytes += o.bytes;
        total->results++;
    }
    free(o.result);
    share_close(&s);
    tally_mpi_destroy(mpi);
    return done;
}

static cli_exit check_request(const world *w, const reduce_request *r) {
    if ((r->form && r->form != REDUCE_AXES) || r->where || r->initial || r->output)
        return cli_usage("tally-mpi: --offsets, --by, --where, --initial and --output are of tally reduce");
    if (r->form && w->parts) return cli_usage("tally-mpi: --parts and --axis exclude each other");
    for (int i = 0; i < r->file_count; i++) {
        if (strcmp(r->files[i], "-") == 0)
            return cli_usage("tally-mpi: ranks read their shares of files, not of standard input");
        if (w->parts && !strstr(r->files[i], PART_RANK))
            return cli_usage("tally-mpi: --parts: %s has no %%d, which stands for the rank", r->files[i]);
    }
    return CLI_DONE;
}

/* Opens the devices of all ranks. All ranks return the same. */
static cli_exit open_devices(const world *w, const cli_options *options, reduce_request *r) {
    problem mine = {""};
    cli_exit code = device_open(options, &r->context, &mine);
    if (code == CLI_DONE && tally_context_get_info(r->context, &r->info)) {
        snprintf(mine.text, sizeof(mine.text), "%.1000s", tally_last_error());
        code = CLI_FAILED;
    }
    int its = (int)code, worst = CLI_FAILED;
    MPI_Allreduce(&its, &worst, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
    world_is_well(w, &mine);
    return (cli_exit)worst;
}

static cli_exit reduce(const world *w, const arguments *a) {
    reduce_request r;
    reduce_total total = {.seconds = 0};
    /* All ranks have the same arguments, so rank 0 alone complains. */
    const int kept = w->rank ? reduce_silence() : -1;
    cli_exit code = reduce_understand(&a->options, a->count - 1, a->words + 1, &r);
    if (code == CLI_DONE) code = check_request(w, &r);
    if (w->rank) reduce_unsilence(kept);
    if (code == CLI_DONE) code = open_devices(w, &a->options, &r);
    const bool ready = code == CLI_DONE;
    for (int i = 0; ready && i < r.file_count; i += (int)r.inputs)
        if (!reduce_files(w, &r, r.files + i, &total)) code = CLI_FAILED;
    if (w->rank == 0) reduce_print_total(&r, &total);
    tally_context_destroy(r.context);
    reduce_forget(&r);
    return code;
}

/* Takes --parts and --progress out of the arguments, wherever they stand; patterns remain, as
 * files. */
static void take_options(world *w, int *argc, char **argv) {
    static const char option[] = "--parts";
    const size_t n = sizeof(option) - 1;
    int kept = 1;
    for (int i = 1; i < *argc; i++) {
        if (strcmp(argv[i], "--progress") == 0) {
            w->progress = true;
            continue;
        }
        const bool found = strncmp(argv[i], option, n) == 0 && (!argv[i][n] || argv[i][n] == '=');
        w->parts = w->parts || found;
        if (!found) argv[kept++] = argv[i];
        if (found && argv[i][n]) argv[kept++] = argv[i] + n + 1;
    }
    *argc = kept;
    argv[kept] = NULL;
}

/* Warns, once, of a launcher that counts several ranks where this MPI counts one. */
static void check_launcher(const world *w) {
    static const char *const sizes[] = {"OMPI_COMM_WORLD_SIZE", "PMI_SIZE"}, *const ranks[] = {"OMPI_COMM_WORLD_RANK",
                                                                                               "PMI_RANK"};
    for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]) && w->size == 1; i++) {
        const char *size = getenv(sizes[i]), *rank = getenv(ranks[i]);
        if (!size || atoi(size) <= 1) continue;
        if (!rank || atoi(rank) == 0) cli_report("started by an mpiexec of another MPI: every rank is alone");
        return;
    }
}

static const char usage[] =
    "usage: mpiexec -n N tally-mpi reduce OP[,OP...] FILE..., or --parts 'part-%d.npy'... for files of each "
    "rank; --progress for lines on stderr, under mpiexec too, of how much of its share rank 0 has read; other options are "
    "those of tally reduce for whole files, and --axis for leading axes";

static cli_exit run(world *w, int argc, char **argv) {
    take_options(w, &argc, argv);
    if (w->progress && w->rank == 0) progress_plain();
    arguments a = {.words = calloc((size_t)argc + 1, sizeof(char *))};
    problem mine = {""};
    if (!a.words) snprintf(mine.text, sizeof(mine.text), "out of memory");
    if (!world_is_well(w, &mine)) return free(a.words), CLI_FAILED;
    cli_set_help("tally-mpi");
    const int kept = w->rank ? reduce_silence() : -1;
    cli_exit code = arguments_parse(argc, argv, &a);
    const bool helps = a.options.help || (a.count && strcmp(a.words[0], "help") == 0);
    if (code == CLI_DONE && a.options.version) {
        if (w->rank == 0) printf("tally-mpi %s\n", tally_version());
    } else if (code == CLI_DONE && helps) {
        if (w->rank == 0) wrap_printf(stdout, "%s", usage);
    } else if (code == CLI_DONE && (!a.count || strcmp(a.words[0], "reduce") != 0)) {
        code = cli_usage("%s", usage);
    } else if (code == CLI_DONE) {
        code = arguments_check(command_find("reduce"), &a);
    }
    if (w->rank) reduce_unsilence(kept);
    if (code == CLI_DONE && !helps && !a.options.version) code = reduce(w, &a);
    free(a.words);
    return code;
}

#define MOST_WAITS 1000 /* of a millisecond */

/* Waits until the launcher has read what stderr's pipe holds. Open MPI's ends the job as soon as a
 * rank returns an error, and may lose an error text that it has not read by then. */
static void await_reader(void) {
    const struct timespec millisecond = {.tv_nsec = 1000000};
    struct stat info;
    if (fstat(STDERR_FILENO, &info) || !S_ISFIFO(info.st_mode)) return;
    for (int i = 0, unread = 0; i < MOST_WAITS; i++) {
        if (ioctl(STDERR_FILENO, FIONREAD, &unread) || !unread) return;
        nanosleep(&millisecond, NULL);
    }
}

int main(int argc, char **argv) {
    world w = {.parts = false};
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &w.rank);
    MPI_Comm_size(MPI_COMM_WORLD, &w.size);
    check_launcher(&w);
    cli_exit code = run(&w, argc, argv);
    if (!cli_flush()) code = CLI_FAILED;
    if (code != CLI_DONE) await_reader();
    MPI_Finalize();
    return (int)code;
}
