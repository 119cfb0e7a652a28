# SPDX-License-Identifier: MIT
"""Scans, moves, segments, keys, fused ops, custom ops, plans and feeds."""

import subprocess
import sys

import hypothesis.extra.numpy as arrays
import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given

import tally
from test_reduce import strided


@given(st.data(), st.booleans())
def test_cumulative_sum(data, include_initial):
    x = data.draw(strided(["int32", "uint8", "float64", "bool"], min_dims=1))
    axis = data.draw(st.integers(-x.ndim, x.ndim - 1))
    expected = np.cumsum(x, axis=axis, dtype=None)
    if include_initial:
        expected = np.concatenate(
            [
                (
                    np.zeros_like(np.take(expected, [0], axis=axis))
                    if x.shape[axis]
                    else np.zeros(tuple(1 if i == axis % x.ndim else n for i, n in enumerate(x.shape)), expected.dtype)
                ),
                expected,
            ],
            axis=axis,
        )
    ours = tally.cumulative_sum(x, axis=axis, include_initial=include_initial)
    np.testing.assert_array_equal(ours, expected)
    assert ours.dtype == expected.dtype


def test_scan():
    x = np.random.default_rng(3).standard_normal(10000)
    sums = tally.scan("sum", x)
    np.testing.assert_allclose(sums, np.cumsum(x), atol=1e-10)
    exclusive = tally.scan("sum", x, exclusive=True)
    assert exclusive[0] == 0 and exclusive[1:].tobytes() == sums[:-1].tobytes()
    assert tally.scan("sum", x, exclusive=True, initial=5)[0] == 5
    np.testing.assert_allclose(tally.scan("sum", x, reverse=True), np.cumsum(x[::-1])[::-1], atol=1e-10)
    flags = np.zeros(10000, bool)
    flags[[0, 10, 5000]] = True
    by_flags = tally.scan("max", x, flags=flags)
    np.testing.assert_array_equal(by_flags[10:5000], np.maximum.accumulate(x[10:5000]))
    assert tally.scan("max", x, offsets=np.array([0, 10, 5000])).tobytes() == by_flags.tobytes()
    rows = tally.cumulative_sum(np.stack([x, -x]), axis=1)
    assert rows[0].tobytes() == sums.tobytes(), "a row has the bits of a scan of it alone"
    np.testing.assert_array_equal(tally.cumulative_prod(np.array([2.0, 3.0]), include_initial=True), [1, 2, 6])
    assert tally.cumulative_sum(np.ones(3, "f2")).dtype == np.float16
    assert tally.cumulative_sum(np.ones(3, "f4"), dtype="float64").dtype == np.float64
    np.testing.assert_array_equal(tally.scan("argmax", np.array([1, 5, 2])), [0, 1, 1])


@pytest.mark.parametrize("axis", [0, 1, 2, -1])
@pytest.mark.parametrize("options", [{}, {"exclusive": True}, {"reverse": True}, {"exclusive": True, "initial": 3}])
def test_scan_axis(axis, options):
    """Every list along an axis has the bits of a scan of it alone, wherever the items lie."""
    big = np.random.default_rng(5).standard_normal((9, 300, 14))
    for x in (big, big[::2, ::-1, 1::3], big.transpose(2, 0, 1), np.broadcast_to(big[:1], (4, 300, 14)), big[:0]):
        got = tally.scan("sum", x, axis=axis, **options)
        assert got.shape == x.shape and got.flags.c_contiguous
        lists, values = np.moveaxis(x, axis, -1), np.moveaxis(got, axis, -1)
        for at in np.ndindex(lists.shape[:-1]):
            if sum(at) % 5 == 0:
                alone = tally.scan("sum", np.ascontiguousarray(lists[at]), **options)
                assert np.ascontiguousarray(values[at]).tobytes() == alone.tobytes()


def test_scan_axis_values():
    x = np.arange(24.0).reshape(2, 3, 4)
    np.testing.assert_array_equal(tally.scan("minmax", x, axis=0)[..., 1], x)
    assert tally.scan("minmax", x, axis=1).shape == (2, 3, 4, 2)
    np.testing.assert_array_equal(tally.scan("argmax", x[:, ::-1], axis=1), np.zeros((2, 3, 4)))
    tall = np.ones((2,) + (1,) * 20 + (3, 2))
    np.testing.assert_array_equal(tally.cumulative_sum(tall, axis=21), np.cumsum(tall, axis=21))
    np.testing.assert_array_equal(tally.cumulative_sum(tall, axis=0), np.cumsum(tall, axis=0))
    np.testing.assert_array_equal(tally.cumulative_sum(tall, axis=22), np.cumsum(tall, axis=22))
    off = np.frombuffer(b"\0" + np.ones(6).tobytes(), "f8", offset=1).reshape(2, 3)
    np.testing.assert_array_equal(tally.cumulative_sum(off, axis=0), np.cumsum(off, axis=0))


def test_scan_errors():
    with pytest.raises(ValueError, match="needs axis="):
        tally.cumulative_sum(np.ones((2, 2)))
    with pytest.raises(ValueError, match="one axis or more"):
        tally.cumulative_sum(np.array(1.0))
    with pytest.raises(tally.AxisError):
        tally.cumulative_sum(np.ones((2, 2)), axis=2)
    with pytest.raises(ValueError, match="segments are of arrays"):
        tally.scan("sum", np.ones((2, 2)), axis=0, flags=np.ones(2, bool))
    with pytest.raises(TypeError, match="two inputs"):
        tally.scan("dot", np.ones(3))
    with pytest.raises(ValueError, match="no op 'median'"):
        tally.scan("median", np.ones(3))


def test_names_of_functions_are_names_of_ops():
    x = np.array([-5.0, 3.0, 4.0])
    for name, own in (("absmax", "amax"), ("norm", "nrm2")):
        function = getattr(tally, name)
        assert tally.reduce(name, x) == tally.reduce(own, x) == function(x)
        assert tally.Plan(name, x)() == function(x)


def test_take_and_put():
    x = np.arange(10, dtype="i2")
    index = np.array([[3, 3], [9, 0]])
    np.testing.assert_array_equal(tally.take(x, index), np.take(x, index))
    np.testing.assert_array_equal(tally.take(x[::-2], index[:1] // 2), np.take(x[::-2], index[:1] // 2))
    pairs = np.arange(8.0).reshape(4, 2)
    np.testing.assert_array_equal(tally.take(pairs, np.array([2, 0], "u4"), axis=0), pairs[[2, 0]])
    with pytest.raises(IndexError, match="10"):
        tally.take(x, np.array([10]))
    assert tally.take(x, np.array([-1, 0, -10], "i4")).tolist() == [9, 0, 0], "counted from the end"
    with pytest.raises(IndexError):
        tally.take(x, np.array([-11]))
    with pytest.raises(IndexError):
        tally.take(x, np.array([-1, 10]))
    assert tally.take(memoryview(x), memoryview(np.array([-1, 2]))).tolist() == [9, 2], "as along another axis"
    with pytest.raises(TypeError, match="int32"):
        tally.take(x, np.array([1.0]))
    assert tally.take(x, np.array([], "i8")).shape == (0,)
    tally.put(x, np.array([1, 2, 1]), np.array([7, 8, 9], "i2"), last=True)
    assert x[:3].tolist() == [0, 9, 8]
    tally.put(x, np.array([0, 3]), np.array([5, 5], "i2"), where=np.array([True, False]))
    assert x[[0, 3]].tolist() == [5, 3]
    with pytest.raises(IndexError):
        tally.put(x, np.array([77]), np.array([1], "i2"))
    with pytest.raises(ValueError, match="items of type int16"):
        tally.put(x, np.array([7]), np.array([1.0]))


@given(data=st.data())
def test_take_along_axes(data):
    """Along every axis, of rows of any length, in any layout."""
    shape = data.draw(arrays.array_shapes(min_dims=1, max_dims=4, min_side=0, max_side=6))
    dtype = data.draw(st.sampled_from(["?", "i1", "u2", "f4", "f8", "c16"]))
    x = np.random.default_rng(3).integers(0, 100, shape).astype(dtype)
    x = x.transpose(data.draw(st.permutations(range(x.ndim))))[:: data.draw(st.sampled_from([1, -1, 2]))]
    axis = data.draw(st.integers(-x.ndim, x.ndim - 1))
    n = x.shape[axis]
    places = data.draw(arrays.array_shapes(min_dims=0, max_dims=2, min_side=0, max_side=4)) if n else (0,)
    numbers = st.integers(-n, n - 1) if n else st.just(0)
    indices = data.draw(arrays.arrays(data.draw(st.sampled_from(["i4", "i8"])), places, elements=numbers))
    ours, numpys = tally.take(x, indices, axis=axis), np.take(x, indices, axis=axis)
    assert ours.dtype == numpys.dtype
    np.testing.assert_array_equal(ours, numpys)
    for wrong in (-n - 1, n) if x.size else ():
        with pytest.raises(IndexError, match=str(wrong)):
            tally.take(x, np.array([wrong]), axis=axis)


def test_take_of_more_items_than_the_type_of_the_indices_counts():
    with tally.Context("host"):
        x = np.zeros(2**31 + 5, "i1")  # of which few pages are touched
        x[-1], x[5] = 7, 3
        assert tally.take(x, np.array([-1, 5, -(2**31)], "i4")).tolist() == [7, 3, 3]


def test_take_of_other_arrays():
    x = np.arange(6, dtype="i4").reshape(2, 3)
    taken = tally.take(memoryview(x), memoryview(np.array([2, -3])), axis=1)
    assert type(taken) is memoryview and taken.tolist() == [[2, 0], [5, 3]]
    rows = np.arange(300.0).reshape(3, 100)
    np.testing.assert_array_equal(tally.take(rows, np.array([2, 0], "u8"), axis=0), rows[[2, 0]])
    with pytest.raises(tally.AxisError):
        tally.take(x, np.array([0]), axis=2)
    with pytest.raises(ValueError, match="2 axes needs axis="):
        tally.take(x, np.array([0]))
    with pytest.raises(ValueError, match="without axes"):
        tally.take(np.float32(1), np.array([0]))


def test_segments_and_keys():
    x = np.random.default_rng(8).standard_normal(5000).astype("f4")
    offsets = np.array([0, 0, 4097, 4100, 5000])
    sums = tally.segment_reduce(x, offsets)
    for i in range(4):
        assert sums[i].tobytes() == tally.sum(x[offsets[i] : offsets[i + 1]]).tobytes()
    assert tally.segment_reduce(x, np.array([5, 0]), "max", ends=np.array([9, 3])).tolist() == [
        x[5:9].max(),
        x[:3].max(),
    ]
    assert tally.segment_reduce(x, np.array([0, 5000]), "argmax").tolist() == [int(x.argmax())]
    assert tally.segment_reduce(x.astype("f2"), offsets).dtype == np.float16
    with pytest.raises(ValueError, match="segment"):
        tally.segment_reduce(x, np.array([0, 5001]))
    with pytest.raises(TypeError, match="offsets has items"):
        tally.segment_reduce(x, np.array([0.0, 1.0]))
    keys = np.repeat([3, 1, 3], [10, 4000, 990])
    names, means, lengths = tally.reduce_by_key(keys, x, "mean")
    assert names.tolist() == [3, 1, 3] and lengths.tolist() == [10, 4000, 990]
    assert means[1].tobytes() == tally.mean(x[10:4010]).tobytes()
    assert [len(part) for part in tally.reduce_by_key(keys[:0], x[:0])] == [0, 0, 0]


def test_fused():
    x = np.random.default_rng(4).standard_normal((50, 60)).astype("f4")
    for axis in (None, 0, 1):
        total, low, count = tally.reduce(["sum", "min", "count_nonzero"], x, axis=axis)
        assert np.asarray(total).tobytes() == np.asarray(tally.sum(x, axis=axis)).tobytes()
        np.testing.assert_array_equal(low, x.min(axis=axis))
        np.testing.assert_array_equal(count, np.count_nonzero(x, axis=axis))
    with pytest.raises(ValueError, match="no op: give"):
        tally.reduce([], x)
    with pytest.raises(ValueError, match="no identity"):
        tally.reduce(["sum", "max"], x[:0])
    assert tally.reduce("dot", x[0], x[1]) == tally.dot(x[0], x[1])


def test_fused_types():
    """The types are those of the functions, on every backend."""
    for dtype in ("f2", "f4", "i2", "u4"):
        x = np.arange(6).reshape(2, 3).astype(dtype)
        for op in ("sum", "mean", "var", "max", "count_nonzero", "asum"):
            fused, alone = tally.reduce([op, "min"], x, axis=1)[0], getattr(tally, op)(x, axis=1)
            assert fused.dtype == alone.dtype and fused.tobytes() == alone.tobytes(), (op, dtype)


def test_params_are_those_of_the_call():
    """A plan that is kept has the parameters of the call that made it."""
    x = np.arange(3.0)
    for axis in (None, 0):
        assert tally.var(x, axis=axis, correction=1) == 1
        assert tally.reduce("var", x, axis=axis) == tally.Plan("var", x, axis=axis)() == x.var()
    assert tally.reduce("allclose", x, x + 1, params={"atol": 2})
    assert not tally.reduce("allclose", x, x + 1) and not tally.reduce("allclose", x, x + 1, params={"rtol": 0.1})


def test_plan():
    x = np.arange(12, dtype="f4").reshape(3, 4)
    plan = tally.Plan("sum", x, axis=1)
    assert plan().tolist() == [6, 22, 38]
    x[0, 0] = 100
    assert plan() is plan.out and plan.out.tolist() == [106, 22, 38]
    assert "sum of float32 (3, 4), axis 1" in repr(plan)
    out = np.zeros((2, 4))[0]
    whole = tally.Plan("max", x.astype("f8"), axis=0, out=out)
    assert whole() is out and out.tolist() == [100, 9, 10, 11]
    assert tally.Plan("mean", x)() == x.mean()
    spread = tally.Plan("var", x, params={"ddof": 1})
    np.testing.assert_allclose(spread(), x.var(ddof=1), rtol=1e-6)
    spread.set_param("ddof", 0)
    np.testing.assert_allclose(spread(), x.var(), rtol=1e-6)
    with pytest.raises(ValueError, match="ddof"):
        spread.set_param("dof", 0)


def test_feed():
    x = np.random.default_rng(4).standard_normal(100000).astype("f4")
    feed = tally.Feed("sum", "float32")
    for piece in np.split(x, [1, 1, 5000, 77777]):
        feed.push(piece)
    assert feed.finish().tobytes() == tally.sum(x).tobytes()
    assert feed.finish(x[:10]).tobytes() == tally.sum(x[:10]).tobytes()
    pairs = tally.Feed("dot", "float32")
    pairs.push(x, x)
    assert pairs.finish().tobytes() == tally.dot(x, x).tobytes()
    assert tally.Feed("minmax", "float32").finish(x) == (x.min(), x.max())
    with pytest.raises(TypeError, match="host arrays of that type"):
        feed.push(x.astype("f8"))


def test_own_op_is_refused_on_host(context):
    op = tally.Op(load="x * x", combine="a + b", identity="0", name="squares")
    assert "squares" in repr(op)
    if context.device.backend == "host":
        with pytest.raises(tally.DeviceError, match="host"):
            tally.reduce(op, np.ones(3))
    with pytest.raises(ValueError):
        tally.Op(load="x;", combine="a", identity="0")


def test_program():
    done = subprocess.run([sys.executable, "-m", "tally", "--version"], capture_output=True, text=True, check=False)
    assert done.returncode == 0 and tally.__version__ in done.stdout, done.stderr
