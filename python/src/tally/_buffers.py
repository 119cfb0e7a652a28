# SPDX-License-Identifier: MIT
"""Buffers of a call: for scans, moves, segments by offsets and by keys, whose arrays lie in C
order."""

from __future__ import annotations

from typing import Any, Hashable, Optional, Sequence

from tally._context import context_of
from tally._engine import _COPIED, memory_of, queue_for, same_place, settle
from tally._library import check, fail, ffi, lib, text
from tally._view import HOST, OPENCL, View


def in_order(view: View) -> View:
    """The view itself if its items lie in C order, else a copy that does."""
    return view if view.is_contiguous() else view.kind.contiguous(view)


def struct(name: str, **members: Any) -> Any:
    """A struct of the library that begins with its size. A member `in_` is `in`."""
    return ffi.new(f"{name} *", {"size": ffi.sizeof(name), **{key.rstrip("_"): one for key, one in members.items()}})


class Buffers:
    """Wraps arrays as buffers, runs calls on their queue, and waits where they are host memory."""

    def __init__(self, views: "Sequence[View]") -> None:
        same_place(views)
        self.views = views
        self.context = context_of(views[0])
        self.memory = memory_of(self.context, views[0])
        self.queue, self.key = queue_for(self.context, views)
        self._made: "list[Any]" = []
        self._results: "list[tuple[Any, View, int]]" = []

    def __enter__(self) -> "Buffers":
        return self

    def __exit__(self, kind: Any, *_: Any) -> None:
        try:
            for made, view, bytes in self._results if kind is None else ():
                if self.memory == _COPIED and bytes:
                    check(lib.tally_buffer_read(self.queue.handle, made, 0, ffi.cast("void *", view.address), bytes))
        finally:
            waited = lib.tally_queue_wait(self.queue.handle) if self.views[0].place == HOST else 0
            for owner in self._made:
                ffi.release(owner)
            if self.key is None:
                self.context.give_queue(self.queue)
        if kind is None:
            check(waited)
            settle(self.queue, self.views)

    def own(self, bytes: int) -> Any:
        """Device memory for the call's own use."""
        owner = self._owner()
        check(lib.tally_buffer_create(self.context.handle, bytes, owner))
        return owner[0]

    def _owner(self) -> Any:
        """Room for a buffer's handle, which owns the buffer until the call's end."""
        owner = ffi.gc(ffi.new("tally_buffer **"), lib.tally_python_end_buffer)
        self._made.append(owner)
        return owner

    def wrap(self, view: Optional[View], is_output: bool = False) -> "tuple[Any, int]":
        """The buffer of an array in C order, and the place of its first item. NULL for None."""
        if view is None:
            return ffi.NULL, 0
        bytes = view.size * view.dtype.bytes
        owner = self._owner()
        check(lib.tally_python_wrap(self.context.address, self.memory, view.address, bytes, owner))
        made = owner[0]
        if self.memory == _COPIED and bytes and not is_output:
            check(lib.tally_buffer_write(self.queue.handle, made, 0, ffi.cast("void *", view.address), bytes))
        if is_output:
            self._results.append((made, view, bytes))
        return made, view.offset // view.dtype.bytes if view.place == OPENCL else 0

    def wrap_strided(self, view: View) -> "tuple[Any, int]":
        """The buffer of an array whose items lie anywhere, and the place of the item whose indices
        are all 0. One that is copied to the device must lie in C order."""
        if view.is_contiguous() or view.place == OPENCL:
            return self.wrap(view)
        assert self.memory != _COPIED, "strides of items that are copied"
        spans = [stride * (extent - 1) for extent, stride in zip(view.shape, view.strides)]
        low = sum(span for span in spans if span < 0)
        bytes = sum(span for span in spans if span > 0) - low + view.dtype.bytes
        owner = self._owner()
        check(lib.tally_python_wrap(self.context.address, self.memory, view.address + low, bytes, owner))
        return owner[0], -low // view.dtype.bytes

    def update(self, view: View) -> "tuple[Any, int]":
        """The buffer of an array that the call changes in part."""
        made, offset = self.wrap(view)
        self._results.append((made, view, view.size * view.dtype.bytes))
        return made, offset

    def read_number(self, buffer: Any) -> int:
        """Reads a u64 of the device. Waits."""
        number = ffi.new("uint64_t *")
        check(lib.tally_buffer_read(self.queue.handle, buffer, 0, number, 8))
        check(lib.tally_queue_wait(self.queue.handle))
        return int(number[0])

    def run(self, key: Hashable, make: Any, call: Any) -> None:
        """Makes or takes a plan, and calls with it."""
        plan = self.context.take_plan((key, self.key), make, self.context.handle)
        status = call(plan.handle, self.queue.handle)
        if status:
            bad = key[0] in ("gather", "scatter") if isinstance(key, tuple) else False
            if bad and lib.tally_move_bad(plan.handle) != lib.tally_python_no_index():
                # "tally_gather: map[0] is 9: in has 3 items"
                words = text(lib.tally_last_error()).partition(": map")[2]
                raise IndexError("indices" + words.replace(": in has", ": x has").replace(": out has", ": x has"))
            fail(status)
        self.context.give_plan(plan)
