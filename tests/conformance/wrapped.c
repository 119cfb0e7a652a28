/* SPDX-License-Identifier: MIT */
/* Wrapped memory that lies within other wrapped memory: overlaps are seen as in one buffer. */
#include <string.h>

#ifdef TALLY_WITH_CUDA
#include <tally/cuda.h>
#endif
#ifdef TALLY_WITH_OPENCL
#define CL_TARGET_OPENCL_VERSION 120
#include <CL/cl.h>
#include <tally/opencl.h>
#endif

#include "direct.h"
#include "tests/support/calls.h"
#include "tests/support/test_main.h"

#define N 1024
#define BYTES (N * sizeof(float))
#define WHOLE (4 * BYTES)

/* Wraps `BYTES` bytes from `offset` on of a buffer of the library's. Returns NULL where the backend
 * wraps nothing. *native is what the caller releases. */
static tally_buffer *wrap_part(tally_context *context, const tally_device_info *device, tally_buffer *whole, uint64_t offset,
                               void **native) {
    tally_buffer *part = NULL;
    (void)context, (void)device, (void)whole, (void)offset; /* in a build with `host` alone */
    *native = NULL;
#ifdef TALLY_WITH_CUDA
    unsigned long long address = 0;
    if (!strcmp(device->backend, "cuda")) {
        MUST(tally_buffer_get_cuda(whole, &address));
        MUST(tally_buffer_wrap_cuda(context, address + offset, BYTES, &part));
    }
#endif
#ifdef TALLY_WITH_OPENCL
    struct _cl_mem *memory = NULL;
    if (!strcmp(device->backend, "opencl")) {
        const cl_buffer_region region = {offset, BYTES};
        cl_int error;
        MUST(tally_buffer_get_opencl(whole, &memory));
        *native = clCreateSubBuffer(memory, CL_MEM_READ_WRITE, CL_BUFFER_CREATE_TYPE_REGION, &region, &error);
        assert_int_equal(error, CL_SUCCESS);
        MUST(tally_buffer_wrap_opencl(context, *native, &part));
    }
#endif
    return part;
}

static void release(tally_buffer *part, void *native) {
    (void)native;
    tally_buffer_destroy(part);
#ifdef TALLY_WITH_OPENCL
    if (native) clReleaseMemObject(native);
#endif
}

/* Scans from a part of a buffer to another one, and between a part and the buffer. It may be host
 * memory. */
static void expect_within(void **state, tally_buffer *whole) {
    static const struct {
        uint64_t in, out; /* bytes */
        bool refused;
    } cases[] = {{0, BYTES, false}, {0, 0, false}, {0, BYTES / 2, true}, {BYTES, BYTES / 2, true}, {3 * BYTES, 0, false}};
    const place *at = *state;
    tally_context *context = direct_context(state);
    const tally_scan_desc desc = {.size = sizeof desc, .op = TALLY_SUM, .in = TALLY_F32, .max_n = N};
    static float ones[N], values[N];
    tally_queue *queue;
    tally_plan *plan;
    for (size_t i = 0; i < N; i++) ones[i] = 1;
    MUST(tally_queue_create(context, &queue));
    MUST(tally_scan_plan_create(context, &desc, &plan));
    for (size_t i = 0; i < TALLY_ARRAY_LENGTH(cases); i++) {
        void *natives[2];
        tally_buffer *in = wrap_part(context, &at->info, whole, cases[i].in, &natives[0]);
        tally_buffer *out = wrap_part(context, &at->info, whole, cases[i].out, &natives[1]);
        assert_true(in && out);
        MUST(tally_buffer_write(queue, in, 0, ones, BYTES));
        const tally_status status = tally_scan(plan, queue, in, N, out);
        if (status != (cases[i].refused ? TALLY_E_ARGUMENT : TALLY_OK))
            fail_msg("case %d: %s", (int)i, tally_status_name(status));
        if (status && !strstr(tally_last_error(), "overlap")) fail_msg("case %d: %s", (int)i, tally_last_error());
        if (!status) MUST(tally_buffer_read(queue, out, 0, values, BYTES));
        MUST(tally_queue_wait(queue));
        if (!status) assert_true(values[0] == 1 && values[N - 1] == N);
        /* The part and the buffer that it lies in. */
        const tally_scan_args args = {.size = sizeof args, .in = in, .n = N, .out = whole, .out_offset = cases[i].in / 4 + 1};
        assert_int_equal(tally_scan_with(plan, queue, &args), TALLY_E_ARGUMENT);
        release(in, natives[0]);
        release(out, natives[1]);
    }
    tally_plan_destroy(plan);
    tally_queue_destroy(queue);
}

static void test_within(void **state) {
    static _Alignas(4096) unsigned char memory[WHOLE];
    const place *at = *state;
    tally_context *context = direct_context(state);
    tally_buffer *whole;
    if (!strcmp(at->info.backend, "host")) test_skip("host wraps no objects of a driver");
    for (int in_place = 0; in_place <= at->info.host_memory; in_place++) {
        if (in_place)
            MUST(tally_buffer_wrap_host(context, memory, WHOLE, &whole));
        else
            MUST(tally_buffer_create(context, WHOLE, &whole));
        expect_within(state, whole);
        tally_buffer_destroy(whole);
    }
}

const device_test wrapped_tests[] = {{"wrapped within wrapped", test_within}, {NULL, NULL}};
