# SPDX-License-Identifier: MIT
"""Arrays in and out: DLPack's capsules, the buffer protocol, other libraries."""

import array
import ctypes
import gc
import itertools
import struct
import sys

import numpy as np
import pytest

import tally
from tally._dlpack import Consumed, Exported
from tally._library import BY_NAME, check, ffi, lib
from tally._view import strides_of

api = ctypes.pythonapi
api.PyCapsule_New.argtypes, api.PyCapsule_New.restype = [
    ctypes.c_void_p,
    ctypes.c_char_p,
    ctypes.c_void_p,
], ctypes.py_object
api.PyCapsule_IsValid.argtypes = [ctypes.py_object, ctypes.c_char_p]


class Plain:
    """A producer without an array namespace, over a NumPy array."""

    def __init__(self, x):
        self.x = x

    def __dlpack_device__(self):
        return self.x.__dlpack_device__()

    def __dlpack__(self, **given):
        return self.x.__dlpack__(**given)


class Old(Plain):
    """A producer from before versions."""

    def __dlpack__(self, stream=None):
        return self.x.__dlpack__()


class Producer:
    """A producer whose capsules are made here, field by field. Counts what its deleter is told."""

    def __init__(
        self, x, versioned=True, major=1, flags=0, device=(1, 0), code=None, no_strides=False, no_deleter=False
    ):
        self.x, self.device, self.deleted, self.streams = x, device, 0, []
        kind = ctypes.CFUNCTYPE(None, ctypes.c_void_p)
        self.deleter = kind(self.delete)
        self.content = ffi.new("tally_dl_versioned *" if versioned else "tally_dl_managed *")
        self.shape = ffi.new("int64_t[]", list(x.shape) or [0])
        self.strides = ffi.new("int64_t[]", [s // x.itemsize for s in x.strides] or [0])
        tensor = self.content.tensor
        tensor.data = ffi.cast("void *", x.__array_interface__["data"][0] - 8)
        tensor.byte_offset = 8
        tensor.device_type, tensor.device_id = device
        tensor.ndim, tensor.lanes = x.ndim, 1
        tensor.code, tensor.bits = {"i": 0, "u": 1, "f": 2}[x.dtype.kind] if code is None else code, 8 * x.itemsize
        tensor.shape, tensor.strides = self.shape, ffi.NULL if no_strides else self.strides
        if not no_deleter:
            self.content.deleter = ffi.cast(
                ffi.typeof(self.content.deleter), ctypes.cast(self.deleter, ctypes.c_void_p).value
            )
        if versioned:
            self.content.major, self.content.flags = major, flags
        self.name = b"dltensor_versioned" if versioned else b"dltensor"

    def delete(self, _):
        self.deleted += 1

    def __dlpack_device__(self):
        return self.device

    def __dlpack__(self, *, stream=None, max_version=None):
        self.streams.append((stream, max_version))
        self.capsule = api.PyCapsule_New(int(ffi.cast("intptr_t", self.content)), self.name, None)
        return self.capsule


X = np.arange(24, dtype="f4").reshape(2, 3, 4)


@pytest.mark.parametrize("make", [Plain, Old])
def test_dlpack_of_numpy(make):
    x = X.copy()
    before = sys.getrefcount(x)
    for view in (x, x[::-1, :, ::2], x.T):
        result = tally.sum(make(view), axis=1)
        assert isinstance(result, np.ndarray) and result.tolist() == view.sum(axis=1).tolist()
    del view
    gc.collect()
    assert sys.getrefcount(x) == before


@pytest.mark.parametrize("versioned", [True, False])
@pytest.mark.parametrize("x", [X, X[::-1, 1:, ::-2], X[0, 0, 0], X[:0]], ids=["whole", "strides", "scalar", "empty"])
def test_capsules_are_consumed_once(versioned, x):
    x = np.asarray(x)
    producer = Producer(x, versioned)
    assert np.asarray(tally.sum(producer)).tolist() == x.sum().tolist()
    assert producer.deleted == 1 and producer.streams == [(None, (1, 0))]
    assert api.PyCapsule_IsValid(producer.capsule, b"used_" + producer.name)
    with pytest.raises(BufferError, match="consumed"):
        Consumed(producer.capsule)
    assert producer.deleted == 1


def test_capsules_of_other_kinds():
    assert tally.sum(Producer(X, False, no_strides=True), axis=2).tolist() == X.sum(2).tolist()
    assert tally.sum(Producer(X, no_deleter=True)) == X.sum()
    newer = Producer(X, major=2)
    with pytest.raises(BufferError, match="version 2"):
        tally.sum(newer)
    assert newer.deleted == 1, "a content of another version is deleted, not read"
    opaque = Producer(X, code=3)
    with pytest.raises(TypeError, match="code 3"):
        tally.sum(opaque)
    assert opaque.deleted == 1
    metal = Producer(X, device=(8, 0))
    with pytest.raises(TypeError, match="device 8:0"):
        tally.sum(metal)
    assert not metal.streams, "nothing was asked of a device that is not read"


def test_read_only_flag():
    flagged = Producer(np.zeros(4, "f4"), flags=1)
    with pytest.raises(ValueError, match="read-only"):
        tally.sum(X[0], axis=0, out=flagged)
    assert flagged.deleted == 1
    writable = Producer(np.zeros(4, "f4"))
    tally.sum(X[0], axis=0, out=writable)
    assert writable.x.tolist() == X[0].sum(0).tolist() and writable.deleted == 1


def test_errors_of_producers_pass():
    class Refuses(Plain):
        def __dlpack__(self, **given):
            raise BufferError("it needs a copy")

    class Confused(Plain):
        def __dlpack__(self, **given):
            raise TypeError("of its own")

    with pytest.raises(BufferError, match="needs a copy"):
        tally.sum(Refuses(X))
    with pytest.raises(TypeError, match="of its own"):
        tally.sum(Confused(X))


@pytest.mark.parametrize("stream,asked", [(None, 1), (7, 7), (1, 1), (2, 2), (-1, -1)])
def test_stream_is_asked_for(stream, asked):
    """The view of a CUDA producer, without a CUDA device: the stream is handed over, and nothing is
    read."""
    from tally._dlpack import view_of_dlpack
    from tally._view import numpy_kind

    producer = Producer(X, device=(2, 3))
    view = view_of_dlpack(producer, numpy_kind(), stream)
    assert (view.place, view.device, view.stream) == ("cuda", 3, asked) and producer.streams == [(asked, (1, 0))]
    del view
    assert producer.deleted == 1


def test_cuda_without_a_driver():
    if any(device.backend == "cuda" for device in tally.devices()):
        pytest.skip("here is a CUDA device")
    producer = Producer(X, device=(2, 0))
    with pytest.raises(tally.DeviceError, match="cuda"):
        tally.sum(producer)
    assert producer.deleted == 1


def test_cuda_array_interface():
    from tally._device import CudaKind

    class Array:
        def __init__(self, **other):
            self.__cuda_array_interface__ = {
                "shape": (2, 3),
                "typestr": "<f4",
                "data": (0, False),
                "version": 3,
                **other,
            }

    view = CudaKind().view(Array(shape=(0, 3), stream=None))
    assert (view.place, view.shape, view.strides, view.stream) == ("cuda", (0, 3), (12, 4), 1)
    assert CudaKind().view(Array(shape=(0, 3), stream=2, strides=(4, 0))).stream == 2
    with pytest.raises(ValueError, match="stream 0"):
        CudaKind().view(Array(stream=0))
    with pytest.raises(TypeError, match="mask"):
        CudaKind().view(Array(mask=Array()))
    with pytest.raises(TypeError, match="<M8"):
        CudaKind().view(Array(typestr="<M8"))


def exported(versioned):
    """An export of a buffer of the context: the address is NumPy's, so that a consumer can read
    it."""
    memory = np.arange(6, dtype="f4")
    made = ffi.new("tally_buffer **")
    check(
        lib.tally_buffer_wrap_host(tally.current().handle, ffi.cast("void *", memory.ctypes.data), memory.nbytes, made)
    )
    return memory, Exported(made[0], memory.ctypes.data, BY_NAME["f32"], (2, 3), (1, 0))


def test_export_is_consumed_once():
    before = lib.tally_python_exports()
    memory, source = exported(True)
    ours = np.from_dlpack(source)
    assert lib.tally_python_exports() == before + 1
    assert ours.tolist() == memory.reshape(2, 3).tolist()
    with pytest.raises(BufferError, match="handed over"):
        np.from_dlpack(source)
    del ours
    gc.collect()
    assert lib.tally_python_exports() == before


@pytest.mark.parametrize("max_version", [None, (1, 0), (0, 8)])
def test_export_that_nobody_consumes(max_version):
    before = lib.tally_python_exports()
    memory, source = exported(True)
    capsule = source.__dlpack__(max_version=max_version)
    assert api.PyCapsule_IsValid(capsule, b"dltensor_versioned" if max_version == (1, 0) else b"dltensor")
    assert lib.tally_python_exports() == before + 1
    del capsule
    assert lib.tally_python_exports() == before
    _, unused = exported(True)
    with pytest.raises(BufferError, match="device"):
        unused.__dlpack__(dl_device=(2, 0))
    with pytest.raises(BufferError, match="copy"):
        unused.__dlpack__(copy=True)
    del memory


def test_export_waits_for_other_streams(monkeypatch):
    import types

    from tally import _dlpack

    waited = []
    monkeypatch.setattr(
        _dlpack,
        "lib",
        types.SimpleNamespace(
            tally_queue_wait=lambda queue: waited.append(queue) or lib.tally_queue_wait(queue),
            tally_buffer_destroy=lib.tally_buffer_destroy,
        ),
    )
    _, source = exported(True)
    source.queue, source.stream = tally.current().take_queue(), 5
    for stream, waits in ((5, 0), (-1, 0), (None, 1), (1, 1), (9, 1)):
        waited.clear()
        source.hand_over(stream)
        assert len(waited) == waits, stream
    source.stream = 0
    waited.clear()
    source.hand_over(None)
    source.hand_over(1)
    assert not waited


# ---- the buffer protocol -------------------------------------------------------------------------


def test_buffers_that_are_copied():
    """Buffers of unaligned items, and strided ones where C order is needed."""
    every = memoryview(array.array("d", range(10)))[::2]
    places, cuts = array.array("q", [0, 3]), array.array("q", [0, 2, 5])
    assert tally.take(every, places).tolist() == [0, 6]
    assert tally.segment_reduce(every, cuts).tolist() == [2, 18]
    assert [list(one) for one in tally.reduce_by_key(every[::-1], every)[:2]] == [[8, 6, 4, 2, 0], [0, 2, 4, 6, 8]]
    assert tally.reduce_part("sum", every).value() == tally.Feed("sum", "float64").finish(every) == 20
    unaligned = memoryview(bytearray(b"\1" + struct.pack("=dd", 3, 4)))[1:].cast("d")
    assert tally.sum(unaligned) == 7
    plan = tally.Plan("sum", unaligned)
    unaligned[0] = 5
    assert plan() == 9
    with pytest.raises(ValueError, match="not aligned"):
        tally.sum(np.ones((3, 2)), axis=0, out=unaligned)


def test_buffers():
    x = memoryview(array.array("i", range(6))).cast("B").cast("i", (2, 3))
    assert tally.sum(x) == 15 and isinstance(tally.sum(x), int)
    assert tally.sum(x, axis=0).tolist() == [3, 5, 7] and tally.max(x[::-1]) == 5
    assert tally.sum(b"abc") == sum(b"abc") and tally.mean(bytearray(b"ab")) == 97.5
    assert tally.sum(array.array("d")) == 0.0
    assert tally.minmax(array.array("h", [3, -1])) == (-1, 3) and tally.ptp(array.array("h", [3, -1])) == 4
    assert [end.tolist() for end in tally.minmax(x, axis=0)] == [[0, 1, 2], [3, 4, 5]]
    with pytest.raises(TypeError, match="no subtraction"):
        tally.ptp(x, axis=0)
    assert strides_of((2, 3), 4) == (12, 4)
    with pytest.raises(ValueError, match="read-only"):
        tally.sum(x, axis=0, out=memoryview(bytes(24)).cast("q"))
    assert tally.sum(x[:0], axis=0).tolist() == [0, 0, 0]
    half = memoryview(np.array([1.5, 60000, 60000], "f2"))
    assert tally.sum(half[:1]) == 1.5 and tally.sum(half) == float("inf")
    assert tally.sum(x, dtype="int8") == 15 and tally.sum(x, axis=0, dtype="float64").tolist() == [3.0, 5.0, 7.0]
    wide = array.array("d", [0, 0, 0])
    assert tally.sum(x, axis=0, dtype="float64", out=wide) is wide and list(wide) == [3, 5, 7]
    held = bytearray(8)
    tally.sum(held)
    held.append(1)  # a buffer that is still held could not grow
    with pytest.raises(TypeError, match="items '[uw]'"):
        tally.sum(array.array("u", "ab"))


# ---- other libraries, where they are installed ---------------------------------------------------


def test_copies_keep_the_kind():
    """Where items must lie in C order, the results of an array that does not are of its library."""
    strict = pytest.importorskip("array_api_strict")
    x = strict.asarray(np.arange(10.0))[::2]
    places, flags = strict.asarray([0, 1, 5]), strict.asarray([1, 0, 1, 0, 0], dtype=strict.int8)
    results = [
        tally.take(x, places[:2]),
        tally.scan("sum", x, flags=flags),
        tally.segment_reduce(x, places),
        *tally.reduce_by_key(x, x),
    ]
    assert {type(one) for one in results} == {type(x)}
    assert [np.asarray(one).tolist() for one in results[:3]] == [[0, 2], [0, 2, 4, 10, 18], [0, 20]]


def test_array_api_strict():
    strict = pytest.importorskip("array_api_strict")
    x = strict.reshape(strict.arange(6, dtype=strict.float32), (2, 3))
    result = tally.sum(x, axis=0)
    assert type(result) is type(x) and result.dtype == strict.float32 and np.asarray(result).tolist() == [3, 5, 7]
    assert tally.sum(x).shape == () and float(tally.sum(x)) == 15
    assert np.asarray(tally.cumulative_sum(x, axis=0)).tolist() == [[0, 1, 2], [3, 5, 7]]
    assert np.asarray(tally.minmax(x, axis=1)[1]).tolist() == [2, 5]


def test_jax():
    jax = pytest.importorskip("jax")
    x = jax.numpy.arange(6, dtype="float32").reshape(2, 3)
    result = tally.sum(x, axis=0)
    assert isinstance(result, jax.Array) and result.tolist() == [3, 5, 7]
    assert float(tally.max(x)) == 5
    half = jax.numpy.ones((2, 3), "bfloat16")
    assert tally.sum(half, axis=1).dtype == half.dtype
    flat = x.ravel()
    with pytest.raises(ValueError, match="written"):  # nobody may write to JAX's arrays
        tally.put(flat, jax.numpy.array([0]), flat[1:2])
    with pytest.raises(ValueError, match="read-only"):
        tally.sum(x, axis=0, out=x[0])
    assert tally.take(flat, jax.numpy.array([-1, 0])).tolist() == [5, 0]


def test_bfloat16():
    ml_dtypes = pytest.importorskip("ml_dtypes")
    x = np.arange(6).astype(ml_dtypes.bfloat16).reshape(2, 3)
    result = tally.sum(x, axis=1)
    assert result.dtype == x.dtype and result.tolist() == [3, 12]
    assert tally.max(x) == 5


def test_torch():
    torch = pytest.importorskip("torch")
    x = torch.arange(6, dtype=torch.float32).reshape(2, 3).T
    assert tally.sum(x, axis=0).tolist() == [3, 12] and isinstance(tally.sum(x), torch.Tensor)
    assert tally.cumulative_sum(x, axis=0).tolist() == torch.cumsum(x, 0).tolist()
    half = x.to(torch.bfloat16)
    assert tally.sum(half, axis=1).tolist() == [3, 5, 7] and tally.sum(half, axis=1).dtype == torch.bfloat16
    assert tally.cumulative_sum(half, axis=0).dtype == tally.sum(half).dtype == torch.bfloat16
    out = torch.zeros(3, 2, dtype=torch.bfloat16)[:, 0]
    assert tally.sum(half, axis=1, out=out) is out and out.tolist() == [3, 5, 7]
    assert tally.sum(x.to(torch.int32), dtype=torch.int8).dtype == torch.int8
    assert tally.sum(x[:, 1:].conj(), axis=1).tolist() == [3, 4, 5] and tally.sum(x.flip(0), axis=0).tolist() == [3, 12]
    plan = tally.Plan("max", x, axis=0)
    assert plan().tolist() == [2, 5]
    with pytest.raises(TypeError, match="to_dense"):
        tally.sum(x.to_sparse())


def test_pyopencl():
    opencl = pytest.importorskip("pyopencl")
    pytest.importorskip("pyopencl.array")
    if not any(device.backend == "opencl" for device in tally.devices()) or not opencl.get_platforms():
        pytest.skip("no OpenCL device")
    queue = opencl.CommandQueue(opencl.Context([opencl.get_platforms()[0].get_devices()[0]]))
    host = np.random.default_rng(2).standard_normal((30, 40)).astype("f4")
    x = opencl.array.to_device(queue, host)
    for view, same in ((x, host), (x[::2, 3:], host[::2, 3:]), (x.T, host.T)):
        for axis in (None, 0, 1):
            result = tally.sum(view, axis=axis)
            assert isinstance(result, opencl.array.Array) and result.queue == queue
            assert result.get().tobytes() == np.asarray(tally.sum(same, axis=axis)).tobytes()
    out = opencl.array.zeros(queue, 40, "float32")
    assert tally.sum(x, axis=0, out=out) is out and out.get().tobytes() == tally.sum(host, axis=0).tobytes()
    with pytest.raises(ValueError, match="different devices"):
        tally.sum(x, where=np.ones(40, bool))
    with pytest.raises(ValueError, match="no queue"):
        tally.sum(x.with_queue(None))
    plan = tally.Plan("sum", x, axis=0)
    assert plan().get().tobytes() == out.get().tobytes()
    assert tally.sum(x, axis=0, out=x[3]).get().tobytes() == out.get().tobytes(), "an out that meets the input"
    with pytest.raises(ValueError, match="overlaps an input, and a pyopencl array is not copied"):
        tally.sum(x, axis=1, out=x[:, 0])
    with pytest.raises(ValueError, match="overlaps an input: give memory"):
        tally.Plan("sum", x, axis=0, out=x[0])


@pytest.fixture
def opencl_queue():
    """pyopencl's module of arrays, and a queue."""
    opencl = pytest.importorskip("pyopencl")
    pytest.importorskip("pyopencl.array")
    if not any(device.backend == "opencl" for device in tally.devices()) or not opencl.get_platforms():
        pytest.skip("no OpenCL device")
    yield opencl.array, opencl.CommandQueue(opencl.Context([opencl.get_platforms()[0].get_devices()[0]]))


def test_pyopencl_without_items(opencl_queue):
    """Arrays without items have no cl_mem."""
    array, queue = opencl_queue
    x, places = array.zeros(queue, (0, 3), "float32"), array.zeros(queue, 2, "int64")
    assert tally.sum(x, axis=0).get().tolist() == [0, 0, 0] and tally.sum(x).get() == 0
    assert tally.sum(x, axis=1).shape == (0,) and tally.Plan("sum", x, axis=0)().get().tolist() == [0, 0, 0]
    assert tally.segment_reduce(x.reshape(0), places).get().tolist() == [0]
    assert tally.reduce_part("sum", x).value() == 0


def test_pyopencl_initial(opencl_queue):
    array, queue = opencl_queue
    host = np.arange(1.0, 7, dtype="f4").reshape(2, 3)
    x = array.to_device(queue, host)
    for axis, function in itertools.product((0, 1), (tally.cumulative_sum, tally.cumulative_prod)):
        same = function(host, axis=axis, include_initial=True)
        assert function(x, axis=axis, include_initial=True).get().tobytes() == same.tobytes()


def test_pyopencl_indices(opencl_queue):
    """What is computed with indices, which pyopencl's arrays are not, ends in an error that says so."""
    array, queue = opencl_queue
    x = array.to_device(queue, np.arange(3, dtype="f4"))
    with pytest.raises(IndexError, match="is 9: x has 3 items"):
        tally.take(x, array.to_device(queue, np.array([0, 9])))
    with pytest.raises(TypeError, match="take is along axis 0, of rows of up to 16 bytes"):
        tally.take(x.reshape(3, 1), array.to_device(queue, np.array([0, 0])), axis=1)


def test_pyopencl_masks(opencl_queue):
    """A comparison gives int8."""
    array, queue = opencl_queue
    x = array.to_device(queue, np.arange(5, dtype="f4"))
    assert tally.sum(x, where=x > 2).get() == 7
    assert tally.sum(x, where=False).get() == 0 and tally.Plan("min", x, where=False)().get() == np.inf
    assert tally.scan("sum", x, flags=x > 2).get().tolist() == [0, 1, 3, 3, 4]
    tally.put(x, array.to_device(queue, np.arange(5)), -x, where=x > 2)
    assert x.get().tolist() == [0, 1, 2, -3, -4]
