# SPDX-License-Identifier: MIT
"""Custom ops."""

from __future__ import annotations

from typing import Any, Mapping, Optional, Sequence

from tally._library import Bound, c_text, check, dtype_of_name, ffi, lib, real_number

_PARTS = {
    "load": int(lib.TALLY_PART_LOAD),
    "combine": int(lib.TALLY_PART_COMBINE),
    "finish": int(lib.TALLY_PART_FINISH),
}


def _number(dtype: Any) -> int:
    return 0 if dtype is None else dtype_of_name(dtype).number


def _row(name: str, given: Any, members: str) -> "Sequence[Any]":
    """A tuple of an argument, which has so many members. TypeError for another."""
    if isinstance(given, str) or not hasattr(given, "__len__") or len(given) != members.count(",") + 1:
        raise TypeError(f"{name}: {given!r} is not ({members})")
    return tuple(given)


class _Texts:
    """C strings that live as long as this."""

    def __init__(self) -> None:
        self.held: "list[Any]" = []

    def __call__(self, value: Optional[str]) -> Any:
        if value is None:
            return ffi.NULL
        self.held.append(ffi.new("char[]", c_text(str(value))))
        return self.held[-1]

    def fields(self, fields: "Mapping[str, Sequence[Any]]") -> Any:
        """The fields of an accumulator."""
        made = ffi.new("tally_op_field[]", len(fields))
        for to, (name, given) in zip(made, fields.items()):
            dtype, identity, load, combine = _row(f"field {name!r}", given, "dtype, identity, load, combine")
            to.name, to.type, to.identity = self(name), _number(dtype), self(str(identity))
            to.load, to.combine = self(load), self(combine)
        return made

    def lets(self, lets: "Sequence[Sequence[Any]]") -> Any:
        """The temporaries."""
        made = ffi.new("tally_op_let[]", len(lets))
        for to, given in zip(made, lets):
            name, part, dtype, value = _row("lets", given, "name, part, dtype, value")
            if part not in _PARTS:
                raise ValueError(f"lets: the part {part!r} is none of {', '.join(_PARTS)}")
            to.name, to.part, to.type, to.value = self(name), _PARTS[part], _number(dtype), self(value)
        return made


class Op(Bound):
    """An operator by C expressions, which every device computes alike; docs/custom-ops.md is the
    manual.

    load: the accumulator of an item `x` (`y`, `z`, `w` of further inputs, `i` its index). combine:
    of two accumulators `a` and `b`. identity: the accumulator that changes nothing. acc: its type;
    None: by the items. fields: an accumulator of several values in place of these three: a dict of
    names to (dtype, identity, load, combine). finish: the result of the accumulator `a` and the
    number of items `n`; out: its type. empty: the result of no items. params: a dict of names to
    numbers, read as `p.NAME`. lets: temporaries, (name, part, dtype, value). exact: the result does
    not depend on the order.

    >>> import numpy, tally
    >>> parts = {"load": "x > p.limit ? 1 : 0", "combine": "a + b", "identity": "0"}
    >>> op = tally.Op(**parts, acc="int64", params={"limit": 2})
    >>> op
    <tally.Op custom: x > p.limit ? 1 : 0>
    """

    def __init__(
        self,
        *,
        load: Optional[str] = None,
        combine: Optional[str] = None,
        identity: Optional[str] = None,
        fields: "Optional[Mapping[str, Sequence[Any]]]" = None,
        finish: Optional[str] = None,
        empty: Optional[str] = None,
        acc: Any = None,
        out: Any = None,
        inputs: int = 1,
        params: "Optional[Mapping[str, float]]" = None,
        lets: "Sequence[Sequence[Any]]" = (),
        exact: bool = False,
        name: str = "custom",
    ) -> None:
        texts = _Texts()
        lists = (
            texts.fields(fields or {}),
            ffi.new(
                "tally_op_param[]",
                [{"name": texts(key), "value": real_number(key, one)} for key, one in (params or {}).items()],
            ),
            texts.lets(lets),
        )
        desc = ffi.new("tally_op_desc *", {"size": ffi.sizeof("tally_op_desc"), "inputs": inputs, "exact": exact})
        desc.name, desc.acc, desc.out = texts(name), _number(acc), _number(out)
        desc.identity, desc.load, desc.combine = texts(identity), texts(load), texts(combine)
        desc.finish, desc.empty = texts(finish), texts(empty)
        desc.field_count, desc.param_count, desc.let_count = (len(each) for each in lists)
        desc.fields, desc.params, desc.lets = (each if len(each) else ffi.NULL for each in lists)
        made = ffi.new("tally_custom_op **")
        check(lib.tally_op_create(desc, made))
        del texts
        self.handle = ffi.gc(made[0], lib.tally_op_destroy)
        self.name = name
        self.inputs = inputs
        self.param_names = tuple(params or ())
        self._what = load if load is not None else ", ".join(fields or ())

    def __repr__(self) -> str:
        return f"<tally.Op {self.name}: {self._what}>"
