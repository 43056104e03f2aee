"""The steps of any model that brings compiled functions: band matrices, or with closures full bordered ones.

Closures hold for coordinates and rates alike (stabilised index 2, after Gear, Gupta and Leimkuhler): lam answers for
the rates, and a correction `gap` of the coordinates alone, of the order of the truncation error and in the direction of
the closure forces, for the coordinates. With Baumgarte's stabilisation it is G a + bias + 2 alpha G v + beta^2 g = 0
instead. A jump asks for G a + bias = 0.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numba import int64, types

from .groups import group
from .jit import entry, kernel
from .loops import loops
from .lu import factor, factor_full, solve, solve_full
from .model import CLOSURE, OUTPUT, RESIDUAL, TANGENT
from .operations import Operations
from .parts import soon
from .pointers import pointer
from .state import KEPT, LOOSE, SDIRK, TIME
from .tables import DONE, INSIDE, INT, MAT, PLAIN, SINGULAR, VEC

YIELDS = 100.0
"""[1/s^2]: what lasts 0.1 s."""
CLOSINGS, CLOSED_ENOUGH, NEARLY = 4, 1e-11, 1e-8
"""Most rounds in which closures are met; a last correction [m or rad] leaves its square. While an iteration goes on the
second is enough, which moves what closures ask of accelerations by less than it leaves."""


class Room(NamedTuple):
    """Constants of a model of n coordinates, p inputs and m closures, and scratch; `room` makes it."""

    reals: np.ndarray
    ints: np.ndarray
    S: np.ndarray  # (3 w + 1, n) matrix of the step in band storage
    pivots: np.ndarray
    A: np.ndarray  # (n + m, n + m) bordered
    G: np.ndarray
    V: np.ndarray
    W: np.ndarray
    g: np.ndarray
    bias: np.ndarray
    right: np.ndarray  # (n + m,) for the rates
    other: np.ndarray  # (n + m,) for the coordinates
    full: np.ndarray  # inputs and, behind them, the closure forces
    baumgarte: np.ndarray  # alpha, beta; or empty
    scale: np.ndarray  # of the border
    y: np.ndarray
    given: np.ndarray  # (m,) coordinates that the closures give, in steps of SDIRK4
    turns: np.ndarray
    D: np.ndarray  # (m, m) their columns of G, factored
    columns: np.ndarray  # (p, n) what inputs push, of those that drive joints; or empty
    stiff: np.ndarray  # (p,) see `stiffen`; or empty
    w: int
    constant: int


ROOM = group((VEC, INT, MAT, INT, MAT, MAT, MAT, MAT, *(VEC,) * 8, INT, INT, MAT, MAT, VEC, int64, int64), Room)


class Form(NamedTuple):
    """The functions of a model, and room."""

    residual: Any
    tangent: Any
    output: Any
    closure: Any
    room: Room


KINDS = tuple(types.FunctionType(signature) for signature in (RESIDUAL, TANGENT, OUTPUT, CLOSURE))
FORM = group((*KINDS, ROOM), Form)


def form(compiled: Any, room: Room) -> Form:
    """Return the functions of a model, `Compiled`, with room."""
    functions = (compiled.residual, compiled.tangent, compiled.output, compiled.closure or no_closure)
    residual, tangent, output, closure = (pointer(*pair) for pair in zip(functions, KINDS, strict=True))
    return Form(residual, tangent, output, closure, room)


def room(
    compiled: Any, n: int, p: int, m: int, outputs: int, baumgarte: tuple[float, ...], columns: Any = None
) -> Room:
    """Return the room of a model with `Compiled` functions; columns (p, n): of joints to be stiffened."""
    w, zeros = compiled.bandwidth, np.zeros
    columns = zeros((0, n)) if columns is None else columns
    return Room(
        compiled.reals.copy(), compiled.ints, zeros((3 * w + 1, n)), zeros(n + m, np.int64),
        zeros((n + m, n + m) if m else (0, 0)), zeros((m, n)), zeros((m, n)), zeros((n, m)), zeros(m), zeros(m),
        zeros(n + m), zeros(n + m), zeros(p + m), np.array(baumgarte, float), np.ones(1), zeros(outputs),
        zeros(m, np.int64), zeros(m, np.int64), zeros((m, m)), columns, zeros(len(columns)), w,
        int(compiled.constant_tangent),
    )


@kernel(**INSIDE)
def _fill(form, motion, u):
    full = form.room.full
    for i in range(u.size):
        full[i] = u[i]
    for i in range(motion.lam.size):
        full[u.size + i] = motion.lam[i]


@kernel(**INSIDE)
def measure(form, motion, u, y):
    """Sensor readings."""
    _fill(form, motion, u)
    form.output(motion.q, motion.v, motion.a, form.room.full, form.room.reals, form.room.ints, y)


@kernel(**INSIDE)
def sense(form, motion, u, rows, y):
    """Some of them."""
    measure(form, motion, u, form.room.y)
    for i in range(rows.size):
        y[i] = form.room.y[rows[i]]


@kernel(**INSIDE)
def solve_open(form, motion, u, ca, cv, cq, fresh):
    """One correction without closures."""
    r, t = form.room, motion.number[TIME]
    if fresh:
        form.tangent(t, motion.q, motion.v, motion.a, u, ca, cv, cq, r.reals, r.ints, r.S)
        add_drives(r)
        if factor(r.S, r.pivots, r.w) != 0:
            return SINGULAR, np.inf
    form.residual(t, motion.q, motion.v, motion.a, u, r.reals, r.ints, motion.d)
    solve(r.S, r.pivots, r.w, motion.d)
    size = 0.0
    for i in range(motion.d.size):
        size = max(size, abs(motion.d[i])) if np.isfinite(motion.d[i]) else np.inf
    return DONE, size


@kernel(**PLAIN)
def add_drives(r):
    """Add what drives add to the matrix of the step."""
    for k in range(r.stiff.size):
        if r.stiff[k] != 0.0:
            for j in range(r.columns.shape[1]):
                x = r.stiff[k] * r.columns[k, j]
                for i in range(max(0, j - r.w), min(r.columns.shape[1] - 1, j + r.w) + 1):
                    r.S[2 * r.w + i - j, j] += r.columns[k, i] * x


@kernel(**INSIDE)
def stiffen(form, motion, k, value):
    """Set how stiff the drive of the joint is that input k pushes."""
    form.room.stiff[k] = value


@kernel(**INSIDE)
def divide(form, motion, x):
    """Solve with the factors of the matrix of the step, without closures."""
    solve(form.room.S, form.room.pivots, form.room.w, x)


@kernel(**PLAIN)
def border(r, part):
    """Fill A = [[S, c W], [c (G + part V), 0]] with c, the largest entry of S."""
    (m, n), scale, w = r.G.shape, 1e-300, r.w
    for i in range(n + m):
        for j in range(n + m):
            r.A[i, j] = 0.0
    for j in range(n):
        for i in range(max(0, j - w), min(n - 1, j + w) + 1):
            r.A[i, j] = r.S[2 * w + i - j, j]
            scale = max(scale, abs(r.A[i, j]))
    for k in range(m):
        for i in range(n):
            r.A[i, n + k] = scale * r.W[i, k]
            r.A[n + k, i] = scale * (r.G[k, i] + part * r.V[k, i])
    r.scale[0] = scale


@kernel(**PLAIN)
def openings(r, q, v, a, ca, cv):
    """Fill the right sides of the closures: what makes them hold for coordinates and rates, or in a jump."""
    m, n = r.G.shape
    for k in range(m):
        rate, acceleration = 0.0, r.bias[k]
        for j in range(n):
            rate += r.G[k, j] * v[j]
            acceleration += r.G[k, j] * a[j]
        r.other[n + k] = 0.0
        if cv == 0.0:
            r.right[n + k] = r.scale[0] * acceleration / ca
        elif r.baumgarte.size > 0:
            alpha, beta = r.baumgarte[0], r.baumgarte[1]
            total = acceleration + 2.0 * alpha * rate + beta * beta * r.g[k]
            r.right[n + k] = r.scale[0] * total / (ca + 2.0 * alpha * cv + beta * beta)
        else:
            r.right[n + k] = r.scale[0] / cv * rate
            r.other[n + k] = r.scale[0] * r.g[k]


@kernel(**INSIDE)
def solve_closed(form, motion, u, ca, cv, cq, fresh):
    """One correction with closures."""
    _fill(form, motion, u)
    r, t, n, full = form.room, motion.number[TIME], motion.q.size, form.room.full
    form.closure(motion.q, motion.v, r.reals, r.ints, r.g, r.bias, r.G, r.V, r.W)
    if fresh:
        form.tangent(t, motion.q, motion.v, motion.a, full, ca, cv, cq, r.reals, r.ints, r.S)
        border(r, 0.0 if cv == 0.0 or r.baumgarte.size > 0 else 1.0 / cv)
        if factor_full(r.A, r.pivots) != 0:
            return SINGULAR, np.inf
    form.residual(t, motion.q, motion.v, motion.a, full, r.reals, r.ints, motion.d)
    for i in range(n):
        r.right[i], r.other[i] = motion.d[i], 0.0
    openings(r, motion.q, motion.v, motion.a, ca, cv)
    solve_full(r.A, r.pivots, r.right)
    if cv != 0.0 and r.baumgarte.size == 0:
        solve_full(r.A, r.pivots, r.other)
    size = 0.0
    for i in range(n):
        motion.d[i], motion.gap[i] = r.right[i], r.other[i]
        both = abs(r.right[i]) + abs(r.other[i])
        size = max(size, both) if np.isfinite(both) else np.inf
    for i in range(motion.lam.size):
        motion.lift[i] = r.scale[0] * r.right[n + i]
    return DONE, size


@kernel(**INSIDE)
def choose(form, motion):
    """Choose the coordinates that closures give: those that yield most, at rest and to what lasts 0.1 s."""
    r, n = form.room, motion.q.size
    form.closure(motion.q, motion.v, r.reals, r.ints, r.g, r.bias, r.G, r.V, r.W)
    form.tangent(
        motion.number[TIME], motion.q, motion.v, motion.a, r.full, YIELDS, 0.0, 1.0, r.reals, r.ints, r.S
    )
    for i in range(n):
        weight = 1.0 / np.sqrt(max(abs(r.S[2 * r.w, i]), 1e-300))
        for k in range(r.given.size):
            r.V[k, i] = weight * r.W[i, k]
    eliminate(r.V, r.given)


@kernel(**PLAIN)
def eliminate(V, given):
    """Choose one column for each row of V, by elimination with the largest pivots."""
    m, n = V.shape
    for s in range(m):
        row, column, largest = s, 0, -1.0
        for k in range(s, m):
            for i in range(n):
                if abs(V[k, i]) > largest:
                    row, column, largest = k, i, abs(V[k, i])
        given[s] = column
        for i in range(n):
            keep = V[s, i]
            V[s, i] = V[row, i]
            V[row, i] = keep
        for k in range(s + 1, m):
            x = V[k, column] / V[s, column] if largest > 0.0 else 0.0
            for i in range(n):
                V[k, i] -= x * V[s, i]
            V[k, column] = 0.0


@kernel(**INSIDE)
def close(form, motion):
    """Put the coordinates and rates that closures give where the others ask for."""
    bring(form, motion, CLOSED_ENOUGH)


@kernel(**INSIDE)
def bring(form, motion, enough):
    """Put them there until they move by no more than `enough`; leaves g, bias, G, V, W there."""
    r = form.room
    m, n, rounds = r.given.size, motion.q.size, 0
    while rounds < CLOSINGS:
        rounds += 1
        form.closure(motion.q, motion.v, r.reals, r.ints, r.g, r.bias, r.G, r.V, r.W)
        for k in range(m):
            rate = 0.0
            for i in range(n):
                rate += r.G[k, i] * motion.v[i]
            r.right[k] = rate
            for j in range(m):
                r.D[k, j] = r.G[k, r.given[j]]
        if factor_full(r.D, r.turns) != 0:
            return
        solve_full(r.D, r.turns, r.g)
        solve_full(r.D, r.turns, r.right[:m])
        moved = 0.0
        for j in range(m):
            motion.q[r.given[j]] -= r.g[j]
            motion.v[r.given[j]] -= r.right[j]
            moved = max(moved, abs(r.g[j]))
        if moved < enough:
            return


@kernel(**INSIDE)
def solve_given(form, motion, u, ca, cv, cq, fresh):
    """One correction where closures give some of the coordinates and hold for accelerations; see `dirk`."""
    if cv != 0.0 and motion.number[LOOSE] == 0.0:
        bring(form, motion, NEARLY)
    _fill(form, motion, u)
    r, t, n, full = form.room, motion.number[TIME], motion.q.size, form.room.full
    if cv == 0.0:
        form.closure(motion.q, motion.v, r.reals, r.ints, r.g, r.bias, r.G, r.V, r.W)
    if fresh:
        form.tangent(t, motion.q, motion.v, motion.a, full, ca, cv, cq, r.reals, r.ints, r.S)
        border(r, 0.0 if cv == 0.0 else 2.0 / cv)
        if factor_full(r.A, r.pivots) != 0:
            return SINGULAR, np.inf
    form.residual(t, motion.q, motion.v, motion.a, full, r.reals, r.ints, motion.d)
    for i in range(n):
        r.right[i] = motion.d[i]
    for k in range(motion.lam.size):
        opening = r.bias[k]
        for i in range(n):
            opening += r.G[k, i] * motion.a[i]
        r.right[n + k] = r.scale[0] * opening / ca if motion.number[LOOSE] == 0.0 else 0.0
    solve_full(r.A, r.pivots, r.right)
    size = 0.0
    for i in range(n):
        motion.d[i] = r.right[i]
        size = max(size, abs(r.right[i])) if np.isfinite(r.right[i]) else np.inf
    for k in range(motion.lam.size):
        motion.lift[k] = r.scale[0] * r.right[n + k]
    return DONE, size


@kernel(**INSIDE)
def limit(form, motion, tolerance, h):
    """Size of a correction that is accepted."""
    extent = 1.0
    for i in range(motion.q.size):
        extent = max(extent, abs(motion.q[i]))
    return tolerance * extent


@kernel(**INSIDE)
def store(form, motion, record, k):
    """Record the coordinates."""
    if record.q.shape[0] > 1:
        for i in range(motion.q.size):
            record.q[k, i], record.v[k, i] = motion.q[i], motion.v[i]


@kernel(**INSIDE)
def linear(form, motion):
    """Whether the matrices are constant."""
    return form.room.constant == 1


@kernel(**INSIDE)
def nothing(form, motion):
    """The state alone is measured."""


@kernel(**INSIDE)
def no_leap(form, motion):
    """No joint is prescribed: such a motion is an input here."""
    return False


@kernel(**INSIDE)
def no_foresight(form, motion, h, scheme):
    """Nothing is needed of the state before the step."""


@kernel(**INSIDE)
def finish(form, motion, u, size):
    """Torques are outputs here."""


CLOSED = Operations(
    measure, solve_closed, no_foresight, nothing, no_leap, finish, nothing, limit, store, sense, linear, keeps=True,
    prefers=KEPT, spans=True,
)
OPEN = CLOSED._replace(solve=solve_open, divide=divide, stiffen=stiffen)


GIVEN = CLOSED._replace(solve=solve_given, begin=choose, close=close)
"""Closures that give some coordinates, for the stages of SDIRK4."""


LOOPS = {
    False: loops(OPEN, FORM),
    True: loops(CLOSED, FORM, closed=True, stages=GIVEN),
}
"""Without and with closures."""


def loop_soon(closed: bool, stages: bool, feeds: bool) -> None:
    """Let another process compile the loop of a run, while this one compiles the functions of the model."""
    soon(LOOPS[closed], SDIRK if stages else feeds)


@entry(CLOSURE)
def no_closure(q, v, reals, ints, g, bias, G, V, W):
    """The closures of a model without any."""
