# SPDX-License-Identifier: MIT
"""The array API standard (2024.12), sentence by sentence, for the functions that tally has."""

import inspect

import numpy as np
import pytest

import tally
import tally_array_api as xp

INTEGERS = [xp.int8, xp.int16, xp.int32, xp.int64]
UNSIGNED = [xp.uint8, xp.uint16, xp.uint32, xp.uint64]
FLOATS = [xp.float32, xp.float64]
COMPLEX = [xp.complex64, xp.complex128]
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
def test_signature(name):
    """Arrays are positional only; everything else may be given by its name."""
    parameters = inspect.signature(getattr(tally, name)).parameters
    for word in SIGNATURES[name].split():
        arrays = word in ("x", "y", "indices")
        assert (
            parameters[word].kind == inspect.Parameter.POSITIONAL_ONLY
            if arrays
            else parameters[word].kind != inspect.Parameter.POSITIONAL_ONLY
        )


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


def test_strict_arrays():
    """array-api-strict's arrays go in and come out."""
    strict = pytest.importorskip("array_api_strict")
    x = strict.reshape(strict.arange(24, dtype=strict.float64), (2, 3, 4))
    for name in ("sum", "prod", "min", "max", "mean", "var", "std", "any", "all", "count_nonzero", "argmin", "argmax"):
        for axis in (None, 0, -1):
            if name in ("any", "all", "count_nonzero") and not hasattr(strict, name):
                continue
            ours, theirs = getattr(tally, name)(x, axis=axis), getattr(strict, name)(x, axis=axis)
            assert type(ours) is type(theirs) and ours.dtype == theirs.dtype and ours.shape == theirs.shape, name
            np.testing.assert_allclose(np.asarray(ours), np.asarray(theirs))
