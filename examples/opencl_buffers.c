/* SPDX-License-Identifier: MIT */
/*
 * opencl_buffers.c: an application with its own OpenCL context, queue and buffers. tally enqueues
 * its kernels between the application's own commands and reduces the items in place.
 */
#define CL_TARGET_OPENCL_VERSION 120
#include <CL/cl.h>
#include <stdio.h>

#include <tally/opencl.h>

enum { N = 1000000, SKIPPED = 77 };

typedef struct work {
    tally_context *context;
    tally_queue *queue;
    tally_buffer *in, *out;
    tally_plan *plan;
} work;

/* The objects still belong to the application. tally retains those that it uses. */
static tally_status enqueue(work *w, cl_context context, cl_device_id device, cl_command_queue queue, cl_mem in, cl_mem out) {
    const tally_reduce_desc desc = {.size = sizeof(desc), .op = TALLY_MAX, .in = TALLY_F32, .max_n = N};
    tally_status status = tally_context_create_opencl(context, device, &w->context);
    if (!status) status = tally_queue_wrap_opencl(w->context, queue, &w->queue);
    if (!status) status = tally_buffer_wrap_opencl(w->context, in, &w->in);
    if (!status) status = tally_buffer_wrap_opencl(w->context, out, &w->out);
    if (!status) status = tally_plan_create(w->context, &desc, &w->plan);
    return status ? status : tally_reduce(w->plan, w->queue, w->in, N, w->out);
}

int main(void) {
    static float x[N];
    for (int i = 0; i < N; i++) x[i] = (float)(i % 1000);
    x[N / 3] = 12345.0f;

    cl_platform_id platform;
    cl_device_id device;
    cl_int error;
    float largest = 0;
    if (clGetPlatformIDs(1, &platform, NULL) || clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &device, NULL)) {
        puts("skipped: there is no OpenCL device");
        return SKIPPED;
    }
    cl_context context = clCreateContext(NULL, 1, &device, NULL, NULL, &error);
    cl_command_queue queue = error ? NULL : clCreateCommandQueue(context, device, 0, &error);
    cl_mem in = error ? NULL : clCreateBuffer(context, CL_MEM_READ_WRITE, sizeof(x), NULL, &error);
    cl_mem out = error ? NULL : clCreateBuffer(context, CL_MEM_READ_WRITE, sizeof(largest), NULL, &error);
    if (!error) error = clEnqueueWriteBuffer(queue, in, CL_FALSE, 0, sizeof(x), x, 0, NULL, NULL);

    work w = {0};
    const tally_status status = error ? TALLY_OK : enqueue(&w, context, device, queue, in, out);
    if (!error && !status) error = clEnqueueReadBuffer(queue, out, CL_TRUE, 0, sizeof(largest), &largest, 0, NULL, NULL);
    if (status) fprintf(stderr, "opencl_buffers: %s\n", tally_last_error());
    if (error) fprintf(stderr, "opencl_buffers: OpenCL error %d\n", error);

    tally_plan_destroy(w.plan);
    tally_buffer_destroy(w.in);
    tally_buffer_destroy(w.out);
    tally_queue_destroy(w.queue);
    tally_context_destroy(w.context);
    if (out) clReleaseMemObject(out);
    if (in) clReleaseMemObject(in);
    if (queue) clReleaseCommandQueue(queue);
    if (context) clReleaseContext(context);
    printf("max %.9g\n", largest);
    return !error && !status && largest == 12345.0f ? 0 : 1;
}
