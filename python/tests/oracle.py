# SPDX-License-Identifier: MIT
"""The library's oracle, a second opinion in C that shares nothing with the library's kernels and
rows (oracle/ in the tree). TALLY_TEST_ORACLE is the path of the shared library that the test build
makes of it, libtally_test_oracle.so; ci/python sets it."""

import ctypes
import os

import numpy as np
import pytest

from tally._library import BY_LONG_NAME, OPS

#: the enum's number of accuracy="default"
DEFAULT = 0
BOUNDS = {0: "broken", 1: "kept", 2: "none", -1: "exact"}


def _load():
    path = os.environ.get("TALLY_TEST_ORACLE")
    return ctypes.CDLL(path) if path else None


_oracle = _load()
needs_oracle = pytest.mark.skipif(_oracle is None, reason="TALLY_TEST_ORACLE names no oracle (ci/python builds one)")


def number_of(dtype):
    """The library's number of a NumPy type. 0 for None."""
    return 0 if dtype is None else BY_LONG_NAME[np.dtype(dtype).name].number


def _what(op, items, acc, out):
    return (ctypes.c_int * 5)(OPS[op], number_of(items), number_of(acc), DEFAULT, number_of(out))


def _pointer(array):
    return None if array is None else ctypes.c_void_p(array.ctypes.data)


def _items(arrays):
    return (ctypes.c_void_p * 2)(*(array.ctypes.data for array in arrays))


def _params(params):
    return (ctypes.c_double * len(params))(*params) if params else None


def value(op, *arrays, acc=None, out=None, params=(), where=None, initial=None):
    """The bytes of the value of some items, given as arrays in C order, one for each input.
    initial: an array of one result."""
    room = ctypes.create_string_buffer(32)
    what = _what(op, arrays[0].dtype, acc, out)
    written = _oracle.tally_test_oracle_reduce(
        what,
        _params(params),
        _pointer(initial),
        _items(arrays),
        _pointer(where),
        ctypes.c_uint64(arrays[0].size),
        room,
    )
    assert written, f"the oracle has no {op} of {arrays[0].dtype}"
    return room.raw[:written]


def bound(op, result, *arrays, params=()):
    """Tells whether a result keeps the bound of docs/numerics.md around the exact value: "kept",
    "broken", or "none" where there is no bound."""
    n = arrays[0].size
    chunks = max(1, -(-n // 4096))
    depth = 39 + (chunks - 1).bit_length()
    room = ctypes.create_string_buffer(np.asarray(result).tobytes(), 32)
    what = _what(op, arrays[0].dtype, None, None)
    verdict = _oracle.tally_test_oracle_bound(
        what, _params(params), _items(arrays), ctypes.c_uint64(n), ctypes.c_uint64(depth), room
    )
    return BOUNDS[verdict]


def scan(op, items, *, acc=None, out=None, exclusive=False, reverse=False, initial=None):
    """The bytes of the values of a scan of an array in C order. initial: an array of one item."""
    what = _what(op, items.dtype, acc, out)
    values = ctypes.create_string_buffer(16 * max(items.size, 1))
    written = _oracle.tally_test_oracle_scan(
        what, _pointer(initial), exclusive, reverse, _pointer(items), ctypes.c_uint64(items.size), values
    )
    assert written, f"the oracle has no scan {op} of {items.dtype}"
    return values.raw[: written * items.size]


def segments(x, axis):
    """The items of each value: rows of a new array in C order. The values are in C order of the kept
    axes, the items in C order of the reduced axes."""
    ndim = x.ndim
    given = range(ndim) if axis is None else [axis] if np.isscalar(axis) else axis
    reduced = sorted(a % ndim for a in given)
    kept = [a for a in range(ndim) if a not in reduced]
    count = int(np.prod([x.shape[a] for a in kept], dtype=np.int64))
    length = int(np.prod([x.shape[a] for a in reduced], dtype=np.int64))
    return np.array(x.transpose(kept + reduced), order="C", copy=True).reshape(count, length)
