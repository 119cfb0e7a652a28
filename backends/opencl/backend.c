/* SPDX-License-Identifier: MIT */
/* The OpenCL backend, on one screen, and the names of OpenCL's errors. */
#include <stdarg.h>
#include <stdio.h>

#include "opencl.h"

extern const tally_backend tally_backend_opencl;

const tally_backend tally_backend_opencl = {
    .abi = TALLY_BACKEND_ABI,
    .name = "opencl",
    .device_count = ocl_device_count,
    .device_info = ocl_device_info,
    .device_open = ocl_device_open,
    .device_close = ocl_device_close,
    .mem_open = ocl_mem_open,
    .mem_close = ocl_mem_close,
    .mem_pointer = ocl_mem_pointer,
    .mem_place = ocl_mem_place,
    .queue_open = ocl_queue_open,
    .queue_close = ocl_queue_close,
    .queue_wait = ocl_queue_wait,
    .queue_native = ocl_queue_native,
    .copy_in = ocl_copy_in,
    .copy_out = ocl_copy_out,
    .kernel_source = ocl_kernel_source,
    .program_create = ocl_program_create,
    .program_binary = ocl_program_binary,
    .program_close = ocl_program_close,
    .kernel_create = ocl_kernel_create,
    .kernel_close = ocl_kernel_close,
    .launch = ocl_launch,
    .event_create = ocl_event_create,
    .event_close = ocl_event_close,
    .event_record = ocl_event_record,
    .event_seconds = ocl_event_seconds,
};

/* The errors that the calls of this backend can return. */
#define ERRORS(X)                                                                                                              \
    X(CL_DEVICE_NOT_FOUND)                                                                                                     \
    X(CL_DEVICE_NOT_AVAILABLE)                                                                                                 \
    X(CL_COMPILER_NOT_AVAILABLE)                                                                                               \
    X(CL_MEM_OBJECT_ALLOCATION_FAILURE)                                                                                        \
    X(CL_OUT_OF_RESOURCES)                                                                                                     \
    X(CL_OUT_OF_HOST_MEMORY)                                                                                                   \
    X(CL_PROFILING_INFO_NOT_AVAILABLE)                                                                                         \
    X(CL_BUILD_PROGRAM_FAILURE)                                                                                                \
    X(CL_MAP_FAILURE)                                                                                                          \
    X(CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST)                                                                            \
    X(CL_INVALID_VALUE)                                                                                                        \
    X(CL_INVALID_PLATFORM)                                                                                                     \
    X(CL_INVALID_DEVICE)                                                                                                       \
    X(CL_INVALID_CONTEXT)                                                                                                      \
    X(CL_INVALID_QUEUE_PROPERTIES)                                                                                             \
    X(CL_INVALID_COMMAND_QUEUE)                                                                                                \
    X(CL_INVALID_HOST_PTR)                                                                                                     \
    X(CL_INVALID_MEM_OBJECT)                                                                                                   \
    X(CL_INVALID_BINARY)                                                                                                       \
    X(CL_INVALID_BUILD_OPTIONS)                                                                                                \
    X(CL_INVALID_PROGRAM)                                                                                                      \
    X(CL_INVALID_PROGRAM_EXECUTABLE)                                                                                           \
    X(CL_INVALID_KERNEL_NAME)                                                                                                  \
    X(CL_INVALID_KERNEL_DEFINITION)                                                                                            \
    X(CL_INVALID_KERNEL)                                                                                                       \
    X(CL_INVALID_ARG_INDEX)                                                                                                    \
    X(CL_INVALID_ARG_VALUE)                                                                                                    \
    X(CL_INVALID_ARG_SIZE)                                                                                                     \
    X(CL_INVALID_KERNEL_ARGS)                                                                                                  \
    X(CL_INVALID_WORK_DIMENSION)                                                                                               \
    X(CL_INVALID_WORK_GROUP_SIZE)                                                                                              \
    X(CL_INVALID_WORK_ITEM_SIZE)                                                                                               \
    X(CL_INVALID_GLOBAL_OFFSET)                                                                                                \
    X(CL_INVALID_EVENT_WAIT_LIST)                                                                                              \
    X(CL_INVALID_EVENT)                                                                                                        \
    X(CL_INVALID_OPERATION)                                                                                                    \
    X(CL_INVALID_BUFFER_SIZE)                                                                                                  \
    X(CL_INVALID_GLOBAL_WORK_SIZE)                                                                                             \
    X(CL_INVALID_PROPERTY)

static const char *error_name(cl_int error) {
    switch (error) {
#define CASE(name)                                                                                                             \
    case name:                                                                                                                 \
        return #name;
        ERRORS(CASE)
    default:
        return "OpenCL error";
    }
}

tally_status ocl_fail(cl_int error, const char *format, ...) {
    char what[512];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(what, sizeof(what), format, arguments);
    va_end(arguments);
    const tally_status status = error == CL_OUT_OF_HOST_MEMORY || error == CL_MEM_OBJECT_ALLOCATION_FAILURE ||
                                        error == CL_OUT_OF_RESOURCES || error == CL_INVALID_BUFFER_SIZE
                                    ? TALLY_E_MEMORY
                                    : TALLY_E_DEVICE;
    return tally_fail(status, "%s: %s (%d)", what, error_name(error), (int)error);
}
