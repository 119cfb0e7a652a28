# SPDX-License-Identifier: MIT
"""Views: where an array's items lie, and how arrays of the same kind are made."""

from __future__ import annotations

import struct
import sys
from typing import Any, Optional

from tally._library import BY_NAME, BY_NUMBER, BY_TYPESTR, Dtype, check, ffi, lib

#: where memory is
HOST, CUDA, OPENCL = "host", "cuda", "opencl"


class View:
    """The items of an array, where they lie. Strides and the offset are in bytes."""

    __slots__ = (
        "owner",
        "address",
        "offset",
        "dtype",
        "shape",
        "strides",
        "place",
        "device",
        "stream",
        "readonly",
        "kind",
        "is_copy",
    )

    def __init__(
        self,
        owner: Any,
        address: int,
        dtype: Dtype,
        shape: "tuple[int, ...]",
        strides: "tuple[int, ...]",
        kind: "Kind",
        readonly: bool = False,
        place: str = HOST,
        device: Any = None,
        stream: Optional[int] = None,
        offset: int = 0,
    ) -> None:
        self.owner = owner
        self.address = address
        self.offset = offset
        self.dtype = dtype
        self.shape = shape
        self.strides = strides
        self.place = place
        self.device = device
        self.stream = stream
        self.readonly = readonly
        self.kind = kind
        #: the items are a copy of an array's, which is not written to
        self.is_copy = False

    @property
    def size(self) -> int:
        """The number of items."""
        n = 1
        for extent in self.shape:
            n *= extent
        return n

    def is_contiguous(self) -> bool:
        """Tells whether the items lie in C order without gaps."""
        stride = self.dtype.bytes
        for extent, own in zip(reversed(self.shape), reversed(self.strides)):
            if extent != 1 and own != stride:
                return extent == 0 or self.size == 0
            stride *= extent
        return True

    def is_aligned(self) -> bool:
        """Tells whether address and strides are multiples of what an item needs."""
        item = self.dtype.bytes
        is_aligned = not (self.offset % item if self.place is OPENCL else self.address % self.dtype.align)
        for stride in self.strides:
            if stride % item:
                is_aligned = False
        return is_aligned or 0 in self.shape or (self._starts_aligned() and self._steps_aligned())

    def _starts_aligned(self) -> bool:
        return not (self.offset % self.dtype.bytes if self.place == OPENCL else self.address % self.dtype.align)

    def _steps_aligned(self) -> bool:
        """The stride of an axis of one item is of no account."""
        return not any(stride % self.dtype.bytes for extent, stride in zip(self.shape, self.strides) if extent > 1)

    def broadcast(self, shape: "tuple[int, ...]", name: str) -> "View":
        """The view repeated to `shape`, as NumPy broadcasts."""
        if self.shape == shape:
            return self
        missing = len(shape) - len(self.shape)
        strides = [0] * missing
        if missing >= 0:
            for own, stride, extent in zip(self.shape, self.strides, shape[missing:]):
                if own == extent:
                    strides.append(stride)
                elif own == 1:
                    strides.append(0)
                else:
                    missing = -1
        if missing < 0:
            raise ValueError(f"{name}: the shape {self.shape} cannot be repeated to {shape}")
        return self.like(shape, tuple(strides))

    def like(self, shape: "tuple[int, ...]", strides: "tuple[int, ...]", offset: int = 0) -> "View":
        """Another view of the same memory."""
        view = View(
            self.owner,
            self.address,
            self.dtype,
            shape,
            strides,
            self.kind,
            self.readonly,
            self.place,
            self.device,
            self.stream,
            self.offset,
        )
        if self.place == OPENCL:
            view.offset += offset
        else:
            view.address += offset
        view.is_copy = self.is_copy
        return view


def as_copy(view: View) -> View:
    """The view, marked as one of a copy. A plan makes the copy anew at each call."""
    view.is_copy = view.readonly = True
    return view


def fill(to: View, items: View) -> View:
    """Writes the items of one host array to another of the same shape, as items of its type,
    rounded once. ValueError for a float that is beyond the range of an integer."""
    numbers = ffi.new("int64_t[]", [*to.shape, *items.strides, *to.strides])
    types = items.dtype.number, to.dtype.number
    check(lib.tally_python_convert(types[0], items.address, types[1], to.address, len(to.shape), numbers))
    return to


def strides_of(shape: "tuple[int, ...]", item: int) -> "tuple[int, ...]":
    """The strides of C order, in bytes."""
    strides = [0] * len(shape)
    for i in range(len(shape) - 1, -1, -1):
        strides[i] = item
        item *= max(shape[i], 1)
    return tuple(strides)


class Kind:
    """A kind of array: how another one is made, and what a caller gets of it."""

    name = "buffer"

    def empty(self, like: View, shape: "tuple[int, ...]", dtype: Dtype) -> View:
        """A new array on the device and stream of `like`."""
        raise NotImplementedError

    def finish(self, view: View) -> Any:
        """The object for the caller: a scalar for no axes where the kind has scalars."""
        return view.owner

    #: 1: a result without axes is a scalar, which `scalar` makes of host memory
    has_scalars = False

    def scalar(self, memory: Any, dtype: Dtype) -> Any:
        """A value in host memory as Python's number, or the kind's scalar."""
        return python_scalar(memory, dtype)

    def shares(self, view: View) -> bool:
        """Tells whether the object that `finish` gives has the view's memory."""
        return bool(view.shape) or not self.has_scalars

    def check_dtype(self, dtype: Dtype) -> None:
        """Raises TypeError for a result type that the caller named and the kind does not have."""

    def assign(self, to: View, results: View) -> None:
        """Writes results, in an array of this kind, to the caller's array, of any strides."""
        if to.place == HOST:
            fill(to, results)
        else:
            self.assign_on_device(to, results)

    def assign_on_device(self, to: View, results: View) -> None:
        """The same in memory of a device, of one type."""
        raise ValueError(f"out overlaps an input, and a {self.name} is not copied here: give memory of its own")

    def contiguous(self, view: View) -> View:
        """A copy in C order, aligned."""
        raise ValueError(
            f"this {self.name} has items that are not aligned, or in rows that are not whole items apart: "
            "copy it into an array of its own first"
        )

    def convert(self, view: View, dtype: Dtype) -> Optional[View]:
        """A copy of another item type; None if the kind cannot make one."""
        return None

    def as_places(self, view: View) -> "tuple[Any, Any]":
        """A copy of indices as int64 that has the kind's arithmetic, and the kind's arange."""
        raise TypeError(
            f"indices in a {self.name} are not computed with here: take is along axis 0, of rows of up to 16 bytes"
        )


def python_scalar(memory: Any, dtype: Dtype) -> Any:
    """The first value at `memory`, as Python's int, float, complex or bool."""
    raw = bytes(ffi.buffer(ffi.cast("char *", memory), dtype.bytes))
    if dtype.kind == "c":
        return complex(*struct.unpack("ff" if dtype.bytes == 8 else "dd", raw))
    if dtype.name == "bf16":
        return struct.unpack("f", b"\0\0" + raw)[0]
    return struct.unpack(dtype.format, raw)[0]


# ---- the buffer protocol -------------------------------------------------------------------------


class BufferKind(Kind):
    """Objects with the buffer protocol: results are memoryviews, or Python's numbers."""

    has_scalars = True

    def empty(self, like: View, shape: "tuple[int, ...]", dtype: Dtype) -> View:
        count = 1
        for extent in shape:
            count *= extent
        memory = bytearray(max(count, 1) * dtype.bytes)
        address = int(ffi.cast("intptr_t", ffi.from_buffer(memory)))
        return View(memory, address, dtype, shape, strides_of(shape, dtype.bytes), self)

    def convert(self, view: View, dtype: Dtype) -> Optional[View]:
        return fill(self.empty(view, view.shape, dtype), view)

    def contiguous(self, view: View) -> View:
        return fill(self.empty(view, view.shape, view.dtype), view)

    def finish(self, view: View) -> Any:
        if not view.shape:
            return python_scalar(ffi.from_buffer(view.owner), view.dtype)
        letter: Any = view.dtype.format
        if not letter or (letter == "e" and sys.version_info < (3, 14)):
            raise TypeError(f"a buffer of {view.dtype} has no letter in Python's memoryview: give a NumPy array")
        if 0 in view.shape:  # memoryviews of no items have one axis
            return memoryview(b"").cast(letter)
        return memoryview(view.owner).cast(letter, view.shape)


# ---- NumPy ---------------------------------------------------------------------------------------


class NumpyKind(Kind):
    """NumPy's arrays."""

    name = "NumPy array"
    has_scalars = True

    def __init__(self) -> None:
        import numpy

        self.numpy: Any = numpy
        self.dtypes: "dict[int, Any]" = {}
        for number, dtype in BY_NUMBER.items():
            if dtype.name != "bf16":
                self.dtypes[number] = numpy.dtype(dtype.long_name)
        #: by NumPy's type in this machine's byte order
        self.of_numpy: "dict[Any, Dtype]" = {own: BY_NUMBER[number] for number, own in self.dtypes.items()}

    def dtype(self, dtype: Dtype) -> Any:
        """NumPy's type of the same items. bfloat16 is ml_dtypes'."""
        found = self.dtypes.get(dtype.number)
        if found is None:
            import ml_dtypes

            found = self.dtypes[dtype.number] = self.numpy.dtype(ml_dtypes.bfloat16)
        return found

    def empty(self, like: View, shape: "tuple[int, ...]", dtype: Dtype) -> View:
        made = self.numpy.empty(shape, self.dtype(dtype))
        return View(made, address_of(made), dtype, shape, made.strides, self)

    def finish(self, view: View) -> Any:
        return view.owner[()]

    def scalar(self, memory: Any, dtype: Dtype) -> Any:
        return self.numpy.frombuffer(ffi.buffer(memory, dtype.bytes), self.dtype(dtype))[0]

    def array_of(self, view: View, as_bits: bool = False) -> Any:
        """A NumPy array of a view's memory; as_bits: its items without a meaning, to be copied."""
        dtype = self.numpy.dtype(f"V{view.dtype.bytes}") if as_bits else self.dtype(view.dtype)
        first = view.address
        last = view.address + view.dtype.bytes
        for extent, stride in zip(view.shape, view.strides):
            if extent == 0:
                return self.numpy.empty(view.shape, dtype)
            first += min(0, stride * (extent - 1))
            last += max(0, stride * (extent - 1))
        memory = ffi.buffer(ffi.cast("char *", first), last - first)
        return self.numpy.ndarray(view.shape, dtype, memory, view.address - first, view.strides)

    def contiguous(self, view: View) -> View:
        return view_of_numpy(self.numpy.array(self.array_of(view), order="C", copy=True))

    def as_places(self, view: View) -> "tuple[Any, Any]":
        return self.array_of(view).astype("int64"), self.numpy.arange

    def convert(self, view: View, dtype: Dtype) -> Optional[View]:
        with self.numpy.errstate(all="ignore"):
            return view_of_numpy(self.array_of(view).astype(self.dtype(dtype)))


_numpy_kind: Optional[NumpyKind] = None


def numpy_kind() -> NumpyKind:
    """NumPy's kind. Imports NumPy, which an array of its own has done before."""
    global _numpy_kind
    if _numpy_kind is None:
        _numpy_kind = NumpyKind()
    return _numpy_kind


def numpy_kind_if_here() -> Optional[NumpyKind]:
    """NumPy's kind, if the program has imported NumPy or can."""
    try:
        return numpy_kind()
    except ImportError:
        return None


def address_of(x: Any) -> int:
    """The address of a NumPy array's first item. That of an array in C order takes a sixth of the
    other's time."""
    if x.flags.c_contiguous:
        try:
            return int(ffi.cast("uintptr_t", ffi.from_buffer(x)))
        except (TypeError, ValueError, BufferError):  # items of a type without a buffer
            pass
    found: int = x.__array_interface__["data"][0]
    return found


def view_of_numpy(x: Any) -> View:
    """The view of a NumPy array. A byte-swapped or unaligned one is copied."""
    kind = _numpy_kind or numpy_kind()
    known = kind.of_numpy.get(x.dtype)
    if known is not None:
        return View(x, address_of(x), known, x.shape, x.strides, kind, not x.flags.writeable)
    interface = x.__array_interface__
    dtype = BY_TYPESTR.get(interface["typestr"])
    if dtype is None and x.dtype.name == "bfloat16":
        dtype = BY_NAME["bf16"]
    if dtype is None:
        if x.dtype.byteorder == ">" and "<" + interface["typestr"][1:] in BY_TYPESTR:
            return as_copy(view_of_numpy(x.astype(x.dtype.newbyteorder("="))))
        raise TypeError(f"items of type {x.dtype} are not reduced: convert the array first")
    address, readonly = interface["data"]
    return View(x, address, dtype, x.shape, x.strides, kind, readonly)


BUFFER = BufferKind()
