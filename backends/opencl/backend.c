/* SPDX-License-Identifier: MIT */
/* The OpenCL backend, on one screen, and the names of OpenCL's errors. */
#include <stdarg.h>
#include <stdio.h>

#include "opencl.h"

extern const tally_backend tally_backend_opencl;

const tally_backend tally_backend_opencl = {
    .abi = TALLY_BACKEND_ABI,
    .name = "opencl",
    .device_count = tally_opencl_device_count,
    .device_info = tally_opencl_device_info,
    .device_open = tally_opencl_device_open,
    .device_close = tally_opencl_device_close,
    .mem_open = tally_opencl_mem_open,
    .mem_close = tally_opencl_mem_close,
    .mem_pointer = tally_opencl_mem_pointer,
    .mem_place = tally_opencl_mem_place,
    .queue_open = tally_opencl_queue_open,
    .queue_close = tally_opencl_queue_close,
    .queue_wait = tally_opencl_queue_wait,
    .queue_native = tally_opencl_queue_native,
    .copy_in = tally_opencl_copy_in,
    .copy_out = tally_opencl_copy_out,
    .kernel_source = tally_opencl_kernel_source,
    .program_create = tally_opencl_program_create,
    .program_binary = tally_opencl_program_binary,
    .program_close = tally_opencl_program_close,
    .kernel_create = tally_opencl_kernel_create,
    .kernel_close = tally_opencl_kernel_close,
    .launch = tally_opencl_launch,
    .event_create = tally_opencl_event_create,
    .event_close = tally_opencl_event_close,
    .event_record = tally_opencl_event_record,
    .event_seconds = tally_opencl_event_seconds,
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

tally_status tally_opencl_fail(cl_int error, const char *format, ...) {
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
