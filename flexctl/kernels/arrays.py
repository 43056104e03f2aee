"""Types of the arrays in signatures of compiled functions: contiguous, last index fastest.

What begins with R is only read; an array that may be written is accepted there as well. Not so within a named tuple,
where numba wants the very type: arrays in groups may be written, and `writable` makes them so.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import boolean, complex128, float64, int64, types

VEC, MAT, CUBE = float64[::1], float64[:, ::1], float64[:, :, ::1]
CVEC, CMAT, CCUBE = complex128[::1], complex128[:, ::1], complex128[:, :, ::1]
CHYPER = complex128[:, :, :, ::1]
INT, FLAGS = int64[::1], boolean[::1]
RVEC, RMAT, RCUBE = (types.Array(float64, n, "C", readonly=True) for n in (1, 2, 3))
RCVEC, RCMAT = (types.Array(complex128, n, "C", readonly=True) for n in (1, 2))
RINT = types.Array(int64, 1, "C", readonly=True)


def writable(*arrays: Any) -> list[Any]:
    """Return contiguous arrays that may be written, copied where they are not."""
    return [np.require(x, requirements=["C", "W"]) for x in arrays]
