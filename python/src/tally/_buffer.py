# SPDX-License-Identifier: MIT
"""Arrays by Python's buffer protocol, with strides, without NumPy."""

from __future__ import annotations

import ctypes
from typing import Any

from tally._library import BY_FORMAT
from tally._view import BUFFER, View, strides_of


class _Buffer(ctypes.Structure):
    """Py_buffer, whose layout is part of Python's stable ABI."""

    _fields_ = [
        ("buf", ctypes.c_void_p),
        ("obj", ctypes.py_object),
        ("len", ctypes.c_ssize_t),
        ("itemsize", ctypes.c_ssize_t),
        ("readonly", ctypes.c_int),
        ("ndim", ctypes.c_int),
        ("format", ctypes.c_char_p),
        ("shape", ctypes.POINTER(ctypes.c_ssize_t)),
        ("strides", ctypes.POINTER(ctypes.c_ssize_t)),
        ("suboffsets", ctypes.POINTER(ctypes.c_ssize_t)),
        ("internal", ctypes.c_void_p),
    ]


_STRIDES, _FORMAT = 0x0010 | 0x0008, 0x0004
_get = ctypes.pythonapi.PyObject_GetBuffer
_get.argtypes = [ctypes.py_object, ctypes.POINTER(_Buffer), ctypes.c_int]
_release = ctypes.pythonapi.PyBuffer_Release
_release.argtypes = [ctypes.POINTER(_Buffer)]
_release.restype = None


class _Held:
    """Holds a buffer until the view of it has gone."""

    __slots__ = ("buffer",)

    def __init__(self, x: Any) -> None:
        self.buffer = _Buffer()
        _get(x, ctypes.byref(self.buffer), _STRIDES | _FORMAT)

    def __del__(self) -> None:
        if self.buffer.buf is not None or self.buffer.len == 0:
            _release(ctypes.byref(self.buffer))


def view_of_buffer(x: Any) -> View:
    """The view of an object with the buffer protocol."""
    held = _Held(x)
    buffer = held.buffer
    letters = (buffer.format or b"B").decode().lstrip("@=<")
    dtype = BY_FORMAT.get(letters)
    if dtype is None or dtype.bytes != buffer.itemsize:
        raise TypeError(f"a buffer of items '{letters}' is not reduced: convert the array first")
    axes = range(buffer.ndim)
    shape = tuple(buffer.shape[i] for i in axes)
    # Without strides the items lie in C order (arrays of ctypes).
    strides = tuple(buffer.strides[i] for i in axes) if buffer.strides else strides_of(shape, dtype.bytes)
    return View(held, buffer.buf or 0, dtype, shape, strides, BUFFER, bool(buffer.readonly))
