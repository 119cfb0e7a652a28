# SPDX-License-Identifier: MIT
"""The array API standard (2024.12), sentence by sentence, for the functions that tally has: what
their public test suite asks of them, and the special cases. Arrays are NumPy's, whose functions here
give arrays of no axes too (tally_array_api.py), and array-api-strict's where that is installed."""

import cmath
import inspect
import itertools
import math
import typing

import hypothesis.extra.numpy as arrays
import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given

import tally
import tally_array_api as xp

INTEGERS = [xp.int8, xp.int16, xp.int32, xp.int64]
UNSIGNED = [xp.uint8, xp.uint16, xp.uint32, xp.uint64]
FLOATS = [xp.float32, xp.float64]
COMPLEX = [xp.complex64, xp.complex128]
REAL = [*INTEGERS, *UNSIGNED, *FLOATS]
NUMERIC = [*REAL, *COMPLEX]
EVERY = [xp.bool, *NUMERIC]
SIGNATURES = {
    "sum": "x axis dtype keepdims",
    "prod": "x axis dtype keepdims",
    "min": "x axis keepdims",
    "max": "x axis keepdims",
    "mean": "x axis keepdims",
    "var": "x axis correction keepdims",
    "std": "x axis correction keepdims",
    "any": "x axis keepdims",
    "all": "x axis keepdims",
    "count_nonzero": "x axis keepdims",
    "argmin": "x axis keepdims",
    "argmax": "x axis keepdims",
    "cumulative_sum": "x axis dtype include_initial",
    "cumulative_prod": "x axis dtype include_initial",
    "vecdot": "x y axis",
    "vector_norm": "x axis keepdims ord",
    "take": "x indices axis",
}


@pytest.mark.parametrize("name", SIGNATURES)
@pytest.mark.parametrize("namespace", [tally, xp])
def test_signature(namespace, name):
    """Arrays are positional only; everything else may be given by its name."""
    owner = xp.linalg if namespace is xp and name == "vector_norm" else namespace
    parameters = inspect.signature(getattr(owner, name)).parameters
    for word in SIGNATURES[name].split():
        arrays = word in ("x", "y", "indices")
        assert (
            parameters[word].kind == inspect.Parameter.POSITIONAL_ONLY
            if arrays
            else parameters[word].kind in (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)
        )


def test_namespace_has_what_it_says():
    assert xp.__array_api_version__ == "2024.12" and xp.take.__module__ == tally.take.__module__


@st.composite
def given_arrays(draw, dtypes, min_dims=0, min_side=1, nan=False):
    """An array of up to 4 axes, also of no items where min_side is 0."""
    dtype = np.dtype(draw(st.sampled_from(dtypes)))
    shape = draw(arrays.array_shapes(min_dims=min_dims, max_dims=4, min_side=min_side, max_side=5))
    if dtype.kind == "b" or dtype.kind in "iu":
        items = arrays.from_dtype(dtype)
    elif dtype.kind == "f":
        items = st.floats(width=8 * dtype.itemsize, allow_nan=nan)
    else:
        part = st.floats(-100, 100, width=4 * dtype.itemsize)
        items = st.builds(complex, part, part)
    return draw(arrays.arrays(dtype, shape, elements=items))


@st.composite
def axes_of(draw, ndim):
    """None, an axis or a tuple, negative too."""
    if ndim == 0:
        return None
    several = st.lists(st.integers(0, ndim - 1), min_size=1, unique=True)
    signs = st.lists(st.booleans(), min_size=ndim, max_size=ndim)
    chosen = tuple(a - ndim if back else a for a, back in zip(draw(several), draw(signs)))
    return draw(st.sampled_from([None, chosen[0], chosen]))


def reduced_of(axis, ndim):
    given = range(ndim) if axis is None else axis if isinstance(axis, tuple) else (axis,)
    return {a % ndim for a in given} if ndim else set()


def check_shape(out, x, axis, keepdims):
    """ "the reduced axes (dimensions) must be included in the result as singleton dimensions" """
    reduced = reduced_of(axis, x.ndim)
    kept = [1 if a in reduced else n for a, n in enumerate(x.shape) if keepdims or a not in reduced]
    assert isinstance(out, np.ndarray) and out.shape == tuple(kept)


def values_of(x, axis):
    """For each place of the result its items, as Python's numbers, in C order."""
    reduced = sorted(reduced_of(axis, x.ndim))
    kept = [a for a in range(x.ndim) if a not in reduced]
    for place in itertools.product(*(range(x.shape[a]) for a in kept)):
        rest = itertools.product(*(range(x.shape[a]) for a in reduced))
        indices = ([dict(zip(kept + reduced, place + more))[a] for a in range(x.ndim)] for more in rest)
        yield [x[tuple(index)].item() for index in indices]


def is_near(one, other):
    if isinstance(other, complex) and not cmath.isfinite(other):
        return True  # the order of products decides which part is infinite
    if isinstance(other, float) and not math.isfinite(other):
        return math.isnan(one) if math.isnan(other) else one == other
    return cmath.isclose(one, other, rel_tol=1e-3, abs_tol=1e-3)


@pytest.mark.parametrize("name", ["sum", "prod", "min", "max"])
@given(data=st.data(), keepdims=st.booleans())
def test_statistics_by_hand(name, data, keepdims):
    """Shapes, types and values, for each axis; `dtype` is every type of promotion with x's."""
    x = data.draw(given_arrays(NUMERIC if name in ("sum", "prod") else REAL))
    axis = data.draw(axes_of(x.ndim))
    more = {}
    expected = np.dtype(x.dtype)
    if name in ("sum", "prod"):
        expected = np.dtype({"i": "int64", "u": "uint64"}.get(x.dtype.kind, x.dtype))
        dtype = data.draw(st.sampled_from([None, *promoted(x.dtype)]))
        if dtype is not None:
            more, expected = {"dtype": dtype}, np.dtype(dtype)
    out = getattr(xp, name)(x, axis=axis, keepdims=keepdims, **more)
    check_shape(out, x, axis, keepdims)
    assert out.dtype == expected
    for one, items in zip(out.ravel().tolist(), values_of(x, axis)):
        if name in ("min", "max"):
            assert one == {"min": min, "max": max}[name](items)
            continue
        with np.errstate(all="ignore"):
            exact = sum(items) if name == "sum" else math.prod(items)
        if expected.kind in "iu":
            assert one == (int(exact) - np.iinfo(expected).min) % 2 ** (8 * expected.itemsize) + np.iinfo(expected).min
        elif not overflows(items, expected):
            assert is_near(one, exact)


def promoted(dtype):
    """The types that the standard promotes together with this one."""
    dtype = np.dtype(dtype)
    if dtype.kind == "i":
        return [*INTEGERS, *UNSIGNED[:3]]
    if dtype == np.uint64:
        return UNSIGNED
    if dtype.kind == "u":
        return [*INTEGERS, *UNSIGNED]
    return [*FLOATS, *COMPLEX] if dtype.kind == "f" else COMPLEX


def overflows(items, dtype):
    """Tells whether some order of sums or products of the items leaves the type's range, or
    vanishes."""
    info = np.finfo(dtype)
    sizes = [abs(item) for item in items]
    large = math.prod(max(size, 1.0) for size in sizes) * max(len(sizes), 1)
    small = math.prod(min(size, 1.0) for size in sizes if size)
    return not (large < float(info.max) / 2 and small > float(info.tiny) * 4)


@pytest.mark.parametrize("name", ["mean", "var", "std"])
@given(data=st.data(), keepdims=st.booleans())
def test_moments_by_hand(name, data, keepdims):
    """The type is x's. `correction` is any number; "If N - correction is less than or equal to 0,
    the variance is NaN"."""
    x = data.draw(given_arrays(FLOATS))
    axis = data.draw(axes_of(x.ndim))
    most = x.size + 1
    correction = data.draw(st.one_of(st.integers(0, most), st.floats(0, most)))
    more = {} if name == "mean" else {"correction": correction}
    out = getattr(xp, name)(x, axis=axis, keepdims=keepdims, **more)
    check_shape(out, x, axis, keepdims)
    assert out.dtype == x.dtype
    for one, items in zip(out.ravel().tolist(), values_of(x, axis)):
        divisor = len(items) - (0 if name == "mean" else correction)
        if divisor <= 0:
            assert math.isnan(one)
        elif all(abs(item) < 1e4 for item in items):
            mean = math.fsum(items) / len(items)
            exact = mean if name == "mean" else math.fsum((item - mean) ** 2 for item in items) / divisor
            exact = math.sqrt(exact) if name == "std" else exact
            assert math.isclose(one, exact, rel_tol=1e-2, abs_tol=1 + abs(exact) * 1e-2)


@pytest.mark.parametrize("name", ["argmin", "argmax"])
@given(data=st.data(), keepdims=st.booleans())
def test_places_by_hand(name, data, keepdims):
    """ "only the indices corresponding to the first occurrence are returned", of the flattened
    array without an axis; "the default array index data type"."""
    x = data.draw(given_arrays(REAL, min_dims=1))
    axis = data.draw(st.one_of(st.none(), st.integers(-x.ndim, x.ndim - 1)))
    out = getattr(xp, name)(x, axis=axis, keepdims=keepdims)
    check_shape(out, x, axis, keepdims)
    assert out.dtype == np.intp == np.int64
    for one, items in zip(out.ravel().tolist(), values_of(x, axis)):
        assert one == items.index((min if name == "argmin" else max)(items))


@pytest.mark.parametrize("name", ["any", "all", "count_nonzero"])
@given(data=st.data(), keepdims=st.booleans())
def test_truth_by_hand(name, data, keepdims):
    """Of every type, bool and complex too, and of no items: "the test result must be" true of all,
    false of any. "Positive infinity, negative infinity, and NaN must evaluate to True"."""
    x = data.draw(given_arrays(EVERY, min_side=0, nan=True))
    axis = data.draw(axes_of(x.ndim))
    out = getattr(xp, name)(x, axis=axis, keepdims=keepdims)
    check_shape(out, x, axis, keepdims)
    assert out.dtype == (xp.int64 if name == "count_nonzero" else xp.bool)
    expected = {"any": any, "all": all, "count_nonzero": lambda items: sum(map(bool, items))}[name]
    assert out.ravel().tolist() == [expected(items) for items in values_of(x, axis)]


@pytest.mark.parametrize("name", ["cumulative_sum", "cumulative_prod"])
@given(data=st.data(), include_initial=st.booleans())
def test_running_by_hand(name, data, include_initial):
    """The shape is x's, "except the size of the axis ... must be N+1" with the initial value; types
    are those of sum and prod. Of no items too."""
    x = data.draw(given_arrays(NUMERIC, min_dims=1, min_side=0))
    axis = data.draw(st.integers(-x.ndim, x.ndim - 1))
    axis = None if x.ndim == 1 and data.draw(st.booleans()) else axis
    dtype = data.draw(st.sampled_from([None, *promoted(x.dtype)]))
    expected = np.dtype(dtype or {"i": "int64", "u": "uint64"}.get(x.dtype.kind, x.dtype))
    out = getattr(xp, name)(x, axis=axis, dtype=dtype, include_initial=include_initial)
    along = (axis or 0) % x.ndim
    shape = list(x.shape)
    shape[along] += include_initial
    assert isinstance(out, np.ndarray) and out.shape == tuple(shape) and out.dtype == expected
    first = 0 if name == "cumulative_sum" else 1
    if not x.size:
        assert not out.size or (include_initial and (out == first).all())
        return
    pairs = zip(
        np.moveaxis(x, along, -1).reshape(-1, x.shape[along]), np.moveaxis(out, along, -1).reshape(-1, shape[along])
    )
    for row, ours in pairs:
        items, ours = row.tolist(), ours.tolist()
        if include_initial:
            assert ours.pop(0) == first
        for i, one in enumerate(ours):
            some = items[: i + 1]
            exact = sum(some) if name == "cumulative_sum" else math.prod(some)
            if expected.kind in "iu":
                info = np.iinfo(expected)
                assert one == (exact - info.min) % 2 ** (8 * expected.itemsize) + info.min
            elif not overflows(some, expected):
                assert is_near(one, exact)


@given(data=st.data(), keepdims=st.booleans())
def test_vector_norm_by_hand(data, keepdims):
    """Of every order: "The following ... norms must be supported"; a complex x gives "a real-valued
    floating-point data type whose precision matches"."""
    x = data.draw(given_arrays([*FLOATS, *COMPLEX]))
    axis = data.draw(axes_of(x.ndim))
    inf = float("inf")
    orders = st.one_of(st.sampled_from([2, 1, 0, -1, -2, inf, -inf]), st.integers(-9, 9), st.floats(-9, 9))
    order = data.draw(orders)
    with np.errstate(all="ignore"):
        out = xp.linalg.vector_norm(x, axis=axis, keepdims=keepdims, ord=order)
    check_shape(out, x, axis, keepdims)
    assert out.dtype == np.dtype({"complex64": "float32", "complex128": "float64"}.get(x.dtype.name, x.dtype.name))
    for one, items in zip(out.ravel().tolist(), values_of(x, axis)):
        sizes = [abs(item) for item in items]
        if order in (0, inf, -inf):
            exact = {0: sum(size != 0 for size in sizes), inf: max(sizes), -inf: min(sizes)}[order]
            assert math.isclose(one, exact, rel_tol=1e-6)
        elif all(1e-2 < size < 1e2 for size in sizes) and abs(order) > 0.5:
            exact = sum(size**order for size in sizes) ** (1 / order)
            assert math.isclose(one, exact, rel_tol=1e-4)


@given(data=st.data())
def test_vecdot_by_hand(data):
    """The type is that of promotion, "the size of the axis ... must be the same", the other axes are
    broadcast, and the first array is conjugated."""
    x = data.draw(given_arrays(NUMERIC, min_dims=1))
    y = data.draw(given_arrays(promoted(x.dtype), min_dims=1))
    axis = data.draw(st.integers(-min(x.ndim, y.ndim), -1))
    shapes = (1,) * (y.ndim - x.ndim) + x.shape, (1,) * (x.ndim - y.ndim) + y.shape
    fits = all(a == b or (1 in (a, b) and i != len(shapes[0]) + axis) for i, (a, b) in enumerate(zip(*shapes)))
    if not fits:
        with pytest.raises(ValueError):
            xp.vecdot(x, y, axis=axis)
        return
    out = xp.vecdot(x, y, axis=axis)
    common = np.result_type(x.dtype, y.dtype)
    a, b = np.broadcast_arrays(x.astype(common), y.astype(common))
    assert isinstance(out, np.ndarray) and out.dtype == common
    with np.errstate(all="ignore"):
        exact = np.sum(np.conj(a) * b, axis=axis, dtype=common)
    assert out.shape == exact.shape
    if common.kind in "iu":
        np.testing.assert_array_equal(out, exact)
    elif np.abs(a).max() < 1e4 and np.abs(b).max() < 1e4:
        np.testing.assert_allclose(out, exact, rtol=1e-3, atol=1)


@given(data=st.data())
def test_take_by_hand(data):
    """ "The returned array must have the same data type as x ... the same rank ... and have the same
    shape as x, except for the axis", which has as many items as there are indices."""
    x = data.draw(given_arrays(EVERY, min_dims=1))
    axis = data.draw(st.integers(-x.ndim, x.ndim - 1))
    n = x.shape[axis]
    indices = data.draw(st.lists(st.integers(-n, n - 1), max_size=5))
    more = {} if x.ndim == 1 and data.draw(st.booleans()) else {"axis": axis}
    out = xp.take(x, xp.asarray(indices, dtype=xp.int64), **more)
    shape = list(x.shape)
    shape[axis] = len(indices)
    assert isinstance(out, np.ndarray) and out.dtype == x.dtype and out.shape == tuple(shape)
    for k, i in enumerate(indices):
        np.testing.assert_array_equal(np.moveaxis(out, axis, 0)[k], np.moveaxis(x, axis, 0)[i])


@pytest.mark.parametrize("name", ["sum", "min", "mean", "any", "count_nonzero", "argmax", "var", "cumulative_sum"])
def test_axes_are_checked(name):
    """ "If provided an invalid axis, the function must raise an exception"."""
    for axis in (2, -3):
        with pytest.raises(Exception, match="out of bounds"):
            getattr(xp, name)(xp.ones((2, 3)), axis=axis)


def test_nan_and_infinities_pass():
    """ "NaN values propagate"; "as if the operation is implemented by successive application of"
    add or multiply."""
    inf, nan = xp.inf, xp.nan
    for dtype in FLOATS:
        for place in (0, 2, 4999):
            x = xp.ones(5000, dtype=dtype)
            x[place] = nan
            for name in ("sum", "prod", "min", "max", "mean", "var", "std"):
                assert xp.isnan(getattr(xp, name)(x)), (name, place)
            assert xp.argmax(x) == xp.argmin(x) == place
            running = xp.cumulative_sum(x)
            assert xp.all(xp.isnan(running[place:])) and not xp.any(xp.isnan(running[:place]))
        x = xp.asarray([inf, -inf, 1.0], dtype=dtype)
        assert xp.isnan(xp.sum(x)) and xp.prod(x) == -inf and xp.isnan(xp.var(x))
        assert xp.max(x) == inf and xp.min(x) == -inf and xp.isnan(xp.mean(x))
        assert xp.isnan(xp.prod(xp.asarray([inf, 0.0], dtype=dtype))), "infinity times 0"
        assert xp.sum(xp.asarray([inf, inf], dtype=dtype)) == inf
        zeros = xp.asarray([-0.0, 0.0], dtype=dtype)
        assert math.copysign(1, xp.sum(zeros)) == 1 and math.copysign(1, xp.sum(zeros[:1])) == -1
        assert math.copysign(1, xp.prod(zeros)) == -1
        assert xp.all(xp.asarray([nan, inf, -inf], dtype=dtype)) and xp.any(xp.asarray([nan], dtype=dtype))
    huge = xp.asarray([complex(inf, 0), complex(-inf, 1)])
    assert xp.isnan(xp.sum(huge).real) and xp.sum(huge).imag == 1


def test_empty_arrays():
    """ "If N is 0, the sum is 0 (i.e., the empty sum)", the product 1, the mean NaN; any is False and
    all True. The extremes raise."""
    for dtype in NUMERIC:
        x = xp.zeros((3, 0, 2), dtype=dtype)
        assert xp.sum(x) == 0 and xp.prod(x) == 1 and xp.sum(x, axis=1).tolist() == [[0, 0]] * 3
        assert xp.prod(x, axis=(0, 1)).tolist() == [1, 1] and xp.sum(x, axis=0).shape == (0, 2)
        assert not xp.any(x) and xp.all(x) and xp.count_nonzero(x) == 0
    for dtype in FLOATS:
        x = xp.zeros((3, 0), dtype=dtype)
        for name in ("mean", "var", "std"):
            assert xp.all(xp.isnan(getattr(xp, name)(x, axis=1))) and getattr(xp, name)(x, axis=0).shape == (0,)
        for name in ("min", "max", "argmin", "argmax"):
            with pytest.raises(ValueError):
                getattr(xp, name)(x, axis=1)


def test_no_axes():
    """Arrays of no axes are reduced to themselves."""
    for dtype in NUMERIC:
        x = xp.asarray(3, dtype=dtype)
        for name in ("sum", "prod", *(("min", "max") if dtype in REAL else ())):
            out = getattr(xp, name)(x)
            assert out == 3 and out.shape == () and isinstance(out, np.ndarray)
        assert xp.any(x) and xp.all(x, keepdims=True).shape == () and xp.count_nonzero(x) == 1


@pytest.mark.parametrize("name", ["sum", "prod", "cumulative_sum", "cumulative_prod"])
def test_default_dtypes(name):
    """ "If x has a signed integer data type, the returned array must have the default integer data
    type"; unsigned: an unsigned one with its number of bits; else x's."""
    given = {"axis": 0} if name.startswith("cum") else {}
    function = getattr(xp, name)
    for dtype in INTEGERS:
        assert function(xp.ones((2, 3), dtype=dtype), **given).dtype == xp.int64
    for dtype in UNSIGNED:
        assert function(xp.ones((2, 3), dtype=dtype), **given).dtype == xp.uint64
    for dtype in [*FLOATS, *COMPLEX]:
        assert function(xp.ones((2, 3), dtype=dtype), **given).dtype == dtype
    assert function(xp.ones(2, dtype=xp.float32), dtype=xp.float64).dtype == xp.float64


@pytest.mark.parametrize("dtype", [*INTEGERS, *UNSIGNED, *FLOATS])
def test_same_dtype(dtype):
    """min, max: "The returned array must have the same data type as x"; vecdot: that of
    promotion."""
    x = xp.ones((2, 3), dtype=dtype)
    assert xp.min(x).dtype == xp.max(x, axis=0).dtype == xp.vecdot(x, x).dtype == dtype
    assert xp.argmax(x).dtype == xp.argmin(x, axis=1).dtype == xp.count_nonzero(x).dtype == xp.int64
    assert xp.any(x).dtype == xp.all(x, axis=0).dtype == xp.bool


def test_mean_var_std_dtype():
    for dtype in FLOATS:
        x = xp.ones((2, 3), dtype=dtype)
        assert xp.mean(x).dtype == xp.var(x, axis=0).dtype == xp.std(x).dtype == dtype == xp.linalg.vector_norm(x).dtype
    assert xp.mean(xp.ones(3, dtype=xp.complex64)).dtype == xp.complex64
    assert xp.linalg.vector_norm(xp.ones(3, dtype=xp.complex64)).dtype == xp.float32


def test_special_cases():
    """The lists "Special cases" of the statistical and utility functions."""
    none, nan = xp.zeros(0), xp.asarray([1.0, xp.nan, 2.0])
    assert xp.sum(none) == 0 and xp.prod(none) == 1 and xp.isnan(xp.mean(none))
    assert not xp.any(none) and xp.all(none)
    for name in ("min", "max", "mean", "sum", "prod", "var", "std"):
        assert xp.isnan(getattr(xp, name)(nan)), name
    assert (
        xp.isnan(xp.var(xp.asarray([1.0]), correction=1))
        and xp.any(xp.asarray([xp.nan]))
        and xp.all(xp.asarray([xp.nan]))
    )
    assert xp.count_nonzero(xp.asarray([xp.nan, 0.0, -0.0])) == 1
    assert xp.argmax(xp.asarray([[1, 5], [5, 1]])) == 1, "the first occurrence, of the flattened array"


def test_complex_truth():
    """any, all and count_nonzero: x "should have a numeric or boolean data type", of which complex
    is one."""
    x = xp.asarray([[0, 1j], [1, 2 + 1j]])
    assert xp.any(x, axis=0).tolist() == [True, True] and xp.all(x, axis=0).tolist() == [False, True]
    assert xp.count_nonzero(x) == 3


def test_keepdims_and_axis():
    """ "If True, the reduced axes (dimensions) must be included in the result as singleton
    dimensions"; an axis may be negative; a tuple reduces several; () reduces none."""
    x = xp.reshape(xp.arange(24.0), (2, 3, 4))
    for name in ("sum", "mean", "max", "any", "var", "count_nonzero"):
        function = getattr(xp, name)
        assert function(x, axis=(0, -1), keepdims=True).shape == (1, 3, 1)
        assert function(x, keepdims=True).shape == (1, 1, 1) and function(x).shape == ()
        assert function(x, axis=()).shape == x.shape
    assert xp.argmin(x, axis=1, keepdims=True).shape == (2, 1, 4) and xp.argmin(x, keepdims=True).shape == (1, 1, 1)


def test_cumulative():
    """ "axis ... must be provided if x has more than one"; include_initial: "the size of the axis
    ... must be N+1"; "If x is zero-dimensional ... unspecified"."""
    x = xp.reshape(xp.arange(6), (2, 3))
    assert xp.cumulative_sum(x, axis=0, include_initial=True).tolist() == [[0, 0, 0], [0, 1, 2], [3, 5, 7]]
    assert xp.cumulative_sum(xp.arange(3)).tolist() == [0, 1, 3]
    assert xp.cumulative_prod(xp.zeros((2, 0)), axis=1, include_initial=True).tolist() == [[1], [1]]
    with pytest.raises(ValueError):
        xp.cumulative_sum(x)


def test_vecdot():
    """ "the conjugate of x1"; shapes "must be broadcast-compatible"; the axis "must have the same
    size"."""
    x, y = xp.asarray([[1j, 2]]), xp.asarray([[1j, 1], [2, 2]])
    assert xp.vecdot(x, y).tolist() == (np.conj(x) * y).sum(-1).tolist()
    assert xp.vecdot(xp.ones((4, 1, 3)), xp.ones((2, 3))).shape == (4, 2)
    assert xp.vecdot(xp.ones((3, 4)), xp.ones((3, 4)), axis=-2).shape == (4,)
    with pytest.raises(ValueError):
        xp.vecdot(xp.ones((2, 1)), xp.ones((2, 3)))
    with pytest.raises(IndexError):
        xp.vecdot(xp.ones(3), xp.ones(3), axis=1)
    with pytest.raises(IndexError):
        xp.vecdot(xp.ones((0, 3)), xp.ones(3), axis=-2)
    with pytest.raises(ValueError, match="from the end"):
        xp.vecdot(xp.ones((3, 3)), xp.ones(3), axis=0)


@pytest.fixture
def strict():
    return pytest.importorskip("array_api_strict")


@pytest.mark.parametrize("name", "sum prod min max mean var std any all count_nonzero argmin argmax".split())
@given(data=st.data(), keepdims=st.booleans())
def test_strict_arrays(strict, name, data, keepdims):
    """array-api-strict's arrays go in and come out, with its shapes, types and values."""
    dtypes = NUMERIC if name in ("sum", "prod", "count_nonzero") else FLOATS if name in ("mean", "var", "std") else REAL
    host = data.draw(given_arrays(dtypes))
    axis = data.draw(axes_of(host.ndim))
    if name.startswith("arg") and isinstance(axis, tuple):
        axis = axis[0]
    x = strict.asarray(host)
    if name in ("any", "all") or (name == "count_nonzero" and host.dtype.kind == "c"):
        try:
            strict.asarray(np.ones(1, bool)).__dlpack__()
        except BufferError:  # NumPy before 1.25
            return
    with np.errstate(all="ignore"):
        ours = getattr(tally, name)(x, axis=axis, keepdims=keepdims)
        theirs = getattr(strict, name)(x, axis=axis, keepdims=keepdims)
    assert type(ours) is type(x) and ours.dtype == theirs.dtype and ours.shape == theirs.shape
    if host.dtype.kind in "iu" or name not in ("sum", "prod", "mean", "var", "std"):
        np.testing.assert_array_equal(np.asarray(ours), np.asarray(theirs))
    elif np.abs(host).max() < 100:
        np.testing.assert_allclose(np.asarray(ours), np.asarray(theirs), rtol=1e-3, atol=1e-2)


@pytest.mark.parametrize("name", ["CPU_DEVICE", "device1"])
def test_strict_devices(strict, name):
    """Results are on the array's device, where the library tells devices apart that DLPack does not."""
    device = strict.Device(name)
    x = strict.asarray([[3.0, 1.0, 2.0]] * 2, device=device)
    places = strict.asarray([0, 1], device=device)
    results = [
        tally.sum(x),
        tally.sum(x, axis=0, dtype=strict.float32),
        tally.cumulative_sum(x, axis=1),
        tally.take(x, places, axis=0),
        tally.scan("max", x[0, ::2], reverse=True),
        tally.vecdot(x, x),
        *tally.minmax(x[:, ::2], axis=1),
        tally.Plan("max", x, axis=1)(),
    ]
    assert [one.device for one in results] == [device] * len(results)


def test_axis_hints():
    """Every integer type is an axis: NumPy's too."""
    for name, words in SIGNATURES.items():
        if "axis" in words.split():
            hint = typing.get_type_hints(getattr(tally, name))["axis"]
            assert typing.SupportsIndex in (hint, *typing.get_args(hint)), name
    assert isinstance(np.int64(0), typing.SupportsIndex)
    x = np.ones((2, 3))
    assert tally.sum(x, axis=np.int64(1)).shape == (2,) and tally.sum(x, axis=(np.int8(0), np.int64(1))) == 6


def test_strict_others(strict):
    x = strict.reshape(strict.arange(6, dtype=strict.int8), (2, 3))
    running = tally.cumulative_sum(x, axis=1, include_initial=True)
    assert running.dtype == strict.int64 and np.asarray(running).tolist() == [[0, 0, 1, 3], [0, 3, 7, 12]]
    assert tally.sum(x, dtype=strict.float32).dtype == strict.float32
    assert tally.vecdot(x, strict.astype(x, strict.int16)).dtype == strict.int16
    assert np.asarray(tally.take(x[0, :], strict.asarray([-1, 0]))).tolist() == [2, 0]
    y = strict.asarray([3.0, -4.0])
    assert float(tally.vector_norm(y, ord=3)) == pytest.approx(91 ** (1 / 3)) and type(
        tally.vector_norm(y, ord=-1)
    ) is type(y)
