# SPDX-License-Identifier: MIT
"""The functions of the array API and NumPy, over any array in place.

`x` is an array of any shape and strides. `axis` is None for all axes, an int or a tuple, from -n to
n - 1. `keepdims` keeps reduced axes with the extent 1. `where` is a mask of bool, int8 or uint8,
repeated to x's shape. `out` is an array for the results, of their type and shape. A result is a
scalar or an array of x's kind, on its device and stream. docs/python.md has the table of names and
types.
"""

from __future__ import annotations

from typing import Any

from tally._arrays import view_of
from tally._library import OPS, real_number
from tally._forms import single
from tally._plan import fused
from tally._reduce import Axis
from tally._view import NumpyKind


def sum(
    x: Any,
    /,
    axis: Axis = None,
    *,
    dtype: Any = None,
    out: Any = None,
    keepdims: bool = False,
    initial: Any = None,
    where: Any = None,
    accuracy: str = "default",
) -> Any:
    """The sum of the items. Integers accumulate in 64 bits; floats give their own type, float16 and
    bfloat16 accumulate in float32. accuracy: "default" or "compensated".

    >>> import numpy, tally
    >>> tally.sum(numpy.arange(6).reshape(2, 3), axis=1)
    array([ 3, 12])
    """
    return single(
        "sum",
        OPS["sum"],
        x,
        axis,
        keepdims,
        dtype=dtype,
        out=out,
        where=where,
        initial=initial,
        accuracy=accuracy,
    )


def prod(
    x: Any,
    /,
    axis: Axis = None,
    *,
    dtype: Any = None,
    out: Any = None,
    keepdims: bool = False,
    initial: Any = None,
    where: Any = None,
) -> Any:
    """The product of the items. Types as of sum.

    >>> import numpy, tally
    >>> int(tally.prod(numpy.arange(1, 6)))
    120
    """
    return single("prod", OPS["prod"], x, axis, keepdims, dtype=dtype, out=out, where=where, initial=initial)


def min(
    x: Any, /, axis: Axis = None, *, out: Any = None, keepdims: bool = False, initial: Any = None, where: Any = None
) -> Any:
    """The smallest item. NaN wins; -0 < +0. ValueError for no items, unless `initial` is given.

    >>> import numpy, tally
    >>> tally.min(numpy.array([[3, 1], [2, 5]]), axis=0)
    array([2, 1])
    """
    return single("min", OPS["min"], x, axis, keepdims, out=out, where=where, initial=initial)


def max(
    x: Any, /, axis: Axis = None, *, out: Any = None, keepdims: bool = False, initial: Any = None, where: Any = None
) -> Any:
    """The largest item. NaN wins; -0 < +0. ValueError for no items, unless `initial` is given.

    >>> import numpy, tally
    >>> tally.max(numpy.array([[3, 1], [2, 5]]), axis=-1)
    array([3, 5])
    """
    return single("max", OPS["max"], x, axis, keepdims, out=out, where=where, initial=initial)


def nanmin(
    x: Any, /, axis: Axis = None, *, out: Any = None, keepdims: bool = False, initial: Any = None, where: Any = None
) -> Any:
    """The smallest item that is no NaN; NaN where all are.

    >>> import numpy, tally
    >>> float(tally.nanmin(numpy.array([numpy.nan, 2.0, 1.0])))
    1.0
    """
    return single("nanmin", OPS["nanmin"], x, axis, keepdims, out=out, where=where, initial=initial)


def nanmax(
    x: Any, /, axis: Axis = None, *, out: Any = None, keepdims: bool = False, initial: Any = None, where: Any = None
) -> Any:
    """The largest item that is no NaN; NaN where all are.

    >>> import numpy, tally
    >>> float(tally.nanmax(numpy.array([numpy.nan, 2.0, 1.0])))
    2.0
    """
    return single("nanmax", OPS["nanmax"], x, axis, keepdims, out=out, where=where, initial=initial)


def minmax(x: Any, /, axis: Axis = None, *, keepdims: bool = False) -> "tuple[Any, Any]":
    """The smallest and the largest item, in one pass.

    >>> import numpy, tally
    >>> tuple(int(value) for value in tally.minmax(numpy.array([3, 1, 2])))
    (1, 3)
    """
    low, high = fused("minmax", ["min", "max"], x, axis, keepdims)
    return low, high


def ptp(x: Any, /, axis: Axis = None, *, keepdims: bool = False) -> Any:
    """The largest item minus the smallest, in the items' type, as NumPy's.

    >>> import numpy, tally
    >>> tally.ptp(numpy.array([[1, 5], [7, 2]]), axis=1)
    array([4, 5])
    """
    view = view_of(x)
    if view.dtype.kind == "b":
        raise TypeError("ptp does not take items of type bool: there is no difference of truth values")
    low, high = fused("ptp", ["min", "max"], x, axis, keepdims)
    if not hasattr(high, "__sub__"):
        raise TypeError(f"ptp: {type(high).__name__} has no subtraction: minmax gives both ends")
    if isinstance(view.kind, NumpyKind) and view.dtype.kind in "iu":
        with view.kind.numpy.errstate(over="ignore"):  # modulo 2^k, as of arrays
            return high - low
    return high - low


def argmin(x: Any, /, axis: Axis = None, *, out: Any = None, keepdims: bool = False) -> Any:
    """The index of the first smallest item, or of the first NaN, as int64: along the axis, or in C
    order of the reduced axes. ValueError for no items.

    >>> import numpy, tally
    >>> int(tally.argmin(numpy.array([3, 1, 2, 1])))
    1
    """
    return single("argmin", OPS["argmin"], x, axis, keepdims, out=out)


def argmax(x: Any, /, axis: Axis = None, *, out: Any = None, keepdims: bool = False) -> Any:
    """The index of the first largest item, or of the first NaN. As argmin.

    >>> import numpy, tally
    >>> tally.argmax(numpy.array([[1, 9], [8, 2]]), axis=0)
    array([1, 0])
    """
    return single("argmax", OPS["argmax"], x, axis, keepdims, out=out)


def iamax(x: Any, /, axis: Axis = None, *, out: Any = None, keepdims: bool = False) -> Any:
    """The index of the first item of the largest magnitude, from 0. As argmax; BLAS's name.

    >>> import numpy, tally
    >>> int(tally.iamax(numpy.array([1.0, -5.0, 4.0])))
    1
    """
    return single("iamax", OPS["iamax"], x, axis, keepdims, out=out)


def any(x: Any, /, axis: Axis = None, *, out: Any = None, keepdims: bool = False, where: Any = None) -> Any:
    """Tells whether any item is nonzero. NaN counts as nonzero.

    >>> import numpy, tally
    >>> tally.any(numpy.array([[0, 0], [0, 3]]), axis=1)
    array([False,  True])
    """
    return single("any", OPS["any"], x, axis, keepdims, out=out, where=where)


def all(x: Any, /, axis: Axis = None, *, out: Any = None, keepdims: bool = False, where: Any = None) -> Any:
    """Tells whether all items are nonzero. NaN counts as nonzero.

    >>> import numpy, tally
    >>> bool(tally.all(numpy.array([1, 2, 0])))
    False
    """
    return single("all", OPS["all"], x, axis, keepdims, out=out, where=where)


def count_nonzero(x: Any, /, axis: Axis = None, *, out: Any = None, keepdims: bool = False, where: Any = None) -> Any:
    """The number of nonzero items, as int64. NaN counts as nonzero.

    >>> import numpy, tally
    >>> int(tally.count_nonzero(numpy.array([1, 0, 3])))
    2
    """
    return single("count_nonzero", OPS["count_nonzero"], x, axis, keepdims, out=out, where=where)


def mean(
    x: Any,
    /,
    axis: Axis = None,
    *,
    dtype: Any = None,
    out: Any = None,
    keepdims: bool = False,
    where: Any = None,
    accuracy: str = "default",
) -> Any:
    """The arithmetic mean: of integers exact before it is rounded to float64. NaN for no items.

    >>> import numpy, tally
    >>> tally.mean(numpy.array([[1, 2], [3, 4]]), axis=0)
    array([2., 3.])
    """
    return single("mean", OPS["mean"], x, axis, keepdims, dtype=dtype, out=out, where=where, accuracy=accuracy)


def _spread(
    name: str, x: Any, axis: Axis, correction: float, dtype: Any, out: Any, keepdims: bool, where: Any
) -> Any:
    """var or std. Without a correction the op needs no parameter."""
    number = real_number("correction", correction)
    asked = None if number == 0 else number
    return single(name, OPS[name], x, axis, keepdims, dtype=dtype, out=out, where=where, correction=asked)


def var(
    x: Any,
    /,
    axis: Axis = None,
    *,
    correction: float = 0.0,
    dtype: Any = None,
    out: Any = None,
    keepdims: bool = False,
    where: Any = None,
) -> Any:
    """The variance: the squared deviations from the mean over n - correction, in one pass. NaN where
    n - correction is not positive, as the array API's; with `where`, NaN or infinity, as NumPy's.

    >>> import numpy, tally
    >>> float(tally.var(numpy.array([1.0, 2.0, 3.0]), correction=1))
    1.0
    """
    return _spread("var", x, axis, correction, dtype, out, keepdims, where)


def std(
    x: Any,
    /,
    axis: Axis = None,
    *,
    correction: float = 0.0,
    dtype: Any = None,
    out: Any = None,
    keepdims: bool = False,
    where: Any = None,
) -> Any:
    """The standard deviation: the root of the variance, whose arguments it has.

    >>> import numpy, tally
    >>> float(tally.std(numpy.array([2.0, 4.0])))
    1.0
    """
    return _spread("std", x, axis, correction, dtype, out, keepdims, where)


def logsumexp(x: Any, /, axis: Axis = None, *, keepdims: bool = False, out: Any = None, where: Any = None) -> Any:
    """The logarithm of the sum of exponentials, without overflow. SciPy's name.

    >>> import numpy, tally
    >>> float(tally.logsumexp(numpy.array([1000.0, -1000.0])))
    1000.0
    """
    return single("logsumexp", OPS["logsumexp"], x, axis, keepdims, out=out, where=where)
