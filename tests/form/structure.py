#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Checks the form of the tree: includes between rooms, lengths of files, functions and comments,
skipped tests without a cause, and kernels that are the same text in two languages.

structure.py SOURCE [FOLDER...]: checks these folders of SOURCE, or all. Each finding is a line,
FILE:LINE: text. The exit status is 1 if there are any. Outside a git repository it prints
"skipped: ...".
"""
import pathlib
import re
import subprocess
import sys

MAX_FILE_LINES = 500
MAX_FUNCTION_LINES = 60
MAX_COMMENT_COLUMNS = 100

# The rooms of src/, from the ground up. A file includes headers of its own room and of lower rooms.
FLOORS = [["base"], ["ops", "device", "axes"], ["program"], ["reduce", "scan", "move"], ["segments"], ["host"], ["parts"]]

# The paths from the root that the files of a folder may include. The library includes none of them.
# Only the tests include the tests. The oracle includes the numbers of the order, and no kernel, row
# or plan.
HOUSE = {"src": [], "backends": ["backends/"], "examples": [], "oracle": ["base/order.h"],
         "tools": ["tools/", "oracle/"], "ranks": ["tools/"], "bench": ["bench/", "tools/print/", "oracle/"], "tests": [""]}

# Kernels that are written for each language on purpose: they teach, or the languages differ in
# them. The steps of the ladder are found by their stems in the variants' table.
OWN_KERNELS = {"group_tree", "finish", "prelude", "ladder"}
# Words of the two languages for the same thing.
SAME_WORDS = [("get_group_id(0)", "GROUP_ID"), ("blockIdx.x", "GROUP_ID"), ("get_local_id(0)", "THREAD_ID"),
              ("threadIdx.x", "THREAD_ID"), ("__local ", "LOCAL "), ("__shared__ ", "SHARED "), ("__global ", ""), ("GLOBAL ", ""),
              ("__syncthreads();", "BARRIER"), ("barrier(CLK_LOCAL_MEM_FENCE);", "BARRIER"), ("(u64)", "")]
findings = []


def find(path, line, text):
    findings.append(f"{path}:{line}: {text}")


def tracked(source, folders):
    done = subprocess.run(["git", "-C", source, "ls-files", "--", *folders], capture_output=True, text=True)
    if done.returncode:
        print("skipped: no git repository")
        sys.exit(0)
    return [path for path in done.stdout.splitlines() if (source / path).exists()]


def check_includes(path, lines):
    floor_of = {room: floor for floor, rooms in enumerate(FLOORS) for room in rooms}
    parts = path.split("/")
    for number, line in enumerate(lines, 1):
        match = re.match(r'#include "((?:oracle|tools|bench|tests|backends)/.*)"', line)
        if parts[0] == "oracle":
            match = re.match(r'#include "(.*/.*)"', line)
        if match and not any(match.group(1).startswith(known) for known in HOUSE.get(parts[0], [])):
            find(path, number, f"{parts[0]}/ knows no {match.group(1)}")
    if parts[0] != "src" or len(parts) < 3:
        return
    for number, line in enumerate(lines, 1):
        match = re.match(r'#include "(\w+)/', line)
        if not match:
            continue
        own, other = parts[1], match.group(1)
        if own not in floor_of or other not in floor_of:
            find(path, number, f"a room that is not on a floor of tests/form/structure.py: {own} or {other}")
        elif other != own and floor_of[other] >= floor_of[own]:
            find(path, number, f"{own} includes {other}, which is not below it")


def check_functions(path, lines):
    """A function begins with a line at the left edge and ends with the line "}"."""
    begin = None
    for number, line in enumerate(lines, 1):
        if re.match(r"[A-Za-z_]", line) and not re.match(r"(typedef|struct|enum|union|static const|const|extern)\b.*[={]$", line):
            begin = number
        if line == "}" and begin:
            if number - begin + 1 > MAX_FUNCTION_LINES:
                find(path, begin, f"a function of {number - begin + 1} lines: at most {MAX_FUNCTION_LINES}")
            begin = None
        elif line.startswith("}"):
            begin = None


def check_comments(path, lines):
    inside = False
    for number, line in enumerate(lines, 1):
        begins = line.lstrip().startswith("/*")
        code = re.sub(r'"(?:\\.|[^"\\])*"', '""', line)
        if (inside or begins) and len(line) > MAX_COMMENT_COLUMNS:
            find(path, number, f"a comment of {len(line)} columns: at most {MAX_COMMENT_COLUMNS}")
        if "/*" in code and "*/" not in code[code.rindex("/*"):]:
            inside = True
        elif "*/" in code:
            inside = False


def check_skips(path, lines):
    """cmocka's own call prints no cause, which test_skip does."""
    if not path.startswith("tests/") or path == "tests/support/test_main.c":
        return
    for number, line in enumerate(lines, 1):
        if re.search(r"(?<!\w)skip\(\);", line):
            find(path, number, "skip() without a cause: use test_skip")


def words_of(path):
    text = re.sub(r"/\*.*?\*/", " ", path.read_text(), flags=re.S)
    text = re.sub(r"#pragma unroll.*", "", text)
    for word, same in SAME_WORDS:
        text = text.replace(word, same)
    return text.split()


def check_kernels(source):
    """Finds pairs of kernels whose texts differ only in names that both preludes define."""
    steps = set(re.findall(r"STEP\((\w+),", (source / "src/reduce/variants.c").read_text()))
    for own in sorted((source / "kernels_cl").glob("*.cl")):
        other = source / "backends/cuda/kernels" / f"{own.stem}.cu"
        if not other.exists() or own.stem in OWN_KERNELS | steps or own.stem.startswith("feature_"):
            continue
        if words_of(own) == words_of(other):
            find(f"kernels_cl/{own.name}", 1, f"the same text as {other.name}: it belongs into kernels/")


def check_macros(source):
    """Finds macros of kernels/arithmetic.h, which every program has, that a kernel's text defines
    again: a compiler warns, and prints that to its caller's stderr."""
    common = set(re.findall(r"^#define (\w+)", (source / "kernels/arithmetic.h").read_text(), flags=re.M))
    texts = [*source.glob("kernels/*.h"), *source.glob("kernels_cl/*.cl"), *source.glob("backends/cuda/kernels/*.cu")]
    for path in sorted(texts):
        if path.stem in ("arithmetic", "prelude"):
            continue
        text = path.read_text()
        freed = set(re.findall(r"^#undef (\w+)", text, flags=re.M))
        for number, line in enumerate(text.splitlines(), 1):
            name = re.match(r"#define (\w+)", line)
            if name and name[1] in common - freed:
                find(str(path.relative_to(source)), number, f"{name[1]} is a macro of kernels/arithmetic.h")


def check_words(source):
    """Finds words of the rows' expressions, which a program undefines, that a kernel's text asks for:
    where a recipe defines such a macro, no kernel finds it."""
    written = (source / "src/program/source_term.c").read_text()
    lists = re.findall(r" (?:un)?typed\[\] = \{(.*?)\};", written, flags=re.S)
    if len(lists) != 2:
        find("src/program/source_term.c", 1, f"{len(lists)} lists of words, not 2: typed and untyped")
    words = set(re.findall(r'"(\w+)"', " ".join(lists)))
    for path in sorted([*source.glob("kernels/*.h"), *source.glob("kernels_cl/*.cl"), *source.glob("backends/cuda/kernels/*.cu")]):
        for number, line in enumerate(path.read_text().splitlines(), 1):
            asked = re.findall(r"#ifn?def (\w+)", line) + re.findall(r"defined\((\w+)\)", line)
            for word in words & set(asked):
                find(str(path.relative_to(source)), number, f"{word} is a word of the rows' expressions")


def main():
    source = pathlib.Path(sys.argv[1]).resolve()
    counted = 0
    for path in tracked(source, sys.argv[2:]):
        if not path.endswith((".c", ".h", ".cl", ".cu", ".cpp")):
            continue
        lines = (source / path).read_text().splitlines()
        counted += 1
        if len(lines) > MAX_FILE_LINES:
            find(path, 1, f"{len(lines)} lines: at most {MAX_FILE_LINES}")
        check_includes(path, lines)
        check_comments(path, lines)
        check_skips(path, lines)
        if path.endswith(".c"):
            check_functions(path, lines)
    check_kernels(source)
    check_macros(source)
    check_words(source)
    print(*findings, sep="\n")
    print(f"{counted} files, {len(findings)} findings")
    if counted < 100:
        sys.exit("too few files were read")
    sys.exit(len(findings) > 0)


main()
