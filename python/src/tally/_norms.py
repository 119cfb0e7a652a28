# SPDX-License-Identifier: MIT
"""Norms and bitwise reductions. The arguments are those of _functions.py."""

from __future__ import annotations

import contextlib
import numbers
from typing import Any, ContextManager, Optional

from tally._arrays import view_of
from tally._forms import single
from tally._library import BY_NAME, OPS, Dtype
from tally._reduce import Axis, converted, reduce
from tally._view import numpy_kind_if_here


def asum(
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
    """The sum of magnitudes; of complex items that of |re| + |im|. BLAS's name.

    >>> import numpy, tally
    >>> float(tally.asum(numpy.array([3.0, -4.0])))
    7.0
    """
    return single("asum", OPS["asum"], x, axis, keepdims, dtype=dtype, out=out, where=where, accuracy=accuracy)


def sumsq(
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
    """The sum of squares.

    >>> import numpy, tally
    >>> float(tally.sumsq(numpy.array([3.0, -4.0])))
    25.0
    """
    return single("sumsq", OPS["sumsq"], x, axis, keepdims, dtype=dtype, out=out, where=where, accuracy=accuracy)


def absmax(x: Any, /, axis: Axis = None, *, out: Any = None, keepdims: bool = False, where: Any = None) -> Any:
    """The largest magnitude; of signed integers unsigned, so that it is right for the lowest. 0 for
    no items. The library calls it amax, which is NumPy's name for max.

    >>> import numpy, tally
    >>> float(tally.absmax(numpy.array([3.0, -4.0])))
    4.0
    """
    return single("absmax", OPS["amax"], x, axis, keepdims, out=out, where=where)


def vector_norm(x: Any, /, *, axis: Axis = None, keepdims: bool = False, ord: float = 2, out: Any = None) -> Any:
    """The norm of the items along the axes: of order 2 without overflow or underflow; 1, infinity,
    -infinity or 0 (the number of nonzero items); of any other order p the sum of magnitudes to the
    power p, to the power 1 / p. Other orders than 2, and all but 1, infinity and 0 of real items,
    copy the magnitudes; so do order 1 of integers of 64 bits and infinity of bool. Integers give
    float64.

    >>> import numpy, tally
    >>> float(tally.vector_norm(numpy.array([3e200, 0.0])))
    3e+200
    """
    if ord == 2:
        return single("norm", OPS["nrm2"], x, axis, keepdims, out=out)
    view = view_of(x)
    if isinstance(ord, bool) or not isinstance(ord, numbers.Real) or ord != ord:
        raise ValueError(f"norm of order {ord!r}: an order is a number")
    names = {1: "asum", float("inf"): "amax", 0: "count_nonzero"}
    wraps = ord == 1 and view.dtype.kind in "iu" and view.dtype.bytes == 8
    if view.dtype.kind == "c" or ord not in names or wraps:
        if out is not None:
            raise ValueError(
                f"norm of order {ord!r} of {view.dtype} takes no out: orders 2, inf and 0 of real items do, and 1 of "
                "all but integers of 64 bits"
            )
        return _norm_of_copy(x, axis, keepdims, ord)
    default = view.dtype if view.dtype.kind == "f" else BY_NAME["f64"]
    if ord == float("inf") and view.dtype.kind == "b":  # whose amax is a bool, which becomes no float
        view = converted(view, BY_NAME["u8"])
    if ord == 0 and view.dtype.name in ("f16", "bf16") and out is None:  # counts are not converted to these
        counts = reduce("norm", OPS["count_nonzero"], (view,), axis, keepdims, default=BY_NAME["f32"])
        return _as(counts, view.dtype)
    return reduce("norm", OPS[names[ord]], (view,), axis, keepdims, out=out, default=default)


def _norm_of_copy(x: Any, axis: Axis, keepdims: bool, ord: float) -> Any:
    """A norm that the library has no op for: of the magnitudes, which the array's own library
    computes."""
    view = view_of(x)
    wide = BY_NAME["f64" if view.dtype.kind in "iub" or view.dtype.name in ("f64", "c128") else "f32"]
    if view.dtype.kind != "c" and view.dtype.number != wide.number:
        copy = converted(view, wide)
        result = _norm_of_copy(copy.kind.finish(copy), axis, keepdims, ord)
        return _as(result, view.dtype) if view.dtype.kind == "f" else result
    if not hasattr(x, "__abs__"):
        raise TypeError(f"norm of order {ord!r}: {type(x).__name__} has no abs(): give a NumPy array")
    magnitudes = view_of(abs(x))
    if ord in (float("inf"), float("-inf")):
        return reduce(f"norm of order {ord}", OPS["amax" if ord > 0 else "min"], (magnitudes,), axis, keepdims)
    if ord in (0, 1):
        return reduce("norm", OPS["sum" if ord else "count_nonzero"], (magnitudes,), axis, keepdims, default=wide)
    with quiet():
        powers = _as(abs(x) ** float(ord), wide)
        sums = reduce("norm", OPS["sum"], (view_of(powers),), axis, keepdims)
        return _as(sums ** (1 / float(ord)), wide)


def quiet() -> "ContextManager[Any]":
    """Lets NumPy not warn of infinities and NaN."""
    kind = numpy_kind_if_here()
    return kind.numpy.errstate(all="ignore") if kind is not None else contextlib.nullcontext()


def _as(array: Any, dtype: Dtype) -> Any:
    """The array itself if it is of that item type, else a copy that is: NumPy's scalars are float64
    after an operation with a number of Python's."""
    view = view_of(array)
    return array if view.dtype.number == dtype.number else view.kind.finish(converted(view, dtype))


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


# ---- bits ----------------------------------------------------------------------------------------


def band(
    x: Any, /, axis: Axis = None, *, out: Any = None, keepdims: bool = False, initial: Any = None, where: Any = None
) -> Any:
    """The bitwise and of the items: numpy.bitwise_and.reduce.

    >>> import numpy, tally
    >>> int(tally.band(numpy.array([6, 3])))
    2
    """
    return single("band", OPS["band"], x, axis, keepdims, out=out, where=where, initial=initial)


def bor(
    x: Any, /, axis: Axis = None, *, out: Any = None, keepdims: bool = False, initial: Any = None, where: Any = None
) -> Any:
    """The bitwise or of the items: numpy.bitwise_or.reduce.

    >>> import numpy, tally
    >>> int(tally.bor(numpy.array([6, 3])))
    7
    """
    return single("bor", OPS["bor"], x, axis, keepdims, out=out, where=where, initial=initial)


def bxor(
    x: Any, /, axis: Axis = None, *, out: Any = None, keepdims: bool = False, initial: Any = None, where: Any = None
) -> Any:
    """The bitwise exclusive or of the items: numpy.bitwise_xor.reduce.

    >>> import numpy, tally
    >>> int(tally.bxor(numpy.array([6, 3])))
    5
    """
    return single("bxor", OPS["bxor"], x, axis, keepdims, out=out, where=where, initial=initial)
