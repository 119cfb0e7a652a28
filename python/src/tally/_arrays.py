# SPDX-License-Identifier: MIT
"""Finds how an object is an array."""

from __future__ import annotations

import sys
from typing import Any, Callable

from tally._view import BUFFER, CUDA, Kind, View, as_copy, numpy_kind, numpy_kind_if_here, view_of_numpy

_importers: "dict[type, Callable[[Any], View]]" = {}


def _importer(x: Any) -> "Callable[[Any], View]":
    """The way to take objects of this type. The libraries that tally knows come first, then DLPack,
    __cuda_array_interface__ and the buffer protocol."""
    if isinstance(x, type):
        raise TypeError(f"the class {x.__name__} is no array: give one of its objects")
    for base in type(x).__mro__:
        library = base.__module__.partition(".")[0]
        if library == "numpy" and base.__name__ == "MaskedArray":
            raise TypeError("a masked array: give x.data and where=~x.mask")
        if library == "numpy" and base.__name__ == "ndarray":
            return view_of_numpy
        if library == "torch" and base.__name__ == "Tensor":
            from tally._device import TorchKind

            return TorchKind().view
        if library == "cupy" and base.__name__ == "ndarray":
            from tally._device import CupyKind

            return CupyKind().view
        if library == "pyopencl" and base.__name__ == "Array":
            from tally._device import OpenclKind

            return OpenclKind().view
    numpy: Any = sys.modules.get("numpy")
    if numpy is not None and isinstance(x, numpy.generic):
        return _view_of_numpy_scalar
    if hasattr(x, "__dlpack__") and hasattr(x, "__dlpack_device__"):
        return _dlpack_importer(x)
    if hasattr(x, "__cuda_array_interface__"):
        from tally._device import CudaKind

        return CudaKind().view
    try:
        memoryview(x).release()
    except TypeError:
        pass
    else:
        from tally._buffer import view_of_buffer

        return view_of_buffer
    if isinstance(x, (list, tuple, range, int, float, complex)):
        raise TypeError(f"{type(x).__name__} is no array that tally can read: numpy.asarray makes one of it")
    raise TypeError(
        f"{type(x).__name__} is no array that tally can read: give an array of NumPy, CuPy, PyTorch, JAX or "
        "pyopencl, or an object with __dlpack__, __cuda_array_interface__ or the buffer protocol"
    )


def _view_of_numpy_scalar(x: Any) -> View:
    """The view of a copy, which nobody would see written to."""
    view = view_of_numpy(sys.modules["numpy"].asarray(x))
    view.readonly = True
    return view


def _dlpack_importer(x: Any) -> "Callable[[Any], View]":
    from tally._dlpack import JaxKind, NamespaceKind, view_of_dlpack
    from tally._device import CudaKind

    own: "Kind | None" = None
    if type(x).__module__.partition(".")[0] in ("jax", "jaxlib"):
        own = JaxKind()
    elif hasattr(x, "__array_namespace__"):
        own = NamespaceKind(x.__array_namespace__()).of(x)

    def view(value: Any) -> View:
        if own is not None:
            if isinstance(own, JaxKind) and value.is_deleted():
                raise ValueError("this JAX array has been deleted, or donated to a call")
            made = view_of_dlpack(value, own.of(value) if isinstance(own, NamespaceKind) else own)
            made.readonly = made.readonly or isinstance(own, JaxKind)  # its capsules do not say so
            return made
        made = view_of_dlpack(value, BUFFER)
        made.kind = CudaKind() if made.place == CUDA else numpy_kind()
        return made

    setattr(view, "is_plain", own is None)
    return view


def view_of(x: Any, name: str = "") -> View:
    """The view of any array, of the argument `name` where that is not the first one. Items that are
    not aligned are copied, where the kind can do that."""
    importer = _importers.get(type(x))
    if importer is None:
        try:
            importer = _importer(x)
        except TypeError as error:
            if not name:
                raise
            raise TypeError(f"{name}: {error}") from None
        _importers[type(x)] = importer
    return aligned(importer(x))


def aligned(view: View) -> View:
    """The view itself, or that of a copy whose items are aligned."""
    if view.is_aligned():
        return view
    return as_copy(view.kind.contiguous(view))


def way_of(x: Any) -> "tuple[str, Any]":
    """Returns the way to read objects of x's type: "numpy", "torch" or "dlpack", with the kind of
    the results; "" for another way. Raises TypeError for an object that is no array."""
    importer = _importer(x)
    if importer is view_of_numpy:
        return "numpy", numpy_kind()
    owner = getattr(importer, "__self__", None)
    if owner is not None and owner.name == "torch tensor":
        return "torch", owner
    is_plain = getattr(importer, "is_plain", False) and numpy_kind_if_here() is not None
    return ("dlpack", numpy_kind()) if is_plain else ("", None)
