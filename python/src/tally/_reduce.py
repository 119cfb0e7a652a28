# SPDX-License-Identifier: MIT
"""The code that the functions share: axes, types, masks, initial values, outputs."""

from __future__ import annotations

import operator
from typing import Any, Optional, Sequence, SupportsIndex, Tuple, Union

from tally._arrays import view_of
from tally._context import context_of
from tally._engine import Call, Term, natural, reduce_axes
from tally._library import BY_NAME, DTYPES, MASKS, AxisError, Dtype, check, dtype_of_name, ffi, lib, op_number
from tally._results import initial_bytes, is_wider_float, output_of, output_view
from tally._view import BUFFER, HOST, View, as_copy

#: an integer of any library, NumPy's too
Axis = Union[None, SupportsIndex, Tuple[SupportsIndex, ...]]
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


def types_of(op: int, items: Dtype, dtype: Any, name: str = "") -> "tuple[Dtype, int, Dtype]":
    """The op's own type of result, the number of its values, and the type that the caller wants."""
    key = (op, items.number, dtype)
    try:
        found = _types_kept.get(key)
    except TypeError:  # no hash, so no type either
        dtype_of_name(dtype)
        raise
    if found is None:
        own, values = natural(op, items, name)
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


def as_read(ops: "Sequence[int]", views: "Sequence[View]") -> "Sequence[View]":
    """The arrays as the library's ops read them. Ops of truth take real items: complex ones become
    truth values, if all ops of the call are such."""
    if views[0].dtype.kind == "c" and all(op in _TRUTHS for op in ops):
        return [converted(view, BY_NAME["bool"]) for view in views]
    return views


def _false(view: View) -> View:
    """A mask of one item, False, where the array is: on a device `any` of no items."""
    if view.place == HOST:
        return BUFFER.empty(view, (), BY_NAME["bool"])  # of zeros
    made = view.kind.empty(view, (), BY_NAME["bool"])
    none = view.like((0,), (1,))
    none.dtype = BY_NAME["bool"]
    reduce_axes(Call((Term(op_number("any"), 0, 0, 0),), (none,), [1], None, None, (), (made,), 1))
    return made


def mask_view(where: Any, view: View) -> Optional[View]:
    """The mask, repeated to the array's shape. None for True."""
    if where is None or where is True:
        return None
    mask = _false(view) if where is False else view_of(where, "where")
    if mask.dtype.name not in MASKS:
        raise TypeError(f"where has items of type {mask.dtype}: it must be a mask of bool")
    return mask.broadcast(view.shape, "where")


def refuse_empty(name: str, shape: "tuple[int, ...]", reduced: "Sequence[int]") -> None:
    """Raises ValueError, as NumPy, where a reduced axis has no items: also where there are no results."""
    if any(flag and not extent for flag, extent in zip(reduced, shape)):
        if name.startswith(("arg", "iamax")):
            raise ValueError(f"attempt to get {name} of an empty sequence")
        raise ValueError(f"zero-size array to reduction operation {name} which has no identity")


def _refuse_none(name: str, op: int, view: View, reduced: "Sequence[int]", mask: Optional[View]) -> None:
    """Raises ValueError, as NumPy, where an op without a value for no items may have none."""
    if 0 in view.shape:
        refuse_empty(name, view.shape, reduced)
    if mask is not None and op not in _INDEX_OPS:
        raise ValueError(
            f"reduction operation '{name}' does not have an identity, so to use a where mask one has to specify "
            "'initial'"
        )


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
    inputs = as_read((op,), inputs)
    if dtype is not None and op in _CASTS:
        inputs = (cast_first(op, inputs[0], dtype),)
    view = inputs[0]
    items = view.dtype
    own, values, wanted = types_of(op, items, default if dtype is None else dtype, name)
    if dtype is not None:
        view.kind.check_dtype(wanted)
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
        _refuse_none(name, op, view, reduced, mask)
    given = None if out is None else output_view(out, shape)
    if given is not None and dtype is None and is_wider_float(given.dtype, wanted):
        wanted = given.dtype
    if given is not None and given.dtype.number != wanted.number:
        raise TypeError(f"out has items of type {given.dtype}: the results have {wanted}")
    if accuracy not in ACCURACIES:
        raise ValueError(f"accuracy '{accuracy}' is none of {', '.join(ACCURACIES)}")
    call = call_of(name, op, inputs, wanted, reduced, mask, initial, ACCURACIES[accuracy], params, values)
    written = written_by(call.terms[0], call.inputs[0].dtype, wanted)
    full = (*shape, values) if values > 1 else shape
    output = output_of(view, full, written, wanted, given, (*call.inputs, mask))
    call.outputs = (output.written,)
    reduce_axes(call)
    output.settle()
    return view.kind.finish(output.results) if given is None else out


def call_of(
    name: str,
    op: int,
    inputs: "Sequence[View]",
    wanted: Dtype,
    reduced: "Sequence[int]",
    mask: Optional[View],
    initial: Any,
    accuracy: int,
    params: "tuple[tuple[bytes, float], ...]",
    values: int = 1,
) -> Call:
    """The call of one op, whose output is still to be made."""
    term, wide = term_of(name, op, inputs[0], wanted, accuracy)
    if wide is not None:
        inputs = [converted(view, wide) for view in inputs]
    packed = None
    if initial is not None:
        items = inputs[0].dtype
        packed = initial_bytes(initial, wanted, natural(op, items)[0], written_by(term, items, wanted))
    return Call((term,), inputs, reduced, mask, packed, params, (), values)


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


def is_on_host(view: View) -> bool:
    """Tells whether the backend host reduces the array. It has no other types than an op's own:
    items are converted before, results afterwards."""
    return view.place == HOST and context_of(view).is_host_backend


def term_of(name: str, op: int, view: View, wanted: Dtype, accuracy: int) -> "tuple[Term, Optional[Dtype]]":
    """The term of an op whose results are to be `wanted`, and the type that its items are to be
    converted to, None for their own. Raises TypeError unless there are such results."""
    items = view.dtype
    own = natural(op, items, name)[0]
    if own.number == wanted.number or (op in _COUNTS and wanted.number == _INT64.number):
        return Term(op, 0, 0, accuracy), None
    if op in _INDEX_OPS:
        raise TypeError(f"{name} gives an index, which is uint64 or int64, not {wanted}")
    check_conversion(name, own, wanted)
    # float64 sums of float32 accumulate in float64, as NumPy's.
    is_wide = wanted.name in ("f64", "c128") and items.kind in "fc" and op in _KEEPS_FLOATS
    if is_on_host(view):
        wide = BY_NAME["f64" if items.kind == "f" else "c128"]
        return Term(op, 0, 0, accuracy), wide if is_wide and items.number != wide.number else None
    return Term(op, wanted.number, _FLOAT64.number if is_wide else 0, accuracy), None


def written_by(term: Term, items: Dtype, wanted: Dtype) -> Dtype:
    """The type of result that the library writes for a built-in op."""
    if term.op in _COUNTS and wanted.number == _INT64.number:
        return wanted  # the same bytes: 2^64 - 1 is -1
    return DTYPES[term.out] if term.out else natural(term.op, items)[0]


def converted(view: View, dtype: Dtype) -> View:
    """A copy of another item type."""
    made = view.kind.convert(view, dtype)
    if made is None:
        raise TypeError(f"a {view.kind.name} of {view.dtype} is not converted to {dtype} here: convert it first")
    return as_copy(made)


__all__ = ["Axis", "reduce"]
