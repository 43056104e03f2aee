"""Steps of SDIRK4(3): L-stable, of fourth order, five stages with one matrix (Hairer and Wanner, table IV.6.5).

A stage i solves M a + h = B u at its time t + c_i h with

    q = q^ + g h v,  v = v^ + g h a,     q^ = q_n + h sum a_ij v_j,  v^ = v_n + h sum a_ij a_j  (j < i),  g = 1/4

which is a backward Euler step of g h from q^, v^: the formulation's `solve` with ca = 1 / (g h)^2, cv = 1 / (g h). The
last stage is the end of the step. No stage is explicit, so that nothing is made anew where inputs jump: accelerations
are set at the start, and where a prescribed joint shows the torque of a jump.

**Error.** With e = h sum (b_j - b^_j) (v_j, a_j), of the embedded method of third order, the filtered error x of the
coordinates is S^-1 (M (e_q + g h e_v) / (g h)^2 + D e_q / (g h)): one more pass of Newton's with a and v moved.
That is the error of third order. With F, the filter, x - F x is about g h x' and of the order of the step's own local
error, h^5: for an oscillation 2.7 times that where it is resolved, as large at w h = 4, half of it at w h = 8.
`estimate` compares it with what is allowed, as it does for the steps of `stepper`. It is made in every step.

**Prescribed joints** follow the commanded acceleration as the step integrates it, from the exact angle and rate at its
start: the exact angles within a stage would bend an arm whose sections the stage puts elsewhere by O(h^2).

Not for closures, whose order would be lost, nor for continuous laws.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .estimate import SOON, add_up, go_back, venture, weigh, widen
from .jit import kernel
from .law import control
from .pieces import (
    LOOKS,
    MORE,
    aim,
    any_commanded,
    bounded,
    correct,
    jump_found,
    look,
    look_on,
    moving,
    restore,
    save,
    scale,
)
from .state import (
    BEGUN,
    CONVERGENCE,
    DEEPEST,
    FACTORED,
    FLOOR,
    FULL,
    LAST,
    LEVEL,
    LONGEST,
    PAUSE,
    SHORTEST,
    SINCE,
    TIME,
    WAIT,
    WORST,
    YOUNG,
    Scheme,
)
from .stepper import AGE, REST, Operations
from .tables import DIVERGED, DONE, FAST, INSIDE, NOT_CONVERGED

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
EASY, SURELY = 0.15, 0.02
"""Parts of what is allowed below which steps are doubled: where the order is reduced, as in stiff arms that turn,
or full. A doubling that failed makes those of the first kind wait."""
SHARE = 0.05
"""Of the error of third order counts: what the order loses in stiff arms that turn is slow; the filter passes it."""
NOTHING, START, SMOOTH = 0.0, 1.0, 2.0
"""What is known of the accelerations: nothing after a jump, those at the start of the step, and of the last one."""


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
    w0, w1, w2, w3 = h * row[0], h * row[1], h * row[2], h * row[3]
    q0, v0 = motion.saved[0], motion.saved[1]
    for i in range(q.size):
        q[i] = q0[i]
        v[i] = v0[i]
        motion.shifted[i] = 0.0
    if stage > 0:
        for i in range(q.size):
            q[i] += w0 * s[0, i]
            v[i] += w0 * s[5, i]
    if stage > 1:
        for i in range(q.size):
            q[i] += w1 * s[1, i]
            v[i] += w1 * s[6, i]
    if stage > 2:
        for i in range(q.size):
            q[i] += w2 * s[2, i]
            v[i] += w2 * s[7, i]
    if stage > 3:
        for i in range(q.size):
            q[i] += w3 * s[3, i]
            v[i] += w3 * s[8, i]


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


@kernel(**FAST)
def hand_on(motion):
    """Keep the error for the next step, whose rates it tells."""
    for i in range(motion.q.size):
        motion.x[1, i] = motion.x[0, i]


COMPILED: Callable[[Any], Any] = kernel(**INSIDE)


def dirk(ops: Operations, made: Callable[[Any], Any] = COMPILED) -> Callable[..., Any]:
    """Return the loop of a formulation; `made` compiles what it is made of, or not. See `stepper.stepper`."""
    measure, solve, foresee, lead, leap = ops.measure, ops.solve, ops.foresee, ops.lead, ops.leap
    finish, refresh, limit_of, store = ops.finish, ops.refresh, ops.limit, ops.store
    linear, keeps, stride, far = ops.linear, ops.keeps, ops.stride, ops.far
    after_jump = 1e-3 if ops.prefers == FULL else REST

    @made
    def newton(form, motion, u, gh, scheme, limit, fresh):
        """Solve a stage; returns status, size of the last correction and iterations."""
        number, q, v, a, d = motion.number, motion.q, motion.v, motion.a, motion.d
        ca, cv, full, exact = 1.0 / (gh * gh), 1.0 / gh, scheme.newton == FULL or not keeps, linear(form)
        iteration, previous, changed, rate = 0, np.inf, False, 1.0
        while True:
            status, size = solve(form, motion, u, ca, cv, 1.0, fresh)
            if status != DONE or not np.isfinite(size):
                return max(status, NOT_CONVERGED), size, iteration
            if fresh:
                motion.counts[2] += 1.0
                number[FACTORED], number[YOUNG], number[CONVERGENCE] = gh, 0.0, 0.02
                changed = iteration > 0
            iteration += 1
            motion.counts[1] += 1.0
            if size * scheme.tolerance > far * limit:
                return NOT_CONVERGED, size, iteration
            if size > stride:
                scale(d, stride / size)
            correct(q, v, a, motion.shifted, d, 1.0, cv, ca, 0.0)
            if full:
                done = size <= limit
            else:
                rate = number[CONVERGENCE] * 1.1 ** number[YOUNG]
                if iteration > 1 and previous > 0.0:
                    rate = max(size / previous, 1e-3)
                    number[CONVERGENCE] = min(rate, 0.9) / 1.1 ** number[YOUNG]
                done = rate < 0.5 and size * rate <= REST * limit * (1.0 - rate)
                done = done or (iteration > 1 and size <= limit and rate >= 0.5 and fresh)
                slow = not done and iteration > 1 and (rate > 0.5 or (rate > 0.1 and not changed))
                fresh = slow
            if done or exact:
                return DONE, size, iteration
            if iteration >= scheme.iterations:
                return (DONE if size <= limit and rate < 0.9 else NOT_CONVERGED), size, iteration
            previous = size

    @made
    def settle(form, motion, u, filtered, scheme, limit):
        """Set the accelerations to those that the inputs ask for; returns status, size and iterations."""
        q, status, size, led, iteration, ahead = motion.q, DONE, 0.0, np.inf, 0, np.sqrt(filtered)
        looks = LOOKS if motion.number[BEGUN] == 0.0 and moving(motion) else 0  # see `stepper`
        if looks > 0:
            filtered *= 0.5
            look(motion, ahead)
        while True:
            status, size = solve(form, motion, u, 1.0, 0.0, filtered, True)
            if status != DONE or not np.isfinite(size):
                status = max(status, NOT_CONVERGED)
                break
            correct(q, motion.v, motion.a, motion.shifted, motion.d, filtered, 0.0, 1.0, 0.0)
            iteration += 1
            before, led = led, filtered * size
            if not jump_found(led, before, iteration, limit, after_jump, scheme):
                if iteration < scheme.iterations + MORE:
                    continue
                status = NOT_CONVERGED
                break
            if looks > 0:
                looks, iteration = look_on(motion, looks, ahead), 0
            if looks == 0:
                break
        for i in range(q.size):
            q[i] = motion.saved[0, i]
        refresh(form, motion)
        finish(form, motion, u, np.inf)
        motion.number[FACTORED] = 0.0
        return status, size, iteration

    def run(form, motion, feedback, acting, course, scheme, gauge):
        law, u, held, tables, record = acting.law, acting.u, acting.held, course.tables, course.record
        number, known, first, last = motion.number, gauge.number, course.span[0], course.span[1]
        y, whole, k, place = gauge.readings[0], 1 << DEEPEST, first, 0
        arrived, pending, careful, told = first < last, first == last, False, False
        exact, some = linear(form), any_commanded(motion.drive)
        full = scheme.newton == FULL or not keeps
        euler = Scheme(0.0, 0.0, 1.0, 1.0, scheme.tolerance, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0)
        refresh(form, motion)
        if some and pending:
            aim(motion, k, 0.0, 1.0)
            leap(form, motion)
        while True:
            h = tables.h[min(k, tables.h.size - 1)]
            if arrived:  # at a grid point, whose readings are known
                arrived = told = False
                for j in range(y.size):
                    record.y[k, j] = y[j]
                widen(gauge, y)
                if k == last:
                    for j in range(u.size):
                        record.u[k, j] = u[j]
                    store(form, motion, record, k)
                    return DONE, tables.t[last], 0.0, 0.0
                given = False
                if some:
                    aim(motion, k, 0.0, h)
                    given = leap(form, motion)
                jump = control(law, k, y, tables, acting.memory, held, u)
                pending = given or number[BEGUN] == 0.0 or (jump and some)
                given = given or k == 0
                for i in range(u.size):
                    given = given or tables.before[k, i] != tables.after[k, i]
                if given or jump:
                    number[LAST] = 0.0
                if given or (jump and h > 2.0 * SOON):
                    known[SINCE] = 0.0
            units = whole >> int(number[LEVEL])
            dt, gh = h * units / whole, GAMMA * h * units / whole
            limit = limit_of(form, motion, scheme.tolerance, dt)
            status, size, iteration, ratio = DONE, 0.0, 0, 0.0
            sure = NOTHING if number[LAST] == 0.0 else SMOOTH
            save(motion)
            if pending:
                pending, sure, number[TIME] = False, START, tables.t[k]
                for i in range(u.size):
                    u[i] = held[i] + tables.after[k, i] if k < last else u[i]
                status, size, iteration = settle(form, motion, u, gh * gh, scheme, limit)
                if status != DONE:
                    return status, tables.t[k], float(iteration), size
                if first == last:
                    measure(form, motion, u, y)
                    restore(motion)
                    return DONE, tables.t[k], 0.0, 0.0
                number[BEGUN] = 1.0
                save(motion)
            if not told:  # once, see `stepper`
                for j in range(u.size):
                    record.u[k, j] = u[j]
                store(form, motion, record, k)
                told = True
            keep_start(motion)
            back = number[LAST] / dt
            if some:
                aim(motion, k, place / whole, h)
                start_joints(motion)
            for stage in range(5):
                end = stage == 4 and place + units == whole
                part = 1.0 if end else (place + TIMES[stage] * units) / whole
                number[TIME] = tables.t[k + 1] if end else tables.t[k] + part * h
                base(motion, stage, dt)
                if some:
                    aim(motion, k, part, h)
                    follow(motion, stage, dt)
                    foresee(form, motion, gh, euler)
                if careful:  # begin where the rates lead
                    scale(motion.a, 0.0)
                else:
                    extrapolate(motion, stage, sure, back)
                move(motion, gh)
                if some:
                    lead(form, motion)
                for i in range(u.size):
                    begun, there = held[i] + tables.after[k, i], held[i] + tables.before[k + 1, i]
                    curved = 4.0 * part * (1.0 - part) * tables.bulge[k, i]
                    u[i] = there if part == 1.0 else begun + part * (there - begun) + curved
                aged = stage == 0 and number[YOUNG] >= AGE and not exact
                fresh = full or number[FACTORED] != gh or aged
                status, size, iteration = newton(form, motion, u, gh, scheme, limit, fresh)
                if status != DONE:
                    break
                keep(motion, stage)
            if status == DONE:
                if not bounded(motion.q):
                    return DIVERGED, tables.t[k + 1], float(iteration), size
                finish(form, motion, u, size)
                measure(form, motion, u, y)
                disturb(motion, dt)
                status, size = solve(form, motion, u, 1.0 / (gh * gh), 1.0 / gh, 1.0, not keeps)
                disturb_again(motion, dt)
                status, size = solve(form, motion, u, 1.0 / (gh * gh), 1.0 / gh, 1.0, not keeps)
                calm(motion)
                venture(motion, dt)
                refresh(form, motion)
                measure(form, motion, u, gauge.readings[1])
                go_back(motion)
                refresh(form, motion)
                bottom = number[LEVEL] >= scheme.deepest
                ratio = weigh(gauge, scheme, dt, number[TIME], bottom and scheme.rtol > 0.0)
                if scheme.rtol == 0.0 or bottom:
                    known[WORST] = max(known[WORST], ratio)
                    ratio = min(ratio, 1.0)
            if status == DONE and ratio <= 1.0:
                add_up(gauge, dt)
                hand_on(motion)
                known[SINCE] += dt
                motion.counts[0] += 1.0
                known[SHORTEST], known[LONGEST] = min(known[SHORTEST], dt), max(known[LONGEST], dt)
                known[WAIT] -= 1.0
                easy = ratio < (EASY if known[WAIT] <= 0.0 else SURELY)
                easy = easy and number[LEVEL] > known[FLOOR] and (place + units) % (2 * units) == 0
                number[LEVEL] -= 1.0 if easy else 0.0
                known[PAUSE] *= 0.5 if easy else 1.0
                number[LAST], number[YOUNG], place = dt, number[YOUNG] + 1.0, place + units
                careful = False
                if place == whole:
                    k, place, arrived = k + 1, 0, True
                continue
            if status == DONE:
                number[LEVEL] = min(number[LEVEL] + max(1.0, np.ceil(0.29 * np.log(ratio))), scheme.deepest)
            elif not careful:
                careful = True
            elif scheme.rtol == 0.0 or number[LEVEL] >= DEEPEST:
                return status, tables.t[min(k + 1, tables.t.size - 1)], float(iteration), size
            else:
                number[LEVEL] += 1.0
                careful = False
            restore(motion)
            refresh(form, motion)
            known[PAUSE] = min(2.0 * known[PAUSE] + 2.0, 32.0)
            known[WAIT], number[LAST], number[FACTORED] = known[PAUSE], 0.0, 0.0
            motion.counts[3] += 1.0

    return run
