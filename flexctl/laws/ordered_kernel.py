"""One period of a law in the order of summation that compiled runs and exported C code have, called from Python.

Every sum begins at 0 and runs from left to right over the states, the readings, the references and the command, with
one rounding for each product and each addition: `law_step` of the time loop does, and so do the loops here. So a law
gives the same numbers to the last bit wherever it runs. Products and sums must not be fused: no fastmath.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numba import float64, int64, types

from ..kernels.arrays import INT, MAT, VEC
from ..kernels.groups import group
from ..kernels.jit import entry, kernel
from ..kernels.law import law_step
from ..kernels.pointers import OWN, view
from ..kernels.tables import LAW, Law

STRICT: dict[str, Any] = {"error_model": "numpy", "fastmath": False}


@entry(types.void(LAW, VEC, VEC, MAT, VEC), **STRICT)
def one_period(law, y, r, memory, u):
    """`law_step` of a law that does not change in time, for callers in Python."""
    law_step(law, 0, y, r, memory, u)


class Stack(NamedTuple):
    """Laws with the same signals below each other; the widest one has as many states as there are columns."""

    law: Law  # the matrices of all, and the limits of the first
    points: np.ndarray
    first: np.ndarray  # row of A at which each law begins, and the number of all rows


STACK = group((LAW, VEC, INT), Stack)


@kernel(**STRICT)
def place(points, value):
    """Number of the last point that is not above the value, and the weight of the point behind it."""
    last = points.size - 1
    if not value > points[0]:  # NaN too, which makes the command NaN through the readings
        return 0, 0.0
    if value >= points[last]:
        return last, 0.0
    j = 0
    while value >= points[j + 1]:
        j += 1
    return j, 1.0 / (points[j + 1] - points[j]) * (value - points[j])


@kernel(**STRICT)
def weight(points, j, value):
    """Weight of the point before the value, between points j and j + 1, as interpolation from 1 to 0 gives it."""
    if j == points.size - 1 or not value > points[j]:
        return 1.0
    return -1.0 / (points[j + 1] - points[j]) * (value - points[j]) + 1.0


@entry(int64(VEC, float64, VEC), **STRICT)
def weights(points, value, w):
    """Fill w with the weights of all points; returns the number of the first that counts."""
    j, more = place(points, value)
    for i in range(w.size):
        w[i] = 0.0
    w[j] = weight(points, j, value)
    if more != 0.0:
        w[j + 1] = more
    return j


@kernel(**STRICT)
def row(x, states, matrices, rows, y, r):
    """Running sum of one row: of A (row i) over the states, then of By and Br (row p) over readings and references.

    states: the first in x, and their number; rows: i and p.
    """
    (first, number), (A, By, Br), (i, p), total = states, matrices, rows, 0.0
    for j in range(number):
        total += A[i, j] * x[first + j]
    for j in range(y.size):
        total += By[p, j] * y[j]
    for j in range(r.size):
        total += Br[p, j] * r[j]
    return total


@kernel(**STRICT)
def blend(stack, value, y, r, x, u, new):
    """Fill the blended command u and the next states of all laws from their states x."""
    law, nu, count = stack.law, stack.law.lower.size, stack.first.size - 1
    j, more = place(stack.points, value)
    for i in range(nu):
        u[i] = 0.0
    for number in range(count):
        w = weight(stack.points, j, value) if number == j else more if number == j + 1 else 0.0
        if w != 0.0:
            first, states = stack.first[number], stack.first[number + 1] - stack.first[number]
            for i in range(nu):
                p = number * nu + i
                u[i] += w * row(x, (first, states), (law.C, law.Dy, law.Dr), (p, p), y, r)
    for i in range(nu):
        u[i] = min(max(u[i], law.lower[i]), law.upper[i])
    for number in range(count):
        first, states = stack.first[number], stack.first[number + 1] - stack.first[number]
        for i in range(first, first + states):
            total = row(x, (first, states), (law.A, law.By, law.Br), (i, i), y, r)
            for k in range(nu):
                total += law.Bu[i, k] * u[k]
            new[i] = total


@entry(types.void(STACK, float64, VEC, VEC, VEC, VEC, VEC), **STRICT)
def blended_period(stack, value, y, r, x, u, new):
    """`blend` for callers in Python."""
    blend(stack, value, y, r, x, u, new)


@entry(OWN, **STRICT)
def blended_law(law, k, m, r, memory, command):
    """One period of `laws.blended.Blended` in a time loop, whose arrays stand in law.more as `laws.compiled` put them.

    That are the points, the rows at which laws begin, and: which reading schedules, whether its size does.
    """
    points, begins = view(law.more, law.places, 0)[0], view(law.more, law.places, 1)[0]
    by = view(law.more, law.places, 2)[0]
    first = np.empty(begins.size, np.int64)
    for i in range(first.size):
        first[i] = int(begins[i])
    stack = Stack(law, points, first)
    value, size, new = m[int(by[0])], first[first.size - 1], law.scratch[2]
    blend(stack, abs(value) if by[1] != 0.0 else value, m[: law.By.shape[1]], r, memory[0, :size], command, new)
    for i in range(size):
        memory[0, i] = new[i]
