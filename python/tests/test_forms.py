# SPDX-License-Identifier: MIT
"""The short way of a call like an earlier one, and DLPack's C exchange interface."""

import ctypes
import gc
import sys

import numpy as np
import pytest

import tally
from tally import _forms
from tally._dlpack import looker_of, table_of
from tally._library import ffi, lib
from test_arrays import Plain, Producer, api


def bits(x):
    return np.asarray(x).tobytes()


def arrays(seed):
    """Arrays whose forms are the same for each seed."""
    rng = np.random.default_rng(seed)
    x = rng.standard_normal((6, 40, 50)).astype("f4")
    return [x, x[::-1, ::2], x.T, np.broadcast_to(x[:1], x.shape), x[2, 3], x[0, 0, 0], rng.integers(-9, 9, (30, 7))]


@pytest.mark.parametrize(
    "name", ["sum", "prod", "mean", "argmax", "any", "count_nonzero", "min", "var", "std", "norm", "logsumexp"]
)
def test_later_calls(name, context):
    """The second array of a form has the bits that it has in a context that knows no form."""
    function = getattr(tally, name)
    with tally.Context(context.device.select):
        for seed in (1, 2, 3):
            for x in arrays(seed):
                for axis in (None, *range(-x.ndim, x.ndim)):
                    with tally.Context(context.device.select):
                        expected = function(x, axis=axis)
                    ours = function(x, axis=axis)
                    assert bits(ours) == bits(expected) and np.shape(ours) == np.shape(expected)
                    assert type(ours) is type(expected) and ours.dtype == expected.dtype
        assert len(tally.current().forms) > 20


def masks(x, rng):
    """Masks of an array, whose forms are the same for each generator."""
    whole = rng.random(x.shape) < 0.7
    more = [np.asfortranarray(whole), whole[..., ::-1], whole[:1]] if x.ndim else []
    return [whole, whole.view("u1"), *more]


@pytest.mark.parametrize("name", ["sum", "mean", "var", "any", "count_nonzero", "logsumexp"])
def test_later_calls_with_masks(name, context):
    function = getattr(tally, name)
    with tally.Context(context.device.select):
        for seed in (1, 2, 3):
            rng = np.random.default_rng(seed)
            for x in arrays(seed):
                for where in masks(x, rng):
                    for axis in (None, *range(x.ndim)):
                        with tally.Context(context.device.select):
                            expected = function(x, axis=axis, where=where)
                        ours = function(x, axis=axis, where=where)
                        assert bits(ours) == bits(expected) and type(ours) is type(expected)
        assert any(form.is_mask_flat for form in tally.current().forms.values())


@pytest.mark.parametrize("name", ["var", "std"])
def test_later_calls_with_a_correction(name, context):
    """The corrections of calls between do not stay, and where no items are left the result is NaN."""
    function = getattr(tally, name)
    for seed in (1, 2):
        for x in arrays(seed):
            for axis in (None, *range(x.ndim)):
                for correction in (0, 1, 0.5, 1, 0, 10**6):
                    with tally.Context(context.device.select):
                        expected = function(x, axis=axis, correction=correction)
                    ours = function(x, axis=axis, correction=correction)
                    assert bits(ours) == bits(expected)
                    if correction == 10**6:
                        assert np.isnan(ours).all()
    x = np.arange(12.0).reshape(3, 4)
    for _ in range(2):
        ours, expected = function(x, 1, correction=1, where=x > 0), getattr(np, name)(x, 1, ddof=1, where=x > 0)
        assert ours.tolist() == expected.tolist()


def test_wrong_masks_after_right_ones():
    x = np.ones((3, 4), "f4")
    for _ in range(2):
        assert tally.sum(x, axis=1, where=np.ones((3, 4), bool)).tolist() == [4, 4, 4]
        assert tally.sum(x, axis=1, where=np.eye(4, dtype=bool)[0]).tolist() == [1, 1, 1]
        assert tally.sum(x, axis=1, where=True).tolist() == [4, 4, 4]
        assert tally.sum(x, axis=1, where=False).tolist() == [0, 0, 0]
        assert tally.sum(x, axis=1, where=memoryview(np.eye(4, dtype=bool)[:3].copy())).tolist() == [1, 1, 1]
        with pytest.raises(TypeError, match="mask of bool"):
            tally.sum(x, axis=1, where=x)
        with pytest.raises(ValueError, match="repeated"):
            tally.sum(x, axis=1, where=np.ones((4, 3), bool))
        with pytest.raises(ValueError, match="initial"):
            tally.max(x, axis=1, where=np.ones((3, 4), bool))


def test_what_a_form_keeps(context):
    """No array: neither an input nor a result."""
    x = np.ones((3, 4), "f4")
    for _ in range(3):
        tally.sum(x, axis=0), tally.sum(x)
    gc.collect()
    before = sys.getrefcount(x)
    results = [tally.sum(x, axis=0) for _ in range(5)]
    assert sys.getrefcount(x) == before and len({r.__array_interface__["data"][0] for r in results}) == 5
    assert any(form.aligned is not None for form in context.forms.values())


def test_whole_inputs():
    """All axes of arrays in C order have a plan of tally_plan_create, which has parameters too; others have
    one of segments. The bits are the same."""
    x = np.arange(6000, dtype="f4").reshape(20, 3, 100) % 37 * 0.1
    with tally.Context("host"):
        whole, rows = tally.Plan("var", x), tally.Plan("var", x, axis=(1, 2))
        odd = np.empty((20, 3, 200), "f4")[..., ::2]
        odd[...] = x
        steps = tally.Plan("var", odd)
        kinds = [repr(plan).rpartition("variant ")[2].split()[0] for plan in (whole, rows, steps)]
        assert kinds == ["cpu_chunks", "blocks", "blocks"]
        for ddof in (0, 1, 2000):
            for plan in (whole, steps):
                plan.set_param("ddof", ddof)
            expected = tally.var(x, correction=ddof)
            assert bits(whole()) == bits(expected) == bits(steps()) == bits(tally.var(odd, correction=ddof))
        assert bits(tally.sum(x, axis=(0, 1, 2), keepdims=True)) == bits(tally.sum(odd)) == bits(tally.sum(x))


def test_arguments_of_equal_value():
    """1 == 1.0 == True, and only one is an axis: a known form does not let the others in."""
    x = np.ones((2, 3))
    for _ in range(2):
        assert tally.sum(x, axis=1).shape == (2,)
    with pytest.raises(TypeError):
        tally.sum(x, axis=1.0)
    with pytest.raises(TypeError):
        tally.sum(x, dtype=["float64"])
    assert tally.sum(x, axis=np.int64(1)).shape == tally.sum(x, axis=(1,)).shape == (2,)
    assert tally.sum(x, axis=1, keepdims=True).shape == tally.sum(x, axis=1, keepdims=1).shape == (2, 1)
    with pytest.raises(tally.AxisError):
        tally.sum(x, axis=2)


def test_same_shape_other_types():
    """Byte order and alignment are not in shape and strides."""
    x = np.arange(6, dtype="<f4").reshape(2, 3)
    for _ in range(2):
        assert tally.sum(x, axis=1).tolist() == [3, 12]
    assert tally.sum(x.astype(">f4"), axis=1).tolist() == [3, 12]
    raw = np.zeros(25, "u1")
    shifted = np.ndarray((2, 3), "<f4", raw, 1)
    shifted[...] = x
    for axis, expected in ((1, [3, 12]), (None, 15)):
        assert tally.sum(shifted, axis=axis).tolist() == tally.sum(x, axis=axis).tolist() == expected
    assert tally.sum(x.view("i4"), axis=1).dtype == np.int64


def test_forms_are_bounded(context):
    for n in range(1, _forms.MOST_FORMS + 90):
        assert tally.sum(np.ones((2, n), "u1"), axis=1).tolist() == [n, n]
    assert 0 < len(context.forms) <= _forms.MOST_FORMS


def test_failures_on_the_short_way(context, monkeypatch):
    """A failure raises as on the long way, and the next call works."""
    x = np.ones((5, 6), "f4")
    for _ in range(2):
        tally.sum(x, axis=1)
    free = len(context._queues)
    with monkeypatch.context() as patch:
        patch.setattr(_forms, "_run_form", lambda *_: int(lib.TALLY_E_DEVICE))
        with pytest.raises(tally.DeviceError):
            tally.sum(x, axis=1)
    assert len(context._queues) == free, "the queue is given back"
    assert tally.sum(x, axis=1).tolist() == [6] * 5


def test_capsules_of_known_forms():
    for _ in range(3):
        producer = Producer(np.arange(6, dtype="f4").reshape(2, 3))
        assert tally.sum(producer, axis=1).tolist() == [3, 12]
        assert producer.deleted == 1 and len(producer.streams) == 1
    plain = Plain(np.arange(6, dtype="i4").reshape(2, 3).T)
    for _ in range(3):
        assert tally.max(plain, axis=0).tolist() == [2, 5] and isinstance(tally.max(plain), np.integer)


def test_torch():
    torch = pytest.importorskip("torch")
    x = torch.arange(6, dtype=torch.float32).reshape(2, 3)
    for y in (x, x + 1, x.clone().requires_grad_()):
        result = tally.sum(y, axis=1)
        assert result.tolist() == y.sum(1).tolist() and not result.requires_grad
    mask = x > 1
    for _ in range(3):
        assert tally.sum(x, axis=1, where=mask).tolist() == [2, 12] and tally.sum(x, where=mask[1]).tolist() == 15
        assert tally.var(x, axis=1, correction=1).tolist() == [1, 1] and tally.argmax(x).tolist() == 5
    z = torch.complex(x, x)
    for _ in range(2):
        assert tally.sum(z.imag, axis=1).tolist() == [3, 12]
    assert tally.sum(z.conj().imag, axis=1).tolist() == [-3, -12], "a negated view has the same strides"
    with pytest.raises(TypeError, match="to_dense"):
        tally.sum(x.to_sparse(), axis=1)


# ---- the C exchange interface --------------------------------------------------------------------

MANAGED_OF = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.py_object, ctypes.POINTER(ctypes.c_void_p))
TENSOR_OF = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.py_object, ctypes.c_void_p)
STREAM_OF = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.c_int, ctypes.c_int32, ctypes.POINTER(ctypes.c_void_p))


class Table(ctypes.Structure):
    """DLPackExchangeAPI of DLPack 1.3."""


Table._fields_ = [
    ("major", ctypes.c_uint32),
    ("minor", ctypes.c_uint32),
    ("older", ctypes.POINTER(Table)),
    ("allocate", ctypes.c_void_p),
    ("managed_of", MANAGED_OF),
    ("object_of", ctypes.c_void_p),
    ("tensor_of", TENSOR_OF),
    ("current_stream", STREAM_OF),
]


of_streams = {"offset": 0}


@MANAGED_OF
def _managed_of(producer, out):
    if producer.refuses:
        return -1
    producer.exchanged += 1
    out[0] = int(ffi.cast("intptr_t", producer.content))
    return 0


@TENSOR_OF
def _tensor_of(producer, out):
    if producer.refuses:
        return -1
    ffi.cast("tally_dl_tensor *", out)[0] = producer.content.tensor
    return 0


@STREAM_OF
def _stream_of(device_type, device_id, out):
    out[0] = 1000 * device_type + device_id + of_streams["offset"]
    return 0


def exchanger(major=1, name=b"dlpack_exchange_api", older=None, tensor_of=TENSOR_OF()):
    """A type of producers with the interface."""
    table = Table(major, 3, ctypes.pointer(older) if older else None, 1, _managed_of, 1, tensor_of, _stream_of)

    class Exchanger(Producer):
        __dlpack_c_exchange_api__ = api.PyCapsule_New(ctypes.addressof(table), name, None)
        kept = table
        refuses = False
        exchanged = 0

    return Exchanger


X = np.arange(24, dtype="f4").reshape(2, 3, 4)


def test_exchange():
    """The producer is asked by the table, never by __dlpack__, and its deleter is called once."""
    kind = exchanger()
    assert table_of(kind) and table_of(Producer) == 0
    for x in (X, X[::-1, :, ::2], X.T, np.asarray(X[0, 0, 0]), X + 1):
        for axis in (None, *range(x.ndim)):
            producer = kind(x)
            assert np.asarray(tally.sum(producer, axis=axis)).tolist() == np.asarray(x.sum(axis=axis)).tolist()
            assert producer.deleted == producer.exchanged == 1 and not producer.streams
    refused = kind(X)
    refused.refuses = True
    assert tally.sum(refused) == X.sum() and refused.deleted == 1 and len(refused.streams) == 1
    with pytest.raises(TypeError, match="code 3"):
        tally.sum(kind(X, code=3))
    with pytest.raises(BufferError, match="version 2"):
        tally.sum(kind(X, major=2))


def test_exchange_tables():
    """Another major version, unless an older table is behind it; another capsule; no capsule."""
    newer = exchanger(major=2)
    producer = newer(X)
    assert table_of(newer) == 0 and tally.sum(producer) == X.sum() and len(producer.streams) == 1
    first = exchanger()
    both = exchanger(major=2, older=first.kept)
    assert table_of(both) == ctypes.addressof(both.kept.older.contents)
    assert table_of(exchanger(name=b"another")) == 0
    odd = type("Odd", (Producer,), {"__dlpack_c_exchange_api__": 7})
    assert table_of(odd) == 0 and tally.sum(odd(X)) == X.sum()


def test_exchange_stream():
    """On CUDA the view is on the producer's current stream, and nothing has to wait for it. No
    device is asked."""
    from tally._dlpack import view_of_dlpack
    from tally._view import numpy_kind

    producer = exchanger()(X, device=(2, 3))
    view = view_of_dlpack(producer, numpy_kind())
    assert (view.place, view.device, view.stream, view.owner.in_order) == ("cuda", 3, 2003, True)
    managed = view_of_dlpack(exchanger()(X, device=(13, 0)), numpy_kind())
    assert (managed.place, managed.stream) == ("cuda", 2000)
    del view
    assert producer.deleted == 1


def test_looks(monkeypatch):
    """A look by the interface: equal for arrays of one form, different for any other; the address is
    apart. What is not read as it lies is refused."""
    kind = exchanger(tensor_of=_tensor_of)
    negated, conjugated = [False], [False]
    kind.is_neg, kind.is_conj = lambda self: negated[0], lambda self: conjugated[0]
    look = looker_of(kind)
    assert looker_of(exchanger()) is None and looker_of(Producer) is None
    form, stream, device, address = look(kind(X))
    assert (stream, device, address) == (None, None, X.ctypes.data)
    assert look(kind(X + 1))[0] == form
    on_cuda = [look(kind(X, device=(2, 3)))]
    monkeypatch.setitem(of_streams, "offset", 5)
    on_cuda.append(look(kind(X, device=(2, 3))))
    assert [seen[1:] for seen in on_cuda] == [(2003, 3, X.ctypes.data), (2008, 3, X.ctypes.data)]
    others = (X[1:], X[::2], X[::-1], X.T, X.reshape(6, 4), X[0], X[0, 0, 0:1], np.asarray(X[0, 0, 0]), X.view("i4"))
    others = [look(kind(x))[0] for x in (*others, X.astype("f8"), X.astype("u1"))]
    others += [look(kind(X, code=5))[0], look(kind(X, device=(2, 2)))[0], *(seen[0] for seen in on_cuda)]
    assert all(type(other) is bytes for other in others) and len({form, *others}) == len(others) + 1
    refused = kind(X)
    refused.refuses = True
    unseen = (None, None, None, None)
    assert look(refused) == unseen and look(kind(X, device=(13, 0))) == unseen and look(kind(X, no_strides=True)) == unseen
    conjugated[0] = True
    assert look(kind(X))[0] == form and look(kind(X, code=5)) == unseen
    negated[0] = True
    assert look(kind(X)) == unseen
    del kind.is_neg
    assert look(kind(X)) == unseen, "a producer that cannot be asked"
    before = sys.getrefcount(refused), sys.getrefcount(None)
    for _ in range(1000):
        look(refused)
    assert sys.getrefcount(refused) == before[0] and abs(sys.getrefcount(None) - before[1]) < 100


def test_tvm_ffi():
    """A producer that others wrote."""
    tvm_ffi = pytest.importorskip("tvm_ffi")
    x = tvm_ffi.from_dlpack(X)
    for kind in (x, tvm_ffi.core.DLTensorTestWrapper(x)):
        for _ in range(3):
            assert tally.sum(kind, axis=1).tolist() == X.sum(1).tolist()
    assert table_of(tvm_ffi.core.DLTensorTestWrapper)


def test_streams(monkeypatch):
    """The short way on a stream, on host memory and a queue of ours: it takes the plan that the long
    way made, so that a call can be captured into a graph after one that made it; each stream has
    plans of its own; nothing of another stream is taken."""
    own = tally.Context("host")
    queues = {stream: own.take_queue() for stream in (7, 8)}
    now, views = [7], []

    class Looker(_forms._Numpy):
        def look(self, x):
            return (x.dtype, x.shape, x.strides, now[0]), now[0], 0, None

        def view(self, x, held):
            views.append(x)
            return super().view(x, held)

    monkeypatch.setattr(own, "queue_of_stream", lambda place, stream: queues[stream])
    monkeypatch.setattr("tally._engine.queue_for", lambda of, arrays: (queues[now[0]], queues[now[0]].number))
    monkeypatch.setitem(_forms._lookers, np.ndarray, Looker(tally._view.numpy_kind()))
    monkeypatch.setattr(_forms, "_of_streams", {})
    with own:
        for stream in (7, 8):
            now[0] = stream
            for i in range(4):
                assert tally.sum(np.full((3, 4), i, "f4"), axis=1).tolist() == [4 * i] * 3
    assert len(views) == 2 and len(_forms._of_streams) == 2, "one long way for each stream"
    assert {key[-1]: len(plans) for key, plans in own._plans.items()} == {q.number: 1 for q in queues.values()}
