# The binding that cffi makes of the public headers (setup.py).
from typing import Any

ffi: Any
lib: Any
