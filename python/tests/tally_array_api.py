# SPDX-License-Identifier: MIT
"""A namespace of the array API (2024.12) over NumPy's arrays in which tally computes what it has.
data-apis/array-api-tests takes it: ARRAY_API_TESTS_MODULE=tally_array_api."""

import functools as _functools

import numpy as _numpy
from numpy import *  # noqa: F403
from numpy import bool_ as bool, fft, linalg as _linalg  # noqa: F401

try:
    from numpy import __array_namespace_info__  # noqa: F401
except ImportError:  # NumPy 1: its arrays do, though its own functions are not all of the standard
    pass

import tally as _tally

#: the suite takes the standard of this version
__array_api_version__ = "2024.12"
#: the functions that are tally's
OURS = (
    "sum prod min max mean var std any all count_nonzero argmin argmax cumulative_sum cumulative_prod vecdot take"
).split()


def _arrays(function):
    """The standard's functions return arrays: of no axes too. The signature stays, which the suite
    reads."""

    @_functools.wraps(function)
    def call(*arrays, **given):
        return _numpy.asarray(function(*arrays, **given))

    return call


for _name in OURS:
    globals()[_name] = _arrays(getattr(_tally, _name))


class linalg:  # noqa: N801
    """The standard's linalg, with tally's vector_norm and vecdot."""

    vector_norm = staticmethod(_arrays(_tally.vector_norm))
    vecdot = staticmethod(_arrays(_tally.vecdot))


for _name in dir(_linalg):
    if not _name.startswith("_") and not hasattr(linalg, _name):
        setattr(linalg, _name, staticmethod(getattr(_linalg, _name)))
