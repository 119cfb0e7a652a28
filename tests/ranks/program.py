#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Compares tally-mpi on several ranks with tally: the same text, and errors once, with the rank.

program.py TALLY TALLY_MPI RANKS MPIEXEC [OPTION...]
"""
import array
import concurrent.futures
import math
import os
import pathlib
import struct
import subprocess
import sys
import tempfile

tally, program, ranks, *mpiexec = sys.argv[1:]
failures = []
pool, calls = concurrent.futures.ThreadPoolExecutor(4), []


def beside(check):
    """Runs a check beside the others: most of its time is the launcher's wait."""
    return lambda *words, **named: calls.append(pool.submit(check, *words, **named))


def finish():
    """Waits for the checks so far. Afterwards their files may change."""
    while calls:
        calls.pop().result()


def write_npy(path, code, order, shape, values):
    header = f"{{'descr': '{code}', 'fortran_order': {order}, 'shape': {shape}, }}"
    header = header.ljust(128 - 10 - 1) + "\n"
    path.write_bytes(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header.encode() + values)


def run(command, **environment):
    return subprocess.run(command, capture_output=True, text=True, timeout=120, env={**os.environ, **environment})


def values_of(text):
    """All lines but those about the run, which have its time."""
    return [line for line in text.splitlines() if not line.startswith(("by ", "on ")) and not line.endswith("B/s")]


@beside
def compare(*words, alone=None):
    one = run([tally, "reduce", *(alone or words)])
    all_ranks = run([*mpiexec, "-n", ranks, program, "reduce", *words])
    mine, its = values_of(one.stdout), values_of(all_ranks.stdout)
    if alone:  # the names of the files differ
        mine, its = ([line.split(" in ")[0] for line in lines] for lines in (mine, its))
    if one.returncode or all_ranks.returncode or not mine or mine != its:
        failures.append(f"{words}: {its} instead of {mine}; {one.stderr}{all_ranks.stderr}")


@beside
def refused(part, code, *words, **environment):
    done = run([*mpiexec, "-n", ranks, program, "reduce", *words], **environment)
    lines = [line for line in done.stderr.splitlines() if line.startswith("tally")]
    if done.returncode != code or done.stdout or len(lines) != 1 or part not in lines[0]:
        failures.append(f"{words}: exit {done.returncode}, not {code}; {lines} without '{part}'; {done.stdout}")


@beside
def refused_by_both(code, *words, **environment):
    """tally-mpi has tally's text, behind the number of the lowest rank that failed."""
    one = run([tally, "reduce", *words], **environment)
    if one.returncode != code:
        failures.append(f"tally reduce {words}: exit {one.returncode}, not {code}; {one.stderr}")
    refused("rank 0: " + one.stderr.removeprefix("tally: ").strip(), code, *words, **environment)


def check_launcher(path):
    """A launcher overwrites its own MPI's variable, so the other's is left."""
    for size, warnings in (("2", 1), ("1", 0)):
        done = run([*mpiexec, "-n", "1", program, "reduce", "sum", path], PMI_SIZE=size, OMPI_COMM_WORLD_SIZE=size)
        if done.returncode or done.stderr.count("mpiexec of another MPI: every rank is alone") != warnings:
            failures.append(f"a launcher of {size}: exit {done.returncode}; {done.stderr}")


def check_pairs(folder, floats):
    """Files that do not fit each other are both named, in tally's words. Raw items have no shape."""
    write_npy(folder / "column.npy", "<f4", False, "(70001, 1)", floats.tobytes())
    write_npy(folder / "fewer.npy", "<f4", False, "(70000,)", floats[:70000].tobytes())
    write_npy(folder / "wide.npy", "<f8", False, "(100,)", bytes(800))
    (folder / "fewer.f32").write_bytes(floats[:70000].tobytes())
    f32, raw = str(folder / "f32.npy"), str(folder / "raw.f32")
    for name in ("column.npy", "fewer.npy", "wide.npy"):
        refused_by_both(1, "dot", f32, str(folder / name))
    refused_by_both(1, "dot", "--dtype", "f32", f32, str(folder / "fewer.f32"))
    for pair in ((f32, raw), (raw, f32), (raw, str(folder / "column.npy")), (raw, raw)):
        compare("dot", "--dtype", "f32", *pair)
    compare("sum", "--dtype", "f32", "--axis", "0", raw)
    write_npy(folder / "one.npy", ">f4", False, "()", struct.pack(">f", 1.5))
    compare("dot", f32, str(folder / "one.npy"))
    compare("dot", str(folder / "one.npy"), f32)
    compare("dot", str(folder / "one.npy"), str(folder / "one.npy"))
    refused_by_both(1, "dot", str(folder / "one.npy"), str(folder / "wide.npy"))
    compare("dot,dist2", "--axis", "0", str(folder / "column.npy"), str(folder / "one.npy"))
    compare("dist2", "--axis", "0", str(folder / "one.npy"), str(folder / "column.npy"))


def check_fortran(folder, floats):
    """Shares are of the items in C order, wherever they lie in the file."""
    swapped = array.array("f", floats)
    swapped.byteswap()
    write_npy(folder / "c.npy", "<f4", False, "(90, 7, 111)", floats[:69930].tobytes())
    write_npy(folder / "tall.npy", ">f4", True, "(10000, 7)", swapped[:70000].tobytes())
    write_npy(folder / "cube_f.npy", "<f4", True, "(90, 7, 111)", floats[:69930].tobytes())
    write_npy(folder / "flat.npy", "<f4", True, "(2, 35000)", floats[:70000].tobytes())
    tall, cube, c = (str(folder / name) for name in ("tall.npy", "cube_f.npy", "c.npy"))
    compare("sum,var,argmax", str(folder / "order.npy"), tall, cube, str(folder / "flat.npy"))
    compare("dot", cube, c)
    compare("dot", c, cube)
    compare("sum,argmin", "--axis", "0", tall)
    compare("mean", "--axis", "0,1", cube)


def check_columns(folder, floats):
    """Ranks share the columns where there are fewer chunks of rows than ranks."""
    write_npy(folder / "wide.npy", "<f4", False, "(90, 7, 111)", floats[:69930].tobytes())
    write_npy(folder / "other.npy", "<f4", False, "(90, 7, 111)", floats[71:70001].tobytes())
    write_npy(folder / "two.npy", "<f4", False, "(5000, 2)", floats[:10000].tobytes())
    write_npy(folder / "no_rows.npy", "<f4", False, "(0, 5)", b"")
    wide, other, two, none = (str(folder / name) for name in ("wide.npy", "other.npy", "two.npy", "no_rows.npy"))
    compare("sum,argmax", "--axis", "0", wide)
    compare("var", "--axis", "0,1", "--param", "ddof=1", wide)
    compare("dot,dist2", "--axis", "0", wide, other)
    compare("sum", "--axis", "0", two, none, str(folder / "swapped.npy"), str(folder / "order.npy"))
    compare("dot", "--axis", "0", wide, str(folder / "one.npy"))
    compare("--load", "x*x", "--combine", "a+b", "--identity", "0", "--backend", "opencl", "--axis", "0", wide)
    (folder / "short.npy").write_bytes((folder / "wide.npy").read_bytes()[:-4])
    refused("rank 0: ", 1, "sum", "--axis", "0", str(folder / "short.npy"))


def check_help():
    """No line of it is wider than a terminal."""
    texts = [run([*mpiexec, "-n", ranks, program, word]).stdout for word in ("--help", "help")]
    named = all(option in texts[0] for option in ("--parts", "--progress"))
    if texts[0] != texts[1] or not named or max(map(len, texts[0].splitlines())) >= 100:
        failures.append(f"help: {texts}")


def check_progress(path):
    """stderr is a pipe: rank 0 prints a line at the end of its share, if --progress asks for it."""
    for words, wanted in (((), 0), (("--progress",), 1), (("--progress", "--quiet"), 1), (("--json", "--progress"), 1)):
        done = run([*mpiexec, "-n", ranks, program, "reduce", "sum", path, *words])
        lines = [line for line in done.stderr.splitlines() if "GB/s" in line]
        if done.returncode or not done.stdout or len(lines) != wanted:
            failures.append(f"{words}: exit {done.returncode}; {done.stdout}{done.stderr}")
        for line in lines:
            if not line.startswith("100%  ") or not line.endswith("  " + path[:30]):
                failures.append(f"{words}: the line '{line}'")
    refused("No such file", 1, "sum", path + ".absent", "--progress")


def check_parts(folder, floats):
    """Each file is a pattern; the shapes of parts may differ."""
    others = array.array("f", (math.cos(i) for i in range(len(floats))))
    write_npy(folder / "others.npy", "<f4", False, f"({len(others)},)", others.tobytes())
    step = len(floats) // int(ranks) + 1
    for rank in range(int(ranks)):
        for name, items in (("part", floats), ("other", others)):
            part = items[rank * step:(rank + 1) * step]
            write_npy(folder / f"{name}-{rank}.npy", "<f4", False, f"({len(part)},)", part.tobytes())
    whole, its = str(folder / "f32.npy"), str(folder / "others.npy")
    parts, other = str(folder / "part-%d.npy"), str(folder / "other-%d.npy")
    compare("sum,var", "--parts", parts, alone=("sum,var", whole))
    compare("sum", f"--parts={parts}", alone=("sum", whole))
    compare("dot", "--parts", parts, other, alone=("dot", whole, its))
    compare("dot", "--parts", parts, "--parts", other, alone=("dot", whole, its))
    compare("sum", "--parts", parts, other, alone=("sum", whole, its))
    refused("no %d", 2, "sum", "--parts", whole)
    refused("no %d", 2, "sum", "--parts", parts, its)
    finish()
    if int(ranks) > 1:
        (folder / f"part-{int(ranks) - 1}.npy").unlink()
        refused(f"rank {int(ranks) - 1}: ", 1, "sum", "--parts", parts)


def check_machines(folder, floats):
    """A path that names another file on the last rank, as on another machine."""
    for rank in range(int(ranks)):
        (folder / f"machine-{rank}").mkdir()
        n = 40000 if rank + 1 == int(ranks) else 60000
        write_npy(folder / f"machine-{rank}" / "its.npy", "<f4", False, f"({n},)", floats[:n].tobytes())
    script = f'cd "{folder}/machine-${{OMPI_COMM_WORLD_RANK:-$PMI_RANK}}" && exec "$0" reduce sum its.npy'
    done = run([*mpiexec, "-n", ranks, "sh", "-c", script, program])
    wanted = f"rank {int(ranks) - 1}: its.npy: is another file than on rank 0: 40000 items or rows, not 60000"
    if done.returncode != 1 or done.stdout or done.stderr.count(wanted) != 1:
        failures.append(f"another file: exit {done.returncode}; {done.stdout}{done.stderr}")


def check_files(folder, floats):
    """Files that contradict themselves, or --dtype."""
    write_npy(folder / "cut.npy", "<f4", False, "(70001,)", floats[:60000].tobytes())
    write_npy(folder / "more.npy", "<f4", False, "(60000,)", floats.tobytes())
    (folder / "text.csv").write_text("1,2,3\n" * 100)
    (folder / "packed.gz").write_bytes(b"\x1f\x8b" + bytes(62))
    (folder / "odd.f32").write_bytes(bytes(63))
    for name in ("cut.npy", "more.npy", "text.csv", "packed.gz", "odd.f32", "absent.npy"):
        refused_by_both(1, "sum", str(folder / name))
    for name in ("text.csv", "packed.gz", "odd.f32"):
        refused_by_both(1, "sum", "--dtype", "f32", str(folder / name))
    f32 = str(folder / "f32.npy")
    refused_by_both(1, "sum", "--dtype", "f64", f32)
    compare("sum", "--dtype", "f32", f32)
    refused_by_both(2, "sum", f32, TALLY_BACKEND="nonsense")
    refused_by_both(1, "sum", "--backend", "opencl:99", f32)


def main(folder):
    floats = array.array("f", (math.sin(i) * 1000 for i in range(70001)))
    write_npy(folder / "f32.npy", "<f4", False, "(70001,)", floats.tobytes())
    swapped = array.array("d", (math.cos(i) for i in range(20000)))
    swapped.byteswap()
    write_npy(folder / "swapped.npy", ">f8", False, "(100, 200)", swapped.tobytes())
    write_npy(folder / "order.npy", "<f4", True, "(10, 20)", floats[:200].tobytes())
    write_npy(folder / "none.npy", "<f4", False, "(0,)", b"")
    (folder / "raw.f32").write_bytes(floats.tobytes())
    f32, raw = str(folder / "f32.npy"), str(folder / "raw.f32")
    compare("sum,var,argmax,logsumexp", f32)
    compare("sum", "--quiet", "--accuracy", "compensated", "--backend", "opencl", f32)
    compare("nrm2,mean", str(folder / "swapped.npy"))
    compare("sum,argmin", str(folder / "none.npy"))
    compare("std", "--param", "ddof=1", "--dtype", "f32", raw)
    compare("dot", f32, f32)
    compare("max", f32, str(folder / "none.npy"))
    compare("--load", "x*x", "--combine", "a+b", "--identity", "0", "--backend", "opencl", f32)
    write_npy(folder / "rows.npy", "<f4", False, "(10000, 7)", floats[:70000].tobytes())
    write_npy(folder / "cube.npy", "<f4", False, "(90, 100, 7)", floats[:63000].tobytes())
    rows, cube = str(folder / "rows.npy"), str(folder / "cube.npy")
    compare("sum,argmax", "--axis", "0", rows)
    compare("mean", "--axis", "0,1", cube)
    compare("var", "--axis", "0", "--quiet", cube)
    compare("minmax,std", "--axis", "0,1,2", "--keepdims", cube)
    refused("ranks share the leading axes", 1, "sum", "--axis", "1", rows)
    refused("has 2 axes", 1, "sum", "--axis", "2", rows)
    refused_by_both(1, "sum", "--axis", "1", f32)
    refused("of tally reduce", 2, "sum", "--axis", "0", "-o", "x.npy", rows)
    refused("rank 0: ", 1, "sum", str(folder / "absent.npy"))
    refused("no such device", 1, "sum", "--backend", "opencl:99", f32)
    refused("unknown operator", 2, "summ", f32)
    refused("reduce takes no option --sweep", 2, "sum", "--sweep", f32)
    refused("reduce takes no option --exclusive", 2, "sum", "--exclusive", f32)
    finish()
    for check in (check_pairs, check_fortran, check_columns, check_parts, check_files, check_machines):
        check(folder, floats)
        finish()
    check_help()
    check_progress(f32)
    check_launcher(f32)
    finish()


with tempfile.TemporaryDirectory() as name:
    main(pathlib.Path(name))
print(*failures, sep="\n")
sys.exit(len(failures) > 0)
