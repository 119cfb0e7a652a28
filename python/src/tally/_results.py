# SPDX-License-Identifier: MIT
"""Where results go, and the initial values that they begin with."""

from __future__ import annotations

import operator
import struct
import sys
from typing import Any, NamedTuple, Optional, Sequence

from tally._arrays import view_of
from tally._library import BY_NAME, Dtype, ffi
from tally._view import BUFFER, OPENCL, View, fill, python_scalar

# ---- outputs -------------------------------------------------------------------------------------


class Output(NamedTuple):
    """The array that the library writes, and the one that the caller gets. They are one array
    unless the caller's has another type, or memory that the call reads."""

    written: View
    results: View

    def settle(self) -> None:
        """Brings what was written to the caller's array."""
        if self.results is not self.written:
            self.results.kind.assign(self.results, self.written)


def output_of(
    like: View,
    shape: "tuple[int, ...]",
    own: Dtype,
    wanted: Dtype,
    given: Optional[View] = None,
    reads: "Sequence[Optional[View]]" = (),
) -> Output:
    """The output of a call. own: the type that the library writes. given: the caller's array, of
    the type `wanted`; None: a new one of the kind of `like`. reads: what the call reads."""
    results = like.kind.empty(like, shape, wanted) if given is None else given
    if own.number == wanted.number and not (given and any(one and _meet(given, one) for one in reads)):
        return Output(results, results)
    like = given or like
    return Output(like.kind.empty(like, shape, own), results)


def output_view(out: Any, shape: "tuple[int, ...]") -> View:
    """The view of an output of the caller's."""
    if isinstance(out, tuple) and len(out) == 1:
        out = out[0]
    view = view_of(out, "out")
    if view.readonly:
        raise ValueError(
            "out cannot be written in place: it is read-only, or its items are byte-swapped, conjugated or not aligned"
        )
    if view.shape != shape:
        raise ValueError(f"out has the shape {view.shape}: the results have {shape}")
    return view


def is_wider_float(dtype: Dtype, than: Dtype) -> bool:
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
    """Tells whether the ranges of two arrays overlap, be it between their items alone."""
    if a.place != b.place or (a.place == OPENCL and a.address != b.address):  # cl_mem are no addresses
        return False
    a_first, a_last = span(a)
    b_first, b_last = span(b)
    return a_first < b_last and b_first < a_last


# ---- initial values ------------------------------------------------------------------------------


def initial_bytes(value: Any, wanted: Dtype, own: Dtype, written: Dtype) -> bytes:
    """An initial value as an item of the type `written`: rounded once, to `wanted`, the type of the
    results, and then converted exactly. Every device then begins with the same number. own: the
    op's own type of result. ValueError for a float that no integer of that type is."""
    first = _packed(value, wanted)
    if own.kind in "iu" and wanted.kind == "f":
        number, is_signed = python_scalar(first.address, wanted), own.kind == "i"
        end = 2.0 ** (8 * own.bytes - is_signed)
        if not (number.is_integer() and (-end if is_signed else 0) <= number < end):
            raise ValueError(f"initial {value!r} is no {own}, in which the op computes here")
    return bytes(fill(BUFFER.empty(first, (), written), first).owner)


def _packed(value: Any, dtype: Dtype) -> View:
    """A number as an item, rounded once; beyond a float's range it is infinity. TypeError for what
    is no number, ValueError for an integer beyond float64, and for one that an integer or a bool does
    not hold."""
    try:
        if isinstance(value, (str, bytes, bytearray)):  # float() reads text
            raise TypeError("it is text")
        if dtype.kind == "c":
            is_whole = dtype.name == "c64" and hasattr(value, "__index__")
            number = complex(_odd(value) if is_whole else value)
            return _item(struct.pack("dd", number.real, number.imag), BY_NAME["c128"], dtype)
        if dtype.kind in "iu":
            raw = operator.index(value).to_bytes(dtype.bytes, sys.byteorder, signed=dtype.kind == "i")
            return _item(raw, dtype, dtype)
        real = float(value) if dtype.name == "f64" else _odd(value)
        if dtype.kind == "b" and real not in (0, 1):
            raise OverflowError("it is neither 0 nor 1")
        return _item(struct.pack("d", real), BY_NAME["f64"], dtype)
    except OverflowError as error:
        raise ValueError(f"initial {value!r} is no {dtype}: {error}") from None
    except (TypeError, ValueError) as error:
        raise TypeError(f"initial {value!r} is no {dtype}: {error}") from None


def _odd(value: Any) -> float:
    """A number as a float. An integer is rounded to odd: a later rounding to fewer digits is then
    the only one."""
    try:
        n = operator.index(value)
    except TypeError:
        return float(value)
    cut = max(abs(n).bit_length() - 53, 0)
    top = abs(n) >> cut
    top |= top << cut != abs(n)
    return float(top << cut) * (-1 if n < 0 else 1)


def _item(raw: bytes, dtype: Dtype, wanted: Dtype) -> View:
    """An item of the bytes of another one."""
    memory = bytearray(raw)
    view = View(memory, int(ffi.cast("intptr_t", ffi.from_buffer(memory))), dtype, (), (), BUFFER)
    return fill(BUFFER.empty(view, (), wanted), view)


__all__ = ["Output", "initial_bytes", "is_wider_float", "output_of", "output_view", "span"]
