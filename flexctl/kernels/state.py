"""State of a run, its scheme, and what is known of its error: the groups of arrays that `stepper` works on."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import float64, types

from .groups import group
from .stages import ROWS
from .tables import INT, MAT, VEC

TORQUE, PRESCRIBED, SERVO = 0, 1, 2
"""How a joint is driven."""

SOLVE, MEASURE, REST, SENSE, FEED, PARTS = range(6)
"""Places in `Motion.calls`; FEED: of what a continuous law does."""

(
    KEEPS, PREFERS, SWING, STRIDE, FAR, SPANS, FORESEEN, POOR, WORSE, CLOSED, ALPHA_M, ALPHA_F, BETA, GAMMA_OF, TRAITS,
) = range(15)
"""Places in `Motion.traits`: what `operations.Operations` says of a formulation, whether closures tie the coordinates,
and the rule of the step where a formulation foresees its prediction."""

FULL, KEPT, BROYDEN = 1.0, 0.0, 2.0
"""A fresh tangent in every iteration; kept over iterations and steps; kept, with Broyden's updates within a step."""

SDIRK = "sdirk"
"""Key of the loop of SDIRK4(3) beside those of the alpha family, without (False) and with (True) a continuous law."""

PATIENCE = 2000.0
"""So many of the smallest steps may be too long for an output before it is said to be unresolved."""

DEEPEST = 16
"""At most this many times is a step divided by two when Newton fails."""


class Motion(NamedTuple):
    """Coordinates and what moves them: n coordinates, m closures, J joints; `motion` makes it."""

    q: np.ndarray
    v: np.ndarray
    a: np.ndarray
    shifted: np.ndarray  # the algorithmic acceleration of the scheme
    before: np.ndarray  # a when the step began
    lam: np.ndarray  # (m,) closure forces
    d: np.ndarray  # (n + m,) correction, of the closure forces too
    gap: np.ndarray  # (n,) correction of coordinates alone, which closes the closures; or empty
    lift: np.ndarray  # (m,) the last of d
    torque: np.ndarray  # (J,) that prescribed joints need
    drive: np.ndarray  # (J,) TORQUE, PRESCRIBED or SERVO
    command: np.ndarray  # (N + 1, 4 J) angle, rate, acceleration before and after a jump, of each joint on the grid
    target: np.ndarray  # (J, 4) the same at the end of the step
    saved: np.ndarray  # (6, n) state when the step began; correction
    spare: np.ndarray  # (2, m) closure forces when the step began; those found ahead
    steps: np.ndarray  # (32, n + m) corrections of Broyden's updates, or empty
    stages: np.ndarray  # (ROWS, n + m, at least 4) of an SDIRK step, see `dirk`
    x: np.ndarray  # (5, n) local errors, now and before; accelerations meanwhile; what lasts, now and before
    number: np.ndarray  # see the numbers below
    counts: np.ndarray  # steps, iterations, factorisations, rejected steps
    calls: np.ndarray  # (PARTS,) addresses of what the formulation brings, see `parts`, and FEED
    traits: np.ndarray  # (TRAITS,) of the formulation, see above


MOTION = group((*(VEC,) * 10, INT, *(MAT,) * 7, VEC, VEC, INT, VEC), Motion)

(
    LAST, CONVERGENCE, FACTORED, YOUNG, SOFT, LEVEL, TIME, BEGUN, LOOSE, FIRST, SHRUNK, FROM, ENOUGH, SLIDE, ALIKE,
    OWN, AGO, SEEN, NUMBERS,
) = range(19)
"""Length of the last step, rate of convergence, step of the factors, their age, soft steps, level, time [s], begun;
1 while a correction is an error, which leaves closures as they are; the first rate with these factors; by what the
last second correction with a fresh tangent was smaller, and than which; what may be left of a correction, by the local
error; by what the second correction of the last jump was smaller; so many steps of one length were the last (2: or
more); so many coordinates are those of the arm, whose local errors say what Newton may leave: states of motors and
cylinders behind them have other units, and are as large as they like; so long ago [s] was the local error found that
the next one is compared with, in a step of this length (0: none was)."""


class Scheme(NamedTuple):
    """Generalised-alpha parameters, Newton, and the control of the error."""

    alpha_m: float
    alpha_f: float
    beta: float
    gamma: float
    tolerance: float
    iterations: float
    newton: float  # FULL, KEPT or BROYDEN
    settle: float  # steps of the backward Euler rule after a jump
    rtol: float  # part of the range of an output that the error may be; 0: steps are not divided
    sampled: float  # 1: a sampled law is in the loop
    length: float  # of the run [s]
    deepest: float  # at most so many times is a step divided by two for the sake of the error
    slack: float  # part of the local error that is allowed which Newton may leave; 0: the tolerance alone counts


SCHEME = types.NamedUniTuple(float64, 13, Scheme)


class Gauge(NamedTuple):
    """The error as far as it is known, output by output; `gauge` makes it."""

    kind: np.ndarray  # (ny,) CONTROLLED, ESTIMATED or LEFT
    group: np.ndarray  # (ny,) outputs of one unit
    low: np.ndarray  # (ny,) least and largest reading so far
    high: np.ndarray
    error: np.ndarray  # (ny,) largest sum of local errors so far
    sum: np.ndarray  # (ny,) of the local errors
    local: np.ndarray  # (ny,) the last local error, as far as it lasts
    passing: np.ndarray  # (ny,) the rest of it
    brief: np.ndarray  # (ny,) what is left of the rests
    whole: np.ndarray  # (ny,) sum of the local errors, none forgotten
    least: np.ndarray  # (ny,) range that is expected at least
    memory: np.ndarray  # (1,) time [s] after which an error counts as corrected
    failed: np.ndarray  # (ny,) smallest steps that were not small enough for it
    widest: np.ndarray  # (groups,) largest range
    readings: np.ndarray  # (3, ny) at the end of the step, where its error would lead, and where what lasts of it
    number: np.ndarray  # see below


GAUGE = group((INT, INT, *(VEC,) * 12, MAT, VEC), Gauge)

CONTROLLED, ESTIMATED, LEFT = 0, 1, 2
"""Displacements, whose local error is controlled; rates; accelerations, of which nothing is known."""

WAIT, PAUSE, CHANGE, SHORTEST, LONGEST, WORST, FLOOR, SINCE, SPAN = range(9)
"""Steps until the next estimate, how long the last wait was; change of acceleration then; steps; worst ratio;
least level; time since the last jump that was prescribed."""


def motion(
    q: np.ndarray, v: np.ndarray, closures: int, joints: int, *, gap: bool, broyden: bool, behind: int = 0
) -> Motion:
    """Return the state of n coordinates at q, v, with room for so many more behind q, v, a for `around`."""
    n, zeros = q.size, np.zeros
    d, number = zeros(n + closures), zeros(NUMBERS)
    number[OWN] = n
    x, rate, a = (whole[:n] for whole in zeros((3, n + behind)))
    x[:], rate[:] = q, v
    return Motion(
        x, rate, a, zeros(n), zeros(n), zeros(closures), d, zeros(n if gap else 0), d[n:],
        zeros(joints), zeros(joints, np.int64), zeros((1, 4 * joints)), zeros((joints, 4)), zeros((6, n)),
        zeros((2, max(closures, joints))), zeros((32 if broyden else 0, n + closures)),
        zeros((ROWS, max(n + closures, 4))), zeros((5, n)), number, zeros(4), zeros(PARTS, np.int64),
        zeros(TRAITS),
    )


def around(inside: Motion, q: np.ndarray, v: np.ndarray, *, broyden: bool) -> Motion:
    """Return the state of `inside` and what stands behind it at q, v; both share the memory of q, v, a and numbers."""
    n, size = inside.q.size, inside.q.size + q.size
    rows = inside.q.base  # of `motion`
    assert rows is not None
    rows[0, n:], rows[1, n:] = q, v
    found = motion(np.zeros(size), np.zeros(size), 0, 0, gap=False, broyden=broyden)
    return found._replace(q=rows[0], v=rows[1], a=rows[2], number=inside.number)


def gauge(kind: np.ndarray, group: np.ndarray, memory: float) -> Gauge:
    """Return an empty gauge; after `memory` [s] an error counts as corrected."""
    ny, zeros = kind.size, np.zeros
    number = zeros(SPAN)
    number[SHORTEST] = np.inf
    return Gauge(
        kind, group, np.full(ny, np.inf), np.full(ny, -np.inf), zeros(ny), zeros(ny), zeros(ny), zeros(ny),
        zeros(ny), zeros(ny), zeros(ny), np.array([memory]), zeros(ny), zeros(int(group.max(initial=-1)) + 1),
        zeros((3, ny)), number,
    )
