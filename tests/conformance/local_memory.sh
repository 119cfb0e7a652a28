#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Checks that POCL has taken all local memory of the conformance tests' kernels for that of a group.
# Where it has not (INLINE_LOCAL in kernels_cl/prelude.cl), the memory is a variable of the
# program's, which all groups share, and results are wrong now and then.
# Usage: local_memory.sh CACHES FILE   CACHES has the programs that POCL kept; those older than FILE
#                                      are of another build
set -euo pipefail
command -v nm >/dev/null || { echo "skipped: no nm" && exit 77; }
programs=$(find "$1" -name 'tally_*.so' -newer "$2")
[ -n "$programs" ] || { echo "skipped: POCL has kept no program since the last build" && exit 77; }
# nm prints b or d for a variable; the kernel's name is in front of the dot.
shared=$(xargs -d '\n' nm -A <<<"$programs" | grep -E ' [bd] [a-z_]+\.[a-z_]+$') || true
echo "$(wc -l <<<"$programs") kernels; memory that all groups share: ${shared:-none}"
[ -z "$shared" ]
