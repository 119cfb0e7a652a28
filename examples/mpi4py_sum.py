#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Reduces the arrays of an mpi4py program through libtally_mpi, by ctypes.

    mpiexec -n 4 python3 examples/mpi4py_sum.py [PATH OF libtally_mpi.so]

Each rank has a share of 100,000 numbers, and none of the shares is like another. The sum has the
same bits for every number of ranks. Needs an mpi4py of the MPI that libtally_mpi was built with.
Exit status 77: there is no mpi4py.
"""
import array
import ctypes
import math
import sys

try:
    from mpi4py import MPI
except ImportError:
    print("skipped: no mpi4py (Debian: python3-mpi4py)")
    sys.exit(77)

F64, SUM = 2, 1  # TALLY_F64, TALLY_SUM


class ReduceDesc(ctypes.Structure):
    """tally_reduce_desc"""
    _fields_ = [("size", ctypes.c_size_t), ("op", ctypes.c_int), ("items", ctypes.c_int), ("out", ctypes.c_int),
                ("max_n", ctypes.c_uint64), ("variant", ctypes.c_char_p), ("group_threads", ctypes.c_uint32),
                ("factor", ctypes.c_uint32), ("acc", ctypes.c_int), ("accuracy", ctypes.c_int), ("custom", ctypes.c_void_p),
                ("terms", ctypes.c_void_p), ("term_count", ctypes.c_uint32)]


class MpiArgs(ctypes.Structure):
    """tally_mpi_args"""
    _fields_ = [("size", ctypes.c_size_t), ("n", ctypes.c_uint64), ("items", ctypes.c_void_p * 4), ("queue", ctypes.c_void_p),
                ("buffers", ctypes.c_void_p * 4), ("offsets", ctypes.c_uint64 * 4)]


def handle_of(comm):
    """Returns the C handle of a communicator: an int in MPICH, a pointer in Open MPI."""
    kind = ctypes.c_int if MPI._sizeof(MPI.Comm) == ctypes.sizeof(ctypes.c_int) else ctypes.c_void_p
    return kind.from_address(MPI._addressof(comm))


class Reduction:
    """A reduction of f64 over the ranks of a communicator. Use it with `with`."""

    def __init__(self, library, comm, op):
        self.library = library
        library.tally_last_error.restype = ctypes.c_char_p
        library.tally_mpi_destroy.restype = library.tally_context_destroy.restype = None
        self.context, self.mpi = ctypes.c_void_p(), ctypes.c_void_p()
        library.tally_context_create(None, ctypes.byref(self.context))  # NULL without a device: the next call says so
        desc = ReduceDesc(size=ctypes.sizeof(ReduceDesc), op=op, items=F64)
        self.check(library.tally_mpi_create(handle_of(comm), self.context, ctypes.byref(desc), ctypes.byref(self.mpi)))

    def check(self, status):
        if status:
            raise RuntimeError(self.library.tally_last_error().decode())

    def allreduce(self, values):
        """Reduces the arrays of doubles of all ranks. An array is anything with a buffer of them."""
        view = memoryview(values).cast("B")
        items = (ctypes.c_char * view.nbytes).from_buffer(view)
        args = MpiArgs(size=ctypes.sizeof(MpiArgs), n=view.nbytes // 8)
        args.items[0] = ctypes.addressof(items)
        result = ctypes.c_double()
        self.check(self.library.tally_mpi_allreduce(self.mpi, ctypes.byref(args), ctypes.byref(result)))
        return result.value

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.library.tally_mpi_destroy(self.mpi)
        self.library.tally_context_destroy(self.context)


def main():
    comm = MPI.COMM_WORLD
    n, rank, ranks = 100000, comm.Get_rank(), comm.Get_size()
    first, end = (n * r * r // (ranks * ranks) for r in (rank, rank + 1))
    mine = array.array("d", (math.sin(i) for i in range(first, end)))
    library = ctypes.CDLL(sys.argv[1] if len(sys.argv) > 1 else "libtally_mpi.so")
    with Reduction(library, comm, SUM) as reduction:
        total = reduction.allreduce(mine)
    plain = comm.allreduce(sum(mine))
    if rank == 0:
        print(f"{ranks} ranks: {total.hex()} by tally, {plain.hex()} by mpi4py")
    # sin(0) + ... + sin(n - 1) = sin((n - 1) / 2) sin(n / 2) / sin(1 / 2)
    exact = math.sin((n - 1) / 2) * math.sin(n / 2) / math.sin(0.5)
    sys.exit(abs(total - exact) > 1e-9)


main()
