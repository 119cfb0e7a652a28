# SPDX-License-Identifier: MIT
"""Several ops in one pass, plans for repeated calls, and feeds."""

from __future__ import annotations

import threading
from typing import Any, Mapping, Optional, Sequence, Union

from tally._arrays import view_of
from tally._buffers import in_order
from tally._context import KeptPlan, context_of, current
from tally._engine import Call, Term, memory_of, natural, numbers_of, plan_of, queue_for, reduce_axes, same_place
from tally._library import DTYPES, Bound, Dtype, check, dtype_of_name, ffi, lib, op_number, text
from tally._op import Op
from tally._reduce import (
    _COUNTS,
    _FLOAT64,
    _INT64,
    _KEEPS_FLOATS,
    _NO_VALUE_OF_NONE,
    ACCURACIES,
    Axis,
    broadcast_shapes,
    check_conversion,
    converted,
    default_result,
    mask_view,
    output_view,
    reduced_axes,
    refuse_empty,
    result_shape,
)
from tally._view import BUFFER, HOST, View

AnyOp = Union[str, Op]
Params = Optional[Mapping[str, float]]


def _term(op: AnyOp, items: Dtype, dtype: Any, accuracy: str, on_host: bool) -> "tuple[Term, Optional[Dtype]]":
    """The term of an op, and the type of its result; None for an op of one's own."""
    if isinstance(op, Op):
        return Term(0, 0 if dtype is None else dtype_of_name(dtype).number, 0, 0, op), None
    number = op_number(op)
    own, values = natural(number, items)
    if values > 1:
        raise TypeError(f"{op} gives {values} values: take min and max, which share a pass too")
    if accuracy not in ACCURACIES:
        raise ValueError(f"accuracy '{accuracy}' is none of {', '.join(ACCURACIES)}")
    wanted = default_result(number, items) if dtype is None else dtype_of_name(dtype)
    if number in _COUNTS and wanted.number == _INT64.number or own.number == wanted.number:
        return Term(number, 0, 0, ACCURACIES[accuracy]), wanted
    check_conversion(op, own, wanted)
    if on_host and dtype is None:
        return Term(number, 0, 0, ACCURACIES[accuracy]), own
    wide = wanted.name in ("f64", "c128") and items.kind in "fc" and number in _KEEPS_FLOATS
    return Term(number, wanted.number, _FLOAT64.number if wide else 0, ACCURACIES[accuracy]), wanted


def _inputs(op: AnyOp, arrays: "Sequence[Any]") -> "list[View]":
    views = [view_of(array) for array in arrays]
    count = op.inputs if isinstance(op, Op) else int(lib.tally_op_inputs(op_number(op)))
    if len(views) != count:
        raise TypeError(f"{op!r} takes {count} arrays: {len(views)} are given")
    shape = views[0].shape
    for view in views[1:]:
        if view.dtype.number != views[0].dtype.number:
            raise TypeError(f"{op!r} takes arrays of one type, not {views[0].dtype} and {view.dtype}")
        shape = broadcast_shapes(shape, view.shape)
    same_place(views)
    return [view.broadcast(shape, "an array") for view in views]


def _param(name: Any, value: Any) -> "tuple[bytes, float]":
    if not isinstance(name, str) or isinstance(value, str):
        raise TypeError(f"a parameter has a name and a number, not {name!r} and {value!r}")
    return name.encode(), float(value)


def _packed(params: Params) -> "tuple[tuple[bytes, float], ...]":
    if params is not None and not hasattr(params, "items"):
        raise TypeError(f"params: a dict of names to numbers, not {type(params).__name__}")
    return tuple(_param(name, value) for name, value in (params or {}).items())


def _prepare(
    ops: "Sequence[AnyOp]",
    arrays: "Sequence[Any]",
    axis: Axis,
    keepdims: bool,
    where: Any,
    dtype: Any,
    accuracy: str,
    params: Params,
    out: Any = None,
) -> Call:
    """The call of some ops, with its outputs."""
    if not ops:
        raise ValueError("no op: give one name or more")
    views = _inputs(ops[0], arrays)
    for op in ops[1:]:
        _inputs(op, arrays)
    items, context = views[0].dtype, context_of(views[0])
    on_host = context.is_host_backend and views[0].place == HOST
    reduced = reduced_axes(axis, len(views[0].shape))
    for op in ops:
        if isinstance(op, str) and op_number(op) in _NO_VALUE_OF_NONE:
            refuse_empty(op, views[0].shape, reduced)
    shape = result_shape(views[0].shape, reduced, keepdims)
    mask = mask_view(where, views[0])
    found = [_term(op, items, dtype, accuracy, on_host) for op in ops]
    call = Call(tuple(term for term, _ in found), views, reduced, mask, None, _packed(params), (), 1)
    types = [wanted or DTYPES[_own_type(call, index)] for index, (_, wanted) in enumerate(found)]
    if out is not None:
        given = output_view(out, shape, (*views, mask))
        if given.dtype.number != types[0].number:
            raise TypeError(f"out has items of type {given.dtype}: the results have {types[0]}")
        call.outputs = (given,)
    else:
        call.outputs = tuple(views[0].kind.empty(views[0], shape, wanted) for wanted in types)
    return call


def _own_type(call: Call, index: int) -> int:
    """The type of the result of an op of one's own: the plan knows it."""
    context = context_of(call.inputs[0])
    alone = call.alone(index)
    queue, key = queue_for(context, call.inputs)
    if key is None:
        context.give_queue(queue)
    plan = plan_of(context, alone, key)
    info = ffi.new("tally_result_info *")
    lib.tally_plan_result(plan.handle, 0, info)
    context.give_plan(plan)
    return int(info.dtype)


def _finished(op: AnyOp, view: View, items: Dtype, dtype: Any) -> Any:
    """The results for the caller. The backend host writes an op's own type, which is converted."""
    wanted = view.dtype if isinstance(op, Op) or dtype is not None else default_result(op_number(op), items)
    made = view if view.dtype.number == wanted.number else converted(view, wanted)
    return made.kind.finish(made)


def reduce(
    ops: "Union[AnyOp, Sequence[AnyOp]]",
    x: Any,
    /,
    *more: Any,
    axis: Axis = None,
    keepdims: bool = False,
    where: Any = None,
    dtype: Any = None,
    accuracy: str = "default",
    params: Params = None,
) -> Any:
    """Reduces by one op, or by several in one pass over the items: names, or an Op. A tuple of
    results for several. params: numbers that ops of one's own, var, std and allclose read by name.

    >>> import numpy, tally
    >>> x = numpy.array([[1, 5], [4, 2]])
    >>> low, high, total = tally.reduce(["min", "max", "sum"], x, axis=1)
    >>> total
    array([6, 6])
    """
    several = not isinstance(ops, (str, Op))
    if not hasattr(ops, "__iter__") and several:
        raise TypeError(f"op: a name or an Op, or several, not {type(ops).__name__}")
    given = list(ops) if not isinstance(ops, (str, Op)) else [ops]
    call = _prepare(
        given,
        (x, *more),
        axis,
        keepdims,
        where,
        dtype,
        accuracy,
        params,
    )
    reduce_axes(call)
    items = call.inputs[0].dtype
    results = tuple(_finished(op, view, items, dtype) for op, view in zip(given, call.outputs))
    return results if several else results[0]


class Plan(Bound):
    """A reduction bound to its arrays, to be run many times: each call reduces what the arrays hold
    then. Host arrays: a call returns when it is done. Device arrays: a call enqueues on the stream
    that was current when the plan was made. The arguments are those of `reduce`; `out` takes the
    results. Each call overwrites `plan.out` and returns it: copy what you keep. One thread at a
    time runs a plan: RuntimeError in another.

    >>> import numpy, tally
    >>> x = numpy.array([[1, 2], [3, 4]])
    >>> plan = tally.Plan("sum", x, axis=0)
    >>> x[0, 0] = 10
    >>> plan()
    array([13,  6])
    """

    def __init__(
        self,
        op: AnyOp,
        x: Any,
        /,
        *more: Any,
        axis: Axis = None,
        keepdims: bool = False,
        where: Any = None,
        dtype: Any = None,
        accuracy: str = "default",
        params: Params = None,
        out: Any = None,
    ) -> None:
        call = _prepare([op], (x, *more), axis, keepdims, where, dtype, accuracy, params, out)
        context = context_of(call.inputs[0])
        memory = memory_of(context, call.inputs[0])
        shape = call.inputs[0].shape
        if len(shape) > int(lib.TALLY_MAX_AXES):
            raise ValueError(f"an array of {len(shape)} axes: {int(lib.TALLY_MAX_AXES)} at most: reshape it")
        if memory == int(lib.TALLY_PYTHON_COPIED):
            raise tally_error(context.device.select)
        self.context = context
        self._queue, key = queue_for(context, call.inputs)
        self._plan: KeptPlan = plan_of(context, call, ("bound", key, id(self)))
        self._call, self._op, self._axis = call, op, axis
        arrays = ffi.new(
            "tally_python_arrays *",
            {
                "context": context.address,
                "plan": self._plan.address,
                "queue": self._queue.address,
                "memory": memory,
                "axis_count": len(shape),
                "inputs": len(call.inputs),
                "masks": call.where is not None,
                "outputs": 1,
                "whole": call.is_whole(),
            },
        )
        made = ffi.new("tally_python_bound **")
        check(lib.tally_python_bind(arrays, ffi.new("int64_t[]", numbers_of(call)), made))
        self._bound = ffi.gc(made[0], lib.tally_python_unbind)
        output = call.outputs[0]
        #: the array that the results go to
        self.out: Any = out if out is not None else output.owner if output.place == HOST else output.kind.finish(output)
        self._run = lib.tally_python_run
        self._lock = threading.Lock()
        self._is_running = self._lock.locked
        self._finish = None if shape_of(call) or out is not None else (output.kind.finish, output)

    def __call__(self) -> Any:
        """Reduces. Returns `out`, which the next call overwrites, or a scalar where there are no
        axes left. Copy what you keep. RuntimeError if another thread runs the plan."""
        if self._is_running():
            raise RuntimeError("this Plan is running in another thread")
        with self._lock:  # `with` lets no signal come between the lock and what it guards
            status = self._run(self._bound)
            if status:
                check(status)
            return self.out if self._finish is None else self._finish[0](self._finish[1])

    def set_param(self, name: str, value: float) -> None:
        """Changes a parameter of the op, for the calls that follow. RuntimeError if another thread
        runs the plan."""
        if self._is_running():
            raise RuntimeError("this Plan is running in another thread")
        with self._lock:
            check(lib.tally_plan_set_param(self._plan.handle, *_param(name, value)))

    def __repr__(self) -> str:
        variant = text(lib.tally_plan_variant(self._plan.handle))
        return (
            f"<tally.Plan {self._op} of {self._call.inputs[0].dtype} {self._call.inputs[0].shape}, axis {self._axis}: variant "
            f"{variant} on {self.context.device.select} ({self.context.device.name})>"
        )


def shape_of(call: Call) -> "tuple[int, ...]":
    """The shape of a call's results."""
    return call.outputs[0].shape


def tally_error(select: str) -> Exception:
    """The error of a plan whose device cannot reach the arrays."""
    return ValueError(
        f"{select} does not use host memory in place: a plan's arrays must be on the device, or the context that of a "
        "CPU (with tally.Context('host'))"
    )


class Feed(Bound):
    """Reduces host items that come in pieces, in order, of any lengths. The bits are those of one
    call over all of them. One thread at a time uses a feed: RuntimeError in another.

    >>> import numpy, tally
    >>> feed = tally.Feed("sum", "float32")
    >>> for piece in (numpy.ones(3, "float32"), numpy.ones(4, "float32")):
    ...     feed.push(piece)
    >>> float(feed.finish())
    7.0
    """

    def __init__(self, op: AnyOp, dtype: Any, *, params: Params = None, accuracy: str = "default") -> None:
        self.items = dtype_of_name(dtype)
        self.context = current()
        self._op = op
        self._inputs = op.inputs if isinstance(op, Op) else int(lib.tally_op_inputs(op_number(op)))
        desc = ffi.new("tally_reduce_desc *", {"size": ffi.sizeof("tally_reduce_desc"), "in": self.items.number})
        term, _ = (
            _term(op, self.items, None, accuracy, True)
            if isinstance(op, Op) or natural(op_number(op), self.items)[1] == 1
            else (Term(op_number(op), 0, 0, 0), None)
        )
        term.fill(desc)
        made = ffi.new("tally_feed **")
        check(lib.tally_feed_create(self.context.handle, desc, made))
        self._feed = ffi.gc(made[0], lib.tally_feed_destroy)
        plan = lib.tally_feed_plan(self._feed)
        for name, value in _packed(params):
            check(lib.tally_plan_set_param(plan, name, value))
        info = ffi.new("tally_result_info *")
        self._types: "list[tuple[Dtype, int]]" = []
        is_count = isinstance(op, str) and op_number(op) in _COUNTS
        while lib.tally_plan_result(plan, len(self._types), info):
            self._types.append((_INT64 if is_count else DTYPES[info.dtype], info.offset))
        self._bytes = int(lib.tally_plan_result_bytes(plan))
        self._kind: Any = None
        self._lock = threading.Lock()

    def _alone(self) -> threading.Lock:
        """The lock that keeps other threads out. RuntimeError if one has it."""
        if self._lock.locked():
            raise RuntimeError("this Feed is running in another thread")
        return self._lock

    def _pieces(self, arrays: "Sequence[Any]") -> "tuple[Any, int, list[View]]":
        views = [in_order(view_of(array)) for array in arrays]
        for view in views:
            if view.dtype.number != self.items.number or view.place != HOST or view.size != views[0].size:
                raise TypeError(f"a feed of {self.items} takes {self._inputs} host arrays of that type and of one size")
        if views and len(views) != self._inputs:
            raise TypeError(f"a feed of {self._op} takes {self._inputs} arrays: {len(views)} are given")
        if views:
            self._kind = views[0].kind
        pointers = [ffi.cast("void *", view.address) for view in views] or [ffi.NULL] * self._inputs
        return ffi.new("void *[]", pointers), views[0].size if views else 0, views

    def push(self, *arrays: Any) -> None:
        """Adds items: an array for each input. The arrays may be used again when it returns."""
        with self._alone():
            pointers, n, held = self._pieces(arrays)
            check(lib.tally_feed_push_inputs(self._feed, pointers, n))
            del held

    def finish(self, *arrays: Any) -> Any:
        """Adds the last items, if any, waits, and gives the result. The feed is then ready for a
        new start."""
        with self._alone():
            pointers, n, held = self._pieces(arrays)
            result = ffi.new("char[]", self._bytes)
            check(lib.tally_feed_finish_inputs(self._feed, pointers, n, result))
            del held
            kind = self._kind or BUFFER
        values = tuple(kind.scalar(result + at, dtype) for dtype, at in self._types)
        return values[0] if len(values) == 1 else values

    def __repr__(self) -> str:
        return f"<tally.Feed {self._op} of {self.items} on {self.context.device.select} ({self.context.device.name})>"


__all__ = ["Feed", "Plan", "reduce"]
