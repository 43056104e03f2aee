"""Solves with row interchanges or a triangular matrix at many complex frequencies, and the transfer matrix from them.

`banded_lu` solves Z(s) x = b for unsymmetric bands and for frequencies at which the symmetric kernel broke down;
`triangular` solves (s I - T) x = b for an upper triangular T (a Schur form); `assemble` puts rigid and elastic parts
together.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from numba import int64, types

from .arrays import CCUBE, CMAT, CUBE, MAT, RCMAT, RCUBE, RCVEC, RINT
from .groups import group
from .jit import entry, kernel

SINGULAR = 16 * 2.2e-16  # a pivot below this part of its row's entries is zero to working precision
LANES = 32  # right-hand sides side by side

Array = npt.NDArray[Any]


@entry(types.void(RCUBE, RCUBE, RCVEC, RINT, CCUBE), error_model="numpy")
def banded_lu(full: Array, columns: Array, s: Array, points: Array, gram: Array) -> None:
    """Overwrite gram[i, j] = c_i^T Z(s)^-1 c_j at the given points by LU with row interchanges; NaN if Z is singular.

    Parameters
    ----------
    full : ndarray (n, 2 w + 1, 3)
        Entries (i, i - w + c) of K, D and M.
    columns : ndarray (n, m, 3)
        c(s) = c0 + s c1 + s^2 c2.
    s : ndarray
        Complex frequencies.
    points : ndarray of int
        The frequencies to solve.
    gram : ndarray (m, m, len(s))
        Result.
    """
    n, width, _ = full.shape
    w, m = width // 2, columns.shape[1]
    rows = np.zeros((n, 3 * w + 1), np.complex128)  # row i holds columns i .. i + 2 w once eliminated
    x, c = np.zeros((n, m), np.complex128), np.zeros((n, m), np.complex128)
    size = np.zeros(n)
    for point in points:
        z = s[point]
        rows[:] = 0.0
        size[:] = 0.0
        for i in range(n):
            for k in range(max(0, w - i), min(width, n - i + w)):
                rows[i, k] = full[i, k, 0] + z * (full[i, k, 1] + z * full[i, k, 2])
                size[i - w + k] = max(size[i - w + k], abs(rows[i, k]))
            for q in range(m):
                x[i, q] = c[i, q] = columns[i, q, 0] + z * (columns[i, q, 1] + z * columns[i, q, 2])
        regular = _eliminate(rows, x, w, size)
        for p in range(m):
            for q in range(m):
                total = 0j
                for i in range(n):
                    total += c[i, p] * x[i, q]
                gram[p, q, point] = total if regular else complex(np.nan, np.nan)


@kernel(error_model="numpy")
def _eliminate(rows: Array, x: Array, w: int, size: Array) -> bool:
    """Solve in place; return False if a pivot is zero to working precision beside its column of that `size`."""
    n, m = x.shape
    for j in range(n):
        below = min(w, n - 1 - j)
        best = 0
        for r in range(1, below + 1):
            if abs(rows[j + r, w - r]) > abs(rows[j + best, w - best]):
                best = r
        if best > 0:
            for k in range(2 * w + 1):
                rows[j, w + k], rows[j + best, w - best + k] = rows[j + best, w - best + k], rows[j, w + k]
            for q in range(m):
                x[j, q], x[j + best, q] = x[j + best, q], x[j, q]
        if abs(rows[j, w]) <= SINGULAR * size[j]:
            return False
        for r in range(1, below + 1):
            f = rows[j + r, w - r] / rows[j, w]
            if f != 0.0:
                for k in range(1, 2 * w + 1):
                    rows[j + r, w - r + k] -= f * rows[j, w + k]
                for q in range(m):
                    x[j + r, q] -= f * x[j, q]
    for j in range(n - 1, -1, -1):
        for q in range(m):
            for k in range(1, min(2 * w + 1, n - j)):
                x[j, q] -= rows[j, w + k] * x[j + k, q]
            x[j, q] /= rows[j, w]
    return True


@entry(types.void(RCMAT, RCVEC, CMAT), fastmath={"contract"}, error_model="numpy")
def triangular(T: Array, s: Array, x: Array) -> None:
    """Solve (s_f I - T) x_f = b_f in place for every column f of x, T upper triangular; inf or NaN at an eigenvalue."""
    n = T.shape[0]
    xr, xi = np.zeros((n, LANES)), np.zeros((n, LANES))
    sr, si = np.zeros(LANES), np.zeros(LANES)
    for block in range(0, s.size, LANES):
        size = min(LANES, s.size - block)
        for f in range(LANES):
            z = s[block + min(f, size - 1)]
            sr[f], si[f] = z.real, z.imag
        for i in range(n):
            for f in range(size):
                xr[i, f], xi[i, f] = x[i, block + f].real, x[i, block + f].imag
        for j in range(n - 1, -1, -1):
            tr, ti = T[j, j].real, T[j, j].imag
            for f in range(LANES):
                u, v = sr[f] - tr, si[f] - ti
                square = u * u + v * v
                p, q = xr[j, f], xi[j, f]
                xr[j, f], xi[j, f] = (p * u + q * v) / square, (q * u - p * v) / square
            for i in range(j):
                tr, ti = T[i, j].real, T[i, j].imag
                if tr != 0.0 or ti != 0.0:
                    for f in range(LANES):
                        xr[i, f] += tr * xr[j, f] - ti * xi[j, f]
                        xi[i, f] += tr * xi[j, f] + ti * xr[j, f]
        for i in range(n):
            for f in range(size):
                x[i, block + f] = complex(xr[i, f], xi[i, f])


class Channels(NamedTuple):
    """Inputs and outputs.

    Attributes
    ----------
    c, b : ndarray (ny, m, 3), (m, p)
        Outputs (polynomials in s) and inputs in terms of the elastic columns.
    Du : ndarray (ny, p)
        Feed-through.
    Cr, Br, W : ndarray (ny, r, 3), (r, p), (r, r, 2)
        C(s) R, R^T B and W(s), as polynomials in s.
    """

    c: np.ndarray
    b: np.ndarray
    Du: np.ndarray
    Cr: np.ndarray
    Br: np.ndarray
    W: np.ndarray


CHANNELS = group((CUBE, MAT, MAT, CUBE, MAT, CUBE), Channels)


@entry(types.void(CCUBE, RCVEC, CHANNELS, int64, CCUBE), error_model="numpy")
def assemble(gram: Array, s: Array, channels: Channels, k: int, H: Array) -> None:
    """Put the transfer matrix together from the elastic solves and the rigid inertia.

    With x = q - R r the balance splits into the elastic one, Z x + s^k V r = f, and the rigid one,
    s^k V^T x + s^k W(s) r = R^T f, where s^k V(s) = s D R + s^2 M R and s^k W(s) = R^T (s D + s^2 M) R; k = 2 if
    D R = 0, else 1. Eliminating x and r gives

        H = c^T Z^-1 b + (C R - s^k c^T Z^-1 V) [s^k (W - s^k V^T Z^-1 V)]^-1 (R^T B - s^k V^T Z^-1 b) + Du.

    Parameters
    ----------
    gram : ndarray (m + r, m + r, ns)
        Products of the m elastic columns, then of the r columns V.
    s : ndarray
        Complex frequencies.
    channels : Channels
        Inputs and outputs.
    k : int
        Power of s taken out of the rigid part.
    H : ndarray (ny, p, ns)
        Result.
    """
    c, b, Du, Cr, Br, W = channels
    ny, m, _ = c.shape
    r, p = Br.shape
    S, T = np.zeros((r, r), np.complex128), np.zeros((r, p), np.complex128)
    row = np.zeros(m + r, np.complex128)  # c^T Z^-1 applied to every column
    for f in range(s.size):
        z = s[f]
        zk = z * z if k == 2 else z
        for i in range(r):
            for j in range(r):
                S[i, j] = zk * (W[i, j, 0] + z * W[i, j, 1] - zk * gram[m + i, m + j, f])
            for u in range(p):
                T[i, u] = Br[i, u]
                for a in range(m):
                    if b[a, u] != 0.0:
                        T[i, u] -= zk * gram[m + i, a, f] * b[a, u]
        _solve_small(S, T)
        for y in range(ny):
            row[:] = 0.0
            for a in range(m):
                weight = c[y, a, 0] + z * (c[y, a, 1] + z * c[y, a, 2])
                if weight != 0.0:
                    for e in range(m + r):
                        row[e] += weight * gram[a, e, f]
            for u in range(p):
                total = complex(Du[y, u])
                for a in range(m):
                    total += row[a] * b[a, u]
                for i in range(r):
                    total += (Cr[y, i, 0] + z * (Cr[y, i, 1] + z * Cr[y, i, 2]) - zk * row[m + i]) * T[i, u]
                H[y, u, f] = total


@kernel(error_model="numpy")
def _solve_small(S: Array, T: Array) -> None:
    """Overwrite T by S^-1 T, with row interchanges; NaN where S is singular."""
    r, p = T.shape
    for j in range(r):
        best = j
        for i in range(j + 1, r):
            if abs(S[i, j]) > abs(S[best, j]):
                best = i
        if best != j:
            for q in range(r):
                S[j, q], S[best, q] = S[best, q], S[j, q]
            for u in range(p):
                T[j, u], T[best, u] = T[best, u], T[j, u]
        if S[j, j] == 0.0:  # numba raises where a complex number is divided by zero
            T[:] = complex(np.nan, np.nan)
            return
        for i in range(j + 1, r):
            f = S[i, j] / S[j, j]
            for q in range(j + 1, r):
                S[i, q] -= f * S[j, q]
            for u in range(p):
                T[i, u] -= f * T[j, u]
    for j in range(r - 1, -1, -1):
        for u in range(p):
            for q in range(j + 1, r):
                T[j, u] -= S[j, q] * T[q, u]
            T[j, u] /= S[j, j]
