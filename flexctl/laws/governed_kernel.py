"""Prediction of a sampled closed loop along a path whose pace is slowed, compiled.

    x+ = A x + B0 r + Bm rm + B1 r+,    z = C x + D r,    r = (p, p' s, p'' s^2 + p' w) of each channel at sigma

One step is one interval of the governor; r, rm, r+ belong to its begin, middle and end. The pace s changes at the rate
w within an interval; from one to the next w+ = keep w - (1 - keep) brake s.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import float64, int64, types

from ..kernels.arrays import MAT, VEC
from ..kernels.groups import group
from ..kernels.jit import entry, kernel


class Loop(NamedTuple):
    """The closed loop over one interval; see the module docstring."""

    A: np.ndarray
    B0: np.ndarray
    Bm: np.ndarray
    B1: np.ndarray
    C: np.ndarray
    D: np.ndarray


LOOP = group((MAT,) * 6, Loop)


class Path(NamedTuple):
    """Samples of value, rate, acceleration of each channel, their distance, and where the path comes to rest."""

    samples: np.ndarray
    spacing: float
    end: float


PATH = group((MAT, float64, float64), Path)


class Going(NamedTuple):
    """How the pace goes on: path parameter, pace and slope at the begin; see the module docstring for the rest."""

    sigma: float
    s: float
    w: float
    interval: float
    keep: float
    brake: float


GOING = types.NamedUniTuple(float64, 6, Going)


@kernel
def cubic(z, h, a, da, b, db):
    """Cubic at z in 0 .. 1 with values a, b and slopes da, db per unit of time at the ends, h apart."""
    c, d = 3.0 * (b - a) - h * (2.0 * da + db), 2.0 * (a - b) + h * (da + db)
    return a + z * (h * da + z * (c + z * d))


@entry(types.void(MAT, float64, float64, float64, float64, VEC))
def reference_at(path, spacing, sigma, s, w, r):
    """Fill r from the samples of the path (value, rate, acceleration of each channel) at sigma."""
    last = path.shape[0] - 1
    place = min(max(sigma / spacing, 0.0), float(last))
    k = min(int(place), last - 1)
    z = place - k
    for c in range(0, r.size, 3):
        a, da, dda = path[k, c], path[k, c + 1], path[k, c + 2]
        b, db, ddb = path[k + 1, c], path[k + 1, c + 1], path[k + 1, c + 2]
        rate = cubic(z, spacing, da, dda, db, ddb)
        r[c] = cubic(z, spacing, a, da, b, db)
        r[c + 1] = rate * s
        r[c + 2] = ((1.0 - z) * dda + z * ddb) * s * s + rate * w


@entry(int64(LOOP, PATH, GOING, VEC, int64, MAT))
def predict(loop, path, going, x, tail, z):
    """Fill the rows of z from the state x; return how many: to the end of the path, and `tail` more."""
    A, B0, Bm, B1, C, D = loop
    samples, spacing, end = path
    sigma, s, w, interval, keep, brake = going
    n, nr, nz = A.shape[0], B0.shape[1], C.shape[0]
    now, new = x.copy(), np.empty(n)
    r, middle, ahead = np.empty(nr), np.empty(nr), np.empty(nr)
    left = tail
    for k in range(z.shape[0]):
        reference_at(samples, spacing, min(sigma, end), s, w, r)
        for i in range(nz):
            total = 0.0
            for j in range(n):
                total += C[i, j] * now[j]
            for j in range(nr):
                total += D[i, j] * r[j]
            z[k, i] = total
        half = 0.5 * interval
        between = sigma + half * s + 0.5 * half**2 * w
        reference_at(samples, spacing, min(between, end), s + half * w, w, middle)
        sigma += interval * s + 0.5 * interval**2 * w
        s += interval * w
        reference_at(samples, spacing, min(sigma, end), s, w, ahead)
        for i in range(n):
            total = 0.0
            for j in range(n):
                total += A[i, j] * now[j]
            for j in range(nr):
                total += B0[i, j] * r[j] + Bm[i, j] * middle[j] + B1[i, j] * ahead[j]
            new[i] = total
        for i in range(n):
            now[i] = new[i]
        w = keep * w - (1.0 - keep) * brake * s
        if sigma >= end or s < 1e-3:
            left -= 1
            if left < 0:
                return k + 1
    return z.shape[0]
