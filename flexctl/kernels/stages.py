"""The stages of an SDIRK4(3) step: coefficients, where each begins, the guess of its accelerations, the error.

See `dirk` for the method. What a step keeps stands in the rows of motion.stages.
"""

from __future__ import annotations

from .jit import kernel
from .tables import FAST

GAMMA = 0.25
TIMES = (0.25, 0.75, 0.55, 0.5, 1.0)
A = (
    (0.0, 0.0, 0.0, 0.0),
    (1 / 2, 0.0, 0.0, 0.0),
    (17 / 50, -1 / 25, 0.0, 0.0),
    (371 / 1360, -137 / 2720, 15 / 544, 0.0),
    (25 / 24, -49 / 48, 125 / 16, -85 / 12),
)
"""Below the diagonal, which is GAMMA; the last row is b."""
EMBEDDED = (59 / 48, -17 / 96, 225 / 32, -85 / 12, 0.0)
LESS = (*(b - e for b, e in zip(A[4], EMBEDDED[:4], strict=True)), GAMMA - EMBEDDED[4])
"""b - b^."""
RATES, ACCELERATIONS, KEPT_RATES, MOVED, JOINTS = 0, 5, 10, 11, 12
"""Rows of motion.stages: v and a of five stages; v while the error is estimated, e_q and then x; of prescribed joints
v and a of five stages, then angle and rate at the start."""
SHARE = 0.05
"""Of the error of third order counts: what the order loses in stiff arms that turn is slow; the filter passes it."""
NOTHING, START, SMOOTH = 0.0, 1.0, 2.0
"""Accelerations that are known: none after a jump, those at the start of the step, those of the last one too."""


@kernel(**FAST)
def weight(x, t, j, count):
    """Lagrange's weight of the value at t[j] in the polynomial through `count` of them, at x."""
    if j >= count:
        return 0.0
    product = 1.0
    for m in range(count):
        if m != j:
            product *= (x - t[m]) / (t[j] - t[m])
    return product


@kernel(**FAST)
def guess(a, stages, x, t, rows, count):
    """Fill a with the polynomial through `count` rows of the accelerations, at times t, taken at x."""
    w0, w1, w2, w3 = (
        weight(x, t, 0, count), weight(x, t, 1, count), weight(x, t, 2, count), weight(x, t, 3, count)
    )
    s0, s1, s2, s3 = stages[rows[0]], stages[rows[1]], stages[rows[2]], stages[rows[3]]
    for i in range(a.size):
        a[i] = w0 * s0[i] + w1 * s1[i] + w2 * s2[i] + w3 * s3[i]


@kernel(**FAST)
def extrapolate(motion, stage, known, ratio):
    """Guess the accelerations of a stage; `ratio` is the last step over this one. Row 9 is the start of the step."""
    a, s = motion.a, motion.stages
    x = TIMES[stage]
    if stage == 0:
        if known == SMOOTH:
            guess(a, s, x, (-0.75 * ratio, -0.5 * ratio, 0.0, 0.0), (5, 8, 9, 9), 3)
    elif stage == 1:
        if known == SMOOTH:
            guess(a, s, x, (-0.25 * ratio, 0.0, 0.25, 0.0), (6, 9, 5, 5), 3)
        else:
            guess(a, s, x, (0.25, 0.0, 0.0, 0.0), (5, 9, 9, 9), 1 if known == NOTHING else 2)
    elif stage == 2:
        guess(a, s, x, (0.25, 0.75, 0.0, 0.0), (5, 6, 9, 9), 2 if known == NOTHING else 3)
    elif stage == 3:
        guess(a, s, x, (0.25, 0.75, 0.55, 0.0), (5, 6, 7, 9), 3 if known == NOTHING else 4)
    else:
        guess(a, s, x, (0.25, 0.75, 0.5, 0.0), (5, 6, 8, 9), 3 if known == NOTHING else 4)


@kernel(**FAST)
def base(motion, stage, h):
    """Put q^ and v^ of a stage on the coordinates and rates."""
    q, v, s, row = motion.q, motion.v, motion.stages, A[stage]
    q0, v0 = motion.saved[0], motion.saved[1]
    for i in range(q.size):
        q[i] = q0[i]
        v[i] = v0[i]
        motion.shifted[i] = 0.0
    for j in range(stage):
        w = h * row[j]
        for i in range(q.size):
            q[i] += w * s[RATES + j, i]
            v[i] += w * s[ACCELERATIONS + j, i]


@kernel(**FAST)
def start_joints(motion):
    """Keep angle and rate of prescribed joints where a step begins."""
    for j in range(motion.drive.size):
        motion.stages[JOINTS + 10, j], motion.stages[JOINTS + 11, j] = motion.target[j, 0], motion.target[j, 1]


@kernel(**FAST)
def follow(motion, stage, h):
    """Replace commanded angle and rate of a stage by those to which the step integrates the acceleration."""
    s, row, target, gh = motion.stages, A[stage], motion.target, GAMMA * h
    for j in range(motion.drive.size):
        x, v = s[JOINTS + 10, j], s[JOINTS + 11, j]
        for m in range(stage):
            x += h * row[m] * s[JOINTS + m, j]
            v += h * row[m] * s[JOINTS + 5 + m, j]
        v += gh * target[j, 2]
        target[j, 0], target[j, 1] = x + gh * v, v
        s[JOINTS + stage, j], s[JOINTS + 5 + stage, j] = v, target[j, 2]


@kernel(**FAST)
def move(motion, gh):
    """Take the backward Euler step of a stage with the accelerations guessed."""
    q, v, a = motion.q, motion.v, motion.a
    for i in range(q.size):
        v[i] += gh * a[i]
        q[i] += gh * v[i]


@kernel(**FAST)
def keep(motion, stage):
    """Keep rates and accelerations of a stage."""
    for i in range(motion.q.size):
        motion.stages[RATES + stage, i] = motion.v[i]
        motion.stages[ACCELERATIONS + stage, i] = motion.a[i]


@kernel(**FAST)
def keep_start(motion):
    """Keep the accelerations with which a step begins."""
    for i in range(motion.q.size):
        motion.stages[9, i] = motion.a[i]


@kernel(**FAST)
def disturb(motion, h):
    """Move accelerations and rates so that a correction is the error of the embedded method."""
    s, gh = motion.stages, GAMMA * h
    for i in range(motion.q.size):
        motion.x[2, i], s[KEPT_RATES, i] = motion.a[i], motion.v[i]
        eq = ev = 0.0
        for j in range(5):
            eq += LESS[j] * s[RATES + j, i]
            ev += LESS[j] * s[ACCELERATIONS + j, i]
        s[MOVED, i] = h * eq
        motion.a[i] -= h * (eq + gh * ev) / (gh * gh)
        motion.v[i] -= h * eq / gh


@kernel(**FAST)
def disturb_again(motion, h):
    """Move accelerations and rates by the error found, so that a correction is that error once more filtered."""
    s, gh = motion.stages, GAMMA * h
    for i in range(motion.q.size):
        x = -motion.d[i]
        motion.a[i] = motion.x[2, i] - (2.0 * x - s[MOVED, i]) / (gh * gh)
        motion.v[i] = s[KEPT_RATES, i] - x / gh
        s[MOVED, i] = x


@kernel(**FAST)
def calm(motion):
    """Put the rates right again, and the difference of both errors on the correction."""
    for i in range(motion.q.size):
        motion.v[i] = motion.stages[KEPT_RATES, i]
        motion.d[i] = -(1.0 - SHARE) * motion.d[i] - motion.stages[MOVED, i]
