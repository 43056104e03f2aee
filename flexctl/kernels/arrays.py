"""Types of the arrays in signatures of compiled functions: contiguous, last index fastest.

What begins with R is only read; an array that may be written is accepted there as well.
"""

from __future__ import annotations

from numba import boolean, complex128, float64, int64, types

VEC, MAT, CUBE = float64[::1], float64[:, ::1], float64[:, :, ::1]
CVEC, CMAT, CCUBE = complex128[::1], complex128[:, ::1], complex128[:, :, ::1]
CHYPER = complex128[:, :, :, ::1]
INT, FLAGS = int64[::1], boolean[::1]
RVEC, RMAT, RCUBE = (types.Array(float64, n, "C", readonly=True) for n in (1, 2, 3))
RCVEC, RCMAT = (types.Array(complex128, n, "C", readonly=True) for n in (1, 2))
RINT = types.Array(int64, 1, "C", readonly=True)
