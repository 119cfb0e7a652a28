/* SPDX-License-Identifier: MIT */
/* The archive as a part of the library. The assembler takes the file as it is. As a C array,
 * megabytes would take the compiler minutes. */
#include "../prebuilt.h"

#ifdef TALLY_CUDA_ARCHIVE
__asm__(".section .rodata\n"
        ".balign 16\n"
        ".globl tally_cuda_archive\n"
        ".hidden tally_cuda_archive\n"
        "tally_cuda_archive:\n"
        ".incbin \"" TALLY_CUDA_ARCHIVE "\"\n"
        ".previous");
#else
const tally_cuda_archive_head tally_cuda_archive = {.count = 0};
#endif
