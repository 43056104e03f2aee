"""The operations of `models.timoshenko_spatial` for the common step (`kernels.stepper`).

The same generalised-alpha steps in the same coordinates, the same law and recording. Newton's corrections, however,
are spins: dtheta of a section in base axes, from which dpsi = T(psi)^-1 (dtheta - exp(psi) sum axis_j dphi_j). In spins
an element knows its own two ends only, and a revolute joint adds axis dphi between the ends that meet in its node, so
that the matrix is symmetric and block-tridiagonal with 6 x 6 blocks, eliminated from the tip inwards; a joint angle is
one scalar more, condensed on the way (or nothing, where it is prescribed). The free length of a prismatic joint that is
not prescribed acts on a whole segment: a border column, solved with the same factors. Accelerations are extrapolated,
so that one correction per step is enough.

One element, all in base axes, with x the ends' difference over l, t the first axis of the mean section, Theta the turn
from end to end, C the stiffnesses turned with the mean section:

    N = C (x - t),   M = C Theta / l,   p = l N x x,   b = S M + g Theta x p;     force N, moments p / 2 -+ b
    dTheta = S d,  mu = m - g Theta x d      for the spins' mean m and difference d, mu the spin of the mean section
    S = 1 + s (Theta x)^2,  s = (1 - y / sin y) / theta^2,  y = theta / 2,     g = tan(theta / 4) / (2 theta)

The element tangent is the second variation of the energy along such spins, geometric terms included; what it lacks,
half the unbalanced moment of each node, vanishes with the residual but for rotary inertia. Of the inertia it has all
that multiplies accelerations; gyroscopic and convective terms, of the size of a rate times the step beside these, are
left out. A correction is accepted below 1 / (rate h), at most 100, times the tolerance: the error left is of the order
of its square, plus rate times h of it. With damping of the strain rates the tangent lacks more, with modal damping all
of it, with follower loads how they turn, and the tolerance holds as it is: with a damping ratio z the iteration still
gains a factor of about 1/z.

mode 0 is the geometrically exact arm; mode 1 keeps the deformation of the elements from the commanded rigid arm to
first order, with the stiffening by that arm's axial forces (rigid kinks and bodies move exactly); mode 2 is mode 1
without the inertia of the deformation.

S and g are sinh and tanh of skew matrices in closed form; the turn of an element and the mean of its ends come from the
quaternions of both.
"""

from __future__ import annotations

import math

import numpy as np

from ....kernels.furthest import angle, grown, surpasses
from ....kernels.idle import never, nothing
from ....kernels.jit import kernel
from ....kernels.joints import jump_all_with_command, put_all_on_command, record_torques
from ....kernels.loops import loops
from ....kernels.operations import Operations
from ....kernels.state import FULL, PRESCRIBED
from ....kernels.tables import DONE, FAST, WITHIN
from .bodies import add_bodies, add_loads
from .damping import exact_damping, linear_damping
from .element import exact_elements
from .factor import factorise
from .frames import axis_of, fill_few_sections, fill_frames, fill_left_ends, fill_sections
from .linear import fill_pulls, linear_elements
from .sensors import read_outputs
from .solve import correction
from .state import DRIVE, FORM, INVERSE, LEN, NONLINEAR, OWN, RETRACTED, TURN, State
from .vectors import add, cross, dot, more, put, rotated, sub, three


@kernel(**FAST)
def begin(beam, state, work):
    """Empty the residual and the borders; returns whether all free lengths are out."""
    base = state.q.size - beam.roots.size
    for k in range(work.r.size):
        work.r[k] = 0.0
    for i in range(beam.roots.size):
        if beam.prismatic[i] == 1:
            work.chain[i, OWN] = 0.0
            for k in range(work.r.size):
                work.border[i, k] = 0.0
            if not state.q[base + i] > 0.0:
                return False
    return True


@kernel(**FAST)
def add_joints(beam, state, r, u):
    """Add to the residual what the joints themselves take, and take off B u."""
    J, alpha = beam.roots.size, beam.numbers[0]
    base = state.q.size - J
    for i in range(J):
        x, v, a = state.q[base + i], state.v[base + i], state.a[base + i]
        r[base + i] += beam.joint[i, 0] * (a + alpha * v) + beam.joint[i, 1] * x + beam.joint[i, 2] * v
    for k in range(beam.inputs.size):
        i = beam.inputs[k]
        place = base + i if i < J else base - 6 + i - J
        r[place] -= beam.gains[k] * u[k]


@kernel(**FAST)
def to_coordinates(beam, state, work, exact):
    """Replace the spins of a correction by those of the rotation vectors; returns the largest entry."""
    r, J, n = work.r, beam.roots.size, beam.element.shape[0]
    base, size, moved = state.q.size - J, 0.0, False
    turn, i, total = (0.0, 0.0, 0.0), 0, 0.0
    for e in range(n):
        while i < J and beam.roots[i] == e:
            if beam.prismatic[i] == 0 and r[base + i] != 0.0:
                turn, moved = more(turn, r[base + i], axis_of(work.frame, i, 2)), True
            i += 1
        k = 6 * e + 6
        if exact:
            spin, psi, node = three(r, k + 3), three(state.q, k + 3), work.node[e + 1]
            if moved:
                spin = sub(spin, rotated(node, TURN, turn))
            half = cross(psi, spin)
            put(r, k + 3, more(more(spin, -0.5, half), node[INVERSE], cross(psi, half)))
        for m in range(k, k + 6):
            size = max(size, abs(r[m]))
            total += r[m]
    for m in range(base, base + J):
        size = max(size, abs(r[m]))
        total += r[m]
    return size if np.isfinite(total) else np.inf


@kernel(**WITHIN)
def foresee(form, motion, h, scheme):
    """Fill, for each joint, the new algorithmic acceleration and by how much the scheme would miss place and rate."""
    am, af, beta, gamma, out = scheme.alpha_m, scheme.alpha_f, scheme.beta, scheme.gamma, form.work.ahead
    base, target = motion.q.size - motion.drive.size, motion.target
    for i in range(motion.drive.size):
        j = base + i
        old = motion.shifted[j]
        new = ((1.0 - af) * target[i, 2] + af * motion.a[j] - am * old) / (1.0 - am)
        place = motion.q[j] + h * motion.v[j] + h * h * ((0.5 - beta) * old + beta * new)
        rate = motion.v[j] + h * ((1.0 - gamma) * old + gamma * new)
        out[3 * i], out[3 * i + 1], out[3 * i + 2] = new, place - target[i, 0], rate - target[i, 1]


@kernel(**WITHIN)
def lead(form, motion):
    """Put prescribed joints where they are commanded.

    The sections keep the angles to which the scheme steps them, as those of the planar arm do; rotation vectors count
    from the rigid arm, hence take up by how much the scheme would have missed the command.
    """
    beam, work, drive, ahead = form.beam, form.work, motion.drive, form.work.ahead
    J, i = drive.size, 0
    base = motion.q.size - J
    put_all_on_command(motion)
    for j in range(J):
        if drive[j] == PRESCRIBED:
            motion.shifted[base + j] = ahead[3 * j]
    fill_frames(beam, State(motion.q, motion.v, motion.a), work.frame)
    turn, rate = (0.0, 0.0, 0.0), (0.0, 0.0, 0.0)
    for e in range(beam.element.shape[0]):
        while i < J and beam.roots[i] == e:
            if drive[i] == PRESCRIBED and beam.prismatic[i] == 0:
                axis = axis_of(work.frame, i, 2)
                turn, rate = more(turn, ahead[3 * i + 1], axis), more(rate, ahead[3 * i + 2], axis)
            i += 1
        m = 6 * e + 9
        put(motion.q, m, add(three(motion.q, m), turn))
        put(motion.v, m, add(three(motion.v, m), rate))


@kernel(**WITHIN)
def leap(form, motion):
    """Set the prescribed accelerations to their right limits; returns whether one jumped."""
    return jump_all_with_command(motion)


@kernel(**WITHIN)
def stiffen(form, motion, k, value):
    """Set how much a drive adds to the pivot of the joint that input k moves."""
    form.work.chain[form.beam.inputs[k], DRIVE] = value * form.beam.gains[k] * form.beam.gains[k]


@kernel(**WITHIN)
def finish(form, motion, u, size):
    """Take over the torques of the joints."""
    J = motion.drive.size
    base = motion.q.size - J
    for i in range(J):
        motion.torque[i] = form.work.r[base + 7 * J + 6 * i]


@kernel(**WITHIN)
def limit(form, motion, tolerance, h):
    """Size of a correction that is accepted; see the module docstring."""
    return tolerance * max(1.0, form.beam.numbers[2]) * allowance(form.beam, State(motion.q, motion.v, motion.a), h)


@kernel(**WITHIN)
def store(form, motion, record, k):
    """Record grid point k; the input of a prescribed joint is the torque or force that it needs."""
    record_torques(form.beam.inputs, motion, record, k)
    if record.furthest.shape[1] > 0:
        keep_furthest(form, motion, record, k)
    elif record.q.shape[0] > 1:
        put_row(form, motion, record, k)


@kernel(**FAST)
def put_row(form, motion, record, k):
    """Put coordinates and rates into a row of the record."""
    beam, drive = form.beam, motion.drive
    place, i, base = 0, 0, motion.q.size - drive.size
    for e in range(beam.element.shape[0]):
        while i < drive.size and beam.roots[i] == e:
            record.q[k, place], record.v[k, place] = motion.q[base + i], motion.v[base + i]
            place, i = place + 1, i + 1
        for m in range(6 * e + 6, 6 * e + 12):
            record.q[k, place], record.v[k, place] = motion.q[m], motion.v[m]
            place += 1


@kernel(**FAST)
def most_turned(beam, q, first, last, chain):
    """Return how far an element turns at most from what it is undeformed, against the one before it, or the first."""
    most = 0.0
    a = sub(three(q, 6 * first + 6), three(q, 6 * first))
    for e in range(first + 1, last):
        b = sub(three(q, 6 * e + 6), three(q, 6 * e))
        n = cross(a, b)
        across, along = math.sqrt(dot(n, n)), dot(a, b)
        c, s = beam.undeformed[e, 0], beam.undeformed[e, 1]
        most = max(most, grown(abs(across * c - along * s), along * c + across * s))
        a = b if chain else a
    return most


@kernel(**FAST)
def keep_furthest(form, motion, record, k):
    """Keep the state if it drives an assumption of `models.serial` further than those before."""
    beam, every = form.beam, 0.0
    links, chain = beam.roots.size, form.mode == NONLINEAR
    for i in range(links):
        last = beam.roots[i + 1] if i + 1 < links else beam.element.shape[0]
        most = most_turned(beam, motion.q, beam.roots[i], last, chain)
        every += 0.0 if chain else angle(most)
        if surpasses(record, i, most, k):
            put_row(form, motion, record, i)
    if not chain and surpasses(record, links, every, k):
        put_row(form, motion, record, links)


@kernel(**FAST)
def allowance(beam, state, h):
    """How far above the tolerance a correction may be: what the tangent lacks leaves an error of h times the rates."""
    base, rate = state.q.size - beam.roots.size, 0.0
    if beam.numbers[1] != 0.0 or beam.damping.size > 0 or beam.numbers[6] != 0.0:
        return 1.0
    for k in range(base - 3, base):
        rate += abs(state.v[k])
    for e in range(beam.element.shape[0]):
        if e == 0 or beam.kind[e - 1, 0] != beam.kind[e, 0]:
            j = beam.kind[e, 2]
            if j >= 0:
                rate += abs(state.v[base + j]) / (beam.element[e, LEN] * state.q[base + j])
    for i in range(beam.roots.size):
        if beam.prismatic[i] == 0:
            rate += abs(state.v[base + i])
    return min(100.0, max(1.0, 1.0 / (h * rate + 1e-9)))


@kernel(**WITHIN)
def measure(form, motion, u, y):
    """Sensor readings."""
    read_outputs(form.beam, State(motion.q, motion.v, motion.a), form.work, form.work.every, y)


@kernel(**WITHIN)
def sense(form, motion, u, rows, y):
    """Some of them."""
    read_outputs(form.beam, State(motion.q, motion.v, motion.a), form.work, rows, y)


def operations(exact: bool) -> Operations:
    """Return the operations of mode 0 (exact), or of modes 1 and 2: a run compiles one of them."""
    sections, elements = (fill_sections, exact_elements) if exact else (fill_few_sections, linear_elements)
    damp = exact_damping if exact else linear_damping

    @kernel(**FAST)
    def evaluate(beam, state, work, u, ca, cv, cq):
        """Fill residual M a + h - B u and element tangents ca M + cv D + cq K; returns whether all lengths are out."""
        if not begin(beam, state, work):
            return False
        fill_frames(beam, state, work.frame)
        sections(beam, state, work)
        fill_left_ends(beam, state, work)
        if beam.damping.size > 0:
            damp(beam, state, work)
        elements(beam, state, work, cq + cv * beam.numbers[1], cq, ca)
        add_bodies(beam, state, work)
        add_loads(beam, state, work, u)
        add_joints(beam, state, work.r, u)
        return True

    @kernel(**WITHIN)
    def solve(form, motion, u, ca, cv, cq, fresh):
        """One correction; see `kernels.operations.Operations`."""
        beam, work, base = form.beam, form.work, motion.q.size - motion.drive.size
        state, whole = State(motion.q, motion.v, motion.a), ca + form.beam.numbers[0] * cv
        for i in range(beam.prismatic.size):  # the border of a free length is that of the state
            fresh = fresh or beam.prismatic[i] == 1
        weights = (whole, cv, cq) if fresh else (0.0, 0.0, 0.0)
        if not evaluate(beam, state, work, u, weights[0], weights[1], weights[2]):
            return RETRACTED, np.inf
        if fresh:
            factorise(beam, work, motion.drive, weights, base)
        correction(beam, work, motion.drive, base)
        return DONE, to_coordinates(beam, state, work, exact)

    @kernel(**WITHIN)
    def led(form, motion):
        """As `lead`, with the axial forces of the rigid arm."""
        lead(form, motion)
        fill_pulls(form.beam, State(motion.q, motion.v, motion.a), form.work, form.stiffening)

    @kernel(**WITHIN)
    def leapt(form, motion):
        """As `leap`, with the axial forces of the rigid arm."""
        jump, state = leap(form, motion), State(motion.q, motion.v, motion.a)
        fill_frames(form.beam, state, form.work.frame)
        fill_pulls(form.beam, state, form.work, form.stiffening)
        return jump

    return Operations(
        measure, solve, foresee, lead if exact else led, leap if exact else leapt, finish, nothing, limit, store, sense,
        never, keeps=True, prefers=FULL, swing=0.02, stride=0.3, stiffen=stiffen,
    )


EXACT, LINEARISED = operations(True), operations(False)
LOOPS = {True: loops(EXACT, FORM), False: loops(LINEARISED, FORM)}
"""The loops by whether the arm is geometrically exact, then by whether a continuous law acts."""
