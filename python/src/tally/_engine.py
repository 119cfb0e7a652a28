# SPDX-License-Identifier: MIT
"""Runs reductions of views: the plan, the queue, the call."""

from __future__ import annotations

from typing import Any, Hashable, NamedTuple, Optional, Sequence

from tally._context import Context, KeptPlan, Queue, context_of
from tally._dlpack import Consumed
from tally._library import DTYPES, Dtype, check, fail, ffi, lib, op_number, text
from tally._view import CUDA, HOST, OPENCL, View

MOST_AXES = int(lib.TALLY_MAX_AXES)
_IN_PLACE, _COPIED = int(lib.TALLY_PYTHON_IN_PLACE), int(lib.TALLY_PYTHON_COPIED)
_MEMORY = {CUDA: int(lib.TALLY_PYTHON_CUDA), OPENCL: int(lib.TALLY_PYTHON_OPENCL)}
_DESC_BYTES = ffi.sizeof("tally_segments_desc")
#: a plan is for up to so many items: its workspace grows with them, to 2^18 accumulators
_SIZES = (1 << 20, 1 << 28, 1 << 36, 1 << 56)
#: the smallest plan of items side by side: on an H200 128 KiB of float32 have kernels of their own
_LEAST_WHOLE = 1 << 15


class Term(NamedTuple):
    """One op of a pass."""

    op: int  #: 0: `custom`
    out: int  #: the result's type; 0: the op's own
    acc: int  #: the accumulator's type; 0: the op's own
    accuracy: int
    custom: Any = None  #: an Op

    def fill(self, to: Any) -> None:
        """Writes the term to a descriptor that has its members."""
        to.op, to.out, to.acc, to.accuracy = self.op, self.out, self.acc, self.accuracy
        if self.custom is not None:
            to.custom = self.custom.handle


def _has_vectors(view: View) -> bool:
    """Tells whether a GPU loads the view by 16 bytes at a time, as it lies. Others need not."""
    return view.place == HOST or not (view.offset if view.place == OPENCL else view.address) % 16


class Call:
    """A reduction along axes: what it reads, and where its results go."""

    __slots__ = ("terms", "inputs", "reduced", "where", "initial", "params", "outputs", "values")

    def __init__(
        self,
        terms: "tuple[Term, ...]",
        inputs: "Sequence[View]",
        reduced: "Sequence[int]",
        where: Optional[View],
        initial: Optional[bytes],
        params: "tuple[tuple[bytes, float], ...]",
        outputs: "Sequence[View]",
        values: int,
    ) -> None:
        self.terms = terms
        self.inputs = inputs  #: of one shape
        self.reduced = reduced  #: for each axis 1 or 0
        self.where = where
        self.initial = initial
        self.params = params
        self.outputs = outputs  #: for each term; of the kept axes, or of all with extents of 1
        self.values = values  #: how many values a result is

    def alone(self, index: int) -> "Call":
        """The same of one of the terms, without outputs."""
        return Call((self.terms[index],), self.inputs, self.reduced, self.where, self.initial, (), (), self.values)

    def is_whole(self) -> bool:
        """Tells whether the call is one reduction of inputs whose items lie side by side, on a device
        from a multiple of 16 bytes on: a plan of tally_plan_create is the fastest, with the same bits."""
        shape = self.inputs[0].shape
        return (
            len(self.terms) == 1
            and self.where is None
            and self.initial is None
            and all(flag or extent == 1 for flag, extent in zip(self.reduced, shape))
            and all(view.size and view.is_contiguous() and _has_vectors(view) for view in self.inputs)
        )


def size_of(n: int) -> int:
    """The largest size of a plan for n items."""
    for size in _SIZES:
        if n <= size:
            return size
    raise ValueError(f"{n} items are more than any memory holds")


def size_of_whole(n: int) -> int:
    """The largest size of a plan for n items side by side. The kernels depend on it."""
    return _LEAST_WHOLE if n <= _LEAST_WHOLE else 1 << max(20, ((n - 1).bit_length() + 1) & ~1)


def same_place(views: "Sequence[View]") -> None:
    """Raises unless all arrays are on one device."""
    first = views[0]
    for view in views[1:]:
        if view.place != first.place or view.device != first.device:
            raise ValueError(
                f"the arrays are on different devices: {first.place} {first.device or ''} and {view.place} "
                f"{view.device or ''}"
            )


def numbers_of(call: Call) -> "list[int]":
    """The call's arrays, as the shim takes them."""
    shape, reduced = call.inputs[0].shape, call.reduced
    numbers = [*shape, *reduced]
    for view in call.inputs:
        numbers += (view.address, view.offset, view.dtype.bytes, *view.strides)
    if call.where is not None:
        numbers += (call.where.address, call.where.offset, 1, *call.where.strides)
    for view in call.outputs:
        numbers += (view.address, view.offset, call.values * view.dtype.bytes)
        if len(view.shape) - (call.values > 1) == len(shape):
            numbers += (0 if flag else stride for flag, stride in zip(reduced, view.strides))
        else:
            kept = iter(view.strides)
            numbers += (0 if flag else next(kept) for flag in reduced)
    return numbers


def _fill(desc: Any, call: Call) -> Any:
    """Fills a descriptor. Returns what must live as long as it."""
    desc.size = _DESC_BYTES
    desc.by = lib.TALLY_BY_AXES
    desc.__setattr__("in", call.inputs[0].dtype.number)
    desc.flags = (lib.TALLY_WHERE if call.where is not None else 0) | (lib.TALLY_APART if len(call.terms) > 1 else 0)
    initial = ffi.new("char[]", call.initial) if call.initial is not None else ffi.NULL
    desc.initial = initial
    if len(call.terms) == 1:
        call.terms[0].fill(desc)
        return initial
    terms = ffi.new("tally_term_desc[]", len(call.terms))
    for term, to in zip(call.terms, terms):
        term.fill(to)
    desc.terms = terms
    desc.term_count = len(call.terms)
    return initial, terms


def plan_key(call: Call, queue_key: Hashable) -> Hashable:
    """The key that plans of such calls are kept by. The parameters that a call sets stay set, so
    that calls which set others have other plans."""
    items, names = call.inputs[0], tuple(sorted([name for name, _ in call.params]))
    if call.is_whole():
        return call.terms, names, items.dtype.number, size_of_whole(items.size), queue_key
    has_mask = call.where is not None
    return call.terms, names, items.dtype.number, has_mask, call.initial, size_of(items.size), queue_key


def fill_plan(context: Context, call: Call, out: Any) -> int:
    """Makes a plan for the call."""
    if call.is_whole():
        items = call.inputs[0]
        whole = ffi.new("tally_reduce_desc *", {"size": ffi.sizeof("tally_reduce_desc"), "in": items.dtype.number})
        whole.max_n = size_of_whole(items.size)
        call.terms[0].fill(whole)
        return int(lib.tally_plan_create(context.handle, whole, out))
    desc = ffi.new("tally_segments_desc *")
    held = _fill(desc, call)
    desc.max_n = desc.max_segments = size_of(call.inputs[0].size)
    status = int(lib.tally_segments_plan_create(context.handle, desc, out))
    del held
    return status


def plan_of(context: Context, call: Call, queue_key: Hashable) -> KeptPlan:
    """A plan for the call, with its parameters set."""
    plan = context.take_plan(plan_key(call, queue_key), fill_plan, context, call)
    for name, value in call.params:
        check(lib.tally_plan_set_param(plan.handle, name, value))
    return plan


def memory_of(context: Context, view: View) -> int:
    """The way in which the device reaches the arrays of a call."""
    if view.place == HOST:
        return _IN_PLACE if context.device.host_memory else _COPIED
    return _MEMORY[view.place]


def settle(queue: Queue, views: "Sequence[View]") -> None:
    """Waits where memory could be used again before the queue is done with it: memory that came by
    __dlpack__, whose stream is not known, and arrays of another stream than the first one's."""
    if views[0].place != HOST and any(
        view.stream != views[0].stream
        or (isinstance(view.owner, Consumed) and view.place == CUDA and not view.owner.in_order)
        for view in views
    ):
        check(lib.tally_queue_wait(queue.handle))


def queue_for(context: Context, views: "Sequence[View]") -> "tuple[Queue, Hashable]":
    """The queue of a call, and what its plans are kept by. Inputs of other streams are waited
    for."""
    first = views[0]
    if first.place == HOST:
        return context.take_queue(), None
    queue = context.queue_of(first)
    for view in views[1:]:
        if view.stream != first.stream:
            check(lib.tally_queue_wait(context.queue_of(view).handle))
    return queue, queue.number


def _copied_outputs(call: Call) -> "Sequence[View]":
    """Outputs that lie in C order, for results that are copied from the device."""
    return [view if view.is_contiguous() else view.kind.empty(view, view.shape, view.dtype) for view in call.outputs]


def reduce_axes(call: Call) -> None:
    """Runs a reduction along axes. Host arrays: blocks. Device arrays: enqueues."""
    views = [*call.inputs, *call.outputs]
    if call.where is not None:
        views.append(call.where)
    same_place(views)
    shape = call.inputs[0].shape
    if len(shape) > MOST_AXES:
        raise ValueError(f"an array of {len(shape)} axes: {MOST_AXES} at most: reshape it")
    context = context_of(call.inputs[0])
    memory = memory_of(context, call.inputs[0])
    given = call.outputs
    if memory == _COPIED:
        call.outputs = _copied_outputs(call)
        if not call.params and call.inputs[0].size * call.inputs[0].dtype.bytes > context.device.memory_bytes // 4:
            _reduce_in_pieces(context, call)
            return _copy_back(call.outputs, given)
    queue, queue_key = queue_for(context, views)
    try:
        plan = plan_of(context, call, queue_key)
        status = lib.tally_python_reduce(
            context.address,
            plan.address,
            queue.address,
            memory,
            len(shape),
            len(call.inputs),
            call.where is not None,
            len(call.outputs),
            call.is_whole(),
            ffi.new("int64_t[]", numbers_of(call)),
        )
        if status:
            fail(status)
        context.give_plan(plan)
        if queue_key is not None:
            settle(queue, views)
    finally:
        if queue_key is None:
            context.give_queue(queue)
    if memory == _COPIED:
        _copy_back(call.outputs, given)


def _copy_back(made: "Sequence[View]", given: "Sequence[View]") -> None:
    for view, to in zip(made, given):
        if view is not to:
            to.kind.assign(to, view)


def _reduce_in_pieces(context: Context, call: Call) -> None:
    """Reduces a host array that may be larger than the device's memory."""
    desc = ffi.new("tally_segments_desc *")
    held = _fill(desc, call)
    shape = call.inputs[0].shape
    axes = ffi.new("tally_axis[]", max(len(shape), 1))
    array = ffi.new(
        "tally_host_axes *", {"size": ffi.sizeof("tally_host_axes"), "axes": axes, "axis_count": len(shape)}
    )
    for k, view in enumerate(call.inputs):
        getattr(array, "in")[k] = ffi.cast("void *", view.address)
        for i, stride in enumerate(view.strides):
            axes[i].in_stride[k] = stride // view.dtype.bytes
    for i, extent in enumerate(shape):
        axes[i].extent, axes[i].reduced = extent, call.reduced[i]
    if call.where is not None:
        array.where = ffi.cast("uint8_t *", call.where.address)
        for i, stride in enumerate(call.where.strides):
            axes[i].where_stride = stride
    for t, view in enumerate(call.outputs):
        array.out[t] = ffi.cast("void *", view.address)
    check(lib.tally_reduce_host_axes(context.handle, desc, array))
    del held


# ---- results -------------------------------------------------------------------------------------

_natural: "dict[tuple[int, int], tuple[Dtype, int]]" = {}


def natural(op: int, items: Dtype, name: str = "") -> "tuple[Dtype, int]":
    """The type that the op gives of these items, and how many values. name: the function's, where it
    is not the op's. Raises TypeError for items that the op does not take."""
    key = (op, items.number)
    found = _natural.get(key)
    if found is None:
        number = int(lib.tally_result_dtype(op, items.number))
        if not number:
            raise TypeError(f"{name or text(lib.tally_op_name(op))} does not take items of type {items}")
        found = _natural[key] = (DTYPES[number], int(lib.tally_result_count(op, items.number)))
    return found


__all__ = ["Call", "Term", "context_of", "natural", "op_number", "reduce_axes"]
