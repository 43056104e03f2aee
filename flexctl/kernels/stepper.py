"""The time step, once: prediction, jumps, Newton's correction, the law, recording, and the local error.

One step of the generalised-alpha family solves M a + h + W lam = B u (and G v = 0, g = 0) at its end, with

    q+ = q + h v + h^2 ((1/2 - beta) a~ + beta a~+) + gap,     v+ = v + h ((1 - gamma) a~ + gamma a~+)
    (1 - alpha_m) a~+ + alpha_m a~ = (1 - alpha_f) a+ + alpha_f a

**Jumps.** Where u jumps, a changes by da, and a~ by as much: the order of the scheme is kept. A joint without a hub
acts on a root node a million times lighter than the arm; M da = change of force would give it accelerations that the
step carries on and cannot follow. They are filtered by what the step itself sees of a change of force: da is the one
for which the balance holds where it leads,

    M (a + da) + h(q + h^2 beta' da, v) = B u,     beta' = beta (1 - alpha_f) / (1 - alpha_m)

that is (M + h^2 beta' K) da = change of force, to first order.

A run that begins in motion has no acceleration yet, and a balance where h^2 beta' a leads would compress an arm that
turns by what holds its parts on their circles. It begins with the mean of those found ahead and behind,

    M a + h(q +- h v + h^2/2 a, v +- h a') = B u

with a' = 0, and twice more with the mean of the time before: a turning arm stays as long as it is to h^4.

**Error.** `estimate` says what is known of the error of a step; steps are halved and doubled by it.

A formulation brings `Operations`; `stepper` makes the loop of them, compiled or not.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .estimate import (
    SOON,
    add_up,
    change_of,
    changes,
    disturb,
    disturb_by_error,
    forgets,
    go_back,
    hand_on,
    longest_wait,
    matters,
    may_leave,
    venture,
    venture_lasting,
    wait,
    weigh,
    widen,
)
from .feedback import ACT, CLOSE, FINISH, FORESEE, NONE, RENEW, RESPOND, START
from .idle import no_feed
from .law import called, sampled
from .operations import Operations
from .pieces import (
    LOOKS,
    MORE,
    UNKNOWN,
    aim,
    any_commanded,
    bounded,
    broyden,
    correct,
    jump_found,
    learn,
    look,
    look_on,
    moving,
    predict,
    rate_now,
    restore,
    save,
    scale,
    shrinking,
    swings,
    tired,
)
from .state import (
    AGO,
    BEGUN,
    BROYDEN,
    CHANGE,
    CLOSED,
    CONVERGENCE,
    DEEPEST,
    ENOUGH,
    FACTORED,
    FAR,
    FIRST,
    FLOOR,
    FORESEEN,
    FROM,
    FULL,
    KEEPS,
    LAST,
    LEVEL,
    LONGEST,
    PAUSE,
    POOR,
    PREFERS,
    SHORTEST,
    SHRUNK,
    SINCE,
    SLIDE,
    SOFT,
    SPANS,
    STRIDE,
    SWING,
    TIME,
    WAIT,
    WORSE,
    WORST,
    YOUNG,
)
from .tables import DIVERGED, DONE, NOT_CONVERGED

AGE = 60.0
"""Steps after which a kept tangent is made anew."""
REST = 1e-4
"""Of the tolerance may be left as the error of a step with a kept tangent: full Newton leaves about its square."""
CHECKED = 8.0
"""With fresh tangents the second correction is left out where it is expected to be below this part of the tolerance, as
the last one showed; it is made every eighth step."""
JUMP, BEGIN, NEWTON, ESTIMATE, LASTING, LOOK = range(6)


def stepper(ops: Operations, *, feed: Callable[..., Any] = no_feed, plain: bool = False) -> Callable[..., Any]:
    """Return the loop of a formulation, to be compiled by `jit.entry` (or, `plain`, called as it is).

    feed: what a continuous law does within steps (`feedback.feeding`); without it there are sampled laws alone. Of the
    operations the functions are used; the rest is read from motion.traits, so that one loop serves all formulations
    whose functions are called by their address.

    Its arguments are (form, motion, feedback, acting, course, scheme, gauge). It advances from course.span[0] to
    course.span[1] and returns (status, time, iteration, size of the last correction). With both equal the
    accelerations are set, and no step is taken.
    """
    measure, solve, foresee, lead, leap = ops.measure, ops.solve, ops.foresee, ops.lead, ops.leap
    finish, refresh, limit_of, store = ops.finish, ops.refresh, ops.limit, ops.store
    linear, reach, act = ops.linear, ops.reach, called if plain else sampled

    def run(form, motion, feedback, acting, course, scheme, gauge):
        law, u, held, tables, record = acting.law, acting.u, acting.held, course.tables, course.record
        feeds = law.continuous == 1
        number, known, first, last = motion.number, gauge.number, course.span[0], course.span[1]
        traits, q, d, y = motion.traits, motion.q, motion.d, gauge.readings[0]
        keeps, closed, spans = traits[KEEPS] == 1.0, traits[CLOSED] == 1.0, traits[SPANS] == 1.0 and not feeds
        swing, stride, far, foreseen = traits[SWING], traits[STRIDE], traits[FAR], traits[FORESEEN]
        after_jump, rest = (1e-3 if traits[PREFERS] == FULL else REST), (0.1 * REST if closed else REST)
        whole, k, place, row = 1 << DEEPEST, first, 0, 0
        arrived, pending, careful, told = first < last, first == last, False, False
        exact, some = linear(form, motion), any_commanded(motion.drive)
        waits = longest_wait(scheme, tables.h[0])
        full = scheme.newton == FULL or not keeps
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
                if feeds:
                    jump = feed(form, motion, feedback, acting, course, ACT, k, NONE) != 0.0
                else:
                    jump = act(law, k, y, tables, acting.memory, held, u)
                pending = jump or given or number[BEGUN] == 0.0
                given = given or k == 0 or (feeds and jump)
                for i in range(u.size):
                    given = given or tables.before[k, i] != tables.after[k, i]
                if given:
                    number[SOFT], known[WAIT], known[PAUSE], known[SINCE] = scheme.settle, -8.0, 0.0, 0.0
                    number[ENOUGH] = number[AGO] = 0.0
                elif jump and h > 2.0 * SOON:  # of a slow law; after those of a fast one all of the run is soon
                    known[SINCE] = 0.0
            # one step, or a part of one
            units, soft = whole >> int(number[LEVEL]), number[SOFT] > 0.0
            part, dt = (place + units) / whole, h * units / whole
            am, af = (0.0, 0.0) if soft else (scheme.alpha_m, scheme.alpha_f)
            b, g = (1.0, 1.0) if soft else (scheme.beta, scheme.gamma)
            filtered = b * (1.0 - af) / (1.0 - am) * dt * dt
            cs, key = (1.0 - af) / (1.0 - am), -dt if soft else dt
            cq, cv, ca = 1.0, g / (dt * b), (1.0 - am) / (dt * dt * b * (1.0 - af))
            save(motion)
            last_before, iteration, fresh, behind, changed = number[LAST], 0, True, 0, False
            size, previous, rate, status, limit, ratio = np.inf, np.inf, 1.0, DONE, 0.0, 0.0
            led, looks, phase, over, taken = np.inf, 0, BEGIN, 1.0, 1.0
            if pending:
                phase, number[TIME], cq, cv, ca = JUMP, tables.t[k], filtered, 0.0, 1.0
                if spans and number[BEGUN] != 0.0 and number[FACTORED] == key and not careful:
                    fresh, over = False, (1.0 - am) / (dt * dt * b * (1.0 - af))
                limit = limit_of(form, motion, scheme.tolerance, dt)
                looks = LOOKS if number[BEGUN] == 0.0 and moving(motion) else 0
                if looks > 0:
                    filtered = 0.5 * dt * dt
                    cq = filtered
                    look(motion, dt)
                for i in range(u.size):
                    lasting = 0.0 if feeds else held[i]
                    u[i] = lasting + tables.after[k, i] if k < last or feeds else u[i]
                if feeds:  # it answers where the jump leads, as springs of the arm do
                    ahead = place / whole, place / whole, 0.0, 0.0
                    feed(form, motion, feedback, acting, course, FORESEE, k, ahead)
            elif not told:  # once: a step that is taken again has changed inputs and torques meanwhile
                for j in range(u.size):
                    record.u[k, j] = u[j]
                store(form, motion, record, k)
                told = True
            while True:
                if phase == LOOK:
                    measure(form, motion, u, gauge.readings[row])
                    if first == last:  # a run begins with one jump, from rest to what its first inputs ask for
                        restore(motion)
                        return DONE, tables.t[k], 0.0, 0.0
                    if row > 0:
                        go_back(motion)
                        refresh(form, motion)
                        if feeds:
                            feed(form, motion, feedback, acting, course, RENEW, k, NONE)
                        if row == 2 or not matters(gauge, scheme, dt):
                            break
                        disturb_by_error(motion, ca)
                        phase, fresh = LASTING, not keeps
                    else:
                        if soft or not (known[WAIT] <= 0.0 or changes(motion, 1.5 * known[CHANGE])):
                            known[WAIT] -= 1.0
                            break
                        known[CHANGE] = change_of(motion)
                        disturb(motion, ca * dt * dt * (scheme.beta - 1.0 / 6.0))
                        phase, fresh = ESTIMATE, not keeps
                if phase == BEGIN:
                    number[TIME] = tables.t[k + 1] if part == 1.0 else tables.t[k] + part * h
                    if some:
                        aim(motion, k, part, h)
                        foresee(form, motion, dt, scheme)
                    predict(motion, dt, scheme, soft)
                    # as after a force jumps on a light node: begin where the rates lead
                    if careful or (swing < np.inf and swings(motion, swing)):
                        correct(motion, (cq, cv, ca, cs * ca))
                    if some:
                        lead(form, motion)
                    for i in range(u.size):
                        lasting = 0.0 if feeds else held[i]
                        begun, end = lasting + tables.after[k, i], lasting + tables.before[k + 1, i]
                        curved = 4.0 * part * (1.0 - part) * tables.bulge[k, i]
                        u[i] = end if part == 1.0 else begun + part * (end - begun) + curved
                    if feeds:
                        ahead = place / whole, part, dt, 1.0 if soft else 0.0
                        feed(form, motion, feedback, acting, course, FORESEE, k, ahead)
                    limit = limit_of(form, motion, scheme.tolerance, dt)
                    aged = not (full or exact) and (number[YOUNG] >= AGE or tired(number, traits[POOR], traits[WORSE]))
                    # the direction in which closures are met is that of the tangent: of given steps that of this one
                    fresh = full or careful or (closed and scheme.slack == 0.0) or number[FACTORED] != key or aged
                    phase = NEWTON
                if feeds:
                    feed(form, motion, feedback, acting, course, RESPOND, k, NONE)
                status, size_now = solve(form, motion, u, over if phase == JUMP else ca, cv, cq, fresh)
                if status != DONE or not np.isfinite(size_now):
                    status, size = max(status, NOT_CONVERGED), size_now
                    break
                if spans and phase == JUMP and over != 1.0:
                    for i in range(q.size):  # the factors are those of a step; closure forces are the same
                        d[i] *= over
                    size_now *= over
                if fresh and phase != ESTIMATE and phase != LASTING:
                    motion.counts[2] += 1.0
                    number[FACTORED], number[YOUNG], number[CONVERGENCE], number[FIRST] = key, 0.0, UNKNOWN, 0.0
                    changed = iteration > 0
                if feeds:
                    ahead = ca, cv, cq, 1.0 if fresh and iteration == 0 else 0.0
                    size_now = feed(form, motion, feedback, acting, course, CLOSE, k, ahead)
                    if not np.isfinite(size_now):
                        status, size = NOT_CONVERGED, size_now
                        break
                if phase in (ESTIMATE, LASTING):
                    row = 1 if phase == ESTIMATE else 2
                    if row == 1:
                        venture(motion, dt, 3.0)
                    else:
                        venture_lasting(motion, dt, 3.0)
                    refresh(form, motion)
                    if feeds:
                        feed(form, motion, feedback, acting, course, RENEW, k, NONE)
                    phase = LOOK
                    continue
                if phase == JUMP:  # which carries over to the shifted acceleration; coordinates move for the while
                    correct(motion, (cq, 0.0, 1.0, 1.0))
                    if closed:
                        for i in range(motion.lam.size):
                            motion.lam[i] -= motion.lift[i]
                    iteration += 1
                    before, led = led, filtered * size_now
                    if iteration == 2 and before > 0.0:
                        number[SLIDE] = led / before
                    usual = 1.0 if motion.counts[0] % CHECKED == 0.0 or number[ENOUGH] == 0.0 else 2.0 * number[SLIDE]
                    least = max(after_jump * limit, number[ENOUGH])
                    if not jump_found(led, before, iteration, limit, least, usual, scheme):
                        if iteration < scheme.iterations + MORE:
                            fresh = not keeps or led > 0.1 * before
                            over = 1.0 if fresh else over
                            continue
                        status, size = NOT_CONVERGED, size_now
                        break
                    if looks > 0:
                        looks, iteration, fresh = look_on(motion, looks, dt), 0, True
                        if looks > 0:
                            continue
                    elif feeds:  # its rates begin there too
                        feed(form, motion, feedback, acting, course, START, k, NONE)
                    for i in range(q.size):
                        q[i] = motion.saved[0, i]
                    refresh(form, motion)
                    if feeds:
                        feed(form, motion, feedback, acting, course, RENEW, k, NONE)
                    number[LAST], iteration = 0.0, 0
                    number[FACTORED] = 0.0 if over == 1.0 else number[FACTORED]
                    number[BEGUN] = 1.0 if first < last else 0.0
                    finish(form, motion, u, np.inf)
                    if first == last:
                        row, phase = 0, LOOK
                        continue
                    for j in range(u.size):
                        record.u[k, j] = u[j]
                    store(form, motion, record, k)
                    told = True
                    cq, cv, ca = 1.0, g / (dt * b), (1.0 - am) / (dt * dt * b * (1.0 - af))
                    phase = BEGIN
                    continue
                if scheme.newton == BROYDEN and not full:
                    behind = iteration if fresh else behind  # a new tangent: the updates begin again
                    broyden(d, motion.steps, behind, iteration)
                    for i in range(d.size):
                        motion.steps[iteration, i] = d[i]
                iteration += 1
                motion.counts[1] += 1.0
                previous, size = size if taken == 1.0 else 0.0, size_now
                # a correction that is no small part of the arm leads nowhere, or to a solution far away
                if not careful and size * scheme.tolerance > far * limit:
                    status = NOT_CONVERGED
                    break
                taken = 1.0 if size <= limit else min(reach(form, motion, cv), stride / size)
                if taken < 1.0:
                    scale(d, taken)
                correct(motion, (cq, cv, ca, cs * ca))
                if closed:
                    for i in range(motion.gap.size):
                        q[i] -= motion.gap[i]
                    for i in range(motion.lam.size):
                        motion.lam[i] -= motion.lift[i]
                if full and not feeds:
                    done = size <= limit
                    if iteration == 2:
                        number[SHRUNK], number[FROM] = size / max(previous, 1e-300), previous
                    elif not done and number[SHRUNK] > 0.0 and iteration == 1 and motion.counts[0] % CHECKED != 0.0:
                        expected = number[SHRUNK] * size * max(size / number[FROM], 1.0)
                        done = done or (not careful and expected <= max(foreseen * limit, number[ENOUGH]))
                else:  # what is left after a correction, by the rate at which they shrink; or they shrink no more
                    rate = rate_now(number)
                    if taken < 1.0 or iteration > 1:
                        rate = shrinking(size, previous, taken, 1e-3)
                        learn(number, rate)
                    done = rate < 0.5 and size * rate <= max(rest * limit, number[ENOUGH]) * (1.0 - rate)
                    done = done or (iteration > 1 and size <= limit and rate >= 0.5 and fresh)  # rounding
                    slow = not done and iteration > 1 and (rate > 0.5 or (rate > 0.1 and not changed))
                    fresh = full or careful or slow
                enough = iteration >= scheme.iterations
                if done or (exact and not feeds) or (enough and size <= limit and rate < 0.9):
                    if not bounded(q):
                        return DIVERGED, tables.t[k + 1], float(iteration), size
                    finish(form, motion, u, size)
                    if feeds:
                        feed(form, motion, feedback, acting, course, RENEW, k, NONE)
                    row, phase = 0, LOOK
                elif enough:
                    status = NOT_CONVERGED
                    break
            keeps_on = forgets(scheme)
            if status == DONE and row > 0:
                bottom = number[LEVEL] >= scheme.deepest
                ratio = weigh(gauge, scheme, dt, number[TIME], bottom and scheme.rtol > 0.0, row == 2, keeps_on)
                if scheme.rtol == 0.0 or bottom:
                    known[WORST] = max(known[WORST], ratio)
                    ratio = min(ratio, 1.0)
            if status == DONE and ratio <= 1.0:
                add_up(gauge, dt, keeps_on)
                known[SINCE] += dt
                motion.counts[0] += 1.0
                known[SHORTEST], known[LONGEST] = min(known[SHORTEST], dt), max(known[LONGEST], dt)
                if row > 0:
                    hand_on(motion, scheme, dt, row == 2)
                    number[ENOUGH] = may_leave(motion, scheme, ratio, dt, gauge.memory[0])
                    wait(gauge, scheme.rtol == 0.0 or (ratio < 0.1 and number[LEVEL] == 0.0), waits)
                    easy = ratio < 0.08 and number[LEVEL] > known[FLOOR] and (place + units) % (2 * units) == 0
                    number[LEVEL] -= 1.0 if easy else 0.0
                elif scheme.sampled == 0.0:  # see `hand_on`
                    number[AGO] += dt
                row, place, careful, pending = 0, place + units, False, False
                number[LAST], number[YOUNG] = (0.0 if soft else dt), number[YOUNG] + 1.0
                number[SOFT] = max(number[SOFT] - 1.0, 0.0)
                if feeds:
                    feed(form, motion, feedback, acting, course, FINISH, k, NONE)
                if place == whole:
                    k, place, arrived = k + 1, 0, True
                continue
            # again: in smaller steps, or with more care
            row = 0
            if status == DONE:
                number[LEVEL] = min(number[LEVEL] + max(1.0, np.ceil(0.48 * np.log(ratio))), scheme.deepest)
            elif not careful:
                careful = True
            elif scheme.rtol == 0.0 or number[LEVEL] >= DEEPEST:
                return status, tables.t[min(k + 1, tables.t.size - 1)], float(iteration), size
            else:
                number[LEVEL] += 1.0
                careful = False
            restore(motion)
            refresh(form, motion)
            number[LAST], number[FACTORED] = last_before, 0.0
            motion.counts[3] += 1.0

    return run
