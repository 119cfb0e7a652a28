/* SPDX-License-Identifier: MIT */
/* compiler.h: NVRTC, opened at run time. It needs neither driver nor device, so tests use it
 * alone. */
#ifndef TALLY_BACKENDS_CUDA_COMPILER_H
#define TALLY_BACKENDS_CUDA_COMPILER_H

#include <stddef.h>

#include <tally/backend.h>

/* NVRTC's version (13000 is 13.0) and the architectures that it compiles for (90 is sm_90),
 * sorted. */
typedef struct tally_cuda_compiler {
    int version;
    int archs[64];
    int count;
} tally_cuda_compiler;

/* Opens NVRTC, once per process. Errors: E_BUILD, whose text says where it was looked for. */
tally_status tally_cuda_compiler_get(const tally_cuda_compiler **out);

typedef struct tally_cuda_image {
    void *data;   /* cubin, or 0-terminated PTX; malloc'd */
    size_t bytes; /* including the final 0 of PTX */
    char *log;    /* the compiler's messages; malloc'd, never NULL */
} tally_cuda_image;

/*
 * Compiles for the architecture: to machine code if NVRTC knows it, else to PTX for the newest one
 * below it, which the driver compiles further. `option` is one more option, or NULL. Errors:
 * E_BUILD, with the head of the log; E_MEMORY.
 */
tally_status tally_cuda_compile(const char *source, int arch, const char *option, tally_cuda_image *out);
/* Compiles to PTX, also where NVRTC has machine code for the architecture. */
tally_status tally_cuda_compile_ptx(const char *source, int arch, tally_cuda_image *out);
void tally_cuda_image_free(tally_cuda_image *image);

/* Writes the options that kernels of this architecture are compiled with, as one text. */
void tally_cuda_build_options(int arch, char *text, size_t bytes);

#endif
