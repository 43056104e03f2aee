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

**Closures** would cost the order if the stages integrated them. They give as many coordinates as they are, the others
are free, and the method is applied to these: in each stage q and v of the given ones follow from g = 0 and G v = 0,
their accelerations and the closure forces from the balance with G a + bias = 0. Given are coordinates that yield, such
as angles of free joints: a stage that put an elastic one elsewhere by O(h^2) would bend the arm.

Not for continuous laws.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .estimate import (
    SOON,
    add_up,
    disturb_by_error,
    go_back,
    hand_on,
    matters,
    may_leave,
    venture,
    venture_lasting,
    weigh,
    widen,
)
from .jit import kernel
from .law import called, sampled
from .operations import Operations
from .pieces import (
    LOOKS,
    MORE,
    UNKNOWN,
    aim,
    any_commanded,
    bounded,
    correct,
    jump_found,
    learn,
    look,
    look_on,
    moving,
    rate_now,
    restore,
    save,
    scale,
    shrinking,
    tired,
)
from .stages import (
    GAMMA,
    NOTHING,
    SMOOTH,
    START,
    TIMES,
    base,
    calm,
    disturb,
    disturb_again,
    extrapolate,
    follow,
    keep,
    keep_start,
    move,
    start_joints,
)
from .state import (
    ALIKE,
    BEGUN,
    CLOSED,
    CONVERGENCE,
    DEEPEST,
    ENOUGH,
    FACTORED,
    FAR,
    FIRST,
    FLOOR,
    FULL,
    KEEPS,
    LAST,
    LEVEL,
    LONGEST,
    LOOSE,
    PAUSE,
    PREFERS,
    SHORTEST,
    SINCE,
    STRIDE,
    TIME,
    WAIT,
    WORST,
    YOUNG,
    Scheme,
)
from .stepper import AGE, REST
from .tables import DIVERGED, DONE, INSIDE, NOT_CONVERGED

EASY, SURELY = 0.15, 0.02
"""Parts of what is allowed below which steps are doubled: where the order is reduced, as in stiff arms that turn,
or full. A doubling that failed makes those of the first kind wait."""
TIRED, WORSE = 0.05, 2.0
"""As in `stepper`. Chosen by time: every step has five stages, whose corrections all become dearer."""
LASTS = 0.95
"""Of an error in modes beyond the step so much is left by the next one: |R| at w h = 5.5, of which a third lasts. What
the order loses in stiff arms that turn stays that long too."""
LEAST_RATE = 1e-4
"""The least rate of convergence that is trusted."""


COMPILED: Callable[[Any], Any] = kernel(**INSIDE)


def dirk(ops: Operations, made: Callable[[Any], Any] = COMPILED) -> Callable[..., Any]:
    """Return the loop of a formulation; `made` compiles what it is made of, or not. See `stepper.stepper`."""
    measure, solve, foresee, lead, leap = ops.measure, ops.solve, ops.foresee, ops.lead, ops.leap
    finish, refresh, limit_of, store = ops.finish, ops.refresh, ops.limit, ops.store
    linear, begin, close, reach = ops.linear, ops.begin, ops.close, ops.reach
    act = sampled if made is COMPILED else called

    @made
    def newton(form, motion, u, gh, scheme, limit, fresh):
        """Solve a stage; returns status, size of the last correction and iterations."""
        number, traits, d = motion.number, motion.traits, motion.d
        full, exact, closed = scheme.newton == FULL or traits[KEEPS] == 0.0, linear(form, motion), traits[CLOSED] == 1.0
        ca, cv, stride, far = 1.0 / (gh * gh), 1.0 / gh, traits[STRIDE], traits[FAR]
        iteration, previous, changed, rate = 0, np.inf, False, 1.0
        while True:
            status, size = solve(form, motion, u, ca, cv, 1.0, fresh)
            if status != DONE or not np.isfinite(size):
                return max(status, NOT_CONVERGED), size, iteration
            if fresh:
                motion.counts[2] += 1.0
                number[FACTORED], number[YOUNG], number[CONVERGENCE], number[FIRST] = gh, 0.0, UNKNOWN, 0.0
                changed = iteration > 0
            iteration += 1
            motion.counts[1] += 1.0
            if size * scheme.tolerance > far * limit:
                return NOT_CONVERGED, size, iteration
            taken = 1.0 if size <= limit else min(reach(form, motion, cv), stride / size)
            if taken < 1.0:
                scale(d, taken)
            correct(motion, (1.0, cv, ca, 0.0))
            if closed:
                for i in range(motion.lam.size):
                    motion.lam[i] -= motion.lift[i]
            if full:
                done = size <= limit
            else:
                rate = rate_now(number)
                if taken < 1.0 or iteration > 1:
                    rate = shrinking(size, previous, taken, LEAST_RATE)
                    learn(number, rate)
                done = rate < 0.5 and size * rate <= max(REST * limit, number[ENOUGH]) * (1.0 - rate)
                done = done or (iteration > 1 and size <= limit and rate >= 0.5 and fresh)
                slow = not done and iteration > 1 and (rate > 0.5 or (rate > 0.1 and not changed))
                fresh = slow
            if done or exact:
                if closed:
                    close(form, motion)
                return DONE, size, iteration
            if iteration >= scheme.iterations:
                if closed:
                    close(form, motion)
                return (DONE if size <= limit and rate < 0.9 else NOT_CONVERGED), size, iteration
            previous = size if taken == 1.0 else 0.0

    @made
    def settle(form, motion, u, filtered, scheme, limit):
        """Set the accelerations to those that the inputs ask for; returns status, size and iterations."""
        q, status, size, led, iteration, ahead = motion.q, DONE, 0.0, np.inf, 0, np.sqrt(filtered)
        after_jump = 1e-3 if motion.traits[PREFERS] == FULL else REST
        looks = LOOKS if motion.number[BEGUN] == 0.0 and moving(motion) else 0  # see `stepper`
        if looks > 0:
            filtered *= 0.5
            look(motion, ahead)
        while True:
            status, size = solve(form, motion, u, 1.0, 0.0, filtered, True)
            if status != DONE or not np.isfinite(size):
                status = max(status, NOT_CONVERGED)
                break
            correct(motion, (filtered, 0.0, 1.0, 0.0))
            if motion.traits[CLOSED] == 1.0:
                for i in range(motion.lam.size):
                    motion.lam[i] -= motion.lift[i]
            iteration += 1
            before, led = led, filtered * size
            if not jump_found(led, before, iteration, limit, after_jump * limit, 1.0, scheme):
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
        arrived, pending, careful, told, chosen = first < last, first == last, False, False, False
        exact, some = linear(form, motion), any_commanded(motion.drive)
        keeps, closed = motion.traits[KEEPS] == 1.0, motion.traits[CLOSED] == 1.0
        full = scheme.newton == FULL or not keeps
        euler = Scheme(0.0, 0.0, 1.0, 1.0, scheme.tolerance, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0)
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
                jump = act(law, k, y, tables, acting.memory, held, u)
                pending = given or number[BEGUN] == 0.0 or (jump and some)
                given = given or k == 0
                for i in range(u.size):
                    given = given or tables.before[k, i] != tables.after[k, i]
                if given or jump:
                    number[LAST] = 0.0
                if given:
                    number[ENOUGH] = 0.0
                if given or (jump and h > 2.0 * SOON):
                    known[SINCE] = 0.0
            units = whole >> int(number[LEVEL])
            dt, gh = h * units / whole, GAMMA * h * units / whole
            limit = limit_of(form, motion, scheme.tolerance, dt)
            status, size, iteration, ratio, split = DONE, 0.0, 0, 0.0, False
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
            if closed and not chosen:
                begin(form, motion)
                chosen = True
            back = number[LAST] / dt
            alike = number[ALIKE] if back == 1.0 else 0.0
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
                    extrapolate(motion, stage, sure, back, alike)
                move(motion, gh)
                if some:
                    lead(form, motion)
                for i in range(u.size):
                    begun, there = held[i] + tables.after[k, i], held[i] + tables.before[k + 1, i]
                    curved = 4.0 * part * (1.0 - part) * tables.bulge[k, i]
                    u[i] = there if part == 1.0 else begun + part * (there - begun) + curved
                aged = stage == 0 and not exact and (number[YOUNG] >= AGE or tired(number, TIRED, WORSE))
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
                number[LOOSE] = 1.0
                disturb(motion, dt)
                status, size = solve(form, motion, u, 1.0 / (gh * gh), 1.0 / gh, 1.0, not keeps)
                disturb_again(motion, dt)
                status, size = solve(form, motion, u, 1.0 / (gh * gh), 1.0 / gh, 1.0, not keeps)
                calm(motion)
                venture(motion, dt, 4.0)
                refresh(form, motion)
                measure(form, motion, u, gauge.readings[1])
                go_back(motion)
                refresh(form, motion)
                split = scheme.rtol > 0.0 and matters(gauge, scheme, dt)  # in long given steps more lasts than F knows
                if split:
                    disturb_by_error(motion, 1.0 / (gh * gh))
                    status, size = solve(form, motion, u, 1.0 / (gh * gh), 1.0 / gh, 1.0, not keeps)
                    venture_lasting(motion, dt, 4.0)
                    refresh(form, motion)
                    measure(form, motion, u, gauge.readings[2])
                    go_back(motion)
                    refresh(form, motion)
                number[LOOSE] = 0.0
                bottom = number[LEVEL] >= scheme.deepest
                ratio = weigh(gauge, scheme, dt, number[TIME], bottom and scheme.rtol > 0.0, split, LASTS)
                if scheme.rtol == 0.0 or bottom:
                    known[WORST] = max(known[WORST], ratio)
                    ratio = min(ratio, 1.0)
            if status == DONE and ratio <= 1.0:
                add_up(gauge, dt, LASTS)
                hand_on(motion, scheme, dt, split)
                number[ENOUGH] = may_leave(motion, scheme, ratio, dt, gauge.memory[0])
                known[SINCE] += dt
                motion.counts[0] += 1.0
                known[SHORTEST], known[LONGEST] = min(known[SHORTEST], dt), max(known[LONGEST], dt)
                known[WAIT] -= 1.0
                easy = ratio < (EASY if known[WAIT] <= 0.0 else SURELY)
                easy = easy and number[LEVEL] > known[FLOOR] and (place + units) % (2 * units) == 0
                number[LEVEL] -= 1.0 if easy else 0.0
                known[PAUSE] *= 0.5 if easy else 1.0
                number[LAST], number[YOUNG], place = dt, number[YOUNG] + 1.0, place + units
                number[ALIKE] = min(alike + 1.0, 2.0) if sure == SMOOTH and not careful else 0.0
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
