# SPDX-License-Identifier: MIT
"""Results and initial values: their types and roundings, which are those of every device; outputs
that meet inputs; plans of arrays that are copied."""

import array
import ctypes
import itertools
import sys

import numpy as np
import pytest

import tally
from tally._library import BY_LONG_NAME, BY_NAME
from tally._results import initial_bytes
from tally._view import fill, numpy_kind, view_of_numpy

TYPES = "bool int8 uint8 int16 uint16 int32 uint32 int64 uint64 float16 float32 float64".split()
BACKENDS = sorted({device.backend for device in tally.devices()})


@pytest.fixture(params=BACKENDS)
def backend(request):
    """Each backend that is here."""
    with tally.Context(request.param):
        yield request.param


def filled(x, name):
    """The items as another type."""
    view = view_of_numpy(x)
    return fill(numpy_kind().empty(view, view.shape, BY_LONG_NAME[name]), view).owner


@pytest.mark.parametrize("of, to", list(itertools.product(TYPES, TYPES)))
def test_conversions_are_numpys(of, to):
    """Each value is rounded once, to nearest even. NumPy's casts are, too."""
    rng = np.random.default_rng(6)
    x = rng.integers(0, 256, 20000 * np.dtype(of).itemsize, "u1").view(of)
    if of == "bool":
        x = rng.integers(0, 2, 20000).astype(bool)
    if np.dtype(of).kind in "iu":
        x = x >> rng.integers(0, 8 * x.itemsize, 20000).astype(of)
        x = np.append(x, np.array([np.iinfo(of).min, np.iinfo(of).max, 0], of))
    with np.errstate(all="ignore"):
        if np.dtype(of).kind == "f":
            halves = np.arange(0x7C00, dtype="u2").view("f2").astype("f8")
            x = np.concatenate([x, ((halves[1:] + halves[:-1]) / 2).astype(of), np.array([0.0, np.inf, np.nan], of)])
            x = np.concatenate([x, (rng.standard_normal(20000) * 10.0 ** rng.integers(-9, 6, 20000)).astype(of)])
            if np.dtype(to).kind in "iu":
                wide, limits = x.astype("f8"), np.iinfo(to)
                x = x[(wide > (limits.min or -1)) & (wide < limits.max)]
        np.testing.assert_array_equal(filled(x[::-1], to), x[::-1].astype(to))


def test_an_index_stays_one(backend):
    with pytest.raises(TypeError, match="an index"):
        tally.reduce("argmax", np.ones(3), dtype="float64")


def test_a_float_beyond_an_integer():
    for value in (1e20, float("nan"), -129.0):
        with pytest.raises(ValueError, match="beyond the range of i8"):
            tally.sum(array.array("d", [value]), dtype="int8")
    assert tally.sum(array.array("d", [1.5, -128.9]), dtype="int8") == -127


#: op, items, arguments, the value
ROUNDED = [
    ("prod", np.array([3], "f2"), {"initial": 0.1}, np.float16(0.2998)),
    ("sum", np.array([16777216.0]), {"dtype": "f4", "initial": 1.00000001}, np.float32(16777216)),
    ("sum", array.array("q", [2**60 + 2**36 + 1]), {"dtype": "float32"}, 2.0**60 + 2**37),
    ("sum", np.array([1, 2], "u1"), {"dtype": "i8", "initial": -1}, np.int64(2)),
    ("sum", np.array([1.0], "f2"), {"initial": 1e5}, np.float16(np.inf)),
    ("sum", np.zeros(1, "f4"), {"initial": 2**60 + 2**36 + 1}, np.float32(2**60 + 2**37)),
    ("asum", np.array([3 + 4j], "c8"), {"dtype": "f8"}, np.float64(7)),
]


@pytest.mark.parametrize("name, x, arguments, value", ROUNDED)
def test_results_are_rounded_once(backend, name, x, arguments, value):
    result = getattr(tally, name)(x, **arguments)
    assert result == value and type(result) is type(value)


def test_results_of_torch_are_rounded_once(backend):
    torch = pytest.importorskip("torch")
    for dtype, value in ((torch.float16, 1 + 2**-10), (torch.bfloat16, 1 + 2**-7)):
        x = torch.tensor([1 + (value - 1) / 2 + 2**-40], dtype=torch.float64)
        for axis in (None, 0):
            assert tally.sum(x, axis=axis, dtype=dtype).item() == value


def test_results_of_bfloat16_are_rounded_once(backend):
    ml_dtypes = pytest.importorskip("ml_dtypes")
    x = np.array([[1 + 2**-8 + 2**-40], [1.0]])
    assert tally.sum(x[:1], dtype=ml_dtypes.bfloat16) == 1 + 2**-7
    assert tally.cumulative_sum(x, axis=1, dtype=ml_dtypes.bfloat16).ravel().tolist() == [1 + 2**-7, 1]


def test_initial_values_that_are_none(backend):
    x = np.array([1, 2])
    calls = [
        (ValueError, "initial 300 is no int8", lambda: tally.sum(x, dtype="i1", initial=300)),
        (ValueError, "initial 1.5 is no int64, in which the op", lambda: tally.sum(x, dtype="f8", initial=1.5)),
        (ValueError, "initial 1e[+]30 is no int64, in which", lambda: tally.sum(x, dtype="f8", initial=1e30)),
        (ValueError, "is no uint64, in which", lambda: tally.sum(x.astype("u1"), dtype="f8", initial=-1)),
        (
            ValueError,
            "initial 5 is no bool: it is neither",
            lambda: tally.scan("sum", x > 1, initial=5, exclusive=True),
        ),
        (ValueError, "initial 2 is no bool", lambda: tally.max(x > 1, initial=2)),
        (TypeError, "initial '1' is no float64: it is text", lambda: tally.sum(x + 0.5, initial="1")),
    ]
    for error, text, call in calls:
        with pytest.raises(error, match=text):
            call()
    assert tally.scan("sum", x > 1, initial=True, exclusive=True).tolist() == [1, 1]


def test_initial_values_of_scans(backend):
    """They are items: float32 here, though the sums are float64."""
    sums = tally.scan("sum", np.ones(2, "f4"), initial=0.1, exclusive=True, dtype="f8")
    assert sums.tolist() == [np.float32(0.1), 1 + float(np.float32(0.1))]


def test_initial_values_are_rounded_once():
    bf16, f32 = BY_NAME["bf16"], BY_NAME["f32"]
    number = 2**60 + 2**52 + 1  # as a float of 53 digits it would be a tie
    assert initial_bytes(number, bf16, f32, f32) == np.float32(2**60 + 2**53).tobytes()
    assert initial_bytes(10**300, f32, f32, f32) == np.float32(np.inf).tobytes()


@pytest.mark.parametrize("op", ["sum", "mean", "asum", "var", "prod"])
def test_dtype_of_reduce_and_plans(backend, op):
    """They are those of the functions."""
    for of, to in (("f4", "f8"), ("i4", "f4"), ("f8", "f2"), ("i4", "i2"), ("f4", "i4")):
        x = (np.arange(12).reshape(3, 4) + 1.7).astype(of)
        if op in ("mean", "asum", "var") and to[0] == "i":
            continue
        expected = getattr(tally, op)(x, axis=1, dtype=to)
        for got in (tally.reduce(op, x, axis=1, dtype=to), tally.Plan(op, x, axis=1, dtype=to)()):
            assert got.dtype == expected.dtype and got.tobytes() == expected.tobytes()
    with pytest.raises(TypeError, match="casts its items to f8 first"):
        tally.reduce(["sum", "prod"], np.arange(3), dtype="f8")


def test_fused_dtype(backend):
    x = np.ones(3, "f4") + np.float32(0.1)
    total, top = tally.reduce(["sum", "max"], x, dtype="f8")
    assert total == tally.sum(x, dtype="f8") and top == np.float64(x[0]) and top.dtype == np.float64
    half = np.ones(3, "f2")
    assert tally.Plan("sum", half)().dtype == tally.reduce("sum", half).dtype == np.float16


def test_plans_read_the_array_that_was_given(backend):
    """A plan copies what it cannot read in place anew at each call."""
    packed = np.zeros((4, 3), [("a", "u1"), ("b", "<f4"), ("c", "u1")])
    cases = [np.ones((4, 3), ">f8"), packed["b"], np.ones((4, 3), "c8").real]
    for x in cases:
        x[...] = 1
        plain = np.ones(3, x.dtype.newbyteorder("="))
        first, second = tally.Plan("sum", x, axis=0), tally.Plan("dot", plain, x, axis=1)
        wide = tally.Plan("sum", x, dtype="complex128" if x.dtype.kind == "c" else "f8")
        assert first().tolist() == [4] * 3 and second().tolist() == [3] * 4 and wide() == 12
        x[...] = 5
        assert first().tolist() == [20] * 3 and second().tolist() == [15] * 4 and wide() == 60
        assert first() is first.out
    flags = np.zeros((4, 3), "u1").astype("?")[::-1]
    plan = tally.Plan("sum", cases[0], where=flags)
    assert plan() == 0
    flags[0] = True
    assert plan() == 15
    truth = np.zeros(3, "c8")
    plan = tally.Plan("any", truth)
    assert not plan()
    truth[1] = 1j
    assert plan()


def test_plans_of_an_array_that_got_another_shape(backend):
    """A copy that is made anew fits the plan, or is refused."""
    x = np.arange(12, dtype=">f8")
    plan = tally.Plan("sum", x)
    assert plan() == 66
    x.resize((4, 3), refcheck=False)
    with pytest.raises(ValueError, match="another shape"):
        plan()


def test_plans_are_of_the_context_that_made_them():
    """What a plan copies at each call, it converts for its own device."""
    x = np.ones(3, "f4")
    plans = []
    for name in BACKENDS:
        with tally.Context(name):
            plans.append(tally.Plan("sum", x, dtype="f8"))
    x[:] = 5
    for plan, name in itertools.product(plans, BACKENDS):
        with tally.Context(name):
            assert plan() == 15


def test_plans_of_conjugated_tensors(backend):
    torch = pytest.importorskip("torch")
    x = torch.ones(3, dtype=torch.complex64) * 1j
    plan = tally.Plan("sum", x.conj())
    assert plan().item() == -3j
    x *= 2
    assert plan().item() == -6j
    with pytest.raises(ValueError, match="conjugated"):
        tally.sum(torch.ones(2, 3, dtype=torch.complex64), axis=0, out=x.conj())


def test_plans_give_what_functions_give(backend):
    kinds = [memoryview(bytes(range(6))).cast("B", (2, 3)), np.arange(6.0).reshape(2, 3)]
    for library in ("array_api_strict", "jax.numpy", "torch"):
        try:
            made = __import__(library, fromlist=["ones"])
        except ImportError:
            continue
        kinds.append(made.ones((2, 3)))
    for x in kinds:
        for axis in (None, 0):
            plan, expected = tally.Plan("sum", x, axis=axis), tally.sum(x, axis=axis)
            first = plan()
            assert type(first) is type(plan.out) is type(expected)
            assert np.asarray(first).tolist() == np.asarray(plan.out).tolist() == np.asarray(expected).tolist()
            assert np.asarray(plan()).tolist() == np.asarray(expected).tolist()


def test_outputs_that_meet_inputs(backend):
    def table():
        return np.arange(20.0).reshape(5, 4)

    t = table()
    assert tally.sum(t[:, :3], axis=1, out=t[:, 3]).tolist() == table()[:, :3].sum(1).tolist()
    t = table()
    assert tally.sum(t, axis=0, out=t[2]).tolist() == table().sum(0).tolist()
    t = table()
    tally.max(t, axis=1, out=t[:, 0])
    np.testing.assert_array_equal(t, np.concatenate([table().max(1)[:, None], table()[:, 1:]], 1))
    t = table()
    tally.sum(t, axis=(), out=t)
    np.testing.assert_array_equal(t, table())
    t = table()
    plan = tally.Plan("sum", t, axis=1, out=t[:, 3])
    plan()
    assert plan() is plan.out and plan.out[0] == 0 + 1 + 2 + 6
    mask = np.array([[True, False], [True, True]])
    assert tally.any(np.array([[0, 1], [0, 0]]), axis=1, where=mask, out=mask[:, 0]).tolist() == [False, False]


def test_outputs_of_tensors_that_meet_inputs(backend):
    torch = pytest.importorskip("torch")
    t = torch.arange(20.0).reshape(5, 4)
    expected = t.sum(1).tolist()
    out = t[:, 3]
    assert tally.sum(t, axis=1, out=out) is out and out.tolist() == expected


def test_complex_truth(backend):
    x = np.array([0, 1j, 0, 2])
    assert tally.reduce("any", x) and tally.reduce(["any", "all"], x) == (True, False)
    assert tally.reduce("count_nonzero", x) == tally.Plan("count_nonzero", x)() == 2
    assert tally.segment_reduce(x, np.array([0, 1, 4]), "any").tolist() == [False, True]
    assert tally.reduce_by_key(np.array([1, 1, 2, 2]), x, "all")[1].tolist() == [False, False]
    assert tally.scan("any", x).tolist() == [False, True, True, True]
    with pytest.raises(TypeError, match="any does not take items of type complex128"):
        tally.reduce(["any", "sum"], x)


def test_halves_in_buffers(backend):
    x = memoryview(np.ones((2, 3), "f2"))
    if sys.version_info < (3, 14):
        with pytest.raises(TypeError, match="no letter in Python's memoryview"):
            tally.sum(x, axis=0)
    assert tally.sum(x) == 6


def test_ctypes(backend):
    """Their buffers have no strides."""
    assert tally.sum((ctypes.c_int * 3)(1, 2, 3)) == 6
    rows = ((ctypes.c_int * 3) * 2)((1, 2, 3), (4, 5, 6))
    assert tally.sum(rows, axis=0).tolist() == [5, 7, 9] and tally.sum(ctypes.c_int(5)) == 5
    out = (ctypes.c_float * 2)()
    tally.sum(np.ones((3, 2), "f4"), axis=0, out=out)
    assert list(out) == [3, 3]


def test_jax_of_32_bits(backend):
    """Results that JAX has no type for are never wrong."""
    jax = pytest.importorskip("jax")
    large = jax.numpy.array([2**31 - 1, 1], dtype="int32")
    for call in (tally.sum, tally.cumulative_sum, tally.sumsq, lambda x: tally.Plan("sum", x)()):
        with pytest.raises(OverflowError, match="jax_enable_x64"):
            call(large)
    for call in (tally.sum, tally.sumsq, tally.cumulative_sum):
        with pytest.raises(TypeError, match="jax_enable_x64"):
            call(large, dtype="int64")
    for name in ("float64", "complex128"):
        with pytest.raises(TypeError, match="jax_enable_x64"):
            tally.reduce("sum", large * 1.0, dtype=name)
    small = tally.sum(large - large)
    assert small.dtype == "int32" and int(small) == 0 and int(tally.argmax(large)) == 0
    keys, sums, lengths = tally.reduce_by_key(large, large - large)
    assert [one.tolist() for one in (keys, sums, lengths)] == [large.tolist(), [0, 0], [1, 1]]
    assert tally.Plan("sum", small[None], axis=0).out is None, "no result is read before a call"
    third = jax.numpy.array([0, 0, 1], dtype="int32")
    assert tally.mean(third).dtype == "float32" and tally.mean(third).item() == np.float32(1 / 3)
    plan = tally.Plan("sum", third * 1.0)
    first = plan()
    assert first is not plan() and first.item() == 1
    with pytest.raises(ValueError, match="deleted"):
        third.delete()
        tally.sum(third)


def test_names_in_messages():
    z, none = np.ones(2, "c8"), np.ones(0)
    for call in (tally.ptp, tally.minmax, tally.absmax, tally.norm, tally.argmax):
        name = call.__name__
        if call is not tally.norm:
            with pytest.raises(TypeError, match=f"^{name} does not take items of type complex64"):
                call(z)
        if call in (tally.ptp, tally.minmax):
            with pytest.raises(ValueError, match=f"operation {name} which"):
                call(none)
    for call in (tally.reduce, tally.Plan, tally.reduce_part):
        with pytest.raises(TypeError, match="op: a name or an Op, not bytes"):
            call(b"sum", none)
    with pytest.raises(ValueError, match="product of matrices is no reduction"):
        tally.dot(np.ones((2, 3)), np.ones((3, 2)))
    with pytest.raises(TypeError, match="byte-swapped: results have this machine's order, 'float32'"):
        tally.sum(none, dtype=np.dtype(">f4"))


def test_arguments_that_equal_numbers():
    x = np.arange(3.0)
    for axis in (None, 0, 0):
        assert tally.var(x, axis=axis, correction=1) == 1
        with pytest.raises(TypeError, match="is no number"):
            tally.var(x, axis=axis, correction=1 + 0j)


def test_names_with_a_zero_character():
    calls = [
        lambda: tally.Context("host\0x"),
        lambda: tally.reduce("var", np.ones(3), params={"ddof\0x": 1}),
        lambda: tally.Op(load="x\0y", combine="a + b", identity="0"),
    ]
    for call in calls:
        with pytest.raises(ValueError, match="zero character"):
            call()
