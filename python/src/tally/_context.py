# SPDX-License-Identifier: MIT
"""Contexts: opened devices, with the plans that calls keep."""

from __future__ import annotations

import contextvars
import itertools
import threading
from dataclasses import dataclass
from typing import Any, Callable, Hashable, Iterator, List, Optional

from tally._library import Bound, c_text, check, ffi, lib, text
from tally._view import CUDA, HOST, View

#: kinds of plans that a context keeps at once; the oldest goes
MOST_KEPT = 256
#: wrapped streams that a context keeps at once; the oldest goes, with its plans
MOST_STREAMS = 128


@dataclass(frozen=True)
class Device:
    """A device, as its driver describes it.

    >>> import tally
    >>> tally.Context("host").device.select
    'host:0'
    """

    backend: str
    index: int
    kind: str
    name: str
    platform: str
    driver: str
    compute_units: int
    memory_bytes: int
    host_memory: bool

    @property
    def select(self) -> str:
        """The selection of the device, as Context takes it: "cuda:0", say."""
        return f"{self.backend}:{self.index}" if self.index >= 0 else self.backend


def _device(info: Any) -> Device:
    return Device(
        text(info.backend),
        info.index,
        text(lib.tally_device_class_name(info.device_class)),
        text(info.name),
        text(info.platform),
        text(info.driver),
        info.compute_units,
        info.memory_bytes,
        bool(info.host_memory),
    )


def _found() -> "Iterator[tuple[str, Optional[Device], str]]":
    """Each backend's devices; None and the reason where there is none, or one cannot be used."""
    backend, device = ffi.new("tally_backend_info *"), ffi.new("tally_device_info *")
    for number in range(lib.tally_backend_count()):
        check(lib.tally_backend_get(number, backend))
        name = text(backend.name)
        if not backend.devices:
            yield name, None, text(backend.reason)
        for index in range(backend.devices):
            failed = lib.tally_device_get(backend.name, index, device)
            one = f"{name}:{index}"
            yield (one, None, text(lib.tally_last_error())) if failed else (one, _device(device), "")


def devices() -> "List[Device]":
    """The devices that are here.

    >>> import tally
    >>> any(device.backend == "host" for device in tally.devices())
    True
    """
    return [device for _, device, _ in _found() if device]


def missing() -> "dict[str, str]":
    """The backends without a device, and the devices that cannot be used, by "host:0", say; and why.

    >>> import tally
    >>> "host" in tally.missing()
    False
    """
    return {name: reason for name, device, reason in _found() if not device}


class KeptPlan:
    """A plan, and its address for the shim."""

    __slots__ = ("owner", "handle", "address", "key")

    def __init__(self, owner: Any, key: Hashable) -> None:
        self.owner = owner
        self.handle = owner[0]
        self.address = int(ffi.cast("uintptr_t", owner[0]))
        self.key = key


def _new_queue() -> Any:
    """Room for a queue's handle, which owns the queue. A signal, which Python raises as soon as the
    call that makes it returns, does not lose it."""
    return ffi.gc(ffi.new("tally_queue **"), lib.tally_python_end_queue)


_numbers = itertools.count(1)


class Queue:
    """A queue, its own or a wrapped one."""

    __slots__ = ("owner", "handle", "address", "number")

    def __init__(self, owner: Any) -> None:
        self.owner = owner
        self.handle = owner[0]
        self.address = int(ffi.cast("uintptr_t", owner[0]))
        #: what plans of the queue are kept by: no other queue has it, a later one neither
        self.number = next(_numbers)


class Context(Bound):
    """An opened device. Host arrays are reduced by the current one: the innermost `with` block's,
    or the default one, which `TALLY_BACKEND` chooses ("cuda,opencl,host" unless it is set). Arrays
    on a device are reduced on that device.

    select: "cuda:1", "opencl:pocl", "host", or a list of such with commas, tried in order.

    >>> import array, tally
    >>> with tally.Context("host"):
    ...     tally.sum(array.array("i", [1, 2, 3]))
    6
    """

    def __init__(self, select: Optional[str] = None, *, _handle: Any = None) -> None:
        if not (select is None or isinstance(select, str)):
            raise TypeError(f"select: a string such as 'cuda:0', not {type(select).__name__}")
        if _handle is None:
            made = ffi.new("tally_context **")
            check(lib.tally_context_create(ffi.NULL if select is None else c_text(select), made))
            _handle = made[0]
        self.handle = ffi.gc(_handle, lib.tally_context_destroy)
        self.address = int(ffi.cast("uintptr_t", _handle))
        info = self._info()
        self.device = _device(info.device)
        self.chosen_by = text(info.chosen_by)
        self.selection = text(info.selection)
        self.is_host_backend = self.device.backend == "host"
        self._plans: "dict[Hashable, list[Optional[KeptPlan]]]" = {}
        self._queues: "list[Queue]" = []
        self._streams: "dict[int, Queue]" = {}
        #: what calls of host arrays have in common with later ones (_forms.py)
        self.forms: "dict[Hashable, Any]" = {}

    def _info(self) -> Any:
        info = ffi.new("tally_context_info *")
        check(lib.tally_context_get_info(self.handle, info))
        return info

    def __repr__(self) -> str:
        return (
            f"<tally.Context {self.device.select} ({self.device.name}), chosen by {self.chosen_by}: {self.selection}>"
        )

    def describe(self) -> str:
        """The device, how it was chosen, the caches and their counters, one "key: value" a line."""
        room = ffi.new("char[]", 8192)
        check(lib.tally_context_describe(self.handle, room, 8192))
        return text(room)

    def __enter__(self) -> "Context":
        _current.set((*_current.get(), self))
        return self

    def __exit__(self, *_: Any) -> None:
        _current.set(_current.get()[:-1])

    # ---- plans and queues: a call takes one and gives it back ------------------------------------

    def plans_of(self, key: Hashable) -> "list[Optional[KeptPlan]]":
        """The kept plans of a key that nobody uses. None among them: the list is kept no longer."""
        kept = self._plans.get(key)
        if kept is None:
            kept = self._plans.setdefault(key, [])
            while len(self._plans) > MOST_KEPT:
                try:
                    self._drop_plans(next(iter(self._plans)))
                except (RuntimeError, StopIteration):  # another thread has changed it
                    break
        return kept

    def _drop_plans(self, key: Hashable) -> None:
        kept = self._plans.pop(key, None)
        if kept is not None:
            kept[:] = [None]

    def take_plan(self, key: Hashable, make: "Callable[..., int]", *given: Any) -> KeptPlan:
        """A plan that nobody uses: a kept one, or a new one that `make` writes to the argument behind
        `given`."""
        kept = self._plans.get(key)
        plan: Optional[KeptPlan] = None
        if kept:
            try:
                plan = kept.pop()
            except IndexError:  # another thread took the last one
                pass
        if plan is None:
            owner = ffi.gc(ffi.new("tally_plan **"), lib.tally_python_end_plan)
            check(make(*given, owner))
            plan = KeptPlan(owner, key)
        return plan

    def give_plan(self, plan: KeptPlan) -> None:
        """Keeps a plan for later calls."""
        self.plans_of(plan.key).append(plan)

    def take_queue(self) -> Queue:
        """A queue of the context's own that nobody uses."""
        try:
            return self._queues.pop()
        except IndexError:
            owner = _new_queue()
            check(lib.tally_queue_create(self.handle, owner))
            return Queue(owner)

    def give_queue(self, queue: Queue) -> None:
        """Keeps a queue for later calls."""
        self._queues.append(queue)

    def queue_of(self, view: View) -> Queue:
        """The queue of a device array's stream."""
        return self.queue_of_stream(view.place, view.stream or 0)

    def queue_of_stream(self, place: str, stream: int) -> Queue:
        """The queue of a stream of CUDA, or of a queue of OpenCL."""
        if place == CUDA and stream == 1:
            stream = 0  # both are the legacy default stream
        queue = self._streams.get(stream)
        if queue is None:
            made = _new_queue()
            if place == CUDA:
                check(lib.tally_queue_wrap_cuda(self.handle, ffi.cast("struct CUstream_st *", stream), made))
            else:
                check(lib.tally_queue_wrap_opencl(self.handle, ffi.cast("struct _cl_command_queue *", stream), made))
            queue = self._keep_stream(stream, Queue(made))
        return queue

    def _keep_stream(self, stream: int, queue: Queue) -> Queue:
        """Keeps the queue of a stream. Beyond the bound the oldest goes: it is not waited for, since
        its stream may be gone, and its plans' memory is freed in order by the driver."""
        queue = self._streams.setdefault(stream, queue)
        while len(self._streams) > MOST_STREAMS:
            try:
                old = self._streams.pop(next(iter(self._streams)))
                for key in [key for key in list(self._plans) if isinstance(key, tuple) and key[-1] == old.number]:
                    self._drop_plans(key)
            except (KeyError, RuntimeError, StopIteration):  # another thread has changed it
                break
        return queue


#: the contexts of the `with` blocks around, the innermost last
_current: "contextvars.ContextVar[tuple[Context, ...]]" = contextvars.ContextVar("tally_contexts", default=())
_default: Optional[Context] = None
_of_devices: "dict[Any, Context]" = {}
_lock = threading.Lock()


def current() -> Context:
    """The context that reduces host arrays.

    >>> import tally
    >>> with tally.Context("host"):
    ...     tally.current().device.backend
    'host'
    """
    global _default
    inner = _current.get()
    if inner:
        return inner[-1]
    context = _default
    if context is None:
        with _lock:
            if _default is None:
                _default = Context()
            context = _default
    return context


def context_of(view: View) -> Context:
    """The context that reduces an array: its device's own, or for a host array the current one."""
    return current() if view.place == HOST else context_of_device(view.place, view.device)


def context_of_device(place: str, device: Any) -> Context:
    """The context of a device: of CUDA by its index, of OpenCL by its context and device."""
    key = (place, device)
    context = _of_devices.get(key)
    if context is None:
        with _lock:
            context = _of_devices.get(key)
            if context is None:
                context = _of_devices[key] = _open(place, device)
    return context


def _open(place: str, device: Any) -> Context:
    if place == CUDA:
        return Context(f"cuda:{device}")
    native, device = device
    made = ffi.new("tally_context **")
    check(
        lib.tally_context_create_opencl(
            ffi.cast("struct _cl_context *", native), ffi.cast("struct _cl_device_id *", device), made
        )
    )
    return Context(_handle=made[0])
