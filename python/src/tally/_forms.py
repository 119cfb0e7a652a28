# SPDX-License-Identifier: MIT
"""Forms: what a call has in common with a later one of the same op, type, shape, strides and axes.
The later call gives two addresses to the library and does little else."""

from __future__ import annotations

from typing import Any, Callable, Hashable, Optional, Union

from tally._arrays import aligned, view_of, way_of
from tally._context import Context, KeptPlan, context_of, current
from tally._dlpack import CPU_DEVICE, CUDA_HOST, Consumed, hand_over, looker_of, view_of_held
from tally._engine import MOST_AXES, Call, fill_plan, memory_of, numbers_of, plan_key
from tally._library import Dtype, check, fail, ffi, lib
from tally._reduce import (
    Axis,
    call_of,
    casts_first,
    converts,
    mask_view,
    reduce,
    reduced_axes,
    result_shape,
    types_of,
    written_by,
)
from tally._view import CUDA, HOST, NumpyKind, View

#: forms that are kept for a context, and for all streams of CUDA; when they are as many, all go
MOST_FORMS = 512
_IN_PLACE, _ON_CUDA = int(lib.TALLY_PYTHON_IN_PLACE), int(lib.TALLY_PYTHON_CUDA)
_from_buffer, _cast = ffi.from_buffer, ffi.cast
_run_form, _run_whole = lib.tally_python_form_run, lib.tally_python_whole
_set_param = lib.tally_plan_set_param
Params = tuple[tuple[bytes, float], ...]


class Way:
    """A form's call of the library, for arrays that begin at a multiple of 16 bytes, or for others."""

    __slots__ = ("handle", "call", "last")

    def __init__(self, context: Context, call: Call, address: int) -> None:
        view, mask = call.inputs[0], call.where
        bare = View(None, address, view.dtype, view.shape, view.strides, view.kind, place=view.place)
        if mask is not None:
            mask = View(None, 0, mask.dtype, mask.shape, mask.strides, mask.kind, place=mask.place)
        #: the plan's description, without arrays
        self.call = Call(call.terms, (bare,), call.reduced, mask, None, call.params, (), 1)
        #: the queue of the form's stream, None before it is known and in host memory; the plans' key;
        #: those that nobody uses
        self.last: "tuple[Any, Hashable, list[Optional[KeptPlan]]]" = None, None, [None]
        arrays = ffi.new("tally_python_arrays *")
        arrays.context, arrays.memory = context.address, memory_of(context, view)
        arrays.axis_count, arrays.inputs, arrays.outputs = len(view.shape), 1, 1
        arrays.masks = mask is not None
        arrays.whole = self.call.is_whole()
        made = ffi.new("tally_python_form **")
        check(lib.tally_python_form_make(arrays, ffi.new("int64_t[]", numbers_of(call)), made))
        self.handle = ffi.gc(made[0], lib.tally_python_form_end)

    def on_stream(self, context: Context, stream: Optional[int]) -> "tuple[Any, Hashable, list[Optional[KeptPlan]]]":
        """Finds the queue of the form's stream, and its plans."""
        queue = None if stream is None else context.queue_of_stream(CUDA, stream)
        key = plan_key(self.call, None if queue is None else queue.number)
        self.last = queue, key, context.plans_of(key)
        return self.last


class Form:
    """A form, for the calls that have it. It keeps no array."""

    __slots__ = (
        "shape",
        "dtype",
        "align",
        "own_dtype",
        "is_flat",
        "is_mask_flat",
        "params",
        "whole",
        "aligned",
        "other",
        "context",
    )

    def __init__(
        self, view: View, mask: Optional[View], shape: "tuple[int, ...]", dtype: Dtype, params: Params
    ) -> None:
        self.shape = shape
        self.dtype = dtype
        self.align = view.dtype.align
        #: the kind's own name of `dtype`, None where it is that of the items
        self.own_dtype: Any = None
        self.is_flat = view.is_contiguous()
        self.is_mask_flat = mask is not None and mask.is_contiguous()
        self.params = params
        #: op, item type and number of items of a reduction of all items of host memory
        self.whole: "Optional[tuple[int, int, int]]" = None
        self.aligned: Any = None
        self.other: Any = None
        #: that of a call on a stream; None: the current one, which keeps the form
        self.context: Any = None

    def bind(self, context: Context, call: Call) -> None:
        """Takes extents, strides and the plan's description from a call."""
        self.aligned, self.other = Way(context, call, 0), Way(context, call, 1)

    def run(self, context: Context, stream: Optional[int], address: int, where: int, to: int) -> None:
        """Reduces the items at an address, with the mask at another, to a third. Blocks for host
        memory."""
        if self.whole is not None:
            op, items, n = self.whole
            status = _run_whole(context.address, op, items, address, n, to)
            if status:
                fail(status)
            return
        way: Way = self.other if address % 16 else self.aligned
        queue, key, kept = way.last
        if stream is None:
            queue = context.take_queue()
        elif queue is None:
            queue, key, kept = way.on_stream(context, stream)
        try:
            try:
                plan = kept.pop()
            except IndexError:  # there is none, or another thread has it
                plan = context.take_plan(key, fill_plan, context, way.call)
            if plan is None:  # the list is not kept yet, or no longer
                key, kept = way.on_stream(context, stream)[1:]
                plan = context.take_plan(key, fill_plan, context, way.call)
            for name, value in self.params:
                check(_set_param(plan.handle, name, value))
            status = _run_form(way.handle, plan.address, queue.address, address, where, to)
            if status:
                fail(status)
            if not kept or kept[0] is not None:  # else another thread's call has dropped the list
                kept.append(plan)
        finally:
            if stream is None:
                context.give_queue(queue)


# ---- what arrays say of themselves at each call --------------------------------------------------

#: a part of the form's key, None: there is no form; the stream, None for host memory; the device;
#: what was handed over
Seen = tuple[Hashable, Optional[int], Optional[int], Any]
_UNSEEN: Seen = (None, None, None, None)


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

    def address(self, is_flat: bool, x: Any, held: Any) -> int:
        if is_flat:  # a sixth of the other's time
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

    def address(self, is_flat: bool, x: Any, held: Consumed) -> int:
        found: int = held.read.data
        return found


class _Torch:
    """PyTorch's tensors."""

    def __init__(self, kind: Any) -> None:
        self.kind = kind
        self.strided = kind.torch.strided
        self.raw_stream = kind.raw_stream

    def look(self, x: Any) -> Seen:
        dtype = x.dtype
        if x.layout is not self.strided or x.is_neg() or (dtype.is_complex and x.is_conj()):
            return _UNSEEN
        if x.is_cuda:
            if self.raw_stream is None:
                return _UNSEEN
            index = x.get_device()
            stream = self.raw_stream(index)
            return (dtype, x.shape, x.stride(), index, stream), stream, index, None
        return ((dtype, x.shape, x.stride()), None, None, None) if x.is_cpu else _UNSEEN

    def view(self, x: Any, held: Any) -> View:
        return view_of(x)

    def ready(self, form: Form, x: Any) -> bool:
        found = self.kind.to_torch.get(form.dtype.number)
        form.own_dtype = None if found is x.dtype else found
        return found is not None

    def address(self, is_flat: bool, x: Any, held: Any) -> int:
        found: int = x.data_ptr()
        return found

    def allocate(self, form: Form, x: Any) -> "tuple[Any, int]":
        shape, dtype = form.shape or ((),), form.own_dtype
        # Without the dtype, and with extents that are no tuple, in a half of the time.
        made = x.new_empty(*shape) if dtype is None else x.new_empty(*shape, dtype=dtype)
        return made, made.data_ptr()

    def finish(self, form: Form, made: Any) -> Any:
        return made


class _ExchangedTorch(_Torch):
    """PyTorch's tensors, seen by DLPack's C exchange interface. What is handed over is the address."""

    def __init__(self, kind: Any, look: "Callable[[Any], Seen]") -> None:
        super().__init__(kind)
        setattr(self, "look", look)

    def address(self, is_flat: bool, x: Any, held: int) -> int:
        return held


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
        look = looker_of(type(x))
        found = _Torch(kind) if look is None else _ExchangedTorch(kind, look)
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
    correction: Optional[float] = None,
) -> Any:
    """An op of one array along axes; correction: that of var and std. A call of a known form takes the
    short way."""
    looker: "Optional[Looker]" = None
    if out is None and initial is None and accuracy == "default" and (axis is None or axis.__class__ is int):
        try:
            looker = _lookers[x.__class__]
        except KeyError:
            looker = _looker(x)
    if looker is None:
        view = view_of(x)
        params = _params(view, axis, correction, where)
        return reduce(
            name,
            op,
            (view,),
            axis,
            keepdims,
            dtype=dtype,
            out=out,
            where=where,
            initial=initial,
            accuracy=accuracy,
            params=params,
        )
    part, stream, device, held = looker.look(x)
    form: "Optional[Form]" = None
    if part is not None:
        mask_part, mask_held = None, None
        if where is not None and where is not True:
            mask_part, mask_held = _look_at_mask(looker, x, where, stream, device)
            if mask_part is None:
                part = None
        key = (op, axis, keepdims, dtype, part, mask_part, correction)
        context = current() if stream is None else None
        forms: "dict[Hashable, Form]" = _of_streams if context is None else context.forms
        try:
            form = forms.get(key)
        except TypeError:  # an argument without a hash
            part = None
    if form is not None:
        address = looker.address(form.is_flat, x, held)
        if not address % form.align:
            mask = 0 if mask_part is None else looker.address(form.is_mask_flat, where, mask_held)
            made, to = looker.allocate(form, x)
            form.run(context or form.context, stream, address, mask, to)
            return looker.finish(form, made)
    view = looker.view(x, held)
    params = _params(view, axis, correction, where)
    result = reduce(name, op, (view,), axis, keepdims, dtype=dtype, where=where, params=params)
    if form is None and part is not None:
        _learn(forms, key, looker, op, x, held, view, axis, keepdims, dtype, where, params)
    return result


def _params(view: View, axis: Axis, correction: Optional[float], where: Any) -> Params:
    """The ddof of var and std: NaN, which the result is then, where the array API says so. The
    number of items that a mask leaves is not known here."""
    if correction is None:
        return ()
    ddof: float = correction
    if ddof > 0 and (where is None or where is True):
        n = 1
        for extent, flag in zip(view.shape, reduced_axes(axis, len(view.shape))):
            n *= extent if flag else 1
        ddof = ddof if n > ddof else float("nan")
    return ((b"ddof", ddof),)


def _look_at_mask(
    looker: Looker, x: Any, where: Any, stream: Optional[int], device: Optional[int]
) -> "tuple[Hashable, Any]":
    """A mask's part of a form's key, and what was handed over. None: the call has no form, since its
    mask is of another kind or lies elsewhere."""
    if where.__class__ is not x.__class__ or looker.__class__ is _Capsules:
        return None, None
    part, own_stream, own_device, held = looker.look(where)
    return (part, held) if own_stream == stream and own_device == device else (None, None)


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
    where: Any,
    params: Params,
) -> None:
    """Keeps the form of a call that has run, if it has one: in place, with one value a result that
    the library writes as it is wanted."""
    if not view.size or len(view.shape) > MOST_AXES or (view.owner is not x and view.owner is not held):
        return
    if not lib.tally_result_dtype(op, view.dtype.number):
        return
    mask = mask_view(where, view)
    if mask is not None and mask.owner is not where:
        return
    own, values, wanted = types_of(op, view.dtype, dtype)
    if not converts(own, wanted) or casts_first(op, view.dtype, dtype):
        return
    reduced = reduced_axes(axis, len(view.shape))
    shape = result_shape(view.shape, reduced, keepdims)
    context = context_of(view)
    form = Form(view, mask, shape, wanted, params)
    if forms is _of_streams:
        form.context = context
    if values != 1 or not looker.ready(form, x):
        return
    if _is_whole(form, axis, keepdims, dtype, own, view, mask):
        form.whole = op, view.dtype.number, view.size
    elif memory_of(context, view) in (_IN_PLACE, _ON_CUDA):
        call = call_of("", op, (view,), wanted, reduced, mask, None, 0, params)
        if call.inputs[0] is not view or written_by(call.terms[0], view.dtype, wanted).number != wanted.number:
            return
        call.outputs = (looker.kind.empty(view, shape, wanted),)
        form.bind(context, call)
    else:
        return
    if len(forms) >= MOST_FORMS:
        forms.clear()
    forms[key] = form


def _is_whole(
    form: Form, axis: Axis, keepdims: bool, dtype: Any, own: Dtype, view: View, mask: Optional[View]
) -> bool:
    """Tells whether the call is one of all items of host memory, whose result the library gives at
    once."""
    is_plain = axis is None and dtype is None and not keepdims and mask is None and not form.params
    return is_plain and form.dtype.bytes == own.bytes and view.place == HOST and form.is_flat


__all__ = ["Form", "single"]
