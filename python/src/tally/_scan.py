# SPDX-License-Identifier: MIT
"""Scans: running sums and their kin."""

from __future__ import annotations

import math
from typing import Any, NamedTuple, Optional, SupportsIndex

from tally._arrays import view_of
from tally._buffers import Buffers, in_order, struct
from tally._context import context_of
from tally._engine import MOST_AXES, Term, natural
from tally._library import MASKS, AxisError, dtype_of_name, ffi, lib, op_number
from tally._reduce import (
    as_read,
    axis_number,
    cast_first,
    converted,
    default_result,
    term_of,
    written_by,
)
from tally._results import initial_bytes, output_of
from tally._view import CUDA, HOST, OPENCL, View, strides_of

#: the value before the first item
_FIRST = {"sum": 0, "prod": 1}


def _axis(axis: Optional[SupportsIndex], ndim: int) -> int:
    if ndim == 0:
        raise ValueError("a scan needs an array of one axis or more")
    if axis is None:
        if ndim != 1:
            raise ValueError(f"a scan of an array of {ndim} axes needs axis=")
        return 0
    number = axis_number(axis)
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
    axis: Optional[SupportsIndex] = None,
    exclusive: bool = False,
    reverse: bool = False,
    initial: Any = None,
    flags: Any = None,
    offsets: Any = None,
    dtype: Any = None,
    include_initial: bool = False,
) -> Any:
    """Gives for each item the op's result for the items up to it, along one axis. exclusive: for
    the items before it; `initial` is then an item before the first. reverse: from the last item on.
    flags (bool, one for each item) or offsets (int64 or uint64) say where segments begin, in arrays
    of one axis; each segment is a scan of its own. Each row, column or other list along the axis
    has the bits of a scan of it alone. Strided arrays are read in place.

    >>> import numpy, tally
    >>> tally.scan("max", numpy.array([1, 3, 2, 5]))
    array([1, 3, 3, 5])
    """
    number = op_number(op)
    view = as_read((number,), (cast_first(number, view_of(x), dtype),))[0]
    at = _axis(axis, len(view.shape))
    values = natural(number, view.dtype)[1]
    if lib.tally_op_inputs(number) != 1:
        raise TypeError(f"scan: {op} has two inputs: no scan exists")
    wanted = default_result(number, view.dtype) if dtype is None else dtype_of_name(dtype)
    if dtype is not None:
        view.kind.check_dtype(wanted)
    if include_initial and (exclusive or reverse or op not in _FIRST):
        raise ValueError("include_initial is for inclusive scans, forward, by sum or prod")
    segments = view_of(flags if flags is not None else offsets) if flags is not None or offsets is not None else None
    _check_segments(view, segments, flags is not None, flags is not None and offsets is not None)
    mode = lib.TALLY_SEGMENTS_FLAGS if flags is not None else lib.TALLY_SEGMENTS_OFFSETS
    mode = int(lib.TALLY_SEGMENTS_NONE if segments is None else mode)
    bits = (lib.TALLY_EXCLUSIVE if exclusive else 0) | (lib.TALLY_REVERSE if reverse else 0)
    term, wide = term_of(op, number, view, wanted, 0)
    work, items = _prepare(term, view, view if wide is None else converted(view, wide), mode, bits, initial)
    shape = tuple(extent + (include_initial and i == at) for i, extent in enumerate(items.shape))
    full = (*shape, values) if values > 1 else shape
    output = output_of(items, full, written_by(term, items.dtype, wanted), wanted)
    if include_initial and items.place == OPENCL:  # where pyopencl writes no values that have gaps
        output.written.owner.fill(_FIRST[op])
    _run(work, items, at, output.written, shape, values, segments, flags is not None)
    output.settle()
    made = output.results
    if include_initial and made.place == HOST:
        _put_first(made, _FIRST[op], at)
    array = made.kind.finish(made)
    if include_initial and made.place == CUDA:
        first, where = _FIRST[op], (*(slice(None),) * at, 0)
        if hasattr(array, "at"):  # JAX's arrays are not written in place
            return array.at[where].set(first)
        array[where] = first
    return array


def _put_first(made: View, value: int, axis: int) -> None:
    """Writes a value before each list along the axis of a host array in C order."""
    items = initial_bytes(value, *[made.dtype] * 3) * math.prod(made.shape[axis + 1 :])
    pitch = len(items) * made.shape[axis]
    for number in range(math.prod(made.shape[:axis])):
        ffi.memmove(ffi.cast("char *", made.address + number * pitch), items, len(items))


def _check_segments(view: View, segments: Optional[View], are_flags: bool, both: bool) -> None:
    if both:
        raise ValueError("scan: give flags or offsets, not both")
    if segments is None:
        return
    if len(view.shape) != 1:
        raise ValueError("scan: segments are of arrays of one axis: the array's axes are segments themselves")
    if are_flags and (segments.dtype.name not in MASKS or segments.shape != view.shape):
        raise ValueError(f"scan: flags must be {view.shape[0]} items of bool")
    if not are_flags and (segments.dtype.name not in ("i64", "u64") or len(segments.shape) != 1):
        raise TypeError("scan: offsets must be an array of int64 or uint64 of one axis")


class _Scan(NamedTuple):
    """A scan: what its plan is made of, and kept by."""

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


def _prepare(term: Term, given: View, items: View, mode: int, bits: int, initial: Any) -> "tuple[_Scan, View]":
    """The scan, and its items where the library can read them. given: the items before they were
    converted, of whose type an initial value is."""
    packed = None if initial is None else initial_bytes(initial, given.dtype, items.dtype, items.dtype)
    is_copied = items.place == HOST and not context_of(items).device.host_memory
    if is_copied or mode or len(items.shape) > MOST_AXES or not items.is_aligned():
        items = in_order(items)
    if not _is_line(items):
        bits |= lib.TALLY_ALONG_AXIS
    size = _size(max(items.size, 1))
    return _Scan(term.op, items.dtype.number, term.out, term.acc, bits, mode, packed, size), items


def _is_line(items: View) -> bool:
    """Tells whether the items are one list of neighbours, which needs no axes."""
    return len(items.shape) == 1 and items.is_contiguous()


def _axes_of(items: View, at: int, shape: "tuple[int, ...]") -> "list[tuple[int, int, int, bool]]":
    """Returns for each axis its extent, its strides in items and in values of the C order of
    `shape`, and whether it is scanned. More axes than the library takes become three; the items
    then lie in C order."""
    extents, ins = items.shape, [stride // items.dtype.bytes for stride in items.strides]
    outs: "tuple[int, ...]" = strides_of(shape, 1)
    kept = list(range(len(extents)))
    if len(extents) > MOST_AXES:
        kept = [i for i in (at - 1, at, len(extents) - 1) if i >= 0]
        kept = sorted(set(kept))
        before, after = 1, 1
        for i, extent in enumerate(extents):
            before *= extent if i < at else 1
            after *= extent if i > at else 1
        extents = tuple(before if i < at else after if i > at else extent for i, extent in enumerate(extents))
    return [(extents[i], ins[i], outs[i], i == at) for i in kept]


def _run(
    scan: _Scan,
    items: View,
    at: int,
    made: View,
    shape: "tuple[int, ...]",
    values: int,
    segments: Optional[View],
    are_flags: bool,
) -> None:
    """Scans `items` along the axis `at` into `made`, whose shape is `shape`, of `values` numbers
    each. Where that is longer than the items along the axis, its first values are left as they
    are."""
    if not items.size:
        return
    marks = in_order(segments) if segments is not None else None
    axes = _axes_of(items, at, shape)
    skipped = (shape[at] - items.shape[at]) * strides_of(shape, 1)[at]
    with Buffers([items, made, *([marks] if marks is not None else ())]) as buffers:
        is_line = not scan.bits & lib.TALLY_ALONG_AXIS
        args = struct("tally_scan_args", n=items.size) if is_line else struct("tally_scan_axis_args")
        source, args.in_offset = buffers.wrap_strided(items)
        setattr(args, "in", source)
        args.out, args.out_offset = buffers.wrap(made, True)
        args.out_offset = args.out_offset // values + skipped
        if marks is not None:
            args.segments, args.segments_offset = buffers.wrap(marks)
            args.count = 0 if are_flags else marks.shape[0]
        if not is_line:
            args.axes = held = ffi.new("tally_axis[]", len(axes))
            args.axis_count, args.out_strided = len(axes), 1
            for k, (extent, stride, out_stride, is_scanned) in enumerate(axes):
                held[k].extent, held[k].in_stride[0], held[k].out_stride = extent, stride, out_stride
                args.axis = k if is_scanned else args.axis
        call = lib.tally_scan_with if is_line else lib.tally_scan_axis
        buffers.run(("scan", *scan), scan.make, lambda plan, queue: call(plan, queue, args))


def cumulative_sum(
    x: Any, /, *, axis: Optional[SupportsIndex] = None, dtype: Any = None, include_initial: bool = False
) -> Any:
    """Running sums along an axis, as the array API's. include_initial: 0 comes first, so that there
    is one value more.

    >>> import numpy, tally
    >>> tally.cumulative_sum(numpy.array([1, 2, 3]), include_initial=True)
    array([0, 1, 3, 6])
    """
    return scan("sum", x, axis=axis, dtype=dtype, include_initial=include_initial)


def cumulative_prod(
    x: Any, /, *, axis: Optional[SupportsIndex] = None, dtype: Any = None, include_initial: bool = False
) -> Any:
    """Running products along an axis, as the array API's. include_initial: 1 comes first.

    >>> import numpy, tally
    >>> tally.cumulative_prod(numpy.array([[1, 2], [3, 4]]), axis=0)
    array([[1, 2],
           [3, 8]])
    """
    return scan("prod", x, axis=axis, dtype=dtype, include_initial=include_initial)


__all__ = ["cumulative_prod", "cumulative_sum", "scan"]
