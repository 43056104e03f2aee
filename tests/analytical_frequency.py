"""Closed forms and independent formulas for modes, responses, phases and margins.

Nothing here uses the library, except to read the matrices of a plant.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.optimize import brentq

FloatArray = npt.NDArray[np.float64]
ComplexArray = npt.NDArray[np.complex128]


def clamped_free(mode: int) -> float:
    """beta L of a clamped-free Euler-Bernoulli beam: cos x cosh x = -1 (Blevins 1979, table 8-1)."""
    return _root(lambda x: np.cos(x) + 1.0 / np.cosh(x), (mode - 0.5) * np.pi)


def pinned_free_hub(mode: int, length: float, density: float, hub: float) -> float:
    """beta L of a beam on a hinged hub of inertia J, free at the tip.

    w = a (sin bx) + b (cos bx - cosh bx) + c sinh bx with w(0) = 0, EI w''(0) = -omega^2 J w'(0) (hub torque balance),
    w''(L) = w'''(L) = 0; omega^2 = EI b^4 / rho. With j = J b^3 / rho:
    determinant of [w''(L), w'''(L), hub] over (a, b, c).
    """

    def f(x: float) -> float:
        j = hub * (x / length) ** 3 / density
        # unknowns a (sin), b (cos - cosh), c (sinh); columns scaled by 1/cosh x where they grow
        ch = np.cosh(x)
        rows = np.array(
            [
                [-np.sin(x), (-np.cos(x) - ch) / ch, np.sinh(x) / ch],
                [-np.cos(x), (np.sin(x) - np.sinh(x)) / ch, 1.0],
                [j, -2.0 / ch, j / ch],  # EI w''(0) + omega^2 J w'(0) = 0, divided by EI b^2
            ]
        )
        return float(np.linalg.det(rows))

    return _scan(f, mode)


def _scan(f: Any, mode: int) -> float:
    x = np.linspace(0.3, 0.3 + 4.0 * (mode + 1), 4000 * (mode + 1))
    values = np.array([f(v) for v in x])
    k = np.flatnonzero(np.sign(values[1:]) != np.sign(values[:-1]))[mode - 1]
    return float(brentq(f, x[k], x[k + 1], xtol=1e-14, rtol=8.9e-16))


def _root(f: Any, guess: float) -> float:
    return float(brentq(f, guess - 0.4, guess + 0.4, xtol=1e-14, rtol=8.9e-16))


def extended_response(plant: Any, s: ComplexArray) -> ComplexArray:
    """(Cq + s Cv + s^2 Ca)(s^2 M + s D + K)^-1 B + Du by banded elimination with row interchanges in 80-bit arithmetic.

    All frequencies at once, any symmetry; the plain textbook algorithm on window rows.
    """
    real, z = np.longdouble, np.asarray(s, np.clongdouble)
    n, p = plant.B.shape
    rows, columns = np.nonzero((plant.K != 0) | (plant.D != 0) | (plant.M != 0))
    w = int(np.max(np.abs(rows - columns)))
    A = np.zeros((n + w, 3 * w + 1, z.size), np.clongdouble)  # row i holds columns i - w .. i + 2 w
    for i, j in zip(rows, columns, strict=True):
        A[i, j - i + w] = real(plant.K[i, j]) + z * (real(plant.D[i, j]) + z * real(plant.M[i, j]))
    X = np.zeros((n + w, p, z.size), np.clongdouble)
    X[:n] = plant.B[:, :, None]
    for j in range(n):
        below = min(w, n - 1 - j)
        window = np.stack([A[j + r, w - r : 3 * w + 1 - r] for r in range(below + 1)])  # columns j .. j + 2 w
        right = X[j : j + below + 1].copy()
        best = np.argmax(np.abs(window[:, 0]), axis=0)
        for r in range(1, below + 1):
            at = best == r
            for block in (window, right):
                block[0][:, at], block[r][:, at] = block[r][:, at].copy(), block[0][:, at].copy()
        for r in range(1, below + 1):
            f = window[r, 0] / window[0, 0]
            window[r] -= f * window[0]
            right[r] -= f * right[0]
        for r in range(below + 1):
            A[j + r, w - r : 3 * w + 1 - r] = window[r]
        X[j : j + below + 1] = right
    for j in range(n - 1, -1, -1):
        for k in range(1, min(2 * w + 1, n - j)):
            X[j] -= A[j, w + k] * X[j + k]
        X[j] /= A[j, w]
    x = X[:n]
    C = [np.einsum("yn,npf->ypf", C.astype(real), x) for C in (plant.Cq, plant.Cv, plant.Ca)]
    return np.asarray(C[0] + z * (C[1] + z * C[2]) + plant.Du[:, :, None])


def factored_phase(zeros: ComplexArray, poles: ComplexArray, positive: bool, omega: FloatArray) -> FloatArray:
    """Phase [deg] of prod(s - z) / prod(s - p) along the axis, a sum of angles that are continuous in omega.

    `positive` is the sign of the leading coefficient at s -> 0+, where the angles start. Roots on the axis count as
    slightly left of it.
    """
    total = np.full(omega.size, 0.0 if positive else -180.0)
    for roots, sign in ((zeros, 1.0), (poles, -1.0)):
        for a in roots:
            side = -1.0 if a.real > 1e-7 * abs(a) else 1.0
            distance = max(abs(a.real), 1e-12 * abs(a))
            angle = np.degrees(np.arctan2(omega - a.imag, distance)) if a != 0.0 else 90.0
            total = total + sign * side * angle
    return total
