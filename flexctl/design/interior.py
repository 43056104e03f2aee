"""The linear programme of a least slack by an interior point method, for some hundred variables and thousands of rows.

    least s >= floor with     low - width s <= M x <= high + width s,     |x| <= most

Every row has a width, so that there is always a point inside: the iteration (primal and dual, with Mehrotra's
correction, 1992) begins at x = 0 and stays inside. It is sure of its answer at every step. Its own slack can be had;
and multipliers z >= 0 of the rows give a bound that no x can beat. Often one of the two is enough to know whether the
least slack is above or below one, long before the least slack itself is known.

The rows of an optimal command are dense. There each step is one product of matrices, where a simplex method (HiGHS)
updates the factors of a dense basis thousands of times: 0.1 s against 1 to 18 s for two joints. All products are
scipy's, as is the factorisation: numpy has threads of its own, and where cores are few those of the two wait for each
other, at thirty times the price.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.linalg as sla
from scipy.linalg.blas import dgemv, dsyrk

from ..model import FloatArray

STEPS = 100
CLOSE = 1e-4
"""Distance of the slack from its bound at which it counts as the least one, in parts of it."""
_BACK = 0.995
"""Part of the way to the nearest row that is gone."""
_REFINED = 3
"""How often a step is solved for, each time for what is left."""
_RIDGES = (0.0, 1e-14, 1e-12, 1e-10)
"""Parts that are added to the diagonal, one after the other until there is a factor."""


@dataclass(frozen=True, eq=False)
class Least:
    """A point with its slack, and the bound below which no slack can be.

    Attributes
    ----------
    x : ndarray
        The variables.
    slack, bound : float
        What is had there, and what no x can beat.
    """

    x: FloatArray
    slack: float
    bound: float


@dataclass(frozen=True, eq=False)
class _Rows:
    """A X <= b of the unknowns X = (x, s): M x - width s from above and from below where `real`, ends of x and s."""

    M: FloatArray
    width: FloatArray
    real: FloatArray

    def times(self, X: FloatArray) -> FloatArray:
        x, wide = X[:-1], self.width * X[-1]
        y = dgemv(1.0, self.M.T, x, trans=1)
        return np.asarray(np.concatenate([y - wide, -y - wide, x, -x, [-X[-1]]])[self.real], float)

    def transposed(self, z: FloatArray) -> FloatArray:
        above, below, most, least, last = self._split(z)
        return np.append(dgemv(1.0, self.M.T, above - below) + most - least, -(above + below) @ self.width - last)

    def normal(self, weight: FloatArray) -> FloatArray:
        """Return A^T diag(weight) A, of which the triangle above the diagonal counts."""
        n = self.M.shape[1]
        above, below, most, least, last = self._split(weight)
        H = np.zeros((n + 1, n + 1))
        root = np.sqrt(above + below)[:, None] * self.M
        H[:n, :n] = dsyrk(1.0, root.T)
        H[:n, :n][np.diag_indices(n)] += most + least
        H[:n, n] = dgemv(1.0, self.M.T, (below - above) * self.width)
        H[n, n] = (above + below) @ self.width**2 + last[0]
        return H

    def _split(self, z: FloatArray) -> list[FloatArray]:
        m, n = self.M.shape
        every = np.zeros(2 * m + 2 * n + 1)
        every[self.real] = z
        return np.split(every, [m, 2 * m, 2 * m + n, 2 * m + 2 * n])


def least_slack(
    M: FloatArray, low: FloatArray, high: FloatArray, width: FloatArray, most: float, floor: float,
    enough: float | None = None,
) -> Least | None:
    """Return the point with the least slack, None where the iteration finds no answer.

    Parameters
    ----------
    M : ndarray
        (rows, variables).
    low, high : ndarray
        Of every row; infinite where there is none.
    width : ndarray
        How much wider a row is per unit of slack, positive.
    most, floor : float
        Largest size of every variable, and least slack.
    enough : float, optional
        Stop as soon as it is known whether the slack can be as small as this: by a point, or by a bound above it.
    """
    n = M.shape[1]
    b = np.concatenate([high, -low, np.full(2 * n, most), [-floor]])
    rows = _Rows(M, width, np.isfinite(b))
    X = np.zeros(n + 1)
    X[-1] = 2.0 * max(floor, float((-b[: 2 * len(M)] / np.tile(width, 2)).max(initial=0.0))) + 1.0
    b = b[rows.real]
    c = np.append(np.zeros(n), 1.0)
    t = b - rows.times(X)
    z = X[-1] / (b.size * t)
    best = -np.inf
    for _ in range(STEPS):
        residual = c + rows.transposed(z)
        lowest = min(residual[-1] * floor, residual[-1] * X[-1])
        best = max(best, float(lowest - most * np.abs(residual[:-1]).sum() - b @ z))
        if X[-1] - best <= CLOSE * X[-1] or (enough is not None and (X[-1] <= enough or best > enough)):
            return Least(X[:-1], float(X[-1]), best)
        step = _step(rows, residual, t, z)
        if step is None:
            return None
        dX, dt, dz = step
        X = X + _far(t, dt) * dX
        t = b - rows.times(X)
        z = z + _far(z, dz) * dz
        if not (np.isfinite(X).all() and t.min() > 0.0):
            return None
    return None


def _step(
    rows: _Rows, residual: FloatArray, t: FloatArray, z: FloatArray
) -> tuple[FloatArray, FloatArray, FloatArray] | None:
    """Return the changes of the unknowns, of the distances to the rows and of the multipliers."""
    H = rows.normal(z / t)
    scale = 1.0 / np.sqrt(np.diag(H))
    factor = _factored(H * scale * scale[:, None])
    if factor is None:
        return None

    def solved(product: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        right = -residual - rows.transposed(product / t)
        dX = np.zeros_like(right)
        for _ in range(_REFINED):  # the factor is that of a matrix as ill-conditioned as weights are apart
            left = right - rows.transposed(z / t * rows.times(dX))
            dX = dX + scale * sla.cho_solve(factor, scale * left, check_finite=False)
        dt = -rows.times(dX)
        return dX, dt, (product - z * dt) / t

    _, dt, dz = solved(-z * t)
    now, then = z @ t, (z + _far(z, dz) * dz) @ (t + _far(t, dt) * dt)
    centre = (then / now) ** 3 * now / t.size
    return solved(centre - z * t - dt * dz)


def _factored(H: FloatArray) -> tuple[FloatArray, bool] | None:
    """Return the factor of a matrix of ones on the diagonal; with a little more there where rounding needs it.

    That changes the way to the answer, and nothing in what is known of it: slack and bound are had of any step.
    """
    for more in _RIDGES:
        try:
            found: tuple[FloatArray, bool] = sla.cho_factor(H + more * np.eye(len(H)), check_finite=False)
        except sla.LinAlgError:
            continue
        return found
    return None


def _far(value: FloatArray, change: FloatArray) -> float:
    """Return how far one can go, at most 1, with all values above zero."""
    falling = change < 0.0
    return min(1.0, _BACK * float((-value[falling] / change[falling]).min(initial=np.inf)))
