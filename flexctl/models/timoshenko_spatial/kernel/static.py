"""The commanded rigid arm, and the deformation under its inertia without steps."""

from __future__ import annotations

from numba import float64, types

from ....kernels.jit import entry, kernel
from ....kernels.parts import by_address
from ....kernels.pieces import aim
from ....kernels.state import MOTION
from ....kernels.tables import COURSE, DONE, ENTRY, FAST
from .frames import axis_of, fill_frames, length_of
from .linear import fill_pulls
from .operations import LINEARISED, finish, measure, store
from .state import A0, FORM, LEN, W0, State
from .vectors import add, cross, more, put, three

solve = by_address(LINEARISED).solve


@kernel(**FAST)
def put_on_rigid_arm(beam, state, work, target):
    """Put the state onto the commanded rigid arm, with its rates and accelerations."""
    J, i = beam.roots.size, 0
    base = state.q.size - J
    for j in range(J):
        state.q[base + j], state.v[base + j], state.a[base + j] = target[j, 0], target[j, 1], target[j, 3]
    fill_frames(beam, state, work.frame)
    x, v, a = (0.0, 0.0, 0.0), (0.0, 0.0, 0.0), (0.0, 0.0, 0.0)
    for e in range(beam.element.shape[0]):
        link = beam.kind[e, 0]
        while i < J and beam.roots[i] == e:
            x, v, a = carry(beam, work, i, beam.joint[i, 5], axis_of(work.frame, i, 2), x, v, a)
            i += 1
        t, j = axis_of(work.frame, link, 2 if beam.kind[e, 1] == 1 else 0), beam.kind[e, 2]
        x, v, a = carry(
            beam, work, link, length_of(beam.element[e], beam.kind[e, 2], base, state.q, state.v)[0], t, x, v, a
        )
        if j >= 0:
            share, w = beam.element[e, LEN], three(work.frame[link], W0)
            rate, change = share * state.v[base + j], share * state.a[base + j]
            v, a = more(v, rate, t), more(more(a, change, t), 2.0 * rate, cross(w, t))
        m = 6 * e + 6
        put(state.q, m, x)
        put(state.v, m, v)
        put(state.a, m, a)
        for c in range(m + 3, m + 6):
            state.q[c] = state.v[c] = state.a[c] = 0.0


@kernel(**FAST)
def carry(beam, work, i, length, t, x, v, a):
    """A point, its rate and acceleration, `length` further along t on rigid link i."""
    w = three(work.frame[i], W0)
    dw, turned = more(three(work.frame[i], A0), -beam.numbers[0], w), cross(w, t)
    x, v = more(x, length, t), more(v, length, turned)
    return x, v, more(a, length, add(cross(dw, t), cross(w, turned)))


@entry(types.UniTuple(float64, 4)(FORM, MOTION, COURSE), **ENTRY)
def run_static(form, motion, course):
    """Fill the record with the deformation under the rigid arm's inertia."""
    tables, record, work = course.tables, course.record, form.work
    state = State(motion.q, motion.v, motion.a)
    for k in range(course.span[0], course.span[1] + 1):
        aim(motion, k, 0.0, 1.0)
        put_on_rigid_arm(form.beam, state, work, motion.target)
        fill_pulls(form.beam, state, work, form.stiffening)
        status, size = solve(form, motion, tables.after[k], 0.0, 0.0, 1.0, True)
        if status != DONE:
            return status, tables.t[k], 0.0, size
        for m in range(motion.q.size):
            motion.q[m] -= motion.d[m]
        finish(form, motion, tables.after[k], size)
        measure(form, motion, tables.after[k], record.y[k])
        for j in range(record.u.shape[1]):
            record.u[k, j] = tables.after[k, j]
        store(form, motion, record, k)
    return DONE, tables.t[course.span[1]], 0.0, 0.0
