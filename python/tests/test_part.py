# SPDX-License-Identifier: MIT
"""Parts: any cuts and any association give the bits of one call over all items."""

import copy
import pickle

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given

import tally

OPS = {
    "sum": tally.sum,
    "prod": tally.prod,
    "min": tally.min,
    "nanmax": tally.nanmax,
    "argmax": tally.argmax,
    "iamax": tally.iamax,
    "minmax": tally.minmax,
    "any": tally.any,
    "count_nonzero": tally.count_nonzero,
    "bxor": tally.bxor,
    "asum": tally.asum,
    "nrm2": tally.norm,
    "amax": tally.absmax,
    "mean": tally.mean,
    "var": tally.var,
    "logsumexp": tally.logsumexp,
    "dot": lambda x, y: tally.reduce("dot", x, y),
    "dotc": tally.vdot,
    "allclose": tally.allclose,
}
TYPES = ["bool", "int8", "uint16", "int32", "uint64", "float16", "float32", "float64", "complex64", "complex128"]


def takes(name, dtype):
    """Tells whether the op takes such items."""
    x = np.ones(2, dtype)
    try:
        OPS[name](*[x] * (2 if name in TWO else 1))
        tally.reduce_part(name, *[x] * (2 if name in TWO else 1))
    except TypeError:
        return False
    return True


TWO = ("dot", "dotc", "allclose")
with tally.Context("host"):
    CASES = [(name, dtype) for name in OPS for dtype in TYPES if takes(name, dtype)]


def items(rng, dtype, n):
    if dtype == "bool":
        return rng.random(n) < 0.5
    if np.dtype(dtype).kind in "iu":
        return rng.integers(0, 100, n).astype(dtype)
    x = rng.standard_normal(n).astype("f8")
    return (x + 1j * x[::-1] if dtype.startswith("complex") else x).astype(dtype)


def cuts(draw, n):
    """The ends of parts: anywhere, at chunks, and empty parts."""
    places = st.one_of(st.integers(0, n), st.integers(0, n // 4096).map(lambda chunk: 4096 * chunk))
    return [0, *sorted(draw(st.lists(places, max_size=6))), n]


def joined(draw, parts):
    """The parts joined in a drawn association."""
    while len(parts) > 1:
        at = draw(st.integers(0, len(parts) - 2))
        end = draw(st.integers(at + 2, len(parts)))
        parts[at:end] = [tally.Part.join(*parts[at:end])]
    return parts[0]


def bits(value, like):
    """The value's bytes. The functions convert float16's sums, and the library's values are wider."""
    values = value if isinstance(value, tuple) else (value,)
    likes = like if isinstance(like, tuple) else (like,)
    return [np.asarray(a).astype(np.asarray(b).dtype).tobytes() for a, b in zip(values, likes)]


@given(st.data())
def test_any_cuts_and_association(data):
    name, dtype = data.draw(st.sampled_from(CASES))
    n = data.draw(st.one_of(st.integers(1, 300), st.integers(4000, 30000)))
    rng = np.random.default_rng(data.draw(st.integers(0, 1000)))
    arrays = [items(rng, dtype, n) for _ in range(2 if name in TWO else 1)]
    whole = OPS[name](*arrays)
    ends = cuts(data.draw, n)
    parts = []
    for first, end in zip(ends, ends[1:]):
        total = n if data.draw(st.booleans()) else None
        part = tally.reduce_part(name, *(x[first:end] for x in arrays), first=first, total=total)
        assert (part.first, part.n, part.total) == (first, end - first, total)
        parts.append(tally.Part(part.record))
    part = joined(data.draw, parts)
    assert (part.first, part.n) == (0, n)
    assert bits(part.value(), whole) == bits(whole, whole), (name, dtype, ends)


@given(st.data())
def test_several_ops(data):
    n = data.draw(st.integers(1, 20000))
    x = np.random.default_rng(n).standard_normal(n).astype("f4")
    ends = cuts(data.draw, n)
    ops = ["argmin", "var", "any", "minmax", "mean"]
    part = joined(
        data.draw, [tally.reduce_part(ops, x[first:end], first=first, total=n) for first, end in zip(ends, ends[1:])]
    )
    whole = (tally.argmin(x), tally.var(x), tally.any(x), *tally.minmax(x), tally.mean(x))
    assert bits(part.value(), whole) == bits(whole, whole)
    assert [type(value) for value in part.value()] == [type(value) for value in whole]


def test_association_gives_one_record():
    x = np.random.default_rng(1).standard_normal(20000).astype("f4")
    a, b, c, d = (tally.reduce_part("sum", x[i : i + 5000], first=i, total=20000) for i in range(0, 20000, 5000))
    record = tally.Part.join(a, b, c, d).record
    assert a.join(b).join(c.join(d)).record == a.join(b.join(c)).join(d).record == a.join(b, c).join(d).record == record
    assert tally.reduce_part("sum", x, total=20000).record == record


def test_layouts():
    """Items count in C order, whatever lies in memory."""
    x = np.random.default_rng(1).standard_normal((40, 300)).astype("f4")
    whole = tally.reduce_part("sum", x.ravel())
    for y in (x, np.asfortranarray(x), x[::-1][::-1], x.astype(">f4")):
        assert tally.reduce_part("sum", y) == whole
    rows = tally.reduce_part("sum", x[:13].T.T), tally.reduce_part("sum", x[13:], first=13 * 300)
    assert rows[0].join(rows[1]).value().tobytes() == tally.sum(x).tobytes()
    assert tally.reduce_part("sum", np.float32(3)).value() == 3
    assert tally.reduce_part("dot", x, np.float32(1)).n == x.size


def test_parameters():
    x = np.random.default_rng(1).standard_normal(10000)
    sample = {"params": {"ddof": 1}}
    a, b = tally.reduce_part("var", x[:4096], **sample), tally.reduce_part("var", x[4096:], first=4096, **sample)
    assert a.join(b).value().tobytes() == tally.var(x, correction=1).tobytes()
    assert tally.reduce_part("var", x).value().tobytes() == tally.var(x).tobytes()
    with pytest.raises(ValueError, match="parameters"):
        tally.reduce_part("var", x[:4096]).join(b)
    with pytest.raises(ValueError, match="ddof"):
        tally.reduce_part("var", x, params={"rtol": 1})


def test_no_items():
    none = tally.reduce_part("sum", np.zeros(0, "f4"))
    assert none.value() == 0 and (none.first, none.n, none.total) == (0, 0, None)
    assert tally.reduce_part("argmax", np.zeros(0, "f4"), total=0).value() == -1
    x = np.arange(5000, dtype="i4")
    assert none.__class__.join(tally.reduce_part("sum", x[:0]), tally.reduce_part("sum", x)).value() == x.sum()


def test_wrong_joins():
    x = np.arange(9000, dtype="f4")
    a, b = tally.reduce_part("sum", x[:5000], total=9000), tally.reduce_part("sum", x[5000:], first=5000, total=9000)
    for left, right, why in [
        (b, a, "begins"),
        (a, a, "begins"),
        (a, tally.reduce_part("sum", x[5001:], first=5001), "begins"),
        (a, tally.reduce_part("max", x[5000:], first=5000), "sum"),
        (a, tally.reduce_part("sum", x[5000:].astype("f8"), first=5000), "f64"),
        (a, tally.reduce_part("sum", x[5000:8000], first=5000, total=8000), "8000"),
    ]:
        with pytest.raises(ValueError, match=why):
            left.join(right)
    for part in (a, b):
        with pytest.raises(ValueError, match="whole"):
            part.value()
    with pytest.raises(TypeError, match="Parts, not bytes"):
        a.join(b.record)
    assert a.join() == a


def test_wrong_parts():
    x = np.zeros(10, "f4")
    with pytest.raises(ValueError, match="5"):
        tally.reduce_part("sum", x, total=5)
    for wrong in ({"first": -1}, {"total": -1}, {"first": 1 << 64}, {"accuracy": "none"}):
        with pytest.raises(ValueError):
            tally.reduce_part("sum", x, **wrong)
    for wrong in (("sum", x, x), ("bxor", x), (3, x), ("dot", x), ("sum", [1])):
        with pytest.raises(TypeError):
            tally.reduce_part(*wrong)
    for wrong in ([], "nothing"):
        with pytest.raises(ValueError):
            tally.reduce_part(wrong, x)
    with pytest.raises(TypeError):
        tally.reduce_part("sum", x, first=1.5)


def test_damaged_records():
    """Every changed byte is found."""
    record = tally.reduce_part("var", np.arange(4100, dtype="f8")).record
    for at in range(len(record)):
        with pytest.raises(ValueError):
            tally.Part(record[:at] + bytes([record[at] ^ 1]) + record[at + 1 :])
    for wrong in (b"", record[:-1], record[:100], bytes(200)):
        with pytest.raises(ValueError):
            tally.Part(wrong)
    with pytest.raises(TypeError):
        tally.Part("record")
    assert tally.Part(bytearray(record) + b"more").record == record


def test_carried(tmp_path):
    """A part goes through pickle, copies and a file."""
    part = tally.reduce_part("sum", np.arange(5000, dtype="i4"), first=4096, total=10000)
    (tmp_path / "part").write_bytes(part.record)
    for other in (
        *(pickle.loads(pickle.dumps(part, protocol)) for protocol in range(pickle.HIGHEST_PROTOCOL + 1)),
        copy.deepcopy(part),
        tally.Part((tmp_path / "part").read_bytes()),
        tally.Part(np.fromfile(tmp_path / "part", "u1")),
    ):
        assert other == part and hash(other) == hash(part) and repr(other) == repr(part)
    assert part != tally.reduce_part("sum", np.arange(5000, dtype="i4")) and part != part.record
    assert repr(part) == "<tally.Part sum of int32, items 4096 to 9095 of 10000>"


def test_share():
    for n, ranks in ((0, 3), (1, 2), (4096, 2), (10000, 3), (1 << 40, 7)):
        shares = [tally.share(n, ranks, rank) for rank in range(ranks)]
        assert sum(count for _, count in shares) == n
        at = 0
        for first, count in shares:
            assert first == at and (count % 4096 == 0 or first + count == n)
            at += count
    for wrong in ((-1, 1, 0), (1, 0, 0), (1, 2, 2), (1, 2, -1)):
        with pytest.raises(ValueError):
            tally.share(*wrong)
    with pytest.raises(TypeError):
        tally.share(1.5, 2, 0)


def test_on_devices():
    """Parts of several devices are joined, and a custom op is folded by its device."""
    x = np.random.default_rng(2).standard_normal(30000).astype("f4")
    others = [device.select for device in tally.devices() if device.backend != "host"]
    if not others:
        pytest.skip(f"no device but the host: {tally.missing()}")
    ends = [0, 5000, 12288, 20001, 30000]
    pairs = list(zip(ends, ends[1:]))
    op = tally.Op(load="x > p.limit ? 1 : 0", combine="a + b", identity="0", acc="int64", params={"limit": 0})
    for select in others[:1]:
        parts = []
        for first, end in pairs:
            with tally.Context(select if len(parts) % 2 else "host"):
                parts.append(tally.reduce_part(["sum", "max"], x[first:end], first=first))
        assert tally.Part.join(*parts).value() == (tally.sum(x), tally.max(x))
        own = {"op": op, "params": {"limit": 0.5}}
        with tally.Context(select):
            counts = [tally.reduce_part(op, x[i:end], first=i, params=own["params"]) for i, end in pairs]
            whole = tally.Part.join(*counts, **own)
            assert repr(whole) == "<tally.Part custom of float32, items 0 to 29999>"
            assert pickle.loads(pickle.dumps(whole)).value(**own) == np.count_nonzero(x > 0.5)
            for call in (whole.value, lambda: counts[0].join(counts[1])):
                with pytest.raises(ValueError, match="give the Op"):
                    call()
            with pytest.raises(ValueError, match="parameters"):
                whole.value(op=op, params={"limit": 1})
            with pytest.raises(ValueError):
                whole.value(op=tally.Op(load="x", combine="a + b", identity="0"))
            place, count = tally.reduce_part(["argmin", op], x[:0], params=own["params"]).value(**own)
            assert place == -1 and place.dtype == np.int64 and count == 0, "as without a custom op"


def test_pyopencl():
    """A device array's record is made on its device."""
    opencl = pytest.importorskip("pyopencl")
    pytest.importorskip("pyopencl.array")
    if not any(device.backend == "opencl" for device in tally.devices()) or not opencl.get_platforms():
        pytest.skip("no OpenCL device")
    queue = opencl.CommandQueue(opencl.Context([opencl.get_platforms()[0].get_devices()[0]]))
    host = np.random.default_rng(2).standard_normal(30000).astype("f4")
    x = opencl.array.to_device(queue, host)
    parts = []
    for first, end in ((0, 5000), (5000, 5000), (5000, 20480), (20480, 30000)):
        for _ in range(2):  # the second call takes the first one's plan
            made = tally.reduce_part("var", x[first:end], first=first, params={"ddof": 1})
        assert made == tally.reduce_part("var", host[first:end], first=first, params={"ddof": 1})
        parts.append(made)
    assert tally.Part.join(*parts).value().tobytes() == tally.var(host, correction=1).tobytes()
    with pytest.raises(ValueError, match="copy it"):
        tally.reduce_part("sum", x[::2])
