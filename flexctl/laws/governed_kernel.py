"""A law whose references run at the pace that its limits allow, compiled: prediction, decision, one period.

    x+ = A x + B0 r + Bm rm + B1 r+,    z = C x + D r,    r = (p, p' s, p'' s^2 + p' w) of each channel at sigma

One step of the prediction is one interval of the governor; r, rm, r+ belong to its start, middle and end. The pace s
changes at the rate w within an interval; from one to the next w+ = keep w - (1 - keep) brake s.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import float64, types

from ..kernels.arrays import MAT, VEC
from ..kernels.groups import group
from ..kernels.jit import entry, kernel
from ..kernels.law import linear_step
from ..kernels.pointers import OWN, view
from ..kernels.vectors import row_sum


class Loop(NamedTuple):
    """The closed loop over one interval; see the module docstring."""

    A: np.ndarray
    B0: np.ndarray
    Bm: np.ndarray
    B1: np.ndarray
    C: np.ndarray
    D: np.ndarray


LOOP = group((MAT,) * 6, Loop)


class Governor(NamedTuple):
    """The loop, bounds of its signals, the path, and how the pace may go on; see `laws.governed` for the numbers."""

    loop: Loop
    lower: np.ndarray
    upper: np.ndarray
    samples: np.ndarray  # value, rate, acceleration of each channel at every control period
    rests: np.ndarray  # path parameters at which the path rests for long or for good
    spacing: float  # control period [s]
    interval: float  # [s]
    slope: float
    keep: float
    brake: float
    horizon: float


NUMBERS = 6
GOVERNOR = group((LOOP, VEC, VEC, MAT, VEC, *(float64,) * NUMBERS), Governor)
FINEST = 1e-3
"""Relative error of the pace at which a move begins."""
TAIL = 0.3
"""How long the loop is predicted after the path's end [s]."""
SLACK = 5e-3
"""Excess over a bound, in parts of it, that counts as rounding: references are interpolated within an interval."""


@kernel(fastmath=False)
def cubic(z, h, a, da, b, db):
    """Cubic at z in 0 .. 1 with values a, b and slopes da, db per unit of time at the ends, h apart."""
    c, d = 3.0 * (b - a) - h * (2.0 * da + db), 2.0 * (a - b) + h * (da + db)
    return a + z * (h * da + z * (c + z * d))


@kernel(fastmath=False)
def reference(path, spacing, sigma, s, w, r):
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


@entry(types.void(MAT, float64, float64, float64, float64, VEC), fastmath=False)
def reference_at(path, spacing, sigma, s, w, r):
    """`reference` for callers in Python."""
    reference(path, spacing, sigma, s, w, r)


@kernel(fastmath=False)
def predicted(g, x, sigma, s, w):
    """Rows of bounded signals [interval, signal] from a state, a pace and its first slope, to the end and TAIL more."""
    h, end = g.interval, rest_after(g.rests, sigma)
    slowest = max(min(s, s + w * h / (1.0 - g.keep)), FINEST)
    longest = g.horizon if g.brake > 0.0 else (end - sigma) / slowest
    left = int(np.ceil(TAIL / h))
    A, B0, Bm, B1, C, D = g.loop
    n, nr, nz = A.shape[0], B0.shape[1], C.shape[0]
    z = np.empty((int(np.ceil(longest / h)) + left + 2, nz))
    now, new = x.copy(), np.empty(n)
    r, middle, ahead = np.empty(nr), np.empty(nr), np.empty(nr)
    half = 0.5 * h
    for k in range(z.shape[0]):
        reference(g.samples, g.spacing, min(sigma, end), s, w, r)
        for i in range(nz):
            z[k, i] = row_sum(row_sum(0.0, C, i, now), D, i, r)
        between = sigma + half * s + 0.5 * half**2 * w
        reference(g.samples, g.spacing, min(between, end), s + half * w, w, middle)
        sigma += h * s + 0.5 * h**2 * w
        s += h * w
        reference(g.samples, g.spacing, min(sigma, end), s, w, ahead)
        for i in range(n):
            total = row_sum(0.0, A, i, now)
            for j in range(nr):
                total += B0[i, j] * r[j] + Bm[i, j] * middle[j] + B1[i, j] * ahead[j]
            new[i] = total
        for i in range(n):
            now[i] = new[i]
        w = g.keep * w - (1.0 - g.keep) * g.brake * s
        if sigma >= end or s < 1e-3:
            left -= 1
            if left < 0:
                return z[: k + 1]
    return z


@entry(float64[:, :](GOVERNOR, VEC, float64, float64, float64), fastmath=False)
def predict(g, x, sigma, s, w):
    """`predicted` for callers in Python."""
    return predicted(g, x, sigma, s, w)


@kernel(fastmath=False)
def rest_after(rests, sigma):
    """Where the path comes to the next rest that is long enough for the pace to be free again."""
    return rests[np.searchsorted(rests, sigma)] if sigma < rests[-1] else sigma


@entry(types.boolean(MAT, float64, float64, float64), fastmath=False)
def moves(samples, spacing, begin, end):
    """Whether a path moves between two path parameters."""
    last = float(samples.shape[0])
    first, behind = int(min(max(begin / spacing + 0.5, 0.0), last)), int(min(max(end / spacing + 1.5, 0.0), last))
    for k in range(first, behind):
        for c in range(samples.shape[1]):
            if c % 3 > 0 and samples[k, c] != 0.0:
                return True
    return False


@kernel(fastmath=False)
def excess(g, z):
    """By how much predicted signals exceed their bounds, at worst, in parts of the bound; <= 0 if none."""
    most = -np.inf
    for k in range(z.shape[0]):
        for i in range(z.shape[1]):
            over = max(z[k, i] - g.upper[i], g.lower[i] - z[k, i])
            most = max(most, over / (0.5 * (g.upper[i] - g.lower[i])))
    return most


@kernel(fastmath=False)
def admitted(g, z, more):
    """The largest part of the way from predicted signals z to `more` that stays within the bounds."""
    least = 1.0
    for k in range(min(z.shape[0], more.shape[0])):
        for i in range(z.shape[1]):
            change = more[k, i] - z[k, i]
            if change != 0.0:
                room = g.upper[i] - z[k, i] if change > 0.0 else g.lower[i] - z[k, i]
                least = min(least, room / change)
    return max(least, 0.0)


@kernel(fastmath=False)
def fastest(g, x, sigma):
    """The fastest pace, held, at which a move can begin."""
    low, high = 0.0, 1.0
    if excess(g, predicted(g, x, sigma, 1.0, 0.0)) <= 0.0:
        return 1.0
    while high - low > FINEST * high and high > FINEST:
        middle = 0.5 * (low + high)
        if excess(g, predicted(g, x, sigma, middle, 0.0)) <= 0.0:
            low = middle
        else:
            high = middle
    return low


@kernel(fastmath=False)
def next_slope(g, x, sigma, s, w):
    """The slope of the pace for one interval."""
    keep, h = g.keep, g.interval
    rest, kick = keep * w - (1.0 - keep) * g.brake * s, (1.0 - keep) * (g.slope + g.brake * s)
    held = predicted(g, x, sigma, s, rest)
    # the pace ends at s + h w / (1 - keep), which stays between 0 and 1
    most = min(rest + kick, (1.0 - s) * (1.0 - keep) / h)
    over = excess(g, held)
    if over > SLACK:
        least = max(rest - kick, -s * (1.0 - keep) / h)
        return remedy(g, x, sigma, s, rest, over, least, most)
    if most <= rest:
        return rest
    more = predicted(g, x, sigma, s, most)
    if excess(g, more) <= 0.0:
        return most
    between = rest + admitted(g, held, more) * (most - rest)
    return between if excess(g, predicted(g, x, sigma, s, between)) <= 0.0 else rest


@kernel(fastmath=False)
def remedy(g, x, sigma, s, rest, over, least, most):
    """The slope that exceeds the bounds least, no farther from the held one, which exceeds them, than it takes."""
    w, smallest = least, excess(g, predicted(g, x, sigma, s, least))
    other = excess(g, predicted(g, x, sigma, s, most))
    if other < smallest or (other == smallest and most < least):
        w, smallest = most, other
    if smallest >= over:
        return rest
    return rest + (w - rest) * min(1.0, over / (over - smallest))


@kernel(fastmath=False)
def pace_at(t, begin, lag, s, w):
    """Path parameter and pace at time t; the first is t to the last bit where nothing was ever slowed."""
    since = t - begin
    return t - (lag + (1.0 - s) * since - 0.5 * w * since**2), s + w * since


@kernel(fastmath=False)
def decided(g, t, x, pace):
    """Replace the pace (begin, lag, s, w) by that of the interval that begins at t; x is the state of the loop."""
    sigma, s = pace_at(t, pace[0], pace[1], pace[2], pace[3])
    free = s == 1.0 and pace[3] == 0.0
    pace[0], pace[1], h = t, pace[1] if free else t - sigma, g.interval
    if not moves(g.samples, g.spacing, sigma, sigma + h):
        pace[2], pace[3] = 1.0, 0.0
    elif not moves(g.samples, g.spacing, sigma - h, sigma):
        pace[2], pace[3] = fastest(g, x, sigma), 0.0
    else:
        pace[2], pace[3] = s, next_slope(g, x, sigma, s, pace[3])


@entry(types.void(GOVERNOR, float64, VEC, VEC), fastmath=False)
def decide(g, t, x, pace):
    """`decided` for callers in Python."""
    decided(g, t, x, pace)


@kernel(fastmath=False)
def add_product(matrix, vector, factor, total):
    """Add factor times matrix times vector, which may have more entries than the matrix columns, to total."""
    for i in range(matrix.shape[0]):
        for j in range(matrix.shape[1]):
            total[i] += factor * matrix[i, j] * vector[j]


@kernel(fastmath=False)
def corrected(estimators, estimate, known, m, x):
    """Fill x with the estimate after the readings m, from that before them; without one the arm is at rest."""
    _, _, measure, correct, rigid = estimators
    if not known:
        estimate[:] = 0.0
        add_product(rigid, m, 1.0, estimate)
    innovation = m[: measure.shape[0]].copy()
    add_product(measure, estimate, -1.0, innovation)
    x[: estimate.size] = estimate
    add_product(correct, innovation, 1.0, x)


@kernel(fastmath=False)
def carried(estimators, x, u, estimate):
    """Fill the estimate before the next readings, from that after the last and the command that acts."""
    Phi, Gamma, _, _, _ = estimators
    estimate[:] = 0.0
    add_product(Phi, x, 1.0, estimate)
    add_product(Gamma, u, 1.0, estimate)


ESTIMATOR = types.UniTuple(MAT, 5)
"""Phi, Gamma, measure, correct, rigid."""


@entry(types.void(ESTIMATOR, VEC, types.boolean, VEC, VEC), fastmath=False)
def correct(estimators, estimate, known, m, x):
    """`corrected` for callers in Python."""
    corrected(estimators, estimate, known, m, x)


@entry(types.void(ESTIMATOR, VEC, VEC, VEC), fastmath=False)
def carry(estimators, x, u, estimate):
    """`carried` for callers in Python."""
    carried(estimators, x, u, estimate)


STATE = 6
"""Of the governor, behind the law's states and the estimate: whether there is one, calls, and the pace."""


@entry(OWN, fastmath=False)
def governed_period(law, k, m, r, memory, command):
    """One period of `laws.governed.Governed` in a time loop.

    The governor's arrays stand in law.more in the order of `laws.compiled`; memory[0] holds the law's state, the
    estimate and the governor's own.
    """
    more, at = law.more, law.places
    estimators = view(more, at, 0), view(more, at, 1), view(more, at, 2), view(more, at, 3), view(more, at, 4)
    times, numbers = view(more, at, 5)[0], view(more, at, 6)[0]
    loop = Loop(
        view(more, at, 11), view(more, at, 12), view(more, at, 13), view(more, at, 14), view(more, at, 15),
        view(more, at, 16),
    )
    g = Governor(
        loop, view(more, at, 7)[0], view(more, at, 8)[0], view(more, at, 9), view(more, at, 10)[0], numbers[0],
        numbers[1], numbers[2], numbers[3], numbers[4], numbers[5],
    )
    n, nx, nu, delay, t = estimators[0].shape[0], law.A.shape[1], law.drives.size, memory.shape[0] - 1, times[k]
    estimate, own = memory[0, nx : nx + n], memory[0, nx + n : nx + n + STATE]
    x = np.empty(g.loop.A.shape[0])
    corrected(estimators, estimate, own[0] != 0.0, m, x)
    x[n : n + nx] = memory[0, :nx]
    for d in range(delay):  # the commands that wait, the newest first
        x[n + nx + d * nu : n + nx + (d + 1) * nu] = memory[delay - d, :nu]
    pace = own[2:]
    if int(own[1]) % int(numbers[6]) == 0:
        decided(g, t, x, pace)
    slowed = r
    if pace[1] != 0.0 or pace[2] != 1.0 or pace[3] != 0.0:
        slowed = np.empty(r.size)
        sigma, s = pace_at(t, pace[0], pace[1], pace[2], pace[3])
        reference(g.samples, g.spacing, sigma, s, pace[3], slowed)
    linear_step(law, k, m, slowed, memory, command)
    carried(estimators, x, memory[1] if delay > 0 else command, estimate)
    own[0], own[1] = 1.0, own[1] + 1.0
