/* SPDX-License-Identifier: MIT */
/* Finds the code of the backend `host` for a text and for this processor. */
#define XXH_INLINE_ALL
#define _POSIX_C_SOURCE 200809L
#ifdef TALLY_HOST_V3
#include <cpuid.h>
#endif
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#include "base/base.h"
#include "host/host.h"

extern const tally_host_code tally_host_code_base, tally_host_code_v3, tally_host_code_v4;

static tally_host_code chosen;
static const char *chosen_name = "base";
bool tally_host_fetches_ahead;

#ifdef TALLY_HOST_V3
/* Not all compilers know f16c by name. */
static bool has_v3(void) {
    unsigned a, b, c, d;
    return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && __builtin_cpu_supports("bmi2") &&
           __get_cpuid(1, &a, &b, &c, &d) && c & bit_F16C;
}
#endif

#if defined(TALLY_HOST_V3) && defined(TALLY_HOST_V4)
static bool has_v4(void) {
    return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512dq") &&
           __builtin_cpu_supports("avx512vl");
}

/* Gives each program the fold and the scan's steps of `of`, for as long as the process lives.
 * Without memory they keep their own. */
static bool take_steps(tally_host_code *code, const tally_host_code *of) {
    tally_host_program *programs = malloc(of->count * sizeof(*programs));
    const tally_host_program **rows = malloc(of->count * sizeof(const tally_host_program *));
    if (!programs || !rows) return free(programs), free(rows), false;
    for (size_t i = 0; i < of->count; i++) {
        const tally_host_program *from = of->programs[i];
        programs[i] = *code->programs[i];
        if (from->fold) programs[i].fold = from->fold, programs[i].far_items = from->far_items;
        if (from->scan.load) {
            programs[i].scan = from->scan;
            programs[i].plain = from->plain;
            programs[i].plain_offset = from->plain_offset;
        }
        rows[i] = &programs[i];
    }
    code->programs = rows;
    code->shared = of->shared;
    return true;
}
#endif

static void choose(void) {
#ifdef TALLY_HOST_BASE
    chosen = tally_host_code_base;
#endif
#ifdef TALLY_HOST_V3
    if (!has_v3()) return;
    chosen = tally_host_code_v3;
    chosen_name = "AVX2, FMA";
#ifdef TALLY_HOST_V4
    if (has_v4() && take_steps(&chosen, &tally_host_code_v4)) chosen_name = "AVX-512";
    tally_host_fetches_ahead = __builtin_cpu_is("amd");
#endif
#endif
}

const tally_host_code *tally_host_code_here(void) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, choose);
    return &chosen;
}

const char *tally_host_code_name(void) {
    tally_host_code_here();
    return chosen_name;
}

const tally_host_program *tally_host_program_at(tally_accuracy accuracy, unsigned op, unsigned in) {
    if (op >= TALLY_OP_END || in >= TALLY_DTYPE_END) return NULL;
    const unsigned number = accuracy ? tally_host_compensated[op][in] : tally_host_numbers[op][in];
    return number ? tally_host_code_here()->programs[number - 1] : NULL;
}

const tally_host_program *tally_host_program_for(unsigned op, unsigned in) {
    return tally_host_program_at(TALLY_ACCURACY_DEFAULT, op, in);
}

uint64_t tally_host_hash(const char *text, size_t bytes) {
    return XXH3_64bits(text, bytes);
}

const tally_host_key *tally_host_find(const char *text, size_t bytes) {
    const uint64_t hash = tally_host_hash(text, bytes);
    size_t from = 0, to = tally_host_key_count;
    while (from < to) {
        const size_t middle = from + (to - from) / 2;
        if (tally_host_keys[middle].hash < hash)
            from = middle + 1;
        else
            to = middle;
    }
    return from < tally_host_key_count && tally_host_keys[from].hash == hash ? &tally_host_keys[from] : NULL;
}

const char *tally_host_stem(const char *stem) {
    static const char *const stems[][2] = {
        {"prelude", ""},
        {"outcome", ""},
        {"warp_tree", ""},
        {"finish", "/* finish */\n"},
        {"cpu_chunks", "/* cpu_chunks */\n"},
        {"scanning", "/* scanning */\n"},
        {"published", ""},
        {"cpu_rows", ""},
        {"cpu_tiles", ""},
        {"cpu_scan", "/* cpu_scan */\n"},
        {"scan_lists", ""},
        {"cpu_scan_axis", "/* cpu_scan_axis */\n"},
        {"move", "/* move */\n"},
        {"heads", "/* heads */\n"},
        {"fold", ""},
        {"segments", ""},
        {"cpu_segment_rows", ""},
        {"cpu_segment_blocks", ""},
        {"cpu_segment_flat", ""},
        {"cpu_segments", "/* cpu_segments */\n"},
        {"offsets", "/* offsets */\n"},
        {"keys", "/* keys */\n"},
        {"read", "/* read */\n"},
        {"copy", "/* copy */\n"},
        {"part", "/* part */\n"},
        {"probe", "/* probe */\n"},
        {"feature_order", "/* feature_order */\n"},
    };
    for (size_t i = 0; i < TALLY_ARRAY_LENGTH(stems); i++)
        if (!strcmp(stem, stems[i][0])) return stems[i][1];
    return NULL;
}
