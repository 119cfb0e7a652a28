/* SPDX-License-Identifier: MIT */
/* options.h: the tables of the program's commands and options, with functions that parse and
 * print. */
#ifndef TALLY_OPTIONS_H
#define TALLY_OPTIONS_H

#include "cli.h"

typedef struct command_row {
    const char *name;
    cli_command *run; /* NULL: the program tally_NAME, which takes all words after its name */
    const char *operands;
    const char *takes;     /* keys of its options */
    const char *takes_too; /* keys of options that replace the first operand, or NULL */
    const char *form_too;  /* the form with these options, required ones without brackets */
    const char *summary;
} command_row;

/* The rows end with one without a name. */
extern const command_row command_table[];

typedef struct option_row {
    char key;
    const char *name, *value; /* `value` stands for the argument; NULL: no argument */
    size_t member;            /* offset in cli_options, of a text, or of a bool without argument */
    const char *summary;
} option_row;

#define OPTION_COUNT 42
extern const option_row option_table[OPTION_COUNT];

const command_row *command_find(const char *name);
/* Returns true if the command takes the option. Every command takes --help. */
bool command_takes(const command_row *command, const option_row *option);
cli_names command_names(void);
/* Returns the names of the options that a command takes; all options for NULL. */
cli_names option_names(const command_row *command);

typedef struct arguments {
    cli_options options;
    bool given[OPTION_COUNT];
    int count; /* words: the command and its operands */
    char **words;
} arguments;

/* Parses the command line into `a`; a->words has room for argc + 1. */
cli_exit arguments_parse(int argc, char **argv, arguments *a);

/* Reports an option that the command does not take. */
cli_exit arguments_check(const command_row *command, const arguments *a);

/* program.c: runs a program; returns only if the program is absent. */
cli_exit program_run(const char *name, char **words);

/* help.c: prints the help in 80 columns; for all commands if `only` is NULL. */
void help_print(const command_row *only);

#endif
