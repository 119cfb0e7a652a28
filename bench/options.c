/* SPDX-License-Identifier: MIT */
/* tally_bench's command line. */
#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench.h"

/* ---- lists ---------------------------------------------------------------------------------------------------------- */

const tally_op bench_ops[] = {TALLY_SUM,  TALLY_MIN, TALLY_MAX,    TALLY_AMAX,   TALLY_ASUM,  TALLY_SUMSQ,
                              TALLY_NRM2, TALLY_DOT, TALLY_ARGMIN, TALLY_ARGMAX, TALLY_IAMAX, TALLY_OP_NONE};
const tally_dtype bench_types[] = {TALLY_F32, TALLY_F64, TALLY_I32, TALLY_DTYPE_DEFAULT};

int is_listed(const char *list, const char *name) {
    const size_t length = strlen(name);
    for (const char *at = list; at; at = strchr(at, ',') ? strchr(at, ',') + 1 : NULL)
        if (!strncmp(at, name, length) && (!at[length] || at[length] == ',')) return 1;
    return 0;
}

/* The names that an option's list may have, by index; NULL after the last. */
typedef const char *name_at(size_t index);

static const char *op_at(size_t i) {
    return bench_ops[i] ? tally_op_name(bench_ops[i]) : NULL;
}

static const char *type_at(size_t i) {
    return bench_types[i] ? tally_dtype_name(bench_types[i]) : NULL;
}

static const char *peer_at(size_t i) {
    size_t count = 0;
    while (bench_peers[count].name) count++;
    return i < count ? bench_peers[i].name : i == count ? "none" : NULL;
}

static const char *cache_at(size_t i) {
    static const char *const names[] = {"warm", "cold", NULL};
    return names[i];
}

static void print_names(FILE *file, name_at *name) {
    for (size_t i = 0; name(i); i++) fprintf(file, " %s", name(i));
}

/* Whether every name of the list is one of them, and none is there twice. */
static int check_list(const char *option, const char *list, name_at *name) {
    size_t names = 1, found = 0;
    for (const char *c = list; *c; c++) names += *c == ',';
    for (size_t i = 0; name(i); i++) found += (size_t)is_listed(list, name(i));
    if (found == names) return 1;
    fprintf(stderr, "tally_bench: --%s %s: there are", option, list);
    print_names(stderr, name);
    fprintf(stderr, ", each at most once, with commas between them\n");
    return 0;
}

static void print_usage(FILE *file) {
    fputs("usage: tally_bench [--backend LIST] [--ops LIST] [--dtypes LIST] [--peers LIST] [--sizes LIST] [--cache LIST]\n"
          "                   [--blocks N] [--json] [--plot FILE] [--bar]\n"
          "  --backend LIST  devices, each of which is run: opencl:pocl,cuda:0 (default: every device)\n"
          "  --ops LIST      of",
          file);
    print_names(file, op_at);
    fputs(" (default: sum)\n  --dtypes LIST   of", file);
    print_names(file, type_at);
    fputs(" (default: f32)\n  --peers LIST    of", file);
    print_names(file, peer_at);
    fputs(" (default: those that are there)\n"
          "  --sizes LIST    exponents of two, 1 to 30 (default: 16,20,24,26,28)\n"
          "  --cache LIST    warm: the same items for each call; cold: others, that no cache has (default: warm)\n"
          "  --blocks N      timed blocks of each engine, 7 to 101 (default: 15)\n"
          "  --json          one JSON object a line instead of the table\n"
          "  --plot FILE     also charts of the bandwidths, as SVG\n"
          "  --bar           only the sizes that the project has speed bars for; exit 1 if one is missed or none applies\n",
          file);
}

/* ---- parsing ---------------------------------------------------------------------------------------------------------- */

static int parse_number(const char **text, int least, int most) {
    char *end;
    errno = 0;
    const long value = strtol(*text, &end, 10);
    if (end == *text || errno || value < least || value > most) return -1;
    *text = end;
    return (int)value;
}

static int parse_sizes(const char *text, bench_options *options) {
    options->size_count = 0;
    for (;; text++) {
        const int exponent = parse_number(&text, 1, MAX_EXPONENT);
        if (exponent < 0 || options->size_count == MAX_SIZES) return 1;
        options->exponents[options->size_count++] = exponent;
        if (*text != ',') return *text != 0;
    }
}

int options_parse(int argc, char **argv, bench_options *options) {
    static const struct option names[] = {{"backend", required_argument, NULL, 'd'}, {"ops", required_argument, NULL, 'o'},
                                          {"dtypes", required_argument, NULL, 't'},  {"peers", required_argument, NULL, 'p'},
                                          {"sizes", required_argument, NULL, 's'},   {"blocks", required_argument, NULL, 'b'},
                                          {"cache", required_argument, NULL, 'c'},   {"json", no_argument, NULL, 'j'},
                                          {"plot", required_argument, NULL, 'g'},    {"bar", no_argument, NULL, 'r'},
                                          {"help", no_argument, NULL, 'h'},          {NULL, 0, NULL, 0}};
    int name, wrong = 0;
    const char *sizes = NULL;
    *options = (bench_options){.ops = "sum", .types = "f32", .caches = "warm", .blocks = 15};
    while ((name = getopt_long(argc, argv, "", names, NULL)) >= 0) {
        if (name == 'd') options->select = optarg;
        if (name == 'o') options->ops = optarg;
        if (name == 't') options->types = optarg;
        if (name == 'p') options->peers = optarg;
        if (name == 's') sizes = optarg;
        if (name == 'c') options->caches = optarg;
        if (name == 'g') options->plot = optarg;
        if (name == 'b') {
            const char *text = optarg;
            options->blocks = parse_number(&text, 7, 101);
            wrong |= options->blocks < 0 || *text;
        }
        if (name == 'j') options->json = 1;
        if (name == 'r') options->bar = 1;
        if (name == 'h') return print_usage(stdout), 1;
        if (name == '?') wrong = 1;
    }
    if (!sizes) sizes = options->bar ? "22,23,24,25,26,27,28" : "16,20,24,26,28";
    if (wrong || optind < argc || parse_sizes(sizes, options)) return print_usage(stderr), 3;
    const int known = check_list("ops", options->ops, op_at) && check_list("dtypes", options->types, type_at) &&
                      check_list("cache", options->caches, cache_at) &&
                      (!options->peers || check_list("peers", options->peers, peer_at));
    for (const bench_peer *peer = bench_peers; known && options->peers && peer->name; peer++)
        if (!peer->open && is_listed(options->peers, peer->name))
            fprintf(stderr, "tally_bench: %s was not there when this was built\n", peer->name);
    return known ? 0 : 3;
}
