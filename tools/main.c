/* SPDX-License-Identifier: MIT */
/* main.c: the program `tally`: its tables of commands and options, and what they have in common. */
#include <fcntl.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli.h"

/* ---- tables ------------------------------------------------------------------------------------------------------ */

typedef struct command_row {
    const char *name;
    cli_command *run;
    const char *operands;
    const char *takes; /* the keys of its options */
    const char *summary;
} command_row;

static const command_row commands[] = {
    {"devices", cli_devices, "", "bj", "list the backends and devices that are here, and mark the one that is used"},
    {"variants", cli_variants, "", "bj", "list the ways to reduce, and say which run on the device"},
    {"reduce", cli_reduce, " OP FILE...", "bjtv", "reduce each file to one value"},
    {"check", cli_check, "", "bj", "test every device against the host, bit by bit; with --backend, that device alone"},
    {"study", cli_study, "", "bontgfrvwjcp",
     "time every variant, checked, against what the device reads; --backend A,B: side by side"},
};

typedef struct option_row {
    char key;
    const char *name, *value; /* value: what its argument stands for; NULL when it has none */
    const char *summary;
} option_row;

static const option_row options_table[] = {
    {'b', "backend", "SEL", "cuda, opencl, opencl:1, opencl:pocl, or a list to try in order; else TALLY_BACKEND decides"},
    {'j', "json", NULL, "print JSON, one object a line"},
    {'t', "dtype", "TYPE", "reduce: FILE is raw, items of TYPE in this machine's byte order; study: f32 is the default"},
    {'v', "variant", "NAME", "how to reduce (tally variants); auto is the default; study takes a list, and else all"},
    {'o', "op", "OP", "what is studied; sum is the default"},
    {'n', "n", "N", "so many items: 1000, 2^24, 3*2^22 (the default); with --sweep, the largest size"},
    {'g', "group", "N", "items of a group, a power of two from 32 to 1024; else the variant's own"},
    {'f', "factor", "N", "of the variants that have one: items in sequence before the tree"},
    {'r', "runs", "N", "timed runs of each row, at least 7; 15 is the default; slow rows take fewer"},
    {'w', "sweep", NULL, "over sizes from 2^10 to 2^26 too, and over factors from 1 to 256"},
    {'c', "csv", NULL, "print CSV"},
    {'p', "plot", "FILE", "draw it: an SVG file"},
    {'h', "help", NULL, "print this text"},
    {'V', "version", NULL, "print the version"},
};

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static cli_names command_names(void) {
    cli_names names = {""};
    for (size_t i = 0; i < COUNT(commands); i++) strcat(strcat(names.text, i ? ", " : ""), commands[i].name);
    return names;
}

/* The options that a command takes; all of them for NULL. */
static cli_names option_names(const command_row *command) {
    cli_names names = {""};
    for (size_t i = 0; i < COUNT(options_table); i++) {
        const option_row *o = &options_table[i];
        if (command && o->key != 'h' && !strchr(command->takes, o->key)) continue;
        strcat(strcat(strcat(names.text, *names.text ? ", " : ""), "--"), o->name);
    }
    return names;
}

static const command_row *find_command(const char *name) {
    for (size_t i = 0; i < COUNT(commands); i++)
        if (strcmp(commands[i].name, name) == 0) return &commands[i];
    return NULL;
}

/* ---- help -------------------------------------------------------------------------------------------------------- */

static void print_usage(const command_row *c) {
    printf("  tally %s%s", c->name, c->operands);
    for (size_t i = 0; i < COUNT(options_table); i++) {
        const option_row *o = &options_table[i];
        if (strchr(c->takes, o->key)) printf(o->value ? " [--%s %s]" : " [--%s]", o->name, o->value);
    }
    printf("\n      %s\n", c->summary);
}

static void print_options(const command_row *c) {
    for (size_t i = 0; i < COUNT(options_table); i++) {
        const option_row *o = &options_table[i];
        if (c && !strchr(c->takes, o->key) && o->key != 'h') continue;
        char left[32];
        snprintf(left, sizeof(left), "--%s%s%s", o->name, o->value ? " " : "", o->value ? o->value : "");
        printf("  %-16s %s\n", left, o->summary);
    }
}

static void print_help(const command_row *only) {
    puts(only ? "usage:" : "tally reduces files of numbers on a GPU or CPU, to the same bits on all of them.\n\ncommands:");
    for (size_t i = 0; i < COUNT(commands); i++)
        if (!only || only == &commands[i]) print_usage(&commands[i]);
    puts("\noptions:");
    print_options(only);
    if (only && only->run == cli_study) puts("\nexample:\n  tally study --backend cuda,opencl --sweep --plot ladder.svg");
    if (only && only->run != cli_reduce) return;
    puts("\nOP, the operator:");
    for (int op = 0; op < TALLY_OP_END; op++)
        if (tally_op_name((tally_op)op)) printf("  %-16s %s\n", tally_op_name((tally_op)op), tally_op_summary((tally_op)op));
    printf("\nTYPE, the items' type: %s\n", cli_dtype_names().text);
    puts("FILE: a .npy file (any byte order, C or Fortran order), raw items with --dtype, or - for standard input.\n"
         "The value comes first on its line.\n\n"
         "exit code: 0 done, 1 failed, 2 wrong usage\n\n"
         "examples:\n"
         "  tally reduce sum data.npy\n"
         "  tally reduce max --dtype f32 --json a.bin b.bin\n"
         "  zcat data.npy.gz | tally reduce min --backend opencl:pocl -");
}

/* ---- arguments --------------------------------------------------------------------------------------------------- */

/* getopt_long's value of an option: beyond all characters, so that it is not taken for one. */
#define OPTION_VALUE(index) (256 + (int)(index))

typedef struct arguments {
    cli_options options;
    bool given[COUNT(options_table)];
    int count; /* the command and its operands */
    char **words;
} arguments;

static void set_option(arguments *a, size_t index) {
    a->given[index] = true;
    switch (options_table[index].key) {
    case 'b':
        a->options.backend = optarg;
        break;
    case 'j':
        a->options.json = true;
        break;
    case 'c':
        a->options.csv = true;
        break;
    case 'f':
        a->options.factor = optarg;
        break;
    case 'g':
        a->options.group = optarg;
        break;
    case 'n':
        a->options.n = optarg;
        break;
    case 'o':
        a->options.op = optarg;
        break;
    case 'p':
        a->options.plot = optarg;
        break;
    case 'r':
        a->options.runs = optarg;
        break;
    case 'w':
        a->options.sweep = true;
        break;
    case 't':
        a->options.dtype = optarg;
        break;
    case 'v':
        a->options.variant = optarg;
        break;
    case 'h':
        a->options.help = true;
        break;
    case 'V':
        a->options.version = true;
        break;
    }
}

static cli_exit parse(int argc, char **argv, arguments *a) {
    struct option longs[COUNT(options_table) + 1] = {{0}};
    for (size_t i = 0; i < COUNT(options_table); i++)
        longs[i] = (struct option){options_table[i].name, options_table[i].value ? required_argument : no_argument, NULL,
                                   OPTION_VALUE(i)};
    opterr = 0;
    /* '-': words come in order too, whatever POSIXLY_CORRECT says; ':': a missing argument is told apart. */
    for (int found; (found = getopt_long(argc, argv, "-:h", longs, NULL)) != -1;) {
        if (found == 1)
            a->words[a->count++] = optarg;
        else if (found == 'h')
            a->options.help = true;
        else if (found == ':')
            return cli_usage("--%s needs an argument", options_table[optopt - OPTION_VALUE(0)].name);
        else if (found == '?' && optopt >= OPTION_VALUE(0))
            return cli_usage("--%s takes no argument", options_table[optopt - OPTION_VALUE(0)].name);
        else if (found == '?' && optopt)
            return cli_usage("unknown option -%c; there are %s", optopt, option_names(NULL).text);
        else if (found == '?')
            return cli_usage("unknown option %s; there are %s", argv[optind - 1], option_names(NULL).text);
        else
            set_option(a, (size_t)(found - OPTION_VALUE(0)));
    }
    while (optind < argc) a->words[a->count++] = argv[optind++]; /* after -- */
    return CLI_DONE;
}

static cli_exit run(const arguments *a) {
    if (a->options.version) return printf("tally %s\n", tally_version()), CLI_DONE;
    if (a->count == 0) {
        if (a->options.help) return print_help(NULL), CLI_DONE;
        return cli_usage("no command; there are %s", command_names().text);
    }
    const command_row *command = find_command(a->words[0]);
    if (!command) return cli_usage("unknown command %s; there are %s", a->words[0], command_names().text);
    for (size_t i = 0; i < COUNT(options_table); i++)
        if (a->given[i] && options_table[i].key != 'h' && !strchr(command->takes, options_table[i].key))
            return cli_usage("%s takes no option --%s; there are %s", command->name, options_table[i].name,
                             option_names(command).text);
    if (a->options.help) return print_help(command), CLI_DONE;
    if (!*command->operands && a->count > 1) return cli_usage("%s: unexpected argument %s", command->name, a->words[1]);
    return command->run(&a->options, a->count - 1, a->words + 1);
}

/* Fills the places of standard files that are closed, so that no other file gets their number, in the mode that makes their use
 * fail as it would have failed. */
static void hold_standard_files(void) {
    for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
        if (fcntl(fd, F_GETFD) < 0 && open("/dev/null", fd == STDIN_FILENO ? O_WRONLY : O_RDONLY) < 0) _exit(CLI_FAILED);
}

int main(int argc, char **argv) {
    hold_standard_files();
    arguments a = {.words = calloc((size_t)argc + 1, sizeof(char *))};
    if (!a.words) return cli_report("out of memory"), CLI_FAILED;
    cli_exit code = parse(argc, argv, &a);
    if (code == CLI_DONE) code = run(&a);
    free(a.words);
    return (int)(cli_flush() ? code : CLI_FAILED);
}
