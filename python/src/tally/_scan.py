# SPDX-License-Identifier: MIT
"""Scans: running sums and their kin."""

from __future__ import annotations

import operator
from typing import Any, NamedTuple, Optional

from tally._arrays import view_of
from tally._buffers import Buffers, in_order, struct
from tally._context import context_of
from tally._engine import natural
from tally._library import AxisError, Dtype, dtype_of_name, ffi, lib, op_number
from tally._reduce import (
    _COUNTS,
    _FLOAT64,
    _INT64,
    _KEEPS_FLOATS,
    cast_first,
    check_conversion,
    converted,
    default_result,
    pack,
)
from tally._view import HOST, View


def _rows(view: View, axis: int) -> View:
    """The view with `axis` last, its items in C order: a copy, unless they are so already."""
    last = len(view.shape) - 1
    if axis != last:
        order = [i for i in range(last + 1) if i != axis] + [axis]
        view = view.like(tuple(view.shape[i] for i in order), tuple(view.strides[i] for i in order))
    return in_order(view)


def _axis(axis: Optional[int], ndim: int) -> int:
    if ndim == 0:
        raise ValueError("a scan needs an array of one axis or more")
    if axis is None:
        if ndim != 1:
            raise ValueError(f"a scan of an array of {ndim} axes needs axis=")
        return 0
    number = operator.index(axis)
    if not -ndim <= number < ndim:
        raise AxisError(f"axis {number} is out of bounds for array of dimension {ndim}")
    return number % ndim


def _size(n: int) -> int:
    """The size of a plan for n items: a power of two."""
    return max(1 << 16, 1 << (n - 1).bit_length())


def scan(
    op: str,
    x: Any,
    /,
    *,
    axis: Optional[int] = None,
    exclusive: bool = False,
    reverse: bool = False,
    initial: Any = None,
    flags: Any = None,
    offsets: Any = None,
    dtype: Any = None,
    include_initial: bool = False,
) -> Any:
    """For each item the op's result of the items up to it, along one axis. exclusive: of the items
    before it; `initial` is then an item before the first. reverse: from the last item on. flags
    (bool, one for each item) or offsets (int64 or uint64) say where segments begin, each a scan of
    its own: of arrays of one axis. Rows are scanned one by one, so that each has the bits of a scan
    of it alone.

    >>> import numpy, tally
    >>> tally.scan("max", numpy.array([1, 3, 2, 5]))
    array([1, 3, 3, 5])
    """
    number = op_number(op)
    view = cast_first(number, view_of(x), dtype)
    at = _axis(axis, len(view.shape))
    own, values = natural(number, view.dtype)
    if lib.tally_op_inputs(number) != 1:
        raise TypeError(f"scan: {op} has two inputs: no scan exists")
    wanted = default_result(number, view.dtype) if dtype is None else dtype_of_name(dtype)
    is_same = own.number == wanted.number or (number in _COUNTS and wanted.number == _INT64.number)
    if not is_same:
        check_conversion(op, own, wanted)
    if include_initial and (exclusive or reverse or values > 1):
        raise ValueError("include_initial is for inclusive scans, forward, of one value an item")
    rows = _rows(view, at)
    segments = view_of(flags if flags is not None else offsets) if flags is not None or offsets is not None else None
    _check_segments(rows, segments, flags is not None, flags is not None and offsets is not None)
    mode = lib.TALLY_SEGMENTS_FLAGS if flags is not None else lib.TALLY_SEGMENTS_OFFSETS
    mode = int(lib.TALLY_SEGMENTS_NONE if segments is None else mode)
    bits = (lib.TALLY_EXCLUSIVE if exclusive else 0) | (lib.TALLY_REVERSE if reverse else 0)
    work, rows, written = _prepare(number, rows, mode, own if is_same else wanted, wanted, bits, initial)
    shape = (*rows.shape[:-1], rows.shape[-1] + include_initial, *((values,) if values > 1 else ()))
    made = rows.kind.empty(rows, shape, written)
    _run(work, rows, made, segments, flags is not None, int(include_initial))
    if made.dtype.number != wanted.number:
        made = converted(made, wanted)
    if include_initial and made.place == HOST:
        _put_first(made, {"sum": 0, "prod": 1}[op])
    array = made.kind.finish(made)
    if include_initial and made.place != HOST:
        first = {"sum": 0, "prod": 1}[op]
        if hasattr(array, "at"):  # JAX's arrays are not written in place
            array = array.at[..., 0].set(first)
        else:
            array[..., 0] = first
    if at != len(view.shape) - 1:
        array = made.kind.move_axis(array, len(view.shape) - 1, at)
    return array


def _put_first(made: View, value: int) -> None:
    """Writes a value before each row of a host array in C order."""
    item, n, count = pack(value, made.dtype), made.shape[-1], 1
    for extent in made.shape[:-1]:
        count *= extent
    for row in range(count):
        ffi.memmove(ffi.cast("char *", made.address + row * n * made.dtype.bytes), item, len(item))


def _check_segments(rows: View, segments: Optional[View], are_flags: bool, both: bool) -> None:
    if both:
        raise ValueError("scan: give flags or offsets, not both")
    if segments is None:
        return
    if len(rows.shape) != 1:
        raise ValueError("scan: segments are of arrays of one axis: the array's axes are segments themselves")
    if are_flags and (segments.dtype.name not in ("bool", "u8") or segments.shape != rows.shape):
        raise ValueError(f"scan: flags must be {rows.shape[0]} items of bool")
    if not are_flags and (segments.dtype.name not in ("i64", "u64") or len(segments.shape) != 1):
        raise TypeError("scan: offsets must be an array of int64 or uint64 of one axis")


class _Scan(NamedTuple):
    """A scan of rows: what its plan is made of, and kept by."""

    op: int
    items: int
    out: int
    acc: int
    bits: int
    segments: int
    initial: Optional[bytes]
    size: int

    def make(self, context: Any, plan: Any) -> int:
        """Makes the plan."""
        held = ffi.new("char[]", self.initial) if self.initial is not None else ffi.NULL
        desc = struct("tally_scan_desc", op=self.op, in_=self.items, out=self.out, acc=self.acc, max_n=self.size)
        desc.flags, desc.segments, desc.initial = self.bits, self.segments, held
        return int(lib.tally_scan_plan_create(context, desc, plan))


def _prepare(
    op: int, rows: View, mode: int, out: Dtype, wanted: Dtype, bits: int, initial: Any
) -> "tuple[_Scan, View, Dtype]":
    """The scan, its items and the type that the library writes. The backend host has no other types
    than an op's own: items are converted before, values afterwards."""
    is_wide = (
        wanted.name in ("f64", "c128") and op in _KEEPS_FLOATS and rows.dtype.name in ("f16", "bf16", "f32", "c64")
    )
    on_host = rows.place == HOST and context_of(rows).is_host_backend
    if is_wide and on_host:
        rows, is_wide = converted(rows, wanted), False
    own = natural(op, rows.dtype)[0]
    is_count = op in _COUNTS and wanted.number == _INT64.number
    written = wanted if is_count else own if on_host else out
    asked = 0 if is_count or written.number == own.number else written.number
    packed = None if initial is None else pack(initial, rows.dtype)
    size = _size(max(rows.shape[-1], 1))
    return (
        _Scan(op, rows.dtype.number, asked, _FLOAT64.number if is_wide else 0, bits, mode, packed, size),
        rows,
        written,
    )


def _run(scan: _Scan, rows: View, made: View, segments: Optional[View], are_flags: bool, skipped: int) -> None:
    """Scans each row. The first `skipped` values of each are left as they are."""
    n, count = rows.shape[-1], 1
    for extent in rows.shape[:-1]:
        count *= extent
    if not n or not count:
        return
    marks = in_order(segments) if segments is not None else None
    with Buffers([rows, made, *([marks] if marks is not None else ())]) as buffers:
        args = struct("tally_scan_args", n=n)
        source, source_at = buffers.wrap(rows)
        to, to_at = buffers.wrap(made, True)
        if marks is not None:
            setattr(args, "in", source)
            args.in_offset, args.out, args.out_offset = source_at, to, to_at
            args.segments, args.segments_offset = buffers.wrap(marks)
            args.count = 0 if are_flags else marks.shape[0]

        def call(plan: Any, queue: Any) -> Any:
            if marks is not None:
                return lib.tally_scan_with(plan, queue, args)
            pitch = n + skipped
            return lib.tally_python_scan_rows(plan, queue, source, source_at, count, n, n, to, to_at + skipped, pitch)

        buffers.run(("scan", *scan), scan.make, call)


def cumulative_sum(x: Any, /, *, axis: Optional[int] = None, dtype: Any = None, include_initial: bool = False) -> Any:
    """Running sums along an axis, as the array API's. include_initial: 0 comes first, so that there
    is one value more.

    >>> import numpy, tally
    >>> tally.cumulative_sum(numpy.array([1, 2, 3]), include_initial=True)
    array([0, 1, 3, 6])
    """
    return scan("sum", x, axis=axis, dtype=dtype, include_initial=include_initial)


def cumulative_prod(x: Any, /, *, axis: Optional[int] = None, dtype: Any = None, include_initial: bool = False) -> Any:
    """Running products along an axis, as the array API's. include_initial: 1 comes first.

    >>> import numpy, tally
    >>> tally.cumulative_prod(numpy.array([[1, 2], [3, 4]]), axis=0)
    array([[1, 2],
           [3, 8]])
    """
    return scan("prod", x, axis=axis, dtype=dtype, include_initial=include_initial)


__all__ = ["cumulative_prod", "cumulative_sum", "scan"]
