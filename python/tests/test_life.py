# SPDX-License-Identifier: MIT
"""Many calls and many threads. TALLY_TEST_CALLS=1000000 is the long run of the first."""

import array
import gc
import os
import random
import sys
import threading

import numpy as np
import pytest

import tally
from tally._library import lib
from test_arrays import Producer, exported

CALLS = int(os.environ.get("TALLY_TEST_CALLS", "20000"))


def resident():
    """Resident memory, in bytes."""
    gc.collect()
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGESIZE")


def test_no_leak():
    x = np.arange(600, dtype="f4").reshape(20, 30)
    buffer = array.array("d", range(20))
    out = np.zeros(30, "f4")

    def one(i):
        kind = i % 8
        if kind == 0:
            tally.sum(x)
        elif kind == 1:
            tally.sum(x[::-1], axis=0, out=out)
        elif kind == 2:
            tally.var(x, axis=1, correction=i % 3)
        elif kind == 3:
            with pytest.raises(ValueError):
                tally.min(x[:0])
        elif kind == 4:
            tally.sum(buffer)
        elif kind == 5:
            producer = Producer(x)
            tally.max(producer, axis=0)
            assert producer.deleted == 1
        elif kind == 6:
            producer = Producer(x, major=3)
            with pytest.raises(BufferError):
                tally.max(producer)
            assert producer.deleted == 1
        else:
            _, source = exported(True)
            np.from_dlpack(source) if i % 16 == 7 else source.__dlpack__()
            tally.cumulative_sum(x, axis=1)

    for i in range(4000):
        one(i)
    gc.collect()
    references = sys.getrefcount(x), sys.getrefcount(out), lib.tally_python_exports()
    before = resident()
    for i in range(CALLS):
        one(i)
    grown = resident() - before
    assert (sys.getrefcount(x), sys.getrefcount(out), lib.tally_python_exports()) == references
    assert grown < 4 << 20, f"{grown} bytes after {CALLS} calls"


def test_threads(context):
    """Eight threads share the context and its plans."""
    rng = np.random.default_rng(1)
    arrays = [rng.standard_normal((rng.integers(1, 60), rng.integers(1, 3000))).astype("f4") for _ in range(6)]
    cases = [
        (name, x, axis) for name in ("sum", "max", "var", "argmin", "mean") for x in arrays for axis in (None, 0, 1)
    ]
    expected = [np.asarray(getattr(tally, name)(x, axis=axis)).tobytes() for name, x, axis in cases]
    wrong, errors = [], []

    def work(seed):
        order = random.Random(seed)
        try:
            with context:
                for _ in range(300):
                    i = order.randrange(len(cases))
                    name, x, axis = cases[i]
                    if np.asarray(getattr(tally, name)(x, axis=axis)).tobytes() != expected[i]:
                        wrong.append(cases[i])
        except BaseException as error:  # noqa: BLE001
            errors.append(error)

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not errors and not wrong


def test_the_lock_is_released():
    """Python runs on while a call reduces."""
    x = np.ones(1 << 26, "u1")
    counted, done = [0], threading.Event()

    def count():
        while not done.is_set():
            counted[0] += 1

    thread = threading.Thread(target=count)
    thread.start()
    interval = sys.getswitchinterval()
    sys.setswitchinterval(10)  # a thread that holds the lock keeps it, unless it gives it up
    try:
        before = counted[0]
        assert tally.sum(x) == 1 << 26
    finally:
        sys.setswitchinterval(interval)
        done.set()
        thread.join()
    assert counted[0] > before
