# SPDX-License-Identifier: MIT
"""Parallel reductions of any array in place, with the same bits on every device.

>>> import numpy, tally
>>> x = numpy.arange(12, dtype="float32").reshape(3, 4)
>>> tally.sum(x, axis=0)
array([12., 15., 18., 21.], dtype=float32)

Arrays may be NumPy's, CuPy's, PyTorch's, JAX's or pyopencl's, or have DLPack,
__cuda_array_interface__ or the buffer protocol. docs/python.md is the manual.
"""

from tally._context import Context, Device, current, devices, missing
from tally._functions import (
    all,
    any,
    argmax,
    argmin,
    count_nonzero,
    iamax,
    logsumexp,
    max,
    mean,
    min,
    minmax,
    nanmax,
    nanmin,
    prod,
    ptp,
    std,
    sum,
    var,
)
from tally._norms import absmax, asum, band, bor, bxor, norm, sumsq, vector_norm
from tally._pairs import allclose, dist2, dot, vdot, vecdot
from tally._move import put, reduce_by_key, segment_reduce, take
from tally._op import Op
from tally._part import Part, reduce_part, share
from tally._plan import Feed, Plan, reduce
from tally._scan import cumulative_prod, cumulative_sum, scan
from tally._library import AxisError, DeviceError, lib as _lib, text as _text

__version__ = _text(_lib.tally_version())

__all__ = [
    "AxisError",
    "Context",
    "Device",
    "DeviceError",
    "Feed",
    "Op",
    "Part",
    "Plan",
    "absmax",
    "all",
    "allclose",
    "any",
    "argmax",
    "argmin",
    "asum",
    "band",
    "bor",
    "bxor",
    "count_nonzero",
    "cumulative_prod",
    "cumulative_sum",
    "current",
    "devices",
    "dist2",
    "dot",
    "iamax",
    "logsumexp",
    "max",
    "mean",
    "min",
    "minmax",
    "missing",
    "nanmax",
    "nanmin",
    "norm",
    "prod",
    "ptp",
    "put",
    "reduce",
    "reduce_by_key",
    "reduce_part",
    "scan",
    "segment_reduce",
    "share",
    "std",
    "sum",
    "sumsq",
    "take",
    "var",
    "vdot",
    "vecdot",
    "vector_norm",
]
