# SPDX-License-Identifier: MIT
"""Arrays by Python's buffer protocol, with strides, without NumPy."""

from __future__ import annotations

import ctypes
from typing import Any

from tally._library import BY_FORMAT
from tally._view import BUFFER, View


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


def _address_of(held: memoryview) -> int:
    """The address of the first item, which a memoryview does not tell."""
    buffer = _Buffer()
    place = ctypes.byref(buffer)
    try:  # a signal that Python raises as a call returns leaves no buffer behind
        _get(held, place, _STRIDES | _FORMAT)
        return buffer.buf or 0
    finally:
        _release(place)


def view_of_buffer(x: Any) -> View:
    """The view of an object with the buffer protocol. A memoryview holds the buffer: it needs no
    __del__, in which a signal could come."""
    held = memoryview(x)
    letters = held.format.lstrip("@=<")
    dtype = BY_FORMAT.get(letters)
    if dtype is None or dtype.bytes != held.itemsize:
        raise TypeError(f"a buffer of items '{letters}' is not reduced: convert the array first")
    return View(held, _address_of(held), dtype, held.shape or (), held.strides or (), BUFFER, held.readonly)
