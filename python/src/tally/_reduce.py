# SPDX-License-Identifier: MIT
"""The code that the functions share: axes, types, masks, initial values, outputs."""

from __future__ import annotations

import operator
from typing import Any, Optional, Sequence, Union

from tally._arrays import view_of
from tally._context import context_of
from tally._engine import Call, Term, natural, reduce_axes
from tally._library import BY_NAME, DTYPES, AxisError, Dtype, check, dtype_of_name, ffi, lib, op_number
from tally._view import BUFFER, HOST, Kind, View, numpy_kind, pack, strides_of

Axis = Union[None, int, "tuple[int, ...]"]
_INDEX_OPS = frozenset(op_number(name) for name in ("argmin", "argmax", "iamax"))
_COUNTS = frozenset(op_number(name) for name in ("count_nonzero",)) | _INDEX_OPS
_KEEPS_FLOATS = frozenset(
    op_number(name)
    for name in ("sum", "prod", "asum", "sumsq", "nrm2", "mean", "var", "std", "logsumexp", "dot", "dotc", "dist2")
)
_TRUTHS = frozenset(op_number(name) for name in ("any", "all", "count_nonzero"))
#: the ops whose `dtype` the array API defines
_CASTS = frozenset(op_number(name) for name in ("sum", "prod"))
_PROD = op_number("prod")
_NO_VALUE_OF_NONE = frozenset(op_number(name) for name in ("min", "max", "nanmin", "nanmax", "minmax")) | _INDEX_OPS
_INT64, _FLOAT64 = BY_NAME["i64"], BY_NAME["f64"]
ACCURACIES = {"default": int(lib.TALLY_ACCURACY_DEFAULT), "compensated": int(lib.TALLY_ACCURACY_COMPENSATED)}
_RESULT = ffi.typeof("char[16]")


def axis_number(axis: Any) -> int:
    """An axis as an int."""
    try:
        return operator.index(axis)
    except TypeError:
        raise TypeError(f"axis {axis!r} is no integer") from None


def reduced_axes(axis: Any, ndim: int) -> "list[int]":
    """A flag for each axis: 1 if it is reduced, else 0."""
    if axis is None:
        return [1] * ndim
    given: Sequence[Any] = axis if isinstance(axis, (tuple, list)) else (axis,)
    flags = [0] * ndim
    for one in given:
        number = axis_number(one)
        if not -ndim <= number < ndim:
            raise AxisError(f"axis {number} is out of bounds for array of dimension {ndim}")
        number %= max(ndim, 1)
        if flags[number]:
            raise ValueError("duplicate value in 'axis'")
        flags[number] = 1
    return flags


def result_shape(shape: "tuple[int, ...]", reduced: "Sequence[int]", keepdims: bool) -> "tuple[int, ...]":
    """The shape of the results."""
    if keepdims:
        return tuple(1 if flag else extent for extent, flag in zip(shape, reduced))
    return tuple(extent for extent, flag in zip(shape, reduced) if not flag)


def broadcast_shapes(a: "tuple[int, ...]", b: "tuple[int, ...]") -> "tuple[int, ...]":
    """The shape that two arrays have when they are repeated to one."""
    if a == b:
        return a
    longest = max(len(a), len(b))
    a, b = (1,) * (longest - len(a)) + a, (1,) * (longest - len(b)) + b
    if any(x != y and x != 1 and y != 1 for x, y in zip(a, b)):
        raise ValueError(f"shapes {a} and {b} cannot be repeated to one")
    return tuple(y if x == 1 else x for x, y in zip(a, b))


def default_result(op: int, items: Dtype) -> Dtype:
    """The type of a result when the caller names none: floats give the items' own, counts and
    indices int64, all else what the library gives."""
    own, _ = natural(op, items)
    if op in _COUNTS:
        return _INT64
    if items.kind == "f" and op in _KEEPS_FLOATS:
        return items
    return own


_types_kept: "dict[Any, tuple[Dtype, int, Dtype]]" = {}


def types_of(op: int, items: Dtype, dtype: Any) -> "tuple[Dtype, int, Dtype]":
    """The op's own type of result, the number of its values, and the type that the caller wants."""
    key = (op, items.number, dtype)
    try:
        found = _types_kept.get(key)
    except TypeError:  # no hash, so no type either
        dtype_of_name(dtype)
        raise
    if found is None:
        own, values = natural(op, items)
        found = _types_kept[key] = own, values, default_result(op, items) if dtype is None else dtype_of_name(dtype)
    return found


def converts(own: Dtype, wanted: Dtype) -> bool:
    """Tells whether the library converts results so."""
    integers = "iu"
    if own.number == wanted.number or (own.kind == wanted.kind and own.kind in "fc"):
        return True
    if own.kind in integers and (wanted.kind in integers or wanted.name in ("f32", "f64")):
        return True
    return own.kind == "b" and wanted.kind in integers


def check_conversion(name: str, own: Dtype, wanted: Dtype) -> None:
    """Raises TypeError unless the library converts results so."""
    if not converts(own, wanted):
        raise TypeError(f"{name} gives {own} here, which is not converted to {wanted}: convert the array or the result")


def casts_first(op: int, items: Dtype, dtype: Any) -> bool:
    """Tells whether a sum or product casts its items to `dtype`, as the array API says: where the
    library has no such result, and for products of integers that are to be floats, which soon pass
    2^64. Nothing is cast to bool, or from complex to real."""
    if dtype is None or op not in _CASTS:
        return False
    own, _, wanted = types_of(op, items, dtype)
    if op == _PROD and own.kind in "iu" and wanted.kind == "f":
        return True
    return not (converts(own, wanted) or wanted.kind == "b" or (own.kind == "c" and wanted.kind != "c"))


def cast_first(op: int, view: View, dtype: Any) -> View:
    """The items, of the type `dtype` where they are cast to it."""
    return converted(view, dtype_of_name(dtype)) if casts_first(op, view.dtype, dtype) else view


def mask_view(where: Any, view: View) -> Optional[View]:
    """The mask, repeated to the array's shape. None for True."""
    if where is None or where is True:
        return None
    if where is False:
        where = bytearray(1)
        return View(
            where, int(ffi.cast("intptr_t", ffi.from_buffer(where))), BY_NAME["bool"], (), (), BUFFER
        ).broadcast(view.shape, "where")
    mask = view_of(where, "where")
    if mask.dtype.name not in ("bool", "u8"):
        raise TypeError(f"where has items of type {mask.dtype}: it must be a mask of bool")
    return mask.broadcast(view.shape, "where")


def output_view(out: Any, shape: "tuple[int, ...]", inputs: "Sequence[Optional[View]]") -> View:
    """The view of an output of the caller's."""
    if isinstance(out, tuple) and len(out) == 1:
        out = out[0]
    view = view_of(out, "out")
    if view.readonly:
        raise ValueError(
            "out cannot be written in place: it is read-only, or its items are byte-swapped or not aligned"
        )
    if view.shape != shape:
        raise ValueError(f"out has the shape {view.shape}: the results have {shape}")
    for other in inputs:
        if other is not None and _meet(view, other):
            raise ValueError("out overlaps an input: give memory of its own")
    return view


def _is_wider_float(dtype: Dtype, than: Dtype) -> bool:
    """Tells whether floats of the type hold those of the other and are larger."""
    return dtype.kind == than.kind == "f" and dtype.bytes > than.bytes


def span(view: View) -> "tuple[int, int]":
    """The first byte of a view and the one behind its last."""
    first = last = view.address + view.offset
    if 0 in view.shape:
        return first, first
    for extent, stride in zip(view.shape, view.strides):
        if stride < 0:
            first += stride * (extent - 1)
        else:
            last += stride * (extent - 1)
    return first, last + view.dtype.bytes


def _meet(a: View, b: View) -> bool:
    a_first, a_last = span(a)
    b_first, b_last = span(b)
    return a.place == b.place and a_first < b_last and b_first < a_last


def refuse_empty(name: str, shape: "tuple[int, ...]", reduced: "Sequence[int]") -> None:
    """Raises ValueError, as NumPy, where a reduced axis has no items: also where there are no results."""
    if any(flag and not extent for flag, extent in zip(reduced, shape)):
        if name.startswith(("arg", "iamax")):
            raise ValueError(f"attempt to get {name} of an empty sequence")
        raise ValueError(f"zero-size array to reduction operation {name} which has no identity")


def reduce(
    name: str,
    op: int,
    inputs: "Sequence[View]",
    axis: Axis,
    keepdims: bool,
    *,
    dtype: Any = None,
    out: Any = None,
    where: Any = None,
    initial: Any = None,
    accuracy: str = "default",
    params: "tuple[tuple[bytes, float], ...]" = (),
    default: Any = None,
) -> Any:
    """One built-in op along axes. default: the results' type without `dtype`; None: the op's."""
    view = inputs[0]
    if dtype is not None and op in _CASTS:
        view = cast_first(op, view, dtype)
        inputs = (view,)
    if view.dtype.kind == "c" and op in _TRUTHS:  # the library's ops of truth take real items
        view = converted(view, BY_NAME["bool"])
        inputs = (view,)
    items = view.dtype
    own, values, wanted = types_of(op, items, default if dtype is None else dtype)
    reduced = reduced_axes(axis, len(view.shape))
    if (
        (axis is None or 0 not in reduced)
        and out is None
        and where is None
        and initial is None
        and not params
        and wanted.bytes == own.bytes
        and dtype is None
        and default is None
        and accuracy == "default"
        and not keepdims
        and view.place == HOST
        and len(inputs) == 1
        and values == 1
        and view.size
        and view.is_contiguous()
    ):
        return _whole(op, view, wanted)
    shape = result_shape(view.shape, reduced, keepdims)
    mask = mask_view(where, view)
    if op in _NO_VALUE_OF_NONE and initial is None:
        if 0 in view.shape:
            refuse_empty(name, view.shape, reduced)
        if mask is not None and op not in _INDEX_OPS:
            raise ValueError(
                f"reduction operation '{name}' does not have an identity, so to use a where mask one has to specify "
                "'initial'"
            )
    given = None if out is None else output_view(out, shape, (*inputs, mask))
    if given is not None and dtype is None and _is_wider_float(given.dtype, wanted):
        wanted = given.dtype
    if given is not None and given.dtype.number != wanted.number:
        raise TypeError(f"out has items of type {given.dtype}: the results have {wanted}")
    if accuracy not in ACCURACIES:
        raise ValueError(f"accuracy '{accuracy}' is none of {', '.join(ACCURACIES)}")
    call = call_of(name, op, inputs, own, values, wanted, reduced, mask, initial, ACCURACIES[accuracy], params)
    return _run(call, shape, wanted, given, out)


def _whole(op: int, view: View, wanted: Dtype) -> Any:
    """All items of a host array, which are neighbours: the library's shortest way."""
    if not view.kind.has_scalars:
        made = view.kind.empty(view, (), wanted)
        check(
            lib.tally_python_whole(
                context_of(view).address, op, view.dtype.number, view.address, view.size, made.address
            )
        )
        return view.kind.finish(made)
    result = ffi.new(_RESULT)
    check(
        lib.tally_python_whole(
            context_of(view).address, op, view.dtype.number, view.address, view.size, int(ffi.cast("uintptr_t", result))
        )
    )
    return view.kind.scalar(result, wanted)


def call_of(
    name: str,
    op: int,
    inputs: "Sequence[View]",
    own: Dtype,
    values: int,
    wanted: Dtype,
    reduced: "Sequence[int]",
    mask: Optional[View],
    initial: Any,
    accuracy: int,
    params: "tuple[tuple[bytes, float], ...]",
) -> Call:
    """The call, whose output is still to be made. On the backend host, which has no other types
    than an op's own, the items are converted instead."""
    items = inputs[0].dtype
    is_same = own.number == wanted.number or (op in _COUNTS and wanted.number == _INT64.number)
    acc = 0
    if not is_same:
        check_conversion(name, own, wanted)
        # float64 sums of float32 accumulate in float64, as NumPy's.
        if wanted.name in ("f64", "c128") and items.kind in "fc" and op in _KEEPS_FLOATS:
            acc = _FLOAT64.number
    if not is_same and context_of(inputs[0]).is_host_backend and inputs[0].place == HOST:
        if acc:
            inputs = [converted(view, wanted) for view in inputs]
        acc, is_same = 0, True
    term = Term(op, 0 if is_same else wanted.number, acc, accuracy)
    packed = None if initial is None else pack(initial, wanted if term.out else natural(op, inputs[0].dtype)[0])
    return Call((term,), inputs, reduced, mask, packed, params, (), values)


def written_by(call: Call, wanted: Dtype) -> Dtype:
    """The type of result that the library writes."""
    op = call.terms[0].op
    if op in _COUNTS and wanted.number == _INT64.number:
        return wanted  # the same bytes: 2^64 - 1 is -1
    return DTYPES[call.terms[0].out] if call.terms[0].out else natural(op, call.inputs[0].dtype)[0]


def converted(view: View, dtype: Dtype) -> View:
    """A copy of another item type."""
    made = view.kind.convert(view, dtype)
    if made is None:
        raise TypeError(f"a {view.kind.name} of {view.dtype} is not converted to {dtype} here: convert it first")
    return made


def _run(call: Call, shape: "tuple[int, ...]", wanted: Dtype, given: Optional[View], out: Any) -> Any:
    """Makes the outputs and runs the call."""
    kind: Kind = call.inputs[0].kind
    own = written_by(call, wanted)
    full = (*shape, call.values) if call.values > 1 else shape
    if own.number == wanted.number:
        made = given or kind.empty(call.inputs[0], full, wanted)
        call.outputs = (made,)
        reduce_axes(call)
        return out if given is not None else kind.finish(made)
    # The backend host: converted afterwards.
    made = kind.empty(call.inputs[0], full, own)
    call.outputs = (made,)
    reduce_axes(call)
    last = converted(made, wanted)
    if given is None:
        return kind.finish(last)
    if given.is_contiguous():
        ffi.memmove(ffi.cast("void *", given.address), ffi.cast("void *", last.address), given.size * wanted.bytes)
    else:
        numpy_kind().array_of(given, True)[...] = numpy_kind().array_of(last, True)
    return out


def reduce_terms(
    terms: "Sequence[Term]",
    types: "Sequence[Dtype]",
    inputs: "Sequence[View]",
    axis: Axis,
    keepdims: bool,
    where: Any = None,
    values: int = 1,
    params: "tuple[tuple[bytes, float], ...]" = (),
    initial: Optional[bytes] = None,
) -> "list[Any]":
    """Several ops, or one's own, in one pass: a result for each."""
    view = inputs[0]
    reduced = reduced_axes(axis, len(view.shape))
    shape = result_shape(view.shape, reduced, keepdims)
    mask = mask_view(where, view)
    outputs = [view.kind.empty(view, (*shape, values) if values > 1 else shape, dtype) for dtype in types]
    reduce_axes(Call(tuple(terms), inputs, reduced, mask, initial, params, outputs, values))
    return [view.kind.finish(output) for output in outputs]


__all__ = ["Axis", "pack", "reduce", "reduce_terms", "view_of", "strides_of"]
