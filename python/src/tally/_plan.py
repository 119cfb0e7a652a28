# SPDX-License-Identifier: MIT
"""Several ops in one pass, plans for repeated calls, and feeds."""

from __future__ import annotations

import threading
from typing import Any, Mapping, NamedTuple, Optional, Sequence, Union

from tally._arrays import view_of
from tally._buffers import in_order
from tally._context import KeptPlan, context_of, current
from tally._engine import (
    Call,
    Term,
    memory_of,
    natural,
    numbers_of,
    plan_of,
    queue_for,
    reduce_axes,
    same_place,
    settle,
)
from tally._library import DTYPES, Bound, Dtype, c_text, check, dtype_of_name, ffi, lib, op_number, real_number, text
from tally._op import Op
from tally._reduce import (
    _COUNTS,
    _INT64,
    _NO_VALUE_OF_NONE,
    ACCURACIES,
    Axis,
    as_read,
    broadcast_shapes,
    cast_first,
    casts_first,
    converted,
    default_result,
    mask_view,
    reduced_axes,
    refuse_empty,
    result_shape,
    term_of,
    written_by,
)
from tally._results import Output, output_of, output_view
from tally._view import BUFFER, HOST, View

AnyOp = Union[str, Op]
Params = Optional[Mapping[str, float]]


class _Read(NamedTuple):
    """The arrays of a call as the library reads them, and what it makes of them."""

    views: "Sequence[View]"
    terms: "tuple[Term, ...]"
    types: "list[Optional[Dtype]]"  #: of the results; None: a custom op knows it


def accuracy_number(accuracy: str) -> int:
    """The library's number of an accuracy."""
    if accuracy not in ACCURACIES:
        raise ValueError(f"accuracy '{accuracy}' is none of {', '.join(ACCURACIES)}")
    return ACCURACIES[accuracy]


def _read(ops: "Sequence[AnyOp]", arrays: "Sequence[Any]", dtype: Any, accuracy: int, name: str = "") -> _Read:
    """Reads the arrays of some ops, which are converted where that comes before the reduction."""
    views: "Sequence[View]" = _inputs(ops[0], arrays)
    for op in ops[1:]:
        _check_count(op, arrays)
    numbers = [op_number(op) if isinstance(op, str) else 0 for op in ops]
    views = as_read(numbers, views)
    for number in numbers if dtype is not None else ():
        if len(ops) == 1:
            views = [cast_first(number, view, dtype) for view in views]
        elif casts_first(number, views[0].dtype, dtype):
            raise TypeError(f"{text(lib.tally_op_name(number))} casts its items to {dtype} first: reduce by it alone")
    found = [_term(op, number, views[0], dtype, accuracy, name) for op, number in zip(ops, numbers)]
    wide = next((to for _, to, _ in found if to is not None), None)
    if wide is not None:
        views = [converted(view, wide) for view in views]
    return _Read(views, tuple(term for term, _, _ in found), [wanted for _, _, wanted in found])


def _term(
    op: AnyOp, number: int, view: View, dtype: Any, accuracy: int, name: str
) -> "tuple[Term, Optional[Dtype], Optional[Dtype]]":
    """The term of an op, the type that its items are to be converted to, and that of its result."""
    asked = None if dtype is None else dtype_of_name(dtype)
    if asked is not None:
        view.kind.check_dtype(asked)
    if isinstance(op, Op):
        return Term(0, 0 if asked is None else asked.number, 0, 0, op), None, asked
    values = natural(number, view.dtype, name)[1]
    if values > 1:
        raise TypeError(f"{op} gives {values} values: take min and max, which share a pass too")
    wanted = default_result(number, view.dtype) if asked is None else asked
    return (*term_of(name or op, number, view, wanted, accuracy), wanted)


def _check_count(op: AnyOp, arrays: "Sequence[Any]") -> None:
    """Raises TypeError unless the op takes as many arrays."""
    count = op.inputs if isinstance(op, Op) else int(lib.tally_op_inputs(op_number(op)))
    if len(arrays) != count:
        raise TypeError(f"{op!r} takes {count} arrays: {len(arrays)} are given")


def _inputs(op: AnyOp, arrays: "Sequence[Any]") -> "list[View]":
    _check_count(op, arrays)
    views = [view_of(array) for array in arrays]
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
    return c_text(name), real_number(name, value)


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
    name: str = "",
) -> "tuple[Call, list[Output]]":
    """The call of some ops, and its outputs. name: a function's, where the caller named no ops."""
    if not ops:
        raise ValueError("no op: give one name or more")
    views, terms, types = _read(ops, arrays, dtype, accuracy_number(accuracy), name)
    first = views[0]
    reduced = reduced_axes(axis, len(first.shape))
    for op in ops:
        if isinstance(op, str) and op_number(op) in _NO_VALUE_OF_NONE:
            refuse_empty(name or op, first.shape, reduced)
    shape = result_shape(first.shape, reduced, keepdims)
    mask = mask_view(where, first)
    given = None if out is None else output_view(out, shape)
    call = Call(terms, views, reduced, mask, None, _packed(params), (), 1)
    outputs = []
    for index, (term, known) in enumerate(zip(terms, types)):
        wanted = known or DTYPES[_own_type(call, index)]
        if given is not None and given.dtype.number != wanted.number:
            raise TypeError(f"out has items of type {given.dtype}: the results have {wanted}")
        written = written_by(term, first.dtype, wanted) if term.op else wanted
        outputs.append(output_of(first, shape, written, wanted, given, (*views, mask)))
    call.outputs = tuple(output.written for output in outputs)
    return call, outputs


def _own_type(call: Call, index: int) -> int:
    """The type of the result of a custom op: the plan knows it."""
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


def listed(ops: Any) -> "list[AnyOp]":
    """One op or several, as a list. What is neither raises TypeError as an op."""
    is_one = isinstance(ops, (str, bytes, bytearray, Op)) or not hasattr(ops, "__iter__")
    given = [ops] if is_one else list(ops)
    for op in given:
        if not isinstance(op, Op):
            op_number(op)
    return given


def fused(name: str, ops: "Sequence[AnyOp]", x: Any, axis: Axis, keepdims: bool) -> "tuple[Any, ...]":
    """Reduces by several ops in one pass, for the function `name`."""
    return _reduced(*_prepare(ops, (x,), axis, keepdims, None, None, "default", None, None, name))


def _reduced(call: Call, outputs: "list[Output]") -> "tuple[Any, ...]":
    """Runs a call. Returns its results."""
    reduce_axes(call)
    for output in outputs:
        output.settle()
    return tuple(output.results.kind.finish(output.results) for output in outputs)


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
    results for several. params: numbers that custom ops, var, std and allclose read by name.

    >>> import numpy, tally
    >>> x = numpy.array([[1, 5], [4, 2]])
    >>> low, high, total = tally.reduce(["min", "max", "sum"], x, axis=1)
    >>> total
    array([6, 6])
    """
    given = listed(ops)
    results = _reduced(*_prepare(given, (x, *more), axis, keepdims, where, dtype, accuracy, params))
    return results[0] if isinstance(ops, (str, Op)) else results


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
        arrays = (x, *more)
        call, outputs = _prepare([op], arrays, axis, keepdims, where, dtype, accuracy, params, out)
        context = context_of(call.inputs[0])
        self._memory = memory_of(context, call.inputs[0])
        shape = call.inputs[0].shape
        if len(shape) > int(lib.TALLY_MAX_AXES):
            raise ValueError(f"an array of {len(shape)} axes: {int(lib.TALLY_MAX_AXES)} at most: reshape it")
        if self._memory == int(lib.TALLY_PYTHON_COPIED):
            raise tally_error(context.device.select)
        self.context = context
        self._queue, key = queue_for(context, call.inputs)
        self._plan: KeptPlan = plan_of(context, call, ("bound", key, id(self)))
        self._op, self._axis = op, axis
        self._output = outputs[0]
        if call.inputs[0].place != HOST and self._output.results is not self._output.written:
            raise ValueError("out overlaps an input: give memory of its own")
        self._bind(call)
        #: the arrays of a call whose inputs are copies, which are made anew each time
        self._given: Any = None
        if any(view is not None and view.is_copy for view in (*call.inputs, call.where)):
            self._given = arrays, where, dtype, accuracy_number(accuracy)
        results = self._output.results
        self._is_shared = out is not None or results.kind.shares(results)
        #: the array that the results go to; or the last call's, None before one, which are new
        #: objects where the kind's results do not share memory: numbers, and JAX's arrays
        self.out: Any = out
        if out is None and self._is_shared:
            self.out = results.kind.finish(results)
        self._run = lib.tally_python_run
        self._lock = threading.Lock()
        self._is_running = self._lock.locked
        self._is_direct = self._given is None and self._output.written is results and self._is_shared

    def _bind(self, call: Call) -> None:
        """Gives the library the arrays of a call."""
        arrays = ffi.new(
            "tally_python_arrays *",
            {
                "context": self.context.address,
                "plan": self._plan.address,
                "queue": self._queue.address,
                "memory": self._memory,
                "axis_count": len(call.inputs[0].shape),
                "inputs": len(call.inputs),
                "masks": call.where is not None,
                "outputs": 1,
                "whole": call.is_whole(),
            },
        )
        made = ffi.new("tally_python_bound **")
        check(lib.tally_python_bind(arrays, ffi.new("int64_t[]", numbers_of(call)), made))
        self._bound = ffi.gc(made[0], lib.tally_python_unbind)
        self._call = call

    def _copy_anew(self) -> None:
        """Binds new copies of the inputs that the library cannot read in place."""
        arrays, where, dtype, accuracy = self._given
        old = self._call
        with self.context:  # which tells what is converted, and need not be the current one
            views = _read([self._op], arrays, dtype, accuracy).views
        if [(view.shape, view.dtype) for view in views] != [(view.shape, view.dtype) for view in old.inputs]:
            raise ValueError("an array has another shape or type than when the plan was made: make another plan")
        mask = mask_view(where, views[0])
        if views[0].place != HOST:  # copies are made on the current stream
            queue_for(self.context, [view for view in (*old.outputs, *views, mask) if view is not None])
        self._bind(Call(old.terms, views, old.reduced, mask, None, old.params, old.outputs, 1))

    def __call__(self) -> Any:
        """Reduces. Returns `out`, which the next call overwrites, or a scalar where there are no
        axes left. Copy what you keep. RuntimeError if another thread runs the plan."""
        if self._is_running():
            raise RuntimeError("this Plan is running in another thread")
        with self._lock:  # `with` lets no signal come between the lock and what it guards
            if self._given is not None:
                self._copy_anew()
            status = self._run(self._bound)
            if status:
                check(status)
            return self.out if self._is_direct else self._settled()

    def _settled(self) -> Any:
        """The results, brought to where the caller has them."""
        settle(self._queue, (*self._call.outputs, *self._call.inputs))
        self._output.settle()
        if not self._is_shared:
            self.out = self._output.results.kind.finish(self._output.results)
        return self.out

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
        number = 0 if isinstance(op, Op) else op_number(op)
        if number:
            natural(number, self.items)
        Term(number, 0, 0, accuracy_number(accuracy), op if isinstance(op, Op) else None).fill(desc)
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
