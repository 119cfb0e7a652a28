# SPDX-License-Identifier: MIT
"""Reductions of NumPy arrays, against NumPy."""

import os
import subprocess
import sys
import warnings

import hypothesis.extra.numpy as arrays
import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given

import tally

INTEGERS = ["int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"]
FLOATS = ["float16", "float32", "float64"]
COMPLEX = ["complex64", "complex128"]
ALL = ["bool", *INTEGERS, *FLOATS, *COMPLEX]


def is_backend(name):
    return tally.current().device.backend == name


def items(dtype):
    """Values whose sums are exact in every type of float, so that NumPy's order does not matter."""
    kind = np.dtype(dtype).kind
    if kind == "f":
        return st.integers(-8, 8).map(float)
    if kind == "c":
        return st.tuples(st.integers(-8, 8), st.integers(-8, 8)).map(lambda pair: complex(*pair))
    return arrays.from_dtype(np.dtype(dtype))


@st.composite
def strided(draw, dtypes, min_dims=0, min_side=0):
    """An array with any strides: reversed, cut, transposed, repeated."""
    dtype = draw(st.sampled_from(dtypes))
    shape = draw(arrays.array_shapes(min_dims=min_dims, max_dims=4, min_side=min_side, max_side=6))
    x = draw(arrays.arrays(dtype, shape, elements=items(dtype)))
    if x.ndim:
        x = x.transpose(draw(st.permutations(range(x.ndim))))
        steps = st.sampled_from([1, 1, -1, 2, -2] if min_side == 0 else [1, -1])
        x = x[tuple(slice(None, None, draw(steps)) for _ in range(x.ndim))]
        if draw(st.integers(0, 4)) == 0:
            x = np.broadcast_to(x, (draw(st.integers(1, 3)), *x.shape))
    return x


@st.composite
def axes(draw, ndim):
    """None, an axis, or several, from -n on."""
    if ndim == 0:
        return draw(st.sampled_from([None, ()]))
    one = st.integers(-ndim, ndim - 1)
    several = st.sets(st.integers(0, ndim - 1)).map(
        lambda chosen: tuple(a - ndim if a % 2 else a for a in sorted(chosen))
    )
    return draw(st.one_of(st.none(), one, several))


def same(ours, theirs, exact=True):
    assert np.shape(ours) == np.shape(theirs)
    assert np.asarray(ours).dtype == np.asarray(theirs).dtype, (np.asarray(ours).dtype, np.asarray(theirs).dtype)
    assert np.isscalar(ours) == np.isscalar(theirs)
    if exact:
        np.testing.assert_array_equal(ours, theirs)
    else:
        wide = np.asarray(theirs)
        np.testing.assert_allclose(ours, theirs, rtol=1e-3 if wide.dtype == np.float16 else 2e-5, atol=1e-4)


def compare(name, theirs, x, axis, keepdims, exact=True, **more):
    """Both give the same, or both raise ValueError."""
    try:
        expected = theirs(x, axis=axis, keepdims=keepdims)
    except (ValueError, IndexError):
        with pytest.raises((ValueError, IndexError)):
            getattr(tally, name)(x, axis=axis, keepdims=keepdims, **more)
        return
    before = x.copy()
    same(getattr(tally, name)(x, axis=axis, keepdims=keepdims, **more), expected, exact)
    np.testing.assert_array_equal(x, before)


@given(st.data(), st.sampled_from(["sum", "prod"]), st.booleans())
def test_sum_and_prod(data, name, keepdims):
    x = data.draw(strided(ALL))
    if name == "prod" and x.dtype.kind in "fc":
        x = np.sign(x.real).astype(x.dtype)
    axis = data.draw(axes(x.ndim))

    def wide(a, axis, keepdims):
        if a.dtype == np.float16:
            return getattr(np, name)(a.astype("f4"), axis=axis, keepdims=keepdims).astype("f2")
        return getattr(np, name)(a, axis=axis, keepdims=keepdims)

    compare(name, wide, x, axis, keepdims)


@given(st.data(), st.sampled_from(["min", "max", "any", "all", "count_nonzero"]), st.booleans())
def test_exact(data, name, keepdims):
    dtypes = ALL if name in ("any", "all", "count_nonzero") else ["bool", *INTEGERS, *FLOATS]
    x = data.draw(strided(dtypes))
    axis = data.draw(axes(x.ndim))
    if name == "count_nonzero":
        expected = np.count_nonzero(x, axis=axis, keepdims=keepdims)
        np.testing.assert_array_equal(tally.count_nonzero(x, axis=axis, keepdims=keepdims), expected)
    else:
        compare(name, getattr(np, name), x, axis, keepdims)


@given(st.data(), st.sampled_from(["argmin", "argmax"]), st.booleans())
def test_arg(data, name, keepdims):
    x = data.draw(strided(["bool", *INTEGERS, *FLOATS]))
    axis = data.draw(st.one_of(st.none(), st.integers(-x.ndim, x.ndim - 1))) if x.ndim else None
    compare(name, getattr(np, name), x, axis, keepdims)


@given(st.data(), st.sampled_from(["mean", "var", "std"]), st.booleans())
def test_moments(data, name, keepdims):
    x = data.draw(strided([*INTEGERS[:3], *INTEGERS[4:7], *FLOATS, *(COMPLEX if name == "mean" else [])]))
    axis = data.draw(axes(x.ndim))
    correction = data.draw(st.sampled_from([0, 1]))
    more = {} if name == "mean" else {"correction": correction}
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        reduced = np.prod(
            [x.shape[a] for a in (range(x.ndim) if axis is None else np.atleast_1d(axis).astype(int))], initial=1
        )
        if name != "mean" and reduced <= correction:
            return  # nan or inf: test_few_items
        dtype = "f4" if x.dtype == np.float16 else x.dtype
        compare(
            name,
            lambda a, axis, keepdims: np.asarray(
                getattr(np, name)(
                    a.astype(dtype), axis=axis, keepdims=keepdims, **({} if name == "mean" else {"ddof": correction})
                )
            ).astype(a.dtype if a.dtype.kind in "fc" else "f8")[()],
            x,
            axis,
            keepdims,
            exact=False,
            **more
        )


def test_few_items():
    assert np.isnan(tally.var(np.array([1.0]), correction=1))
    assert np.isnan(tally.mean(np.zeros((0, 3)), axis=0)).tolist() == [True] * 3
    assert tally.std(np.array([5.0], "f4")) == 0


@given(st.data(), st.booleans())
def test_where_and_initial(data, keepdims):
    x = data.draw(strided(INTEGERS))
    axis = data.draw(axes(x.ndim))
    mask = data.draw(arrays.arrays(bool, data.draw(st.sampled_from([x.shape, x.shape[1:], ()]))))
    same(
        tally.sum(x, axis=axis, where=mask, initial=3, keepdims=keepdims),
        np.sum(x, axis=axis, where=mask, initial=3, keepdims=keepdims),
    )
    low = int(np.iinfo(x.dtype).min)
    same(
        tally.max(x, axis=axis, where=mask, initial=low, keepdims=keepdims),
        np.max(x, axis=axis, where=mask, initial=low, keepdims=keepdims),
    )


@given(st.data(), st.sampled_from(["sum", "max", "mean", "argmax"]))
def test_out_with_strides(data, name):
    x = data.draw(strided(["int32", "float64"], min_dims=2, min_side=1))
    expected = getattr(np, name)(x, axis=0)
    room = np.full(tuple(2 * n + 1 for n in expected.shape), 77, expected.dtype)
    out = room[tuple(slice(-2, None, -2) for _ in expected.shape)]
    assert out.shape == expected.shape
    assert getattr(tally, name)(x, axis=0, out=out) is out
    np.testing.assert_allclose(out, expected)
    out[...] = 77
    assert (room == 77).all(), "a place beside the output was written"


@given(st.data())
def test_layouts_have_the_same_bits(data):
    """An array in Fortran order, reversed twice or cut out of another gives the bits of its C
    copy."""
    seed = data.draw(st.integers(0, 2**32 - 1))
    shape = data.draw(arrays.array_shapes(min_dims=2, max_dims=3, max_side=70))
    x = np.random.default_rng(seed).standard_normal(shape).astype(data.draw(st.sampled_from(FLOATS)))
    axis = data.draw(st.one_of(st.none(), st.integers(0, x.ndim - 1)))
    big = np.zeros(tuple(2 * n for n in shape), x.dtype)
    big[tuple(slice(None, None, 2) for _ in shape)] = x
    for name in ("sum", "mean", "var", "norm", "logsumexp"):
        results = [
            np.asarray(getattr(tally, name)(a, axis=axis))
            for a in (x, np.asfortranarray(x), x[::-1].copy()[::-1], big[tuple(slice(None, None, 2) for _ in shape)])
        ]
        for other in results[1:]:
            assert other.tobytes() == results[0].tobytes(), name
        if axis is not None:
            row = np.moveaxis(x, axis, -1).reshape(-1, x.shape[axis])[0]
            assert np.asarray(getattr(tally, name)(row)).tobytes() == results[0].ravel()[:1].tobytes(), name


def test_dtype():
    x = np.arange(6, dtype="f4").reshape(2, 3) + np.float32(0.1)
    assert tally.sum(x, dtype="float64") == np.sum(x, dtype="float64")
    np.testing.assert_array_equal(tally.sum(x, axis=0, dtype=np.float64), np.sum(x.astype("f8"), axis=0))
    assert tally.sum(np.array([100, 100], "i1"), dtype="int8") == np.int8(-56)
    assert tally.sum(np.array([3, 4], "i4"), dtype=float).dtype == np.float64
    assert tally.mean(np.array([1, 2], "i8"), dtype="float32") == np.float32(1.5)
    for axis in (None, 0, 0):  # the second call along an axis takes another way
        assert tally.prod(np.full(40, 4, "i4"), axis=axis, dtype="float64") == 2.0**80, "cast before it is multiplied"
    assert tally.cumulative_prod(np.full(40, 4, "u8"), dtype="float64")[-1] == 2.0**80
    assert tally.sum(x + 1.5, dtype="int32") == np.sum((x + 1.5).astype("i4")), "cast first, as NumPy"
    with pytest.raises(TypeError, match="not converted to int32"):
        tally.mean(x, dtype="int32")
    with pytest.raises(TypeError, match="not converted to bool"):
        tally.sum(x, dtype=bool)
    with pytest.raises(TypeError, match="not converted to float32"):
        tally.sum(x.astype("c8"), dtype="float32")
    with pytest.raises(TypeError, match="none of tally's"):
        tally.sum(x, dtype="float8")


def test_accuracy():
    x = np.array([1e8, 1.0, -1e8] * 1000, "f4")
    assert tally.sum(x, accuracy="compensated") == 1000
    assert tally.sum(x, dtype="float64", accuracy="compensated") == 1000
    if is_backend("host"):
        with pytest.raises(tally.DeviceError):
            tally.sum(x.astype("f2"), accuracy="compensated")
    with pytest.raises(ValueError, match="accuracy 'high'"):
        tally.sum(x, accuracy="high")


def test_norms_and_pairs():
    rng = np.random.default_rng(5)
    x, y = rng.standard_normal((2, 40, 3)), rng.standard_normal((40, 3))
    np.testing.assert_allclose(tally.norm(x, axis=1), np.linalg.norm(x, axis=1))
    np.testing.assert_allclose(tally.vector_norm(x, axis=-1, ord=1), np.abs(x).sum(-1))
    np.testing.assert_array_equal(tally.vector_norm(x, axis=-1, ord=float("inf")), np.abs(x).max(-1))
    np.testing.assert_array_equal(tally.vector_norm(x, axis=-1, ord=0), np.count_nonzero(x, -1))
    assert tally.norm(x, np.int64(3)) == tally.norm(x, np.float32(3)) == tally.norm(x, 3), "NumPy's numbers are numbers"
    half, large = np.array([1, 0, 3], "f2"), np.full(4, -(2**63) + 1)
    assert tally.vector_norm(half, ord=0) == 2 and tally.vector_norm(half, ord=0).dtype == np.float16
    assert tally.vector_norm(large, ord=1) == 2.0**65, "no sum modulo 2^64"
    assert tally.vector_norm(np.zeros((0, 3), "c8"), axis=0, ord=float("inf")).tolist() == [0, 0, 0], "as real items"
    out = np.zeros(2)
    truth = np.array([[True, False], [False, False]])
    assert tally.vector_norm(truth, axis=1, ord=float("inf"), out=out) is out and out.tolist() == [1, 0]
    np.testing.assert_array_equal(tally.iamax(x, axis=1), np.abs(x).argmax(1))
    np.testing.assert_allclose(tally.dist2(x, y, axis=(1, 2)), ((x - y) ** 2).sum((1, 2)))
    np.testing.assert_allclose(tally.vecdot(x, y), (x * y).sum(-1))
    np.testing.assert_allclose(tally.dot(x, y[0]), x @ y[0])
    z = x + 1j * x[::-1]
    np.testing.assert_allclose(tally.vdot(z, z[::-1]), np.vdot(z, z[::-1]))
    with pytest.raises(ValueError, match=r"vdot takes two arrays of one shape, not \(4,\) and \(1,\)"):
        tally.vdot(np.arange(4.0), np.array([2.0]))
    truths = np.array([True, False])
    for op in tally.vecdot, tally.dot, tally.vdot:
        with pytest.raises(TypeError, match=f"^{op.__name__} does not take items of type bool: count_nonzero"):
            op(truths, truths)
    np.testing.assert_allclose(tally.norm(z, axis=1), np.linalg.norm(z, axis=1))
    wrapped = tally.vecdot(np.array([100, 100], "i1"), np.array([2, 2], "i1"))
    assert wrapped == 400 - 512 and wrapped.dtype == np.int8
    assert tally.vecdot(np.array([3], "i4"), np.array([0.5])) == 1.5
    assert tally.allclose(x, x + 1e-12) is True
    assert tally.allclose(x, x + 1, rtol=0, atol=2, axis=1).all()
    assert not tally.allclose(x, x + 1, rtol=0, atol=0.5)
    np.testing.assert_allclose(tally.logsumexp(x, axis=1), np.log(np.exp(x).sum(1)))
    np.testing.assert_array_equal(tally.bxor(np.arange(7)), np.bitwise_xor.reduce(np.arange(7)))
    np.testing.assert_array_equal(tally.ptp(x, axis=1), np.ptp(x, axis=1))


def test_nan():
    x = np.array([[1, np.nan], [np.nan, np.nan], [-0.0, 0.0]], "f4")
    assert np.isnan(tally.max(x)) and tally.argmax(x) == 1
    np.testing.assert_array_equal(tally.nanmin(x, axis=1), np.array([1, np.nan, -0.0], "f4"))


@pytest.mark.parametrize("name", ["min", "max", "argmin", "argmax", "iamax", "nanmin", "minmax", "ptp"])
def test_empty(name):
    function = getattr(tally, name)
    with pytest.raises(ValueError, match="empty sequence|no identity"):
        function(np.zeros((0, 3)), axis=0)
    with pytest.raises(ValueError):
        function(np.zeros(0))
    with pytest.raises(ValueError):
        function(np.zeros((0, 0)), axis=0)
    assert np.shape(np.asarray(function(np.zeros((0, 3)), axis=1)))[-1] == 0


def test_empty_with_values():
    assert tally.sum(np.zeros((0,), "f4")) == 0 and tally.prod(np.zeros((2, 0)), axis=1).tolist() == [1, 1]
    assert tally.min(np.zeros((0,)), initial=7) == 7
    assert tally.sum(np.zeros((3, 0)), axis=0).shape == (0,)
    assert not tally.any(np.zeros(0)) and tally.all(np.zeros(0))


def test_zero_dimensional():
    x = np.array(3.5)
    assert tally.sum(x) == 3.5 and np.isscalar(tally.sum(x)) and tally.max(x, axis=()) == 3.5
    assert tally.sum(np.float32(2)) == 2
    with pytest.raises(tally.AxisError):
        tally.sum(x, axis=0)


def test_swapped_and_unaligned():
    x = np.arange(5, dtype=">f4")
    assert tally.sum(x) == 10 and tally.sum(x, axis=0).dtype == np.float32
    raw = np.zeros(21, "u1")
    y = np.ndarray((5,), "<f4", raw, 1)
    y[...] = [1, 2, 3, 4, 5]
    assert tally.sum(y) == 15
    packed = np.zeros(4, [("a", "u1"), ("b", "<f4")])
    packed["b"] = 2
    assert tally.sum(packed["b"], axis=0) == 8
    with pytest.raises(ValueError, match="read-only"):
        tally.sum(np.ones((2, 5), "f4"), axis=0, out=y)


def test_errors():
    x = np.ones((2, 3), "f4")
    with pytest.raises(tally.AxisError, match="axis 2 is out of bounds for array of dimension 2"):
        tally.sum(x, axis=2)
    assert issubclass(tally.AxisError, (ValueError, IndexError))
    with pytest.raises(ValueError, match="duplicate"):
        tally.sum(x, axis=(0, -2))
    with pytest.raises(TypeError):
        tally.sum(x, axis="0")
    with pytest.raises(TypeError, match="list is no array"):
        tally.sum([1, 2])
    with pytest.raises(TypeError, match="str is no array"):
        tally.sum("abc")
    with pytest.raises(TypeError, match="does not take items of type complex64"):
        tally.min(x.astype("c8"))
    with pytest.raises(TypeError, match="items of type object"):
        tally.sum(np.array([None]))
    with pytest.raises(ValueError, match="out has the shape"):
        tally.sum(x, axis=0, out=np.zeros(2, "f4"))
    with pytest.raises(TypeError, match="out has items of type int32: the results have float32"):
        tally.sum(x, axis=0, out=np.zeros(3, "i4"))
    with pytest.raises(ValueError, match="where"):
        tally.sum(x, where=np.ones(2, bool))
    with pytest.raises(ValueError, match="identity"):
        tally.min(x, where=np.ones(3, bool))
    with pytest.raises(TypeError, match="mask of bool"):
        tally.sum(x, where=np.ones(3))
    with pytest.raises(ValueError, match="initial"):
        tally.sum(x.astype("i4"), initial=2**70)
    with pytest.raises(tally.DeviceError):
        tally.Context("cuda:99,opencl:99")
    with pytest.raises(ValueError):
        tally.Context("vulkan")
    with pytest.raises(ValueError, match="axes: 16 at most"):
        tally.sum(np.ones((1,) * 17, "f4"), axis=0)


WIDE = """
import numpy as np, tally
with tally.Context("host"):
    for dtype, n, width in (
        ("f4", 1, 70000),
        ("i1", 3, 5000),
        ("f8", 64, 40001),
        ("f4", 100, 30000),
        ("f4", 300, 40000),
        ("f4", 4097, 2500),
    ):
        x = (np.random.default_rng(n).standard_normal((n, width)) * 50).astype(dtype)
        for name in ("sum", "argmax"):
            of = getattr(tally, name)
            found = of(x, axis=0)
            for i in (0, 127, 128, width // 2, width - 130, width - 128, width - 127, width - 1):
                assert found[i].tobytes() == of(x[:, i].copy()).tobytes(), (dtype, n, width, name, i)
"""


@pytest.mark.parametrize("threads", ["1", "3"])
def test_columns_of_wide_rows(threads):
    """Each has the bits of a sum of it alone, however many are taken at once, and in groups of whatever
    number of lanes: both depend on the threads."""
    environment = {**os.environ, "TALLY_THREADS": threads}
    subprocess.run([sys.executable, "-c", WIDE], check=True, env=environment)


def test_many_axes():
    x = np.arange(2**16).reshape((2,) * 16)
    np.testing.assert_array_equal(tally.sum(x, axis=(0, 5, 15)), np.sum(x, axis=(0, 5, 15)))


def test_the_manual_has_every_function():
    import pathlib

    manual = pathlib.Path(__file__).parents[2] / "docs" / "python.md"
    if not manual.exists():
        pytest.skip("no clone around: there is no docs/python.md")
    text = manual.read_text()
    import re

    words = set(re.findall(r"\w+", "".join(re.findall(r"`[^`]*`", text))))
    missing = [name for name in tally.__all__ if name not in words]
    assert not missing
