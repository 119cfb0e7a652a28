/* SPDX-License-Identifier: MIT */
/* main.c: the program `tally`. */
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "options.h"
#include "tools/print/progress.h"

static cli_exit run(const arguments *a) {
    if (a->options.version) return printf("tally %s\n", tally_version()), CLI_DONE;
    if (a->count == 0) {
        if (a->options.help) return help_print(NULL), CLI_DONE;
        return cli_usage("no command; there are %s", command_names().text);
    }
    const command_row *command = command_find(a->words[0]);
    if (!command) return cli_usage("unknown command %s; %s", a->words[0], cli_there_are(a->words[0], command_names()).text);
    if (arguments_check(command, a) != CLI_DONE) return CLI_USAGE;
    if (a->options.help) return help_print(command), CLI_DONE;
    if (!*command->operands && a->count > 1) return cli_usage("%s: unexpected argument %s", command->name, a->words[1]);
    return command->run(&a->options, a->count - 1, a->words + 1);
}

/* Opens a descriptor in place of each standard file that is closed, so that no other file gets its
 * number. Its mode makes each use fail, as the use of a closed file fails. */
static void hold_standard_files(void) {
    for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
        if (fcntl(fd, F_GETFD) < 0 && open("/dev/null", fd == STDIN_FILENO ? O_WRONLY : O_RDONLY) < 0) _exit(CLI_FAILED);
}

/*
 * Blocks the signal of a write beyond `ulimit -f`. The write then fails, and the program reports
 * it. Ignoring the signal is not enough: Intel's OpenCL compiler installs a handler of its own.
 */
static void block_file_limit(void) {
    sigset_t signals;
    sigemptyset(&signals);
    sigaddset(&signals, SIGXFSZ);
    sigprocmask(SIG_BLOCK, &signals, NULL);
}

/* Errors of usage point to the help of the command, the first word that is no option; those of
 * `tally help` and of a word that is no command to all of it. */
static void point_to_help(char *const *words) {
    char help[32];
    while (*words && (*words)[0] == '-') words++;
    if (!*words || !command_find(*words) || strcmp(*words, "help") == 0) return;
    snprintf(help, sizeof(help), "tally %s", *words);
    cli_set_help(help);
}

int main(int argc, char **argv) {
    hold_standard_files();
    block_file_limit();
    progress_block_ignored();
    const command_row *command = argc > 1 ? command_find(argv[1]) : NULL;
    if (command && !command->run) return (int)program_run(command->name, argv + 1);
    if (argc > 1) point_to_help(argv + 1);
    arguments a = {.words = calloc((size_t)argc + 1, sizeof(char *))};
    if (!a.words) return cli_report("out of memory"), CLI_FAILED;
    cli_exit code = arguments_parse(argc, argv, &a);
    if (code == CLI_DONE) code = run(&a);
    free(a.words);
    return (int)(cli_flush() ? code : CLI_FAILED);
}
