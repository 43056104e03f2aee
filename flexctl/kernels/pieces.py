"""The pieces of a step: prediction, correction, what is kept in case it fails, prescribed motions, updates."""

from __future__ import annotations

from .jit import kernel
from .state import CONVERGENCE, FIRST, LAST, TORQUE, YOUNG
from .tables import BOUND, FAST

LOOKS = 6
"""Looks ahead and behind, by turns, with which a run begins that begins in motion."""
MORE = 40.0
"""A jump may take so many more iterations than a step: the tangent at its end is not the one where it begins."""
UNKNOWN = 0.02
"""Rate of convergence that is expected of new factors. Chosen."""
ROUNDING = 1e-10
"""Largest rest of a jump, beside the arm, that is accepted when corrections shrink no more."""


@kernel(**FAST)
def predict(motion, h, scheme, soft):
    """Begin a step with the accelerations extrapolated; a soft one is of the backward Euler rule.

    motion.d is what accelerations move.
    """
    q, v, a, shifted, before, d = motion.q, motion.v, motion.a, motion.shifted, motion.before, motion.d
    if soft:
        for i in range(q.size):
            before[i] = a[i]
            a[i] = shifted[i] = d[i] = 0.0
            q[i] += h * v[i]
        return
    last = motion.number[LAST]
    ratio = h / last if last > 0.0 else 0.0
    am, af, g = scheme.alpha_m, scheme.alpha_f, 1.0 / (1.0 - scheme.alpha_m)
    b1, b2, g1, g2 = h * h * (0.5 - scheme.beta), h * h * scheme.beta, h * (1.0 - scheme.gamma), h * scheme.gamma
    for i in range(q.size):
        old, now = shifted[i], a[i]
        guess = now + ratio * (now - before[i])
        new = ((1.0 - af) * guess + af * now - am * old) * g
        before[i], a[i], shifted[i] = now, guess, new
        d[i] = b1 * old + b2 * new
        q[i] += h * v[i] + d[i]
        v[i] += g1 * old + g2 * new


@kernel(**FAST)
def swings(motion, most):
    """Whether accelerations move a coordinate by more than this."""
    found = False
    for i in range(motion.q.size):
        found = found | (abs(motion.d[i]) > most)  # all are looked at: the loop vectorises
    return found


@kernel(**FAST)
def correct(motion, parts):
    """Move the state by the correction: coordinates, rates, accelerations, those of the scheme by a part of it each."""
    q, v, a, shifted, d, (cq, cv, ca, cs) = motion.q, motion.v, motion.a, motion.shifted, motion.d, parts
    for i in range(q.size):
        q[i] -= cq * d[i]
        v[i] -= cv * d[i]
    for i in range(q.size):
        a[i] -= ca * d[i]
        shifted[i] -= cs * d[i]


@kernel(**FAST)
def scale(d, factor):
    """Multiply by a factor."""
    for i in range(d.size):
        d[i] *= factor


@kernel(**FAST)
def shrinking(size, previous, taken, least):
    """Return the rate at which corrections shrink; one that was cut, and that behind it, show none."""
    return max(size / previous, least) if taken == 1.0 and previous > 0.0 else 1.0


@kernel(**FAST)
def save(motion):
    """Keep the state for the case that the step is not good enough."""
    keep = motion.saved
    copy(motion.q, keep[0])
    copy(motion.v, keep[1])
    copy(motion.a, keep[2])
    copy(motion.shifted, keep[3])
    copy(motion.before, keep[4])
    for i in range(motion.lam.size):
        motion.spare[0, i] = motion.lam[i]


@kernel(**FAST)
def copy(x, y):
    """Copy one array: a loop over several begins with the question whether any of them overlap."""
    for i in range(x.size):
        y[i] = x[i]


@kernel(**FAST)
def restore(motion):
    """Go back to the state that was saved."""
    keep = motion.saved
    for i in range(motion.q.size):
        motion.q[i], motion.v[i], motion.a[i] = keep[0, i], keep[1, i], keep[2, i]
        motion.shifted[i], motion.before[i] = keep[3, i], keep[4, i]
    for i in range(motion.lam.size):
        motion.lam[i] = motion.spare[0, i]


@kernel(**FAST)
def moving(motion):
    """Whether a rate is not zero."""
    some = False
    for i in range(motion.v.size):
        some = some or motion.v[i] != 0.0
    return some


@kernel(**FAST)
def look(motion, h):
    """Put the state where its rates, and the accelerations known, lead in a time h, which may be negative."""
    for i in range(motion.q.size):
        motion.q[i] = motion.saved[0, i] + h * motion.saved[1, i]
        motion.v[i] = motion.saved[1, i] + h * motion.x[0, i]
        motion.a[i], motion.shifted[i] = motion.saved[2, i], motion.saved[3, i]
    for i in range(motion.lam.size):
        motion.lam[i] = motion.spare[0, i]


@kernel(**FAST)
def look_back(motion, h):
    """Keep what was found ahead, and look behind."""
    for i in range(motion.q.size):
        motion.saved[5, i] = motion.a[i]
    for i in range(motion.lam.size):
        motion.spare[1, i] = motion.lam[i]
    look(motion, -h)


@kernel(**FAST)
def look_on(motion, looks, h):
    """Look behind after ahead, and ahead again with the mean of both; with the last look it is what is found.

    Returns how many looks are left.
    """
    looks -= 1
    if looks % 2 == 1:
        look_back(motion, h)
        return looks
    for i in range(motion.q.size):
        less = 0.5 * (motion.saved[5, i] - motion.a[i])
        motion.a[i] += less
        motion.shifted[i] += less
        motion.x[0, i] = motion.a[i] if looks > 0 else 0.0
        motion.v[i] = motion.saved[1, i]
    for i in range(motion.lam.size):
        motion.lam[i] = 0.5 * (motion.spare[1, i] + motion.lam[i])
    if looks > 0:
        look(motion, h)
    return looks


@kernel(**FAST)
def jump_found(led, before, iteration, limit, least, usual, scheme):
    """Whether a correction of a jump, which led so far after one that led to `before`, leaves at most `least`.

    Corrections are taken to shrink on as they do, the first as is `usual` (1: not known). What shrinks no more is
    rounding.
    """
    shrunk = led / before if iteration > 1 and before > 0.0 else usual
    rounding = iteration > 1 and shrunk > 0.5 and led * scheme.tolerance <= ROUNDING * limit
    return led * max(shrunk, 1e-3) <= least or rounding


@kernel(**FAST)
def aim(motion, k, part, h):
    """Fill motion.target at a part of the step from grid point k: the quintic with the values at both ends.

    A part of 0 gives the right limits at k.
    """
    s, command, target = part, motion.command, motion.target
    for j in range(motion.drive.size):
        c = 4 * j
        if part == 0.0 or part == 1.0:
            row = k if part == 0.0 else k + 1
            for i in range(4):
                target[j, i] = command[row, c + i]
            continue
        x0, v0, a0 = command[k, c], h * command[k, c + 1], 0.5 * h * h * command[k, c + 3]
        d = command[k + 1, c] - x0 - v0 - a0
        e, f = h * command[k + 1, c + 1] - v0 - 2.0 * a0, h * h * command[k + 1, c + 2] - 2.0 * a0
        c3, c4, c5 = 10.0 * d - 4.0 * e + 0.5 * f, -15.0 * d + 7.0 * e - f, 6.0 * d - 3.0 * e + 0.5 * f
        target[j, 0] = x0 + s * (v0 + s * (a0 + s * (c3 + s * (c4 + s * c5))))
        target[j, 1] = (v0 + s * (2.0 * a0 + s * (3.0 * c3 + s * (4.0 * c4 + s * 5.0 * c5)))) / h
        target[j, 2] = (2.0 * a0 + s * (6.0 * c3 + s * (12.0 * c4 + s * 20.0 * c5))) / (h * h)
        target[j, 3] = target[j, 2]


@kernel(**FAST)
def worn(age):
    """How many times slower corrections shrink with kept factors of this age, in steps, than with new ones.

    The arm moves away from where they were made, by as much in every step, and faster where it begins to move.
    """
    return (1.0 + age) * 1.1**age


@kernel(**FAST)
def rate_now(number):
    """Rate of convergence that is expected of the factors at their age."""
    return number[CONVERGENCE] * worn(number[YOUNG])


@kernel(**FAST)
def learn(number, rate):
    """Take a rate of convergence that was seen; that of new factors is one of Newton's, and says nothing of later."""
    least = UNKNOWN if number[YOUNG] == 0.0 else 0.0
    number[CONVERGENCE] = min(max(rate, least), 0.9) / worn(number[YOUNG])
    number[FIRST] = rate if number[FIRST] == 0.0 else number[FIRST]


@kernel(**FAST)
def tired(number, least, worse):
    """Whether kept factors have become so poor that new ones take less time than the corrections they cost.

    From a rate of convergence of `least` on new ones pay, where it was so many times better when they were new.
    """
    return number[FIRST] > 0.0 and rate_now(number) > max(worse * number[FIRST], least)


@kernel(**FAST)
def broyden(d, steps, first, number):
    """Broyden's updates of the inverse, applied to the correction d; `steps` are those made with these factors."""
    n = d.size
    for j in range(first, number):
        size, along = 0.0, 0.0
        for i in range(n):
            size += steps[j, i] * steps[j, i]
            along += steps[j, i] * d[i]
        if size == 0.0:
            return
        along /= size
        if j < number - 1:
            for i in range(n):
                d[i] += along * steps[j + 1, i]
        elif along < 0.9:  # else the update would be singular
            for i in range(n):
                d[i] /= 1.0 - along


@kernel(**FAST)
def bounded(q):
    """Whether every entry is finite and within BOUND."""
    inside = True
    for i in range(q.size):
        inside = inside & (abs(q[i]) <= BOUND)  # as in `swings`
    return inside


@kernel(**FAST)
def any_commanded(drive):
    """Whether a joint has a command: prescribed, or a servo, whose rigid arm the linear analysis follows."""
    some = False
    for j in range(drive.size):
        some = some or drive[j] != TORQUE
    return some
