# SPDX-License-Identifier: MIT
"""Gather and scatter, segments by offsets, runs of keys."""

from __future__ import annotations

import math
from typing import Any, Callable, Hashable, Optional, SupportsIndex

from tally._arrays import view_of
from tally._buffers import Buffers, in_order, struct
from tally._dlpack import Exported
from tally._engine import natural
from tally._library import BY_NAME, MASKS, Dtype, lib, op_number
from tally._reduce import as_read, default_result, reduce, reduced_axes, term_of, written_by
from tally._results import output_of
from tally._scan import _size
from tally._view import HOST, View, fill, numpy_kind_if_here

_MAPS = ("i32", "u32", "i64", "u64")


def _map_view(indices: Any, name: str) -> View:
    view = view_of(indices, name)
    if view.dtype.name not in _MAPS:
        raise TypeError(f"{name} has items of type {view.dtype}: convert them to int64, or int32, uint32 or uint64")
    return in_order(view)


def _move(
    kind: str,
    create: Any,
    call: Any,
    item: int,
    source: View,
    index: View,
    to: View,
    items: int,
    mask: Optional[View],
    flags: int,
) -> None:
    """Runs a gather or a scatter of items of `item` bytes."""
    flags |= lib.TALLY_STENCIL if mask is not None else 0
    n = index.size
    size, out_size = _size(max(n, 1)), _size(max(items, 1)) if flags & lib.TALLY_SCATTER_LAST else 0

    def make(context: Any, plan: Any) -> int:
        desc = struct(
            "tally_move_desc", item_bytes=item, map=index.dtype.number, flags=flags, max_n=size, max_out=out_size
        )
        return int(create(context, desc, plan))

    if not n:
        return
    with Buffers([source, index, to, *([mask] if mask is not None else ())]) as buffers:
        args = struct("tally_move_args", n=n, items=items)
        args.map, args.map_offset = buffers.wrap(index)
        read, read_at = buffers.wrap(source)
        out, out_at = buffers.update(to) if kind == "scatter" else buffers.wrap(to, True)
        setattr(args, "in", read)
        args.in_offset = read_at * source.dtype.bytes // item
        args.out, args.out_offset = out, out_at * to.dtype.bytes // item
        args.stencil, args.stencil_offset = buffers.wrap(mask)
        key = (kind, item, index.dtype.number, flags, size, out_size)
        buffers.run(key, make, lambda plan, queue: call(plan, queue, args))


def take(x: Any, indices: Any, /, *, axis: Optional[SupportsIndex] = None) -> Any:
    """The items of x at these places along an axis, which may be left out for an array of one axis:
    gather. A negative place counts from the end. IndexError for one beyond an end. Along axis 0, of
    rows of up to 16 bytes, the indices are read as they are. Else each result of 16 bytes or less
    has an index that is made for the call: of arrays of NumPy, PyTorch, CuPy and in host memory.

    >>> import numpy, tally
    >>> tally.take(numpy.array([10, 20, 30]), numpy.array([2, 0, 2]))
    array([30, 10, 30])
    >>> tally.take(numpy.array([[1, 2, 3], [4, 5, 6]]), numpy.array([-1, 0]), axis=1)
    array([[3, 1],
           [6, 4]])
    """
    view = view_of(x)
    if not view.shape:
        raise ValueError("take: an array without axes has no items to choose from")
    if axis is None and len(view.shape) != 1:
        raise ValueError(f"take: an array of {len(view.shape)} axes needs axis=")
    at = 0 if axis is None else reduced_axes((axis,), len(view.shape)).index(1)
    view, index = in_order(view), _map_view(indices, "indices")
    before, n, after = math.prod(view.shape[:at]), view.shape[at], math.prod(view.shape[at + 1 :])
    made = view.kind.empty(view, (*view.shape[:at], *index.shape, *view.shape[at + 1 :]), view.dtype)
    create, gather, item = lib.tally_gather_plan_create, lib.tally_gather, view.dtype.bytes * after
    if before != 1 or not 1 <= item <= 16:
        unit = _unit(view.dtype.bytes, after)
        places = _places(view, index, at, before, item // unit)
        _move("gather", create, gather, unit, view, places, made, before * n * (item // unit), None, 0)
        return view.kind.finish(made)
    try:
        _move("gather", create, gather, item, view, index, made, n, None, 0)
    except IndexError as error:
        if "] is -" not in str(error):  # beyond the end
            raise
        if not hasattr(indices, "__mod__") and (view.place != HOST or numpy_kind_if_here() is None):
            text = f"{error}; negative ones in a {index.kind.name} are not counted from the end: add {n}"
            raise IndexError(text) from None
        counted = _from_the_end(indices, index, n, view)
        if counted is None:
            raise
        _move("gather", create, gather, item, view, counted, made, n, None, 0)
    return view.kind.finish(made)


def _unit(bytes: int, items: int) -> int:
    """The most bytes, up to 16, that a row of items of `bytes` is a multiple of."""
    return bytes * max(count for count in range(1, 16 // bytes + 1) if not items % count)


def _places(view: View, index: View, at: int, before: int, units: int) -> View:
    """For each unit of a result along axis `at` its place in x, in units: those of row b, index i
    begin at (b * n + i) * units. IndexError for an index beyond an end, which would be a place in
    another row."""
    n = view.shape[at]
    counted, arange = _as_places(index, view)
    if index.size:
        low, high = (int(reduce(name, op_number(name), (index,), None, False)) for name in ("min", "max"))
        if low < -n or high >= n:
            raise IndexError(f"index {low if low < -n else high} is out of bounds for axis {at} with size {n}")
    rows = arange(before)[:, None, None] * n + (counted.reshape((1, -1, 1)) % max(n, 1))
    return view_of(rows * units + arange(units))


def _as_places(index: View, view: View) -> "tuple[Any, Any]":
    """Indices of `view` as int64, a copy that is computed with, and its library's arange."""
    kind = (numpy_kind_if_here() or view.kind) if view.place == HOST else view.kind
    return kind.as_places(index)


def _from_the_end(indices: Any, index: View, n: int, view: View) -> Optional[View]:
    """The places counted from 0 on, a copy, where none is negative after that or beyond the end.
    None: some are."""
    if index.dtype.kind != "i":
        return None
    low, high = (reduce(name, op_number(name), (index,), None, False) for name in ("min", "max"))
    if int(low) < -n or int(high) >= n:
        return None
    has_n = n >> (8 * index.dtype.bytes - 1) == 0  # n is a number of the indices' type
    places = indices if has_n and hasattr(indices, "__mod__") else _as_places(index, view)[0]
    return in_order(view_of(places % n))


def put(x: Any, indices: Any, values: Any, /, *, where: Any = None, last: bool = False) -> None:
    """Writes values[i] to x[indices[i]]: scatter, in place. x is an array of one axis in C order;
    values has its type and as many items as indices. where: a mask of bool, one for each index.
    last: of indices that are equal the last wins; else any. IndexError as take; all other values
    are written.

    >>> import numpy, tally
    >>> x = numpy.zeros(4, int)
    >>> tally.put(x, numpy.array([3, 0]), numpy.array([7, 8]))
    >>> x
    array([8, 0, 0, 7])
    """
    to, source, index = view_of(x), in_order(view_of(values, "values")), _map_view(indices, "indices")
    if to.readonly:
        raise ValueError("put: x cannot be written in place: put into a copy of it")
    if len(to.shape) != 1 or not to.is_contiguous():
        raise ValueError(f"put: x has {len(to.shape)} axes or gaps: give a view of one axis whose items are neighbours")
    if source.dtype.number != to.dtype.number or source.size != index.size:
        raise ValueError(
            f"put: values must be {index.size} items of type {to.dtype}, not {source.size} of {source.dtype}"
        )
    mask = None if where is None else in_order(view_of(where, "where"))
    if mask is not None and (mask.dtype.name not in MASKS or mask.size != index.size):
        raise ValueError(f"put: where must be {index.size} items of bool")
    flags = int(lib.TALLY_SCATTER_LAST) if last else 0
    _move(
        "scatter",
        lib.tally_scatter_plan_create,
        lib.tally_scatter,
        to.dtype.bytes,
        source,
        index,
        to,
        to.shape[0],
        mask,
        flags,
    )


def _items(op: str, x: Any) -> View:
    """The items of segments, where the library can read them."""
    view = in_order(view_of(x))
    return as_read((op_number(op),), (view,))[0]


def _of_segments(op: str, view: View) -> "tuple[int, Dtype, int, Dtype]":
    """An op of segments: its number, the type that the library writes and the one to ask it for,
    and the type of the results."""
    number = op_number(op)
    if lib.tally_op_inputs(number) != 1:
        raise TypeError(f"{op} has two inputs: segments are of one")
    values = natural(number, view.dtype)[1]
    if values > 1:
        raise TypeError(f"{op} gives {values} values a segment: take min and max")
    wanted = default_result(number, view.dtype)
    term, _ = term_of(op, number, view, wanted, 0)
    return number, written_by(term, view.dtype, wanted), term.out, wanted


def _first(made: View, runs: int, wanted: Dtype) -> Any:
    """The first values of an array that was made with room for more, as values of type `wanted`."""
    if made.place == HOST:
        cut = made.like((runs,), made.strides)
        return made.kind.finish(fill(made.kind.empty(made, (runs,), wanted), cut))
    if isinstance(made.owner, Exported):
        made.owner.shape = (runs,)
        return made.kind.finish(made)
    return made.kind.finish(made)[:runs]


def _segments_plan(
    by: int, op: int, view: View, out: int, sizes: "tuple[int, int]", **more: int
) -> "tuple[Hashable, Callable[[Any, Any], int]]":
    """The key that a plan of segments is kept by, and the arguments that make the plan."""

    def make(context: Any, plan: Any) -> int:
        desc = struct("tally_segments_desc", by=by, op=op, in_=view.dtype.number, out=out, **more)
        desc.max_n, desc.max_segments = sizes
        return int(lib.tally_segments_plan_create(context, desc, plan))

    return ("segments", by, op, view.dtype.number, out, sizes, *more.values()), make


def _wrap_items(buffers: Buffers, args: Any, view: View, made: View) -> None:
    """Gives a call of segments its items and its results."""
    getattr(args, "in")[0], args.in_offset[0] = buffers.wrap(view)
    args.out[0], args.out_offset[0] = buffers.wrap(made, True)


def segment_reduce(x: Any, offsets: Any, op: str = "sum", *, ends: Any = None) -> Any:
    """A value for each segment of an array of one axis. Segment i is the items offsets[i] to
    offsets[i + 1] - 1, or with `ends` to ends[i] - 1. Segments may be empty. ValueError names the
    first one that is wrong.

    >>> import numpy, tally
    >>> tally.segment_reduce(numpy.array([1, 2, 3, 4]), numpy.array([0, 1, 1, 4]))
    array([1, 0, 9])
    """
    view, begins = _items(op, x), _map_view(offsets, "offsets")
    stops = None if ends is None else _map_view(ends, "ends")
    if len(view.shape) != 1 or len(begins.shape) != 1:
        raise ValueError("segment_reduce: x and offsets are arrays of one axis")
    if stops is not None and (stops.dtype.number != begins.dtype.number or stops.shape != begins.shape):
        raise ValueError("segment_reduce: ends must have the type and the shape of offsets")
    if stops is None and not begins.size:
        raise ValueError("segment_reduce: offsets needs one entry more than there are segments")
    count = begins.size - (stops is None)
    number, written, asked, wanted = _of_segments(op, view)
    output = output_of(view, (count,), written, wanted)
    made = output.written
    if count:
        with Buffers([view, begins, made, *([stops] if stops is not None else ())]) as buffers:
            args = struct("tally_offsets_args", count=count, n=view.size)
            args.begins, args.begins_offset = buffers.wrap(begins)
            args.ends, args.ends_offset = buffers.wrap(stops)
            _wrap_items(buffers, args, view, made)
            sizes = _size(max(view.size, 1)), _size(max(count, 1))
            key, make = _segments_plan(lib.TALLY_BY_OFFSETS, number, view, asked, sizes, offsets=begins.dtype.number)
            buffers.run(key, make, lambda plan, queue: lib.tally_reduce_offsets(plan, queue, args))
    output.settle()
    return view.kind.finish(output.results)


def reduce_by_key(keys: Any, x: Any, op: str = "sum") -> "tuple[Any, Any, Any]":
    """Reduces each run of equal neighbouring keys. Gives the runs' keys, their results and their
    lengths (uint64). Sort by key first where equal keys are to be one run. Keys are equal if their
    bytes are.

    >>> import numpy, tally
    >>> keys, sums, lengths = tally.reduce_by_key(numpy.array([7, 7, 3]), numpy.array([1, 2, 5]))
    >>> keys, sums, lengths
    (array([7, 3]), array([3, 5]), array([2, 1], dtype=uint64))
    """
    names, view = in_order(view_of(keys)), _items(op, x)
    if len(view.shape) != 1 or names.shape != view.shape:
        raise ValueError("reduce_by_key: keys and x are arrays of one axis, of one length")
    n = view.size
    number, written, asked, wanted = _of_segments(op, view)
    types = names.dtype, written, BY_NAME["u64"]
    made = [view.kind.empty(view, (n,), dtype) for dtype in types]
    runs = 0
    if n:
        with Buffers([names, view, *made]) as buffers:
            args = struct("tally_keys_args", n=n, capacity=n)
            args.keys, args.keys_offset = buffers.wrap(names)
            args.out_keys, args.out_keys_offset = buffers.wrap(made[0], True)
            args.lengths, args.lengths_offset = buffers.wrap(made[2], True)
            _wrap_items(buffers, args, view, made[1])
            args.runs = buffers.own(8)
            sizes = _size(n), _size(n)
            key, make = _segments_plan(lib.TALLY_BY_KEYS, number, view, asked, sizes, key_bytes=names.dtype.bytes)
            buffers.run(key, make, lambda plan, queue: lib.tally_reduce_keys(plan, queue, args))
            runs = buffers.read_number(args.runs)
    keys, values, lengths = (_first(one, runs, to) for one, to in zip(made, (names.dtype, wanted, types[2])))
    return keys, values, lengths


__all__ = ["put", "reduce_by_key", "segment_reduce", "take"]
