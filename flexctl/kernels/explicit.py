"""Linear models: central differences, and exact steps.

* `run_explicit`: velocity Verlet, damping taken at the end of the step.
* `run_exact`: x+ = Phi x + G0 u(start) + G1 u(end), exact for inputs that are linear within a step.
"""

from __future__ import annotations

import numpy as np
from numba import float64, int64, types

from .jit import entry, kernel
from .law import control
from .lu import factor, solve
from .model import OUTPUT
from .pieces import bounded
from .tables import INT, LAW, MAT, RECORD, TABLES, VEC


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
    record.y[k] = y
    record.u[k] = u
    if record.q.shape[0] > 1:
        record.q[k] = q
        record.v[k] = v


@entry(
    types.UniTuple(float64, 4)(
        types.FunctionType(OUTPUT), VEC, INT, MAT, INT, MAT, INT, MAT, MAT, MAT, int64,
        VEC, VEC, VEC, VEC, VEC, MAT, LAW, int64, int64, TABLES, RECORD,
    ),
)  # fmt: skip
def run_explicit(  # type: ignore[no-untyped-def]
    output, reals, ints, mass, mass_pivots, damped, damped_pivots, D, K, B, w, q, v, a, u, held, memory, law, first,
    last, tables, record,
):  # fmt: skip
    """Central differences with the factors of M (`mass`) and of M + h D / 2 (`damped`) for the constant step h."""
    n, p = q.size, u.size
    t = tables.t
    r, y, before = np.empty(n), np.empty(record.y.shape[1]), np.empty(p)
    for k in range(first, last):
        h = tables.h[k]
        output(q, v, a, u, reals, ints, y)
        before[:] = u
        if control(law, k, y, tables, memory, held, u):
            r[:] = B @ (u - before)
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


@entry(
    types.UniTuple(float64, 4)(MAT, MAT, MAT, MAT, MAT, VEC, VEC, VEC, MAT, LAW, int64, int64, TABLES, RECORD),
)
def run_exact(  # type: ignore[no-untyped-def]
    Phi, G0, G1, C, D, x, u, held, memory, law, first, last, tables, record
):
    """Exact discretisation with a constant step; record.q and record.v take the state x."""
    p = u.size
    t = tables.t
    start = np.empty(p)
    for k in range(first, last):
        y = C @ x + D @ u
        control(law, k, y, tables, memory, held, u)
        start[:] = u
        write(record, k, y, u, x, x)
        for i in range(p):
            u[i] = held[i] + tables.before[k + 1, i]
        x[:] = Phi @ x + G0 @ start + G1 @ u
        if not bounded(x):
            return 3.0, t[k + 1], 0.0, 0.0
    write(record, last, C @ x + D @ u, u, x, x)
    return 0.0, t[last], 0.0, 0.0
