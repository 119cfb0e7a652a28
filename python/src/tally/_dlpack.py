# SPDX-License-Identifier: MIT
"""DLPack: arrays of any library in, and tally's own memory out."""

from __future__ import annotations

import ctypes
import math
from typing import Any, Callable, Optional

from tally._library import BY_DLPACK, BY_NAME, Dtype, check, ffi, lib
from tally._view import CUDA, HOST, Kind, NumpyKind, View, fill, numpy_kind_if_here, strides_of

CPU_DEVICE, CUDA_DEVICE, CUDA_HOST, CUDA_MANAGED = 1, 2, 3, 13
READ_ONLY = 1
#: the streams that the array API names: none, CUDA's legacy default, its per-thread default
NO_STREAM, LEGACY_STREAM, THREAD_STREAM = -1, 1, 2

_new = ctypes.pythonapi.PyCapsule_New
_new.argtypes, _new.restype = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p], ctypes.py_object
# Names that capsules keep a pointer to.
_NAMES = {True: b"dltensor_versioned", False: b"dltensor"}
_READ, _NO_CAPSULE = int(lib.TALLY_DL_READ), int(lib.TALLY_DL_NO_CAPSULE)
_VERSION, _REFUSED = int(lib.TALLY_DL_VERSION), int(lib.TALLY_DL_REFUSED)


class Consumed:
    """An array that a producer handed over. Calls its deleter once, when it goes."""

    __slots__ = ("read", "in_order")

    def __init__(self, capsule: Any = None, table: int = 0, x: Any = None) -> None:
        """Reads a capsule, which is consumed; or x, by a table of the C exchange interface."""
        # The struct owns what is taken: no signal comes between, as it would in __del__.
        read = self.read = ffi.gc(ffi.new("tally_dl_read *"), lib.tally_python_dl_end)
        #: the work on the stream that was read is in order, so that nothing has to wait
        self.in_order = bool(table)
        if table:
            status = lib.tally_python_dl_exchange(table, id(x), read)
        else:
            status = lib.tally_python_dl_take(id(capsule), read)
        if status:
            self._fail(status)

    def _fail(self, status: int) -> None:
        if status == _NO_CAPSULE:
            raise BufferError(
                "__dlpack__ gave no capsule 'dltensor' or 'dltensor_versioned': it may have been consumed before"
            )
        if status == _VERSION:
            raise BufferError(
                f"this DLPack capsule has the version {self.read.major}.{self.read.minor}: tally reads 1.x"
            )
        if status == _REFUSED:
            raise Refused
        raise BufferError(f"this DLPack array has more than {int(lib.TALLY_DL_AXES)} axes")


class Refused(Exception):
    """The producer's C exchange interface could not; __dlpack__ says why."""


_tables: "dict[type, int]" = {}


def table_of(kind: type) -> int:
    """The table of DLPack's C exchange interface of a type; 0 if it has none."""
    found = _tables.get(kind)
    if found is None:
        capsule = getattr(kind, "__dlpack_c_exchange_api__", None)
        found = _tables[kind] = 0 if capsule is None else int(lib.tally_python_dl_table(id(capsule)))
    return found


def looker_of(kind: type) -> "Optional[Callable[[Any], Any]]":
    """The function that tells the form and the address of an array of a type, by the type's C exchange
    interface; None if it has none."""
    table = table_of(kind)
    address = int(lib.tally_python_dl_looker(table)) if table else 0
    return ctypes.cast(address, ctypes.py_object).value if address else None


_without_versions: "set[type]" = set()


def ask(x: Any, stream: Optional[int]) -> Any:
    """Asks a producer for a capsule, a versioned one if it knows them."""
    given = {} if stream is None else {"stream": stream}
    if type(x) in _without_versions:
        return x.__dlpack__(**given)
    try:
        return x.__dlpack__(**given, max_version=(1, 0))
    except (TypeError, ValueError, NotImplementedError) as error:
        words = ("max_version", "keyword", "argument") if isinstance(error, TypeError) else ("max_version",)
        if not any(word in str(error) for word in words):
            raise
        capsule = x.__dlpack__(**given)
        _without_versions.add(type(x))
        return capsule


def hand_over(x: Any, stream: Optional[int] = None) -> Consumed:
    """An array handed over: by the C exchange interface where its type has that and the caller names
    no stream, else by __dlpack__."""
    table = table_of(type(x)) if stream is None else 0
    if table:
        try:
            return Consumed(None, table, x)
        except Refused:
            pass
    device_type, device_id = x.__dlpack_device__()
    on_cuda = _is_on_cuda(int(device_type), int(device_id))
    return Consumed(ask(x, (LEGACY_STREAM if stream is None else stream) if on_cuda else None))


def _is_on_cuda(device_type: int, device_id: int) -> bool:
    on_cuda = device_type in (CUDA_DEVICE, CUDA_MANAGED)
    if not on_cuda and device_type not in (CPU_DEVICE, CUDA_HOST):
        raise TypeError(
            f"DLPack device {device_type}:{device_id} is not read by DLPack: there are CPU (1) and CUDA (2)"
        )
    return on_cuda


def view_of_dlpack(x: Any, kind: Kind, stream: Optional[int] = None) -> View:
    """The view of an array by DLPack. On a device, the producer makes `stream` wait for its own
    work; by the C exchange interface, the view is on the producer's current stream."""
    return view_of_held(hand_over(x, stream), kind, stream)


def view_of_held(held: Consumed, kind: Kind, stream: Optional[int] = None) -> View:
    """The view of an array that was handed over."""
    read = held.read
    on_cuda = _is_on_cuda(read.device_type, read.device_id)
    dtype = BY_DLPACK.get((read.code, read.bits))
    if dtype is None or read.lanes != 1:
        raise TypeError(
            f"DLPack items of code {read.code}, {read.bits} bits and {read.lanes} lanes are not reduced: "
            "convert the array first"
        )
    ndim, item = read.ndim, dtype.bytes
    numbers = ffi.unpack(read.numbers, 2 * ndim) if ndim else []
    view = View(
        held,
        read.data,
        dtype,
        tuple(numbers[:ndim]),
        tuple(step * item for step in numbers[ndim:]),
        kind,
        bool(read.readonly),
    )
    if on_cuda:
        asked = LEGACY_STREAM if stream is None else stream
        view.place, view.device, view.stream = CUDA, read.device_id, read.stream if held.in_order else asked
    return view


class Exported:
    """Memory of tally's own, for one consumer's from_dlpack. It owns `buffer` until a capsule
    does."""

    def __init__(
        self,
        buffer: Any,
        address: int,
        dtype: Dtype,
        shape: "tuple[int, ...]",
        device: "tuple[int, int]",
        queue: Any = None,
        stream: Optional[int] = None,
    ) -> None:
        #: empty when it was handed over: of two threads, pop serves one
        self._owned: "list[Any]" = [buffer]
        self.address = address
        self.dtype = dtype
        self.shape = shape
        self.device = device
        self.queue = queue
        self.stream = stream

    def __del__(self) -> None:
        for buffer in getattr(self, "_owned", ()):
            lib.tally_buffer_destroy(buffer)

    @property
    def is_owned(self) -> bool:
        """Tells whether nobody has taken the memory yet."""
        return bool(self._owned)

    def __dlpack_device__(self) -> "tuple[int, int]":
        return self.device

    def __dlpack__(
        self,
        *,
        stream: Optional[int] = None,
        max_version: "Optional[tuple[int, int]]" = None,
        dl_device: "Optional[tuple[int, int]]" = None,
        copy: Optional[bool] = None,
    ) -> Any:
        """Hands the memory over in a capsule, once."""
        if not self._owned:
            raise BufferError("this memory was handed over before")
        if dl_device is not None and tuple(dl_device) != self.device:
            raise BufferError(f"this memory is on device {self.device}: it cannot be handed over on {tuple(dl_device)}")
        if copy:
            raise BufferError("this memory is handed over as it is: a copy is the consumer's to make")
        self.hand_over(stream)
        versioned = max_version is not None and max_version[0] >= 1
        extents = ffi.new("int64_t[]", [*self.shape, 0])
        strides = ffi.new("int64_t[]", [*(s // self.dtype.bytes for s in strides_of(self.shape, self.dtype.bytes)), 0])
        tensor = ffi.new(
            "tally_dl_tensor *",
            {
                "data": ffi.cast("void *", self.address),
                "device_type": self.device[0],
                "device_id": self.device[1],
                "ndim": len(self.shape),
                "code": self.dtype.code,
                "bits": 8 * self.dtype.bytes,
                "lanes": 1,
                "shape": extents,
                "strides": strides,
            },
        )
        try:
            buffer = self._owned.pop()
        except IndexError:  # another thread was first
            raise BufferError("this memory was handed over before") from None
        content = lib.tally_python_export(buffer, tensor, versioned)
        if content == ffi.NULL:
            self._owned.append(buffer)
            raise MemoryError("no memory for a DLPack capsule")
        end = int(ffi.cast("intptr_t", ffi.addressof(lib, "tally_python_capsule_end")))
        return _new(int(ffi.cast("intptr_t", content)), _NAMES[versioned], end)

    def read(self, address: int) -> None:
        """Copies the memory to a host address, when the results are there."""
        bytes = math.prod(self.shape) * self.dtype.bytes
        check(lib.tally_buffer_read(self.queue.handle, self._owned[0], 0, ffi.cast("void *", address), bytes))
        check(lib.tally_queue_wait(self.queue.handle))

    def hand_over(self, stream: Optional[int]) -> None:
        """Makes the consumer's stream see the results. The library has no wait of one stream for
        another, so the host waits, unless it is the same stream or none is to be waited for."""
        if self.queue is None or stream == NO_STREAM:
            return
        own = self.stream or LEGACY_STREAM
        if (stream or LEGACY_STREAM) != own:
            check(lib.tally_queue_wait(self.queue.handle))


# ---- kinds of arrays that DLPack brings ----------------------------------------------------------


class HandedKind(Kind):
    """Arrays that NumPy copies in host memory. The results of a copy are of the array's own kind."""

    def contiguous(self, view: View) -> View:
        numpy = numpy_kind_if_here()
        if numpy is None or view.place != HOST:
            return super().contiguous(view)
        made = numpy.contiguous(view)
        made.kind = self
        return made


class NamespaceKind(HandedKind):
    """Arrays of a library with the array API: results are its namespace's arrays, on the arrays' own
    device. The library may tell devices apart that DLPack does not."""

    def __init__(self, namespace: Any, device: Any = None) -> None:
        self.namespace = namespace
        self.device = device
        self.name = f"{getattr(namespace, '__name__', 'array API')} array"

    def of(self, x: Any) -> NamespaceKind:
        """The kind of an array, on its device."""
        device = getattr(x, "device", None)
        return self if device == self.device else NamespaceKind(self.namespace, device)

    def dtype(self, dtype: Dtype) -> Any:
        found = getattr(self.namespace, dtype.long_name, None)
        if found is None:
            raise TypeError(f"{self.name}: its library has no {dtype.long_name}, the type of the result")
        return found

    def empty(self, like: View, shape: "tuple[int, ...]", dtype: Dtype) -> View:
        where = {} if self.device is None else {"device": self.device}
        made = self.namespace.empty(shape, dtype=self.dtype(dtype), **where)
        view = view_of_dlpack(made, self)
        if view.readonly:
            raise BufferError(f"{self.name}: an array that was just made is read-only by DLPack")
        view.owner = (made, view.owner)
        return view

    def finish(self, view: View) -> Any:
        made: Any = view.owner[0]
        view.owner = made
        return made

    def convert(self, view: View, dtype: Dtype) -> Optional[View]:
        numpy = numpy_kind_if_here()
        if numpy is None or view.place != HOST:
            return None
        made = self.empty(view, view.shape, dtype)
        numpy.array_of(made)[...] = numpy.array_of(view).astype(numpy.dtype(dtype))
        return made


#: types of 64 bits, and what JAX has instead of them unless it is told otherwise
_NARROW = {"i64": BY_NAME["i32"], "u64": BY_NAME["u32"], "f64": BY_NAME["f32"], "c128": BY_NAME["c64"]}
_X64 = 'jax.config.update("jax_enable_x64", True) gives it 64 bits'


class JaxKind(HandedKind):
    """JAX's arrays, which nobody may write to: results are written elsewhere and handed over."""

    name = "JAX array"

    def _host_kind(self) -> NumpyKind:
        numpy = numpy_kind_if_here()
        if numpy is None:
            raise ImportError("JAX needs NumPy")
        return numpy

    def empty(self, like: View, shape: "tuple[int, ...]", dtype: Dtype) -> View:
        if like.place == CUDA:
            from tally._device import cuda_memory

            return cuda_memory(like, shape, dtype, self)
        view = self._host_kind().empty(like, shape, dtype)
        view.kind = self
        return view

    def finish(self, view: View) -> Any:
        import jax  # type: ignore[import-not-found, unused-ignore]

        narrow = self._narrow(view.dtype)
        if narrow is not None:
            return self._narrowed(view, narrow)
        if isinstance(view.owner, Exported):
            return jax.dlpack.from_dlpack(view.owner)
        return jax.numpy.array(view.owner)  # a copy: plans write to the memory again

    def shares(self, view: View) -> bool:
        return isinstance(view.owner, Exported) and self._narrow(view.dtype) is None

    def _narrow(self, dtype: Dtype) -> Optional[Dtype]:
        """The type that JAX has instead of one of 64 bits; None if it has the type."""
        import jax

        return None if jax.config.jax_enable_x64 else _NARROW.get(dtype.name)

    def _narrowed(self, view: View, dtype: Dtype) -> Any:
        """Results of 64 bits as JAX of 32 bits has them: floats rounded once, integers if they
        fit. JAX would drop their upper bits silently. Waits for those on a device."""
        import jax

        numpy, items = self._host_kind(), view
        if isinstance(view.owner, Exported):
            items = numpy.empty(view, view.owner.shape, view.dtype)
            view.owner.read(items.address)
        made = fill(numpy.empty(items, items.shape, dtype), items).owner
        if dtype.kind in "iu" and not (made == items.owner).all():
            raise OverflowError(f"a result is beyond the range of {dtype}: {_X64}")
        return jax.device_put(made, jax.devices("gpu")[view.device]) if items is not view else jax.numpy.array(made)

    def check_dtype(self, dtype: Dtype) -> None:
        if self._narrow(dtype) is not None:
            raise TypeError(f"JAX has no {dtype} as it is set: {_X64}")

    def convert(self, view: View, dtype: Dtype) -> Optional[View]:
        numpy = numpy_kind_if_here()
        made = numpy.convert(view, dtype) if numpy and view.place == HOST else None
        if made is not None:
            made.kind = self
        return made
