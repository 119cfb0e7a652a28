/* SPDX-License-Identifier: MIT */
/* Programs and their kernels. A program is compiled by NVRTC now, or was compiled by an earlier
 * process or when the library was built. */
#include <elf.h>
#include <stdlib.h>
#include <string.h>

#include "compiler.h"
#include "driver.h"
#include "prebuilt.h"

/*
 * cuModuleLoadData gets an address and no length: it finds the end by what it reads, and a cut or
 * foreign image would lead it beyond. So an image must be an ELF file whose tables lie within it,
 * or text that ends with its 0.
 */
static bool image_is_whole(const unsigned char *data, size_t bytes) {
    Elf64_Ehdr head;
    if (bytes < sizeof(head)) return false;
    memcpy(&head, data, sizeof(head));
    if (memcmp(head.e_ident, ELFMAG, SELFMAG)) return memchr(data, 0, bytes) == data + bytes - 1;
    const uint64_t sections = (uint64_t)head.e_shnum * head.e_shentsize, segments = (uint64_t)head.e_phnum * head.e_phentsize;
    return head.e_ident[EI_CLASS] == ELFCLASS64 && head.e_shoff <= bytes && sections <= bytes - head.e_shoff &&
           head.e_phoff <= bytes && segments <= bytes - head.e_phoff;
}

/* Loads the image. The driver picks the part of a fat binary that fits the device, and compiles PTX
 * here. */
static tally_status load(tally_cuda_program *program) {
    char log[601] = "";
    CUjit_option options[] = {CU_JIT_ERROR_LOG_BUFFER, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES};
    void *values[] = {log, (void *)(uintptr_t)(sizeof(log) - 1)};
    const CUresult error = tally_cuda.cuModuleLoadDataEx(&program->module, program->image, 2, options, values);
    if (!error) return TALLY_OK;
    if (error == CUDA_ERROR_OUT_OF_MEMORY) return tally_cuda_fail(error, "cuModuleLoadDataEx(%zu bytes)", program->bytes);
    return tally_fail(TALLY_E_BUILD, "cuModuleLoadDataEx(%zu bytes): %s (%d)%s%s", program->bytes, tally_cuda_error_name(error),
                      (int)error, log[0] ? ": " : "", log);
}

static tally_status make_image(const tally_cuda_device *device, const tally_program_desc *desc, tally_cuda_program *program) {
    const tally_program_form form = desc->form;
    const void *data = desc->data;
    const size_t bytes = desc->bytes;
    if (form == TALLY_PROGRAM_PREBUILT) {
        program->image = tally_cuda_archive_find(&tally_cuda_archive, data, bytes, &program->bytes);
        return program->image ? TALLY_OK : TALLY_E_UNSUPPORTED;
    }
    if (form == TALLY_PROGRAM_SOURCE) {
        char *source = malloc(bytes + 1); /* NVRTC wants a final 0 */
        if (!source) return tally_fail(TALLY_E_MEMORY, "cuda: out of memory");
        memcpy(source, data, bytes);
        source[bytes] = 0;
        tally_cuda_image image = {0};
        const tally_status status = tally_cuda_compile(source, device->arch, NULL, &image);
        free(source);
        if (status) return status;
        program->image = program->own = image.data;
        program->bytes = image.bytes;
        image.data = NULL;
        tally_cuda_image_free(&image);
        return TALLY_OK;
    }
    if (!image_is_whole(data, bytes)) return tally_fail(TALLY_E_BUILD, "cuda: %zu bytes that are no cubin and no PTX", bytes);
    program->image = program->own = malloc(bytes);
    if (!program->own) return tally_fail(TALLY_E_MEMORY, "cuda: out of memory");
    memcpy(program->own, data, bytes);
    program->bytes = bytes;
    return TALLY_OK;
}

/* The compute capability and the driver's CUDA version from which on launches overlap. Graphs hold
 * such launches since then. */
#define OVERLAP_ARCH 90
#define OVERLAP_VERSION 12030

tally_status tally_cuda_program_create(void *opaque, const tally_program_desc *desc, void **out) {
    const tally_cuda_device *device = opaque;
    tally_cuda_program *program = calloc(1, sizeof(*program));
    if (!program) return tally_fail(TALLY_E_MEMORY, "cuda: out of memory");
    tally_status status = make_image(device, desc, program);
    bool pushed = false;
    if (!status) status = tally_cuda_enter(device, &pushed);
    if (!status) status = load(program);
    program->overlaps =
        desc->overlaps && tally_cuda.has_newer && tally_cuda.version >= OVERLAP_VERSION && device->arch >= OVERLAP_ARCH;
    tally_cuda_leave(pushed);
    if (status) {
        free(program->own);
        free(program);
        return status;
    }
    *out = program;
    return TALLY_OK;
}

tally_status tally_cuda_program_binary(void *device, void *opaque, void **data, size_t *bytes) {
    (void)device;
    const tally_cuda_program *program = opaque;
    void *copy = malloc(program->bytes);
    if (!copy) return tally_fail(TALLY_E_MEMORY, "cuda: out of memory");
    memcpy(copy, program->image, program->bytes);
    *data = copy;
    *bytes = program->bytes;
    return TALLY_OK;
}

void tally_cuda_program_close(void *device, void *opaque) {
    tally_cuda_program *program = opaque;
    bool pushed;
    if (!tally_cuda_enter(device, &pushed)) {
        tally_cuda.cuModuleUnload(program->module);
        tally_cuda_leave(pushed);
    }
    free(program->own);
    free(program);
}

/* ---- kernels --------------------------------------------------------------------------------- */

/* Gets the CUfunction, which lives as long as its module. This loads the kernel's code: modules
 * load lazily since CUDA 11.7. So a launch has nothing left to load, and may be captured. */
tally_status tally_cuda_kernel_create(void *opaque, void *program, const char *entry, void **out) {
    const tally_cuda_program *from = program;
    bool pushed;
    const tally_status status = tally_cuda_enter(opaque, &pushed);
    if (status) return status;
    tally_cuda_kernel kernel = {.overlaps = from->overlaps};
    const CUresult error = tally_cuda.cuModuleGetFunction(&kernel.function, from->module, entry);
    tally_cuda_leave(pushed);
    if (error) return tally_cuda_fail(error, "cuModuleGetFunction(%s)", entry);
    tally_cuda_kernel *copy = malloc(sizeof(*copy));
    if (!copy) return tally_fail(TALLY_E_MEMORY, "kernel: out of memory");
    *copy = kernel;
    *out = copy;
    return TALLY_OK;
}

void tally_cuda_kernel_close(void *device, void *kernel) {
    (void)device;
    free(kernel);
}
