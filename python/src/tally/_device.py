# SPDX-License-Identifier: MIT
"""Device arrays: PyTorch, CuPy, __cuda_array_interface__ and pyopencl, each on its own stream."""

from __future__ import annotations

import sys
from typing import Any

from tally._dlpack import CUDA_DEVICE, Exported, LEGACY_STREAM
from tally._library import BY_NAME, BY_TYPESTR, DTYPES, Dtype, check, ffi, lib
from tally._view import CUDA, Kind, OPENCL, View, as_copy, strides_of

# ---- PyTorch -------------------------------------------------------------------------------------


class TorchKind(Kind):
    """PyTorch's tensors, on the CPU and on CUDA, on the current stream."""

    name = "torch tensor"

    def __init__(self) -> None:
        self.torch: Any = sys.modules["torch"]
        # A tenth of the time of torch.cuda.current_stream, where it is there.
        self.raw_stream: Any = getattr(self.torch._C, "_cuda_getCurrentRawStream", None)
        self.of_torch: "dict[Any, Dtype]" = {}
        self.to_torch: "dict[int, Any]" = {}
        for dtype in DTYPES.values():
            found = getattr(self.torch, dtype.long_name, None)
            if found is not None:
                self.of_torch[found] = dtype
                self.to_torch[dtype.number] = found

    def view(self, x: Any) -> View:
        """The view of a tensor. Conjugated and negated views are resolved: these are copies."""
        dtype = self.of_torch.get(x.dtype)
        if dtype is None:
            raise TypeError(f"items of type {x.dtype} are not reduced: convert the tensor first")
        if x.layout is not self.torch.strided:
            raise TypeError(f"a tensor of layout {x.layout} is not reduced: x.to_dense() gives one that is")
        if x.is_conj() or x.is_neg():
            return as_copy(self.view(x.resolve_conj().resolve_neg()))
        item = dtype.bytes
        strides = tuple(stride * item for stride in x.stride())
        where = x.device
        if where.type == "cpu":
            return View(x, x.data_ptr(), dtype, tuple(x.shape), strides, self)
        if where.type != "cuda":
            raise TypeError(f"a tensor on {where} is not reduced there: there are the CPU and CUDA")
        if self.raw_stream is not None:
            stream = self.raw_stream(where.index)
        else:
            stream = self.torch.cuda.current_stream(where).cuda_stream
        return View(x, x.data_ptr(), dtype, tuple(x.shape), strides, self, False, CUDA, where.index, stream)

    def empty(self, like: View, shape: "tuple[int, ...]", dtype: Dtype) -> View:
        found = self.to_torch.get(dtype.number)
        if found is None:
            raise TypeError(f"PyTorch has no {dtype.long_name}, the type of the result")
        made = like.owner.new_empty(shape, dtype=found)
        return View(
            made,
            made.data_ptr(),
            dtype,
            shape,
            strides_of(shape, dtype.bytes),
            self,
            False,
            like.place,
            like.device,
            like.stream,
        )

    def _tensor(self, view: View) -> Any:
        strides = [stride // view.dtype.bytes for stride in view.strides]
        return self.torch.as_strided(view.owner, view.shape, strides, view.owner.storage_offset())

    def contiguous(self, view: View) -> View:
        return self.view(self._tensor(view).clone(memory_format=self.torch.contiguous_format))

    def assign_on_device(self, to: View, results: View) -> None:
        to.owner.copy_(results.owner)

    def convert(self, view: View, dtype: Dtype) -> Any:
        return self.view(self._tensor(view).to(self.to_torch[dtype.number])) if dtype.number in self.to_torch else None

    def as_places(self, view: View) -> "tuple[Any, Any]":
        places = self._tensor(view).long()
        return places, lambda n: self.torch.arange(n, device=places.device)


# ---- CuPy ----------------------------------------------------------------------------------------


class CupyKind(Kind):
    """CuPy's arrays, on the current stream of their device."""

    name = "CuPy array"

    def __init__(self) -> None:
        self.cupy: Any = sys.modules["cupy"]

    def view(self, x: Any) -> View:
        dtype = BY_TYPESTR.get(x.dtype.str)
        if dtype is None and x.dtype.name == "bfloat16":
            dtype = BY_NAME["bf16"]
        if dtype is None:
            raise TypeError(f"items of type {x.dtype} are not reduced: convert the array first")
        device = x.device.id
        with self.cupy.cuda.Device(device):
            stream = self.cupy.cuda.get_current_stream().ptr
        return View(x, x.data.ptr, dtype, x.shape, x.strides, self, False, CUDA, device, stream)

    def empty(self, like: View, shape: "tuple[int, ...]", dtype: Dtype) -> View:
        with self.cupy.cuda.Device(like.device):
            made = self.cupy.empty(shape, self._dtype(dtype))
        return View(made, made.data.ptr, dtype, shape, made.strides, self, False, CUDA, like.device, like.stream)

    def _dtype(self, dtype: Dtype) -> Any:
        if dtype.name != "bf16":
            return dtype.long_name
        import ml_dtypes

        return ml_dtypes.bfloat16

    def _array(self, view: View) -> Any:
        return self.cupy.lib.stride_tricks.as_strided(view.owner, view.shape, view.strides)

    def contiguous(self, view: View) -> View:
        return self.view(self.cupy.array(self._array(view), order="C", copy=True))

    def assign_on_device(self, to: View, results: View) -> None:
        with self.cupy.cuda.Device(to.device):
            to.owner[...] = results.owner

    def convert(self, view: View, dtype: Dtype) -> Any:
        with self.cupy.cuda.Device(view.device):
            return self.view(self._array(view).astype(self._dtype(dtype)))

    def as_places(self, view: View) -> "tuple[Any, Any]":
        with self.cupy.cuda.Device(view.device):
            return self._array(view).astype("int64"), self.cupy.arange


# ---- __cuda_array_interface__ --------------------------------------------------------------------


class CudaMemory:
    """Results on a CUDA device for arrays of unknown libraries: by __cuda_array_interface__ and
    DLPack."""

    def __init__(self, exported: Exported) -> None:
        self._exported = exported

    def __repr__(self) -> str:
        exported = self._exported
        return f"<tally: {exported.dtype} of shape {exported.shape} on cuda:{exported.device[1]}>"

    @property
    def __cuda_array_interface__(self) -> "dict[str, Any]":
        exported = self._exported
        if not exported.is_owned:
            raise AttributeError("this memory was handed over by DLPack")
        return {
            "shape": exported.shape,
            "typestr": exported.dtype.typestr,
            "data": (exported.address, False),
            "version": 3,
            "strides": None,
            "stream": exported.stream or LEGACY_STREAM,
        }

    def __dlpack_device__(self) -> "tuple[int, int]":
        return self._exported.__dlpack_device__()

    def __dlpack__(self, **given: Any) -> Any:
        return self._exported.__dlpack__(**given)


class CudaKind(Kind):
    """Objects with __cuda_array_interface__: results have it too, and DLPack."""

    name = "CUDA array"

    def view(self, x: Any) -> View:
        interface = x.__cuda_array_interface__
        if interface.get("mask") is not None:
            raise TypeError("an array with a mask by __cuda_array_interface__ is not reduced: give the mask as where=")
        dtype = BY_TYPESTR.get(interface["typestr"])
        if dtype is None:
            raise TypeError(f"items of type {interface['typestr']} are not reduced: convert the array first")
        shape = tuple(interface["shape"])
        strides = interface.get("strides")
        stream = interface.get("stream")
        if stream == 0:
            raise ValueError("__cuda_array_interface__ has the stream 0, which its specification forbids")
        address, readonly = interface["data"]
        return View(
            x,
            address or 0,
            dtype,
            shape,
            tuple(strides) if strides is not None else strides_of(shape, dtype.bytes),
            self,
            bool(readonly),
            CUDA,
            cuda_device_of(address or 0),
            LEGACY_STREAM if stream is None else stream,
        )

    def empty(self, like: View, shape: "tuple[int, ...]", dtype: Dtype) -> View:
        return cuda_memory(like, shape, dtype, self)

    def finish(self, view: View) -> Any:
        return CudaMemory(view.owner)


def cuda_device_of(address: int) -> int:
    """The CUDA device of a pointer. The interface does not say it, so the driver is asked."""
    import ctypes

    if not address:
        return 0
    try:
        driver = ctypes.CDLL("libcuda.so.1")
    except OSError as error:
        raise TypeError(f"an array in CUDA memory, and no CUDA driver here: {error}") from None
    device = ctypes.c_int(0)
    # 9 is CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL.
    status = driver.cuPointerGetAttribute(ctypes.byref(device), 9, ctypes.c_uint64(address))
    if status:
        raise ValueError(f"{address:#x} is no CUDA memory: cuPointerGetAttribute gives {status}")
    return device.value


def cuda_memory(like: View, shape: "tuple[int, ...]", dtype: Dtype, kind: Kind) -> View:
    """Memory of tally's own on the device of `like`, as a view whose owner can be handed over."""
    from tally._context import context_of

    context = context_of(like)
    count = 1
    for extent in shape:
        count *= extent
    made = ffi.new("tally_buffer **")
    check(lib.tally_buffer_create(context.handle, max(count, 1) * dtype.bytes, made))
    pointer = ffi.new("unsigned long long *")
    exported = Exported(made[0], 0, dtype, shape, (CUDA_DEVICE, like.device), context.queue_of(like), like.stream)
    check(lib.tally_buffer_get_cuda(made[0], pointer))
    exported.address = pointer[0]
    return View(
        exported, pointer[0], dtype, shape, strides_of(shape, dtype.bytes), kind, False, CUDA, like.device, like.stream
    )


# ---- pyopencl ------------------------------------------------------------------------------------


class OpenclKind(Kind):
    """pyopencl's arrays, on their queue."""

    name = "pyopencl array"

    def __init__(self) -> None:
        import pyopencl.array  # type: ignore[import-not-found, unused-ignore]

        self.array: Any = pyopencl.array

    def view(self, x: Any) -> View:
        dtype = BY_TYPESTR.get(x.dtype.str)
        if dtype is None:
            raise TypeError(f"items of type {x.dtype} are not reduced: convert the array first")
        queue = x.queue
        if queue is None:
            raise ValueError("this pyopencl array has no queue: x.with_queue(queue) gives one that has")
        device = (queue.context.int_ptr, queue.device.int_ptr)
        address = x.base_data.int_ptr if x.base_data is not None else 0
        return View(x, address, dtype, x.shape, x.strides, self, False, OPENCL, device, queue.int_ptr, x.offset)

    def assign_on_device(self, to: View, results: View) -> None:
        if not to.is_contiguous():  # pyopencl does not copy between strides
            super().assign_on_device(to, results)
        to.owner.setitem(Ellipsis, results.owner, queue=to.owner.queue)

    def empty(self, like: View, shape: "tuple[int, ...]", dtype: Dtype) -> View:
        from tally._view import numpy_kind

        made = self.array.empty(like.owner.queue, shape, numpy_kind().dtype(dtype), allocator=like.owner.allocator)
        return self.view(made)
