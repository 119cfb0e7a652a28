#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Reads the public headers with a C parser without a preprocessor, as binding tools do. The parser
must find every enum and function.

declarations.py SOURCE. Without pycparser it prints "skipped: ...".
"""
import pathlib
import re
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "python"))
from headers import names, plain  # noqa: E402

try:
    from pycparser import c_ast, c_parser
except ImportError:
    print("skipped: no pycparser (Debian: python3-pycparser)")
    sys.exit(0)

# The types that the headers take from <stddef.h> and <stdint.h>.
TYPES = "typedef unsigned long size_t; typedef int int32_t; typedef long int64_t;" + "".join(
    f"typedef unsigned long {name};" for name in ("uint8_t", "uint32_t", "uint64_t"))


def main():
    include = pathlib.Path(sys.argv[1]) / "include"
    texts = {name: (include / "tally" / f"{name}.h").read_text() for name in names(include)}
    tree = c_parser.CParser().parse(TYPES + re.sub(r"(?m)^#.*$", "", "".join(plain(text) for text in texts.values())))
    functions, constants = set(), set()
    for node in tree.ext:
        if isinstance(node, c_ast.Decl) and isinstance(node.type, c_ast.FuncDecl):
            functions.add(node.name)
        kind = node.type.type if isinstance(node, c_ast.Typedef) and isinstance(node.type, c_ast.TypeDecl) else node.type
        if isinstance(kind, c_ast.Enum) and kind.values:
            constants.update(item.name for item in kind.values.enumerators)
    declared = set(re.findall(r"TALLY_API[^;(]*?\b(tally_\w+)\(", "".join(texts.values())))
    missing = sorted(declared - functions)
    for name in ("TALLY_SUM", "TALLY_F32", "TALLY_E_MEMORY", "TALLY_CLASS_GPU", "TALLY_EXCLUSIVE", "TALLY_UNCHECKED"):
        if name not in constants:
            missing.append(name)
    print(f"{len(functions)} functions, {len(constants)} constants of enums")
    if missing or len(functions) < 60 or len(constants) < 60:
        sys.exit(f"not found by the parser: {', '.join(missing) or 'too few'}")


main()
