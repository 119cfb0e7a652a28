# SPDX-License-Identifier: MIT
"""Forms: what a call has in common with a later one of the same op, type, shape, strides and axes.
The later call gives two addresses to the library and does little else."""

from __future__ import annotations

from typing import Any, Hashable, Optional, Union

from tally._arrays import aligned, view_of, way_of
from tally._context import Context, context_of, context_of_device, current
from tally._dlpack import CPU_DEVICE, CUDA_HOST, Consumed, hand_over, view_of_held
from tally._engine import MOST_AXES, Call, fill_plan, memory_of, numbers_of, plan_key
from tally._library import Dtype, check, fail, ffi, lib
from tally._reduce import Axis, call_of, casts_first, converts, reduce, reduced_axes, result_shape, types_of, written_by
from tally._view import CUDA, HOST, NumpyKind, View

#: forms that are kept for a context, and for all streams of CUDA; when they are as many, all go
MOST_FORMS = 512
_IN_PLACE, _ON_CUDA = int(lib.TALLY_PYTHON_IN_PLACE), int(lib.TALLY_PYTHON_CUDA)
_from_buffer, _cast = ffi.from_buffer, ffi.cast
_run_form, _run_whole = lib.tally_python_form_run, lib.tally_python_whole


class Way:
    """A form's call of the library, for arrays that begin at a multiple of 16 bytes, or for others."""

    __slots__ = ("handle", "call", "last")

    def __init__(self, context: Context, call: Call, address: int) -> None:
        view = call.inputs[0]
        bare = View(None, address, view.dtype, view.shape, view.strides, view.kind, place=view.place)
        #: the plan's description, without arrays
        self.call = Call(call.terms, (bare,), call.reduced, None, None, (), (), 1)
        #: the number of the last call's queue, None for host memory, and the plan's key
        self.last: "tuple[Optional[int], Hashable]" = None, plan_key(self.call, None)
        arrays = ffi.new("tally_python_arrays *")
        arrays.context, arrays.memory = context.address, memory_of(context, view)
        arrays.axis_count, arrays.inputs, arrays.outputs = len(view.shape), 1, 1
        arrays.whole = self.call.is_whole()
        made = ffi.new("tally_python_form **")
        check(lib.tally_python_form_make(arrays, ffi.new("int64_t[]", numbers_of(call)), made))
        self.handle = ffi.gc(made[0], lib.tally_python_form_end)

    def key(self, number: Optional[int]) -> Hashable:
        """The key of the plans for a queue."""
        last, key = self.last
        if last != number:
            key = plan_key(self.call, number)
            self.last = number, key
        return key


class Form:
    """A form, for the calls that have it. It keeps no array."""

    __slots__ = ("shape", "dtype", "align", "own_dtype", "is_flat", "whole", "aligned", "other")

    def __init__(self, view: View, shape: "tuple[int, ...]", dtype: Dtype) -> None:
        self.shape = shape
        self.dtype = dtype
        self.align = view.dtype.align
        #: the kind's own name of `dtype`
        self.own_dtype: Any = None
        self.is_flat = view.is_contiguous()
        #: op, item type and number of items of a reduction of all items of host memory
        self.whole: "Optional[tuple[int, int, int]]" = None
        self.aligned: Any = None
        self.other: Any = None

    def bind(self, context: Context, call: Call) -> None:
        """Takes extents, strides and the plan's description from a call."""
        self.aligned, self.other = Way(context, call, 0), Way(context, call, 1)

    def run(self, context: Context, stream: Optional[int], address: int, to: int) -> None:
        """Reduces the items at an address to another. Blocks for host memory."""
        if self.whole is not None:
            op, items, n = self.whole
            status = _run_whole(context.address, op, items, address, n, to)
            if status:
                fail(status)
            return
        queue = context.take_queue() if stream is None else context.queue_of_stream(CUDA, stream)
        try:
            way: Way = self.other if address % 16 else self.aligned
            key = way.key(None if stream is None else queue.number)
            plan = context.take_plan(key, fill_plan, context, way.call)
            status = _run_form(way.handle, plan.address, queue.address, address, to)
            if status:
                fail(status)
            context.give_plan(plan)
        finally:
            if stream is None:
                context.give_queue(queue)


# ---- what arrays say of themselves at each call --------------------------------------------------

#: a part of the form's key; the stream, None for host memory; the device; what was handed over
Seen = Optional["tuple[Hashable, Optional[int], Optional[int], Any]"]


class _Numpy:
    """NumPy's arrays."""

    def __init__(self, kind: NumpyKind) -> None:
        self.kind = kind
        self.numpy_empty = kind.numpy.empty

    def look(self, x: Any) -> Seen:
        return (x.dtype, x.shape, x.strides), None, None, None

    def view(self, x: Any, held: Any) -> View:
        return view_of(x)

    def ready(self, form: Form, x: Any) -> bool:
        """Takes the form, unless the array's type has no buffer."""
        form.own_dtype = self.kind.dtype(form.dtype)
        try:
            _from_buffer(self.numpy_empty((), form.own_dtype))
            if form.is_flat:
                _from_buffer(x)
        except (TypeError, ValueError, BufferError):
            return False
        return True

    def address(self, form: Form, x: Any, held: Any) -> int:
        if form.is_flat:  # a sixth of the other's time
            return int(_cast("uintptr_t", _from_buffer(x)))
        found: int = x.__array_interface__["data"][0]
        return found

    def allocate(self, form: Form, x: Any) -> "tuple[Any, int]":
        made = self.numpy_empty(form.shape, form.own_dtype)
        return made, int(_cast("uintptr_t", _from_buffer(made)))

    def finish(self, form: Form, made: Any) -> Any:
        return made if form.shape else made[()]


class _Capsules(_Numpy):
    """Objects with DLPack and nothing else, whose results are NumPy's. Those of a CUDA device go the
    long way."""

    def look(self, x: Any) -> Seen:
        held = hand_over(x)
        read = held.read
        if read.device_type not in (CPU_DEVICE, CUDA_HOST):
            return None, None, None, held
        known = bytes(ffi.buffer(read.numbers, 16 * read.ndim)) if read.ndim else b""
        part = (known, read.device_type, read.code, read.bits, read.lanes)
        return part, None, None, held

    def view(self, x: Any, held: Consumed) -> View:
        view = view_of_held(held, self.kind)
        if view.place == CUDA:
            from tally._device import CudaKind

            view.kind = CudaKind()
        return aligned(view)

    def ready(self, form: Form, x: Any) -> bool:
        form.own_dtype = self.kind.dtype(form.dtype)
        return True

    def address(self, form: Form, x: Any, held: Consumed) -> int:
        found: int = held.read.data
        return found


class _Torch:
    """PyTorch's tensors."""

    def __init__(self, kind: Any) -> None:
        self.kind = kind
        self.strided = kind.torch.strided

    def look(self, x: Any) -> Seen:
        if x.layout is not self.strided or x.is_neg() or x.is_conj():
            return None
        device = x.device
        if device.type == "cpu":
            return (x.dtype, x.shape, x.stride()), None, None, None
        if device.type != "cuda" or self.kind.raw_stream is None:
            return None
        index = device.index
        stream = self.kind.raw_stream(index)
        return (x.dtype, x.shape, x.stride(), index, stream), stream, index, None

    def view(self, x: Any, held: Any) -> View:
        return view_of(x)

    def ready(self, form: Form, x: Any) -> bool:
        form.own_dtype = self.kind.to_torch.get(form.dtype.number)
        return form.own_dtype is not None

    def address(self, form: Form, x: Any, held: Any) -> int:
        found: int = x.data_ptr()
        return found

    def allocate(self, form: Form, x: Any) -> "tuple[Any, int]":
        made = x.new_empty(form.shape, dtype=form.own_dtype)
        return made, made.data_ptr()

    def finish(self, form: Form, made: Any) -> Any:
        return made


Looker = Union[_Numpy, _Torch]
#: by type. None: calls of such arrays go the long way
_lookers: "dict[type, Optional[Looker]]" = {}
_of_streams: "dict[Hashable, Form]" = {}


def _looker(x: Any) -> "Optional[Looker]":
    """Finds and keeps the looker of a type. Raises TypeError for what is no array."""
    way, kind = way_of(x)
    found: "Optional[Looker]" = None
    if way == "numpy":
        found = _Numpy(kind)
    elif way == "torch":
        found = _Torch(kind)
    elif way == "dlpack":
        found = _Capsules(kind)
    _lookers[type(x)] = found
    return found


def single(
    name: str,
    op: int,
    x: Any,
    axis: Axis,
    keepdims: bool,
    *,
    dtype: Any = None,
    out: Any = None,
    where: Any = None,
    initial: Any = None,
    accuracy: str = "default",
) -> Any:
    """An op of one array along axes. A call of a known form takes the short way."""
    if out is None and where is None and initial is None and accuracy == "default":
        try:
            looker = _lookers[x.__class__]
        except KeyError:
            looker = _looker(x)
        if looker is not None and (axis is None or axis.__class__ is int):
            return _by_form(looker, name, op, x, axis, keepdims, dtype)
    return reduce(
        name, op, (view_of(x),), axis, keepdims, dtype=dtype, out=out, where=where, initial=initial, accuracy=accuracy
    )


def _by_form(looker: Looker, name: str, op: int, x: Any, axis: Axis, keepdims: bool, dtype: Any) -> Any:
    seen = looker.look(x)
    if seen is None:
        return reduce(name, op, (view_of(x),), axis, keepdims, dtype=dtype)
    part, stream, device, held = seen
    if part is None:
        return reduce(name, op, (looker.view(x, held),), axis, keepdims, dtype=dtype)
    if stream is None:
        context = current()
        forms: "dict[Hashable, Form]" = context.forms
    else:
        context = context_of_device(CUDA, device)
        forms = _of_streams
    key = (op, axis, keepdims, dtype, part)
    try:
        form = forms.get(key)
    except TypeError:  # an argument without a hash
        return reduce(name, op, (looker.view(x, held),), axis, keepdims, dtype=dtype)
    if form is not None:
        address = looker.address(form, x, held)
        if not address % form.align:
            made, to = looker.allocate(form, x)
            form.run(context, stream, address, to)
            return looker.finish(form, made)
    view = looker.view(x, held)
    result = reduce(name, op, (view,), axis, keepdims, dtype=dtype)
    if form is None:
        _learn(forms, key, looker, op, x, held, view, axis, keepdims, dtype)
    return result


def _learn(
    forms: "dict[Hashable, Form]",
    key: Hashable,
    looker: Looker,
    op: int,
    x: Any,
    held: Any,
    view: View,
    axis: Axis,
    keepdims: bool,
    dtype: Any,
) -> None:
    """Keeps the form of a call that has run, if it has one: in place, with one value a result that
    the library writes as it is wanted."""
    if not view.size or len(view.shape) > MOST_AXES or (view.owner is not x and view.owner is not held):
        return
    if not lib.tally_result_dtype(op, view.dtype.number):
        return
    own, values, wanted = types_of(op, view.dtype, dtype)
    if not converts(own, wanted) or casts_first(op, view.dtype, dtype):
        return
    reduced = reduced_axes(axis, len(view.shape))
    shape = result_shape(view.shape, reduced, keepdims)
    context = context_of(view)
    form = Form(view, shape, wanted)
    if values != 1 or not looker.ready(form, x):
        return
    if (
        axis is None
        and dtype is None
        and wanted.bytes == own.bytes
        and view.place == HOST
        and form.is_flat
        and not keepdims
    ):
        form.whole = op, view.dtype.number, view.size
    elif memory_of(context, view) in (_IN_PLACE, _ON_CUDA):
        call = call_of("", op, (view,), own, 1, wanted, reduced, None, None, 0, ())
        if call.inputs[0] is not view or written_by(call, wanted).number != wanted.number:
            return
        call.outputs = (looker.kind.empty(view, shape, wanted),)
        form.bind(context, call)
    else:
        return
    if len(forms) >= MOST_FORMS:
        forms.clear()
    forms[key] = form


__all__ = ["Form", "single"]
