"""Linear models: central differences, and exact steps.

* `run_explicit`: velocity Verlet, damping taken at the end of the step.
* `run_exact`: x+ = Phi x + G0 u(start) + G1 u(end) + G2 bulge, exact for inputs that are quadratic within a step.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import float64, int64, types

from .groups import group
from .jit import entry, kernel
from .law import sampled
from .linear import turn
from .lu import factor, solve
from .model import OUTPUT
from .pieces import bounded
from .tables import ACTING, COURSE, DIVERGED, DONE, INT, MAT, VEC


@entry(int64(MAT, INT, int64))
def factored(ab, pivots, w):
    """`lu.factor` for callers in Python."""
    return factor(ab, pivots, w)


@kernel
def add_product(ab, w, x, c, out):
    """Compute out += c S x for a banded matrix S in the storage ab[2 w + i - j, j]."""
    n = x.size
    for j in range(n):
        cx = c * x[j]
        for i in range(max(0, j - w), min(n - 1, j + w) + 1):
            out[i] += ab[2 * w + i - j, j] * cx


@kernel
def write(record, k, y, u, q, v):
    """Record grid point k."""
    record.y[k] = y
    record.u[k] = u
    if record.q.shape[0] > 1:
        record.q[k] = q
        record.v[k] = v


class March(NamedTuple):
    """A linear model for central differences: band matrices, and the factors of M and of M + h D / 2."""

    reals: np.ndarray
    ints: np.ndarray
    mass: np.ndarray
    mass_pivots: np.ndarray
    damped: np.ndarray
    damped_pivots: np.ndarray
    D: np.ndarray
    K: np.ndarray
    B: np.ndarray
    w: int


MARCH = group((VEC, INT, MAT, INT, MAT, INT, MAT, MAT, MAT, int64), March)


class Exact(NamedTuple):
    """x+ = Phi x + G0 u(start) + G1 u(end) + G2 bulge, y = C x + D u and what `turned` makes of it."""

    Phi: np.ndarray
    G0: np.ndarray
    G1: np.ndarray
    G2: np.ndarray
    C: np.ndarray
    D: np.ndarray
    turned: np.ndarray


EXACT = group((MAT,) * 7, Exact)


@entry(types.UniTuple(float64, 4)(types.FunctionType(OUTPUT), MARCH, VEC, VEC, VEC, ACTING, COURSE))
def run_explicit(output, form, q, v, a, acting, course):
    """Central differences for the constant step h of the factors."""
    law, memory, held, u = acting.law, acting.memory, acting.held, acting.u
    tables, record = course.tables, course.record
    n, p, w, t, last = q.size, u.size, form.w, tables.t, course.span[1]
    r, y, before = np.empty(n), np.empty(record.y.shape[1]), np.empty(p)
    for k in range(course.span[0], last):
        h = tables.h[k]
        output(q, v, a, u, form.reals, form.ints, y)
        before[:] = u
        if sampled(law, k, y, tables, memory, held, u):
            r[:] = form.B @ (u - before)
            solve(form.mass, form.mass_pivots, w, r)
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
                r[i] += form.B[i, j] * u[j]
        add_product(form.K, w, q, -1.0, r)
        add_product(form.D, w, v, -1.0, r)
        solve(form.damped, form.damped_pivots, w, r)
        for i in range(n):
            a[i] = r[i]
            v[i] += 0.5 * h * r[i]
        if not bounded(q):
            return DIVERGED, t[k + 1], 0.0, 0.0
    output(q, v, a, u, form.reals, form.ints, y)
    write(record, last, y, u, q, v)
    return DONE, t[last], 0.0, 0.0


@entry(types.UniTuple(float64, 4)(EXACT, VEC, ACTING, COURSE))
def run_exact(form, x, acting, course):
    """Exact discretisation with a constant step; record.q and record.v take the state x."""
    u, tables, record, last = acting.u, course.tables, course.record, course.span[1]
    p, t = u.size, tables.t
    start = np.empty(p)
    for k in range(course.span[0], last):
        y = form.C @ x + form.D @ u
        turn(form.turned, y)
        sampled(acting.law, k, y, tables, acting.memory, acting.held, u)
        start[:] = u
        write(record, k, y, u, x, x)
        for i in range(p):
            u[i] = acting.held[i] + tables.before[k + 1, i]
        x[:] = form.Phi @ x + form.G0 @ start + form.G1 @ u + form.G2 @ tables.bulge[k]
        if not bounded(x):
            return DIVERGED, t[k + 1], 0.0, 0.0
    y = form.C @ x + form.D @ u
    turn(form.turned, y)
    write(record, last, y, u, x, x)
    return DONE, t[last], 0.0, 0.0
