# SPDX-License-Identifier: MIT
"""Parts of a reduction: made in many places, joined wherever they meet."""

from __future__ import annotations

import contextlib
import operator
from typing import Any, Hashable, Iterator, Optional, Sequence, Union

from tally._buffers import Buffers, in_order, struct
from tally._context import Context, context_of, current
from tally._engine import Term, natural, size_of_whole
from tally._library import DTYPES, Dtype, check, ffi, lib, op_number, text
from tally._op import Op
from tally._plan import AnyOp, Params, _inputs, _packed, accuracy_number, listed
from tally._reduce import _COUNTS, _INT64
from tally._view import BUFFER, HOST, numpy_kind_if_here

Ops = Union[AnyOp, "Sequence[AnyOp]"]


def _count(name: str, value: Any) -> int:
    """A number of items or ranks as an int."""
    number = operator.index(value)
    if not 0 <= number < 1 << 64:
        raise ValueError(f"{name}: from 0 to 2^64 - 1, not {number}")
    return number


def share(n: int, ranks: int, rank: int) -> "tuple[int, int]":
    """The share of `rank` where n items are cut for so many ranks: its first item, and how many.
    Shares begin at multiples of 4,096 items, so that their records are small.

    >>> import tally
    >>> [tally.share(10000, 2, rank) for rank in range(2)]
    [(0, 8192), (8192, 1808)]
    """
    made = ffi.new("uint64_t[2]")
    check(lib.tally_share(_count("n", n), _count("ranks", ranks), _count("rank", rank), made, made + 1))
    return made[0], made[1]


class Part:
    """The items [first, first + n) of a whole input, reduced by `reduce_part` to a record. Part(record)
    makes one of a record's bytes, from a file or of another process. A part can be pickled.

    >>> import numpy, tally
    >>> x = numpy.arange(10000, dtype="float32")
    >>> left = tally.reduce_part("sum", x[:6000])
    >>> right = tally.reduce_part("sum", x[6000:], first=6000)
    >>> float(left.join(right).value()), float(tally.sum(x))
    (49995000.0, 49995000.0)
    """

    __slots__ = ("record", "_info")

    def __init__(self, record: Any) -> None:
        """Checks a record completely. ValueError for one that is damaged, or of a later format."""
        try:
            raw = bytes(memoryview(record))
        except TypeError:
            raise TypeError(f"a part's record is bytes, not {type(record).__name__}") from None
        self._info = ffi.new("tally_part_info *")
        status = lib.tally_part_describe(ffi.from_buffer(raw), len(raw), self._info)
        if status == lib.TALLY_E_UNSUPPORTED:
            raise ValueError(text(lib.tally_last_error()))
        check(status)
        #: the record: plain bytes, which have the same layout wherever they were made
        self.record: bytes = raw[: self._info.bytes]

    @property
    def first(self) -> int:
        """The index of the first item in the whole."""
        return int(self._info.first)

    @property
    def n(self) -> int:
        """The number of items."""
        return int(self._info.n)

    @property
    def total(self) -> Optional[int]:
        """The number of items of the whole. None: not known yet."""
        return int(self._info.total) or None

    def join(self, *right: Part, op: "Optional[Ops]" = None, params: Params = None) -> Part:
        """Joins parts, each the next one's left neighbour: Part.join(*parts) too. Any association gives
        the same record. ValueError for parts that are not neighbours or not of one reduction. op,
        params: as the parts were made, for custom ops alone; the current context folds those.

        >>> import numpy, tally
        >>> parts = [tally.reduce_part("max", numpy.array([i, -i]), first=2 * i) for i in range(4)]
        >>> tally.Part.join(*parts)
        <tally.Part max of int64, items 0 to 7>
        """
        parts = (self, *right)
        for part in parts:
            if not isinstance(part, Part):
                raise TypeError(f"join takes Parts, not {type(part).__name__}")
        desc, plan = self._joiner(op, params)
        most, joined = ffi.new("uint64_t *"), ffi.new("uint64_t *")
        check(lib.tally_part_bound(desc.of, 0, 0, most))
        room = ffi.new("char[]", most[0])
        records = [ffi.from_buffer(part.record) for part in parts]
        lengths = [len(part.record) for part in parts]
        with plan as handle:
            check(lib.tally_part_join(handle, records, lengths, len(parts), room, most[0], joined))
        return Part(ffi.buffer(room, joined[0]))

    def value(self, *, op: "Optional[Ops]" = None, params: Params = None) -> Any:
        """The result of the whole, to the bit that of one reduction of all items: NumPy's scalar if NumPy
        is installed, else Python's number; a tuple of several values. ValueError for a part that is
        not the whole. op, params: as for join.

        >>> import array, tally
        >>> float(tally.reduce_part("mean", array.array("d", [1, 2, 6])).value())
        3.0
        """
        desc, plan = self._joiner(op, params)
        result = ffi.new("char[]", self._info.result_bytes)
        with plan as handle:
            check(lib.tally_part_value(handle, ffi.from_buffer(self.record), len(self.record), result))
            places = desc.places() if handle == ffi.NULL else desc.places_of(handle)
        kind = numpy_kind_if_here() or BUFFER
        values = tuple((BUFFER if dtype.name == "bf16" else kind).scalar(result + at, dtype) for dtype, at in places)
        return values[0] if len(values) == 1 else values

    def _joiner(
        self, op: "Optional[Ops]", params: Params
    ) -> "tuple[_Desc, contextlib.AbstractContextManager[Any]]":
        """The descriptor of the part's ops, and the plan that folds custom ones, else NULL."""
        info = self._info
        own = iter([one for one in ([] if op is None else listed(op)) if isinstance(one, Op)])
        terms = []
        for index in range(info.term_count):
            term = info.terms[index]
            custom = None if term.op else next(own, None)
            if not term.op and custom is None:
                raise ValueError("a part of a custom op: give the Op that made it as op=")
            terms.append(Term(term.op, term.out, term.acc, term.accuracy, custom))
        desc = _Desc(tuple(terms), DTYPES[getattr(info, "in")], 1)
        if all(term.op for term in terms):
            return desc, contextlib.nullcontext(ffi.NULL)
        return desc, desc.plan(current(), _packed(params))

    def __reduce__(self) -> "tuple[type[Part], tuple[bytes]]":
        return Part, (self.record,)

    def __eq__(self, other: object) -> bool:
        return self.record == other.record if isinstance(other, Part) else NotImplemented

    def __hash__(self) -> int:
        return hash(self.record)

    def __repr__(self) -> str:
        info = self._info
        ops = [info.terms[index].op for index in range(info.term_count)]
        names = ", ".join(text(lib.tally_op_name(op)) if op else "custom" for op in ops)
        of = "" if self.total is None else f" of {self.total}"
        items = f"items {self.first} to {self.first + self.n - 1}" if self.n else f"no items at {self.first}"
        return f"<tally.Part {names} of {DTYPES[getattr(info, 'in')]}, {items}{of}>"


class _Desc:
    """The library's descriptor of some ops over items of a type."""

    def __init__(self, terms: "tuple[Term, ...]", items: Dtype, n: int) -> None:
        self._terms, self._items = terms, items
        self._held = ffi.new("tally_term_desc[]", len(terms))
        for term, to in zip(terms, self._held):
            term.fill(to)
        self.of = struct("tally_reduce_desc", in_=items.number, terms=self._held, term_count=len(terms))
        self.of.max_n = size_of_whole(max(n, 1))

    @contextlib.contextmanager
    def plan(self, context: Context, params: "tuple[tuple[bytes, float], ...]", key: Hashable = None) -> "Iterator[Any]":
        """The handle of a plan of the context, which keeps it for later calls."""
        names = tuple(sorted(name for name, _ in params))
        key = "part", self._terms, names, self._items.number, self.of.max_n, key
        plan = context.take_plan(key, lib.tally_plan_create, context.handle, self.of)
        for name, value in params:
            check(lib.tally_plan_set_param(plan.handle, name, value))
        yield plan.handle
        context.give_plan(plan)

    def places(self) -> "list[tuple[Dtype, int]]":
        """The type and the byte of each value in a result of built-in ops, a C struct of them."""
        found, at = [], 0
        for term in self._terms:
            dtype = DTYPES[term.out]
            at = -(-at // dtype.align) * dtype.align
            for _ in range(natural(term.op, self._items)[1]):
                found.append((_INT64 if term.op in _COUNTS else dtype, at))
                at += dtype.bytes
        return found

    def places_of(self, plan: Any) -> "list[tuple[Dtype, int]]":
        """The same of the plan of these ops, which knows the types of custom ones."""
        found: "list[tuple[Dtype, int]]" = []
        info = ffi.new("tally_result_info *")
        while lib.tally_plan_result(plan, len(found), info):
            is_count = self._terms[info.term].op in _COUNTS
            found.append((_INT64 if is_count else DTYPES[info.dtype], info.offset))
        return found


def _term(op: AnyOp, items: Dtype, accuracy: str) -> Term:
    """The term of an op, which gives the library's type: records of all devices can then be joined."""
    if isinstance(op, Op):
        return Term(0, 0, 0, 0, op)
    natural(op_number(op), items)
    return Term(op_number(op), 0, 0, accuracy_number(accuracy))


def reduce_part(
    ops: Ops,
    x: Any,
    /,
    *more: Any,
    first: int = 0,
    total: Optional[int] = None,
    accuracy: str = "default",
    params: Params = None,
) -> Part:
    """Reduces a part of a whole input: its items, in C order, begin at item `first` of the whole, which
    has `total` items (None: not known yet). ops: a name, an Op, or several for one pass. more: a
    second array and so on, for ops that take them. params: as in `reduce`. Waits. Records are small
    where a part begins and ends at multiples of 4,096 items, as those of `share`, or at `total`.

    >>> import numpy, tally
    >>> x = numpy.arange(10000, dtype="float32")
    >>> parts = []
    >>> for rank in range(2):
    ...     first, n = tally.share(10000, 2, rank)
    ...     parts.append(tally.reduce_part(["sum", "var"], x[first : first + n], first=first, total=10000))
    >>> parts[0]
    <tally.Part sum, var of float32, items 0 to 8191 of 10000>
    >>> tally.Part.join(*parts).value() == (tally.sum(x), tally.var(x))
    True
    """
    given = listed(ops)
    if not given:
        raise ValueError("no op: give one name or more")
    views = [in_order(view) for view in _inputs(given[0], (x, *more))]
    for op in given[1:]:
        _inputs(op, (x, *more))
    items, n = views[0].dtype, views[0].size
    desc = _Desc(tuple(_term(op, items, accuracy) for op in given), items, n)
    first, total = _count("first", first), 0 if total is None else _count("total", total)
    size = ffi.new("uint64_t *")
    check(lib.tally_part_bytes(desc.of, first, n, total, size))
    room = ffi.new("char[]", size[0])
    packed = _packed(params)
    if views[0].place == HOST:
        host = struct("tally_part_host_args", first=first, n=n, total=total, out=room, out_bytes=size[0])
        host.items = [ffi.cast("void *", view.address) for view in views]
        with desc.plan(context_of(views[0]), packed) as plan:
            check(lib.tally_reduce_part_host(plan, host, ffi.NULL))
        return Part(ffi.buffer(room))
    with Buffers(views) as buffers:
        args = struct("tally_part_args", first=first, n=n, total=total, out=buffers.own(size[0]))
        for k, view in enumerate(views):
            getattr(args, "in")[k], args.in_offset[k] = buffers.wrap(view)
        queue = buffers.queue.handle
        with desc.plan(buffers.context, packed, buffers.key) as plan:
            check(lib.tally_reduce_part(plan, queue, args))
            check(lib.tally_buffer_read(queue, args.out, 0, room, size[0]))
            check(lib.tally_queue_wait(queue))
    return Part(ffi.buffer(room))


__all__ = ["Part", "reduce_part", "share"]
