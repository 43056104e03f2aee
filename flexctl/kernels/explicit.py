"""Linear models: central differences, and exact steps.

* `run_explicit`: velocity Verlet, damping taken at the end of the step.
* `run_exact`: x+ = Phi x + G0 u(start) + G1 u(end), exact for inputs that are linear within a step.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import float64, int64, types

from .jit import entry, kernel
from .law import control
from .lu import factor, solve
from .model import OUTPUT
from .stepper import bounded
from .tables import ACTING, COURSE, INT, MAT, VEC
from .vectors import put


@entry(int64(MAT, INT, int64))
def factored(ab, pivots, w):  # type: ignore[no-untyped-def]
    """`lu.factor` for callers in Python."""
    return factor(ab, pivots, w)


@kernel
def add_product(ab, w, x, c, out):  # type: ignore[no-untyped-def]
    """Compute out += c S x for a banded matrix S in the storage ab[2 w + i - j, j]."""
    n = x.size
    for j in range(n):
        cx = c * x[j]
        for i in range(max(0, j - w), min(n - 1, j + w) + 1):
            out[i] += ab[2 * w + i - j, j] * cx


@kernel
def write(record, k, y, u, q, v):  # type: ignore[no-untyped-def]
    """Record grid point k."""
    put(y, record.y[k])
    put(u, record.u[k])
    if record.q.shape[0] > 1:
        put(q, record.q[k])
        put(v, record.v[k])


class Band(NamedTuple):
    """Matrices of half bandwidth w in the storage ab[2 w + i - j, j], and factors of them."""

    mass: np.ndarray
    mass_pivots: np.ndarray
    damped: np.ndarray  # factors of M + h D / 2 for the constant step h
    damped_pivots: np.ndarray
    D: np.ndarray
    K: np.ndarray
    B: np.ndarray  # (n, p)
    reals: np.ndarray  # constants of the sensors
    ints: np.ndarray
    w: int


class Motion(NamedTuple):
    """Coordinates, rates and accelerations."""

    q: np.ndarray
    v: np.ndarray
    a: np.ndarray


BAND = types.NamedTuple((MAT, INT, MAT, INT, MAT, MAT, MAT, VEC, INT, int64), Band)
MOTION = types.NamedUniTuple(VEC, 3, Motion)


@entry(types.UniTuple(float64, 4)(types.FunctionType(OUTPUT), BAND, MOTION, ACTING, COURSE))
def run_explicit(output, band, motion, acting, course):  # type: ignore[no-untyped-def]
    """Central differences with a constant step from course.span[0] to course.span[1]."""
    mass, mass_pivots, damped, damped_pivots, D, K, B, reals, ints, w = band
    (q, v, a), (law, memory, held, u) = motion, acting
    tables, record, first, last = course.tables, course.record, course.span[0], course.span[1]
    n, p = q.size, u.size
    t = tables.t
    r, y, before = np.empty(n), np.empty(record.y.shape[1]), np.empty(p)
    for k in range(first, last):
        h = tables.h[k]
        output(q, v, a, u, reals, ints, y)
        put(u, before)
        if control(law, k, y, tables, memory, held, u):
            for i in range(n):
                r[i] = 0.0
                for j in range(p):
                    r[i] += B[i, j] * (u[j] - before[j])
            solve(mass, mass_pivots, w, r)
            for i in range(n):
                a[i] += r[i]
        write(record, k, y, u, q, v)
        for i in range(n):
            v[i] += 0.5 * h * a[i]
            q[i] += h * v[i]
            r[i] = 0.0
        for j in range(p):
            u[j] = held[j] + tables.before[k + 1, j]
            for i in range(n):
                r[i] += B[i, j] * u[j]
        add_product(K, w, q, -1.0, r)
        add_product(D, w, v, -1.0, r)
        solve(damped, damped_pivots, w, r)
        for i in range(n):
            a[i] = r[i]
            v[i] += 0.5 * h * r[i]
        if not bounded(q):
            return 3.0, t[k + 1], 0.0, 0.0
    output(q, v, a, u, reals, ints, y)
    write(record, last, y, u, q, v)
    return 0.0, t[last], 0.0, 0.0


class Exactly(NamedTuple):
    """x+ = Phi x + G0 u(start) + G1 u(end), y = C x + D u."""

    Phi: np.ndarray
    G0: np.ndarray
    G1: np.ndarray
    C: np.ndarray
    D: np.ndarray


EXACTLY = types.NamedUniTuple(MAT, 5, Exactly)


@entry(types.UniTuple(float64, 4)(EXACTLY, VEC, ACTING, COURSE))
def run_exact(system, x, acting, course):  # type: ignore[no-untyped-def]
    """Exact discretisation with a constant step; record.q and record.v take the state x."""
    (Phi, G0, G1, C, D), (law, memory, held, u) = system, acting
    tables, record, first, last = course.tables, course.record, course.span[0], course.span[1]
    p = u.size
    t = tables.t
    start = np.empty(p)
    for k in range(first, last):
        y = C @ x + D @ u
        control(law, k, y, tables, memory, held, u)
        put(u, start)
        write(record, k, y, u, x, x)
        for i in range(p):
            u[i] = held[i] + tables.before[k + 1, i]
        put(Phi @ x + G0 @ start + G1 @ u, x)
        if not bounded(x):
            return 3.0, t[k + 1], 0.0, 0.0
    write(record, last, C @ x + D @ u, u, x, x)
    return 0.0, t[last], 0.0, 0.0
