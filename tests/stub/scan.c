/* SPDX-License-Identifier: MIT */
/*
 * The kernels of scans on the stub, as kernels/scanning.h and kernels/heads.h document them. They
 * check their arguments and compute the values of plain scans, in sequence.
 * tests/conformance/scan.c tests orders and forms on devices.
 */
#include <string.h>

#include "axes/axes.h"
#include "reduce/reduce.h"
#include "scan/scan.h"
#include "backend.h"
#include "module.h"

#define CONTINUES 2

static uint64_t number(const stub_launch *l, uint32_t argument, uint32_t bytes) {
    uint64_t value = 0; /* little-endian, like the library */
    if (l->mem[argument] || l->bytes[argument] != bytes)
        stub_misuse("%s: argument %u is no number of %u bytes", l->entry, argument, bytes);
    else
        memcpy(&value, l->values + l->at[argument], bytes);
    return value;
}

static int is_stem(const stub_launch *l, const char *stem) {
    const char *at = strstr(l->source, "/* stub: ");
    return at && strstr(at, stem);
}

/* Returns whether this is a scan in one launch, whose program defines the number of a group's
 * tiles. */
static bool looks_back(const stub_launch *l) {
    return is_stem(l, "look_back") || is_stem(l, "cpu_scan");
}

/* The order of launches is totals, tiles, items. A scan in one launch has the items alone. */
static void check_turn(const stub_launch *l) {
    static char last[32];
    static const char *source;
    const int is_tiles = strcmp(l->entry, "tally_scan_tiles") == 0, is_items = strcmp(l->entry, "tally_scan_items") == 0;
    const char *before = is_tiles ? "tally_scan_totals" : is_items && !looks_back(l) ? "tally_scan_tiles" : NULL;
    if (before && (strcmp(last, before) != 0 || source != l->source)) stub_misuse("%s comes after %s", l->entry, last);
    if (is_tiles && l->groups != 1) stub_misuse("tally_scan_tiles in %llu groups", (unsigned long long)l->groups);
    strcpy(last, l->entry);
    source = l->source;
}

static void check_groups(const stub_launch *l, uint64_t n) {
    const uint64_t tiles = (n + TALLY_TILE_ITEMS - 1) / TALLY_TILE_ITEMS, run = number(l, TALLY_SCAN_ARG_RUN, 8),
                   capacity = number(l, TALLY_SCAN_ARG_CAPACITY, 8);
    if (is_stem(l, "warp_carry") || strcmp(l->entry, "tally_scan_tiles") == 0) return;
    if (tiles > capacity) stub_misuse("%llu tiles, room for %llu", (unsigned long long)tiles, (unsigned long long)capacity);
    const uint64_t each = looks_back(l) ? stub_defined(l->source, "TILES_EACH") : run;
    if (l->groups * each < tiles || (l->groups - 1) * each >= tiles)
        stub_misuse("%llu groups of %llu tiles for %llu", (unsigned long long)l->groups, (unsigned long long)each,
                    (unsigned long long)tiles);
}

/* Checks that the workspace holds the values that the kernels keep between groups. */
static void check_workspace(const stub_launch *l) {
    const int is_segmented = stub_defined(l->source, "SEGMENTED") != 0;
    const uint64_t acc = l->module->sizes[STUB_ACC_SIZE], capacity = number(l, TALLY_SCAN_ARG_CAPACITY, 8);
    const uint64_t blocks = (capacity + TALLY_SCAN_WIDTH - 1) / TALLY_SCAN_WIDTH;
    const uint64_t value = is_segmented ? (acc + 7) / 8 * 8 + 8 : acc, parts = (value + 3) / 4;
    const bool looks = looks_back(l);
    /* Lines of 16 words: two; for each block the lines of its value, and one; then the tiles'
     * values in parts. */
    const uint64_t count = looks ? 32 + blocks * ((parts + 15) / 16 * 16 + 16) + capacity * parts : 1;
    stub_place(l->mem[TALLY_SCAN_ARG_VALUES], 0, looks ? 2 : 3 + 2 * capacity + 2 * blocks, value, "accumulators");
    const unsigned char *words = stub_place(l->mem[TALLY_SCAN_ARG_WORDS], 0, count, 8, "words");
    for (uint64_t b = 0; words && looks && b < 8 * count; b++)
        if (words[b])
            stub_misuse("the words are not 0 before the first launch"); /* nor are they changed later: the stub writes none */
}

static void write_values(const stub_launch *l, uint64_t n, const unsigned char *in, unsigned char *out) {
    const stub_module *m = l->module;
    const void *const inputs[TALLY_MAX_INPUTS] = {l->mem[TALLY_SCAN_ARG_IN]->bytes};
    const uint64_t offsets[TALLY_MAX_INPUTS] = {number(l, TALLY_SCAN_ARG_IN_OFFSET, 8)};
    const void *params = l->values + l->at[TALLY_SCAN_ARG_PARAMS];
    const int is_exclusive = stub_defined(l->source, "EXCLUSIVE") != 0;
    unsigned char acc[STUB_ACC_MOST], value[STUB_ACC_MOST];
    m->identity(acc);
    for (uint64_t i = 0; in && i < n; i++) {
        if (is_exclusive) m->result(acc, i, params, value);
        m->sequence(inputs, offsets, params, i, 1, acc);
        if (!is_exclusive) m->result(acc, i + 1, params, value);
        memcpy(out + i * m->sizes[STUB_RESULT_SIZE], value, m->sizes[STUB_RESULT_SIZE]);
    }
}

static void run_scan(const stub_launch *l) {
    if (!l->module || l->count != TALLY_SCAN_ARGS) {
        stub_misuse("entry %s with %u arguments", l->entry, l->count);
        return;
    }
    const uint32_t *sizes = l->module->sizes;
    const uint64_t n = number(l, TALLY_SCAN_ARG_N, 8), base = number(l, TALLY_SCAN_ARG_BASE, 8);
    const uint32_t flow = (uint32_t)number(l, TALLY_SCAN_ARG_FLOW, 4);
    const unsigned char *in =
        stub_place(l->mem[TALLY_SCAN_ARG_IN], number(l, TALLY_SCAN_ARG_IN_OFFSET, 8), n, sizes[STUB_ITEM_SIZE], "items");
    unsigned char *out =
        stub_place(l->mem[TALLY_SCAN_ARG_OUT], number(l, TALLY_SCAN_ARG_OUT_OFFSET, 8), n, sizes[STUB_RESULT_SIZE], "values");
    const int is_segmented = stub_defined(l->source, "SEGMENTED") != 0;
    if (!stub_place(l->mem[TALLY_SCAN_ARG_HEADS], number(l, TALLY_SCAN_ARG_HEADS_OFFSET, 8), is_segmented ? n : 0, 1, "flags"))
        return;
    if (l->bytes[TALLY_SCAN_ARG_PARAMS] != sizes[STUB_PARAMS_SIZE] || l->bytes[TALLY_SCAN_ARG_INITIAL] != sizes[STUB_ITEM_SIZE])
        stub_misuse("%s: %u bytes of parameters, %u of the initial value", l->entry, l->bytes[TALLY_SCAN_ARG_PARAMS],
                    l->bytes[TALLY_SCAN_ARG_INITIAL]);
    if (base % TALLY_SCAN_BLOCK || (base && !(flow & CONTINUES)))
        stub_misuse("%s: flow %u at %llu", l->entry, flow, (unsigned long long)base);
    if (l->threads != stub_defined(l->source, "GROUP")) stub_misuse("%s: groups of %u threads", l->entry, l->threads);
    check_turn(l);
    check_groups(l, n);
    check_workspace(l);
    const int is_plain = !base && !is_segmented && !stub_defined(l->source, "REVERSE") && !stub_defined(l->source, "INITIAL");
    if (out && is_plain && strcmp(l->entry, "tally_scan_items") == 0) write_values(l, n, in, out);
}

/* Computes the values of plain scans along an axis. The shape is as tally_shape_pack writes it. */
static void run_axis(const stub_launch *l) {
    const stub_module *m = l->module;
    struct {
        uint64_t n;
        uint32_t scanned, kept;
        struct {
            uint64_t extent;
            int64_t in, where, out;
        } axis[TALLY_SHAPE_AXES];
    } shape;
    if (!m || l->count != TALLY_AXIS_ARGS || l->bytes[TALLY_AXIS_ARG_SHAPE] != sizeof shape) {
        stub_misuse("entry %s with %u arguments", l->entry, l->count);
        return;
    }
    if (l->threads != stub_defined(l->source, "GROUP")) stub_misuse("%s: groups of %u threads", l->entry, l->threads);
    memcpy(&shape, l->values + l->at[TALLY_AXIS_ARG_SHAPE], sizeof shape);
    const uint64_t count = number(l, TALLY_AXIS_ARG_COUNT, 8), team = number(l, TALLY_AXIS_ARG_TEAM, 4);
    const bool is_short = strstr(l->entry, "short") != NULL;
    if (l->threads > 1 && (!team || l->threads % team || (is_short ? team * TALLY_CELL_ITEMS < shape.n : team < 32)))
        stub_misuse("%s: teams of %u threads for %u items", l->entry, (unsigned)team, (unsigned)shape.n);
    const void *const inputs[TALLY_MAX_INPUTS] = {l->mem[TALLY_AXIS_ARG_IN]->bytes};
    const uint32_t value = m->sizes[STUB_RESULT_SIZE];
    for (uint64_t s = 0; s < count; s++) {
        uint64_t rest = s, in = number(l, TALLY_AXIS_ARG_IN_OFFSET, 8), out = number(l, TALLY_AXIS_ARG_OUT_OFFSET, 8);
        unsigned char acc[STUB_ACC_MOST];
        for (uint32_t a = shape.kept; a > 0; rest /= shape.axis[a--].extent) {
            in += rest % shape.axis[a].extent * (uint64_t)shape.axis[a].in;
            out += rest % shape.axis[a].extent * (uint64_t)shape.axis[a].out;
        }
        m->identity(acc);
        for (uint64_t i = 0; i < shape.n; i++) {
            const uint64_t from[TALLY_MAX_INPUTS] = {in + i * (uint64_t)shape.axis[0].in};
            unsigned char *to =
                stub_place(l->mem[TALLY_AXIS_ARG_OUT], out + i * (uint64_t)shape.axis[0].out, 1, value, "values");
            if (!to || !stub_place(l->mem[TALLY_AXIS_ARG_IN], from[0], 1, m->sizes[STUB_ITEM_SIZE], "items")) return;
            m->sequence(inputs, from, l->values + l->at[TALLY_AXIS_ARG_PARAMS], 0, 1, acc);
            m->result(acc, i + 1, l->values + l->at[TALLY_AXIS_ARG_PARAMS], to);
        }
    }
}

/* tally_heads_clear(heads, n, run), tally_heads_set(heads, n, offsets, offset, count) */
static void run_heads(const stub_launch *l) {
    const int is_clear = strcmp(l->entry, "tally_heads_clear") == 0;
    if (l->count != (is_clear ? 3 : 5)) {
        stub_misuse("entry %s with %u arguments", l->entry, l->count);
        return;
    }
    const uint64_t n = number(l, 1, 8), threads = l->groups * l->threads;
    unsigned char *heads = stub_place(l->mem[0], 0, n, 1, "flags");
    if (is_clear && heads) {
        if (threads * number(l, 2, 8) < n) stub_misuse("some flags are not cleared");
        memset(heads, 0, n);
    } else if (heads) {
        const uint64_t count = number(l, 4, 8);
        if (threads < count) stub_misuse("some offsets are left out");
        stub_place(l->mem[2], number(l, 3, 8), count, 8, "offsets");
    }
}

int stub_run_scan(const stub_launch *l) {
    if (strncmp(l->entry, "tally_scan_axis_", strlen("tally_scan_axis_")) == 0)
        run_axis(l);
    else if (strncmp(l->entry, "tally_scan_", strlen("tally_scan_")) == 0)
        run_scan(l);
    else if (strncmp(l->entry, "tally_heads_", strlen("tally_heads_")) == 0)
        run_heads(l);
    else
        return 0;
    return 1;
}
