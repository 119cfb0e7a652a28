# SPDX-License-Identifier: MIT
"""DLPack: arrays of any library in, and tally's own memory out."""

from __future__ import annotations

import ctypes
from typing import Any, Optional

from tally._library import BY_DLPACK, Dtype, ffi, lib
from tally._view import CUDA, HOST, Kind, View, numpy_kind_if_here, strides_of

CPU_DEVICE, CUDA_DEVICE, CUDA_HOST, CUDA_MANAGED = 1, 2, 3, 13
READ_ONLY = 1
#: the streams that the array API names: none, CUDA's legacy default, its per-thread default
NO_STREAM, LEGACY_STREAM, THREAD_STREAM = -1, 1, 2

_api = ctypes.pythonapi
_is_valid = _api.PyCapsule_IsValid
_is_valid.argtypes, _is_valid.restype = [ctypes.py_object, ctypes.c_char_p], ctypes.c_int
_get_pointer = _api.PyCapsule_GetPointer
_get_pointer.argtypes, _get_pointer.restype = [ctypes.py_object, ctypes.c_char_p], ctypes.c_void_p
_set_name = _api.PyCapsule_SetName
_set_name.argtypes, _set_name.restype = [ctypes.py_object, ctypes.c_char_p], ctypes.c_int
_new = _api.PyCapsule_New
_new.argtypes, _new.restype = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p], ctypes.py_object
# A deleter is called with the global lock, which it may need or take again.
_DELETER = ctypes.PYFUNCTYPE(None, ctypes.c_void_p)
# Names that capsules keep a pointer to.
_NAMES = {True: b"dltensor_versioned", False: b"dltensor"}
_USED = {True: b"used_dltensor_versioned", False: b"used_dltensor"}


class Consumed:
    """The content of a consumed capsule. Calls its deleter once, when it goes."""

    __slots__ = ("pointer", "content", "versioned")

    def __init__(self, capsule: Any) -> None:
        self.pointer = 0
        self.versioned = bool(_is_valid(capsule, _NAMES[True]))
        if not self.versioned and not _is_valid(capsule, _NAMES[False]):
            raise BufferError(
                "__dlpack__ gave no capsule 'dltensor' or 'dltensor_versioned': it may have been consumed before"
            )
        pointer = _get_pointer(capsule, _NAMES[self.versioned])
        _set_name(capsule, _USED[self.versioned])
        self.pointer = pointer
        self.content = ffi.cast("tally_dl_versioned *" if self.versioned else "tally_dl_managed *", pointer)
        if self.versioned and self.content.major != 1:
            raise BufferError(
                f"this DLPack capsule has the version {self.content.major}.{self.content.minor}: tally reads 1.x"
            )

    def __del__(self) -> None:
        pointer, self.pointer = self.pointer, 0
        if pointer and self.content.deleter != ffi.NULL:
            _DELETER(int(ffi.cast("intptr_t", self.content.deleter)))(pointer)

    @property
    def readonly(self) -> bool:
        """The producer's flag. Capsules without a version have none."""
        return self.versioned and bool(self.content.flags & READ_ONLY)


def ask(x: Any, stream: Optional[int]) -> Any:
    """Asks a producer for a capsule, a versioned one if it knows them."""
    given = {} if stream is None else {"stream": stream}
    try:
        return x.__dlpack__(**given, max_version=(1, 0))
    except TypeError as error:
        if "max_version" not in str(error) and "keyword" not in str(error) and "argument" not in str(error):
            raise
        return x.__dlpack__(**given)


def view_of_dlpack(x: Any, kind: Kind, stream: Optional[int] = None) -> View:
    """The view of an array by DLPack. On a device, the producer makes `stream` wait for its own
    work."""
    device_type, device_id = x.__dlpack_device__()
    device_type = int(device_type)
    on_cuda = device_type in (CUDA_DEVICE, CUDA_MANAGED)
    if not on_cuda and device_type not in (CPU_DEVICE, CUDA_HOST):
        raise TypeError(
            f"DLPack device {device_type}:{device_id} is not read by DLPack: there are CPU (1) and CUDA (2)"
        )
    if on_cuda and stream is None:
        stream = LEGACY_STREAM
    held = Consumed(ask(x, stream if on_cuda else None))
    tensor = held.content.tensor
    dtype = BY_DLPACK.get((tensor.code, tensor.bits))
    if dtype is None or tensor.lanes != 1:
        raise TypeError(
            f"DLPack items of code {tensor.code}, {tensor.bits} bits and {tensor.lanes} lanes are not reduced: "
            "convert the array first"
        )
    shape = tuple(tensor.shape[i] for i in range(tensor.ndim))
    if tensor.strides == ffi.NULL:
        strides = strides_of(shape, dtype.bytes)
    else:
        strides = tuple(tensor.strides[i] * dtype.bytes for i in range(tensor.ndim))
    address = int(ffi.cast("uintptr_t", tensor.data)) + tensor.byte_offset
    return View(
        held,
        address,
        dtype,
        shape,
        strides,
        kind,
        held.readonly,
        CUDA if on_cuda else HOST,
        int(device_id) if on_cuda else None,
        stream if on_cuda else None,
    )


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
        self.buffer: Any = buffer
        self.address = address
        self.dtype = dtype
        self.shape = shape
        self.device = device
        self.queue = queue
        self.stream = stream

    def __del__(self) -> None:
        if getattr(self, "buffer", None) is not None:
            lib.tally_buffer_destroy(self.buffer)

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
        if self.buffer is None:
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
        content = lib.tally_python_export(self.buffer, tensor, versioned)
        if content == ffi.NULL:
            raise MemoryError("no memory for a DLPack capsule")
        self.buffer = None
        end = int(ffi.cast("intptr_t", ffi.addressof(lib, "tally_python_capsule_end")))
        return _new(int(ffi.cast("intptr_t", content)), _NAMES[versioned], end)

    def hand_over(self, stream: Optional[int]) -> None:
        """Makes the consumer's stream see the results. The library has no wait of one stream for
        another, so the host waits, unless it is the same stream or none is to be waited for."""
        if self.queue is None or stream == NO_STREAM:
            return
        own = self.stream or LEGACY_STREAM
        if (stream or LEGACY_STREAM) != own:
            from tally._library import check

            check(lib.tally_queue_wait(self.queue.handle))


# ---- kinds of arrays that DLPack brings ----------------------------------------------------------


class NamespaceKind(Kind):
    """Arrays of a library with the array API: results are its namespace's arrays."""

    def __init__(self, namespace: Any) -> None:
        self.namespace = namespace
        self.name = f"{getattr(namespace, '__name__', 'array API')} array"

    def dtype(self, dtype: Dtype) -> Any:
        found = getattr(self.namespace, dtype.long_name, None)
        if found is None:
            raise TypeError(f"{self.name}: its library has no {dtype.long_name}, the type of the result")
        return found

    def empty(self, like: View, shape: "tuple[int, ...]", dtype: Dtype) -> View:
        made = self.namespace.empty(shape, dtype=self.dtype(dtype))
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

    def contiguous(self, view: View) -> View:
        numpy = numpy_kind_if_here()
        return numpy.contiguous(view) if numpy and view.place == HOST else super().contiguous(view)


class JaxKind(Kind):
    """JAX's arrays, which nobody may write to: results are written elsewhere and handed over."""

    name = "JAX array"

    def empty(self, like: View, shape: "tuple[int, ...]", dtype: Dtype) -> View:
        if like.place == CUDA:
            from tally._device import cuda_memory

            return cuda_memory(like, shape, dtype, self)
        numpy = numpy_kind_if_here()
        if numpy is None:
            raise ImportError("JAX needs NumPy")
        view = numpy.empty(like, shape, dtype)
        view.kind = self
        return view

    def finish(self, view: View) -> Any:
        import jax  # type: ignore[import-not-found, unused-ignore]

        if isinstance(view.owner, Exported):
            return jax.dlpack.from_dlpack(view.owner)
        return jax.numpy.asarray(view.owner)

    def convert(self, view: View, dtype: Dtype) -> Optional[View]:
        numpy = numpy_kind_if_here()
        made = numpy.convert(view, dtype) if numpy and view.place == HOST else None
        if made is not None:
            made.kind = self
        return made

    def contiguous(self, view: View) -> View:
        numpy = numpy_kind_if_here()
        return numpy.contiguous(view) if numpy and view.place == HOST else super().contiguous(view)
