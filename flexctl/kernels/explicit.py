"""Linear models: central differences, and exact steps.

* `run_explicit`: velocity Verlet, damping taken at the end of the step. Without inputs that jump this is the two-step
  march (M + h D / 2) q+ = (2 M - h^2 K) q - (M - h D / 2) q- + h^2 B u, in summed form: its rounding does not grow as
  that of the two-step form does, in which it acts as a spring to the ground.
* `run_exact`: x+ = Phi x + G0 u(start) + G1 u(end) + G2 bulge, exact for inputs that are quadratic within a step.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import float64, types

from .groups import group
from .jit import entry, kernel
from .law import sampled
from .linear import turn
from .model import OUTPUT
from .pieces import bounded
from .tables import ACTING, COURSE, DIVERGED, DONE, ENTRY, FAST, INT, MAT, VEC


@kernel(**FAST)
def write(record, k, y, u, q, v):
    """Record grid point k."""
    for i in range(y.size):
        record.y[k, i] = y[i]
    for i in range(u.size):
        record.u[k, i] = u[i]
    if record.q.shape[0] > 1:
        for i in range(q.size):
            record.q[k, i] = q[i]
            record.v[k, i] = v[i]


class March(NamedTuple):
    """A linear model for central differences of one step size.

    Square matrices stand by diagonals (`linear.diagonals`): those of a beam's finite differences are few, and loops
    along them are vector instructions.
    """

    reals: np.ndarray
    ints: np.ndarray
    K: np.ndarray
    D: np.ndarray  # without rows if nothing damps
    B: np.ndarray  # (p, n), input by input
    moved: np.ndarray  # (M + h D / 2)^-1
    jump: np.ndarray  # (p, n): M^-1 B, the accelerations when an input jumps
    y: np.ndarray  # room for what sensors read,
    before: np.ndarray  # for inputs,
    force: np.ndarray  # and for forces


MARCH = group((VEC, INT, MAT, MAT, MAT, MAT, MAT, VEC, VEC, VEC), March)


@kernel(**FAST)
def add_product(rows, x, out):
    """Compute out += S x for a square matrix S that stands by diagonals."""
    n, w = x.size, rows.shape[0] // 2
    for d in range(rows.shape[0]):
        shift = d - w
        for i in range(max(0, -shift), min(n, n - shift)):
            out[i] += rows[d, i] * x[i + shift]


@kernel(**FAST)
def add_inputs(columns, u, out):
    """Compute out += B u; columns[j] is what input j does."""
    for j in range(columns.shape[0]):
        c = u[j]
        if c != 0.0:
            for i in range(out.size):
                out[i] += columns[j, i] * c


@kernel(**FAST)
def accelerate(form, q, v, u, a):
    """Fill a with the accelerations at the end of a step whose rates still lack them."""
    force = form.force
    for i in range(q.size):
        a[i] = force[i] = 0.0
    add_product(form.K, q, force)
    add_product(form.D, v, force)
    for i in range(q.size):
        force[i] = -force[i]
    add_inputs(form.B, u, force)
    add_product(form.moved, force, a)


@kernel(**FAST)
def half_kick(v, a, h):
    """Move the rates by half a step."""
    for i in range(v.size):
        v[i] += 0.5 * h * a[i]


@kernel(**FAST)
def drift(q, v, h):
    """Move the coordinates by a step."""
    for i in range(q.size):
        q[i] += h * v[i]


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


@entry(types.UniTuple(float64, 4)(types.FunctionType(OUTPUT), MARCH, VEC, VEC, VEC, ACTING, COURSE), **ENTRY)
def run_explicit(output, form, q, v, a, acting, course):
    """Central differences for the one step size of `form`."""
    law, memory, held, u = acting.law, acting.memory, acting.held, acting.u
    tables, record = course.tables, course.record
    p, t, last = u.size, tables.t, course.span[1]
    y, change = form.y, form.before
    for k in range(course.span[0], last):
        h = tables.h[k]
        output(q, v, a, u, form.reals, form.ints, y)
        for j in range(p):
            change[j] = -u[j]
        if sampled(law, k, y, tables, memory, held, u):
            for j in range(p):
                change[j] += u[j]
            add_inputs(form.jump, change, a)
        write(record, k, y, u, q, v)
        half_kick(v, a, h)
        drift(q, v, h)
        for j in range(p):
            u[j] = held[j] + tables.before[k + 1, j]
        accelerate(form, q, v, u, a)
        half_kick(v, a, h)
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
