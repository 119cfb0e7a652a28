# SPDX-License-Identifier: MIT
"""Many calls and many threads. TALLY_TEST_CALLS=1000000 is the long run of the first."""

import array
import gc
import os
import random
import signal
import sys
import threading
import types

import numpy as np
import pytest

import tally
from tally import _context, _engine
from tally._dlpack import view_of_dlpack
from tally._library import lib, text
from tally._view import CUDA, View, numpy_kind
from test_arrays import Producer, api, exported

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


def test_the_end_of_a_plan():
    """A plan's queue may end before its buffers, which then ask nothing of it."""
    x = np.arange(6.0).reshape(2, 3)
    plan = tally.Plan("sum", x, axis=1)
    plan()
    with pytest.raises(ValueError):
        tally.share(1, 0, 0)
    last = text(lib.tally_last_error())
    del plan
    gc.collect()
    assert text(lib.tally_last_error()) == last


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
    x = np.broadcast_to(np.ones(1, "u1"), 1 << 30)  # no memory, and a tenth of a second or more
    counted, done = [0], threading.Event()

    def count():
        while not done.is_set():
            counted[0] += 1

    thread = threading.Thread(target=count)
    thread.start()
    interval = sys.getswitchinterval()
    sys.setswitchinterval(2)  # a thread that holds the lock keeps it, unless it gives it up
    try:
        before = counted[0]
        assert tally.sum(x) == 1 << 30
    finally:
        sys.setswitchinterval(interval)
        done.set()
        thread.join()
    assert counted[0] > before


# ---- plans and queues that threads and streams share ---------------------------------------------


class Emptied(list):
    """A list of kept plans whose last one another thread takes just before."""

    def pop(self, *_):
        raise IndexError("pop from empty list")


class Changed(dict):
    """A dict that another thread changes while it is walked through."""

    def __iter__(self):
        raise RuntimeError("dictionary changed size during iteration")


def test_another_thread_takes_the_last_plan():
    context, x = tally.Context("host"), np.arange(12, dtype="f4").reshape(3, 4)

    def expect_variances():
        with context:
            assert tally.var(x, axis=1, correction=1).tolist() == x.var(axis=1, ddof=1).tolist()

    def plans():
        return [plan for kept in context._plans.values() for plan in kept]

    for _ in range(3):
        expect_variances()
    assert len(plans()) == 1
    (form,) = context.forms.values()
    way = form.other if x.ctypes.data % 16 else form.aligned
    kept = dict(context._plans)
    context._plans.update({key: Emptied() for key in kept})
    way.last = (*way.last[:2], Emptied())
    expect_variances()
    assert len(way.last[2]) == 1 and isinstance(way.last[2][0], _context.KeptPlan)

    # A list that is kept no longer is replaced, and its plan goes.
    context._plans = kept
    way.last = (*way.last[:2], next(iter(kept.values())))
    context._drop_plans(next(iter(kept)))
    assert way.last[2] == [None] and not plans()
    for _ in range(2):
        expect_variances()
        assert len(plans()) == 1 and way.last[2] is next(iter(context._plans.values()))


def test_another_thread_changes_the_plans(monkeypatch):
    context = tally.Context("host")
    monkeypatch.setattr(_context, "MOST_KEPT", 1)
    context._plans = Changed()
    with context:
        for dtype in ("f4", "f8", "i4"):
            assert tally.sum(np.ones((2, 3), dtype), axis=1).tolist() == [3, 3]


def test_threads_beyond_the_bound(monkeypatch):
    """Many kinds of plans, two of which are kept: threads take, give and drop them at once."""
    context = tally.Context("host")
    monkeypatch.setattr(_context, "MOST_KEPT", 2)
    wrong, interval = [], sys.getswitchinterval()

    def work(seed):
        order = random.Random(seed)
        with context:
            for _ in range(400):
                name, dtype = order.choice(["sum", "max", "min", "prod"]), order.choice(["f4", "f8", "i4", "u8"])
                try:
                    if getattr(tally, name)(np.ones((2, 5), dtype), axis=0).tolist() != [2 if name == "sum" else 1] * 5:
                        wrong.append(name)
                except BaseException as error:  # noqa: BLE001
                    wrong.append(error)

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(8)]
    sys.setswitchinterval(1e-6)
    try:
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    finally:
        sys.setswitchinterval(interval)
    assert not wrong and len(context._plans) <= 2 + len(threads)


def device_view(stream, owner=None):
    return View(owner, 64, _engine.DTYPES[1], (2,), (4,), numpy_kind(), False, CUDA, 0, stream)


@pytest.fixture
def waits(monkeypatch):
    """The queues that were waited for. No device is needed."""
    found = []
    real = {name: getattr(lib, name) for name in ("TALLY_BY_AXES",)}
    monkeypatch.setattr(
        _engine, "lib", types.SimpleNamespace(tally_queue_wait=lambda queue: found.append(queue) or 0, **real)
    )
    return found


def test_settle_waits_for_other_streams(waits, context):
    """Arrays of several streams: the first one's queue is done before the call returns, so that no
    other stream frees or changes memory that it reads."""
    queue = context.take_queue()
    ours, same, other = device_view(5), device_view(5), device_view(6)
    capsule, known = Producer(np.ones(2, "f4"), device=(2, 0)), Producer(np.ones(2, "f4"))
    unknown = view_of_dlpack(capsule, numpy_kind(), 5)
    host = view_of_dlpack(known, numpy_kind())
    for views, expected in (
        ([ours], 0),
        ([ours, same], 0),
        ([ours, other], 1),
        ([ours, same, other], 1),
        ([unknown], 1),
        ([ours, unknown], 1),
        ([host], 0),
    ):
        waits.clear()
        _engine.settle(queue, views)
        assert waits == [queue.handle] * expected
    unknown.owner.in_order = True
    waits.clear()
    _engine.settle(queue, [unknown])
    assert not waits, "by the C exchange interface the stream is known"


def test_inputs_of_other_streams_are_waited_for(waits, context, monkeypatch):
    queues = {5: context.take_queue(), 6: context.take_queue()}
    monkeypatch.setattr(context, "queue_of", lambda view: queues[view.stream])
    queue, key = _engine.queue_for(context, [device_view(5), device_view(5), device_view(6)])
    assert queue is queues[5] and key == queue.number and waits == [queues[6].handle]


def test_streams_are_bounded(monkeypatch):
    """A context does not keep the queue of each stream that it ever saw, nor its plans."""
    context = tally.Context("host")
    monkeypatch.setattr(_context, "MOST_STREAMS", 3)
    numbers = []
    for stream in range(2, 12):
        queue = context._keep_stream(stream, context.take_queue())
        numbers.append(queue.number)
        context._plans[("sum", queue.number)] = [object()]
        assert context.queue_of_stream(CUDA, stream) is queue
    assert list(context._streams) == [9, 10, 11] and sorted(numbers) == numbers
    assert [key[1] for key in context._plans] == numbers[7:]
    assert context._keep_stream(11, context.take_queue()) is queue, "another thread was first"


# ---- Ctrl-C --------------------------------------------------------------------------------------


def interrupt_after(seconds):
    signal.signal(signal.SIGINT, signal.default_int_handler)  # in the background of a shell it is ignored
    timer = threading.Timer(seconds, lambda: os.kill(os.getpid(), signal.SIGINT))
    timer.start()
    return timer


@pytest.mark.parametrize("way", ["form", "long", "plan", "feed"])
def test_interrupt_of_a_long_call(way):
    """The call ends first, then KeyboardInterrupt is raised; plan and feed can be used again."""
    x = np.broadcast_to(np.ones(1, "f4"), (1 << 8, 1 << 20))
    small = np.ones((3, 4), "f4")
    plan, feed = tally.Plan("sum", x, axis=1), tally.Feed("sum", "f4")
    piece = np.ones(1 << 26, "f4")
    calls = {
        "form": lambda: tally.sum(x, axis=1),
        "long": lambda: tally.var(x, axis=1),
        "plan": plan,
        "feed": lambda: [feed.push(piece) for _ in range(200)],
    }
    timer = interrupt_after(0.05)
    with pytest.raises(KeyboardInterrupt):
        while True:
            calls[way]()
    timer.join()
    assert tally.sum(small, axis=0).tolist() == [3] * 4 and tally.var(small, axis=0).tolist() == [0] * 4
    if way == "plan":
        assert (plan() == 1 << 20).all()
    if way == "feed":
        assert feed.finish() % (1 << 26) == 0


def test_interrupts_at_any_place(context, monkeypatch):
    """Signals between any two steps of a call: nothing is lost, and each later call is right."""
    x = np.arange(60, dtype="f4").reshape(3, 20)
    plan = tally.Plan("max", x, axis=0)
    index = np.array([5, 0, 59])
    producers, buffers = [], [bytearray(80) for _ in range(50)]

    def one():
        producers.append(Producer(x))
        tally.sum(producers[-1], axis=0)
        tally.sum(x, axis=1)
        tally.var(x, axis=1)
        tally.take(x.ravel(), index)
        tally.sum(order.choice(buffers))
        plan()

    monkeypatch.setattr(sys, "unraisablehook", lambda _: None)
    armed = [False]

    def raise_it(_, frame):
        if armed[0] and frame.f_code is not Producer.delete.__code__:  # which counts in Python
            raise KeyboardInterrupt

    order, caught = random.Random(4), 0
    one()
    previous = signal.signal(signal.SIGALRM, raise_it)
    try:
        for _ in range(300):
            try:
                armed[0] = True
                # Again and again: what a signal raises within __del__ goes to the hook, not up.
                signal.setitimer(signal.ITIMER_REAL, order.uniform(1e-5, 1e-3), 1e-3)
                while True:
                    one()
            except KeyboardInterrupt:
                armed[0] = False
                caught += 1
    finally:
        armed[0] = False
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, previous)
    gc.collect()
    assert caught == 300 and plan().tolist() == x.max(0).tolist()
    handed = [producer for producer in producers if getattr(producer, "capsule", None) is not None]
    taken = [p for p in handed if api.PyCapsule_IsValid(p.capsule, b"used_" + p.name)]
    assert len(taken) >= 50 and all(producer.deleted == 1 for producer in taken)
    for buffer in buffers:
        buffer.append(1)  # one that is still held could not grow
    assert tally.take(x.ravel(), index).tolist() == [5, 0, 59]
    assert len(context._queues) < 50
