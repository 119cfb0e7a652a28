# SPDX-License-Identifier: MIT
"""For a machine with a CUDA device: parts of a reduction, take and put. gpu.py runs these tests."""

import numpy as np
import pytest

import tally
from gpu import context, in_threads, items, pytestmark, same, torch  # noqa: F401 (fixtures, the mark)

SOURCES = {}


def source(library):
    """The function that converts NumPy's arrays to a library's on the device."""

    def add(make):
        SOURCES[library] = make
        return make

    return add


@source("torch")
def to_torch():
    torch = pytest.importorskip("torch")
    if not torch.cuda.is_available():
        pytest.skip("PyTorch sees no CUDA device")
    return lambda host: torch.from_numpy(host.copy()).cuda()


@source("cupy")
def to_cupy():
    return pytest.importorskip("cupy").asarray


@source("jax")
def to_jax():
    jax = pytest.importorskip("jax")
    if jax.default_backend() != "gpu":
        pytest.skip("JAX sees no CUDA device")
    return jax.numpy.asarray


@pytest.fixture(params=list(SOURCES))
def convert(request):
    return SOURCES[request.param]()


def test_parts(convert):
    """A device's record has the bytes of the host's, for any cuts, and both are joined."""
    host = items().ravel()[:50000]
    x, ends = convert(host), [0, 5000, 5000, 20480, 50000]

    def check(case):
        ops, params, value = case
        for total in (None, host.size):
            made, of_host = [], []
            for first, end in zip(ends, ends[1:]):
                given = {"first": first, "total": total, "params": params}
                of_host.append(tally.reduce_part(ops, host[first:end], **given))
                for _ in range(2):  # the second call takes the first one's plan
                    made.append(tally.reduce_part(ops, x[first:end], **given))
                    assert made.pop() == of_host[-1], (ops, first)
                made.append(tally.reduce_part(ops, x[first:end], **given))
            for parts in (made, [made[0], of_host[1], made[2], of_host[3]]):
                assert tally.Part.join(*parts).value() == value

    in_threads(
        check,
        ("sum", None, tally.sum(host)),
        (["min", "argmax", "mean"], None, (host.min(), host.argmax(), tally.mean(host))),
        ("var", {"ddof": 1}, tally.var(host, correction=1)),
        ("logsumexp", None, tally.logsumexp(host)),
    )


def test_parts_of_more_types_and_an_own_op(torch):
    host = (items() * 50).ravel()[:30000]
    for dtype in ("f8", "i4", "u1", "f2", "c8"):
        typed = np.abs(host).astype(dtype)
        assert tally.reduce_part("sum", torch.from_numpy(typed).cuda()) == tally.reduce_part("sum", typed)
    x = torch.from_numpy(host).cuda()
    half = x.bfloat16()
    total = tally.reduce_part("sum", half[:9000]).join(tally.reduce_part("sum", half[9000:], first=9000))
    assert total.value() == tally.sum(half, dtype="float32").item()
    assert tally.reduce_part("sum", x.reshape(3, 10000).T) == tally.reduce_part("sum", host.reshape(3, 10000).T)
    op = tally.Op(load="x > p.limit ? 1 : 0", combine="a + b", identity="0", acc="int64", params={"limit": 0})
    own = {"op": op, "params": {"limit": 3.5}}
    with tally.Context("cuda:0"):
        starts = range(0, 30000, 10000)
        counts = [tally.reduce_part(op, x[i : i + 10000], first=i, params=own["params"]) for i in starts]
        assert tally.Part.join(*counts, **own).value(**own) == np.count_nonzero(host > 3.5)


def test_take(convert):
    host = items()[:40, :6, :5]
    index = np.array([[3, 0, 39], [39, 2, 3]])
    flat, rows = host.ravel(), np.ascontiguousarray(host[:, 0, :4])
    from_the_end = index - np.array([[40], [0]])
    for of in (flat, rows):  # the indices are read as they are
        for dtype in ("i4", "i8", "u4", "u8"):
            same(tally.take(convert(of), convert(index.astype(dtype)), axis=0), of[index])
    same(tally.take(convert(rows), convert(from_the_end), axis=0), rows[from_the_end])
    same(tally.take(convert(flat), convert(index[:, :0])), flat[index[:, :0]])
    for wrong in (40, -41):
        with pytest.raises(IndexError):
            tally.take(convert(rows), convert(np.array([0, wrong])), axis=0)
    with pytest.raises(ValueError, match="different devices"):
        tally.take(convert(flat), index)
    x = convert(host)
    if hasattr(x, "at"):
        with pytest.raises(TypeError, match="not computed with"):
            tally.take(x, convert(index), axis=0)
        return
    for axis in (0, 1, -1):  # the call makes an index
        some = index % host.shape[axis]
        for places in (some, some - host.shape[axis]):
            same(tally.take(x, convert(places), axis=axis), np.take(host, places, axis))
        with pytest.raises(IndexError, match=f"axis {axis % 3} with size"):
            tally.take(x, convert(some + 40), axis=axis)
    for view, of in ((x[::2], host[::2]), (x[:, ::-1] if hasattr(x, "get") else x[:, 1:], None)):
        of = of if of is not None else host[:, ::-1] if hasattr(x, "get") else host[:, 1:]
        same(tally.take(view, convert(index % 5), axis=1), np.take(of, index % 5, 1))


def test_put(convert):
    rng = np.random.default_rng(7)
    index, values = rng.permutation(1000)[:300], rng.standard_normal(300).astype("f4")
    again, mask = rng.integers(0, 50, 300), rng.random(300) < 0.5
    if hasattr(convert(values), "at"):
        with pytest.raises(ValueError, match="written"):
            tally.put(convert(values), convert(index), convert(values))
        return
    for dtype in ("f4", "f8", "i1", "c16"):
        of, what = np.zeros(1000, dtype), values.astype(dtype)
        x = convert(of)
        for places, given in ((index, {}), (again, {"last": True}), (again, {"last": True, "where": mask})):
            tally.put(of, places, what, **given)
            given = {name: convert(one) if name == "where" else one for name, one in given.items()}
            tally.put(x, convert(places), convert(what), **given)
            same(x, of)
    for wrong in (1000, -1):  # the others are written
        bad = index.copy()
        bad[7] = wrong
        x, of = convert(np.zeros(1000, "f4")), np.zeros(1000, "f4")
        with pytest.raises(IndexError):
            tally.put(x, convert(bad), convert(values))
        of[np.delete(bad, 7)] = np.delete(values, 7)
        same(x, of)
    with pytest.raises(ValueError, match="different devices"):
        tally.put(x, index, convert(values))


def test_torch_parts_and_moves_in_order(torch):
    """Calls on a stream come after what was enqueued there, and before what is enqueued later."""
    stream = torch.cuda.Stream()
    index = torch.arange(999, -1, -1, device="cuda")
    torch.cuda.synchronize()
    with torch.cuda.stream(stream):
        for value in (1.0, 2.0):
            x = torch.zeros(1000, device="cuda")
            for call in (
                lambda: tally.reduce_part("sum", x).value(),
                lambda: tally.take(x, index).sum().item(),
                lambda: (tally.put(x, index[:500], x[500:] + 1), x.sum().item() - 500)[1],
            ):
                torch.cuda._sleep(20_000_000)
                x.fill_(value)
                assert call() == 1000 * value
