/* SPDX-License-Identifier: MIT */
/* The device that a context opens; the backends that may be registered; the description of a
 * context. */
#define _XOPEN_SOURCE 700
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core.h"

/* Opens a context, takes its description and closes it. */
static tally_context_info chosen(const char *select) {
    tally_context *context;
    tally_context_info info;
    memset(&info, 0, sizeof info);
    MUST(tally_context_create(select, &context));
    MUST(tally_context_get_info(context, &info));
    tally_context_destroy(context);
    return info;
}

static void test_selections(void **unused) {
    (void)unused;
    static const struct {
        const char *select;
        int device;
    } good[] = {
        {"stub", STUB_ALPHA},
        {"stub:0", STUB_ALPHA},
        {"stub:1", STUB_BETA},
        {"stub:2", STUB_GAMMA},
        {"stub:Beta", STUB_BETA},
        {"stub:bEtA", STUB_BETA},
        {"stub:eta tw", STUB_BETA},
        {"stub:GAMMA THREE", STUB_GAMMA},
        {"stub:works", STUB_ALPHA},
        {"stub:outlet", STUB_GAMMA},
        {"stub:7,stub:1", STUB_BETA},
        {"stub:nothing like it,stub:gamma", STUB_GAMMA},
        {"stub:2,stub:1", STUB_GAMMA},
        {"stub:7, stub:1", STUB_BETA},
        {"  stub:eta tw ,stub", STUB_BETA},
        {"STUB:1", STUB_BETA},
        {"Stub:beta", STUB_BETA},
        {"OpenCL:no such,STUB", STUB_ALPHA},
        {"CUDA:no such,stub:1", STUB_BETA},
    };
    for (size_t i = 0; i < TALLY_ARRAY_LENGTH(good); i++) {
        const tally_context_info info = chosen(good[i].select);
        if (info.device.index != good[i].device) fail_msg("%s gave device %d", good[i].select, info.device.index);
        assert_string_equal(info.device.backend, "stub");
        assert_string_equal(info.chosen_by, "argument");
        assert_string_equal(info.selection, good[i].select);
    }
    SOUND();
}

static void test_selections_refused(void **unused) {
    (void)unused;
    tally_context *context = NULL;
    /* A backend that is not there: the text names it and lists the others. */
    REFUSED(tally_context_create("nonsense", &context), TALLY_E_ARGUMENT, "nonsense", "stub");
    REFUSED(tally_context_create("nonsense:0", &context), TALLY_E_ARGUMENT, "nonsense", "stub");
    REFUSED(tally_context_create("nonsense,stub", &context), TALLY_E_ARGUMENT, "nonsense", "stub");
    REFUSED(tally_context_create("stu", &context), TALLY_E_ARGUMENT, "stu");
    REFUSED(tally_context_create("stubb", &context), TALLY_E_ARGUMENT, "stubb");
    /* A selection of a wrong form. */
    REFUSED(tally_context_create("stub:", &context), TALLY_E_ARGUMENT, "stub:");
    REFUSED(tally_context_create(":", &context), TALLY_E_ARGUMENT, ":");
    REFUSED(tally_context_create(":0", &context), TALLY_E_ARGUMENT, ":0");
    REFUSED(tally_context_create(",", &context), TALLY_E_ARGUMENT, ",");
    REFUSED(tally_context_create(",stub", &context), TALLY_E_ARGUMENT, ",stub");
    REFUSED(tally_context_create(" ", &context), TALLY_E_ARGUMENT, "unknown backend");
    REFUSED(tally_context_create("stub , ", &context), TALLY_E_ARGUMENT, "unknown backend");
    /* A device that is not there: the text names it and lists the others. */
    REFUSED(tally_context_create("stub:7", &context), TALLY_E_NO_DEVICE, "stub:7", "Alpha One", "Beta Two", "Gamma Three");
    REFUSED(tally_context_create("stub:3", &context), TALLY_E_NO_DEVICE, "stub:3", "Alpha One");
    REFUSED(tally_context_create("stub:delta", &context), TALLY_E_NO_DEVICE, "delta", "Alpha One");
    REFUSED(tally_context_create("stub:4294967296", &context), TALLY_E_NO_DEVICE, "4294967296", "Alpha One");
    REFUSED(tally_context_create("stub:99999999999999999999999999", &context), TALLY_E_NO_DEVICE, "stub:9999", "Alpha One");
    assert_int_not_equal(tally_context_create("stub:-1", &context), TALLY_OK);
    /* A selection longer than any buffer that it could be copied into. */
    char longest[20001];
    memset(longest, 'x', sizeof longest - 1);
    longest[sizeof longest - 1] = 0;
    REFUSED(tally_context_create(longest, &context), TALLY_E_ARGUMENT, "xxxx");
    memcpy(longest, "stub:", 5);
    assert_int_not_equal(tally_context_create(longest, &context), TALLY_OK);
    memset(longest, ',', sizeof longest - 1);
    assert_int_not_equal(tally_context_create(longest, &context), TALLY_OK);
    assert_null(context);

    stub.devices = 0;
    REFUSED(tally_context_create("stub", &context), TALLY_E_NO_DEVICE, "stub", STUB_NO_DEVICE_REASON);
    REFUSED(tally_context_create("stub:0", &context), TALLY_E_NO_DEVICE, "stub:0", STUB_NO_DEVICE_REASON);
    SOUND();
}

static void test_who_decides(void **unused) {
    (void)unused;
    setenv("TALLY_BACKEND", "stub:1", 1);
    static const char *const none[] = {NULL, ""};
    for (int i = 0; i < 2; i++) {
        const tally_context_info info = chosen(none[i]);
        assert_int_equal(info.device.index, STUB_BETA);
        assert_string_equal(info.chosen_by, "TALLY_BACKEND");
        assert_string_equal(info.selection, "stub:1");
    }
    setenv("TALLY_BACKEND", "STUB:1", 1);
    assert_int_equal(chosen(NULL).device.index, STUB_BETA);
    const tally_context_info argued = chosen("stub:2");
    assert_int_equal(argued.device.index, STUB_GAMMA);
    assert_string_equal(argued.chosen_by, "argument");

    tally_context *context = NULL;
    setenv("TALLY_BACKEND", "nonsense", 1);
    REFUSED(tally_context_create(NULL, &context), TALLY_E_ARGUMENT, "TALLY_BACKEND", "nonsense", "stub");
    setenv("TALLY_BACKEND", "stub:7", 1);
    REFUSED(tally_context_create(NULL, &context), TALLY_E_NO_DEVICE, "TALLY_BACKEND", "stub:7", "Alpha One");

    /* The default is "cuda,opencl", which this machine may or may not have. An empty variable
     * counts as unset. */
    for (int empty = 0; empty < 2; empty++) {
        if (empty)
            setenv("TALLY_BACKEND", "", 1);
        else
            unsetenv("TALLY_BACKEND");
        if (tally_context_create(NULL, &context) == TALLY_OK) {
            tally_context_info info;
            MUST(tally_context_get_info(context, &info));
            tally_context_destroy(context);
            context = NULL;
            assert_string_equal(info.chosen_by, "default");
            assert_string_not_equal(info.device.backend, "stub");
        } else {
            assert_non_null(strstr(tally_last_error(), "Alpha One"));
        }
    }
    SOUND();
}

static void test_backends_and_devices(void **unused) {
    (void)unused;
    const size_t count = tally_backend_count();
    tally_backend_info backend = {0};
    int seen = 0;
    for (size_t b = 0; b < count; b++) {
        MUST(tally_backend_get(b, &backend));
        assert_string_not_equal(backend.name, "");
        assert_int_equal(backend.devices == 0, backend.reason[0] != 0);
        seen += strcmp(backend.name, "stub") == 0;
    }
    assert_int_equal(seen, 1);
    assert_string_equal(backend.name, "stub"); /* registered last */
    assert_int_equal(backend.devices, STUB_DEVICES);
    REFUSED(tally_backend_get(count, &backend), TALLY_E_ARGUMENT, "tally_backend_get");
    REFUSED(tally_backend_get(SIZE_MAX, &backend), TALLY_E_ARGUMENT, "tally_backend_get");

    tally_device_info device;
    MUST(tally_device_get("stub", STUB_GAMMA, &device));
    assert_string_equal(device.name, "Gamma Three");
    assert_string_equal(device.backend, "stub");
    assert_int_equal(device.index, STUB_GAMMA);
    MUST(tally_device_get("Stub", STUB_BETA, &device));
    assert_string_equal(device.name, "Beta Two");
    assert_string_equal(device.backend, "stub");
    REFUSED(tally_device_get("stub", STUB_DEVICES, &device), TALLY_E_NO_DEVICE, "stub");
    REFUSED(tally_device_get("stub", -1, &device), TALLY_E_NO_DEVICE, "stub");
    REFUSED(tally_device_get("nonsense", 0, &device), TALLY_E_ARGUMENT, "nonsense", "stub");
    stub.devices = 0;
    MUST(tally_backend_get(count - 1, &backend));
    assert_int_equal(backend.devices, 0);
    assert_string_equal(backend.reason, STUB_NO_DEVICE_REASON);
    assert_int_equal(tally_device_get("stub", 0, &device), TALLY_E_NO_DEVICE);
}

/* The slots are pointers from device_count to the end. */
static void test_register_refuses(void **unused) {
    (void)unused;
    const size_t count = tally_backend_count();
    tally_backend other = stub_backend;
    REFUSED(tally_backend_register(NULL), TALLY_E_ARGUMENT, "tally_backend_register");
    REFUSED(tally_backend_register(&stub_backend), TALLY_E_ARGUMENT, "stub");
    REFUSED(tally_backend_register(&other), TALLY_E_ARGUMENT, "stub");
    other.name = "STUB"; /* a selection cannot tell the two names apart */
    REFUSED(tally_backend_register(&other), TALLY_E_ARGUMENT, "STUB");
    other.name = "other";
    other.abi = TALLY_BACKEND_ABI + 1;
    REFUSED(tally_backend_register(&other), TALLY_E_ARGUMENT, "ABI");
    other.abi = 0;
    REFUSED(tally_backend_register(&other), TALLY_E_ARGUMENT, "ABI");
    other.abi = TALLY_BACKEND_ABI;
    other.name = NULL;
    REFUSED(tally_backend_register(&other), TALLY_E_ARGUMENT, "name");
    other.name = "";
    REFUSED(tally_backend_register(&other), TALLY_E_ARGUMENT, "name");
    for (size_t at = offsetof(tally_backend, device_count); at < sizeof other; at += sizeof(void (*)(void))) {
        other = stub_backend;
        other.name = "other";
        memset((char *)&other + at, 0, sizeof(void (*)(void)));
        if (tally_backend_register(&other) != TALLY_E_ARGUMENT || !strstr(tally_last_error(), "other"))
            fail_msg("without slot %zu: %s", (at - offsetof(tally_backend, device_count)) / sizeof(void (*)(void)),
                     tally_last_error());
    }
    assert_int_equal(tally_backend_count(), count);
}

static void test_describe(void **unused) {
    (void)unused;
    tally_context *context;
    tally_context_info info;
    char text[4096];
    MUST(tally_context_create("stub:beta", &context));
    MUST(tally_context_get_info(context, &info));
    assert_string_equal(info.device.name, "Beta Two");
    assert_int_equal(info.device.device_class, TALLY_CLASS_CPU);
    assert_int_equal(info.device.host_memory, 1);
    assert_string_equal(info.cache_dir, "");
    assert_string_not_equal(info.cache_note, "");
    assert_int_equal(info.programs_built + info.programs_from_disk + info.programs_from_memory, 0);
    MUST(tally_context_describe(context, text, sizeof text));
    static const char *const words[] = {"stub", "Beta Two", "Stub Works", "1.0", "cpu", "argument", "stub:beta", "\n"};
    for (size_t i = 0; i < TALLY_ARRAY_LENGTH(words); i++)
        if (!strstr(text, words[i])) fail_msg("\"%s\" is not in the description:\n%s", words[i], text);
    /* Every line has the form "key: value". */
    for (char *line = strtok(text, "\n"); line; line = strtok(NULL, "\n"))
        if (!strstr(line, ": ")) fail_msg("no \"key: value\" line: %s", line);
    char whole[4096], piece[8];
    MUST(tally_context_describe(context, whole, sizeof whole));
    for (size_t size = 1; size <= sizeof piece; size++) {
        memset(piece, '#', sizeof piece);
        MUST(tally_context_describe(context, piece, size));
        assert_memory_equal(piece, whole, size - 1);
        assert_int_equal(piece[size - 1], 0);
        for (size_t i = size; i < sizeof piece; i++) assert_int_equal(piece[i], '#');
    }
    /* The counters follow the calls. */
    const tally_reduce_desc desc = {.size = sizeof desc, .op = TALLY_SUM, .in = TALLY_F32, .max_n = 100};
    tally_plan *first, *second;
    MUST(tally_plan_create(context, &desc, &first));
    MUST(tally_plan_create(context, &desc, &second));
    MUST(tally_context_get_info(context, &info));
    assert_int_equal(info.programs_built, 1);
    assert_int_equal(info.programs_from_memory, 1);
    tally_plan_destroy(first);
    tally_plan_destroy(second);
    tally_context_destroy(context);
    SOUND();
}

/* A device whose self-test fails is refused with the reason, before anything else runs on it. */
static void test_self_test(void **unused) {
    (void)unused;
    static const struct {
        stub_defect defect;
        const char *word;
    } defects[] = {{STUB_FUSES, "fuse"},
                   {STUB_REORDERS, "reorder"},
                   {STUB_FLUSHES, "subnormal"},
                   {STUB_ROUNDS_TWICE, "fused"},
                   {STUB_ENDS_LOOPS, "loop"}};
    for (size_t i = 0; i < TALLY_ARRAY_LENGTH(defects); i++) {
        tally_context *context;
        tally_plan *plan;
        float x = 1, result;
        stub.defect = defects[i].defect;
        MUST(tally_context_create("stub", &context));
        const tally_reduce_desc desc = {.size = sizeof desc, .op = TALLY_SUM, .in = TALLY_F32, .max_n = 100};
        for (int again = 0; again < 2; again++)
            REFUSED(tally_plan_create(context, &desc, &plan), TALLY_E_UNSUPPORTED, "Alpha One", "self-test", defects[i].word);
        REFUSED(tally_reduce_host(context, TALLY_SUM, TALLY_F32, &x, 1, &result), TALLY_E_UNSUPPORTED, "self-test");
        tally_context_destroy(context);
        SOUND();
    }
}

const core_test selection_tests[] = {
    {"selections", test_selections},
    {"selections refused", test_selections_refused},
    {"argument, environment, default", test_who_decides},
    {"backends and devices", test_backends_and_devices},
    {"tally_backend_register refuses", test_register_refuses},
    {"describe and get_info", test_describe},
    {"the self-test", test_self_test},
    {NULL, NULL},
};
