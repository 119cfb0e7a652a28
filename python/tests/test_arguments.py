# SPDX-License-Identifier: MIT
"""What arguments mean: types by name, outputs, masked arrays, ops; one plan in several threads."""

import copy
import pickle
import threading
import time
import warnings

import numpy as np
import pytest

import tally
from tally._library import dtype_of_name

CODES = "? i1 u1 i2 u2 i4 u4 i8 u8 f2 f4 f8 c8 c16".split()


@pytest.mark.parametrize("code", CODES)
@pytest.mark.parametrize("order", ["", "<", "|", "="])
def test_a_code_means_what_it_means_in_numpy(code, order):
    assert dtype_of_name(order + code).long_name == np.dtype(order + code).name


def test_names_of_types():
    x = np.array([100, 100, 100], "i1")
    assert tally.sum(x, dtype="i8") == 300 and tally.sum(x, dtype="i8").dtype == np.int64
    assert tally.Plan("sum", x, dtype="i8")() == 300
    feed = tally.Feed("sum", "u8")
    assert feed.finish(np.array([2**63, 1], "u8")) == 2**63 + 1
    short = {"i16": "int16", "u32": "uint32", "f32": "float32", "bf16": "bfloat16", "c128": "complex128"}
    assert {name: dtype_of_name(name).long_name for name in short} == short
    assert dtype_of_name(np.dtype("i8")).long_name == dtype_of_name(np.int64).long_name == "int64"
    for name in ("f16", "<f16"):
        with pytest.raises(TypeError, match="say 'float16'"):
            tally.sum(np.ones(2, "f4"), dtype=name)
    for letter in "?bBhHiIlLqQpPefdFD":
        assert dtype_of_name(letter).long_name == np.dtype(letter).name == dtype_of_name("=" + letter).long_name
    names = "byte ubyte short ushort intc uintc longlong uintp long ulong int uint half single double csingle cdouble"
    for name in names.split():
        assert dtype_of_name(name).long_name == np.dtype(name).name, name
    for kind in (np.bool_, np.intc, np.longlong, np.ulonglong, np.half, np.csingle, np.double):
        assert dtype_of_name(kind).long_name == np.dtype(kind).name, kind
    assert tally.sum(x, dtype="f") == 300 and tally.sum(x, dtype="f").dtype == np.float32
    for name in ("g", "longdouble"):
        with pytest.raises(TypeError, match="long double, which tally has not: say 'float64'"):
            tally.sum(np.ones(2, "f4"), dtype=name)
    for name in (">i4", ">d"):
        with pytest.raises(TypeError, match="byte-swapped: results have this machine's order"):
            dtype_of_name(name)
    for name in ("c64x", "|bf16", "O", "S", "m", "<", ""):
        with pytest.raises(TypeError, match="none of tally's"):
            dtype_of_name(name)


def test_masked_arrays_are_refused():
    x = np.ma.MaskedArray([1.0, 99.0, 2.0], [False, True, False])
    plain, text = np.ones(3), r"a masked array: give x\.data and where=~x\.mask"
    with pytest.raises(TypeError, match=text):
        tally.sum(x)
    with pytest.raises(TypeError, match=text):
        tally.sum(plain, where=np.ma.MaskedArray([True] * 3))
    with pytest.raises(TypeError, match=text):
        tally.sum(np.ones((2, 3)), axis=0, out=x)
    assert tally.sum(x.data, where=~x.mask) == 3
    assert type(tally.sum(np.matrix([[1, 2], [3, 4]]), axis=0)) is np.ndarray


def test_out_has_the_type_of_the_results():
    x = np.zeros((300, 2), "f4")
    x[200] = 1
    small = np.zeros(2, "i1")
    for name, out in [("argmax", small), ("sum", np.zeros(2, "f2")), ("count_nonzero", np.zeros(2, "u8"))]:
        with pytest.raises(TypeError, match="out has items of type"):
            getattr(tally, name)(x, axis=0, out=out)
        with pytest.raises(TypeError, match="out has items of type"):
            tally.Plan(name, x, axis=0, out=out)
    assert not small.any()
    with pytest.raises(TypeError, match="the results have int64"):
        tally.sum(x.astype("i4"), axis=0, out=np.zeros(2, "i4"))
    with pytest.raises(TypeError, match="the results have int64"):
        tally.sum(x.astype("i4"), axis=0, out=np.zeros(2))
    with pytest.raises(TypeError, match="the results have int32"):
        tally.dot(x.astype("i4"), np.ones(2, "i4"), out=np.zeros(300, "i8"))
    with pytest.raises(TypeError, match="the results have float64"):
        tally.vector_norm(x.astype("i4"), axis=0, ord=1, out=np.zeros(2, "i4"))
    asked, wide = np.zeros(2, "i4"), np.zeros(2)
    assert tally.sum(x.astype("i4"), axis=0, dtype="int32", out=asked) is asked and asked.tolist() == [1, 1]
    assert tally.sum(x, axis=0, out=wide) is wide and wide.tolist() == [1, 1]
    assert tally.dot(x, np.ones(2, "f4"), out=np.zeros(300))[200] == 2
    assert tally.dot(x.astype("i4"), np.ones(2, "i4"), out=np.zeros(300, "i4"))[200] == 2
    assert tally.vector_norm(x, axis=0, ord=1, out=np.zeros(2, "f4")).tolist() == [1, 1]


def in_threads(work):
    """Runs work in 4 threads at once, 50 times and until a call was refused, but no longer than a
    minute. Returns what each call gave, or its RuntimeError's text."""
    start, refused, given = threading.Barrier(4), threading.Event(), []
    end = time.monotonic() + 60

    def run():
        start.wait()
        calls = 0
        while calls < 50 or (not refused.is_set() and time.monotonic() < end):
            calls += 1
            try:
                given.append(work())
            except RuntimeError as error:
                given.append(str(error))
                refused.set()

    threads = [threading.Thread(target=run) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(given) >= 200
    return given


def test_a_plan_in_several_threads():
    x = np.ones(1 << 20, "f4")
    plan = tally.Plan("sum", x)
    given = set(in_threads(plan))
    assert given == {1 << 20, "this Plan is running in another thread"}
    assert plan() == 1 << 20, "the plan is free afterwards"


def test_a_plan_that_runs_refuses_params():
    plan = tally.Plan("var", np.ones(1 << 20, "f4"), params={"ddof": 1})

    def work():
        plan.set_param("ddof", 0)
        return plan()

    assert set(in_threads(work)) == {0, "this Plan is running in another thread"}
    with pytest.raises(ValueError, match="dof"):
        plan.set_param("dof", 0)
    plan.set_param("ddof", 0)
    assert plan() == 0, "an error leaves the plan free"


def test_a_feed_in_several_threads():
    x = np.ones(1 << 20, "f4")
    feed = tally.Feed("sum", "float32")
    given = in_threads(lambda: feed.push(x))
    assert set(given) == {None, "this Feed is running in another thread"}
    assert feed.finish() == given.count(None) << 20
    with pytest.raises(TypeError, match="host arrays of that type"):
        feed.push(x.astype("f8"))
    assert set(in_threads(lambda: feed.finish(x))) == {1 << 20, "this Feed is running in another thread"}
    assert feed.finish(x) == 1 << 20


def test_what_is_no_op():
    x = np.arange(4)
    calls = [
        lambda: tally.reduce(3, x),
        lambda: tally.reduce([3], x),
        lambda: tally.Plan(3, x),
        lambda: tally.Feed(3, "int64"),
        lambda: tally.scan(["sum"], x),
        lambda: tally.segment_reduce(x, np.array([0, 4]), ["sum"]),
    ]
    for call in calls:
        with pytest.raises(TypeError, match="op: a name or an Op"):
            call()
    with pytest.raises(TypeError, match="op: a name, not an Op"):
        tally.scan(tally.Op(load="x", combine="a + b", identity="0"), x)


def test_messages_name_the_argument():
    x = np.ones((2, 3), "f4")
    calls = [
        (TypeError, "axis '0' is no integer", lambda: tally.sum(x, axis="0")),
        (TypeError, "axis 1.0 is no integer", lambda: tally.cumulative_sum(x, axis=1.0)),
        (TypeError, "axis None is no integer", lambda: tally.vecdot(x, x, axis=None)),
        (TypeError, "initial '3' is no float32", lambda: tally.sum(x, initial="3")),
        (TypeError, "initial 2.5 is no int64", lambda: tally.sum(x.astype("i4"), initial=2.5)),
        (TypeError, "none of tally's", lambda: tally.sum(x, axis=0, dtype=["f4"])),
        (TypeError, "the class ndarray is no array", lambda: tally.sum(np.ndarray)),
        (TypeError, "params: a dict", lambda: tally.reduce("var", x, params=[1])),
        (TypeError, "a name and a number", lambda: tally.Plan("var", x).set_param(3, 1)),
        (ValueError, "include_initial is for", lambda: tally.scan("max", x, axis=0, include_initial=True)),
        (ValueError, "out cannot be written", lambda: tally.sum(x, out=np.float32(0))),
    ]
    for error, text, call in calls:
        with pytest.raises(error, match=text):
            call()


def test_what_has_no_copy():
    x = np.ones(3)
    op = tally.Op(load="x", combine="a + b", identity="0")
    for one in (tally.current(), tally.Plan("sum", x), tally.Feed("sum", "float64"), op):
        for copied in (copy.copy, copy.deepcopy, pickle.dumps):
            with pytest.raises(TypeError, match=f"a {type(one).__name__} is not copied or pickled"):
                copied(one)
    assert pickle.loads(pickle.dumps(tally.current().device)) == tally.current().device


def test_a_context_is_named_by_a_string():
    with pytest.raises(TypeError, match="select: a string"):
        tally.Context(3)


def test_ptp_wraps_silently():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert tally.ptp(np.array([-128, 127], "i1")) == -1


def test_values_of_no_items():
    x, offsets = np.array([5, 3], "i2"), np.array([0, 0, 2])
    for op, none in (("sum", 0), ("min", 32767), ("argmin", -1)):
        assert tally.segment_reduce(x, offsets, op)[0] == none
    assert tally.segment_reduce(x.astype("f4"), offsets, "min")[0] == np.inf
    assert tally.Feed("min", "float32").finish() == np.inf
    assert tally.Feed("argmin", "float32").finish() == -1
    assert tally.Feed("argmin", "float32").finish(x.astype("f4")).dtype == np.int64
    sums = tally.scan("sum", np.ones(4, "i4"), offsets=np.array([2, 0, 9]))
    assert sums.tolist() == [1, 2, 1, 2]


def test_arguments_of_an_op():
    """What is wrong is named."""
    parts = {"load": "x", "combine": "a + b", "identity": "0"}
    for error, text, given in (
        (TypeError, "field 's': .* is not .dtype, identity, load, combine", {"fields": {"s": ("float32", "0")}}),
        (TypeError, "lets: 'abcd' is not .name, part, dtype, value", {**parts, "lets": ["abcd"]}),
        (ValueError, "'foo' is none of load, combine, finish", {**parts, "lets": [("t", "foo", "float32", "x")]}),
        (TypeError, "limit='2' is no number", {**parts, "params": {"limit": "2"}}),
        (ValueError, "limit=9007199254740993 has more digits", {**parts, "params": {"limit": 2**53 + 1}}),
        (ValueError, "limit=9007199254740993 has more digits", {**parts, "params": {"limit": np.int64(2**53 + 1)}}),
        (ValueError, "limit is an integer beyond every float", {**parts, "params": {"limit": 10**400}}),
    ):
        with pytest.raises(error, match=text):
            tally.Op(**given)
    with pytest.raises(TypeError, match="ddof=None is no number"):
        tally.reduce("var", np.ones(3), params={"ddof": None})
