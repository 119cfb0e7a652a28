# SPDX-License-Identifier: MIT
"""Operators of one's own."""
from __future__ import annotations

from typing import Any, Mapping, Optional, Sequence

from tally._library import check, dtype_of_name, ffi, lib

_PARTS = {"load": int(lib.TALLY_PART_LOAD), "combine": int(lib.TALLY_PART_COMBINE), "finish": int(lib.TALLY_PART_FINISH)}


def _number(dtype: Any) -> int:
    return 0 if dtype is None else dtype_of_name(dtype).number


class Op:
    """An operator by C expressions, which every device computes alike; docs/custom-ops.md is the manual.

    load: the accumulator of an item `x` (`y`, `z`, `w` of further inputs, `i` its index). combine: of two
    accumulators `a` and `b`. identity: the accumulator that changes nothing. acc: its type; None: by the
    items. fields: an accumulator of several values in place of these three: a dict of names to (dtype,
    identity, load, combine). finish: the result of the accumulator `a` and the number of items `n`; out:
    its type. empty: the result of no items. params: a dict of names to numbers, read as `p.NAME`. lets:
    temporaries, (name, part, dtype, value). exact: the result does not depend on the order.

    >>> import numpy, tally
    >>> op = tally.Op(load="x > p.limit ? 1 : 0", combine="a + b", identity="0", acc="int64", params={"limit": 2})
    >>> op
    <tally.Op custom: x > p.limit ? 1 : 0>
    """

    def __init__(self, *, load: Optional[str] = None, combine: Optional[str] = None, identity: Optional[str] = None,
                 fields: "Optional[Mapping[str, Sequence[Any]]]" = None, finish: Optional[str] = None, empty: Optional[str] = None,
                 acc: Any = None, out: Any = None, inputs: int = 1, params: "Optional[Mapping[str, float]]" = None,
                 lets: "Sequence[Sequence[Any]]" = (), exact: bool = False, name: str = "custom") -> None:
        held: "list[Any]" = []

        def words(value: Optional[str]) -> Any:
            if value is None:
                return ffi.NULL
            held.append(ffi.new("char[]", str(value).encode()))
            return held[-1]

        made_fields = [{"name": words(key), "type": _number(dtype), "identity": words(str(one)), "load": words(first),
                        "combine": words(second)} for key, (dtype, one, first, second) in (fields or {}).items()]
        made_params = [{"name": words(key), "value": float(value)} for key, value in (params or {}).items()]
        made_lets = [{"name": words(key), "part": _PARTS[part], "type": _number(dtype), "value": words(value)}
                     for key, part, dtype, value in lets]
        lists = (ffi.new("tally_op_field[]", made_fields), ffi.new("tally_op_param[]", made_params),
                 ffi.new("tally_op_let[]", made_lets))
        desc = ffi.new("tally_op_desc *", {
            "size": ffi.sizeof("tally_op_desc"), "name": words(name), "inputs": inputs, "acc": _number(acc),
            "identity": words(identity), "load": words(load), "combine": words(combine), "fields": lists[0] if fields else ffi.NULL,
            "field_count": len(made_fields), "params": lists[1] if params else ffi.NULL, "param_count": len(made_params),
            "finish": words(finish), "empty": words(empty), "out": _number(out), "exact": exact,
            "lets": lists[2] if made_lets else ffi.NULL, "let_count": len(made_lets)})
        made = ffi.new("tally_custom_op **")
        check(lib.tally_op_create(desc, made))
        del held
        self.handle = ffi.gc(made[0], lib.tally_op_destroy)
        self.name = name
        self.inputs = inputs
        self.param_names = tuple(params or ())
        self._what = load if load is not None else ", ".join(fields or ())

    def __repr__(self) -> str:
        return f"<tally.Op {self.name}: {self._what}>"
