/* SPDX-License-Identifier: MIT */
/* tally_bench's command line. */
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench.h"

/* ---- lists ---------------------------------------------------------------------------------------------------------- */

/* The names that an option's list may have, by index; NULL after the last. */
typedef const char *name_at(size_t index);

static const char *primitive_at(size_t i) {
    return i + 1 < BENCH_END ? bench_primitives[i + 1].name : NULL;
}

/* Reductions have all that there are. */
static const char *op_at(size_t i) {
    return bench_tasks[i].primitive == BENCH_REDUCE ? task_with(&bench_tasks[i]) : NULL;
}

static const char *map_at(size_t i) {
    return i + 1 < MAP_END ? bench_maps[i + 1] : NULL;
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
    if (!list) return 1;
    for (const char *c = list; *c; c++) names += *c == ',';
    for (size_t i = 0; name(i); i++) found += (size_t)is_listed(list, name(i));
    if (found == names) return 1;
    fprintf(stderr, "tally_bench: --%s %s: there are", option, list);
    print_names(stderr, name);
    fprintf(stderr, ", each at most once, with commas between them\n");
    return 0;
}

static void print_usage(FILE *file) {
    fputs("usage: tally_bench [--backend LIST] [--primitive LIST] [--ops LIST] [--maps LIST] [--dtypes LIST] [--peers LIST]\n"
          "                   [--sizes LIST] [--cache LIST] [--blocks N] [--bits] [--json] [--plot FILE] [--bar]\n"
          "  --backend LIST  devices, each of which is run: opencl:pocl,cuda:0 (default: every device)\n"
          "  --primitive LIST\n"
          "                  of",
          file);
    print_names(file, primitive_at);
    fputs(" (default: reduce); scans are inclusive\n  --ops LIST      of", file);
    print_names(file, op_at);
    fputs(" (default: sum);\n                  scans have sum, min and max\n  --maps LIST     of gathers and scatters, of",
          file);
    print_names(file, map_at);
    fputs(" (default: both); items are f32 there\n  --dtypes LIST   of", file);
    print_names(file, type_at);
    fputs(" (default: f32)\n  --peers LIST    of", file);
    print_names(file, peer_at);
    fputs(
        "\n                  (default: those that are there)\n"
        "  --sizes LIST    numbers of items: exponents of two, 2 to 32; 12M for 12 * 2^20, 3K for 3 * 2^10; up to 2^32\n"
        "                  (default: 16,20,24,26,28)\n"
        "  --cache LIST    warm: the same items for each call; cold, for reductions alone: others, that no cache has\n"
        "                  (default: warm)\n"
        "  --blocks N      timed blocks of each engine, 7 to 101 (default: 15; with --bar 7)\n"
        "  --bits          also the bits that reductions and scans of rounded f32 and f64 inputs give: exit 1 unless all\n"
        "                  devices give the same\n"
        "  --json          one JSON object a line instead of the table\n"
        "  --plot FILE     also charts of the bandwidths, as SVG\n"
        "  --bar           the cases that the project's bars need, and what became of each bar: exit 1 if one is missed, or\n"
        "                  if none could be shown. --primitive, --ops, --maps, --dtypes, --sizes and --peers leave cases out\n",
        file);
}

/* ---- parsing ---------------------------------------------------------------------------------------------------------- */

/* 0: not a number that --blocks takes. */
static int parse_blocks(const char *text) {
    char *end;
    const long blocks = strtol(text, &end, 10);
    return end == text || *end || blocks < LEAST_BLOCKS || blocks > MOST_BLOCKS ? 0 : (int)blocks;
}

/* What --bar leaves open the bars say. */
static void set_defaults(bench_options *options) {
    if (!options->blocks) options->blocks = options->bar ? 7 : 15;
    options->bits |= options->bar;
    if (!options->caches) options->caches = "warm";
    if (options->bar) {
        if (!options->sizes.count) bars_sizes(&options->sizes);
        return;
    }
    if (!options->primitives) options->primitives = bench_primitives[BENCH_REDUCE].name;
    if (!options->ops) options->ops = "sum";
    if (!options->types) options->types = "f32";
    if (!options->sizes.count) sizes_add(&options->sizes, "16,20,24,26,28");
}

static int is_there(const bench_peer *peer) {
    for (int primitive = 0; primitive < BENCH_END; primitive++)
        if (peer->open[primitive]) return 1;
    return 0;
}

int options_parse(int argc, char **argv, bench_options *options) {
    static const struct option names[] = {{"backend", required_argument, NULL, 'd'},
                                          {"primitive", required_argument, NULL, 'm'},
                                          {"ops", required_argument, NULL, 'o'},
                                          {"maps", required_argument, NULL, 'a'},
                                          {"dtypes", required_argument, NULL, 't'},
                                          {"peers", required_argument, NULL, 'p'},
                                          {"sizes", required_argument, NULL, 's'},
                                          {"blocks", required_argument, NULL, 'b'},
                                          {"cache", required_argument, NULL, 'c'},
                                          {"json", no_argument, NULL, 'j'},
                                          {"plot", required_argument, NULL, 'g'},
                                          {"bar", no_argument, NULL, 'r'},
                                          {"bits", no_argument, NULL, 'i'},
                                          {"help", no_argument, NULL, 'h'},
                                          {NULL, 0, NULL, 0}};
    int name, wrong = 0;
    *options = (bench_options){0};
    while ((name = getopt_long(argc, argv, "", names, NULL)) >= 0) {
        if (name == 'd') options->select = optarg;
        if (name == 'm') options->primitives = optarg;
        if (name == 'o') options->ops = optarg;
        if (name == 'a') options->maps = optarg;
        if (name == 't') options->types = optarg;
        if (name == 'p') options->peers = optarg;
        if (name == 's') wrong |= sizes_add(&options->sizes, optarg);
        if (name == 'c') options->caches = optarg;
        if (name == 'g') options->plot = optarg;
        if (name == 'b') wrong |= !(options->blocks = parse_blocks(optarg));
        if (name == 'i') options->bits = 1;
        if (name == 'j') options->json = 1;
        if (name == 'r') options->bar = 1;
        if (name == 'h') return print_usage(stdout), 1;
        if (name == '?') wrong = 1;
    }
    if (wrong || optind < argc) return print_usage(stderr), 3;
    set_defaults(options);
    const int known = check_list("primitive", options->primitives, primitive_at) && check_list("maps", options->maps, map_at) &&
                      check_list("ops", options->ops, op_at) && check_list("dtypes", options->types, type_at) &&
                      check_list("cache", options->caches, cache_at) &&
                      (!options->peers || check_list("peers", options->peers, peer_at));
    for (const bench_peer *peer = bench_peers; known && options->peers && peer->name; peer++)
        if (!is_there(peer) && is_listed(options->peers, peer->name))
            fprintf(stderr, "tally_bench: %s was not there when this was built\n", peer->name);
    return known ? 0 : 3;
}
