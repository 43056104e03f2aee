"""The local error of a step, output by output: what is allowed, what adds up, and when it is estimated again.

The local error of the coordinates is x = S^-1 M h^2 ca (beta - 1/6) (a+ - a), with the matrix S = ca M + cv D + K of
the step: one more pass of Newton's with the accelerations moved by as much. What the sensors see of it is compared with
the range of each reading so far: y(q + x) - y(q). Where nothing changes much the estimate is not made in every step,
and the last one counts again.

**What lasts.** Of x the part F x, F = S^-1 ca M, is of modes that the step resolves: they carry it on, and it adds up.
The rest is of modes far beyond the step, which follow what moves them: the scheme forgets it, by its spectral radius at
infinity (`forgets`). It is as large in the tenth step as in the thousandth; to sum it would claim errors of stiff arms
hundreds of times too large. F x is found by one more correction where x matters.

A run may spend rtol of the range of each output. A step may take 3 h / T of that, T the length of the run; where a
sampled law feeds back, and corrects what went wrong before, the part `LOOPED`. It may take less where more has been
spent than time has passed, so that the sum stays within what is allowed.
"""

from __future__ import annotations

import numpy as np

from .jit import kernel
from .state import AGO, CONTROLLED, FLOOR, FULL, OWN, PATIENCE, PAUSE, SEEN, SINCE, WAIT
from .tables import FAST

SOON = 1e-3
"""Time [s] after a jump in which rates are not estimated, nor what the smallest steps cannot follow. Chosen: a joint
without inertia has no rate that could be resolved there."""
LOOPED = 0.05
"""Share of the tolerance that a step of a sampled loop may take. Fitted: sums of local errors overshoot there by a
hundred times (case K of the tests would take 16700 solutions in place of 4500);
`tests/accuracy_factors.py LOOPED=0.1 K` shows what another number costs."""
COHERENT = 0.5 * np.pi
"""The error of an oscillation in phase adds up at the rate of its largest local error; |x| has the mean of a sine.
Feedback does not let it add up."""
AIM = 0.9
"""Part of rtol that is aimed at: the smallest steps, and the least share, may take more than is left. Chosen."""
PASSING, MATTERS = 0.5, 0.1
"""Part of rtol that what passes may take; from this ratio on it is told apart from what lasts. Chosen: what is below a
tenth of its share adds up to less than a tenth of rtol whatever it is."""
PART = 0.1
"""Of a local error that hardly matters, more than this part is not left by Newton either. Chosen: the estimate is made
of corrections, and is known to about a tenth then."""
WAITS, LOOKED = 15.0, 256.0
"""Steps for which an estimate counts at most, and so many of them are enough of a run. Chosen: errors are estimated
anew as soon as accelerations change half as much again."""
LASTS = 10.0
"""So many times longer than errors of a sampled loop are remembered may what Newton leaves swing on: rests are in time
with the motion, and a loop that hardly damps a mode does not correct them. Chosen."""
LEAST = 0.1
"""Of the usual share is always left to a step. Chosen, or a sum that is nearly spent would stop the run: at most a
tenth of rtol is spent on top of it."""


@kernel(**FAST)
def widen(gauge, y):
    """Take the readings of a grid point into the ranges."""
    for j in range(y.size):
        gauge.low[j], gauge.high[j] = min(gauge.low[j], y[j]), max(gauge.high[j], y[j])
        g = gauge.group[j]
        gauge.widest[g] = max(gauge.widest[g], gauge.high[j] - gauge.low[j])


@kernel(**FAST)
def changes(motion, most):
    """Whether an acceleration changes by more than this in the step."""
    found = False
    for i in range(motion.a.size):
        found = found | (abs(motion.a[i] - motion.before[i]) > most)  # as in `pieces.swings`
    return found


@kernel(**FAST)
def change_of(motion):
    """Largest change of an acceleration in the step."""
    largest = 0.0
    for i in range(motion.a.size):
        largest = max(largest, abs(motion.a[i] - motion.before[i]))
    return largest


@kernel(**FAST)
def forgets(scheme):
    """Part of a mode far beyond the step that a step of the scheme leaves: its spectral radius at infinity."""
    return scheme.alpha_f / (1.0 - scheme.alpha_f) if 0.0 < scheme.alpha_f < 0.5 else 1.0


@kernel(**FAST)
def extent_of(gauge, j):
    """Range of an output so far, of those of its unit, or that which is expected."""
    extent = max(gauge.high[j], gauge.readings[0, j]) - min(gauge.low[j], gauge.readings[0, j])
    return max(extent, gauge.least[j], 1e-5 * gauge.widest[gauge.group[j]] + 1e-14)


@kernel(**FAST)
def matters(gauge, scheme, h):
    """Whether the local error is so large that it matters what of it lasts."""
    usual = LOOPED if scheme.sampled == 1.0 else 3.0 * h / scheme.length
    part, found = MATTERS * usual * (scheme.rtol if scheme.rtol > 0.0 else 0.01), False
    for j in range(gauge.kind.size):
        e = abs(gauge.readings[1, j] - gauge.readings[0, j])
        found = found or (gauge.kind[j] == CONTROLLED and not e <= part * extent_of(gauge, j))
    return found


@kernel(**FAST)
def weigh(gauge, scheme, h, t, deepest, split, keeps):
    """Return the largest local error as a part of what is allowed; `deepest`: outputs that need less still fail.

    split: what lasts is known too; keeps: the part of the rest that the next step keeps.
    """
    loop = scheme.sampled == 1.0
    usual = LOOPED if loop else 3.0 * h / scheme.length
    ahead = max(1.0 - t / scheme.length, h / scheme.length)
    rtol, worst = AIM * (scheme.rtol if scheme.rtol > 0.0 else 0.01), 0.0
    raised = 1.0 if loop else COHERENT
    for j in range(gauge.kind.size):
        e, passing = raised * abs(gauge.readings[1, j] - gauge.readings[0, j]), 0.0
        if split:
            passing = abs(gauge.readings[1, j] - gauge.readings[2, j])
            e = min(e, raised * abs(gauge.readings[2, j] - gauge.readings[0, j]))
        soon = gauge.number[SINCE] + h <= SOON * (1.0 + 1e-9)
        gauge.local[j] = 0.0 if soon and gauge.kind[j] != CONTROLLED else e
        gauge.passing[j] = 0.0 if soon and gauge.kind[j] != CONTROLLED else passing
        if gauge.kind[j] != CONTROLLED:
            continue
        extent = extent_of(gauge, j)
        left = 1.0 - gauge.sum[j] / (rtol * extent)
        share = usual * min(max(4.0 * left if loop else left / ahead, LEAST), 1.0)
        allowed, stays = rtol * share * extent, rtol * max(share, (1.0 - keeps) * PASSING) * extent
        if gauge.failed[j] > PATIENCE:
            gauge.number[FLOOR] = max(scheme.deepest - 3.0, 0.0)
            continue
        if not (e <= allowed and passing <= stays) and deepest:
            gauge.failed[j] += 1.0
            gauge.local[j], gauge.passing[j] = (0.0, 0.0) if soon else (e, passing)
        elif e <= allowed:  # what a jump excites is gone
            gauge.failed[j] = max(gauge.failed[j] - 1.0, 0.0)
        worst = max(worst, e / allowed, passing / stays) if np.isfinite(e + passing) else np.inf
    return worst


@kernel(**FAST)
def add_up(gauge, h, keeps):
    """Take the last local errors into the sums."""
    fade = np.exp(-h / gauge.memory[0])
    for j in range(gauge.local.size):
        gauge.sum[j] = fade * gauge.sum[j] + gauge.local[j]
        gauge.whole[j] += gauge.local[j]
        gauge.brief[j] = keeps * gauge.brief[j] + gauge.passing[j]
        gauge.error[j] = max(gauge.error[j], gauge.sum[j] + gauge.brief[j])


@kernel(**FAST)
def disturb(motion, part):
    """Take a part of their change in the step off the accelerations: a correction then is the local error."""
    for i in range(motion.a.size):
        motion.x[2, i] = motion.a[i]
        motion.a[i] -= part * (motion.a[i] - motion.before[i])


@kernel(**FAST)
def move_by(motion, h, order, error, last):
    """Move coordinates by an error, rates by what it changes in time; rows of motion.x: the error now and before.

    A step of another length made the error before: it is taken for what it would be in one of this length.
    """
    number = motion.number
    like = (h / number[SEEN]) ** order if number[SEEN] > 0.0 else 1.0
    for i in range(motion.q.size):
        motion.a[i] = motion.x[2, i]
        motion.saved[5, i], motion.x[2, i] = motion.q[i], motion.v[i]
        motion.x[error, i] = -motion.d[i]
        motion.q[i] += motion.x[error, i]
        motion.v[i] += (motion.x[error, i] - like * motion.x[last, i]) / (number[AGO] + h)


@kernel(**FAST)
def venture(motion, h, order):
    """Move coordinates by their local error, rates by what it changes in time; accelerations are put right."""
    move_by(motion, h, order, 0, 1)


@kernel(**FAST)
def disturb_by_error(motion, ca):
    """Take the local error times ca off the accelerations: a correction then is what lasts of it."""
    for i in range(motion.a.size):
        motion.x[2, i] = motion.a[i]
        motion.a[i] -= ca * motion.x[0, i]


@kernel(**FAST)
def venture_lasting(motion, h, order):
    """Move coordinates and rates by what lasts of their local error."""
    move_by(motion, h, order, 3, 4)


@kernel(**FAST)
def go_back(motion):
    """Undo `venture` or `venture_lasting`."""
    for i in range(motion.q.size):
        motion.q[i], motion.v[i] = motion.saved[5, i], motion.x[2, i]


@kernel(**FAST)
def hand_on(motion, scheme, h, split):
    """Keep the error of a step for the next one, whose rates it tells.

    Where a sampled law jumps, local errors change from step to step: what they do not tell then is its length.
    """
    motion.number[AGO], motion.number[SEEN] = 0.0, h if scheme.sampled == 0.0 else 0.0
    for i in range(motion.q.size):
        motion.x[1, i] = motion.x[0, i]
        motion.x[4, i] = motion.x[3, i] if split else motion.x[0, i]


@kernel(**FAST)
def may_leave(motion, scheme, ratio, h, memory):
    """Return what Newton may leave of a correction, where the local error is `ratio` of what is allowed.

    A rest d moves the rates by d / (g h), g about 1/2. With a kept tangent rests are in time with the motion: N of them
    move a mode of w by N d / (g h w), 1 / (g h w) times as far as N local errors of that size do, and a rigid arm by
    N^2 d / g. So the part that may be left goes with h / T: all of them together then cost 3 slack / g of rtol in what
    runs away at a constant rate, and 1 / (w T) of that in what swings. It is a part of what the arm's coordinates are
    off: a state of a cylinder is off by hundreds of times as much, and the arm would be left so.
    """
    length = min(scheme.length, LASTS * memory)
    largest, part = 0.0, scheme.slack * h / length
    if scheme.sampled == 1.0 and scheme.newton != FULL:  # whose steps may take another share
        part *= min(3.0 * h / (LOOPED * length), 1.0)
    for i in range(int(motion.number[OWN])):
        largest = max(largest, abs(motion.x[0, i]))
    return largest * min(part / max(ratio, 1e-300), PART if part > 0.0 else 0.0)


@kernel(**FAST)
def longest_wait(scheme, h):
    """Return for how many steps, at most, an estimate may count where nothing changes much.

    An estimate takes as long as a step or two. Of long runs in given steps `LOOKED` of them show how the error goes.
    """
    if scheme.rtol > 0.0:
        return WAITS
    return np.floor(min(max(WAITS, scheme.length / (LOOKED * h)), 4.0 * WAITS))


@kernel(**FAST)
def wait(gauge, good, most):
    """Decide when the error is estimated again."""
    known = gauge.number
    if known[WAIT] < 0.0:
        known[WAIT] += 1.0
    elif good:
        known[PAUSE] = min(2.0 * known[PAUSE] + 1.0, most)
        known[WAIT] = known[PAUSE]
    else:
        known[PAUSE] = known[WAIT] = 0.0
