#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Reduces the arrays of an mpi4py program by the Python package tally, in one pass for two ops.

    mpiexec -n 4 python3 examples/mpi4py_parts.py

Each rank reduces its share to a part of a few hundred bytes, and mpi4py carries the parts. The
results have the same bits for every number of ranks, and with shares of any lengths. The package
links no MPI, so any mpi4py will do. Exit status 77: there is no mpi4py.
"""
import sys

try:
    from mpi4py import MPI
except ImportError:
    print("skipped: no mpi4py (Debian: python3-mpi4py)")
    sys.exit(77)
import numpy
import tally


def main():
    comm = MPI.COMM_WORLD
    n, rank, ranks = 100000, comm.Get_rank(), comm.Get_size()
    first, count = tally.share(n, ranks, rank)
    mine = numpy.sqrt(numpy.arange(first, first + count))
    part = tally.reduce_part(["sum", "var"], mine, first=first, total=n)
    total, variance = tally.Part.join(*comm.allgather(part)).value()
    # Shares of any lengths: a record then has the items of chunks that two ranks share.
    first, end = (n * r * r // (ranks * ranks) for r in (rank, rank + 1))
    mine = numpy.sqrt(numpy.arange(first, end))
    other = tally.reduce_part(["sum", "var"], mine, first=first, total=n)
    uneven = tally.Part.join(*comm.allgather(other)).value()
    if rank == 0:
        print(f"{ranks} ranks: sum {total.hex()}, variance {variance.hex()}, {len(part.record)} bytes from a rank")
    # The whole would not fit one rank's memory in a real program.
    whole = numpy.sqrt(numpy.arange(n))
    sys.exit(not (total, variance) == uneven == (tally.sum(whole), tally.var(whole)))


main()
