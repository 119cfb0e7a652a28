/* SPDX-License-Identifier: MIT */
/* opencl.h: the objects and slots of the OpenCL backend. It uses OpenCL 1.2; anything newer is
 * probed. */
#ifndef TALLY_BACKENDS_OPENCL_H
#define TALLY_BACKENDS_OPENCL_H

#define CL_TARGET_OPENCL_VERSION 120
#include <CL/cl.h>

#include <tally/backend.h>

/* The entry points of the OpenCL library, which is opened at run time: nothing is linked. */
#define TALLY_OPENCL_CALLS(X)                                                                                                  \
    X(clBuildProgram)                                                                                                          \
    X(clCreateBuffer)                                                                                                          \
    X(clCreateCommandQueue)                                                                                                    \
    X(clCreateContext)                                                                                                         \
    X(clCreateKernel)                                                                                                          \
    X(clCreateProgramWithBinary)                                                                                               \
    X(clCreateProgramWithSource)                                                                                               \
    X(clEnqueueMapBuffer)                                                                                                      \
    X(clEnqueueMarkerWithWaitList)                                                                                             \
    X(clEnqueueNDRangeKernel)                                                                                                  \
    X(clEnqueueReadBuffer)                                                                                                     \
    X(clEnqueueUnmapMemObject)                                                                                                 \
    X(clEnqueueWriteBuffer)                                                                                                    \
    X(clFinish)                                                                                                                \
    X(clGetCommandQueueInfo)                                                                                                   \
    X(clGetContextInfo)                                                                                                        \
    X(clGetDeviceIDs)                                                                                                          \
    X(clGetDeviceInfo)                                                                                                         \
    X(clGetEventProfilingInfo)                                                                                                 \
    X(clGetMemObjectInfo)                                                                                                      \
    X(clGetPlatformIDs)                                                                                                        \
    X(clGetPlatformInfo)                                                                                                       \
    X(clGetProgramBuildInfo)                                                                                                   \
    X(clGetProgramInfo)                                                                                                        \
    X(clReleaseCommandQueue)                                                                                                   \
    X(clReleaseContext)                                                                                                        \
    X(clReleaseEvent)                                                                                                          \
    X(clReleaseKernel)                                                                                                         \
    X(clReleaseMemObject)                                                                                                      \
    X(clReleaseProgram)                                                                                                        \
    X(clRetainCommandQueue)                                                                                                    \
    X(clRetainContext)                                                                                                         \
    X(clRetainMemObject)                                                                                                       \
    X(clSetKernelArg)                                                                                                          \
    X(clWaitForEvents)

/* The library. tally_opencl_open sets it. */
typedef struct tally_opencl_library {
#define FIELD(name) __typeof__(name) *name;
    TALLY_OPENCL_CALLS(FIELD)
#undef FIELD
    int is_open;
    int is_forked;    /* 1: the process is a child, forked after the library was opened */
    char reason[256]; /* why it is not open */
} tally_opencl_library;
extern tally_opencl_library tally_opencl;

/* Opens the library, once. Returns 1 if it is open. */
int tally_opencl_open(void);

/* Drivers do not survive a fork: their threads are the parent's. A call would wait for ever. */
#define OCL_FORKED "the process was forked after OpenCL had been used: fork before that, spawn, or choose the backend host"
/* Fails in a process that was forked after the library was opened. */
tally_status tally_opencl_check_process(void);

typedef struct ocl_device {
    cl_context context;
    cl_device_id id;
    cl_command_queue maps; /* a queue that maps staging memory */
    int has_c3;            /* 1: the device compiles OpenCL C 3.0 */
    char options[96];      /* of its programs, behind the standard */
} ocl_device;

typedef struct ocl_mem {
    cl_mem handle;
    tally_mem_kind kind;
    void *host;      /* the address of host and staging memory, else NULL */
    void *owned;     /* its memory, if it is to be freed */
    uint64_t number; /* unique: a later object with the same handle has another number */
} ocl_mem;

typedef struct ocl_queue {
    cl_command_queue handle;
    cl_context context;
} ocl_queue;

/* The last value of an argument, or the number of its memory. 0 bytes: none was set. */
typedef struct ocl_kept {
    size_t bytes;
    unsigned char value[16];
} ocl_kept;

#define OCL_KEPT_ARGS 20
typedef struct ocl_kernel {
    cl_kernel handle;
    ocl_kept kept[OCL_KEPT_ARGS];
} ocl_kernel;

/* Sets the error text "WHAT: CL_NAME (number)" and returns the status that fits the number. */
tally_status tally_opencl_fail(cl_int error, const char *format, ...) TALLY_PRINTF(2, 3);

/* The slots of the backend, by file: device.c, memory.c, queue.c, program.c. */
tally_status tally_opencl_device_count(int *count, char *reason, size_t reason_bytes);
tally_status tally_opencl_device_info(int index, tally_device_info *info);
tally_status tally_opencl_device_open(int index, void *native_context, void *native_device, tally_device_info *info,
                                      void **device);
void tally_opencl_device_close(void *device);

tally_status tally_opencl_mem_open(void *device, tally_mem_kind kind, void *handle, uint64_t *bytes, void **mem);
void tally_opencl_mem_close(void *device, void *mem);
void *tally_opencl_mem_pointer(void *mem);
tally_mem_place tally_opencl_mem_place(void *mem);

tally_status tally_opencl_queue_open(void *device, int wrap, void *native, void **queue);
void tally_opencl_queue_close(void *device, void *queue);
tally_status tally_opencl_queue_wait(void *queue);
void *tally_opencl_queue_native(void *queue);
tally_status tally_opencl_copy_in(void *queue, void *mem, uint64_t offset, const void *host, uint64_t bytes);
tally_status tally_opencl_copy_out(void *queue, void *mem, uint64_t offset, void *host, uint64_t bytes);
tally_status tally_opencl_launch(void *queue, void *kernel, uint64_t groups, uint32_t threads, uint32_t count,
                                 const tally_arg *args);
tally_status tally_opencl_event_create(void *device, void **event);
void tally_opencl_event_close(void *device, void *event);
tally_status tally_opencl_event_record(void *queue, void *event);
tally_status tally_opencl_event_seconds(void *from, void *to, double *seconds);

const char *tally_kernel_source_opencl(const char *stem); /* embedded by the build */
const char *tally_opencl_kernel_source(const char *stem);
tally_status tally_opencl_program_create(void *device, const tally_program_desc *desc, void **program);
tally_status tally_opencl_program_binary(void *device, void *program, void **data, size_t *bytes);
void tally_opencl_program_close(void *device, void *program);
tally_status tally_opencl_kernel_create(void *device, void *program, const char *entry, void **kernel);
void tally_opencl_kernel_close(void *device, void *kernel);

/* The options of every program. Without -w NVIDIA's compiler counts its warnings on stderr. */
#define OCL_STANDARD "-w -cl-std=CL1.2"
/* For programs that use sub-groups, if the device has it. Under 1.2 only some devices take them:
 * POCL's do, Intel's do not. */
#define OCL_SUBGROUPS_STANDARD "-w -cl-std=CL3.0"
/* For devices that round quotients and roots of f32 to nearest where they are asked to. */
#define OCL_ROUNDED " -cl-fp32-correctly-rounded-divide-sqrt"
/* For the others, whose last bits may be wrong: kernels_cl/prelude.cl makes its own. */
#define OCL_OWN_QUOTIENTS " -D OWN_QUOTIENTS"
/* For Oclgrind 21.10, which does not know the constants of 128 bits that LLVM's optimiser makes. */
#define OCL_AS_WRITTEN " -cl-opt-disable"

#endif
