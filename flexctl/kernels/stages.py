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
OFF, OFF_BEFORE, GUESSED, WHEN, ROWS = 24, 29, 34, 35, 36
"""Rows of motion.stages: v and a of five stages; v while the error is estimated, e_q and then x; of prescribed joints
v and a of five stages, then angle and rate at the start; by what the polynomials for a of five stages were off in the
last step, and in the one before; what they say of this stage, and their times. Behind a stand the closure forces."""
SHARE = 0.05
"""Of the error of third order counts: what the order loses in stiff arms that turn is slow; the filter passes it."""
NOTHING, START, SMOOTH = 0.0, 1.0, 2.0
"""Accelerations that are known: none after a jump, those at the start of the step, those of the last one too."""
SEEN_IN = ((0, 3, 1, 4), (0, 4, 1, 4), (0, 1, 4, 4), (0, 1, 2, 4), (0, 1, 3, 4))
SEEN_AT = (
    (-0.75, -0.5, -0.25, 0.0), (0.25, 0.0, -0.25, 0.0), (0.25, 0.75, 0.0, 0.0), (0.25, 0.75, 0.55, 0.0),
    (0.25, 0.75, 0.5, 0.0),
)
SEEN = ((0, 0, 4), (1, 2, 3), (2, 3, 3), (3, 4, 4), (3, 4, 4))
"""Stages from which each stage is guessed, those of the last step where their time is not above 0, the start of the
step; their times; and how many of them, by what is known."""


@kernel(**FAST)
def weight(x, t, j, count):
    """Lagrange's weight of the value at t[j] in the polynomial through `count` of them, at x."""
    product = 1.0
    for m in range(count):
        if m != j:
            product *= (x - t[m]) / (t[j] - t[m])
    return product


@kernel(**FAST)
def extrapolate(motion, stage, known, ratio, alike):
    """Guess accelerations and closure forces of a stage; of the first one leave what they are where nothing is known.

    ratio: the last step over this one; alike: so many steps of this length were taken last (2: or more). Accelerations
    of a stage are those of a place that is off by O(h^2), and no polynomial through others knows that; by what it was
    off in the same stage of the last steps it is off again. A kept tangent has the direction of the closure forces that
    it was made with: what these change by costs corrections.
    """
    a, lam, s, n, count = motion.a, motion.lam, motion.stages, motion.a.size, SEEN[stage][int(known)]
    now, last = (2.0, 1.0) if alike > 1.0 else (alike, 0.0)
    off, before, guess, t = s[OFF + stage], s[OFF_BEFORE + stage], s[GUESSED], s[WHEN]
    for j in range(4):
        t[j] = min(SEEN_AT[stage][j], 0.0) * ratio + max(SEEN_AT[stage][j], 0.0)
    if count == 0:
        for i in range(n):
            guess[i] = a[i]
        for k in range(lam.size):
            guess[n + k] = lam[k]
    else:
        for i in range(guess.size):
            guess[i] = 0.0
    for j in range(count):
        w, row = weight(TIMES[stage], t, j, count), s[ACCELERATIONS + SEEN_IN[stage][j]]
        for i in range(guess.size):
            guess[i] += w * row[i]
    for i in range(n):
        a[i] = guess[i] + now * off[i] - last * before[i]
    for k in range(lam.size):
        lam[k] = guess[n + k] + now * off[n + k] - last * before[n + k]


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
    """Keep rates and accelerations of a stage, and its closure forces."""
    for i in range(motion.q.size):
        motion.stages[RATES + stage, i] = motion.v[i]
        motion.stages[ACCELERATIONS + stage, i] = motion.a[i]
    for k in range(motion.lam.size):
        motion.stages[ACCELERATIONS + stage, motion.q.size + k] = motion.lam[k]
    s = motion.stages
    for i in range(s.shape[1]):
        s[OFF_BEFORE + stage, i] = s[OFF + stage, i]
        s[OFF + stage, i] = s[ACCELERATIONS + stage, i] - s[GUESSED, i]


@kernel(**FAST)
def keep_start(motion):
    """Keep the accelerations and closure forces with which a step begins."""
    for i in range(motion.q.size):
        motion.stages[ACCELERATIONS + 4, i] = motion.a[i]
    for k in range(motion.lam.size):
        motion.stages[ACCELERATIONS + 4, motion.q.size + k] = motion.lam[k]


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
