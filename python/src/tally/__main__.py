# SPDX-License-Identifier: MIT
"""`python -m tally` is the program `tally`."""

import os
import pathlib
import shutil
import sys


def main() -> None:
    """Becomes the program: the package's own, or the one on the path."""
    own = pathlib.Path(__file__).parent / "tally"
    program = str(own) if own.is_file() else shutil.which("tally")
    if program is None:
        sys.exit(
            "python -m tally: this package was built without the program (json-c was missing), and none is on the path"
        )
    os.execv(program, ["tally", *sys.argv[1:]])


if __name__ == "__main__":
    main()
