# shellcheck shell=bash
# SPDX-License-Identifier: MIT
# Functions shared by the scripts of ci/. The scripts source this file from the repository's root,
# under `set -euo pipefail`.

POCL_ICD=/etc/OpenCL/vendors/pocl.icd

say() { printf '%s: %s\n' "${0##*/}" "$*"; }
die() {
    printf '%s: %s\n' "${0##*/}" "$*" >&2
    exit 1
}

jobs_here() { getconf _NPROCESSORS_ONLN 2>/dev/null || echo 2; }

# step NAME COMMAND...: runs the command and prints its time. Prints its name if it fails.
STEP=""
STEP_TIMES=""
step() {
    STEP=$1
    shift
    local begin=$SECONDS
    say "== $STEP"
    "$@"
    say "== $STEP: $((SECONDS - begin)) s"
    STEP_TIMES+="$STEP $((SECONDS - begin)) s, "
    STEP=""
}
# beside NAME LOG COMMAND...: starts the command, whose output goes to LOG. wait_beside waits for it.
# It prints the log's last line; if the command failed, the whole log, and ends the script.
BESIDE="" BESIDE_LOG="" BESIDE_PID=""
beside() {
    BESIDE=$1 BESIDE_LOG=$2
    shift 2
    "$@" >"$BESIDE_LOG" 2>&1 &
    BESIDE_PID=$!
}
wait_beside() {
    local status=0
    wait "$BESIDE_PID" || status=$?
    BESIDE_PID=""
    if [ "$status" -ne 0 ]; then
        cat "$BESIDE_LOG"
        die "FAILED in: $BESIDE"
    fi
    say "$BESIDE: $(tail -n 1 "$BESIDE_LOG")"
}
SCRATCH="" # a folder to remove at the end
on_exit() {
    local status=$?
    if [ "$status" -ne 0 ] && [ -n "$STEP" ]; then printf '%s: FAILED in: %s\n' "${0##*/}" "$STEP" >&2; fi
    [ -z "$BESIDE_PID" ] || kill "$BESIDE_PID" 2>/dev/null || true
    [ -z "$SCRATCH" ] || rm -rf "$SCRATCH"
    exit "$status"
}
trap on_exit EXIT

# $TALLY_DEPS is a folder of unpacked Debian packages, made by ci/deps, for machines where nothing
# can be installed. Its headers, libraries and CMake packages come before the system's.
use_deps() {
    [ -n "${TALLY_DEPS:-}" ] || return 0
    [ -d "$TALLY_DEPS/usr/include" ] || die "TALLY_DEPS=$TALLY_DEPS holds no usr/include: make it with ci/deps"
    local root lib pc
    root=$(cd "$TALLY_DEPS" && pwd)
    lib=$root/usr/lib/$(deps_triplet "$root")
    export CMAKE_PREFIX_PATH="$root/usr${CMAKE_PREFIX_PATH:+:$CMAKE_PREFIX_PATH}"
    export CPATH="$root/usr/include${CPATH:+:$CPATH}"
    export LIBRARY_PATH="$lib${LIBRARY_PATH:+:$LIBRARY_PATH}"
    export LD_LIBRARY_PATH="$lib${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}"
    # The .pc files have the prefix /usr. PKG_CONFIG_SYSROOT_DIR would move the system's own
    # packages too, so the script rewrites copies.
    pc=$root/pkgconfig
    mkdir -p "$pc"
    local file
    for file in "$lib"/pkgconfig/*.pc; do
        [ -e "$file" ] || continue
        sed "s,\([=IL]\)/usr,\1$root/usr,g" "$file" >"$pc/${file##*/}"
    done
    export PKG_CONFIG_PATH="$pc${PKG_CONFIG_PATH:+:$PKG_CONFIG_PATH}"
    if ! command -v pkg-config >/dev/null && [ -x "$root/usr/bin/pkgconf" ]; then export PKG_CONFIG=$root/usr/bin/pkgconf; fi
    say "using the carried packages in $root"
}

# Prints the folder below usr/lib of the unpacked packages.
deps_triplet() {
    local folder
    for folder in "$1"/usr/lib/*-linux-gnu*; do
        if [ -d "$folder" ]; then
            printf '%s\n' "${folder##*/}"
            return
        fi
    done
    die "$1/usr/lib holds no libraries"
}

# The tests run only on POCL if it is installed, so a result does not depend on other devices.
use_pocl_alone() {
    if [ -z "${OCL_ICD_VENDORS:-}" ] && [ -e "$POCL_ICD" ]; then export OCL_ICD_VENDORS=$POCL_ICD; fi
    say "OpenCL platforms: ${OCL_ICD_VENDORS:-as the system lists them}"
}

# Ninja keeps all cores busy, where Make waits for one folder after another. A folder that is
# configured already keeps its generator.
use_ninja() {
    if command -v ninja >/dev/null; then export CMAKE_GENERATOR=${CMAKE_GENERATOR:-Ninja}; fi
}

# Prints the level of the backend host's programs that this processor takes (cmake/host.cmake). Prints
# nothing, which means all levels, for another kind of processor.
host_level() {
    local flag flags
    flags=$(sed -n '/^flags/{p;q}' /proc/cpuinfo 2>/dev/null) || true
    [ -n "$flags" ] || return 0
    for flag in avx2 fma bmi2 f16c; do
        case "$flags " in *" $flag "*) ;; *) echo base && return ;; esac
    done
    echo v3
}

# build PRESET: configures and builds.
build() {
    use_ninja
    cmake --preset "$1" "${@:2}"
    cmake --build --preset "$1" --parallel "$(jobs_here)"
}
