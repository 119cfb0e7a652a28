# SPDX-License-Identifier: MIT
"""The devices that are here: the same bits on each, copies to a device, custom ops. Each op and type
is a program that a device has to compile, so there are few."""

import os
import subprocess
import sys

import numpy as np
import pytest

import tally

WANTED = os.environ.get("TALLY_TEST_REQUIRE", "").split(",")
OTHERS = [device.select for device in tally.devices() if device.backend != "host"]


def test_required_devices_are_here():
    for backend in filter(None, WANTED):
        if backend in ("opencl", "cuda"):
            assert any(select.startswith(backend) for select in OTHERS), tally.missing()


@pytest.fixture(params=OTHERS or ["none"], scope="module")
def device(request):
    if request.param == "none":
        pytest.skip(f"no device but the host: {tally.missing()}")
    return tally.Context(request.param)


@pytest.fixture(scope="module")
def items():
    return np.random.default_rng(9).standard_normal((37, 5, 83)).astype("f4")


@pytest.mark.parametrize("name", ["sum", "argmax"])
def test_same_bits(device, items, name):
    for x in (items, items[::-1, :, ::2], items.T):
        for axis in (None, 0, 2, (0, 2)):
            with device:
                ours = np.asarray(getattr(tally, name)(x, axis=axis))
            assert ours.tobytes() == np.asarray(getattr(tally, name)(x, axis=axis)).tobytes(), (x.strides, axis)


def test_types(device, items):
    """Result types, which the backend host converts afterwards, are those of a device."""
    cases = [("sum", items.astype("f2"), {"axis": 1}), ("sum", items.astype("i4"), {"dtype": "int16"})]
    for name, x, more in cases:
        with device:
            ours = np.asarray(getattr(tally, name)(x, **more))
        host = np.asarray(getattr(tally, name)(x, **more))
        assert ours.dtype == host.dtype and ours.tobytes() == host.tobytes(), (name, x.dtype)


def test_mask_and_initial(device, items):
    mask = items > 0
    with device:
        ours = tally.sum(items, axis=1, where=mask, initial=2.5)
    assert ours.tobytes() == tally.sum(items, axis=1, where=mask, initial=2.5).tobytes()


def test_scan(device, items):
    with device:
        ours = tally.cumulative_sum(items[:3], axis=2)
    assert ours.tobytes() == tally.cumulative_sum(items[:3], axis=2).tobytes()


def test_moves_segments_and_keys(device, items):
    flat, index = items.ravel(), np.array([3, 3, 100], "u4")

    def work():
        changed = flat[:200].copy()
        tally.put(changed, index[1:], flat[:2])
        return [
            tally.take(flat, index),
            changed,
            tally.segment_reduce(flat, np.array([0, 5, 9000])),
            *tally.reduce_by_key(np.repeat([1, 2], [100, 50]), flat[:150]),
        ]

    with device:
        ours = work()
    for one, other in zip(ours, work()):
        assert one.tobytes() == other.tobytes() and one.dtype == other.dtype


def test_copied(device, items, monkeypatch):
    """A device that does not use host memory in place gets copies."""
    import dataclasses

    expected = tally.sum(items[::-1], axis=1), tally.var(items.T, axis=(0, 2), correction=1), tally.sum(items, axis=0)
    for memory_bytes in (device.device.memory_bytes, 1000):  # 1000: in pieces
        with monkeypatch.context() as patch:
            patch.setattr(
                device, "device", dataclasses.replace(device.device, host_memory=False, memory_bytes=memory_bytes)
            )
            with device:
                out = np.zeros((5, 166), "f4")[:, ::2]
                assert tally.sum(items, axis=0, out=out) is out
                assert out.tobytes() == expected[2].tobytes()
                assert tally.sum(items[::-1], axis=1).tobytes() == expected[0].tobytes()
                assert tally.var(items.T, axis=(0, 2), correction=1).tobytes() == expected[1].tobytes()
                assert tally.cumulative_sum(items[0, 0]).tobytes() == tally.cumulative_sum(items[0, 0]).tobytes()
                x = items.ravel()[:50].copy()
                tally.put(x, np.array([7]), x[:1].copy())
                assert x[7] == x[0] and x[8] == items.ravel()[8], "put changes what it names alone"
                with pytest.raises(ValueError, match="in place"):
                    tally.Plan("sum", items)


def test_own_ops(device):
    x = np.arange(40, dtype="f4").reshape(4, 10)
    limit = tally.Op(
        load="x > p.limit ? 1 : 0", combine="a + b", identity="0", acc="int64", params={"limit": 20}, exact=True
    )
    where = tally.Op(
        fields={
            "value": ("float32", "-INFINITY", "x", "a.value > b.value ? a.value : b.value"),
            "count": ("int64", "0", "1", "a.count + b.count"),
        },
        finish="a.value + (f32)a.count",
        out="float32",
    )
    with device:
        assert tally.reduce(limit, x) == 19 and tally.reduce(limit, x, axis=1, params={"limit": 4.5}).tolist() == [
            5,
            10,
            10,
            10,
        ]
        assert tally.reduce(where, x, axis=0).tolist() == (x.max(0) + 4).tolist()
        counted, total = tally.reduce([limit, "sum"], x, axis=1)
        assert counted.tolist() == [0, 0, 9, 10] and total.tolist() == x.sum(1).tolist()
        assert tally.Plan(limit, x, axis=0)().tolist() == (x > 20).sum(0).tolist()
        with pytest.raises(tally.DeviceError, match="nosuch"):
            tally.reduce(tally.Op(load="nosuch(x)", combine="a + b", identity="0"), x)


def test_threads_that_are_no_number():
    """A wrong TALLY_THREADS is an error of host alone."""
    script = "import tally; print('host' in [d.backend for d in tally.devices()], tally.missing()['host:0'])"
    done = subprocess.run(
        [sys.executable, "-c", script], env={**os.environ, "TALLY_THREADS": "many"}, capture_output=True, text=True
    )
    assert done.returncode == 0 and "True" not in done.stdout and "TALLY_THREADS is 'many'" in done.stdout


def test_context(device):
    assert device.device.select in repr(device) and "device" in device.describe()
    with device, tally.Context("host") as inner:
        assert tally.current() is inner
