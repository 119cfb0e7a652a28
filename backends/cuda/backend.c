/* SPDX-License-Identifier: MIT */
/* The CUDA backend, on one screen. */
#include "driver.h"

extern const tally_backend tally_backend_cuda;

const tally_backend tally_backend_cuda = {
    .abi = TALLY_BACKEND_ABI,
    .name = "cuda",
    .device_count = tally_cuda_device_count,
    .device_info = tally_cuda_device_info,
    .device_open = tally_cuda_device_open,
    .device_close = tally_cuda_device_close,
    .mem_open = tally_cuda_mem_open,
    .mem_close = tally_cuda_mem_close,
    .mem_pointer = tally_cuda_mem_pointer,
    .mem_place = tally_cuda_mem_place,
    .queue_open = tally_cuda_queue_open,
    .queue_close = tally_cuda_queue_close,
    .queue_wait = tally_cuda_queue_wait,
    .queue_native = tally_cuda_queue_native,
    .copy_in = tally_cuda_copy_in,
    .copy_out = tally_cuda_copy_out,
    .kernel_source = tally_kernel_source_cuda,
    .program_create = tally_cuda_program_create,
    .program_binary = tally_cuda_program_binary,
    .program_close = tally_cuda_program_close,
    .kernel_create = tally_cuda_kernel_create,
    .kernel_close = tally_cuda_kernel_close,
    .launch = tally_cuda_launch,
    .event_create = tally_cuda_event_create,
    .event_close = tally_cuda_event_close,
    .event_record = tally_cuda_event_record,
    .event_seconds = tally_cuda_event_seconds,
};
