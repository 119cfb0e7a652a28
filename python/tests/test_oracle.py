# SPDX-License-Identifier: MIT
"""Every value against the C oracle, to the bit: any shape, strides, axes, type and op. Floats also
keep the bound of docs/numerics.md, integers are also NumPy's."""

import math

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given

import oracle
import tally

pytestmark = oracle.needs_oracle

SIGNED = ["int8", "int16", "int32", "int64"]
UNSIGNED = ["uint8", "uint16", "uint32", "uint64"]
FLOATS = ["float16", "float32", "float64"]
COMPLEX = ["complex64", "complex128"]
REAL = ["bool", *SIGNED, *UNSIGNED, *FLOATS]
#: by tally's name: the library's, and the item types
OPS = {
    "sum": ("sum", [*REAL, *COMPLEX]),
    "prod": ("prod", [*REAL, *COMPLEX]),
    "min": ("min", REAL),
    "max": ("max", REAL),
    "nanmin": ("nanmin", REAL),
    "nanmax": ("nanmax", REAL),
    "argmin": ("argmin", REAL),
    "argmax": ("argmax", REAL),
    "any": ("any", REAL),
    "all": ("all", REAL),
    "count_nonzero": ("count_nonzero", REAL),
    "asum": ("asum", [*REAL, *COMPLEX]),
    "sumsq": ("sumsq", [*REAL, *COMPLEX]),
    "norm": ("nrm2", [*REAL, *COMPLEX]),
    "absmax": ("amax", REAL),
    "iamax": ("iamax", REAL),
    "mean": ("mean", [*REAL, *COMPLEX]),
    "var": ("var", REAL),
    "std": ("std", REAL),
    "logsumexp": ("logsumexp", REAL),
    "band": ("band", ["bool", *SIGNED, *UNSIGNED]),
    "bor": ("bor", ["bool", *SIGNED, *UNSIGNED]),
    "bxor": ("bxor", ["bool", *SIGNED, *UNSIGNED]),
}
EMPTY_RAISES = {"min", "max", "nanmin", "nanmax", "argmin", "argmax", "iamax"}
SPECIALS = [0.0, -0.0, np.inf, -np.inf, np.nan, 1e-40, -3e-42, 65504.0, 3e38]


def items_of(rng, shape, dtype, way):
    """Items of a type: of one size, of many exponents, small integers, or with special values."""
    dtype = np.dtype(dtype)
    if dtype.kind == "b":
        return rng.integers(0, 2, shape).astype(bool)
    if dtype.kind in "iu":
        info = np.iinfo(dtype)
        if way == "small":
            return rng.integers(0, 5, shape).astype(dtype)
        return rng.integers(info.min, info.max, shape, dtype, endpoint=True)
    if dtype.kind == "c":
        x = np.empty(shape, dtype)
        real = "float32" if dtype.itemsize == 8 else "float64"
        x.real, x.imag = items_of(rng, shape, real, way), items_of(rng, shape, real, way)
        return x
    x = rng.standard_normal(shape)
    if way == "exponents":
        x = x * 2.0 ** rng.integers(-14, 15, shape)
    if way == "small":
        x = np.rint(x * 3)
    if way == "special":
        x = np.where(rng.random(shape) < 0.1, rng.choice(SPECIALS, shape), x)
    with np.errstate(all="ignore"):
        return x.astype(dtype)


SHAPES = st.one_of(
    st.lists(st.integers(0, 7), max_size=4).map(tuple),
    st.lists(st.integers(1, 40), min_size=1, max_size=3).map(tuple),
    # segments of several chunks, whose items are not a whole number of them
    st.sampled_from([(9001,), (2, 4097), (4100, 3), (3, 70, 130), (12289, 1), (1, 5, 2000)]),
)


@st.composite
def strided(draw, dtypes):
    """An array of any layout: Fortran order, reversed, cut, each second item, axes repeated."""
    shape, dtype = draw(SHAPES), draw(st.sampled_from(dtypes))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    way = draw(st.sampled_from(["normal", "exponents", "small", "special"]))
    steps = [draw(st.sampled_from([1, 1, 1, -1, 2, -2, 3])) for _ in shape]
    order = draw(st.permutations(range(len(shape))))
    before = draw(st.integers(0, 2))
    # The array that is cut: its axes are in another order, with room before and behind.
    large = [n * abs(step) + before for n, step in zip(shape, steps)]
    memory = items_of(rng, tuple(large[a] for a in order), dtype, way).astype(dtype)
    x = memory.transpose(np.argsort(order)) if order else memory
    for axis, (n, step) in enumerate(zip(shape, steps)):
        index = slice(before, None, step) if step > 0 else slice(before + n * -step - 1, None, step)
        x = x[(slice(None),) * axis + (index,)][(slice(None),) * axis + (slice(0, n),)]
    repeat = draw(st.integers(0, 9))
    if repeat == 0:
        x = np.broadcast_to(x, (draw(st.integers(1, 3)), *x.shape))
    elif repeat == 1 and x.ndim:
        x = np.broadcast_to(x[..., :1], (*x.shape[:-1], min(x.shape[-1], 1) * 5))
    return x


@st.composite
def axes(draw, ndim):
    """None, (), an axis, or several, counted from the front or the back."""
    if ndim == 0:
        return draw(st.sampled_from([None, ()]))
    chosen = draw(st.sets(st.integers(0, ndim - 1)))
    several = tuple(draw(st.permutations([a - ndim if draw(st.booleans()) else a for a in sorted(chosen)])))
    return draw(st.sampled_from([None, draw(st.integers(-ndim, ndim - 1)), several]))


def same_bits(ours, expected, shape, what):
    """The bytes of an array of results, and its shape."""
    ours = np.asarray(ours)
    assert ours.shape == shape, what
    assert ours.tobytes() == expected, (what, ours, np.frombuffer(expected, ours.dtype))


def shape_of(x, axis, keepdims):
    """NumPy's shape of the results."""
    return np.add.reduce(np.broadcast_to(np.int8(0), x.shape), axis=axis, keepdims=keepdims).shape


def run(name, x, axis, keepdims, **more):
    """The results, or None where a value of no items is asked for and there is none."""
    rows = oracle.segments(x, axis)
    if name in EMPTY_RAISES and not rows.shape[1]:
        with pytest.raises(ValueError):
            getattr(tally, name)(x, axis=axis, keepdims=keepdims, **more)
        return None, rows
    ours = np.asarray(getattr(tally, name)(x, axis=axis, keepdims=keepdims, **more))
    again = np.asarray(getattr(tally, name)(x, axis=axis, keepdims=keepdims, **more))
    assert ours.tobytes() == again.tobytes(), "a later call takes another way (test_forms.py)"
    return ours, rows


@pytest.mark.parametrize("name", OPS)
@given(data=st.data())
def test_reductions(name, data):
    op, dtypes = OPS[name]
    x = data.draw(strided(dtypes))
    axis, keepdims = data.draw(axes(x.ndim)), data.draw(st.booleans())
    more = {"correction": data.draw(st.sampled_from([0, 1, 0.5, 2.25]))} if name in ("var", "std") else {}
    ours, rows = run(name, x, axis, keepdims, **more)
    if ours is None:
        return
    params = tuple(more.values())
    out = x.dtype if ours.dtype == x.dtype and x.dtype.kind in "fc" else None
    if params and 0 < rows.shape[1] <= params[0]:
        params = (np.nan,)  # as the array API: the library gives what 0 divides
    expected = b"".join(oracle.value(op, row, out=out, params=params) for row in rows)
    same_bits(ours, expected, shape_of(x, axis, keepdims), (name, x.dtype, x.strides, axis))
    if x.dtype in (np.float32, np.float64):
        for one, row in zip(ours.ravel(), rows):
            if row.size > 0:
                assert oracle.bound(op, one, row, params=params) != "broken", (name, x.dtype, one)


@pytest.mark.parametrize("name", ["sum", "prod", "min", "max", "any", "all", "count_nonzero", "argmin", "argmax"])
@given(data=st.data())
def test_integers_are_numpys(name, data):
    x = data.draw(strided(["bool", *SIGNED, *UNSIGNED]))
    axis, keepdims = data.draw(axes(x.ndim)), data.draw(st.booleans())
    if name.startswith("arg") and isinstance(axis, tuple):
        axis = axis[0] if axis else None
    ours, _ = run(name, x, axis, keepdims)
    if ours is not None and not (name.startswith("arg") and x.ndim == 0):
        theirs = np.asarray(getattr(np, name)(x, axis=axis, keepdims=keepdims))
        assert ours.dtype == theirs.dtype and ours.shape == theirs.shape
        np.testing.assert_array_equal(ours, theirs)


@given(data=st.data())
def test_sums_are_near_the_exact_one(data):
    """The bound of docs/numerics.md, by Python's exact sum: a check that shares nothing with C."""
    x = data.draw(strided(["float32", "float64"]))
    axis = data.draw(axes(x.ndim))
    unit = 2.0**-24 if x.dtype == np.float32 else 2.0**-53
    ours, rows = run("sum", x, axis, False)
    for one, row in zip(ours.ravel(), rows):
        if np.isfinite(row).all() and np.isfinite(one):
            k = 38 + (max(1, -(-row.size // 4096)) - 1).bit_length()
            exact, magnitude = math.fsum(row.tolist()), math.fsum(np.abs(row).tolist())
            assert abs(float(one) - exact) <= k * unit / (1 - k * unit) * magnitude


@pytest.mark.parametrize("name", ["sum", "prod", "max", "mean", "bor"])
@given(data=st.data())
def test_masks_and_initial(name, data):
    op, dtypes = OPS[name]
    x = data.draw(strided([d for d in dtypes if d in ("int32", "uint64", "float32", "float64", "int8")]))
    axis = data.draw(axes(x.ndim))
    rng = np.random.default_rng(data.draw(st.integers(0, 2**32 - 1)))
    mask = rng.random(x.shape[data.draw(st.integers(0, x.ndim)) :]) < data.draw(st.sampled_from([0.0, 0.3, 0.9, 1.0]))
    if data.draw(st.booleans()) and mask.ndim:
        mask = mask[::-1].copy()[::-1]
    own = {"sum": "int64", "max": x.dtype, "bor": x.dtype, "prod": "int64", "mean": "float64"}[name]
    result = np.dtype(x.dtype if x.dtype.kind == "f" else "uint64" if own == "int64" and x.dtype.kind == "u" else own)
    initial = None
    more = {}
    if name != "mean" and (name == "max" or data.draw(st.booleans())):
        initial = np.array([data.draw(st.integers(0, 100))], result)
        more["initial"] = initial[0].item()
    ours = np.asarray(getattr(tally, name)(x, axis=axis, where=mask, **more))
    rows, masks = oracle.segments(x, axis), oracle.segments(np.broadcast_to(mask, x.shape), axis).view("u1")
    expected = b"".join(oracle.value(op, row, where=own, initial=initial) for row, own in zip(rows, masks))
    same_bits(ours, expected, shape_of(x, axis, False), (name, x.dtype, x.strides, axis, mask.shape))


@pytest.mark.parametrize("name", ["vecdot", "dist2", "allclose"])
@given(data=st.data())
def test_pairs(name, data):
    """Two inputs of different strides, one of them repeated."""
    dtypes = ["float32", "float64", *(["complex64", "complex128", "int16"] if name == "vecdot" else [])]
    x = data.draw(strided(dtypes).filter(lambda x: x.ndim))
    rng = np.random.default_rng(data.draw(st.integers(0, 2**32 - 1)))
    y = items_of(rng, x.shape, x.dtype, "exponents").astype(x.dtype)
    y = np.asfortranarray(y)[(slice(None, None, -1),) * y.ndim]
    if name == "allclose" and x.size:
        y = np.where(rng.random(x.shape) < 0.9, x, y)
    if x.ndim > 1 and data.draw(st.booleans()):
        y = np.broadcast_to(y[:1], (x.shape[0], *y.shape[1:]))
    more, params = {}, ()
    if name == "vecdot":
        axis = data.draw(st.integers(-x.ndim, -1))
    else:
        axis = data.draw(axes(x.ndim))
    if name == "allclose":
        params = (1e-3, 1e-6)
        more = {"rtol": params[0], "atol": params[1]}
    ours = np.asarray(getattr(tally, name)(x, y, axis=axis, **more))
    op = name if name != "vecdot" else "dotc" if x.dtype.kind == "c" else "dot"
    out = x.dtype if ours.dtype == x.dtype else None
    pairs = zip(oracle.segments(x, axis), oracle.segments(y, axis))
    expected = b"".join(oracle.value(op, a, b, out=out, params=params) for a, b in pairs)
    same_bits(ours, expected, shape_of(x, axis, False), (name, x.dtype, x.strides, y.strides, axis))


@pytest.mark.parametrize(
    "name,items,dtype,acc",
    [
        ("sum", "float32", "float64", "float64"),
        ("sum", "float16", "float32", None),
        ("mean", "float32", "float64", "float64"),
        ("sum", "int16", "int8", None),
        ("prod", "int32", "uint16", None),
        ("sum", "int64", "float32", None),
        ("sum", "complex64", "complex128", "float64"),
        ("sumsq", "float16", "float64", "float64"),
    ],
)
@given(data=st.data())
def test_dtype(name, items, dtype, acc, data):
    x = data.draw(strided([items]))
    axis = data.draw(axes(x.ndim))
    ours = np.asarray(getattr(tally, name)(x, axis=axis, dtype=dtype))
    assert ours.dtype == dtype
    rows = oracle.segments(x, axis)
    expected = b"".join(oracle.value(name, row, acc=acc, out=dtype) for row in rows)
    same_bits(ours, expected, shape_of(x, axis, False), (name, x.dtype, x.strides, axis))


@given(data=st.data())
def test_several_ops_plans_and_feeds(data):
    """The other ways to the same values: a shared pass, a kept plan, an array in pieces."""
    x = data.draw(strided(["float32", "float64", "int32"]))
    axis = data.draw(axes(x.ndim))
    names = ["sum", "var", "count_nonzero"]
    rows = oracle.segments(x, axis)
    expected = [b"".join(oracle.value(name, row) for row in rows) for name in names]
    for ours, bits in zip(tally.reduce(names, x, axis=axis), expected):
        same_bits(ours, bits, shape_of(x, axis, False), (x.dtype, x.strides, axis))
    same_bits(tally.Plan("sum", x, axis=axis)(), expected[0], shape_of(x, axis, False), (x.dtype, x.strides, axis))
    flat = np.ravel(x)
    cut = data.draw(st.integers(0, flat.size))
    feed = tally.Feed("sum", x.dtype)
    feed.push(flat[:cut])
    same_bits(feed.finish(flat[cut:]), oracle.value("sum", flat), (), (x.dtype, cut))


@pytest.mark.parametrize("op", ["sum", "prod", "max", "min", "bxor"])
@given(data=st.data())
def test_scans(op, data):
    dtypes = ["int8", "int32", "uint64"] if op == "bxor" else ["int16", "uint32", "float32", "float64"]
    x = data.draw(strided(dtypes).filter(lambda x: x.ndim))
    axis = data.draw(st.integers(-x.ndim, x.ndim - 1))
    form = {"exclusive": data.draw(st.booleans()), "reverse": data.draw(st.booleans())}
    initial = None
    if form["exclusive"]:
        initial = np.array([data.draw(st.integers(0, 50))], x.dtype)
    ours = np.asarray(tally.scan(op, x, axis=axis, initial=None if initial is None else initial[0].item(), **form))
    rows = oracle.segments(x, axis)
    expected = b"".join(oracle.scan(op, row, initial=initial, **form) for row in rows)
    moved = np.moveaxis(ours, axis, -1)
    assert ours.shape == x.shape
    assert moved.tobytes() == expected, (op, x.dtype, x.strides, axis, form)


@given(data=st.data())
def test_segments_and_keys(data):
    """Segments by offsets, which may be empty or overlap, and runs of equal keys."""
    rng = np.random.default_rng(data.draw(st.integers(0, 2**32 - 1)))
    n = data.draw(st.sampled_from([1, 7, 300, 9000]))
    x = items_of(rng, n, data.draw(st.sampled_from(["float32", "float64", "int16"])), "exponents")
    begins = rng.integers(0, n + 1, 20)
    ends = np.minimum(begins + rng.integers(0, n + 1, 20), n)
    for op in ("sum", "max", "var"):
        ours = np.asarray(tally.segment_reduce(x, begins, op, ends=ends))
        expected = b"".join(oracle.value(op, x[begin:end].copy()) for begin, end in zip(begins, ends))
        same_bits(ours, expected, (20,), (op, x.dtype))
    keys = np.repeat(rng.integers(0, 9, n), rng.integers(0, 3, n))[:n]
    keys = np.concatenate([keys, np.full(n - keys.size, 99)])
    cuts = np.concatenate([[0], np.flatnonzero(np.diff(keys)) + 1, [n]])
    names, ours, *_ = tally.reduce_by_key(keys, x, "sum")
    np.testing.assert_array_equal(names, keys[cuts[:-1]])
    expected = b"".join(oracle.value("sum", x[a:b].copy()) for a, b in zip(cuts, cuts[1:]))
    same_bits(ours, expected, (cuts.size - 1,), x.dtype)


def test_the_oracle_is_another_opinion():
    """A wrong bit is found."""
    x = np.arange(5000, dtype="f4") * np.float32(0.1)
    right = np.frombuffer(oracle.value("sum", x), "f4")[0]
    assert right == tally.sum(x) and oracle.bound("sum", right, x) == "kept"
    assert np.nextafter(right, np.float32(0)).tobytes() != oracle.value("sum", x)
    assert oracle.bound("sum", right * np.float32(1.001), x) == "broken"
    assert not (np.frombuffer(oracle.value("sum", x[::-1].copy()), "f4")[0] == np.sum(x) == right), "the order counts"
