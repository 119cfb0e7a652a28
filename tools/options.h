/* SPDX-License-Identifier: MIT */
/* options.h: the tables of the program's commands and options, and what reads and prints them. */
#ifndef TALLY_OPTIONS_H
#define TALLY_OPTIONS_H

#include "cli.h"

typedef struct command_row {
    const char *name;
    cli_command *run; /* NULL: the program tally_NAME, which takes all words after its name */
    const char *operands;
    const char *takes;     /* the keys of its options */
    const char *takes_too; /* of options that replace the first operand, or NULL; */
    const char *form_too;  /* that form, wanted options without brackets */
    const char *summary;
} command_row;

/* The rows end with one without a name. */
extern const command_row command_table[];

typedef struct option_row {
    char key;
    const char *name, *value; /* value: what its argument stands for; NULL when it has none */
    size_t member;            /* where it is in cli_options: a text, or a bool when it has no argument */
    const char *summary;
} option_row;

#define OPTION_COUNT 35
extern const option_row option_table[OPTION_COUNT];

const command_row *command_find(const char *name);
/* Whether the command takes the option; every command takes --help. */
bool command_takes(const command_row *command, const option_row *option);
cli_names command_names(void);
/* The options that a command takes; all of them for NULL. */
cli_names option_names(const command_row *command);

typedef struct arguments {
    cli_options options;
    bool given[OPTION_COUNT];
    int count; /* the command and its operands */
    char **words;
} arguments;

/* Fills in what the command line says; a->words has room for argc + 1. */
cli_exit arguments_parse(int argc, char **argv, arguments *a);

/* program.c: does not come back if the program is there. */
cli_exit program_run(const char *name, char **words);

/* help.c: 80 columns. NULL: for all commands. */
void help_print(const command_row *only);

#endif
