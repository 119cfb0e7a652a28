#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Compiles every C example of README.md and docs/: the blocks that begin with ```c.

snippets.py SOURCE CC. A block that begins with an #include is a file. Any other block is put into a
function that declares the names below. A block with tally/mpi.h is left out where there is no MPI.
"""
import pathlib
import re
import shutil
import subprocess
import sys

AROUND = """#include <stdio.h>
#include <tally/tally.h>

int snippet(tally_context *context, tally_queue *queue, tally_buffer *in, tally_buffer *out, tally_buffer *map, const float *x,
            uint64_t n, uint64_t in_items);
int snippet(tally_context *context, tally_queue *queue, tally_buffer *in, tally_buffer *out, tally_buffer *map, const float *x,
            uint64_t n, uint64_t in_items) {
    (void)context, (void)queue, (void)in, (void)out, (void)map, (void)x, (void)n, (void)in_items;
%s
    return 0;
}
"""


def mpi_flags(source):
    """Returns the options for programs with MPI; None without one."""
    for package in ("ompi-c", "mpich"):
        if not shutil.which("pkg-config"):
            continue
        done = subprocess.run(["pkg-config", "--cflags", package], capture_output=True, text=True)
        if not done.returncode:
            return ["-I", source / "ranks" / "include", *done.stdout.replace("-I", "-isystem ").split()]
    return None


def main():
    source, compiler = pathlib.Path(sys.argv[1]), sys.argv[2]
    failed = compiled = 0
    for page in [source / "README.md", *sorted((source / "docs").glob("*.md"))]:
        text = page.read_text()
        for match in re.finditer(r"^```c\n(.*?)^```", text, flags=re.S | re.M):
            code = match.group(1)
            more = mpi_flags(source) if "<tally/mpi.h>" in code else ["-I", source / "ranks" / "include"]
            if more is None:
                print(f"{page.name}: no MPI: a block is left out")
                continue
            program = code if code.startswith("#include") else AROUND % code
            done = subprocess.run([compiler, "-std=c11", "-Wall", "-Wextra", "-Werror", "-fsyntax-only", "-x", "c", "-I",
                                   source / "include", *more, "-"], input=program, text=True, capture_output=True)
            compiled += 1
            if done.returncode:
                failed += 1
                print(f"{page.name}:{text[:match.start()].count(chr(10)) + 1}: does not compile:\n{done.stderr}")
    print(f"{compiled} blocks, {failed} failed")
    if not compiled:
        sys.exit("no block was found")
    sys.exit(failed > 0)


main()
