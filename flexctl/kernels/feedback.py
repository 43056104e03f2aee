"""A continuous law within a step.

The law goes by the trapezoidal rule (in soft steps by the backward Euler rule): its command at the end of the step is
u = u0 + G y there, G = Dy + C F, F = (I - c A)^-1 c By, with c what is implicit of the step. Newton's matrix is then
S - B G Y, Y = dy/dq + cv dy/dv; the change, of the rank of u, is solved by Woodbury's formula with the factors of S.
B enters as the difference of two corrections, Y as a difference of readings nearby.

The loop calls all of it by its address, as what a formulation brings (`parts`): one loop serves sampled and continuous
laws, and what is here is compiled where a continuous law acts.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from .groups import group
from .jit import kernel
from .law import phase_at, within_steps
from .operations import Operations
from .state import KEEPS
from .tables import DONE, FAST, MAT, VEC

IMPLICIT, PHASE, READY = range(3)
ACT, FORESEE, RESPOND, RENEW, START, CLOSE, FINISH = range(7)
"""Requests of a loop: the command at a grid point, whose readings it takes; to estimate the law at the end of the
step; to set the inputs by the readings as they are, and to refresh these; readings after a jump; to turn the correction
of the arm alone into that of the loop; to end the step."""
NONE = (0.0, 0.0, 0.0, 0.0)
NEAR = 1e-6  # distance [m or rad] of the readings that give a slope


class Feedback(NamedTuple):
    """nx states, ny readings, nu commands, nr references; `feedback` makes it."""

    E: np.ndarray  # (nx, nx) inverse of I - A times what is implicit of the step
    F: np.ndarray  # (nx, ny) its state at the end of the step by the readings there
    G: np.ndarray  # (nu, ny) its command there, the same
    Z: np.ndarray  # (nu, n + m) S^-1 B
    W: np.ndarray  # (nu, nu) inverse of I - G Y Z
    small: np.ndarray  # square, scratch
    near: np.ndarray  # (2, n) coordinates and rates, kept
    readings: np.ndarray  # (3, ny) at the start and the end of the step, and nearby
    reference: np.ndarray  # (2, nr) at the start and the end
    x: np.ndarray  # (2, nx) state at the end but for F y; what makes it
    command: np.ndarray  # (3, nu) command at the end but for G y; its change along a vector; scratch
    inputs: np.ndarray  # (p,) prescribed ones at the end
    column: np.ndarray  # (n + m,) correction, kept
    key: np.ndarray  # what is implicit and the phase of the gains, whether Z and W are theirs


FEEDBACK = group((*(MAT,) * 11, VEC, VEC, VEC), Feedback)


def feedback(law: Any, n: int, m: int, inputs: int) -> Feedback:
    """Return room for a continuous law around n coordinates and m closures."""
    nx, nu, ny, zeros = law.A.shape[1], law.drives.size, law.measures.size, np.zeros
    size = max(nx, nu)
    return Feedback(
        zeros((nx, nx)), zeros((nx, ny)), zeros((nu, ny)), zeros((nu, n + m)), zeros((nu, nu)), zeros((size, size)),
        zeros((2, n)), zeros((3, ny)), zeros((2, law.Dr.shape[1])), zeros((2, nx)), zeros((3, nu)), zeros(inputs),
        zeros(n + m), np.array([0.0, -1.0, 0.0]),
    )


@kernel(**FAST)
def inverse(M, X):
    """X = M^-1 of a small matrix by elimination with pivoting; M, of which a corner is used, is destroyed."""
    n = X.shape[0]
    for i in range(n):
        for j in range(n):
            X[i, j] = 1.0 if i == j else 0.0
    for j in range(n):
        best = j
        for i in range(j + 1, n):
            best = i if abs(M[i, j]) > abs(M[best, j]) else best
        pivot = M[best, j]
        for k in range(n):
            M[best, k], M[j, k] = M[j, k], M[best, k] / pivot
            X[best, k], X[j, k] = X[j, k], X[best, k] / pivot
        for i in range(n):
            c = M[i, j] if i != j else 0.0
            for k in range(n):
                M[i, k] -= c * M[j, k]
                X[i, k] -= c * X[j, k]


@kernel(**FAST)
def add(M, first, x, factor, y):
    """y += factor M x, of the rows of M from `first` on."""
    for i in range(y.size):
        total = 0.0
        for j in range(M.shape[1]):
            total += M[first + i, j] * x[j]
        y[i] += factor * total


@kernel(**FAST)
def _gains(law, phase, implicit, f):
    """Fill E, F, G for the phase and for what is implicit of the step."""
    nx, nu, ny = f.E.shape[0], f.G.shape[0], f.G.shape[1]
    for i in range(nx):
        for j in range(nx):
            f.small[i, j] = (1.0 if i == j else 0.0) - implicit * law.A[phase * nx + i, j]
    inverse(f.small, f.E)
    for j in range(ny):
        for i in range(nx):
            f.F[i, j] = 0.0
            for c in range(nx):
                f.F[i, j] += implicit * f.E[i, c] * law.By[phase * nx + c, j]
        for i in range(nu):
            f.G[i, j] = law.Dy[phase * nu + i, j]
            for c in range(nx):
                f.G[i, j] += law.C[phase * nu + i, c] * f.F[c, j]
    f.key[IMPLICIT], f.key[PHASE], f.key[READY] = implicit, phase, 0.0


@kernel(**FAST)
def foresee(law, k, tables, step, u, memory, f):
    """Estimate the law at the end of a step.

    step: from which to which part of that of the grid, its length h, and whether it is soft; u: prescribed inputs at
    the end. With h = 0 it is the law in a jump: its states stand.
    """
    place, part, h, soft = step
    nx, nu, nr, x, there, command = f.E.shape[0], f.G.shape[0], f.reference.shape[1], f.x[0], f.x[1], f.command[0]
    phase, implicit = phase_at(law, k), h if soft == 1.0 else 0.5 * h
    if f.key[IMPLICIT] != implicit or f.key[PHASE] != phase:
        _gains(law, phase, implicit, f)
    for j in range(nr):
        begin, change = tables.reference[k, nr + j], tables.reference[k + 1, j] - tables.reference[k, nr + j]
        f.reference[0, j], f.reference[1, j] = begin + place * change, begin + part * change
    for i in range(u.size):
        f.inputs[i] = u[i]
    for i in range(nx):
        x[i], there[i] = 0.0, memory[0, i]
    add(law.A, phase * nx, memory[0], h - implicit, there)
    add(law.By, phase * nx, f.readings[0], h - implicit, there)
    add(law.Br, phase * nx, f.reference[0], h - implicit, there)
    add(law.Br, phase * nx, f.reference[1], implicit, there)
    add(f.E, 0, there, 1.0, x)
    for i in range(nu):
        command[i] = 0.0
    add(law.C, phase * nu, x, 1.0, command)
    add(law.Dr, phase * nu, f.reference[1], 1.0, command)


@kernel(**FAST)
def respond(law, f, u):
    """Set the inputs at the end of the step by the readings there."""
    for i in range(u.size):
        u[i] = f.inputs[i]
    for i in range(law.drives.size):
        f.command[2, i] = f.command[0, i]
    add(f.G, 0, f.readings[1], 1.0, f.command[2])
    for i in range(law.drives.size):
        u[law.drives[i]] += f.command[2, i]


@kernel(**FAST)
def approach(number, d, motion, f, cq, cv):
    """Move the state a little along column `number` of S^-1 B, behind the last one along the correction d.

    Coordinates go by cq times it, rates by cv times it. Returns by which part of it; `leave` takes this back.
    """
    largest = 1e-300
    for i in range(motion.q.size):
        largest = max(largest, abs(f.Z[number, i] if number < f.Z.shape[0] else d[i]))
    e = NEAR / (cq * largest)
    for i in range(motion.q.size):
        z = e * (f.Z[number, i] if number < f.Z.shape[0] else d[i])
        f.near[0, i], f.near[1, i] = motion.q[i], motion.v[i]
        motion.q[i] += cq * z
        motion.v[i] += cv * z
    return e


@kernel(**FAST)
def leave(number, e, motion, f):
    """Go back, and take the slope of the command from the readings nearby: into f.small, or the last into command 1."""
    for i in range(motion.q.size):
        motion.q[i], motion.v[i] = f.near[0, i], f.near[1, i]
    for j in range(f.readings.shape[1]):
        f.readings[2, j] -= f.readings[1, j]
    for i in range(f.W.shape[0]):
        f.command[1, i] = 0.0
    add(f.G, 0, f.readings[2], 1.0 / e, f.command[1])
    if number < f.W.shape[0]:
        for i in range(f.W.shape[0]):
            f.small[i, number] = (1.0 if i == number else 0.0) - f.command[1, i]


@kernel(**FAST)
def close(d, n, f):
    """Turn the correction d of the arm alone into that of the loop; returns the largest of n entries."""
    if f.key[READY] == 0.0:
        inverse(f.small, f.W)
        f.key[READY] = 1.0
    for i in range(f.W.shape[0]):
        f.command[2, i] = 0.0
    add(f.W, 0, f.command[1], 1.0, f.command[2])
    largest = 0.0
    for i in range(d.size):
        for number in range(f.W.shape[0]):
            d[i] += f.command[2, number] * f.Z[number, i]
        largest = max(largest, abs(d[i])) if i < n else largest
    return largest


@kernel(**FAST)
def finish(law, f, u, held, memory):
    """Set command and state of the law at the end of a step, which is the start of the next."""
    respond(law, f, u)
    for i in range(u.size):
        held[i] = u[i] - f.inputs[i]
    for i in range(f.x.shape[1]):
        memory[0, i] = f.x[0, i]
    add(f.F, 0, f.readings[1], 1.0, memory[0, : f.x.shape[1]])
    for j in range(f.readings.shape[1]):
        f.readings[0, j] = f.readings[1, j]


def feeding(ops: Operations, made: Callable[[Any], Any]) -> Callable[..., float]:
    """Return what a continuous law does around a formulation; `made` compiles it, or not.

    It takes the same as a loop, what is asked for, the grid point, and for FORESEE from which to which part of its
    step, h [s], and whether the step is soft; for CLOSE ca, cv, cq, and whether these factors are new. Returns
    whether the inputs jumped, or the size of the correction of the loop.
    """
    solve, sense, refresh = ops.solve, ops.sense, ops.refresh

    @made
    def join(form, motion, f, law, u, parts):
        """Turn motion.d into the correction of the loop; returns its size, inf where that of an input fails."""
        (ca, cv, cq, new), d, begin, nu = parts, motion.d, law.drives.size, law.drives.size
        if f.key[READY] == 0.0 or new == 1.0:
            begin, f.key[READY] = 0, 0.0
            for i in range(d.size):
                f.column[i] = d[i]
            for j in range(nu):
                u[law.drives[j]] += 1.0
                status, _ = solve(form, motion, u, ca, cv, cq, motion.traits[KEEPS] != 1.0)
                u[law.drives[j]] -= 1.0
                if status != DONE:
                    return np.inf
                for i in range(d.size):
                    f.Z[j, i] = f.column[i] - d[i]
            for i in range(d.size):
                d[i] = f.column[i]
        for j in range(begin, nu + 1):
            more = approach(j, d, motion, f, cq, cv)
            sense(form, motion, u, law.measures, f.readings[2])
            leave(j, more, motion, f)
        return close(d, motion.q.size, f)

    @made
    def feed(form, motion, f, acting, course, what, k, parts):
        """Do what is asked for."""
        law, u = acting.law, acting.u
        if what in (RESPOND, RENEW):
            sense(form, motion, u, law.measures, f.readings[1])
            respond(law, f, u)
            if what == RENEW:
                refresh(form, motion)
        elif what == CLOSE:
            return join(form, motion, f, law, u, parts)
        elif what == FORESEE:
            foresee(law, k, course.tables, parts, u, acting.memory, f)
        elif what == FINISH:
            finish(law, f, u, acting.held, acting.memory)
        elif what == START:
            sense(form, motion, u, law.measures, f.readings[0])
        elif what == ACT:
            y = course.record.y[k]
            for i in range(law.measures.size):
                f.readings[0, i] = y[law.measures[i]]
            return 1.0 if within_steps(law, k, y, course.tables, acting.memory, acting.held, u) else 0.0
        return 0.0

    found: Callable[..., float] = feed
    return found
