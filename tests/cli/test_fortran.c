/* SPDX-License-Identifier: MIT */
/* Arrays in Fortran order, in pieces. Every item must come in C order, at all lengths, in pieces of
 * any size. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "tools/files/fortran.h"
#include "tests/support/test_main.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))
#define LARGE (UINT64_C(1) << 20)

static uint64_t count(const npy_shape *shape) {
    uint64_t n = 1;
    for (uint32_t d = 0; d < shape->dimensions; d++) n *= shape->lengths[d];
    return n;
}

/* Returns the place in Fortran order of item i in C order. */
static uint64_t place_of(const npy_shape *shape, uint64_t i) {
    uint64_t place = 0;
    for (uint32_t d = 0; d < shape->dimensions; d++) {
        uint64_t after = 1, before = 1;
        for (uint32_t k = d + 1; k < shape->dimensions; k++) after *= shape->lengths[k];
        for (uint32_t k = 0; k < d; k++) before *= shape->lengths[k];
        place += i / after % shape->lengths[d] * before;
    }
    return place;
}

/* Returns byte b of the item at that place. */
static unsigned char byte_of(uint64_t place, size_t b) {
    return (unsigned char)((place * 2654435761u + b * 40503u) >> 13);
}

static void walk(const npy_shape *shape, size_t item_bytes, uint64_t room) {
    const uint64_t n = count(shape);
    unsigned char *from = malloc(n * item_bytes), *to = malloc(room * item_bytes);
    fortran_walk w;
    uint64_t done = 0, some;
    assert_true(from && to);
    for (uint64_t i = 0; i < n * item_bytes; i++) from[i] = byte_of(i / item_bytes, i % item_bytes);
    fortran_begin(&w, shape, room);
    while ((some = fortran_next(&w, from, item_bytes, to)) != 0) {
        assert_true(some <= room && some <= n - done);
        for (uint64_t i = 0; i < some * item_bytes; i++) {
            const uint64_t item = done + i / item_bytes;
            if (to[i] != byte_of(place_of(shape, item), i % item_bytes))
                fail_msg("%u dimensions, items of %zu bytes, room for %lu: item %lu is another", shape->dimensions, item_bytes,
                         (unsigned long)room, (unsigned long)item);
        }
        done += some;
        assert_int_equal(w.done, done);
    }
    assert_int_equal(done, n);
    free(from);
    free(to);
}

/* A walk that begins with any item goes on as the whole walk does. */
static void seek(const npy_shape *shape, uint64_t room, uint64_t item) {
    const uint64_t n = count(shape);
    uint32_t *from = malloc(n * sizeof(*from)), *to = malloc(room * sizeof(*to));
    fortran_walk w;
    assert_true(from && to);
    for (uint64_t i = 0; i < n; i++) from[i] = (uint32_t)i;
    fortran_begin(&w, shape, room);
    uint64_t at = fortran_seek(&w, item), some = 0;
    for (bool is_first = true; (some = fortran_next(&w, from, sizeof(*from), to)) != 0; at += some, is_first = false) {
        if (is_first) assert_true(at <= item && item < at + some);
        for (uint64_t i = 0; i < some; i++) assert_int_equal(to[i], place_of(shape, at + i));
    }
    assert_int_equal(at, n);
    free(from);
    free(to);
}

static const npy_shape shapes[] = {
    {true, 2, {2, 3}},
    {true, 2, {3, 2}},
    {true, 2, {32, 32}},
    {true, 2, {33, 65}},
    {true, 2, {1, 7}},
    {true, 2, {7, 1}},
    {true, 2, {2, 1000}},
    {true, 2, {1000, 2}},
    {true, 3, {2, 3, 4}},
    {true, 3, {5, 1, 6}},
    {true, 3, {40, 3, 35}},
    {true, 3, {3, 101, 37}},
    {true, 3, {35, 34, 2}},
    {true, 4, {3, 5, 7, 11}},
    {true, 5, {2, 1, 33, 1, 5}},
    {true, 11, {2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2}},
    {true, 3, {257, 3, 2}},
    {true, 1, {9}},
    {true, 0, {0}},
    {true, 3, {1, 1, 1}},
    {true, 4, {2, 2, 100, 33}},
};

static void test_walks(void **unused) {
    (void)unused;
    for (size_t i = 0; i < COUNT(shapes); i++) {
        const uint64_t n = count(&shapes[i]), rooms[] = {1, 2, 3, 7, n / 2 + 1, n > 1 ? n - 1 : 1, n, n + 5, 64, 1000};
        for (size_t bytes = 1; bytes <= 16; bytes *= 2)
            for (size_t r = 0; r < COUNT(rooms); r++) walk(&shapes[i], bytes, rooms[r]);
    }
}

static void test_seeks(void **unused) {
    (void)unused;
    for (size_t i = 0; i < COUNT(shapes); i++) {
        const uint64_t n = count(&shapes[i]), rooms[] = {1, 7, n / 2 + 1, n, 64}, items[] = {0, 1, n / 3, n / 2, n - 1};
        for (size_t r = 0; r < COUNT(rooms); r++)
            for (size_t k = 0; k < COUNT(items); k++)
                if (items[k] < n) seek(&shapes[i], rooms[r], items[k]);
    }
}

/* Pieces are whole rows of some pages if possible. They fit the memory in any case. */
static void test_pieces(void **unused) {
    (void)unused;
    const npy_shape small = {true, 2, {10, 7}}, tall = {true, 2, {100 * LARGE, 4}}, wide = {true, 2, {4, 100 * LARGE}},
                    both = {true, 3, {LARGE, 1, 10000}};
    assert_int_equal(fortran_piece_bytes(&small, 1), 128);
    assert_int_equal(fortran_piece_bytes(&tall, 8), 8 * LARGE);
    assert_int_equal(fortran_piece_bytes(&wide, 8), 256 * LARGE);
    assert_int_equal(fortran_piece_bytes(&both, 4), (10000 * 4096 + 63) / 64 * 64);
}

static void test_differs(void **unused) {
    (void)unused;
    static const npy_shape same[] = {{true, 0, {0}},    {true, 1, {5}},       {true, 2, {5, 1}}, {true, 3, {1, 5, 1}},
                                     {true, 2, {0, 5}}, {true, 3, {5, 6, 0}}, {false, 2, {5, 6}}},
                           others[] = {{true, 2, {5, 6}}, {true, 3, {2, 1, 2}}};
    for (size_t i = 0; i < COUNT(same); i++) assert_false(fortran_differs(&same[i]));
    for (size_t i = 0; i < COUNT(others); i++) assert_true(fortran_differs(&others[i]));
}

int main(int argc, char **argv) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_walks), cmocka_unit_test(test_seeks),
                                       cmocka_unit_test(test_pieces), cmocka_unit_test(test_differs)};
    return test_main(argc, argv, "Walks of arrays in Fortran order.", tests, sizeof tests / sizeof tests[0], NULL, NULL);
}
