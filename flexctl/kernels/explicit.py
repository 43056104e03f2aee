"""Linear models: central differences, and exact steps.

* `run_explicit`: velocity Verlet, damping taken at the end of the step. Without inputs that jump this is the two-step
  march (M + h D / 2) q+ = (2 M - h^2 K) q - (M - h D / 2) q- + h^2 B u, in summed form: its rounding does not grow as
  that of the two-step form does, in which it acts as a spring to the ground.
* `run_exact`: x+ = Phi x + G0 u(start) + G1 u(end) + G2 bulge, exact for inputs that are quadratic within a step.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numba import float64, types

from ..model import FloatArray
from .groups import group
from .jit import entry, kernel
from .law import sampled
from .linear import read, turn, turn_all
from .pieces import bounded
from .tables import ACTING, COURSE, DIVERGED, DONE, ENTRY, FAST, INT, MAT, SUMS, VEC


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

    values: np.ndarray  # `linear.entries` of the outputs,
    places: np.ndarray
    turned: np.ndarray  # and `linear.table` of those that are turned
    K: np.ndarray
    D: np.ndarray  # without rows if nothing damps
    B: np.ndarray  # (p, n), input by input
    moved: np.ndarray  # (M + h D / 2)^-1
    jump: np.ndarray  # (p, n): M^-1 B, the accelerations when an input jumps
    y: np.ndarray  # room for what sensors read,
    before: np.ndarray  # for inputs,
    force: np.ndarray  # and for forces


MARCH = group((VEC, INT, MAT, MAT, MAT, MAT, MAT, MAT, VEC, VEC, VEC), March)


@kernel(**FAST)
def add_product(rows, x, out):
    """Compute out += S x for a square matrix S that stands by diagonals."""
    n, w = x.size, rows.shape[0] // 2
    for d in range(rows.shape[0]):
        shift = d - w
        begin, end = max(0, -shift), min(n, n - shift)
        some, these, to = rows[d, begin:end], x[begin + shift : end + shift], out[begin:end]
        for i in range(to.size):
            to[i] += some[i] * these[i]


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

    Phi: np.ndarray  # or, where m coordinates move each by itself, four rows: theirs is ((Phi0, Phi1), (Phi2, Phi3))
    G0: np.ndarray  # (p, 2 m), input by input
    G1: np.ndarray
    G2: np.ndarray
    C: np.ndarray
    D: np.ndarray  # (p, ny)
    turned: np.ndarray
    y: np.ndarray  # room for what sensors read,
    start: np.ndarray  # for inputs,
    before: np.ndarray  # and for states


EXACT = group((*(MAT,) * 7, VEC, VEC, VEC), Exact)


@kernel(**SUMS)
def multiply(matrix, x, out):
    """Compute out = S x for a matrix."""
    for i in range(out.size):
        total = 0.0
        for j in range(x.size):
            total += matrix[i, j] * x[j]
        out[i] = total


@kernel(**FAST)
def move_pairs(rows, x):
    """Move coordinates and rates that know of no others; see `Exact.Phi`."""
    m = rows.shape[1]
    for i in range(m):
        place, rate = x[i], x[m + i]
        x[i] = rows[0, i] * place + rows[1, i] * rate
        x[m + i] = rows[2, i] * place + rows[3, i] * rate


@kernel(**FAST)
def read_states(form, x, u):
    """Fill form.y, but for the turned outputs."""
    multiply(form.C, x, form.y)
    add_inputs(form.D, u, form.y)


@entry(types.UniTuple(float64, 4)(MARCH, VEC, VEC, VEC, ACTING, COURSE), **ENTRY)
def run_explicit(form, q, v, a, acting, course):
    """Central differences for the one step size of `form`."""
    law, memory, held, u = acting.law, acting.memory, acting.held, acting.u
    tables, record = course.tables, course.record
    p, t, first, last = u.size, tables.t, course.span[0], course.span[1]
    y, change, status, k = form.y, form.before, DONE, first
    read_late = law.measures.size == 0  # nobody needs what is turned before the end, where it takes a fifth of the time
    while k < last and status == DONE:
        h = tables.h[k]
        read(q, v, a, u, form.values, form.places, y)
        if not read_late:
            turn(form.turned, y)
        for j in range(p):
            change[j] = -u[j]
        if sampled(law, k, y, tables, memory, held, u):
            for j in range(p):
                change[j] += u[j]
            add_inputs(form.jump, change, a)
        write(record, k, y, u, q, v)
        half_kick(v, a, h)
        drift(q, v, h)
        k += 1
        for j in range(p):
            u[j] = held[j] + tables.before[k, j]
        accelerate(form, q, v, u, a)
        half_kick(v, a, h)
        status = DONE if bounded(q) else DIVERGED
    if status == DONE:
        read(q, v, a, u, form.values, form.places, y)
        write(record, last, y, u, q, v)
    turn_all(form.turned, first, k if status == DONE else k - 1, record.y)
    return status, t[k], 0.0, 0.0


@entry(types.UniTuple(float64, 4)(EXACT, VEC, ACTING, COURSE), **ENTRY)
def run_exact(form, x, acting, course):
    """Exact discretisation with a constant step; record.q and record.v take the state x."""
    law, u, held, tables, record = acting.law, acting.u, acting.held, course.tables, course.record
    start, y, before, status = form.start, form.y, form.before, DONE
    first, last = course.span[0], course.span[1]
    read_late, pairs, k = law.measures.size == 0, form.Phi.shape[1] != x.size, first  # see `run_explicit`
    while k < last and status == DONE:
        read_states(form, x, u)
        if not read_late:
            turn(form.turned, y)
        sampled(law, k, y, tables, acting.memory, held, u)
        write(record, k, y, u, x, x)
        for i in range(u.size):
            start[i] = u[i]
            u[i] = held[i] + tables.before[k + 1, i]
        if pairs:
            move_pairs(form.Phi, x)
        else:
            for i in range(x.size):
                before[i] = x[i]
            multiply(form.Phi, before, x)
        add_inputs(form.G0, start, x)
        add_inputs(form.G1, u, x)
        add_inputs(form.G2, tables.bulge[k], x)
        k += 1
        status = DONE if bounded(x) else DIVERGED
    if status == DONE:
        read_states(form, x, u)
        write(record, last, y, u, x, x)
    turn_all(form.turned, first, k if status == DONE else k - 1, record.y)
    return status, tables.t[k], 0.0, 0.0


def exact(
    Phi: FloatArray, inputs: Sequence[FloatArray], C: FloatArray, D: FloatArray, turned: FloatArray,
) -> Exact:
    """Return the steps of a plant; inputs: G0, G1, G2, which have a column for each input, as D has.

    Phi may be the four rows of `Exact`.
    """
    columns = [np.ascontiguousarray(part.T, float) for part in (*inputs, D)]
    y, start, before = (np.zeros(k) for k in (*D.shape, C.shape[1]))
    G0, G1, G2, through = columns
    return Exact(np.ascontiguousarray(Phi), G0, G1, G2, np.ascontiguousarray(C), through, turned, y, start, before)
