/* SPDX-License-Identifier: MIT */
/*
 * Prebuilt programs. The stub's device, with CUDA's kernels, shows the texts that plans ask for.
 * tally_prebuild must list them, whatever the planner chooses. On a GPU, a library that was built
 * with an archive must use it. Then a small archive is made and read. That needs NVRTC and the
 * toolkit's program fatbinary, but no GPU. Without them it is skipped (exit status 77), unless
 * TALLY_TEST_REQUIRE names nvrtc.
 */
#define _XOPEN_SOURCE 700
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "backends/cuda/compiler.h"
#include "backends/cuda/prebuild/prebuild.h"
#include "reduce/reduce.h"
#include "tests/support/folders.h"
#include "tests/stub/backend.h"
#include "tests/support/test_main.h"

#define SKIPPED_STATUS 77
#define MUST(call)                                                                                                             \
    if (call) fail_msg("%s: %s", #call, tally_last_error())

extern const tally_backend tally_backend_cuda;

/* ---- a device without a driver --------------------------------------------------------------- */

static tally_backend fake; /* the stub, with CUDA's kernels */
static const tally_cuda_archive_head *archive;
static atomic_int from_archive, from_source; /* several threads make a plan's programs */

static tally_status program_create(void *device, const tally_program_desc *desc, void **program) {
    const tally_program_form form = desc->form;
    const void *data = desc->data;
    const size_t bytes = desc->bytes;
    static const char text[] = "none";
    size_t image_bytes;
    if (form == TALLY_PROGRAM_PREBUILT && !tally_cuda_archive_find(archive, data, bytes, &image_bytes))
        return TALLY_E_UNSUPPORTED;
    *(form == TALLY_PROGRAM_PREBUILT ? &from_archive : &from_source) += 1;
    return stub_backend.program_create(
        device, &(tally_program_desc){.form = TALLY_PROGRAM_SOURCE, .data = text, .bytes = strlen(text)}, program);
}

static const char *fake_name; /* the device's name */

static tally_status device_open(int index, void *native_context, void *native_device, tally_device_info *info, void **device) {
    const tally_status status = stub_backend.device_open(index, native_context, native_device, info, device);
    snprintf(info->backend, sizeof(info->backend), "cuda");
    snprintf(info->name, sizeof(info->name), "%s", fake_name);
    return status;
}

static void register_fake(void) {
    fake = stub_backend;
    fake.name = "fake";
    fake.kernel_source = tally_backend_cuda.kernel_source;
    fake.program_create = program_create;
    fake.device_open = device_open;
    if (tally_backend_register(&fake)) abort();
}

static tally_context *open_fake(const char *name, const tally_cuda_archive_head *with) {
    static float verdicts[TALLY_TRIAL_THREADS];
    tally_context *context;
    for (size_t i = 0; i < TALLY_TRIAL_THREADS; i++) verdicts[i] = 1;
    stub_reset();
    stub.verdicts = verdicts;
    archive = with;
    fake_name = name;
    from_archive = from_source = 0;
    MUST(tally_context_create("fake:alpha", &context));
    return context;
}

static void make_plan(tally_context *context, tally_reduce_desc desc) {
    tally_plan *plan;
    desc.size = sizeof(desc);
    MUST(tally_plan_create(context, &desc, &plan));
    tally_plan_destroy(plan);
}

/* ---- the list -------------------------------------------------------------------------------- */

static const tally_dtype dtypes[] = {TALLY_F32, TALLY_F64, TALLY_I32, TALLY_I64};

/* The list as an archive of rows alone. */
static tally_cuda_archive_head *list_all(void) {
    uint64_t which = 0;
    prebuild_list list;
    for (size_t d = 0; d < TALLY_ARRAY_LENGTH(dtypes); d++) which |= UINT64_C(1) << dtypes[d];
    MUST(prebuild_list_make(UINT64_MAX, which, &list));
    tally_cuda_archive_head *rows = malloc(sizeof(*rows) + list.count * sizeof(rows->rows[0]));
    assert_non_null(rows);
    *rows = (tally_cuda_archive_head){.count = list.count};
    for (size_t i = 0; i < list.count; i++) rows->rows[i] = list.programs[i].row;
    prebuild_list_free(&list);
    return rows;
}

/* Running sums, products and extremes of any n, inclusive and exclusive. */
static void expect_scans_listed(tally_context *context) {
    static const tally_op ops[] = {TALLY_SUM, TALLY_PROD, TALLY_MIN, TALLY_MAX};
    static const uint64_t sizes[] = {1, 4096, 1 << 20, 1 << 25};
    for (size_t c = 0; c < TALLY_ARRAY_LENGTH(ops) * TALLY_ARRAY_LENGTH(dtypes) * TALLY_ARRAY_LENGTH(sizes) * 2; c++) {
        const tally_scan_desc desc = {.size = sizeof(desc),
                                      .op = ops[c % 4],
                                      .in = dtypes[c / 4 % 4],
                                      .max_n = sizes[c / 16 % 4],
                                      .flags = c / 64 ? TALLY_EXCLUSIVE : 0};
        tally_plan *plan;
        MUST(tally_scan_plan_create(context, &desc, &plan));
        if (from_source) fail_msg("the scan %s of %s is not in the list", tally_op_name(desc.op), tally_dtype_name(desc.in));
        tally_plan_destroy(plan);
    }
}

/* Items of 4 and 8 bytes, by maps of every type, with positions of 4 and 8 bytes. */
static void expect_moves_listed(tally_context *context) {
    static const tally_dtype maps[] = {TALLY_I32, TALLY_U32, TALLY_I64, TALLY_U64};
    for (unsigned form = 0; form < 64; form++) {
        const tally_move_desc desc = {.size = sizeof(desc),
                                      .item_bytes = form & 1 ? 8 : 4,
                                      .map = maps[form / 16],
                                      .flags = form & 2 ? TALLY_UNCHECKED : 0,
                                      .max_n = form & 4 ? 1000 : UINT64_C(5) << 30};
        tally_plan *plan;
        MUST((form & 8 ? tally_scatter_plan_create : tally_gather_plan_create)(context, &desc, &plan));
        if (from_source) fail_msg("form %u of moves is not in the list", form);
        tally_plan_destroy(plan);
    }
}

/* Segments by axes, by offsets of 4 bytes, and by keys of 4 and 8 bytes. */
static void expect_segments_listed(tally_context *context) {
    static const tally_op ops[] = {TALLY_SUM, TALLY_MEAN, TALLY_MIN, TALLY_MAX, TALLY_ARGMAX, TALLY_VAR};
    static const tally_segments_desc ways[] = {
        {.by = TALLY_BY_AXES, .max_n = 100, .max_segments = 1},
        {.by = TALLY_BY_AXES, .max_n = 1 << 20},
        {.by = TALLY_BY_OFFSETS, .max_n = 1 << 20, .offsets = TALLY_I32},
        {.by = TALLY_BY_OFFSETS, .max_n = 1 << 20, .offsets = TALLY_U32, .flags = TALLY_UNCHECKED},
        {.by = TALLY_BY_KEYS, .max_n = 1 << 20, .key_bytes = 4},
        {.by = TALLY_BY_KEYS, .max_n = 1 << 20, .key_bytes = 8}};
    for (size_t w = 0; w < TALLY_ARRAY_LENGTH(ways); w++)
        for (size_t c = 0; c < TALLY_ARRAY_LENGTH(ops) * TALLY_ARRAY_LENGTH(dtypes); c++) {
            tally_segments_desc desc = ways[w];
            tally_plan *plan;
            desc.size = sizeof(desc);
            desc.op = ops[c / 4];
            desc.in = dtypes[c % 4];
            MUST(tally_segments_plan_create(context, &desc, &plan));
            if (from_source)
                fail_msg("way %zu of %s of %s is not in the list", w, tally_op_name(desc.op), tally_dtype_name(desc.in));
            tally_plan_destroy(plan);
        }
}

/* Plans for any n, also for sizes between those that the list was made with. Returns the number of
 * programs. */
static size_t expect_listed(const char *device, const tally_cuda_archive_head *all) {
    static const uint64_t sizes[] = {
        0,       1,       1000,    12345,   30011,    100003,   262144,   999999,           2500000,
        5000011, 3 << 21, 3 << 24, 3 << 26, 1u << 28, 1u << 30, 3u << 30, UINT64_C(5) << 30};
    tally_context *context = open_fake(device, all);
    for (tally_op op = TALLY_OP_NONE + 1; op < TALLY_OP_END; op++)
        for (size_t d = 0; d < TALLY_ARRAY_LENGTH(dtypes); d++)
            for (size_t s = 0; s < TALLY_ARRAY_LENGTH(sizes) && tally_result_count(op, dtypes[d]); s++) {
                make_plan(context, (tally_reduce_desc){.op = op, .in = dtypes[d], .max_n = sizes[s]});
                if (from_source)
                    fail_msg("%s: %s of %s, max_n %llu, is not in the list", device, tally_op_name(op),
                             tally_dtype_name(dtypes[d]), (unsigned long long)sizes[s]);
            }
    expect_scans_listed(context);
    expect_moves_listed(context);
    expect_segments_listed(context);
    const size_t programs = (size_t)from_archive;
    tally_context_destroy(context);
    return programs;
}

static void test_default_plans(void **unused) {
    (void)unused;
    tally_cuda_archive_head *all = list_all();
    const size_t any = expect_listed("GeForce", all), h200 = expect_listed("NVIDIA H200", all);
    /* The list has only programs that a plan asks for. */
    assert_true(any > 100 && h200 > 100 && any < all->count && h200 < all->count && any + h200 > all->count);
    free(all);
}

/* A library that was built with an archive has all of the list. */
static void test_own_archive(void **unused) {
    (void)unused;
    tally_cuda_archive_head *all = list_all();
    if (tally_cuda_archive.count) {
        assert_null(prebuild_archive_check(&tally_cuda_archive, tally_cuda_archive.bytes));
        assert_int_equal(tally_cuda_archive.count, all->count);
        for (size_t i = 0; i < all->count; i++)
            assert_int_equal(tally_cuda_archive_compare(&tally_cuda_archive.rows[i], &all->rows[i]), 0);
    }
    free(all);
}

static double seconds_now(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static bool is_loaded(const char *library) {
    FILE *maps = fopen("/proc/self/maps", "r");
    char line[1000];
    bool found = false;
    assert_non_null(maps);
    while (fgets(line, sizeof(line), maps)) found = found || strstr(line, library);
    fclose(maps);
    return found;
}

/* On a GPU nothing is compiled, and NVRTC is not even opened. There is no cache, so the first
 * reduction's time includes the self-test. */
static void test_device(void **unused) {
    (void)unused;
    static const float items[1000] = {1, 2, 3};
    static const tally_segments_desc by_axes = {
        .size = sizeof(by_axes), .by = TALLY_BY_AXES, .op = TALLY_SUM, .in = TALLY_F32, .max_n = 1 << 20};
    tally_context *context;
    tally_context_info info;
    tally_plan *plan;
    float sum, most;
    const double begin = seconds_now();
    if (!tally_cuda_archive.count) test_skip("the build has no archive: TALLY_CUDA_ARCHS is empty");
    if (tally_context_create("cuda", &context)) test_skip("%s", tally_last_error());
    const double opened = seconds_now();
    MUST(tally_reduce_host(context, TALLY_SUM, TALLY_F32, items, 1000, &sum));
    const double first = seconds_now();
    MUST(tally_reduce_host(context, TALLY_MAX, TALLY_F32, items, 1000, &most));
    const double second = seconds_now();
    MUST(tally_segments_plan_create(context, &by_axes, &plan));
    const double third = seconds_now();
    tally_plan_destroy(plan);
    MUST(tally_context_get_info(context, &info));
    tally_context_destroy(context);
    printf("%s: opened in %.1f ms; the first reduction took %.1f ms, one of another op %.1f ms, a plan by axes %.1f ms\n",
           info.device.name, 1e3 * (opened - begin), 1e3 * (first - opened), 1e3 * (second - first), 1e3 * (third - second));
    assert_true(sum == 6 && most == 3);
    assert_true(info.programs_prebuilt > 2);
    assert_int_equal(info.programs_built, 0);
    assert_false(is_loaded("libnvrtc"));
}

static void test_other_plans(void **unused) {
    (void)unused;
    static const tally_term_desc ops[] = {{.op = TALLY_SUM}, {.op = TALLY_MAX}};
    const tally_reduce_desc others[] = {{.op = TALLY_SUM, .in = TALLY_F16},
                                        {.op = TALLY_SUM, .in = TALLY_F32, .acc = TALLY_F64},
                                        {.op = TALLY_SUM, .in = TALLY_F32, .accuracy = TALLY_ACCURACY_COMPENSATED},
                                        {.op = TALLY_SUM, .in = TALLY_F32, .group_threads = 64},
                                        {.op = TALLY_SUM, .in = TALLY_F32, .variant = "shuffle"},
                                        {.terms = ops, .term_count = 2, .in = TALLY_F32}};
    tally_cuda_archive_head *all = list_all();
    tally_context *context = open_fake("GeForce", all);
    tally_context_info info;
    for (size_t i = 0; i < TALLY_ARRAY_LENGTH(others); i++) make_plan(context, others[i]);
    MUST(tally_context_get_info(context, &info));
    assert_int_equal(info.programs_built, TALLY_ARRAY_LENGTH(others) + 1); /* shuffle has a second stage */
    assert_int_equal(info.programs_prebuilt, 0);
    tally_context_destroy(context);
    free(all);
}

/* ---- an archive ------------------------------------------------------------------------------ */

static const prebuild_target target = {.archs = {75, 90}, .count = 2, .fatbinary = FATBINARY};

/* Runs tally_prebuild. Returns its exit status. */
static int prebuild(const char *arguments, const char *output) {
    char command[2000];
    snprintf(command, sizeof(command), "'%s' --ops bor --dtypes i32,u32 --output '%s' %s >'%s.log' 2>&1", TALLY_PREBUILD,
             output, arguments, output);
    const int status = system(command);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static char no_archive[256]; /* why no archive can be made; "": one can */

/* It opens NVRTC, so it comes after test_device. */
static void need_archive(void) {
    const tally_cuda_compiler *compiler;
    if (!strcmp(FATBINARY, ""))
        snprintf(no_archive, sizeof(no_archive), "the CUDA toolkit's program fatbinary was not found");
    else if (tally_cuda_compiler_get(&compiler))
        snprintf(no_archive, sizeof(no_archive), "%s", tally_last_error());
    const char *require = getenv("TALLY_TEST_REQUIRE");
    if (!*no_archive) return;
    if (require && strstr(require, "nvrtc")) fail_msg("TALLY_TEST_REQUIRE=%s: %s", require, no_archive);
    test_skip("%s", no_archive);
}

/* Equal code, which some programs of i32 and u32 have, is there once. */
static void check_shared(const void *data) {
    const tally_cuda_archive_head *head = data;
    size_t shared = 0;
    for (size_t i = 0; i < head->count; i++)
        for (size_t e = 0; e < i; e++) {
            const char *one = (const char *)data + head->rows[i].offset, *other = (const char *)data + head->rows[e].offset;
            assert_int_equal(one == other,
                             head->rows[i].bytes == head->rows[e].bytes && !memcmp(one, other, head->rows[i].bytes));
            shared += one == other;
        }
    assert_true(shared > 0);
}

/* The last line of the output has the bytes of the archive. */
static void must_print_bytes(const char *path, size_t bytes) {
    char log[700], says[100];
    void *text;
    size_t length;
    snprintf(log, sizeof(log), "%s.log", path);
    snprintf(says, sizeof(says), "programs, %6.2f MB, equal ones stored once\n", (double)bytes / 1e6);
    MUST(prebuild_read_file(log, &text, &length));
    const size_t n = strlen(says);
    if (length < n || memcmp((const char *)text + length - n, says, n)) fail_msg("no '%s' at the end of %s", says, log);
    free(text);
}

static void test_archive(void **unused) {
    (void)unused;
    need_archive();
    char folder[512], path[600], again[600];
    void *data;
    size_t bytes;
    prebuild_list list;
    tally_context_info info;
    folder_make(folder, sizeof(folder));
    snprintf(path, sizeof(path), "%s/archive", folder);
    snprintf(again, sizeof(again), "%s/again", folder);
    assert_int_equal(prebuild("--archs 90,75 --fatbinary '" FATBINARY "'", path), 0);
    MUST(prebuild_read_file(path, &data, &bytes));
    assert_null(prebuild_archive_check(data, bytes));
    must_print_bytes(path, bytes);

    /* A plan's program is found, with the bytes that compiling it now gives. */
    MUST(prebuild_list_make(UINT64_C(1) << TALLY_BOR, UINT64_C(1) << TALLY_I32 | UINT64_C(1) << TALLY_U32, &list));
    assert_int_equal(((const tally_cuda_archive_head *)data)->count, list.count);
    for (size_t i = 0; i < list.count; i++) {
        const prebuild_program *program = &list.programs[i];
        void *now;
        size_t found_bytes = 0, now_bytes;
        const void *found = tally_cuda_archive_find(data, program->source, program->bytes, &found_bytes);
        MUST(prebuild_pack(program, &target, again));
        MUST(prebuild_read_file(again, &now, &now_bytes));
        assert_int_equal((uintptr_t)found % 8, (uintptr_t)data % 8);
        assert_int_equal(found_bytes, now_bytes);
        assert_memory_equal(found, now, now_bytes);
        assert_null(tally_cuda_archive_find(data, program->source, program->bytes - 1, &found_bytes));
        free(now);
    }
    check_shared(data);

    tally_context *context = open_fake("GeForce", data);
    make_plan(context, (tally_reduce_desc){.op = TALLY_BOR, .in = TALLY_I32, .max_n = 1000});
    make_plan(context, (tally_reduce_desc){.op = TALLY_SUM, .in = TALLY_F32, .max_n = 1000});
    MUST(tally_context_get_info(context, &info));
    assert_int_equal(info.programs_prebuilt, 1);
    assert_int_equal(info.programs_built, 1);
    tally_context_destroy(context);

    /* A cut or changed archive is refused. */
    static const size_t lost[] = {1, 16, 5000};
    for (size_t i = 0; i < TALLY_ARRAY_LENGTH(lost); i++) assert_non_null(prebuild_archive_check(data, bytes - lost[i]));
    assert_non_null(prebuild_archive_check(data, 0));
    for (size_t at = 0; at < bytes; at += at < 200 ? 1 : 997) {
        ((unsigned char *)data)[at] ^= 4;
        if (!prebuild_archive_check(data, bytes)) fail_msg("byte %zu was changed, and nobody noticed", at);
        ((unsigned char *)data)[at] ^= 4;
    }
    prebuild_list_free(&list);
    free(data);
    folder_remove(folder);
}

/* A failure leaves no archive and prints its reason in one line. */
static void test_failures(void **unused) {
    (void)unused;
    need_archive();
    static const struct {
        const char *arguments, *word;
        int status;
    } rows[] = {{"--archs 75 --fatbinary /bin/false", "/bin/false failed", 1},
                {"--archs 75 --fatbinary /nowhere", "/nowhere: No such file", 1},
                {"--archs 74 --fatbinary /bin/true", "does not compile for sm_74", 2},
                {"--archs 9x --fatbinary /bin/true", "'9x' is no architecture", 2},
                {"--archs 75", "are needed", 2}};
    char folder[512], path[600], log[640];
    folder_make(folder, sizeof(folder));
    snprintf(path, sizeof(path), "%s/archive", folder);
    snprintf(log, sizeof(log), "%s.log", path);
    for (size_t i = 0; i < TALLY_ARRAY_LENGTH(rows); i++) {
        void *said, *none;
        size_t bytes;
        assert_int_equal(prebuild(rows[i].arguments, path), rows[i].status);
        MUST(prebuild_read_file(log, &said, &bytes));
        ((char *)said)[bytes - 1] = 0;
        if (!strstr(said, rows[i].word)) fail_msg("\"%s\" is not in: %s", rows[i].word, (const char *)said);
        assert_int_not_equal(prebuild_read_file(path, &none, &bytes), TALLY_OK);
        free(said);
    }
    folder_remove(folder);
}

int main(int argc, char **argv) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_default_plans), cmocka_unit_test(test_other_plans),
                                       cmocka_unit_test(test_own_archive),   cmocka_unit_test(test_device),
                                       cmocka_unit_test(test_archive),       cmocka_unit_test(test_failures)};
    test_choice choice;
    int status = test_choose(argc, argv, "The list of prebuilt programs, and archives of them.", &choice);
    if (status >= 0) return status;
    setenv("TALLY_CACHE_DIR", "off", 1);
    register_fake();
    status = test_run(&choice, tests, TALLY_ARRAY_LENGTH(tests), NULL, NULL);
    return !status && *no_archive && !choice.pattern && !choice.list ? SKIPPED_STATUS : status;
}
