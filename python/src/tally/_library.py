# SPDX-License-Identifier: MIT
"""The library: its errors as Python's, its item types and ops by name."""

from __future__ import annotations

import operator
from typing import Any, NoReturn

from tally._tally import ffi, lib

__all__ = ["AxisError", "DeviceError", "Dtype", "check", "dtype_of_name", "fail", "ffi", "lib", "op_number"]


class DeviceError(RuntimeError):
    """A device is absent, lacks what was asked for, or its driver failed. The text is the
    library's."""

    __module__ = "tally"


class AxisError(ValueError, IndexError):
    """An axis that the array does not have."""

    __module__ = "tally"


ERRORS: "dict[int, type[Exception]]" = {lib.TALLY_E_ARGUMENT: ValueError, lib.TALLY_E_MEMORY: MemoryError}


def text(value: Any) -> str:
    """A C string as str; "" for NULL."""
    return "" if value == ffi.NULL else ffi.string(value).decode("utf-8", "replace")


def fail(status: int) -> NoReturn:
    """Raises the exception of a status, with the text of this thread's last failure."""
    raise ERRORS.get(status, DeviceError)(text(lib.tally_last_error()) or text(lib.tally_status_text(status)))


def check(status: int) -> None:
    """Raises unless the status is TALLY_OK."""
    if status:
        fail(status)


def c_text(value: str) -> bytes:
    """A name as C text. ValueError for one with a zero inside, where C would end it."""
    if "\0" in value:
        raise ValueError(f"{value!r} has a zero character")
    return value.encode()


def real_number(name: str, value: Any) -> float:
    """An argument as a float."""
    try:
        if isinstance(value, (str, bytes, bytearray)):  # float() reads text
            raise TypeError
        number = float(value)
    except OverflowError:
        raise ValueError(f"{name} is an integer beyond every float") from None
    except (TypeError, ValueError):
        raise TypeError(f"{name}={value!r} is no number") from None
    try:
        whole = operator.index(value)  # integers of other libraries too
    except TypeError:
        return number
    if number != whole:
        raise ValueError(f"{name}={whole} has more digits than a float keeps: it would be {number:.0f}")
    return number


class Bound:
    """An object of this process and its device, which has no copy."""

    def __reduce_ex__(self, _: Any) -> NoReturn:
        raise TypeError(
            f"a {type(self).__name__} is not copied or pickled: make another of the same arguments, in each process"
        )


class Dtype:
    """An item type of the library."""

    __slots__ = ("number", "name", "bytes", "kind", "align", "long_name", "code", "typestr", "format")

    def __init__(self, number: int) -> None:
        self.number = number
        self.name = text(lib.tally_dtype_name(number))
        self.bytes = int(lib.tally_dtype_bytes(number))
        kind = int(lib.tally_dtype_kind(number))
        #: DLPack's code of the type
        self.code = {
            lib.TALLY_KIND_FLOAT: 2,
            lib.TALLY_KIND_SIGNED: 0,
            lib.TALLY_KIND_UNSIGNED: 1,
            lib.TALLY_KIND_BOOL: 6,
            lib.TALLY_KIND_COMPLEX: 5,
        }[kind]
        if self.name == "bf16":
            self.code = 4
        self.kind = {0: "i", 1: "u", 2: "f", 4: "f", 5: "c", 6: "b"}[self.code]
        self.align = self.bytes // 2 if self.kind == "c" else self.bytes
        word = {"i": "int", "u": "uint", "f": "float", "c": "complex"}.get(self.kind, "bool")
        #: the name that NumPy and the array API use
        self.long_name = "bfloat16" if self.name == "bf16" else word if word == "bool" else f"{word}{8 * self.bytes}"
        self.typestr = ("|" if self.bytes == 1 else "<") + ("V" if self.name == "bf16" else self.kind) + str(self.bytes)
        #: struct's letter; "" where it has none
        self.format = {
            "f16": "e",
            "f32": "f",
            "f64": "d",
            "i8": "b",
            "u8": "B",
            "i16": "h",
            "u16": "H",
            "i32": "i",
            "u32": "I",
            "i64": "q",
            "u64": "Q",
            "bool": "?",
        }.get(self.name, "")

    def __repr__(self) -> str:
        return self.long_name


DTYPES: "dict[int, Dtype]" = {number: Dtype(number) for number in range(1, lib.TALLY_DTYPE_END)}
#: by the library's name and by NumPy's
BY_NAME: "dict[str, Dtype]" = {name: d for d in DTYPES.values() for name in (d.name, d.long_name)}
BY_TYPESTR: "dict[str, Dtype]" = {d.typestr: d for d in DTYPES.values() if d.name != "bf16"}
BY_DLPACK: "dict[tuple[int, int], Dtype]" = {(d.code, 8 * d.bytes): d for d in DTYPES.values()}
BY_NUMBER = DTYPES
#: types of masks; comparisons of OpenCL, and so pyopencl's, give int8
MASKS = ("bool", "u8", "i8")
#: buffers name their items by struct's letters; "l" and "L" have the platform's size
BY_FORMAT: "dict[str, Dtype]" = {d.format: d for d in DTYPES.values() if d.format}
BY_FORMAT.update(
    {
        "l": BY_NAME[f"i{8 * ffi.sizeof('long')}"],
        "L": BY_NAME[f"u{8 * ffi.sizeof('long')}"],
        "n": BY_NAME[f"i{8 * ffi.sizeof('ssize_t')}"],
        "N": BY_NAME[f"u{8 * ffi.sizeof('size_t')}"],
        "Zf": BY_NAME["c64"],
        "Zd": BY_NAME["c128"],
        "c": BY_NAME["u8"],
    }
)


def _codes() -> "dict[str, Dtype]":
    """The type that a string names, by NumPy's names and codes or the library's own names."""
    made = {d.name: d for d in DTYPES.values() if d.name not in ("i8", "u8", "f16")}
    made.update({d.long_name: d for d in DTYPES.values()})
    made.update(_letters())
    for d in DTYPES.values():
        for code in () if d.name == "bf16" else ("?", "b1") if d.kind == "b" else (d.typestr[1:],):
            made.update({order + code: d for order in ("", "<", "|", "=")})
    return made


def _letters() -> "dict[str, Dtype]":
    """NumPy's codes of one letter, and its names without a size."""
    long = 8 * ffi.sizeof("long")
    names = {
        "? bool": "bool",
        "b byte": "i8",
        "B ubyte": "u8",
        "h short": "i16",
        "H ushort": "u16",
        "i intc": "i32",
        "I uintc": "u32",
        "l long": f"i{long}",
        "L ulong": f"u{long}",
        "q longlong p intp int": "i64",
        "Q ulonglong P uintp uint": "u64",
        "e half": "f16",
        "f single": "f32",
        "d double float": "f64",
        "F csingle": "c64",
        "D cdouble complex": "c128",
    }
    return {word: BY_NAME[to] for words, to in names.items() for word in words.split()}


#: by what a caller may write. "i8" is NumPy's int64 here and the library's int8 in BY_NAME
BY_CODE = _codes()
BY_LONG_NAME: "dict[str, Dtype]" = {d.long_name: d for d in DTYPES.values()}
#: NumPy's classes that are not named as their items: before NumPy 2 that of bool too
BY_LONG_NAME.update({"longlong": BY_NAME["i64"], "ulonglong": BY_NAME["u64"], "bool_": BY_NAME["bool"]})
_PYTHON_TYPES = {bool: "bool", int: "int64", float: "float64", complex: "complex128"}


def dtype_of_name(dtype: Any) -> Dtype:
    """The item type that a dtype argument names: "float32", "f4", numpy.float32, numpy.dtype,
    torch.float32, float, or a Dtype. A code has NumPy's meaning: "i8" is int64."""
    if isinstance(dtype, Dtype):
        return dtype
    if isinstance(dtype, type) and dtype in _PYTHON_TYPES:
        return BY_NAME[_PYTHON_TYPES[dtype]]
    if isinstance(dtype, str):
        if dtype.lstrip("<|=") == "f16":
            raise TypeError(f"dtype {dtype!r} is ambiguous, NumPy's long double or half: say 'float16'")
        found = BY_CODE.get(dtype) or (BY_CODE.get(dtype[1:]) if len(dtype) == 2 and dtype[0] in "<|=" else None)
        if found is None and dtype in ("g", "G", "longdouble", "clongdouble"):
            raise TypeError(f"dtype {dtype!r} is NumPy's long double, which tally has not: say 'float64'")
        if found is None and dtype[:1] == ">" and dtype[1:] in BY_CODE:
            raise TypeError(f"dtype {dtype!r} is byte-swapped: results have this machine's order, {dtype[1:]!r}")
    elif getattr(dtype, "byteorder", "=") == ">":
        raise TypeError(f"dtype {dtype!r} is byte-swapped: results have this machine's order, '{dtype.name}'")
    else:
        name = getattr(dtype, "name", None) or getattr(dtype, "__name__", None) or str(dtype).rpartition(".")[2]
        found = BY_LONG_NAME.get(str(name))
    if not found:
        names = ", ".join(d.long_name for d in DTYPES.values())
        raise TypeError(f"dtype {dtype!r} is none of tally's: {names}")
    return found


def _ops() -> "dict[str, int]":
    return {text(lib.tally_op_name(number)): number for number in range(1, lib.TALLY_OP_END)}


OPS = _ops()
#: names of functions here that are not the op's own
_OTHER_NAMES = {"absmax": "amax", "norm": "nrm2"}


def op_number(name: Any) -> int:
    """The op of that name. Raises TypeError for what is no name."""
    if not isinstance(name, str):
        kind = type(name).__name__
        raise TypeError(f"op: a name, not an {kind}, here" if kind == "Op" else f"op: a name or an Op, not {kind}")
    number = OPS.get(_OTHER_NAMES.get(name, name))
    if number is None:
        raise ValueError(f"no op '{name}': there are {' '.join([*OPS, *_OTHER_NAMES])}")
    return number
