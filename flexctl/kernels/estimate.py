"""The local error of a step, output by output: what is allowed, what adds up, and when it is estimated again.

The local error of the coordinates is x = S^-1 M h^2 ca (beta - 1/6) (a+ - a), with the matrix S = ca M + cv D + K of
the step: one more pass of Newton's with the accelerations moved by as much. What the sensors see of it is compared with
the range of each reading so far: y(q + x) - y(q). Where nothing changes much the estimate is not made in every step,
and the last one counts again.

A run may spend rtol of the range of each output. A step may take 3 h / T of that, T the length of the run; where a
sampled law feeds back, and corrects what went wrong before, the part `LOOPED`. It may take less where more has been
spent than time has passed, so that the sum stays within what is allowed.
"""

from __future__ import annotations

import numpy as np

from .jit import kernel
from .state import CONTROLLED, FLOOR, PATIENCE, PAUSE, SINCE, WAIT
from .tables import FAST

SOON = 1e-3
"""Time [s] after a jump in which rates are not estimated, nor what the smallest steps cannot follow."""
LOOPED = 0.05
"""What a step of a sampled loop may take."""
COHERENT = 0.5 * np.pi
"""The error of an oscillation in phase adds up at the rate of its largest local error; |x| has the mean of a sine.
Feedback does not let it add up."""
AIM = 0.9
"""Part of rtol that is aimed at: the smallest steps, and the least share, may take more than is left."""
LEAST = 0.1
"""Of the usual share is always left to a step."""


@kernel(**FAST)
def widen(gauge, y):
    """Take the readings of a grid point into the ranges."""
    for j in range(y.size):
        gauge.low[j], gauge.high[j] = min(gauge.low[j], y[j]), max(gauge.high[j], y[j])
        g = gauge.group[j]
        gauge.widest[g] = max(gauge.widest[g], gauge.high[j] - gauge.low[j])


@kernel(**FAST)
def change_of(motion):
    """Largest change of an acceleration in the step."""
    largest = 0.0
    for i in range(motion.a.size):
        largest = max(largest, abs(motion.a[i] - motion.before[i]))
    return largest


@kernel(**FAST)
def weigh(gauge, scheme, h, t, deepest):
    """Return the largest local error as a part of what is allowed; `deepest`: outputs that need less still fail."""
    loop = scheme.sampled == 1.0
    usual = LOOPED if loop else 3.0 * h / scheme.length
    ahead = max(1.0 - t / scheme.length, h / scheme.length)
    rtol, worst = AIM * (scheme.rtol if scheme.rtol > 0.0 else 0.01), 0.0
    raised = 1.0 if loop else COHERENT
    for j in range(gauge.kind.size):
        e = raised * abs(gauge.readings[1, j] - gauge.readings[0, j])
        soon = gauge.number[SINCE] < SOON
        gauge.local[j] = 0.0 if soon and gauge.kind[j] != CONTROLLED else e
        if gauge.kind[j] != CONTROLLED:
            continue
        extent = max(gauge.high[j], gauge.readings[0, j]) - min(gauge.low[j], gauge.readings[0, j])
        extent = max(extent, gauge.least[j], 1e-5 * gauge.widest[gauge.group[j]] + 1e-14)
        left = 1.0 - gauge.sum[j] / (rtol * extent)
        share = usual * min(max(4.0 * left if loop else left / ahead, LEAST), 1.0)
        allowed = rtol * share * extent
        if gauge.failed[j] > PATIENCE:
            gauge.number[FLOOR] = max(scheme.deepest - 3.0, 0.0)
            continue
        if not e <= allowed and deepest:
            gauge.failed[j] += 1.0
            gauge.local[j] = 0.0 if soon else e
        elif e <= allowed:  # what a jump excites is gone
            gauge.failed[j] = max(gauge.failed[j] - 1.0, 0.0)
        worst = max(worst, e / allowed) if np.isfinite(e) else np.inf
    return worst


@kernel(**FAST)
def add_up(gauge, h):
    """Take the last local errors into the sums."""
    fade = np.exp(-h / gauge.memory[0])
    for j in range(gauge.local.size):
        gauge.sum[j] = fade * gauge.sum[j] + gauge.local[j]
        gauge.error[j] = max(gauge.error[j], gauge.sum[j])


@kernel(**FAST)
def disturb(motion, part):
    """Take a part of their change in the step off the accelerations: a correction then is the local error."""
    for i in range(motion.a.size):
        motion.x[2, i] = motion.a[i]
        motion.a[i] -= part * (motion.a[i] - motion.before[i])


@kernel(**FAST)
def venture(motion, h):
    """Move coordinates by their local error, rates by what it changes in a step; accelerations are put right."""
    for i in range(motion.q.size):
        motion.a[i] = motion.x[2, i]
        motion.saved[5, i], motion.x[2, i] = motion.q[i], motion.v[i]
        motion.x[0, i] = -motion.d[i]
        motion.q[i] += motion.x[0, i]
        motion.v[i] += (motion.x[0, i] - motion.x[1, i]) / h


@kernel(**FAST)
def go_back(motion):
    """Undo `venture`."""
    for i in range(motion.q.size):
        motion.q[i], motion.v[i] = motion.saved[5, i], motion.x[2, i]


@kernel(**FAST)
def wait(gauge, motion, good):
    """Decide when the error is estimated again."""
    known = gauge.number
    for i in range(motion.q.size):
        motion.x[1, i] = motion.x[0, i]
    if known[WAIT] < 0.0:
        known[WAIT] += 1.0
    elif good:
        known[PAUSE] = min(2.0 * known[PAUSE] + 1.0, 15.0)
        known[WAIT] = known[PAUSE]
    else:
        known[PAUSE] = known[WAIT] = 0.0
