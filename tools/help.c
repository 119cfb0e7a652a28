/* SPDX-License-Identifier: MIT */
/* help.c: `tally --help`, in 80 columns. */
#include <stdio.h>
#include <string.h>

#include "options.h"
#include "tools/print/wrap.h"

#define WIDTH 80
#define TEXT_COLUMN 19 /* column of the text after the name of an option or operator */

static void print_wrapped(size_t column, size_t indent, const char *text) {
    wrap_print(stdout, column, indent, WIDTH, text);
}

static void print_row(const char *name, const char *text) {
    const int n = printf("  %-16s ", name);
    print_wrapped((size_t)n, TEXT_COLUMN, text);
}

/* ---- commands and options -------------------------------------------------------------------- */

static void print_form(const char *name, const char *operands, const char *takes) {
    char line[2048];
    size_t used = (size_t)snprintf(line, sizeof(line), "tally%c%s%s", WRAP_JOINT, name, operands);
    for (const option_row *o = option_table; o < option_table + OPTION_COUNT; o++) {
        if (!strchr(takes, o->key)) continue;
        used += (size_t)snprintf(line + used, sizeof(line) - used, o->value ? " [--%s%c%s]" : " [--%s]", o->name, WRAP_JOINT,
                                 o->value);
    }
    fputs("  ", stdout);
    print_wrapped(2, 10, line);
}

static void print_usage(const command_row *c) {
    print_form(c->name, c->operands, c->takes);
    if (c->form_too) print_form(c->name, c->form_too, "");
    fputs("      ", stdout);
    print_wrapped(6, 6, c->summary);
}

static void print_options(const command_row *c) {
    for (const option_row *o = option_table; o < option_table + OPTION_COUNT; o++) {
        char left[32];
        if (c && !command_takes(c, o)) continue;
        snprintf(left, sizeof(left), "--%s%s%s", o->name, o->value ? " " : "", o->value ? o->value : "");
        print_row(left, o->summary);
    }
}

static bool takes_count(const command_row *c) {
    for (const option_row *o = option_table; o < option_table + OPTION_COUNT; o++)
        if (command_takes(c, o) && o->value && strcmp(o->value, "N") == 0) return true;
    return false;
}

/* ---- operators ------------------------------------------------------------------------------- */

typedef enum family { OF_ANY, OF_REAL, OF_INTEGERS, OF_SEVERAL } family;

static family family_of(tally_op op) {
    if (tally_op_inputs(op) > 1) return OF_SEVERAL;
    if (tally_result_dtype(op, TALLY_C64) != TALLY_DTYPE_DEFAULT) return OF_ANY;
    return tally_result_dtype(op, TALLY_F32) == TALLY_DTYPE_DEFAULT ? OF_INTEGERS : OF_REAL;
}

static void print_ops(void) {
    static const char *const families[] = {
        [OF_ANY] = "of items of any type, complex ones too",
        [OF_REAL] = "of items of any type but complex",
        [OF_INTEGERS] = "of integers and bool",
        [OF_SEVERAL] = "of two files, which are named in turn: X Y",
    };
    puts("\nOP, the operator; several, with commas between them, share one pass:");
    for (int f = OF_ANY; f <= OF_SEVERAL; f++) {
        printf(" %s\n", families[f]);
        for (tally_op op = 1; op < TALLY_OP_END; op++)
            if (family_of(op) == (family)f) print_row(tally_op_name(op), cli_op_text(op).text);
    }
}

static void print_types(void) {
    static const char left[] = "TYPE, the items' type:";
    printf("\n%s ", left);
    print_wrapped(sizeof(left), 6, cli_dtype_names().text);
    puts("");
}

void help_print(const command_row *only) {
    puts(only ? "usage:" : "tally reduces files of numbers on a GPU or CPU, to the same bits on all of them.\n\ncommands:");
    for (const command_row *c = command_table; c->name; c++)
        if (!only || only == c) print_usage(c);
    puts("\noptions:");
    print_options(only);
    if (!only || takes_count(only)) puts("\nN, a number: " UNITS_NOTATION ", where 12M is 12*2^20; so K, G, T.");
    if (only && only->run == cli_study)
        puts("\nexamples:\n  tally study --backend cuda,opencl --sweep --plot ladder.svg\n"
             "  tally study --primitive scan --n 2^24");
    if (only && only->run == cli_scan)
        puts("\nOP is an operator of one file (tally reduce --help), FILE .npy, raw or -.\n\nexample:\n"
             "  tally scan sum --exclusive data.npy -o before.npy\n"
             "  tally scan sum --axis 0 --reverse table.npy -o below.npy");
    if (only && only->run != cli_reduce) return;
    print_ops();
    print_types();
    puts("FILE: a .npy file (any byte order, C or Fortran order), raw items with --dtype,\n"
         "or - for standard input. The value comes first on its line.\n\n"
         "EXPR: C's operators, ?:, casts to f32, f64, i32, u32, i64, u64, functions such\n"
         "as fabs, sqrt, exp, log, fmin, fmax, and INFINITY, NAN; quoted for the shell.\n\n"
         "exit code: 0 done, 1 failed, 2 wrong usage\n\n"
         "examples:\n"
         "  tally reduce sum data.npy\n"
         "  tally reduce min,max,mean,std data.npy\n"
         "  tally reduce max --dtype f32 --json a.bin b.bin\n"
         "  tally reduce mean,max --axis 0 table.npy\n"
         "  tally reduce sum --by keys.npy data.npy -o sums.npy --keys-out each.npy\n"
         "  tally reduce allclose --param rtol=1e-3 a.npy b.npy\n"
         "  tally reduce --load 'x > p.t ? x*x : 0' --combine 'a+b' --identity 0 \\\n"
         "               --param t=0.5 data.npy\n"
         "  tally scan sum data.npy -o sums.npy\n"
         "  zcat data.npy.gz | tally reduce min --backend opencl:pocl -");
}

cli_exit cli_help(const cli_options *options, int count, char **operands) {
    (void)options;
    const command_row *command = count ? command_find(operands[0]) : NULL;
    if (count > 1) return cli_usage("help: unexpected argument %s", operands[1]);
    if (count && !command)
        return cli_usage("help %s: unknown command; %s", operands[0], cli_there_are(operands[0], command_names()).text);
    if (command && !command->run) return program_run(command->name, (char *[]){operands[0], (char[]){"--help"}, NULL});
    help_print(command);
    return CLI_DONE;
}
