/* SPDX-License-Identifier: MIT */
/* The attributes of CUDA's launches, by a driver that notes them. It needs no GPU. */
#define _XOPEN_SOURCE 700
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "backends/cuda/driver.h"
#include "device/device.h"
#include "tests/support/test_main.h"

#define MIB (UINT64_C(1) << 20)
#define CONTEXT ((CUcontext)(void *)&a_context)
#define ADDRESS UINT64_C(0x700000000000) /* of the first input; the second is 1 GiB further */

static char a_context;

/* ---- the driver ------------------------------------------------------------------------------ */

static struct {
    int plain, with; /* launches without and with attributes */
    unsigned overlaps, windows;
    CUaccessPolicyWindow window;
    CUdeviceptr value; /* of the first argument */
} noted;
static int refuses_windows;

static CUresult CUDAAPI get_current(CUcontext *context) {
    *context = CONTEXT;
    return CUDA_SUCCESS;
}

static CUresult CUDAAPI launch(CUfunction f, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz,
                               unsigned shared, CUstream stream, void **values, void **extra) {
    (void)f, (void)shared, (void)stream, (void)extra;
    assert_int_equal(gx, 5);
    assert_int_equal(bx, 64);
    assert_true(gy == 1 && gz == 1 && by == 1 && bz == 1);
    noted.plain++;
    memcpy(&noted.value, values[0], sizeof(noted.value));
    return CUDA_SUCCESS;
}

static CUresult CUDAAPI launch_with(const CUlaunchConfig *config, CUfunction f, void **values, void **extra) {
    launch(f, config->gridDimX, config->gridDimY, config->gridDimZ, config->blockDimX, config->blockDimY, config->blockDimZ,
           config->sharedMemBytes, config->hStream, values, extra);
    noted.plain--;
    for (unsigned a = 0; a < config->numAttrs; a++)
        if (refuses_windows && config->attrs[a].id == CU_LAUNCH_ATTRIBUTE_ACCESS_POLICY_WINDOW) return CUDA_ERROR_INVALID_VALUE;
    noted.with++;
    for (unsigned a = 0; a < config->numAttrs; a++) {
        const CUlaunchAttribute *attribute = &config->attrs[a];
        if (attribute->id == CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION) {
            assert_int_equal(attribute->value.programmaticStreamSerializationAllowed, 1);
            noted.overlaps++;
        } else {
            assert_int_equal(attribute->id, CU_LAUNCH_ATTRIBUTE_ACCESS_POLICY_WINDOW);
            noted.window = attribute->value.accessPolicyWindow;
            noted.windows++;
        }
    }
    return CUDA_SUCCESS;
}

static int open_driver(void **unused) {
    (void)unused;
    tally_cuda.cuCtxGetCurrent = get_current;
    tally_cuda.cuLaunchKernel = launch;
    tally_cuda.cuLaunchKernelEx = launch_with;
    return 0;
}

/* ---- launches -------------------------------------------------------------------------------- */

/* An H200's cache and windows. */
static tally_cuda_device device = {.arch = 90, .cache_bytes = 60 * MIB, .window_bytes = 128 * MIB};

typedef struct reads {
    uint64_t first, second; /* bytes of two inputs that are read */
    int same;               /* both are one */
} reads;

/* Launches a kernel with two inputs, from byte 256 of each, and notes what the driver got. */
static void launch_reads(reads of, int overlaps, int has_newer) {
    tally_cuda_mem mem[2] = {{.address = ADDRESS}, {.address = ADDRESS + (of.same ? 0 : 1024 * MIB)}};
    const uint64_t number = 7;
    const tally_arg args[] = {{.mem = &mem[0], .read_from = 256, .read_bytes = of.first},
                              TALLY_VALUE(number),
                              {.mem = &mem[1], .read_from = 256, .read_bytes = of.second},
                              TALLY_MEM(&mem[0])};
    device.context = CONTEXT;
    tally_cuda_queue queue = {.device = &device};
    tally_cuda_kernel kernel = {.overlaps = overlaps};
    memset(&noted, 0, sizeof(noted));
    tally_cuda.has_newer = has_newer;
    assert_int_equal(tally_cuda_launch(&queue, &kernel, 5, 64, TALLY_ARRAY_LENGTH(args), args), TALLY_OK);
    assert_int_equal(noted.plain + noted.with, 1);
    assert_true(noted.value == ADDRESS);
    assert_int_equal(noted.overlaps, overlaps);
}

/* Checks that `stays` bytes of the window and all of `outside` it may stay in the cache. */
static void expect_window(uint64_t bytes, uint64_t stays) {
    assert_int_equal(noted.windows, 1);
    assert_true((CUdeviceptr)noted.window.base_ptr == ADDRESS + 256);
    assert_int_equal(noted.window.num_bytes, bytes);
    const double share = (double)stays / (double)bytes;
    assert_true(noted.window.hitRatio > share - 1e-6 && noted.window.hitRatio < share + 1e-6);
    assert_int_equal(noted.window.hitProp, CU_ACCESS_PROPERTY_NORMAL);
    assert_int_equal(noted.window.missProp, CU_ACCESS_PROPERTY_STREAMING);
}

static void test_attributes(void **unused) {
    (void)unused;
    launch_reads((reads){0, 0, 0}, 0, 1);
    assert_int_equal(noted.plain, 1);
    launch_reads((reads){0, 0, 0}, 1, 1);
    assert_int_equal(noted.with, 1);
    assert_int_equal(noted.windows, 0);
    launch_reads((reads){64 * MIB, 0, 0}, 0, 1);
    expect_window(64 * MIB, 18 * MIB);
    launch_reads((reads){64 * MIB, 0, 0}, 1, 1);
    expect_window(64 * MIB, 18 * MIB);
    launch_reads((reads){64 * MIB, 0, 0}, 0, 0); /* a driver before CUDA 11.8 */
    assert_int_equal(noted.plain, 1);
}

static void test_sizes(void **unused) {
    (void)unused;
    launch_reads((reads){50 * MIB, 0, 0}, 1, 1); /* fits the cache */
    assert_int_equal(noted.windows, 0);
    launch_reads((reads){50 * MIB + 1, 0, 0}, 1, 1);
    expect_window(50 * MIB + 1, 18 * MIB);
    launch_reads((reads){127 * MIB, 0, 0}, 1, 1); /* the largest window */
    expect_window(127 * MIB, 18 * MIB);
    launch_reads((reads){137 * MIB, 0, 0}, 1, 1);
    expect_window(127 * MIB, 8 * MIB);
    launch_reads((reads){157 * MIB, 0, 0}, 1, 1);
    expect_window(127 * MIB, 0);
    launch_reads((reads){157 * MIB + 1, 0, 0}, 1, 1); /* half of the cache is outside */
    assert_int_equal(noted.windows, 0);
    launch_reads((reads){UINT64_C(1) << 40, 0, 0}, 1, 1);
    assert_int_equal(noted.windows, 0);
}

static void test_two_inputs(void **unused) {
    (void)unused;
    launch_reads((reads){25 * MIB, 25 * MIB, 0}, 1, 1);
    assert_int_equal(noted.windows, 0);
    launch_reads((reads){40 * MIB, 12 * MIB, 0}, 1, 1);
    expect_window(40 * MIB, 6 * MIB);
    launch_reads((reads){28 * MIB, 28 * MIB, 0}, 1, 1);
    expect_window(28 * MIB, 0);
    launch_reads((reads){64 * MIB, 64 * MIB, 0}, 1, 1);
    assert_int_equal(noted.windows, 0);
    launch_reads((reads){64 * MIB, 64 * MIB, 1}, 1, 1); /* a vector by itself */
    expect_window(64 * MIB, 18 * MIB);
}

/* Devices before compute capability 8.0 have no windows. */
static void test_no_windows(void **unused) {
    (void)unused;
    device.window_bytes = 0;
    launch_reads((reads){64 * MIB, 0, 0}, 1, 1);
    assert_int_equal(noted.windows, 0);
    device.window_bytes = 128 * MIB;
}

static void test_refused(void **unused) {
    (void)unused;
    refuses_windows = 1;
    launch_reads((reads){64 * MIB, 0, 0}, 1, 1);
    assert_int_equal(noted.windows, 0);
    launch_reads((reads){64 * MIB, 0, 0}, 0, 1);
    assert_int_equal(noted.plain, 1);
    refuses_windows = 0;
}

int main(int argc, char **argv) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_attributes), cmocka_unit_test(test_sizes),
                                       cmocka_unit_test(test_two_inputs), cmocka_unit_test(test_no_windows),
                                       cmocka_unit_test(test_refused)};
    return test_main(argc, argv, "the attributes of CUDA's launches, without a GPU", tests, TALLY_ARRAY_LENGTH(tests),
                     open_driver, NULL);
}
