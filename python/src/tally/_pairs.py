# SPDX-License-Identifier: MIT
"""Reductions of two arrays, which are repeated to one shape."""

from __future__ import annotations

from typing import Any, SupportsIndex

from tally._arrays import view_of
from tally._library import BY_NAME, OPS, real_number
from tally._reduce import Axis, axis_number, broadcast_shapes, converted, reduce, reduced_axes
from tally._view import HOST, View, numpy_kind_if_here


def pair(name: str, x: Any, y: Any) -> "tuple[View, View]":
    """Two arrays of one type and shape. Arrays of two types are converted to NumPy's common one."""
    first, second = view_of(x), view_of(y)
    if first.dtype.number != second.dtype.number:
        numpy = numpy_kind_if_here()
        if numpy is None or first.kind.name != second.kind.name or "bf16" in (first.dtype.name, second.dtype.name):
            raise TypeError(f"{name} takes two arrays of one type, not {first.dtype} and {second.dtype}")
        common = numpy.numpy.result_type(numpy.dtype(first.dtype), numpy.dtype(second.dtype)).name
        first, second = (v if v.dtype.long_name == common else converted(v, BY_NAME[common]) for v in (first, second))
    shape = broadcast_shapes(first.shape, second.shape)
    return first.broadcast(shape, "x"), second.broadcast(shape, "y")


def _extent(shape: "tuple[int, ...]", axis: SupportsIndex) -> int:
    """The extent of one axis. AxisError if the array does not have it."""
    return shape[reduced_axes((axis,), len(shape)).index(1)]


def vecdot(
    x: Any,
    y: Any,
    /,
    *,
    axis: SupportsIndex = -1,
    keepdims: bool = False,
    dtype: Any = None,
    out: Any = None,
    accuracy: str = "default",
) -> Any:
    """The sum of products along one axis, the first array conjugated, as the array API's: of
    integers in the items' type unless `dtype` says otherwise.

    >>> import numpy, tally
    >>> tally.vecdot(numpy.array([[1, 2], [3, 4]]), numpy.array([1, 1]))
    array([3, 7])
    """
    first, second = pair("vecdot", x, y)
    if first.dtype.kind == "b":
        raise TypeError("vecdot does not take items of type bool: count_nonzero of x & y counts pairs")
    shapes = view_of(x).shape, view_of(y).shape
    sizes = [_extent(shape, axis) for shape in shapes]
    if axis_number(axis) >= 0 and len(shapes[0]) != len(shapes[1]):
        raise ValueError(
            f"vecdot: the axis {axis} of arrays of {len(shapes[0])} and {len(shapes[1])} axes: give one from the end, "
            "-1 for the last, which is the same axis of both"
        )
    if sizes[0] != sizes[1]:
        raise ValueError(f"vecdot: the axis {axis} has {sizes[0]} and {sizes[1]} items: they must be as many")
    return reduce(
        "vecdot",
        OPS["dotc" if first.dtype.kind == "c" else "dot"],
        (first, second),
        axis,
        keepdims,
        dtype=dtype,
        out=out,
        accuracy=accuracy,
        default=first.dtype,
    )


def dot(x: Any, y: Any, /, *, dtype: Any = None, out: Any = None, accuracy: str = "default") -> Any:
    """The sum of products along the last axis, of vectors as numpy.dot's. Types as of vecdot;
    nothing is conjugated. Not a product of matrices.

    >>> import numpy, tally
    >>> int(tally.dot(numpy.array([1, 2, 3]), numpy.array([4, 5, 6])))
    32
    """
    if len(view_of(y).shape) != 1 or view_of(x).shape[-1:] != view_of(y).shape:
        raise ValueError(
            "dot: the second array must be a vector as long as the first array's last axis; vecdot reduces one axis "
            "of two arrays, and a product of matrices is no reduction"
        )
    first, second = pair("dot", x, y)
    if first.dtype.kind == "b":
        raise TypeError("dot does not take items of type bool: count_nonzero of x & y counts pairs")
    return reduce(
        "dot", OPS["dot"], (first, second), -1, False, dtype=dtype, out=out, accuracy=accuracy, default=first.dtype
    )


def vdot(x: Any, y: Any, /, *, dtype: Any = None, accuracy: str = "default") -> Any:
    """The sum of products of all items of two arrays of one shape, the first conjugated: numpy.vdot.

    >>> import numpy, tally
    >>> complex(tally.vdot(numpy.array([1j]), numpy.array([2j])))
    (2+0j)
    """
    shapes = view_of(x).shape, view_of(y).shape
    if shapes[0] != shapes[1]:
        raise ValueError(f"vdot takes two arrays of one shape, not {shapes[0]} and {shapes[1]}")
    first, second = pair("vdot", x, y)
    if first.dtype.kind == "b" and dtype is None:
        raise TypeError("vdot does not take items of type bool: count_nonzero of x & y counts pairs")
    op = OPS["dotc" if first.dtype.kind == "c" else "dot"]
    return reduce(
        "vdot", op, (first, second), None, False, dtype=first.dtype if dtype is None else dtype, accuracy=accuracy
    )


def dist2(x: Any, y: Any, /, axis: Axis = None, *, keepdims: bool = False, dtype: Any = None, out: Any = None) -> Any:
    """The sum of squared differences.

    >>> import numpy, tally
    >>> float(tally.dist2(numpy.array([1.0, 2.0]), numpy.array([4.0, 6.0])))
    25.0
    """
    return reduce("dist2", OPS["dist2"], pair("dist2", x, y), axis, keepdims, dtype=dtype, out=out)


def allclose(
    x: Any, y: Any, /, rtol: float = 1e-5, atol: float = 1e-8, *, axis: Axis = None, keepdims: bool = False
) -> Any:
    """Tells whether |x - y| <= atol + rtol |y| for all items: along the axes, or as a bool for all.
    NaN is close to nothing.

    >>> import numpy, tally
    >>> tally.allclose(numpy.array([1.0, 2.0]), numpy.array([1.0, 2.0000001]))
    True
    """
    both = pair("allclose", x, y)
    params = (b"rtol", real_number("rtol", rtol)), (b"atol", real_number("atol", atol))
    result = reduce("allclose", OPS["allclose"], both, axis, keepdims, params=params)
    return bool(result) if axis is None and not keepdims and both[0].place == HOST else result
