/* SPDX-License-Identifier: MIT */
/*
 * The parser of .npy headers: good headers, a table of bad ones, and many that a deterministic
 * random generator damaged. Headers are parsed from memory of exactly their size, so that
 * AddressSanitizer sees a read beyond it.
 */
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "tests/support/test_main.h"
#include "tools/files/npy.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))
#define MUTANTS 60000

typedef struct file {
    unsigned char bytes[1024];
    size_t size;
} file;

/* Makes a header of version `major` with the right length field. */
static file make(unsigned major, const char *dictionary) {
    file f = {{0}, 0};
    const size_t length = strlen(dictionary), prefix = major == 1 ? 10 : 12;
    memcpy(f.bytes, NPY_MAGIC, NPY_MAGIC_BYTES);
    f.bytes[6] = (unsigned char)major;
    for (size_t i = 0; i < prefix - 8; i++) f.bytes[8 + i] = (unsigned char)(length >> 8 * i);
    assert_true(prefix + length <= sizeof(f.bytes));
    memcpy(f.bytes + prefix, dictionary, length);
    f.size = prefix + length;
    return f;
}

typedef struct outcome {
    npy_status status;
    npy_header header;
    size_t need;
    char problem[256];
} outcome;

static outcome parse(const void *bytes, size_t size) {
    outcome o = {.status = NPY_BAD};
    unsigned char *exact = malloc(size ? size : 1);
    assert_non_null(exact);
    memcpy(exact, bytes, size);
    o.status = npy_parse(exact, size, &o.header, &o.need, o.problem, sizeof(o.problem));
    free(exact);
    return o;
}

/* ---- good headers ---------------------------------------------------------------------------- */

typedef struct good_row {
    const char *dictionary;
    tally_dtype dtype;
    uint64_t n;
    bool big; /* big-endian */
} good_row;

static const good_row good[] = {
    {"{'descr': '<f8', 'fortran_order': False, 'shape': (100,), }         \n", TALLY_F64, 100, false},
    {"{'descr': '<f4', 'fortran_order': True, 'shape': (3, 4, 5), }\n", TALLY_F32, 60, false},
    {"{'descr': '>i4', 'fortran_order': False, 'shape': (7,)}", TALLY_I32, 7, true},
    {"{'descr': '>u8', 'fortran_order': False, 'shape': (7, 1)}", TALLY_U64, 7, true},
    {"{'shape': (2,3), 'descr': '<i8', 'fortran_order': False}", TALLY_I64, 6, false},
    {"{\"descr\":\"<u4\",\"fortran_order\":False,\"shape\":()}", TALLY_U32, 1, false},
    {" \t\n{ 'descr' : '<u4' , 'fortran_order' : False , 'shape' : ( 2 , 2 , ) , } ", TALLY_U32, 4, false},
    {"{'descr': '<f8', 'fortran_order': False, 'shape': (3L, 2L)}", TALLY_F64, 6, false},
    {"{'descr': '<f8', 'fortran_order': False, 'shape': (0,)}", TALLY_F64, 0, false},
    {"{'descr': '<f8', 'fortran_order': False, 'shape': (18446744073709551615, 5, 0)}", TALLY_F64, 0, false},
    {"{'descr': '<f8', 'fortran_order': False, 'shape': (1152921504606846975,)}", TALLY_F64, 1152921504606846975, false},
    {"{'descr': '<c16', 'fortran_order': False, 'shape': (576460752303423487,)}", TALLY_C128, 576460752303423487, false},
    {"{'descr': '>c8', 'fortran_order': True, 'shape': (2, 3)}", TALLY_C64, 6, true},
    {"{'descr': '>f2', 'fortran_order': False, 'shape': (2,)}", TALLY_F16, 2, true},
};

static bool machine_is_big(void) {
    const uint16_t one = 1;
    unsigned char first;
    memcpy(&first, &one, 1);
    return first == 0;
}

static void test_good_headers(void **unused) {
    (void)unused;
    for (unsigned major = 1; major <= 3; major++)
        for (size_t i = 0; i < COUNT(good); i++) {
            const file f = make(major, good[i].dictionary);
            const outcome o = parse(f.bytes, f.size);
            if (o.status != NPY_OK) fail_msg("version %u: %s: %s", major, good[i].dictionary, o.problem);
            assert_int_equal(o.header.dtype, good[i].dtype);
            assert_int_equal(o.header.n, good[i].n);
            assert_int_equal(o.header.swapped, good[i].big != machine_is_big());
            assert_int_equal(o.header.data_offset, f.size);
        }
}

/* Byte orders that mean this machine's own. */
static void test_native_orders(void **unused) {
    (void)unused;
    static const char *const orders[] = {"=", "|", ""};
    for (size_t i = 0; i < COUNT(orders); i++) {
        char text[128];
        snprintf(text, sizeof(text), "{'descr': '%sf4', 'fortran_order': False, 'shape': (2,)}", orders[i]);
        const file f = make(1, text);
        const outcome o = parse(f.bytes, f.size);
        assert_int_equal(o.status, NPY_OK);
        assert_int_equal(o.header.dtype, TALLY_F32);
        assert_false(o.header.swapped);
    }
}

/* Every dtype that NumPy has, in both byte orders. Types of one byte have none. */
static void test_all_dtypes(void **unused) {
    (void)unused;
    static const struct {
        char kind;
        int bytes;
        tally_dtype dtype;
    } rows[] = {{'f', 2, TALLY_F16}, {'f', 4, TALLY_F32},  {'f', 8, TALLY_F64}, {'i', 1, TALLY_I8},   {'i', 2, TALLY_I16},
                {'i', 4, TALLY_I32}, {'i', 8, TALLY_I64},  {'u', 1, TALLY_U8},  {'u', 2, TALLY_U16},  {'u', 4, TALLY_U32},
                {'u', 8, TALLY_U64}, {'b', 1, TALLY_BOOL}, {'c', 8, TALLY_C64}, {'c', 16, TALLY_C128}};
    assert_int_equal(COUNT(rows), TALLY_DTYPE_END - 2); /* all but bf16, which NumPy does not have */
    for (size_t i = 0; i < COUNT(rows); i++)
        for (int order = 0; order < 3; order++) {
            char text[128];
            snprintf(text, sizeof(text), "{'descr': '%c%c%d', 'fortran_order': False, 'shape': (2,)}", "<>|"[order],
                     rows[i].kind, rows[i].bytes);
            const file f = make(1, text);
            const outcome o = parse(f.bytes, f.size);
            assert_int_equal(o.status, NPY_OK);
            assert_int_equal(o.header.dtype, rows[i].dtype);
            const bool own = rows[i].bytes == 1 || order == 2 || (order == 1) == machine_is_big();
            assert_int_equal(o.header.swapped, !own);
        }
}

/* ---- bad headers ----------------------------------------------------------------------------- */

#define REST ", 'fortran_order': False, 'shape': (1,)}"
#define SHAPE(shape) "{'descr': '<f8', 'fortran_order': False, 'shape': " shape "}"

/* A dictionary, and texts of its error. */
static const char *const bad[][2] = {
    {"", "expected"},
    {"{", "expected"},
    {"{}", "'descr' is missing"},
    {"{'descr': '<f8'}", "'fortran_order' is missing"},
    {"{'descr': '<f8', 'fortran_order': False}", "'shape' is missing"},
    {"{'descr': '<f8', 'descr': '<f8'" REST, "'descr' is there twice"},
    {"{'descr': '<f8', 'color': 'red'" REST, "unknown key 'color'"},
    {"{'descr': '<f8' 'fortran_order': False, 'shape': (1,)}", "',' or '}' expected"},
    {"{'descr': '<f8',, 'fortran_order': False, 'shape': (1,)}", "expected"},
    {"{'descr' '<f8'" REST, "':' expected"},
    {"{'descr': '<f8" REST, "unsupported .npy item type '<f8, '"},
    {"{'descr': '<f8", "does not end"},
    {"{descr: '<f8'" REST, "quoted text expected"},
    {"{'des\\x63r': '<f8'" REST, "does not end"},
    {"{'descr': '<f8'" REST " trailing", "follows the closing"},
    {"{'descr': '<f8'" REST "}", "follows the closing"},
    {"{'descr': '<f8', 'fortran_order': 0, 'shape': (1,)}", "neither True nor False"},
    {"{'descr': '<f8', 'fortran_order': Tru", "neither True nor False"},
    {"{'descr': '<f8', 'fortran_order': Falsehood, 'shape': (1,)}", "expected"},
    {"{'descr': '|O'" REST, "Python objects"},
    {"{'descr': 'O'" REST, "Python objects"},
    {"{'descr': [('x', '<f8'), ('y', '<i4')]" REST, "structured"},
    {"{'descr': '|V16'" REST, "records"},
    {"{'descr': '<f3'" REST, "'<f3'"},
    {"{'descr': '<f3'" REST, "there are f32, f64, i32, u32, i64, u64, f16, i8, i16, u8, u16, bool, c64, c128"},
    {"{'descr': '<f1'" REST, "'<f1'"},
    {"{'descr': '<f16'" REST, "'<f16'"},
    {"{'descr': '<f08'" REST, "'<f08'"},
    {"{'descr': '<f8 '" REST, "'<f8 '"},
    {"{'descr': '<f-8'" REST, "'<f-8'"},
    {"{'descr': '<c4'" REST, "'<c4'"},
    {"{'descr': '<c32'" REST, "'<c32'"},
    {"{'descr': '<c116'" REST, "'<c116'"},
    {"{'descr': '|b2'" REST, "'|b2'"},
    {"{'descr': '<i16'" REST, "'<i16'"},
    {"{'descr': '<u0'" REST, "'<u0'"},
    {"{'descr': '|S1'" REST, "'|S1'"},
    {"{'descr': '<U10'" REST, "'<U10'"},
    {"{'descr': '<M8[ns]'" REST, "'<M8[ns]'"},
    {"{'descr': '<f80'" REST, "'<f80'"},
    {"{'descr': 'float64'" REST, "'float64'"},
    {"{'descr': '<'" REST, "'<'"},
    {"{'descr': ''" REST, "unsupported"},
    {"{'descr': '<f'" REST, "unsupported"},
    {"{'descr': None" REST, "quoted text expected"},
    {SHAPE("(3)"), "not a tuple"},
    {SHAPE("3"), "'(' expected"},
    {SHAPE("[3]"), "'(' expected"},
    {SHAPE("(,)"), "whole numbers"},
    {SHAPE("(3,,4)"), "whole numbers"},
    {SHAPE("(3 4)"), "',' or ')' expected"},
    {SHAPE("(-1,)"), "whole numbers"},
    {SHAPE("(+1,)"), "whole numbers"},
    {SHAPE("(1.5,)"), "',' or ')' expected"},
    {SHAPE("(0x10,)"), "',' or ')' expected"},
    {SHAPE("(007,)"), "starts with 0"},
    {SHAPE("(None,)"), "whole numbers"},
    {SHAPE("(3,"), "whole numbers"},
    {SHAPE("(18446744073709551616,)"), "overflows 64 bits"},
    {SHAPE("(99999999999999999999999999,)"), "overflows 64 bits"},
    {SHAPE("(4294967296, 4294967296)"), "overflows 64 bits"},
    {SHAPE("(4294967296, 4294967296, 4294967296)"), "overflows 64 bits"},
    {SHAPE("(1152921504606846976,)"), "overflow 64 bits"},
    {SHAPE("(1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,"
           "1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1)"),
     "more than 64 dimensions"},
};

static void expect_bad(file f, const char *text, const char *problem) {
    const outcome o = parse(f.bytes, f.size);
    if (o.status != NPY_BAD) fail_msg("%s: status %d, not NPY_BAD", text, o.status);
    if (!strstr(o.problem, problem)) fail_msg("%s: '%s' does not say '%s'", text, o.problem, problem);
}

static void test_bad_headers(void **unused) {
    (void)unused;
    for (unsigned major = 1; major <= 3; major++)
        for (size_t i = 0; i < COUNT(bad); i++) expect_bad(make(major, bad[i][0]), bad[i][0], bad[i][1]);
}

static void test_bad_starts(void **unused) {
    (void)unused;
    file f = make(1, good[0].dictionary);
    f.bytes[6] = 4;
    expect_bad(f, "version 4.0", "version 4.0");
    f.bytes[6] = 0;
    expect_bad(f, "version 0.0", "version 0.0");
    f.bytes[6] = 1;
    f.bytes[7] = 1;
    expect_bad(f, "version 1.1", "version 1.1");
    f.bytes[0] = 'N';
    expect_bad(f, "magic", "not a .npy file");
    f = make(2, good[0].dictionary);
    f.bytes[11] = 0xff;
    expect_bad(f, "a header of 4 GB", "at most 1048576");
}

/* All text quoted from a header is printable. */
static void test_quotes_are_printable(void **unused) {
    (void)unused;
    file f = make(1, "{'descr': '\x1b[31m\x01-\xff'" REST);
    expect_bad(f, "an escape sequence", "'?[31m?-?'");
    f = make(1, "{'descr': 'aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa'" REST);
    expect_bad(f, "a long type", "aaa...'");
}

/* The beginning of a file asks for more bytes, never for bytes that are there already, and never
 * for more than the file has. */
static void test_beginnings(void **unused) {
    (void)unused;
    for (unsigned major = 1; major <= 3; major++) {
        const file f = make(major, good[0].dictionary);
        for (size_t size = 0; size < f.size; size++) {
            const outcome o = parse(f.bytes, size);
            assert_int_equal(o.status, NPY_SHORT);
            assert_true(o.need > size && o.need <= f.size);
        }
    }
    assert_false(npy_is_start("", 0));
    assert_true(npy_is_start(NPY_MAGIC, 3));
    assert_true(npy_is_start(NPY_MAGIC "rest", 10));
    assert_false(npy_is_start("NUMPY", 5));
}

/* ---- damaged headers ------------------------------------------------------------------------- */

static uint64_t random_state = 1;

static uint64_t next_random(uint64_t limit) {
    random_state = random_state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (random_state >> 33) % limit;
}

/* One change: a byte flipped, replaced by a meaningful one, doubled or removed, or the end cut
 * off. */
static void damage(file *f) {
    static const char telling[] = "{}()[]'\",:<>=|0123456789LfiuOVTrueFals \n\\\0";
    const size_t at = next_random(f->size);
    unsigned char *b = f->bytes;
    switch (next_random(10)) {
    case 0:
        b[at] ^= (unsigned char)(1u << next_random(8));
        break;
    case 1:
        if (f->size == sizeof(f->bytes)) break;
        memmove(b + at + 1, b + at, f->size++ - at);
        break;
    case 2:
        if (f->size > 1) memmove(b + at, b + at + 1, --f->size - at);
        break;
    case 3:
        f->size = at + 1;
        break;
    default:
        b[at] = (unsigned char)telling[next_random(sizeof(telling) - 1)];
        break;
    }
}

static void check_outcome(const file *f, const outcome *o) {
    switch (o->status) {
    case NPY_OK:
        assert_non_null(tally_dtype_name(o->header.dtype));
        assert_true(o->header.n <= INT64_MAX / tally_dtype_bytes(o->header.dtype));
        assert_true(o->header.data_offset <= f->size);
        break;
    case NPY_SHORT:
        assert_true(o->need > f->size && o->need <= NPY_HEADER_LIMIT + 12);
        break;
    case NPY_BAD:
        assert_true(o->problem[0]);
        for (const char *c = o->problem; *c; c++) assert_true(*c >= ' ' && *c < 127);
        break;
    default:
        fail_msg("status %d", o->status);
    }
}

static void test_mutants(void **unused) {
    (void)unused;
    unsigned seen[3] = {0};
    for (int i = 0; i < MUTANTS; i++) {
        file f = make(1 + (unsigned)next_random(3), good[next_random(COUNT(good))].dictionary);
        for (uint64_t changes = 1 + next_random(4); changes; changes--) damage(&f);
        const outcome o = parse(f.bytes, f.size);
        check_outcome(&f, &o);
        seen[o.status]++;
    }
    printf("%d damaged headers: %u taken, %u too short, %u refused\n", MUTANTS, seen[NPY_OK], seen[NPY_SHORT], seen[NPY_BAD]);
    assert_true(seen[NPY_OK] > MUTANTS / 200 && seen[NPY_SHORT] > MUTANTS / 100 && seen[NPY_BAD] > MUTANTS / 3);
}

/* A written header is read back as it was meant, within its room. bf16 has no header. */
static void test_made_headers(void **unused) {
    (void)unused;
    static const npy_shape shapes[] = {{.dimensions = 0},
                                       {.dimensions = 1, .lengths = {0}},
                                       {.dimensions = 1, .lengths = {UINT64_C(1) << 40}},
                                       {.dimensions = 2, .lengths = {3, 1000}, .is_fortran = true},
                                       {.dimensions = 5, .lengths = {1, 2, 3, 4, INT64_MAX / 16 / 24}}};
    unsigned char header[512];
    for (tally_dtype dtype = TALLY_DTYPE_DEFAULT + 1; dtype < TALLY_DTYPE_END; dtype++)
        for (size_t i = 0; i < COUNT(shapes); i++) {
            const size_t room = npy_room(shapes[i].dimensions);
            uint64_t n = 1;
            for (uint32_t d = 0; d < shapes[i].dimensions; d++) n *= shapes[i].lengths[d];
            assert_true(room % 64 == 0 && room <= sizeof(header));
            assert_int_equal(npy_make(dtype, &shapes[i], header, room), dtype != TALLY_BF16);
            assert_int_equal(npy_make(dtype, NULL, NULL, 0), dtype != TALLY_BF16);
            if (dtype == TALLY_BF16) continue;
            const outcome o = parse(header, room);
            assert_int_equal(o.status, NPY_OK);
            assert_int_equal(o.header.dtype, dtype);
            assert_int_equal(o.header.n, n);
            assert_int_equal(o.header.swapped, 0);
            assert_int_equal(o.header.data_offset, room);
            assert_int_equal(o.header.shape.is_fortran, shapes[i].is_fortran);
            assert_int_equal(o.header.shape.dimensions, shapes[i].dimensions);
            assert_memory_equal(o.header.shape.lengths, shapes[i].lengths, shapes[i].dimensions * sizeof(uint64_t));
            assert_int_equal(header[room - 1], '\n');
        }
    assert_int_equal(npy_room(1), 128); /* as in NumPy */
}

int main(int argc, char **argv) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_good_headers), cmocka_unit_test(test_native_orders), cmocka_unit_test(test_all_dtypes),
        cmocka_unit_test(test_bad_headers),  cmocka_unit_test(test_bad_starts),    cmocka_unit_test(test_quotes_are_printable),
        cmocka_unit_test(test_beginnings),   cmocka_unit_test(test_mutants),       cmocka_unit_test(test_made_headers),
    };
    return test_main(argc, argv, "The parser of .npy files.", tests, sizeof tests / sizeof tests[0], NULL, NULL);
}
