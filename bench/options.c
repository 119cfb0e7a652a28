/* SPDX-License-Identifier: MIT */
/* options.c: the command line of tally_bench. */
#include <getopt.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "bench.h"
#include "forms.h"
#include "base/did_you_mean.h"
#include "tools/print/plot.h"
#include "tools/print/units.h"
#include "tools/print/wrap.h"

#define DEFAULT_SIZES "2^16,2^20,2^24,2^26,2^28"
#define USAGE_WIDTH 80
#define USAGE_COLUMN 20

/* ---- lists ----------------------------------------------------------------------------------- */

/* Names that an option's list may contain, by index; NULL after the last. */
typedef const char *name_at(size_t index);

static const char *primitive_at(size_t i) {
    return i + 1 < BENCH_END ? bench_primitives[i + 1].name : NULL;
}

/* Reductions have all operators. */
static const char *op_at(size_t i) {
    return bench_tasks()[i].primitive == BENCH_REDUCE ? task_with(&bench_tasks()[i]) : NULL;
}

static const char *map_at(size_t i) {
    return i + 1 < MAP_END ? bench_maps[i + 1] : NULL;
}

static const char *type_at(size_t i) {
    return i + 1 < TALLY_DTYPE_END ? tally_dtype_name((tally_dtype)(i + 1)) : NULL;
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

static const char *form_at(size_t i) {
    return bench_forms[i].name;
}

typedef struct name_list {
    char text[1024];
} name_list;

/* Formats "sum, min, max". */
static name_list list_names(name_at *name) {
    name_list out = {""};
    size_t used = 0;
    for (size_t i = 0; name(i) && used < sizeof(out.text); i++)
        used += (size_t)snprintf(out.text + used, sizeof(out.text) - used, "%s%s", i ? ", " : "", name(i));
    return out;
}

/* Prints one line on stderr. Returns 3, the result of options_parse. */
static int complain(const char *format, ...) {
    va_list list;
    fputs("tally_bench: ", stderr);
    va_start(list, format);
    vfprintf(stderr, format, list);
    va_end(list);
    fputs(" (see tally bench --help)\n", stderr);
    return 3;
}

/* Returns 0 if every name of the list is a valid one, and none occurs twice. */
static int check_list(const char *option, const char *list, name_at *name) {
    for (const char *at = list; at; at = strchr(at, ',') ? strchr(at, ',') + 1 : NULL) {
        const size_t length = strcspn(at, ",");
        size_t i = 0, others = 0;
        while (name(i) && (strlen(name(i)) != length || strncmp(name(i), at, length))) i++;
        if (!name(i)) {
            const name_list names = list_names(name);
            return complain("--%s %s: '%.*s': %sthere are %s", option, list, (int)length, at,
                            tally_did_you_mean(at, length, names.text).text, names.text);
        }
        for (const char *other = list; other; other = strchr(other, ',') ? strchr(other, ',') + 1 : NULL)
            others += strcspn(other, ",") == length && !strncmp(other, at, length);
        if (others > 1) return complain("--%s %s: %s is there twice", option, list, name(i));
    }
    return 0;
}

/* Prints "  --ops LIST      TEXT" with the valid names, in the lines of a help text. */
static void print_option(const char *option, const char *before, name_at *name, const char *after) {
    char text[2048];
    snprintf(text, sizeof(text), "%s%s%s", before, name ? list_names(name).text : "", after);
    const int column = printf("  --%-15s ", option);
    wrap_print(stdout, (size_t)column, USAGE_COLUMN, USAGE_WIDTH, text);
}

static void print_usage(void) {
    puts("usage: tally_bench [OPTION...]; LIST: names with commas between them");
    print_option("backend LIST", "devices, each of which is run: opencl:pocl,cuda:0 (default: every device)", NULL, "");
    print_option("primitive LIST", "of ", primitive_at, " (default: reduce); scans are inclusive");
    print_option("ops LIST", "of ", op_at, " (default: sum); scans have sum, min and max; `all` alone: every one, by --grid");
    print_option("maps LIST", "of gathers and scatters, of ", map_at, " (default: both); items are f32 there");
    print_option("dtypes LIST", "of ", type_at, " (default: f32); `all` alone: every one, by --grid");
    print_option("peers LIST", "of ", peer_at, " (default: those that are there)");
    print_option("sizes LIST",
                 "numbers of items, 4 to 2^32: " UNITS_NOTATION ", where 12M is 12*2^20; so K, G (default: " DEFAULT_SIZES ")",
                 NULL, "");
    print_option("cases LIST", "of segments, of ", segments_group,
                 " (default: all). Their sizes have one number, the f32 items of a case (default: 2^28 on GPUs, 2^26 on CPUs)");
    print_option("cache LIST",
                 "warm: the same items for each call; cold, for reductions alone: others, that no cache has (default: warm)",
                 NULL, "");
    print_option("blocks N", "timed blocks of each engine, 7 to 101 (default: 15; with --bar 7)", NULL, "");
    print_option("bits",
                 "also the bits that reductions and scans of rounded f32 and f64 inputs give: exit 1 if they differ between "
                 "devices; one device alone compares nothing, and exits with 0",
                 NULL, "");
    print_option("json", "one JSON object a line instead of the table", NULL, "");
    print_option("plot FILE", "also charts of the bandwidths, as SVG", NULL, "");
    print_option("grid",
                 "a table of reductions by operator and item type: the share of the speed of a kernel that only reads the same "
                 "bytes. All programs are compiled first, by all cores. Takes every operator and type unless --ops and "
                 "--dtypes name some; --ops all and --dtypes all ask for it too. --plot draws a heat map",
                 NULL, "");
    print_option("forms LIST", "tables of other forms than whole arrays, of ", form_at,
                 "; `all` alone: every one. Scans are compared with "
                 "a copy");
    print_option("bytes N",
                 "of each input of the grid (default: 1G on GPUs, 256M on CPUs), of other forms the most of an array (256M); "
                 "or one number of items, by --sizes",
                 NULL, "");
    print_option("seconds N",
                 "the grid ends after N seconds, with the cells that it has by then; so it does when it is interrupted", NULL,
                 "");
    print_option("progress", "lines of progress on stderr, one a second, where it is no terminal", NULL, "");
    print_option("compile", "with the grid: also the seconds that each cell's plan and first call took", NULL, "");
    print_option("bar",
                 "the cases that the project's bars need, and what became of each bar: exit 1 if one is missed, or if none "
                 "is passed; --primitive, --ops, --maps, --dtypes, --sizes and --peers leave cases out, and a bar is "
                 "passed only if all of its cases ran",
                 NULL, "");
    print_option("help", "this text", NULL, "");
}

/* ---- parsing --------------------------------------------------------------------------------- */

/* Sets the defaults. With --bar, the bars choose the rest. */
static void set_defaults(bench_options *options) {
    if (!options->blocks) options->blocks = options->bar || options->grid ? 7 : 15;
    options->block_seconds = options->grid ? GRID_BLOCK_SECONDS : BLOCK_SECONDS;
    options->bits |= options->bar;
    if (!options->caches) options->caches = "warm";
    if (options->bar) {
        if (!options->sizes.count) bars_sizes(&options->sizes);
        return;
    }
    if (!options->primitives) options->primitives = bench_primitives[BENCH_REDUCE].name;
    if (options->grid) return;
    options->has_segments = is_listed(options->primitives, bench_primitives[BENCH_SEGMENTS].name);
    if (!options->ops) options->ops = "sum";
    if (!options->types) options->types = "f32";
    options->has_sizes = options->sizes.count > 0;
    if (!options->sizes.count) sizes_add(&options->sizes, DEFAULT_SIZES);
}

/* Reads `all` as every name. Only in a list of several is it the operator of that name. */
static void read_all(const char **list, bench_options *options) {
    if (!*list || strcmp(*list, "all")) return;
    *list = NULL;
    options->grid = 1;
}

/* Returns 0 unless options are there that do not go together. */
static int check_grid(const bench_options *options) {
    if (!options->grid && (options->bytes || options->compile || options->seconds))
        return complain("--bytes, --compile and --seconds are of --grid and --forms");
    if (!options->grid) return 0;
    if (options->bar || options->bits || options->caches || options->primitives || options->maps)
        return complain("a grid has no --bar, --bits, --cache, --primitive, --maps");
    if (options->sizes.count > 1 || (options->sizes.count && options->bytes))
        return complain("a grid has one size: --bytes N, or --sizes with one number");
    return 0;
}

/* Returns 0 unless segments are asked for with options that they do not have. */
static int check_segments(const bench_options *options) {
    const int listed = options->primitives && is_listed(options->primitives, bench_primitives[BENCH_SEGMENTS].name);
    if (options->cases && !listed) return complain("--cases is of --primitive segments");
    if (options->maps && !options->primitives && !options->bar) return complain("--maps is of --primitive gather and scatter");
    if (listed && (options->bar || options->plot || options->bits))
        return complain("segments have no --bar, --plot, --bits: their table has a column of bars");
    return 0;
}

static int is_there(const bench_peer *peer) {
    for (int primitive = 0; primitive < BENCH_END; primitive++)
        if (peer->open[primitive]) return 1;
    return 0;
}

/* Value of a long option. It lies beyond all characters, so no short option has it. */
#define LONG(letter) (256 + (letter))

static const struct option names[] = {
    {"backend", required_argument, NULL, LONG('d')}, {"primitive", required_argument, NULL, LONG('m')},
    {"ops", required_argument, NULL, LONG('o')},     {"maps", required_argument, NULL, LONG('a')},
    {"dtypes", required_argument, NULL, LONG('t')},  {"peers", required_argument, NULL, LONG('p')},
    {"sizes", required_argument, NULL, LONG('s')},   {"blocks", required_argument, NULL, LONG('b')},
    {"cache", required_argument, NULL, LONG('c')},   {"json", no_argument, NULL, LONG('j')},
    {"plot", required_argument, NULL, LONG('g')},    {"bar", no_argument, NULL, LONG('r')},
    {"bits", no_argument, NULL, LONG('i')},          {"grid", no_argument, NULL, LONG('x')},
    {"forms", required_argument, NULL, LONG('f')},   {"bytes", required_argument, NULL, LONG('n')},
    {"compile", no_argument, NULL, LONG('e')},       {"seconds", required_argument, NULL, LONG('l')},
    {"progress", no_argument, NULL, LONG('v')},      {"cases", required_argument, NULL, LONG('k')},
    {"help", no_argument, NULL, LONG('h')},          {NULL, 0, NULL, 0}};

/* Returns an option's name, which is valid until the next call. */
static const char *option_at(size_t i) {
    static char text[32];
    snprintf(text, sizeof(text), "--%s", names[i].name);
    return names[i].name ? text : NULL;
}

/* Reports getopt_long's '?' or ':' for this word. */
static int complain_option(int found, const char *word) {
    const name_list all = list_names(option_at);
    if (found == ':') return complain("%s needs an argument", word);
    if (optopt >= LONG(0)) return complain("%s takes no argument", word);
    if (optopt) return complain("unknown option -%c; there are %s", optopt, all.text);
    return complain("unknown option %s; %sthere are %s", word, tally_did_you_mean(word, strcspn(word, "="), all.text).text,
                    all.text);
}

/* Reads the number of an option that takes one. */
static int read_count(const char *option, uint64_t least, uint64_t most, uint64_t *out) {
    if (units_read_count(optarg, strlen(optarg), least, most, out)) return 0;
    return complain("--%s %s: %s", option, optarg, units_needed(least, most).text);
}

static int set_blocks(bench_options *options) {
    uint64_t count;
    if (read_count("blocks", LEAST_BLOCKS, MOST_BLOCKS, &count)) return 3;
    options->blocks = (int)count;
    return 0;
}

static const char *all_forms(void) {
    static char list[512];
    size_t used = 0;
    for (size_t i = 0; form_at(i); i++)
        used += (size_t)snprintf(list + used, sizeof(list) - used, "%s%s", i ? "," : "", form_at(i));
    return list;
}

static int set_option(int name, bench_options *options) {
    if (name == 'd') options->select = optarg;
    if (name == 'm') options->primitives = optarg;
    if (name == 'o') options->ops = optarg;
    if (name == 'a') options->maps = optarg;
    if (name == 't') options->types = optarg;
    if (name == 'p') options->peers = optarg;
    if (name == 'c') options->caches = optarg;
    if (name == 'g') options->plot = optarg;
    if (name == 'k') options->cases = optarg;
    if (name == 'f') options->forms = strcmp(optarg, "all") ? optarg : all_forms();
    if (name == 'i') options->bits = 1;
    if (name == 'j') options->json = 1;
    if (name == 'r') options->bar = 1;
    if (name == 'x' || name == 'f') options->grid = 1;
    if (name == 'e') options->compile = 1;
    if (name == 'v') options->progress = 1;
    if (name == 's' && sizes_add(&options->sizes, optarg))
        return complain("--sizes %s: a list of at most %d; of each %s", optarg, MAX_SIZES,
                        units_needed(LEAST_ITEMS, MOST_ITEMS).text);
    if (name == 'g' && !plot_is_svg(optarg)) return complain("--plot %s: " PLOT_NEEDED, optarg);
    if (name == 'n') return read_count("bytes", LEAST_BYTES, MOST_BYTES, &options->bytes);
    if (name == 'l') return read_count("seconds", 1, MOST_SECONDS, &options->seconds);
    return name == 'b' ? set_blocks(options) : 0;
}

int options_parse(int argc, char **argv, bench_options *options) {
    *options = (bench_options){0};
    opterr = 0;
    for (int name; (name = getopt_long(argc, argv, ":", names, NULL)) >= 0;) {
        if (name == '?' || name == ':') return complain_option(name, argv[optind - 1]);
        if (name == LONG('h')) return print_usage(), 1;
        if (set_option(name - LONG(0), options)) return 3;
    }
    if (optind < argc) return complain("unexpected argument %s", argv[optind]);
    read_all(&options->ops, options);
    read_all(&options->types, options);
    if (check_grid(options) || check_segments(options)) return 3;
    set_defaults(options);
    if (check_list("primitive", options->primitives, primitive_at) || check_list("maps", options->maps, map_at) ||
        check_list("ops", options->ops, op_at) || check_list("dtypes", options->types, type_at) ||
        check_list("cache", options->caches, cache_at) || check_list("cases", options->cases, segments_group) ||
        check_list("peers", options->peers, peer_at) || check_list("forms", options->forms, form_at))
        return 3;
    for (const bench_peer *peer = bench_peers; options->peers && peer->name; peer++)
        if (!is_there(peer) && is_listed(options->peers, peer->name))
            fprintf(stderr, "tally_bench: %s was not there when this was built\n", peer->name);
    return 0;
}
