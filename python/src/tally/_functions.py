# SPDX-License-Identifier: MIT
"""The functions of the array API and NumPy, over any array in place.

`x` is an array of any shape and strides; `axis` is None for all axes, an int or a tuple, from -n to
n - 1; `keepdims` keeps reduced axes with the extent 1; `where` is a mask of bool, repeated to x's
shape; `out` is an array for the results, of their type and shape. A result is a scalar or an array
of x's kind, on its device and stream. docs/python.md has the table of names and types.
"""
from __future__ import annotations

from typing import Any, Optional

from tally._library import BY_NAME, op_number
from tally._reduce import Axis, broadcast_shapes, converted, reduce
from tally._arrays import view_of
from tally._view import HOST, View, numpy_kind

_O = {name: op_number(name) for name in (
    "sum", "prod", "min", "max", "nanmin", "nanmax", "argmin", "argmax", "minmax", "any", "all", "count_nonzero", "band", "bor",
    "bxor", "asum", "sumsq", "nrm2", "amax", "iamax", "mean", "var", "std", "logsumexp", "dot", "dotc", "dist2", "allclose")}


def sum(x: Any, /, axis: Axis = None, *, dtype: Any = None, out: Any = None, keepdims: bool = False, initial: Any = None,
        where: Any = None, accuracy: str = "default") -> Any:
    """The sum of the items. Integers accumulate in 64 bits; floats give their own type, float16 and
    bfloat16 accumulate in float32. accuracy: "default" or "compensated".

    >>> import numpy, tally
    >>> tally.sum(numpy.arange(6).reshape(2, 3), axis=1)
    array([ 3, 12])
    """
    return reduce("sum", _O["sum"], (view_of(x),), axis, keepdims, dtype=dtype, out=out, where=where, initial=initial,
                  accuracy=accuracy)


def prod(x: Any, /, axis: Axis = None, *, dtype: Any = None, out: Any = None, keepdims: bool = False, initial: Any = None,
         where: Any = None) -> Any:
    """The product of the items. Types as of sum.

    >>> import numpy, tally
    >>> int(tally.prod(numpy.arange(1, 6)))
    120
    """
    return reduce("prod", _O["prod"], (view_of(x),), axis, keepdims, dtype=dtype, out=out, where=where, initial=initial)


def min(x: Any, /, axis: Axis = None, *, out: Any = None, keepdims: bool = False, initial: Any = None, where: Any = None) -> Any:
    """The smallest item. NaN wins; -0 < +0. ValueError for no items, unless `initial` is given.

    >>> import numpy, tally
    >>> tally.min(numpy.array([[3, 1], [2, 5]]), axis=0)
    array([2, 1])
    """
    return reduce("min", _O["min"], (view_of(x),), axis, keepdims, out=out, where=where, initial=initial)


def max(x: Any, /, axis: Axis = None, *, out: Any = None, keepdims: bool = False, initial: Any = None, where: Any = None) -> Any:
    """The largest item. NaN wins; -0 < +0. ValueError for no items, unless `initial` is given.

    >>> import numpy, tally
    >>> tally.max(numpy.array([[3, 1], [2, 5]]), axis=-1)
    array([3, 5])
    """
    return reduce("max", _O["max"], (view_of(x),), axis, keepdims, out=out, where=where, initial=initial)


def nanmin(x: Any, /, axis: Axis = None, *, out: Any = None, keepdims: bool = False, initial: Any = None,
           where: Any = None) -> Any:
    """The smallest item that is no NaN; NaN where all are.

    >>> import numpy, tally
    >>> float(tally.nanmin(numpy.array([numpy.nan, 2.0, 1.0])))
    1.0
    """
    return reduce("nanmin", _O["nanmin"], (view_of(x),), axis, keepdims, out=out, where=where, initial=initial)


def nanmax(x: Any, /, axis: Axis = None, *, out: Any = None, keepdims: bool = False, initial: Any = None,
           where: Any = None) -> Any:
    """The largest item that is no NaN; NaN where all are.

    >>> import numpy, tally
    >>> float(tally.nanmax(numpy.array([numpy.nan, 2.0, 1.0])))
    2.0
    """
    return reduce("nanmax", _O["nanmax"], (view_of(x),), axis, keepdims, out=out, where=where, initial=initial)


def minmax(x: Any, /, axis: Axis = None, *, keepdims: bool = False) -> "tuple[Any, Any]":
    """The smallest and the largest item, in one pass.

    >>> import numpy, tally
    >>> tuple(int(value) for value in tally.minmax(numpy.array([3, 1, 2])))
    (1, 3)
    """
    view = view_of(x)
    both = reduce("minmax", _O["minmax"], (view,), axis, keepdims)
    if len(both.shape) == 1:
        return both[0], both[1]
    if isinstance(both, memoryview):
        raise TypeError("minmax and ptp of a buffer give no arrays: give a NumPy array, or axis=None")
    return both[..., 0], both[..., 1]


def ptp(x: Any, /, axis: Axis = None, *, keepdims: bool = False) -> Any:
    """The largest item minus the smallest, in the items' type, as NumPy's.

    >>> import numpy, tally
    >>> tally.ptp(numpy.array([[1, 5], [7, 2]]), axis=1)
    array([4, 5])
    """
    if view_of(x).dtype.kind == "b":
        raise TypeError("ptp does not take items of type bool: there is no difference of truth values")
    low, high = minmax(x, axis, keepdims=keepdims)
    return high - low


def argmin(x: Any, /, axis: Axis = None, *, out: Any = None, keepdims: bool = False) -> Any:
    """The index of the first smallest item, or of the first NaN, as int64: along the axis, or in C order
    of the reduced axes. ValueError for no items.

    >>> import numpy, tally
    >>> int(tally.argmin(numpy.array([3, 1, 2, 1])))
    1
    """
    return reduce("argmin", _O["argmin"], (view_of(x),), axis, keepdims, out=out)


def argmax(x: Any, /, axis: Axis = None, *, out: Any = None, keepdims: bool = False) -> Any:
    """The index of the first largest item, or of the first NaN. As argmin.

    >>> import numpy, tally
    >>> tally.argmax(numpy.array([[1, 9], [8, 2]]), axis=0)
    array([1, 0])
    """
    return reduce("argmax", _O["argmax"], (view_of(x),), axis, keepdims, out=out)


def iamax(x: Any, /, axis: Axis = None, *, out: Any = None, keepdims: bool = False) -> Any:
    """The index of the first item of the largest magnitude, from 0. As argmax; BLAS's name.

    >>> import numpy, tally
    >>> int(tally.iamax(numpy.array([1.0, -5.0, 4.0])))
    1
    """
    return reduce("iamax", _O["iamax"], (view_of(x),), axis, keepdims, out=out)


def any(x: Any, /, axis: Axis = None, *, out: Any = None, keepdims: bool = False, where: Any = None) -> Any:
    """Tells whether any item is nonzero. NaN is.

    >>> import numpy, tally
    >>> tally.any(numpy.array([[0, 0], [0, 3]]), axis=1)
    array([False,  True])
    """
    return reduce("any", _O["any"], (_truth(view_of(x)),), axis, keepdims, out=out, where=where)


def all(x: Any, /, axis: Axis = None, *, out: Any = None, keepdims: bool = False, where: Any = None) -> Any:
    """Tells whether all items are nonzero. NaN is.

    >>> import numpy, tally
    >>> bool(tally.all(numpy.array([1, 2, 0])))
    False
    """
    return reduce("all", _O["all"], (_truth(view_of(x)),), axis, keepdims, out=out, where=where)


def count_nonzero(x: Any, /, axis: Axis = None, *, out: Any = None, keepdims: bool = False, where: Any = None) -> Any:
    """The number of nonzero items, as int64. NaN is nonzero.

    >>> import numpy, tally
    >>> int(tally.count_nonzero(numpy.array([1, 0, 3])))
    2
    """
    return reduce("count_nonzero", _O["count_nonzero"], (_truth(view_of(x)),), axis, keepdims, out=out, where=where)


def _truth(view: View) -> View:
    """Complex items as truth values: a copy, since the library's ops of truth take real items."""
    return converted(view, BY_NAME["bool"]) if view.dtype.kind == "c" else view


def mean(x: Any, /, axis: Axis = None, *, dtype: Any = None, out: Any = None, keepdims: bool = False, where: Any = None,
         accuracy: str = "default") -> Any:
    """The arithmetic mean: of integers exact before it is rounded to float64. NaN for no items.

    >>> import numpy, tally
    >>> tally.mean(numpy.array([[1, 2], [3, 4]]), axis=0)
    array([2., 3.])
    """
    return reduce("mean", _O["mean"], (view_of(x),), axis, keepdims, dtype=dtype, out=out, where=where, accuracy=accuracy)


def var(x: Any, /, axis: Axis = None, *, correction: float = 0.0, dtype: Any = None, out: Any = None, keepdims: bool = False,
        where: Any = None) -> Any:
    """The variance: the squared deviations from the mean over n - correction, in one pass.

    >>> import numpy, tally
    >>> float(tally.var(numpy.array([1.0, 2.0, 3.0]), correction=1))
    1.0
    """
    return reduce("var", _O["var"], (view_of(x),), axis, keepdims, dtype=dtype, out=out, where=where,
                  params=((b"ddof", float(correction)),))


def std(x: Any, /, axis: Axis = None, *, correction: float = 0.0, dtype: Any = None, out: Any = None, keepdims: bool = False,
        where: Any = None) -> Any:
    """The standard deviation: the root of the variance.

    >>> import numpy, tally
    >>> float(tally.std(numpy.array([2.0, 4.0])))
    1.0
    """
    return reduce("std", _O["std"], (view_of(x),), axis, keepdims, dtype=dtype, out=out, where=where,
                  params=((b"ddof", float(correction)),))


def logsumexp(x: Any, /, axis: Axis = None, *, keepdims: bool = False, out: Any = None, where: Any = None) -> Any:
    """The logarithm of the sum of exponentials, without overflow. SciPy's name.

    >>> import numpy, tally
    >>> float(tally.logsumexp(numpy.array([1000.0, -1000.0])))
    1000.0
    """
    return reduce("logsumexp", _O["logsumexp"], (view_of(x),), axis, keepdims, out=out, where=where)


# ---- norms -----------------------------------------------------------------------------------------


def asum(x: Any, /, axis: Axis = None, *, dtype: Any = None, out: Any = None, keepdims: bool = False, where: Any = None,
         accuracy: str = "default") -> Any:
    """The sum of magnitudes; of complex items that of |re| + |im|. BLAS's name.

    >>> import numpy, tally
    >>> float(tally.asum(numpy.array([3.0, -4.0])))
    7.0
    """
    return reduce("asum", _O["asum"], (view_of(x),), axis, keepdims, dtype=dtype, out=out, where=where, accuracy=accuracy)


def sumsq(x: Any, /, axis: Axis = None, *, dtype: Any = None, out: Any = None, keepdims: bool = False, where: Any = None,
          accuracy: str = "default") -> Any:
    """The sum of squares.

    >>> import numpy, tally
    >>> float(tally.sumsq(numpy.array([3.0, -4.0])))
    25.0
    """
    return reduce("sumsq", _O["sumsq"], (view_of(x),), axis, keepdims, dtype=dtype, out=out, where=where, accuracy=accuracy)


def absmax(x: Any, /, axis: Axis = None, *, out: Any = None, keepdims: bool = False, where: Any = None) -> Any:
    """The largest magnitude; of signed integers unsigned, so that it is right for the lowest. 0 for no
    items. The library calls it amax, which is NumPy's name for max.

    >>> import numpy, tally
    >>> float(tally.absmax(numpy.array([3.0, -4.0])))
    4.0
    """
    return reduce("amax", _O["amax"], (view_of(x),), axis, keepdims, out=out, where=where)


def vector_norm(x: Any, /, *, axis: Axis = None, keepdims: bool = False, ord: float = 2, out: Any = None) -> Any:
    """The norm of the items along the axes: of order 2 without overflow or underflow, 1, infinity or 0
    (the number of nonzero items). Integers give float64.

    >>> import numpy, tally
    >>> float(tally.vector_norm(numpy.array([3e200, 0.0])))
    3e+200
    """
    view = view_of(x)
    if ord == 2:
        return reduce("norm", _O["nrm2"], (view,), axis, keepdims, out=out)
    names = {1: "asum", float("inf"): "amax", 0: "count_nonzero"}
    if ord not in names:
        raise ValueError(f"norm of order {ord!r}: there are 2, 1, inf and 0")
    if view.dtype.kind == "c":
        raise TypeError(f"norm of order {ord!r} does not take items of type {view.dtype}: order 2 does")
    dtype = None if out is not None else view.dtype if view.dtype.kind == "f" else "float64"
    if ord == 0 and view.dtype.kind == "f":
        dtype = None if out is not None else view.dtype if view.dtype.name in ("f32", "f64") else "float32"
    return reduce("norm", _O[names[ord]], (view,), axis, keepdims, dtype=dtype, out=out)


def norm(x: Any, /, ord: Optional[float] = None, axis: Axis = None, *, keepdims: bool = False, out: Any = None) -> Any:
    """The norm of vectors, as numpy.linalg.norm's: of all items by default. There are no norms of
    matrices but Frobenius's, which is that of all items.

    >>> import numpy, tally
    >>> tally.norm(numpy.array([[3.0, 4.0], [6.0, 8.0]]), axis=1)
    array([ 5., 10.])
    """
    if isinstance(axis, tuple) and len(axis) == 2 and ord is not None:
        raise ValueError("norm: of two axes there is the order None alone, Frobenius's")
    return vector_norm(x, axis=axis, keepdims=keepdims, ord=2 if ord is None else ord, out=out)


# ---- bits ------------------------------------------------------------------------------------------


def band(x: Any, /, axis: Axis = None, *, out: Any = None, keepdims: bool = False, initial: Any = None, where: Any = None) -> Any:
    """The bitwise and of the items: numpy.bitwise_and.reduce.

    >>> import numpy, tally
    >>> int(tally.band(numpy.array([6, 3])))
    2
    """
    return reduce("band", _O["band"], (view_of(x),), axis, keepdims, out=out, where=where, initial=initial)


def bor(x: Any, /, axis: Axis = None, *, out: Any = None, keepdims: bool = False, initial: Any = None, where: Any = None) -> Any:
    """The bitwise or of the items: numpy.bitwise_or.reduce.

    >>> import numpy, tally
    >>> int(tally.bor(numpy.array([6, 3])))
    7
    """
    return reduce("bor", _O["bor"], (view_of(x),), axis, keepdims, out=out, where=where, initial=initial)


def bxor(x: Any, /, axis: Axis = None, *, out: Any = None, keepdims: bool = False, initial: Any = None, where: Any = None) -> Any:
    """The bitwise exclusive or of the items: numpy.bitwise_xor.reduce.

    >>> import numpy, tally
    >>> int(tally.bxor(numpy.array([6, 3])))
    5
    """
    return reduce("bxor", _O["bxor"], (view_of(x),), axis, keepdims, out=out, where=where, initial=initial)


# ---- two inputs ------------------------------------------------------------------------------------


def pair(name: str, x: Any, y: Any) -> "tuple[View, View]":
    """Two arrays of one type and shape. NumPy's are converted to their common type."""
    first, second = view_of(x), view_of(y)
    if first.dtype.number != second.dtype.number:
        if first.place != HOST or first.kind.name != "NumPy array" or second.kind.name != first.kind.name:
            raise TypeError(f"{name} takes two arrays of one type, not {first.dtype} and {second.dtype}")
        numpy = numpy_kind()
        common = numpy.numpy.result_type(numpy.dtype(first.dtype), numpy.dtype(second.dtype)).name
        first, second = (v if v.dtype.long_name == common else converted(v, BY_NAME[common]) for v in (first, second))
    shape = broadcast_shapes(first.shape, second.shape)
    return first.broadcast(shape, "x"), second.broadcast(shape, "y")


def vecdot(x: Any, y: Any, /, *, axis: int = -1, keepdims: bool = False, dtype: Any = None, out: Any = None,
           accuracy: str = "default") -> Any:
    """The sum of products along one axis, the first array conjugated, as the array API's: of integers in
    the items' type unless `dtype` says otherwise.

    >>> import numpy, tally
    >>> tally.vecdot(numpy.array([[1, 2], [3, 4]]), numpy.array([1, 1]))
    array([3, 7])
    """
    first, second = pair("vecdot", x, y)
    sizes = [(given.shape[axis] if -len(given.shape) <= axis < len(given.shape) else 0) for given in (view_of(x), view_of(y))]
    if first.dtype.kind == "b":
        raise TypeError("vecdot does not take items of type bool: count_nonzero of x & y counts pairs")
    if sizes[0] != sizes[1]:
        raise ValueError(f"vecdot: the axis {axis} has {sizes[0]} and {sizes[1]} items: they must be as many")
    if dtype is None and out is None:
        dtype = first.dtype
    return reduce("vecdot", _O["dotc" if first.dtype.kind == "c" else "dot"], (first, second), axis, keepdims, dtype=dtype,
                  out=out, accuracy=accuracy)


def dot(x: Any, y: Any, /, *, dtype: Any = None, out: Any = None, accuracy: str = "default") -> Any:
    """The sum of products along the last axis, of vectors as numpy.dot's. Types as of vecdot; nothing is
    conjugated. Not a product of matrices.

    >>> import numpy, tally
    >>> int(tally.dot(numpy.array([1, 2, 3]), numpy.array([4, 5, 6])))
    32
    """
    first, second = pair("dot", x, y)
    if first.dtype.kind == "b":
        raise TypeError("dot does not take items of type bool: count_nonzero of x & y counts pairs")
    if len(view_of(y).shape) != 1 or view_of(x).shape[-1:] != view_of(y).shape:
        raise ValueError("dot: the second array must be a vector as long as the first array's last axis; vecdot reduces one axis "
                         "of two arrays, and a product of matrices is no reduction")
    if dtype is None and out is None:
        dtype = first.dtype
    return reduce("dot", _O["dot"], (first, second), -1, False, dtype=dtype, out=out, accuracy=accuracy)


def vdot(x: Any, y: Any, /, *, dtype: Any = None, accuracy: str = "default") -> Any:
    """The sum of products of all items, the first array conjugated: numpy.vdot.

    >>> import numpy, tally
    >>> complex(tally.vdot(numpy.array([1j]), numpy.array([2j])))
    (2+0j)
    """
    first, second = pair("vdot", x, y)
    op = _O["dotc" if first.dtype.kind == "c" else "dot"]
    return reduce("vdot", op, (first, second), None, False, dtype=first.dtype if dtype is None else dtype, accuracy=accuracy)


def dist2(x: Any, y: Any, /, axis: Axis = None, *, keepdims: bool = False, dtype: Any = None, out: Any = None) -> Any:
    """The sum of squared differences.

    >>> import numpy, tally
    >>> float(tally.dist2(numpy.array([1.0, 2.0]), numpy.array([4.0, 6.0])))
    25.0
    """
    return reduce("dist2", _O["dist2"], pair("dist2", x, y), axis, keepdims, dtype=dtype, out=out)


def allclose(x: Any, y: Any, /, rtol: float = 1e-5, atol: float = 1e-8, *, axis: Axis = None, keepdims: bool = False) -> Any:
    """Tells whether |x - y| <= atol + rtol |y| for all items: along the axes, or as a bool for all. NaN is
    close to nothing.

    >>> import numpy, tally
    >>> tally.allclose(numpy.array([1.0, 2.0]), numpy.array([1.0, 2.0000001]))
    True
    """
    both = pair("allclose", x, y)
    result = reduce("allclose", _O["allclose"], both, axis, keepdims, params=((b"rtol", float(rtol)), (b"atol", float(atol))))
    return bool(result) if axis is None and not keepdims and both[0].place == HOST else result
