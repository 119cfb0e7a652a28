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
    int refused;     /* launches with a window that the driver refused */
    unsigned overlaps, windows;
    CUaccessPolicyWindow window;
    CUdeviceptr value; /* of the first argument */
} noted;
static CUresult refusal; /* of launches with windows */

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
        if (refusal && config->attrs[a].id == CU_LAUNCH_ATTRIBUTE_ACCESS_POLICY_WINDOW) return noted.refused++, refusal;
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

static CUresult CUDAAPI name_error(CUresult error, const char **name) {
    (void)error;
    *name = "an error";
    return CUDA_SUCCESS;
}

static int open_driver(void **unused) {
    (void)unused;
    tally_cuda.cuCtxGetCurrent = get_current;
    tally_cuda.cuLaunchKernel = launch;
    tally_cuda.cuLaunchKernelEx = launch_with;
    tally_cuda.cuGetErrorName = name_error;
    return 0;
}

/* ---- launches -------------------------------------------------------------------------------- */

/* An H200's cache and windows. */
static tally_cuda_device device = {.arch = 90, .cache_bytes = 60 * MIB, .window_bytes = 128 * MIB};

/* Two inputs, of which a launch reads so many bytes. The second begins `apart` bytes behind the
 * first; 0: 1 GiB. */
typedef struct reads {
    uint64_t first, second, apart;
} reads;

static tally_cuda_queue queue = {.device = &device};
static tally_mem_kind kind = TALLY_MEM_DEVICE;

/* Every test begins so. */
static int begin(void **unused) {
    (void)unused;
    queue.refuses_windows = false;
    kind = TALLY_MEM_DEVICE;
    refusal = CUDA_SUCCESS;
    tally_cuda.has_newer = true;
    device.cache_bytes = 60 * MIB;
    device.window_bytes = 128 * MIB;
    return 0;
}

/* Launches a kernel that reads from byte 256 of each input on, and notes what the driver got. */
static tally_status launch_reads(reads of, int overlaps) {
    tally_cuda_mem mem[2] = {{.address = ADDRESS, .kind = kind},
                             {.address = ADDRESS + (of.apart ? of.apart : 1024 * MIB), .kind = kind}};
    const uint64_t number = 7;
    const tally_arg args[] = {{.mem = &mem[0], .read_from = 256, .read_bytes = of.first},
                              TALLY_VALUE(number),
                              {.mem = &mem[1], .read_from = 256, .read_bytes = of.second},
                              TALLY_MEM(&mem[0])};
    device.context = CONTEXT;
    tally_cuda_kernel kernel = {.overlaps = overlaps};
    memset(&noted, 0, sizeof(noted));
    const tally_status status = tally_cuda_launch(&queue, &kernel, 5, 64, TALLY_ARRAY_LENGTH(args), args);
    assert_true(noted.value == ADDRESS);
    if (status) return status;
    assert_int_equal(noted.plain + noted.with, 1);
    assert_int_equal(noted.overlaps, overlaps);
    return TALLY_OK;
}

static void expect_none(reads of) {
    assert_int_equal(launch_reads(of, 1), TALLY_OK);
    assert_int_equal(noted.windows, 0);
}

/* Checks the window of a launch: its bytes, and how many of them may stay in the cache. */
static void expect_window(reads of, uint64_t bytes, uint64_t stays) {
    assert_int_equal(launch_reads(of, 1), TALLY_OK);
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
    assert_int_equal(launch_reads((reads){0}, 0), TALLY_OK);
    assert_int_equal(noted.plain, 1);
    assert_int_equal(launch_reads((reads){0}, 1), TALLY_OK);
    assert_int_equal(noted.with, 1);
    assert_int_equal(noted.windows, 0);
    assert_int_equal(launch_reads((reads){.first = 64 * MIB}, 0), TALLY_OK);
    assert_int_equal(noted.windows, 1);
    tally_cuda.has_newer = false; /* a driver before CUDA 11.8 */
    assert_int_equal(launch_reads((reads){.first = 64 * MIB}, 0), TALLY_OK);
    assert_int_equal(noted.plain, 1);
}

static void test_sizes(void **unused) {
    (void)unused;
    expect_none((reads){.first = 50 * MIB}); /* it fits the cache */
    expect_window((reads){.first = 50 * MIB + 1}, 50 * MIB + 1, 18 * MIB);
    expect_window((reads){.first = 64 * MIB}, 64 * MIB, 18 * MIB);
    expect_window((reads){.first = 127 * MIB}, 127 * MIB, 18 * MIB); /* the largest window */
    expect_window((reads){.first = 137 * MIB}, 127 * MIB, 8 * MIB);
    expect_window((reads){.first = 163 * MIB}, 127 * MIB, 0);
    expect_none((reads){.first = 163 * MIB + 1}); /* more than three fifths of the cache is outside */
    expect_none((reads){.first = UINT64_C(1) << 40});
    device.cache_bytes = 50 * MIB; /* as an H100 has: kernels find 48 MiB there as a whole */
    expect_none((reads){.first = 48 * MIB});
    expect_window((reads){.first = 64 * MIB}, 64 * MIB, 15 * MIB);
}

static void test_two_inputs(void **unused) {
    (void)unused;
    expect_none((reads){25 * MIB, 25 * MIB, 0});
    expect_window((reads){40 * MIB, 12 * MIB, 0}, 40 * MIB, 6 * MIB);
    expect_window((reads){32 * MIB, 32 * MIB, 0}, 32 * MIB, 0);
    expect_window((reads){36 * MIB, 36 * MIB, 0}, 36 * MIB, 0);
    expect_none((reads){36 * MIB, 36 * MIB + 1, 0});
}

/* Inputs that overlap count once. */
static void test_overlap(void **unused) {
    (void)unused;
    expect_none((reads){30 * MIB, 30 * MIB, 4});
    expect_window((reads){64 * MIB, 64 * MIB, 4}, 64 * MIB, 18 * MIB);
    expect_window((reads){64 * MIB, 64 * MIB, 64 * MIB - 4}, 64 * MIB, 18 * MIB);
    expect_none((reads){64 * MIB, 64 * MIB, 64 * MIB}); /* side by side: all of the second is outside */
}

static void test_no_windows(void **unused) {
    (void)unused;
    device.window_bytes = 0; /* as before compute capability 8.0 */
    expect_none((reads){.first = 64 * MIB});
    device.window_bytes = 128 * MIB;
    kind = TALLY_MEM_STAGING; /* the host's memory */
    expect_none((reads){.first = 64 * MIB});
}

static void test_refused(void **unused) {
    (void)unused;
    static const CUresult refusals[] = {CUDA_ERROR_INVALID_VALUE, CUDA_ERROR_NOT_SUPPORTED};
    for (size_t r = 0; r < TALLY_ARRAY_LENGTH(refusals); r++) {
        queue.refuses_windows = false;
        refusal = refusals[r];
        expect_none((reads){.first = 64 * MIB});
        assert_int_equal(noted.refused, 1);
        expect_none((reads){.first = 64 * MIB}); /* it is not tried again */
        assert_int_equal(noted.refused, 0);
    }
    queue.refuses_windows = false;
    refusal = CUDA_ERROR_LAUNCH_FAILED; /* another error */
    assert_int_equal(launch_reads((reads){.first = 64 * MIB}, 1), TALLY_E_DEVICE);
    assert_int_equal(noted.refused, 1);
    assert_int_equal(noted.plain + noted.with, 0);
    assert_false(queue.refuses_windows);
}

int main(int argc, char **argv) {
#define TEST(name) cmocka_unit_test_setup(test_##name, begin)
    const struct CMUnitTest tests[] = {TEST(attributes), TEST(sizes),      TEST(two_inputs),
                                       TEST(overlap),    TEST(no_windows), TEST(refused)};
    return test_main(argc, argv, "the attributes of CUDA's launches, without a GPU", tests, TALLY_ARRAY_LENGTH(tests),
                     open_driver, NULL);
}
