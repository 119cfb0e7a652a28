/* SPDX-License-Identifier: MIT */
/*
 * golden.h: golden bits. The file bits.txt holds results as an earlier state of the library
 * gave them. The tests compute them again and compare every bit. The oracle says which bits are
 * right by the documents; the file says which bits users have had so far.
 *
 * A case is one computation over one kind of items. Its line in the file has one text for each
 * length in golden_lengths. The first n items are the same for every length, so that a case fills
 * its inputs once.
 */
#ifndef TALLY_TESTS_GOLDEN_H
#define TALLY_TESTS_GOLDEN_H

#include <stdio.h>

#include "oracle/oracle.h"

#define GOLDEN_BITS TALLY_TESTS_FOLDER "/golden/bits.txt"
#define GOLDEN_LENGTHS 12
#define GOLDEN_ROOM UINT64_C(262149) /* the last of golden_lengths: 2^18 + 5 */
extern const uint64_t golden_lengths[GOLDEN_LENGTHS];

/* ---- items (items.c) ------------------------------------------------------------------ */

/*
 * X(id, name, text): kinds of items. An item is a function of its index i and its input's number
 * alone, made by integer arithmetic: r(i) is splitmix64's mix of input << 48 | i, and the item
 * takes its bits from r(i) and mix(r(i)). Complex items are filled as twice as many floats.
 */
#define GOLDEN_ITEMS_TABLE(X)                                                                                                  \
    X(WIDE, "wide", "floats of both signs, exponents -40 to 40 (f16: -12 to 12); integers: random bits; bool: half are 0")     \
    X(SPECIAL, "special",                                                                                                      \
      "wide floats, but -0 at 0, +0 at 1, infinities at 100 and 128, NaNs at 4000 and 100000; integers: wide; "                \
      "input k has them 3 k places earlier")                                                                                   \
    X(NEAR, "near", "floats of both signs within 2^-8 of 1, complex ones near the unit circle; integers: odd")                 \
    X(SHIFTED, "shifted", "floats from 1000 to 1001 (f16: to 1001.5, bf16: to 1012); integers: 100 to 103")                    \
    X(MAGNITUDES, "magnitudes", "floats of both signs, every exponent of normal numbers")                                      \
    X(FEW, "few", "0, but of each 64 items the one at 62 is not")                                                              \
    X(LACKING, "lacking",                                                                                                      \
      "floats: 1; integers: every bit is 1, but of each 200 items the one at 150 lacks a bit; item 5000 is 0")

#define GOLDEN_ITEMS_ROW(id, name, text) GOLDEN_##id,
typedef enum golden_items { GOLDEN_ITEMS_TABLE(GOLDEN_ITEMS_ROW) GOLDEN_ITEMS_END } golden_items;
#undef GOLDEN_ITEMS_ROW

const char *golden_items_name(golden_items items);
uint64_t golden_random(uint64_t counter);
/* Fills n items of input number `input`. */
void golden_fill(golden_items items, tally_dtype in, uint32_t input, void *to, uint64_t n);
/* Fills allclose's second input: the first with low bits changed. Item 4096 is not close. */
void golden_fill_close(tally_dtype in, const void *first, void *to, uint64_t n);

/* ---- cases (cases.c) ------------------------------------------------------------------------- */

/* Several ops over one pass. */
typedef struct golden_fusion {
    tally_dtype in;
    uint32_t count;
    tally_op ops[TALLY_MAX_TERMS];
} golden_fusion;

/* A custom op. */
typedef struct golden_custom {
    tally_dtype in;
    tally_op twin; /* the built-in op with the same result; TALLY_OP_NONE: there is none */
    tally_op_desc desc;
} golden_custom;

typedef struct golden_case {
    oracle_case what;            /* the op is TALLY_OP_NONE for fusions and custom ops */
    const golden_fusion *fusion; /* NULL: none */
    const golden_custom *custom; /* NULL: none */
    int is_scan;
    uint32_t flags;
    tally_segments segments;
    int has_initial;
    golden_items items;
    int is_main;    /* every run replays it */
    size_t program; /* neighbours with the same number share a program */
    char key[144];  /* the begin of the line in the file */
} golden_case;

/* Returns every case, in the file's order. */
const golden_case *golden_cases(size_t *count);
uint32_t golden_inputs(const golden_case *c);
/* Returns the name of the op's parameter of this number, from 0 on; NULL beyond the last. */
const char *golden_param(tally_op op, uint32_t number);

/* ---- results as text (run.c) ---------------------------------------------------------- */

/*
 * values[l] is the result for golden_lengths[l]. A result of up to 16 bytes is written in
 * hexadecimal, the highest digit first, with a comma between two values or parts. A longer result,
 * and the values of a scan, are written as # and the 64-bit FNV-1a hash of their bytes. No values
 * are written as -.
 */
typedef struct golden_line {
    char values[GOLDEN_LENGTHS][40];
} golden_line;

/* Computes the case by a plan of this context. Returns 0 if the device lacks what it needs. */
int golden_run(tally_context *context, const golden_case *c, golden_line *line);
/* Computes the lengths by tally_reduce_host. */
void golden_run_host(tally_context *context, const golden_case *c, golden_line *line);
/* Computes the case by the oracle. Returns 0 if it has no such case. */
int golden_oracle(const golden_case *c, golden_line *line);

/* ---- the file (file.c) ---------------------------------------------------------------- */

typedef struct golden_file golden_file;

/* Reads the file. Fails the test if it is not there or has another form. */
golden_file *golden_open(const char *path);
void golden_close(golden_file *file);
/* Fails the test unless all texts that are not empty are those in the file. */
void golden_expect(const golden_file *file, const golden_case *c, const golden_line *line);
/* Fails the test unless the file has one line for each case, and no other. */
void golden_expect_whole(const golden_file *file);

#endif
