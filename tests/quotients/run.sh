#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Runs conformance tests by OpenCL behind layer.c. Sampled runs take all of them too. The operators
# are right, and wrong where tally's quotients and roots are.
# Usage: run.sh CONFORMANCE LAYER
set -euo pipefail
unset TALLY_TEST_PART
[[ $("$1" --list) == *opencl:* ]] || { echo "skipped: no OpenCL device" && exit 77; }
export OPENCL_LAYERS=$2 TALLY_TEST_DEVICE=opencl
[[ $("$1" --list 2>&1) == *"layer: no quotient"* ]] || { echo "skipped: this loader takes no layers" && exit 77; }
operators=('auto mean f32' 'auto mean c64' 'auto var f32' 'auto std bf16' 'auto nrm2 f32')
for pattern in 'arithmetic: ' "${operators[@]}" 'group_tree var f32' 'scan: ops of f32'; do "$1" "*$pattern*"; done
for pattern in "${operators[@]}"; do
    if TALLY_TEST_WRONG=1 "$1" "*$pattern" >/dev/null 2>&1; then
        echo "$pattern: right, though tally's quotients and roots are wrong: it is not made of them" && exit 1
    fi
done
