# SPDX-License-Identifier: MIT
"""For a machine with a CUDA device: CuPy, PyTorch, JAX and Numba, their streams, graphs and
results, and what calls cost.

    python python/tests/gpu.py                      # all tests, then the speeds and their bars
    python python/tests/gpu.py test_jax test_cupy   # these tests
    python python/tests/gpu.py speed                # the speeds (gpu_speed.py)

gpu_parts.py has tests of parts, take and put. pytest does not collect these files by itself. Each
test's seconds are printed. A test whose library is missing is skipped.
"""

import concurrent.futures
import contextvars
import gc
import os
import subprocess
import sys
import time

import numpy as np
import pytest

import tally

HERE = [device for device in tally.devices() if device.backend == "cuda"]
pytestmark = pytest.mark.skipif(not HERE, reason=f"no CUDA device: {tally.missing().get('cuda')}")
OPS = [
    "sum",
    "prod",
    "min",
    "max",
    "mean",
    "var",
    "std",
    "argmin",
    "argmax",
    "any",
    "all",
    "count_nonzero",
    "logsumexp",
    "norm",
    "nanmin",
    "nanmax",
    "asum",
    "sumsq",
    "absmax",
    "iamax",
    "ptp",
]


@pytest.fixture(autouse=True)
def context():
    """Host arrays, which results are compared with, are reduced on the processor."""
    with tally.Context("host") as host:
        yield host


def items(dtype="f4"):
    return np.random.default_rng(6).standard_normal((65, 33, 129)).astype(dtype)


def on_host(x):
    """An array of any library as NumPy's."""
    if hasattr(x, "detach"):
        x = x.detach().cpu().numpy()
    elif hasattr(x, "get"):
        x = x.get()
    return np.asarray(x)


def same(ours, host):
    assert tuple(ours.shape) == np.shape(host)
    ours, expected, is_jax = on_host(ours), np.asarray(host), hasattr(ours, "at")
    if is_jax and ours.dtype == np.int32 and expected.dtype == np.int64:  # JAX without x64 has no int64
        expected = expected.astype(np.int32)
        assert (expected == host).all()
    assert ours.tobytes() == expected.tobytes()


def in_threads(check, *cases):
    """Checks each case in a thread of its own, so that programs are compiled at once."""
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as threads:
        running = [threads.submit(contextvars.copy_context().run, check, case) for case in cases]
        for case in running:
            case.result()


def all_cases(convert, kind, names=OPS):
    host = items()
    x = convert(host)
    views = [(x, host), (x[::2, :, 3:], host[::2, :, 3:])]
    if not hasattr(x, "at"):  # JAX's transposes are copies
        views.append((x.T if not hasattr(x, "mT") or hasattr(x, "get") else x.permute(2, 1, 0), host.T))

    def check(name):
        function = getattr(tally, name)
        for view, other in views:
            for axis in (None, 0, -1, (0, 2)):
                result = function(view, axis=axis)
                assert isinstance(result, kind), (name, type(result))
                expected = function(other, axis=axis)
                same(result, expected)
                same(function(view, axis=axis), expected)  # a later call takes a short way

    in_threads(check, *names)


# ---- PyTorch -------------------------------------------------------------------------------------


@pytest.fixture
def torch():
    torch = pytest.importorskip("torch")
    if not torch.cuda.is_available():
        pytest.skip("PyTorch sees no CUDA device")
    return torch


def test_torch(torch):
    all_cases(lambda host: torch.from_numpy(host).cuda(), torch.Tensor)
    x = torch.ones((4, 300), device="cuda", dtype=torch.bfloat16)
    result = tally.sum(x, axis=1)
    assert result.dtype == torch.bfloat16 and result.device == x.device and result.tolist() == [300] * 4
    out = torch.empty(4, device="cuda", dtype=torch.float32)
    assert tally.sum(x.float(), axis=1, out=out) is out and out.tolist() == [300] * 4


def test_torch_whole_inputs(torch):
    """All items, aligned to 16 bytes or not, of several sizes of plans, at once and once more."""
    hosts = {dtype: (items() * 50).astype(dtype).ravel() for dtype in ("f4", "i1")}
    arrays = {dtype: torch.from_numpy(host).cuda() for dtype, host in hosts.items()}

    def check(case):
        dtype, function = case
        host, x = hosts[dtype], arrays[dtype]
        for first, n in ((0, 7), (0, 70000), (1, 70000), (16, 30000), (3, 30000), (0, host.size)):
            for axis in (0, None, 0):
                same(function(x[first : first + n], axis=axis), function(host[first : first + n], axis=axis))

    in_threads(check, *((dtype, function) for dtype in hosts for function in (tally.sum, tally.argmax)))


def test_torch_streams_have_forms_of_their_own(torch):
    """The short way is on the stream that is current, of the tensor that is given."""
    expected = [torch.full((64,), float(1000 * i), device="cuda") for i in range(4)]
    torch.cuda.synchronize()
    for stream in (torch.cuda.Stream(), torch.cuda.Stream()):
        with torch.cuda.stream(stream):
            for i in range(4):
                x = torch.full((64, 1000), float(i), device="cuda")
                torch.cuda._sleep(10_000_000)
                x += 0
                assert torch.equal(tally.sum(x, axis=1), expected[i])
        stream.synchronize()


def test_torch_exchange(torch):
    """DLPack's C exchange interface, where this PyTorch has it."""
    from tally._dlpack import table_of, view_of_dlpack
    from tally._view import numpy_kind

    if not table_of(torch.Tensor):
        pytest.skip(f"PyTorch {torch.__version__} has no __dlpack_c_exchange_api__")
    stream = torch.cuda.Stream()
    with torch.cuda.stream(stream):
        x = torch.ones((4, 5), device="cuda")
        view = view_of_dlpack(x, numpy_kind())
    assert (view.address, view.stream, view.shape) == (x.data_ptr(), stream.cuda_stream, (4, 5))


def test_torch_negative_and_where(torch):
    x = torch.from_numpy(items()).cuda()
    mask = x > 0
    same(tally.sum(x, axis=1, where=mask, initial=2.0), tally.sum(items(), axis=1, where=items() > 0, initial=2.0))
    with pytest.raises(ValueError, match="different devices"):
        tally.sum(x, where=np.ones(129, bool))


def test_torch_streams(torch):
    """A call is on the current stream: after a slow producer there, before a consumer there."""
    stream = torch.cuda.Stream()
    x = torch.zeros(1 << 24, device="cuda")
    tally.sum(x)  # makes the plan of this size, which waits for the device
    torch.cuda.synchronize()
    with torch.cuda.stream(stream):
        torch.cuda._sleep(200_000_000)
        x.fill_(1)
        begin = time.perf_counter()
        result = tally.sum(x)
        waited = time.perf_counter() - begin
        doubled = result * 2
    assert waited < 0.05, f"the call waited {waited} s"
    stream.synchronize()
    assert doubled.item() == 2 * (1 << 24)


def test_torch_graph(torch):
    x = torch.ones((64, 1000), device="cuda")
    for _ in range(3):
        tally.sum(x, axis=1)
    torch.cuda.synchronize()
    side = torch.cuda.Stream()
    with torch.cuda.stream(side):
        tally.sum(x, axis=1)  # the plan of the stream that captures
    side.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph, stream=side):
        result = tally.sum(x, axis=1)
    for value in (2.0, 3.0):
        x.fill_(value)
        graph.replay()
        torch.cuda.synchronize()
        assert result.tolist() == [1000 * value] * 64


def test_torch_scans_moves_keys(torch):
    host = items().ravel()[:50000]
    x = torch.from_numpy(host).cuda()
    same(tally.cumulative_sum(x), tally.cumulative_sum(host))
    index = np.array([5, 49999, 5])
    same(tally.take(x, torch.from_numpy(index).cuda()), tally.take(host, index))
    with pytest.raises(IndexError):
        tally.take(x, torch.tensor([50000], device="cuda"))
    same(
        tally.segment_reduce(x, torch.tensor([0, 5, 50000], device="cuda")),
        tally.segment_reduce(host, np.array([0, 5, 50000])),
    )
    keys = np.repeat([4, 2], [20000, 30000])
    for one, other in zip(tally.reduce_by_key(torch.from_numpy(keys).cuda(), x), tally.reduce_by_key(keys, host)):
        same(one, other)


def test_torch_plan_and_own_op(torch):
    x = torch.arange(1000, device="cuda", dtype=torch.float32).reshape(10, 100)
    plan = tally.Plan("sum", x, axis=1)
    assert plan().tolist() == x.sum(1).tolist()
    op = tally.Op(load="x * x", combine="a + b", identity="0")
    assert tally.reduce(op, x, axis=0).tolist() == (x * x).sum(0).tolist()
    low, high = tally.reduce(["min", "max"], x, axis=0)
    assert low.tolist() == x.amin(0).tolist() and high.tolist() == x.amax(0).tolist()


def test_torch_outputs_that_meet_inputs(torch):
    x = torch.arange(20.0, device="cuda").reshape(5, 4)
    expected, out = x.sum(1).tolist(), x[:, 3]
    assert tally.sum(x, axis=1, out=out) is out and out.tolist() == expected
    with pytest.raises(ValueError, match="overlaps an input"):
        tally.Plan("sum", x, axis=1, out=out)


def test_torch_plan_of_copies(torch):
    x = torch.ones(3, device="cuda", dtype=torch.complex64) * 1j
    plan = tally.Plan("sum", x.conj())
    assert plan().item() == -3j
    x *= 2
    assert plan().item() == -6j
    with torch.cuda.stream(torch.cuda.Stream()):
        x *= 2
        plan()
    torch.cuda.synchronize()
    assert plan.out.item() == -12j


def test_torch_memory_is_flat(torch):
    x = torch.ones((100, 100), device="cuda")
    for _ in range(100):
        tally.sum(x, axis=1)
    torch.cuda.synchronize()
    allocated, free = torch.cuda.memory_allocated(), [torch.cuda.mem_get_info()[0]]
    for _ in range(5):
        for _ in range(4000):
            tally.sum(x, axis=1)
        torch.cuda.synchronize()
        free.append(torch.cuda.mem_get_info()[0])
    assert torch.cuda.memory_allocated() == allocated
    # Other processes change the free memory too. A leak of ours lets it fall in every round.
    assert any(after >= before for before, after in zip(free, free[1:])), f"free bytes by round: {free}"


# ---- CuPy ----------------------------------------------------------------------------------------


def test_cupy():
    cupy = pytest.importorskip("cupy")
    all_cases(cupy.asarray, cupy.ndarray)
    x = cupy.asarray(items())
    same(tally.sum(x[::-1], axis=0), tally.sum(items()[::-1], axis=0))
    with cupy.cuda.Stream(non_blocking=True) as stream:
        y = cupy.ones(1 << 24, "f4")
        result = tally.sum(y) * 2
        stream.synchronize()
        assert float(result) == 2 * (1 << 24)


# ---- JAX -----------------------------------------------------------------------------------------


def test_jax():
    jax = pytest.importorskip("jax")
    if jax.default_backend() != "gpu":
        pytest.skip("JAX sees no CUDA device")
    all_cases(jax.numpy.asarray, jax.Array, ["sum", "max", "argmin", "var"])
    before = tally._library.lib.tally_python_exports() if hasattr(tally, "_library") else 0
    for _ in range(50):
        total = tally.sum(jax.numpy.ones((1000, 1000)) * 3, axis=1)
    assert total.tolist() == [3000] * 1000
    del total
    gc.collect()
    assert tally._library.lib.tally_python_exports() <= before + 1


def test_jax_of_32_bits():
    jax = pytest.importorskip("jax")
    if jax.default_backend() != "gpu" or jax.config.jax_enable_x64:
        pytest.skip("JAX sees no CUDA device, or has 64 bits")
    x = jax.numpy.array([2**31 - 1, 1], dtype="int32")
    with pytest.raises(OverflowError, match="jax_enable_x64"):
        tally.sum(x)
    plan = tally.Plan("sum", x[1:])
    assert int(plan()) == int(plan()) == 1
    assert tally.mean(x[1:]).dtype == "float32" and tally.mean(x[1:]).devices() == x.devices()
    lengths = tally.reduce_by_key(x, x)[2]
    assert lengths.tolist() == [1, 1] and lengths.dtype == "uint32"


# ---- __cuda_array_interface__ --------------------------------------------------------------------


def test_numba():
    cuda = pytest.importorskip("numba.cuda")
    x = cuda.to_device(items())
    result = tally.sum(x, axis=1)
    same(cuda.as_cuda_array(result).copy_to_host(), tally.sum(items(), axis=1))


class Interface:
    """An array by __cuda_array_interface__ alone."""

    def __init__(self, x):
        self.__cuda_array_interface__ = dict(x.__cuda_array_interface__)
        self.x = x


class Capsules:
    """An array by DLPack alone."""

    def __init__(self, x):
        self.x = x
        self.__dlpack__, self.__dlpack_device__ = x.__dlpack__, x.__dlpack_device__


@pytest.mark.parametrize("wrap", [Interface, Capsules])
def test_plain_producers(torch, wrap):
    host = items()
    x = torch.from_numpy(host).cuda()
    for axis in (None, 1, (0, 2)):
        result = torch.from_dlpack(tally.sum(wrap(x), axis=axis))
        assert result.is_cuda
        same(result, tally.sum(host, axis=axis))
    by_interface = tally.sum(wrap(x), axis=0)
    same(torch.as_tensor(by_interface, device="cuda"), tally.sum(host, axis=0))


# ---- host arrays on the device -------------------------------------------------------------------


def test_host_arrays_on_the_device():
    host = items()
    expected = tally.sum(host[::-1], axis=1), tally.var(host, axis=0, correction=1)
    with tally.Context("cuda:0"):
        assert tally.sum(host[::-1], axis=1).tobytes() == expected[0].tobytes()
        assert tally.var(host, axis=0, correction=1).tobytes() == expected[1].tobytes()


def main(names):
    """Runs the tests of these names, all without any, and the speeds."""
    import gpu_parts

    tests = [name for name in names if name != "speed"]
    status = 0
    if tests or not names:
        files = [__file__, gpu_parts.__file__]
        paths = [f"{files[hasattr(gpu_parts, name)]}::{name}" for name in tests] or files
        shown = ["-q", "-ra", "--durations=0", "--durations-min=0.05"]
        status = pytest.main([*shown, "-p", "no:cacheprovider", "-o", "addopts=", *paths])
    if "speed" in names or not names:
        # In a process of its own: in one that ran the tests any call took half as long again.
        speeds = os.path.join(os.path.dirname(__file__), "gpu_speed.py")
        status = status or subprocess.run([sys.executable, speeds], check=False).returncode
    return int(status)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
