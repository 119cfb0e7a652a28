/* SPDX-License-Identifier: MIT */
/* `tally reduce`: values that are refused are named, with what is taken instead. */
#include "cli.h"

/* The error of an initial value names it, the type, and what the type takes. */
static void refuse_initial(void) {
    static const bad_row rows[] = {
        {"reduce sum --initial 1x list.npy",
         {"--initial 1x: '1x' is no f64, the result's type: a real number such as 1.5"},
         NULL,
         NULL},
        {"reduce sum --initial 1+2j list.npy", {"'1+2j' is no f64", "a real number", "at most 1.7976931e+308"}, NULL, NULL},
        {"reduce max --initial 128 --dtype i8 items.bin",
         {"--initial 128:", "a whole number from -128 to 127 is needed"},
         NULL,
         NULL},
        {"reduce max --initial -1 --dtype u64 items.bin", {"--initial -1:", "from 0 to 18446744073709551615 is"}, NULL, NULL},
        {"reduce max --initial 7e4 --dtype f16 items.bin", {"'7e4' is no f16", "of at most 65504 if"}, NULL, NULL},
        {"reduce minmax --initial 1,x --dtype i16 items.bin",
         {"--initial 1,x: 'x' is no i16", "from -32768 to 32767"},
         NULL,
         NULL},
        {"reduce sum --initial i --dtype c64 items.bin",
         {"'i' is no c64", "1.5+2j is needed, of at most 3.4028235e+38"},
         NULL,
         NULL},
        {"reduce any --initial yes list.npy", {"'yes' is no bool", "true, false, 1 or 0 is needed"}, NULL, NULL},
    };
    must_refuse_rows(rows, COUNT(rows), 1);
}

/* An offset that is wrong is named with its value. */
static void refuse_offsets(void) {
    static const int32_t beyond[3] = {0, 3, 7}, turned[4] = {0, 5, 3, 6}, below[2] = {-1, 6};
    static const int64_t least[2] = {0, INT64_MIN};
    static const uint64_t most[2] = {0, UINT64_MAX};
    static const bad_row rows[] = {
        {"reduce sum --offsets beyond.npy list.npy -o old.npy",
         {"beyond.npy: offset 2 is 7: segment 1 ends beyond the input's 6 items"},
         NULL,
         NULL},
        {"reduce sum --offsets turned.npy list.npy",
         {"turned.npy: offset 2 is 3: segment 1 ends before it begins, at 5"},
         NULL,
         NULL},
        {"reduce sum --offsets below.npy list.npy", {"below.npy: offset 0 is -1: segment 0 begins before item 0"}, NULL, NULL},
        {"reduce sum --offsets least.npy list.npy",
         {"offset 1 is -9223372036854775808: segment 0 ends before item 0"},
         NULL,
         NULL},
        {"reduce sum --offsets most.npy list.npy", {"offset 1 is 18446744073709551615: segment 0 ends beyond"}, NULL, NULL},
    };
    write_npy("beyond.npy", 1, own_descr('i', 4), "(3,)", beyond, sizeof(beyond));
    write_npy("turned.npy", 1, own_descr('i', 4), "(4,)", turned, sizeof(turned));
    write_npy("below.npy", 1, own_descr('i', 4), "(2,)", below, sizeof(below));
    write_npy("least.npy", 1, own_descr('i', 8), "(2,)", least, sizeof(least));
    write_npy("most.npy", 1, own_descr('u', 8), "(2,)", most, sizeof(most));
    must_refuse_rows(rows, COUNT(rows), 1);
}

/* The error of a mask names the shapes that fit. */
static void refuse_masks(void) {
    static const bad_row rows[] = {
        {"reduce sum --axis 0 --where tall.npy wide.npy",
         {"wide.npy and tall.npy: their shapes differ: (2, 3) and (3, 2): a mask of (2, 3) fits, or one that is repeated to "
          "it, as (3,) or (2, 1)\n"},
         NULL,
         NULL},
        {"reduce sum --where tall.npy list.npy", {"(6,) and (3, 2): a mask of (6,) fits\n"}, NULL, NULL},
        {"reduce sum --by list.npy --where tall.npy list.npy", {"(6,) and (3, 2): a mask of (6,) fits\n"}, NULL, NULL},
        {"reduce sum --by wide.npy --where tall.npy wide.npy", {"(2, 3) and (3, 2): a mask of (2, 3) fits\n"}, NULL, NULL},
    };
    static const double items[6] = {1, 2, 3, 4, 5, 6};
    write_npy("wide.npy", 1, own_descr('f', 8), "(2, 3)", items, sizeof(items));
    write_npy("tall.npy", 1, "|b1", "(3, 2)", "\1\0\1\0\1\0", 6);
    must_refuse_rows(rows, COUNT(rows), 1);
}

void test_segments_values(void **unused) {
    (void)unused;
    static const double items[6] = {1, 2, 3, 4, 5, 6};
    need_device();
    write_npy("list.npy", 1, own_descr('f', 8), "(6,)", items, sizeof(items));
    write_file("items.bin", items, sizeof(items));
    refuse_initial();
    refuse_offsets();
    refuse_masks();
}
