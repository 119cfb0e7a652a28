/* SPDX-License-Identifier: MIT */
/*
 * fuzz_parts [INPUTS] [SEED]: changed records of parts. Each input is a sound record with bits
 * flipped, fields set, bytes cut off, added or taken from another record. Three of four get a
 * checksum that fits, so that the checks behind it are reached. Every input lies in memory of its
 * own length, for AddressSanitizer. What tally_part_check takes must be described, joined and
 * finished without a report; what it refuses, every call must refuse.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "oracle/patterns.h"
#include "parts/parts.h"
#include "tests/support/test_main.h"

#define N UINT64_C(20000)
#define ROOM (1 << 20)
#define BASES 64

typedef struct record {
    unsigned char *at;
    uint64_t bytes;
} record;

static record bases[BASES];
static uint32_t base_count;
static uint64_t seed = 1;

static uint64_t draw(uint64_t below) {
    seed = seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (seed >> 33) % below;
}

static void die(const char *what) {
    fprintf(stderr, "fuzz_parts: %s: %s\n", what, tally_last_error());
    abort();
}

/* ---- sound records --------------------------------------------------------------------------- */

static void add_bases(tally_context *context, const tally_reduce_desc *given, void *const *items) {
    static const uint64_t ranges[][3] = {{0, 9000, N},    {9000, 11000, N}, {0, 0, 0},
                                         {4096, 8192, 0}, {4097, 50, 0},    {12288, N - 12288, N}};
    tally_reduce_desc desc = *given;
    tally_plan *plan;
    desc.size = sizeof desc;
    desc.max_n = N;
    if (tally_plan_create(context, &desc, &plan)) die("a plan");
    for (size_t i = 0; i < TALLY_ARRAY_LENGTH(ranges) && base_count < BASES; i++) {
        record *r = &bases[base_count++];
        tally_part_host_args args = {.size = sizeof args,
                                     .first = ranges[i][0],
                                     .n = ranges[i][1],
                                     .total = ranges[i][2],
                                     .out = r->at = malloc(ROOM),
                                     .out_bytes = ROOM};
        for (int k = 0; k < 2; k++) args.items[k] = (char *)items[k] + args.first * tally_dtype_bytes(desc.in);
        if (tally_reduce_part_host(plan, &args, &r->bytes)) die("a sound record");
    }
    tally_plan_destroy(plan);
}

static void make_bases(void) {
    static const tally_term_desc several[] = {{.op = TALLY_ARGMIN}, {.op = TALLY_SUM}, {.op = TALLY_VAR}};
    static const tally_reduce_desc descs[] = {
        {.op = TALLY_SUM, .in = TALLY_F32},       {.op = TALLY_ARGMAX, .in = TALLY_I8},
        {.op = TALLY_VAR, .in = TALLY_F64},       {.op = TALLY_ALLCLOSE, .in = TALLY_F32},
        {.op = TALLY_LOGSUMEXP, .in = TALLY_F32}, {.op = TALLY_PROD, .in = TALLY_C64},
        {.op = TALLY_NRM2, .in = TALLY_F16},      {.in = TALLY_F32, .terms = several, .term_count = 3}};
    tally_context *context;
    void *items[2];
    if (tally_context_create("host", &context)) die("the backend host");
    for (size_t d = 0; d < TALLY_ARRAY_LENGTH(descs); d++) {
        for (int k = 0; k < 2; k++) {
            items[k] = malloc(N * tally_dtype_bytes(descs[d].in));
            if (!items[k]) die("memory");
            pattern_fill(PATTERN_WIDE, descs[d].in, items[k], N);
        }
        add_bases(context, &descs[d], items);
        free(items[0]);
        free(items[1]);
    }
    tally_context_destroy(context);
}

/* ---- changes --------------------------------------------------------------------------------- */

static uint64_t odd_number(void) {
    static const uint64_t numbers[] = {0, 1, 2, 7, 8, 4095, 4096, 65535, UINT32_MAX, UINT64_MAX, UINT64_C(1) << 60, 1u << 31};
    return draw(2) ? numbers[draw(TALLY_ARRAY_LENGTH(numbers))] : draw(100);
}

static void change(unsigned char *at, uint64_t *bytes) {
    const record *other = &bases[draw(base_count)];
    const uint64_t number = odd_number(), field = draw(2) ? 4 : 8, place = draw(*bytes / 4 < 40 ? *bytes / 4 + 1 : 40) * 4;
    switch (draw(6)) {
    case 0:
        if (*bytes) at[draw(*bytes)] ^= (unsigned char)(1u << draw(8));
        break;
    case 1:
        if (*bytes) at[draw(*bytes)] = (unsigned char)draw(256);
        break;
    case 2:
    case 3:
        if (place + field <= *bytes) memcpy(at + place, &number, field);
        break;
    case 4:
        *bytes = draw(3) ? draw(*bytes + 1) : *bytes;
        break;
    default: {
        const uint64_t from = draw(other->bytes), count = draw(other->bytes - from) + 1;
        if (from + count <= *bytes) memcpy(at + from, other->at + from, count);
        break;
    }
    }
}

static void reseal(unsigned char *at, uint64_t bytes) {
    uint64_t own, sum;
    if (bytes < 32) return;
    memcpy(&own, at + 16, 8);
    sum = tally_part_sum(at, (own < bytes ? own : bytes) / 8 * 8);
    memcpy(at + 24, &sum, 8);
}

/* ---- one input ------------------------------------------------------------------------------- */

/* Joins the record with sound ones on both sides, and finishes it. */
static void use(const unsigned char *at, uint64_t bytes) {
    static unsigned char joined[2 * ROOM], result[ROOM];
    for (uint32_t i = 0; i < 4; i++) {
        const record *other = &bases[draw(base_count)];
        const void *const parts[] = {i & 1 ? other->at : at, i & 1 ? at : other->at};
        const uint64_t lengths[] = {i & 1 ? other->bytes : bytes, i & 1 ? bytes : other->bytes};
        uint64_t length;
        if (tally_part_join(NULL, parts, lengths, 2, joined, sizeof joined, &length)) continue;
        if (tally_part_check(joined, length)) die("a joined record is not sound");
        tally_part_value(NULL, joined, length, result);
    }
    tally_part_value(NULL, at, bytes, result);
}

/* Returns whether the input is a sound record. */
static int take(const unsigned char *at, uint64_t bytes) {
    static unsigned char joined[2 * ROOM], result[ROOM];
    tally_part_info info;
    const void *const parts[] = {at};
    const int sound = tally_part_check(at, bytes) == TALLY_OK;
    if (sound != (tally_part_describe(at, bytes, &info) == TALLY_OK)) die("checked and described, it is not the same");
    if (sound) {
        use(at, bytes);
    } else if (tally_part_join(NULL, parts, &bytes, 1, joined, sizeof joined, NULL) == TALLY_OK ||
               tally_part_value(NULL, at, bytes, result) == TALLY_OK) {
        die("a record that is refused was taken");
    }
    return sound;
}

int main(int argc, char **argv) {
    static const char usage[] = "[INPUTS] [SEED]";
    const uint64_t inputs = test_number(argc, argv, 1, 2, 20000, usage);
    uint64_t sound = 0;
    seed = test_number(argc, argv, 2, 2, seed, usage);
    make_bases();
    static unsigned char changed[ROOM];
    for (uint64_t i = 0; i < inputs; i++) {
        const record *base = &bases[draw(base_count)];
        uint64_t bytes = base->bytes;
        memcpy(changed, base->at, bytes);
        for (uint64_t changes = draw(5); changes > 0; changes--) change(changed, &bytes);
        if (draw(4)) reseal(changed, bytes);
        unsigned char *own = malloc(bytes + !bytes);
        if (!own) die("memory");
        memcpy(own, changed, bytes);
        sound += (uint64_t)take(own, bytes);
        free(own);
    }
    printf("fuzz_parts: %llu inputs, of which %llu were sound\n", (unsigned long long)inputs, (unsigned long long)sound);
    for (uint32_t i = 0; i < base_count; i++) free(bases[i].at);
    /* Too few, or too many, would mean that one side of the checks is not reached. */
    return !inputs || sound < inputs / 10 || sound > inputs - inputs / 10;
}
