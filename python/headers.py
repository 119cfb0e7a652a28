# SPDX-License-Identifier: MIT
"""Turns tally's public headers into declarations for a C parser that has no preprocessor. The
package's binding and tests/form/declarations.py share it, so that no second list of the API exists.
"""

import pathlib
import re


def names(include: pathlib.Path) -> "list[str]":
    """The names of the headers that tally.h includes, in an order in which each has what it
    needs."""
    found: "list[str]" = []

    def add(name: str) -> None:
        for other in re.findall(r"#include <tally/(\w+)\.h>", (include / "tally" / f"{name}.h").read_text()):
            add(other)
        if name not in found:
            found.append(name)

    add("tally")
    return found


def plain(text: str) -> str:
    """Removes comments, directives, TALLY_API, and lines for C++. Numbers stay, as #define."""
    text = re.sub(r"/\*.*?\*/", " ", text, flags=re.S)
    text = re.sub(r"#ifdef __cplusplus.*?#endif", "", text, flags=re.S)
    numbers = re.findall(r"(?m)^#define (\w+ \d+)[ \t]*$", text)
    text = re.sub(r"(?m)^\s*#.*(?:\\\n.*)*$", "", text)
    return "".join(f"#define {number}\n" for number in numbers) + text.replace("TALLY_API ", "")


def declarations(include: pathlib.Path, others: "tuple[str, ...]" = ()) -> str:
    """The declarations of all public headers and of `others`, names such as "cuda"."""
    all_names = [*names(include), *others]
    return "".join(plain((include / "tally" / f"{name}.h").read_text()) for name in all_names)
