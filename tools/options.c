/* SPDX-License-Identifier: MIT */
/* options.c: see options.h. */
#include "options.h"

#include <getopt.h>
#include <stdio.h>
#include <string.h>

const command_row command_table[] = {
    {"devices", cli_devices, "", "bj", NULL, NULL,
     "list the backends and devices that are here, and mark the one that is used"},
    {"variants", cli_variants, "", "bj", NULL, NULL, "list the ways to reduce and to scan, and say which run on the device"},
    {"ops", cli_list_ops, "", "j", NULL, NULL, "list the operators, and the types of their results"},
    {"reduce", cli_reduce, " OP[,OP...] FILE...", "bjqtvayeuAKZBRWXOY", "LCIFk",
     " --load EXPR --combine EXPR --identity EXPR [--finish EXPR] [--inputs N] FILE...",
     "reduce each file to a value, or to one for each OP in a single pass; or by a custom op; with --axis, "
     "--offsets or --by to a value of each row, column or other segment"},
    {"scan", cli_scan, " OP FILE -o OUT.npy", "bjtvayeuxmXA", "O", NULL,
     "write what OP gives of the items up to each item, a value for each; with --axis, of each row, column or other list "
     "along an axis"},
    {"check", cli_check, "", "bj", NULL, NULL,
     "test every device against the host, bit by bit: reductions, scans, gathers, scatters, segments; with --backend "
     "A,B those devices alone"},
    {"gather", cli_gather, " FILE --index MAP --output OUT.npy", "bjtsN", "iO", NULL,
     "write OUT[i] = FILE[MAP[i]] for each i of MAP, which must be in bounds"},
    {"scatter", cli_scatter, " FILE --index MAP --output OUT.npy", "bjtsNSl", "iO", NULL,
     "write OUT[MAP[i]] = FILE[i] for each i of FILE; of those that name the same place one is written"},
    {"study", cli_study, "", "bPontgfrvwjcp", NULL, NULL,
     "time every variant, checked, against what the device reads or copies; --backend A,B: side by side"},
    {"tune", cli_tune, "", "botnjd", NULL, NULL,
     "find the fastest shapes of launches for the device and keep them for later programs; takes minutes (an interrupted run "
     "keeps nothing), and changes no "
     "result"},
    {"bench", NULL, " [OPTION...]", "", NULL, NULL,
     "time reductions, scans, gathers, scatters or segments beside the peers that were there when tally was built: OpenMP, a "
     "BLAS, CUB and others; its options: tally bench --help"},
    {"help", cli_help, " [COMMAND]", "", NULL, NULL, "print this text, or what it says of COMMAND"},
    {0},
};

#define AT(member) offsetof(cli_options, member)

const option_row option_table[OPTION_COUNT] = {
    {'b', "backend", "SEL", AT(backend),
     "cuda, opencl, opencl:1, opencl:pocl, or a list to try in order (study and check take each of it); else TALLY_BACKEND "
     "decides, but check takes every device"},
    {'j', "json", NULL, AT(json), "print JSON, one object a line"},
    {'t', "dtype", "TYPE", AT(dtype),
     "FILE is raw, items of TYPE in this machine's byte order; study: f32 is the default; tune: f32, f64, f16 or i8 alone, "
     "else all"},
    {'v', "variant", "NAME", AT(variant),
     "how to reduce (tally variants): reduce takes those in the canonical order, auto is the default; study "
     "takes a list, and else all; scan has ways of its own; study of gather and scatter: the maps, of segments: the shapes"},
    {'a', "acc", "TYPE", AT(acc),
     "what is accumulated in: f64 for narrower floats; of a custom op any of f32, f64, i32, u32, "
     "i64, u64"},
    {'y', "accuracy", "LEVEL", AT(accuracy),
     "of sum, asum, sumsq, mean and dot of floats: default, or compensated, whose error does "
     "not grow with n"},
    {'u', "out", "TYPE", AT(out), "convert the result to TYPE; of a single operator"},
    {'e', "param", "NAME=X", AT(params),
     "set a parameter of the operator; may be repeated; with --load, EXPR reads it as p.NAME, an f64 "
     "or, as NAME:TYPE=X, of another type of accumulators"},
    {'q', "quiet", NULL, AT(quiet), "print the values alone, one a line (those of a segment on one), and no progress"},
    {'x', "exclusive", NULL, AT(exclusive), "value i is of the items before item i"},
    {'m', "reverse", NULL, AT(reverse), "from the last item to the first"},
    {'A', "axis", "LIST", AT(axis), "along this axis: 0, or -1 (the last); reduce: or several, 0,2"},
    {'K', "keepdims", NULL, AT(keepdims), "with --axis: keep reduced axes, with the extent 1"},
    {'Z', "offsets", "FILE", AT(offsets),
     "reduce segments: a .npy file of i32, u32, i64 or u64 says where each begins, and last where the last one ends"},
    {'B', "by", "FILE", AT(by),
     "reduce the items of each key: a .npy file with a key for each item, sorted, or at least equal keys side by side"},
    {'R', "each-run", NULL, AT(each_run),
     "with --by: a key may come again, and then has another value; without it that is an error"},
    {'Y', "keys-out", "FILE", AT(keys_out), "with --by and -o: the .npy file to write the values' keys to"},
    {'W', "where", "MASK", AT(where), "a .npy file of bool, u8 or i8: only the items where it is not zero"},
    {'X', "initial", "X", AT(initial),
     "scan, with --exclusive: an item X comes before the first; reduce: a value X comes before each segment, or a list X,X of "
     "several values"},
    {'L', "load", "EXPR", AT(load),
     "a custom op, in C: the value of the item x, whose index is i (y, z, w: items of further "
     "inputs)"},
    {'C', "combine", "EXPR", AT(combine), "the value of the values a and b of earlier and later items"},
    {'I', "identity", "EXPR", AT(identity), "the value that changes nothing when combined"},
    {'F', "finish", "EXPR", AT(finish), "the result, of the value a of n items; a if it is not given"},
    {'k', "inputs", "N", AT(inputs), "N files for each result, 1 to 4"},
    {'P', "primitive", "NAME", AT(primitive),
     "what is studied: reduce (the default), scan, segments (rows and columns by their length), or, by maps of several kinds, "
     "gather or scatter"},
    {'o', "op", "OP", AT(op),
     "the operator that is studied; sum is the default; tune: sum, argmax or dot alone, else all three"},
    {'n', "n", "N", AT(n),
     "so many items; 3*2^22 is the default; with --sweep the largest size; tune: inputs of up to so many items, else of any "
     "number"},
    {'g', "group", "N", AT(group), "threads of a group, a power of two from 32 to 1024; else the variant's own"},
    {'f', "factor", "N", AT(factor), "of the variants that have one: items in sequence before the tree"},
    {'r', "runs", "N", AT(runs), "timed runs of each row, at least 7; 15 is the default; slow rows take fewer"},
    {'w', "sweep", NULL, AT(sweep), "over sizes from 2^10 to 2^26 too, and of reduce over factors from 1 to 256"},
    {'c', "csv", NULL, AT(csv), "print CSV"},
    {'d', "dry-run", NULL, AT(dry), "print the rows, and keep none"},
    {'p', "plot", "FILE", AT(plot), "draw it: an SVG file"},
    {'i', "index", "MAP", AT(index), "a .npy file of i32, u32, i64 or u64: the places, from 0 on"},
    {'O', "output", "OUT.npy", AT(output),
     "or -o: the .npy file to write, whole or not at all; it may be an input; reduce prints a table without it"},
    {'s', "stencil", "FILE", AT(stencil), "a .npy file of bool, u8 or i8: move only where it is not zero"},
    {'N', "into", "FILE", AT(into), "what OUT holds where nothing is written (zeros, if this is not given): a .npy file"},
    {'S', "size", "N", AT(count), "items of OUT; else as many as FILE has, or those of --into"},
    {'l', "last", NULL, AT(last), "of those that name the same place the last one is written"},
    {'h', "help", NULL, AT(help), "print this text"},
    {'V', "version", NULL, AT(version), "print the version"},
};

const command_row *command_find(const char *name) {
    for (const command_row *c = command_table; c->name; c++)
        if (strcmp(c->name, name) == 0) return c;
    return NULL;
}

bool command_takes(const command_row *command, const option_row *option) {
    const bool too = command->takes_too && strchr(command->takes_too, option->key);
    return option->key == 'h' || strchr(command->takes, option->key) || too;
}

cli_names command_names(void) {
    cli_names names = {""};
    for (const command_row *c = command_table; c->name; c++) cli_add_name(&names, c->name);
    return names;
}

cli_names option_names(const command_row *command) {
    cli_names names = {""};
    for (const option_row *o = option_table; o < option_table + OPTION_COUNT; o++) {
        if (command && !command_takes(command, o)) continue;
        cli_add_name(&names, "--");
        strcat(names.text, o->name); /* holds thousands of characters */
    }
    return names;
}

/* ---- parsing --------------------------------------------------------------------------------- */

/* getopt_long's value for an option. It lies beyond all characters, so the two never collide. */
#define OPTION_VALUE(index) (256 + (int)(index))

static cli_exit set_option(arguments *a, const option_row *row, const char *value) {
    cli_options *options = &a->options;
    char *at = (char *)options + row->member;
    bool *given = &a->given[row - option_table];
    if (*given && row->value && row->member != AT(params)) return cli_usage("--%s is given twice", row->name);
    *given = true;
    if (!row->value) {
        *(bool *)at = true;
    } else if (row->member != AT(params)) {
        *(const char **)(void *)at = value;
    } else {
        if (options->param_count == CLI_MAX_PARAMS) return cli_usage("--param %s: at most %d are taken", value, CLI_MAX_PARAMS);
        options->params[options->param_count++] = value;
    }
    return CLI_DONE;
}

static const option_row *find_option(const char *name) {
    const option_row *row = option_table;
    while (strcmp(row->name, name) != 0) row++;
    return row;
}

/* Reports an unknown option, "--op=sum" included, or the start of several ones. */
static cli_exit unknown_option(const char *text) {
    cli_value name;
    cli_names longer = {""};
    snprintf(name.text, sizeof(name.text), "%.*s", (int)strcspn(text, "="), text);
    const char *const start = name.text + strlen("--");
    for (const option_row *o = option_table; *start && o < option_table + OPTION_COUNT; o++) {
        if (strncmp(o->name, start, strlen(start)) != 0) continue;
        cli_add_name(&longer, "--");
        strcat(longer.text, o->name); /* holds thousands of characters */
    }
    if (*longer.text) return cli_usage("%s starts several options: %s", name.text, longer.text);
    return cli_usage("unknown option %s; %s", text, cli_there_are(name.text, option_names(NULL)).text);
}

cli_exit arguments_parse(int argc, char **argv, arguments *a) {
    struct option longs[OPTION_COUNT + 1] = {{0}};
    cli_exit code = CLI_DONE;
    for (size_t i = 0; i < OPTION_COUNT; i++)
        longs[i] = (struct option){option_table[i].name, option_table[i].value ? required_argument : no_argument, NULL,
                                   OPTION_VALUE(i)};
    opterr = 0;
    /* '-' returns words in their order, even under POSIXLY_CORRECT; ':' distinguishes a missing
     * argument. */
    for (int found; code == CLI_DONE && (found = getopt_long(argc, argv, "-:ho:", longs, NULL)) != -1;) {
        if (found == 1)
            a->words[a->count++] = optarg;
        else if (found == 'h')
            a->options.help = true;
        else if (found == 'o')
            code = set_option(a, find_option("output"), optarg);
        else if (found == ':' && optopt == 'o')
            return cli_usage("-o needs an argument");
        else if (found == ':')
            return cli_usage("--%s needs an argument", option_table[optopt - OPTION_VALUE(0)].name);
        else if (found == '?' && optopt >= OPTION_VALUE(0))
            return cli_usage("--%s takes no argument", option_table[optopt - OPTION_VALUE(0)].name);
        else if (found == '?' && optopt)
            return cli_usage("unknown option -%c; there are %s", optopt, option_names(NULL).text);
        else if (found == '?')
            return unknown_option(argv[optind - 1]);
        else
            code = set_option(a, &option_table[found - OPTION_VALUE(0)], optarg);
    }
    while (code == CLI_DONE && optind < argc) a->words[a->count++] = argv[optind++]; /* words after -- */
    return code;
}

cli_exit arguments_check(const command_row *command, const arguments *a) {
    for (size_t i = 0; i < OPTION_COUNT; i++)
        if (a->given[i] && !command_takes(command, &option_table[i]))
            return cli_usage("%s takes no option --%s; there are %s", command->name, option_table[i].name,
                             option_names(command).text);
    return CLI_DONE;
}
